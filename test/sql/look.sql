-- The look: no number is drawn that the column has already, however its ids came there; and what does not count.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA regress_look;
SET search_path = regress_look, public;
SET hilo.max_range_size = 1;
SET hilo.range_size = 1;

-- By hand, by an import, an update, in replica role, with triggers off: above the first that is taken, the sequence goes on above those near it.
CREATE TABLE t (id serial PRIMARY KEY, x int);
SELECT hilo.attach('t');
INSERT INTO t VALUES (2), (4), (5), (8);
INSERT INTO t (x) SELECT 0 FROM generate_series(1, 3) RETURNING id;
UPDATE t SET id = 11 WHERE id = 8;
INSERT INTO t (x) SELECT 0 FROM generate_series(1, 2) RETURNING id;
SET session_replication_role = replica;
INSERT INTO t VALUES (14);
RESET session_replication_role;
ALTER TABLE t DISABLE TRIGGER ALL;
COPY t (id) FROM stdin;
15
16
\.
ALTER TABLE t ENABLE TRIGGER ALL;
INSERT INTO t (x) VALUES (0), (0) RETURNING id;
-- Deleted and rolled-back ids do not count; those of this transaction do.
INSERT INTO t VALUES (19), (20), (22);
DELETE FROM t WHERE id IN (19, 22);
UPDATE t SET id = 30 WHERE id = 20;
BEGIN;
INSERT INTO t VALUES (21);
ROLLBACK;
BEGIN;
INSERT INTO t VALUES (20);
INSERT INTO t (x) VALUES (0), (0) RETURNING id;
COMMIT;
-- In a warm session: what it holds collides once, and is looked at after that.
SET hilo.max_range_size = 64;
CREATE TABLE warm (id serial PRIMARY KEY, x int);
SELECT hilo.attach('warm');
INSERT INTO warm (x) SELECT 0 FROM generate_series(1, 100);
SELECT high > next AS holds, next, high FROM hilo.ranges WHERE collection ~ 'warm' \gset
INSERT INTO warm SELECT generate_series(:next, :high);
INSERT INTO warm (x) VALUES (0);
INSERT INTO warm (x) VALUES (0) RETURNING id > :high AS above;
-- In a subtransaction, too.
DO $$
DECLARE
	failures int := 0;
BEGIN
	WHILE NOT EXISTS (SELECT FROM hilo.ranges WHERE collection ~ 'warm') LOOP
		INSERT INTO warm (x) VALUES (0);
	END LOOP;
	INSERT INTO warm SELECT generate_series(next, high) FROM hilo.ranges WHERE collection ~ 'warm';
	FOR i IN 1..5 LOOP
		BEGIN
			INSERT INTO warm (x) VALUES (0);
		EXCEPTION WHEN unique_violation THEN
			failures := failures + 1;
		END;
	END LOOP;
	RAISE WARNING '% of 5 failed', failures;
END $$;
SELECT count(*) = count(DISTINCT id) AS distinct FROM warm;
-- Beside DDL of the table, without a failure: a message makes the session look again.
DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM hilo.ranges WHERE collection ~ 'warm') LOOP INSERT INTO warm (x) VALUES (0); END LOOP; END $$;
INSERT INTO warm SELECT generate_series(next, high) FROM hilo.ranges WHERE collection ~ 'warm';
ALTER TABLE warm ADD y int;
INSERT INTO warm (x) SELECT 0 FROM generate_series(1, 200);
SELECT count(*) = count(DISTINCT id) AS distinct FROM warm;

-- A contiguous import is passed in few steps, a thousand stray ids do not take the sequence along, nor does a sentinel.
CREATE TABLE imported (id bigserial PRIMARY KEY, x int);
SELECT hilo.attach('imported');
INSERT INTO imported SELECT generate_series(1, 200000);
INSERT INTO imported (x) VALUES (0) RETURNING id;
CREATE TABLE stray (id serial PRIMARY KEY, x int);
SELECT hilo.attach('stray');
INSERT INTO stray SELECT i * 2000003 FROM generate_series(1, 1000) i;
INSERT INTO stray (x) SELECT 0 FROM generate_series(1, 20000);
SELECT count(DISTINCT id) FROM stray;
SELECT last_value < 30000 AS near FROM stray_id_seq;
INSERT INTO stray VALUES (2147483647), (2147483646);
INSERT INTO stray (x) SELECT 0 FROM generate_series(1, 1000);
SELECT last_value < 30000 AS near FROM stray_id_seq;
-- An int4 column behind a bigint sequence ends with its type; with a sentinel at its end, below that.
CREATE SEQUENCE wide;
CREATE TABLE narrow (id int PRIMARY KEY DEFAULT nextval('wide'), x int);
SELECT hilo.attach('narrow');
INSERT INTO narrow VALUES (2147483647);
SELECT setval('wide', 2147483640);
INSERT INTO narrow (x) SELECT 0 FROM generate_series(1, 6) RETURNING id;
INSERT INTO narrow (x) VALUES (0);
SELECT last_value < 2147490000 AS near FROM wide;
-- Ids at a distance of three.
CREATE TABLE spread (id bigserial PRIMARY KEY, x int);
SELECT hilo.attach('spread');
INSERT INTO spread SELECT 3 * i FROM generate_series(1, 2000) i;
INSERT INTO spread (x) SELECT 0 FROM generate_series(1, 500);
SELECT count(*), count(DISTINCT id), max(id) BETWEEN 6490 AND 6500 AS near FROM spread;

