-- Identities: one number at a time, by name; unique, never rolled back, at once for all sessions.

-- A trailing '|' or separator, one, is not part of the name.
SELECT next_identity('companies|'), next_identity('companies/'), next_identity('companies'), next_identity_for('companies|'),
	next_identity_for('companies/'), next_identity_for('companies');
SELECT name, value FROM hilo.identities WHERE name LIKE 'compan%';
SELECT next_identity('users/1/'), next_identity('users/1'), next_identity('users/1|'), next_identity('users//'), next_identity('users/|'), next_identity('users/');
SELECT name, value FROM hilo.identities WHERE name LIKE 'user%' ORDER BY 1;
-- Names are taken as they are written, whatever alphabet they are in.
SELECT next_identity('Companies'), next_identity('COMPANIES'), next_identity('companies '), next_identity('%s'), next_identity('日本語|'),
	next_identity('日本語'), next_identity(E'\u00e9t\u00e9/'), next_identity('a"b''c\'), next_identity('1');
SELECT next_identity(repeat('x', 255)) = repeat('x', 255) || '/1' AS longest, next_identity(repeat('x', 255) || '|') = repeat('x', 255) || '/2' AS longest,
	next_identity(repeat('é', 127) || 'x/') = repeat('é', 127) || 'x/1' AS longest;
-- Neither tag nor server prefix; the separator is the one set.
SET hilo.node_tag = 'B';
SET hilo.server_prefix = 'NorthServer/';
SELECT next_identity('plain');
SET hilo.identity_parts_separator = ':';
SELECT next_identity('plain:'), next_identity('plain|'), next_identity('plain'), next_identity('plain/');
SET hilo.identity_parts_separator = 'é';
SELECT next_identity('plainé'), next_identity('plain:');
RESET hilo.identity_parts_separator;
RESET hilo.server_prefix;
RESET hilo.node_tag;
SELECT next_identity_for('plain');
-- One more each time, without a cache; a counter of its own, apart from the collection of that name.
SELECT count(DISTINCT n), min(n), max(n) FROM (SELECT next_identity_for('many') n FROM generate_series(1, 1000)) s;
SELECT value FROM hilo.identities WHERE name = 'many';
SELECT hilo_next_number('many'), next_identity_for('many'), hilo_next_number('many');
SELECT count(*) AS ranges_of_identities FROM hilo.ranges WHERE collection IN ('companies', 'plain');
SELECT i, next_identity('name' || i % 3) FROM generate_series(1, 6) i;

-- A failed transaction leaves a gap, never a number twice.
CREATE TABLE regress_company (id text PRIMARY KEY, name text);
INSERT INTO regress_company VALUES (next_identity('gaps|'), 'one'), (next_identity('gaps|'), 'two');
BEGIN;
INSERT INTO regress_company VALUES (next_identity('gaps|'), 'three') RETURNING id;
ROLLBACK;
INSERT INTO regress_company VALUES (next_identity('gaps|'), 'four') RETURNING id;
INSERT INTO regress_company VALUES (next_identity('gaps|'), (next_identity_for('gaps|') / 0)::text);
SELECT next_identity_for('gaps') > 4 AS goes_on;
BEGIN;
SAVEPOINT s;
SELECT next_identity('gaps_first');
ROLLBACK TO s;
SELECT next_identity('gaps_first');
ROLLBACK;
SELECT next_identity('gaps_first');
DO $$
BEGIN
	PERFORM next_identity('gaps_first');
	RAISE division_by_zero;
EXCEPTION WHEN division_by_zero THEN
	RAISE NOTICE '%', next_identity('gaps_first');
END $$;
SELECT id, name FROM regress_company ORDER BY id COLLATE "C";
DROP TABLE regress_company;
-- Taken at once by everything that draws: DEFAULT, plpgsql, prepared statements.
CREATE TABLE regress_company (id text DEFAULT next_identity('defaults'), number bigint DEFAULT next_identity_for('defaults'));
INSERT INTO regress_company SELECT FROM generate_series(1, 2);
INSERT INTO regress_company DEFAULT VALUES RETURNING id, number;
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY ARRAY['loop_a', 'loop_b', 'loop_a'] LOOP
		RAISE NOTICE '%', next_identity(name);
	END LOOP;
END $$;
PREPARE draw(text) AS SELECT next_identity($1);
EXECUTE draw('prepared');
EXECUTE draw('prepared|');
EXECUTE draw('prepared_other');
DEALLOCATE draw;

-- Seeds: at least the given value; they return the value stored, and the next number is one more.
SELECT seed_identity_for('products', 1994), next_identity('products');
SELECT next_identity_for('seeded');
SELECT seed_identity_for('seeded|', 1990), next_identity_for('seeded');
SELECT seed_identity_for('seeded/', 1975);
SELECT value FROM hilo.identities WHERE name = 'seeded';
SELECT seed_identity_for('seeded', 1991), seed_identity_for('seeded', 0), next_identity_for('seeded');
-- Set, with force, down too.
SELECT seed_identity_for('seeded', 1975, true), next_identity_for('seeded'), seed_identity_for('seeded', 2000, force => true), next_identity_for('seeded');
SELECT seed_identity_for('seeded', 0, true), next_identity('seeded');
SELECT seed_identity_for('seeded_new', 0), next_identity('seeded_new');
-- At once and for good, like draws.
BEGIN;
SELECT seed_identity_for('seeded', 500), seed_identity_for('seeded_rolled_back', 60), next_identity_for('seeded');
ROLLBACK;
SELECT next_identity_for('seeded'), next_identity_for('seeded_rolled_back');

-- Drops.
SELECT hilo.drop('seeded|'), hilo.drop('seeded|'), hilo.drop('never_seen|'), next_identity('seeded');
BEGIN;
SELECT hilo.drop('seeded|');
ROLLBACK;
SELECT next_identity('seeded'), hilo.drop('seeded|'), seed_identity_for('seeded', 7), next_identity('seeded');
-- Neither touches the collection of that name.
SELECT hilo_next_number('both'), next_identity_for('both'), seed_identity_for('both', 50), hilo_next_number('both'), hilo.drop('both|'), hilo_next_number('both');
SELECT next_identity_for('both'), hilo.drop('both'), next_identity_for('both'), hilo.seed('both', 90), next_identity_for('both');

-- The end of bigint: the last number, then an error, again and again; it never wraps.
SELECT seed_identity_for('end', 9223372036854775805), next_identity_for('end'), next_identity('end');
SELECT next_identity_for('end');
SELECT next_identity('end|');
\set VERBOSITY sqlstate
SELECT next_identity_for('end');
SELECT next_identity_free('end');
\set VERBOSITY default
SELECT value FROM hilo.identities WHERE name = 'end';
SELECT seed_identity_for('end', 9223372036854775807), seed_identity_for('end', 41, true), next_identity('end');
-- A limit of its own, as a restore brings it.
INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('limited|', 8, 10);
SELECT next_identity_for('limited'), next_identity_for('limited');
SELECT next_identity_for('limited');

-- Errors for bad input; the next valid call works as if nothing had happened.
CREATE FUNCTION try(statement text, OUT state text, OUT next bigint)
	BEGIN ATOMIC SELECT state_of(statement), next_identity_for('errors'); END;
SELECT call, t.* FROM unnest(ARRAY['next_identity(NULL)', 'next_identity_for(NULL)', 'next_identity_free(NULL)', 'next_identity_free_for(NULL)',
	'seed_identity_for(NULL, 1)', 'seed_identity_for(''errors'', NULL)', 'seed_identity_for(''errors'', 1, NULL)'])
	WITH ORDINALITY u(call, i), try('SELECT ' || call) t ORDER BY i;
SELECT call, t.* FROM unnest(ARRAY['seed_identity_for(''errors'', -1)', 'seed_identity_for(''errors'', -1, true)',
	'seed_identity_for(''errors'', -9223372036854775808, true)']) WITH ORDINALITY u(call, i), try('SELECT ' || call) t ORDER BY i;
SELECT left(name, 8) AS name, length(name), t.* FROM unnest(ARRAY['', '|', '/', '||', '|/', 'a|b', 'a||', 'a|/', E'a\tb', E'a\n', E'a\n|', E'\x01', E'\x7f',
	repeat('x', 256), repeat('x', 256) || '|', repeat('é', 128)]) WITH ORDINALITY n(name, i), try(format('SELECT next_identity(%L)', name)) t ORDER BY i;
SELECT call, t.* FROM unnest(ARRAY['next_identity(%L)', 'next_identity_for(%L)', 'next_identity_free(%L)', 'next_identity_free_for(%L)',
	'seed_identity_for(%L, 1)']) WITH ORDINALITY u(call, i), try('SELECT ' || format(call, 'a|b')) t ORDER BY i;
SELECT count(*) AS bad_names FROM hilo.identities WHERE regexp_replace(name, '/\|$', '/') ~ '[|[:cntrl:]]' OR name IN ('', 'a|') OR octet_length(name) > 255;
SELECT next_identity(NULL);
SELECT next_identity('');
SELECT next_identity('a|b');
SELECT seed_identity_for('errors', -1);
-- Read-only transactions, and parallel mode.
\set VERBOSITY sqlstate
SELECT next_identity('read_only');
BEGIN READ ONLY;
SAVEPOINT s;
SELECT call, state_of(call) FROM unnest(ARRAY[$$SELECT next_identity('read_only')$$,
	$$SELECT next_identity_for('read_only')$$, $$SELECT next_identity_for('read_only_new')$$,
	$$SELECT next_identity_free('read_only')$$, $$SELECT next_identity_free_for('read_only')$$,
	$$SELECT seed_identity_for('read_only', 50)$$, $$SELECT hilo.drop('read_only|')$$,
	$$INSERT INTO hilo.hilo (collection, max) VALUES ('read_only|', 50)$$]) call;
COMMIT;
SELECT next_identity('read_only');
SELECT call, in_worker(call) FROM unnest(ARRAY[$$next_identity('parallel')$$, $$next_identity_for('parallel')$$, $$next_identity_free('parallel')$$,
	$$next_identity_free_for('parallel')$$, $$seed_identity_for('parallel', 100)$$, $$hilo.drop('parallel|')$$]) call;
SELECT next_identity('parallel');
-- A transaction that has itself rewritten the table.
SELECT next_identity('rewritten');
BEGIN;
CLUSTER hilo.hilo USING hilo_collection_idx;
SAVEPOINT s;
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY[$$next_identity('rewritten')$$,
	$$next_identity('rewritten_new')$$, $$seed_identity_for('rewritten', 50)$$, $$hilo.drop('rewritten|')$$]) call;
