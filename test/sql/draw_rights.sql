-- The right to draw: from a collection that is bound to a table, roles that may insert there, or were granted it; no other role can draw, move or exhaust the numbers.
\set SHOW_CONTEXT never

CREATE ROLE regress_hilo_owner;
CREATE ROLE regress_hilo_inserter;
CREATE ROLE regress_hilo_column;
CREATE ROLE regress_hilo_member IN ROLE regress_hilo_inserter;
CREATE ROLE regress_hilo_noinherit NOINHERIT IN ROLE regress_hilo_inserter;
CREATE ROLE regress_hilo_reader;
CREATE ROLE regress_hilo_clerk;
CREATE ROLE regress_hilo_nobody;
CREATE SCHEMA regress_rights;
GRANT USAGE, CREATE ON SCHEMA regress_rights TO PUBLIC;
SET search_path = regress_rights, public;

CREATE TABLE orders (id bigserial PRIMARY KEY, item text);
ALTER TABLE orders OWNER TO regress_hilo_owner;
GRANT INSERT ON orders TO regress_hilo_inserter;
GRANT INSERT (item) ON orders TO regress_hilo_column;
GRANT SELECT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER ON orders TO regress_hilo_reader;
GRANT UPDATE (id) ON orders TO regress_hilo_reader;