-- Which columns count: the one that owns the sequence, and those whose default draws from it and nothing else, of tables of its owner.
CREATE SEQUENCE shared;
CREATE TABLE one (id bigint PRIMARY KEY DEFAULT hilo.nextval('shared'));
CREATE TABLE two (id int PRIMARY KEY DEFAULT nextval('shared'));
CREATE TABLE three (id bigint PRIMARY KEY DEFAULT nextval('shared') * 2);
INSERT INTO two VALUES (1), (2), (3);
INSERT INTO three VALUES (4), (5), (6);
SELECT hilo.nextval('shared');
-- A default that makes more of it runs ahead of the counter, also where it owns the sequence.
CREATE SEQUENCE odd;
CREATE TABLE odds (id bigint PRIMARY KEY DEFAULT hilo.nextval('odd') * 2 + 1, x int);
ALTER SEQUENCE odd OWNED BY odds.id;
INSERT INTO odds (x) SELECT 0 FROM generate_series(1, 200);
SELECT max(id), last_value < 1000 AS near FROM odds, odd GROUP BY 2;
-- Another role can write a default that names the sequence; its ids move nothing, unless it may set the sequence.
CREATE ROLE regress_hilo_stranger;
GRANT USAGE, CREATE ON SCHEMA regress_look TO regress_hilo_stranger;
SET hilo.max_range_size = 1;
CREATE SEQUENCE mine;
CREATE TABLE of_mine (id bigint PRIMARY KEY DEFAULT hilo.nextval('mine'), x int);
INSERT INTO of_mine (x) VALUES (0);
SET ROLE regress_hilo_stranger;
CREATE TABLE of_stranger (id int PRIMARY KEY DEFAULT nextval('mine'));
INSERT INTO of_stranger SELECT generate_series(1, 100);
INSERT INTO of_stranger VALUES (2147483646);
RESET ROLE;
INSERT INTO of_mine (x) VALUES (0), (0) RETURNING id;
SELECT setval('mine', 2147483647);
INSERT INTO of_mine (x) VALUES (0) RETURNING id;
GRANT UPDATE ON SEQUENCE mine TO regress_hilo_stranger;
SELECT setval('mine', 3);
INSERT INTO of_mine (x) VALUES (0), (0) RETURNING id;
REVOKE UPDATE ON SEQUENCE mine FROM regress_hilo_stranger;
SELECT setval('mine', 3);
INSERT INTO of_mine (x) VALUES (0), (0) RETURNING id;
-- OWNED BY changes the columns at once; a default that is dropped and set again; a column that is renamed or altered.
CREATE SEQUENCE moving;
CREATE TABLE owner (id bigint PRIMARY KEY);
INSERT INTO owner SELECT generate_series(1, 5);
SELECT hilo.nextval('moving');
ALTER SEQUENCE moving OWNED BY owner.id;
SELECT hilo.nextval('moving');
ALTER SEQUENCE moving OWNED BY NONE;
INSERT INTO owner VALUES (7), (8);
SELECT hilo.nextval('moving');
ALTER TABLE owner ALTER id SET DEFAULT nextval('moving'), ALTER id TYPE int;
ALTER TABLE owner RENAME id TO key;
SELECT hilo.nextval('moving');
ALTER TABLE owner ALTER key DROP DEFAULT;
INSERT INTO owner VALUES (10), (11);
ALTER TABLE owner ALTER key SET DEFAULT hilo.nextval('moving');
INSERT INTO owner DEFAULT VALUES RETURNING key;

