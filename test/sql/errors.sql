-- Errors for bad input; the next valid call works as if nothing had happened.
SET hilo.max_range_size = 1048576;
\set SHOW_CONTEXT never

-- The SQLSTATE of a statement, and the next number of a collection, which shows that none was lost.
CREATE FUNCTION try(statement text, OUT state text, OUT next bigint)
	BEGIN ATOMIC SELECT state_of(statement), hilo_next_number('errors'); END;

-- NULL: 22004.
SELECT statement, t.* FROM unnest(ARRAY[
	'hilo_next(NULL)', 'hilo_next(NULL, ''B'')', 'hilo_next(''errors'', NULL)', 'hilo_next_number(NULL)', 'hilo_last_number(NULL)',
	'hilo_reserve(NULL, 1)', 'hilo_reserve(''errors'', NULL)',
	'hilo.next_range(NULL)', 'hilo.next_range(''errors'', NULL)', 'hilo.next_range(''errors'', last_max => NULL)',
	'hilo.return_range(NULL, 0, 1, 5)', 'hilo.return_range(''errors'', NULL, 1, 5)', 'hilo.return_range(''errors'', 0, NULL, 5)', 'hilo.return_range(''errors'', 0, 1, NULL)',
	'hilo.next_hi(NULL, 1)', 'hilo.next_hi(''errors'', NULL)',
	'hilo.seed(NULL, 1)', 'hilo.seed(''errors'', NULL)', 'hilo.seed(''errors'', 1, NULL)', 'hilo.drop(NULL)',
	'hilo_format(NULL, 1)', 'hilo_format(''errors'', NULL)', 'hilo_format(NULL, 1, ''B'')', 'hilo_format(''errors'', NULL, ''B'')',
	'hilo_format(''errors'', 1, NULL)']) WITH ORDINALITY u(call, i), concat('SELECT ', call) statement, try(statement) t ORDER BY i;
-- These may be NULL.
SELECT statement, t.* FROM unnest(ARRAY['hilo_number(NULL)', 'hilo.next_range(''null'', 0, NULL)']) WITH ORDINALITY u(call, i), concat('SELECT ', call) statement, try(statement) t ORDER BY i;

-- Names: 22023, from every function that takes one.
SELECT left(name, 8) AS name, t.* FROM unnest(ARRAY['', '|', 'a|b', 'a|', E'a\tb', E'a\n', E'\x01', E'\x7f', E'x\x1f', E'x\u0080', E'x\u0085y', E'\u009f', 'errors/', '/', 'é/', repeat('x', 256),
	repeat('é', 128)]) WITH ORDINALITY n(name, i), try(format('SELECT hilo_next_number(%L)', name)) t ORDER BY i;
SELECT call, t.* FROM unnest(ARRAY['hilo_next(%L)', 'hilo_next(%L, ''B'')', 'hilo_next_number(%L)', 'hilo_last_number(%L)', 'hilo_reserve(%L, 1)',
	'hilo.next_range(%L)', 'hilo.return_range(%L, 0, 1, 5)', 'hilo.next_hi(%L, 1)', 'hilo.seed(%L, 1)', 'hilo.drop(%L)',
	'hilo_format(%L, 1)', 'hilo_format(%L, 1, ''B'')']) WITH ORDINALITY u(call, i), try('SELECT ' || format(call, 'a|b')) t ORDER BY i;
