-- Which roles may attach a table: its owner, to a collection that is new, that only its own tables use, or that it was granted; to a sequence, also the right to draw from it.  A default written by hand gives no more rights.

CREATE ROLE regress_hilo_ann;
CREATE ROLE regress_hilo_bob;
CREATE ROLE regress_hilo_team;
CREATE SCHEMA regress_attach_rights;
GRANT USAGE, CREATE ON SCHEMA regress_attach_rights TO PUBLIC;
SET search_path = regress_attach_rights, public;
SET hilo.range_size = 4;
SET hilo.max_range_size = 4;
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
-- A table of a role, with a default written by hand if collection is given.
CREATE FUNCTION make(role text, name text, collection text DEFAULT NULL) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %I (id bigint PRIMARY KEY, x int)', name);
	EXECUTE format('ALTER TABLE %I OWNER TO %I', name, 'regress_hilo_' || role);
	IF collection IS NOT NULL THEN
		EXECUTE format('ALTER TABLE %I ALTER id SET DEFAULT hilo_next_number(%L)', name, collection);
	END IF;
END $$;
SET client_min_messages = warning;

-- The owner, to a new collection: attaches, draws, detaches, and attaches a second table to it.
SELECT make('ann', 'orders'), make('ann', 'invoices'), make('bob', 'bobs');
SELECT statement, a.* FROM unnest(ARRAY[
	$$SELECT hilo.attach('orders', collection => 'orders')$$, $$INSERT INTO orders DEFAULT VALUES$$, $$SELECT hilo_next('orders')$$, $$SELECT hilo.attach('orders', collection => 'orders')$$,
	$$SELECT hilo.attach('invoices', 'id', 'orders')$$, $$INSERT INTO invoices DEFAULT VALUES$$, $$INSERT INTO invoices VALUES (20)$$,
	$$SELECT hilo.detach('orders')$$, $$SELECT hilo.attach('orders', collection => 'orders')$$, $$SELECT hilo.attach('orders', 'id', 'orders')$$, $$SELECT hilo.detach('invoices')$$, $$SELECT hilo.attach('invoices', 'id', 'orders')$$,
	$$SELECT hilo.attach('bobs', collection => 'bobs')$$, $$SELECT hilo.detach('bobs')$$]) WITH ORDINALITY s(statement, i), as_role('ann', statement) a ORDER BY i;
