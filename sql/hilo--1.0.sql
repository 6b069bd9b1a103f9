/* sql/hilo--1.0.sql */

-- A role that is not a superuser may create the extension, because it is trusted: the
-- script is then run by the bootstrap superuser, with a schema in the search_path in
-- which others may have created operators and functions.  pg_catalog comes first, so
-- for each operator here pg_catalog has one that takes exactly its operands, without a
-- coercion, and each function that is not the extension's is qualified.  Functions of
-- the extension need no schema: CREATE EXTENSION puts theirs first, after pg_catalog
-- only, and none of them may exist before.

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION hilo" to load this file. \quit

--
-- The schema of tables and views
--
-- It may exist already, because a schema dump or a migration tool creates it first.
--
DO $$
DECLARE
    found oid := (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = 'hilo');
    holder oid := (SELECT nspowner FROM pg_catalog.pg_namespace WHERE nspname = 'hilo');
    creator oid := (SELECT extowner FROM pg_catalog.pg_extension WHERE extname = 'hilo');
    grantee oid;
BEGIN
    IF found IS NULL THEN
        CREATE SCHEMA hilo;
    ELSIF pg_catalog.current_schema() = 'hilo' THEN
        -- Its owner could replace these tables.
        IF holder <> (SELECT oid FROM pg_catalog.pg_roles WHERE rolname = CURRENT_USER) THEN
            RAISE EXCEPTION 'schema "hilo" belongs to another role'
                USING ERRCODE = 'insufficient_privilege', HINT = 'The extension keeps its tables there. Create it in another schema, or as a superuser who owns this one.';
        END IF;
    ELSIF EXISTS (SELECT FROM pg_catalog.pg_depend
                  WHERE refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass::pg_catalog.oid AND refobjid = found) THEN
        RAISE EXCEPTION 'schema "hilo" is not empty'
            USING ERRCODE = 'duplicate_schema', HINT = 'The extension keeps its tables there. Rename or drop the schema.';
    ELSIF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE oid = creator) OR holder = creator
            OR holder = (SELECT datdba FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()) THEN
        ALTER EXTENSION hilo ADD SCHEMA hilo;
        ALTER SCHEMA hilo OWNER TO CURRENT_USER;
        FOR grantee IN SELECT DISTINCT a.grantee FROM pg_catalog.pg_namespace n, pg_catalog.aclexplode(n.nspacl) a
                       WHERE n.oid = found AND a.grantee <> n.nspowner LOOP
            EXECUTE pg_catalog.format('REVOKE ALL ON SCHEMA hilo FROM %s CASCADE',
                CASE WHEN grantee = '0'::pg_catalog.oid THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(grantee)) END);
        END LOOP;
    ELSE
        RAISE EXCEPTION 'schema "hilo" belongs to another role'
            USING ERRCODE = 'insufficient_privilege', HINT = 'The extension keeps its tables there. Drop the schema, or have a superuser create the extension.';
    END IF;
END
$$;
COMMENT ON SCHEMA hilo IS 'functions, tables and views of the extension hilo';

--
-- Rows
--
-- Changed in place by the library, which knows this layout (see row.h): a heap,
-- fixed-width columns first and never null, the name last.  The name has a
-- unique index, but neither a primary key nor NOT NULL, and the table has no
-- replica identity: programs that rewrite a table while it is in use need these to
-- follow changes.  They would miss changes in place, and so they refuse this table.
--
-- The defaults are for an INSERT by hand, which the trigger merges.  A page holds few
-- rows on purpose: a claim compares the used part of its page, and locks the page
-- meanwhile.
--
CREATE TABLE hilo.hilo (
    max bigint NOT NULL DEFAULT 0,
    max_ever bigint NOT NULL DEFAULT 0,
    max_value bigint NOT NULL DEFAULT 9223372036854775807,
    claim_low bigint NOT NULL DEFAULT 0,
    claim bigint NOT NULL DEFAULT 0,
    epoch bigint NOT NULL DEFAULT 0,
    home bigint NOT NULL DEFAULT 0,
    hub_epoch bigint NOT NULL DEFAULT 0,
    lineage bigint NOT NULL DEFAULT 0,
    term bigint NOT NULL DEFAULT 0,
    term_id bigint NOT NULL DEFAULT 0,
    claimed_at timestamptz NOT NULL DEFAULT '-infinity',
    claim_rate float8 NOT NULL DEFAULT 0,
    range_size int NOT NULL DEFAULT 0,
    max_range_size int NOT NULL DEFAULT 0,
    lease_size int NOT NULL DEFAULT 0,
    flags int NOT NULL DEFAULT 64,
    node_tag name NOT NULL DEFAULT '',
    hub name NOT NULL DEFAULT '',
    separator "char" NOT NULL DEFAULT '',
    collection text COLLATE "C"
) USING heap WITH (fillfactor = 33);
CREATE UNIQUE INDEX hilo_collection_idx ON hilo.hilo USING btree (collection);
COMMENT ON TABLE hilo.hilo IS
    'counters: one row for each collection and identity (companies|), and one for server-side ids (|); changed only by the extension''s functions, in place and at once';
COMMENT ON COLUMN hilo.hilo.max IS 'highest number claimed; on a member, highest number leased or chosen by hand';
COMMENT ON COLUMN hilo.hilo.max_ever IS 'highest max that this row has ever had';
COMMENT ON COLUMN hilo.hilo.max_value IS 'upper limit of max';
COMMENT ON COLUMN hilo.hilo.claim_low IS 'lowest number of the newest claim, if it was made for sessions or a client program, else 0; of several that sessions made at the same time, that of the first';
COMMENT ON COLUMN hilo.hilo.claim IS 'random number of the newest claim if hilo.next_range() made it and nothing has happened since, else 0';
COMMENT ON COLUMN hilo.hilo.epoch IS 'random number; a new one invalidates all earlier ranges and pooled numbers; of an ordered collection, its lowest 16 bits are those of the timeline, and hilo.horizon() shows the next 16 as 0';
COMMENT ON COLUMN hilo.hilo.home IS 'table and database of the last change; differs in a copy or after a restore';
COMMENT ON COLUMN hilo.hilo.hub_epoch IS 'on a member: epoch of the counter on the hub; 0: none yet';
COMMENT ON COLUMN hilo.hilo.lineage IS 'on a member: lineage of the hub; 0: none yet';
COMMENT ON COLUMN hilo.hilo.term IS 'on a member: highest term of the hub that was seen; 0: none yet';
COMMENT ON COLUMN hilo.hilo.term_id IS 'on a member: random id of that term';
COMMENT ON COLUMN hilo.hilo.claimed_at IS 'time of the newest claim; -infinity: none yet';
COMMENT ON COLUMN hilo.hilo.claim_rate IS 'numbers claimed recently, with a weight that falls by a factor of e per hour';
COMMENT ON COLUMN hilo.hilo.range_size IS 'smallest range of this collection; 0: hilo.range_size applies';
COMMENT ON COLUMN hilo.hilo.max_range_size IS 'largest range of this collection; 0: hilo.max_range_size applies';
COMMENT ON COLUMN hilo.hilo.lease_size IS 'smallest lease of this collection; 0: hilo.lease_size applies';
COMMENT ON COLUMN hilo.hilo.flags IS 'sum of: 1 dropped, 2 numbers come from a hub, 4 has a node tag of its own, 8 may be bound, 16 newest claim ended above max_ever, 32 ordered, 64 max_value was set by hand, 256 ordered, and all transactions that were running then have ended, 512 was drawn from before it was dropped';
COMMENT ON COLUMN hilo.hilo.node_tag IS 'node tag of this collection, if it has its own';
COMMENT ON COLUMN hilo.hilo.hub IS 'foreign server that numbers are leased from; empty: none, or none any longer';
COMMENT ON COLUMN hilo.hilo.separator IS 'separator of this collection; empty: hilo.identity_parts_separator applies';
COMMENT ON COLUMN hilo.hilo.collection IS 'name';
COMMENT ON INDEX hilo.hilo_collection_idx IS 'finds the row of a name';

--
-- Hubs and members: ordinary rows, written only by functions of the extension, which
-- run as the owner of these tables
--
CREATE TABLE hilo.hub (
    hub text COLLATE "C" NOT NULL,
    role name,
    lineage bigint,
    term bigint,
    term_id bigint,
    is_open boolean,
    timeline bigint,
    home bigint,
    seen bigint,
    waited integer,
    backup bigint
) USING heap WITH (fillfactor = 50);
CREATE UNIQUE INDEX hub_hub_idx ON hilo.hub USING btree (hub);
COMMENT ON TABLE hilo.hub IS
    'which servers hilo.lease_from() has named, and in row | what this server is as a hub';
COMMENT ON COLUMN hilo.hub.hub IS 'name of the foreign server; |: this server';
COMMENT ON COLUMN hilo.hub.role IS 'role whose user mapping is used';
COMMENT ON COLUMN hilo.hub.lineage IS 'in row |: random number, which copies and standbys of this server share';
COMMENT ON COLUMN hilo.hub.term IS 'in row |: number of the term';
COMMENT ON COLUMN hilo.hub.term_id IS 'in row |: random id of the term';
COMMENT ON COLUMN hilo.hub.is_open IS 'in row |: true if leases are given in the term, false if reports of members are collected';
COMMENT ON COLUMN hilo.hub.timeline IS 'in row |: timeline on which the term was made; on another one it does not count';
COMMENT ON COLUMN hilo.hub.home IS 'in row |: identifies table, database and cluster in which it was made; differs in a copy or after a restore';
COMMENT ON COLUMN hilo.hub.seen IS 'in row |: highest term of another server that a member has seen, if not below this one, else 0';
COMMENT ON COLUMN hilo.hub.waited IS 'in row |: whether a synchronous standby has every lease and every own number: 0 no, 1 from now on, 2 all, 3 until now';
COMMENT ON COLUMN hilo.hub.backup IS 'in row |: identifies the backup that the data folder had been restored from when the term was made; 0: none; in another folder the term does not count';
COMMENT ON INDEX hilo.hub_hub_idx IS 'finds the row of a hub';

CREATE TABLE hilo.member (
    member text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    highest bigint NOT NULL,
    epoch bigint,
    known_term bigint,
    reported_term bigint,
    reported_id bigint,
    seen_at timestamptz NOT NULL,
    address inet,
    started bigint,
    shared_at timestamptz
) USING heap WITH (fillfactor = 33);
CREATE UNIQUE INDEX member_member_idx ON hilo.member USING btree (member, collection);
COMMENT ON TABLE hilo.member IS
    'on a hub: what each member has reported about each collection that was leased';
COMMENT ON COLUMN hilo.member.member IS 'name of the member; empty: leased by hand';
COMMENT ON COLUMN hilo.member.collection IS 'name of the collection or identity';
COMMENT ON COLUMN hilo.member.highest IS 'highest number that the member has ever had';
COMMENT ON COLUMN hilo.member.epoch IS 'epoch of the counter at the member''s last lease; null: none';
COMMENT ON COLUMN hilo.member.known_term IS 'highest term of this hub that the member had seen';
COMMENT ON COLUMN hilo.member.reported_term IS 'term in which the member last reported or got a lease';
COMMENT ON COLUMN hilo.member.reported_id IS 'random id of that term';
COMMENT ON COLUMN hilo.member.seen_at IS 'time of the member''s last request or report, to a minute';
COMMENT ON COLUMN hilo.member.address IS 'address of the member''s connection; null: a Unix socket';
COMMENT ON COLUMN hilo.member.started IS 'when the member''s server was started, as it says, in microseconds; null: not said';
COMMENT ON COLUMN hilo.member.shared_at IS 'when it was last noticed that two servers have this name; null: never';
COMMENT ON INDEX hilo.member_member_idx IS 'finds the row of a member and collection';

--
-- Bindings and grants: ordinary rows, written by the library
--
CREATE TABLE hilo.binding (
    collection text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    object oid,
    object_name text,
    column_name text,
    column_number integer,
    owner text,
    was text,
    sequence text,
    sequence_oid oid
) USING heap;
CREATE INDEX binding_collection_idx ON hilo.binding USING btree (collection);
COMMENT ON TABLE hilo.binding IS
    'which tables are attached to collections, where the documents of identities are, and which roles may draw';
COMMENT ON COLUMN hilo.binding.collection IS 'name of the collection or identity';
COMMENT ON COLUMN hilo.binding.kind IS 'attached: a column, by hilo.attach(); bound: a column, by hilo.bind(); allowed: a role, by hilo.allow()';
COMMENT ON COLUMN hilo.binding.object IS 'OID of the relation or role; 0: restored, and not found by its name yet, or all roles';
COMMENT ON COLUMN hilo.binding.object_name IS 'qualified name of the relation, by which a restored row finds it';
COMMENT ON COLUMN hilo.binding.column_name IS 'name of the column';
COMMENT ON COLUMN hilo.binding.column_number IS 'number of the column';
COMMENT ON COLUMN hilo.binding.owner IS 'owner of the relation, or the role that may draw, by which a restored row finds it; "public": all roles';
COMMENT ON COLUMN hilo.binding.was IS 'of an attached column: what drew before, a sequence or nothing';
COMMENT ON COLUMN hilo.binding.sequence IS 'of an attached column: qualified name of that sequence, by which a restored row finds it';
COMMENT ON COLUMN hilo.binding.sequence_oid IS 'its OID; 0: none, or not found';
COMMENT ON INDEX hilo.binding_collection_idx IS 'finds the bindings of a collection';

--
-- Guards
--
-- SQL changes rows of hilo.hub and hilo.member; if there is a publication FOR ALL TABLES, the
-- server refuses that for tables without a replica identity.
--
CREATE FUNCTION hilo.guard() RETURNS trigger
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_guard';
COMMENT ON FUNCTION hilo.guard() IS
    'trigger of the extension''s tables: INSERT moves the counter or adds the binding; UPDATE, DELETE and TRUNCATE are refused';

DO $$
DECLARE
    guarded record;
BEGIN
    FOR guarded IN SELECT * FROM (VALUES
            ('hilo', 'seed', 'drop', '', 'NOTHING'),
            ('hub', 'lease_from', 'lease_from', '', 'USING INDEX hub_hub_idx'),
            ('member', 'lease', 'hub_forget', '', 'USING INDEX member_member_idx'),
            -- The name of a role that was dropped may be that of another one.
            ('binding', 'bind', 'unbind', $where$WHERE kind <> 'allowed' OR object = 0 AND owner = 'public' OR EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid = object)$where$, 'NOTHING')) v("table", changes, deletes, dumped, identity) LOOP
        EXECUTE pg_catalog.format($sql$
            CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE ON hilo.%1$I
                FOR EACH ROW EXECUTE FUNCTION hilo.guard('hilo.%2$s', 'hilo.%3$s');
            CREATE TRIGGER guard_table BEFORE UPDATE OR DELETE OR TRUNCATE ON hilo.%1$I
                FOR EACH STATEMENT EXECUTE FUNCTION hilo.guard('hilo.%2$s', 'hilo.%3$s');
            ALTER TABLE hilo.%1$I ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table, REPLICA IDENTITY %5$s;
            COMMENT ON TRIGGER guard_rows ON hilo.%1$I IS 'merges an INSERT into the existing rows; refuses changes by hand';
            COMMENT ON TRIGGER guard_table ON hilo.%1$I IS 'refuses changes by hand, even if they affect no row';
            SELECT pg_catalog.pg_extension_config_dump('hilo.%1$I', %4$L)
            $sql$, guarded."table", guarded.changes, guarded.deletes, guarded.dumped, guarded.identity);
    END LOOP;
