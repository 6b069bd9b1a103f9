-- Promise 5: no number is beyond the end of bigint or the collection's own limit; the last one is handed out, then 2200H;
-- near a limit claims shrink to 1/64 of what is left.
SET hilo.max_range_size = 1048576;
\set VERBOSITY sqlstate

-- The end of bigint, one by one.
SELECT hilo.seed('top', 9223372036854775804);
SELECT hilo_next_number('top'), hilo_next('top'), hilo_next('top', '');
SELECT hilo_next_number('top');
SELECT hilo_next('top');
SELECT hilo_reserve('top', 1);
SELECT hilo.next_hi('top', 1);
SELECT hilo.next_range('top');
SELECT hilo_last_number('top'), max FROM hilo.hilo WHERE collection = 'top';
SELECT hilo.seed('top', 9223372036854775807), hilo.seed('top', 1);
SELECT hilo_next_number('top');
SELECT hilo.seed('top', 9223372036854775806, true), hilo_next_number('top');
SELECT hilo_next_number('top');
SELECT hilo.drop('top');
SELECT hilo_next_number('top');
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
-- A range goes back there, too.
SELECT hilo.seed('returning', 9223372036854775807 - 640);
SELECT hilo_next_number('returning') - (9223372036854775807 - 640), high - low + 1 AS size, hilo.release('returning')
FROM (SELECT hilo_next_number('returning')) s, hilo.ranges WHERE collection = 'returning';

-- A limit of the collection's own.
INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('tickets', 0, 640), ('pair', 5, 7), ('full', 7, 7), ('int', 2147483600, 2147483647);
SELECT i, low, high FROM generate_series(1, 4) i, hilo.next_range('tickets', 100 * i);
SET hilo.range_size = 1000;
SELECT count(DISTINCT hilo_next_number('tickets')), max(hilo_last_number('tickets')) FROM generate_series(1, 640 - 38);
RESET hilo.range_size;
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

