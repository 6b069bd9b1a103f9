-- Options of a collection: sizes, limit and tag of its own, at once and for good.

CREATE VIEW regress_options AS SELECT collection, max, range_size, max_range_size, max_value, node_tag, flags & 2 AS has_tag FROM hilo.hilo;

-- No options: the collection is created, and nothing else.
SELECT hilo.configure('conf');
SELECT * FROM regress_options WHERE collection = 'conf';

-- Size of ranges: the session's, clients', and the upper bound of reserved blocks.
SELECT hilo.configure('conf', range_size => 5, max_range_size => 8), hilo_next_number('conf');
SELECT low, high, size FROM hilo.ranges WHERE collection = 'conf';
SELECT low, high, last_size FROM hilo.next_range('conf');
SELECT low, high, last_size FROM hilo.next_range('conf', 1000);
SELECT * FROM hilo_reserve('conf', 8);
SELECT * FROM hilo_reserve('conf', 9);
SELECT hilo.next_hi('conf', 8);
SELECT hilo.next_hi('conf', 9);
-- The maximum wins over the minimum, as in the settings; and a collection's own sizes win over the settings.
SELECT hilo.configure('conf', range_size => 20);
SELECT last_size FROM hilo.next_range('conf');
SET hilo.max_range_size = 3;
SELECT last_size FROM hilo.next_range('conf');
SELECT last_size FROM hilo.next_range('conf_other');
RESET hilo.max_range_size;
SET hilo.debug_range_size = 2;
SELECT last_size FROM hilo.next_range('conf');
RESET hilo.debug_range_size;
-- One by one.
SELECT hilo.configure('conf_one', range_size => 1, max_range_size => 1);
SELECT hilo_next_number('conf_one'), hilo_next_number('conf_one');
SELECT max FROM hilo.hilo WHERE collection = 'conf_one';
-- A range that is held stays valid, and keeps its size; the next one has the new size.
SELECT hilo.configure('conf_held', range_size => 4);
SELECT hilo_next_number('conf_held');
SELECT hilo.configure('conf_held', range_size => 6, max_range_size => 6, node_tag => 'X');
SELECT low, high, next, size FROM hilo.ranges WHERE collection = 'conf_held';
SELECT hilo_next('conf_held') FROM generate_series(1, 4);
SELECT low, high, next, size FROM hilo.ranges WHERE collection = 'conf_held';