END
$$;

--
-- Draw
--
CREATE FUNCTION hilo_next(collection text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_next';
COMMENT ON FUNCTION hilo_next(text) IS
    'draw the next document id of a collection, with the node tag of the collection, or else of this server: orders/1-A';

CREATE FUNCTION hilo_next(collection text, node_tag text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_next_tagged';
COMMENT ON FUNCTION hilo_next(text, text) IS
    'draw the next document id of a collection, with the given node tag; an empty tag gives orders/1';

CREATE FUNCTION hilo_next_number(collection text) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_next_number(text) IS
    'draw the next number of a collection: unique, never rolled back, never shown twice';

CREATE FUNCTION hilo_last_number(collection text) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_last_number(text) IS
    'the last number of a collection drawn in this session by hilo_next() or hilo_next_number()';

CREATE FUNCTION hilo_reserve(collection text, count bigint, OUT low bigint, OUT high bigint) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_reserve(text, bigint) IS
    'claim exactly count consecutive numbers of a collection, low to high, for the caller; at most hilo.max_range_size';

CREATE FUNCTION hilo.next_hi(collection text, capacity bigint) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_next_hi';
COMMENT ON FUNCTION hilo.next_hi(text, bigint) IS
    'classic hi/lo: claim (hi-1)*capacity+1 .. hi*capacity and return hi; capacity at most hilo.max_range_size';

CREATE FUNCTION hilo.release(collection text DEFAULT NULL) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_release';
COMMENT ON FUNCTION hilo.release(text) IS
    'put this session''s unused numbers of a collection, or of all collections, into the pool; returns how many it put there';

CREATE FUNCTION hilo.next_range(
    collection text, last_batch_size bigint DEFAULT 0, last_range_at timestamptz DEFAULT NULL, last_max bigint DEFAULT 0,
    OUT prefix text, OUT low bigint, OUT high bigint, OUT last_size bigint,
    OUT server_tag text, OUT range_at timestamptz, OUT claim bigint) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_next_range';
COMMENT ON FUNCTION hilo.next_range(text, bigint, timestamptz, bigint) IS
    'claim a range for a client program that hands out the numbers itself; it passes the size and time of its last range and the highest number it has seen, and receives the prefix and tag of its ids, the numbers low to high, and the number of the claim';

CREATE FUNCTION hilo.return_range(collection text, last bigint, high bigint, claim bigint DEFAULT NULL) RETURNS boolean
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_return_range';
COMMENT ON FUNCTION hilo.return_range(text, bigint, bigint, bigint) IS
    'put back the unused numbers, those above last, of a client program''s range from hilo.next_range() that ends at high; true if that took effect';

--
-- Sequences
--
CREATE FUNCTION hilo.nextval(sequence regclass) RETURNS bigint
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_nextval';
COMMENT ON FUNCTION hilo.nextval(regclass) IS
    'draw the next number of a sequence as nextval() does, but from a range of this session that follows the rate; on disk before it is returned, and not among the ids of the columns that draw from the sequence';

CREATE FUNCTION hilo.reserve(sequence regclass, count bigint, OUT low bigint, OUT high bigint) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_reserve_of_sequence';
COMMENT ON FUNCTION hilo.reserve(regclass, bigint) IS
    'draw exactly count consecutive numbers of a sequence with increment 1, low to high, for the caller; at most hilo.max_range_size';

-- It refuses calls that the setting has not made; minor releases differ in whether SQL can make one.
CREATE FUNCTION hilo._identity_nextval(sequence regclass, internal) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_identity_nextval';
COMMENT ON FUNCTION hilo._identity_nextval(regclass, internal) IS
    'for the setting hilo.sequences: draw the number of an identity column';

--
-- Administer collections
--
CREATE FUNCTION hilo.seed(collection text, value bigint, force boolean DEFAULT false) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_seed';
COMMENT ON FUNCTION hilo.seed(text, bigint, boolean) IS
    'move a collection to at least value, or set it with force, at once and for good; returns the max now stored; on a hub that has given leases of it, force requires that all its members are forgotten, see hilo.hub_forget()';

CREATE FUNCTION hilo._counted_number(id text, start text, counted integer) RETURNS bigint
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'hilo_counted_number';
COMMENT ON FUNCTION hilo._counted_number(text, text, integer) IS
    'the number in an id, if that begins with start and a draw of the collection could equal it: with any tag or none (0), with a tag (1), without one (2); called when the highest number in a table is looked up';

CREATE FUNCTION hilo.drop(collection text, force boolean DEFAULT false) RETURNS boolean
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_drop';
COMMENT ON FUNCTION hilo.drop(text, boolean) IS
    'forget a collection, or an identity (companies|), at once and for good: its next draw starts at 1; false if it did not exist; on a hub that has given leases of it, needs force; members draw from these until their next request';

CREATE FUNCTION hilo.configure(
    collection text, range_size bigint DEFAULT NULL, max_range_size bigint DEFAULT NULL, max_value bigint DEFAULT NULL,
    node_tag text DEFAULT NULL, separator text DEFAULT NULL, reset boolean DEFAULT false,
    ordered boolean DEFAULT NULL) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_configure';
COMMENT ON FUNCTION hilo.configure(text, bigint, bigint, bigint, text, text, boolean, boolean) IS
    'set a collection''s range sizes, limit, node tag and separator, or make it ordered if nothing was drawn from it; at once and for good; null leaves an option unchanged, reset first resets all of them';

--
-- Ordered collections
--
CREATE PROCEDURE hilo.make_ordered(collection text)
    LANGUAGE C AS 'MODULE_PATHNAME', 'hilo_make_ordered';
COMMENT ON PROCEDURE hilo.make_ordered(text) IS
    'make a collection that is in use ordered: waits for all running transactions of this database, which may hold earlier numbers; if it was interrupted, call it again';

CREATE FUNCTION hilo.horizon(collection text, OUT horizon bigint, OUT epoch bigint, OUT lsn pg_lsn) RETURNS record
    LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'hilo_horizon';
COMMENT ON FUNCTION hilo.horizon(text) IS
    'horizon of an ordered collection: apart from the rows that this statement sees, none can appear whose INSERT drew a number up to this one; if epoch has changed since the last call, start over; a standby that has replayed lsn shows these rows';

--
-- Identities and server-side ids
--
CREATE FUNCTION next_identity(name text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity(text) IS
    'draw the next id of an identity: companies|, companies/ or companies give companies/1, companies/2 ...';

CREATE FUNCTION next_identity_for(name text) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_for(text) IS
    'draw the next number of an identity';

CREATE FUNCTION seed_identity_for(name text, value bigint, force boolean DEFAULT false) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION seed_identity_for(text, bigint, boolean) IS
    'move an identity to at least value, or set it with force, at once and for good; returns the value now stored; the next draw gives one more';

CREATE FUNCTION next_identity_free(prefix text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_free(text) IS
    'draw the next id of an identity that no document has; see hilo.bind()';

CREATE FUNCTION next_identity_free_for(prefix text, OUT value bigint, OUT tries integer) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_free_for(text) IS
    'draw the next number of an identity that no document has; tries: how many numbers were looked up';

CREATE FUNCTION next_server_side_id(prefix text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_server_side_id(text) IS
    'draw a server-side id: companies/ gives companies/0000000000000000027-A; numbers increase in this database, whatever the prefix';

CREATE FUNCTION hilo.bind(collection text, relation regclass, column_name name) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_bind';
COMMENT ON FUNCTION hilo.bind(text, regclass, name) IS
    'say in which column the documents of an identity are, and the ids of the collection of that name, whose draws then require the privilege to insert there';

CREATE FUNCTION hilo.unbind(collection text) RETURNS boolean
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_unbind';
COMMENT ON FUNCTION hilo.unbind(text) IS
    'undo hilo.bind(); false if nothing was bound';

--
-- Id assignment, and attached tables
--
CREATE FUNCTION hilo_document_id(collection text, requested text DEFAULT NULL) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_document_id(text, text) IS
    'the id of a document: a HiLo id for null, a GUID for an empty text, a server-side id for .../, an identity for ...|, otherwise the requested id';

CREATE FUNCTION hilo.assign_id() RETURNS trigger
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_assign_id';
COMMENT ON FUNCTION hilo.assign_id() IS
    'BEFORE INSERT trigger for each row: assigns hilo_document_id() to the column that the first argument names; the collection is the second argument, or else the table''s name';

--
-- Which columns draw
--
-- Names with an underscore are the extension's own business.
CREATE FUNCTION hilo._draws(expression pg_node_tree, OUT sequence oid, OUT collection text) RETURNS record
    LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'hilo_draws';
COMMENT ON FUNCTION hilo._draws(pg_node_tree) IS
    'what a stored default draws from, if it is one call with a constant sequence or collection and nothing around it but casts: the sequence, or else the collection; null: nothing';

CREATE FUNCTION hilo._drawing_columns(OUT relation oid, OUT column_number smallint, OUT collection text, OUT sequence oid) RETURNS SETOF record
    LANGUAGE sql STABLE CALLED ON NULL INPUT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH function AS (
        SELECT p.oid FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang AND l.lanname = 'c'
        WHERE p.prosrc IN ('hilo_next', 'hilo_next_tagged', 'hilo_next_number', 'hilo_nextval')),
    stored AS (
        SELECT d.adrelid AS relation, d.adnum AS column_number, d.adbin AS expression
        FROM function f
            JOIN pg_depend n ON n.refclassid = 'pg_proc'::regclass AND n.refobjid = f.oid AND n.classid = 'pg_attrdef'::regclass
            JOIN pg_attrdef d ON d.oid = n.objid
            JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum AND a.attgenerated = ''
        UNION ALL
        SELECT a.attrelid, a.attnum, t.typdefaultbin
        FROM function f
            JOIN pg_depend n ON n.refclassid = 'pg_proc'::regclass AND n.refobjid = f.oid AND n.classid = 'pg_type'::regclass
            JOIN pg_type t ON t.oid = n.objid
            JOIN pg_attribute a ON a.atttypid = t.oid AND NOT a.atthasdef AND NOT a.attisdropped)
    SELECT s.relation, s.column_number, d.collection, d.sequence
    FROM stored s JOIN pg_class c ON c.oid = s.relation AND c.relkind IN ('r', 'p', 'f') AND c.relpersistence <> 't',
        LATERAL hilo._draws(s.expression) d
    WHERE NOT d IS NULL
$$;
COMMENT ON FUNCTION hilo._drawing_columns() IS 'columns of tables, except temporary ones, that draw through hilo, by their defaults or those of their domains';

CREATE VIEW hilo.attachments AS
    WITH RECURSIVE drawing AS MATERIALIZED (SELECT * FROM hilo._drawing_columns()),
    ancestor(relation, parent) AS (
        SELECT i.inhrelid, i.inhparent FROM drawing d JOIN pg_catalog.pg_inherits i ON i.inhrelid OPERATOR(pg_catalog.=) d.relation
        UNION SELECT a.relation, i.inhparent FROM ancestor a JOIN pg_catalog.pg_inherits i ON i.inhrelid OPERATOR(pg_catalog.=) a.parent)
    SELECT d.relation::pg_catalog.regclass AS relation, a.attname AS column_name, d.collection, d.sequence::pg_catalog.regclass AS sequence
    FROM drawing d JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) d.relation AND a.attnum OPERATOR(pg_catalog.=) d.column_number
    WHERE NOT EXISTS (SELECT FROM ancestor t JOIN drawing p ON p.relation OPERATOR(pg_catalog.=) t.parent
        JOIN pg_catalog.pg_attribute b ON b.attrelid OPERATOR(pg_catalog.=) p.relation AND b.attnum OPERATOR(pg_catalog.=) p.column_number AND b.attname OPERATOR(pg_catalog.=) a.attname
        WHERE t.relation OPERATOR(pg_catalog.=) d.relation AND COALESCE(p.collection OPERATOR(pg_catalog.=) d.collection, p.sequence OPERATOR(pg_catalog.=) d.sequence));
COMMENT ON VIEW hilo.attachments IS 'columns whose defaults draw through hilo; the row of a table covers its partitions and children that draw from the same';
COMMENT ON COLUMN hilo.attachments.relation IS 'table';
COMMENT ON COLUMN hilo.attachments.column_name IS 'column that draws';
COMMENT ON COLUMN hilo.attachments.collection IS 'collection that it draws from; null: a sequence';
COMMENT ON COLUMN hilo.attachments.sequence IS 'sequence that it draws from; null: a collection';

--
-- Attach and detach: DDL, run as the caller.  What SQL cannot do is in the C
-- functions, each of which checks by itself what the caller may do.  The settings make
-- the server print expressions in one way.
--
CREATE FUNCTION hilo._lock(relation regclass, function text) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_lock';
COMMENT ON FUNCTION hilo._lock(regclass, text) IS
    'for hilo.attach() and hilo.detach(): lock a table of one''s own and its children; an error if rows that were committed could not be seen';

CREATE FUNCTION hilo._check_holds(relation regclass, column_name name, assign boolean) RETURNS void
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_check_column';
COMMENT ON FUNCTION hilo._check_holds(regclass, name, boolean) IS
    'for hilo.attach(): an error unless the column can hold ids, of text if they are to be assigned, or numbers';

CREATE FUNCTION hilo._sync_sequence(sequence regclass, relation regclass, attach boolean) RETURNS bigint
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_sync_sequence';
COMMENT ON FUNCTION hilo._sync_sequence(regclass, regclass, boolean) IS
    'for hilo.attach() and hilo.sync(): move a sequence to at least the highest number in its columns, and return where it is; to attach, the caller must own the table and be allowed to draw, and the sequence stays where it is if ids of the table do not count, or would use up more than half of what is left; relation 0: none';

CREATE FUNCTION hilo._sequence_position(sequence regclass) RETURNS bigint
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_position_of_sequence';
COMMENT ON FUNCTION hilo._sequence_position(regclass) IS
    'for hilo.attach(): the last number that was drawn from a sequence, or that setval() or ALTER SEQUENCE has left out; the caller must be allowed to read it';

CREATE FUNCTION hilo._may_attach(relation regclass, column_name name, collection text, alone boolean) RETURNS void
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_may_attach';
COMMENT ON FUNCTION hilo._may_attach(regclass, name, text, boolean) IS
    'for hilo.attach(): check type, rights, and what the collection is bound to';

CREATE FUNCTION hilo._bind_column(relation regclass, column_name name, collection text, was text, sequence regclass) RETURNS void
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_bind_column';
COMMENT ON FUNCTION hilo._bind_column(regclass, name, text, text, regclass) IS
    'for hilo.attach(): record that a column is attached to a collection, and what drew before; sequence 0: none';

CREATE FUNCTION hilo._drawn_before(relation regclass, column_name name, collection text, OUT was text, OUT sequence regclass) RETURNS record
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_drawn_before';
COMMENT ON FUNCTION hilo._drawn_before(regclass, name, text) IS
    'for hilo.detach(): what drew before a column was attached to a collection, as it was recorded; sequence 0: none';

CREATE FUNCTION hilo._attach_counter(relation regclass, column_name name, collection text, at_least bigint, OUT max bigint, OUT node_tag text, OUT ignored boolean) RETURNS record
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_attach_counter';
COMMENT ON FUNCTION hilo._attach_counter(regclass, name, text, bigint) IS
    'for hilo.attach(): move the counter, which is not rolled back; returns its max, its node tag, and whether the column has only ids of another form';

CREATE FUNCTION hilo._max(relation regclass, collection text) RETURNS bigint
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_max';
COMMENT ON FUNCTION hilo._max(regclass, text) IS
    'for hilo.detach(): the max of a collection, for the owner of a table that is attached to it; null: it does not exist, or others own it';

CREATE FUNCTION hilo._tree(relation regclass) RETURNS SETOF regclass
    LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE tree(relation) AS (
        SELECT relation::oid UNION SELECT i.inhrelid FROM tree t JOIN pg_inherits i ON i.inhparent = t.relation)
    SELECT t.relation::regclass FROM tree t
$$;
COMMENT ON FUNCTION hilo._tree(regclass) IS 'a table, its partitions and its children';

CREATE FUNCTION hilo._attribute(relation regclass, column_name name,
    OUT kind text, OUT expression text, OUT type oid, OUT sequence regclass, OUT own_sequence regclass, OUT is_partition boolean, OUT collection text, OUT number int2) RETURNS record
    LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET standard_conforming_strings = on AS $$
    SELECT CASE WHEN a.attidentity <> '' THEN 'identity' WHEN y.typdefaultbin IS NOT NULL AND d.oid IS NULL THEN 'domain' WHEN e.expression IS NULL THEN 'nothing'
            WHEN e.expression = f.call THEN 'sequence' WHEN e.expression = 'hilo.' || f.call THEN 'attached' WHEN w.collection IS NOT NULL THEN 'collection' ELSE 'default' END,
        e.expression, a.atttypid, w.sequence, pg_get_serial_sequence(relation::text, column_name)::regclass, c.relispartition, w.collection, a.attnum
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type y ON y.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN LATERAL hilo._draws(COALESCE(d.adbin, y.typdefaultbin)) w ON true,
        LATERAL (SELECT pg_get_expr(d.adbin, d.adrelid)) e(expression),
        -- As pg_get_expr() writes it: a backslash is nothing special.
        LATERAL (SELECT 'nextval(''' || replace(w.sequence::regclass::text, '''', '''''') || '''::regclass)') f(call)
    WHERE a.attrelid = relation AND a.attname = column_name AND a.attnum > 0
$$;
COMMENT ON FUNCTION hilo._attribute(regclass, name) IS
    'what draws the values of a column: nothing, sequence (exactly nextval of it), attached (exactly hilo.nextval), collection, identity, domain (the default is its), or another default; its default; the sequence and the collection that this draws from, and the sequence that the column owns';

CREATE FUNCTION hilo._assigns(relation regclass, column_name name) RETURNS bytea
    LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.tgargs FROM pg_trigger t, convert_from(substring(t.tgargs FROM 1 FOR GREATEST(position('\x00'::bytea IN t.tgargs) - 1, 0)), getdatabaseencoding()) "of"
    WHERE t.tgrelid = relation AND t.tgname = 'hilo_assign_id' AND t.tgparentid = '0'::oid AND t.tgfoid = 'hilo.assign_id()'::regprocedure
        AND ("of" = column_name OR NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = relation AND a.attname = "of"))
$$;
COMMENT ON FUNCTION hilo._assigns(regclass, name) IS
    'arguments of the trigger of hilo.attach() that assigns ids to the column, or to one that is gone; null: none';

-- The checks of hilo.attach().  An argument that is omitted is found here: the column, and
-- whether to use a collection; without one, the column stays with its sequence.
CREATE FUNCTION hilo._target(relation regclass, INOUT column_name name, INOUT collection text, assign boolean, OUT draw text) RETURNS record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET standard_conforming_strings = on AS $$
DECLARE
    "table" record;
    "column" record;
    root record;
    at record;
    hub text := COALESCE(current_setting('hilo.hub', true), '');
    in_shards boolean := false;
    alone boolean := collection IS NULL;
BEGIN
    PERFORM hilo._lock(relation, 'hilo.attach()');
    SELECT c.relname AS name, k.kind, k.hint INTO "table" FROM pg_class c LEFT JOIN (VALUES
            ('v', 'view', 'Attach the table that it selects from.'),
            ('m', 'materialized view', 'Attach the table that it selects from.'),
            ('f', 'foreign table', 'Attach the table on the foreign server; or let a default draw here, and use hilo.bind() and hilo.sync().'),
            ('S', 'sequence', 'Attach the table whose column draws from it.'),
            ('i', 'index', 'Attach its table.'),
            ('I', 'index', 'Attach its table.'),
            ('c', 'composite type', 'Only tables can be attached.'),
            ('t', 'TOAST table', 'Only tables can be attached.'),
            ('temporary', 'temporary table', 'A default with hilo.nextval(), hilo_next() or hilo_next_number() suffices.'),
            ('system', 'system catalog', 'Only tables of users can be attached.'),
            ('extension', 'table of an extension', 'Only tables of users can be attached.'),
            ('partition', 'partition', 'Attach the partitioned table.')) k(which, kind, hint)
        ON k.which = CASE WHEN c.relkind NOT IN ('r', 'p') THEN c.relkind::text WHEN c.relpersistence = 't' THEN 'temporary' WHEN c.oid < '16384'::oid THEN 'system'
            WHEN EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') THEN 'extension'
            WHEN c.relispartition THEN 'partition' END
        WHERE c.oid = relation;
    IF "table".kind IS NOT NULL THEN
        RAISE EXCEPTION '% "%" cannot be attached', "table".kind, "table".name USING ERRCODE = 'wrong_object_type', HINT = "table".hint;
    END IF;
    IF column_name IS NULL THEN
        SELECT a.attname INTO column_name FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
            WHERE i.indrelid = relation AND i.indisprimary AND i.indnkeyatts = 1;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'table "%" has no single-column primary key', "table".name USING ERRCODE = 'undefined_object', HINT = 'Specify the column.';
        END IF;
    END IF;
    SELECT a.attgenerated, t.typcategory INTO "column" FROM pg_attribute a LEFT JOIN pg_type t ON t.oid = a.atttypid
        WHERE a.attrelid = relation AND a.attname = column_name AND a.attnum > 0;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'column "%" of relation "%" does not exist', column_name, "table".name USING ERRCODE = 'undefined_column',
            HINT = format('To name a collection, write collection => %L.', column_name);
    ELSIF "column".attgenerated <> '' THEN
        RAISE EXCEPTION 'column "%" of relation "%" is a generated column', column_name, "table".name USING ERRCODE = 'wrong_object_type',
            HINT = CASE "column".attgenerated WHEN 's' THEN 'Drop its expression with ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION.' ELSE 'Attach a stored column.' END;
    END IF;
    PERFORM hilo._check_holds(relation, column_name, COALESCE(assign, false));
    SELECT * INTO root FROM hilo._attribute(relation, column_name);
    IF root.kind = 'identity' THEN
        EXECUTE format('SELECT s.last_value, s.is_called FROM %s s', root.own_sequence) INTO at;
        RAISE EXCEPTION 'identity column "%" of table % cannot be attached', column_name, relation USING ERRCODE = 'feature_not_supported',
            DETAIL = 'An identity column has no default.',
            HINT = CASE hub WHEN '' THEN 'Set hilo.sequences to on, which serves it as it is; or make' ELSE 'Make' END || (
                SELECT format(' it a serial column: BEGIN; ALTER TABLE %1$s ALTER COLUMN %2$I DROP IDENTITY; CREATE SEQUENCE %3$s AS %4$s%5$s%9$s OWNED BY %1$s.%2$I;%6$s%7$s ALTER TABLE %1$s ALTER COLUMN %2$I SET DEFAULT nextval(%3$L); SELECT hilo.attach(%8$L, %2$L); COMMIT;',
                    relation, column_name, root.own_sequence, root.type::regtype,
                    CASE WHEN (q.seqincrement, q.seqstart, q.seqmin, q.seqcache, q.seqcycle) <> ('1', '1', '1', '1', false) OR q.seqmax <> (CASE root.type WHEN 'int2'::regtype THEN '32767' WHEN 'int4'::regtype THEN '2147483647' ELSE '9223372036854775807' END)::int8 THEN
                        format(' INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s', q.seqincrement, q.seqmin, q.seqmax, q.seqstart, q.seqcache) || CASE WHEN q.seqcycle THEN ' CYCLE' ELSE '' END END,
                    -- The sequence goes on where the old one was; with other steps, ids are not looked at.
                    CASE WHEN q.seqincrement <> '1' AND NOT q.seqcycle THEN
                        format(' SELECT setval(%1$L, %2$s(%3$s(%4$I), %5$s)%6$s) FROM %7$s;', root.own_sequence, CASE WHEN q.seqincrement > '0' THEN 'GREATEST' ELSE 'LEAST' END, k.last,
                            column_name, at.last_value, CASE WHEN NOT at.is_called THEN format(', COALESCE(%s(%I) %s %s, false)', k.last, column_name, CASE WHEN q.seqincrement > '0' THEN '>=' ELSE '<=' END, at.last_value) END, relation)
                    WHEN at.is_called THEN format(' SELECT setval(%L, %s);', root.own_sequence, at.last_value)
                    WHEN at.last_value <> q.seqstart THEN format(' SELECT setval(%L, %s, false);', root.own_sequence, at.last_value) END,
                    -- To insert into an identity column needs no right on its sequence.
                    ' GRANT USAGE ON SEQUENCE ' || root.own_sequence || ' TO ' || (
                        SELECT string_agg(DISTINCT CASE a.grantee WHEN '0'::oid THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END, ', ') || ';'
                        FROM pg_class c, LATERAL (SELECT c.relacl UNION ALL SELECT t.attacl FROM pg_attribute t WHERE t.attrelid = c.oid) l(acl), aclexplode(l.acl) a
                        WHERE c.oid IN (SELECT t FROM hilo._tree(relation) t) AND a.privilege_type = 'INSERT' AND a.grantee <> c.relowner),
                    relation::text,
                    -- A sequence can only be owned by a table of the same role.
                    (SELECT format('; ALTER SEQUENCE %1$s OWNER TO %2$I; ALTER SEQUENCE %1$s', root.own_sequence, pg_get_userbyid(c.relowner)) FROM pg_class c WHERE c.oid = relation AND pg_get_userbyid(c.relowner) <> current_user))
                FROM pg_sequence q, LATERAL (SELECT CASE WHEN q.seqincrement > '0' THEN 'max' ELSE 'min' END) k(last) WHERE q.seqrelid = root.own_sequence);
    END IF;
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = $1)' INTO in_shards USING relation;
    END IF;
    -- A sequence is unique on its own server only.
    IF collection IS NULL AND ("column".typcategory <> 'N' OR root.kind = 'collection' OR in_shards OR hub <> '') THEN
        collection := COALESCE(root.collection, "table".name);
    END IF;
    IF collection IS NULL THEN
        IF root.kind IN ('default', 'domain') THEN
            RAISE EXCEPTION 'column "%" of table % does not draw from a sequence by nextval() alone', column_name, relation USING ERRCODE = 'feature_not_supported',
                DETAIL = COALESCE('Its default is ' || root.expression || '.', 'Its default comes from its domain.'),
                HINT = 'Write hilo.nextval() into the default by hand, or name a collection.';
        END IF;
        RETURN;
    END IF;
    IF root.collection <> collection THEN
        RAISE EXCEPTION 'column "%" of table % is attached to collection "%"', column_name, relation, root.collection USING ERRCODE = 'duplicate_object',
            HINT = 'Undo that with hilo.detach() first.';
    END IF;
    IF assign AND EXISTS (SELECT FROM pg_depend d JOIN pg_attribute a ON a.attrelid = d.objid AND a.attnum = d.objsubid AND a.attname = column_name
            WHERE d.classid = 'pg_class'::regclass AND d.objid = relation AND d.refclassid = 'pg_class'::regclass AND d.refobjid = relation AND d.deptype = 'i') THEN
        RAISE EXCEPTION 'column "%" of table "%" cannot be assigned ids by a trigger', column_name, "table".name USING ERRCODE = 'feature_not_supported',
            DETAIL = 'It is a partition key, and a row is routed to its partition before a trigger sees it.',
            HINT = 'Attach it without assign, so that its default draws the ids.';
    END IF;
    PERFORM hilo._may_attach(relation, column_name, collection, alone AND root.kind <> 'collection');
    draw := format('%I.%s(%L::text)', (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'hilo'),
        CASE WHEN "column".typcategory = 'N' THEN 'hilo_next_number' ELSE 'hilo_next' END, collection);
END
$$;
COMMENT ON FUNCTION hilo._target(regclass, name, text, boolean) IS 'for hilo.attach(): lock the table, check what may be attached, and return the column, and the collection with the new default, or null';

-- Other defaults stay as they are.
CREATE FUNCTION hilo._attach_sequence(relation regclass, column_name name) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET standard_conforming_strings = on AS $$
DECLARE
    one regclass;
    attribute record;
    drawn regclass;
    made name;
    without boolean;
    max bigint;
    changed boolean := false;
BEGIN
    SELECT * INTO attribute FROM hilo._attribute(relation, column_name);
    without := attribute.kind = 'nothing';
    IF without THEN
        drawn := attribute.own_sequence;
        IF drawn IS NULL THEN
            -- At most 26 bytes of each name leave room for a number.
            SELECT s.name INTO made FROM pg_class c, generate_series(0, 10000) i,
                LATERAL (SELECT max(n) FILTER (WHERE octet_length(left(c.relname, n)) <= 26), max(n) FILTER (WHERE octet_length(left(column_name, n)) <= 26) FROM generate_series(0, 26) n) fits(of_table, of_column),
                LATERAL (SELECT (left(c.relname, fits.of_table) || '_' || left(column_name, fits.of_column) || '_seq' || CASE WHEN i = 0 THEN '' ELSE i::text END)::name) s(name)
                WHERE c.oid = relation AND NOT EXISTS (SELECT FROM pg_class o WHERE o.relname = s.name AND o.relnamespace = c.relnamespace) ORDER BY i LIMIT 1;
            EXECUTE format('CREATE SEQUENCE %s.%I AS %s', (SELECT c.relnamespace::regnamespace FROM pg_class c WHERE c.oid = relation), made,
                (WITH RECURSIVE base(type, of_domain) AS (
                    SELECT t.oid, t.typbasetype FROM pg_type t WHERE t.oid = attribute.type
                    UNION ALL SELECT t.oid, t.typbasetype FROM base b JOIN pg_type t ON t.oid = b.of_domain)
                SELECT b.type::regtype FROM base b WHERE b.of_domain = 0::oid));
            drawn := format('%s.%I', (SELECT c.relnamespace::regnamespace FROM pg_class c WHERE c.oid = relation), made)::regclass;
            -- The caller may be another role with the owner's privileges.
            EXECUTE format('ALTER SEQUENCE %s OWNER TO %I', drawn, (SELECT pg_get_userbyid(c.relowner) FROM pg_class c WHERE c.oid = relation));
            EXECUTE format('ALTER SEQUENCE %s OWNED BY %s.%I', drawn, relation, column_name);
        END IF;
    ELSE
        drawn := attribute.sequence;
    END IF;
    FOR one IN SELECT t FROM hilo._tree(relation) t LOOP
        SELECT * INTO attribute FROM hilo._attribute(one, column_name);
        IF attribute.kind = 'sequence' OR attribute.kind = 'nothing' AND without THEN
            EXECUTE format('ALTER TABLE ONLY %s ALTER COLUMN %I SET DEFAULT hilo.nextval(%L::regclass)', one, column_name, COALESCE(attribute.sequence, drawn));
            changed := true;
            IF attribute.sequence <> drawn THEN
                PERFORM hilo._sync_sequence(attribute.sequence, one, true);
            END IF;
        ELSIF attribute.kind NOT IN ('attached', 'nothing') THEN
            RAISE NOTICE 'column "%" of table % keeps its default', column_name, one
                USING DETAIL = COALESCE(attribute.expression, 'It comes from its domain.');
        END IF;
    END LOOP;
    max := hilo._sync_sequence(drawn, relation, true);
    IF changed THEN
        RAISE NOTICE 'column "%" of table % draws through hilo.nextval() from sequence %, which is at %', column_name, relation, drawn, max;
    END IF;
    RETURN max;
END
$$;
COMMENT ON FUNCTION hilo._attach_sequence(regclass, name) IS 'for hilo.attach(): let the column, with the table locked, draw from its sequence by hilo.nextval()';

CREATE FUNCTION hilo._attach_collection(relation regclass, column_name name, collection text, draw text, assign boolean) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET standard_conforming_strings = on AS $$
DECLARE
    root record;
    one regclass;
    attribute record;
    drawn bigint := 0;
    counter record;
    others text;
BEGIN
    SELECT * INTO root FROM hilo._attribute(relation, column_name);
    FOR one IN SELECT t FROM hilo._tree(relation) t LOOP
        SELECT * INTO attribute FROM hilo._attribute(one, column_name);
        IF attribute.collection = collection THEN
            -- It draws already: its default was written by hand, or it has been attached.
            IF one = relation AND (hilo._drawn_before(one, column_name, collection)).was IS NULL THEN
                PERFORM hilo._bind_column(one, column_name, collection, CASE WHEN attribute.own_sequence IS NULL THEN 'nothing' ELSE 'sequence' END, COALESCE(attribute.own_sequence, '-'::regclass));
            END IF;
            CONTINUE;
        END IF;
        -- A partition without a default stays without one, if its parent has one.
        CONTINUE WHEN attribute.kind = 'nothing' AND root.kind <> 'nothing' AND attribute.is_partition;
        IF NOT has_sequence_privilege(attribute.sequence, 'SELECT, USAGE') THEN
            RAISE EXCEPTION 'permission denied for sequence %', attribute.sequence USING ERRCODE = 'insufficient_privilege',
                DETAIL = 'The collection has to continue above it.', HINT = 'Grant SELECT on it.';
        END IF;
        -- The last value of a sequence stands for a block of numbers if the increment is above 1.  It is null if
        -- the sequence was not called since it was made, or set.
        drawn := GREATEST(drawn, (SELECT CASE WHEN q.seqincrement < 0 THEN CASE WHEN v.last IS NOT NULL OR p.at <= LEAST(q.seqstart, 9223372036854775806) THEN q.seqstart END
            WHEN v.last IS NULL THEN p.at ELSE LEAST(v.last::numeric + q.seqincrement - 1, q.seqmax)::int8 END
            FROM pg_sequence q, pg_sequence_last_value(q.seqrelid) v(last), hilo._sequence_position(q.seqrelid) p(at) WHERE q.seqrelid = attribute.sequence));
        EXECUTE format('ALTER TABLE ONLY %s ALTER COLUMN %I SET DEFAULT %s', one, column_name, draw);
        IF one = relation OR (attribute.kind, attribute.sequence) IS DISTINCT FROM (root.kind, root.sequence) THEN
            PERFORM hilo._bind_column(one, column_name, collection, CASE WHEN attribute.kind IN ('sequence', 'attached') THEN 'sequence' ELSE 'nothing' END, COALESCE(attribute.sequence, '-'::regclass));
        END IF;
        IF attribute.kind = 'default' THEN
            RAISE NOTICE 'the default of column "%" of table % was replaced', column_name, one
                USING DETAIL = format('It was %s.', attribute.expression), HINT = 'hilo.detach() does not restore it.';
        END IF;
    END LOOP;
    IF assign THEN
        FOR one IN SELECT t FROM hilo._tree(relation) t JOIN pg_class c ON c.oid = t WHERE t = relation OR NOT c.relispartition LOOP
            -- Its arguments are names, which may have changed.
            IF hilo._assigns(one, column_name) <> convert_to(column_name, getdatabaseencoding()) || '\x00'::bytea || convert_to(collection, getdatabaseencoding()) || '\x00'::bytea THEN
                EXECUTE format('DROP TRIGGER hilo_assign_id ON %s', one);
            END IF;
            CONTINUE WHEN EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = one AND t.tgfoid = 'hilo.assign_id()'::regprocedure
                AND (t.tgnargs = 0 OR position(convert_to(column_name, getdatabaseencoding()) || '\x00'::bytea IN t.tgargs) = 1));
            IF EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = one AND t.tgname = 'hilo_assign_id') THEN
                RAISE EXCEPTION 'table % has a trigger "hilo_assign_id" already', one USING ERRCODE = 'duplicate_object',
                    DETAIL = 'It does not assign ids to column "' || column_name || '".', HINT = 'Attach without assign, and create its trigger by hand, under another name.';
            END IF;
            EXECUTE format('CREATE TRIGGER hilo_assign_id BEFORE INSERT ON %s FOR EACH ROW EXECUTE FUNCTION hilo.assign_id(%L, %L)', one, column_name, collection);
        END LOOP;
    ELSIF NOT assign THEN
        FOR one IN SELECT t FROM hilo._tree(relation) t WHERE hilo._assigns(t, column_name) IS NOT NULL LOOP
            EXECUTE format('DROP TRIGGER hilo_assign_id ON %s', one);
        END LOOP;
    END IF;
    SELECT * INTO counter FROM hilo._attach_counter(relation, column_name, collection, drawn);
    IF root.collection IS NULL THEN
        RAISE NOTICE 'column "%" of table % is attached to collection "%", which continues above %', column_name, relation, collection, counter.max;
        IF root.sequence IS NOT NULL THEN
            SELECT string_agg(pg_describe_object(d.classid, d.objid, d.objsubid), ', ' ORDER BY 1) INTO others FROM pg_depend d
                WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = root.sequence AND d.deptype = 'n' AND d.classid IN ('pg_attrdef'::regclass, 'pg_proc'::regclass, 'pg_rewrite'::regclass, 'pg_type'::regclass);
            RAISE NOTICE 'lastval() and currval() do not see the numbers of a collection' USING HINT = 'Use RETURNING, or hilo_last_number().';
            IF others IS NOT NULL THEN
                RAISE NOTICE 'sequence % is still in use', root.sequence USING DETAIL = format('By: %s.', others), HINT = 'Its numbers can equal those of the collection.';
            END IF;
        END IF;
        IF counter.ignored THEN
            RAISE NOTICE 'no id in column "%" of table % is one of collection "%"', column_name, relation, collection
                USING HINT = 'Ids of the collection begin with its name, in exactly this spelling, and the separator.';
        END IF;
        IF draw NOT LIKE '%hilo_next_number(%' AND counter.node_tag = 'A'
                AND EXISTS (SELECT FROM pg_subscription s JOIN pg_database d ON d.oid = s.subdbid WHERE d.datname = current_database()) THEN
            RAISE NOTICE 'this database receives rows from another server, but ids of collection "%" have the default tag "A"', collection
                USING HINT = 'Set hilo.node_tag to a tag that only this server has.';
        END IF;
    END IF;
    RETURN counter.max;
END
$$;
COMMENT ON FUNCTION hilo._attach_collection(regclass, name, text, text, boolean) IS 'for hilo.attach(): let the column, with the table locked, draw from a collection';

CREATE FUNCTION hilo._attach(relation regclass, column_name name, collection text, assign boolean) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET standard_conforming_strings = on AS $$
DECLARE
    target record;
    max bigint;
    blind regclass;
BEGIN
    SELECT * INTO target FROM hilo._target(relation, column_name, collection, assign);
    max := CASE WHEN target.collection IS NULL THEN hilo._attach_sequence(relation, target.column_name)
        ELSE hilo._attach_collection(relation, target.column_name, target.collection, target.draw, assign) END;
    -- An index of another table, which may be dropped meanwhile, must not be described.
    SELECT t INTO blind FROM hilo._tree(relation) t JOIN pg_class c ON c.oid = t AND c.relkind = 'r', hilo._attribute(t, target.column_name) a
        WHERE NOT EXISTS (SELECT FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam AND m.amname = 'btree' WHERE i.indrelid = t AND i.indisvalid AND i.indpred IS NULL
            AND CASE WHEN i.indrelid <> t THEN false WHEN target.draw LIKE '%hilo_next(%' THEN pg_get_indexdef(i.indexrelid, 1, true) LIKE '%hilo_number(%' ELSE i.indkey[0] = a.number END) LIMIT 1;
    IF blind IS NOT NULL THEN
        RAISE NOTICE 'column "%" of table % has no index in which its numbers can be looked up', target.column_name, blind
            USING DETAIL = 'Ids inserted by other means can collide with drawn numbers.',
                HINT = format('CREATE INDEX ON %s (%s);', blind, CASE WHEN target.draw LIKE '%hilo_next(%' THEN format('%I.hilo_number(%I)',
                    (SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'hilo'), target.column_name) ELSE quote_ident(target.column_name) END);
    END IF;
    RETURN max;
END
$$;
COMMENT ON FUNCTION hilo._attach(regclass, name, text, boolean) IS 'what hilo.attach() does';

CREATE FUNCTION hilo.attach(relation regclass, column_name name DEFAULT NULL, collection text DEFAULT NULL, assign boolean DEFAULT NULL) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_call_inner';
COMMENT ON FUNCTION hilo.attach(regclass, name, text, boolean) IS
    'let a column, by default the primary key, draw through hilo: from its own sequence; or from a collection if one is named, the column holds text, hilo.hub is set, or Citus distributes the table; with assign, each row receives the kind of id that it requests, as with hilo.assign_id(); returns the number that the counter is at';

-- The default itself says what drew before; for a collection it is recorded.  A sequence
-- only moves up: above the collection, so that the next block of a program that multiplies
-- its values is above it, too.
CREATE FUNCTION hilo._detach(relation regclass, column_name name) RETURNS text
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off SET standard_conforming_strings = on AS $$
DECLARE
    attached record;
    one regclass;
    attribute record;
    root record;
    own record;
    back regclass;
    kind text;
    max bigint;
BEGIN
    PERFORM hilo._lock(relation, 'hilo.detach()');
    SELECT count(*) AS columns, min(a.attname::text)::name AS name, min(t.collection) AS collection INTO attached
        FROM pg_attribute a, hilo._attribute(a.attrelid, a.attname) t
        WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND a.attname = COALESCE(_detach.column_name, a.attname) AND t.kind IN ('attached', 'collection');
    IF column_name IS NOT NULL AND NOT EXISTS (SELECT FROM hilo._attribute(relation, column_name) d WHERE d.kind IS NOT NULL) THEN
        RAISE EXCEPTION 'column "%" of relation "%" does not exist', column_name, (SELECT c.relname FROM pg_class c WHERE c.oid = relation) USING ERRCODE = 'undefined_column';
    ELSIF attached.columns > 1 THEN
        RAISE EXCEPTION 'several columns of table "%" are attached', (SELECT c.relname FROM pg_class c WHERE c.oid = relation) USING ERRCODE = 'undefined_object', HINT = 'Specify the column.';
    ELSIF attached.columns = 0 THEN
        SELECT a.attname AS name, t.expression INTO own FROM hilo._drawing_columns() d JOIN pg_attribute a ON a.attrelid = d.relation AND a.attnum = d.column_number, hilo._attribute(d.relation, a.attname) t
            WHERE d.relation = _detach.relation AND a.attname = COALESCE(_detach.column_name, a.attname) LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'default of column "%" of table % cannot be changed back', own.name, relation USING ERRCODE = 'feature_not_supported',
                DETAIL = COALESCE('It is ' || own.expression || '.', 'It comes from its domain.'), HINT = 'Change it by hand.';
        END IF;
        RAISE EXCEPTION USING ERRCODE = 'undefined_object', HINT = 'The view hilo.attachments shows which columns are attached.',
            MESSAGE = CASE WHEN column_name IS NULL THEN format('no column of table %s is attached', relation) ELSE format('column "%s" of table %s is not attached', column_name, relation) END;
    END IF;
    column_name := attached.name;
    IF attached.collection IS NOT NULL THEN
        max := hilo._max(relation, attached.collection);
        SELECT * INTO root FROM hilo._drawn_before(relation, column_name, attached.collection);
    END IF;
    FOR one IN SELECT t FROM hilo._tree(relation) t LOOP
        SELECT * INTO attribute FROM hilo._attribute(one, column_name);
        -- A child may have a default of its own.
        CONTINUE WHEN CASE WHEN attached.collection IS NULL THEN attribute.kind <> 'attached' ELSE attribute.collection IS DISTINCT FROM attached.collection END;
        back := attribute.sequence;
        IF attached.collection IS NOT NULL THEN
            IF one <> relation THEN
                SELECT * INTO own FROM hilo._drawn_before(one, column_name, attached.collection);
            ELSE
                own := root;
            END IF;
            IF own.was IS NULL THEN
                own := root;
            END IF;
            own.sequence := NULLIF(own.sequence, '-'::regclass);
            back := CASE WHEN own.was = 'nothing' THEN NULL ELSE COALESCE(own.sequence, attribute.own_sequence) END;
            IF max IS NOT NULL THEN
                PERFORM hilo._move_sequence(s, max, c.relowner) FROM (SELECT DISTINCT s FROM unnest(ARRAY[back, own.sequence, attribute.own_sequence]) s WHERE s IS NOT NULL) o, pg_class c WHERE c.oid = one;
            END IF;
            IF hilo._assigns(one, column_name) IS NOT NULL THEN
                EXECUTE format('DROP TRIGGER hilo_assign_id ON %s', one);
            END IF;
        END IF;
        IF back IS NULL THEN
            EXECUTE format('ALTER TABLE ONLY %s ALTER COLUMN %I DROP DEFAULT', one, column_name);
        ELSE
            EXECUTE format('ALTER TABLE ONLY %s ALTER COLUMN %I SET DEFAULT nextval(%L::regclass)', one, column_name, back);
            -- Where a stranger's collection is may not be known, but what is in the table is.
            IF attached.collection IS NOT NULL AND max IS NULL AND has_sequence_privilege(back, 'USAGE, UPDATE') THEN
                PERFORM hilo._sync_sequence(back, one, true);
            END IF;
        END IF;
        IF one = relation THEN
            -- Without a default, its domain's is used.
            SELECT CASE WHEN a.sequence IS NULL THEN 'nothing' ELSE 'sequence' END INTO kind FROM hilo._attribute(one, column_name) a;
        END IF;
    END LOOP;
    RETURN kind;
END
$$;
COMMENT ON FUNCTION hilo._detach(regclass, name) IS 'what hilo.detach() does';

CREATE FUNCTION hilo.detach(relation regclass, column_name name DEFAULT NULL) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_call_inner';
COMMENT ON FUNCTION hilo.detach(regclass, name) IS
    'undo hilo.attach(): let a column draw from its sequence by nextval() again, or, if it had no sequence, from nothing; returns "sequence" or "nothing"';

CREATE FUNCTION hilo._raise_sequence(sequence regclass, number bigint) RETURNS boolean
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_raise_sequence';
COMMENT ON FUNCTION hilo._raise_sequence(regclass, bigint) IS
    'for hilo.detach(): move a sequence to at least a number; false: it has other steps than 1, or a cycle, and is only locked';

CREATE FUNCTION hilo._move_sequence(sequence regclass, number bigint, owner oid) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    -- What was recorded may be the sequence of a stranger; and it only moves up, so where it is must be known.
    IF NOT has_sequence_privilege(owner, sequence, 'UPDATE') OR NOT has_sequence_privilege(sequence, 'SELECT') THEN
        RAISE WARNING 'sequence % is not moved to %', sequence, number
            USING DETAIL = 'The owner of the table may not read and set it.', HINT = 'If ids should continue above it, use setval().';
        RETURN;
    END IF;
    IF hilo._raise_sequence(sequence, number) THEN
        RETURN;
    END IF;
    EXECUTE format('SELECT setval($1, v.last, v.called)'
        ' FROM %s s, pg_sequence q,'
        ' LATERAL (SELECT CASE WHEN $2 < q.seqstart THEN q.seqstart::numeric'
        ' ELSE LEAST(q.seqstart + ceil(($2::numeric - q.seqstart) / q.seqincrement) * q.seqincrement, q.seqmax) END::int8, $2 >= q.seqstart) v(last, called)'
        ' WHERE q.seqrelid = $1 AND q.seqincrement > 0'
        ' AND (v.last > s.last_value OR v.last = s.last_value AND v.called AND NOT s.is_called)', sequence) USING sequence, number;
END
$$;
COMMENT ON FUNCTION hilo._move_sequence(regclass, bigint, oid) IS 'for hilo.detach(): move a sequence above a number, if the owner of the table may';

-- A default that hilo.detach() could not restore stays: only hilo.attach(), which names the table, replaces it.
CREATE FUNCTION hilo.attach_all(schema regnamespace, OUT relation regclass, OUT column_name name, OUT max bigint, OUT result text) RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    attribute record;
BEGIN
    IF schema IS NULL THEN
        RAISE EXCEPTION 'schema must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    FOR relation, column_name IN
        SELECT c.oid, a.attname FROM pg_class c
            JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary AND i.indnkeyatts = 1
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0], hilo._attribute(c.oid, a.attname) t
        WHERE c.relnamespace = schema AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND (t.kind = 'identity' OR t.sequence IS NOT NULL
            OR EXISTS (SELECT FROM pg_attrdef e JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = e.oid AND d.refclassid = 'pg_class'::regclass
                JOIN pg_class s ON s.oid = d.refobjid AND s.relkind = 'S' WHERE e.adrelid = c.oid AND e.adnum = a.attnum))
        ORDER BY c.relname
    LOOP
        max := NULL;
        SELECT t.kind, y.typcategory INTO attribute FROM hilo._attribute(relation, column_name) t JOIN pg_type y ON y.oid = t.type;
        IF attribute.kind <> 'identity' AND attribute.typcategory <> 'N' THEN
            result := format('column "%s" of table %s holds no numbers: name its collection', column_name, relation);
            RETURN NEXT;
            CONTINUE;
        ELSIF attribute.kind IN ('default', 'domain') THEN
            result := format('column "%s" of table %s does not draw from a sequence by nextval() alone', column_name, relation);
            RETURN NEXT;
            CONTINUE;
        END IF;
        BEGIN
            max := hilo._attach(relation, column_name, NULL, NULL);
            result := 'attached';
        EXCEPTION WHEN OTHERS THEN
            result := SQLERRM;
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION hilo.attach_all(regnamespace) IS
    'hilo.attach() for each table of a schema whose primary key is a number and draws from a sequence; result: attached, or why not';

