-- The text form of ids: what hilo_next and hilo_format write, under all settings, and what hilo_number reads in it.

-- The number in an id.
SELECT id, hilo_number(id) FROM (VALUES
	('orders/10-A'), ('orders/10'), ('orders/NorthServer/10'), ('orders/NorthServer/10-A'), ('orders/0000000000000000027-A'),
	('orders/10-A_1'), ('orders/10-7'), ('orders/10-0'), ('10'), ('10-A'), ('orders|10'), ('orders-10'), ('orders-10-A'), ('users/1/2'),
	('users/1/0000000000000000042-A'), ('2nd/3-B'), ('orders→10-A'), ('orders→10'), ('ventes/été/8-A'),
	('orders/9223372036854775807'), ('orders/9223372036854775807-A'), ('orders/000000000000000000009223372036854775807')) v(id);
-- No number: semantic ids, GUIDs, more than a bigint, trailing characters, nothing at all.
SELECT id FROM (VALUES
	(''), ('-'), ('/'), ('-A'), ('orders'), ('orders/'), ('orders/A'), ('orders/-A'), ('products/ravendb'), ('products/a1'), ('orders/x10-A'),
	('orders/10-'), ('orders/10-A '), ('orders/10 '), ('orders/10-A/'), ('orders/10|'), ('orders/10.'), ('orders/10-é'), ('orders/10-A-'),
	('orders/10-A.B'), ('orders/10-abcdefghijabcdefghijabcdefghijabc'), ('orders/١٠-A'), ('orders/１０'),
	('0f8fad5b-d9cb-469f-a165-708677289501'), ('0F8FAD5B-D9CB-469F-A165-708677289501'), ('00000000-0000-0000-0000-000000000001'),
	('orders/9223372036854775808'), ('orders/9223372036854775808-A'), ('orders/99999999999999999999999-A'),
	('orders/18446744073709551617-A'), (repeat('9', 1000))) v(id) WHERE hilo_number(id) IS NOT NULL;
SELECT hilo_number(NULL);
-- As long as a GUID.
SELECT hilo_number('orders/' || lpad('10-A', 29, '0'));
SELECT set_config('hilo.server_prefix', repeat('N', 128) || '/', false);
-- The tag of a number that is too large is not the number.
SELECT hilo_number('orders/9223372036854775808-1');

-- The id of a reserved number.
SELECT hilo_format('orders', 1), hilo_format('orders', 9223372036854775807), hilo_format('orders', 10, 'B'), hilo_format('orders', 10, '');
SELECT hilo_format('a/b c', 1), hilo_format('à la', 2, 'x_9'), length(hilo_format(repeat('é', 127) || 'x', 3));
SELECT c, hilo_format(c, n), hilo_format(c, n, 'Z') FROM (VALUES (1, 'f', 5), (2, 'form', 6), (3, 'f', 7), (4, 'formed', 8)) v(i, c, n) ORDER BY i;
-- It creates nothing.
SELECT count(*) FROM hilo.hilo WHERE collection IN ('a/b c', 'à la', 'f', 'form', 'formed');
-- hilo_number reads what hilo_format and hilo_next write.
SELECT bool_and(hilo_number(hilo_format('x', n)) = n AND hilo_number(hilo_format('x-1', n, '')) = n AND hilo_number(hilo_format('a/9-B', n, '_1')) = n)
FROM (SELECT (2 ^ e)::numeric::bigint + d AS n FROM generate_series(1, 62) e, generate_series(-1, 1) d) s WHERE n > 0;
SELECT hilo_number(hilo_next('shipments')), hilo_number(hilo_next('shipments', '')), hilo_number(hilo_next('shipments', '12'));

-- The settings change ids at once, everywhere in one statement, at call sites that have drawn before.
SET hilo.server_prefix = 'NorthServer/';
SELECT hilo_next('shipments', ''), hilo_next('shipments'), hilo_format('shipments', 7), hilo_number(hilo_next('shipments'));
SET hilo.node_tag = 'Node_2';
SET hilo.identity_parts_separator = '-';
SELECT hilo_next('shipments', ''), hilo_next('shipments'), hilo_format('shipments', 7), hilo_number(hilo_next('shipments'));
SET hilo.identity_parts_separator = '→';
SET hilo.server_prefix = '';
SET hilo.node_tag = '';
SELECT hilo_next('shipments', ''), hilo_next('shipments'), hilo_format('shipments', 7), hilo_number(hilo_next('shipments'));
RESET hilo.identity_parts_separator;
RESET hilo.server_prefix;
RESET hilo.node_tag;
SELECT hilo.drop('shipments');
SET hilo.server_prefix = 'NorthServer/';
SELECT hilo_next('shipments', '');
RESET hilo.server_prefix;
PREPARE ids AS SELECT hilo_next('shipments') || ' ' || hilo_next('shipments', 'T') || ' ' || hilo_format('shipments', 7);
EXECUTE ids;
SET hilo.node_tag = 'C';
EXECUTE ids;
SET hilo.server_prefix = 'a:';
EXECUTE ids;
SET hilo.identity_parts_separator = ':';
EXECUTE ids;
DEALLOCATE ids;
RESET hilo.node_tag;
RESET hilo.server_prefix;
RESET hilo.identity_parts_separator;
DO $$
BEGIN
	FOR i IN 1..4 LOOP
		RAISE NOTICE '% %', hilo_next('shipments'), hilo_format('shipments', i, 'x');
		PERFORM set_config('hilo.node_tag', chr(65 + i), false), set_config('hilo.server_prefix', repeat('p/', i), false);
	END LOOP;
END $$;
-- Back with the transaction, or with the function, that set it.
RESET hilo.server_prefix;
RESET hilo.node_tag;
BEGIN;
SET LOCAL hilo.node_tag = 'X';
SET LOCAL hilo.server_prefix = 'y/';
SELECT hilo_next('shipments');
ROLLBACK;
SELECT hilo_next('shipments');
CREATE FUNCTION next_elsewhere() RETURNS text LANGUAGE sql SET hilo.node_tag = 'Q' SET hilo.identity_parts_separator = '#' AS $$ SELECT hilo_next('shipments') $$;
SELECT next_elsewhere(), hilo_next('shipments'), next_elsewhere();
DROP FUNCTION next_elsewhere;
-- The separator decides which names are refused; a call site that has drawn before is no exception.
SET hilo.identity_parts_separator = '#';
SELECT hilo_next('ends/'), hilo_format('ends/', 7);
SELECT hilo_next('ends#');
RESET hilo.identity_parts_separator;
DO $$
DECLARE
	name text := 'ends#';
BEGIN
	RAISE NOTICE '% %', hilo_next('ends#'), hilo_next(name);
	FOR i IN 1..2 LOOP
		BEGIN
			RAISE NOTICE '%', hilo_next('ends#');
		EXCEPTION WHEN invalid_parameter_value THEN
			RAISE NOTICE 'refused';
		END;
		BEGIN
			RAISE NOTICE '%', hilo_next(name);
		EXCEPTION WHEN invalid_parameter_value THEN
			RAISE NOTICE 'refused';
		END;
		PERFORM set_config('hilo.identity_parts_separator', '#', true);
	END LOOP;
END $$;
