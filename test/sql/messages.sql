-- Messages: a call that does nothing, or may be a mistake, says so; each hint is a solution, which is tried here.
\set SHOW_CONTEXT never

CREATE SCHEMA regress_messages;
SET search_path = regress_messages, public;

-- A seed that moves nothing; not one that makes the collection, nor by hilo.sync(), nor with force.
SELECT hilo.seed('msg', 0), hilo.seed('msg', 50);
SELECT hilo.seed('msg', 50);
SELECT hilo.seed('msg', 20);
SELECT hilo.seed('msg', 20, true), hilo.seed('msg', 20, force => true), hilo_next_number('msg');
SELECT seed_identity_for('msg/', 7);
SELECT seed_identity_for('msg|', 3);
SELECT hilo.seed('msg|', 7);
SELECT seed_identity_for('msg', 3, force => true), next_identity('msg');
CREATE TABLE msg_synced (id bigint PRIMARY KEY);
SELECT hilo.attach('msg_synced', collection => 'msg_synced');
INSERT INTO msg_synced VALUES (5);
SELECT hilo.sync('msg_synced'), hilo.sync('msg_synced');
SELECT count(*) > 0 AS synced FROM hilo.sync();

-- A collection that is made by its options, as by a typing error.
SELECT hilo.configure('mgs', range_size => 4);
SELECT hilo.drop('mgs');
SELECT hilo.allow('mgs', 'public');
SELECT hilo.allow('mgs', 'public');
SELECT hilo.drop('mgs');
SELECT count(*) AS grants FROM hilo.binding WHERE collection = 'mgs';
SELECT hilo.configure('mgs|', max_value => 10);
SELECT hilo.drop('mgs|');

-- What does not exist, or no longer exists.
SELECT hilo.drop('mgs');
SELECT hilo.drop('mgs|');
SELECT hilo.detach('mgs');
CREATE TABLE msg_other (key bigint PRIMARY KEY, other int);
SELECT hilo.detach('msg_other');
SELECT hilo.detach('msg_other', 'other');
SELECT hilo.detach('msg_other', 'none');
SELECT relation, column_name FROM hilo.attachments WHERE relation::text LIKE '%msg%';
CREATE TABLE msg_gone (id bigserial PRIMARY KEY);
SELECT 'msg_gone'::regclass::oid AS gone \gset
SELECT hilo.attach('msg_gone');
DROP TABLE msg_gone;
CREATE FUNCTION said(statement text, OUT message text, OUT hint text) LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	message := regexp_replace(SQLERRM, 'OID \d+', 'OID ...');
END $$;
SELECT * FROM said(format('SELECT hilo.detach(%s)', :gone));

-- A name that a counter of the other kind has.
SELECT hilo_next_number('msg_kind'), next_identity_for('msg_id');
SELECT hilo.drop('msg_id');
SELECT hilo.drop('msg_kind|');
SELECT hilo.drop('msg_id|'), hilo.drop('msg_kind');
SELECT hilo.drop('msg_id');

-- An identity is called so, without its bar.
SELECT hilo.sync('msg|');
SELECT hilo.lease_from('msg|', NULL);

-- Types that hold no ids of a collection.
CREATE TABLE msg_uuid (id uuid PRIMARY KEY);
SELECT hilo.attach('msg_uuid');
ALTER TABLE msg_uuid ALTER id SET DEFAULT gen_random_uuid();
INSERT INTO msg_uuid DEFAULT VALUES RETURNING length(id::text);
CREATE TABLE msg_numeric (id numeric PRIMARY KEY);
SELECT hilo.attach('msg_numeric');
ALTER TABLE regress_messages.msg_numeric ALTER COLUMN id TYPE bigint;
SELECT hilo.attach('msg_numeric');
INSERT INTO msg_numeric DEFAULT VALUES RETURNING id;

-- No number was drawn.
SELECT hilo_last_number('msg_drawn');
SELECT hilo_next_number('msg_drawn'), hilo_last_number('msg_drawn');

