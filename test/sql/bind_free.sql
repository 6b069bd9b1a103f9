-- next_identity_free(): the next identity that no document has, found in few lookups, wherever the documents are.

-- Without a binding: the table of that name, by its primary key.
CREATE TABLE docs (id text PRIMARY KEY);
SELECT next_identity_free('docs|'), next_identity_free('docs/'), next_identity_free('docs'), next_identity('docs');
INSERT INTO docs SELECT 'docs/' || i FROM generate_series(1, 1337) i;
SELECT seed_identity_for('docs', 0, true);
SELECT value, tries <= 24 AS few FROM next_identity_free_for('docs');
SELECT value, tries FROM next_identity_free_for('docs|');
SELECT value FROM hilo.identities WHERE name = 'docs';
-- {1, 2, 4} are taken: 3, then 5.
TRUNCATE docs;
INSERT INTO docs VALUES ('docs/1'), ('docs/2'), ('docs/4');
SELECT seed_identity_for('docs', 0, true), next_identity_free('docs'), next_identity_free('docs');
-- The identity is at 100, 101 to 110 are taken; it never goes below what is stored.
INSERT INTO docs SELECT 'docs/' || i FROM generate_series(101, 110) i;
SELECT seed_identity_for('docs', 100), next_identity_free('docs'), next_identity('docs'), next_identity_free('docs');
-- Every length of a contiguous block, from some starts: the smallest free number, in as many lookups as promised.
CREATE TABLE blocks (id bigint PRIMARY KEY);
INSERT INTO blocks SELECT i FROM generate_series(1, 140) i;
CREATE FUNCTION after_block(start bigint, size bigint, OUT value bigint, OUT tries int) LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM blocks;
	INSERT INTO blocks SELECT start + i FROM generate_series(1, size) i;
	PERFORM seed_identity_for('blocks', start, true);
	SELECT f.* INTO value, tries FROM next_identity_free_for('blocks') f;
END $$;
SELECT start, count(*), count(*) FILTER (WHERE value <> start + size + 1) AS not_smallest,
	count(*) FILTER (WHERE tries > 2 * ceil(log(2, size + 1)) + 2) AS too_many, min(tries)
	FROM unnest(ARRAY[0, 7, 1000]) start, generate_series(0, 140) size, after_block(start, size) GROUP BY 1 ORDER BY 1;
-- Scattered ids: the result is free, and its predecessor is taken or drawn.
DELETE FROM blocks;
INSERT INTO blocks SELECT DISTINCT i * i % 997 FROM generate_series(1, 300) i WHERE i * i % 997 > 0;
SELECT seed_identity_for('blocks', 0, true);
CREATE TABLE drawn AS SELECT value FROM generate_series(1, 100) i, next_identity_free_for(concat('blocks', substr('||', i % 2 + 2)));
SELECT count(DISTINCT value), count(*) FILTER (WHERE value IN (SELECT id FROM blocks)) AS taken,
	count(*) FILTER (WHERE value - 1 NOT IN (SELECT id FROM blocks UNION ALL SELECT value FROM drawn UNION ALL SELECT 0)) AS stray FROM drawn;

-- Many documents; numbers at the end of bigint.
CREATE TABLE many (id bigint PRIMARY KEY);
INSERT INTO many SELECT generate_series(1, 200000);
SELECT value, tries <= 62 AS few FROM next_identity_free_for('many');
SELECT value, tries FROM next_identity_free_for('many');
CREATE TABLE high (id bigint PRIMARY KEY);
INSERT INTO high SELECT 9223372036854775807 - i FROM generate_series(0, 99) i;
SELECT seed_identity_for('high', 9223372036854775800 - 50);
SET statement_timeout = '1min';
SELECT next_identity_free('high');
\set VERBOSITY sqlstate
SELECT next_identity_free_for('high');
SELECT value FROM hilo.identities WHERE name = 'high';
-- The last one is free: it is found, and after that none is left.
DELETE FROM high WHERE id = 9223372036854775807;
SELECT value, tries <= 128 AS few FROM next_identity_free_for('high');
SELECT next_identity_free('high');
SELECT next_identity('high');
SELECT value FROM hilo.identities WHERE name = 'high';
-- The end of the column's type is no limit of the identity.
CREATE TABLE never (id smallint PRIMARY KEY);
INSERT INTO never SELECT generate_series(1, 32767);
SELECT next_identity_free('never');
SELECT next_identity_for('never');
RESET statement_timeout;
\set VERBOSITY default

