-- Features since version 15: MERGE, views with the rights of the caller, and reserved prefixes of settings.
CREATE SCHEMA since_15;
SET search_path = since_15, public;
SET client_min_messages = warning;
-- MERGE into a table whose trigger assigns ids, and into one that is bound and draws.
CREATE TABLE since_15_books (n int, id text PRIMARY KEY, copies int DEFAULT 1);
CREATE TRIGGER assign BEFORE INSERT ON since_15_books FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO since_15_books (n, id) VALUES (1, 'books/fiction');
MERGE INTO since_15_books b USING (VALUES (2, 'books/fiction'), (3, 'books/merged'), (4, NULL)) v(n, id) ON b.id = v.id
	WHEN MATCHED THEN UPDATE SET copies = 100 WHEN NOT MATCHED THEN INSERT (n, id) VALUES (v.n, v.id);
SELECT n, id, copies FROM since_15_books ORDER BY n;
MERGE INTO since_15_books b USING (VALUES (5, 'since_15_books|'), (6, 'since_15_books|')) v(n, id) ON b.id = v.id
	WHEN NOT MATCHED THEN INSERT (n, id) VALUES (v.n, v.id);
SELECT n, id FROM since_15_books WHERE n >= 5 ORDER BY n;
CREATE TABLE since_15_given (id bigint PRIMARY KEY DEFAULT hilo_next_number('since_15_given'), x int);
SELECT hilo.bind('since_15_given', 'since_15_given', 'id');
INSERT INTO since_15_given VALUES (700);
MERGE INTO since_15_given USING (VALUES (700), (1)) v(n) ON id = n
	WHEN MATCHED THEN UPDATE SET id = 2 WHEN NOT MATCHED THEN INSERT VALUES (n);
SELECT id FROM since_15_given ORDER BY id;
INSERT INTO since_15_given (x) VALUES (1) RETURNING id;
MERGE INTO since_15_given USING (VALUES (0)) v(n) ON id = n WHEN NOT MATCHED THEN INSERT (x) VALUES (2);
SELECT id FROM since_15_given ORDER BY id;

-- Promise 1: our tables cannot be changed by it.
SELECT hilo_next_number('since_15');
MERGE INTO hilo.hilo USING (VALUES ('since_15')) v(c) ON collection = c WHEN MATCHED THEN UPDATE SET max = 0;
MERGE INTO hilo.hilo USING (VALUES ('since_15')) v(c) ON collection = c WHEN MATCHED THEN DELETE;
MERGE INTO hilo.hilo USING (VALUES ('since_15')) v(c) ON collection = c WHEN MATCHED THEN DO NOTHING;
\set VERBOSITY sqlstate
MERGE INTO hilo.hilo USING (VALUES (1)) v ON collection = 'since_15' WHEN MATCHED THEN UPDATE SET max = 0;
MERGE INTO hilo.hilo USING (VALUES (1)) v ON collection = 'since_15' WHEN MATCHED THEN DELETE;
\set VERBOSITY default
SELECT max FROM hilo.hilo WHERE collection = 'since_15';

-- A view of another role lends its rights to insert, unless it has the caller's; to draw needs none but EXECUTE.
CREATE ROLE regress_hilo_caller;
GRANT USAGE ON SCHEMA since_15 TO regress_hilo_caller;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT hilo_next_number('since_15_orders'), item text);
CREATE VIEW orders_invoker WITH (security_invoker) AS SELECT id, item FROM orders;
GRANT INSERT ON orders_invoker TO regress_hilo_caller;
SET ROLE regress_hilo_caller;
INSERT INTO orders_invoker (item) VALUES ('jam');
SELECT hilo_next_number('since_15_orders') > 0 AS drawn;
RESET ROLE;
CREATE VIEW orders_view AS SELECT id, item FROM orders;
GRANT INSERT ON orders_view TO regress_hilo_caller;
SET ROLE regress_hilo_caller;
INSERT INTO orders_view (item) VALUES ('jam');
SELECT hilo_next_number('since_15_orders') > 0 AS drawn;
RESET ROLE;

-- The prefix of the settings is reserved, and all settings exist once the library is loaded.
SET hilo.no_such_setting = 1;
SELECT name FROM pg_settings WHERE name LIKE 'hilo.%' ORDER BY 1;

DROP OWNED BY regress_hilo_caller;
DROP ROLE regress_hilo_caller;
