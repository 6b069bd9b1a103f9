-- A trigger that came with a restore, or was disabled for a while: when it first fires the counter is advanced above what the column has, and no id collides; which ids count.
\set SHOW_CONTEXT never

CREATE EXTENSION IF NOT EXISTS hilo;
CREATE SCHEMA regress_seen;
SET search_path = regress_seen, public;
SET hilo.range_size = 4;
SET hilo.range_duration = 0;
SET client_min_messages = warning;
CREATE FUNCTION max_of(name text) RETURNS bigint LANGUAGE sql AS $$ SELECT max FROM hilo.hilo WHERE collection = name $$;
CREATE FUNCTION seen(relation regclass) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_trigger t JOIN hilo.binding b ON b.kind = 'noted' AND b.collection = '|' || t.oid || ' ' || t.xmin WHERE t.tgrelid = relation $$;

-- Made by hand, as a restore does, on a table with rows; the session has drawn before.
CREATE TABLE made (id bigint PRIMARY KEY DEFAULT hilo_next_number('made'), item text);
SELECT hilo_next_number('made');
INSERT INTO made SELECT generate_series(2, 10);
CREATE TRIGGER zzz_hilo_advance_id BEFORE INSERT ON made FOR EACH ROW EXECUTE FUNCTION hilo.advance('made', 'was nothing');
SELECT seen('made');
-- The default has drawn 2, which is there.
INSERT INTO made (item) VALUES ('first'), ('second') RETURNING id;
SELECT seen('made'), max_of('made');
INSERT INTO made (item) SELECT 'more' FROM generate_series(1, 5) RETURNING id;
-- Once it was seen, rows that bypass the trigger are not searched for again.
SET session_replication_role = replica;
INSERT INTO made VALUES (1000);
RESET session_replication_role;
INSERT INTO made VALUES (50);
SELECT max_of('made');

-- Disabled, then enabled: in between, ids were inserted that the counter does not know.
ALTER TABLE made DISABLE TRIGGER zzz_hilo_advance_id;
INSERT INTO made VALUES (2000);
SELECT max_of('made'), seen('made');
ALTER TABLE made ENABLE TRIGGER zzz_hilo_advance_id;
SELECT seen('made');
INSERT INTO made (item) VALUES ('after') RETURNING id;
SELECT max_of('made') > 2000 AS above, seen('made');
ALTER TABLE made DISABLE TRIGGER USER;
INSERT INTO made VALUES (3000);
ALTER TABLE made ENABLE TRIGGER USER;
INSERT INTO made VALUES (2999);
SELECT max_of('made');
ALTER TABLE made DISABLE TRIGGER USER;
INSERT INTO made VALUES (4000);
ALTER TABLE made ENABLE TRIGGER USER;
UPDATE made SET id = 3999 WHERE id = 50;
SELECT max_of('made');
-- An update of another column does not fire it.
ALTER TABLE made DISABLE TRIGGER USER;
INSERT INTO made VALUES (5000);
ALTER TABLE made ENABLE TRIGGER USER;
UPDATE made SET item = 'other' WHERE id = 5000;
SELECT max_of('made'), seen('made');
-- The id drawn for the row that makes it look is replaced, also one that was drawn in another statement; one given by hand is not.
SELECT hilo.seed('made', 0, true);
SELECT hilo_next_number('made') AS drawn \gset
INSERT INTO made VALUES (:drawn) RETURNING id;
SELECT seen('made');
ALTER TABLE made DISABLE TRIGGER USER;
ALTER TABLE made ENABLE TRIGGER USER;
SELECT hilo_next_number('made') AS drawn \gset
INSERT INTO made VALUES (:drawn + 100), (40), (:drawn) RETURNING id IN (40, :drawn + 100) AS given, id = :drawn AS drawn_before, id > :drawn AS above;
INSERT INTO made (item) VALUES ('next') RETURNING id > :drawn AS above;
DELETE FROM made;
ALTER TABLE made DISABLE TRIGGER USER;
ALTER TABLE made ENABLE TRIGGER USER;
-- In a transaction that rolls back: searched once more, no number twice.
BEGIN;
INSERT INTO made (item) VALUES ('gone') RETURNING id > 5000 AS above;
SELECT seen('made');
ROLLBACK;
SELECT seen('made');
INSERT INTO made (item) VALUES ('stays') RETURNING id > 5000 AS above;
SELECT seen('made');
BEGIN;
ALTER TABLE made DISABLE TRIGGER USER;
INSERT INTO made VALUES (9000);
ALTER TABLE made ENABLE TRIGGER USER;
INSERT INTO made (item) VALUES ('above') RETURNING id > 9000 AS above;
ROLLBACK;
INSERT INTO made (item) VALUES ('above') RETURNING id > 9000 AS above;
SELECT count(*), count(DISTINCT id) FROM made;
DROP TABLE made;