-- SQLSTATE of a statement, as the role that runs it.
CREATE FUNCTION state_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN 'fine';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
-- The result of each function that draws, run by a role.
CREATE TABLE assigned (id text);
GRANT INSERT ON assigned TO PUBLIC;
CREATE TRIGGER assign_id BEFORE INSERT ON assigned FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'orders');
CREATE FUNCTION draws(role text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	states text;
BEGIN
	PERFORM set_config('role', role, true);
	SELECT string_agg(DISTINCT state_of(statement), ', ') INTO states FROM unnest(ARRAY[
		$s$SELECT hilo_next('orders')$s$, $s$SELECT hilo_next('orders', 'B')$s$, $s$SELECT hilo_next_number('orders')$s$,
		$s$SELECT hilo_reserve('orders', 2)$s$, $s$SELECT hilo.next_range('orders')$s$, $s$SELECT hilo.next_hi('orders', 10)$s$,
		$s$SELECT hilo_document_id('orders')$s$, $s$INSERT INTO assigned VALUES (NULL)$s$]) statement;
	PERFORM set_config('role', 'none', true);
	RETURN states;
END $$;
CREATE VIEW rights AS SELECT role, draws('regress_hilo_' || role)
	FROM unnest('{owner,inserter,column,member,noinherit,reader,clerk,nobody}'::text[]) WITH ORDINALITY r(role, i) ORDER BY i;

-- As long as it is not bound: every role that may call the functions.
SELECT * FROM rights;
\set VERBOSITY terse
SET client_min_messages = warning;
SELECT hilo.attach('orders', collection => 'orders') > 0 AS attached;
RESET client_min_messages;
SELECT * FROM rights;
-- The message, and that other kinds of ids are not affected.
SET ROLE regress_hilo_nobody;
\set VERBOSITY default
SELECT hilo_next_number('orders');
\set VERBOSITY terse
SELECT hilo_document_id('orders', 'orders/tea'), length(hilo_document_id('orders', '')), length(hilo_document_id('orders', 'orders/'));
-- If the name is attached, an identity is looked up, which requires the privilege to read.
SELECT hilo_document_id('orders', 'orders|');
SELECT next_identity('orders'), hilo_format('orders', 5), hilo_number('orders/5-A'), hilo.release('orders'), hilo_next_number('others');
RESET ROLE;

-- hilo.allow(): to a role, which may have members; to public; taken back.
SELECT hilo.allow('orders', 'regress_hilo_clerk');
GRANT regress_hilo_clerk TO regress_hilo_reader;
SELECT * FROM rights;
SELECT * FROM hilo.may_draw ORDER BY collection, role, relation;
SELECT hilo.disallow('orders', 'regress_hilo_clerk'), hilo.allow('orders', 'public');
SELECT * FROM rights;
SELECT * FROM hilo.may_draw WHERE relation IS NULL;
SELECT hilo.disallow('orders', 'public');
SELECT * FROM rights;
REVOKE regress_hilo_clerk FROM regress_hilo_reader;
-- In a transaction.
BEGIN;
SELECT hilo.allow('orders', 'regress_hilo_nobody');
SELECT draws('regress_hilo_nobody');
ROLLBACK;
SELECT draws('regress_hilo_nobody');
-- A grant to a dropped role counts for no other role.
CREATE ROLE regress_hilo_gone;
SELECT hilo.allow('orders', 'regress_hilo_gone');
DROP ROLE regress_hilo_gone;
SELECT * FROM rights WHERE role IN ('inserter', 'nobody');
SELECT * FROM hilo.may_draw WHERE relation IS NULL;
SELECT hilo.disallow('orders', 'regress_hilo_gone');
SELECT collection, kind, owner FROM hilo.binding WHERE collection = 'orders' AND kind = 'allowed';
-- It can be taken back when another role has the name, and goes when that one is allowed.
CREATE ROLE regress_hilo_gone;
SELECT hilo.allow('orders', 'regress_hilo_gone'), hilo.allow('others', 'regress_hilo_gone');
DROP ROLE regress_hilo_gone;
CREATE ROLE regress_hilo_gone;
SELECT draws('regress_hilo_gone');
SELECT hilo.disallow('orders', 'regress_hilo_gone'), hilo.allow('others', 'regress_hilo_gone');
SELECT collection, object::regrole, owner FROM hilo.binding WHERE kind = 'allowed' ORDER BY collection;
SELECT hilo.disallow('others', 'regress_hilo_gone');
DROP ROLE regress_hilo_gone;
-- So can one from a dump whose role was not here.
INSERT INTO hilo.binding (collection, kind, owner) VALUES ('orders', 'allowed', 'regress_hilo_gone'), ('others', 'allowed', 'regress_hilo_gone');
SELECT hilo.disallow('others', 'regress_hilo_gone');
CREATE ROLE regress_hilo_gone;
SELECT draws('regress_hilo_gone');
SELECT hilo.disallow('orders', 'regress_hilo_gone');
SELECT count(*) FROM hilo.binding WHERE kind = 'allowed';
DROP ROLE regress_hilo_gone;

-- A grant is to a role, not to a name: it follows the role when that is renamed, and a new role of the old name has none.
CREATE ROLE regress_hilo_app;
SELECT hilo.allow('orders', 'regress_hilo_app');
ALTER ROLE regress_hilo_app RENAME TO regress_hilo_app_2;
CREATE ROLE regress_hilo_app;
SELECT role, draws('regress_hilo_' || role) FROM unnest('{app,app_2}'::text[]) role;
SELECT collection, object::regrole FROM hilo.binding WHERE collection = 'orders' AND kind = 'allowed';
SELECT hilo.disallow('orders', 'regress_hilo_app');
SELECT hilo.disallow('orders', 'regress_hilo_app_2');
SELECT role, draws('regress_hilo_' || role) FROM unnest('{app,app_2}'::text[]) role;
DROP ROLE regress_hilo_app, regress_hilo_app_2;

-- GRANT and REVOKE, on table or column, of roles, and ALTER ROLE; also on numbers that the session holds already.
SELECT hilo.release('orders') IS NOT NULL AS released;
SET ROLE regress_hilo_inserter;
SELECT count(hilo_next_number('orders')) AS drawn FROM generate_series(1, 3);
SELECT count(*) AS held FROM hilo.ranges WHERE collection = 'orders';
RESET ROLE;
REVOKE INSERT ON orders FROM regress_hilo_inserter;
SELECT * FROM rights;
GRANT INSERT (id) ON orders TO regress_hilo_inserter;
REVOKE INSERT (item) ON orders FROM regress_hilo_column;
SELECT * FROM rights;
REVOKE INSERT (id) ON orders FROM regress_hilo_inserter;
GRANT INSERT ON orders TO regress_hilo_inserter;
GRANT INSERT (item) ON orders TO regress_hilo_column;
REVOKE regress_hilo_inserter FROM regress_hilo_member;
SELECT * FROM rights WHERE role = 'member';
GRANT regress_hilo_inserter TO regress_hilo_member;
GRANT INSERT ON orders TO PUBLIC;
SELECT * FROM rights WHERE role IN ('member', 'nobody');
REVOKE INSERT ON orders FROM PUBLIC;
ALTER ROLE regress_hilo_nobody SUPERUSER;
SELECT draws('regress_hilo_nobody');
ALTER ROLE regress_hilo_nobody NOSUPERUSER;
SELECT draws('regress_hilo_nobody');
ALTER TABLE orders OWNER TO regress_hilo_nobody;
SELECT * FROM rights WHERE role IN ('owner', 'nobody');
ALTER TABLE orders OWNER TO regress_hilo_owner;
-- Within a transaction, and when that is undone.
BEGIN;
REVOKE INSERT ON orders FROM regress_hilo_inserter;
SELECT draws('regress_hilo_inserter');
SAVEPOINT s;
GRANT INSERT ON orders TO regress_hilo_nobody;
SELECT draws('regress_hilo_nobody');
ROLLBACK TO s;
SELECT draws('regress_hilo_nobody');
ROLLBACK;
SELECT draws('regress_hilo_inserter');
-- The user changes: SET ROLE, SET SESSION AUTHORIZATION, within a transaction; each time the range is there.
BEGIN;
SET ROLE regress_hilo_inserter;
SELECT hilo_next_number('orders') > 0 AS drawn;
SET ROLE regress_hilo_noinherit;
SAVEPOINT s;
SELECT hilo_next_number('orders');
ROLLBACK TO s;
SET ROLE regress_hilo_inserter;
SELECT hilo_next_number('orders') > 0 AS drawn;
COMMIT;
SET ROLE regress_hilo_nobody;
SELECT hilo_next_number('orders');
RESET ROLE;
SET SESSION AUTHORIZATION regress_hilo_nobody;
SELECT hilo_next_number('orders');
RESET SESSION AUTHORIZATION;
-- A planned statement, which remembers the collection: each time for the role that runs it.
PREPARE draw AS SELECT hilo_next_number('orders') > 0 AS drawn;
EXECUTE draw;
SET ROLE regress_hilo_nobody;
EXECUTE draw;
RESET ROLE;
EXECUTE draw;
DEALLOCATE draw;
-- SECURITY DEFINER lends the right while the function runs, and takes none away.
CREATE FUNCTION lend() RETURNS boolean LANGUAGE sql SECURITY DEFINER AS $$ SELECT public.hilo_next_number('orders') > 0 $$;
ALTER FUNCTION lend OWNER TO regress_hilo_owner;
CREATE FUNCTION lend_nothing() RETURNS boolean LANGUAGE sql SECURITY DEFINER AS $$ SELECT public.hilo_next_number('orders') > 0 $$;
ALTER FUNCTION lend_nothing OWNER TO regress_hilo_nobody;
SELECT lend(), state_of('SELECT lend_nothing()'), lend();
SET ROLE regress_hilo_nobody;
SELECT lend();
SELECT lend(), hilo_next_number('orders');
SELECT state_of($$SELECT hilo_next_number('orders')$$), lend(), state_of($$SELECT hilo_next_number('orders')$$);
RESET ROLE;

-- The DEFAULT, of rows that are inserted through the table, a column's right, and a view, for which its owner's right to the table counts.
CREATE VIEW orders_view AS SELECT id, item FROM orders;
GRANT INSERT ON orders_view TO regress_hilo_nobody;
SET ROLE regress_hilo_inserter;
INSERT INTO orders (item) VALUES ('tea');
SET ROLE regress_hilo_column;
INSERT INTO orders (item) VALUES ('milk');
SET ROLE regress_hilo_nobody;
INSERT INTO orders_view (item) VALUES ('jam');
INSERT INTO orders_view (id, item) VALUES (5000, 'jam');
SELECT hilo_next_number('orders') > 0 AS drawn;
RESET ROLE;
REVOKE INSERT ON orders_view FROM regress_hilo_nobody;
SET ROLE regress_hilo_nobody;
SELECT hilo_next_number('orders');
RESET ROLE;
SELECT count(*), count(DISTINCT id) FROM orders;
-- So no more is needed than for an identity column.
CREATE TABLE bills (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, item text);
ALTER TABLE bills OWNER TO regress_hilo_owner;
SET ROLE regress_hilo_owner;
CREATE VIEW bills_view AS SELECT id, item FROM bills;
CREATE VIEW bills_view_2 AS SELECT item FROM bills_view;
GRANT INSERT ON bills_view TO regress_hilo_inserter;
GRANT INSERT (item) ON bills_view TO regress_hilo_column;
GRANT INSERT ON bills_view_2 TO regress_hilo_clerk;
GRANT SELECT, UPDATE, DELETE ON bills_view TO regress_hilo_reader;
-- A view that a role without that right has created gives none, to itself or others.
SET ROLE regress_hilo_nobody;
CREATE VIEW bills_of_nobody AS SELECT id, item FROM bills;
GRANT INSERT ON bills_of_nobody TO regress_hilo_reader;
RESET ROLE;
CREATE FUNCTION inserts(role text, OUT into_table text, OUT by_view text, OUT by_view_2 text, OUT by_own text, OUT draw text) LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('role', role, true);
	into_table := state_of($s$INSERT INTO bills (item) VALUES ('a')$s$);
	by_view := state_of($s$INSERT INTO bills_view (item) VALUES ('a')$s$);
	by_view_2 := state_of($s$INSERT INTO bills_view_2 (item) VALUES ('a')$s$);
	by_own := state_of($s$INSERT INTO bills_of_nobody (item) VALUES ('a')$s$);
	draw := state_of($s$SELECT hilo_next_number('bills')$s$);
	PERFORM set_config('role', 'none', true);
END $$;
CREATE VIEW bills_rights AS SELECT role, i.* FROM unnest('{owner,inserter,column,member,noinherit,reader,clerk,nobody}'::text[]) WITH ORDINALITY r(role, n),
	inserts('regress_hilo_' || role) i ORDER BY n;
SELECT role, into_table, by_view, by_view_2, by_own FROM bills_rights;
ALTER TABLE bills ALTER id DROP IDENTITY;
SELECT hilo.drop('bills'), hilo.attach('bills', collection => 'bills') > 0 AS attached;
SELECT * FROM bills_rights;
-- Taken back, it is noticed at once.
REVOKE INSERT ON bills_view FROM regress_hilo_inserter;
SELECT (inserts('regress_hilo_inserter')).*;
GRANT INSERT ON bills_view TO regress_hilo_inserter;
SELECT (inserts('regress_hilo_inserter')).*;
ALTER VIEW bills_view OWNER TO regress_hilo_nobody;
SELECT (inserts('regress_hilo_inserter')).*;
ALTER VIEW bills_view OWNER TO regress_hilo_owner;
DROP VIEW bills_view CASCADE;
SELECT (inserts('regress_hilo_column')).*;
SELECT hilo.detach('bills');
DROP TABLE bills CASCADE;
DROP FUNCTION inserts CASCADE;
SELECT hilo.drop('bills');

-- Several tables: the right to one of them is enough, as long as it is there.
CREATE TABLE invoices (id bigint);
GRANT INSERT ON invoices TO regress_hilo_nobody;
SELECT hilo.attach('invoices', 'id', 'orders') > 0 AS attached;
SELECT * FROM rights;
DROP TABLE invoices;
SELECT * FROM rights WHERE role IN ('inserter', 'nobody');
-- The right to insert into a partition is enough, too; that into a partitioned table is none to insert into its partition.
CREATE TABLE parts (id bigint, region text) PARTITION BY LIST (region);
CREATE TABLE part_a PARTITION OF parts FOR VALUES IN ('a');
SELECT hilo.attach('parts', 'id', 'parts');
GRANT INSERT ON part_a TO regress_hilo_nobody;
GRANT INSERT ON parts TO regress_hilo_inserter;
SELECT role, relation FROM hilo.may_draw WHERE relation IN ('parts'::regclass, 'part_a'::regclass) AND role LIKE 'regress%' ORDER BY relation, role;
SET ROLE regress_hilo_nobody;
SELECT state_of($$INSERT INTO part_a (region) VALUES ('a')$$), state_of($$INSERT INTO part_a VALUES (7, 'a')$$), state_of($$INSERT INTO parts (region) VALUES ('a')$$);
SET ROLE regress_hilo_inserter;
SELECT state_of($$INSERT INTO part_a (region) VALUES ('a')$$), state_of($$INSERT INTO parts (region) VALUES ('a')$$);
RESET ROLE;
DROP TABLE parts;
-- hilo.bind() is the same.
CREATE TABLE plain (id bigint PRIMARY KEY);
SELECT hilo.bind('plain', 'plain', 'id');
SET ROLE regress_hilo_nobody;
SELECT state_of($$SELECT hilo_next_number('plain')$$), state_of($$SELECT next_identity('plain')$$);
RESET ROLE;
SELECT hilo.unbind('plain');
SET ROLE regress_hilo_nobody;
SELECT state_of($$SELECT hilo_next_number('plain')$$);
RESET ROLE;

-- What an ordinary role may try.  Move, drop, give back, bind, attach, detach, configure: all refused.
SELECT low, high, claim FROM hilo.next_range('orders') \gset
CREATE FUNCTION attack(statement text, OUT state text, OUT moved boolean) LANGUAGE plpgsql AS $$
DECLARE
	before text;
BEGIN
	SELECT string_agg(collection || max || max_value, ',' ORDER BY collection) INTO before FROM hilo.hilo;
	PERFORM set_config('role', 'regress_hilo_nobody', true);
	state := state_of(statement);
	PERFORM set_config('role', 'none', true);
	moved := before IS DISTINCT FROM (SELECT string_agg(collection || max || max_value, ',' ORDER BY collection) FROM hilo.hilo);
END $$;
SET ROLE regress_hilo_nobody;
CREATE TABLE mine (id bigint DEFAULT hilo_next_number('orders'));
CREATE TABLE mine_too (id text);
CREATE TRIGGER assign_id BEFORE INSERT ON mine_too FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'orders');
RESET ROLE;
SELECT statement, a.* FROM unnest(ARRAY[
	$$SELECT hilo.seed('orders', 9000000)$$, $$SELECT hilo.seed('orders', 0, true)$$, $$SELECT hilo.drop('orders')$$,
	$$SELECT hilo.next_range('orders', last_max => 9000000)$$, $$SELECT hilo.next_range('orders', last_max => 1)$$,
	$$SELECT hilo.return_range('orders', 1, 2)$$,
	$$SELECT hilo.configure('orders', max_value => 9000000)$$, $$SELECT hilo.allow('orders', 'regress_hilo_nobody')$$,
	$$SELECT hilo.attach('mine', 'id', 'orders')$$, $$SELECT hilo.attach('orders')$$, $$SELECT hilo.detach('orders')$$,
	$$SELECT hilo.bind('orders', 'mine', 'id')$$, $$SELECT hilo.unbind('orders')$$,
	$$INSERT INTO mine VALUES (9000000)$$, $$INSERT INTO mine_too VALUES (NULL)$$,
	$$INSERT INTO hilo.binding (collection, kind, owner) VALUES ('orders', 'allowed', 'public')$$, $$INSERT INTO hilo.hilo (collection, max) VALUES ('orders', 9000000)$$,
	$$SELECT * FROM hilo.status$$, $$SELECT * FROM hilo._counters()$$, $$SELECT * FROM hilo.hilo$$, $$SELECT * FROM hilo.identities$$, $$SELECT * FROM hilo.binding$$, $$SELECT * FROM hilo.hub$$, $$SELECT hilo.seed('orders|', 9000000)$$, $$SELECT hilo.drop('orders|')$$,
	$$CREATE TABLE heir () INHERITS (orders)$$, $$ALTER TABLE mine INHERIT orders$$,
	$$CREATE TRIGGER zzz BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('item')$$,
	$$SET hilo.auto_create = off$$, $$SET hilo.max_range_size = 5000000$$]) WITH ORDINALITY s(statement, i), attack(statement) a ORDER BY i;
