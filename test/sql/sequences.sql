-- hilo.nextval(): the sequence stays the counter, as if it had a CACHE, and all that PostgreSQL does with a sequence works as before.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
SET hilo.range_size = 1;
CREATE SCHEMA regress_sequences;
SET search_path = regress_sequences, public;
CREATE FUNCTION state_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'fine';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;

-- Numbers from 1, each once, in whatever sizes they are claimed; currval(), lastval().
CREATE SEQUENCE s;
SELECT hilo.nextval('s'), currval('s'), lastval();
SELECT count(n), count(DISTINCT n), min(n), max(n) FROM (SELECT hilo.nextval('s') n FROM generate_series(1, 5000)) d;
SELECT currval('s'), lastval(), last_value >= 5001 AS ahead, last_value < 5001 + 65536 AS not_far FROM s;
-- Mixed call by call with nextval(), which uses the session's range.
SELECT hilo.nextval('s') - currval('s') AS same, nextval('s') - currval('s') AS same;
SELECT count(DISTINCT n), max(n) FROM (SELECT CASE WHEN i % 3 = 0 THEN nextval('s') ELSE hilo.nextval('s') END n FROM generate_series(1, 1000) i) d;
-- The range is shown by the sequence's name; DISCARD SEQUENCES ends it, and lastval().
SELECT count(hilo.nextval('s')) FROM generate_series(1, 500);
DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM hilo.ranges) LOOP PERFORM hilo.nextval('regress_sequences.s'); END LOOP; END $$;
SELECT collection, low = currval('s') + 1 AND low = next AS next, high >= next AND high = last_value AS holds, size = high - low + 1 AS size FROM hilo.ranges, s;
SELECT last_value AS was FROM s \gset
DISCARD SEQUENCES;
SELECT lastval();
SELECT currval('s');
SELECT hilo.nextval('s') - :was AS above;

