-- hilo.sync(): after rows came from elsewhere (a subscription, a restore), no number in a bound column is drawn again.

CREATE SCHEMA regress_sync;
SET search_path = regress_sync, public;
SET client_min_messages = warning;
-- Other tests may have drawn from it.
DO $$ BEGIN PERFORM hilo.drop('orders'); END $$;
-- How a table was read in this transaction.
CREATE FUNCTION reads(relation regclass, OUT seq_scan bigint, OUT idx_scan bigint) LANGUAGE sql AS $$
	SELECT seq_scan, idx_scan FROM pg_stat_xact_user_tables WHERE relid = relation
$$;
-- Before version 15 statistics go out when half a second has passed.
SELECT current_setting('server_version_num')::int < 150000 AS is_14 \gset
\if :is_14
\set flush 'DO $$ BEGIN PERFORM pg_sleep(0.6); END $$'
\else
\set flush 'DO $$ BEGIN PERFORM pg_stat_force_next_flush(); END $$'
\endif

-- Numbers, with a btree index.  Rows are inserted as by an apply worker; this session has a range that contains some of them.
CREATE TABLE numbers (id bigint PRIMARY KEY);
SELECT hilo.attach('numbers', collection => 'numbers');
INSERT INTO numbers DEFAULT VALUES RETURNING id;
SET session_replication_role = replica;
INSERT INTO numbers SELECT generate_series(2, 1000);
RESET session_replication_role;
SELECT max FROM hilo.status WHERE collection = 'numbers';
:flush;
BEGIN;
SELECT hilo.sync('numbers');
SELECT * FROM reads('numbers');
INSERT INTO numbers DEFAULT VALUES RETURNING id;
ROLLBACK;
-- For good, whatever becomes of the transaction.
SELECT max FROM hilo.status WHERE collection = 'numbers';
-- Again: the rest of this session's range becomes a gap, as do other sessions' ranges; max is not lowered.
SELECT hilo.sync('numbers');
INSERT INTO numbers DEFAULT VALUES RETURNING id;
DELETE FROM numbers WHERE id > 500;
SELECT hilo.sync('numbers') = max FROM hilo.status WHERE collection = 'numbers';
SELECT hilo.seed('numbers', 0, true), hilo.sync('numbers');

-- Deleted and rolled-back rows do not count.  Rows that this transaction has inserted do.
BEGIN;
INSERT INTO numbers VALUES (7000);
ROLLBACK;
SELECT hilo.seed('numbers', 0, true), hilo.sync('numbers');
BEGIN;
INSERT INTO numbers VALUES (600);
SELECT hilo.seed('numbers', 0, true), hilo.sync('numbers');
COMMIT;
BEGIN;
DELETE FROM numbers WHERE id = 600;
SELECT hilo.seed('numbers', 0, true), hilo.sync('numbers');
ROLLBACK;

