-- A separator of a collection's own: in every id that is formed or read, at once and for good.

SET client_min_messages = warning;
SELECT hilo.configure('sep_cus', separator => '_', node_tag => '');

-- In every kind of call, and read back by hilo_number(), which knows no collection.
SELECT hilo_next('sep_cus'), hilo_next('sep_cus', 'B'), hilo_next('sep_cus', ''), hilo_document_id('sep_cus');
SELECT hilo_format('sep_cus', 7), hilo_format('sep_cus', 7, 'B'), hilo_format('sep_cus', 7, ''), hilo_format('sep_other', 7), hilo_format('sep_other', 7, '');
SELECT prefix, server_tag = '' AS no_tag FROM hilo.next_range('sep_cus');
SELECT hilo_number('sep_cus_1'), hilo_number('sep_cus_12-B'), hilo_number(hilo_format('sep_cus', 345)), hilo_number('sep_cus_');
SELECT provolatile FROM pg_proc WHERE oid = 'hilo_number(text)'::regprocedure;
-- Behind it, the server prefix; the setting counts for other collections.
SET hilo.server_prefix = 'North/';
SELECT hilo_format('sep_cus', 7), hilo_number(hilo_format('sep_cus', 7));
RESET hilo.server_prefix;
SET hilo.identity_parts_separator = '.';
SELECT hilo_format('sep_cus', 7), hilo_format('sep_other', 7), hilo_number(hilo_next('sep_cus')) > 0 AS drawn;
RESET hilo.identity_parts_separator;
-- With the tag of the server, and with any character that the setting may have.
SELECT hilo.configure('sep_tagged', separator => '_');
SELECT hilo_next('sep_tagged'), hilo_number(hilo_format('sep_tagged', 7)), hilo_number(hilo_format('sep_tagged', 7, 'B_2'));
CREATE FUNCTION separated(c text, OUT stored text, OUT id text, OUT number bigint) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM hilo.configure('sep_any', separator => c);
	SELECT separator INTO stored FROM hilo.status WHERE collection = 'sep_any';
	id := hilo_format('sep_any', 7);
	number := hilo_number(hilo_format('sep_any', 7, ''));