SELECT call, t.* FROM unnest(ARRAY['hilo_next(%L)', 'hilo.bind(%L, ''hilo.binding'', ''collection'')', 'hilo.unbind(%L)']) WITH ORDINALITY u(call, i), try('SELECT ' || format(call, 'companies|')) t ORDER BY i;
-- Names that are fine.
SELECT left(name, 10), octet_length(name), t.state FROM unnest(ARRAY['a', ' ', 'a b', 'a/b', '/a', 'A', '-', '%s', '"', '''', '\', '日本語', E'\u00e9t\u00e9', E'a\u00a0b', repeat('x', 255),
	repeat('é', 127), 'x' || repeat('é', 127)]) WITH ORDINALITY n(name, i), try(format('SELECT hilo_next_number(%L)', name)) t ORDER BY i;
SELECT count(*) FROM hilo.hilo WHERE octet_length(collection) = 255;
SELECT hilo_next('日本語'), hilo_next(' '), hilo_next('%s'), length(hilo_next(repeat('x', 255)));

-- Tags: 22023.
SELECT left(tag, 8) AS tag, t.* FROM unnest(ARRAY['-', 'a-b', 'a b', 'é', '/', '|', E'\n', repeat('x', 33), repeat('é', 2000)]) WITH ORDINALITY n(tag, i),
	try(format('SELECT hilo_next(''errors'', %L)', tag)) t ORDER BY i;
SELECT state, count(*) FROM unnest(ARRAY['-', 'a-b', 'a b', 'é', '/', '|', E'\n', repeat('x', 33), repeat('é', 2000)]) tag,
	try(format('SELECT hilo_format(''errors'', 1, %L)', tag)) GROUP BY 1;
SELECT hilo_next('tags', repeat('x', 32)), hilo_next('tags', '_'), hilo_next('tags', '007');

-- Counts, capacities, bounds: 22023.
SELECT statement, t.* FROM unnest(ARRAY[
	'hilo_reserve(''errors'', 0)', 'hilo_reserve(''errors'', -1)', 'hilo_reserve(''errors'', 1048577)', 'hilo_reserve(''errors'', 9223372036854775807)',
	'hilo_reserve(''errors'', -9223372036854775808)',
	'hilo.next_hi(''errors'', 0)', 'hilo.next_hi(''errors'', -1)', 'hilo.next_hi(''errors'', 1048577)', 'hilo.next_hi(''errors'', 9223372036854775807)',
	'hilo.next_range(''errors'', -1)', 'hilo.next_range(''errors'', last_max => -1)',
	'hilo.return_range(''errors'', 2, 1, 5)', 'hilo.return_range(''errors'', -1, 1, 5)', 'hilo.return_range(''errors'', 0, 1, -5)',
	'hilo.seed(''errors'', -1)', 'hilo.seed(''errors'', -1, true)', 'hilo.seed(''errors'', -9223372036854775808, true)',
	'hilo_format(''errors'', 0)', 'hilo_format(''errors'', -1, ''B'')', 'hilo_format(''errors'', -9223372036854775808)'])
	WITH ORDINALITY u(call, i), concat('SELECT ', call) statement, try(statement) t ORDER BY i;
SET hilo.max_range_size = 5;
SELECT statement, t.* FROM unnest(ARRAY['hilo_reserve(''five'', 6)', 'hilo_reserve(''five'', 5)', 'hilo.next_hi(''five'', 6)', 'hilo.next_hi(''five'', 5)'])
	WITH ORDINALITY u(call, i), concat('SELECT ', call) statement, try(statement) t ORDER BY i;
SET hilo.max_range_size = 1048576;
-- Before a draw: 55000, also where others have drawn, and after reserving.
SELECT statement, t.* FROM unnest(ARRAY['hilo_last_number(''never'')', 'hilo_reserve(''never'', 2)', 'hilo_last_number(''never'')', 'hilo.next_range(''never'')',
	'hilo_last_number(''never'')', 'hilo_next_number(''never'')', 'hilo_last_number(''never'')']) WITH ORDINALITY u(call, i), concat('SELECT ', call) statement, try(statement) t ORDER BY i;
-- By hand: 42809.
SELECT statement, t.* FROM unnest(ARRAY['UPDATE hilo.hilo SET max = 5', 'DELETE FROM hilo.hilo', 'TRUNCATE hilo.hilo',
	'INSERT INTO hilo.hilo (collection) VALUES (''errors'') ON CONFLICT (collection) DO UPDATE SET max = 0'])
	WITH ORDINALITY u(statement, i), try(statement) t ORDER BY i;
-- The end: 2200H.
SELECT hilo.seed('end', 9223372036854775807);
SELECT statement, t.* FROM unnest(ARRAY['hilo_next(''end'')', 'hilo_next(''end'', '''')', 'hilo_next_number(''end'')', 'hilo_reserve(''end'', 1)',
	'hilo.next_hi(''end'', 1)', 'hilo.next_range(''end'')']) WITH ORDINALITY u(call, i), concat('SELECT ', call) statement, try(statement) t ORDER BY i;