-- A column that draws by its default alone: the end of its type is that of its ids.
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
ALTER TABLE default_alone ALTER COLUMN id TYPE int;
INSERT INTO default_alone DEFAULT VALUES RETURNING id > 32767 AS above;
SELECT max_value FROM hilo.hilo WHERE collection = 'default_alone';
DROP TABLE default_alone;
-- A role that only inserts is warned, too.
CREATE ROLE regress_hilo_inserts;
CREATE TABLE by_others (id smallint PRIMARY KEY DEFAULT hilo_next_number('by_others'));
GRANT INSERT, SELECT ON by_others TO regress_hilo_inserts;
SELECT hilo.seed('by_others', 32766);
SET ROLE regress_hilo_inserts;
INSERT INTO by_others DEFAULT VALUES RETURNING id;
INSERT INTO by_others DEFAULT VALUES RETURNING id;
RESET ROLE;
DROP TABLE by_others;
DROP ROLE regress_hilo_inserts;
SELECT hilo.drop('by_others');
-- The last number of all, in order: nothing is left.
SELECT hilo.configure('last', ordered => true), hilo.seed('last', 9223372036854775806);
SELECT hilo_next_number('last');
SELECT low, high FROM hilo.pool WHERE collection = 'last';
SELECT hilo.drop('last');
-- A limit that follows the types of columns does not follow what is rolled back.
CREATE TABLE follows (id smallint PRIMARY KEY);
BEGIN;
SELECT hilo.attach('follows', collection => 'follows');
ROLLBACK;
SELECT hilo_next_number('follows');
SELECT hilo_next_number('follows'), max_value = 9223372036854775807 AS unlimited FROM hilo.hilo WHERE collection = 'follows';
SELECT hilo.attach('follows', collection => 'follows') > 0 AS attached;
BEGIN;
DROP TABLE follows;
SELECT hilo_next_number('follows') > 0 AS drawn;
ROLLBACK;
SELECT max_value FROM hilo.hilo WHERE collection = 'follows';
BEGIN;
ALTER TABLE follows ALTER id TYPE int;
INSERT INTO follows DEFAULT VALUES;
SELECT max_value FROM hilo.hilo WHERE collection = 'follows';
COMMIT;
INSERT INTO follows DEFAULT VALUES;
SELECT max_value FROM hilo.hilo WHERE collection = 'follows';
BEGIN;
ALTER TABLE follows ALTER id TYPE smallint;
SELECT hilo_next_number('follows') > 0 AS drawn;
ROLLBACK;
SELECT max_value FROM hilo.hilo WHERE collection = 'follows';
DROP TABLE follows;
SELECT hilo.drop('follows');
-- Promise 10: what moves a counter, or leases from it, needs no draw to see that its columns have another type by now.
CREATE TABLE grown (id int, x int);
SELECT hilo.attach('grown', 'id', 'grown');
SELECT hilo.seed('grown', 2147483640);
ALTER TABLE grown ALTER id TYPE bigint;
INSERT INTO grown SELECT 2147483640 + n::bigint FROM generate_series(1, 20) n;
SELECT hilo.sync('grown');
INSERT INTO grown (x) VALUES (1) RETURNING id;
CREATE TABLE grown_seed (id int);
SELECT hilo.attach('grown_seed', 'id', 'grown_seed');
BEGIN;
ALTER TABLE grown_seed ALTER id TYPE bigint;
SELECT hilo.seed('grown_seed', 3000000000);
ROLLBACK;
ALTER TABLE grown_seed ALTER id TYPE bigint;
SELECT hilo.seed('grown_seed', 3000000000);
ALTER TABLE grown_seed ALTER id TYPE int;
SELECT hilo.seed('grown_seed', 4000000000);
CREATE TABLE grown_bound (id int PRIMARY KEY);
SELECT hilo.bind('grown_bound', 'grown_bound', 'id');
SELECT hilo.seed('grown_bound', 3000000000);
SELECT hilo.unbind('grown_bound');
SELECT hilo.seed('grown_bound', 3000000000);
CREATE TABLE grown_first (id int PRIMARY KEY);
CREATE TABLE grown_second (id bigint PRIMARY KEY);
INSERT INTO grown_second VALUES (3000000000);
SELECT hilo.attach('grown_first', 'id', 'grown_two');
ALTER TABLE grown_first ALTER id TYPE bigint;
SELECT hilo.attach('grown_second', 'id', 'grown_two');
-- A hub whose members alone draw.
CREATE TABLE grown_hub (id int PRIMARY KEY);
SELECT hilo.attach('grown_hub', 'id', 'grown_hub');
SELECT hilo.seed('grown_hub', 2147483647);
SELECT low FROM hilo.lease('grown_hub', 1);
ALTER TABLE grown_hub ALTER id TYPE bigint;
SELECT low FROM hilo.lease('grown_hub', 1);
-- A transaction that has locked the table, or that unbinds it.
CREATE TABLE grown_locked (id int, x int);
SELECT hilo.attach('grown_locked', 'id', 'grown_locked');
ALTER TABLE grown_locked ALTER id TYPE bigint;
BEGIN;
TRUNCATE grown_locked;
INSERT INTO grown_locked VALUES (3000000000);
SELECT hilo.sync('grown_locked');
COMMIT;
SELECT hilo.sync('grown_locked');
-- One that lowers it has counted all ids.
BEGIN;
DELETE FROM grown_locked;
ALTER TABLE grown_locked ALTER id TYPE int;
SELECT hilo.sync('grown_locked');
ROLLBACK;
CREATE TABLE grown_unbound (id int PRIMARY KEY);
SELECT hilo.bind('grown_unbound', 'grown_unbound', 'id');
SELECT hilo_next_number('grown_unbound');
BEGIN;
SELECT hilo.unbind('grown_unbound');
SELECT hilo.seed('grown_unbound', 3000000000);
ROLLBACK;
SELECT hilo_next_number('grown_unbound') < 100 AS drawn;
-- But a wider table may take its place at once.
CREATE TABLE grown_wider (id bigint PRIMARY KEY);
SELECT hilo.seed('grown_unbound', 2147483647, true);
BEGIN;
SELECT hilo.unbind('grown_unbound');
SELECT hilo.attach('grown_wider', 'id', 'grown_unbound');
INSERT INTO grown_wider DEFAULT VALUES RETURNING id;
COMMIT;
-- A limit that was set by hand stays.
SELECT hilo.configure('grown_hub', max_value => 2147483648);
SELECT low FROM hilo.lease('grown_hub', 1);
DROP TABLE grown, grown_seed, grown_bound, grown_first, grown_second, grown_hub, grown_locked, grown_unbound, grown_wider;
SELECT count(hilo.drop(collection, true)) FROM hilo.hilo WHERE collection LIKE 'grown%';