-- Column types, and the ends of the smaller ones.
CREATE DOMAIN doc_number AS integer CHECK (VALUE > 0);
CREATE DOMAIN doc_id AS varchar(30);
CREATE TABLE typed (t text, v varchar(40), s smallint, i integer, b bigint, dn doc_number, dt doc_id, tp text, td text COLLATE "C");
SELECT format('CREATE INDEX ON typed (%I)', c) FROM unnest('{t,v,s,i,b,dn,dt}'::text[]) c \gexec
CREATE INDEX ON typed (tp text_pattern_ops, i);
CREATE INDEX ON typed (td DESC NULLS FIRST) INCLUDE (b);
INSERT INTO typed SELECT 'typed/' || n, 'typed/' || n, n, n, n, n, 'typed/' || n, 'typed/' || n, 'typed/' || n FROM generate_series(1, 5) n;
CREATE FUNCTION free_in(tab regclass, col name, start bigint DEFAULT 0, OUT value bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM hilo.unbind('typed');
	PERFORM hilo.bind('typed', tab, col);
	PERFORM seed_identity_for('typed', start, true);
	SELECT f.value INTO value FROM next_identity_free_for('typed') f;
END $$;
SELECT attname, atttypid::regtype, free_in('typed', attname) FROM pg_attribute WHERE attrelid = 'typed'::regclass AND attnum > 0 ORDER BY attnum;
-- The whole id is compared, in text exactly; in numbers only the number.
TRUNCATE typed;
INSERT INTO typed (t) VALUES ('Typed/1'), ('typed/01'), ('typed/1-A'), ('1'), (NULL);
SELECT free_in('typed', 't') AS text;
INSERT INTO typed (s, i, b) VALUES (32767, 2147483647, 9223372036854775807), (1, 1, 1), (-1, -1, -1), (0, 0, 0), (NULL, NULL, NULL);
SELECT free_in('typed', 's'), free_in('typed', 'i'), free_in('typed', 'b');
SELECT free_in('typed', 's', 32765), free_in('typed', 'i', 2147483645), free_in('typed', 'b', 9223372036854775805);
SELECT col, start, split_part(result_of(format('SELECT free_in(''typed'', %L, %s)', col, start)), ':', 1) AS result
	FROM (VALUES ('s', 32766), ('s', 32767), ('s', 9223372036854775807), ('i', 2147483646), ('i', 2147483648),
	('b', 9223372036854775806), ('b', 9223372036854775807)) v(col, start);
DELETE FROM typed;
SELECT free_in('typed', 's', 32766), free_in('typed', 'i', 2147483646), free_in('typed', 'b', 9223372036854775806), free_in('typed', 's', 32767);
\set VERBOSITY sqlstate
-- Beyond a full column the identity continues.
INSERT INTO typed (s) SELECT generate_series(1, 32767);
SELECT free_in('typed', 's');
SELECT hilo.unbind('typed'), hilo.bind('typed', 'typed', 's'), seed_identity_for('typed', 9, true);
SELECT next_identity_free('typed');
SELECT next_identity('typed');
DELETE FROM typed WHERE s = 32767;
SELECT value, tries <= 32 AS few FROM next_identity_free_for('typed');
SELECT hilo.unbind('typed');
-- Other types: 42804.
CREATE TABLE untyped (u uuid, n numeric, d date, c char(20), x name, a text[], o oid);
SELECT format('CREATE INDEX ON untyped (%I)', c) FROM unnest('{u,n,d,c,x,a,o}'::text[]) c \gexec
SELECT attname, state_of(format('SELECT hilo.bind(''untyped'', ''untyped'', %L)', attname)) FROM pg_attribute WHERE attrelid = 'untyped'::regclass AND attnum > 0 ORDER BY attnum;
ALTER TABLE untyped ADD PRIMARY KEY (u);
SELECT next_identity_free('untyped');
\set VERBOSITY default

-- Without an index that leads with the column, with others, and with one that is not valid: 55000.
CREATE TABLE indexed (id text, kind int, number bigint, valid boolean);
INSERT INTO indexed (id, valid) VALUES ('indexed/1', false), ('indexed/1', false), ('indexed/2', true);
SELECT hilo.bind('indexed', 'indexed', 'id');
SELECT next_identity_free('indexed');
CREATE INDEX ON indexed USING hash (id);
CREATE INDEX ON indexed USING brin (id);
CREATE INDEX ON indexed (id) WHERE valid;
CREATE INDEX ON indexed (kind, id);
SELECT seed_identity_for('indexed', 0, true), next_identity_free('indexed');
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX CONCURRENTLY indexed_invalid ON indexed (id);
SELECT indisvalid FROM pg_index WHERE indexrelid = 'indexed_invalid'::regclass;
SELECT seed_identity_for('indexed', 0, true), next_identity_free('indexed');
-- Indexes come and go: what was prepared in this session follows.
DELETE FROM indexed WHERE ctid = '(0,1)';
REINDEX INDEX indexed_invalid;
SELECT seed_identity_for('indexed', 0, true), next_identity_free('indexed');
DROP INDEX indexed_invalid;
CREATE UNIQUE INDEX indexed_several ON indexed (id, kind) INCLUDE (number);
SELECT seed_identity_for('indexed', 0, true), next_identity_free('indexed');
SELECT hilo.unbind('indexed');
-- Without a binding: a primary key of one column.
\set VERBOSITY default
SELECT next_identity_free('indexed');
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX ON indexed (id);
SELECT next_identity_free('indexed');
UPDATE indexed SET kind = 1;
ALTER TABLE indexed ADD PRIMARY KEY (id, kind);
SELECT next_identity_free('indexed');
ALTER TABLE indexed DROP CONSTRAINT indexed_pkey;
ALTER TABLE indexed ADD PRIMARY KEY (id) INCLUDE (kind) DEFERRABLE;
SELECT next_identity_free('indexed'), seed_identity_for('indexed', 0, true), next_identity_free('indexed');
-- Read by its primary key even where another column is named id.
CREATE TABLE keyed (id text UNIQUE, key text PRIMARY KEY);
INSERT INTO keyed VALUES ('keyed/2', 'keyed/1');
SELECT next_identity_free('keyed');

-- What does not exist: 42P01, 42703; what is not a table of documents.
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY[$$next_identity_free('nowhere')$$, $$next_identity_free_for('nowhere/')$$,
	$$next_identity_free(repeat('x', 100))$$, $$next_identity_free('pg_class')$$, $$hilo.bind('nowhere', 'nowhere', 'id')$$,
	$$hilo.bind('nowhere', 4000000000::oid::regclass, 'id')$$, $$hilo.bind('nowhere', 'docs', 'nowhere')$$,
	$$hilo.bind('nowhere', 'docs', 'ID')$$, $$hilo.bind('nowhere', 'docs', 'ctid')$$,
	$$hilo.bind('nowhere', 'docs', '')$$]) call;
