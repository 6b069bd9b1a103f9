-- A table listed in Citus's pg_dist_partition is searched by queries, and draws from a collection.
\set SHOW_CONTEXT never

CREATE SCHEMA regress_shards;
SET search_path = regress_shards, public;
CREATE TABLE parts (id bigint PRIMARY KEY, name text UNIQUE);
INSERT INTO parts SELECT n, 'parts/' || n FROM generate_series(1, 40) n;
CREATE TABLE plain (id bigint PRIMARY KEY);
INSERT INTO plain SELECT generate_series(1, 40);
-- Without Citus.
SELECT hilo.bind('w_parts', 'parts', 'id'), hilo.sync('w_parts'), next_identity_free('w_parts');
SELECT hilo.attach('parts', 'id', 'w_parts_2'), hilo.detach('parts');

SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL, partmethod "char", partkey text, colocationid int, repmodel "char");
RESET allow_system_table_mods;
CREATE INDEX pg_dist_partition_logical_relid_index ON pg_catalog.pg_dist_partition (logicalrelid);
CREATE FUNCTION becomes(method "char", key text, colocation int, replication "char") RETURNS void LANGUAGE sql AS $$
	DELETE FROM pg_catalog.pg_dist_partition;
	INSERT INTO pg_catalog.pg_dist_partition VALUES ('parts', $1, $2, $3, $4);
$$;

-- Distributed by another column; by that one; reference; single shard: a sequence is unique on its own server only, so the column draws from a collection.
CREATE FUNCTION draws() RETURNS text LANGUAGE sql AS $$
	SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'parts'::regclass AND adnum = 1
$$;
SELECT becomes('h', '{VAR :varno 1 :varattno 2 :vartype 25}', 1, 's');
SELECT hilo.attach('parts');
SELECT draws(), hilo.detach('parts');
SELECT hilo.attach('parts', 'name', 'w_named');
SELECT hilo.detach('parts');
\set VERBOSITY terse
SELECT becomes('h', '{VAR :varno 1 :varattno 1 :vartype 20}', 1, 's');
SELECT hilo.attach('parts');
SELECT draws(), hilo.detach('parts');
SELECT becomes('n', NULL, 2, 't');
SELECT hilo.attach('parts');
SELECT draws(), hilo.detach('parts');
SELECT becomes('n', NULL, 2, 's');
SELECT hilo.attach('parts');
SELECT draws(), hilo.detach('parts');
-- From a sequence, and back.
CREATE SEQUENCE ids OWNED BY parts.id;
ALTER TABLE parts ALTER id SET DEFAULT nextval('ids');
SELECT relation, result FROM hilo.attach_all('regress_shards');
SELECT draws(), hilo.detach('parts');
SELECT draws(), currval('ids');
ALTER TABLE parts ALTER id DROP DEFAULT;
-- An identity column cannot be attached.
ALTER TABLE parts ALTER id ADD GENERATED ALWAYS AS IDENTITY;
SELECT relation, result FROM hilo.attach_all('regress_shards');
ALTER TABLE parts ALTER id DROP IDENTITY;
\set VERBOSITY default

-- Counters are moved by a query, at the isolation level that sees all rows.
INSERT INTO parts VALUES (500, 'parts/500');
SELECT hilo.sync('w_parts');
SELECT hilo.bind('w_names', 'parts', 'name');
UPDATE parts SET name = 'w_names/7-A' WHERE id = 1;
UPDATE parts SET name = 'w_names/90' WHERE id = 2;
SELECT hilo.sync('w_names');
INSERT INTO parts SELECT 500 + n, 'w_names/' || 90 + n FROM generate_series(1, 5) n;
SELECT value, tries FROM next_identity_free_for('w_names');
SELECT next_identity_free('w_parts');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT hilo.sync('w_parts');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT next_identity_free('w_parts');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT hilo.bind('w_plain', 'plain', 'id'), hilo.sync('w_plain') - (SELECT max FROM hilo.hilo WHERE collection = 'w_plain') AS plain;
ROLLBACK;

-- A lookup by any role that may insert runs as the owner: row security hides nothing.
CREATE ROLE regress_shards_user;
GRANT USAGE ON SCHEMA regress_shards TO regress_shards_user;
GRANT INSERT ON parts TO regress_shards_user;
ALTER TABLE parts ENABLE ROW LEVEL SECURITY;
INSERT INTO parts VALUES (600, 'w_names/97'), (601, 'w_names/98');
SET ROLE regress_shards_user;
SELECT next_identity_free('w_names');
RESET ROLE;

-- Local to the coordinator: the same.
SELECT becomes('n', NULL, 0, 's');
SELECT hilo.attach('parts', 'id', 'w_parts_3');
SELECT hilo.detach('parts');
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT hilo.attach('parts', 'name', 'w_parts_4');
ROLLBACK;

SELECT hilo.unbind('w_parts'), hilo.unbind('w_names');
SET allow_system_table_mods = on;
DROP TABLE pg_catalog.pg_dist_partition;
RESET allow_system_table_mods;
DROP SCHEMA regress_shards CASCADE;
DROP ROLE regress_shards_user;
SELECT count(hilo.drop(collection)) FROM hilo.status WHERE collection ~ '^w_';
SELECT hilo.drop('w_parts|'), hilo.drop('w_names|'), hilo.drop('parts');
