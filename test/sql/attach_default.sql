-- Attached is a column whose DEFAULT draws: what the server and its tools do to a table is their own business, and no id that somebody can have seen is replaced.
\set SHOW_CONTEXT never
SET client_min_messages = warning;
CREATE SCHEMA regress_default;
SET search_path = regress_default, public;
SET hilo.range_size = 4;
SET hilo.range_duration = 0;
CREATE ROLE regress_hilo_own;
CREATE ROLE regress_hilo_other;
GRANT USAGE, CREATE ON SCHEMA regress_default TO regress_hilo_own, regress_hilo_other;
CREATE FUNCTION max_of(name text) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$ SELECT max FROM hilo.hilo WHERE collection = name $$;
-- The trigger of a table fires as if for the first time.
CREATE FUNCTION again(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', relation);
	EXECUTE format('ALTER TABLE %s ENABLE TRIGGER USER', relation);
END $$;
SELECT count(*) AS event_triggers FROM pg_event_trigger;

-- A row that this session has drawn is moved to a partition with higher ids: it keeps its id.
CREATE TABLE moved (id bigint, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
CREATE TABLE moved_1 PARTITION OF moved FOR VALUES IN (1);
SELECT hilo.attach('moved', 'id');
INSERT INTO moved (part) VALUES (1) RETURNING id;
CREATE TABLE moved_2 (id bigint NOT NULL, part int NOT NULL);
INSERT INTO moved_2 VALUES (500, 2);
ALTER TABLE moved ATTACH PARTITION moved_2 FOR VALUES IN (2);
UPDATE moved SET part = 2 WHERE part = 1 RETURNING id;
INSERT INTO moved (part) VALUES (2) RETURNING id > 500 AS above;

-- What is drawn again obeys the type; an id by hand is stored as it is.
CREATE DOMAIN short AS text CHECK (length(VALUE) <= 9);
CREATE TABLE typed (id short PRIMARY KEY);
SELECT hilo.attach('typed');
INSERT INTO typed DEFAULT VALUES RETURNING id;
ALTER TABLE typed DISABLE TRIGGER USER;
INSERT INTO typed VALUES ('typed/3-A'), ('typed/4-A');
ALTER TABLE typed ENABLE TRIGGER USER;
INSERT INTO typed VALUES ('typed/2-A') RETURNING id;
SELECT again('typed');
INSERT INTO typed DEFAULT VALUES RETURNING id;
SELECT again('typed');
INSERT INTO typed SELECT 'typed/9-A';
SELECT again('typed');
INSERT INTO typed DEFAULT VALUES;
CREATE TABLE narrow (id varchar(10) PRIMARY KEY);
SELECT hilo.attach('narrow');
ALTER TABLE narrow DISABLE TRIGGER USER;
INSERT INTO narrow SELECT 'narrow/' || i || '-A' FROM generate_series(1, 9) i;
ALTER TABLE narrow ENABLE TRIGGER USER;
INSERT INTO narrow DEFAULT VALUES;

-- Whoever may not attach cannot set the limit of another role's collection.
CREATE TABLE first_one (id bigint PRIMARY KEY);
ALTER TABLE first_one OWNER TO regress_hilo_own;
CREATE TABLE late (id smallint PRIMARY KEY);
ALTER TABLE late OWNER TO regress_hilo_other;
SET ROLE regress_hilo_own;
SELECT hilo.attach('first_one', collection => 'contested');
SET ROLE regress_hilo_other;
SELECT hilo.attach('late', collection => 'contested');
RESET ROLE;
SELECT max_value FROM hilo.hilo WHERE collection = 'contested';

-- A partition with another owner takes rows; a role that may insert into one partition only inserts there.
CREATE TABLE parts (id bigserial, part int) PARTITION BY LIST (part);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF parts FOR VALUES IN (2);
ALTER TABLE parts OWNER TO regress_hilo_own;
ALTER TABLE part_1 OWNER TO regress_hilo_own;
ALTER TABLE part_2 OWNER TO regress_hilo_own;
SET ROLE regress_hilo_own;
SELECT hilo.attach('parts', 'id');
RESET ROLE;
ALTER TABLE part_1 OWNER TO regress_hilo_other;
INSERT INTO parts (part) VALUES (1) RETURNING id;
SET ROLE regress_hilo_other;
INSERT INTO part_1 (part) VALUES (1) RETURNING id;
INSERT INTO part_1 VALUES (100, 1);
INSERT INTO part_2 (part) VALUES (2);
RESET ROLE;
GRANT INSERT ON part_2 TO regress_hilo_other;
ALTER TABLE part_1 OWNER TO regress_hilo_own;
SET ROLE regress_hilo_other;
INSERT INTO part_2 (part) VALUES (2);
SELECT hilo_next_number('parts') > 0 AS drawn;
RESET ROLE;

-- ALTER TYPE: to a smaller type the limit follows; to another kind of type, back is possible.
CREATE TABLE shrinks (id bigint PRIMARY KEY);
SELECT hilo.attach('shrinks'), hilo.seed('shrinks', 2147483640);
ALTER TABLE shrinks ALTER id TYPE int;
INSERT INTO shrinks SELECT FROM generate_series(1, 7);
INSERT INTO shrinks DEFAULT VALUES;
SELECT max(id) FROM shrinks;
CREATE TABLE to_text (id bigserial PRIMARY KEY);
SELECT hilo.attach('to_text');
ALTER TABLE to_text ALTER id TYPE text;
INSERT INTO to_text DEFAULT VALUES RETURNING id;
INSERT INTO to_text VALUES ('70'), ('a');
SELECT max_of('to_text');
SELECT hilo.detach('to_text');
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'to_text'::regclass;
INSERT INTO to_text DEFAULT VALUES RETURNING id::int > 70 AS above;
SELECT hilo.drop('to_text');
CREATE TABLE to_numeric (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY);
SELECT hilo.attach('to_numeric');
ALTER TABLE to_numeric ALTER id TYPE numeric;
INSERT INTO to_numeric VALUES (70);
INSERT INTO to_numeric DEFAULT VALUES RETURNING id;
RESET client_min_messages;
SELECT hilo.detach('to_numeric');
SET client_min_messages = warning;
INSERT INTO to_numeric DEFAULT VALUES RETURNING id > 71 AS above;
CREATE TABLE to_uuid (id bigserial PRIMARY KEY);
SELECT hilo.attach('to_uuid');
ALTER TABLE to_uuid ALTER id DROP DEFAULT, ALTER id TYPE uuid USING gen_random_uuid(), ALTER id SET DEFAULT gen_random_uuid();
INSERT INTO to_uuid DEFAULT VALUES;
SELECT relation, column_name, collection, trigger_name FROM hilo.attachments WHERE collection = 'to_uuid';
RESET client_min_messages;
SELECT hilo.detach('to_uuid');
SELECT hilo.detach('to_uuid');
SET client_min_messages = warning;
-- Within ALTER TABLE, defaults draw while the table is rewritten, and a function may do what it likes.
CREATE TABLE rewritten (id bigint PRIMARY KEY, x int);
SELECT hilo.attach('rewritten');
INSERT INTO rewritten (x) SELECT 1 FROM generate_series(1, 10);
ALTER TABLE rewritten ADD COLUMN second bigint DEFAULT hilo_next_number('rewritten');
SELECT count(DISTINCT second) AS seconds, min(second) > max(id) AS above FROM rewritten;
CREATE FUNCTION fills(bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMPORARY TABLE IF NOT EXISTS rewritten (id int);
	RETURN hilo_next_number('rewritten');
END $$;
ALTER TABLE regress_default.rewritten ALTER id TYPE bigint USING fills(id);
DROP TABLE pg_temp.rewritten;
INSERT INTO rewritten (x) VALUES (1) RETURNING id > 10 AS above;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'rewritten'::regclass;

-- A partition that is detached and dropped leaves nothing.
CREATE TABLE daily (id bigint, day int) PARTITION BY LIST (day);
SELECT hilo.attach('daily', 'id');
DO $$
BEGIN
	FOR i IN 1 .. 20 LOOP
		EXECUTE format('CREATE TABLE daily_%s PARTITION OF daily FOR VALUES IN (%1$s)', i);
		EXECUTE format('INSERT INTO daily (day) VALUES (%s)', i);
		EXECUTE format('ALTER TABLE daily DETACH PARTITION daily_%s', i);
		EXECUTE format('DROP TABLE daily_%s', i);
	END LOOP;
END $$;
SELECT hilo.sync('daily') >= 20 AS synced;
SELECT count(*) AS left_over FROM hilo.binding WHERE kind = 'noted' AND object NOT IN (SELECT oid FROM pg_trigger);

-- A tool drops the default: view, trigger and detach agree.
CREATE TABLE tooled (id bigserial PRIMARY KEY, x int);
SELECT hilo.attach('tooled');
ALTER TABLE tooled ALTER id DROP DEFAULT;
SELECT column_name, trigger_name FROM hilo.attachments WHERE collection = 'tooled';
INSERT INTO tooled VALUES (1000);
SELECT max_of('tooled') < 1000 AS unmoved;
-- Once it draws again, the trigger looks at what was inserted meanwhile.
ALTER TABLE tooled ALTER id SET DEFAULT hilo_next_number('tooled');
INSERT INTO tooled DEFAULT VALUES RETURNING id;
ALTER TABLE tooled DROP COLUMN id;
SELECT column_name, trigger_name FROM hilo.attachments WHERE collection = 'tooled';
DROP TABLE tooled;

-- However the argument is written.
CREATE TABLE by_name (id bigint DEFAULT hilo_next_number(collection => 'by_name'), t text DEFAULT hilo_next(node_tag => 'A', collection => 'by_name'));
SELECT adnum, hilo._draws_from(adbin) FROM pg_attrdef WHERE adrelid = 'by_name'::regclass ORDER BY adnum;
-- An empty expression draws from nothing.
SELECT count(hilo._draws_from(ev_qual)) FROM pg_rewrite;
DROP TABLE by_name;

-- None of these is drawn again: somebody can have seen it.
CREATE TABLE seen (id bigint PRIMARY KEY, root bigint, note text);
SELECT hilo.attach('seen');
CREATE FUNCTION behind(ids bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE seen;
	PERFORM hilo.seed('seen', 0, true), hilo_next_number('seen');
	ALTER TABLE seen DISABLE TRIGGER USER;
	INSERT INTO seen SELECT i + 100 FROM generate_series(1, ids) i;
	ALTER TABLE seen ENABLE TRIGGER USER;
	RETURN hilo_last_number('seen');
END $$;
SELECT behind(3);
INSERT INTO seen (note) VALUES ('the default') RETURNING id > 103 AS drawn_again;
SELECT behind(3);
INSERT INTO seen (root) VALUES (hilo_last_number('seen')) RETURNING id, root;
SELECT behind(3);
INSERT INTO seen (id, note) VALUES (hilo_next_number('seen'), 'written') RETURNING id;
SELECT behind(3);
WITH drawn AS MATERIALIZED (SELECT hilo_next_number('seen') AS id) INSERT INTO seen (id) SELECT id FROM drawn RETURNING id;
SELECT behind(3);
SELECT hilo_next_number('seen') AS drawn \gset
INSERT INTO seen (id) VALUES (:drawn) RETURNING id = :drawn AS stays;
SELECT behind(3);
DO $$
DECLARE
	drawn bigint := hilo_next_number('seen');
BEGIN
	INSERT INTO seen (id, note) VALUES (drawn, drawn::text);
END $$;
SELECT id = note::bigint AS stays FROM seen WHERE note IS NOT NULL;
-- By a stored default elsewhere: another table's, a view's.
CREATE TABLE default_alone (id bigint DEFAULT hilo_next_number('seen'));
SELECT behind(3);
WITH other AS (INSERT INTO default_alone DEFAULT VALUES RETURNING id) INSERT INTO seen (id) SELECT id FROM other RETURNING id = (SELECT id FROM other) AS stays;
DROP TABLE default_alone;
CREATE VIEW seen_view AS SELECT id, note FROM seen;
ALTER VIEW seen_view ALTER id SET DEFAULT hilo_next_number('seen');
CREATE TABLE audit (id bigint);
CREATE FUNCTION audits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO audit VALUES (new.id);
	IF tg_op = 'INSERT' AND tg_when = 'INSTEAD OF' THEN
		INSERT INTO seen (id, note) VALUES (new.id, new.note);
	END IF;
	RETURN new;
END $$;
CREATE TRIGGER instead INSTEAD OF INSERT ON seen_view FOR EACH ROW EXECUTE FUNCTION audits();
SELECT behind(3);
INSERT INTO seen_view (note) VALUES ('by a view');
SELECT count(*) AS audited FROM seen JOIN audit USING (id) WHERE note = 'by a view';
DROP VIEW seen_view;
-- A trigger that audits the id before ours.
CREATE TRIGGER audits BEFORE INSERT ON seen FOR EACH ROW EXECUTE FUNCTION audits();
SELECT behind(3);
TRUNCATE audit;
INSERT INTO seen (note) VALUES ('audited');
SELECT count(*) AS audited FROM seen JOIN audit USING (id) WHERE note = 'audited';
DROP TRIGGER audits ON seen;
-- An UPDATE that draws.
SELECT behind(3);
UPDATE seen SET id = DEFAULT WHERE id = 101 RETURNING id AS drawn \gset
DELETE FROM seen WHERE id = :drawn;
SELECT again('seen');
INSERT INTO seen (id) VALUES (:drawn) RETURNING id = :drawn AS stays;

-- Ten rows over a fresh counter, whose first claim is above them already.
RESET hilo.range_size;
CREATE TABLE def_fresh (id bigint PRIMARY KEY DEFAULT hilo_next_number('def_fresh'));
INSERT INTO def_fresh SELECT generate_series(1, 10);
CREATE TRIGGER zzz_hilo_advance_def_fresh BEFORE INSERT ON def_fresh FOR EACH ROW EXECUTE FUNCTION hilo.advance('def_fresh');
INSERT INTO def_fresh SELECT FROM generate_series(1, 3) RETURNING id;
-- A row with the last bigint marks the end of something.
CREATE TABLE sentinel (id bigint PRIMARY KEY);
INSERT INTO sentinel VALUES (7);
SELECT hilo.attach('sentinel');
ALTER TABLE sentinel DISABLE TRIGGER USER;
INSERT INTO sentinel VALUES (9223372036854775807), (50);
ALTER TABLE sentinel ENABLE TRIGGER USER;
INSERT INTO sentinel DEFAULT VALUES RETURNING id;
-- Partitions with a default of their own, and another collection's.
CREATE TABLE mixed (id bigint, part int) PARTITION BY LIST (part);
CREATE TABLE mixed_1 PARTITION OF mixed FOR VALUES IN (1);
CREATE TABLE mixed_2 PARTITION OF mixed FOR VALUES IN (2);
SELECT hilo.attach('mixed', 'id');
ALTER TABLE mixed_1 ALTER id SET DEFAULT 77;
ALTER TABLE mixed_2 ALTER id SET DEFAULT hilo_next_number('mixed_other');
INSERT INTO mixed (part) VALUES (1), (2) RETURNING id;
INSERT INTO mixed_1 (part) VALUES (1) RETURNING id;
INSERT INTO mixed_2 (part) VALUES (2) RETURNING id;
SELECT max_of('mixed');
-- ATTACH PARTITION of a table that has been the table of that name.
CREATE TABLE log (id bigint PRIMARY KEY);
SELECT hilo.attach('log');
INSERT INTO log DEFAULT VALUES;
ALTER TABLE log RENAME TO log_old;
CREATE TABLE log (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
SELECT hilo.attach('log', collection => 'log');
ALTER TABLE log ATTACH PARTITION log_old FOR VALUES FROM (0) TO (1000);
INSERT INTO log DEFAULT VALUES RETURNING id > 1 AS above;
SELECT tgname FROM pg_trigger WHERE tgrelid = 'log_old'::regclass ORDER BY 1;

-- A dead binding: neither its name nor its OID helps a stranger, also after a rename.
CREATE TABLE mine (id bigint PRIMARY KEY);
ALTER TABLE mine OWNER TO regress_hilo_own;
SET ROLE regress_hilo_own;
SELECT hilo.attach('mine');
INSERT INTO mine DEFAULT VALUES;
RESET ROLE;
ALTER TABLE mine RENAME TO mine_too;
SET ROLE regress_hilo_other;
CREATE TABLE mine (id bigint PRIMARY KEY DEFAULT hilo_next_number('mine'));
SELECT hilo.attach('mine');
RESET ROLE;
SELECT object_name FROM hilo.binding WHERE collection = 'mine';
DROP TABLE mine_too;
SET ROLE regress_hilo_other;
SELECT hilo.attach('mine');
RESET ROLE;
-- As restored from elsewhere: by name, if the owner is the recorded one.
INSERT INTO hilo.binding (collection, kind, object, object_name, column_name, owner) VALUES
	('theirs', 'attached', 'regress_default.mine'::regclass, 'regress_default.mine', '', 'regress_hilo_own');
SELECT owner, object, object_name FROM hilo.binding WHERE collection = 'theirs';
DROP TABLE mine;
SET ROLE regress_hilo_own;
CREATE TABLE mine (id bigint PRIMARY KEY);
SELECT hilo.attach('mine');
RESET ROLE;

-- Row security that hides all rows from their owner hides none from the counter.
CREATE TABLE hidden (id bigint PRIMARY KEY);
INSERT INTO hidden VALUES (900);
ALTER TABLE hidden OWNER TO regress_hilo_own;
ALTER TABLE hidden ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
SET ROLE regress_hilo_own;
SELECT hilo.attach('hidden');
RESET ROLE;
-- A view with INSTEAD OF; what may not be attached says why.
CREATE VIEW shown AS SELECT id FROM hidden;
\set VERBOSITY default
SELECT hilo.attach('shown', 'id');
\set VERBOSITY terse
-- Text in a trigger's argument is one expression, or refused.
CREATE TABLE trap (id bigint PRIMARY KEY DEFAULT hilo_next_number('trap'));
ALTER TABLE trap OWNER TO regress_hilo_other;
SET ROLE regress_hilo_other;
CREATE TRIGGER zzz_hilo_advance_trap BEFORE INSERT ON trap FOR EACH ROW EXECUTE FUNCTION hilo.advance('trap', 'was default', '0; ALTER ROLE regress_hilo_other SUPERUSER');
RESET ROLE;
SELECT hilo.detach('trap');
SELECT hilo._check_expression('0); ALTER ROLE regress_hilo_other SUPERUSER; SELECT (1');
SELECT hilo._check_expression('0), ALTER c SET DEFAULT (1');
SELECT hilo._check_expression('0), (1');
SELECT hilo._check_expression('0) FROM pg_class WHERE (true');
SELECT hilo._check_expression('0) UNION SELECT (1');
SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_hilo_other';
-- Helpers do nothing for whoever does not own the table.
SET ROLE regress_hilo_other;
SELECT hilo._set_identity('hidden', 'id', 'd', 0);
SELECT hilo._lock('hidden', 'exclusive', 'hilo.attach()');
SELECT hilo._lock('hidden', NULL, NULL);
SELECT hilo._may_attach('hidden', 'id', 'hidden', false, false);
SELECT hilo._attach_counter('hidden', 'id', 'hidden', 5000, false);
SELECT hilo._attach('hidden', 'id', 'hidden', '1', NULL, false);
SELECT hilo._put_back('hidden', 'id', 'default', '1');
SELECT hilo._max('hidden', 'hidden');
-- A sequence becomes that of an identity column only if the column owns it, and the other way round.
CREATE TABLE lender (id serial, other int NOT NULL, also int GENERATED ALWAYS AS IDENTITY);
ALTER TABLE lender ALTER id DROP DEFAULT;
SELECT hilo._set_identity('lender', 'other', 'd', 'lender_id_seq'::regclass);
SELECT hilo._set_identity('lender', 'other', 'd', 0);
SELECT hilo._set_identity('lender', 'id', 'd', 'lender_also_seq'::regclass);
SELECT hilo._set_identity('lender', 'also', '', 'lender_id_seq'::regclass);
SELECT hilo._set_identity('lender', 'also', '', 0);
DROP TABLE lender;
-- Nor do they tell how far another role's collection is, whatever a table of one's own draws from.
CREATE TABLE spy (id bigint PRIMARY KEY DEFAULT hilo_next_number('contested'));
SELECT hilo._max('spy', 'contested');
-- Whose default does not keep others from dropping a collection; that of a table of theirs, or of an attached one, does.
RESET ROLE;
GRANT EXECUTE ON FUNCTION hilo.drop(text, boolean) TO regress_hilo_own;
SET ROLE regress_hilo_own;
SELECT hilo_next_number('stranger') AS drawn;
SET ROLE regress_hilo_other;
CREATE TABLE strange (id bigint DEFAULT hilo_next_number('stranger'));
SET ROLE regress_hilo_own;
SELECT hilo.drop('stranger');
CREATE TABLE own_strange (id bigint DEFAULT hilo_next_number('stranger'));
SELECT hilo.drop('stranger');
SELECT hilo.drop('contested');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION hilo.drop(text, boolean) FROM regress_hilo_own;
SELECT hilo.drop('stranger');
DROP TABLE spy, strange;
SELECT hilo.drop('stranger');
-- In the transaction that removes the default, which a rollback would bring back.
BEGIN;
DROP TABLE own_strange;
SELECT hilo.drop('stranger');
ROLLBACK;
BEGIN;
ALTER TABLE own_strange ALTER id DROP DEFAULT;
SELECT hilo.drop('stranger');
ROLLBACK;
DROP TABLE own_strange;
SELECT hilo.drop('stranger');
RESET ROLE;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT hilo.detach('hidden');
ROLLBACK;

-- Whatever the session's settings that change how the server prints names and literals.
CREATE TABLE printed (id bigserial PRIMARY KEY, other int);
CREATE TABLE "Printed ""2" (id text PRIMARY KEY DEFAULT 'a\b''c');
SELECT pg_get_expr(adbin, adrelid) AS before FROM pg_attrdef WHERE adrelid IN ('printed'::regclass, '"Printed ""2"'::regclass) ORDER BY 1;
SET quote_all_identifiers = on;
-- From version 19 on, they always conform.
SELECT set_config('standard_conforming_strings', CASE WHEN current_setting('server_version_num')::int < 190000 THEN 'off' ELSE 'on' END, false) AS conforming \gset
SELECT hilo.attach('printed'), hilo.attach('"Printed ""2"');
RESET quote_all_identifiers;
RESET standard_conforming_strings;
SELECT tgname, hilo._trigger_arguments(tgargs) FROM pg_trigger WHERE tgrelid IN ('printed'::regclass, '"Printed ""2"'::regclass) ORDER BY 1;
INSERT INTO printed DEFAULT VALUES RETURNING id;
SELECT hilo.attach('printed', assign => false), hilo.attach('"Printed ""2"', assign => true);
SELECT tgname, hilo._trigger_arguments(tgargs) FROM pg_trigger WHERE tgrelid IN ('printed'::regclass, '"Printed ""2"'::regclass) ORDER BY 1;
SET quote_all_identifiers = on;
SELECT set_config('standard_conforming_strings', CASE WHEN current_setting('server_version_num')::int < 190000 THEN 'off' ELSE 'on' END, false) AS conforming \gset
SELECT hilo.detach('printed'), hilo.detach('"Printed ""2"');
RESET quote_all_identifiers;
RESET standard_conforming_strings;
SELECT pg_get_expr(adbin, adrelid) AS after FROM pg_attrdef WHERE adrelid IN ('printed'::regclass, '"Printed ""2"'::regclass) ORDER BY 1;
SELECT count(*) AS triggers FROM pg_trigger WHERE tgrelid IN ('printed'::regclass, '"Printed ""2"'::regclass);

-- An upsert that costs no number for a row that is there.
CREATE TABLE upserts (id bigint PRIMARY KEY, name text UNIQUE);
SELECT hilo.attach('upserts');
INSERT INTO upserts (name) VALUES ('a');
SELECT hilo_last_number('upserts') AS before \gset
INSERT INTO upserts (name) SELECT n FROM unnest('{a,a,b}'::text[]) n WHERE NOT EXISTS (SELECT FROM upserts u WHERE u.name = n) ON CONFLICT DO NOTHING;
SELECT hilo_last_number('upserts') - :before AS cost;
INSERT INTO upserts (name) VALUES ('a'), ('b') ON CONFLICT DO NOTHING;
SELECT hilo_last_number('upserts') - :before AS cost;

DROP SCHEMA regress_default CASCADE;
DROP OWNED BY regress_hilo_own, regress_hilo_other;
DROP ROLE regress_hilo_own, regress_hilo_other;
SELECT count(hilo.drop(c)) FROM unnest('{moved,typed,narrow,contested,parts,shrinks,to_numeric,to_uuid,rewritten,daily,tooled,seen,def_fresh,sentinel,mixed,mixed_other,log,mine,theirs,hidden,trap,upserts}'::text[]) c;
SELECT count(hilo.drop(c)) FROM unnest(ARRAY['printed', 'Printed "2']) c;
