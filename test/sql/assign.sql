-- What id a document gets: by hilo_document_id(), and by the trigger hilo.assign_id() in front of every way into a table.

-- Hide what is random or shared by all tests: a GUID, and the number of a server-side id.
CREATE FUNCTION shape(id text) RETURNS text IMMUTABLE LANGUAGE sql
	RETURN regexp_replace(regexp_replace(id, '^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$', '(guid)'), '[0-9]{19}', '(19 digits)');

-- What is requested, and what it becomes.
SELECT hilo_document_id('orders', NULL), hilo_document_id('orders'), shape(hilo_document_id('orders', '')), shape(hilo_document_id('orders', 'companies/')),
	hilo_document_id('orders', 'companies|'), hilo_document_id('orders', 'products/ravendb');
SELECT hilo_next('orders'), next_identity('companies');
SELECT hilo_document_id('orders', '') <> hilo_document_id('orders', '') AS random, shape(hilo_document_id('orders', 'orders/')), hilo_document_id('orders', 'orders|'),
	shape(hilo_document_id('orders', 'users/1/')), hilo_document_id('orders', 'users/1|');
SELECT hilo_document_id('orders', id) FROM unnest(ARRAY['orders/1-A', ' ', 'a', '-1', 'orders', 'or|ders', '|orders', '/orders', 'orders//x', 'orders/ ', 'orders| ', E'tab\there', '日本語/1'])
	WITH ORDINALITY u(id, i) ORDER BY i;
SELECT hilo_document_id('orders', 'orders//') ~ '^orders//[0-9]{19}-A$' AS server_side, hilo_document_id('orders', 'orders/|');
-- What is requested says which kind it is; only a HiLo id draws from the collection.
SELECT hilo_next_number('orders');
-- Server-side ids of both functions share one counter; so do identities.
SELECT hilo_number(hilo_document_id('orders', 'companies/')) - hilo_number(next_server_side_id('users/')) AS step;
SELECT hilo_document_id('orders', 'companies|'), next_identity('companies'), hilo_document_id('x', 'companies|');
-- Tag, prefix, separator.
SET hilo.node_tag = '';
SELECT hilo_document_id('tagless'), shape(hilo_document_id('tagless', 'companies/')), hilo_document_id('tagless', 'companies|');
SET hilo.node_tag = 'B';
SET hilo.server_prefix = 'NorthServer/';
SELECT hilo_document_id('prefixed'), shape(hilo_document_id('prefixed', 'companies/')), hilo_document_id('prefixed', 'companies|'), hilo_document_id('prefixed', 'p/1');
RESET hilo.server_prefix;
RESET hilo.node_tag;
SET hilo.identity_parts_separator = ':';
SELECT hilo_document_id('separated'), shape(hilo_document_id('separated', 'companies:')), hilo_document_id('separated', 'companies/'), hilo_document_id('separated', 'companies|');
SET hilo.identity_parts_separator = '→';
SELECT hilo_document_id('separated'), shape(hilo_document_id('separated', 'companies→')), hilo_document_id('separated', 'companies:');
RESET hilo.identity_parts_separator;
-- 512 bytes, not characters; longer ones are refused.
SELECT length(hilo_document_id('orders', repeat('x', 512))), length(hilo_document_id('orders', repeat('é', 256)));
\set VERBOSITY sqlstate
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY[$$hilo_document_id('orders', repeat('x', 513))$$,
	$$hilo_document_id('orders', repeat('é', 256) || 'x')$$, $$hilo_document_id('orders', repeat('x', 1000000))$$,
	$$hilo_document_id('orders', repeat('x', 512) || '/')$$, $$hilo_document_id('orders', repeat('x', 512) || '|')$$,
	$$hilo_document_id('orders', '/')$$, $$hilo_document_id('orders', '|')$$, $$hilo_document_id('orders', 'a|b|')$$,
	$$hilo_document_id('orders', 'a|b/')$$, $$hilo_document_id('orders', E'a\nb|')$$]) call;
