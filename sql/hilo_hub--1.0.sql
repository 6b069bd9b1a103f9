/* sql/hilo_hub--1.0.sql */

-- As in hilo, each function that is not the extension's is qualified, because a role that is
-- not a superuser may create the extension.

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION hilo_hub" to load this file. \quit

-- It must not exist, because its owner could answer members in place of these functions.
CREATE SCHEMA hilo_hub;
COMMENT ON SCHEMA hilo_hub IS 'functions and views of the extension hilo_hub';

--
-- Hub
--
CREATE FUNCTION hilo_hub.resume(skip bigint DEFAULT NULL) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_hub_resume';
COMMENT ON FUNCTION hilo_hub.resume(bigint) IS
    'say that this server is the hub: opens it, skip numbers of each counter higher (by default '
    'as many as may be lost, none the first time); returns how often it was opened';

CREATE FUNCTION hilo_hub.lease(
    collection text,
    count bigint,
    known_opening bigint,
    known_id bigint,
    OUT hub bigint,
    OUT opening bigint,
    OUT opening_id bigint,
    OUT low bigint,
    OUT high bigint) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_hub_lease';
COMMENT ON FUNCTION hilo_hub.lease(text, bigint, bigint, bigint) IS
    'for members: claim at most count numbers of a collection or identity (companies|); '
    'with a collection that is null, only say which hub this is';

--
-- Member
--
CREATE FUNCTION hilo_hub.join(server name) RETURNS void
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_hub_join';
COMMENT ON FUNCTION hilo_hub.join(name) IS
    'lease all collections and identities from the hub behind a server of postgres_fdw from now '
    'on, also if the transaction is rolled back; waits for running transactions';

CREATE FUNCTION hilo_hub.leave() RETURNS boolean
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_hub_leave';
COMMENT ON FUNCTION hilo_hub.leave() IS
    'count for itself from now on, above all that was leased; false if this server does already';

CREATE FUNCTION hilo_hub.keep_local(collection text) RETURNS void
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_hub_keep_local';
COMMENT ON FUNCTION hilo_hub.keep_local(text) IS
    'count a collection or identity (companies|) here, not on the hub, until a join or restore';

--
-- View
--
CREATE FUNCTION hilo_hub._leases(
    OUT collection text,
    OUT highest bigint,
    OUT numbers_left bigint,
    OUT last_error text,
    OUT error_at timestamptz,
    OUT opening bigint,
    OUT state text) RETURNS SETOF record
    LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME', 'hilo_hub_leases';
COMMENT ON FUNCTION hilo_hub._leases() IS 'behind the view hilo_hub.leases';

CREATE VIEW hilo_hub.leases AS
    SELECT * FROM hilo_hub._leases();
COMMENT ON VIEW hilo_hub.leases IS
    'what this server is to others, in a row without a collection; and its shared counters';
COMMENT ON COLUMN hilo_hub.leases.collection IS 'collection, or identity (companies|)';
COMMENT ON COLUMN hilo_hub.leases.highest IS
    'of a member, the end of its last lease; of a hub, the highest number claimed';
COMMENT ON COLUMN hilo_hub.leases.numbers_left IS 'numbers that no session of this server holds';
COMMENT ON COLUMN hilo_hub.leases.last_error IS 'why the last lease failed; null: it did not';
COMMENT ON COLUMN hilo_hub.leases.error_at IS 'when that was';
COMMENT ON COLUMN hilo_hub.leases.opening IS 'how often the hub was opened, as far as known here';
COMMENT ON COLUMN hilo_hub.leases.state IS 'what the server is; of a closed hub, why';

--
-- Privileges
--
-- Neither PUBLIC nor a role that has default privileges on what a superuser creates.
DO $$
DECLARE
    others text := (
        SELECT pg_catalog.string_agg(pg_catalog.quote_ident(r.rolname), ', ')
        FROM pg_catalog.pg_roles r, pg_catalog.pg_default_acl d,
            pg_catalog.aclexplode(d.defaclacl) a
        WHERE r.oid = a.grantee AND r.rolname <> CURRENT_USER);
BEGIN
    EXECUTE pg_catalog.format('
        REVOKE ALL ON SCHEMA hilo_hub FROM %1$s;
        REVOKE ALL ON ALL ROUTINES IN SCHEMA hilo_hub FROM %1$s;
        REVOKE ALL ON hilo_hub.leases FROM %1$s',
        pg_catalog.concat_ws(', ', 'PUBLIC', others));
END
$$;
GRANT USAGE ON SCHEMA hilo_hub TO PUBLIC;
GRANT EXECUTE ON FUNCTION hilo_hub._leases() TO pg_monitor, pg_database_owner;
GRANT EXECUTE ON FUNCTION
    hilo_hub.resume, hilo_hub.lease, hilo_hub.join, hilo_hub.leave, hilo_hub.keep_local
    TO pg_database_owner WITH GRANT OPTION;
GRANT SELECT ON hilo_hub.leases TO pg_monitor, pg_database_owner;
