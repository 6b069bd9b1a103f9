-- Queries over users' tables run as foreign-key checks do: they see what is committed, whatever the isolation level and row security, and neither lend rights nor gain any.

CREATE SCHEMA regress_lookups;
SET search_path = regress_lookups, public;
SET client_min_messages = warning;
CREATE ROLE regress_lookups_owner;
CREATE ROLE regress_lookups_clerk;
GRANT USAGE, CREATE ON SCHEMA regress_lookups TO regress_lookups_owner, regress_lookups_clerk;

-- FORCE row security: neither attach nor sync nor a free search nor a look misses a row.
CREATE TABLE forced (id bigint PRIMARY KEY);
INSERT INTO forced SELECT generate_series(1, 50);
ALTER TABLE forced OWNER TO regress_lookups_owner;
ALTER TABLE forced ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY write ON forced FOR INSERT WITH CHECK (true);
SET ROLE regress_lookups_owner;
SELECT count(*) FROM forced;
SELECT hilo.attach('forced', collection => 'forced');
SELECT next_identity_free('forced');
RESET ROLE;
SET session_replication_role = replica;
INSERT INTO forced SELECT generate_series(51, 80);
RESET session_replication_role;
SELECT hilo.sync('forced');
INSERT INTO forced SELECT generate_series(81, 200);
SET ROLE regress_lookups_owner;
INSERT INTO forced DEFAULT VALUES;
RESET ROLE;
SELECT max(id) > 200 AS above, count(*) FROM forced;

-- A view can be written to, and belongs to someone else than its table: it is read with the rights of the view's owner.
CREATE TABLE hidden (id text PRIMARY KEY, deleted boolean NOT NULL DEFAULT false);
INSERT INTO hidden VALUES ('seen/1', false), ('seen/2', false), ('seen/4', true);
CREATE VIEW seen AS SELECT id FROM hidden WHERE NOT deleted;
CREATE FUNCTION put() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = regress_lookups AS $$
BEGIN
	INSERT INTO hidden VALUES (NEW.id);
	RETURN NEW;
END $$;
CREATE TRIGGER put INSTEAD OF INSERT ON seen FOR EACH ROW EXECUTE FUNCTION put();
GRANT INSERT, SELECT ON seen TO regress_lookups_clerk;
SELECT hilo.bind('seen', 'seen', 'id');
SET ROLE regress_lookups_clerk;
INSERT INTO seen VALUES (next_identity_free('seen'));
SELECT * FROM seen;
-- A row that the view does not show does not count: the unique index decides.
INSERT INTO seen VALUES (next_identity_free('seen'));
INSERT INTO seen VALUES (next_identity_free('seen'));
RESET ROLE;
SELECT id FROM hidden ORDER BY id;
-- The view's owner lost the right to read the table.
ALTER VIEW seen OWNER TO regress_lookups_owner;
SET ROLE regress_lookups_clerk;
SELECT next_identity_free('seen');
RESET ROLE;
GRANT SELECT ON hidden TO regress_lookups_owner;
-- Its row security is that of the view's owner, too.
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON hidden USING (id = 'seen/6');
INSERT INTO hidden VALUES ('seen/6'), ('seen/7');
SET ROLE regress_lookups_clerk;
SELECT next_identity_free('seen');
RESET ROLE;
-- Nobody may look who may neither read the view nor insert into it.
REVOKE INSERT, SELECT ON seen FROM regress_lookups_clerk;
SET ROLE regress_lookups_clerk;
SELECT next_identity_free('seen');
RESET ROLE;
-- Numbers and sync: a view over several tables, one of them without an index.
CREATE TABLE part_a (id int PRIMARY KEY);
CREATE TABLE part_b (number bigint);
CREATE VIEW both_parts AS SELECT id::bigint FROM part_a UNION ALL SELECT number FROM part_b;
INSERT INTO part_a VALUES (1), (3);
INSERT INTO part_b VALUES (2), (70);
SELECT hilo.bind('parts', 'both_parts', 'id');
SELECT next_identity_free('parts'), hilo.sync('parts'), next_identity_free('parts'), hilo_next_number('parts');
-- A materialized view, also one that is not filled.
CREATE MATERIALIZED VIEW filled AS SELECT generate_series(1, 5) AS id WITH NO DATA;
SELECT hilo.bind('filled', 'filled', 'id');
SELECT next_identity_free('filled');
REFRESH MATERIALIZED VIEW filled;
SELECT next_identity_free('filled');

