-- From the first version on: every object has a comment, PUBLIC may draw and nothing else, and every function's
-- marks are as promised.  A new function has to appear here.

SELECT p.oid::regprocedure AS function, has_function_privilege('public', p.oid, 'execute') AS public,
	p.provolatile AS volatile, p.proisstrict AS strict, p.proparallel AS parallel, p.prosecdef AS definer
FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid
WHERE d.classid = 'pg_proc'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hilo')
ORDER BY p.oid::regprocedure::text COLLATE "C";
-- Relations, and what PUBLIC may do with them.
SELECT c.oid::regclass AS relation, c.relkind, c.relpersistence, (SELECT amname FROM pg_am WHERE oid = c.relam) AS method, a.privilege_type AS public
FROM pg_depend d JOIN pg_class c ON c.oid = d.objid LEFT JOIN LATERAL aclexplode(c.relacl) a ON a.grantee = 0
WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hilo')
ORDER BY c.oid::regclass::text COLLATE "C", 5;
-- Their schema, and its other contents: indexes, and the functions of views.
SELECT n.nspname, has_schema_privilege('public', n.oid, 'usage') AS usage, has_schema_privilege('public', n.oid, 'create') AS create,
	(SELECT count(*) FROM pg_depend d WHERE d.classid = 'pg_namespace'::regclass AND d.objid = n.oid AND d.deptype = 'e') AS members
FROM pg_namespace n WHERE n.nspname = 'hilo';
SELECT relname, relkind FROM pg_class WHERE relnamespace = 'hilo'::regnamespace ORDER BY 1;

-- Types.
SELECT t.typname, has_type_privilege('public', t.oid, 'usage') AS public, t.typlen, t.typbyval, t.typalign, t.typstorage, t.typcategory
FROM pg_depend d JOIN pg_type t ON t.oid = d.objid
WHERE d.classid = 'pg_type'::regclass AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND t.typtype = 'b' AND t.typelem = 0
	AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hilo')
ORDER BY 1;

-- Every object of the extension, and the columns, indexes and constraints of its tables and views: none may be without a comment.
CREATE VIEW regress_objects AS
WITH member AS (
	SELECT classid, objid FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e' AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hilo')
	-- Row types and arrays, which depend on the extension only from 17 on, are no objects of their own.
	AND NOT (classid = 'pg_type'::regclass AND EXISTS (SELECT FROM pg_type t WHERE t.oid = objid AND (t.typrelid <> 0 OR t.typelem <> 0)))
), object AS (
	SELECT classid, objid, 0 AS objsubid FROM member
	UNION SELECT 'pg_extension'::regclass, oid, 0 FROM pg_extension WHERE extname = 'hilo'
	UNION SELECT m.classid, m.objid, a.attnum FROM member m JOIN pg_attribute a ON m.classid = 'pg_class'::regclass AND a.attrelid = m.objid
		AND a.attnum > 0 AND NOT a.attisdropped
	UNION SELECT 'pg_class'::regclass, i.indexrelid, 0 FROM member m JOIN pg_index i ON m.classid = 'pg_class'::regclass AND i.indrelid = m.objid
	UNION SELECT 'pg_constraint'::regclass, c.oid, 0 FROM member m JOIN pg_constraint c ON m.classid = 'pg_class'::regclass AND c.conrelid = m.objid AND c.contype <> 'n'
)
SELECT i.type, i.identity, CASE o.objsubid WHEN 0 THEN obj_description(o.objid, o.classid::regclass::name) ELSE col_description(o.objid, o.objsubid) END AS comment
FROM object o, pg_identify_object(o.classid, o.objid, o.objsubid) i;
SELECT type, count(*), count(comment) AS commented FROM regress_objects GROUP BY 1 ORDER BY 1;
SELECT type, identity FROM regress_objects WHERE coalesce(comment, '') = '' ORDER BY 1, 2;
DROP VIEW regress_objects;
-- Settings.
SELECT hilo_number('loads/1') AS library;
SELECT name, context, boot_val, min_val, max_val, unit, short_desc <> '' AS described FROM pg_settings WHERE name LIKE 'hilo.%' ORDER BY 1;

-- An ordinary role.
CREATE ROLE regress_hilo_user;
CREATE ROLE regress_hilo_clerk;
CREATE TABLE regress_orders (id text DEFAULT hilo_next('orders_of_user'));
GRANT INSERT, SELECT ON regress_orders TO regress_hilo_user;
SELECT low, high, claim FROM hilo.next_range('own') \gset
SET SESSION AUTHORIZATION regress_hilo_user;
-- It draws, also the first number ever.
INSERT INTO regress_orders DEFAULT VALUES RETURNING id;
SELECT hilo_next('own'), hilo_next('own', 'B'), hilo_next_number('own'), hilo_last_number('own');
SELECT low, high FROM hilo_reserve('own', 4);
SELECT hilo.next_hi('own', 10);
SELECT collection, low, high, next, size FROM hilo.ranges WHERE collection = 'own';
SELECT hilo_number('own/3-A'), hilo_format('own', 3), hilo_format('own', 3, 'B');
SELECT prefix, low, high FROM hilo.next_range('own');
SELECT next_identity('own|'), next_identity_for('own'), next_server_side_id('own/') ~ '^own/[0-9]{19}-A$' AS server_side, hilo_document_id('own', 'own|');
-- It cannot move counters, nor read or write the table.
\set VERBOSITY sqlstate
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY[$$hilo.seed('own', 1000)$$, $$hilo.seed('own', 1, true)$$,
	$$hilo.drop('own')$$, $$seed_identity_for('own', 1000)$$, $$seed_identity_for('own', 0, true)$$, $$hilo.drop('own|')$$,
	$$hilo.bind('own', 'regress_orders', 'id')$$, $$hilo.unbind('own')$$]) call;
