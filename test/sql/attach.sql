-- hilo.attach(): a column keeps its sequence, and draws from it by hilo.nextval(), or draws from a collection; what was done is said, nothing is changed if it fails.
CREATE SCHEMA regress_attach;
SET search_path = regress_attach, public;
SET hilo.max_range_size = 1;
SET hilo.range_size = 1;
CREATE VIEW defaults AS SELECT attrelid::regclass AS relation, attname, pg_get_expr(adbin, adrelid) AS expression FROM pg_attrdef JOIN pg_attribute a ON attrelid = adrelid AND attnum = adnum;

-- A serial column: the default is changed in place, the sequence is moved above the ids, and nothing else.
CREATE TABLE orders (id serial PRIMARY KEY, x int);
INSERT INTO orders (x) SELECT 0 FROM generate_series(1, 5);
INSERT INTO orders VALUES (40);
SELECT hilo.attach('orders');
SELECT * FROM defaults WHERE relation = 'orders'::regclass;
SELECT * FROM hilo.attachments WHERE relation = 'orders'::regclass;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'orders'::regclass;
SELECT count(*) FROM hilo.hilo;
SELECT count(*) FROM hilo.binding;
SELECT pg_get_serial_sequence('orders', 'id');
INSERT INTO orders (x) VALUES (0) RETURNING id, currval('orders_id_seq'), lastval();
COPY orders (x) FROM stdin;
1
2
\.
INSERT INTO orders VALUES (DEFAULT, 0), (60, 0), (DEFAULT, 0) RETURNING id;
SELECT nextval('orders_id_seq');
INSERT INTO orders (x) VALUES (0) RETURNING id;
-- Again: nothing is left to do, and nothing is said.
SELECT hilo.attach('orders');
SELECT hilo.attach('orders', 'id');
-- It cannot be dropped, and the extension neither, while the default draws.
\set VERBOSITY terse
DROP SEQUENCE orders_id_seq;
DROP EXTENSION hilo;
\set VERBOSITY default
SELECT hilo.detach('orders');
SELECT * FROM defaults WHERE relation = 'orders'::regclass;
INSERT INTO orders (x) VALUES (0) RETURNING id;

-- Sequences of other kinds: not the column's own, restarted, from the start of bigint, descending, of another increment.
CREATE SEQUENCE loose;
CREATE TABLE loosely (id bigint PRIMARY KEY DEFAULT nextval('loose'));
SELECT hilo.attach('loosely');
CREATE TABLE restarted (id serial PRIMARY KEY);
ALTER SEQUENCE restarted_id_seq RESTART WITH 5000;
SELECT hilo.attach('restarted');
INSERT INTO restarted DEFAULT VALUES RETURNING id;
CREATE SEQUENCE lowest MINVALUE -9223372036854775808 START -9223372036854775808;
CREATE TABLE low (id bigint PRIMARY KEY DEFAULT nextval('lowest'));
SELECT hilo.attach('low');
INSERT INTO low DEFAULT VALUES RETURNING id;
SELECT hilo.detach('low');
INSERT INTO low DEFAULT VALUES RETURNING id;
CREATE SEQUENCE falling INCREMENT -1;
CREATE TABLE fallen (id int PRIMARY KEY DEFAULT nextval('falling'));
INSERT INTO fallen VALUES (-5), (100);
SELECT hilo.attach('fallen');
INSERT INTO fallen DEFAULT VALUES RETURNING id;
CREATE SEQUENCE tens INCREMENT 10;
CREATE TABLE in_tens (id int PRIMARY KEY DEFAULT nextval('tens'));
INSERT INTO in_tens VALUES (100);
SELECT hilo.attach('in_tens');
INSERT INTO in_tens DEFAULT VALUES RETURNING id;
-- With a cast, which stays as it is; numeric types that hold more or less.
CREATE TABLE casting (id bigint PRIMARY KEY DEFAULT nextval('loose')::int);
SELECT hilo.attach('casting');
CREATE TABLE fine (id numeric PRIMARY KEY DEFAULT nextval('loose'));
SELECT hilo.attach('fine');
-- No default: a sequence is made and owned, as for serial; its name may be taken.
CREATE TABLE plain (id smallint PRIMARY KEY, x int);
INSERT INTO plain VALUES (3), (7);
CREATE TABLE plain_id_seq ();
SELECT hilo.attach('plain');
SELECT pg_get_serial_sequence('plain', 'id'), seqtypid::regtype, seqmax FROM pg_sequence WHERE seqrelid = 'plain_id_seq1'::regclass;
INSERT INTO plain (x) VALUES (0) RETURNING id;
SELECT hilo.detach('plain');
SELECT * FROM defaults WHERE relation = 'plain'::regclass;
-- It owns one already.
ALTER TABLE plain ALTER id DROP DEFAULT;
SELECT hilo.attach('plain');
-- An id that is far: the sequence stays.
CREATE TABLE far (id serial PRIMARY KEY);
INSERT INTO far VALUES (2000000000);
SELECT hilo.attach('far');
INSERT INTO far DEFAULT VALUES RETURNING id;
-- Another column than the key, with and without an index.
CREATE TABLE numbered (id int PRIMARY KEY, no serial, other serial);
CREATE INDEX ON numbered (other);
SELECT hilo.attach('numbered', 'no');
SELECT hilo.attach('numbered', 'other');
INSERT INTO numbered VALUES (1) RETURNING no, other;
SELECT hilo.detach('numbered');
SELECT hilo.detach('numbered', 'no'), hilo.detach('numbered', 'other');
-- Indexes that are not in the order of the numbers do not count.
CREATE INDEX ON numbered USING hash (no);
CREATE INDEX ON numbered USING brin (no);
SELECT hilo.attach('numbered', 'no');

