-- The look: no number is drawn that the column has already, however its ids came there; and what does not count.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA regress_look;
SET search_path = regress_look, public;
-- Tables whose ids are drawn, and that share a form.
SELECT format('CREATE TABLE %s (id %s PRIMARY KEY, x int)', name, type), format('ALTER TABLE %1$s ALTER id SET DEFAULT hilo.nextval(''%1$s_id_seq'')', name)
	FROM (VALUES ('t', 'serial'), ('stray', 'serial'), ('spread', 'bigserial'), ('blocks', 'serial'), ('small', 'smallserial'),
	('full_up', 'smallserial'), ('invalid', 'bigserial'), ('altered', 'serial'), ('hidden', 'serial')) v(name, type) \gexec

-- By hand, by an import, an update, in replica role, with triggers off: the next free number, not one above all ids.
INSERT INTO t VALUES (2), (4), (5), (8);
INSERT INTO t (x) SELECT 0 FROM generate_series(1, 4) RETURNING id;
UPDATE t SET id = 11 WHERE id = 8;
INSERT INTO t (x) SELECT 0 FROM generate_series(1, 3) RETURNING id;
SET session_replication_role = replica;
INSERT INTO t VALUES (13);
RESET session_replication_role;
ALTER TABLE t DISABLE TRIGGER ALL;
COPY t (id) FROM stdin;
14
15
\.
ALTER TABLE t ENABLE TRIGGER ALL;
INSERT INTO t (x) VALUES (0), (0) RETURNING id;
SELECT last_value, currval('t_id_seq'), lastval() FROM t_id_seq;
-- Deleted and rolled-back ids do not count; those of this transaction do.
INSERT INTO t VALUES (18), (19), (22);
DELETE FROM t WHERE id IN (18, 22);
UPDATE t SET id = 30 WHERE id = 19;
BEGIN;
INSERT INTO t VALUES (18);
ROLLBACK;
BEGIN;
INSERT INTO t VALUES (19);
INSERT INTO t (x) VALUES (0), (0) RETURNING id;
SAVEPOINT a;
INSERT INTO t VALUES (21);
ROLLBACK TO a;
INSERT INTO t (x) VALUES (0) RETURNING id;
COMMIT;
-- Defaults, an own id by hand, defaults, in one transaction; and ids by hand between defaults in one VALUES list, where each
-- number is looked at when it is drawn.
BEGIN;
INSERT INTO t (x) VALUES (0) RETURNING id;
INSERT INTO t VALUES (23), (24);
INSERT INTO t (x) VALUES (0), (0) RETURNING id;
COMMIT;
INSERT INTO t VALUES (27, 0), (DEFAULT, 0), (28, 0), (DEFAULT, 0), (DEFAULT, 0) RETURNING id;
INSERT INTO t VALUES (DEFAULT, 0), (DEFAULT, 0), (40, 0) RETURNING id;
-- Within functions and DO blocks each command looks anew.
DO $$
BEGIN
	FOR i IN 1..3 LOOP
		INSERT INTO t (x) VALUES (1);
		INSERT INTO t VALUES (currval('regress_look.t_id_seq') + 1, 2);
	END LOOP;
END $$;
SELECT x, array_agg(id ORDER BY id) FROM t WHERE x > 0 GROUP BY x ORDER BY x;
-- Statements that change ids meanwhile.
INSERT INTO t SELECT 50 + i FROM generate_series(1, 10) i;
WITH moved AS (UPDATE t SET id = id + 1000 WHERE id BETWEEN 51 AND 60 RETURNING id) INSERT INTO t (x) SELECT 3 FROM moved;
SELECT count(*), count(DISTINCT id), max(id) FROM t;
-- setval() downwards: the numbers from there on are looked at again.
SELECT setval('t_id_seq', 1);
INSERT INTO t (x) VALUES (4) RETURNING id;
SELECT setval('t_id_seq', 1), hilo.nextval('t_id_seq'), setval('t_id_seq', 1), hilo.nextval('t_id_seq');

