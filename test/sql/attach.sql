-- hilo.attach() and hilo.detach(): nextval in a default becomes hilo.nextval of the same
-- sequence and back, in the table, its partitions and children; all else is refused.

CREATE SCHEMA regress_attach;
SET search_path = regress_attach, public;
-- The stored default, as this session sees it.
CREATE FUNCTION stored(relation regclass, name name) RETURNS text LANGUAGE sql AS $$
	SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
	WHERE adrelid = relation AND attname = name
$$;
-- A table, its partitions and children.
CREATE FUNCTION tree(relation regclass) RETURNS SETOF regclass LANGUAGE sql AS $$
	WITH RECURSIVE t(oid) AS (SELECT relation::oid UNION SELECT inhrelid FROM t JOIN pg_inherits ON inhparent = t.oid)
	SELECT oid::regclass FROM t ORDER BY oid
$$;

-- Each integer type; the primary key if no column is named.
CREATE TABLE small (id smallserial PRIMARY KEY);
CREATE TABLE plain (id serial PRIMARY KEY, v text);
CREATE TABLE big (id bigserial PRIMARY KEY, other bigserial);
SELECT hilo.attach('small');
SELECT hilo.attach('plain');
SELECT hilo.attach('big');
SELECT hilo.attach('big', 'other');
INSERT INTO plain (v) VALUES ('a'), ('b') RETURNING *;
SELECT currval('plain_id_seq'), stored('plain', 'id');
-- Again, and back, and again.
SELECT hilo.attach('plain');
SELECT hilo.detach('plain'), stored('plain', 'id');
SELECT hilo.detach('plain');
INSERT INTO plain (v) VALUES ('c') RETURNING *;
SELECT hilo.attach('plain', 'id');
-- The sequence still belongs to the column, and goes with it.
SELECT pg_get_serial_sequence('plain', 'id');
DROP TABLE big;
SELECT to_regclass('big_id_seq');

-- A number is cast: by assignment, or as it is written.
CREATE SEQUENCE s;
CREATE TABLE casts (a numeric DEFAULT nextval('s'), b int DEFAULT nextval('s')::int, c int DEFAULT CAST(nextval('s') AS smallint));
SELECT hilo.attach('casts', 'a'), hilo.attach('casts', 'b'), hilo.attach('casts', 'c');
INSERT INTO casts DEFAULT VALUES RETURNING *;

-- Names that need quotes; no schema in the path; the schema hilo in the path; settings that
-- change how the server writes expressions.
CREATE SCHEMA "Regress Attach";
CREATE TABLE "Regress Attach"."My 'Table\" ("Id""x" serial PRIMARY KEY);
SELECT hilo.attach('"Regress Attach"."My ''Table\"');
SET quote_all_identifiers = on;
SELECT hilo.detach('"Regress Attach"."My ''Table\"');
RESET quote_all_identifiers;
SET search_path = hilo, pg_catalog;
SELECT hilo.attach('"Regress Attach"."My ''Table\"');
SELECT regress_attach.stored('"Regress Attach"."My ''Table\"', 'Id"x');
SET search_path = '';
SELECT hilo.detach('"Regress Attach"."My ''Table\"', 'Id"x');
SET search_path = regress_attach, public;

-- An operator or function of the caller's path is not called.
CREATE FUNCTION evil(name, name) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
CREATE OPERATOR = (LEFTARG = name, RIGHTARG = name, FUNCTION = evil);
CREATE FUNCTION nextval(regclass) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE 'called'; END $$;
SET search_path = regress_attach, pg_catalog, public;
SELECT hilo.detach('plain'), hilo.attach('plain');
SELECT hilo.detach('plain');
SET search_path = regress_attach, public;
DROP FUNCTION regress_attach.nextval(regclass);
DROP OPERATOR regress_attach.= (name, name);

-- Partitions; one has no default, one a sequence of its own, one another default.
CREATE TABLE parent (id bigserial, k int, PRIMARY KEY (id, k)) PARTITION BY LIST (k);
CREATE TABLE part_1 PARTITION OF parent FOR VALUES IN (1) PARTITION BY LIST (k);
CREATE TABLE part_1_1 PARTITION OF part_1 FOR VALUES IN (1);
CREATE TABLE part_2 (id bigint NOT NULL, k int NOT NULL);
CREATE TABLE part_3 (k int NOT NULL, id bigserial);
CREATE TABLE part_4 (id bigint NOT NULL DEFAULT 2 * nextval('s'), k int NOT NULL);
ALTER TABLE parent ATTACH PARTITION part_2 FOR VALUES IN (2);
ALTER TABLE parent ATTACH PARTITION part_3 FOR VALUES IN (3);
ALTER TABLE parent ATTACH PARTITION part_4 FOR VALUES IN (4);
SELECT hilo.attach('parent', 'id');
SELECT t, stored(t, 'id') FROM tree('parent') t;
INSERT INTO parent (k) VALUES (1), (2), (3), (4) RETURNING *;
SELECT hilo.detach('parent', 'id');
SELECT t, stored(t, 'id') FROM tree('parent') t;
-- A partition alone.
SELECT hilo.attach('part_1_1', 'id');
SELECT t, stored(t, 'id') FROM tree('parent') t;

