-- The schema of the extension's tables: created or taken over by CREATE EXTENSION, dropped by DROP EXTENSION; never found by a search_path.
SET client_min_messages = warning;
\set SHOW_CONTEXT never
DROP EXTENSION hilo;
-- Whether the schema exists, is a member of the extension and belongs to the caller, and how many objects it contains.
CREATE FUNCTION regress_schema(OUT there boolean, OUT member boolean, OUT owned boolean, OUT relations bigint) LANGUAGE sql AS $$
	SELECT count(n.oid) > 0, count(d.objid) > 0, bool_and(n.nspowner = (SELECT oid FROM pg_roles WHERE rolname = current_user)),
		(SELECT count(*) FROM pg_class WHERE relnamespace = min(n.oid))
	FROM pg_namespace n LEFT JOIN pg_depend d ON d.classid = 'pg_namespace'::regclass AND d.objid = n.oid AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	WHERE n.nspname = 'hilo' $$;
SELECT * FROM regress_schema();

-- Not there.
CREATE EXTENSION hilo;
SELECT * FROM regress_schema();
SELECT hilo_next_number('c'), (SELECT nspname FROM pg_namespace n JOIN pg_proc p ON p.pronamespace = n.oid WHERE p.proname = 'hilo_next_number') AS functions;
SELECT 'hilo'::regclass;
DROP SCHEMA hilo;
DROP EXTENSION hilo;
SELECT * FROM regress_schema();

-- Existing, empty, and the creator's own: taken over.
CREATE SCHEMA hilo;
CREATE EXTENSION hilo;
SELECT * FROM regress_schema();
SELECT hilo_next_number('c');
DROP EXTENSION hilo;
SELECT * FROM regress_schema();

-- Another role's: a superuser takes it over as well, and it no longer belongs to that role.
CREATE ROLE regress_hilo_owner;
CREATE SCHEMA hilo AUTHORIZATION regress_hilo_owner;
CREATE EXTENSION hilo;
SELECT * FROM regress_schema();
SET ROLE regress_hilo_owner;
ALTER SCHEMA hilo RENAME TO regress_gone;
CREATE TABLE hilo.mine (a int);
RESET ROLE;
SELECT hilo_next_number('c');
DROP EXTENSION hilo;
SELECT * FROM regress_schema();
DROP ROLE regress_hilo_owner;

-- Not empty, whatever it contains: refused, and nothing is left behind.
CREATE SCHEMA hilo;
CREATE TABLE hilo.mine (a int);
CREATE EXTENSION hilo;
DROP TABLE hilo.mine;
CREATE TYPE hilo.hilo AS ENUM ('a');
CREATE EXTENSION hilo;
DROP TYPE hilo.hilo;
CREATE FUNCTION hilo.guard() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
\set VERBOSITY sqlstate
CREATE EXTENSION hilo;
\set VERBOSITY default
DROP FUNCTION hilo.guard();
SELECT * FROM regress_schema();
SELECT count(*) AS extensions FROM pg_extension WHERE extname = 'hilo';
CREATE EXTENSION hilo;
SELECT hilo_next_number('c');
DROP EXTENSION hilo;

-- Functions told to go there, too: the schema must be the caller's, and stays.
CREATE ROLE regress_hilo_owner;
CREATE SCHEMA hilo AUTHORIZATION regress_hilo_owner;
CREATE EXTENSION hilo SCHEMA hilo;
ALTER SCHEMA hilo OWNER TO CURRENT_USER;
CREATE EXTENSION hilo SCHEMA hilo;
SELECT * FROM regress_schema();
SELECT hilo.hilo_next_number('c'), hilo.next_identity('i');
SELECT collection, max FROM hilo.hilo ORDER BY 1;
SELECT collection, max FROM hilo.status;
DROP SCHEMA hilo;
DROP EXTENSION hilo;
SELECT * FROM regress_schema();
DROP SCHEMA hilo;
-- CREATE EXTENSION does not create that one.
CREATE EXTENSION hilo SCHEMA hilo;
-- In another one.
CREATE SCHEMA regress_hilo;
CREATE SCHEMA hilo;
CREATE EXTENSION hilo SCHEMA regress_hilo;
SELECT * FROM regress_schema();
SELECT regress_hilo.hilo_next_number('c');
DROP EXTENSION hilo;
SELECT * FROM regress_schema();
DROP SCHEMA regress_hilo;

-- If it contains something else, it is dropped only with CASCADE.
CREATE EXTENSION hilo;
CREATE TABLE hilo.mine (a int);
DROP EXTENSION hilo;
SELECT hilo_next_number('c');
\set VERBOSITY terse
DROP EXTENSION hilo CASCADE;
\set VERBOSITY default
SELECT * FROM regress_schema();

-- Only its own tables are used, not others in their place after the schema was renamed.
CREATE EXTENSION hilo;
SELECT hilo_next_number('c');
ALTER SCHEMA hilo RENAME TO regress_gone;
CREATE SCHEMA hilo AUTHORIZATION regress_hilo_owner;
CREATE TABLE hilo.hilo (LIKE regress_gone.hilo INCLUDING ALL);
ALTER TABLE hilo.hilo OWNER TO regress_hilo_owner;
\c -
\set VERBOSITY sqlstate
SELECT hilo_next_number('c');
SELECT count(*) FROM regress_gone.status;
\set VERBOSITY default
SELECT next_identity('i');
SELECT count(*) FROM hilo.hilo;
SET client_min_messages = warning;
DROP SCHEMA hilo CASCADE;
DROP ROLE regress_hilo_owner;
ALTER SCHEMA regress_gone RENAME TO hilo;
-- Above 2 if the first session was still ending, and could not return its range.
SELECT hilo_next_number('c') > 1 AS next;
DROP EXTENSION hilo;

-- In a transaction that is rolled back.
CREATE SCHEMA hilo;
BEGIN;
CREATE EXTENSION hilo;
SELECT hilo_next_number('c');
ROLLBACK;
SELECT * FROM regress_schema();
DROP FUNCTION regress_schema();
CREATE EXTENSION hilo;