-- A contiguous import is passed in few steps; stray ids do not take the sequence along, nor does a sentinel.
CREATE TABLE imported (id bigserial PRIMARY KEY, x int);
INSERT INTO imported SELECT generate_series(1, 200000);
SELECT hilo.nextval('imported_id_seq');
INSERT INTO stray SELECT i * 2000003 FROM generate_series(1, 1000) i;
INSERT INTO stray (x) SELECT 0 FROM generate_series(1, 20000);
SELECT count(DISTINCT id), max(id) FILTER (WHERE x = 0) FROM stray;
INSERT INTO stray VALUES (2147483647), (2147483646), (20001), (20002);
INSERT INTO stray (x) VALUES (0) RETURNING id;
-- Rows at the powers of two, and at 2^k + 1, do not drive it on either.
CREATE TABLE powers (id bigserial PRIMARY KEY);
INSERT INTO powers SELECT DISTINCT n FROM generate_series(0, 61) k, unnest(ARRAY[1::bigint << k, (1::bigint << k) + 1]) n;
SELECT hilo.nextval('powers_id_seq') < 1::bigint << 16 AS near;
-- Ids at a distance of three: the holes are used.
INSERT INTO spread SELECT 3 * i FROM generate_series(1, 2000) i;
INSERT INTO spread (x) SELECT 0 FROM generate_series(1, 500);
SELECT count(*), count(DISTINCT id), max(id) FILTER (WHERE x = 0) FROM spread;
-- Blocks of ids, as programs insert them that take their numbers elsewhere.
INSERT INTO blocks SELECT g + b FROM generate_series(1, 20) g, generate_series(0, 900, 100) b;
INSERT INTO blocks (x) SELECT 0 FROM generate_series(1, 400);
SELECT count(*), count(DISTINCT id), max(id) FILTER (WHERE x = 0) BETWEEN 400 AND 600 AS near FROM blocks;

-- Smaller types, at their ends.  The column's end is where the insert fails; below it, ids are passed.
CREATE SEQUENCE wide;
CREATE TABLE narrow (id int PRIMARY KEY DEFAULT hilo.nextval('wide'), x int);
ALTER SEQUENCE wide OWNED BY narrow.id;
INSERT INTO narrow VALUES (2147483643), (2147483646);
SELECT setval('wide', 2147483640);
INSERT INTO narrow (x) SELECT 0 FROM generate_series(1, 5) RETURNING id;
INSERT INTO narrow (x) VALUES (0);
-- A hole below the column's end is found, though the sequence goes on above it.
TRUNCATE narrow;
INSERT INTO narrow SELECT i FROM generate_series(2147483601, 2147483647) i WHERE i <> 2147483645;
SELECT setval('wide', 2147483600);
INSERT INTO narrow (x) VALUES (0) RETURNING id;
INSERT INTO small SELECT generate_series(1, 32766);
INSERT INTO small (x) VALUES (0) RETURNING id;
INSERT INTO small (x) VALUES (0);
INSERT INTO full_up SELECT generate_series(1, 32767);
INSERT INTO full_up (x) VALUES (0);

-- Identity columns, by the setting; ALWAYS and BY DEFAULT.
SET hilo.sequences = on;
CREATE TABLE ident (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, x int);
CREATE TABLE ident_always (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, x int);
INSERT INTO ident VALUES (1), (2), (4);
INSERT INTO ident_always OVERRIDING SYSTEM VALUE VALUES (1), (2), (4);
INSERT INTO ident (x) VALUES (0), (0) RETURNING id;
INSERT INTO ident_always (x) VALUES (0), (0) RETURNING id;
RESET hilo.sequences;

-- Descending; INCREMENT 3: on its own grid; CYCLE: no look.
SELECT format('CREATE TABLE %s (id int PRIMARY KEY, x int)', name), format('CREATE SEQUENCE %1$s_seq %2$s OWNED BY %1$s.id', name, options),
	format('ALTER TABLE %1$s ALTER id SET DEFAULT hilo.nextval(''%1$s_seq'')', name)
	FROM (VALUES ('down', 'INCREMENT -1'), ('threes', 'INCREMENT 3'), ('cycles', 'MAXVALUE 3 CYCLE'), ('cached', 'CACHE 20')) v(name, options) \gexec