-- One number at a time: exact.
SET hilo.max_range_size = 1;
CREATE SEQUENCE e;
SELECT hilo.nextval('e'), hilo.nextval('e');
SELECT last_value FROM e;
-- After COPY, and in CALL and EXECUTE arguments, CHECK, an inlined function, a rule, a view.
CREATE TABLE t (id bigint PRIMARY KEY DEFAULT hilo.nextval('e'), x int, CHECK (id = currval('regress_sequences.e') OR id > 1000));
COPY t (x) FROM stdin;
1
2
\.
SELECT id, currval('e'), lastval() FROM t ORDER BY id;
CREATE PROCEDURE p(n bigint) LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'called with %, %', n, currval('regress_sequences.e'); END $$;
CALL p(hilo.nextval('e'));
PREPARE q(bigint) AS SELECT $1, currval('e'), lastval();
EXECUTE q(hilo.nextval('e'));
CREATE FUNCTION inlined() RETURNS bigint LANGUAGE sql AS $$ SELECT hilo.nextval('regress_sequences.e') $$;
SELECT inlined(), currval('e');
INSERT INTO t (x) VALUES (3) RETURNING id, currval('e'), lastval();
CREATE VIEW drawing AS SELECT hilo.nextval('e') AS n;
SELECT n, currval('e') FROM drawing;
CREATE TABLE log (n bigint);
CREATE RULE logs AS ON INSERT TO t DO ALSO INSERT INTO log VALUES (hilo.nextval('e'));
INSERT INTO t (x) VALUES (4);
SELECT max(id) AS id, max(n) AS logged FROM t, log;
DROP RULE logs ON t;
-- Rolled back, numbers are not drawn again; setval() and RESTART in a transaction are rolled back as with nextval().
BEGIN;
SELECT hilo.nextval('e') AS n \gset
ROLLBACK;
SELECT hilo.nextval('e') - :n AS above;
SELECT setval('e', 100), hilo.nextval('e'), setval('e', 200, false), hilo.nextval('e'), hilo.nextval('e');
BEGIN;
SELECT setval('e', 500);
ROLLBACK;
SELECT hilo.nextval('e');
BEGIN;
ALTER SEQUENCE e RESTART WITH 900;
SELECT hilo.nextval('e'), hilo.nextval('e');
ROLLBACK;
SELECT hilo.nextval('e'), hilo.nextval('e');
BEGIN;
SAVEPOINT a;
ALTER SEQUENCE e RESTART WITH 700 INCREMENT 5;
SELECT hilo.nextval('e'), hilo.nextval('e');
ROLLBACK TO a;
SELECT hilo.nextval('e');
COMMIT;
-- setval() and RESTART, also rolled back, while the session holds a range.
SET hilo.max_range_size = 100;
CREATE SEQUENCE w;
SELECT count(hilo.nextval('w')) FROM generate_series(1, 300);
SELECT low, high FROM hilo.ranges WHERE collection = 'regress_sequences.w';
SELECT setval('w', 5000), hilo.nextval('w'), hilo.nextval('w');
SELECT count(hilo.nextval('w')) FROM generate_series(1, 300);
BEGIN;
ALTER SEQUENCE w RESTART;
SELECT hilo.nextval('w'), hilo.nextval('w');
ROLLBACK;
SELECT hilo.nextval('w') > 5302 AS above;
ALTER SEQUENCE w RESTART WITH 7000;
SELECT hilo.nextval('w'), hilo.nextval('w');
SET hilo.max_range_size = 1;
-- TRUNCATE ... RESTART IDENTITY, also rolled back.
CREATE TABLE truncated (id serial PRIMARY KEY, x int);
ALTER TABLE truncated ALTER id SET DEFAULT hilo.nextval('truncated_id_seq');
INSERT INTO truncated (x) SELECT 1 FROM generate_series(1, 10);
BEGIN;
TRUNCATE truncated RESTART IDENTITY;
INSERT INTO truncated (x) VALUES (1) RETURNING id;
ROLLBACK;
INSERT INTO truncated (x) VALUES (1) RETURNING id > 10 AS above;
TRUNCATE truncated RESTART IDENTITY;
INSERT INTO truncated (x) VALUES (1) RETURNING id;
-- Dropped and made again: a new count; lastval() after DROP.
DROP TABLE truncated;
SELECT lastval();
CREATE TABLE truncated (id serial PRIMARY KEY);
ALTER TABLE truncated ALTER id SET DEFAULT hilo.nextval('truncated_id_seq');
INSERT INTO truncated DEFAULT VALUES RETURNING id, lastval();