CREATE FUNCTION hilo.detach_all(schema regnamespace, OUT relation regclass, OUT column_name name, OUT result text) RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF schema IS NULL THEN
        RAISE EXCEPTION 'schema must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    FOR relation, column_name IN
        SELECT a.relation, a.column_name FROM hilo.attachments a JOIN pg_class c ON c.oid = a.relation WHERE c.relnamespace = schema ORDER BY c.relname
    LOOP
        BEGIN
            result := hilo._detach(relation, column_name);
        EXCEPTION WHEN OTHERS THEN
            result := SQLERRM;
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION hilo.detach_all(regnamespace) IS
    'hilo.detach() for each attached table of a schema; result: what draws now, or why not';

--
-- Sync
--
CREATE FUNCTION hilo._sync_collection(name text) RETURNS bigint
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_sync_collection';
COMMENT ON FUNCTION hilo._sync_collection(text) IS
    'for hilo.sync(): move a collection to at least the highest number in its columns, at once and for good; null: no column draws from it';

-- It reads hilo.binding, which a role with EXECUTE may not be allowed to read.
CREATE FUNCTION hilo.sync(OUT collection text, OUT sequence regclass, OUT max bigint) RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    FOR collection, sequence IN
        SELECT c.collection, c.sequence
        -- Any role can write a default that names a stranger's sequence.
        FROM (SELECT a.collection, a.sequence FROM hilo.attachments a JOIN pg_class t ON t.oid = a.relation
                WHERE a.sequence IS NULL OR has_table_privilege(t.relowner, a.sequence, 'UPDATE') UNION SELECT b.collection, NULL::regclass FROM hilo.binding b WHERE b.kind = 'bound') c
        ORDER BY c.collection, c.sequence::text
    LOOP
        -- One table that is locked, or not there, must not keep the others back.
        BEGIN
            max := COALESCE(hilo._sync_collection(collection), hilo._sync_sequence(sequence, '-', false));
            CONTINUE WHEN max IS NULL;
            RETURN NEXT;
        EXCEPTION WHEN read_only_sql_transaction THEN
            RAISE;
        WHEN OTHERS THEN
            RAISE WARNING 'could not move %: %', CASE WHEN collection IS NULL THEN format('sequence %s', sequence) ELSE format('collection "%s"', collection) END, SQLERRM;
        END;
    END LOOP;