-- Another role: not her tables, not her collection.
\set VERBOSITY default
SET ROLE regress_hilo_bob;
SELECT hilo.attach('bobs', 'id', 'orders');
RESET ROLE;
\set VERBOSITY terse
SELECT statement, a.* FROM unnest(ARRAY[
	$$SELECT hilo.attach('orders', collection => 'orders')$$, $$SELECT hilo.detach('orders')$$, $$SELECT hilo.attach('bobs', collection => 'orders')$$,
	$$SELECT hilo_next_number('orders')$$, $$SELECT hilo.attach('bobs', collection => 'bobs')$$, $$INSERT INTO bobs DEFAULT VALUES$$, $$SELECT hilo.detach('bobs')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
-- A default of its own making: no statement moves the max, nor gives the right to draw, nor takes it from others.
SELECT make('bob', 'forged', 'orders');
SET ROLE regress_hilo_bob;
INSERT INTO forged VALUES (1000000);
INSERT INTO forged DEFAULT VALUES;
SELECT hilo.attach('forged', 'id', 'orders');
SELECT hilo.attach('forged', 'id');
CREATE TABLE forged_small (id smallint PRIMARY KEY DEFAULT hilo_next_number('orders'));
CREATE TABLE forged_parts (id bigint DEFAULT hilo_next_number('orders'), part int) PARTITION BY LIST (part);
CREATE TABLE forged_part PARTITION OF forged_parts DEFAULT;
INSERT INTO forged_parts VALUES (1000000, 1);
RESET ROLE;
SELECT max_of('orders') < 1000 AS unmoved;
SELECT statement, a.* FROM unnest(ARRAY[$$INSERT INTO orders DEFAULT VALUES$$, $$INSERT INTO invoices DEFAULT VALUES$$, $$SELECT hilo.attach('orders', collection => 'orders')$$, $$SELECT hilo_next_number('orders')$$]) WITH ORDINALITY s(statement, i), as_role('ann', statement) a ORDER BY i;
SELECT (as_role('bob', $$SELECT hilo_next_number('orders')$$)).*;
SET ROLE regress_hilo_ann;
SELECT hilo.detach('invoices');
SELECT hilo.attach('invoices', 'id', 'orders') < 1000 AS unmoved;
RESET ROLE;
SELECT hilo.sync('orders') < 1000 AS unmoved;
SELECT hilo.configure('orders', reset => true);
SELECT max_value FROM hilo.hilo WHERE collection = 'orders';
SELECT bound_to FROM hilo.status WHERE collection = 'orders';
DROP TABLE forged_small, forged_parts, forged;
-- Nor when the other role's tables are detached: the collection is in use.
SELECT (as_role('ann', $$SELECT hilo.detach('orders'), hilo.detach('invoices')$$)).*;
SELECT make('bob', 'forged', 'orders');
SELECT statement, a.* FROM unnest(ARRAY[$$INSERT INTO forged VALUES (1000000)$$, $$SELECT hilo.attach('bobs', 'id', 'orders')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
DROP TABLE forged;
SELECT hilo.attach('orders', collection => 'orders') < 1000 AS unmoved;

-- Dropped, created and attached again, as the tests of a program do; a collection whose tables were all dropped is open to any role.
SELECT make('ann', 'remade'), make('ann', 'remade_2');
SELECT statement, a.state FROM unnest(ARRAY[$$SELECT hilo.attach('remade', collection => 'remade'), hilo.attach('remade_2', 'id', 'remade')$$, $$INSERT INTO remade SELECT FROM generate_series(1, 2000)$$, $$DROP TABLE remade$$]) WITH ORDINALITY s(statement, i), as_role('ann', statement) a ORDER BY i;
SELECT make('bob', 'remade');
SELECT (as_role('bob', $$SELECT hilo.attach('remade', collection => 'remade')$$)).*;
DROP TABLE remade;
-- Not after a rollback of that.
BEGIN;
DROP TABLE remade_2;
ROLLBACK;
SELECT make('bob', 'remade');
SELECT (as_role('bob', $$SELECT hilo.attach('remade', collection => 'remade')$$)).*;
DROP TABLE remade;
SELECT make('bob', 'remade');
SELECT (as_role('bob', $$SELECT hilo.attach('remade', collection => 'remade')$$)).*;
DROP TABLE remade, remade_2;
SELECT make('ann', 'remade');
SELECT statement, a.state FROM unnest(ARRAY[$$SELECT hilo.attach('remade', collection => 'remade')$$, $$INSERT INTO remade DEFAULT VALUES$$, $$DROP TABLE remade$$]) WITH ORDINALITY s(statement, i), as_role('ann', statement) a ORDER BY i;
SELECT make('bob', 'remade');
SELECT statement, a.state FROM unnest(ARRAY[$$SELECT hilo.attach('remade', collection => 'remade')$$, $$INSERT INTO remade DEFAULT VALUES$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
SELECT make('ann', 'remade_2');
SELECT (as_role('ann', $$SELECT hilo.attach('remade_2', 'id', 'remade')$$)).*;
DROP TABLE remade, remade_2;
-- Nor a collection that is or was granted, or was bound by hand.
SELECT hilo.allow('remade', 'regress_hilo_ann');
SELECT make('bob', 'remade');
SELECT (as_role('bob', $$SELECT hilo.attach('remade', collection => 'remade')$$)).*;
SELECT hilo.disallow('remade', 'regress_hilo_ann');
SELECT (as_role('bob', $$SELECT hilo.attach('remade', collection => 'remade')$$)).*;
DROP TABLE remade;
-- hilo.allow() lets a role draw, but not attach.
SELECT hilo.allow('orders', 'regress_hilo_bob');
SELECT make('bob', 'granted'), make('bob', 'granted_forged', 'orders'), make('bob', 'later', 'orders');
SELECT statement, a.* FROM unnest(ARRAY[$$SELECT hilo.attach('granted', 'id', 'orders')$$, $$INSERT INTO granted DEFAULT VALUES$$, $$INSERT INTO granted VALUES (200)$$, $$INSERT INTO granted_forged VALUES (300)$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
SELECT hilo.disallow('orders', 'regress_hilo_bob');
SELECT statement, a.* FROM unnest(ARRAY[$$INSERT INTO granted DEFAULT VALUES$$, $$INSERT INTO granted VALUES (400)$$, $$INSERT INTO granted_forged VALUES (450)$$, $$INSERT INTO later VALUES (500)$$, $$SELECT hilo.attach('bobs', 'id', 'orders')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
-- Nor if it is to public.
SELECT hilo.allow('orders', 'public');
SELECT statement, a.* FROM unnest(ARRAY[$$SELECT hilo_next_number('orders') > 0$$, $$INSERT INTO later VALUES (600)$$, $$SELECT hilo.attach('bobs', 'id', 'orders')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
SELECT hilo.disallow('orders', 'public');
DROP TABLE granted, granted_forged, later;

-- A sequence whose last value the owner of the table may not read: the collection could not continue above it.
CREATE SEQUENCE unread;
SELECT make('bob', 'unread_drawn');
ALTER TABLE unread_drawn ALTER id SET DEFAULT nextval('unread');
INSERT INTO unread_drawn SELECT FROM generate_series(1, 5);
DELETE FROM unread_drawn;
SELECT (as_role('bob', $$SELECT hilo.attach('unread_drawn', collection => 'unread_drawn')$$)).*;
GRANT SELECT ON SEQUENCE unread TO regress_hilo_bob;
SELECT (as_role('bob', $$SELECT hilo.attach('unread_drawn', collection => 'unread_drawn')$$)).*, max_of('unread_drawn');
DROP TABLE unread_drawn;

-- A collection that is drawn from and was never attached: not for ordinary roles.
SELECT count(hilo_next_number('loose')) FROM generate_series(1, 100);
SELECT make('bob', 'loose', 'loose'), make('bob', 'loose_too');
SELECT statement, a.* FROM unnest(ARRAY[$$INSERT INTO loose VALUES (1000000)$$, $$SELECT hilo.attach('loose', collection => 'loose')$$, $$SELECT hilo.attach('loose_too', 'id', 'loose')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
SELECT hilo.attach('loose', collection => 'loose');
SELECT (as_role('bob', $$INSERT INTO loose VALUES (100)$$)).*, max_of('loose');
-- One whose identity was drawn from, whose search for free numbers a table would lead.
SELECT next_identity_for('firms') FROM generate_series(1, 2);
SELECT make('bob', 'firms'), make('bob', 'firms_too');
SELECT statement, a.* FROM unnest(ARRAY[$$SELECT hilo.attach('firms', collection => 'firms')$$, $$SELECT hilo.attach('firms_too', 'id', 'firms')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
SELECT (as_role('ann', $$SELECT next_identity_for('firms')$$)).*;
SELECT hilo.attach('firms', collection => 'firms');
DROP TABLE firms, firms_too;
SELECT hilo.drop('firms|');
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
SELECT (as_role('bob', $$SELECT hilo.attach('shared', collection => 'shared')$$)).*;
SELECT (as_role('ann', $$SELECT hilo.attach('shared', collection => 'shared')$$)).*;
SELECT make('ann', 'shared_too');
SELECT (as_role('ann', $$SELECT hilo.attach('shared_too', 'id', 'shared')$$)).*;
SELECT make('bob', 'shared_three');
SELECT (as_role('bob', $$SELECT hilo.attach('shared_three', 'id', 'shared')$$)).*;
SELECT (as_role('bob', $$SELECT hilo.detach('shared')$$)).*;
DROP TABLE shared, shared_too, shared_three;
SELECT make('ann', 'moved');
SELECT (as_role('ann', $$SELECT hilo.attach('moved', collection => 'moved')$$)).*;
ALTER TABLE moved OWNER TO regress_hilo_bob;
SELECT statement, a.* FROM unnest(ARRAY[$$INSERT INTO moved DEFAULT VALUES$$, $$INSERT INTO moved VALUES (77)$$, $$SELECT hilo.attach('moved', collection => 'moved')$$, $$SELECT hilo.detach('moved')$$]) WITH ORDINALITY s(statement, i), as_role('bob', statement) a ORDER BY i;
DROP TABLE moved;
CREATE TABLE supers (id bigint PRIMARY KEY);
SELECT hilo.attach('supers', collection => 'supers');
SELECT make('bob', 'supers_forged', 'supers');
SELECT (as_role('bob', $$INSERT INTO supers_forged VALUES (1000)$$)).*;
DROP TABLE supers, supers_forged;

-- A row of hilo.binding that was written by hand: what it says was the default is never run.
SELECT make('bob', 'trap', 'trap');
INSERT INTO hilo.binding (collection, kind, object_name, owner, was, sequence) VALUES ('trap', 'attached', 'regress_attach_rights.trap', 'regress_hilo_bob', '1; ALTER ROLE regress_hilo_bob SUPERUSER', '"x; ALTER ROLE regress_hilo_bob SUPERUSER"');
SELECT hilo.detach('trap');
SELECT rolsuper FROM pg_roles WHERE rolname = 'regress_hilo_bob';

-- To a sequence: the right to draw from it is needed, which moves it; the owner has it.
CREATE SEQUENCE others;
SET ROLE regress_hilo_bob;
CREATE TABLE burn (id bigint PRIMARY KEY DEFAULT nextval('others'), x int);
INSERT INTO burn VALUES (1000000);
SELECT hilo.attach('burn');
RESET ROLE;
SELECT last_value, is_called FROM others;
SELECT hilo.attach('burn') < 1000 AS unmoved;
SELECT hilo.detach('burn');
GRANT USAGE ON SEQUENCE others TO regress_hilo_bob;
SET ROLE regress_hilo_bob;
SELECT hilo.attach('burn') < 1000 AS unmoved;
SELECT hilo.detach('burn');
RESET ROLE;
GRANT UPDATE ON SEQUENCE others TO regress_hilo_bob;
SET ROLE regress_hilo_bob;
SELECT hilo.attach('burn');
INSERT INTO burn (x) VALUES (0) RETURNING id;
SELECT hilo.detach('burn');
-- Not another role's table.
RESET ROLE;
SELECT make('ann', 'anns');
SET ROLE regress_hilo_bob;
SELECT hilo.attach('anns');
SELECT hilo.detach('anns');
\set VERBOSITY sqlstate
SELECT hilo._attach_sequence('anns', 'id');
\set VERBOSITY terse
SELECT hilo._bind_column('anns', 'id', 'anns', 'nothing', '-');
SELECT hilo._drawn_before('anns', 'id', 'orders');
SELECT hilo._attach_counter('anns', 'id', 'anns', 5);
-- Nor a counter that his table does not draw from.
CREATE TABLE strays (id bigint);
SELECT hilo._attach_counter('strays', 'id', 'unused', 9223372036854775806);
SELECT count(*) FROM hilo_next_number('unused') n WHERE n < 1000;
DROP TABLE strays;
-- Nor is anything recorded of a table that does not draw from it, or is temporary; nor by a role that may not attach.
CREATE TEMPORARY TABLE passing (id bigint DEFAULT hilo_next_number('strays'));
CREATE TABLE strays (id bigint);
\set VERBOSITY sqlstate
SELECT hilo._bind_column('passing', 'id', 'strays', 'nothing', '-');
\set VERBOSITY terse
SELECT hilo._bind_column('strays', 'id', 'strays', 'nothing', '-');
ALTER TABLE strays ALTER id SET DEFAULT hilo_next_number('strays');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION hilo.attach(regclass, name, text, boolean) FROM PUBLIC;
SET ROLE regress_hilo_bob;
SELECT hilo._bind_column('strays', 'id', 'strays', 'nothing', '-');
SELECT hilo._attach_counter('strays', 'id', 'strays', 5);
RESET ROLE;
GRANT EXECUTE ON FUNCTION hilo.attach(regclass, name, text, boolean) TO PUBLIC;
SELECT (SELECT count(*) FROM hilo.hilo WHERE collection = 'strays') AS counters, (SELECT count(*) FROM hilo.binding WHERE collection = 'strays') AS bindings;
SET ROLE regress_hilo_bob;
DROP TABLE strays, passing;
SELECT hilo._max('anns', 'orders');
SELECT hilo._lock('anns', 'x');
SELECT hilo._sync_sequence('others', 'anns', true);
SELECT hilo._sync_sequence('others', 'burn', true) >= 1000000 AS at;
-- Who may set a sequence, but not read it, detaches with a warning that it is not moved.
SELECT hilo.attach('burn', collection => 'burn');
SELECT hilo.detach('burn');
RESET ROLE;
REVOKE UPDATE ON SEQUENCE others FROM regress_hilo_bob;
SET ROLE regress_hilo_bob;
SELECT hilo._move_sequence('others', 9000000, 'regress_hilo_bob'::regrole);
SELECT hilo._move_sequence('others', 9000000, 'regress_hilo_ann'::regrole);
-- Nor where a sequence is at that a role may not draw from, and what is in its table.
RESET ROLE;
CREATE TABLE secret (id serial PRIMARY KEY, x int);
INSERT INTO secret VALUES (1900000123);
SET ROLE regress_hilo_bob;
CREATE TABLE curious (id int PRIMARY KEY DEFAULT nextval('secret_id_seq'), x int);
INSERT INTO curious VALUES (1);
SELECT hilo.attach('curious');
SELECT hilo._sync_sequence('secret_id_seq', 'curious', true);
RESET ROLE;
-- The right to draw from it alone does not move it to ids of its table, nor lock that one; a warning says what does not count.
GRANT USAGE ON SEQUENCE secret_id_seq TO regress_hilo_bob;
SET ROLE regress_hilo_bob;
BEGIN;
SELECT hilo._sync_sequence('secret_id_seq', 'secret', true);
ROLLBACK;
\set VERBOSITY default
BEGIN;
SELECT hilo.attach('curious');
SELECT mode FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'secret'::regclass;
COMMIT;
RESET ROLE;
SELECT hilo.sync('curious') = 1900000123 AS synced;
\set VERBOSITY terse
SELECT setval('secret_id_seq', 1, false);
SET ROLE regress_hilo_bob;
-- A record that names a stranger's sequence does not move it, whoever detaches.
CREATE TABLE evil (id bigint PRIMARY KEY);
INSERT INTO evil VALUES (2147483000);
SELECT hilo.attach('evil', collection => 'evil');
SELECT hilo._bind_column('evil', 'id', 'evil', 'sequence', 'secret_id_seq');
RESET ROLE;
SELECT hilo.detach('evil');
SELECT last_value, is_called FROM secret_id_seq;
-- Where another's collection is, is not told; but ids that are in one's own table do not come again.
SET ROLE regress_hilo_ann;
CREATE TABLE theirs (id bigint PRIMARY KEY);
SELECT hilo.attach('theirs', collection => 'theirs');
RESET ROLE;
SELECT hilo.allow('theirs', 'regress_hilo_bob');
SET ROLE regress_hilo_bob;
CREATE TABLE by_hand (id bigserial PRIMARY KEY, x int);
ALTER TABLE by_hand ALTER id SET DEFAULT hilo_next_number('theirs');
INSERT INTO by_hand (x) VALUES (1), (2), (3);
SELECT hilo.detach('by_hand');
INSERT INTO by_hand (x) VALUES (4) RETURNING id > (SELECT max(id) FROM by_hand) AS above;
RESET ROLE;

RESET search_path;
DROP SCHEMA regress_attach_rights CASCADE;
DROP OWNED BY regress_hilo_ann, regress_hilo_bob, regress_hilo_team;
DROP ROLE regress_hilo_ann, regress_hilo_bob, regress_hilo_team;
SELECT count(hilo.drop(collection)) > 0 AS dropped FROM hilo.hilo WHERE collection IN ('orders', 'copied', 'bobs', 'loose', 'docs', 'set', 'shared', 'moved', 'supers', 'trap', 'invoices', 'remade', 'burn', 'theirs') OR collection ~ 'ALTER ROLE';
