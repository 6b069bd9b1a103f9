-- hilo.nextval() gives the numbers of nextval(), in the same order, with the same currval(), lastval(), setval(), rights and errors.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA regress_sequences;
SET search_path = regress_sequences, public;
CREATE FUNCTION state_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'fine';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;

-- Numbers from 1, one after the other, mixed call by call with nextval(); currval(), lastval(), last_value.
CREATE SEQUENCE s;
SELECT hilo.nextval('s'), currval('s'), lastval();
SELECT count(n), count(DISTINCT n), min(n), max(n) FROM (SELECT hilo.nextval('s') n FROM generate_series(1, 5000)) d;
SELECT currval('s'), lastval(), last_value, is_called FROM s;
SELECT hilo.nextval('s'), nextval('s'), hilo.nextval('s'), currval('s');
SELECT count(DISTINCT n), max(n) FROM (SELECT CASE WHEN i % 3 = 0 THEN nextval('s') ELSE hilo.nextval('s') END n FROM generate_series(1, 1000) i) d;
SELECT last_value, log_cnt <= 32 AS as_ever FROM s;
SELECT count(*) FROM hilo.ranges;
DISCARD SEQUENCES;
SELECT lastval();
SELECT currval('s');
SELECT hilo.nextval('s'), lastval();

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
SELECT hilo.nextval('e');
ROLLBACK;
SELECT hilo.nextval('e');
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
-- After thousands of draws, which have logged numbers far ahead.
CREATE SEQUENCE w;
SELECT max(hilo.nextval('w')) FROM generate_series(1, 10000);
SELECT setval('w', 5000), hilo.nextval('w'), nextval('w');
BEGIN;
ALTER SEQUENCE w RESTART;
SELECT hilo.nextval('w'), nextval('w');
ROLLBACK;
SELECT hilo.nextval('w'), nextval('w');
ALTER SEQUENCE w RESTART WITH 7000;
SELECT hilo.nextval('w'), nextval('w');
ALTER SEQUENCE w START 500;
SELECT hilo.nextval('w'), nextval('w');
-- TRUNCATE ... RESTART IDENTITY, also rolled back.
CREATE TABLE truncated (id serial PRIMARY KEY, x int);
ALTER TABLE truncated ALTER id SET DEFAULT hilo.nextval('truncated_id_seq');
INSERT INTO truncated (x) SELECT 1 FROM generate_series(1, 10);
BEGIN;
TRUNCATE truncated RESTART IDENTITY;
INSERT INTO truncated (x) VALUES (1) RETURNING id;
ROLLBACK;
INSERT INTO truncated (x) VALUES (1) RETURNING id;
TRUNCATE truncated RESTART IDENTITY;
INSERT INTO truncated (x) VALUES (1) RETURNING id;
-- Dropped and made again: a new count; lastval() after DROP.
DROP TABLE truncated;
SELECT lastval();
CREATE TABLE truncated (id serial PRIMARY KEY);
ALTER TABLE truncated ALTER id SET DEFAULT hilo.nextval('truncated_id_seq');
INSERT INTO truncated DEFAULT VALUES RETURNING id, lastval();

-- Other increments, CYCLE, CACHE, limits: as nextval() counts.
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
CREATE SEQUENCE narrow MAXVALUE 640;
SELECT max(hilo.nextval('narrow')) FROM generate_series(1, 639);
SELECT hilo.nextval('narrow');
SELECT hilo.nextval('narrow');
SELECT setval('narrow', 10), hilo.nextval('narrow'), nextval('narrow');
-- CACHE is the server's: a session draws from its own numbers, by either function.
SELECT hilo.nextval('cached'), nextval('cached'), last_value FROM cached;
SELECT array_agg(hilo.nextval('cached')) FROM generate_series(1, 12);
SELECT last_value FROM cached;

-- What it refuses: what is no sequence, nothing, read-only transactions, parallel workers.
SELECT hilo.nextval(NULL) IS NULL AS nothing;
SELECT hilo.nextval('t');
SELECT hilo.nextval('truncated');
SELECT hilo.nextval('t_pkey');
SELECT hilo.nextval('drawing');
SELECT hilo.nextval('none');
SELECT hilo.nextval(0);
SELECT hilo.nextval(4000000000);
BEGIN READ ONLY;
SELECT hilo.nextval('s');
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
SELECT hilo.nextval('unlogged') > 0 AS drawn, nextval('unlogged') > 0 AS drawn_too;
COMMIT;

-- The right to draw is that of nextval(): USAGE or UPDATE; taken back, it is noticed at once.
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
	state := left(state_of($s$SELECT hilo.nextval('guarded')$s$), 5) || left(state_of($s$SELECT nextval('guarded')$s$), 5);
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
SELECT hilo.nextval('altered'), nextval('altered');
ALTER SEQUENCE altered INCREMENT 1 CACHE 50;
SELECT hilo.nextval('altered'), nextval('altered');
ALTER SEQUENCE altered AS smallint MAXVALUE 30000 CACHE 1;
SELECT hilo.nextval('altered'), nextval('altered');
ALTER SEQUENCE altered RENAME TO renamed;
ALTER SEQUENCE renamed SET SCHEMA public;
SELECT hilo.nextval('public.renamed'), nextval('public.renamed');
DROP SEQUENCE public.renamed;
-- Dropped; a default that draws from it depends on it.
DROP SEQUENCE guarded;
DROP SEQUENCE guarded CASCADE;
DROP SCHEMA regress_sequences CASCADE;
DROP ROLE regress_hilo_drawer, regress_hilo_group;