SELECT hilo.return_range('orders', :low, :high, :claim) AS still_good;
-- Nor exhaust it.
SET ROLE regress_hilo_nobody;
SELECT state, count(*) FROM generate_series(1, 1000) i, state_of($$SELECT hilo_reserve('orders', 1000000)$$) state GROUP BY 1;
RESET ROLE;
-- Roles that may insert may draw, but not seed.
SET ROLE regress_hilo_inserter;
SELECT state_of($$SELECT hilo.next_range('orders', last_max => 9000000)$$), state_of($$SELECT hilo.seed('orders', 9000000)$$), state_of($$SELECT * FROM hilo.status$$);
RESET ROLE;
-- With auto_create off, an ordinary role cannot fill the table with names.
SET hilo.auto_create = off;
SET ROLE regress_hilo_nobody;
SELECT state, count(*) FROM generate_series(1, 100) i, state_of(format('SELECT hilo_next_number(%L)', 'junk' || i)) state GROUP BY 1;
RESET ROLE;
RESET hilo.auto_create;
SELECT count(*) AS junk FROM hilo.hilo WHERE collection LIKE 'junk%';
-- Detached, and unbound: every role again.
SELECT hilo.detach('orders');
SET ROLE regress_hilo_owner;
INSERT INTO orders (item) VALUES ('last') RETURNING id > 5000 AS above;
RESET ROLE;
SELECT * FROM rights WHERE role IN ('inserter', 'nobody');