ROLLBACK;
SELECT next_identity('rewritten'), next_identity('rewritten_new');
ALTER TABLE hilo.hilo SET WITHOUT CLUSTER;
\set VERBOSITY default

-- The table is not changed by hand: an INSERT, or COPY, moves an identity up at most.
SELECT seed_identity_for('guarded', 10);
\set VERBOSITY sqlstate
UPDATE hilo.hilo SET max = 0 WHERE collection = 'guarded|';
DELETE FROM hilo.hilo WHERE collection = 'guarded|';
INSERT INTO hilo.hilo (collection, max) VALUES ('guarded|', 5) ON CONFLICT (collection) DO UPDATE SET max = 0;
UPDATE hilo.identities SET value = 0;
SET session_replication_role = replica;
DELETE FROM hilo.hilo WHERE collection = 'guarded|';
INSERT INTO hilo.hilo (collection, max) VALUES ('guarded|', 5), ('replicated|', 12);
RESET session_replication_role;
SELECT next_identity('guarded'), next_identity('replicated');
INSERT INTO hilo.hilo (collection, max) VALUES ('merged|', 100), ('merged|', 300), ('merged|', 20);
SELECT next_identity('merged');
COPY hilo.hilo (max, claim_low, claim, epoch, max_value, flags, collection) FROM stdin;
40	0	0	77	9223372036854775807	0	restored|
0	0	0	79	9223372036854775807	1	restored_dropped|
1	0	0	80	9223372036854775807	0	merged|
\.
SELECT next_identity('restored'), next_identity('restored_dropped'), next_identity('merged');
BEGIN;
INSERT INTO hilo.hilo (collection, max) VALUES ('merged|', 400);
ROLLBACK;
SELECT next_identity('merged');
-- Rows that are not possible for an identity.
INSERT INTO hilo.hilo (collection, max) VALUES ('bad|', -1);
INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('bad|', 8, 7);
INSERT INTO hilo.hilo (collection, max) VALUES ('bad||', 1);
INSERT INTO hilo.hilo (collection, max) VALUES ('||', 1);
SELECT count(*) FROM hilo.hilo WHERE collection LIKE 'bad%' OR collection = '||';
\set VERBOSITY default
-- A locked row is no obstacle; a vacuumed or rewritten table keeps its counts.
BEGIN;
SELECT max FROM hilo.hilo WHERE collection = 'merged|' FOR UPDATE;
SELECT next_identity('merged');
COMMIT;
VACUUM FULL hilo.hilo;
VACUUM (FREEZE) hilo.hilo;
SELECT next_identity('merged');