END
$$;
COMMENT ON FUNCTION hilo.sync() IS
    'move all collections and sequences of attached and bound columns, as hilo.sync(text) does; a warning for each that cannot be moved';

CREATE FUNCTION hilo._sync_table(relation regclass) RETURNS bigint
    LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT max(s.max) FROM (SELECT COALESCE(hilo._sync_collection(c.collection), hilo._sync_sequence(c.sequence, _sync_table.relation, false)) AS max
        FROM (SELECT DISTINCT a.collection, a.sequence FROM hilo._drawing_columns() a WHERE a.relation = _sync_table.relation) c) s
$$;
COMMENT ON FUNCTION hilo._sync_table(regclass) IS
    'for hilo.sync(): move the counters of the attached columns of a table; what it calls checks by itself who may';

CREATE FUNCTION hilo.sync(relation regclass) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF relation IS NULL THEN
        RAISE EXCEPTION 'relation must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    RETURN hilo._sync_table(relation);
END
$$;
COMMENT ON FUNCTION hilo.sync(regclass) IS
    'move the counters of the attached columns of a table, as hilo.sync(text) does; returns the highest; null: none is attached';

CREATE FUNCTION hilo.sync(name text) RETURNS bigint
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE AS $$
DECLARE
    max bigint;
    relation pg_catalog.regclass;
