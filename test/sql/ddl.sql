-- Promises 1 and 2 when an owner changes our tables themselves: what would lose claims, or rows, is refused.
SET client_min_messages = warning;
CREATE SCHEMA regress_ddl;
DROP EXTENSION hilo;
CREATE EXTENSION hilo SCHEMA regress_ddl;
SET search_path = regress_ddl, public;
SELECT hilo_next_number('seen');
-- An index that a rollback brings back would know nothing of a row made meanwhile.
BEGIN;
DROP INDEX hilo.hilo_collection_idx;
CREATE UNIQUE INDEX other ON hilo.hilo (collection COLLATE "C");
SELECT hilo_next_number('seen');
SELECT hilo_next_number('made');
ROLLBACK;
BEGIN;
SAVEPOINT a;
DROP INDEX hilo.hilo_collection_idx;
ROLLBACK TO a;
SELECT hilo_next_number('made');
COMMIT;
SELECT hilo_next_number('made'), count(*) FROM hilo.hilo WHERE collection = 'made';
-- Nor would an index that was moved in this transaction, which locks only the index.
SET allow_in_place_tablespaces = on;
CREATE TABLESPACE regress_hilo_space LOCATION '';
BEGIN;
ALTER INDEX hilo.hilo_collection_idx SET TABLESPACE regress_hilo_space;
SELECT hilo_next_number('seen');
SAVEPOINT a;
SELECT hilo_next_number('moved');
ROLLBACK TO a;
SELECT hilo.seed('moved', 5);
ROLLBACK TO a;
INSERT INTO hilo.hilo (collection, max) VALUES ('moved', 5);
ROLLBACK;
BEGIN;
SAVEPOINT a;
ALTER INDEX hilo.hilo_collection_idx SET TABLESPACE regress_hilo_space;
RELEASE a;
SELECT hilo_next_number('moved');
ROLLBACK;
BEGIN;
SAVEPOINT a;
ALTER INDEX hilo.hilo_collection_idx SET TABLESPACE regress_hilo_space;
ROLLBACK TO a;
SELECT hilo_next_number('moved');
ROLLBACK;
SELECT hilo_next_number('moved'), count(*) FROM hilo.hilo WHERE collection = 'moved';
BEGIN;
ALTER TABLE hilo.hilo SET TABLESPACE regress_hilo_space;
SELECT hilo_reserve('seen', 1);
ROLLBACK;
ALTER INDEX hilo.hilo_collection_idx SET TABLESPACE regress_hilo_space;
ALTER TABLE hilo.hilo SET TABLESPACE regress_hilo_space;
SELECT hilo_next_number('moved'), hilo_next_number('moved_new');
ALTER INDEX hilo.hilo_collection_idx SET TABLESPACE pg_default;
ALTER TABLE hilo.hilo SET TABLESPACE pg_default;
SELECT hilo_next_number('moved'), hilo_next_number('moved_new');
DROP TABLESPACE regress_hilo_space;
RESET allow_in_place_tablespaces;
-- Without an index, a row is found only where it was last; nothing is lost once the index exists again.
SELECT low FROM hilo_reserve('made', 1);
DROP INDEX hilo.hilo_collection_idx;
SELECT low FROM hilo_reserve('made', 1);
SELECT hilo_next_number('new');
CREATE UNIQUE INDEX hilo_collection_idx ON hilo.hilo (collection);
SELECT hilo_next_number('made'), hilo_next_number('new');
-- An index of others does no harm, and is not taken for ours: a row that it lacks is found nevertheless.
CREATE INDEX by_max ON hilo.hilo (max);
CREATE UNIQUE INDEX partial ON hilo.hilo (collection) WHERE max > 1000000;
CREATE UNIQUE INDEX lower_name ON hilo.hilo (lower(collection));
SELECT hilo_next_number('indexed');
VACUUM FULL hilo.hilo;
SELECT hilo_next_number('indexed'), low > 0 AS reserved FROM hilo_reserve('seen', 2);
SELECT count(*) FROM hilo.hilo WHERE collection IN ('indexed', 'seen');
DROP INDEX hilo.by_max, hilo.partial, hilo.lower_name;
-- A statement on a parent table does not bypass the guards.
CREATE TABLE parent (LIKE hilo.hilo INCLUDING DEFAULTS INCLUDING CONSTRAINTS);
ALTER TABLE hilo.hilo INHERIT parent;
UPDATE parent SET max = 0;
DELETE FROM parent;
TRUNCATE parent;
ALTER TABLE hilo.hilo NO INHERIT parent;
SELECT hilo_next_number('seen') > 0 AS drawn;
-- The guard does not read columns that were altered, nor does it guard other tables.
CREATE TABLE stranger (a int, b text);
CREATE TRIGGER g BEFORE INSERT ON stranger FOR EACH ROW EXECUTE FUNCTION hilo.guard('hilo.seed', 'hilo.drop');
INSERT INTO stranger VALUES (1, 'x');
DROP TRIGGER g ON stranger;
CREATE TRIGGER g BEFORE INSERT ON stranger FOR EACH ROW EXECUTE FUNCTION hilo.guard();
INSERT INTO stranger VALUES (1, 'x');
DROP TABLE stranger;
BEGIN;
DROP INDEX hilo.hilo_collection_idx;
ALTER TABLE hilo.hilo ALTER collection TYPE int USING 1;
INSERT INTO hilo.hilo (collection) VALUES (5);
ROLLBACK;
SELECT hilo_next_number('seen') > 0 AS drawn;
-- A row inserted without firing the guards is not changed before it is committed; then the first claim makes it valid, with this table's home and a new epoch.
CREATE FUNCTION put_in(name text, epoch bigint) RETURNS void LANGUAGE sql AS $$
	INSERT INTO hilo.hilo (max, epoch, collection) VALUES (7, epoch, name)