SELECT value FROM hilo.identities WHERE name = 'nowhere';
CREATE VIEW docs_view AS SELECT id FROM docs;
CREATE MATERIALIZED VIEW docs_matview AS SELECT id FROM docs;
CREATE UNIQUE INDEX ON docs_matview (id);
CREATE SEQUENCE docs_sequence;
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY[$$hilo.bind('nowhere', 'docs_pkey', 'id')$$,
	$$hilo.bind('nowhere', 'docs_sequence', 'last_value')$$, $$hilo.bind('nowhere', 'docs_view', 'id')$$,
	$$hilo.bind('nowhere', 'docs_matview', 'id')$$, $$next_identity_free('docs_view')$$,
	$$next_identity_free('docs_matview')$$]) call;
-- NULL, bad names, read-only transactions, parallel mode.
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY['hilo.bind(NULL, ''docs'', ''id'')', 'hilo.bind(''docs'', NULL, ''id'')', 'hilo.bind(''docs'', ''docs'', NULL)',
	'hilo.unbind(NULL)']) call;
SELECT name, state_of(format('SELECT hilo.bind(%L, ''docs'', ''id'')', name)) AS column,
	state_of(format('SELECT hilo.unbind(%L)', name)) AS unbind FROM unnest(ARRAY['', '|', '/', 'a|b', E'a\x01']) name;