-- Indexes of other kinds: descending, nulls first, of more columns; those that cannot answer: partial, of an expression, hash, behind another column.
CREATE TABLE kinds (a int, id integer, low smallint);
SELECT hilo.attach('kinds', 'id', 'kinds'), hilo.attach('kinds', 'low', 'lows');
INSERT INTO kinds SELECT -n, n, n / 100 FROM generate_series(-5, 2000) n;
INSERT INTO kinds VALUES (1, NULL, NULL), (1, NULL, NULL);
CREATE INDEX partial ON kinds (id) WHERE id < 100;
CREATE INDEX expression ON kinds ((id + 1));
CREATE INDEX hashed ON kinds USING hash (id);
CREATE INDEX behind ON kinds (a, id);
:flush;
BEGIN;
SELECT hilo.sync('kinds');
SELECT * FROM reads('kinds');
ROLLBACK;
CREATE INDEX descending ON kinds (id DESC NULLS LAST, a);
:flush;
BEGIN;
SELECT hilo.seed('kinds', 0, true), hilo.sync('kinds'), hilo.sync('lows');
SELECT * FROM reads('kinds');
ROLLBACK;
DROP INDEX descending;
CREATE INDEX descending ON kinds (id DESC NULLS FIRST);
:flush;
BEGIN;
SELECT hilo.seed('kinds', 0, true), hilo.sync('kinds');
SELECT * FROM reads('kinds');
ROLLBACK;
DROP INDEX descending;
CREATE INDEX ascending ON kinds (low NULLS FIRST) INCLUDE (a);
:flush;
BEGIN;
SELECT hilo.seed('lows', 0, true), hilo.sync('lows');
SELECT * FROM reads('kinds');
ROLLBACK;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'ascending'::regclass;
:flush;
BEGIN;
SELECT hilo.seed('lows', 0, true), hilo.sync('lows');
SELECT * FROM reads('kinds');
ROLLBACK;
-- Nothing but nulls and numbers below 1, or nothing at all.
DELETE FROM kinds WHERE id > 0;
SELECT hilo.seed('kinds', 0, true), hilo.sync('kinds'), hilo_next_number('kinds');
TRUNCATE kinds;
SELECT hilo.seed('kinds', 0, true), hilo.sync('kinds');
-- Numbers above the limit will not be drawn: those below it count.  By an index, and by a scan.
UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'ascending'::regclass;
INSERT INTO kinds SELECT 0, n, n FROM generate_series(1, 3000) n;
SELECT hilo.configure('kinds', max_value => 2000), hilo.configure('lows', max_value => 2000);
DELETE FROM kinds WHERE id BETWEEN 1901 AND 2100;
SELECT hilo.sync('kinds'), hilo.sync('lows');
SELECT hilo_next_number('kinds'), hilo_next_number('lows');
INSERT INTO kinds VALUES (0, 2000, 2000);
SELECT hilo.sync('kinds'), hilo.sync('lows');
SELECT hilo_next_number('kinds');
DROP TABLE kinds;

-- Text: ids of the collection, with any tag and prefix, but not without one; read as text, not as numbers in order of text.
CREATE TABLE orders (id text COLLATE "C" PRIMARY KEY);
SELECT hilo.attach('orders');
SET session_replication_role = replica;
INSERT INTO orders VALUES ('orders/9-A'), ('orders/100-B'), ('orders/NorthServer/80-C'), ('orders/tea'), ('orders/900'), ('orders/'), ('orders'),
	('orders2/5000-A'), ('xorders/6000-A'), ('Orders/7000-A'), ('8000'), ('orders/9223372036854775808-A');
:flush;
BEGIN;
SELECT hilo.sync('orders');
SELECT * FROM reads('orders');
COMMIT;
-- A TOASTed value, of a live row and of a dead one.
ALTER TABLE orders DROP CONSTRAINT orders_pkey;
ALTER TABLE orders ALTER id SET STORAGE EXTERNAL;
INSERT INTO orders VALUES ('orders/' || repeat('x', 5000) || '/300-A');
SELECT hilo.sync('orders');
BEGIN;
INSERT INTO orders VALUES ('orders/' || repeat('x', 5000) || '/400-A');
ROLLBACK;
SELECT hilo.sync('orders');
RESET session_replication_role;
INSERT INTO orders DEFAULT VALUES RETURNING id;
-- A text column that draws numbers: these count, and not ids.
CREATE TABLE digits (id text PRIMARY KEY DEFAULT hilo_next_number('digits'));
INSERT INTO digits VALUES ('500'), ('digits/700-A'), ('tea');
SELECT hilo.sync('digits');
DROP TABLE digits;
-- varchar in a domain; the separator in use.
CREATE DOMAIN id_of_mine AS varchar(40);
CREATE TABLE "Odd'ly" ("i'D" id_of_mine);
SELECT hilo.attach('"Odd''ly"', 'i''D');
SET session_replication_role = replica;
INSERT INTO "Odd'ly" VALUES ('Odd''ly/12-A'), ('Odd''ly:34-A');
SELECT hilo.sync('Odd''ly');
SET hilo.identity_parts_separator = ':';
SELECT hilo.sync('Odd''ly');
RESET hilo.identity_parts_separator;