-- The collection is checked, whatever is requested.
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY[$$hilo_document_id(NULL)$$,
	$$hilo_document_id(NULL, 'products/1')$$, $$hilo_document_id('', 'products/1')$$, $$hilo_document_id('orders/')$$,
	$$hilo_document_id('or|ders')$$, $$hilo_document_id(repeat('x', 256))$$]) call;
SELECT requested, state_of(format('SET LOCAL transaction_read_only = on; SELECT hilo_document_id(''orders'', %L)', requested))
	FROM unnest(ARRAY[NULL, 'companies|', 'companies/']) requested;
SELECT requested, in_worker(format('hilo_document_id(''orders'', %L)', requested)) FROM unnest(ARRAY[NULL, 'companies|', 'companies/']) requested;
SELECT hilo_document_id('orders'), hilo_document_id('orders', 'companies|');
\set VERBOSITY default
SELECT hilo_document_id('orders', repeat('x', 513));
SELECT hilo_document_id(NULL);
-- plpgsql, whose variables look constant; prepared statements; one statement for many.
DO $$
DECLARE
	requested text;
	collection text;
BEGIN
	FOREACH requested IN ARRAY ARRAY[NULL, 'loop|', 'loop/1', NULL, 'loop|'] LOOP
		FOREACH collection IN ARRAY ARRAY['loop_a', 'loop_b'] LOOP
			RAISE NOTICE '% %', collection, hilo_document_id(collection, requested);
		END LOOP;
	END LOOP;
END $$;
PREPARE assign(text, text) AS SELECT hilo_document_id($1, $2);
EXECUTE assign('statement_a', NULL);
EXECUTE assign('statement_a', 'statement_a|');
EXECUTE assign('statement_b', NULL);
EXECUTE assign('statement_a', 'statement_a/7');
DEALLOCATE assign;

-- The trigger.
CREATE TABLE books (n int, id text PRIMARY KEY, copies int DEFAULT 1, twice int GENERATED ALWAYS AS (n * 2) STORED, size int GENERATED ALWAYS AS (length(id)) STORED);
CREATE TRIGGER assign BEFORE INSERT ON books FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO books VALUES (1) RETURNING n, id, copies, twice, size;
INSERT INTO books (n, id) VALUES (2, NULL), (3, ''), (4, 'books/'), (5, 'books|'), (6, 'books/fiction'), (7, DEFAULT) RETURNING n, shape(id) AS id, size;
INSERT INTO books (n, id) SELECT i, CASE i % 3 WHEN 0 THEN 'novels|' WHEN 1 THEN 'books/x' || i END FROM generate_series(8, 13) i RETURNING n, id;
COPY books (n, id) FROM stdin;
14	\N
15	books|
16	books/copied
\.
COPY books (n) FROM stdin;
17
18
\.
SELECT n, id FROM books WHERE n >= 14 ORDER BY n;
-- ON CONFLICT: a number is spent; conflicts are detected with the assigned id.
INSERT INTO books (n, id) VALUES (19, 'books/fiction'), (20, NULL) ON CONFLICT DO NOTHING RETURNING n, id;
INSERT INTO books (n, id) VALUES (21, 'books/fiction'), (22, 'books|') ON CONFLICT (id) DO UPDATE SET copies = books.copies + 1 RETURNING n, id, copies;
-- An assigned identity conflicts with no row.
SELECT seed_identity_for('books', 0, true);
INSERT INTO books (n, id) VALUES (23, 'books|') ON CONFLICT (id) DO UPDATE SET copies = books.copies + 10 RETURNING n, id, copies;
-- An id given by the caller stays, and a missing one is assigned; an UPDATE assigns none.
UPDATE books SET copies = 100 WHERE id = 'books/fiction';
INSERT INTO books (n, id) VALUES (25, 'books/merged'), (26, NULL);
SELECT n, id, copies FROM books WHERE n >= 24 OR copies = 100 ORDER BY n;
-- A CTE, a function, a prepared statement, an error in between.
WITH new AS (INSERT INTO books (n) SELECT i FROM generate_series(30, 31) i RETURNING n, id) SELECT n, id FROM new ORDER BY n;
DO $$
DECLARE
	got text;