INSERT INTO down SELECT generate_series(-100, -3);
INSERT INTO down VALUES (1), (-102);
INSERT INTO down (x) VALUES (0), (0), (0), (0) RETURNING id;
INSERT INTO threes VALUES (2), (3), (4), (7), (8), (10), (16);
INSERT INTO threes (x) VALUES (0), (0), (0), (0) RETURNING id;
INSERT INTO cycles VALUES (2);
INSERT INTO cycles (x) VALUES (0) RETURNING id;
INSERT INTO cycles (x) VALUES (0);
ALTER SEQUENCE cycles_seq NO CYCLE;
SELECT setval('cycles_seq', 1);
INSERT INTO cycles (x) VALUES (0) RETURNING id;
-- CACHE: also the numbers that the session has in its own cache.
INSERT INTO cached (x) VALUES (0) RETURNING id;
INSERT INTO cached VALUES (2), (3), (5), (21), (22), (23);
INSERT INTO cached (x) SELECT 0 FROM generate_series(1, 20);
SELECT count(*), count(DISTINCT id) FROM cached;

-- What counts: the column that owns the sequence and draws from it, by nextval or hilo.nextval with nothing around it but casts.
CREATE SEQUENCE moving;
CREATE TABLE owner (id bigint PRIMARY KEY);
INSERT INTO owner SELECT generate_series(1, 20) EXCEPT SELECT generate_series(0, 20, 5);
SELECT hilo.nextval('moving');
-- Owned without a default that draws: programs keep blocks there.
ALTER SEQUENCE moving OWNED BY owner.id;
SELECT hilo.nextval('moving');
ALTER TABLE owner ALTER id SET DEFAULT nextval('moving');
SELECT hilo.nextval('moving');
SELECT setval('moving', 5);
ALTER TABLE owner ALTER id SET DEFAULT nextval('moving') + 0;
SELECT hilo.nextval('moving');
ALTER TABLE owner ALTER id SET DEFAULT hilo.nextval('moving'), ALTER id TYPE int;
ALTER TABLE owner RENAME id TO key;
SELECT hilo.nextval('moving');
-- A draw from it without being owned.
ALTER SEQUENCE moving OWNED BY NONE;
SELECT hilo.nextval('moving');
ALTER SEQUENCE moving OWNED BY owner.key;
SELECT hilo.nextval('moving');
ALTER TABLE owner ALTER key DROP DEFAULT;
SELECT hilo.nextval('moving');
ALTER TABLE owner ALTER key SET DEFAULT hilo.nextval('moving');
SELECT hilo.nextval('moving');
-- Another table's column does not count, whoever owns it.
CREATE TABLE beside (id int PRIMARY KEY DEFAULT hilo.nextval('moving'));
INSERT INTO beside SELECT generate_series(21, 30);
INSERT INTO beside DEFAULT VALUES;
INSERT INTO beside VALUES (DEFAULT), (DEFAULT), (DEFAULT);

-- Which indexes count.
CREATE TABLE indexes (n serial, index text);
INSERT INTO indexes (index) VALUES
	('CREATE INDEX ON indexed_%s (id)'), ('CREATE UNIQUE INDEX ON indexed_%s (id DESC)'), ('CREATE INDEX ON indexed_%s (id NULLS FIRST, a)'), ('CREATE INDEX ON indexed_%s (id DESC NULLS LAST) INCLUDE (a)'),
	('SELECT'), ('CREATE INDEX ON indexed_%s (a, id)'), ('CREATE INDEX ON indexed_%s (id) WHERE id < 50'), ('CREATE INDEX ON indexed_%s ((id + 1))'), ('CREATE INDEX ON indexed_%s USING hash (id)'), ('CREATE INDEX ON indexed_%s USING brin (id)');
DO $$
DECLARE
	i record;
BEGIN
	FOR i IN SELECT * FROM indexes LOOP
		EXECUTE format('CREATE TABLE indexed_%s (a int DEFAULT 1, id bigserial)', i.n);
		EXECUTE format(i.index, i.n);
		EXECUTE format('INSERT INTO indexed_%s (id) SELECT generate_series(1, 300)', i.n);
	END LOOP;