-- Partitions, of which one has the column elsewhere and one has no index; children; several tables.
CREATE TABLE parts (id bigint, part int) PARTITION BY LIST (part);
CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part2 (gone text, part int, id bigint PRIMARY KEY);
ALTER TABLE part2 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION part2 FOR VALUES IN (2);
CREATE TABLE part3 PARTITION OF parts FOR VALUES IN (3) PARTITION BY LIST (id);
CREATE TABLE part3a PARTITION OF part3 DEFAULT;
CREATE INDEX ON part3a (id);
CREATE TABLE parents (id integer PRIMARY KEY);
CREATE TABLE children (extra text) INHERITS (parents);
SELECT hilo.attach('parts', 'id', 'shared'), hilo.attach('parents', 'id', 'shared');
INSERT INTO parts VALUES (10, 1), (20, 2), (30, 3);
:flush;
BEGIN;
SELECT hilo.sync('shared');
SELECT relation, r.* FROM unnest('{part1,part2,part3a,parents,children}'::regclass[]) relation, reads(relation) r;
COMMIT;
INSERT INTO parts VALUES (40, 1);
SELECT hilo.sync('shared');
INSERT INTO parts VALUES (50, 2);
SELECT hilo.sync('shared');
INSERT INTO parts VALUES (60, 3);
SELECT hilo.sync('shared');
INSERT INTO parents VALUES (70);
SELECT hilo.sync('shared');
INSERT INTO children VALUES (80);
SELECT hilo.sync('shared');
-- One of several tables was dropped.
DROP TABLE parts;
INSERT INTO children VALUES (90);
SELECT hilo.sync('shared');
RESET session_replication_role;

-- What hilo.bind() has bound holds identities, too: both go on above.
CREATE TABLE people (number int PRIMARY KEY);
INSERT INTO people SELECT generate_series(1, 40);
SELECT hilo.bind('persons', 'people', 'number');
SELECT hilo.sync('persons'), next_identity_for('persons'), hilo_next_number('persons');
SELECT seed_identity_for('persons', 100), hilo.sync('persons'), next_identity_for('persons');
-- Each up to its own limit.
SELECT hilo.seed('persons', 0, true), hilo.configure('persons', max_value => 30), seed_identity_for('persons', 0, true), hilo.sync('persons'), next_identity_for('persons');

-- All that are bound to columns: not what was granted.
SELECT hilo.seed('unbound', 5), hilo.allow('granted', 'public');
SELECT hilo.seed('numbers', 0, true);
SELECT collection, max FROM hilo.sync() ORDER BY collection COLLATE "C";
SELECT max FROM hilo.status WHERE collection = 'numbers';
SELECT hilo_next_number('numbers');

-- A role that may call it needs no right on the table, and no row is hidden from it.
CREATE ROLE regress_sync_clerk;
ALTER TABLE numbers ENABLE ROW LEVEL SECURITY;
ALTER TABLE numbers FORCE ROW LEVEL SECURITY;
CREATE POLICY nothing ON numbers USING (false);
SELECT hilo.seed('numbers', 0, true);
SET ROLE regress_sync_clerk;
SELECT hilo.sync('numbers');
SELECT hilo.sync();
RESET ROLE;
GRANT EXECUTE ON FUNCTION hilo.sync(text) TO regress_sync_clerk;
SET ROLE regress_sync_clerk;
SELECT hilo.sync('numbers');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION hilo.sync(text) FROM regress_sync_clerk;
DROP ROLE regress_sync_clerk;

-- Invalid calls.
\set SHOW_CONTEXT never
SELECT hilo.sync(NULL);
SELECT hilo.sync('');
SELECT hilo.sync('a|b');
SELECT hilo.sync('two words');
SELECT hilo.sync('unknown');
SELECT hilo.sync('unbound');
SELECT hilo.sync('granted');
SELECT count(*) FROM hilo.hilo WHERE collection = 'unknown';
BEGIN READ ONLY;
SELECT hilo.sync('numbers');
ROLLBACK;
BEGIN READ ONLY;
SELECT hilo.sync();
ROLLBACK;
\set VERBOSITY sqlstate
SELECT hilo.sync('unknown');
SELECT hilo.sync(NULL);
\set VERBOSITY default
-- Its column, or its table, was dropped.
ALTER TABLE people DROP COLUMN number;
SELECT hilo.sync('persons');
DROP TABLE people;
SELECT hilo.sync('persons');
SELECT collection FROM hilo.sync() WHERE collection = 'persons';
-- The counter need not exist yet.
SET hilo.auto_create = off;
SELECT hilo.sync('numbers');
RESET hilo.auto_create;