BEGIN
    IF name IS NULL THEN
        RAISE EXCEPTION 'name must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    BEGIN
        relation := pg_catalog.to_regclass(name);
    EXCEPTION WHEN invalid_name OR syntax_error OR feature_not_supported OR insufficient_privilege THEN
        -- Not every name of a collection can be one of a table.
    END;
    -- Any role can create the table, or write the default.
    IF relation::pg_catalog.text OPERATOR(pg_catalog.=) name AND (SELECT pg_catalog.bool_or(d.drawing OPERATOR(pg_catalog.=) relation) AND pg_catalog.bool_or(d.source OPERATOR(pg_catalog.=) name)
            AND NOT pg_catalog.bool_or(d.drawing OPERATOR(pg_catalog.=) relation AND COALESCE(d.source OPERATOR(pg_catalog.=) name, false)) FROM hilo._drawing_columns() d(drawing, number, source)) THEN
        RAISE EXCEPTION '"%" is both a collection and a table that draws from something else', name USING ERRCODE = 'duplicate_object',
            HINT = pg_catalog.format('For the table, call hilo.sync(%L::regclass); for the collection, name a table that draws from it.', name);
    END IF;
    max := COALESCE(hilo._sync_collection(name), hilo._sync_table(relation));
    IF max IS NULL THEN
        IF name OPERATOR(pg_catalog.~~) '_%|' THEN
            RAISE EXCEPTION 'hilo.sync() does not take the identity "%"', pg_catalog.left(name, -1) USING ERRCODE = 'undefined_object',
                HINT = pg_catalog.format('If it is bound, call hilo.sync(%L); otherwise use seed_identity_for().', pg_catalog.left(name, -1));
        END IF;
        RAISE EXCEPTION 'no column draws from collection "%", and no table of that name is attached', name USING ERRCODE = 'undefined_object',
            HINT = 'Use hilo.attach() or hilo.bind() to specify the column with its ids, or use hilo.seed().';
    END IF;
    RETURN max;
END
$$;
COMMENT ON FUNCTION hilo.sync(text) IS
    'move a collection, with the identity bound under its name, or the counters of a table, to at least the highest number in the columns that draw from it, at once and for good; returns the number that it is at';

--
-- The right to draw
--
CREATE FUNCTION hilo.allow(collection text, role name) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_allow';
COMMENT ON FUNCTION hilo.allow(text, name) IS
    'let a role, or "public", draw from a collection without the privilege to insert into its tables';

CREATE FUNCTION hilo.disallow(collection text, role name) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_disallow';
COMMENT ON FUNCTION hilo.disallow(text, name) IS 'undo hilo.allow()';

--
-- Leases
--
CREATE FUNCTION hilo.lease_from(collection text, server text, lease_size bigint DEFAULT NULL) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_lease_from';
COMMENT ON FUNCTION hilo.lease_from(text, text, bigint) IS
    'from now on, lease the numbers of a collection, or of an identity (companies|), from a foreign server, the hub, at least lease_size at a time; a null server: stop leasing';

--
-- On a hub.  A request is one transaction, which runs as the owner of the functions; what
-- a member is told about terms is a row, never an error, so that it is committed.
--
CREATE FUNCTION hilo._present(OUT timeline bigint, OUT home bigint, OUT random bigint, OUT resumes boolean, OUT all_standbys boolean, OUT backup bigint, OUT counters_home bigint) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'hilo_present';
COMMENT ON FUNCTION hilo._present() IS
    'the timeline that this server is on, 0 in recovery, and what identifies this database in this cluster; a random number, and hilo.hub_auto_resume; whether synchronous_standby_names requires every standby that it lists; what identifies the backup that the data folder was restored from, 0: none; the home of counters that are of this database';

CREATE FUNCTION hilo._hub_begin(function text, local boolean) RETURNS void
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_hub_begin';
COMMENT ON FUNCTION hilo._hub_begin(text, boolean) IS
    'for the function of that name: begin a request, which must be READ COMMITTED, and whose commit, if local, waits for no standby';

CREATE FUNCTION hilo._claim_lease(
    collection text, size bigint, at_least bigint,
    OUT low bigint, OUT high bigint, OUT epoch bigint, OUT range_size integer, OUT max_range_size integer, OUT node_tag text, OUT separator text,
    OUT lsn pg_lsn) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_claim_lease';
COMMENT ON FUNCTION hilo._claim_lease(text, bigint, bigint) IS
    'for hilo.lease(): claim numbers in place, on disk; with size 0 only check that some would be given';

CREATE FUNCTION hilo._hub_wait(lsn pg_lsn, needs_standby boolean) RETURNS void
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_hub_wait';
COMMENT ON FUNCTION hilo._hub_wait(pg_lsn, boolean) IS
    'for hilo.lease(): wait until a claim is on the standbys that synchronous_standby_names requires; an error if it needs one, and none is required';

CREATE FUNCTION hilo._check_highest(collection text, highest bigint) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_check_highest';
COMMENT ON FUNCTION hilo._check_highest(text, bigint) IS
    'for hilo.lease() and reports: an error if the name is not valid, or the number would use up more than half of what is left';

CREATE FUNCTION hilo._raise_counter(collection text, highest bigint, skip bigint) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_raise_counter';
COMMENT ON FUNCTION hilo._raise_counter(text, bigint, bigint) IS
    'for hilo.hub_resume(): move a counter to at least the highest number reported, and skip numbers above that; returns the max';

-- Terms.  A server that has never been asked gets its row and its first term; on a new
-- timeline, or in a copy, a new term collects reports, or is open at once if a
-- synchronous standby was waited for.
CREATE FUNCTION hilo._hub_hear(
    known_lineage bigint, known_term bigint, known_term_id bigint,
    OUT own hilo.hub, OUT is_ours boolean, OUT resumes boolean, OUT all_standbys boolean, OUT refusal text, OUT hint text) RETURNS record
    LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    here record;
    max_ahead CONSTANT bigint := 4294967296;
BEGIN
    SELECT * INTO here FROM hilo._present();
    resumes := here.resumes;
    all_standbys := here.all_standbys;
    LOOP
        SELECT h.* INTO own FROM hilo.hub h WHERE h.hub = '|';
        is_ours := false;
        IF own.hub IS NULL AND known_lineage <> 0 OR known_lineage NOT IN (0, own.lineage) THEN
            own.lineage := COALESCE(own.lineage, 0);
            refusal := 'this server is not the hub that the member knows';
            hint := 'If it has taken over, first seed its counters above the column highest of hilo.leases on all members, then call hilo.lease_from() on each member.';
            RETURN;
        ELSIF own.hub IS NULL THEN
            INSERT INTO hilo.hub (hub, lineage, term, term_id, is_open, timeline, home, seen, waited, backup)
                VALUES ('|', here.random, 1, here.random, true, here.timeline, here.home, 0, 0, here.backup) ON CONFLICT DO NOTHING;
            CONTINUE;
        ELSIF known_term > GREATEST(own.term, own.seen) + max_ahead THEN
            refusal := format('this server has never been in term %s', known_term);
            RETURN;
        ELSIF (own.timeline, own.home, own.backup) <> (here.timeline, here.home, here.backup) THEN
            UPDATE hilo.hub h SET term = GREATEST(own.term, own.seen, known_term) + 1, term_id = here.random,
                is_open = here.resumes AND own.is_open AND own.waited = 2 AND own.home = here.home AND own.timeline <> here.timeline,
                timeline = here.timeline, home = here.home, seen = 0, backup = here.backup
            WHERE h.hub = '|' AND (h.term, h.term_id, h.seen, h.timeline, h.home) = (own.term, own.term_id, own.seen, own.timeline, own.home)
            RETURNING h.is_open INTO own.is_open;
            IF FOUND AND own.is_open THEN
                RAISE WARNING 'this hub gives leases again, on timeline % after %', here.timeline, own.timeline
                    USING DETAIL = 'The setting "hilo.hub_auto_resume" is on.';
            END IF;
            CONTINUE;
        ELSIF known_lineage <> 0 AND (known_term > own.term OR known_term = own.term AND known_term_id <> own.term_id) THEN
            UPDATE hilo.hub h SET seen = known_term WHERE h.hub = '|' AND h.seen < known_term;
            IF FOUND THEN
                RAISE WARNING 'a member knows term % of this hub, which is in term %', known_term, own.term
                    USING DETAIL = format('The address of the member is %s.', COALESCE('"' || host(inet_client_addr()) || '"', 'a Unix socket'));
            END IF;
            refusal := CASE WHEN known_term > own.term THEN format('it is in term %s, but the member has seen term %s', own.term, known_term)
                ELSE format('it is in another term %s than the member has seen', known_term) END;
            hint := 'A later hub has taken over: stop this one. If it is the right one, call hilo.hub_resume() there.';
            RETURN;
        END IF;
        is_ours := true;
        IF NOT own.is_open THEN
            refusal := 'it waits for a resume, because it may lack leases that it has given';
            hint := 'Call hilo.hub_resume() on the hub once all members that hilo.members shows there have reported.';
        END IF;
        RETURN;
    END LOOP;
