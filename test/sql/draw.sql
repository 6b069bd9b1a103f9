-- Promises 1, 4 and 6: each draw gives the next number of its collection, wherever in SQL it stands; what was drawn stays
-- drawn whatever becomes of the transaction; the range stays with the connection.

-- The three forms draw from one range; names are told apart, and taken as they are written.
SELECT hilo_next('orders'), hilo_next('orders', 'B'), hilo_next('orders', ''), hilo_next_number('orders');
SELECT hilo_next(node_tag => 'C_2', collection => 'orders'), hilo_next(collection => 'Orders'), hilo_next('orders/eu');
SELECT hilo_last_number('orders'), hilo_last_number('Orders'), hilo_last_number('orders/eu');
SELECT * FROM hilo.ranges ORDER BY collection COLLATE "C";
SELECT collection, max FROM hilo.hilo WHERE collection IN ('orders', 'Orders', 'orders/eu') ORDER BY 1;

-- A range is used up without a gap before the next one is claimed; many rows, one call site.
SELECT min(n), max(n), count(DISTINCT n) FROM (SELECT hilo_next_number('batch') AS n FROM generate_series(1, 10000)) s;
SELECT hilo_next('batch');
-- One call site, the collection changes from row to row.
SELECT c, hilo_next(c), hilo_next_number('row_' || c), hilo_next(c, tag)
FROM (VALUES (1, 'x', 'T1'), (2, 'y', ''), (3, 'x', 'T2'), (4, 'xx', ''), (5, 'x', 'T1')) v(i, c, tag) ORDER BY i;

-- DEFAULT expressions, both kinds of columns.
CREATE TABLE sales (id text PRIMARY KEY DEFAULT hilo_next('sales'), note text);
CREATE TABLE sale_lines (id bigint PRIMARY KEY DEFAULT hilo_next_number('sale_lines'), sale text);
INSERT INTO sales (note) VALUES ('a'), ('b') RETURNING id;
INSERT INTO sales VALUES ('sales/mine', 'a semantic id'), (DEFAULT, 'c') RETURNING id;
INSERT INTO sale_lines (sale) SELECT s.id FROM sales s, generate_series(1, 25);
SELECT count(*), min(id), max(id) FROM sale_lines;
ALTER TABLE sales ADD COLUMN number bigint DEFAULT hilo_next_number('sales_number');
SELECT count(DISTINCT number), max(number) FROM sales;
COPY sales (note) FROM stdin;
d
e
\.
SELECT id, note FROM sales WHERE note IN ('d', 'e') ORDER BY id;
-- A draw in an INSERT that fails is spent.
INSERT INTO sales (id, note) VALUES ('sales/mine', hilo_next('sales'));
INSERT INTO sales DEFAULT VALUES RETURNING id;

-- A procedural language keeps one call site while the variable changes its value.
DO $$
DECLARE
	name text;
	id text;
BEGIN
	FOREACH name IN ARRAY ARRAY['red', 'green', 'red', 'greener', 'blue', 'red'] LOOP
		id := hilo_next(name);
		RAISE NOTICE '%', id;
	END LOOP;
END $$;
CREATE PROCEDURE draw_three(name text, INOUT ids text DEFAULT '') LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..3 LOOP
		ids := ids || hilo_next(name) || ' ';
		COMMIT;
	END LOOP;
END $$;
CALL draw_three('red');
CALL draw_three('green');
-- An invalid name at a call site that had a valid one before.
CREATE FUNCTION draw_or_state(name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN hilo_next(name);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SELECT draw_or_state(n) FROM unnest(ARRAY['red', NULL, 'red', '', 'red/', 'red', 'green']) WITH ORDINALITY u(n, i) ORDER BY i;
PREPARE draw(text) AS SELECT hilo_next($1);
EXECUTE draw('red');
EXECUTE draw('green');
EXECUTE draw('red');
DEALLOCATE draw;

-- Rolled back, to a savepoint or altogether, or by an exception: spent all the same.  The first draw ever, too.
BEGIN;
SELECT hilo_next('spent');
SAVEPOINT s;
SELECT hilo_next('spent');
SELECT hilo_next('spent_in_savepoint');
ROLLBACK TO s;
SELECT hilo_next('spent'), hilo_next('spent_in_savepoint');
ROLLBACK;
SELECT hilo_next('spent'), hilo_next('spent_in_savepoint'), hilo_last_number('spent');
DO $$
BEGIN
	PERFORM hilo_next('spent'), hilo_next('spent_in_block');
	RAISE EXCEPTION 'no';
EXCEPTION WHEN raise_exception THEN
	PERFORM hilo_next('spent');
END $$;
SELECT hilo_next('spent'), hilo_next('spent_in_block');
SELECT collection, max FROM hilo.hilo WHERE collection LIKE 'spent%' ORDER BY 1;
-- At the strictest isolation level, too, with the row older or younger than the snapshot.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT count(*) FROM sales;
SELECT hilo_next('spent'), hilo_next('spent_serializable');
COMMIT;
SELECT hilo_next('spent_serializable');

-- What a pooler sends between two clients does not affect the range.
CREATE ROLE regress_hilo_draw;
SELECT hilo_next('pooled');
DISCARD ALL;
SELECT hilo_next('pooled');
RESET ALL;
SET ROLE regress_hilo_draw;
SELECT hilo_next('pooled'), hilo_last_number('pooled');
RESET ROLE;
SET SESSION AUTHORIZATION regress_hilo_draw;
SELECT hilo_next('pooled');
RESET SESSION AUTHORIZATION;
-- So does what invalidates all that is known about the table.
ANALYZE hilo.hilo;
GRANT SELECT ON hilo.hilo TO regress_hilo_draw;
REVOKE SELECT ON hilo.hilo FROM regress_hilo_draw;
REINDEX TABLE hilo.hilo;
SELECT hilo_next('pooled');
CLUSTER hilo.hilo USING hilo_collection_idx;
VACUUM FULL hilo.hilo;
SELECT hilo_next('pooled');
ALTER TABLE hilo.hilo SET WITHOUT CLUSTER;
SELECT low, high, next, size FROM hilo.ranges WHERE collection = 'pooled';
SELECT max FROM hilo.hilo WHERE collection = 'pooled';

-- A block that is reserved leaves the range what it is.
SELECT low, high FROM hilo_reserve('pooled', 10);
SELECT hilo_next('pooled'), hilo_last_number('pooled');

-- A name from which nothing was drawn takes no memory in the session.
SELECT count(hilo_format('none' || i, 1)) FROM generate_series(1, 1000) i;
SELECT sum(total_bytes) AS before FROM pg_backend_memory_contexts \gset
SELECT count(hilo_format('none' || i, 1)) FROM generate_series(1, 300000) i;
SELECT sum(total_bytes) < :before + 1000000 AS no_more_memory FROM pg_backend_memory_contexts;

DROP ROLE regress_hilo_draw;