SELECT count(*) FROM (SELECT hilo.detach('numbers'), hilo.detach('orders'), hilo.detach('"Odd''ly"', 'i''D'), hilo.detach('parents')) d;
SELECT hilo.unbind('persons'), hilo.disallow('granted', 'public');
-- Sequences: by the name of the table, or all; for good; never down.  Ids at the end of their type, or of views, do not lead.
CREATE TABLE counted (id serial PRIMARY KEY);
CREATE TABLE counted_too (id int PRIMARY KEY DEFAULT nextval('counted_id_seq'));
SELECT hilo.attach('counted');
INSERT INTO counted VALUES (400);
INSERT INTO counted_too VALUES (600);
BEGIN;
SELECT hilo.sync('counted'), hilo.sync('counted'::regclass), hilo.sync('counted'), hilo.sync('counted_too'::regclass);
ROLLBACK;
SELECT last_value, is_called FROM counted_id_seq;
INSERT INTO counted DEFAULT VALUES RETURNING id;
DELETE FROM counted_too;
SELECT setval('counted_id_seq', 700), hilo.sync('counted');
INSERT INTO counted VALUES (800);
SELECT * FROM hilo.sync() WHERE sequence IS NOT NULL;
INSERT INTO counted DEFAULT VALUES RETURNING id;
-- By a role that may call it, and has no right on the sequence.
CREATE ROLE regress_sync_clerk;
GRANT USAGE ON SCHEMA regress_sync TO regress_sync_clerk;
INSERT INTO counted VALUES (900);
SET ROLE regress_sync_clerk;
SELECT hilo.sync('counted');
SELECT hilo._sync_sequence('counted_id_seq', '-', false);
SELECT hilo._sync_collection('numbers');
SELECT hilo._sync_sequence('counted_id_seq', 'counted', true);
RESET ROLE;
GRANT EXECUTE ON FUNCTION hilo.sync(regclass) TO regress_sync_clerk;
SET ROLE regress_sync_clerk;
SELECT hilo.sync('counted'::regclass);
RESET ROLE;
REVOKE EXECUTE ON FUNCTION hilo.sync(regclass) FROM regress_sync_clerk;
SELECT last_value FROM counted_id_seq;
-- Below zero, with and without an index.
CREATE SEQUENCE below MINVALUE -1000 START -1000;
CREATE TABLE belows (id bigint DEFAULT nextval('below'), x int);
SELECT hilo.attach('belows', 'id');
INSERT INTO belows VALUES (-900);
SELECT hilo.sync('belows'::regclass);
CREATE INDEX ON belows (id);
INSERT INTO belows VALUES (-800);
SELECT hilo.sync('belows'::regclass);