BEGIN
	FOR i IN 32 .. 34 LOOP
		INSERT INTO books (n, id) VALUES (i, CASE i WHEN 33 THEN 'loops|' END) RETURNING id INTO got;
		RAISE NOTICE '%', got;
	END LOOP;
END $$;
PREPARE store(int, text) AS INSERT INTO books (n, id) VALUES ($1, $2) RETURNING shape(id);
EXECUTE store(35, NULL);
EXECUTE store(36, 'books/');
EXECUTE store(37, 'books/prepared');
EXECUTE store(37, 'books/prepared');
EXECUTE store(38, NULL);
DEALLOCATE store;
INSERT INTO books (n, id) VALUES (39, repeat('x', 512)) RETURNING size;
INSERT INTO books (n, id) VALUES (40, repeat('x', 513));
INSERT INTO books (n, id) VALUES (40, '|');
-- UPDATE does not assign.
UPDATE books SET id = 'books/' WHERE n = 38 RETURNING id;
-- A stored, long value (TOAST) and short ones come out as they went in.
CREATE TABLE long (id text COLLATE "C");
CREATE TRIGGER assign BEFORE INSERT ON long FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO long SELECT repeat('y', 500) RETURNING length(id);
INSERT INTO long SELECT id || 'x' FROM long RETURNING length(id);
-- No two of many ids are equal, and all belong to the collection of that name.
INSERT INTO books (n) SELECT 1000 + i FROM generate_series(1, 500) i;
SELECT count(*), count(DISTINCT id), bool_and(id ~ '^books/\d+-A$') FROM books WHERE n > 1000;
SELECT max(hilo_number(id)) = hilo_last_number('books') AS last FROM books WHERE n > 1000;
-- A table renamed, or with columns dropped and added, has the collection of its new name, and the column of that name.
ALTER TABLE books DROP COLUMN copies;
ALTER TABLE books ADD COLUMN more text DEFAULT 'x';
INSERT INTO books (n) VALUES (50) RETURNING id LIKE 'books/%' AS same, more;
ALTER TABLE books RENAME TO papers;
INSERT INTO papers (n) VALUES (51) RETURNING id;
ALTER TABLE papers RENAME COLUMN id TO key;
\set VERBOSITY sqlstate
INSERT INTO papers (n) VALUES (52);
\set VERBOSITY default
ALTER TABLE papers RENAME COLUMN key TO id;
-- The collection named in the trigger; a name that has to be quoted; as the other column.
CREATE TABLE "Odd ""Table" ("Odd Id" text UNIQUE, id text UNIQUE);
CREATE TRIGGER assign BEFORE INSERT ON "Odd ""Table" FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('Odd Id');
CREATE TRIGGER assign_too BEFORE INSERT ON "Odd ""Table" FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'odds and ends');
INSERT INTO "Odd ""Table" DEFAULT VALUES RETURNING *;
INSERT INTO "Odd ""Table" VALUES ('odds|', 'odds|'), (NULL, NULL) RETURNING *;
-- A table whose name is not valid for a collection needs the second argument.
CREATE TABLE "odd/" (id text);
CREATE TRIGGER assign BEFORE INSERT ON "odd/" FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
\set VERBOSITY sqlstate
INSERT INTO "odd/" DEFAULT VALUES;
\set VERBOSITY default
DROP TRIGGER assign ON "odd/";
CREATE TRIGGER assign BEFORE INSERT ON "odd/" FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'odd');
INSERT INTO "odd/" DEFAULT VALUES RETURNING id;
-- A later trigger sees the id; an earlier one may request it.
CREATE TABLE staged (id text PRIMARY KEY, note text);
CREATE FUNCTION request() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.id := 'staged|'; RETURN NEW; END $$;
CREATE FUNCTION look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.note := 'seen ' || NEW.id; RETURN NEW; END $$;
CREATE TRIGGER a_request BEFORE INSERT ON staged FOR EACH ROW WHEN (NEW.note = 'request') EXECUTE FUNCTION request();
CREATE TRIGGER b_assign BEFORE INSERT ON staged FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
CREATE TRIGGER c_look BEFORE INSERT ON staged FOR EACH ROW EXECUTE FUNCTION look();
INSERT INTO staged VALUES (NULL, 'request'), (NULL, '') RETURNING *;