END $$;
SELECT c, s.* FROM unnest(ARRAY['-', ':', '.', ' ', '''', '"', '\', '%', '~', '_', '/']) WITH ORDINALITY u(c, i), separated(c) s ORDER BY i;
-- In a parallel worker, too.
SELECT count(set_config(name, 'on', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT hilo_format('sep_cus', 7), hilo_format('sep_cus', 7, 'B'), hilo_format('sep_other', 7);
SELECT count(set_config(name, 'off', false)) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');

-- A session follows in its range, in prepared statements and with the tag that a caller gives.
PREPARE draw AS SELECT hilo_next('sep_held'), hilo_next('sep_held', 'B');
EXECUTE draw;
SELECT hilo.configure('sep_held', separator => '_');
EXECUTE draw;
SELECT hilo.configure('sep_held', node_tag => '');
EXECUTE draw;
SELECT hilo.configure('sep_held', reset => true);
EXECUTE draw;
DEALLOCATE draw;

-- Identities and server-side ids, also when a document asks for them, have the one of the setting.
SELECT next_identity('sep_cus'), next_identity('sep_cus/'), next_identity('sep_cus_');
SELECT next_server_side_id('sep_cus/') ~ '^sep_cus/[0-9]{19}-A$' AS server_side, hilo_document_id('sep_cus', 'sep_cus/') ~ '^sep_cus/[0-9]{19}-A$' AS requested;
SELECT hilo_document_id('sep_cus', 'sep_cus|'), hilo_document_id('sep_cus', 'sep_cus_'), hilo_document_id('sep_cus', 'sep_cus_tea');
SELECT state_of($$SELECT next_server_side_id('sep_cus_')$$);

-- What the views and the row show.
SELECT collection, separator, node_tag = '' AS no_tag FROM hilo.status WHERE collection IN ('sep_cus', 'sep_held', 'sep_tagged') ORDER BY collection;
SELECT collection, separator, separator = '' AS none FROM hilo.hilo WHERE collection IN ('sep_cus', 'sep_held') ORDER BY collection;
-- NULL leaves it; a reset and a drop remove it, a seed does not.
SELECT hilo.configure('sep_tagged', range_size => 5), hilo_format('sep_tagged', 7);
SELECT hilo.configure('sep_tagged', reset => true);
SELECT hilo_format('sep_tagged', 7), separator IS NULL AS none FROM hilo.status WHERE collection = 'sep_tagged';
SELECT hilo.configure('sep_tagged', reset => true, separator => ':'), hilo.seed('sep_tagged', 100), hilo_next('sep_tagged');
SELECT hilo.drop('sep_tagged'), hilo_next('sep_tagged');
-- At once and for good.
BEGIN;
SELECT hilo.configure('sep_tagged', separator => '.');
ROLLBACK;
SELECT hilo_next('sep_tagged');

-- What is wrong changes nothing.
CREATE FUNCTION try(arguments text) RETURNS text RETURN result_of('SELECT hilo.configure(' || arguments || ')');
SELECT arguments, try(arguments)
	FROM unnest(ARRAY[$$''$$, $$'__'$$, $$'|'$$, $$'a'$$, $$'7'$$, $$E'\t'$$, $$E'\x7f'$$, $$'é'$$, $$'·'$$, $$repeat('_', 100)$$])
	WITH ORDINALITY a(separator, i), LATERAL (SELECT format($$'sep_not', range_size => 7, separator => %s$$, separator)) f(arguments) ORDER BY i;
SELECT count(*) AS created FROM hilo.hilo WHERE collection = 'sep_not';
-- The name must not end in it; and hilo_number() must find the number, even without a tag.
SELECT arguments, try(arguments)
	FROM unnest(ARRAY[$$'sep_', separator => '_'$$, $$'sep_', separator => '-'$$, $$'2024-sep', separator => '_'$$, $$'2024-sep', separator => '.'$$, $$'sep-a_b', separator => '_'$$,
	$$'2024', separator => '-'$$, $$'sep/10', separator => '-'$$, $$'sep10', separator => '-'$$, $$'sep10', separator => '_'$$, $$'sep_cus/', separator => '_'$$,
	$$'sep_cus|', separator => '_'$$, $$'sep_cus|', max_value => 1000$$, $$'|', separator => '_'$$]) arguments;
SELECT collection, n, hilo_number(hilo_format(collection, n, tag)) = n AS found FROM hilo.status, unnest(ARRAY[1, 10, 2024]) n, unnest(ARRAY['', 'A', '1', '_']) tag
	WHERE collection LIKE '%sep%' AND separator IS NOT NULL AND hilo_number(hilo_format(collection, n, tag)) IS DISTINCT FROM n;
SELECT hilo.drop('2024-sep'), hilo.drop('sep_cus|');

-- Only roles that may execute the function.
CREATE ROLE regress_hilo_sep;
\set configure '$$SELECT hilo.configure(\'sep_cus\', separator => \'_\')$$'
SELECT as_role('regress_hilo_sep', :configure), as_role('regress_hilo_sep', $$SELECT hilo_next('sep_cus') LIKE 'sep\_cus\_%'$$) AS drawn;
GRANT EXECUTE ON FUNCTION hilo.configure TO regress_hilo_sep;
SELECT as_role('regress_hilo_sep', :configure);
REVOKE EXECUTE ON FUNCTION hilo.configure FROM regress_hilo_sep;
DROP ROLE regress_hilo_sep;

-- Bound: only ids with it are looked at, with the collection's own tag.
RESET client_min_messages;
\set VERBOSITY terse
CREATE TABLE sep_look (id text PRIMARY KEY DEFAULT hilo_next('sep_look'), v int);
INSERT INTO sep_look VALUES ('sep_look_1', 0), ('sep_look_2-B', 0), ('sep_look/2', 0), ('sep_look.2', 0), ('sep_looks_2', 0), ('sep_look_tea', 0);
SELECT hilo.configure('sep_look', separator => '_', node_tag => '', max_range_size => 4);
SELECT hilo.bind('sep_look', 'sep_look', 'id');
INSERT INTO sep_look (v) VALUES (1), (1) RETURNING id;
INSERT INTO sep_look SELECT 'sep_look_' || n, 2 FROM generate_series(5, 30) n;
INSERT INTO sep_look SELECT 'sep_look/' || n, 2 FROM generate_series(31, 50) n;
INSERT INTO sep_look (v) SELECT 3 FROM generate_series(1, 4) RETURNING id;
-- It changes, or the tag or the setting do: the ids that count are others, also for the numbers that a session holds.
CREATE TABLE sep_changes (id text PRIMARY KEY DEFAULT hilo_next('sep_changes'), v int);
SELECT hilo.configure('sep_changes', range_size => 128, max_range_size => 128), hilo.bind('sep_changes', 'sep_changes', 'id');
INSERT INTO sep_changes (v) SELECT 1 FROM generate_series(1, 129);
SELECT next, high > 200 AS holds_more FROM hilo.ranges WHERE collection = 'sep_changes';
INSERT INTO sep_changes SELECT 'sep_changes_' || n || '-A', 0 FROM generate_series(130, 139) n;
SELECT hilo.configure('sep_changes', separator => '_');
INSERT INTO sep_changes (v) VALUES (2) RETURNING id;
INSERT INTO sep_changes SELECT 'sep_changes_' || n, 0 FROM generate_series(141, 149) n;
SELECT hilo.configure('sep_changes', node_tag => '');
INSERT INTO sep_changes (v) VALUES (3) RETURNING id;
INSERT INTO sep_changes SELECT 'sep_changes/' || n, 0 FROM generate_series(151, 159) n;
SELECT hilo.configure('sep_changes', reset => true, node_tag => '');
INSERT INTO sep_changes (v) VALUES (4) RETURNING id;
INSERT INTO sep_changes SELECT 'sep_changes:' || n, 0 FROM generate_series(161, 169) n;
SET hilo.identity_parts_separator = ':';
INSERT INTO sep_changes (v) VALUES (5) RETURNING id;
RESET hilo.identity_parts_separator;
-- If none of the numbers that are left is an id, none is lost.
INSERT INTO sep_changes (v) VALUES (6) RETURNING id;
SELECT next, high > 200 AS holds_more FROM hilo.ranges WHERE collection = 'sep_changes';
-- The trigger assigns them.
CREATE TABLE sep_assign (id text PRIMARY KEY, v int);
SELECT hilo.configure('sep_assign', separator => '_', node_tag => '');
CREATE TRIGGER assign_id BEFORE INSERT ON sep_assign FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO sep_assign VALUES (DEFAULT, 1), (NULL, 2), ('sep_assign|', 3), ('sep_assign_x', 4);
SELECT id FROM sep_assign ORDER BY v;
-- A numeric column has no separator.
CREATE TABLE sep_number (id bigint PRIMARY KEY DEFAULT hilo_next_number('sep_number'));
INSERT INTO sep_number VALUES (1), (2);
SELECT hilo.configure('sep_number', separator => '_'), hilo.bind('sep_number', 'sep_number', 'id');
INSERT INTO sep_number DEFAULT VALUES RETURNING id, hilo_format('sep_number', id);
\set VERBOSITY default

-- Rows as a dump has them: of a collection that is not here, and of one that is, whose options stay.
SELECT separator, node_tag = '' AS no_tag, flags & 2 AS has_tag FROM hilo.hilo WHERE collection = 'sep_cus';
CREATE TEMP TABLE dumped AS SELECT * FROM hilo.hilo WHERE collection IN ('sep_cus', 'sep_held');
SELECT hilo.drop('sep_cus') AND hilo.drop('sep_held') AS dropped;
INSERT INTO hilo.hilo SELECT * FROM dumped;
SELECT hilo_next('sep_cus') LIKE 'sep\_cus\_%' AS restored, hilo_next('sep_held') LIKE 'sep\_held/%' AS of_the_setting;
SELECT hilo.configure('sep_cus', separator => '.');
INSERT INTO hilo.hilo SELECT * FROM dumped;
SELECT hilo_next('sep_cus') LIKE 'sep\_cus.%' AS kept;
COPY hilo.hilo (collection, max, separator, flags) FROM stdin;
sep_copied	5	_	2
sep_plain	5		0
\.
SELECT hilo_next('sep_copied'), hilo_next('sep_plain');
-- A table that was bound first, as a restore may do it.
CREATE TABLE sep_bound (id text PRIMARY KEY);
INSERT INTO hilo.binding VALUES ('sep_bound', 'public', 'sep_bound', 'id', current_user);
INSERT INTO sep_bound VALUES ('sep_bound.9');
INSERT INTO hilo.hilo (collection, max, separator, flags) VALUES ('sep_bound', 8, '.', 2);
SELECT hilo_next('sep_bound');
SELECT hilo.unbind('sep_bound');
-- By hand: what no collection has.
SELECT collection, separator, told(format('INSERT INTO hilo.hilo (collection, separator) VALUES (%L, %L)', collection, separator))
	FROM (VALUES ('sep_bad', 'a'), ('sep_bad', '|'), ('sep_bad_', '_'), ('2024-bad', '_'), ('sep_bad|', '_'), ('|', '_'), ('sep_bad', NULL)) v(collection, separator);
SELECT count(*) AS created FROM hilo.hilo WHERE collection LIKE '%bad%';

-- A name may end in the separator of the setting of another server, but not be used here.
\set VERBOSITY terse
INSERT INTO hilo.hilo (collection, max, separator) VALUES ('sep/', 3, '_');
SELECT hilo_next('sep/');
\set VERBOSITY default
SET hilo.identity_parts_separator = '.';
SELECT hilo_format('sep/', 7);
RESET hilo.identity_parts_separator;
-- The row's place in the page: names of every length are found.
SET client_min_messages = warning;
SELECT count(hilo.configure(repeat('n', n), separator => '_')) FROM generate_series(1, 255) n;
SELECT count(*) FROM generate_series(1, 255) n WHERE hilo_next(repeat('n', n)) = repeat('n', n) || '_1-A';