SELECT hilo.return_range('own', :low, :high, :claim);
SELECT next_identity('own');
SELECT call, state_of(call) FROM unnest(ARRAY[$$SELECT value FROM hilo.identities$$,
	$$SELECT count(*) FROM hilo._counters()$$, $$SELECT count(*) FROM hilo.status$$,
	$$INSERT INTO hilo.hilo (collection, max) VALUES ('own|', 1)$$,
	$$INSERT INTO hilo.binding VALUES ('own', 'public', 'regress_orders', 'id', 'regress_hilo_user')$$,
	$$UPDATE hilo.binding SET owner = NULL$$, $$DELETE FROM hilo.binding$$, $$TRUNCATE hilo.binding$$,
	$$ALTER TABLE hilo.binding DISABLE TRIGGER ALL$$, $$SELECT max FROM hilo.hilo$$,
	$$INSERT INTO hilo.hilo (collection, max) VALUES ('own', 1)$$, $$UPDATE hilo.hilo SET max = 0$$,
	$$DELETE FROM hilo.hilo$$, $$TRUNCATE hilo.hilo$$]) call;
COPY hilo.hilo TO stdout;
BEGIN;
LOCK TABLE hilo.hilo IN ROW EXCLUSIVE MODE;
ROLLBACK;
CLUSTER hilo.hilo USING hilo_collection_idx;
ALTER TABLE hilo.hilo DISABLE TRIGGER ALL;
SELECT hilo.guard();
\set VERBOSITY default
-- Nor move one by claiming to have seen more; up to the max, it may.
SELECT hilo.next_range('own', last_max => 113);
SELECT low FROM hilo.next_range('own', last_max => 112);
SELECT hilo.next_range('own_new', last_max => 1);
SELECT low FROM hilo.next_range('own_new', last_max => 0);
-- It may change the settings of its own session's ranges, not those that all ids depend on.
SET hilo.node_tag = 'B';
SET hilo.server_prefix = 'x/';
SET hilo.identity_parts_separator = ':';
SET hilo.max_range_size = 5000000;
SET hilo.debug_range_size = 64;
SET hilo.sequences = on;
SELECT low, last_size FROM hilo.next_range('own');
RESET hilo.debug_range_size;
RESET SESSION AUTHORIZATION;

-- Not even before the library is loaded.
\c -
SET SESSION AUTHORIZATION regress_hilo_user;
SET hilo.node_tag = 'B';
SET hilo.max_range_size = 5000000;
SET hilo.debug_range_size = 40;
SELECT hilo_next('own') ~ '^own/[0-9]+-A$' AS drawn;
SHOW hilo.max_range_size;
SHOW hilo.debug_range_size;
RESET SESSION AUTHORIZATION;

-- Once granted, it works.
GRANT EXECUTE ON FUNCTION hilo.seed(text, bigint, boolean), hilo.drop(text), hilo.return_range(text, bigint, bigint, bigint) TO regress_hilo_clerk;
GRANT regress_hilo_clerk TO regress_hilo_user;
GRANT SELECT ON hilo.hilo TO regress_hilo_user;
SET SESSION AUTHORIZATION regress_hilo_user;
SELECT hilo.seed('own', 1000), hilo_next_number('own');
SELECT low, high, claim FROM hilo.next_range('own', last_max => 2000) \gset
SELECT :low, :high, hilo.return_range('own', 2001, :high, :claim);
SELECT max FROM hilo.hilo WHERE collection = 'own';
SELECT hilo.drop('own');
RESET SESSION AUTHORIZATION;
REVOKE ALL ON hilo.hilo FROM regress_hilo_user;
GRANT EXECUTE ON FUNCTION seed_identity_for(text, bigint, boolean), hilo._counters() TO regress_hilo_clerk;
GRANT SELECT ON hilo.identities TO regress_hilo_user;
SET SESSION AUTHORIZATION regress_hilo_user;
SELECT seed_identity_for('own', 1000), next_identity('own'), seed_identity_for('own', 5, true), next_identity('own');
SELECT value FROM hilo.identities WHERE name = 'own';
SELECT hilo.drop('own|');
RESET SESSION AUTHORIZATION;
REVOKE ALL ON hilo.identities FROM regress_hilo_user;
REVOKE ALL ON FUNCTION seed_identity_for(text, bigint, boolean), hilo._counters() FROM regress_hilo_clerk;
-- A view's owner, or a SECURITY DEFINER function, lends the right; what counts is the role that executes.
CREATE FUNCTION seed_for_users(value bigint) RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = public AS $$ SELECT hilo.seed('own', value) $$;
REVOKE regress_hilo_clerk FROM regress_hilo_user;
SET SESSION AUTHORIZATION regress_hilo_user;
SELECT seed_for_users(300);
SELECT hilo.next_range('own', last_max => 301);
RESET SESSION AUTHORIZATION;
-- Drawing can be taken from PUBLIC, too.
REVOKE EXECUTE ON FUNCTION hilo_next_number(text) FROM PUBLIC;
SET SESSION AUTHORIZATION regress_hilo_user;
SELECT hilo_next_number('own');
SELECT hilo_next('own');
RESET SESSION AUTHORIZATION;
GRANT EXECUTE ON FUNCTION hilo_next_number(text) TO PUBLIC;
DROP OWNED BY regress_hilo_user, regress_hilo_clerk;
DROP ROLE regress_hilo_user, regress_hilo_clerk;