-- Each of the three can be granted alone.
GRANT USAGE ON SCHEMA regress_sync TO regress_sync_clerk;
CREATE TABLE alone (id serial PRIMARY KEY);
SELECT hilo.attach('alone');
INSERT INTO alone VALUES (7);
GRANT EXECUTE ON FUNCTION hilo.sync() TO regress_sync_clerk;
SET ROLE regress_sync_clerk;
SELECT max FROM hilo.sync() WHERE sequence = 'alone_id_seq'::regclass;
SELECT hilo.sync('alone');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION hilo.sync() FROM regress_sync_clerk;
GRANT EXECUTE ON FUNCTION hilo.sync(text) TO regress_sync_clerk;
INSERT INTO alone VALUES (9);
SET ROLE regress_sync_clerk;
SELECT hilo.sync('alone');
SELECT hilo.sync('alone'::regclass);
SELECT hilo._sync_table('alone');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION hilo.sync(text) FROM regress_sync_clerk;
SET ROLE regress_sync_clerk;
SELECT hilo._sync_table('alone');
RESET ROLE;
-- The warning names a sequence.
BEGIN;
CREATE FOREIGN DATA WRAPPER regress_none;
CREATE SERVER regress_none FOREIGN DATA WRAPPER regress_none;
CREATE FOREIGN TABLE afar (id int NOT NULL DEFAULT hilo.nextval('alone_id_seq')) SERVER regress_none;
SELECT count(*) FROM hilo.sync() WHERE sequence = 'alone_id_seq'::regclass;
ROLLBACK;
-- A view or a composite type has no ids of its own, whatever its default, its column's domain, or the sequence that it owns: its query is not run.
CREATE SEQUENCE of_views;
CREATE DOMAIN of_views_id AS bigint DEFAULT hilo.nextval('of_views');
CREATE TABLE viewed (id of_views_id PRIMARY KEY);
CREATE TABLE viewed_too (id bigserial PRIMARY KEY);
CREATE VIEW by_default AS SELECT id / 0 AS id FROM viewed_too;
CREATE VIEW by_domain AS SELECT (id / 0)::of_views_id AS id FROM viewed;
CREATE MATERIALIZED VIEW ahead AS SELECT 1000::of_views_id AS id;
CREATE TYPE composite AS (id of_views_id);
CREATE SEQUENCE of_view OWNED BY by_default.id;
ALTER VIEW by_default ALTER id SET DEFAULT nextval('viewed_too_id_seq');
INSERT INTO viewed VALUES (20);
INSERT INTO viewed_too VALUES (30);
SELECT hilo.sync('viewed'), hilo.attach('viewed_too'), hilo.sync('viewed_too'), hilo._sync_sequence('of_view', '-', false);
CREATE DOMAIN of_cats_id AS bigint DEFAULT hilo_next_number('sync_cats');
CREATE TABLE sync_cats (id of_cats_id PRIMARY KEY);
CREATE VIEW of_cats AS SELECT (id / 0)::of_cats_id AS id FROM sync_cats;
CREATE TYPE composite_cats AS (id of_cats_id);
INSERT INTO sync_cats VALUES (40);
SELECT hilo.sync('sync_cats');
-- A smaller column beside it limits neither the others nor, beyond its own end, the claims; but its own ids may be too far.
CREATE SEQUENCE shared_by;
CREATE TABLE large (id bigint DEFAULT nextval('shared_by'), x int);
CREATE TABLE smaller (id int DEFAULT nextval('shared_by'));
INSERT INTO large VALUES (5000000010);
INSERT INTO smaller VALUES (2000000000);
SET client_min_messages = notice;
SELECT hilo.attach('large', 'id');
SELECT setval('shared_by', 100);
UPDATE large SET id = 200;
SELECT hilo.attach('large', 'id');
SET client_min_messages = warning;
SELECT hilo.sync('large');
UPDATE large SET id = 5000000020;
SELECT hilo.sync('large');
BEGIN;
SET LOCAL hilo.range_size = 10;
SET LOCAL hilo.max_range_size = 10;
INSERT INTO large (x) VALUES (1), (2), (3) RETURNING id;
SELECT last_value FROM shared_by;
COMMIT;
-- No index and no look serves numeric, but what is there is read.
CREATE TABLE numerics (id bigserial PRIMARY KEY);
SELECT hilo.attach('numerics');
INSERT INTO numerics DEFAULT VALUES;
ALTER TABLE numerics ALTER id TYPE numeric;
INSERT INTO numerics VALUES (900.00), (-1000), ('NaN');
SELECT hilo.sync('numerics');
INSERT INTO numerics DEFAULT VALUES RETURNING id;
-- A default too deep to be read stops nobody.
DO $$ BEGIN EXECUTE 'CREATE TABLE deep (id bigint DEFAULT hilo_next_number(''deep'')' || repeat('+1', 3000) || ')'; END $$;
SELECT count(*) > 0 AS others FROM hilo.attachments;
DROP TABLE deep;
-- Strangers.  A default can name what no collection can: it is none, moves no identity and no server-side ids, and overruns nothing.
CREATE ROLE regress_sync_stranger;
GRANT USAGE, CREATE ON SCHEMA regress_sync TO regress_sync_stranger;
SELECT next_identity_for('firms') < 1000 AS drawn, next_server_side_id('firms/') COLLATE "C" < 'firms/0000000000001' AS drawn;
SET ROLE regress_sync_stranger;
DO $$ BEGIN
	EXECUTE format('CREATE TABLE strays (bar bigint DEFAULT hilo_next_number(%L), own bigint DEFAULT hilo_next_number(%L), none bigint DEFAULT hilo_next_number(%L), control bigint DEFAULT hilo_next_number(%L),'
		' long bigint DEFAULT hilo_next_number(%L), longer bigint DEFAULT hilo_next_number(%L), separator bigint DEFAULT hilo_next_number(%L))', 'firms|', '|', '', E'x\ny', repeat('x', 300), repeat('y', 9000), 'firms/');