END
$$;
COMMENT ON FUNCTION hilo._hub_hear(bigint, bigint, bigint) IS
    'for hilo.lease() and reports: compare what a member knows with the term of this hub; is_ours: what it has may be recorded; refusal: why no lease is given, null if one is';

-- Each request says when the member's server was started.  An earlier time than before
-- means that two servers have one name, or that another server, such as a standby, has taken
-- the member's place.
CREATE FUNCTION hilo._note_member(
    member text, collection text, highest bigint, epoch bigint, known_term bigint, reported_term bigint, reported_id bigint, started bigint) RETURNS void
    LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    is_shared boolean;
    is_new boolean;
BEGIN
    INSERT INTO hilo.member AS m VALUES (_note_member.member, _note_member.collection, _note_member.highest, _note_member.epoch,
        _note_member.known_term, _note_member.reported_term, _note_member.reported_id, clock_timestamp(), inet_client_addr(), _note_member.started)
    ON CONFLICT (member, collection) DO UPDATE SET highest = GREATEST(m.highest, EXCLUDED.highest), epoch = COALESCE(EXCLUDED.epoch, m.epoch),
        known_term = GREATEST(m.known_term, EXCLUDED.known_term), reported_term = COALESCE(EXCLUDED.reported_term, m.reported_term),
        reported_id = COALESCE(EXCLUDED.reported_id, m.reported_id), seen_at = EXCLUDED.seen_at, address = EXCLUDED.address, started = COALESCE(EXCLUDED.started, m.started),
        shared_at = CASE WHEN EXCLUDED.started < m.started THEN EXCLUDED.seen_at ELSE m.shared_at END
    RETURNING m.shared_at = m.seen_at, m.xmax = 0 INTO is_shared, is_new;
    -- A standby that is promoted has to know who may draw.
    IF is_new AND current_setting('synchronous_commit') = 'local' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
    IF is_shared THEN
        RAISE WARNING 'two servers ask this hub by the name of member "%"', member
            USING DETAIL = format('One of them was started before the other one, and asks again for "%s".', collection),
            HINT = 'Unless one has taken the other''s place, set cluster_name on each to a different value.';
    END IF;
END
$$;
COMMENT ON FUNCTION hilo._note_member(text, text, bigint, bigint, bigint, bigint, bigint, bigint) IS
    'for hilo.lease() and reports: record what a member has of a collection; a null epoch or report leaves what was recorded';

CREATE FUNCTION hilo._lease(
    collection text, size bigint, at_least bigint,
    known_lineage bigint, known_term bigint, known_term_id bigint, member text, started bigint,
    OUT low bigint, OUT high bigint, OUT epoch bigint, OUT range_size integer, OUT max_range_size integer, OUT node_tag text, OUT separator text,
    OUT lineage bigint, OUT term bigint, OUT term_id bigint, OUT refusal text, OUT hint text, OUT wants_report boolean) RETURNS record
    LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    heard record;
    own hilo.hub;
    lsn pg_lsn;
    -- What the settings say, even if the server does not follow them yet: the wait finds out.
    is_synchronous boolean := current_setting('max_wal_senders') <> '0' AND current_setting('synchronous_standby_names') <> '';
    waits integer;
BEGIN
    IF size IS NULL OR known_lineage IS NULL OR known_term IS NULL OR known_term_id IS NULL OR member IS NULL THEN
        RAISE EXCEPTION 'only started may be null in hilo.lease()' USING ERRCODE = 'null_value_not_allowed';
    ELSIF size < 0 THEN
        RAISE EXCEPTION 'size must not be negative' USING ERRCODE = 'invalid_parameter_value';
    ELSIF octet_length(member) > 255 OR strpos(member, '|') > 0 THEN
        RAISE EXCEPTION 'member must be a name of at most 255 bytes without "|"' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- hilo.lease_from() asks with size 0: what would fail after a failover fails now.
    IF size = 0 AND NOT has_function_privilege(session_user, 'hilo.report(text, bigint, bigint, bigint, text[], bigint[], text[], bigint)', 'EXECUTE') THEN
        RAISE EXCEPTION 'permission denied for function report' USING ERRCODE = 'insufficient_privilege',
            HINT = 'Grant the member''s role the right to execute hilo.lease and hilo.report.';
    END IF;
    PERFORM hilo._hub_begin('hilo.lease()', true);
    PERFORM hilo._check_highest(_lease.collection, at_least);
    SELECT * INTO heard FROM hilo._hub_hear(known_lineage, known_term, known_term_id);
    own := heard.own;
    refusal := heard.refusal;
    hint := heard.hint;
    lineage := own.lineage;
    term := own.term;
    term_id := own.term_id;
    IF refusal IS NULL THEN
        IF heard.resumes AND NOT heard.all_standbys THEN
            RAISE EXCEPTION 'this server gives leases only if all standbys that may take over have them' USING ERRCODE = 'object_not_in_prerequisite_state',
                DETAIL = 'The setting "hilo.hub_auto_resume" is on, and synchronous_standby_names does not require every standby that it lists.',
                HINT = 'List standbys by their names, and wait for all of them: FIRST 2 (a, b); or set hilo.hub_auto_resume to "off".';
        END IF;
        SELECT c.* INTO low, high, epoch, range_size, max_range_size, node_tag, separator, lsn FROM hilo._claim_lease(_lease.collection, size, at_least) c;
        IF size > 0 THEN
            -- Another session may have begun to wait for the standby since the term was read.
            PERFORM hilo._hub_wait(lsn, heard.resumes OR h.waited <> 0 AND is_synchronous) FROM hilo.hub h WHERE h.hub = '|';
            waits := CASE WHEN heard.resumes THEN CASE own.waited WHEN 0 THEN 1 ELSE 2 END ELSE CASE own.waited WHEN 2 THEN 3 ELSE 0 END END;
            IF waits <> own.waited THEN
                UPDATE hilo.hub h SET waited = waits WHERE h.hub = '|' AND h.waited = own.waited;
            END IF;
            PERFORM hilo._note_member(_lease.member, _lease.collection, at_least, _lease.epoch, known_term, own.term, own.term_id, _lease.started);
        END IF;
    ELSIF heard.is_ours THEN
        IF size > 0 AND _lease.member <> '' THEN
            PERFORM hilo._note_member(_lease.member, _lease.collection, at_least, NULL, known_term, NULL, NULL, _lease.started);
        END IF;
        wants_report := _lease.member <> '' AND NOT EXISTS (
            SELECT FROM hilo.member m WHERE m.member = _lease.member AND (m.reported_term, m.reported_id) = (own.term, own.term_id));
    END IF;
END
$$;
COMMENT ON FUNCTION hilo._lease(text, bigint, bigint, bigint, bigint, bigint, text, bigint) IS
    'for hilo.lease(): give a lease where more has to be done than to claim it: the first one, a closed term, a member whose row changes';

CREATE FUNCTION hilo.lease(
    collection text, size bigint, at_least bigint DEFAULT 0,
    known_lineage bigint DEFAULT 0, known_term bigint DEFAULT 0, known_term_id bigint DEFAULT 0, member text DEFAULT '', started bigint DEFAULT NULL,
    OUT low bigint, OUT high bigint, OUT epoch bigint, OUT range_size integer, OUT max_range_size integer, OUT node_tag text, OUT separator text,
    OUT lineage bigint, OUT term bigint, OUT term_id bigint, OUT refusal text, OUT hint text, OUT wants_report boolean) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SECURITY DEFINER AS 'MODULE_PATHNAME', 'hilo_lease';
COMMENT ON FUNCTION hilo.lease(text, bigint, bigint, bigint, bigint, bigint, text, bigint) IS
    'on a hub, called by members: claim a lease of up to size numbers above at_least, the highest that the member has ever had; size 0 claims none; known_lineage, known_term and known_term_id are what the member of that name knows about the hub, and started says when its server was started; refusal: why no lease is given';

CREATE FUNCTION hilo.report(
    member text, known_lineage bigint, known_term bigint, known_term_id bigint, collections text[], highest bigint[], "left" text[] DEFAULT '{}', started bigint DEFAULT NULL,
    OUT collection text, OUT epoch bigint, OUT range_size integer, OUT max_range_size integer, OUT node_tag text, OUT separator text,
    OUT lineage bigint, OUT term bigint, OUT term_id bigint, OUT refusal text, OUT hint text, OUT wants_report boolean) RETURNS SETOF record
    LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    heard record;
    own hilo.hub;
    here bigint;
    counts boolean;
    number bigint;
BEGIN
    IF member IS NULL OR known_lineage IS NULL OR known_term IS NULL OR known_term_id IS NULL OR collections IS NULL OR highest IS NULL OR "left" IS NULL THEN
        RAISE EXCEPTION 'only started may be null in hilo.report()' USING ERRCODE = 'null_value_not_allowed';
    ELSIF octet_length(member) > 255 OR strpos(member, '|') > 0 OR member = '' THEN
        RAISE EXCEPTION 'member must be a name of at most 255 bytes without "|"' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM hilo._hub_begin('hilo.report()', true);
    PERFORM hilo._check_highest(r.collection, r.highest) FROM unnest(collections, report.highest) r(collection, highest);
    SELECT * INTO heard FROM hilo._hub_hear(known_lineage, known_term, known_term_id);
    own := heard.own;
    lineage := own.lineage;
    term := own.term;
    term_id := own.term_id;
    IF NOT heard.is_ours THEN
        refusal := heard.refusal;
        hint := heard.hint;
        RETURN NEXT;
        RETURN;
    END IF;
    -- A report counts only in exactly this term, which all of the member's rows have stored before.
    counts := known_lineage = own.lineage AND known_term = own.term AND known_term_id = own.term_id;
    wants_report := NOT own.is_open AND NOT counts;
    here := (SELECT p.counters_home FROM hilo._present() p);
    -- In the order of the report.
    FOR collection, number IN SELECT r.collection, max(r.highest) FROM unnest(collections, report.highest) WITH ORDINALITY r(collection, highest, n)
            GROUP BY r.collection ORDER BY min(r.n) LOOP
        SELECT c.epoch, c.range_size, c.max_range_size, CASE WHEN c.flags & 4 <> 0 THEN c.node_tag END, NULLIF(c.separator::text, '')
            INTO epoch, range_size, max_range_size, node_tag, separator FROM hilo.hilo c WHERE c.collection = report.collection AND c.home = here AND own.is_open;
        -- A collection that the member has left is forgotten, if this hub knows all leases of it.
        IF counts AND collection = ANY ("left")
                AND number <= COALESCE((SELECT c.max FROM hilo.hilo c WHERE c.collection = report.collection AND c.home = here), 0) THEN
            DELETE FROM hilo.member m WHERE m.member = report.member AND m.collection = report.collection;
        ELSE
            PERFORM hilo._note_member(member, collection, number, epoch, known_term, CASE WHEN counts THEN own.term END, CASE WHEN counts THEN own.term_id END, started);
            IF counts AND collection = ANY ("left") THEN
                RAISE WARNING 'member "%" has left "%", but stays in hilo.members', member, collection
                    USING DETAIL = format('It may have numbers up to %s, which this hub has not given, as far as it knows.', number),
                        HINT = format('Call hilo.hub_forget(%L) on the hub once the member has left all collections.', member);
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
    IF counts THEN
        UPDATE hilo.member m SET reported_term = own.term, reported_id = own.term_id, seen_at = clock_timestamp()
        WHERE m.member = report.member AND (m.reported_term, m.reported_id) IS DISTINCT FROM (own.term, own.term_id);
    END IF;
END
$$;
COMMENT ON FUNCTION hilo.report(text, bigint, bigint, bigint, text[], bigint[], text[], bigint) IS
    'on a hub, called by members: the highest numbers that the member has ever had of all collections leased from this hub, and which of these it has left; returns what is set for each of them';

CREATE FUNCTION hilo.lease_report() RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_lease_report';
COMMENT ON FUNCTION hilo.lease_report() IS
    'on a member: report to each hub the highest number ever leased of each collection, and hear what was seeded, dropped or configured there; returns the number of collections';

CREATE FUNCTION hilo.hub_resume(skip bigint DEFAULT NULL, again boolean DEFAULT false, OUT is_open boolean, OUT term bigint, OUT missing text[]) RETURNS record
    LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET synchronous_commit = on AS $$
DECLARE
    here record;
    own hilo.hub;
    collections text[];
    bases bigint[];
    limits bigint[];
    skips bigint[];
    tight record;
