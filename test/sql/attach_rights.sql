-- Which roles may attach a table: its owner, to a collection that is new, that only its own tables use, or that it was granted.  A trigger made by hand gives no more rights.
\set SHOW_CONTEXT never

CREATE ROLE regress_hilo_ann;
CREATE ROLE regress_hilo_bob;
CREATE ROLE regress_hilo_team;
CREATE SCHEMA regress_attach_rights;
GRANT USAGE, CREATE ON SCHEMA regress_attach_rights TO PUBLIC;
SET search_path = regress_attach_rights, public;
SET hilo.range_size = 4;
SET hilo.range_duration = 0;
CREATE FUNCTION max_of(name text) RETURNS bigint LANGUAGE sql SECURITY DEFINER AS $$ SELECT max FROM hilo.hilo WHERE collection = name $$;
-- The result of a statement run by a role, and whether it has moved the counters.
CREATE FUNCTION as_role(role text, statement text, OUT state text, OUT moved boolean) LANGUAGE plpgsql AS $$
DECLARE
	before text;
BEGIN
	SELECT string_agg(collection || max || max_value, ',' ORDER BY collection) INTO before FROM hilo.hilo;
	PERFORM set_config('role', 'regress_hilo_' || role, true);
	BEGIN
		EXECUTE statement;
		state := 'fine';
	EXCEPTION WHEN OTHERS THEN
		state := SQLSTATE || ': ' || SQLERRM;
	END;
	PERFORM set_config('role', 'none', true);
	moved := before IS DISTINCT FROM (SELECT string_agg(collection || max || max_value, ',' ORDER BY collection) FROM hilo.hilo);