END $$;
INSERT INTO strays SELECT n, n, n, n, n, n, n FROM (VALUES (60000000)) v(n);
RESET ROLE;
SELECT column_name, collection FROM hilo.attachments WHERE relation = 'strays'::regclass;
SELECT count(*) FROM hilo.sync() WHERE collection IN ('firms|', '|', '', E'x\ny', 'firms/') OR length(collection) > 255;
\set VERBOSITY sqlstate
SELECT hilo.sync(repeat('y', 9000));
\set VERBOSITY default
SELECT hilo.sync('firms|');
SELECT next_identity_for('firms') < 1000 AS drawn, next_server_side_id('firms/') COLLATE "C" < 'firms/0000000000001' AS drawn;
DROP TABLE strays;
-- By a default alone, a collection goes no farther than the look of a draw would.
SET ROLE regress_sync_stranger;
CREATE TABLE near (id bigint DEFAULT hilo_next_number('near'));
INSERT INTO near VALUES (60000000);
SELECT hilo_next_number('near');
RESET ROLE;
SELECT hilo.sync('near');
INSERT INTO near VALUES (140000000);
SELECT hilo.sync('near') = 60000000 AS stays;
DROP TABLE near;
-- Nor does it move a sequence of others, to whatever ids, when all are moved.
CREATE TABLE plain (id serial PRIMARY KEY);
INSERT INTO plain VALUES (2000000000);
SET ROLE regress_sync_stranger;
CREATE TABLE strays (id bigint DEFAULT hilo.nextval('plain_id_seq'));
RESET ROLE;
SELECT count(*) FROM hilo.sync() WHERE sequence = 'plain_id_seq'::regclass;
SELECT last_value, is_called FROM plain_id_seq;
GRANT UPDATE ON SEQUENCE plain_id_seq TO regress_sync_stranger;
SELECT count(*) FROM hilo.sync() WHERE sequence = 'plain_id_seq'::regclass;
DROP TABLE strays, plain;
-- A collection of the name of an attached table is not taken for it; one that the table draws from, too, is.
CREATE TABLE names (id bigserial, code text);
SELECT hilo.attach('names', 'id');
INSERT INTO names VALUES (100, 'names/70-A');
SET ROLE regress_sync_stranger;
CREATE TABLE strays (id bigint DEFAULT hilo_next_number('names'));
RESET ROLE;
SELECT hilo.sync('names');
SELECT hilo.sync('names'::regclass);
DROP TABLE strays;
SELECT hilo.sync('names');
SELECT hilo.attach('names', 'code', 'names');
INSERT INTO names VALUES (200, 'names/90-A');
SELECT hilo.sync('names'), hilo_next('names'), nextval('names_id_seq') > 100 AS past;
SELECT hilo.sync('names'::regclass);
DROP TABLE names;
-- No relation, and names that no relation can have.
SELECT hilo.sync(NULL::regclass);
SELECT hilo.sync('a.b.c');

DROP SCHEMA regress_sync CASCADE;
DROP ROLE regress_sync_clerk, regress_sync_stranger;
SELECT hilo.drop('firms|');
SELECT count(hilo.drop(collection)) FROM hilo.status WHERE collection IN ('near', 'names', 'numbers', 'kinds', 'lows', 'orders', 'digits', 'Odd''ly', 'shared', 'persons', 'unbound', 'granted');