SELECT call, state_of('SET LOCAL transaction_read_only = on; SELECT ' || call) FROM unnest(ARRAY['hilo.bind(''docs'', ''docs'', ''id'')',
	'hilo.unbind(''docs'')', 'next_identity_free(''docs'')', 'next_identity_free_for(''docs'')']) call;
SELECT call, in_worker(call) FROM unnest(ARRAY[$$hilo.bind('docs', 'docs', 'id')$$, $$hilo.unbind('docs')$$, $$next_identity_free('docs')$$]) call;
SELECT count(*) FROM hilo.binding;
\set VERBOSITY default
SELECT next_identity_free('nowhere');
SELECT hilo.bind('nowhere', 'docs', 'nowhere');

-- Bindings: made once, several for a name, undone.
CREATE TABLE others (id text PRIMARY KEY, key text UNIQUE, number int UNIQUE);
INSERT INTO others VALUES ('bound/1', 'bound/2', 1), ('bound/2', 'bound/3', 2);
SELECT hilo.bind('bound', 'others', 'id'), hilo.bind('bound', 'others', 'id');
SELECT collection, schema_name, table_name, column_name, owner = current_user AS own FROM hilo.binding;
SELECT next_identity_free('bound');
-- bind() creates no counter.
SELECT count(*) FROM hilo.hilo WHERE collection = 'bound';
SELECT hilo.bind('bound', 'others', 'key'), hilo.bind('Bound', 'others', 'number');
SELECT collection, table_name, column_name FROM hilo.binding ORDER BY 1, 3;
SELECT seed_identity_for('bound', 0, true), next_identity_free('bound'), next_identity_free('Bound');
SELECT hilo.bind('bound|', 'others', 'id');
SELECT hilo.bind('bound/', 'others', 'id');
SELECT hilo.unbind('bound', 'docs'), hilo.unbind('bound', 'others'), hilo.unbind('bound');
SELECT hilo.unbind('never'), hilo.unbind('Bound');
-- Each call in a statement sees what the previous one has done.
SELECT hilo.bind('bound', 'others', 'key'), hilo.bind('bound', 'others', 'key');
SELECT hilo.unbind('bound'), hilo.bind('bound', 'others', 'id'), hilo.unbind('bound'), hilo.unbind('bound');
SELECT count(*) FROM hilo.binding;
-- Transactional, unlike draws.
BEGIN;
SELECT hilo.bind('bound', 'others', 'key'), seed_identity_for('bound', 0, true), next_identity_free('bound');
SAVEPOINT s;
SELECT hilo.unbind('bound'), hilo.bind('bound', 'others', 'id');
SELECT seed_identity_for('bound', 0, true), next_identity_free('bound');
ROLLBACK TO s;
SELECT collection, table_name, column_name FROM hilo.binding;
ROLLBACK;
SELECT count(*) FROM hilo.binding;
-- A binding goes before the table of that name.
SELECT hilo.bind('docs', 'others', 'id'), next_identity_free('docs');
SELECT hilo.unbind('docs'), seed_identity_for('docs', 0, true), next_identity_free('docs');
-- A bound collection is not dropped; the identity of its name is.
SELECT hilo.bind('bound', 'others', 'id'), hilo_next_number('bound');
SELECT hilo.drop('bound');
SELECT seed_identity_for('bound', 0, true), hilo.drop('bound|'), hilo.unbind('bound'), hilo.drop('bound');
-- Renamed, the column no longer counts; a warning, once in a session.  Bound again, it does.
CREATE SCHEMA "regress Schema";
SELECT hilo.bind('bound', 'others', 'id');
ALTER TABLE others SET SCHEMA "regress Schema";
SELECT hilo_next_number('bound');
SELECT hilo_next_number('bound');
SELECT next_identity_free('bound');
ALTER TABLE "regress Schema".others RENAME TO "Other ones";
ALTER TABLE "regress Schema"."Other ones" RENAME COLUMN id TO "Id.";
SELECT hilo.unbind('bound'), hilo.bind('bound', '"regress Schema"."Other ones"', 'Id.'), next_identity_free('bound');
SELECT collection, schema_name, table_name, column_name FROM hilo.binding;
-- As a dump has them: in any order, also of what is not there, and twice.
INSERT INTO hilo.binding SELECT * FROM hilo.binding;
COPY hilo.binding FROM stdin WITH (DELIMITER ',');
restored,public,restored,id,postgres
bound,public,docs,id,regress_no_role
\.
INSERT INTO hilo.binding SELECT 'restored', 'public', 'restored', 'id', current_user;
SELECT collection, table_name, column_name FROM hilo.binding ORDER BY 1, 2;
SELECT hilo_next_number('restored');
CREATE TABLE restored (id bigint PRIMARY KEY);
INSERT INTO restored VALUES (2);
SELECT hilo_next_number('restored');
SELECT hilo.unbind('restored'), hilo.unbind('bound', 'docs'), hilo.drop('restored');
-- What no binding has; and changes by hand.
SELECT row, result_of('INSERT INTO hilo.binding ' || row) FROM unnest(ARRAY[$$VALUES ('bad', NULL, 't', 'c', 'o')$$, $$VALUES (NULL, 's', 't', 'c', 'o')$$,
	$$VALUES ('', 's', 't', 'c', 'o')$$, $$VALUES ('a|b', 's', 't', 'c', 'o')$$, $$VALUES ('bad|', 's', 't', 'c', 'o')$$, $$(collection) VALUES ('bad')$$]) row;