-- Which indexes count.
CREATE FUNCTION drawn_with(index text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	result bigint;
BEGIN
	CREATE TABLE indexed (a int DEFAULT 1, id bigserial);
	EXECUTE index;
	INSERT INTO indexed (id) VALUES (1), (2);
	INSERT INTO indexed (id) SELECT 100 + i FROM generate_series(1, 300) i;
	result := hilo.nextval('indexed_id_seq');
	DROP TABLE indexed;
	RETURN result;
END $$;
SELECT index, drawn_with(index) FROM (VALUES
	('CREATE INDEX ON indexed (id)'), ('CREATE UNIQUE INDEX ON indexed (id DESC)'), ('CREATE INDEX ON indexed (id NULLS FIRST, a)'), ('CREATE INDEX ON indexed (id DESC NULLS LAST) INCLUDE (a)'),
	('SELECT'), ('CREATE INDEX ON indexed (a, id)'), ('CREATE INDEX ON indexed (id) WHERE id < 50'), ('CREATE INDEX ON indexed ((id + 1))'), ('CREATE INDEX ON indexed USING hash (id)'), ('CREATE INDEX ON indexed USING brin (id)')) v(index);
-- One that was not built, or is not valid.
CREATE TABLE invalid (id bigserial PRIMARY KEY, x int);
SELECT hilo.attach('invalid');
INSERT INTO invalid VALUES (1), (2);
SET allow_system_table_mods = on;
UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'invalid_pkey'::regclass;
RESET allow_system_table_mods;
ALTER TABLE invalid ADD y int;
INSERT INTO invalid (x) VALUES (0);
REINDEX INDEX invalid_pkey;
INSERT INTO invalid (x) VALUES (0) RETURNING id;
INSERT INTO invalid SELECT generate_series(4, 9);
CLUSTER invalid USING invalid_pkey;
INSERT INTO invalid (x) VALUES (0) RETURNING id;
INSERT INTO invalid VALUES (11);
VACUUM FULL invalid;
INSERT INTO invalid (x) VALUES (0) RETURNING id;
-- Many dead entries, and entries of a version that was updated.
CREATE TABLE dead (id bigserial PRIMARY KEY, x int) WITH (autovacuum_enabled = off);
SELECT hilo.attach('dead');
INSERT INTO dead SELECT generate_series(1, 3000);
DELETE FROM dead;
INSERT INTO dead (x) VALUES (0) RETURNING id > 0 AS drawn;
INSERT INTO dead VALUES (3100, 0);
UPDATE dead SET x = x + 1 WHERE id = 3100;
SELECT setval('dead_id_seq', 3099);
INSERT INTO dead (x) VALUES (0) RETURNING id;
-- After a thousand dead entries the next counts, unseen.
CREATE TABLE dead_too (id bigserial PRIMARY KEY) WITH (autovacuum_enabled = off);
BEGIN;
INSERT INTO dead_too SELECT generate_series(1, 3000);
DELETE FROM dead_too;
COMMIT;
SET hilo.max_range_size = 3000;
SELECT low > 2500 AS above FROM hilo.reserve('dead_too_id_seq', 2500);
SET hilo.max_range_size = 1;

-- Partitions, sub-partitions, children; attached and detached ones.
CREATE TABLE parts (id bigserial, part int) PARTITION BY LIST (part);
CREATE TABLE part1 (gone int, part int, id bigint NOT NULL PRIMARY KEY);
ALTER TABLE part1 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION part1 FOR VALUES IN (1);
CREATE TABLE part2 PARTITION OF parts FOR VALUES IN (2) PARTITION BY LIST (id);
CREATE TABLE part2a PARTITION OF part2 (PRIMARY KEY (id)) DEFAULT;
SELECT hilo.attach('parts', 'id');
INSERT INTO part1 (id, part) VALUES (1, 1), (3, 1);
INSERT INTO part2a VALUES (2, 2);
INSERT INTO parts (part) VALUES (1), (2) RETURNING id, part;
CREATE TABLE part3 (id bigint PRIMARY KEY, part int);
INSERT INTO part3 SELECT i, 3 FROM generate_series(1, 1000) i;
ALTER TABLE parts ATTACH PARTITION part3 FOR VALUES IN (3);
INSERT INTO parts (part) VALUES (3), (1) RETURNING id, part;
ALTER TABLE parts DETACH PARTITION part3;
SELECT setval('parts_id_seq', 10);
INSERT INTO parts (part) VALUES (1), (2) RETURNING id, part;
-- Another column of a partition.
CREATE SEQUENCE twice;
CREATE TABLE once (id bigint PRIMARY KEY DEFAULT hilo.nextval('twice'), other bigint) PARTITION BY RANGE (id);
CREATE TABLE once1 (id bigint NOT NULL DEFAULT hilo.nextval('twice'), other bigint UNIQUE DEFAULT hilo.nextval('twice'));
ALTER TABLE once ATTACH PARTITION once1 FOR VALUES FROM (1) TO (1000);
INSERT INTO once1 VALUES (500, 1), (501, 2);
INSERT INTO once1 (id) VALUES (7) RETURNING other;
CREATE TABLE parents (id serial PRIMARY KEY);
CREATE TABLE children (extra text, PRIMARY KEY (id)) INHERITS (parents);
SELECT hilo.attach('parents');
INSERT INTO children VALUES (1), (2);
INSERT INTO parents DEFAULT VALUES RETURNING id;
INSERT INTO parents VALUES (4);
INSERT INTO children DEFAULT VALUES RETURNING id;

-- Draws within DDL: a table that is being rewritten, or an index that is being built.
CREATE SEQUENCE ddl;
CREATE TABLE rewritten (x int);
INSERT INTO rewritten SELECT generate_series(1, 5);
ALTER TABLE rewritten ADD id bigint DEFAULT hilo.nextval('ddl') PRIMARY KEY;
SELECT array_agg(id ORDER BY id) FROM rewritten;
INSERT INTO rewritten SELECT 0, generate_series(6, 9);
ALTER TABLE rewritten ADD other bigint DEFAULT hilo.nextval('ddl');
SELECT count(DISTINCT other), min(other) > 5 AS above FROM rewritten;
ALTER TABLE rewritten ALTER id TYPE int USING hilo.nextval('ddl') + 1000;
SELECT count(DISTINCT id) FROM rewritten;
CREATE FUNCTION drawing(bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN hilo.nextval('regress_look.ddl'); END $$;
CREATE INDEX ON rewritten (drawing(id));
CREATE INDEX ON rewritten ((drawing(id) + 1), id);
INSERT INTO rewritten (x) VALUES (0), (1);
SELECT count(*), count(DISTINCT id) FROM rewritten;
-- CREATE, explicit ids and the default in one transaction, as pg_restore -1 does.
BEGIN;
CREATE TABLE restored (id integer NOT NULL, x int);
CREATE SEQUENCE restored_id_seq AS integer;
ALTER SEQUENCE restored_id_seq OWNED BY restored.id;
ALTER TABLE ONLY restored ALTER COLUMN id SET DEFAULT hilo.nextval('restored_id_seq'::regclass);
COPY restored (id) FROM stdin;
1
2
3
\.
SELECT setval('restored_id_seq', 1);
ALTER TABLE ONLY restored ADD CONSTRAINT restored_pkey PRIMARY KEY (id);
INSERT INTO restored (x) VALUES (0) RETURNING id;
COMMIT;
INSERT INTO restored (x) VALUES (0) RETURNING id;

-- An insert-only role, a table with forced row security, SERIALIZABLE: rows that the caller does not see count.
CREATE TABLE hidden (id serial PRIMARY KEY, x int);
SELECT hilo.attach('hidden');
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
ALTER TABLE hidden FORCE ROW LEVEL SECURITY;
CREATE POLICY writes ON hidden FOR INSERT WITH CHECK (true);
INSERT INTO hidden SELECT generate_series(1, 10);
GRANT INSERT ON hidden TO regress_hilo_stranger;
GRANT USAGE ON SEQUENCE hidden_id_seq TO regress_hilo_stranger;
SET ROLE regress_hilo_stranger;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT currval('hidden_id_seq');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO hidden (x) VALUES (0);
SELECT currval('hidden_id_seq');
SELECT count(*) AS predicate_locks FROM pg_locks WHERE mode = 'SIReadLock' AND relation IN ('hidden'::regclass, 'hidden_pkey'::regclass) AND pid = pg_backend_pid();
COMMIT;
RESET ROLE;

-- Collections: bound and attached columns, or, without any, the defaults that name it.
CREATE TABLE numbers (id bigint PRIMARY KEY, x int);
SELECT hilo.attach('numbers', collection => 'numbers');
INSERT INTO numbers SELECT generate_series(1, 100);
INSERT INTO numbers (x) VALUES (0) RETURNING id;
CREATE TABLE lines (id int PRIMARY KEY DEFAULT hilo_next_number('lines'), x int);
INSERT INTO lines VALUES (1), (2), (4);
INSERT INTO lines (x) VALUES (0), (0) RETURNING id;
CREATE TABLE lines_too (id bigint PRIMARY KEY DEFAULT hilo_next_number('lines'));
INSERT INTO lines_too VALUES (6);
INSERT INTO lines (x) VALUES (0) RETURNING id;
-- Of tables with one owner only.
SET ROLE regress_hilo_stranger;
CREATE TABLE lines_of_stranger (id bigint PRIMARY KEY DEFAULT hilo_next_number('lines'));
RESET ROLE;
INSERT INTO lines VALUES (8);
INSERT INTO lines (x) VALUES (0);
DROP TABLE lines_of_stranger;
INSERT INTO lines VALUES (9);
INSERT INTO lines (x) VALUES (0) RETURNING id;
DROP TABLE lines, lines_too;
-- A block is looked at as well.
SET hilo.max_range_size = 1000;
INSERT INTO numbers SELECT generate_series(102, 110);
SELECT low > 110 AND high - low = 9 AS above FROM (SELECT * FROM hilo_reserve('numbers', 10)) r;
CREATE TABLE blocks (id bigserial PRIMARY KEY);
INSERT INTO blocks VALUES (5), (70000);
SELECT * FROM hilo.reserve('blocks_id_seq', 10);
SELECT * FROM hilo.reserve('blocks_id_seq', 10);
SET hilo.max_range_size = 1;

-- Text: by an index on hilo_number(), or by the exact ids of the collection.
CREATE TABLE indexed_text (id text PRIMARY KEY, x int);
CREATE INDEX ON indexed_text (hilo_number(id));
SELECT hilo.attach('indexed_text', collection => 'docs');
INSERT INTO indexed_text VALUES ('docs/1-A'), ('docs/2-B'), ('other/3-A'), ('docs/4-A'), ('docs/x/5-A');
INSERT INTO indexed_text (x) VALUES (0), (0), (0) RETURNING id;
CREATE TABLE exact (id text PRIMARY KEY, x int);
SELECT hilo.attach('exact');
INSERT INTO exact VALUES ('exact/1-A'), ('exact/2-B'), ('other/3-A');
INSERT INTO exact (x) VALUES (0), (0) RETURNING id;
-- Every third is missing: none fails.
INSERT INTO exact SELECT 'exact/' || i || '-A' FROM generate_series(4, 6000) i WHERE i % 3 <> 0;
DO $$
DECLARE
	failures int := 0;
BEGIN
	FOR i IN 1..300 LOOP
		BEGIN
			INSERT INTO exact (x) VALUES (0);
		EXCEPTION WHEN unique_violation THEN
			failures := failures + 1;
		END;
	END LOOP;
	RAISE WARNING '% of 300 failed', failures;
END $$;
-- The collection's own tag, the server's prefix, another separator.
CREATE TABLE tagged (id text PRIMARY KEY, x int);
SELECT hilo.attach('tagged'), hilo.configure('tagged', node_tag => 'Q');
INSERT INTO tagged VALUES ('tagged/1-A'), ('tagged/1-Q'), ('tagged/2-Q');
INSERT INTO tagged (x) VALUES (0) RETURNING id;
SET hilo.identity_parts_separator = ':';
INSERT INTO tagged VALUES ('tagged/4-Q'), ('tagged:5-Q');
INSERT INTO tagged (x) VALUES (0), (0) RETURNING id;
RESET hilo.identity_parts_separator;

DROP SCHEMA regress_look CASCADE;
SELECT count(hilo.drop(name)) FROM unnest('{lines,numbers,docs,exact,loud,tagged}'::text[]) name;
DROP ROLE regress_hilo_stranger;

-- The default of a domain is that of its columns.
CREATE SEQUENCE of_domain;
CREATE DOMAIN drawn AS bigint DEFAULT hilo.nextval('of_domain');
CREATE DOMAIN drawn_too AS drawn;
CREATE DOMAIN collected AS bigint DEFAULT hilo_next_number('of_domain');
CREATE TABLE domains (id drawn PRIMARY KEY, id_too drawn_too UNIQUE, id_three collected UNIQUE, x int);
INSERT INTO domains SELECT g, g + 3, g FROM generate_series(1, 3) g;
INSERT INTO domains (x) VALUES (0) RETURNING id > 6 AS above, id_too > 6 AS above_too, id_three > 3 AS above_three;
DROP TABLE domains;
DROP DOMAIN drawn_too, drawn, collected;
DROP SEQUENCE of_domain;
-- A claim that is looked at in many indexes takes at least as many numbers; its rest is looked at by those who take it from
-- the pool.
CREATE TABLE many (id bigint PRIMARY KEY, x int) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE many_%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)', i, i * 1000, i * 1000 + 1000) FROM generate_series(0, 19) i \gexec
SELECT hilo.attach('many', collection => 'many');
SET hilo.range_size = 1;
SET hilo.max_range_size = 1000;
INSERT INTO many (x) VALUES (0) RETURNING id;
SELECT low, high FROM hilo.ranges WHERE collection = 'many';
SELECT hilo.release('many');
SET hilo.max_range_size = 1;
INSERT INTO many VALUES (3), (5);
INSERT INTO many (x) VALUES (0) RETURNING id;
INSERT INTO many (x) VALUES (0) RETURNING id;
INSERT INTO many (x) VALUES (0) RETURNING id;
DROP TABLE many;
-- A claim of a sequence does, too.
CREATE TABLE many (id bigserial PRIMARY KEY, x int) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE many_%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)', i, i * 1000, i * 1000 + 1000) FROM generate_series(0, 19) i \gexec
SELECT hilo.attach('many');
SET hilo.max_range_size = 1000;
INSERT INTO many (x) VALUES (0) RETURNING id;
SELECT low, high FROM hilo.ranges WHERE collection ~ 'many';
DROP TABLE many;
-- A plain nextval that draws from the range makes hilo look at each number that is left: none of these is used if it is there.
CREATE TABLE left_over (id serial PRIMARY KEY, x int);
ALTER SEQUENCE left_over_id_seq CACHE 200;
SELECT hilo.attach('left_over');
INSERT INTO left_over (x) VALUES (0) RETURNING id;
INSERT INTO left_over SELECT g, 1 FROM generate_series(2, 400) g;
SELECT nextval('left_over_id_seq');
INSERT INTO left_over (x) VALUES (0) RETURNING id > 400 AS above;
INSERT INTO left_over SELECT g, 1 FROM generate_series(402, 1000) g ON CONFLICT DO NOTHING;
SELECT nextval('left_over_id_seq') > 400 AS drawn;
SELECT low > 1000 AS above FROM hilo.reserve('left_over_id_seq', 1);
DROP TABLE left_over;
-- Nor does one that is far above those that are passed.
CREATE TABLE stray (id serial PRIMARY KEY, x int);
SELECT hilo.attach('stray');
INSERT INTO stray VALUES (1), (2), (2000000);
INSERT INTO stray (x) VALUES (0) RETURNING id;
DROP TABLE stray;
-- Ids that are far apart take nothing along: the numbers between them are used, and a program that fills in does not come to the end.
SET hilo.max_range_size = 100000;
CREATE TABLE sparse (id int PRIMARY KEY, x int);
INSERT INTO sparse SELECT g * 40000 FROM generate_series(1, 50000) g;
SELECT hilo.attach('sparse');
INSERT INTO sparse (x) SELECT 0 FROM generate_series(1, 200000);
SELECT max(id) < 4000000 AS near FROM sparse WHERE x = 0;
ALTER TABLE sparse ALTER id SET DEFAULT hilo_next_number('sparse');
INSERT INTO sparse (x) SELECT 1 FROM generate_series(1, 200000);
SELECT max(id) < 8000000 AS near FROM sparse WHERE x = 1;
-- A block has none of the ids: it is above them.
ALTER TABLE sparse ALTER id SET DEFAULT hilo.nextval('sparse_id_seq');
SELECT low > 2000000000 AS above FROM hilo.reserve('sparse_id_seq', 50000);
DROP TABLE sparse;
SELECT hilo.drop('sparse');
-- Columns with different limits: above the lower one, the others are passed as ever.
CREATE SEQUENCE different;
CREATE TABLE narrow (id smallint DEFAULT hilo.nextval('different'));
CREATE TABLE wide (id bigint PRIMARY KEY DEFAULT hilo.nextval('different'));
SELECT setval('different', 40000);
INSERT INTO wide SELECT g FROM generate_series(40001, 140000) g;
INSERT INTO wide DEFAULT VALUES RETURNING id;
DROP TABLE narrow, wide;
DROP SEQUENCE different;
SET hilo.max_range_size = 1;
-- In the transaction that makes or truncates a table with an index on hilo_number(), each number is looked up by the id.
BEGIN;
CREATE TABLE docs (id text PRIMARY KEY, x int);
CREATE INDEX ON docs (hilo_number(id));
SELECT hilo.attach('docs');
INSERT INTO docs SELECT 'docs/' || g || '-A' FROM generate_series(1, 5) g;
INSERT INTO docs (x) VALUES (0) RETURNING hilo_number(id) > 5 AS above;
COMMIT;
BEGIN;
TRUNCATE docs;
INSERT INTO docs SELECT 'docs/' || g || '-A' FROM generate_series(1, 500) g;
INSERT INTO docs (x) VALUES (0) RETURNING hilo_number(id) > 500 AS above;
COMMIT;
DROP TABLE docs;
SELECT hilo.drop('docs');
-- A right that comes with the membership in a role.
CREATE ROLE regress_hilo_group;
CREATE ROLE regress_hilo_joined;
CREATE SEQUENCE joined;
GRANT USAGE ON SEQUENCE joined TO regress_hilo_joined;
GRANT UPDATE ON SEQUENCE joined TO regress_hilo_group;
CREATE TABLE joins (id int PRIMARY KEY DEFAULT hilo.nextval('joined'));
ALTER TABLE joins OWNER TO regress_hilo_joined;
INSERT INTO joins VALUES (2), (3);
INSERT INTO joins DEFAULT VALUES RETURNING id;
GRANT regress_hilo_group TO regress_hilo_joined;
INSERT INTO joins DEFAULT VALUES RETURNING id;
DROP TABLE joins;
DROP SEQUENCE joined;
DROP ROLE regress_hilo_group, regress_hilo_joined;