-- Numbers that somebody can have seen are stored as given, by a sort, a CTE, a function: that fails once, and then the counter is ahead.
CREATE FUNCTION restored(rows int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS bulk;
	CREATE TABLE bulk (id bigint PRIMARY KEY DEFAULT hilo_next_number('bulk'), item text);
	INSERT INTO bulk SELECT n, 'restored' FROM generate_series(1, rows) n;
	CREATE TRIGGER zzz_hilo_advance_id BEFORE INSERT ON bulk FOR EACH ROW EXECUTE FUNCTION hilo.advance('bulk');
	PERFORM hilo.seed('bulk', 0, true), hilo_next_number('bulk');
END $$;
SELECT restored(50);
INSERT INTO bulk SELECT hilo_next_number('bulk'), 'sorted' FROM generate_series(1, 20) n ORDER BY n DESC;
INSERT INTO bulk SELECT hilo_next_number('bulk'), 'sorted' FROM generate_series(1, 20) n ORDER BY n DESC;
SELECT count(*), min(id) > 50 AS above FROM bulk WHERE item = 'sorted';
SELECT restored(10);
WITH drawn AS MATERIALIZED (SELECT hilo_next_number('bulk') AS id FROM generate_series(1, 30)) INSERT INTO bulk SELECT id, 'cte' FROM drawn;
WITH drawn AS MATERIALIZED (SELECT hilo_next_number('bulk') AS id FROM generate_series(1, 30)) INSERT INTO bulk SELECT id, 'cte' FROM drawn;
SELECT count(*), min(id) > 10 AS above FROM bulk WHERE item = 'cte';
SELECT restored(50);
DO $$
DECLARE
	ids bigint[];
BEGIN
	FOR n IN 1..20 LOOP
		ids := ids || hilo_next_number('bulk');
	END LOOP;
	INSERT INTO bulk SELECT id, 'function' FROM unnest(ids) id;
END $$;
DO $$
DECLARE
	ids bigint[];
BEGIN
	FOR n IN 1..20 LOOP
		ids := ids || hilo_next_number('bulk');
	END LOOP;
	INSERT INTO bulk SELECT id, 'function' FROM unnest(ids) id;
END $$;
SELECT count(*), min(id) > 50 AS above FROM bulk WHERE item = 'function';
SELECT restored(50);
COPY bulk (item) FROM stdin;
copied
copied
\.
SELECT count(*), min(id) > 50 AS above FROM bulk WHERE item = 'copied';
-- Of an earlier statement; an id by hand is left as it is, also beside those that are drawn.
SELECT restored(5);
SELECT array_agg(hilo_next_number('bulk')) AS drawn FROM generate_series(1, 8) \gset
INSERT INTO bulk SELECT id, 'earlier' FROM unnest(:'drawn'::bigint[]) id;
SELECT restored(5);
INSERT INTO bulk SELECT CASE WHEN n = 2 THEN 40 ELSE hilo_next_number('bulk') END, 'mixed' FROM generate_series(1, 3) n ORDER BY n;
INSERT INTO bulk SELECT CASE WHEN n = 2 THEN 40 ELSE hilo_next_number('bulk') END, 'mixed' FROM generate_series(1, 3) n ORDER BY n;
SELECT id = 40 AS by_hand, id > 5 AS above FROM bulk WHERE item = 'mixed' ORDER BY id;
DROP TABLE bulk;
DROP FUNCTION restored;

-- hilo.attach() and hilo.sync() note a trigger as seen, too.
CREATE TABLE synced (id int DEFAULT hilo_next_number('synced'));
INSERT INTO synced VALUES (70);
CREATE TRIGGER by_hand BEFORE INSERT ON synced FOR EACH ROW EXECUTE FUNCTION hilo.advance('synced');
SELECT hilo.sync('synced'), max_value FROM hilo.hilo WHERE collection = 'synced';
SELECT hilo.attach('synced', 'id');
SELECT seen('synced'), max_value FROM hilo.hilo WHERE collection = 'synced';
INSERT INTO synced DEFAULT VALUES RETURNING id;
DROP TABLE synced;

-- hilo.sync() of all finds a restored trigger that has not fired; one that names an identity, or nothing, moves no counter.
CREATE TABLE unfired (id int DEFAULT hilo_next_number('unfired'));
INSERT INTO unfired VALUES (80);
CREATE TRIGGER by_hand BEFORE INSERT ON unfired FOR EACH ROW EXECUTE FUNCTION hilo.advance('unfired');
CREATE TABLE hostile (id int DEFAULT hilo_next_number('hostile'));
INSERT INTO hostile VALUES (90);
CREATE TRIGGER identity BEFORE INSERT ON hostile FOR EACH ROW EXECUTE FUNCTION hilo.advance('invoices|');
CREATE TRIGGER server_side BEFORE INSERT ON hostile FOR EACH ROW EXECUTE FUNCTION hilo.advance('|');
CREATE TRIGGER nothing BEFORE INSERT ON hostile FOR EACH ROW EXECUTE FUNCTION hilo.advance('');
SELECT * FROM hilo.sync() WHERE collection IN ('unfired', 'invoices|', '|', '');
SELECT collection, max FROM hilo.hilo WHERE collection IN ('unfired', 'invoices|', '') OR collection = '|' AND max = 90;
SELECT hilo_next_number('unfired');
DROP TABLE unfired, hostile;

-- The limit of the type comes with the trigger.
CREATE TABLE little (id smallint DEFAULT hilo_next_number('little'));
CREATE TRIGGER by_hand BEFORE INSERT ON little FOR EACH ROW EXECUTE FUNCTION hilo.advance('little');
INSERT INTO little VALUES (32766);
INSERT INTO little DEFAULT VALUES RETURNING id;
SELECT max_of('little'), max_value FROM hilo.hilo WHERE collection = 'little';
INSERT INTO little DEFAULT VALUES;
DROP TABLE little;

-- Text: an id that is replaced keeps its prefix and tag.
SET hilo.server_prefix = 'South/';
CREATE TABLE texts (id text PRIMARY KEY DEFAULT hilo_next('texts'));
INSERT INTO texts VALUES ('texts/South/1-A'), ('texts/South/2-A'), ('texts/South/3-B');
CREATE TRIGGER by_hand BEFORE INSERT ON texts FOR EACH ROW EXECUTE FUNCTION hilo.advance('texts');
INSERT INTO texts DEFAULT VALUES RETURNING id;
RESET hilo.server_prefix;
DROP TABLE texts;
-- also where it looks as if the prefix were the number, and the number the tag.
SET hilo.server_prefix = '5-';
SET hilo.node_tag = '';
CREATE TABLE prefixed (id text PRIMARY KEY DEFAULT hilo_next('prefixed'));
INSERT INTO prefixed VALUES ('prefixed/5-100');
CREATE TRIGGER by_hand BEFORE INSERT ON prefixed FOR EACH ROW EXECUTE FUNCTION hilo.advance('prefixed');
INSERT INTO prefixed DEFAULT VALUES RETURNING id;
RESET hilo.server_prefix;
RESET hilo.node_tag;
DROP TABLE prefixed;
CREATE TABLE tags (id text PRIMARY KEY DEFAULT hilo_next('tags', 'X'));
INSERT INTO tags VALUES ('tags/1-A');
CREATE TRIGGER by_hand BEFORE INSERT ON tags FOR EACH ROW EXECUTE FUNCTION hilo.advance('tags');
INSERT INTO tags DEFAULT VALUES RETURNING id;
INSERT INTO tags DEFAULT VALUES RETURNING id;
DROP TABLE tags;

-- Partitions: each has a trigger, and each may have been detached.
CREATE TABLE parts (id bigint, part int) PARTITION BY LIST (part);
CREATE TABLE part1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part2 PARTITION OF parts FOR VALUES IN (2);
SELECT hilo.attach('parts', 'id');
INSERT INTO parts (part) VALUES (1), (2) RETURNING id;
CREATE TABLE part3 (id bigint, part int);
INSERT INTO part3 VALUES (800, 3);
ALTER TABLE parts ATTACH PARTITION part3 FOR VALUES IN (3);
INSERT INTO parts (part) VALUES (1) RETURNING id;
INSERT INTO parts (part) VALUES (3) RETURNING id;
INSERT INTO parts (part) VALUES (1) RETURNING id;
ALTER TABLE part2 DISABLE TRIGGER ALL;
INSERT INTO part2 VALUES (900, 2);
ALTER TABLE part2 ENABLE TRIGGER ALL;
INSERT INTO parts (part) VALUES (1), (2) RETURNING id;
INSERT INTO parts (part) VALUES (1), (2) RETURNING id;
SELECT count(*), count(DISTINCT id) FROM parts;
SELECT hilo.detach('parts');
DROP TABLE parts;

-- Two tables on one collection: the first trigger that fires looks at both.
CREATE TABLE one (id bigint PRIMARY KEY DEFAULT hilo_next_number('both'));
CREATE TABLE two (id bigint PRIMARY KEY DEFAULT hilo_next_number('both'));
INSERT INTO one VALUES (5);
INSERT INTO two VALUES (15);
CREATE TRIGGER by_hand BEFORE INSERT ON one FOR EACH ROW EXECUTE FUNCTION hilo.advance('both');
CREATE TRIGGER by_hand BEFORE INSERT ON two FOR EACH ROW EXECUTE FUNCTION hilo.advance('both');
INSERT INTO one DEFAULT VALUES RETURNING id;
SELECT seen('one'), seen('two');
INSERT INTO two DEFAULT VALUES RETURNING id;
DROP TABLE one, two;

-- Which text ids advance the collection: those that a draw could equal, and no others.  With the tag of the server,
CREATE TABLE counted (id text);
SELECT hilo.attach('counted', 'id');
CREATE FUNCTION moves(given text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	before bigint := max_of('counted');
BEGIN
	INSERT INTO counted VALUES (given);
	RETURN max_of('counted') > before;
END $$;
SELECT given, moves(given) FROM unnest(ARRAY['counted/1-A', 'counted/2-B', 'counted/3', 'counted/4-', 'counted/05-A', 'counted/0000000000000000006-A', 'counted/0-A', 'counted/-7-A', 'counted/x/8-A', 'counted/x9-A', 'Counted/10-A', 'counted/11-a_1', 'counted/12-a-b', 'counted/13-ä', 'counted/14.5-A', 'counted/ 15-A', 'counted|16', 'counted/16-A']) given;
-- a server-side id of this server,
SELECT moves(next_server_side_id('counted/'));
-- one without,
SELECT hilo.detach('counted'), hilo.drop('counted');
DELETE FROM counted;
SET hilo.node_tag = '';
SELECT hilo.attach('counted', 'id');
SELECT given, moves(given) FROM unnest(ARRAY['counted/1', 'counted/2-B', 'counted/03', 'counted/4-', 'counted/x/5']) given;
RESET hilo.node_tag;
-- and one of the collection.
SELECT hilo.configure('counted', node_tag => '');
SELECT given, moves(given) FROM unnest(ARRAY['counted/100', 'counted/200-A']) given;
SELECT hilo.configure('counted', node_tag => 'T');
SELECT given, moves(given) FROM unnest(ARRAY['counted/300', 'counted/400-A', 'counted/500-T']) given;
-- The same ids count when they exist already.
SELECT hilo.detach('counted'), hilo.drop('counted');
DELETE FROM counted;
INSERT INTO counted VALUES ('counted/3-A'), ('counted/700'), ('counted/0000000000000000800-A'), ('counted/x/12-A');
SELECT hilo.attach('counted', 'id');
DROP TABLE counted;

-- A column that cannot hold ids: nothing counts, nothing crashes.
DO $$
DECLARE
	type text;
BEGIN
	FOREACH type IN ARRAY '{uuid,boolean,numeric,date,float8,"char",char(5),name,bytea,jsonb,bigint[],oid,interval,point}'::text[] LOOP
		EXECUTE format('CREATE TABLE odd (id %s)', type);
		EXECUTE 'INSERT INTO odd VALUES (' || CASE type WHEN 'boolean' THEN 'true' WHEN 'uuid' THEN 'gen_random_uuid()' WHEN 'date' THEN 'now()' WHEN 'bigint[]' THEN '''{1}''' WHEN 'jsonb' THEN '''{}''' WHEN 'interval' THEN '''1 day''' WHEN 'point' THEN '''(1,2)''' ELSE '''1''' END || ')';
		CREATE TRIGGER by_hand BEFORE INSERT ON odd FOR EACH ROW EXECUTE FUNCTION hilo.advance('odd');
		INSERT INTO odd SELECT * FROM odd;
		DROP TABLE odd;
	END LOOP;
END $$;

-- A number that would be another partition's is not drawn again: a trigger cannot move the row.
CREATE TABLE hashed (id bigint, item text) PARTITION BY HASH (id);
CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE hashed_1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO hashed SELECT generate_series(100, 199);
ALTER TABLE hashed ALTER id SET DEFAULT hilo_next_number('hashed');
SET hilo.range_size = 1;
DO $$
DECLARE
	drawn bigint;
BEGIN
	FOR i IN 1 .. 6 LOOP
		CREATE TRIGGER by_hand BEFORE INSERT ON hashed FOR EACH ROW EXECUTE FUNCTION hilo.advance('hashed');
		PERFORM hilo.seed('hashed', i, true);
		INSERT INTO hashed (item) VALUES ('drawn') RETURNING id INTO drawn;
		IF drawn <> i + 1 AND drawn < 200 THEN
			RAISE WARNING '% follows %', drawn, i;
		END IF;
		DROP TRIGGER by_hand ON hashed;
	END LOOP;
END $$;
SELECT count(*), min(id) < 8 AS kept, max(id) > 199 AS drawn_again FROM hashed WHERE item = 'drawn';
SET hilo.range_size = 4;

DROP SCHEMA regress_seen CASCADE;
SELECT count(hilo.drop(collection)) FROM hilo.hilo WHERE collection IN ('made', 'synced', 'little', 'texts', 'tags', 'parts', 'both', 'counted', 'odd', 'hashed');
SELECT count(*) FROM hilo.binding;

-- An update changes an id only as it says, and a chosen id stays, drawn or not, whatever the trigger has not seen yet.
CREATE TABLE regress_kept (id bigserial PRIMARY KEY, item text);
SELECT hilo.attach('regress_kept') AS attached \gset
INSERT INTO regress_kept (item) VALUES ('a'), ('b');
ALTER TABLE regress_kept DISABLE TRIGGER USER;
ALTER TABLE regress_kept ENABLE TRIGGER USER;
UPDATE regress_kept SET id = id, item = 'updated' WHERE id = 2;
ALTER TABLE regress_kept DISABLE TRIGGER USER;
ALTER TABLE regress_kept ENABLE TRIGGER USER;
INSERT INTO regress_kept VALUES (1, 'chosen') ON CONFLICT (id) DO UPDATE SET item = excluded.item;
SELECT * FROM regress_kept ORDER BY id;
-- A change of type that is rolled back leaves the limit.
BEGIN;
ALTER TABLE regress_kept ALTER id TYPE smallint;
ROLLBACK;
SELECT max_value FROM hilo.hilo WHERE collection = 'regress_kept';
DROP TABLE regress_kept;
SELECT hilo.drop('regress_kept');
-- While hilo.attach_online() reads the ids, a row that is inserted does not wait for a look of its own.
CREATE TABLE regress_online (id text COLLATE "C" PRIMARY KEY);
INSERT INTO regress_online VALUES ('regress_online/7-A');
SELECT hilo._attach_step(2, 'regress_online', 'id', 'regress_online', NULL);
INSERT INTO regress_online VALUES ('regress_online/9-A'), ('other');
SELECT max FROM hilo.hilo WHERE collection = 'regress_online';
SELECT count(*) FROM hilo.binding WHERE kind = 'noted';
CALL hilo.attach_online('regress_online');
INSERT INTO regress_online DEFAULT VALUES RETURNING id;
DROP TABLE regress_online;
SELECT hilo.drop('regress_online');
-- A default of a domain that draws from another collection changes nothing: a number that is an id already is drawn again.
CREATE DOMAIN regress_other AS bigint DEFAULT hilo_next_number('regress_other');
CREATE TABLE regress_back (id bigint DEFAULT hilo_next_number('regress_back'), v text);
INSERT INTO regress_back VALUES (1), (2), (3);
CREATE TRIGGER advance BEFORE INSERT ON regress_back FOR EACH ROW EXECUTE FUNCTION hilo.advance('regress_back', 'was nothing');
SELECT hilo._drawn_elsewhere('regress_back'), hilo._drawn_elsewhere('regress_other');
INSERT INTO regress_back (v) VALUES ('a') RETURNING id > 3 AS is_new;
DROP TABLE regress_back;
DROP DOMAIN regress_other;
SELECT hilo.drop('regress_back');