\set VERBOSITY terse
INSERT INTO hilo.binding VALUES (repeat('x', 256), 's', 't', 'c', 'o');
UPDATE hilo.binding SET owner = '';
DELETE FROM hilo.binding;
TRUNCATE hilo.binding;
-- A name that is too long here, as one from a database with another encoding may be, keeps no other row out.
INSERT INTO hilo.hilo (collection, max) VALUES (repeat('x', 256), 5), (repeat('y', 256) || '|', 5), (repeat('z', 255) || '|', 7), ('not_long', 7);
SELECT left(collection, 8) AS collection, length(collection), max FROM hilo.hilo WHERE collection = 'not_long' OR length(collection) > 200 ORDER BY collection;
SELECT hilo.drop('not_long'), hilo.drop(repeat('z', 255) || '|');
\set VERBOSITY default
SELECT collection, table_name FROM hilo.binding;
-- A column, then a table, that no longer exists; another one of its name counts if it is the same owner's.
ALTER TABLE "regress Schema"."Other ones" DROP COLUMN "Id.";
SELECT next_identity_free('bound');
ALTER TABLE "regress Schema"."Other ones" ADD COLUMN "Id." text UNIQUE;
SELECT next_identity_free('bound');
DROP TABLE "regress Schema"."Other ones";
SELECT next_identity_free('bound');
CREATE TABLE "regress Schema"."Other ones" ("Id." text PRIMARY KEY);
SELECT next_identity_free('bound');
CREATE ROLE regress_bind_free_new;
ALTER TABLE "regress Schema"."Other ones" OWNER TO regress_bind_free_new;
SELECT next_identity_free('bound');
SELECT hilo.unbind('bound');
-- A column whose type changes, an index that is dropped.
CREATE TABLE changing (id text PRIMARY KEY);
INSERT INTO changing VALUES ('1'), ('changing/1');
SELECT hilo.bind('changing', 'changing', 'id'), next_identity_free('changing');
DELETE FROM changing WHERE id <> '1';
ALTER TABLE changing ALTER COLUMN id TYPE int USING id::int;
SELECT seed_identity_for('changing', 0, true), next_identity_free('changing');
\set VERBOSITY sqlstate
ALTER TABLE changing ALTER COLUMN id TYPE numeric;
SELECT next_identity_free('changing');
ALTER TABLE changing ALTER COLUMN id TYPE text;
SELECT next_identity_free('changing');
ALTER TABLE changing DROP CONSTRAINT changing_pkey;
SELECT next_identity_free('changing');
\set VERBOSITY default
SELECT hilo.unbind('changing');