-- Partitions: the collection is the root's, whichever table is inserted into, whatever the column's position.
CREATE TABLE loans (year int, id text, note text) PARTITION BY RANGE (year);
CREATE INDEX ON loans (id);
CREATE TABLE loans_2025 PARTITION OF loans FOR VALUES FROM (2025) TO (2026);
CREATE TABLE loans_later PARTITION OF loans FOR VALUES FROM (2026) TO (2100) PARTITION BY LIST (year);
CREATE TABLE loans_2026 (dropped int, note text, id text, year int);
ALTER TABLE loans_2026 DROP COLUMN dropped;
ALTER TABLE loans_later ATTACH PARTITION loans_2026 FOR VALUES IN (2026);
CREATE TRIGGER assign BEFORE INSERT ON loans FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO loans (year, id) VALUES (2025, NULL), (2026, NULL), (2025, 'fines|'), (2026, 'loans/x'), (2026, 'fines|') RETURNING tableoid::regclass, year, id;
INSERT INTO loans_2025 (year) VALUES (2025) RETURNING id;
INSERT INTO loans_2026 (year) VALUES (2026) RETURNING id;
INSERT INTO loans_later (year) VALUES (2026) RETURNING id;
COPY loans (year) FROM stdin;
2025
2026
\.
SELECT tableoid::regclass, id FROM loans ORDER BY hilo_number(id), id;
-- A row moved to another partition keeps its id.
UPDATE loans SET year = 2026 WHERE year = 2025 AND id LIKE 'fines/%' RETURNING tableoid::regclass, id;
-- A partition that is detached uses its own name.
ALTER TABLE loans DETACH PARTITION loans_2025;
CREATE TRIGGER assign BEFORE INSERT ON loans_2025 FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO loans_2025 (year) VALUES (2025) RETURNING id;
-- A child by inheritance is a table of its own, and has its own trigger.
CREATE TABLE people (id text);
CREATE TABLE readers (card int) INHERITS (people);
CREATE TRIGGER assign BEFORE INSERT ON readers FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO readers DEFAULT VALUES RETURNING id;
-- Temporary and unlogged tables; a view with its own trigger.
CREATE TEMPORARY TABLE notes (id text);
CREATE TRIGGER assign BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO notes DEFAULT VALUES RETURNING id;
CREATE TEMP VIEW notes_view AS SELECT id FROM notes;
INSERT INTO notes_view DEFAULT VALUES RETURNING id;

-- Foreign tables, of this database.
CREATE EXTENSION postgres_fdw;
DO $$
BEGIN
	EXECUTE format('CREATE SERVER loopback FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host %L, port %L, dbname %L)',
		split_part(current_setting('unix_socket_directories'), ',', 1), current_setting('port'), current_database());
	EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER loopback OPTIONS (user %L)', current_user);
END $$;
CREATE TABLE shelves_there (n int, id text);
CREATE FOREIGN TABLE shelves (n int, id text) SERVER loopback OPTIONS (table_name 'shelves_there');
CREATE TRIGGER assign BEFORE INSERT ON shelves FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO shelves (n, id) VALUES (1, NULL), (3, 'shelves/'), (4, 'shelves/top'), (5, NULL) RETURNING n, shape(id);
INSERT INTO shelves (n) SELECT i FROM generate_series(6, 8) i;
COPY shelves (n, id) FROM stdin;
9	\N
\.
-- No index here knows the ids there: no number that nobody looked for.
\set VERBOSITY sqlstate
INSERT INTO shelves (n, id) VALUES (2, 'shelves|');
\set VERBOSITY default
SELECT n, shape(id) FROM shelves_there ORDER BY n;
-- As a partition.
CREATE TABLE rooms (floor int, id text) PARTITION BY LIST (floor);
CREATE TABLE rooms_there (floor int, id text);
CREATE TABLE rooms_1 PARTITION OF rooms FOR VALUES IN (1);
CREATE FOREIGN TABLE rooms_2 PARTITION OF rooms FOR VALUES IN (2) SERVER loopback OPTIONS (table_name 'rooms_there');
CREATE TRIGGER assign BEFORE INSERT ON rooms FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO rooms (floor) VALUES (1), (2), (1), (2) RETURNING tableoid::regclass, id;
-- Assigned by a trigger on the remote table.
CREATE TABLE doors_there (n int, id text);
CREATE TRIGGER assign BEFORE INSERT ON doors_there FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'doors');
CREATE FOREIGN TABLE doors (n int, id text) SERVER loopback OPTIONS (table_name 'doors_there');
INSERT INTO doors (n) VALUES (1), (2) RETURNING n, id LIKE 'doors/%-A' AS assigned;
-- A default draws for a foreign table, too.
CREATE TABLE walls_there (id bigint, n int);
CREATE FOREIGN TABLE walls (id bigint DEFAULT hilo_next_number('walls'), n int) SERVER loopback OPTIONS (table_name 'walls_there');
INSERT INTO walls (n) VALUES (1), (2) RETURNING id;

