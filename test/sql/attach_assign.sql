-- The stored value decides which kind of id a row gets: the trigger of an attached table assigns.

CREATE SCHEMA regress_assign;
SET search_path = regress_assign, public;
SET client_min_messages = warning;
SET hilo.range_size = 4;
SET hilo.max_range_size = 4;
CREATE FUNCTION max_of(name text) RETURNS bigint LANGUAGE sql AS 'SELECT max FROM hilo.hilo WHERE collection = name';

-- Each kind of id; one trigger alone.
CREATE TABLE notes (id text COLLATE "C" PRIMARY KEY, body text);
INSERT INTO notes VALUES ('notes/7-A'), ('notes/3');
SELECT hilo.attach('notes', assign => true);
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'notes'::regclass;
INSERT INTO notes VALUES (NULL), ('notes/'), ('notes|'), ('of-ann') RETURNING id;
INSERT INTO notes VALUES ('') RETURNING id ~ '^[0-9a-f]{8}-[0-9a-f-]{27}$' AS guid;
INSERT INTO notes (body) VALUES ('by default') RETURNING id;
-- An identity that a document already has is skipped.
INSERT INTO notes VALUES ('notes|'), ('notes|') RETURNING id;
SELECT max_of('notes'), max_of('notes|'), max_of('|');
-- Neither server-side ids nor identities keep a number from being drawn; ids with its tag do.
SELECT hilo_last_number('notes') AS last \gset
INSERT INTO notes SELECT 'notes/' || :last + n || v FROM generate_series(1, 6) n, (VALUES (''), ('-B')) t(v);
INSERT INTO notes VALUES (NULL) RETURNING hilo_number(id) - :last AS next;
-- What the session holds already collides once.
INSERT INTO notes SELECT 'notes/' || :last + n || '-A' FROM generate_series(2, 50) n;
\set VERBOSITY sqlstate
INSERT INTO notes VALUES (NULL);
\set VERBOSITY default
INSERT INTO notes VALUES (NULL) RETURNING hilo_number(id) - :last > 50 AS above;
-- An update assigns nothing.
UPDATE notes SET id = 'notes/' WHERE id = 'of-ann' RETURNING id;
UPDATE notes SET id = NULL WHERE id = 'notes/';

-- Attached again, it stays so unless the call says otherwise.
SELECT hilo.attach('notes');
INSERT INTO notes VALUES (NULL) RETURNING id ~ '^notes/\d+-A$' AS drawn;
SELECT hilo.attach('notes', assign => false);
INSERT INTO notes VALUES ('notes|') RETURNING id;
INSERT INTO notes VALUES (NULL);
SELECT hilo.attach('notes', assign => true);
INSERT INTO notes VALUES (NULL) RETURNING id ~ '^notes/\d+-A$' AS drawn;
SELECT hilo.detach('notes');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'notes'::regclass;

-- A default that was replaced is only told.
CREATE TABLE kept (id varchar(20) PRIMARY KEY DEFAULT 'it''s ' || 1);
RESET client_min_messages;
SELECT hilo.attach('kept', assign => true);
SET client_min_messages = warning;
INSERT INTO kept VALUES ('kept|') RETURNING id;
INSERT INTO kept DEFAULT VALUES RETURNING id;
INSERT INTO kept VALUES ('kept-with-a-name-too-long/');
SELECT hilo.detach('kept');
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'kept'::regclass;

-- A trigger has names, so after one has changed it is made again.
CREATE TABLE renamed (id text PRIMARY KEY, x int);
SELECT hilo.attach('renamed', assign => true);
ALTER TABLE renamed RENAME id TO key;
INSERT INTO renamed (x) VALUES (1);
SELECT hilo.attach('renamed', assign => true);
INSERT INTO renamed (x) VALUES (1) RETURNING key;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'renamed'::regclass;
SELECT oid AS made FROM pg_trigger WHERE tgrelid = 'renamed'::regclass \gset
SELECT hilo.attach('renamed', assign => true) > 0 AS again, (SELECT oid = :made FROM pg_trigger WHERE tgrelid = 'renamed'::regclass) AS same;
-- The trigger of another column stays.
CREATE TABLE refers (id text PRIMARY KEY, other text);
SELECT hilo.attach('refers', assign => true);
SELECT hilo.attach('refers', 'other', collection => 'others', assign => true);
SELECT hilo.attach('refers', 'other', collection => 'others');
INSERT INTO refers VALUES ('refers|', 'as it is') RETURNING *;
SELECT hilo.attach('refers', 'other', collection => 'others', assign => false), hilo.detach('refers', 'other');
INSERT INTO refers VALUES ('refers|', 'as it is') RETURNING *;
SELECT hilo.detach('refers', 'id');
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'refers'::regclass;
-- One without arguments is for no column.
CREATE TRIGGER hilo_assign_id BEFORE INSERT ON refers FOR EACH ROW EXECUTE FUNCTION hilo.assign_id();
SELECT hilo.attach('refers', assign => true) >= 0 AS attached;
SELECT tgnargs FROM pg_trigger WHERE tgrelid = 'refers'::regclass;

-- Partitions
CREATE TABLE parts (id text, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
SELECT hilo.attach('parts', 'id', assign => true);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts VALUES ('parts|', 1), ('parts|', 2), (NULL, 2) RETURNING id, part;
INSERT INTO parts_2 VALUES ('parts|', 2) RETURNING id;

-- In a column of numbers, ids have no kinds.
CREATE TABLE numbers (id bigserial PRIMARY KEY);
SELECT hilo.attach('numbers', assign => true);
SELECT hilo.attach('numbers', collection => 'numbers', assign => true);
DROP SCHEMA regress_assign CASCADE;
SELECT count(hilo.drop(collection)) FROM hilo.hilo WHERE collection IN ('notes', 'kept', 'parts', 'numbers', 'renamed', 'refers', 'others');
SELECT count(hilo.drop(rtrim(name, '|') || '|')) FROM hilo.identities WHERE name IN ('notes', 'kept', 'parts', 'refers');