-- What counts as taken: rows as they are now, of this transaction, too; not deleted ones.
TRUNCATE docs;
SELECT seed_identity_for('docs', 0, true);
BEGIN;
INSERT INTO docs VALUES ('docs/1'), ('docs/2');
SELECT next_identity_free('docs');
DELETE FROM docs WHERE id = 'docs/2';
SELECT seed_identity_for('docs', 0, true), next_identity_free('docs');
UPDATE docs SET id = 'docs/2' WHERE id = 'docs/1';
SELECT seed_identity_for('docs', 0, true), next_identity_free('docs'), next_identity_free('docs');
SAVEPOINT s;
INSERT INTO docs VALUES ('docs/4');
ROLLBACK TO s;
SELECT next_identity_free('docs');
ROLLBACK;
SELECT seed_identity_for('docs', 0, true), next_identity_free('docs');
-- Within the statement that inserts them.
INSERT INTO docs VALUES ('docs/3'), (next_identity_free('docs')), (next_identity_free('docs')) RETURNING id;
INSERT INTO docs SELECT next_identity_free('docs') FROM generate_series(1, 3) RETURNING id;
INSERT INTO docs VALUES ('docs/9'), ('docs/8');
UPDATE docs SET id = id WHERE id = 'docs/8';
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT count(*) FROM docs;
INSERT INTO docs VALUES ('docs/10');
SELECT next_identity_free('docs');
COMMIT;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT next_identity_free('docs'), next_identity_free('docs');
ROLLBACK;
SELECT next_identity_free('docs');
VACUUM FULL docs;
SELECT seed_identity_for('docs', 7, true), next_identity_free('docs');
-- Truncated and filled again in this transaction.
BEGIN;
TRUNCATE docs;
INSERT INTO docs VALUES ('docs/1');
SELECT seed_identity_for('docs', 0, true), next_identity_free('docs');
ROLLBACK;
SELECT next_identity_free('docs');
-- With another separator, it is part of the ids.
SET hilo.identity_parts_separator = ':';
INSERT INTO docs VALUES ('docs:1'), ('docs:2');
SELECT seed_identity_for('docs', 0, true), next_identity_free('docs:');
RESET hilo.identity_parts_separator;