END $$;
SELECT index, hilo.nextval(format('indexed_%s_id_seq', n)::regclass) FROM indexes ORDER BY n;
-- One that is dropped, and made again.
CREATE TABLE dropping (id bigserial);
CREATE INDEX dropping_id ON dropping (id);
INSERT INTO dropping VALUES (1), (2), (4), (5), (8);
SELECT hilo.nextval('dropping_id_seq');
DROP INDEX dropping_id;
SELECT hilo.nextval('dropping_id_seq');
CREATE INDEX dropping_id ON dropping (id);
SELECT hilo.nextval('dropping_id_seq'), hilo.nextval('dropping_id_seq'), hilo.nextval('dropping_id_seq');
-- One that is not valid.
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
-- Dead entries do not count, up to a thousand in a row; after these the next one does.
CREATE TABLE dead (id bigserial PRIMARY KEY) WITH (autovacuum_enabled = off);
INSERT INTO dead SELECT generate_series(1, 500);
DELETE FROM dead;
SELECT hilo.nextval('dead_id_seq');
-- A version that was updated.
INSERT INTO dead VALUES (600);
UPDATE dead SET id = id WHERE id = 600;
SELECT setval('dead_id_seq', 599), hilo.nextval('dead_id_seq');
-- But after a thousand of them the next one counts, so that a look stays short.
CREATE TABLE often (id bigserial) WITH (autovacuum_enabled = off);
CREATE INDEX ON often (id);
BEGIN;
INSERT INTO often SELECT 10 FROM generate_series(1, 1500);
DELETE FROM often;
SELECT bool_and(n <> 10) AS passed FROM (SELECT hilo.nextval('often_id_seq') AS n FROM generate_series(1, 20)) d;
COMMIT;

-- Partitions, sub-partitions, children; attached and detached ones; columns at other places.
CREATE TABLE parts (id bigserial, part int) PARTITION BY LIST (part);
CREATE TABLE part1 (gone int, part int, id bigint NOT NULL PRIMARY KEY);
ALTER TABLE part1 DROP COLUMN gone;
ALTER TABLE parts ATTACH PARTITION part1 FOR VALUES IN (1);
CREATE TABLE part2 PARTITION OF parts FOR VALUES IN (2) PARTITION BY LIST (id);
CREATE TABLE part2a PARTITION OF part2 (PRIMARY KEY (id)) DEFAULT;
ALTER TABLE parts ALTER id SET DEFAULT hilo.nextval('parts_id_seq');
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
-- A partition without an index that counts is not looked at; the others are.
CREATE TABLE part4 PARTITION OF parts FOR VALUES IN (4);
INSERT INTO part4 VALUES (13, 4);
INSERT INTO part1 VALUES (1, 14);
INSERT INTO parts (part) VALUES (1), (1) RETURNING id;
CREATE TABLE parents (id serial PRIMARY KEY);
CREATE TABLE children (extra text, PRIMARY KEY (id)) INHERITS (parents);
ALTER TABLE parents ALTER id SET DEFAULT hilo.nextval('parents_id_seq');
INSERT INTO children VALUES (1), (2);
INSERT INTO parents DEFAULT VALUES RETURNING id;
INSERT INTO parents VALUES (4);
INSERT INTO children DEFAULT VALUES RETURNING id;
-- More than four indexes: what is looked at lasts for a second; ids that were there a second before are passed all the same.
CREATE TABLE many (id bigserial PRIMARY KEY, x int) PARTITION BY RANGE (id);
SELECT format('CREATE TABLE many_%s PARTITION OF many FOR VALUES FROM (%s) TO (%s)', i, i * 1000, i * 1000 + 1000) FROM generate_series(0, 9) i \gexec
ALTER TABLE many ALTER id SET DEFAULT hilo.nextval('many_id_seq');
INSERT INTO many VALUES (1), (2), (3), (1500);
INSERT INTO many (x) SELECT 0 FROM generate_series(1, 2000);
SELECT count(*), count(DISTINCT id), max(id) FROM many;
-- Also within one statement that takes longer.
DO $$
DECLARE
	n bigint;
BEGIN
	FOR i IN 1 .. 20 LOOP n := hilo.nextval('many_id_seq'); END LOOP;
	PERFORM pg_sleep(1.1);
	INSERT INTO many VALUES (n + 2);
	RAISE INFO 'in steps of %', (SELECT array_agg(hilo.nextval('many_id_seq') - n) FROM generate_series(1, 3));
END $$;