-- Other increments, CYCLE, CACHE, limits: as nextval() counts.
SET hilo.max_range_size = 10;
CREATE SEQUENCE down INCREMENT -1;
CREATE SEQUENCE sevens INCREMENT 7 START 3;
CREATE SEQUENCE round MINVALUE 1 MAXVALUE 3 CYCLE;
CREATE SEQUENCE up_to_five MAXVALUE 5;
CREATE SEQUENCE down_to_minus_three INCREMENT -1 MINVALUE -3;
CREATE SEQUENCE cached CACHE 20;
CREATE SEQUENCE low MINVALUE -9223372036854775808 START -9223372036854775808;
CREATE SEQUENCE small AS smallint;
SELECT array_agg(hilo.nextval('down')) AS down, array_agg(hilo.nextval('sevens')) AS sevens, array_agg(hilo.nextval('round')) AS round, array_agg(hilo.nextval('cached')) AS cached, array_agg(hilo.nextval('low') + 9223372036854775807) AS low FROM generate_series(1, 7);
SELECT last_value FROM cached;
SELECT array_agg(hilo.nextval('up_to_five')) FROM generate_series(1, 5);
SELECT hilo.nextval('up_to_five');
SELECT hilo.nextval('up_to_five');
SELECT array_agg(hilo.nextval('down_to_minus_three')) FROM generate_series(1, 3);
SELECT hilo.nextval('down_to_minus_three');
-- The end of the type, after the last number.
SELECT setval('small', 32764), hilo.nextval('small'), hilo.nextval('small'), hilo.nextval('small');
SELECT hilo.nextval('small');
SELECT setval('low', 9223372036854775805), hilo.nextval('low'), hilo.nextval('low');
SELECT hilo.nextval('low');
-- Near the end, claims are small: at most 1/64 of what is left.
SET hilo.max_range_size = 1000;
CREATE SEQUENCE narrow MAXVALUE 640;
SELECT count(hilo.nextval('narrow')) FROM generate_series(1, 320);
SELECT last_value <= 330 AS small FROM narrow;
SELECT count(hilo.nextval('narrow')) FROM generate_series(1, 320);
SELECT hilo.nextval('narrow');
-- An error leaves no larger cache behind: plain nextval() in another session takes one.
CREATE SEQUENCE failing MAXVALUE 100000;
SELECT count(hilo.nextval('failing')) FROM generate_series(1, 200);
ALTER SEQUENCE failing MAXVALUE 200000;
SELECT setval('failing', 200000);
SELECT state_of($$SELECT hilo.nextval('failing')$$), state_of($$SELECT hilo.nextval('failing')$$), state_of($$SELECT nextval('failing')$$);
SELECT setval('failing', 10), nextval('failing'), nextval('failing');
SELECT last_value FROM failing;
BEGIN READ ONLY;
SELECT hilo.nextval('failing');
ROLLBACK;
SELECT setval('failing', 20), nextval('failing');
SELECT last_value FROM failing;
-- Neither does a claim that fails, which is no smaller than 50 here; nor does it make later claims larger.
SET hilo.range_size = 50;
SELECT setval('failing', 100), hilo.nextval('failing');
DO $$ BEGIN WHILE EXISTS (SELECT FROM hilo.ranges WHERE collection ~ 'failing') LOOP PERFORM hilo.nextval('regress_sequences.failing'); END LOOP; END $$;
BEGIN READ ONLY;
SELECT hilo.nextval('failing');
ROLLBACK;
SELECT nextval('failing') AS n \gset
SELECT last_value - :n AS more FROM failing;
SET hilo.range_size = 1;
CREATE SEQUENCE failed;
SELECT hilo.nextval('failed');
BEGIN READ ONLY;
SELECT count(state_of($$SELECT hilo.nextval('failed')$$)) FROM generate_series(1, 10);
ROLLBACK;
SELECT hilo.nextval('failed') AS n \gset
SELECT last_value - :n <= 1 AS small FROM failed;
-- A range that is lost, by DISCARD, setval(), ALTER SEQUENCE, a block or a move, makes the next one small.
CREATE SEQUENCE lost;
CREATE TABLE ids (id bigint PRIMARY KEY DEFAULT hilo.nextval('lost'));
CREATE FUNCTION loses(statement text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	was bigint;
BEGIN
	-- The least size of a range is 1000 for a moment.
	SET LOCAL hilo.range_size = 1000;
	PERFORM hilo.nextval('regress_sequences.lost') FROM generate_series(1, 3);
	SET LOCAL hilo.range_size = 1;
	SELECT last_value INTO was FROM regress_sequences.lost;
	FOR i IN 1..40 LOOP
		EXECUTE statement;
		PERFORM hilo.nextval('regress_sequences.lost');
	END LOOP;
	RETURN last_value - was > 2000 FROM regress_sequences.lost;
END $$;
SELECT statement, loses(statement) FROM unnest(ARRAY['DISCARD SEQUENCES', $$SELECT setval('lost', last_value) FROM lost$$, 'ALTER SEQUENCE lost CACHE 1', $$SELECT hilo.reserve('lost', 2)$$,
	$$INSERT INTO ids SELECT last_value + 1 FROM lost; SELECT hilo.sync('ids')$$]) statement;
DROP TABLE ids;

-- A block: low is returned, currval is its end; what the session held is lost.
SET hilo.max_range_size = 1000000000;
CREATE SEQUENCE b;
SELECT * FROM hilo.reserve('b', 10);
SELECT currval('b'), lastval();
SELECT hilo.nextval('b');
SELECT * FROM hilo.reserve('b', 1);
SELECT low, high - low + 1 AS count FROM hilo.reserve('b', 65536);
SELECT low, high - low + 1 AS count FROM hilo.reserve('b', 65537);
SELECT low, high - low + 1 AS count, (SELECT last_value >= high AND last_value < high + 66 FROM b) AS reached FROM hilo.reserve('b', 100000000);
SELECT hilo.nextval('b') > 100000000 + 131084 AS above;
SELECT high - low + 1 AS count, above FROM hilo.reserve('b', 1000000000) r, LATERAL (SELECT hilo.nextval('b') > high AS above) n;
SELECT * FROM hilo.reserve('up_to_five', 1);
SELECT * FROM hilo.reserve('small', 2);
CREATE SEQUENCE ends MAXVALUE 100000;
-- What is refused takes nothing; more than 65,536 take some more, if there are any.
SELECT * FROM hilo.reserve('ends', 100001);
CREATE SEQUENCE all_of MAXVALUE 100000;
SELECT * FROM hilo.reserve('all_of', 100000);
-- A block near the limit leaves what follows it.
CREATE SEQUENCE rest_of MAXVALUE 67000;
SELECT low, high, last_value FROM hilo.reserve('rest_of', 65537), LATERAL (SELECT last_value FROM rest_of WHERE high > 0) s;
DROP SEQUENCE rest_of;
SELECT * FROM hilo.reserve('ends', 65536);
SELECT * FROM hilo.reserve('ends', 34465);
SELECT * FROM hilo.reserve('ends', 34463);
SELECT hilo.nextval('ends');
SELECT hilo.nextval('ends');
SELECT * FROM hilo.reserve('ends', 1);
\set VERBOSITY default
SELECT hilo.reserve('sevens', 2);
SELECT hilo.reserve('down', 2);
SELECT hilo.reserve('b', 0);
SELECT hilo.reserve('b', NULL);
SELECT hilo.reserve(NULL, 5);
SET hilo.max_range_size = 100;
SELECT hilo.reserve('b', 101);

-- What it refuses: what is no sequence, nothing, read-only transactions, parallel workers.
SELECT hilo.nextval(NULL) IS NULL AS nothing;
SELECT hilo.nextval('t');
SELECT hilo.nextval('t_pkey');
SELECT hilo.nextval('drawing');
SELECT hilo.nextval('none');
SELECT hilo.nextval(0);
SELECT hilo.nextval(4000000000);
SELECT hilo.reserve('t', 1);
BEGIN READ ONLY;
SELECT hilo.nextval('b');
ROLLBACK;
BEGIN READ ONLY;
SELECT hilo.reserve('b', 3);
ROLLBACK;
-- A temporary one may be drawn from there; unlogged, too.
CREATE TEMPORARY SEQUENCE temporary;
CREATE UNLOGGED SEQUENCE unlogged;
BEGIN READ ONLY;
SELECT hilo.nextval('temporary'), hilo.nextval('temporary'), currval('temporary');
SELECT hilo.nextval('unlogged');
ROLLBACK;
SELECT hilo.nextval('unlogged'), hilo.nextval('unlogged'), hilo.nextval('temporary');
DISCARD TEMP;
SELECT hilo.nextval('temporary');
-- In SERIALIZABLE and REPEATABLE READ transactions.
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT hilo.nextval('unlogged') > 0 AS drawn, (SELECT low > 0 FROM hilo.reserve('unlogged', 3)) AS reserved;
COMMIT;

-- The right to draw is that of nextval(): USAGE or UPDATE; taken back, it is noticed at once, also with numbers that are held.
CREATE ROLE regress_hilo_drawer;
CREATE ROLE regress_hilo_group;
GRANT USAGE ON SCHEMA regress_sequences TO regress_hilo_drawer;
CREATE SEQUENCE guarded;
SELECT count(hilo.nextval('guarded')) FROM generate_series(1, 100);
CREATE FUNCTION as_drawer() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text;
BEGIN
	SET LOCAL ROLE regress_hilo_drawer;
	state := left(state_of($s$SELECT hilo.nextval('guarded')$s$), 5) || left(state_of($s$SELECT hilo.reserve('guarded', 2)$s$), 5) || left(state_of($s$SELECT nextval('guarded')$s$), 5);
	SET LOCAL ROLE NONE;
	RETURN state;
END $$;
SELECT as_drawer();
GRANT SELECT ON SEQUENCE guarded TO regress_hilo_drawer;
SELECT as_drawer();
GRANT USAGE ON SEQUENCE guarded TO regress_hilo_drawer;
SELECT as_drawer();
REVOKE USAGE ON SEQUENCE guarded FROM regress_hilo_drawer;
SELECT as_drawer();
GRANT UPDATE ON SEQUENCE guarded TO regress_hilo_group;
SELECT as_drawer();
GRANT regress_hilo_group TO regress_hilo_drawer;
SELECT as_drawer();
REVOKE regress_hilo_group FROM regress_hilo_drawer;
SELECT as_drawer();
ALTER SEQUENCE guarded OWNER TO regress_hilo_drawer;
SELECT as_drawer();
ALTER SEQUENCE guarded OWNER TO CURRENT_USER;
SELECT as_drawer();
SET ROLE regress_hilo_drawer;
SELECT hilo.nextval('guarded');
DO $$
BEGIN
	PERFORM hilo._identity_nextval('guarded', x) FROM XMLTABLE('/a' PASSING (xml '<a/>') COLUMNS x internal PATH 'b');
EXCEPTION WHEN undefined_function OR feature_not_supported OR insufficient_privilege THEN
	RAISE WARNING 'SQL cannot call it';
END $$;
RESET ROLE;
-- Some minor releases of the server let SQL call it: with another type, a call is like theirs.
DO $$ BEGIN
	EXECUTE format('CREATE FUNCTION forged(regclass, text) RETURNS bigint LANGUAGE C AS %L, %L', (SELECT p.probin FROM pg_proc p WHERE p.proname = '_identity_nextval'), 'hilo_identity_nextval');
END $$;
SET ROLE regress_hilo_drawer;
SELECT forged('guarded', NULL);
PREPARE forged(text) AS SELECT forged('guarded', $1);
EXECUTE forged('x');
DEALLOCATE forged;
RESET ROLE;
DROP FUNCTION forged;
-- A role without USAGE on the schema hilo cannot name the function; a default calls it all the same.
CREATE TABLE defaulted (id bigint DEFAULT hilo.nextval('guarded'), x int);
GRANT INSERT, SELECT ON defaulted TO regress_hilo_drawer;
GRANT USAGE ON SEQUENCE guarded TO regress_hilo_drawer;
REVOKE USAGE ON SCHEMA hilo FROM PUBLIC;
SET ROLE regress_hilo_drawer;
SELECT hilo.nextval('guarded');
INSERT INTO defaulted (x) VALUES (1), (2);
SELECT count(*), count(DISTINCT id) FROM defaulted;
RESET ROLE;
GRANT USAGE ON SCHEMA hilo TO PUBLIC;
REVOKE EXECUTE ON FUNCTION hilo.nextval(regclass) FROM PUBLIC;
SET ROLE regress_hilo_drawer;
INSERT INTO defaulted (x) VALUES (1);
RESET ROLE;
GRANT EXECUTE ON FUNCTION hilo.nextval(regclass) TO PUBLIC;

-- ALTER SEQUENCE meanwhile, in this session.
CREATE SEQUENCE altered;
SELECT count(hilo.nextval('altered')) FROM generate_series(1, 100);
ALTER SEQUENCE altered INCREMENT 10;
SELECT hilo.nextval('altered') - hilo.nextval('altered') AS minus_ten;
ALTER SEQUENCE altered INCREMENT 1 CACHE 50;
SELECT hilo.nextval('altered') - hilo.nextval('altered') AS minus_one;
ALTER SEQUENCE altered AS smallint MAXVALUE 30000 CACHE 1;
SELECT hilo.nextval('altered') - hilo.nextval('altered') AS minus_one;
ALTER SEQUENCE altered RENAME TO renamed;
ALTER SEQUENCE renamed SET SCHEMA public;
SELECT hilo.nextval('public.renamed') - hilo.nextval('public.renamed') AS minus_one;
DROP SEQUENCE public.renamed;
-- Dropped, with a range in the session; a default that draws from it depends on it.
DROP SEQUENCE guarded;
DROP SEQUENCE guarded CASCADE;
DROP SCHEMA regress_sequences CASCADE;
SELECT count(*) FROM hilo.ranges;
DROP ROLE regress_hilo_drawer, regress_hilo_group;