-- What keeps its default, and is not attached.
CREATE TABLE doubled (id bigint PRIMARY KEY DEFAULT nextval('loose') * 2);
SELECT hilo.attach('doubled');
CREATE DOMAIN drawn AS bigint DEFAULT nextval('loose');
CREATE TABLE of_domain (id drawn PRIMARY KEY);
SELECT hilo.attach('of_domain');
SELECT hilo.attach('of_domain', collection => 'of_domain');
INSERT INTO of_domain SELECT FROM generate_series(1, 50);
SELECT hilo.detach('of_domain');
INSERT INTO of_domain DEFAULT VALUES RETURNING id;
CREATE TABLE always (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, x int);
SELECT hilo.attach('always');
-- The hint, carried out.
INSERT INTO always (x) VALUES (0), (0);
BEGIN; ALTER TABLE always ALTER COLUMN id DROP IDENTITY; CREATE SEQUENCE always_id_seq AS integer OWNED BY always.id; ALTER TABLE always ALTER COLUMN id SET DEFAULT nextval('always_id_seq'); COMMIT;
SELECT hilo.attach('always');
INSERT INTO always (x) VALUES (0) RETURNING id;
-- Written by hand into a default, it is one of those that the view shows only if nothing is made of it.
CREATE TABLE by_hand (id bigint PRIMARY KEY DEFAULT hilo.nextval('loose'), more bigint DEFAULT hilo.nextval('loose') + 1);
SELECT * FROM hilo.attachments WHERE relation = 'by_hand'::regclass;
SELECT hilo.attach('by_hand'), hilo.detach('by_hand');
SELECT * FROM defaults WHERE relation = 'by_hand'::regclass ORDER BY 2;
-- What is no table of rows here.
CREATE VIEW view AS SELECT * FROM orders;
CREATE MATERIALIZED VIEW matview AS SELECT * FROM orders;
CREATE TEMPORARY TABLE temporary (id serial PRIMARY KEY);
CREATE TYPE composite AS (id int);
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
CREATE FOREIGN TABLE foreign_one (id int) SERVER nowhere;
SELECT hilo.attach('view');
SELECT hilo.attach('matview');
SELECT hilo.attach('temporary');
SELECT hilo.attach('composite');
SELECT hilo.attach('foreign_one', 'id');
SELECT hilo.attach('loose');
SELECT hilo.attach('orders_pkey');
SELECT hilo.attach('pg_class', 'relpages');
SELECT hilo.attach('hilo.hilo', 'max');
SELECT hilo.attach('orders', 'none');
SELECT hilo.attach('orders', 'bestellungen');
SELECT hilo.attach(NULL);
SELECT hilo.attach('orders', 'ctid');
CREATE TABLE dates (id date PRIMARY KEY);
SELECT hilo.attach('dates');
SELECT hilo.attach('dates', collection => 'dates');
BEGIN READ ONLY;
SELECT hilo.attach('orders');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT hilo.attach('orders');
ROLLBACK;