-- Draws within DDL: a table that is being rewritten, or an index that is being built.
CREATE SEQUENCE ddl;
CREATE TABLE rewritten (x int);
INSERT INTO rewritten SELECT generate_series(1, 5);
ALTER TABLE rewritten ADD id bigint DEFAULT hilo.nextval('ddl') PRIMARY KEY;
ALTER SEQUENCE ddl OWNED BY rewritten.id;
SELECT array_agg(id ORDER BY id) FROM rewritten;
INSERT INTO rewritten SELECT 0, generate_series(6, 9);
INSERT INTO rewritten (x) VALUES (0) RETURNING id;
ALTER TABLE rewritten ADD other bigint DEFAULT hilo.nextval('ddl');
SELECT count(DISTINCT other), min(other) FROM rewritten;
ALTER TABLE rewritten ALTER id TYPE int USING hilo.nextval('ddl') + 1000;
SELECT count(DISTINCT id) FROM rewritten;
CREATE FUNCTION drawing(bigint) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN hilo.nextval('regress_look.ddl'); END $$;
CREATE INDEX ON rewritten (drawing(id));
CREATE INDEX ON rewritten (id, (drawing(id) + 1));
INSERT INTO rewritten (x) VALUES (0), (1);
SELECT count(*), count(DISTINCT id) FROM rewritten;
-- A table that this transaction has locked by its own ALTER is not looked at; after that it is.
INSERT INTO altered VALUES (1), (2);
BEGIN;
ALTER TABLE altered ADD y int;
INSERT INTO altered (x) VALUES (0);
ROLLBACK;
INSERT INTO altered (x) VALUES (0) RETURNING id;
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
SELECT setval('restored_id_seq', 3);
ALTER TABLE ONLY restored ADD CONSTRAINT restored_pkey PRIMARY KEY (id);
INSERT INTO restored (x) VALUES (0) RETURNING id;
COMMIT;
INSERT INTO restored VALUES (5);
INSERT INTO restored (x) VALUES (0) RETURNING id;

-- An insert-only role, a table with forced row security, SERIALIZABLE: rows that the caller does not see count, and no predicate lock is left.
CREATE ROLE regress_hilo_stranger;
GRANT USAGE, CREATE ON SCHEMA regress_look TO regress_hilo_stranger;
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY;
ALTER TABLE hidden FORCE ROW LEVEL SECURITY;
CREATE POLICY writes ON hidden FOR INSERT WITH CHECK (true);
INSERT INTO hidden SELECT generate_series(1, 10);
GRANT INSERT ON hidden TO regress_hilo_stranger;
GRANT USAGE ON SEQUENCE hidden_id_seq TO regress_hilo_stranger;
SET ROLE regress_hilo_stranger;
BEGIN ISOLATION LEVEL SERIALIZABLE;
INSERT INTO hidden (x) VALUES (0);
SELECT currval('hidden_id_seq');
SELECT count(*) AS predicate_locks FROM pg_locks WHERE mode = 'SIReadLock' AND relation IN ('hidden'::regclass, 'hidden_pkey'::regclass) AND pid = pg_backend_pid();
COMMIT;
RESET ROLE;