-- Column types.
CREATE EXTENSION citext;
CREATE DOMAIN short_id AS varchar(12);
CREATE DOMAIN lower_id AS text CHECK (VALUE = lower(VALUE)) NOT NULL;
CREATE DOMAIN upper_of_domain AS short_id CHECK (VALUE NOT LIKE '%9-A');
CREATE TABLE types (v varchar UNIQUE, v7 varchar(9) UNIQUE, s short_id UNIQUE);
CREATE TRIGGER t1 BEFORE INSERT ON types FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('v');
CREATE TRIGGER t2 BEFORE INSERT ON types FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('v7');
CREATE TRIGGER t3 BEFORE INSERT ON types FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('s');
INSERT INTO types DEFAULT VALUES RETURNING *;
INSERT INTO types VALUES ('types|', 'types|', 'types|') RETURNING *;
-- An id that does not fit into the column is an error, and is not truncated; after that, one that fits is accepted.
CREATE TABLE narrow (id varchar(10) UNIQUE);
CREATE TRIGGER assign BEFORE INSERT ON narrow FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO narrow DEFAULT VALUES RETURNING id;
\set VERBOSITY sqlstate
INSERT INTO narrow VALUES ('');
INSERT INTO narrow VALUES ('narrow/');
SELECT seed_identity_for('narrow', 999);
INSERT INTO narrow VALUES ('narrow|');
SELECT hilo.seed('narrow', 98, true);
INSERT INTO narrow DEFAULT VALUES;
SELECT seed_identity_for('narrow', 99, true), hilo.seed('narrow', 1, true);
INSERT INTO narrow VALUES ('narrow|'), (NULL) RETURNING id;
SELECT max(length(id)) FROM narrow;
-- A domain's check and NOT NULL are tested with the assigned id.
CREATE TABLE lower (id lower_id UNIQUE);
CREATE TRIGGER assign BEFORE INSERT ON lower FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'lower');
INSERT INTO lower VALUES ('lower/');
INSERT INTO lower VALUES ('lower|') RETURNING id;
INSERT INTO lower VALUES ('lower/x') RETURNING id;
SET hilo.node_tag = 'a';
INSERT INTO lower VALUES ('lower/') RETURNING shape(id);
RESET hilo.node_tag;
CREATE TABLE nested (id upper_of_domain);
CREATE TRIGGER assign BEFORE INSERT ON nested FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'n');
INSERT INTO nested SELECT FROM generate_series(1, 8);
INSERT INTO nested DEFAULT VALUES;
INSERT INTO nested DEFAULT VALUES RETURNING id;
INSERT INTO nested VALUES ('');
-- Types that hold no ids.
CREATE TABLE wrong (i int, b bigint, c char(20), n name, a text[], u uuid, j jsonb, t citext);
CREATE FUNCTION try_trigger(args text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER assign BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION hilo.assign_id(%s)', args);
	INSERT INTO wrong DEFAULT VALUES;
	RETURN 'fine';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SELECT args, try_trigger(args) FROM unnest(ARRAY['''i''', '''b''', '''c''', '''n''', '''a''', '''u''', '''j''', '''t''']) args;
ALTER TABLE wrong ADD COLUMN id text;
-- Wrong columns, wrong numbers of arguments, wrong collections.
SELECT args, try_trigger(args) FROM unnest(ARRAY['''ID''', '''nowhere''', '''ctid''', '''tableoid''', '''''']) args;
SELECT args, try_trigger(args) FROM unnest(ARRAY['', '''id'', ''a'', ''b''', '''id'', ''a|b''', '''id'', ''''', '''id'', ''a/''', '''id''']) args;
DROP TRIGGER assign ON wrong;
-- Wrong times.
CREATE FUNCTION try_timing(timing text, statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE OR REPLACE TRIGGER assign %s EXECUTE FUNCTION hilo.assign_id(''id'')', timing);
	EXECUTE statement;
	RAISE 'undo' USING ERRCODE = 'UNDO0';
EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
	RETURN 'fine';
	WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
INSERT INTO wrong (id) VALUES ('wrong/0');
SELECT timing, statement, try_timing(timing, statement) FROM (VALUES
	('AFTER INSERT ON wrong FOR EACH ROW', 'INSERT INTO wrong DEFAULT VALUES'),
	('BEFORE INSERT ON wrong FOR EACH STATEMENT', 'INSERT INTO wrong DEFAULT VALUES'),
	('AFTER INSERT ON wrong FOR EACH STATEMENT', 'INSERT INTO wrong DEFAULT VALUES'),
	('BEFORE UPDATE ON wrong FOR EACH ROW', 'UPDATE wrong SET id = NULL'),
	('BEFORE DELETE ON wrong FOR EACH ROW', 'DELETE FROM wrong'),
	('BEFORE TRUNCATE ON wrong', 'TRUNCATE wrong'),
	('BEFORE INSERT OR UPDATE ON wrong FOR EACH ROW', 'UPDATE wrong SET id = NULL'),
	('BEFORE INSERT OR UPDATE ON wrong FOR EACH ROW', 'INSERT INTO wrong DEFAULT VALUES'),
	('BEFORE INSERT ON wrong FOR EACH ROW', 'INSERT INTO wrong DEFAULT VALUES')) v(timing, statement);
CREATE VIEW wrong_view AS SELECT id FROM wrong;
SELECT try_timing('INSTEAD OF INSERT ON wrong_view FOR EACH ROW', 'INSERT INTO wrong_view DEFAULT VALUES');
SELECT hilo.assign_id();
\set VERBOSITY default
CREATE TRIGGER assign AFTER INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO wrong DEFAULT VALUES;
DROP TRIGGER assign ON wrong;
CREATE TRIGGER assign BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION hilo.assign_id();
INSERT INTO wrong DEFAULT VALUES;
DROP TRIGGER assign ON wrong;
CREATE TRIGGER assign BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('nowhere');
INSERT INTO wrong DEFAULT VALUES;
DROP TRIGGER assign ON wrong;
CREATE TRIGGER assign BEFORE INSERT ON wrong FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('i');
INSERT INTO wrong DEFAULT VALUES;

-- An ordinary role needs no more than INSERT.
CREATE ROLE regress_hilo_clerk;
CREATE TABLE desks (id text UNIQUE);
CREATE TRIGGER assign BEFORE INSERT ON desks FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
GRANT INSERT ON desks TO regress_hilo_clerk;
SET ROLE regress_hilo_clerk;
INSERT INTO desks VALUES (NULL), ('desks|'), ('desks/'), ('');
RESET ROLE;
SELECT shape(id) FROM desks;
DROP TABLE desks;
DROP ROLE regress_hilo_clerk;
-- Assigned again after a rollback: gaps, never a number twice.
CREATE TABLE lamps (id text UNIQUE);
CREATE TRIGGER assign BEFORE INSERT ON lamps FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
BEGIN;
INSERT INTO lamps VALUES (NULL), ('lamps|') RETURNING id;
ROLLBACK;
INSERT INTO lamps VALUES (NULL), ('lamps|') RETURNING id;
