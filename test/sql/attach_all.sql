-- All tables of a schema at once: those whose key is drawn from a sequence; the result says why not.
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
CREATE VIEW defaults AS SELECT adrelid::regclass AS relation, pg_get_expr(adbin, adrelid) AS expression FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
	WHERE relnamespace = 'regress_all'::regnamespace ORDER BY adrelid::regclass::text COLLATE "C";
SELECT * FROM defaults;
SELECT count(*) FROM pg_trigger WHERE tgfoid::regproc::text LIKE 'hilo.%' AND tgrelid::regclass::text NOT LIKE 'hilo.%';
-- Tables with the names of attached ones in another schema.
SELECT * FROM hilo.attach_all('"regress All 2"');
-- Again: all are attached already.
SELECT * FROM hilo.attach_all('regress_all');
INSERT INTO a_serial DEFAULT VALUES RETURNING id;
INSERT INTO b_identity DEFAULT VALUES RETURNING number;
-- And back; one was changed since.
ALTER TABLE a_serial ALTER id SET DEFAULT 7;
RESET client_min_messages;
SELECT * FROM hilo.detach_all('regress_all');
SET client_min_messages = warning;
SELECT * FROM hilo.detach_all('regress_all');
SELECT * FROM hilo.detach_all('"regress All 2"');
SELECT * FROM defaults;
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

SET client_min_messages = warning;
DROP SCHEMA regress_all, "regress All 2", regress_empty CASCADE;
DROP OWNED BY regress_hilo_all;
DROP ROLE regress_hilo_all;
SELECT count(hilo.drop(collection)) > 0 AS dropped FROM hilo.hilo WHERE collection ~ '^(._|z_own|H )';