-- Messages: the thing, what is wrong with it, what to do.
SELECT call, told(call) FROM unnest(ARRAY[$$SELECT hilo_next(NULL)$$, $$SELECT hilo_next('')$$, $$SELECT hilo_next('a|b')$$,
	$$SELECT hilo_next(E'tab\there')$$, $$SELECT hilo_next('orders/')$$, $$SELECT hilo_next(repeat('x', 256))$$,
	$$SELECT hilo_next('errors', 'a-b')$$, $$SELECT hilo_reserve('errors', 0)$$, $$SELECT hilo.next_hi('errors', 2000000)$$,
	$$SELECT hilo.return_range('errors', 2, 1, 5)$$, $$SELECT hilo.seed('errors', -1)$$,
	$$SELECT hilo_last_number('never_drawn')$$, $$SELECT hilo_next('end')$$, $$UPDATE hilo.hilo SET max = 0$$,
	$$DELETE FROM hilo.hilo$$, $$TRUNCATE hilo.hilo$$]) call;
\set VERBOSITY sqlstate

-- A read-only transaction: 25006, with numbers in the session's range or without.
SELECT hilo_next_number('read_only');
BEGIN READ ONLY;
SAVEPOINT s;
SELECT call, state_of(call) FROM unnest(ARRAY[$$SELECT hilo_next('read_only')$$, $$SELECT hilo_next('read_only', 'B')$$,
	$$SELECT hilo_next_number('read_only')$$, $$SELECT hilo_next_number('read_only_new')$$,
	$$SELECT hilo_reserve('read_only', 1)$$, $$SELECT hilo.next_range('read_only')$$,
	$$SELECT hilo.return_range('read_only', 0, 32, 5)$$, $$SELECT hilo.next_hi('read_only', 1)$$,
	$$SELECT hilo.seed('read_only', 50)$$, $$SELECT hilo.drop('read_only')$$,
	$$INSERT INTO hilo.hilo (collection, max) VALUES ('read_only', 50)$$]) call;
SELECT hilo_last_number('read_only'), hilo_number('read_only/7-A'), hilo_format('read_only', 7);
SELECT collection, low, high, next FROM hilo.ranges WHERE collection LIKE 'read_only%';
COMMIT;
SELECT hilo_next_number('read_only');

-- In parallel mode: 25000.  The functions are marked so that no plan calls them there; parallel_call() is marked wrongly.
SELECT hilo_next_number('parallel');
SELECT call, in_worker(call) FROM unnest(ARRAY[$$hilo_next('parallel')$$, $$hilo_next('parallel', 'B')$$, $$hilo_next_number('parallel')$$,
	$$hilo_reserve('parallel', 1)$$, $$hilo.next_range('parallel')$$, $$hilo.return_range('parallel', 0, 32, 5)$$, $$hilo.next_hi('parallel', 1)$$,
	$$hilo.seed('parallel', 100)$$, $$hilo.drop('parallel')$$, $$hilo_number('parallel/7')$$, $$hilo_format('parallel', 7)$$]) call;
