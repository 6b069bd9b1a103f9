-- Looks into users' tables see all rows, whatever row security says, and run no code of users.

CREATE SCHEMA regress_lookups;
SET search_path = regress_lookups, public;
SET client_min_messages = warning;
CREATE ROLE regress_lookups_owner;
CREATE ROLE regress_lookups_clerk;
GRANT USAGE, CREATE ON SCHEMA regress_lookups TO regress_lookups_owner, regress_lookups_clerk;

-- FORCE row security: neither a free search nor a draw misses a row.
CREATE TABLE forced (id bigint PRIMARY KEY DEFAULT hilo_next_number('forced'));
INSERT INTO forced SELECT generate_series(1, 50);
ALTER TABLE forced OWNER TO regress_lookups_owner;
ALTER TABLE forced ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY write ON forced FOR INSERT WITH CHECK (true);
SELECT hilo.bind('forced', 'forced', 'id');
SET ROLE regress_lookups_owner;
SELECT count(*) FROM forced;
SELECT next_identity_free('forced');
INSERT INTO forced DEFAULT VALUES;
RESET ROLE;
SET session_replication_role = replica;
INSERT INTO forced SELECT generate_series(52, 80);
RESET session_replication_role;
SET ROLE regress_lookups_owner;
INSERT INTO forced DEFAULT VALUES;
RESET ROLE;
SELECT max(id), count(*) FROM forced;

-- Only tables are bound: no view runs code of its owner in a draw.
CREATE VIEW seen AS SELECT id FROM forced;
CREATE MATERIALIZED VIEW filled AS SELECT id FROM forced;
CREATE TEMPORARY TABLE temporary (id bigint PRIMARY KEY);
SELECT hilo.bind('seen', 'seen', 'id');
SELECT hilo.bind('filled', 'filled', 'id');
SELECT hilo.bind('temporary', 'temporary', 'id');
SELECT hilo.bind('sequence', 'forced_pkey', 'id');
SELECT next_identity_free('seen');
SELECT next_identity_free('filled');
-- Nor does a function in an index, a policy or a domain.
CREATE FUNCTION spy(n bigint) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'called';
	RETURN n;
END $$;
CREATE DOMAIN spied AS bigint CHECK (spy(VALUE) > 0);
CREATE TABLE spying (id spied);
CREATE INDEX ON spying (id) WHERE spy(id) > 1;
CREATE INDEX ON spying (spy(id));
CREATE UNIQUE INDEX ON spying (id);
INSERT INTO spying SELECT 1;
SELECT hilo.bind('spying', 'spying', 'id'), next_identity_free('spying'), hilo_next_number('spying');

-- An identity that a trigger assigns, to a user who sees neither the table nor its schema, but a view.
CREATE SCHEMA regress_inner;
CREATE TABLE regress_inner.docs (id text PRIMARY KEY);
CREATE TRIGGER assign BEFORE INSERT ON regress_inner.docs FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO regress_inner.docs VALUES ('docs/1');
CREATE VIEW outside AS SELECT id FROM regress_inner.docs;
GRANT INSERT, SELECT ON outside TO regress_lookups_clerk;
\c -
SET search_path = regress_lookups, public;
SET client_min_messages = warning;
SELECT as_role('regress_lookups_clerk', $$INSERT INTO outside VALUES ('docs|') RETURNING id$$);

-- The last bigint is an id as any other.
CREATE TABLE ending (id bigint PRIMARY KEY DEFAULT hilo_next_number('ending'));
INSERT INTO ending VALUES (7), (9223372036854775807);
SELECT hilo.bind('ending', 'ending', 'id'), hilo.seed('ending', 6);
INSERT INTO ending DEFAULT VALUES RETURNING id;
SELECT hilo.seed('ending', 9223372036854775805);
INSERT INTO ending DEFAULT VALUES RETURNING id;
INSERT INTO ending DEFAULT VALUES RETURNING id;
INSERT INTO ending DEFAULT VALUES RETURNING id;

-- Ids that count are those that this session would write, with the tag, prefix and separator of now.
CREATE TABLE "a-7" (id text PRIMARY KEY DEFAULT hilo_next('a-7'));
SELECT hilo.bind('a-7', '"a-7"', 'id');
INSERT INTO "a-7" VALUES ('a-7/1-A'), ('a-7/2'), ('a-8/3-A'), ('a-7/x/4-A'), ('a-7/0005-A'), ('a-7/6-'), ('a-7/7-A-A'), ('a-7/8-B'), ('a-7/9-A');
INSERT INTO "a-7" SELECT FROM generate_series(1, 8) RETURNING id;
SET hilo.node_tag = 'B';
SELECT hilo.seed('a-7', 7, true);
INSERT INTO "a-7" DEFAULT VALUES RETURNING id;
SELECT hilo.seed('a-7', 0, true), hilo_next('a-7', ''), hilo_next('a-7', ''), hilo_next('a-7', 'A');
RESET hilo.node_tag;
-- Drawn as a number it is looked for with the own tag.
SELECT hilo.seed('a-7', 8, true), hilo_next_number('a-7');
-- Without a right on anything but the table.
CREATE TABLE lonely (id varchar(40) PRIMARY KEY DEFAULT hilo_next('lonely'));
INSERT INTO lonely VALUES ('lonely/1-A'), ('lonely/3-A');
GRANT INSERT (id), SELECT ON lonely TO regress_lookups_clerk;
SELECT hilo.bind('lonely', 'lonely', 'id');
REVOKE EXECUTE ON FUNCTION hilo_number(text) FROM PUBLIC;
SET ROLE regress_lookups_clerk;
INSERT INTO lonely DEFAULT VALUES RETURNING id;
INSERT INTO lonely DEFAULT VALUES RETURNING id;
RESET ROLE;
GRANT EXECUTE ON FUNCTION hilo_number(text) TO PUBLIC;

-- Where the documents are: gone, or not what they should be.
\set VERBOSITY sqlstate
CREATE TABLE dropped (id text PRIMARY KEY);
SELECT hilo.bind('dropped', 'dropped', 'id');
ALTER TABLE dropped DROP COLUMN id;
SELECT next_identity_free('dropped');
DROP TABLE dropped;
SELECT next_identity_free('dropped');
CREATE TABLE dates (id date PRIMARY KEY);
SELECT next_identity_free('dates');
SELECT hilo.bind('dates', 'dates', 'id');
SELECT hilo.bind('dates', 'dates', 'no');
CREATE TABLE retyped (id bigint PRIMARY KEY);
SELECT hilo.bind('retyped', 'retyped', 'id'), next_identity_free('retyped');
ALTER TABLE retyped ALTER id TYPE text USING 'retyped/' || id;
INSERT INTO retyped VALUES ('retyped/2');
SELECT next_identity_free('retyped');
ALTER TABLE retyped ALTER id TYPE date USING now();
SELECT next_identity_free('retyped');

-- NULL is the highest number of an empty table: the hint says what to write.
\set VERBOSITY default
SELECT hilo.seed('empty', (SELECT max(id) FROM ending WHERE false));
SELECT hilo.seed('empty', coalesce((SELECT max(id) FROM ending WHERE false), 0));
SELECT seed_identity_for('empty', NULL);

DROP OWNED BY regress_lookups_owner, regress_lookups_clerk CASCADE;
DROP ROLE regress_lookups_owner, regress_lookups_clerk;