-- A collection that was dropped before it was bound.
CREATE TABLE dropped (id bigint PRIMARY KEY);
SELECT hilo.seed('dropped', 5), hilo.drop('dropped');
SELECT hilo.bind('dropped', 'dropped', 'id');
SET ROLE regress_hilo_nobody;
SELECT hilo_next_number('dropped');
RESET ROLE;
SELECT hilo_next_number('dropped');
-- Promise 1: it is not dropped in the transaction that unbinds it, be that a single statement: a rollback would bring back the binding alone.
DO $$ BEGIN PERFORM hilo.unbind('dropped'); PERFORM hilo.drop('dropped'); END $$;
SELECT hilo.unbind('dropped'), hilo.drop('dropped');
BEGIN;
SELECT hilo.unbind('dropped');
SELECT hilo.drop('dropped');
ROLLBACK;
SELECT hilo_next_number('dropped');
SELECT hilo.unbind('dropped');
SELECT hilo.drop('dropped');

-- Granted before it is attached: a look sees ids by hand.
CREATE TABLE granted (id bigint PRIMARY KEY);
SELECT hilo.allow('granted', 'regress_hilo_nobody');
SELECT hilo.attach('granted', collection => 'granted');
INSERT INTO granted SELECT generate_series(1, 100);
SELECT hilo_next_number('granted');
SELECT hilo.detach('granted');
SELECT hilo.drop('granted');