-- Bound collections: integers of any size, several columns, partitions; numbers are looked at when they are drawn from the range, too.
CREATE TABLE numbers (id bigint PRIMARY KEY DEFAULT hilo_next_number('numbers'), other int, part smallint, x int);
CREATE INDEX ON numbers (other);
CREATE INDEX ON numbers (part);
SELECT hilo.bind('numbers', 'numbers', 'id');
INSERT INTO numbers SELECT generate_series(1, 100);
INSERT INTO numbers (x) VALUES (0) RETURNING id;
INSERT INTO numbers VALUES (102), (104);
INSERT INTO numbers (x) VALUES (0), (0) RETURNING id;
INSERT INTO numbers VALUES (1000, 106, 107);
INSERT INTO numbers (x) VALUES (0) RETURNING id;
SELECT hilo.bind('numbers', 'numbers', 'other'), hilo.bind('numbers', 'numbers', 'part');
INSERT INTO numbers VALUES (1001, 108, 109);
INSERT INTO numbers (x) VALUES (0), (0) RETURNING id;
SELECT hilo.unbind('numbers', 'numbers');
INSERT INTO numbers VALUES (112);
SELECT hilo_next_number('numbers');
-- VALUES lists with ids by hand between defaults; an own id by hand, then the default, in one transaction.
SELECT hilo.bind('numbers', 'numbers', 'id');
INSERT INTO numbers (id) VALUES (113), (DEFAULT), (115), (DEFAULT) RETURNING id;
BEGIN;
INSERT INTO numbers (x) VALUES (0) RETURNING id;
INSERT INTO numbers VALUES (118), (119);
INSERT INTO numbers (x) VALUES (0) RETURNING id;
COMMIT;
-- A block has none of the ids: it is above them.
SELECT * FROM hilo_reserve('numbers', 10);
INSERT INTO numbers SELECT generate_series(145, 150);
SELECT low > 150 AS above, high - low FROM hilo_reserve('numbers', 10);
-- Stray ids take nothing along.
INSERT INTO numbers VALUES (5000000000), (9223372036854775807);
SELECT hilo_next_number('numbers') < 300 AS near;
CREATE TABLE bound_parts (id int, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE bound_part1 PARTITION OF bound_parts FOR VALUES IN (1);
SELECT hilo.bind('bound_parts', 'bound_parts', 'id');
INSERT INTO bound_parts VALUES (1, 1);
SELECT hilo_next_number('bound_parts');
CREATE TABLE bound_part2 PARTITION OF bound_parts FOR VALUES IN (2);
INSERT INTO bound_parts VALUES (3, 2), (4, 1);
SELECT hilo_next_number('bound_parts');
-- Text, with the collection's own tag, the server's prefix, a tag that the call gives, another separator: the exact id counts.
CREATE TABLE docs (id text PRIMARY KEY DEFAULT hilo_next('docs'), x int);
SELECT hilo.bind('docs', 'docs', 'id');
INSERT INTO docs VALUES ('docs/1-A'), ('docs/2-B'), ('other/2-A'), ('docs/4-A'), ('docs/x/2-A'), ('Docs/2-A');
INSERT INTO docs (x) VALUES (0), (0) RETURNING id;
INSERT INTO docs VALUES ('docs/4-Q'), ('docs/5-Q');
SELECT hilo_next('docs', 'Q'), hilo_next('docs'), hilo_next('docs', '');
SELECT hilo.configure('docs', node_tag => 'R');
INSERT INTO docs VALUES ('docs/9-A'), ('docs/9-R'), ('docs/10-R');
INSERT INTO docs (x) VALUES (0) RETURNING id;
SET hilo.identity_parts_separator = ':';
INSERT INTO docs VALUES ('docs/12-R'), ('docs:13-R');
INSERT INTO docs (x) VALUES (0), (0) RETURNING id;
RESET hilo.identity_parts_separator;
SET hilo.server_prefix = 'north/';
INSERT INTO docs VALUES ('docs/north/15-R');
INSERT INTO docs (x) VALUES (0) RETURNING id;
RESET hilo.server_prefix;
-- Every third is missing: none fails.
CREATE TABLE exact (id text PRIMARY KEY DEFAULT hilo_next('exact'), x int);
SELECT hilo.bind('exact', 'exact', 'id');
INSERT INTO exact SELECT 'exact/' || i || '-A' FROM generate_series(1, 3000) i WHERE i % 3 <> 0;
INSERT INTO exact (x) SELECT 0 FROM generate_series(1, 300);
SELECT count(*), count(DISTINCT id) FROM exact;

-- In the order of bytes one search does for many numbers, if there is nothing between their ids; what is between them may be other ids.
CREATE TABLE bytes (id text COLLATE "C" PRIMARY KEY DEFAULT hilo_next('bytes'), x int);
SELECT hilo.bind('bytes', 'bytes', 'id');
INSERT INTO bytes SELECT 'bytes/' || i FROM unnest('{5-A,17-A,17-B,18-B,70-A,99-A,100-A,105-A,1050-B,300-A,301-A,302-A,310-A}'::text[]) i;
INSERT INTO bytes (x) SELECT 0 FROM generate_series(1, 400);
SELECT string_agg(g::text, ' ' ORDER BY g) AS passed FROM generate_series(1, 409) g WHERE NOT EXISTS (SELECT FROM bytes WHERE id = 'bytes/' || g || '-A' AND x = 0);
-- What was free for one tag, prefix or separator may not be so for another one, in the same command.
INSERT INTO bytes SELECT 'bytes/' || g || '-Q' FROM generate_series(410, 500) g;
INSERT INTO bytes SELECT 'bytes/north/' || g || '-A' FROM generate_series(501, 600) g;
SELECT count(hilo_next('bytes')) > 0, hilo_next('bytes', 'Q') = 'bytes/501-Q' AS passed FROM generate_series(1, 16);
SELECT count(*) FROM (SELECT CASE g WHEN 9 THEN set_config('hilo.server_prefix', 'north/', false) ELSE hilo_next('bytes') END AS id
	FROM generate_series(1, 20) g) d JOIN bytes USING (id);
RESET hilo.server_prefix;

-- What was free because this transaction had deleted it is looked at again when that is rolled back, in part or, with many partitions, as a whole.
CREATE TABLE deleted (id bigserial PRIMARY KEY, x int);
INSERT INTO deleted SELECT g, 0 FROM generate_series(7, 20) g;
SELECT hilo.attach('deleted');
DO $$
BEGIN
	BEGIN
		DELETE FROM deleted;
		PERFORM hilo.nextval('deleted_id_seq') FROM generate_series(1, 6);
		RAISE EXCEPTION 'back';
	EXCEPTION WHEN raise_exception THEN
		INSERT INTO deleted (x) VALUES (1);
	END;
END
$$;
CREATE TABLE deleted_parts (id bigserial PRIMARY KEY, x int) PARTITION BY HASH (id);
SELECT format('CREATE TABLE deleted_%s PARTITION OF deleted_parts FOR VALUES WITH (MODULUS 6, REMAINDER %s)', i, i) FROM generate_series(0, 5) i \gexec
INSERT INTO deleted_parts SELECT g, 0 FROM generate_series(7, 20) g;
SELECT hilo.attach('deleted_parts');
BEGIN;
DELETE FROM deleted_parts;
SELECT count(hilo.nextval('deleted_parts_id_seq')) FROM generate_series(1, 6);
ROLLBACK;
INSERT INTO deleted_parts (x) VALUES (1);
SELECT (SELECT max(id) FROM deleted WHERE x = 1) AS part, max(id) AS whole FROM deleted_parts WHERE x = 1;
-- The trigger takes ids as they are beside those that it draws, in one command.
CREATE TABLE mixed (id text PRIMARY KEY);
SELECT hilo.bind('mixed', 'mixed', 'id');
CREATE TRIGGER assign_id BEFORE INSERT ON mixed FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'mixed');
INSERT INTO mixed VALUES (NULL), (NULL), ('mixed/3-A'), (NULL), (NULL) RETURNING id;
-- A column that is bound while the session has a range is looked at, also after a query of its ranges.
SET hilo.debug_range_size = 10;
CREATE TABLE later (id bigint PRIMARY KEY);
INSERT INTO later VALUES (2), (3);
SELECT hilo_next_number('later');
SELECT hilo.bind('later', 'later', 'id');
SELECT count(*) > 0 AS has_ranges FROM hilo.ranges;
SELECT hilo_next_number('later');
RESET hilo.debug_range_size;
-- The type "name" is no text.
CREATE TABLE named (id name PRIMARY KEY);
SELECT next_identity_free('named/');