$$;
BEGIN;
ALTER TABLE hilo.hilo DISABLE TRIGGER ALL;
SELECT put_in('around', 5);
SAVEPOINT a;
SELECT hilo_next_number('around');
ROLLBACK TO a;
ALTER TABLE hilo.hilo ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table;
COMMIT;
SELECT home, epoch FROM hilo.hilo WHERE collection = 'around';
SELECT hilo_next_number('around');
SELECT home = (SELECT home FROM hilo.hilo WHERE collection = 'seen') AS home, epoch <> 5 AS epoch, max FROM hilo.hilo WHERE collection = 'around';
-- So do a block, a seed and a drop.
BEGIN;
ALTER TABLE hilo.hilo DISABLE TRIGGER ALL;
SELECT put_in('around_reserved', 5), put_in('around_seeded', 5), put_in('around_dropped', 5);
ALTER TABLE hilo.hilo ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table;
COMMIT;
SELECT low, high FROM hilo_reserve('around_reserved', 3);
SELECT hilo.seed('around_seeded', 20), hilo_next_number('around_seeded');
SELECT hilo.drop('around_dropped'), hilo_next_number('around_dropped');
SELECT collection, home = (SELECT home FROM hilo.hilo WHERE collection = 'seen') AS home, epoch <> 5 AS epoch, max FROM hilo.hilo WHERE collection LIKE 'around\_%' ORDER BY 1;
DROP FUNCTION put_in;
-- Rows inserted without firing the guards are found by other sessions, too.
\c -
SET search_path = regress_ddl, public;
SELECT low, high FROM hilo_reserve('around_reserved', 3);
SELECT hilo_next_number('around_seeded') > 20 AS above;
SELECT count(*) = count(DISTINCT collection) AS no_name_twice FROM hilo.hilo;
-- What another session has told about the place of a row is not believed.
VACUUM FULL hilo.hilo;
\c -
SET search_path = regress_ddl, public;
SELECT low > 0 AS reserved FROM hilo_reserve('seen', 2);
-- Not unlogged.
SET client_min_messages = warning;
ALTER TABLE hilo.hilo SET UNLOGGED;
SELECT hilo_next_number('around');
SELECT hilo_next_number('seen');
ALTER TABLE hilo.hilo SET LOGGED;
SELECT hilo_next_number('around') > 0 AS drawn;
DROP EXTENSION hilo;
DROP TABLE parent;
DROP SCHEMA regress_ddl;
RESET search_path;
CREATE EXTENSION hilo;