-- Attach: the primary key, whatever its name is.
SELECT hilo.attach('msg_other');
INSERT INTO msg_other DEFAULT VALUES RETURNING key;
CREATE TABLE msg_two (a bigint, b bigint, PRIMARY KEY (a, b));
SELECT hilo.attach('msg_two');
SELECT hilo.attach('msg_two', 'b');
-- The notice about lastval(): of a collection, and only if it worked before.
CREATE TABLE msg_serial (id serial PRIMARY KEY);
SELECT hilo.attach('msg_serial');
SELECT hilo.detach('msg_serial');
SELECT hilo.attach('msg_serial', collection => 'msg_serial');
-- Generated.
CREATE TABLE msg_generated (a bigint, id bigint GENERATED ALWAYS AS (a + 1) STORED PRIMARY KEY);
SELECT hilo.attach('msg_generated');
ALTER TABLE msg_generated ALTER COLUMN id DROP EXPRESSION;
SELECT hilo.attach('msg_generated');
-- The key of partitions, which a trigger cannot assign.
CREATE TABLE msg_parts (id text PRIMARY KEY) PARTITION BY HASH (id);
CREATE TABLE msg_part PARTITION OF msg_parts FOR VALUES WITH (MODULUS 1, REMAINDER 0);
SELECT hilo.attach('msg_parts', assign => true);
SELECT hilo.attach('msg_parts');
INSERT INTO msg_parts DEFAULT VALUES RETURNING id;
-- Full: by its ids, which are far; by its sequence; by the collection's other table; by the collection's own limit.
CREATE TABLE msg_full (id smallserial PRIMARY KEY);
INSERT INTO msg_full VALUES (32767);
SELECT hilo.attach('msg_full');
INSERT INTO msg_full DEFAULT VALUES RETURNING id;
SELECT hilo.attach('msg_full');
SELECT hilo.detach('msg_full');
UPDATE msg_full SET id = setval('msg_full_id_seq', 32767) - 32766 WHERE id = 32767;
SELECT hilo.attach('msg_full');
INSERT INTO msg_full DEFAULT VALUES;
SELECT hilo.detach('msg_full');
SELECT hilo.attach('msg_full', collection => 'msg_full');
CREATE TABLE msg_full_too (id smallint PRIMARY KEY);
SELECT hilo.seed('msg_full', 32767);
SELECT hilo.attach('msg_full_too', collection => 'msg_full');
SELECT hilo.attach('msg_full_too', collection => 'msg_full_too');
SELECT hilo.configure('msg_limited', max_value => 5);
CREATE TABLE msg_limited (id smallint PRIMARY KEY);
INSERT INTO msg_limited VALUES (1);
SELECT hilo.seed('msg_limited', 5);
SELECT hilo.attach('msg_limited', collection => 'msg_limited');
SELECT hilo.configure('msg_limited', max_value => 50), hilo.attach('msg_limited', collection => 'msg_limited');
-- A row with the last bigint marks an end, and does not count.
CREATE TABLE msg_end (id bigint PRIMARY KEY);
INSERT INTO msg_end VALUES (9223372036854775807);
SELECT hilo.attach('msg_end');
UPDATE msg_end SET id = 5;
SELECT hilo.attach('msg_end');

-- A warning when nine tenths of a type are used, once per session and collection, whatever uses them.
CREATE TABLE msg_small (id smallint PRIMARY KEY);
CREATE TABLE msg_small_2 (id smallint PRIMARY KEY);
SELECT hilo.attach('msg_small', collection => 'msg_small'), hilo.attach('msg_small_2', collection => 'msg_small_2');
SELECT hilo.configure('msg_small', range_size => 1, max_range_size => 1), hilo.seed('msg_small', 29489);
SELECT hilo_next_number('msg_small');
SELECT hilo_next_number('msg_small');
SELECT hilo.seed('msg_small', 100, true), hilo.seed('msg_small', 30000);
\c -
SET search_path = regress_messages, public;
SELECT low, high FROM hilo_reserve('msg_small', 1);
SELECT low, high FROM hilo.next_range('msg_small');
-- Not before a limit set by hand, even if a table lowers it; again when that limit is reset.
SELECT hilo.configure('msg_chosen', max_value => 100, range_size => 1, max_range_size => 1);
SELECT count(hilo_next_number('msg_chosen')) FROM generate_series(1, 99);
SELECT hilo.seed('msg_chosen', 100);
SELECT hilo.configure('msg_small', max_value => 32000);
\c -
SET search_path = regress_messages, public;
SELECT hilo_next_number('msg_small');
SELECT hilo.configure('msg_small', max_value => 32767), hilo.configure('msg_chosen', max_value => 40000);
\c -
SET search_path = regress_messages, public;
SELECT hilo_next_number('msg_small');
CREATE TABLE msg_chosen (id smallint PRIMARY KEY);
SELECT hilo.attach('msg_chosen', collection => 'msg_chosen'), hilo.seed('msg_chosen', 32700);
-- The solution in its hint.
ALTER TABLE msg_chosen ALTER id TYPE int;
\c -
SET search_path = regress_messages, public;
SELECT hilo_next_number('msg_chosen');
SELECT max_value FROM hilo.status WHERE collection = 'msg_chosen';

SET client_min_messages = warning;
DROP SCHEMA regress_messages CASCADE;
SELECT count(hilo.drop(collection)) > 0 AS dropped FROM hilo.hilo WHERE collection LIKE 'msg%' AND collection NOT LIKE '%|';
SELECT hilo.drop('msg|');