-- A table is renamed, another owner's, or dropped: its ids are no longer looked at, with one warning in a session.
INSERT INTO bound_parts SELECT g, 1 FROM generate_series(6, 9) g;
ALTER TABLE bound_parts RENAME TO renamed;
SELECT hilo_next_number('bound_parts');
SELECT hilo_next_number('bound_parts');
ALTER TABLE renamed RENAME TO bound_parts;
SELECT hilo_next_number('bound_parts');
\c -
SET search_path = regress_look, public;
SET client_min_messages = warning;
ALTER TABLE numbers OWNER TO regress_hilo_stranger;
INSERT INTO numbers VALUES (1100), (1101);
SELECT hilo.seed('numbers', 1099);
SELECT hilo_next_number('numbers');
ALTER TABLE numbers OWNER TO CURRENT_USER;
SELECT hilo_next_number('numbers');
\c -
SET search_path = regress_look, public;
SET client_min_messages = warning;
DROP TABLE docs;
SELECT hilo_next('docs') IS NOT NULL AS drawn;
CREATE TABLE docs (id text PRIMARY KEY DEFAULT hilo_next('docs'), x int);
SELECT hilo.seed('docs', 100);
INSERT INTO docs VALUES ('docs/101-R');
INSERT INTO docs (x) VALUES (0) RETURNING id;
SELECT collection, table_name, column_name, owner = current_user AS own FROM hilo.binding ORDER BY 1, 2, 3;

DROP OWNED BY regress_hilo_stranger;
DROP ROLE regress_hilo_stranger;