-- What a view calls cannot use the caller's rights, search_path or session.
SET ROLE regress_lookups_owner;
CREATE FUNCTION spy(n bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RAISE WARNING 'as %, search_path %', current_user, current_setting('search_path');
	PERFORM set_config('role', 'postgres', false);
	RETURN n;
EXCEPTION WHEN OTHERS THEN
	RAISE WARNING '%', SQLERRM;
	RETURN n;
END $$;
CREATE VIEW spying AS SELECT spy(1) AS id;
RESET ROLE;
SELECT hilo.bind('spying', 'spying', 'id');
SELECT next_identity_free('spying');
SELECT current_user = session_user AS same, current_setting('search_path');
SELECT hilo.sync('spying');
SELECT current_user = session_user AS same, current_setting('search_path');

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
SET ROLE regress_lookups_clerk;
INSERT INTO outside VALUES ('docs|') RETURNING id;
RESET ROLE;

-- The last bigint marks an end, above which nothing is drawn: attach, sync and a look pass over it.
CREATE TABLE ending (id bigint PRIMARY KEY);
INSERT INTO ending VALUES (7), (9223372036854775807);
SELECT hilo.attach('ending', collection => 'ending');
INSERT INTO ending DEFAULT VALUES RETURNING id;
SET session_replication_role = replica;
INSERT INTO ending VALUES (100);
RESET session_replication_role;
SELECT hilo.sync('ending');
INSERT INTO ending SELECT generate_series(101, 200);
INSERT INTO ending DEFAULT VALUES RETURNING id > 200 AND id < 1000 AS above;
-- In text, too, the last bigint does not count; nor do ids above the limit of a collection.
CREATE TABLE ends (id text PRIMARY KEY);
INSERT INTO ends VALUES ('ends/7-A'), ('ends/9223372036854775807-A'), ('ends/5000-A');
SELECT hilo.configure('ends', max_value => 1000), hilo.attach('ends');
INSERT INTO ends DEFAULT VALUES RETURNING id;

-- Ids that count: by hilo_number() and its index, or, where a name looks like a number, without.
CREATE TABLE "a-7" (id text PRIMARY KEY);
CREATE INDEX ON "a-7" (hilo_number(id));
INSERT INTO "a-7" VALUES ('a-7/12-A'), ('a-7/900'), ('a-8/800-A'), ('a-7/x/33-B'), ('a-7/0099-A'), ('a-7/44-'), ('a-7/45-A-A');
SELECT hilo.attach('"a-7"');
CREATE TABLE plain (id varchar(40) PRIMARY KEY);
CREATE INDEX ON plain (hilo_number(id));
INSERT INTO plain SELECT 'other/' || 1000 + i || '-A' FROM generate_series(1, 2000) i;
INSERT INTO plain VALUES ('plain/12-A'), ('plain/900'), ('plain/33-B');
SELECT hilo.attach('plain');
INSERT INTO plain SELECT 'plain/' || n || '-Z' FROM generate_series(34, 66) n;
INSERT INTO plain DEFAULT VALUES RETURNING hilo_number(id) > 66 AS above;
-- The owner of the table may not use the schema of hilo_number(), or call it.
CREATE TABLE lonely (id text PRIMARY KEY);
INSERT INTO lonely VALUES ('lonely/5-A');
ALTER TABLE lonely OWNER TO regress_lookups_owner;
REVOKE EXECUTE ON FUNCTION hilo_number(text) FROM PUBLIC;
SELECT hilo.attach('lonely');
GRANT EXECUTE ON FUNCTION hilo_number(text) TO PUBLIC;

-- Where the documents are: gone, or not what they should be.
\set VERBOSITY sqlstate
SELECT next_identity_free('nowhere');
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

SET client_min_messages = error;
SELECT count(hilo.unbind(name)) FROM unnest('{seen,parts,filled,spying,dropped,retyped}'::text[]) name;
DROP SCHEMA regress_lookups, regress_inner CASCADE;
DROP ROLE regress_lookups_owner, regress_lookups_clerk;
SELECT count(hilo.drop(name)) FROM unnest('{forced,forced|,seen|,parts,parts|,filled|,spying,spying|,docs|,ending,ends,a-7,plain,lonely,retyped|,empty,empty|}'::text[]) name;