BEGIN
    IF again IS NULL THEN
        RAISE EXCEPTION 'again must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF skip < 0 THEN
        RAISE EXCEPTION 'skip must not be negative' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    PERFORM hilo._hub_begin('hilo.hub_resume()', false);
    SELECT * INTO here FROM hilo._present();
    -- A hub that may resume by itself does so, as at a request.
    IF NOT again AND skip IS NULL AND EXISTS (SELECT FROM hilo.hub h WHERE h.hub = '|') THEN
        PERFORM hilo._hub_hear(0, 0, 0);
    END IF;
    SELECT h.* INTO own FROM hilo.hub h WHERE h.hub = '|' FOR UPDATE;
    missing := '{}';
    IF own.hub IS NULL THEN
        RAISE EXCEPTION 'this server has given no leases' USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = COALESCE((SELECT format('It leases "%s" from "%s".', c.collection, rtrim(c.hub, '|')) FROM hilo.hilo c WHERE c.flags & 2 <> 0 AND c.hub <> '' LIMIT 1),
                'No member has asked it.'),
            HINT = 'Call hilo.hub_resume() on the hub.';
    END IF;
    -- A term that collects reports goes on, because a new one would void them.
    IF (own.timeline, own.home, own.backup) <> (here.timeline, here.home, here.backup) OR own.seen >= own.term OR again AND own.is_open THEN
        UPDATE hilo.hub h SET term = GREATEST(own.term, own.seen) + 1, term_id = here.random, is_open = false,
            timeline = here.timeline, home = here.home, seen = 0, backup = here.backup
        WHERE h.hub = '|' RETURNING h.* INTO own;
    ELSIF own.is_open AND skip IS NOT NULL THEN
        RAISE EXCEPTION 'this hub gives leases, so no numbers are skipped' USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = 'If it lacks leases that were given, call hilo.hub_resume(again => true), which begins a new term.';
    END IF;
    IF NOT own.is_open THEN
        -- A report is about all collections, except those asked for since.
        missing := ARRAY(SELECT m.member FROM hilo.member m WHERE m.member <> '' GROUP BY m.member
                         HAVING NOT bool_or((m.reported_term, m.reported_id) IS NOT DISTINCT FROM (own.term, own.term_id)) ORDER BY 1);
        IF missing = '{}' THEN
            -- What was drawn or leased last may be unknown here: unless told otherwise, skip what is claimed
            -- in two hours, but not much of what is left; at least one number, which ends the ranges that sessions here hold.
            SELECT array_agg(c.collection), array_agg(c.base), array_agg(c."limit"),
                array_agg(COALESCE(skip, LEAST(CASE WHEN c.collection LIKE '_%|' THEN 1000 ELSE GREATEST(1048576, LEAST(2 * c.claim_rate, 1e18)::bigint) END,
                    GREATEST(1, (c."limit" - c.base) / 1024))))
            INTO collections, bases, limits, skips
            FROM (SELECT collection, GREATEST(h.max, m.highest) AS base, GREATEST(COALESCE(h.max_value, 9223372036854775807), h.max, m.highest) AS "limit",
                    COALESCE(h.claim_rate, 0) AS claim_rate
                  FROM (SELECT h.* FROM hilo.hilo h WHERE skip IS DISTINCT FROM 0 AND h.flags & 1 = 0 OR h.collection IN (SELECT m.collection FROM hilo.member m)) h
                      FULL JOIN (SELECT m.collection, max(m.highest) AS highest FROM hilo.member m GROUP BY m.collection) m USING (collection)
                  WHERE COALESCE(h.flags, 0) & 2 = 0) c;
            -- A mistake must not exhaust a counter.  Look at all before any counter moves, which cannot be undone.
            SELECT c.collection, c.base, c."limit" INTO tight FROM unnest(collections, bases, limits) c(collection, base, "limit")
            WHERE c."limit" > c.base AND skip > (c."limit" - c.base) / 2 ORDER BY c."limit" - c.base, 1 LIMIT 1;
            IF FOUND THEN
                RAISE EXCEPTION 'skipping % numbers of "%" would use up more than half of the remaining numbers', skip, tight.collection
                    USING ERRCODE = 'invalid_parameter_value', DETAIL = format('Numbers up to %s are claimed or reported; the limit is %s.', tight.base, tight."limit"),
                    HINT = format('Skip at most %s, or raise the limit of "%s" first.', (tight."limit" - tight.base) / 2, tight.collection);
            END IF;
            -- If the wait for a standby is cancelled, no counter has skipped numbers: the next call would skip again.
            PERFORM hilo._raise_counter(collections[1], bases[1], 0) WHERE collections <> '{}';
            PERFORM hilo._raise_counter(c.collection, c.base, c.skip) FROM unnest(collections, bases, skips) c(collection, base, skip);
            UPDATE hilo.hub h SET is_open = true, waited = CASE WHEN own.waited IN (2, 3) THEN 3 ELSE 0 END WHERE h.hub = '|' RETURNING h.* INTO own;
            IF skip IS NULL AND collections <> '{}' THEN
                RAISE NOTICE 'counters go on above numbers that this server may not know to be in use: % skip up to % numbers',
                        array_length(collections, 1), (SELECT max(s) FROM unnest(skips) s)
                    USING HINT = 'If no lease and no draw can have been lost, hilo.hub_resume(skip => 0) skips none.';
            END IF;
        END IF;
    END IF;
    is_open := own.is_open;
    term := own.term;
END
$$;
COMMENT ON FUNCTION hilo.hub_resume(bigint, boolean) IS
    'on a hub that was promoted, copied or restored: collect the reports of its members and, once none is missing, give leases and draw again, above all that they hold and skip numbers more, by default what is claimed in two hours and at least a million; again: also if it gives leases, as after a snapshot was restored; returns whether it gives leases, the term, and the members that have not reported';

CREATE FUNCTION hilo._leases_stop() RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_leases_stop';
COMMENT ON FUNCTION hilo._leases_stop() IS
    'for hilo.hub_forget(): wait for leases that are being given, and let none be given until the end of the transaction';

CREATE FUNCTION hilo.hub_forget(member text, force boolean DEFAULT false) RETURNS bigint
    LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET synchronous_commit = on AS $$
DECLARE
    forgotten bigint;
BEGIN
    IF member IS NULL THEN
        RAISE EXCEPTION 'member must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF force IS NULL THEN
        RAISE EXCEPTION 'force must not be null' USING ERRCODE = 'null_value_not_allowed';
    END IF;
    -- A lease that is being given relies on the row of its member.
    PERFORM hilo._leases_stop();
    -- seen_at may be a minute older than the member's last request.
    IF NOT force AND member <> '' AND EXISTS (
            SELECT FROM hilo.member m WHERE m.member = hub_forget.member AND m.seen_at > clock_timestamp() - interval '2 minutes') THEN
        RAISE EXCEPTION 'member "%" has asked this hub within the last two minutes', member USING ERRCODE = 'object_not_in_prerequisite_state',
            DETAIL = 'What it goes on drawing may be drawn twice after the next failover.',
            HINT = format('Stop it first. Then wait, or call hilo.hub_forget(%L, force => true).', member);
    END IF;
    PERFORM hilo._raise_counter(m.collection, m.highest, 0) FROM hilo.member m LEFT JOIN hilo.hilo h ON h.collection = m.collection
        WHERE m.member = hub_forget.member AND COALESCE(h.flags, 0) & 2 = 0 AND m.highest > COALESCE(h.max, 0);
    DELETE FROM hilo.member m WHERE m.member = hub_forget.member;
    GET DIAGNOSTICS forgotten = ROW_COUNT;
    IF forgotten = 0 THEN
        RAISE EXCEPTION 'this hub has no member "%"', member
            USING ERRCODE = 'undefined_object', HINT = 'The view hilo.members lists the members.';
    END IF;
    RETURN forgotten;
END
$$;
COMMENT ON FUNCTION hilo.hub_forget(text, boolean) IS
    'on a hub: forget a member that is gone for good, until it asks again, and go on above all that it has reported; force: also if it has just asked; returns how many collections it had leased';

-- The library calls this function and the following ones as their owner.
CREATE FUNCTION hilo._note_hub(hub text, role text) RETURNS void
    LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    INSERT INTO hilo.hub AS h (hub, role) VALUES (_note_hub.hub, _note_hub.role)
    ON CONFLICT (hub) DO UPDATE SET role = EXCLUDED.role WHERE h.role IS DISTINCT FROM EXCLUDED.role;
END
$$;
COMMENT ON FUNCTION hilo._note_hub(text, text) IS 'for hilo.lease_from(): record the role whose user mapping is used to ask a hub';

CREATE FUNCTION hilo._members_of(collection text, epoch bigint) RETURNS text
    LANGUAGE sql STABLE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_to_string((array_agg(m.name ORDER BY m.name))[:10], ', ') || CASE WHEN count(*) > 10 THEN ', ...' ELSE '' END, '')
    FROM (SELECT CASE WHEN m.member = '' THEN 'leased by hand' ELSE '"' || m.member || '"' END AS name
          FROM hilo.member m WHERE m.collection = _members_of.collection AND (_members_of.epoch = 0 OR m.epoch <> _members_of.epoch)) m
$$;
COMMENT ON FUNCTION hilo._members_of(text, bigint) IS
    'for messages: the members that have leased from a collection; those whose last lease is of another epoch, unless that is 0';

CREATE FUNCTION hilo._forget_counter(collection text) RETURNS void
    LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    DELETE FROM hilo.member m WHERE m.collection = _forget_counter.collection;
END
$$;
COMMENT ON FUNCTION hilo._forget_counter(text) IS 'for hilo.drop(): forget what members have of a collection';

-- Rows of a dump.  What is restored here is not the hub that it was: its term is not
-- open, and no member has reported.
CREATE FUNCTION hilo._restore_hub(other hilo.hub) RETURNS void
    LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
DECLARE
    max_term CONSTANT bigint := 2305843009213693951;
BEGIN
    IF other.hub = '|' THEN
        IF (other.lineage > 0 AND other.term_id > 0 AND other.term > 0 AND GREATEST(other.term, other.seen) <= max_term) IS NOT TRUE THEN
            RAISE EXCEPTION 'row | of table "hilo.hub" must have a lineage, a term between 1 and %, and its id', max_term USING ERRCODE = 'invalid_parameter_value';
        END IF;
        INSERT INTO hilo.hub AS h (hub, lineage, term, term_id, is_open, timeline, home, seen, waited, backup)
            VALUES ('|', other.lineage, other.term, other.term_id, false, 0, 0, COALESCE(other.seen, 0), 0, 0)
        ON CONFLICT (hub) DO UPDATE SET seen = GREATEST(h.seen, h.term, EXCLUDED.term, EXCLUDED.seen), is_open = false WHERE h.lineage = EXCLUDED.lineage;
    ELSE
        INSERT INTO hilo.hub (hub, role) VALUES (other.hub, other.role) ON CONFLICT DO NOTHING;
    END IF;
END
$$;
COMMENT ON FUNCTION hilo._restore_hub(hilo.hub) IS 'for hilo.guard(): merge a row from a dump';

CREATE FUNCTION hilo._restore_member(other hilo.member) RETURNS void
    LANGUAGE plpgsql VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp AS $$
#variable_conflict use_column
BEGIN
    -- One bad row must not keep the others out.
    IF octet_length(other.member) > 255 OR strpos(other.member, '|') > 0 OR other.collection = '' OR octet_length(rtrim(other.collection, '|')) > 255 OR strpos(other.collection, '|') NOT IN (0, length(other.collection)) OR other.highest < 0 THEN
        RAISE WARNING 'row of hilo.member is left out' USING DETAIL = format('No member "%s" can have numbers of "%s" up to %s.', other.member, other.collection, other.highest);
        RETURN;
    END IF;
    INSERT INTO hilo.member AS m VALUES (other.member, other.collection, COALESCE(other.highest, 0), other.epoch, other.known_term, NULL, NULL,
        COALESCE(other.seen_at, '-infinity'), other.address, other.started, other.shared_at)
    ON CONFLICT (member, collection) DO UPDATE SET highest = GREATEST(m.highest, EXCLUDED.highest), reported_term = NULL, reported_id = NULL;
END
$$;
COMMENT ON FUNCTION hilo._restore_member(hilo.member) IS 'for hilo.guard(): merge a row from a dump';

--
-- Views
--
CREATE FUNCTION hilo._counters(
    OUT name text, OUT max bigint, OUT max_value bigint, OUT flags integer, OUT claimed_at timestamptz, OUT claim_rate float8,
    OUT range_size bigint, OUT max_range_size bigint, OUT node_tag text, OUT separator text, OUT hub text,
    OUT holder integer, OUT held_since timestamptz,
    OUT bound_to text[]) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'hilo_counters';
COMMENT ON FUNCTION hilo._counters() IS
    'for the views: each collection and identity, as its row, shared memory and the bindings say; -infinity: not yet';

CREATE VIEW hilo.status AS
    SELECT c.name AS collection, c.max, c.max_value, c.max::float8 / c.max_value::float8 AS share_used, NULLIF(c.claimed_at, '-infinity') AS last_claim,
        pg_catalog.round(r.per_hour) AS numbers_per_hour,
        CASE WHEN h.days < '3652500' THEN pg_catalog.make_interval(days => pg_catalog.floor(h.days)::int,
            secs => pg_catalog.round((h.days - pg_catalog.floor(h.days)) * '86400')) END AS time_left,
        NULLIF(c.range_size, 0) AS range_size, NULLIF(c.max_range_size, 0) AS max_range_size,
        CASE WHEN c.flags & 4 <> 0 THEN c.node_tag END AS node_tag, NULLIF(c.separator, '') AS separator, CASE WHEN pg_catalog.cardinality(c.bound_to) > 0 THEN c.bound_to END AS bound_to, CASE WHEN c.flags & 2 <> 0 THEN NULLIF(c.hub, '') END AS hub, c.flags & 32 <> 0 AS ordered,
        NULLIF(c.holder, 0) AS horizon_held_by, NULLIF(c.held_since, '-infinity') AS horizon_held_since
    FROM hilo._counters() c,
        -- Nothing smaller than e^-100 of a number, where float8 would underflow.
        LATERAL (SELECT CASE WHEN pg_catalog.isfinite(c.claimed_at) AND c.claim_rate > '1e-200' THEN c.claim_rate
            * pg_catalog.exp(GREATEST('-100', LEAST('0', EXTRACT(epoch FROM c.claimed_at - pg_catalog.clock_timestamp())::float8) / '3600')) ELSE '0' END) r(per_hour),
        LATERAL (SELECT (c.max_value - c.max)::float8 / NULLIF(r.per_hour, '0') / '24') h(days)
    WHERE c.name = '|' OR c.name NOT LIKE '%|';
COMMENT ON VIEW hilo.status IS 'for each collection, how far it has counted, how fast it grows, and its options';
COMMENT ON COLUMN hilo.status.collection IS 'name of the collection; | counts the server-side ids';
COMMENT ON COLUMN hilo.status.max IS 'highest number claimed or leased';
COMMENT ON COLUMN hilo.status.max_value IS 'upper limit of max';
COMMENT ON COLUMN hilo.status.share_used IS 'max divided by max_value';
COMMENT ON COLUMN hilo.status.last_claim IS 'time of the newest claim; null: none yet';
COMMENT ON COLUMN hilo.status.numbers_per_hour IS 'numbers claimed per hour, judging by the last hours';
COMMENT ON COLUMN hilo.status.time_left IS 'how long the numbers will last at that rate; null: longer than 10,000 years';
COMMENT ON COLUMN hilo.status.range_size IS 'smallest range of this collection; null: hilo.range_size applies';
COMMENT ON COLUMN hilo.status.max_range_size IS 'largest range of this collection; null: hilo.max_range_size applies';
COMMENT ON COLUMN hilo.status.node_tag IS 'node tag of this collection; null: hilo.node_tag applies';
COMMENT ON COLUMN hilo.status.separator IS 'separator of this collection; null: hilo.identity_parts_separator applies';
COMMENT ON COLUMN hilo.status.bound_to IS 'columns that the collection is bound to; null: none';
COMMENT ON COLUMN hilo.status.hub IS 'server that numbers are leased from; null: none';
COMMENT ON COLUMN hilo.status.ordered IS 'whether numbers follow the order of the draws, over all sessions';
COMMENT ON COLUMN hilo.status.horizon_held_by IS 'process ID of the transaction that holds the horizon back; null: none, or a prepared one';
COMMENT ON COLUMN hilo.status.horizon_held_since IS 'when that transaction began';

-- The name has no bar, unless functions would take its last character for the separator.
CREATE VIEW hilo.identities AS
    SELECT CASE WHEN pg_catalog.right(n.name, pg_catalog.length(n.separator)) = n.separator THEN c.name ELSE n.name END AS name, c.max AS value
    FROM hilo._counters() c, LATERAL (SELECT pg_catalog.left(c.name, -1), pg_catalog.current_setting('hilo.identity_parts_separator')) n(name, separator)
    WHERE c.name LIKE '_%|';
COMMENT ON VIEW hilo.identities IS 'each identity and its value';
COMMENT ON COLUMN hilo.identities.name IS 'name of the identity';
COMMENT ON COLUMN hilo.identities.value IS 'number drawn last, or seeded';