-- Partitions and children: those that draw exactly from a sequence, each from its own; others are told.
CREATE TABLE parts (id bigserial, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part2 PARTITION OF parts FOR VALUES IN (2);
CREATE TABLE part3 PARTITION OF parts FOR VALUES IN (3);
CREATE SEQUENCE of_part2;
ALTER TABLE part2 ALTER id SET DEFAULT nextval('of_part2');
ALTER TABLE part3 ALTER id SET DEFAULT 7;
INSERT INTO part2 VALUES (30, 2);
SELECT hilo.attach('parts', 'id');
SELECT * FROM defaults WHERE relation IN ('parts'::regclass, 'part1', 'part2', 'part3') ORDER BY 1;
SELECT * FROM hilo.attachments WHERE relation IN ('parts'::regclass, 'part1', 'part2', 'part3') ORDER BY 1;
CREATE TABLE part4 PARTITION OF parts FOR VALUES IN (4);
INSERT INTO parts (part) VALUES (4), (2) RETURNING id, part;
INSERT INTO part4 (part) VALUES (4) RETURNING id;
INSERT INTO part2 (part) VALUES (2) RETURNING id;
SELECT hilo.attach('part1', 'id');
SELECT hilo.detach('parts');
SELECT * FROM defaults WHERE relation IN ('parts'::regclass, 'part1', 'part2', 'part3', 'part4') ORDER BY 1;
CREATE TABLE parents (id serial PRIMARY KEY);
CREATE TABLE child1 () INHERITS (parents);
SELECT hilo.attach('parents');
CREATE TABLE child2 () INHERITS (parents);
INSERT INTO child1 DEFAULT VALUES RETURNING id;
INSERT INTO child2 DEFAULT VALUES RETURNING id;
SELECT hilo.detach('parents');
SELECT * FROM defaults WHERE relation IN ('parents'::regclass, 'child1', 'child2') ORDER BY 1;

-- To a collection: named, or for text. What draws from the sequence besides; what is ignored.
CREATE TABLE lines (id serial PRIMARY KEY, x int);
INSERT INTO lines (x) VALUES (0), (0);
CREATE TABLE lines_too (id int DEFAULT nextval('lines_id_seq'));
CREATE FUNCTION draws_line() RETURNS bigint BEGIN ATOMIC SELECT nextval('lines_id_seq'); END;
SELECT hilo.attach('lines', collection => 'lines');
SELECT * FROM defaults WHERE relation = 'lines'::regclass;
SELECT * FROM hilo.attachments WHERE relation = 'lines'::regclass;
SELECT collection, kind, object::regclass, column_name, was, sequence FROM hilo.binding;
SELECT max, max_value FROM hilo.hilo WHERE collection = 'lines';
INSERT INTO lines (x) VALUES (0), (0) RETURNING id;
SELECT hilo.attach('lines');
SELECT hilo.attach('lines', collection => 'lines');
SELECT hilo.attach('lines', collection => 'others');
SELECT hilo.detach('lines');
SELECT * FROM defaults WHERE relation = 'lines'::regclass;
INSERT INTO lines (x) VALUES (0) RETURNING id;
SELECT count(*) FROM hilo.binding;
CREATE TABLE "Orders" (id text PRIMARY KEY);
INSERT INTO "Orders" VALUES ('orders/1-A'), ('orders/2-A');
SELECT hilo.attach('"Orders"');
SELECT hilo.detach('"Orders"');
SELECT hilo.attach('"Orders"', collection => 'orders');
INSERT INTO "Orders" DEFAULT VALUES RETURNING id;
CREATE INDEX ON "Orders" (hilo_number(id));
SELECT hilo.attach('"Orders"');
CREATE TABLE documents (id varchar(30) PRIMARY KEY DEFAULT 'x' || gen_random_uuid());
CREATE INDEX ON documents (hilo_number(id));
SELECT hilo.attach('documents');
SELECT hilo.detach('documents');
-- An identity column not even to one.
CREATE TABLE by_default (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY);
SELECT hilo.attach('by_default', collection => 'by_default');
-- From one collection to another, and from hilo's sequence to one, and back.
CREATE TABLE moves (id bigserial PRIMARY KEY, x int);
\set VERBOSITY terse
SELECT hilo.attach('moves');
INSERT INTO moves (x) VALUES (0) RETURNING id;
SELECT hilo.attach('moves', collection => 'moves');
INSERT INTO moves (x) VALUES (0) RETURNING id;
SELECT hilo.detach('moves');
INSERT INTO moves (x) VALUES (0) RETURNING id;
SELECT hilo.attach('moves');
INSERT INTO moves (x) VALUES (0) RETURNING id;
\set VERBOSITY default
-- Dropped and made again with the same statements: the same ids.
DROP TABLE moves;
CREATE TABLE moves (id bigserial PRIMARY KEY, x int);
SELECT hilo.attach('moves');
INSERT INTO moves (x) VALUES (0) RETURNING id;

-- Rolled back.
CREATE TABLE rolled (id serial PRIMARY KEY);
BEGIN;
SELECT hilo.attach('rolled');
INSERT INTO rolled DEFAULT VALUES;
ROLLBACK;
SELECT * FROM defaults WHERE relation = 'rolled'::regclass;
INSERT INTO rolled DEFAULT VALUES RETURNING id;
-- Names, and settings that change how the server prints them.
CREATE TABLE "Odd 'n ""quoted""" ("i'D" serial PRIMARY KEY);
SET quote_all_identifiers = on;
SELECT hilo.attach('"Odd ''n ""quoted"""');
INSERT INTO "Odd 'n ""quoted""" DEFAULT VALUES RETURNING *;
SELECT hilo.detach('"Odd ''n ""quoted"""');
RESET quote_all_identifiers;
SELECT * FROM defaults WHERE relation = '"Odd ''n ""quoted"""'::regclass;
-- A column without a default, of a domain over a domain, by a role that is not the table's owner: the sequence is the owner's.
CREATE ROLE regress_hilo_attached;
CREATE DOMAIN small AS smallint;
CREATE DOMAIN smaller AS small;
CREATE TABLE of_domains (id smaller PRIMARY KEY);
ALTER TABLE of_domains OWNER TO regress_hilo_attached;
SELECT hilo.attach('of_domains');
SELECT format_type(seqtypid, NULL) AS type, relowner::regrole AS owner FROM pg_sequence JOIN pg_class c ON c.oid = seqrelid WHERE seqrelid = pg_get_serial_sequence('of_domains', 'id')::regclass;
DROP TABLE of_domains;
DROP ROLE regress_hilo_attached;
-- Names of the same beginning that are longer in bytes than in characters.
CREATE TABLE "заказы_клиентов_архива_два_один" ("идентификатор_заказа_клиента" int PRIMARY KEY);
CREATE TABLE "заказы_клиентов_архива_два_двас" ("идентификатор_заказа_клиента" int PRIMARY KEY);
SELECT hilo.attach('"заказы_клиентов_архива_два_один"');
SELECT hilo.attach('"заказы_клиентов_архива_два_двас"');
-- A default with a cast, or of a domain, draws, and is not changed back.
CREATE DOMAIN drawing AS bigint DEFAULT hilo.nextval('loose');
CREATE TABLE casts (id int PRIMARY KEY DEFAULT hilo.nextval('loose')::int, other drawing);
SELECT hilo.detach('casts');
SELECT hilo.detach('casts', 'id');
SELECT hilo.detach('casts', 'other');
ALTER TABLE casts ALTER id DROP DEFAULT, ALTER other SET DEFAULT 0;
SELECT hilo.detach('casts');
-- An error has the context of the user's functions, and none of hilo's; those of an event trigger are the user's.
CREATE FUNCTION attach_and_say(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    message text;
    context text;
BEGIN
    BEGIN
        PERFORM hilo.attach(relation, 'none');
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, context = PG_EXCEPTION_CONTEXT;
        RAISE NOTICE '%', message USING DETAIL = context;
    END;
    BEGIN
        PERFORM hilo.attach(relation);
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, context = PG_EXCEPTION_CONTEXT;
        RAISE NOTICE '%', message USING DETAIL = split_part(context, E'\n', 1);
    END;
END
$$;
CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION 'no changes today'; END$$;
BEGIN;
CREATE EVENT TRIGGER regress_refuse ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION refuse();
SELECT attach_and_say('rolled');
ROLLBACK;
BEGIN;
CREATE OR REPLACE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN PERFORM hilo.seed('none', -1); END$$;
CREATE EVENT TRIGGER regress_refuse ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION refuse();
SELECT attach_and_say('rolled');
ROLLBACK;
SELECT hilo.detach('rolled', 'none');

-- A draw that makes a collection of the name of a table that draws from a sequence by hilo, in whatever schema: a warning, once, and the number.
RESET client_min_messages;
CREATE TABLE meant (x int, id serial PRIMARY KEY);
SELECT hilo_next('meant');
SELECT hilo.drop('meant'), hilo.attach('meant');
SELECT hilo_next('meant');
SELECT hilo_next('meant');
SELECT hilo.drop('meant');
SET search_path = public;
SELECT * FROM hilo_reserve('meant', 1);
SELECT low FROM hilo.next_range('meant');
SET search_path = regress_attach, public;

-- An identity column: the hint keeps its options, and lets those insert who could.
CREATE ROLE regress_hilo_clerk;
CREATE TABLE stepped (id int GENERATED BY DEFAULT AS IDENTITY (INCREMENT 10 START 5 CYCLE) PRIMARY KEY, x int);
GRANT INSERT (x) ON stepped TO regress_hilo_clerk;
INSERT INTO stepped (x) VALUES (1), (2);
DO $do$
DECLARE
	statements text;
BEGIN
	PERFORM hilo.attach('stepped');
EXCEPTION WHEN feature_not_supported THEN
	GET STACKED DIAGNOSTICS statements = PG_EXCEPTION_HINT;
	RAISE NOTICE '%', statements;
	EXECUTE substring(statements, 'BEGIN; (.*) COMMIT');
END
$do$;
GRANT USAGE ON SCHEMA regress_attach TO regress_hilo_clerk;
SET ROLE regress_hilo_clerk;
INSERT INTO stepped (x) VALUES (3);
RESET ROLE;
SELECT * FROM stepped ORDER BY id;
SELECT seqincrement, seqstart, seqcycle FROM pg_sequence WHERE seqrelid = 'stepped_id_seq'::regclass;
-- By another role than the owner; after RESTART, from which nothing was drawn, with and without ids beyond.
CREATE FUNCTION by_hint(relation regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	statements text;
BEGIN
	PERFORM hilo.attach(relation);
EXCEPTION WHEN feature_not_supported THEN
	GET STACKED DIAGNOSTICS statements = PG_EXCEPTION_HINT;
	EXECUTE substring(statements, 'BEGIN; (.*) COMMIT');
	RETURN substring(statements, 'BEGIN; (.*) COMMIT');
END
$$;
CREATE TABLE anew (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, x int);
ALTER TABLE anew OWNER TO regress_hilo_clerk;
ALTER TABLE anew ALTER id RESTART WITH 1000;
GRANT CREATE ON SCHEMA regress_attach TO regress_hilo_clerk;
SELECT by_hint('anew');
CREATE TABLE downwards (id int GENERATED BY DEFAULT AS IDENTITY (INCREMENT -3) PRIMARY KEY, x int);
ALTER TABLE downwards ALTER id RESTART WITH -1000;
CREATE TABLE upwards (id int GENERATED BY DEFAULT AS IDENTITY (START 5 INCREMENT 5) PRIMARY KEY, x int);
ALTER TABLE upwards ALTER id RESTART WITH 1000;
INSERT INTO upwards VALUES (2000);
SELECT by_hint('upwards'), by_hint('downwards');
INSERT INTO anew (x) VALUES (1) RETURNING id;
INSERT INTO upwards (x) VALUES (1) RETURNING id;
INSERT INTO downwards (x) VALUES (1) RETURNING id;
CREATE TABLE ones (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY);
SET hilo.hub = 'none';
SELECT hilo.attach('ones');
RESET hilo.hub;

-- A deferrable key; a table of the server's.
CREATE TABLE deferred (id serial PRIMARY KEY DEFERRABLE);
SELECT hilo.attach('deferred');
SELECT hilo.attach('information_schema.sql_features', 'feature_id');

SET client_min_messages = warning;
DROP SCHEMA regress_attach CASCADE;
DROP FOREIGN DATA WRAPPER nothing CASCADE;
DROP ROLE regress_hilo_clerk;
SELECT count(hilo.drop(collection)) FROM hilo.hilo WHERE collection NOT LIKE '%|';