-- While no table is attached, whoever may execute the function draws; in the same session, no longer than that.
CREATE TABLE again (id bigint PRIMARY KEY);
SELECT hilo.attach('again', collection => 'again');
SET ROLE regress_hilo_nobody;
SELECT hilo_next_number('again');
RESET ROLE;
ALTER TABLE again ALTER id DROP DEFAULT;
SET ROLE regress_hilo_nobody;
SELECT hilo_next_number('again');
RESET ROLE;
ALTER TABLE again ALTER id SET DEFAULT hilo_next_number('again');
SET ROLE regress_hilo_nobody;
SELECT hilo_next_number('again');
RESET ROLE;
BEGIN;
DROP TABLE again;
SET LOCAL ROLE regress_hilo_nobody;
SELECT hilo_next_number('again') > 0 AS drawn;
ROLLBACK;
SET ROLE regress_hilo_nobody;
SELECT hilo_next_number('again');
RESET ROLE;
DROP TABLE again;
SELECT hilo.drop('again');

RESET search_path;
SET client_min_messages = warning;
DROP SCHEMA regress_rights CASCADE;
DROP OWNED BY regress_hilo_nobody, regress_hilo_owner;
DROP ROLE regress_hilo_owner, regress_hilo_inserter, regress_hilo_column, regress_hilo_member, regress_hilo_noinherit, regress_hilo_reader, regress_hilo_clerk, regress_hilo_nobody;
SELECT hilo.drop('parts'), hilo.drop('orders'), hilo.drop('others'), hilo.drop('plain');
SELECT hilo.drop('plain|'), hilo.drop('orders|');
