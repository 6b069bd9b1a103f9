-- Promise 1: a seed raises and never lowers unless forced, a drop starts a new count, both at once and for good;
-- sessions that hold numbers from before forget them.

-- At least the value; never lower; the answer is the max now stored.
SELECT hilo.seed('seeded', 100);
SELECT hilo_next_number('seeded');
SELECT hilo.seed('seeded', 500), hilo_next_number('seeded');
SELECT hilo.seed('seeded', 20), hilo.seed('seeded', 0, false);
SELECT max FROM hilo.hilo WHERE collection = 'seeded';
SELECT hilo_next_number('seeded');
-- A seed at the max itself, or below it, makes the caller forget, too.
SELECT hilo_next_number('seeded'), hilo.seed('seeded', 1), hilo_next_number('seeded'), hilo.seed('seeded', 596), hilo_next_number('seeded');
SELECT low, high FROM hilo.ranges WHERE collection = 'seeded';
-- Force sets it, down and up.
SELECT hilo.seed('seeded', 50, true), hilo_next_number('seeded'), hilo.seed('seeded', 70, force => true), hilo_next_number('seeded');
SELECT hilo.seed('seeded', 0, true), hilo_next_number('seeded');
-- A first seed creates; a forced one to 0, too.
SELECT hilo.seed('new', 0), hilo_next_number('new'), hilo.seed('forced', 0, true), hilo_next_number('forced');
-- max 32, one drawn, 12 set by hand, 128 drawn: all distinct.
SELECT hilo.seed('by_hand', 32), hilo_next_number('by_hand');
UPDATE hilo.hilo SET max = 12 WHERE collection = 'by_hand';
SELECT hilo.seed('by_hand', 12);
SELECT count(DISTINCT hilo_next_number('by_hand')), min(hilo_last_number('by_hand')) > 33 FROM generate_series(1, 128);

-- No transaction takes a seed or a drop back.
SELECT hilo_next_number('lasting');
BEGIN;
SELECT hilo.seed('lasting', 1000), hilo.seed('lasting_new', 10);
ROLLBACK;
SELECT hilo_next_number('lasting'), hilo_next_number('lasting_new');
BEGIN;
SAVEPOINT s;
SELECT hilo.drop('lasting'), hilo.seed('lasting_new', 5, true);
ROLLBACK TO s;
SELECT hilo_next_number('lasting'), hilo_next_number('lasting_new');
ROLLBACK;
SELECT hilo_next_number('lasting'), hilo_next_number('lasting_new');
SELECT collection, max FROM hilo.hilo WHERE collection LIKE 'lasting%' ORDER BY 1;

-- A drop: the next draw starts at 1; the last number drawn stays known; a second drop, or one of an unknown name, does nothing.
SELECT hilo.seed('dropped', 700), hilo_next_number('dropped');
SELECT hilo.drop('dropped'), hilo.drop('dropped'), hilo.drop('never_seen');
SELECT hilo_last_number('dropped');
SELECT count(*) FROM hilo.ranges WHERE collection = 'dropped';
SELECT max, flags & 1 AS dropped FROM hilo.hilo WHERE collection = 'dropped';
SELECT count(*) FROM hilo.hilo WHERE collection = 'never_seen';
SELECT hilo_next_number('dropped'), hilo_last_number('dropped');
SELECT hilo.drop('dropped');
SELECT low, high FROM hilo_reserve('dropped', 3);
SELECT hilo_next_number('dropped'), hilo.drop('dropped');
-- Reading does not re-create it, drawing and seeding do.
SELECT hilo.return_range('dropped', 0, 0, 0);
SELECT hilo.drop('dropped') AS nothing_to_drop;
SELECT hilo.seed('dropped', 0), hilo.drop('dropped');
SELECT low, high FROM hilo.next_range('dropped');
-- Dropped within a statement that continues to draw.
SELECT i, hilo_next_number('dropped'), CASE i WHEN 2 THEN hilo.drop('dropped') END FROM generate_series(1, 4) i;

-- The extension created again: a new count, and no earlier range at any call site.
CREATE FUNCTION draw_again(n int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN concat_ws(' ', hilo_next('renewed'), hilo_next_number('renewed'));
END $$;
SELECT draw_again(1);
DROP EXTENSION hilo;
\set VERBOSITY sqlstate
SELECT draw_again(2);
\set VERBOSITY default
CREATE EXTENSION hilo;
SELECT hilo_last_number('renewed');
SELECT count(*) FROM hilo.ranges;
SELECT draw_again(3);
SELECT hilo_last_number('renewed');
-- The new one has claimed the same numbers before the old range would be used.
DROP EXTENSION hilo;
CREATE EXTENSION hilo;
SELECT low, high FROM hilo_reserve('renewed', 5);
SELECT draw_again(3);
-- Within one transaction, and then not at all.
BEGIN;
DROP EXTENSION hilo;
CREATE EXTENSION hilo;
SELECT draw_again(4);
ROLLBACK;
SELECT hilo_next_number('renewed') > 2 AS goes_on;
BEGIN;
DROP EXTENSION hilo;
CREATE EXTENSION hilo;
SELECT draw_again(5), hilo.seed('renewed', 100);
COMMIT;
SELECT draw_again(6);
-- In any schema, on the search_path or not.
DROP EXTENSION hilo;
CREATE SCHEMA regress_hilo;
CREATE EXTENSION hilo WITH SCHEMA regress_hilo;
SELECT regress_hilo.hilo_next('renewed'), regress_hilo.hilo_last_number('renewed');
SELECT collection, low, high FROM hilo.ranges;
SELECT collection, max FROM hilo.hilo;
SELECT hilo.seed('renewed', 40);
SELECT low FROM hilo.next_range('renewed', last_max => 60);
DELETE FROM hilo.hilo;
DROP EXTENSION hilo;
DROP SCHEMA regress_hilo;
-- Also in one whose name has to be quoted.
CREATE SCHEMA "Ça ne; va %s pas";
CREATE EXTENSION hilo WITH SCHEMA "Ça ne; va %s pas";
SELECT "Ça ne; va %s pas".hilo_next('renewed');
SELECT low, high FROM hilo.next_range('renewed', last_max => 60);
SELECT collection, max FROM hilo.hilo;
DROP EXTENSION hilo;
DROP SCHEMA "Ça ne; va %s pas";
CREATE SCHEMA "He said ""hi""";
CREATE EXTENSION hilo WITH SCHEMA "He said ""hi""";
SELECT "He said ""hi""".hilo_next('renewed');
SELECT low, high FROM hilo.next_range('renewed', last_max => 60);
SELECT collection, max FROM hilo.status;
DROP EXTENSION hilo;
DROP SCHEMA "He said ""hi""";

-- Under another access method, the table is a heap all the same.
CREATE ACCESS METHOD regress_heap TYPE TABLE HANDLER heap_tableam_handler;
SET default_table_access_method = regress_heap;
CREATE EXTENSION hilo;
RESET default_table_access_method;
DROP ACCESS METHOD regress_heap;
SELECT hilo_next('renewed');
