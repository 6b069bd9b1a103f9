-- Promise 1: reserved blocks are exact and contiguous, classic hi/lo blocks are aligned, and no two of them overlap,
-- whatever sizes are mixed.

SET hilo.max_range_size = 1048576;
SELECT * FROM hilo_reserve('blocks', 10);
SELECT * FROM hilo_reserve('blocks', 1);
-- Reserved numbers are the caller's, not the session's: not cached, not the last number drawn.
SELECT hilo_last_number('blocks');
SELECT count(*) FROM hilo.ranges WHERE collection = 'blocks';
SELECT hilo_next_number('blocks');
SELECT * FROM hilo_reserve('blocks', 5);
SELECT hilo_next_number('blocks'), hilo_last_number('blocks');
-- Rolled back, but still spent.
BEGIN;
SELECT * FROM hilo_reserve('blocks', 3);
ROLLBACK;
SELECT * FROM hilo_reserve('blocks', 3);
-- Neither the size rule nor the session's setting matters, up to the maximum size.
SET hilo.debug_range_size = 1000;
SELECT high - low + 1 AS size FROM hilo_reserve('blocks', 2);
RESET hilo.debug_range_size;
SELECT high - low + 1 AS size FROM hilo_reserve('blocks', 1048576);
SELECT low, high, hilo_format('formatted', low) AS first_id FROM hilo_reserve('formatted', 3);

-- Classic hi/lo: hi 1 and 2 of capacity 3 stand for 1 to 6.
SELECT hilo.next_hi('hi', 3), hilo.next_hi('hi', 3);
SELECT max FROM hilo.hilo WHERE collection = 'hi';
-- Another capacity starts at its own next multiple: 3 of 5 is 11 to 15, then 4 of 4 is 13 to 16, which would overlap.
SELECT hilo.next_hi('hi', 5);
SELECT hilo.next_hi('hi', 4);
SELECT hilo.next_hi('hi', 1);
SELECT max FROM hilo.hilo WHERE collection = 'hi';
SELECT hilo.next_hi('hi', 1048576);
SELECT hilo_last_number('hi');

-- Mixed capacities, reserves, draws and clients' ranges never overlap.
CREATE TABLE blocks (low bigint, high bigint);
DO $$
DECLARE
	hi bigint;
BEGIN
	FOR i IN 1..300 LOOP
		hi := hilo.next_hi('mixed', 1 + i * 7 % 23);
		INSERT INTO blocks VALUES ((hi - 1) * (1 + i * 7 % 23) + 1, hi * (1 + i * 7 % 23));
		INSERT INTO blocks SELECT n, n FROM hilo_next_number('mixed') n;
		INSERT INTO blocks SELECT * FROM hilo_reserve('mixed', 1 + i % 5);
		INSERT INTO blocks SELECT low, high FROM hilo.next_range('mixed', 1 + i % 40);
	END LOOP;
END $$;
SELECT count(*), count(*) FILTER (WHERE low > high) AS empty, min(low) FROM blocks;
SELECT count(*) AS overlapping
FROM (SELECT low, max(high) OVER (ORDER BY low, high ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM blocks) s
WHERE low <= before;
SELECT max >= (SELECT max(high) FROM blocks) FROM hilo.hilo WHERE collection = 'mixed';

-- Promise 4: a block has none of the ids of a bound column.
CREATE TABLE events (id bigint PRIMARY KEY DEFAULT hilo_next_number('events'));
SELECT hilo.bind('events', 'events', 'id');
INSERT INTO events SELECT generate_series(1, 5000);
SELECT * FROM hilo_reserve('events', 10);
INSERT INTO events DEFAULT VALUES RETURNING id;
-- A block in which an id lies; one that fits below it; classic hi/lo; a client's.
SELECT max AS claimed FROM hilo.hilo WHERE collection = 'events' \gset
INSERT INTO events VALUES (:claimed + 9);
SELECT low - :claimed AS low, high - :claimed AS high FROM hilo_reserve('events', 10);
INSERT INTO events VALUES (:claimed + 40);
SELECT low - :claimed AS low, high - :claimed AS high FROM hilo_reserve('events', 10);
SELECT low - :claimed AS low, high - :claimed AS high FROM hilo_reserve('events', 20);
INSERT INTO events SELECT generate_series(6000, 6010);
SELECT hilo.next_hi('events', 1000), hilo.next_hi('events', 1000);
INSERT INTO events VALUES (9010);
SELECT low, high FROM hilo.next_range('events');

-- Each number of a block of text ids is looked up, which can be cancelled.
CREATE TABLE texts (id text PRIMARY KEY DEFAULT hilo_next('texts'));
SELECT hilo.bind('texts', 'texts', 'id'), hilo.configure('texts', max_range_size => 2147483647);
INSERT INTO texts VALUES ('texts/40-A');
SELECT * FROM hilo_reserve('texts', 30);
SELECT * FROM hilo_reserve('texts', 30);
SET statement_timeout = '100ms';
SELECT * FROM hilo_reserve('texts', 2147483647);
RESET statement_timeout;

-- Neither a block nor ids that are passed over are a rate, by which the next claim would be as large.
SET hilo.max_range_size = 1048576;
SELECT * FROM hilo_reserve('rate', 500000);
SELECT hilo_next_number('rate');
SELECT max FROM hilo.hilo WHERE collection = 'rate';
CREATE TABLE passed (id bigint PRIMARY KEY DEFAULT hilo_next_number('passed'));
SELECT hilo.bind('passed', 'passed', 'id');
INSERT INTO passed SELECT generate_series(1, 100000);
INSERT INTO passed DEFAULT VALUES RETURNING id;
INSERT INTO passed DEFAULT VALUES RETURNING id;
SELECT max <= 100064 AS few FROM hilo.hilo WHERE collection = 'passed';