-- Children, one of two parents, and one of a child.
CREATE TABLE base (id serial PRIMARY KEY);
CREATE TABLE base_2 (id int, v text);
CREATE TABLE child () INHERITS (base);
CREATE TABLE child_2 (id int DEFAULT 7) INHERITS (base, base_2);
CREATE TABLE grandchild () INHERITS (child);
SELECT hilo.attach('base');
SELECT t, stored(t, 'id') FROM tree('base') t;
SELECT hilo.detach('base');

-- A column whose type is a domain.
CREATE DOMAIN positive AS bigint CHECK (VALUE > 0);
CREATE TABLE of_domain (id positive PRIMARY KEY);
CREATE SEQUENCE of_domain_id OWNED BY of_domain.id;
ALTER TABLE of_domain ALTER id SET DEFAULT nextval('of_domain_id');
DO $$ BEGIN PERFORM hilo.attach('of_domain'); END $$;
INSERT INTO of_domain VALUES (1), (2);
INSERT INTO of_domain DEFAULT VALUES RETURNING id;

-- A temporary table.
CREATE TEMP TABLE temporary (id serial PRIMARY KEY);
DO $$ BEGIN PERFORM hilo.attach('temporary'); END $$;
INSERT INTO temporary DEFAULT VALUES RETURNING id;

-- Refused, with the statement to write.
\set SHOW_CONTEXT never
CREATE TABLE identity (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CREATE TABLE nothing (id int PRIMARY KEY);
CREATE TABLE own (id int PRIMARY KEY);
CREATE SEQUENCE "Own" OWNED BY own.id;
CREATE DOMAIN numbered AS int DEFAULT nextval('s');
CREATE TABLE other (id int PRIMARY KEY DEFAULT 7, weird int DEFAULT nextval(('s'::text)::regclass),
	more int DEFAULT nextval('s') + 1, two int DEFAULT nextval('s') + nextval('s'), tagged text DEFAULT 'x' || nextval('s'), number text DEFAULT nextval('s'),
	drawn bigint DEFAULT hilo_next_number('orders'), by_domain numbered, computed int GENERATED ALWAYS AS (1) STORED);
CREATE TABLE texts (id text PRIMARY KEY);
CREATE TABLE no_key (id serial);
CREATE TABLE two_keys (a serial, b serial, PRIMARY KEY (a, b));
SELECT call, told('SELECT ' || call) FROM unnest(ARRAY[$$hilo.attach('identity')$$, $$hilo.detach('identity')$$,
	$$hilo.attach('nothing')$$, $$hilo.attach('own')$$, $$hilo.attach('other')$$, $$hilo.attach('other', 'weird')$$,
	$$hilo.attach('other', 'more')$$, $$hilo.attach('other', 'two')$$, $$hilo.attach('other', 'tagged')$$,
	$$hilo.attach('other', 'number')$$, $$hilo.attach('other', 'drawn')$$, $$hilo.attach('other', 'by_domain')$$,
	$$hilo.attach('other', 'computed')$$, $$hilo.detach('other')$$, $$hilo.attach('texts')$$, $$hilo.attach('no_key')$$,
	$$hilo.detach('two_keys')$$, $$hilo.attach('plain', 'missing')$$, $$hilo.attach('plain', 'ctid')$$,
	$$hilo.attach('plain', '')$$, $$hilo.attach(NULL)$$]) call;
SELECT hilo.attach('missing');
CREATE VIEW view AS SELECT * FROM plain;
SELECT hilo.attach('view', 'id');
SELECT hilo.attach('s', 'last_value');
-- What has a default that draws can be attached, also a view or a foreign table.
ALTER VIEW view ALTER COLUMN id SET DEFAULT nextval('plain_id_seq');
SELECT hilo.attach('view', 'id');
CREATE FOREIGN DATA WRAPPER regress_attach;
CREATE SERVER regress_attach FOREIGN DATA WRAPPER regress_attach;
CREATE FOREIGN TABLE far (id serial) SERVER regress_attach;
SELECT hilo.attach('far', 'id');
DROP FOREIGN DATA WRAPPER regress_attach CASCADE;

-- Not the owner; not the owner of a partition; nothing is changed by halves.
CREATE ROLE regress_attach;
GRANT USAGE, CREATE ON SCHEMA regress_attach TO regress_attach;
GRANT ALL ON ALL TABLES IN SCHEMA regress_attach TO regress_attach;
SET ROLE regress_attach;
SELECT hilo.detach('small');
CREATE TABLE mine (id serial PRIMARY KEY);
SELECT hilo.attach('mine');
INSERT INTO mine DEFAULT VALUES RETURNING id;
RESET ROLE;
ALTER TABLE base OWNER TO regress_attach;
SET ROLE regress_attach;
SELECT hilo.attach('base');
RESET ROLE;
SELECT t, stored(t, 'id') FROM tree('base') t;
-- In a transaction that is rolled back, or read-only.
BEGIN;
SELECT hilo.attach('base');
ROLLBACK;
SELECT stored('base', 'id');
BEGIN READ ONLY;
SELECT hilo.attach('base');
ROLLBACK;

SET client_min_messages = warning;
DROP SCHEMA regress_attach, "Regress Attach" CASCADE;
DROP ROLE regress_attach;