-- A default with a tag of its own: ids with that tag are looked up, or all, if it is no constant.
CREATE SCHEMA regress_look_tag;
SET search_path = regress_look_tag, public;
CREATE TABLE tb (id text COLLATE "C" PRIMARY KEY DEFAULT hilo_next('tb', 'B'), x int);
INSERT INTO tb SELECT 'tb/' || n || '-B' FROM generate_series(1, 3) n;
INSERT INTO tb (x) VALUES (1) RETURNING id;
SELECT hilo.attach('tb');
INSERT INTO tb SELECT 'tb/' || n || '-B' FROM generate_series(6, 8) n;
INSERT INTO tb (x) VALUES (2) RETURNING id;
CREATE TABLE tb_part (id text COLLATE "C" DEFAULT hilo_next(node_tag => 'P', collection => 'tb_part'), x int) PARTITION BY LIST (x);
CREATE TABLE tb_part_1 PARTITION OF tb_part (id PRIMARY KEY) FOR VALUES IN (1);
INSERT INTO tb_part_1 SELECT 'tb_part/' || n || '-P', 1 FROM generate_series(1, 3) n;
INSERT INTO tb_part (x) VALUES (1) RETURNING id;
CREATE TABLE bare (id text COLLATE "C" PRIMARY KEY DEFAULT hilo_next('bare', ''), x int);
INSERT INTO bare SELECT 'bare/' || n FROM generate_series(1, 100) n;
INSERT INTO bare (x) VALUES (1) RETURNING id ~ '^bare/\d+$' AS bare, split_part(id, '/', 2)::int > 100 AS above;
CREATE INDEX ON bare (hilo_number(id));
INSERT INTO bare SELECT 'bare/' || n FROM generate_series(1001, 1200) n;
SELECT hilo.sync('bare');
INSERT INTO bare SELECT 'bare/' || n FROM generate_series(1201, 1300) n;
SELECT hilo.attach('bare');
INSERT INTO bare SELECT 'bare/' || n FROM generate_series(1301, 1400) n;
INSERT INTO bare (x) VALUES (2) RETURNING id;
CREATE TABLE various (id text COLLATE "C" PRIMARY KEY DEFAULT hilo_next('various', left(current_setting('regress.tag', true), 1)), x int);
CREATE INDEX ON various (hilo_number(id));
INSERT INTO various SELECT 'various/' || n || tag FROM generate_series(1, 5) n, unnest('{"",-B}'::text[]) tag WHERE (n > 3) = (tag = '');
SET regress.tag = 'B';
INSERT INTO various (x) VALUES (1) RETURNING id;
SET regress.tag = '';
INSERT INTO various VALUES ('various/7');
INSERT INTO various (x) VALUES (1) RETURNING id;
-- Ids with the collection's own tag are looked at as well: programs and triggers draw them.
CREATE TABLE other (id text COLLATE "C" PRIMARY KEY DEFAULT hilo_next('other', 'X'), x int);
INSERT INTO other SELECT 'other/' || n || '-A', 0 FROM generate_series(1, 3) n;
INSERT INTO other VALUES (hilo_next('other'), 1) RETURNING id;
CREATE TABLE plain (id text COLLATE "C" PRIMARY KEY DEFAULT hilo_next('plain', 'X'), x int);
CREATE INDEX ON plain (hilo_number(id));
SELECT hilo.configure('plain', node_tag => '');
INSERT INTO plain SELECT 'plain/' || n, 0 FROM generate_series(1, 20) n;
INSERT INTO plain VALUES (hilo_next('plain'), 1) RETURNING id;
INSERT INTO plain SELECT 'plain/' || n, 0 FROM generate_series(31, 40) n;
SELECT hilo.sync('plain');
INSERT INTO plain VALUES (hilo_next('plain'), 1) RETURNING id;
-- A partition whose own default gives another tag.
CREATE TABLE pp (id text COLLATE "C" DEFAULT hilo_next('pp'), k int) PARTITION BY LIST (k);
CREATE TABLE pp_1 PARTITION OF pp (id UNIQUE DEFAULT hilo_next('pp', '')) FOR VALUES IN (1);
CREATE INDEX ON pp_1 (hilo_number(id));
INSERT INTO pp_1 SELECT 'pp/' || n, 1 FROM generate_series(1, 10) n;
INSERT INTO pp_1 (k) VALUES (1) RETURNING id;
DROP SCHEMA regress_look_tag CASCADE;
SELECT count(hilo.drop(collection)) FROM unnest('{tb,tb_part,bare,various,other,plain,pp}'::text[]) collection;