-- Partitioned tables: all partitions count.
CREATE TABLE parts (id text PRIMARY KEY) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1) PARTITION BY HASH (id);
SELECT next_identity_free('parts');
CREATE TABLE parts_10 PARTITION OF parts_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_11 PARTITION OF parts_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT 'parts/' || i FROM generate_series(1, 100) i;
SELECT count(DISTINCT tableoid) > 1 AS several FROM parts;
SELECT seed_identity_for('parts', 0, true), next_identity_free('parts'), next_identity_free('parts');
CREATE TABLE wholes (kind int, name text, id bigint) PARTITION BY LIST (kind);
CREATE TABLE wholes_1 PARTITION OF wholes FOR VALUES IN (1);
CREATE TABLE wholes_2 (id bigint, gone int, kind int, name text);
ALTER TABLE wholes_2 DROP COLUMN gone;
ALTER TABLE wholes ATTACH PARTITION wholes_2 FOR VALUES IN (2);
INSERT INTO wholes VALUES (1, 'a', 1), (2, 'b', 2), (1, 'c', 4), (2, 'd', 5);
CREATE INDEX ON wholes_1 (id);
SELECT hilo.bind('wholes', 'wholes', 'id');
SELECT next_identity_free('wholes');
SELECT next_identity_free('wholes');
ALTER TABLE wholes DETACH PARTITION wholes_2;
SELECT seed_identity_for('wholes', 0, true), next_identity_free('wholes');
CREATE TABLE wholes_3 PARTITION OF wholes FOR VALUES IN (3);
INSERT INTO wholes VALUES (3, 'e', 3);
SELECT next_identity_free('wholes');
SELECT hilo.unbind('wholes');
-- A partition alone.
SELECT hilo.bind('wholes', 'wholes_1', 'id'), seed_identity_for('wholes', 0, true), next_identity_free('wholes');
SELECT hilo.unbind('wholes');
-- A foreign partition is not looked at.
CREATE FOREIGN DATA WRAPPER regress_wrapper;
CREATE SERVER regress_server FOREIGN DATA WRAPPER regress_wrapper;
CREATE FOREIGN TABLE wholes_4 PARTITION OF wholes FOR VALUES IN (4) SERVER regress_server;
SELECT hilo.bind('wholes', 'wholes', 'id');
SELECT next_identity_free('wholes');
SELECT hilo.unbind('wholes');
DROP FOREIGN TABLE wholes_4;
DROP FOREIGN DATA WRAPPER regress_wrapper CASCADE;
-- Children by inheritance.
CREATE TABLE parents (id text PRIMARY KEY);
CREATE TABLE children (more int) INHERITS (parents);
INSERT INTO parents VALUES ('parents/1'), ('parents/3');
INSERT INTO children VALUES ('parents/2');
SELECT next_identity_free('parents');

-- Temporary tables are neither found nor bound, and change nothing for the table whose name they have.
CREATE TEMPORARY TABLE only_temp (id text PRIMARY KEY);
CREATE TEMPORARY TABLE docs (id text PRIMARY KEY);
INSERT INTO docs SELECT 'docs/' || i FROM generate_series(1, 50) i;
TRUNCATE public.docs;
INSERT INTO public.docs VALUES ('docs/1');
\set VERBOSITY sqlstate
SELECT next_identity_free('only_temp');
SELECT hilo.bind('only_temp', 'only_temp', 'id');
\set VERBOSITY default
SELECT seed_identity_for('docs', 0, true), next_identity_free('docs');
SET search_path = pg_temp, public;
SELECT next_identity_free('docs');
RESET search_path;
DROP TABLE pg_temp.docs, only_temp;