-- An identity is a row whose name ends in a bar.  What administers takes that name; a collection of the name without it is another one.
SELECT next_identity('barred'), hilo_next_number('barred'), hilo.seed('barred|', 50), next_identity('barred');
SELECT collection, max FROM hilo.hilo WHERE collection LIKE 'barred%' ORDER BY 1;
SELECT name, value FROM hilo.identities WHERE name LIKE 'barred%';
SELECT collection FROM hilo.status WHERE collection LIKE 'barred%';
SELECT hilo.seed('barred|', 5, true), next_identity('barred|');
SELECT hilo.configure('barred|', max_value => 8);
SELECT hilo.bind('barred|', 'hilo.binding', 'collection');
SELECT next_identity_for('barred'), next_identity_for('barred');
SELECT next_identity_for('barred');
SELECT hilo.drop('barred|'), hilo.drop('barred|'), next_identity('barred'), hilo_next_number('barred');
SELECT hilo.seed('barred_new|', 7), next_identity('barred_new'), hilo.drop('barred_new|');
-- Functions that draw do not; nor does any function take more than one bar, or the name of the row of server-side ids.
SELECT hilo_next_number('barred|');
\set VERBOSITY sqlstate
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY[$$hilo_next('barred|')$$, $$hilo_next('barred|', 'B')$$,
	$$hilo_last_number('barred|')$$, $$hilo_reserve('barred|', 1)$$, $$hilo.next_range('barred|')$$,
	$$hilo.return_range('barred|', 1, 1, 5)$$, $$hilo.next_hi('barred|', 1)$$, $$hilo_document_id('barred|')$$,
	$$hilo_format('barred|', 1)$$, $$hilo.seed('barred||', 1)$$, $$hilo.drop('barred||')$$,
	$$hilo.configure('barred||', max_value => 8)$$, $$hilo.seed('bar|red|', 1)$$, $$hilo.seed('|', 1)$$, $$hilo.drop('|')$$,
	$$hilo.configure('|', max_value => 8)$$]) call;