-- Of a bound collection, columns that draw by their defaults alone count, too, if their tables are of an owner of a bound one.
CREATE SCHEMA regress_look_bound;
SET search_path = regress_look_bound, public;
CREATE TABLE bg (id text PRIMARY KEY, x int);
CREATE INDEX ON bg (hilo_number(id));
SELECT hilo.attach('bg');
INSERT INTO bg (x) VALUES (1), (2), (3);
CREATE TABLE bg_new (LIKE bg INCLUDING ALL);
INSERT INTO bg_new SELECT * FROM bg;
ALTER TABLE bg RENAME TO bg_old;
ALTER TABLE bg_new RENAME TO bg;
INSERT INTO bg SELECT 'bg/' || g || '-A' FROM generate_series(4, 20) g;
INSERT INTO bg (x) VALUES (4) RETURNING id;
CREATE TABLE cut (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE cut_1 PARTITION OF cut FOR VALUES FROM (0) TO (1000);
SELECT hilo.attach('cut', collection => 'cut');
ALTER TABLE cut DETACH PARTITION cut_1;
INSERT INTO cut_1 SELECT generate_series(1, 5);
INSERT INTO cut_1 DEFAULT VALUES RETURNING id;
CREATE TABLE bound (id text PRIMARY KEY);
SELECT hilo.bind('bound', 'bound', 'id');
CREATE TABLE beside (id bigint PRIMARY KEY DEFAULT hilo_next_number('bound'));
INSERT INTO beside SELECT generate_series(1, 5);
INSERT INTO beside DEFAULT VALUES RETURNING id;
-- A column of text that draws numbers, and is bound.
CREATE TABLE digits (id text PRIMARY KEY DEFAULT hilo_next_number('digits'), x int);
INSERT INTO digits SELECT generate_series(1, 50);
SELECT hilo.bind('digits', 'digits', 'id');
INSERT INTO digits (x) VALUES (1) RETURNING id::int > 50 AS above;
SELECT hilo.unbind('digits');
-- Identities are only in the column that was bound.
INSERT INTO bound VALUES ('bound/3');
SELECT hilo.sync('bound');
SELECT value FROM hilo.identities WHERE name = 'bound';
-- Two columns of one table, and their types.
CREATE TABLE twice (a bigint PRIMARY KEY, b int UNIQUE);
SELECT hilo.attach('twice', 'a', 'twice'), hilo.attach('twice', 'b', 'twice');
SELECT max_value FROM hilo.status WHERE collection = 'twice';
INSERT INTO twice (a, b) SELECT 1000 + g, g FROM generate_series(1, 5) g;
INSERT INTO twice (a) VALUES (-1) RETURNING b;
INSERT INTO twice (a, b) SELECT g, 1000 + g FROM generate_series(7, 9) g;
INSERT INTO twice (b) VALUES (-1) RETURNING a;
-- A stranger's table moves nothing, and limits nothing.
CREATE ROLE regress_hilo_passer;
GRANT USAGE, CREATE ON SCHEMA regress_look_bound TO regress_hilo_passer;
SET ROLE regress_hilo_passer;
CREATE TABLE passing (id smallint PRIMARY KEY DEFAULT hilo_next_number('twice'));
INSERT INTO passing SELECT generate_series(10, 32767, 1000);
INSERT INTO passing VALUES (1011);
RESET ROLE;
INSERT INTO twice (b) VALUES (-2) RETURNING a;
SELECT hilo.sync('twice');
SELECT max_value FROM hilo.status WHERE collection = 'twice';
-- A smaller column beside a bound one does not end the collection.
CREATE TABLE large (id bigint PRIMARY KEY);
SELECT hilo.attach('large', collection => 'large');
CREATE TABLE smaller (id int PRIMARY KEY DEFAULT hilo_next_number('large'));
SELECT hilo.seed('large', 3000000000);
INSERT INTO large DEFAULT VALUES RETURNING id;
SELECT hilo.unbind('bound');
DROP SCHEMA regress_look_bound CASCADE;
DROP ROLE regress_hilo_passer;
SELECT count(hilo.drop(collection)) FROM unnest('{bg,cut,bound,bound|,digits,twice,large}'::text[]) collection;
