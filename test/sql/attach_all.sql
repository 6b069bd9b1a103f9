-- All tables of a schema at once, and online.
\set SHOW_CONTEXT never

CREATE SCHEMA regress_all;
CREATE SCHEMA "regress All 2";
SET search_path = regress_all, public;
SET client_min_messages = warning;
CREATE TABLE a_serial (id serial PRIMARY KEY);
CREATE TABLE b_identity (number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, x int);
CREATE TABLE c_plain (id int PRIMARY KEY);
CREATE TABLE d_two (id serial, part int, PRIMARY KEY (id, part));
CREATE TABLE e_no_key (id serial);
CREATE TABLE f_full (id smallserial PRIMARY KEY);
INSERT INTO f_full VALUES (32767);
CREATE TABLE g_parts (id bigserial PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE g_part PARTITION OF g_parts DEFAULT;
CREATE TABLE "H 'quoted""" ("i d" serial PRIMARY KEY);
CREATE TABLE i_expression (id int PRIMARY KEY DEFAULT nextval('a_serial_id_seq') * 2);
CREATE TABLE j_text (id text PRIMARY KEY DEFAULT 'j' || nextval('a_serial_id_seq'));
CREATE TABLE k_parent (id serial PRIMARY KEY);
CREATE TABLE l_child (id int PRIMARY KEY) INHERITS (k_parent);
CREATE VIEW m_view AS SELECT * FROM a_serial;
CREATE TABLE "regress All 2".a_serial (id serial PRIMARY KEY);
CREATE TABLE "regress All 2".z_own (id serial PRIMARY KEY);
INSERT INTO a_serial SELECT FROM generate_series(1, 5);
SELECT * FROM hilo.attach_all('regress_all');
SELECT tgrelid::regclass, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgfoid = 'hilo.advance'::regproc ORDER BY tgrelid::regclass::text COLLATE "C";
-- Tables with the names of attached ones in another schema stay as they are; the result says why.
SELECT * FROM hilo.attach_all('"regress All 2"');
-- Again: all are attached already.
SELECT * FROM hilo.attach_all('regress_all');
INSERT INTO a_serial DEFAULT VALUES RETURNING id;
INSERT INTO b_identity DEFAULT VALUES RETURNING number;
-- And back; a notice reports the one that was changed since.
ALTER TABLE a_serial ALTER id SET DEFAULT 7;
RESET client_min_messages;
SELECT * FROM hilo.detach_all('regress_all');
SET client_min_messages = warning;
SELECT * FROM hilo.detach_all('regress_all');
SELECT * FROM hilo.detach_all('"regress All 2"');
SELECT count(*) FROM pg_trigger WHERE tgfoid = 'hilo.advance'::regproc;
SELECT attname, attidentity FROM pg_attribute WHERE attrelid = 'b_identity'::regclass AND attnum = 1;
-- A schema that does not exist, or has no tables; NULL.
SELECT * FROM hilo.attach_all('regress_none');
CREATE SCHEMA regress_empty;
SELECT * FROM hilo.attach_all('regress_empty');
SELECT * FROM hilo.detach_all('regress_empty');
SELECT * FROM hilo.attach_all(NULL);
-- An ordinary role: its own tables, and the reason why not the others.
CREATE ROLE regress_hilo_all;
ALTER TABLE a_serial OWNER TO regress_hilo_all;
GRANT USAGE, CREATE ON SCHEMA regress_all TO regress_hilo_all;
SET ROLE regress_hilo_all;
SELECT relation, result FROM hilo.attach_all('regress_all');
SELECT relation, result FROM hilo.detach_all('regress_all');
RESET ROLE;
BEGIN READ ONLY;
SELECT * FROM hilo.attach_all('regress_all');
COMMIT;

-- Online: the same, in steps that commit.
RESET client_min_messages;
CREATE TABLE online (id serial PRIMARY KEY, x int);
INSERT INTO online SELECT FROM generate_series(1, 5);
CALL hilo.attach_online('online');
SELECT max, max_value FROM hilo.hilo WHERE collection = 'online';
INSERT INTO online DEFAULT VALUES RETURNING id;
-- Again: nothing is left to do.
CALL hilo.attach_online('online');
CALL hilo.attach_online('online', 'id', 'online');
INSERT INTO online DEFAULT VALUES RETURNING id > 6 AS above;
SELECT hilo.attach('online') > 0 AS attached;
SELECT hilo.detach('online');
-- It continues where a call was stopped: with the trigger only, with trigger and counter.
CREATE TRIGGER zzz_hilo_advance_id BEFORE INSERT ON online FOR EACH ROW EXECUTE FUNCTION hilo.advance('online', 'was sequence', 'attaching', 'id');
INSERT INTO online VALUES (100);
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'online'::regclass;
CALL hilo.attach_online('online');
INSERT INTO online DEFAULT VALUES RETURNING id;
SELECT hilo.detach('online');
-- An identity column, a default, text, partitions.
CREATE TABLE online_always (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
CALL hilo.attach_online('online_always', collection => 'online always');
INSERT INTO online_always DEFAULT VALUES RETURNING id;
SELECT hilo.detach('online_always');
CREATE TABLE online_text (id text PRIMARY KEY DEFAULT gen_random_uuid());
INSERT INTO online_text VALUES ('online_text/41-A');
CALL hilo.attach_online('online_text', 'id');
INSERT INTO online_text DEFAULT VALUES RETURNING id;
SELECT hilo.detach('online_text');
CREATE TABLE online_parts (id bigserial, part int) PARTITION BY LIST (part);
CREATE TABLE online_part PARTITION OF online_parts DEFAULT;
INSERT INTO online_parts VALUES (70, 1);
CALL hilo.attach_online('online_parts', 'id');
INSERT INTO online_parts DEFAULT VALUES RETURNING id;
SELECT hilo.detach('online_parts');
-- What is refused: a transaction block, a function, other collections, a full column; nothing is left behind.
BEGIN;
CALL hilo.attach_online('online');
ROLLBACK;
DO $$ BEGIN CALL hilo.attach_online('online'); END $$;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'online'::regclass;
CREATE FUNCTION calls() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CALL hilo.attach_online('online_text'); END $$;
SELECT calls();
CALL hilo.attach_online('online', 'id', 'other');
CALL hilo.attach_online('f_full');
CALL hilo.attach_online('c_plain', 'none');
CALL hilo.attach_online(NULL);
SET ROLE regress_hilo_all;
CALL hilo.attach_online('c_plain');
RESET ROLE;
SELECT tgrelid::regclass FROM pg_trigger WHERE tgfoid = 'hilo.advance'::regproc;
SHOW lock_timeout;

SET client_min_messages = warning;
DROP SCHEMA regress_all, "regress All 2", regress_empty CASCADE;
DROP OWNED BY regress_hilo_all;
DROP ROLE regress_hilo_all;
SELECT count(hilo.drop(collection)) > 0 AS dropped FROM hilo.hilo WHERE collection ~ '^(._|online|z_own|H )';
