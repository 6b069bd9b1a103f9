-- Promise 11: hilo.horizon() on one server: what it gives, and what it refuses, without waiting.
\set SHOW_CONTEXT never
\set VERBOSITY default
SET client_min_messages = warning;
CREATE SCHEMA regress_horizon;
SET search_path = regress_horizon, public;
CREATE SEQUENCE s;
CREATE SEQUENCE later START 10;
CREATE TABLE t (id bigserial PRIMARY KEY, v text);
CREATE TABLE own (id int GENERATED ALWAYS AS IDENTITY);

-- Not called yet: the number before the first one.
CALL hilo.horizon('s');
CALL hilo.horizon('later');
SELECT setval('later', 100, false);
CALL hilo.horizon('later');

-- The number drawn last, whoever drew it, and whatever became of it.
SELECT nextval('s'), hilo.nextval('s');
CALL hilo.horizon('s');
BEGIN;
INSERT INTO t (v) VALUES ('rolled back');
ROLLBACK;
CALL hilo.horizon('t_id_seq');
INSERT INTO own DEFAULT VALUES;
CALL hilo.horizon(pg_get_serial_sequence('own', 'id')::regclass);
SELECT setval('s', 1000);
CALL hilo.horizon('s');
CREATE TEMP SEQUENCE mine;
SELECT nextval('mine');
CALL hilo.horizon('mine');

-- It draws nothing, and is no currval.
SELECT last_value, is_called FROM s;
DISCARD SEQUENCES;
CALL hilo.horizon('s');
SELECT currval('s');

-- In PL/pgSQL; in transactions; read-only ones, too.
DO $$
DECLARE
	h bigint;
BEGIN
	INSERT INTO t (v) VALUES ('a');
	COMMIT;
	CALL hilo.horizon('t_id_seq', h);
	RAISE WARNING 'horizon %, rows %', h, (SELECT count(*) FROM t WHERE id <= h);
END $$;
BEGIN READ ONLY;
CALL hilo.horizon('t_id_seq') \gset
SELECT :horizon AS horizon, id, v FROM t WHERE id <= :horizon;
COMMIT;

-- Another one than what this transaction has drawn from.
BEGIN;
SELECT nextval('s');
CALL hilo.horizon('t_id_seq');
COMMIT;

--
-- Refused
--
BEGIN;
SELECT nextval('s');
CALL hilo.horizon('s');
ROLLBACK;
BEGIN;
INSERT INTO t (v) VALUES ('x');
CALL hilo.horizon('t_id_seq');
ROLLBACK;
-- Also if it was drawn in a subtransaction that was rolled back.
BEGIN;
SAVEPOINT a;
SELECT nextval('s');
ROLLBACK TO a;
CALL hilo.horizon('s');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
CALL hilo.horizon('s');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
CALL hilo.horizon('s');
ROLLBACK;
CALL hilo.horizon('t');
CALL hilo.horizon('nothing');
CALL hilo.horizon(NULL);
-- What lets a number come below one that was drawn before.
ALTER SEQUENCE s CACHE 2;
CALL hilo.horizon('s');
ALTER SEQUENCE s CACHE 1 CYCLE;
CALL hilo.horizon('s');
ALTER SEQUENCE s NO CYCLE INCREMENT -1;
CALL hilo.horizon('s');
ALTER SEQUENCE s INCREMENT 2;
CALL hilo.horizon('s');
-- What the hint says.
ALTER SEQUENCE regress_horizon.s CACHE 1 INCREMENT BY 1 NO CYCLE;
CALL hilo.horizon('s');
CREATE SEQUENCE "Odd name" CACHE 3;
CALL hilo.horizon('"Odd name"');

-- USAGE or SELECT is enough; UPDATE is not.
CREATE ROLE regress_horizon_reader;
GRANT USAGE ON SCHEMA regress_horizon TO regress_horizon_reader;
SET ROLE regress_horizon_reader;
CALL hilo.horizon('s');
RESET ROLE;
GRANT UPDATE ON SEQUENCE s TO regress_horizon_reader;
SET ROLE regress_horizon_reader;
CALL hilo.horizon('s');
RESET ROLE;
GRANT SELECT ON SEQUENCE s TO regress_horizon_reader;
SET ROLE regress_horizon_reader;
CALL hilo.horizon('s');
RESET ROLE;
REVOKE ALL ON SEQUENCE s FROM regress_horizon_reader;
GRANT USAGE ON SEQUENCE s TO regress_horizon_reader;
SET ROLE regress_horizon_reader;
CALL hilo.horizon('s');
RESET ROLE;

DROP SCHEMA regress_horizon CASCADE;
DROP ROLE regress_horizon_reader;
