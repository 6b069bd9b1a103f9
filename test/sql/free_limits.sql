-- Promise 5 and 42501 for the next free identity: it finds what is free below the limit, and an ordinary role cannot make it jump far.
SET client_min_messages = warning;
CREATE TABLE fl_small (id smallint PRIMARY KEY);
INSERT INTO fl_small SELECT generate_series(1, 20000) UNION SELECT 32767;
SELECT value, tries < 62 AS few FROM next_identity_free_for('fl_small');
-- 33 documents at the places where galloping looks: above 2^10 they do not drive it on.
CREATE TABLE fl_sparse (id int PRIMARY KEY);
INSERT INTO fl_sparse SELECT 1 UNION SELECT least(1 + 2::bigint ^ i, 2147483647)::int FROM generate_series(0, 31) i;
SELECT value < 65536 AS near, tries < 62 AS few FROM next_identity_free_for('fl_sparse');
-- All is taken.
CREATE TABLE fl_full (id smallint PRIMARY KEY);
INSERT INTO fl_full SELECT generate_series(8, 32767);
SELECT seed_identity_for('fl_full', 7), next_identity_free('fl_full');
SELECT value FROM hilo.identities WHERE name = 'fl_full';
SELECT seed_identity_for('fl_full', 32767), next_identity_free('fl_full');
-- The counter has a limit of its own.
INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('fl_limit|', 5, 7);
CREATE TABLE fl_limit (id int PRIMARY KEY);
INSERT INTO fl_limit SELECT generate_series(1, 8);
SELECT hilo.bind('fl_limit', 'fl_limit', 'id');
SELECT next_identity_free('fl_limit');
-- Free numbers below it are found, although those above it are free, too; the last one is given.
SELECT seed_identity_for('fl_limit', 1, true);
DELETE FROM fl_limit WHERE id IN (6, 7);
SELECT value, tries FROM next_identity_free_for('fl_limit');
SELECT hilo.unbind('fl_limit');
CREATE TABLE fl_assign (id text PRIMARY KEY);
CREATE TRIGGER hilo_assign_id BEFORE INSERT ON fl_assign FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
SELECT hilo.configure('fl_assign|', max_value => 1000);
INSERT INTO fl_assign SELECT 'fl_assign/' || n FROM generate_series(1, 700) n;
INSERT INTO fl_assign SELECT 'fl_assign/' || n FROM generate_series(1001, 1600) n;
INSERT INTO fl_assign VALUES ('fl_assign|') RETURNING id;
SELECT next_identity_free('fl_assign');
-- One of two tables was dropped: its binding does not count, until there is a table of that name and owner again.
CREATE TABLE fl_here (id int PRIMARY KEY);
CREATE TABLE fl_there (id int PRIMARY KEY);
SELECT hilo.bind('fl_shared', 'fl_there', 'id'), hilo.bind('fl_shared', 'fl_here', 'id');
INSERT INTO fl_here VALUES (1), (2);
INSERT INTO fl_there VALUES (3);
SELECT next_identity_free('fl_shared');
DROP TABLE fl_there;
SELECT seed_identity_for('fl_shared', 0, true), next_identity_free('fl_shared');
CREATE TABLE fl_there (id int PRIMARY KEY);
INSERT INTO fl_there VALUES (3), (4);
SELECT seed_identity_for('fl_shared', 0, true), next_identity_free('fl_shared');
-- None is left: no number that nobody looked for.
DROP TABLE fl_here, fl_there;
SELECT next_identity_free('fl_shared');
SELECT hilo.unbind('fl_shared');
CREATE TABLE fl_here (id int PRIMARY KEY);
-- A table of an ordinary role, filled so that the search makes a large jump.
CREATE ROLE regress_fl;
CREATE SCHEMA regress_fl AUTHORIZATION regress_fl;
SELECT seed_identity_for('fl_victim', 2);
SET ROLE regress_fl;
SET search_path = regress_fl, public;
CREATE TABLE fl_victim (id bigint PRIMARY KEY);
INSERT INTO fl_victim SELECT generate_series(3, 1048580);
SELECT next_identity_free('fl_victim');
SELECT next_identity('fl_victim');
DELETE FROM fl_victim WHERE id > 5;
SELECT next_identity_free('fl_victim');
-- Where it is bound, whoever may call the function may look.
RESET ROLE;
RESET search_path;
CREATE SCHEMA regress_fl_private;
CREATE TABLE regress_fl_private.fl_hidden (id text PRIMARY KEY);
GRANT SELECT ON regress_fl_private.fl_hidden TO regress_fl;
SELECT hilo.bind('fl_hidden', 'regress_fl_private.fl_hidden', 'id');
SELECT as_role('regress_fl', $$SELECT next_identity_free('fl_hidden')$$);
-- Where it is not, he needs SELECT, on the table or its key.
INSERT INTO regress_fl_private.fl_hidden VALUES ('fl_hidden/2');
SELECT hilo.unbind('fl_hidden');
GRANT USAGE ON SCHEMA regress_fl_private TO regress_fl;
REVOKE SELECT ON regress_fl_private.fl_hidden FROM regress_fl;
SET search_path = regress_fl_private, public;
SELECT as_role('regress_fl', $$SELECT next_identity_free('fl_hidden')$$);
GRANT SELECT (id) ON fl_hidden TO regress_fl;
SET ROLE regress_fl;
SELECT next_identity_free('fl_hidden');
-- Not in the search_path: no table, unless one is bound.
SET search_path = public;
SELECT next_identity_free('fl_hidden');
\set VERBOSITY sqlstate
SELECT next_identity_free('fl_hidden');
RESET ROLE;
-- A table without a primary key, or with one of two columns; a view.
CREATE TABLE fl_none (id int);
CREATE TABLE fl_two (a int, b int, PRIMARY KEY (a, b));
CREATE VIEW fl_view AS SELECT id FROM fl_small;
SELECT next_identity_free('fl_none');
SELECT next_identity_free('fl_two');
SELECT next_identity_free('fl_view');
-- Bound to a column without an index, which gets one.
SELECT hilo.bind('fl_none', 'fl_none', 'id');
SELECT next_identity_free('fl_none');
\set VERBOSITY default
SELECT next_identity_free('fl_none');
INSERT INTO fl_none VALUES (1);
CREATE INDEX ON fl_none (id);
SELECT next_identity_free('fl_none');
SELECT hilo.unbind('fl_none');
DROP VIEW fl_view;
-- Not a system column; and a table of bindings that was altered.
INSERT INTO hilo.binding VALUES ('fl_system', 'public', 'fl_small', 'ctid', current_user);
SELECT column_name FROM hilo.binding WHERE collection = 'fl_system';
SELECT next_identity_free('fl_system');
SELECT hilo.unbind('fl_system');
BEGIN;
ALTER TABLE hilo.binding RENAME COLUMN owner TO holder;
SAVEPOINT a;
SELECT hilo.bind('fl_small', 'fl_small', 'id');
ROLLBACK TO a;
SELECT hilo.unbind('fl_small');
ROLLBACK;
SELECT next_identity_free('fl_small');
DROP OWNED BY regress_fl;
DROP ROLE regress_fl;