END $$;
-- A table of a role, with a trigger made by hand if collection is given.
CREATE FUNCTION make(role text, name text, collection text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I (id bigint PRIMARY KEY, x int)', name);
	EXECUTE format('ALTER TABLE %I OWNER TO %I', name, 'regress_hilo_' || role);
	IF collection IS NOT NULL THEN
		EXECUTE format('ALTER TABLE %I ALTER id SET DEFAULT hilo_next_number(%L)', name, collection);
		EXECUTE format('CREATE TRIGGER zzz_hilo_advance_id BEFORE INSERT ON %I FOR EACH ROW EXECUTE FUNCTION hilo.advance(%L)', name, collection);
	END IF;
END $$;
SET client_min_messages = warning;

-- The owner, to a new collection: attaches, draws, detaches, and attaches a second table to it.
SELECT make('ann', 'orders'), make('ann', 'invoices'), make('bob', 'bobs');
SELECT statement, a.* FROM unnest(ARRAY[
	$$SELECT hilo.attach('orders')$$, $$INSERT INTO orders DEFAULT VALUES$$, $$SELECT hilo_next('orders')$$, $$SELECT hilo.attach('orders')$$,
	$$SELECT hilo.attach('invoices', 'id', 'orders')$$, $$INSERT INTO invoices DEFAULT VALUES$$, $$INSERT INTO invoices VALUES (20)$$,
	$$SELECT hilo.detach('orders')$$, $$SELECT hilo.attach('orders')$$, $$SELECT hilo.attach('orders', 'id', 'orders')$$, $$SELECT hilo.detach('invoices'), hilo.detach('orders')$$, $$SELECT hilo.attach('orders'), hilo.attach('invoices', 'id', 'orders')$$,
	$$SELECT hilo.attach('bobs')$$, $$SELECT hilo.detach('bobs')$$]) WITH ORDINALITY s(statement, i), as_role('ann', statement) a ORDER BY i;
-- Another role: not her tables, not her collection.
\set VERBOSITY default
SET ROLE regress_hilo_bob;
SELECT hilo.attach('bobs', 'id', 'orders');
RESET ROLE;
\set VERBOSITY terse
SELECT statement, a.* FROM unnest(ARRAY[
	$$SELECT hilo.attach('orders')$$, $$SELECT hilo.detach('orders')$$, $$SELECT hilo.attach('bobs', collection => 'orders')$$, $$CALL hilo.attach_online('bobs', 'id', 'orders')$$,
	$$SELECT hilo_next_number('orders')$$, $$SELECT hilo.attach('bobs')$$, $$INSERT INTO bobs DEFAULT VALUES$$, $$SELECT hilo.detach('bobs')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
-- A trigger of its own making: no statement moves the max, nor gives the right to draw, nor takes it from others.
SELECT make('bob', 'forged', 'orders');
SET ROLE regress_hilo_bob;
\set VERBOSITY default
INSERT INTO forged VALUES (1000000);
\set VERBOSITY terse
COPY forged (id) FROM stdin;
1000000
\.
ALTER TABLE forged DISABLE TRIGGER USER;
INSERT INTO forged VALUES (5);
ALTER TABLE forged ENABLE TRIGGER USER;
UPDATE forged SET id = 1000000;
INSERT INTO forged VALUES (2000000) ON CONFLICT DO NOTHING;
ALTER TABLE forged ENABLE ALWAYS TRIGGER zzz_hilo_advance_id;
INSERT INTO forged VALUES (2000000);
ALTER TABLE forged ALTER id SET DEFAULT hilo_next_number('orders');
INSERT INTO forged DEFAULT VALUES;
SELECT hilo.attach('forged', 'id', 'orders');
SELECT hilo.attach('forged', 'id');
RESET ROLE;
SELECT max_of('orders') < 1000 AS unmoved;
SELECT statement, a.* FROM unnest(ARRAY[$$INSERT INTO orders DEFAULT VALUES$$, $$INSERT INTO invoices DEFAULT VALUES$$, $$SELECT hilo.attach('orders')$$, $$SELECT hilo_next_number('orders')$$]) WITH ORDINALITY s(statement, i), as_role('ann', statement) a ORDER BY i;
SELECT (as_role('bob', $$SELECT hilo_next_number('orders')$$)).*;
-- Nor when the other role's trigger looks at existing ids, or hilo.sync() or hilo.configure() does; it blocks nothing.
SET ROLE regress_hilo_bob;
ALTER TABLE forged DISABLE TRIGGER USER;
INSERT INTO forged VALUES (1000000);
ALTER TABLE forged ENABLE TRIGGER USER;
CREATE TABLE forged_small (id smallint PRIMARY KEY DEFAULT hilo_next_number('orders'));
CREATE TRIGGER zzz_hilo_advance_id BEFORE INSERT ON forged_small FOR EACH ROW EXECUTE FUNCTION hilo.advance('orders');
SET ROLE regress_hilo_ann;
ALTER TABLE orders DISABLE TRIGGER USER;
ALTER TABLE orders ENABLE TRIGGER USER;
INSERT INTO orders DEFAULT VALUES;
INSERT INTO orders VALUES (30);
SELECT hilo.attach('orders') < 1000 AS unmoved;
SELECT hilo.detach('invoices'), hilo.detach('orders'), hilo.attach('orders') < 1000 AS unmoved;
SELECT hilo.attach('invoices', 'id', 'orders') < 1000 AS unmoved;
RESET ROLE;
SELECT hilo.sync('orders') < 1000 AS unmoved;
SELECT hilo.configure('orders', reset => true);
SELECT max_value FROM hilo.hilo WHERE collection = 'orders';
SELECT bound_to FROM hilo.status WHERE collection = 'orders';
SET ROLE regress_hilo_bob;
INSERT INTO forged VALUES (1000001);
DROP TABLE forged_small;
RESET ROLE;
SELECT max_of('orders') < 1000 AS unmoved;
-- Nor do the role's partitions and children.
SET ROLE regress_hilo_bob;
CREATE TABLE forged_parts (id bigint DEFAULT hilo_next_number('orders'), part int) PARTITION BY LIST (part);
CREATE TABLE forged_part PARTITION OF forged_parts DEFAULT;
CREATE TRIGGER zzz_hilo_advance_id BEFORE INSERT ON forged_parts FOR EACH ROW EXECUTE FUNCTION hilo.advance('orders');
INSERT INTO forged_parts VALUES (1000000, 1);
INSERT INTO forged_part VALUES (1000000, 1);
DROP TABLE forged_parts, forged;
RESET ROLE;
SELECT max_of('orders') < 1000 AS unmoved;
-- Nor when the other role's tables are detached: the collection is in use.
SELECT (as_role('ann', $$SELECT hilo.detach('orders'), hilo.detach('invoices')$$)).*;
SELECT make('bob', 'forged', 'orders');
SELECT statement, a.* FROM unnest(ARRAY[$$INSERT INTO forged VALUES (1000000)$$, $$SELECT hilo.attach('bobs', 'id', 'orders')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
DROP TABLE forged;
SELECT (as_role('ann', $$SELECT hilo.attach('orders')$$)).*;

-- A trigger that the other role makes, or that came with a copy, protects the collection as well, once it was seen.
SELECT make('ann', 'copied', 'copied');
SELECT (as_role('ann', $$SELECT hilo_next_number('copied')$$)).*;
SELECT (as_role('bob', $$SELECT hilo_next_number('copied')$$)).*;
SELECT (as_role('ann', $$INSERT INTO copied VALUES (5)$$)).*;
SELECT (as_role('bob', $$SELECT hilo_next_number('copied')$$)).*;
SELECT (as_role('ann', $$SELECT hilo_next_number('copied')$$)).*;
DROP TABLE copied;

-- Dropped, created and attached again, as the tests of a program do; a collection whose tables were all dropped is open to any role.
SELECT make('ann', 'remade'), make('ann', 'remade_2');
SELECT statement, a.state FROM unnest(ARRAY[$$SELECT hilo.attach('remade'), hilo.attach('remade_2', 'id', 'remade')$$, $$INSERT INTO remade SELECT FROM generate_series(1, 2000)$$, $$DROP TABLE remade$$]) WITH ORDINALITY s(statement, i), as_role('ann', statement) a ORDER BY i;
SELECT make('bob', 'remade');
SELECT (as_role('bob', $$SELECT hilo.attach('remade')$$)).*;
DROP TABLE remade;
-- Not after a rollback of that, nor if only the trigger is dropped.
BEGIN;
DROP TABLE remade_2;
ROLLBACK;
SELECT make('bob', 'remade');
SELECT (as_role('bob', $$SELECT hilo.attach('remade')$$)).*;
DROP TABLE remade;
DROP TRIGGER zzz_hilo_advance_remade_2 ON remade_2;
SELECT make('bob', 'remade');
SELECT (as_role('bob', $$SELECT hilo.attach('remade')$$)).*;
DROP TABLE remade, remade_2;
SELECT make('ann', 'remade');
SELECT statement, a.state FROM unnest(ARRAY[$$SELECT hilo.attach('remade')$$, $$INSERT INTO remade DEFAULT VALUES$$, $$DROP TABLE remade$$]) WITH ORDINALITY s(statement, i), as_role('ann', statement) a ORDER BY i;
SELECT make('bob', 'remade');
SELECT statement, a.state FROM unnest(ARRAY[$$SELECT hilo.attach('remade')$$, $$INSERT INTO remade DEFAULT VALUES$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
SELECT make('ann', 'remade_2');
SELECT (as_role('ann', $$SELECT hilo.attach('remade_2', 'id', 'remade')$$)).*;
DROP TABLE remade, remade_2;
-- Nor a collection that is or was granted, or was bound by hand.
SELECT hilo.allow('remade', 'regress_hilo_ann');
SELECT make('bob', 'remade');
SELECT (as_role('bob', $$SELECT hilo.attach('remade')$$)).*;
SELECT hilo.disallow('remade', 'regress_hilo_ann');
SELECT (as_role('bob', $$SELECT hilo.attach('remade')$$)).*;
DROP TABLE remade;
-- A copy by its trigger alone.
SELECT make('ann', 'copied', 'copied');
SELECT statement, a.state FROM unnest(ARRAY[$$INSERT INTO copied VALUES (5000)$$, $$DROP TABLE copied$$]) WITH ORDINALITY s(statement, i), as_role('ann', statement) a ORDER BY i;
SELECT make('ann', 'copied');
SELECT (as_role('ann', $$SELECT hilo.attach('copied')$$)).*;
DROP TABLE copied;

-- hilo.allow() lets a role draw, but not attach.
SELECT hilo.allow('orders', 'regress_hilo_bob');
SELECT make('bob', 'granted'), make('bob', 'granted_forged', 'orders'), make('bob', 'later', 'orders');
SELECT statement, a.* FROM unnest(ARRAY[$$SELECT hilo.attach('granted', 'id', 'orders')$$, $$INSERT INTO granted DEFAULT VALUES$$, $$INSERT INTO granted VALUES (200)$$, $$INSERT INTO granted_forged VALUES (300)$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
SELECT hilo.disallow('orders', 'regress_hilo_bob');
SELECT statement, a.* FROM unnest(ARRAY[$$INSERT INTO granted DEFAULT VALUES$$, $$INSERT INTO granted VALUES (400)$$, $$INSERT INTO granted_forged VALUES (450)$$, $$INSERT INTO later VALUES (500)$$, $$SELECT hilo.attach('bobs', 'id', 'orders')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
-- Nor if it is to public.
SELECT hilo.allow('orders', 'public');
SELECT statement, a.* FROM unnest(ARRAY[$$SELECT hilo_next_number('orders') > 0$$, $$INSERT INTO later VALUES (500)$$, $$SELECT hilo.attach('bobs', 'id', 'orders')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
SELECT hilo.disallow('orders', 'public');
DROP TABLE granted, granted_forged, later;

-- A collection that is drawn from and was never attached: not for ordinary roles.
SELECT count(hilo_next_number('loose')) FROM generate_series(1, 100);
SELECT make('bob', 'loose', 'loose'), make('bob', 'loose_too');
SELECT statement, a.* FROM unnest(ARRAY[$$INSERT INTO loose VALUES (1000000)$$, $$SELECT hilo.attach('loose')$$, $$SELECT hilo.attach('loose_too', 'id', 'loose')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
SELECT hilo.attach('loose');
SELECT (as_role('bob', $$INSERT INTO loose VALUES (100)$$)).*, max_of('loose');
-- One that is bound to the documents of another role, new or not; one that was configured.
SELECT make('ann', 'docs');
SELECT hilo.bind('docs', 'docs', 'id'), hilo.configure('set', max_value => 1000);
SELECT make('bob', 'bound', 'docs');
SELECT statement, a.* FROM unnest(ARRAY[$$INSERT INTO bound VALUES (1000000)$$, $$SELECT hilo.attach('bound', 'id', 'docs')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
SELECT hilo.unbind('docs');
SELECT hilo.drop('docs');
DROP TABLE docs, bound;

-- Members of the owner; a table that changes its owner, one of the superuser.
GRANT regress_hilo_team TO regress_hilo_ann, regress_hilo_bob;
SELECT make('team', 'shared');
SELECT (as_role('bob', $$SELECT hilo.attach('shared')$$)).*;
SELECT (as_role('ann', $$SELECT hilo.attach('shared')$$)).*;
SELECT make('ann', 'shared_too');
SELECT (as_role('ann', $$SELECT hilo.attach('shared_too', 'id', 'shared')$$)).*;
SELECT make('bob', 'shared_three');
SELECT (as_role('bob', $$SELECT hilo.attach('shared_three', 'id', 'shared')$$)).*;
SELECT (as_role('bob', $$SELECT hilo.detach('shared')$$)).*;
DROP TABLE shared, shared_too, shared_three;
SELECT make('ann', 'moved');
SELECT (as_role('ann', $$SELECT hilo.attach('moved')$$)).*;
ALTER TABLE moved OWNER TO regress_hilo_bob;
SELECT statement, a.* FROM unnest(ARRAY[$$INSERT INTO moved DEFAULT VALUES$$, $$ALTER TABLE moved DISABLE TRIGGER USER$$, $$ALTER TABLE moved ENABLE TRIGGER USER$$, $$INSERT INTO moved VALUES (77)$$, $$SELECT hilo.attach('moved')$$, $$SELECT hilo.detach('moved')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
DROP TABLE moved;
CREATE TABLE supers (id bigint PRIMARY KEY);
SELECT hilo.attach('supers');
SELECT make('bob', 'supers_forged', 'supers');
SELECT (as_role('bob', $$INSERT INTO supers_forged VALUES (1000)$$)).*;
DROP TABLE supers, supers_forged;

-- What a superuser detaches or alters is not run with the superuser's rights.
SELECT make('bob', 'trap');
SET ROLE regress_hilo_bob;
ALTER TABLE trap ALTER id SET DEFAULT hilo_next_number('trap');
CREATE TRIGGER zzz_hilo_advance_id BEFORE INSERT ON trap FOR EACH ROW
	EXECUTE FUNCTION hilo.advance('trap', 'was default', '1; ALTER ROLE regress_hilo_bob SUPERUSER; SELECT 1');
RESET ROLE;
SELECT hilo.detach('trap');
SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_hilo_bob';
SET ROLE regress_hilo_bob;
DROP TRIGGER IF EXISTS zzz_hilo_advance_id ON trap;
ALTER TABLE trap ALTER id SET DEFAULT hilo_next_number('trap');
CREATE TRIGGER zzz_hilo_advance_id BEFORE INSERT ON trap FOR EACH ROW
	EXECUTE FUNCTION hilo.advance('trap', 'was default', '1, OWNER TO regress_hilo_ann');
RESET ROLE;
SELECT hilo.detach('trap');
SELECT relowner::regrole FROM pg_class WHERE oid = 'trap'::regclass;
SET ROLE regress_hilo_bob;
DROP TRIGGER IF EXISTS zzz_hilo_advance_id ON trap;
ALTER TABLE trap ALTER id SET DEFAULT hilo_next_number('trap');
CREATE FUNCTION who() RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RAISE WARNING 'run as %', current_user; RETURN 1; END $$;
CREATE DOMAIN caught AS bigint CHECK (VALUE = who());
CREATE TRIGGER zzz_hilo_advance_id BEFORE INSERT ON trap FOR EACH ROW
	EXECUTE FUNCTION hilo.advance('trap', 'was default', 'CAST(''1'' AS regress_attach_rights.caught)');
RESET ROLE;
SELECT hilo.detach('trap');
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'trap'::regclass;
-- Names in triggers, and an event caused by them
SET ROLE regress_hilo_bob;
CREATE TABLE "trap; ALTER ROLE regress_hilo_bob SUPERUSER; --" (id int PRIMARY KEY, "x; ALTER ROLE regress_hilo_bob SUPERUSER; --" int);
CREATE TRIGGER "t; ALTER ROLE regress_hilo_bob SUPERUSER; --" BEFORE INSERT OR UPDATE OF id ON "trap; ALTER ROLE regress_hilo_bob SUPERUSER; --" FOR EACH ROW
	EXECUTE FUNCTION hilo.advance('c; ALTER ROLE regress_hilo_bob SUPERUSER; --''\', 'identity');
RESET ROLE;
ALTER TABLE "trap; ALTER ROLE regress_hilo_bob SUPERUSER; --" ALTER id TYPE bigint;
SELECT tgname FROM pg_trigger WHERE tgrelid = '"trap; ALTER ROLE regress_hilo_bob SUPERUSER; --"'::regclass;
SELECT hilo.detach('"trap; ALTER ROLE regress_hilo_bob SUPERUSER; --"');
SELECT hilo.attach('"trap; ALTER ROLE regress_hilo_bob SUPERUSER; --"');
SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_hilo_bob';

-- The default that is put back may name a sequence that the table's owner must not set.
CREATE SEQUENCE others;
SET ROLE regress_hilo_bob;
CREATE TABLE burn (id bigint DEFAULT hilo_next_number('burn'));
CREATE TRIGGER zzz_hilo_advance_burn BEFORE INSERT ON burn FOR EACH ROW
	EXECUTE FUNCTION hilo.advance('burn', 'was default', 'nextval(''regress_attach_rights.others'')');
INSERT INTO burn VALUES (1000000);
RESET ROLE;
SELECT hilo.detach('burn');
SELECT last_value, is_called FROM others;
GRANT UPDATE ON SEQUENCE others TO regress_hilo_bob;
SELECT hilo.detach('burn');
SELECT last_value, is_called FROM others;

-- A trigger with a condition keeps its column from being changed.
SELECT make('bob', 'picky');
SET ROLE regress_hilo_bob;
CREATE TRIGGER zzz_hilo_advance_id BEFORE INSERT OR UPDATE OF id ON picky FOR EACH ROW WHEN (NEW.id > 5) EXECUTE FUNCTION hilo.advance('picky');
INSERT INTO picky VALUES (4), (6);
ALTER TABLE picky ALTER id TYPE text;
INSERT INTO picky VALUES (7);
RESET ROLE;

RESET search_path;
DROP SCHEMA regress_attach_rights CASCADE;
DROP OWNED BY regress_hilo_ann, regress_hilo_bob, regress_hilo_team;
DROP ROLE regress_hilo_ann, regress_hilo_bob, regress_hilo_team;
SELECT count(hilo.drop(collection)) > 0 AS dropped FROM hilo.hilo WHERE collection IN ('orders', 'copied', 'bobs', 'loose', 'docs', 'set', 'shared', 'moved', 'supers', 'trap', 'invoices', 'remade', 'burn') OR collection ~ 'ALTER ROLE';
