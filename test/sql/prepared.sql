-- Promises 1 and 4: a prepared transaction neither keeps nor takes back what was drawn, claimed, seeded or dropped in it.
-- (The second expected output is that of a server with max_prepared_transactions = 0, whose hint depends on the version.)
\set VERBOSITY terse

-- A draw that waits for the prepared transaction would wait for ever.
SET statement_timeout = '1min';
SELECT hilo_next('prepared'), hilo.seed('prepared_seed', 10);
BEGIN;
SELECT hilo_next('prepared'), hilo_next('prepared_first');
SELECT low, high FROM hilo_reserve('prepared_reserve', 10);
SELECT hilo.seed('prepared_seed', 100);
PREPARE TRANSACTION 'regress_hilo';
SELECT hilo_next('prepared'), hilo_next('prepared_first'), hilo_next('prepared_seed');
SELECT low, high FROM hilo_reserve('prepared_reserve', 10);
ROLLBACK PREPARED 'regress_hilo';
SELECT hilo_next('prepared'), hilo_next('prepared_first'), hilo_next('prepared_seed');
SELECT low, high FROM hilo_reserve('prepared_reserve', 10);
BEGIN;
SELECT hilo_next('prepared'), hilo_next('prepared_second'), hilo.drop('prepared_seed');
PREPARE TRANSACTION 'regress_hilo';
SELECT hilo_next('prepared'), hilo_next('prepared_second'), hilo_next('prepared_seed');
COMMIT PREPARED 'regress_hilo';
SELECT hilo_next('prepared'), hilo_next('prepared_second'), hilo_next('prepared_seed');
SELECT collection, max FROM hilo.hilo WHERE collection LIKE 'prepared%' AND collection NOT LIKE '%|' ORDER BY 1;
-- A temporary table that draws from the sequence, too, is not opened when another one is attached.
CREATE TABLE prepared_table (id serial PRIMARY KEY);
CREATE TEMPORARY TABLE prepared_temporary (id int PRIMARY KEY DEFAULT nextval('prepared_table_id_seq'));
BEGIN;
SELECT hilo.attach('prepared_table');
PREPARE TRANSACTION 'regress_hilo';
COMMIT PREPARED 'regress_hilo';
