-- Promises 4 and 6, and the rule of range sizes: a range doubles while it is used up fast, halves when it lasts, stays
-- within range_size and max_range_size, and its unused rest goes to the pool when the connection ends.

-- Wait until a session that was asked to end has done so.
CREATE PROCEDURE wait_for_exit(session int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..6000 LOOP
		PERFORM pg_stat_clear_snapshot();
		EXIT WHEN NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = session);
		ASSERT i < 6000, 'the session does not end';
		PERFORM pg_sleep(0.01);
	END LOOP;
END $$;
-- Draw numbers, and show the ranges they come from.
CREATE FUNCTION ranges_of(name text, numbers int) RETURNS TABLE (low bigint, high bigint, size bigint)
LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1..numbers LOOP
		low := hilo_next_number(name);
		CONTINUE WHEN low <= high;
		SELECT max, max - low + 1 INTO high, size FROM hilo.hilo WHERE collection = name;
		RETURN NEXT;
	END LOOP;
END $$;

-- Cases of RavenDB's own tests.
SELECT hilo.seed('users', 64), hilo.seed('products', 128), hilo.seed('accounts', 4000), hilo.seed('regions', 32);
SELECT hilo_next('users', ''), hilo_next('products', '');
SELECT * FROM ranges_of('accounts', 1);
SELECT * FROM ranges_of('regions', 1);
-- Max 64, 32 drawn: Max 96; one more: Max 128.
SELECT hilo.seed('orders_64', 64);
SELECT * FROM ranges_of('orders_64', 32);
SELECT max FROM hilo.hilo WHERE collection = 'orders_64';
SELECT hilo_next_number('orders_64');
SELECT max FROM hilo.hilo WHERE collection = 'orders_64';

-- Used up within 0.1 s: doubled, from range_size to max_range_size.
SET hilo.debug_range_size = 4;
SET hilo.max_range_size = 700;
CREATE TEMPORARY TABLE grown AS SELECT size, lag(size) OVER (ORDER BY low) AS last FROM ranges_of('growing', 20000);
SELECT min(size), max(size), count(*) FILTER (WHERE size NOT IN (least(last * 2, 700), last, greatest(last / 2, 4))) AS other FROM grown;
SET hilo.max_range_size = 100;
CREATE TEMPORARY TABLE capped AS SELECT * FROM ranges_of('growing', 1500);
SELECT max(size) FROM capped WHERE low > 21000;
-- Lasted longer than 0.2 s: halved, down to range_size.
SELECT hilo_next_number('growing') = max AS used_up FROM hilo.hilo, generate_series(1, max - hilo_last_number('growing')) WHERE collection = 'growing' ORDER BY 1 DESC LIMIT 1;
SELECT size AS last FROM capped ORDER BY low DESC LIMIT 1 \gset
SELECT pg_sleep(0.21);
SELECT size = greatest(:last / 2, 4) AS halved FROM ranges_of('growing', 1);
-- The first one has range_size; where max_range_size is smaller, that one counts.
SET hilo.debug_range_size = 5;
SELECT * FROM ranges_of('small', 1);
SET hilo.debug_range_size = 50;
SET hilo.max_range_size = 7;
SELECT * FROM ranges_of('clamped', 15);
RESET hilo.debug_range_size;
RESET hilo.max_range_size;
-- Each collection has a size of its own.
SELECT * FROM ranges_of('other', 1);
-- A range seen in the view.
SELECT hilo_next_number('viewed'), hilo_next_number('viewed');
SELECT * FROM hilo.ranges WHERE collection = 'viewed';
SELECT count(hilo_next_number('viewed')) FROM generate_series(1, 30);
SELECT * FROM hilo.ranges WHERE collection = 'viewed';

-- What is unused goes to the pool when the connection ends: 30 of 33 to 64, 31 of 1 to 32, all but one of a range that grew.
SELECT hilo.seed('invoices', 32);
SELECT hilo_next_number('invoices'), hilo_next_number('invoices'), hilo_next('employees');
SELECT * FROM ranges_of('grown', 33);
SELECT collection, max, pooled FROM hilo.status WHERE collection IN ('invoices', 'employees', 'grown') ORDER BY 1;
SELECT pg_backend_pid() AS session \gset
\c -
CALL wait_for_exit(:session);
SELECT collection, max, pooled FROM hilo.status WHERE collection IN ('invoices', 'employees', 'grown') ORDER BY 1;
-- The new connection knows nothing of the old one.
SELECT hilo_last_number('employees');
SELECT count(*) FROM hilo.ranges;
SELECT * FROM ranges_of('employees', 1);
SELECT * FROM ranges_of('grown', 1);
-- Nor does it matter that a range is not the newest one.
SELECT hilo_next_number('not_newest');
SELECT low, high FROM hilo_reserve('not_newest', 8);
-- The connection ends in a failed transaction: the first draw ever in it, too.
SELECT pg_backend_pid() AS session \gset
BEGIN;
SELECT hilo_next_number('left_open'), hilo_next_number('left_open'), hilo_next_number('employees');
SELECT 1 / 0;
\c -
CALL wait_for_exit(:session);
SELECT collection, max, pooled FROM hilo.status WHERE collection IN ('not_newest', 'left_open', 'employees') ORDER BY 1;
SELECT hilo_next_number('not_newest'), hilo_next_number('left_open'), hilo_next_number('employees');

-- max_range_size = 1 makes numbers come out 1, 2, 3 over all connections, however they are drawn.
SET hilo.max_range_size = 1;
SELECT hilo_next_number('strict'), hilo_next('strict');
SELECT count(*) FROM hilo.ranges WHERE collection = 'strict';
\c -
SET hilo.max_range_size = 1;
SELECT hilo_next_number('strict'), low, high FROM hilo.next_range('strict', 1000, now());
\c -
SET hilo.max_range_size = 1;
SELECT hilo_next_number('strict') FROM generate_series(1, 3);
SELECT max FROM hilo.hilo WHERE collection = 'strict';