SELECT count(set_config(name, 'on', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
-- Marked as they are, they run in the leader.
SELECT hilo_next('parallel'), hilo_next_number('parallel');
SELECT count(set_config(name, 'off', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT hilo_next_number('parallel');
-- The leader of a parallel plan, whose workers scan.
CREATE TABLE parallel_scan AS SELECT i FROM generate_series(1, 1000) i;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT count(parallel_call('hilo_next(''parallel'')')) FROM parallel_scan;
SELECT count(DISTINCT hilo_next_number('parallel')) FROM parallel_scan;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT hilo_next_number('parallel');

-- A transaction that has itself rewritten the table: 55000, whatever needs a counter; what others have is as valid as before.
SELECT hilo_next_number('rewritten');
BEGIN;
CLUSTER hilo.hilo USING hilo_collection_idx;
SAVEPOINT s;
SELECT call, state_of(call) FROM unnest(ARRAY[$$SELECT hilo_next_number('rewritten')$$,
	$$SELECT hilo_next_number('rewritten_new')$$, $$SELECT hilo_reserve('rewritten', 1)$$,
	$$SELECT hilo.next_range('rewritten')$$, $$SELECT hilo.next_hi('rewritten', 1)$$,
	$$SELECT hilo.return_range('rewritten', 0, 32, 5)$$, $$SELECT hilo.seed('rewritten', 100)$$,
	$$SELECT hilo.drop('rewritten')$$, $$INSERT INTO hilo.hilo (collection, max) VALUES ('rewritten', 100)$$,
	$$SELECT hilo_format('rewritten', 7), (SELECT count(*) FROM hilo.ranges WHERE collection = 'rewritten') AS ranges$$]) call;
ROLLBACK;
SELECT hilo_next_number('rewritten');
BEGIN;
CLUSTER hilo.hilo USING hilo_collection_idx;
COMMIT;
SELECT hilo_next_number('rewritten');
BEGIN;
SAVEPOINT s;
CLUSTER hilo.hilo USING hilo_collection_idx;
ROLLBACK TO s;
SELECT hilo_next_number('rewritten'), hilo_next_number('rewritten_new');
COMMIT;
-- Rebuilt indexes could lose a new row, but not an existing one.
BEGIN;
REINDEX TABLE hilo.hilo;
SELECT hilo_next_number('rewritten'), hilo.seed('rewritten', 100), hilo_next_number('rewritten');
SAVEPOINT s;
SELECT hilo_next_number('reindexed_new');
ROLLBACK TO s;
SELECT hilo.seed('reindexed_new', 5);
ROLLBACK TO s;
DO $$
BEGIN
	PERFORM hilo_next_number('reindexed_new');
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	PERFORM hilo_next_number('rewritten');
END $$;
ROLLBACK;
SELECT hilo_next_number('rewritten'), hilo_next_number('reindexed_new');
-- A table that would not survive a crash, or is no longer ours.
SELECT change, state_of(format($$ALTER TABLE hilo.hilo %s; SELECT hilo_next_number('rewritten')$$, change))
	FROM unnest('{SET UNLOGGED,DROP COLUMN claim,RENAME TO other}'::text[]) change;
SELECT hilo_next_number('rewritten');
\set VERBOSITY default
BEGIN;
CLUSTER hilo.hilo USING hilo_collection_idx;
SELECT hilo_next_number('rewritten');
ROLLBACK;
BEGIN;
REINDEX TABLE hilo.hilo;
SELECT hilo_next_number('reindexed_newer');
ROLLBACK;
ALTER TABLE hilo.hilo SET WITHOUT CLUSTER;

-- Settings: 22023; the previous value stays.
SET hilo.node_tag = 'a-b';
SET hilo.server_prefix = 'a|';
SET hilo.identity_parts_separator = '|';
\set VERBOSITY sqlstate
SELECT call, state_of('SET ' || call) FROM unnest(ARRAY[$$hilo.node_tag = 'é'$$,
	$$hilo.node_tag = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'$$, $$hilo.server_prefix = E'a\n'$$,
	$$hilo.identity_parts_separator = ''$$, $$hilo.identity_parts_separator = '//'$$,
	$$hilo.identity_parts_separator = 'é/'$$, $$hilo.identity_parts_separator = E'\t'$$, $$hilo.debug_range_size = 0$$,
	$$hilo.debug_range_size = -1$$, $$hilo.max_range_size = 0$$]) call;
SELECT hilo_next('settings');
SELECT current_setting('hilo.node_tag'), current_setting('hilo.server_prefix'), current_setting('hilo.identity_parts_separator'),
	current_setting('hilo.debug_range_size'), current_setting('hilo.max_range_size');
SET hilo.node_tag = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx';
SELECT hilo_next('settings');
RESET hilo.node_tag;