CREATE FUNCTION hilo.ranges(OUT collection text, OUT low bigint, OUT high bigint, OUT next bigint, OUT size bigint) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'hilo_ranges';
COMMENT ON FUNCTION hilo.ranges() IS 'ranges of this session that have unused numbers';
CREATE VIEW hilo.ranges AS SELECT * FROM hilo.ranges();
COMMENT ON VIEW hilo.ranges IS 'ranges of this session that have unused numbers';
COMMENT ON COLUMN hilo.ranges.collection IS 'name of the collection, or qualified name of the sequence';
COMMENT ON COLUMN hilo.ranges.low IS 'first number of the range; for a sequence, the first one left';
COMMENT ON COLUMN hilo.ranges.high IS 'last number of the range';
COMMENT ON COLUMN hilo.ranges.next IS 'number that will be drawn next';
COMMENT ON COLUMN hilo.ranges.size IS 'size of the range when it was claimed; for a sequence, how many numbers are left';

CREATE FUNCTION hilo.pool(OUT collection text, OUT low bigint, OUT high bigint, OUT size bigint, OUT leased boolean) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'hilo_pool';
COMMENT ON FUNCTION hilo.pool() IS 'numbers in shared memory that no session holds';
CREATE VIEW hilo.pool AS SELECT * FROM hilo.pool();
COMMENT ON VIEW hilo.pool IS 'numbers in shared memory that no session holds';
COMMENT ON COLUMN hilo.pool.collection IS 'name of the collection';
COMMENT ON COLUMN hilo.pool.low IS 'lowest number';
COMMENT ON COLUMN hilo.pool.high IS 'highest number';
COMMENT ON COLUMN hilo.pool.size IS 'how many numbers there are from low to high';
COMMENT ON COLUMN hilo.pool.leased IS 'whether they were leased from a hub';

CREATE FUNCTION hilo._pool_use(OUT given bigint, OUT taken bigint, OUT lost bigint) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'hilo_pool_use_row';
COMMENT ON FUNCTION hilo._pool_use() IS 'for the view hilo.pool_use';
CREATE VIEW hilo.pool_use AS SELECT * FROM hilo._pool_use();
COMMENT ON VIEW hilo.pool_use IS
    'numbers that went through the pool since the server''s start, of all databases; what became worthless there, as by a forced seed, is in none of the columns';
COMMENT ON COLUMN hilo.pool_use.given IS 'numbers that sessions have put into it';
COMMENT ON COLUMN hilo.pool_use.taken IS 'numbers that sessions have taken from it';
COMMENT ON COLUMN hilo.pool_use.lost IS 'numbers that made room for others (see hilo.pool_size), those of dropped databases among them';

CREATE FUNCTION hilo._bound_tables(OUT collection text, OUT relation oid) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_bound_tables';
COMMENT ON FUNCTION hilo._bound_tables() IS 'for the view hilo.may_draw: collections, and the tables that they are bound to, if these exist';
-- The grantee 0 is PUBLIC; a table without grants is its owner's.
CREATE VIEW hilo.may_draw AS
    WITH bound AS MATERIALIZED (SELECT * FROM hilo._bound_tables())
    SELECT DISTINCT b.collection, COALESCE(r.rolname, 'public') AS role, g.relation
    FROM bound b, LATERAL (
        SELECT COALESCE(a.object, '0') AS role, NULL::regclass AS relation FROM hilo.binding a
        WHERE a.collection OPERATOR(pg_catalog.=) b.collection AND a.kind OPERATOR(pg_catalog.=) 'allowed'
            AND (a.object OPERATOR(pg_catalog.<>) '0' OR a.owner OPERATOR(pg_catalog.=) 'public')
        UNION ALL
        SELECT a.grantee, c.oid FROM pg_catalog.pg_class c, LATERAL (
            SELECT COALESCE(c.relacl, pg_catalog.acldefault('r', c.relowner))
            UNION ALL SELECT t.attacl FROM pg_catalog.pg_attribute t WHERE t.attrelid OPERATOR(pg_catalog.=) c.oid) l(acl), pg_catalog.aclexplode(l.acl) a
        WHERE a.privilege_type OPERATOR(pg_catalog.=) 'INSERT'
            AND (c.oid OPERATOR(pg_catalog.=) b.relation OR c.relispartition AND b.relation OPERATOR(pg_catalog.=) ANY (SELECT pg_catalog.pg_partition_ancestors(c.oid)))) g
    LEFT JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) g.role
    WHERE g.role OPERATOR(pg_catalog.=) '0' OR r.oid IS NOT NULL;
COMMENT ON VIEW hilo.may_draw IS
    'which roles may draw from collections that are bound to a table, besides superusers and members of pg_write_all_data; from other collections, any role that may execute the function';
COMMENT ON COLUMN hilo.may_draw.collection IS 'name of the collection; any role may draw from identities';
COMMENT ON COLUMN hilo.may_draw.role IS 'the role, with its members; public: all roles';
COMMENT ON COLUMN hilo.may_draw.relation IS 'the table or partition into which it may insert, even if only some columns; null: allowed by hilo.allow()';

CREATE FUNCTION hilo._member_name() RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'hilo_own_member_name';
COMMENT ON FUNCTION hilo._member_name() IS 'for the view hilo.leases: the name by which hubs know this database; null: none has been asked';

CREATE FUNCTION hilo._lease_state(
    name text, OUT leased bigint, OUT per_minute float8, OUT taken_at timestamptz, OUT leased_at timestamptz, OUT failed_at timestamptz, OUT failing_since timestamptz, OUT error text) RETURNS record
    LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'hilo_lease_state';
COMMENT ON FUNCTION hilo._lease_state(text) IS 'for the view hilo.leases: what shared memory says about the leases of a collection or identity; -infinity: not yet';

CREATE VIEW hilo.leases AS
    SELECT c.name AS collection, NULLIF(c.hub, '') AS hub, s.leased AS numbers_left,
        CASE WHEN r.per_minute >= '1' THEN s.leased::float8 / r.per_minute * '60' END AS seconds_left, c.max AS highest, NULLIF(s.leased_at, '-infinity') AS leased_at,
        CASE WHEN pg_catalog.isfinite(s.failed_at) THEN s.error END AS last_error, NULLIF(s.failed_at, '-infinity') AS last_error_at,
        NULLIF(s.failing_since, '-infinity') AS failing_since, m.name AS member
    FROM hilo._counters() c, hilo._member_name() m(name), hilo._lease_state(c.name) s,
        LATERAL (SELECT s.per_minute * pg_catalog.exp(GREATEST('-100', LEAST('0', EXTRACT(epoch FROM s.taken_at - pg_catalog.clock_timestamp())::float8) / '60'))) r(per_minute)
    WHERE c.flags & 2 <> 0 OR c.hub <> '' AND c.claimed_at = '-infinity';
COMMENT ON VIEW hilo.leases IS 'what this server has leased from hubs, or asked them for';
COMMENT ON COLUMN hilo.leases.collection IS 'name of the collection';
COMMENT ON COLUMN hilo.leases.hub IS 'server that leases come from; null: none any longer';
COMMENT ON COLUMN hilo.leases.numbers_left IS 'leased numbers that no session has taken yet';
COMMENT ON COLUMN hilo.leases.seconds_left IS 'how long they will last at the rate of the last minutes; null: none are being taken';
COMMENT ON COLUMN hilo.leases.highest IS 'highest number ever leased or chosen by hand here; the hub must give only numbers above it';
COMMENT ON COLUMN hilo.leases.leased_at IS 'time of the hub''s last lease; null: none since this server was started';
COMMENT ON COLUMN hilo.leases.last_error IS 'error of the last request; null: it succeeded';
COMMENT ON COLUMN hilo.leases.last_error_at IS 'time of that error';
COMMENT ON COLUMN hilo.leases.failing_since IS 'time of the first error since the hub''s last lease';
COMMENT ON COLUMN hilo.leases.member IS 'name by which hubs know this database, as hilo.members shows it there; null: none has been asked';

CREATE VIEW hilo.members AS
    SELECT m.member, m.address, m.collection, m.highest, m.epoch, m.known_term AS term, m.seen_at AS last_seen,
        pg_catalog.bool_or(COALESCE(m.reported_term OPERATOR(pg_catalog.=) o.term AND m.reported_id OPERATOR(pg_catalog.=) o.term_id
            AND o.timeline OPERATOR(pg_catalog.=) p.timeline AND o.home OPERATOR(pg_catalog.=) p.home AND o.backup OPERATOR(pg_catalog.=) p.backup, false)) OVER (PARTITION BY m.member) AS reported, m.shared_at, NULLIF(o.seen, '0') AS later_term
    FROM hilo.member m LEFT JOIN hilo.hub o ON o.hub OPERATOR(pg_catalog.=) '|', hilo._present() p;
COMMENT ON VIEW hilo.members IS 'the members of this hub, and what they lease from it';
COMMENT ON COLUMN hilo.members.member IS 'name of the member: its cluster_name, and a random number that its database keeps; empty: leased by hand';
COMMENT ON COLUMN hilo.members.address IS 'address of its last request; null: a Unix socket';
COMMENT ON COLUMN hilo.members.collection IS 'name of the collection, or of an identity with its bar';
COMMENT ON COLUMN hilo.members.highest IS 'highest number that it has ever had, as it said when this row was last written';
COMMENT ON COLUMN hilo.members.epoch IS 'epoch of the collection at its last lease; null: none; if it differs from the one in hilo.hilo, the member still draws numbers from before a seed or drop';
COMMENT ON COLUMN hilo.members.term IS 'highest term of this hub that it had seen';
COMMENT ON COLUMN hilo.members.last_seen IS 'time of the member''s last request or report, to a minute';
COMMENT ON COLUMN hilo.members.reported IS 'whether it has reported, or got a lease, in the present term of this hub';
COMMENT ON COLUMN hilo.members.shared_at IS 'when it was last noticed that two servers have this name; null: never';
COMMENT ON COLUMN hilo.members.later_term IS 'highest term of another server that a member has seen, which may have taken over; null: none';

--
-- The text of ids
--
CREATE FUNCTION hilo_number(id text) RETURNS bigint
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_number(text) IS
    'the number in a document id: 10 from orders/10-A; null if it has none';

CREATE FUNCTION hilo_format(collection text, number bigint) RETURNS text
    LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'hilo_format';
COMMENT ON FUNCTION hilo_format(text, bigint) IS
    'the document id of a number, with the node tag of the collection, or else of this server';

CREATE FUNCTION hilo_format(collection text, number bigint, node_tag text) RETURNS text
    LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL SAFE AS 'MODULE_PATHNAME', 'hilo_format';
COMMENT ON FUNCTION hilo_format(text, bigint, text) IS
    'the document id of a number, with the given node tag';

--
-- Privileges
--
-- Any role that may call functions here may draw, but not move other roles'
-- counters.  Only the library writes to the tables; their owner and roles with a
-- grant read them.
--
-- PUBLIC does not administer.  A creator who is not a superuser administers collections, and can dump and restore
-- them (COPY requires privileges on the tables, whose triggers merge).  What connects
-- to other servers is reserved for superusers: leases, hubs, settings.  Default privileges of a superuser change none of that.
DO $$
DECLARE
    creator name := (SELECT r.rolname FROM pg_catalog.pg_extension e, pg_catalog.pg_roles r
                     WHERE e.extname = 'hilo' AND r.oid = e.extowner AND NOT r.rolsuper);
    administration CONSTANT text := '
        seed_identity_for, hilo.seed, hilo.drop, hilo.sync(text), hilo.sync(regclass), hilo.sync(), hilo.configure, hilo.make_ordered, hilo.return_range, hilo.allow, hilo.disallow,
        hilo.bind, hilo.unbind, hilo._counters, hilo.pool, hilo._pool_use, hilo._bound_tables';
    servers CONSTANT text := '
        hilo.guard, hilo._member_name, hilo._lease_state, hilo.lease_from, hilo.lease, hilo._lease, hilo.lease_report, hilo.report, hilo.hub_resume, hilo.hub_forget, hilo._leases_stop, hilo._present, hilo._hub_begin, hilo._hub_hear, hilo._hub_wait,
        hilo._claim_lease, hilo._check_highest, hilo._raise_counter, hilo._note_member, hilo._note_hub, hilo._members_of, hilo._forget_counter,
        hilo._restore_hub, hilo._restore_member';
    others text := 'PUBLIC';
    granted record;
BEGIN
    FOR granted IN
        SELECT DISTINCT o.type, o.name, CASE a.grantee WHEN '0'::oid THEN 'PUBLIC' ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END AS role
        FROM (SELECT 'pg_catalog.pg_namespace'::pg_catalog.regclass::oid AS class, oid, 'SCHEMA' AS type, oid::pg_catalog.regnamespace::text AS name, nspowner AS owner, nspacl AS acl FROM pg_catalog.pg_namespace
              UNION ALL SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::oid, oid, 'TABLE', oid::pg_catalog.regclass::text, relowner, relacl FROM pg_catalog.pg_class
              UNION ALL SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass::oid, oid, 'ROUTINE', NULL, proowner, proacl FROM pg_catalog.pg_proc) o
        JOIN pg_catalog.pg_depend d ON d.classid = o.class AND d.objid = o.oid AND d.deptype = 'e' AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass::oid
        JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid AND e.extname = 'hilo', pg_catalog.aclexplode(o.acl) a
        WHERE a.grantee <> o.owner AND (a.grantee <> '0'::oid OR o.type <> 'ROUTINE')
    LOOP
        IF granted.type = 'ROUTINE' THEN
            others := others || ', ' || granted.role;
        ELSE
            EXECUTE pg_catalog.format('REVOKE ALL ON %s %s FROM %s', granted.type, granted.name, granted.role);
        END IF;
    END LOOP;
    EXECUTE pg_catalog.format('REVOKE ALL ON ROUTINE %s, %s FROM %s', administration, servers, others);
    IF creator IS NOT NULL THEN
        EXECUTE pg_catalog.format('
            GRANT EXECUTE ON ROUTINE %2$s, hilo._present, hilo._member_name, hilo._lease_state TO %1$I WITH GRANT OPTION;
            GRANT SELECT ON hilo.status, hilo.identities, hilo.pool, hilo.pool_use, hilo.may_draw, hilo.leases, hilo.members TO %1$I WITH GRANT OPTION;
            GRANT SELECT, INSERT ON hilo.hilo, hilo.hub, hilo.member, hilo.binding TO %1$I WITH GRANT OPTION', creator, administration);
    END IF;
END
$$;
GRANT USAGE ON SCHEMA hilo TO PUBLIC;
GRANT EXECUTE ON FUNCTION hilo._counters(), hilo.pool(), hilo._pool_use(), hilo._bound_tables(), hilo._present(), hilo._member_name(), hilo._lease_state(text) TO pg_monitor;
GRANT SELECT ON hilo.status, hilo.identities, hilo.pool, hilo.pool_use, hilo.may_draw, hilo.leases, hilo.members TO pg_monitor;
GRANT SELECT ON hilo.ranges, hilo.attachments TO PUBLIC;

-- The owner of the database can dump and restore it.
GRANT SELECT, INSERT ON hilo.hilo, hilo.hub, hilo.member, hilo.binding TO pg_database_owner;

-- The tag distinguishes the ids of servers; servers without a tag of their own share the default.
DO $$
BEGIN
    IF pg_catalog.current_setting('hilo.node_tag') = 'A' AND EXISTS (
            SELECT FROM pg_catalog.pg_subscription s, pg_catalog.pg_database d
            WHERE d.oid = s.subdbid AND d.datname = pg_catalog.current_database()) THEN
        RAISE WARNING 'this database receives rows from another server, but hilo.node_tag is "A", the default of every server'
            USING HINT = 'Set hilo.node_tag to a tag that only this server has, in postgresql.conf or by ALTER DATABASE, before ids are drawn.';
    END IF;
END
$$;
