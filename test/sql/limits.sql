-- Promise 5: no number is beyond the end of bigint or the collection's own limit; the last one is handed out, then 2200H;
-- near a limit claims shrink to 1/64 of what is left.
SET hilo.max_range_size = 1048576;
\set VERBOSITY sqlstate

-- The end of bigint, one by one.
SELECT hilo.seed('top', 9223372036854775804);
SELECT hilo_next_number('top'), hilo_next('top'), hilo_next('top', '');
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY[$$hilo_next_number('top')$$, $$hilo_next('top')$$,
	$$hilo_reserve('top', 1)$$, $$hilo.next_hi('top', 1)$$, $$hilo.next_range('top')$$]) call;
SELECT hilo_last_number('top'), max FROM hilo.hilo WHERE collection = 'top';
SELECT hilo.seed('top', 9223372036854775807), hilo.seed('top', 1);
SELECT hilo_next_number('top');
SELECT hilo.seed('top', 9223372036854775806, true), hilo_next_number('top');
SELECT hilo_next_number('top');
SELECT hilo.drop('top'), hilo_next_number('top');
-- In one statement: all that are left, then the error.
SELECT hilo.seed('series', 9223372036854775707);
SELECT count(hilo_next_number('series')) FROM generate_series(1, 101);
SELECT hilo_last_number('series'), max FROM hilo.hilo WHERE collection = 'series';
\set VERBOSITY default
SELECT hilo_next_number('series');
\set VERBOSITY sqlstate

-- Exact requests: all or nothing.
SELECT hilo.seed('exact', 9223372036854775804);
SELECT hilo_reserve('exact', 4);
SELECT hilo_reserve('exact', 1048576);
SELECT hilo_reserve('exact', 2);
SELECT hilo_next_number('exact');
\set VERBOSITY default
SELECT hilo.seed('exact', 9223372036854775804, true);
SELECT hilo_reserve('exact', 4);
\set VERBOSITY sqlstate
-- Classic hi/lo: 7 divides 2^63-1, 100 and 2^20 do not; aligning to 2^20 would overflow.
SELECT hilo.seed('aligned', 9223372036854775790);
SELECT hilo.next_hi('aligned', 100);
SELECT hilo.next_hi('aligned', 1048576);
SELECT hilo.next_hi('aligned', 7), hilo.next_hi('aligned', 7);
SELECT hilo.next_hi('aligned', 7);
SELECT max FROM hilo.hilo WHERE collection = 'aligned';
-- Ranges of clients, last_max at the end.
SELECT low, high, last_size FROM hilo.next_range('client', 1000, last_max => 9223372036854775806);
SELECT hilo.next_range('client');
SELECT hilo.next_range('client_end', last_max => 9223372036854775807);
SELECT hilo_next_number('client_end');

-- Shrinking: 1/64 of what is left.
SELECT hilo.seed('shrinking', 9223372036854775807 - 6400);
SELECT i, low - (9223372036854775807 - 6400) AS nth, last_size FROM generate_series(1, 6) i, hilo.next_range('shrinking', 1000 + i);
-- A limit of the collection's own.
INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('tickets', 0, 640), ('pair', 5, 7), ('full', 7, 7), ('int', 2147483600, 2147483647);
SELECT i, low, high FROM generate_series(1, 4) i, hilo.next_range('tickets', 100 * i);
SET hilo.debug_range_size = 1000;
SELECT count(DISTINCT hilo_next_number('tickets')), max(hilo_last_number('tickets')) FROM generate_series(1, 640 - 38);
RESET hilo.debug_range_size;
SELECT hilo_next_number('tickets');
SELECT max FROM hilo.hilo WHERE collection = 'tickets';
SELECT hilo_next_number('pair'), hilo_next_number('pair');
SELECT hilo_next_number('pair');
SELECT hilo_next_number('full');
SELECT hilo_reserve('pair', 1);
SELECT max(hilo_next_number('int')::int) FROM generate_series(1, 47);
SELECT hilo_next_number('int');
-- A seed must not pass it, and does not lift it; a drop forgets it.
SELECT hilo.seed('pair', 8);
SELECT hilo.seed('pair', 8, true);
SELECT hilo.seed('pair', 6, true), hilo_next_number('pair');
SELECT hilo_next_number('pair');
SELECT hilo.next_range('full', last_max => 6);
SELECT hilo.drop('full'), hilo_next_number('full');
SELECT max(hilo_next_number('full')) FROM generate_series(1, 40);
-- A dropped collection gets the limit of its new creation, like one that never existed.
SELECT hilo.drop('full');
INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('full', 5, 7);
SELECT hilo_next_number('full'), hilo_next_number('full');
SELECT hilo_next_number('full');

-- The limit of a collection is max_value, whatever the type of the column that draws from it: set it, or the insert fails.
CREATE TABLE default_alone (id smallint PRIMARY KEY DEFAULT hilo_next_number('default_alone'));
INSERT INTO default_alone DEFAULT VALUES RETURNING id;
SELECT hilo.seed('default_alone', 29489);
INSERT INTO default_alone DEFAULT VALUES RETURNING id;
INSERT INTO default_alone DEFAULT VALUES RETURNING id;
SELECT hilo.seed('default_alone', 32765);
INSERT INTO default_alone DEFAULT VALUES RETURNING id;
INSERT INTO default_alone DEFAULT VALUES RETURNING id;
INSERT INTO default_alone DEFAULT VALUES RETURNING id;
INSERT INTO default_alone DEFAULT VALUES RETURNING id;
SELECT hilo.configure('default_alone', max_value => 32767);
SELECT hilo.seed('default_alone', 32766, true);
DELETE FROM default_alone WHERE id = 32767;
SELECT hilo.configure('default_alone', max_value => 32767);
INSERT INTO default_alone DEFAULT VALUES RETURNING id;
INSERT INTO default_alone DEFAULT VALUES RETURNING id;
-- Nor does a binding change that; it passes the last ids, too.
CREATE TABLE bound_small (id smallint PRIMARY KEY DEFAULT hilo_next_number('bound_small'));
SELECT hilo.configure('bound_small', max_value => 32767), hilo.bind('bound_small', 'bound_small', 'id'), hilo.seed('bound_small', 32760);
INSERT INTO bound_small VALUES (32761), (32763), (32767);
INSERT INTO bound_small DEFAULT VALUES RETURNING id;
INSERT INTO bound_small DEFAULT VALUES RETURNING id;
INSERT INTO bound_small DEFAULT VALUES RETURNING id;
INSERT INTO bound_small DEFAULT VALUES RETURNING id;
INSERT INTO bound_small DEFAULT VALUES;
INSERT INTO bound_small DEFAULT VALUES;
SELECT max, max_value FROM hilo.hilo WHERE collection = 'bound_small';
