-- Promises 1 and 2 when an owner changes the table hilo itself: what would lose claims, or rows, is refused.
SET client_min_messages = warning;
CREATE SCHEMA regress_ddl;
DROP EXTENSION hilo;
CREATE EXTENSION hilo SCHEMA regress_ddl;
SET search_path = regress_ddl, public;
SELECT hilo_nextval('seen');
-- An index that a rollback brings back would know nothing of a row made meanwhile.
BEGIN;
DROP INDEX hilo_collection_idx;
CREATE UNIQUE INDEX other ON hilo (collection COLLATE "C");
SELECT hilo_nextval('seen');
SELECT hilo_nextval('made');
ROLLBACK;
BEGIN;
SAVEPOINT a;
DROP INDEX hilo_collection_idx;
ROLLBACK TO a;
SELECT hilo_nextval('made');
COMMIT;
SELECT hilo_nextval('made'), count(*) FROM hilo WHERE collection = 'made';
-- Without an index only who has seen a row knows where it is; nothing is lost when it is there again.
DROP INDEX hilo_collection_idx;
SELECT hilo_release('made');
SELECT hilo_nextval('new');
CREATE UNIQUE INDEX hilo_collection_idx ON hilo (collection);
SELECT hilo_nextval('made'), hilo_nextval('new');
-- Indexes that changes in place would pass by, or that are not unique.
CREATE INDEX by_max ON hilo (max);
SELECT hilo_nextval('indexed');
DROP INDEX by_max;
CREATE UNIQUE INDEX including ON hilo (collection) INCLUDE (max);
SELECT hilo_nextval('indexed');
DROP INDEX including;
CREATE UNIQUE INDEX partial ON hilo (collection) WHERE max > 5;
SELECT hilo_nextval('indexed');
DROP INDEX partial;
CREATE INDEX plain ON hilo (collection);
SELECT hilo_nextval('indexed');
DROP INDEX plain;
CREATE UNIQUE INDEX lower_name ON hilo (lower(collection));
SELECT hilo_nextval('indexed');
DROP INDEX lower_name;
-- A statement on a parent does not get past the guards.
CREATE TABLE parent (LIKE hilo INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
ALTER TABLE hilo INHERIT parent;
UPDATE parent SET max = 0;
DELETE FROM parent;
TRUNCATE parent;
ALTER TABLE hilo NO INHERIT parent;
SELECT hilo_nextval('seen');
-- The guards do not read columns that are not what they were, nor guard other tables.
CREATE TABLE stranger (a int, b text);
CREATE TRIGGER g BEFORE INSERT ON stranger FOR EACH ROW EXECUTE FUNCTION hilo_guard_rows();
INSERT INTO stranger VALUES (1, 'x');
DROP TRIGGER g ON stranger;
CREATE TRIGGER g BEFORE INSERT ON stranger FOR EACH ROW EXECUTE FUNCTION hilo_guard_bindings();
INSERT INTO stranger VALUES (1, 'x');
DROP TABLE stranger;
BEGIN;
ALTER TABLE hilo DROP CONSTRAINT hilo_collection_check;
DROP INDEX hilo_collection_idx;
ALTER TABLE hilo ALTER collection TYPE int USING 1;
INSERT INTO hilo (collection) VALUES (5);
ROLLBACK;
SELECT hilo_nextval('seen');
-- A row put in around the guards is not changed before it is committed.
BEGIN;
ALTER TABLE hilo DISABLE TRIGGER ALL;
INSERT INTO hilo (collection, max) VALUES ('around', 7);
SAVEPOINT a;
SELECT hilo_nextval('around');
ROLLBACK TO a;
ALTER TABLE hilo ENABLE ALWAYS TRIGGER hilo_guard_rows, ENABLE ALWAYS TRIGGER hilo_guard_table, ENABLE ALWAYS TRIGGER hilo_guard_changes;
COMMIT;
SELECT hilo_nextval('around');
-- Neither unlogged nor with other columns.
ALTER TABLE hilo SET UNLOGGED;
SELECT hilo_nextval('around');
SELECT hilo_nextval('seen');
ALTER TABLE hilo SET LOGGED;
SELECT hilo_nextval('around');
ALTER TABLE hilo ADD COLUMN note text;
SELECT hilo_nextval('around');
DROP EXTENSION hilo;
DROP TABLE parent;
DROP SCHEMA regress_ddl;
RESET search_path;
CREATE EXTENSION hilo;