\set VERBOSITY default
SELECT next_identity('barred'), hilo_next_number('barred'), hilo.drop('barred|'), hilo.drop('barred');

-- Without waiting for the disk, if the setting says so.
SET synchronous_commit = off;
SELECT next_identity('async'), next_identity('async'), next_identity_for('async'), seed_identity_for('async', 20), next_identity('async');
BEGIN;
SELECT next_identity('async'), next_identity('async_new');
ROLLBACK;
RESET synchronous_commit;
SELECT next_identity('async'), next_identity('async_new');

-- No session holds any numbers.
DISCARD ALL;
SELECT next_identity('async');
\c -
SELECT next_identity('async');
-- Names in the view can be used as they are, whatever they end in.
SELECT next_identity('odd'), next_identity('odd/|'), next_identity('odd//'), next_identity('odd:');
SELECT name, value, seed_identity_for(name, value + 10) FROM hilo.identities WHERE name LIKE 'odd%' ORDER BY name COLLATE "C";
SET hilo.identity_parts_separator = ':';
SELECT name, value, seed_identity_for(name, value * 2) FROM hilo.identities WHERE name LIKE 'odd%' ORDER BY name COLLATE "C";
RESET hilo.identity_parts_separator;
SELECT count(hilo.drop(rtrim(name, '|') || '|')) > 0 AS dropped FROM hilo.identities;
SELECT name FROM hilo.identities;