-- Rights.
CREATE ROLE regress_hilo_owner;
CREATE ROLE regress_hilo_group;
CREATE ROLE regress_hilo_user;
GRANT regress_hilo_group TO regress_hilo_owner;
CREATE SCHEMA regress_hilo AUTHORIZATION regress_hilo_owner;
GRANT USAGE ON SCHEMA regress_hilo TO regress_hilo_user, regress_hilo_group;
SET ROLE regress_hilo_owner;
CREATE TABLE regress_hilo.papers (id text PRIMARY KEY, title text);
INSERT INTO regress_hilo.papers VALUES ('papers/1'), ('papers/2');
CREATE TABLE regress_hilo.files (id text PRIMARY KEY);
INSERT INTO regress_hilo.files VALUES ('files/1'), ('files/2');
\set VERBOSITY sqlstate
-- Only a role with the privilege binds and unbinds, and only what it owns.
SELECT hilo.bind('files', 'regress_hilo.files', 'id');
SELECT hilo.unbind('files');
RESET ROLE;
\set bind_files '$$SELECT hilo.bind(\'files\', \'regress_hilo.files\', \'id\')$$'
GRANT EXECUTE ON FUNCTION hilo.bind(text, regclass, name), hilo.unbind(text, regclass) TO regress_hilo_owner, regress_hilo_user;
SELECT as_role('regress_hilo_user', :bind_files), as_role('regress_hilo_user', $$SELECT hilo.bind('files', 'pg_class', 'relname')$$);
GRANT ALL ON ALL TABLES IN SCHEMA regress_hilo TO regress_hilo_user;
SELECT as_role('regress_hilo_user', :bind_files);
REVOKE ALL ON ALL TABLES IN SCHEMA regress_hilo FROM regress_hilo_user;
SELECT count(*) FROM hilo.binding;
SELECT as_role('regress_hilo_owner', :bind_files);
-- A table that is not bound is looked at for who may read its key: 42501, and no number is lost.  A bound one needs no right.
SET ROLE regress_hilo_user;
SET search_path = regress_hilo, public;
SELECT next_identity_free('files');
SELECT next_identity_free_for('files');
SELECT next_identity_free('papers');
SELECT next_identity('files'), next_identity('papers');
RESET ROLE;
GRANT UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON regress_hilo.papers TO regress_hilo_user;
SELECT as_role('regress_hilo_user', $$SELECT next_identity_free('papers')$$);
-- To read the key is enough; another column, or to insert, is not.
CREATE FUNCTION free_with(privilege text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM seed_identity_for('papers', 0, true);
	EXECUTE format('GRANT %s ON regress_hilo.papers TO regress_hilo_user', privilege);
	SET LOCAL ROLE regress_hilo_user;
	BEGIN
		result := next_identity_free('papers');
	EXCEPTION WHEN insufficient_privilege THEN
		result := 'refused';
	END;
	RESET ROLE;
	EXECUTE format('REVOKE %s ON regress_hilo.papers FROM regress_hilo_user', privilege);
	RETURN result;
END $$;
SELECT privilege, free_with(privilege) FROM unnest(ARRAY['SELECT', 'INSERT', 'SELECT (id)', 'INSERT (title)', 'SELECT (title)', 'UPDATE (id)', 'DELETE']) privilege;
-- Row security hides nothing.
ALTER TABLE regress_hilo.papers ENABLE ROW LEVEL SECURITY;
ALTER TABLE regress_hilo.papers FORCE ROW LEVEL SECURITY;
CREATE POLICY nothing ON regress_hilo.papers USING (false);
GRANT INSERT, SELECT ON regress_hilo.papers TO regress_hilo_user;
SELECT seed_identity_for('papers', 0, true);
SET ROLE regress_hilo_user;
SELECT count(*) FROM regress_hilo.papers;
SELECT next_identity_free('papers');
SET row_security = off;
SELECT next_identity_free('papers');
RESET row_security;
RESET ROLE;
SET ROLE regress_hilo_owner;
SELECT seed_identity_for('papers', 0, true);
SELECT count(*) FROM regress_hilo.papers;
SELECT next_identity_free('papers');
SELECT hilo.unbind('files');
-- A member of the owning role is an owner.
RESET ROLE;
ALTER TABLE regress_hilo.files OWNER TO regress_hilo_group;
GRANT SELECT ON regress_hilo.files TO regress_hilo_owner;
SELECT as_role('regress_hilo_owner', $$SELECT (hilo.bind('of_group', 'regress_hilo.files', 'id'), hilo.unbind('of_group'))$$);
DROP OWNED BY regress_hilo_owner, regress_hilo_group, regress_hilo_user, regress_bind_free_new CASCADE;
DROP ROLE regress_hilo_owner, regress_hilo_group, regress_hilo_user, regress_bind_free_new;