-- The tag: in every kind of call, also for numbers drawn before.
SELECT hilo.configure('conf_tag', node_tag => 'North_1');
SELECT hilo_next('conf_tag'), hilo_next('conf_tag', 'B'), hilo_next('conf_tag', ''), hilo_document_id('conf_tag');
SELECT prefix, server_tag FROM hilo.next_range('conf_tag');
SELECT hilo_format('conf_tag', 7), hilo_format('conf_tag', 7, 'B'), hilo_format('conf_unknown', 7);
SET hilo.node_tag = 'C';
SELECT hilo_next('conf_tag'), hilo_next('conf_other'), hilo_format('conf_other', 7);
RESET hilo.node_tag;
-- None at all; the longest.
SELECT hilo.configure('conf_tag', node_tag => '');
SELECT hilo_next('conf_tag'), hilo_format('conf_tag', 7), server_tag = '' AS no_tag FROM hilo.next_range('conf_tag');
SELECT hilo.configure('conf_tag', node_tag => repeat('x', 32)), hilo_next('conf_tag'), hilo_format('conf_tag', 7);
CREATE TABLE conf_tag (id text DEFAULT hilo_next('conf_tag'), other text);
CREATE TRIGGER assign BEFORE INSERT ON conf_tag FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('other');
INSERT INTO conf_tag VALUES (DEFAULT, NULL) RETURNING id ~ '-x{32}$' AS tagged, other ~ '-x{32}$' AS other_tagged;
PREPARE draw AS SELECT hilo_next('conf_tag') ~ '-x{32}$' AS tagged;
EXECUTE draw;
SELECT hilo.configure('conf_tag', node_tag => 'Y');
EXECUTE draw;
DEALLOCATE draw;
-- In a parallel worker, too.
SELECT count(set_config(name, 'on', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT hilo_format('conf_tag', 7), hilo_format('conf_other', 7);
SELECT count(set_config(name, 'off', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
-- Server-side ids and identities have their own.
SELECT next_server_side_id('conf_tag/') ~ '^conf_tag/[0-9]{19}-A$' AS server_side, next_identity('conf_tag');

-- The limit: the last number, then an error; with a higher one it goes on.
SELECT hilo.configure('conf_end', max_value => 3, range_size => 1);
SELECT hilo_next_number('conf_end') FROM generate_series(1, 3);
SELECT hilo_next_number('conf_end');
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY[$$hilo_next('conf_end')$$, $$hilo_reserve('conf_end', 1)$$,
	$$hilo.next_range('conf_end')$$, $$hilo.seed('conf_end', 4)$$]) call;
SELECT hilo.configure('conf_end', max_value => 2);
SELECT hilo.configure('conf_end', max_value => 3), hilo.configure('conf_end', max_value => 5);
SELECT hilo_next_number('conf_end') FROM generate_series(1, 2);
SELECT hilo_next_number('conf_end');
-- Up to the last number.
SELECT hilo.configure('conf_warn', max_value => 100, range_size => 1, max_range_size => 1);
SELECT count(hilo_next_number('conf_warn')) FROM generate_series(1, 99);
SELECT low, high FROM hilo.next_range('conf_warn');
SELECT hilo.configure('conf_warn', max_value => 1000), hilo.seed('conf_warn', 1000);

-- Bounds; what is wrong changes nothing.
CREATE FUNCTION try(arguments text) RETURNS text RETURN result_of('SELECT hilo.configure(' || arguments || ')');
SELECT arguments, try(arguments) FROM unnest(ARRAY[$$NULL$$, $$''$$, $$'a|b'$$, $$'a/'$$, $$'|'$$, $$'conf', reset => NULL$$,
	$$'conf', range_size => 0$$, $$'conf', range_size => -1$$, $$'conf', range_size => 2147483648$$, $$'conf', range_size => 2147483647$$,
	$$'conf', max_range_size => 0$$, $$'conf', max_range_size => 2147483648$$, $$'conf', max_range_size => 2147483647$$,
	$$'conf', max_value => 0$$, $$'conf', max_value => -5$$, $$'conf', max_value => 9223372036854775807$$,
	$$'conf', node_tag => 'a-b'$$, $$'conf', node_tag => 'é'$$, $$'conf', node_tag => repeat('x', 33)$$, $$'conf', range_size => 7, node_tag => '/'$$,
	$$'conf', range_size => 7, max_value => 1$$, $$'conf', range_size => 7, node_tag => 'not valid'$$, $$'conf_not', node_tag => 'not valid'$$,
	$$'conf', node_tag => repeat('x', 34)$$]) arguments;
SELECT * FROM regress_options WHERE collection IN ('conf', 'conf_not');
BEGIN READ ONLY;
SELECT try($$'conf', range_size => 7$$);
COMMIT;
-- reset resets all options, then those given apply.
SELECT hilo.configure('conf', node_tag => 'B', max_value => 100000), hilo.configure('conf', reset => true);
SELECT range_size, max_range_size, max_value, node_tag, flags & 2 AS has_tag FROM hilo.hilo WHERE collection = 'conf';
SELECT hilo.configure('conf', node_tag => 'B', max_value => 100000), hilo.configure('conf', range_size => 9, reset => true);
SELECT range_size, max_range_size, max_value, node_tag, flags & 2 AS has_tag FROM hilo.hilo WHERE collection = 'conf';
SELECT hilo_next('conf') ~ '-A$' AS own_tag_gone;
-- So does hilo.drop(); hilo.seed() keeps them.
SELECT hilo.configure('conf', node_tag => 'B', max_value => 100000), hilo.seed('conf', 5, true);
SELECT * FROM regress_options WHERE collection = 'conf';
SELECT hilo.drop('conf'), hilo_next('conf');
SELECT * FROM regress_options WHERE collection = 'conf';
-- For a dropped collection: it exists again.
SELECT hilo.drop('conf'), hilo.configure('conf', range_size => 2), hilo.drop('conf');
-- At once and for good: not undone by a rollback.
BEGIN;
SELECT hilo.configure('conf', range_size => 3), hilo.configure('conf_new', node_tag => 'B');
ROLLBACK;
SELECT * FROM regress_options WHERE collection IN ('conf', 'conf_new');
SELECT hilo_next('conf_new');

-- A collection is not dropped while a column is bound to it; nor do its options go.
CREATE TABLE conf_drop (id bigint PRIMARY KEY);
SELECT hilo.configure('conf_drop', max_value => 10), hilo.bind('conf_drop', 'conf_drop', 'id');
SELECT result_of($$SELECT hilo.drop('conf_drop')$$);
SELECT max_value FROM hilo.hilo WHERE collection = 'conf_drop';
SELECT hilo.unbind('conf_drop'), hilo.drop('conf_drop');

-- auto_create: off, draws make no new collections and identities; only functions that administer do.
SELECT next_identity('conf_identity'), hilo_next_number('conf_there');
SELECT hilo_next_number('conf_dropped'), hilo.drop('conf_dropped'), next_identity('conf_dropped'), hilo.drop('conf_dropped|');
SET hilo.auto_create = off;
SELECT hilo_next_number('conf_missing');
SELECT next_identity('conf_missing');
CREATE TABLE conf_missing (id bigint PRIMARY KEY);
SELECT name, call, state_of('SELECT ' || format(call, name)) FROM unnest('{conf_missing,conf_dropped,conf_there}'::text[]) name, unnest(ARRAY['hilo_next(%L)', 'hilo_next(%L, ''B'')', 'hilo_next_number(%L)',
	'hilo_reserve(%L, 2)', 'hilo.next_range(%L)', 'hilo.next_range(%L, last_max => 5)', 'hilo.next_hi(%L, 10)', 'hilo_document_id(%L)', 'hilo_document_id(%L, ''conf_missing|'')',
	'hilo.return_range(%L, 1, 2, 3)', 'hilo.drop(%L || ''x'')']) WITH ORDINALITY c(call, i) ORDER BY name, i;
SELECT state_of($$SELECT next_identity('conf_dropped')$$), state_of($$SELECT next_identity_for('conf_missing')$$), state_of($$SELECT next_identity_free('conf_missing')$$), state_of($$SELECT next_identity('conf_identity')$$);
SELECT count(*) AS created FROM hilo.hilo WHERE collection LIKE 'conf_missing%' AND collection NOT LIKE '%|';
SELECT count(*) AS created FROM hilo.identities WHERE name LIKE 'conf_missing%';
-- Server-side ids can be drawn, even the first one.
SELECT next_server_side_id('conf_missing/') IS NOT NULL AS server_side, hilo_document_id('conf_there', 'conf_missing/') IS NOT NULL AS server_side_too;
-- These create.
SELECT hilo.seed('conf_seeded', 5), hilo_next_number('conf_seeded'), hilo.configure('conf_made'), hilo_next_number('conf_made');
SELECT seed_identity_for('conf_seeded', 5), next_identity('conf_seeded');
SELECT hilo.seed('conf_dropped', 0), hilo_next_number('conf_dropped'), seed_identity_for('conf_dropped', 0), next_identity('conf_dropped');
-- A binding does not.
SELECT hilo.bind('conf_bound', 'conf_missing', 'id');
SELECT hilo_next_number('conf_bound');
\set VERBOSITY terse
RESET hilo.auto_create;
SELECT hilo.unbind('conf_bound');


-- A row of another database with a max above the limit here: no numbers are
-- left, and a dump can be restored.
SELECT hilo.configure('conf_merged', max_value => 1000);
INSERT INTO hilo.hilo (collection, max) VALUES ('conf_merged', 5000);
SELECT max, max_value FROM hilo.hilo WHERE collection = 'conf_merged';
INSERT INTO hilo.hilo SELECT * FROM hilo.hilo WHERE collection = 'conf_merged';
SELECT hilo_next_number('conf_merged');

-- Options leave the newest claim what it is: the rest of a range still goes back.
SELECT low, high, claim FROM hilo.next_range('conf_kept') \gset
SELECT hilo.configure('conf_kept', range_size => 5), hilo.return_range('conf_kept', 10, :high, :claim);
SELECT max FROM hilo.hilo WHERE collection = 'conf_kept';
