/* sql/hilo--1.0.sql */

-- Names need no schema here: CREATE EXTENSION puts the extension's own first in
-- the search_path, behind pg_catalog only, and none of them may exist before.

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION hilo" to load this file. \quit

--
-- Counters
--
-- Rows are changed in place by the library, which knows this layout (see
-- counter_row.h): a heap, fixed-width columns first and never null, the name
-- last.  The name has a unique index, but neither a primary key nor NOT NULL,
-- and the table no replica identity: programs that rewrite a table while it is
-- in use follow changes by these means, would miss those in place, and so
-- refuse this table.
--
-- A page holds few rows on purpose: a claim compares the used part of its page,
-- and locks it for that long.
--
CREATE TABLE hilo (
    max bigint NOT NULL DEFAULT 0,
    max_ever bigint NOT NULL DEFAULT 0,
    claim_low bigint NOT NULL DEFAULT 0,
    claim_number bigint NOT NULL DEFAULT 0,
    changes bigint NOT NULL DEFAULT 0,
    incarnation bigint NOT NULL DEFAULT 0,
    max_value bigint NOT NULL DEFAULT 9223372036854775807,
    range_size bigint NOT NULL DEFAULT 0,
    max_range_size bigint NOT NULL DEFAULT 0,
    claims bigint NOT NULL DEFAULT 0,
    given_back bigint NOT NULL DEFAULT 0,
    lease_size bigint NOT NULL DEFAULT 0,
    lease_timeline bigint NOT NULL DEFAULT 0,
    spare1 bigint NOT NULL DEFAULT 0,
    spare2 bigint NOT NULL DEFAULT 0,
    spare3 bigint NOT NULL DEFAULT 0,
    spare4 bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    claimed_at timestamptz NOT NULL DEFAULT '-infinity',
    claim_rate float8 NOT NULL DEFAULT 0,
    node_tag name NOT NULL DEFAULT '',
    hub name NOT NULL DEFAULT '',
    hub_role name NOT NULL DEFAULT '',
    has_node_tag boolean NOT NULL DEFAULT false,
    leased boolean NOT NULL DEFAULT false,
    may_be_bound boolean NOT NULL DEFAULT false,
    claim_end_new boolean NOT NULL DEFAULT false,
    dropped boolean NOT NULL DEFAULT false,
    collection text COLLATE "C" CONSTRAINT hilo_collection_check CHECK (collection IS NOT NULL)
) USING heap WITH (fillfactor = 10);
CREATE UNIQUE INDEX hilo_collection_idx ON hilo USING btree (collection);
ALTER TABLE hilo REPLICA IDENTITY NOTHING;

COMMENT ON TABLE hilo IS
    'counters, one row a collection; changed in place and at once, so read it, but change it only through the functions of the extension';
COMMENT ON COLUMN hilo.max IS 'highest number claimed by anybody';
COMMENT ON COLUMN hilo.max_ever IS 'highest max that this row ever had';
COMMENT ON COLUMN hilo.claim_low IS 'lowest number of the newest claim';
COMMENT ON COLUMN hilo.claim_number IS 'random number of the newest claim if hilo_next_range() made it and nothing has happened since, else 0';
COMMENT ON COLUMN hilo.changes IS 'how often this row has changed';
COMMENT ON COLUMN hilo.incarnation IS 'random number; a new one tells all sessions to forget their ranges';
COMMENT ON COLUMN hilo.max_value IS 'limit of max';
COMMENT ON COLUMN hilo.range_size IS 'own smallest range; 0: hilo.range_size counts';
COMMENT ON COLUMN hilo.max_range_size IS 'own largest range; 0: hilo.max_range_size counts';
COMMENT ON COLUMN hilo.claims IS 'how many ranges were claimed';
COMMENT ON COLUMN hilo.given_back IS 'how many numbers of them went back';
COMMENT ON COLUMN hilo.lease_size IS 'own smallest lease; 0: hilo.lease_size counts';
COMMENT ON COLUMN hilo.lease_timeline IS 'timeline of the newest lease given to another server; 0: none; -1: given by the server that this row was restored from';
COMMENT ON COLUMN hilo.spare1 IS 'for later versions';
COMMENT ON COLUMN hilo.spare2 IS 'for later versions';
COMMENT ON COLUMN hilo.spare3 IS 'for later versions';
COMMENT ON COLUMN hilo.spare4 IS 'for later versions';
COMMENT ON COLUMN hilo.created_at IS 'when the row was made';
COMMENT ON COLUMN hilo.claimed_at IS 'when the newest claim was made; -infinity: never';
COMMENT ON COLUMN hilo.claim_rate IS 'how many numbers were claimed lately: older ones count less, by the e-th part an hour';
COMMENT ON COLUMN hilo.node_tag IS 'own node tag, if has_node_tag';
COMMENT ON COLUMN hilo.hub IS 'if leased: server that leases come from; empty: none any more';
COMMENT ON COLUMN hilo.hub_role IS 'role whose user mapping is used; empty: owner of the extension';
COMMENT ON COLUMN hilo.has_node_tag IS 'false: hilo.node_tag counts';
COMMENT ON COLUMN hilo.leased IS 'numbers come from leases; max is then the highest number leased';
COMMENT ON COLUMN hilo.may_be_bound IS 'may there be something about it in hilo_binding?';
COMMENT ON COLUMN hilo.claim_end_new IS 'was max, when the newest claim set it, higher than ever before?';
COMMENT ON COLUMN hilo.dropped IS 'hilo_drop() has forgotten the collection';
COMMENT ON COLUMN hilo.collection IS 'name of the collection';
COMMENT ON CONSTRAINT hilo_collection_check ON hilo IS 'every counter has a name';
COMMENT ON INDEX hilo_collection_idx IS 'finds the row of a collection';

CREATE FUNCTION hilo_guard_rows() RETURNS trigger
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_guard_rows() IS
    'trigger: turns a row inserted into a counter table into a raise of its counter';

CREATE FUNCTION hilo_guard_table() RETURNS trigger
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_guard_table() IS
    'trigger: refuses UPDATE, DELETE and TRUNCATE of a table of ours; its arguments name the functions to use';

CREATE TRIGGER hilo_guard_rows BEFORE INSERT ON hilo
    FOR EACH ROW EXECUTE FUNCTION hilo_guard_rows();
CREATE TRIGGER hilo_guard_table BEFORE UPDATE OR DELETE OR TRUNCATE ON hilo
    FOR EACH STATEMENT EXECUTE FUNCTION hilo_guard_table('hilo_seed', 'hilo_drop');
CREATE TRIGGER hilo_guard_changes BEFORE UPDATE OR DELETE ON hilo
    FOR EACH ROW EXECUTE FUNCTION hilo_guard_table('hilo_seed', 'hilo_drop');
ALTER TABLE hilo ENABLE ALWAYS TRIGGER hilo_guard_rows;
ALTER TABLE hilo ENABLE ALWAYS TRIGGER hilo_guard_table;
ALTER TABLE hilo ENABLE ALWAYS TRIGGER hilo_guard_changes;
COMMENT ON TRIGGER hilo_guard_rows ON hilo IS
    'INSERT and COPY raise counters, they never lower one';
COMMENT ON TRIGGER hilo_guard_table ON hilo IS
    'counters are not changed by hand';
COMMENT ON TRIGGER hilo_guard_changes ON hilo IS
    'nor through a parent, or by an apply worker';

SELECT pg_catalog.pg_extension_config_dump('hilo', '');

--
-- Identities: the same layout under names of their own
--
CREATE TABLE hilo_identity (
    value bigint NOT NULL DEFAULT 0,
    value_ever bigint NOT NULL DEFAULT 0,
    claim_low bigint NOT NULL DEFAULT 0,
    claim_number bigint NOT NULL DEFAULT 0,
    changes bigint NOT NULL DEFAULT 0,
    incarnation bigint NOT NULL DEFAULT 0,
    max_value bigint NOT NULL DEFAULT 9223372036854775807,
    range_size bigint NOT NULL DEFAULT 0,
    max_range_size bigint NOT NULL DEFAULT 0,
    claims bigint NOT NULL DEFAULT 0,
    given_back bigint NOT NULL DEFAULT 0,
    lease_size bigint NOT NULL DEFAULT 0,
    lease_timeline bigint NOT NULL DEFAULT 0,
    spare1 bigint NOT NULL DEFAULT 0,
    spare2 bigint NOT NULL DEFAULT 0,
    spare3 bigint NOT NULL DEFAULT 0,
    spare4 bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    claimed_at timestamptz NOT NULL DEFAULT '-infinity',
    claim_rate float8 NOT NULL DEFAULT 0,
    node_tag name NOT NULL DEFAULT '',
    hub name NOT NULL DEFAULT '',
    hub_role name NOT NULL DEFAULT '',
    has_node_tag boolean NOT NULL DEFAULT false,
    leased boolean NOT NULL DEFAULT false,
    may_be_bound boolean NOT NULL DEFAULT false,
    claim_end_new boolean NOT NULL DEFAULT false,
    dropped boolean NOT NULL DEFAULT false,
    name text COLLATE "C" CONSTRAINT hilo_identity_check CHECK (name IS NOT NULL)
) USING heap WITH (fillfactor = 10);
CREATE UNIQUE INDEX hilo_identity_name_idx ON hilo_identity USING btree (name);
ALTER TABLE hilo_identity REPLICA IDENTITY NOTHING;

COMMENT ON TABLE hilo_identity IS
    'identities, one row a name; changed in place and at once, so read it, but change it only through the functions of the extension';
COMMENT ON COLUMN hilo_identity.value IS 'number drawn last, or seeded';
COMMENT ON COLUMN hilo_identity.value_ever IS 'highest value that this row ever had';
COMMENT ON COLUMN hilo_identity.claim_low IS 'number drawn last';
COMMENT ON COLUMN hilo_identity.claim_number IS 'always 0: identities are not given back';
COMMENT ON COLUMN hilo_identity.changes IS 'how often this row has changed';
COMMENT ON COLUMN hilo_identity.incarnation IS 'random number, a new one with each seed';
COMMENT ON COLUMN hilo_identity.max_value IS 'limit of value';
COMMENT ON COLUMN hilo_identity.range_size IS 'always 0: identities are claimed one by one';
COMMENT ON COLUMN hilo_identity.max_range_size IS 'always 0';
COMMENT ON COLUMN hilo_identity.claims IS 'how many numbers were drawn';
COMMENT ON COLUMN hilo_identity.given_back IS 'always 0';
COMMENT ON COLUMN hilo_identity.lease_size IS 'always 0';
COMMENT ON COLUMN hilo_identity.lease_timeline IS 'timeline of the last number given to another server; 0: none; -1: given by the server that this row was restored from';
COMMENT ON COLUMN hilo_identity.spare1 IS 'for later versions';
COMMENT ON COLUMN hilo_identity.spare2 IS 'for later versions';
COMMENT ON COLUMN hilo_identity.spare3 IS 'for later versions';
COMMENT ON COLUMN hilo_identity.spare4 IS 'for later versions';
COMMENT ON COLUMN hilo_identity.created_at IS 'when the row was made';
COMMENT ON COLUMN hilo_identity.claimed_at IS 'when the last number was drawn; -infinity: never';
COMMENT ON COLUMN hilo_identity.claim_rate IS 'how many numbers were claimed lately: older ones count less, by the e-th part an hour';
COMMENT ON COLUMN hilo_identity.node_tag IS 'always empty';
COMMENT ON COLUMN hilo_identity.hub IS 'if leased: server that draws the numbers; empty: none any more';
COMMENT ON COLUMN hilo_identity.hub_role IS 'role whose user mapping is used; empty: owner of the extension';
COMMENT ON COLUMN hilo_identity.has_node_tag IS 'always false';
COMMENT ON COLUMN hilo_identity.leased IS 'numbers are drawn on another server; value is the highest that this one got';
COMMENT ON COLUMN hilo_identity.may_be_bound IS 'always false';
COMMENT ON COLUMN hilo_identity.claim_end_new IS 'was value, when drawn, higher than ever before?';
COMMENT ON COLUMN hilo_identity.dropped IS 'drop_identity() has forgotten the identity';
COMMENT ON COLUMN hilo_identity.name IS 'name of the identity, without separator';
COMMENT ON CONSTRAINT hilo_identity_check ON hilo_identity IS 'every identity has a name';
COMMENT ON INDEX hilo_identity_name_idx IS 'finds the row of an identity';

CREATE TRIGGER hilo_guard_rows BEFORE INSERT ON hilo_identity
    FOR EACH ROW EXECUTE FUNCTION hilo_guard_rows();
CREATE TRIGGER hilo_guard_table BEFORE UPDATE OR DELETE OR TRUNCATE ON hilo_identity
    FOR EACH STATEMENT EXECUTE FUNCTION hilo_guard_table('seed_identity_for', 'drop_identity');
CREATE TRIGGER hilo_guard_changes BEFORE UPDATE OR DELETE ON hilo_identity
    FOR EACH ROW EXECUTE FUNCTION hilo_guard_table('seed_identity_for', 'drop_identity');
ALTER TABLE hilo_identity ENABLE ALWAYS TRIGGER hilo_guard_rows;
ALTER TABLE hilo_identity ENABLE ALWAYS TRIGGER hilo_guard_table;
ALTER TABLE hilo_identity ENABLE ALWAYS TRIGGER hilo_guard_changes;
COMMENT ON TRIGGER hilo_guard_rows ON hilo_identity IS
    'INSERT and COPY raise identities, they never lower one';
COMMENT ON TRIGGER hilo_guard_table ON hilo_identity IS
    'identities are not changed by hand';
COMMENT ON TRIGGER hilo_guard_changes ON hilo_identity IS
    'nor through a parent, or by an apply worker';

SELECT pg_catalog.pg_extension_config_dump('hilo_identity', '');

--
-- Leases: what this server may hand out of the counters of another one
--
-- The first columns are those of a counter, which counts the current lease, from
-- max to max_value.  Not dumped: a lease belongs to one server, and a copy of it
-- must get its own.
--
CREATE TABLE hilo_lease (
    max bigint NOT NULL DEFAULT 0,
    max_ever bigint NOT NULL DEFAULT 0,
    claim_low bigint NOT NULL DEFAULT 0,
    claim_number bigint NOT NULL DEFAULT 0,
    changes bigint NOT NULL DEFAULT 0,
    incarnation bigint NOT NULL DEFAULT 0,
    max_value bigint NOT NULL DEFAULT 0,
    range_size bigint NOT NULL DEFAULT 0,
    max_range_size bigint NOT NULL DEFAULT 0,
    claims bigint NOT NULL DEFAULT 0,
    given_back bigint NOT NULL DEFAULT 0,
    lease_size bigint NOT NULL DEFAULT 0,
    lease_timeline bigint NOT NULL DEFAULT 0,
    spare1 bigint NOT NULL DEFAULT 0,
    spare2 bigint NOT NULL DEFAULT 0,
    spare3 bigint NOT NULL DEFAULT 0,
    spare4 bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT CURRENT_TIMESTAMP,
    claimed_at timestamptz NOT NULL DEFAULT '-infinity',
    claim_rate float8 NOT NULL DEFAULT 0,
    node_tag name NOT NULL DEFAULT '',
    hub name NOT NULL DEFAULT '',
    hub_role name NOT NULL DEFAULT '',
    has_node_tag boolean NOT NULL DEFAULT false,
    leased boolean NOT NULL DEFAULT false,
    may_be_bound boolean NOT NULL DEFAULT false,
    claim_end_new boolean NOT NULL DEFAULT false,
    dropped boolean NOT NULL DEFAULT false,
    low bigint NOT NULL DEFAULT 0,
    next_low bigint NOT NULL DEFAULT 0,
    next_high bigint NOT NULL DEFAULT 0,
    last_size bigint NOT NULL DEFAULT 0,
    leased_at timestamptz NOT NULL DEFAULT '-infinity',
    asked_at timestamptz NOT NULL DEFAULT '-infinity',
    failed_at timestamptz NOT NULL DEFAULT '-infinity',
    failing_since timestamptz NOT NULL DEFAULT '-infinity',
    error_code bigint NOT NULL DEFAULT 0,
    database bigint NOT NULL DEFAULT 0,
    collection text COLLATE "C" CONSTRAINT hilo_lease_check CHECK (collection IS NOT NULL),
    error text COLLATE "C"
) USING heap WITH (fillfactor = 10);
CREATE UNIQUE INDEX hilo_lease_collection_idx ON hilo_lease USING btree (collection);
ALTER TABLE hilo_lease REPLICA IDENTITY NOTHING;

COMMENT ON TABLE hilo_lease IS
    'numbers leased from hubs, one row a collection; see the view hilo_leases';
COMMENT ON COLUMN hilo_lease.max IS 'highest number of the current lease claimed by anybody';
COMMENT ON COLUMN hilo_lease.max_ever IS 'highest max that this row ever had';
COMMENT ON COLUMN hilo_lease.claim_low IS 'lowest number of the newest claim';
COMMENT ON COLUMN hilo_lease.claim_number IS 'random number of the newest claim if hilo_next_range() made it and nothing has happened since, else 0';
COMMENT ON COLUMN hilo_lease.changes IS 'how often this row has changed';
COMMENT ON COLUMN hilo_lease.incarnation IS 'random number; a new one tells all sessions to forget their ranges';
COMMENT ON COLUMN hilo_lease.max_value IS 'end of the current lease';
COMMENT ON COLUMN hilo_lease.range_size IS 'always 0';
COMMENT ON COLUMN hilo_lease.max_range_size IS 'always 0';
COMMENT ON COLUMN hilo_lease.claims IS 'how many ranges were claimed';
COMMENT ON COLUMN hilo_lease.given_back IS 'how many numbers of them went back';
COMMENT ON COLUMN hilo_lease.lease_size IS 'always 0';
COMMENT ON COLUMN hilo_lease.lease_timeline IS 'timeline of this server when it got its leases';
COMMENT ON COLUMN hilo_lease.spare1 IS 'for later versions';
COMMENT ON COLUMN hilo_lease.spare2 IS 'for later versions';
COMMENT ON COLUMN hilo_lease.spare3 IS 'for later versions';
COMMENT ON COLUMN hilo_lease.spare4 IS 'for later versions';
COMMENT ON COLUMN hilo_lease.created_at IS 'when the row was made';
COMMENT ON COLUMN hilo_lease.claimed_at IS 'when the newest claim was made; -infinity: never';
COMMENT ON COLUMN hilo_lease.claim_rate IS 'how many numbers were claimed lately: older ones count less, by the e-th part a minute';
COMMENT ON COLUMN hilo_lease.node_tag IS 'always empty';
COMMENT ON COLUMN hilo_lease.hub IS 'always empty';
COMMENT ON COLUMN hilo_lease.hub_role IS 'always empty';
COMMENT ON COLUMN hilo_lease.has_node_tag IS 'always false';
COMMENT ON COLUMN hilo_lease.leased IS 'always false';
COMMENT ON COLUMN hilo_lease.may_be_bound IS 'always false';
COMMENT ON COLUMN hilo_lease.claim_end_new IS 'was max, when the newest claim set it, higher than ever before?';
COMMENT ON COLUMN hilo_lease.dropped IS 'always false';
COMMENT ON COLUMN hilo_lease.low IS 'first number of the current lease';
COMMENT ON COLUMN hilo_lease.next_low IS 'first number of the next lease';
COMMENT ON COLUMN hilo_lease.next_high IS 'last number of the next lease; 0: there is none';
COMMENT ON COLUMN hilo_lease.last_size IS 'size of the lease that was got last';
COMMENT ON COLUMN hilo_lease.leased_at IS 'when it was got; -infinity: never';
COMMENT ON COLUMN hilo_lease.asked_at IS 'when a worker was last sent for the next lease; -infinity: never';
COMMENT ON COLUMN hilo_lease.failed_at IS 'when the hub last gave none, if it has not given one since; else -infinity';
COMMENT ON COLUMN hilo_lease.failing_since IS 'since when it has given none; -infinity: it has';
COMMENT ON COLUMN hilo_lease.error_code IS 'SQLSTATE of that, in the server''s own form';
COMMENT ON COLUMN hilo_lease.database IS 'OID of the database that got the leases: a copy of it gets its own';
COMMENT ON COLUMN hilo_lease.collection IS 'name of the collection; |: when this database could become a hub';
COMMENT ON COLUMN hilo_lease.error IS 'what the hub said, filled up with blanks';
COMMENT ON CONSTRAINT hilo_lease_check ON hilo_lease IS 'every lease is of a collection';
COMMENT ON INDEX hilo_lease_collection_idx IS 'finds the leases of a collection';

CREATE TRIGGER hilo_guard_rows BEFORE INSERT ON hilo_lease
    FOR EACH ROW EXECUTE FUNCTION hilo_guard_rows();
CREATE TRIGGER hilo_guard_table BEFORE UPDATE OR DELETE OR TRUNCATE ON hilo_lease
    FOR EACH STATEMENT EXECUTE FUNCTION hilo_guard_table('hilo_seed', 'hilo_drop');
CREATE TRIGGER hilo_guard_changes BEFORE UPDATE OR DELETE ON hilo_lease
    FOR EACH ROW EXECUTE FUNCTION hilo_guard_table('hilo_seed', 'hilo_drop');
ALTER TABLE hilo_lease ENABLE ALWAYS TRIGGER hilo_guard_rows;
ALTER TABLE hilo_lease ENABLE ALWAYS TRIGGER hilo_guard_table;
ALTER TABLE hilo_lease ENABLE ALWAYS TRIGGER hilo_guard_changes;
COMMENT ON TRIGGER hilo_guard_rows ON hilo_lease IS
    'INSERT and COPY do nothing: leases of another server are not for this one';
COMMENT ON TRIGGER hilo_guard_table ON hilo_lease IS
    'leases are not changed by hand';
COMMENT ON TRIGGER hilo_guard_changes ON hilo_lease IS
    'nor through a parent, or by an apply worker';

--
-- Where documents are
--
CREATE TYPE hilo_column;
CREATE FUNCTION hilo_column_in(cstring) RETURNS hilo_column
    LANGUAGE C STABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME';
CREATE FUNCTION hilo_column_out(hilo_column) RETURNS cstring
    LANGUAGE C STABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME';
CREATE TYPE hilo_column (
    INPUT = hilo_column_in,
    OUTPUT = hilo_column_out,
    INTERNALLENGTH = 8,
    ALIGNMENT = int4
);
COMMENT ON TYPE hilo_column IS
    'a column, written schema.table.column; follows it through renames';
COMMENT ON FUNCTION hilo_column_in(cstring) IS 'input of hilo_column';
COMMENT ON FUNCTION hilo_column_out(hilo_column) IS 'output of hilo_column';

-- Without a primary key for the same reason as the tables above: its rows are
-- written by the library, past triggers and logical decoding.
CREATE TABLE hilo_binding (
    collection text COLLATE "C" NOT NULL,
    id_column hilo_column,
    taken text,
    granted_to text,
    attached boolean NOT NULL DEFAULT false,
    replaced text,
    CONSTRAINT hilo_binding_check CHECK (num_nonnulls(id_column, taken, granted_to) = 1)
) USING heap;
CREATE INDEX hilo_binding_collection_idx ON hilo_binding USING btree (collection);
COMMENT ON TABLE hilo_binding IS
    'where the documents of collections and identities are, and who may draw: written by hilo_bind(), hilo_attach() and hilo_configure()';
COMMENT ON COLUMN hilo_binding.collection IS 'name of the collection or identity';
COMMENT ON COLUMN hilo_binding.id_column IS 'column with their ids, or numbers';
COMMENT ON COLUMN hilo_binding.taken IS 'or the function to ask whether a number is taken';
COMMENT ON COLUMN hilo_binding.granted_to IS 'or the role, or "public", that may draw without the privilege to insert';
COMMENT ON COLUMN hilo_binding.attached IS 'was the column attached by hilo_attach()?';
COMMENT ON COLUMN hilo_binding.replaced IS 'what drew its numbers before: sequence, identity or identity always';
COMMENT ON CONSTRAINT hilo_binding_check ON hilo_binding IS 'to a column, a function or a role';
COMMENT ON INDEX hilo_binding_collection_idx IS 'finds the bindings of a collection';
ALTER TABLE hilo_binding REPLICA IDENTITY NOTHING;

CREATE FUNCTION hilo_guard_bindings() RETURNS trigger
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_guard_bindings() IS
    'trigger: turns a row inserted into hilo_binding into a binding, if it fits those that there are';

CREATE TRIGGER hilo_guard_bindings BEFORE INSERT ON hilo_binding
    FOR EACH ROW EXECUTE FUNCTION hilo_guard_bindings();
CREATE TRIGGER hilo_guard_table BEFORE UPDATE OR DELETE OR TRUNCATE ON hilo_binding
    FOR EACH STATEMENT EXECUTE FUNCTION hilo_guard_table('hilo_bind', 'hilo_unbind');
CREATE TRIGGER hilo_guard_changes BEFORE UPDATE OR DELETE ON hilo_binding
    FOR EACH ROW EXECUTE FUNCTION hilo_guard_table('hilo_bind', 'hilo_unbind');
ALTER TABLE hilo_binding ENABLE ALWAYS TRIGGER hilo_guard_bindings;
ALTER TABLE hilo_binding ENABLE ALWAYS TRIGGER hilo_guard_table;
ALTER TABLE hilo_binding ENABLE ALWAYS TRIGGER hilo_guard_changes;
COMMENT ON TRIGGER hilo_guard_bindings ON hilo_binding IS
    'INSERT and COPY keep the bindings that there are';
COMMENT ON TRIGGER hilo_guard_table ON hilo_binding IS
    'bindings are not changed by hand';
COMMENT ON TRIGGER hilo_guard_changes ON hilo_binding IS
    'nor through a parent, or by an apply worker';

SELECT pg_catalog.pg_extension_config_dump('hilo_binding', '');

--
-- Draw
--
CREATE FUNCTION hilo_next(collection text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_next';
COMMENT ON FUNCTION hilo_next(text) IS
    'draw the next document id of a collection, with the node tag of this server: orders/1-A';

CREATE FUNCTION hilo_next(collection text, node_tag text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_next_tagged';
COMMENT ON FUNCTION hilo_next(text, text) IS
    'draw the next document id of a collection, with the node tag given; an empty tag gives orders/1';

CREATE FUNCTION hilo_nextval(collection text) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_nextval(text) IS
    'draw the next number of a collection: unique, never rolled back, never shown twice';

CREATE FUNCTION hilo_currval(collection text) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_currval(text) IS
    'the last number of a collection drawn in this session by hilo_next() or hilo_nextval()';

CREATE FUNCTION hilo_reserve(collection text, count bigint, OUT low bigint, OUT high bigint) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_reserve(text, bigint) IS
    'claim exactly count contiguous numbers of a collection, low to high, for the caller; at most hilo.max_range_size';

CREATE FUNCTION hilo_next_hi(collection text, capacity bigint) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_next_hi(text, bigint) IS
    'classic hi/lo: claim (hi-1)*capacity+1 .. hi*capacity and return hi; capacity at most hilo.max_range_size';

--
-- Ranges of client programs
--
CREATE FUNCTION hilo_next_range(
    collection text,
    last_batch_size bigint DEFAULT 0,
    last_range_at timestamptz DEFAULT NULL,
    last_max bigint DEFAULT 0,
    OUT prefix text,
    OUT low bigint,
    OUT high bigint,
    OUT last_size bigint,
    OUT server_tag text,
    OUT range_at timestamptz,
    OUT claim bigint) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_next_range(text, bigint, timestamptz, bigint) IS
    'claim a range for a client program that hands out the numbers itself; it passes the size and time of its last range and the highest number it has seen, and gets ids'' prefix and tag, low to high, and the number of the claim';

CREATE FUNCTION hilo_return_range(collection text, last bigint, high bigint, claim bigint DEFAULT NULL) RETURNS boolean
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_return_range(text, bigint, bigint, bigint) IS
    'give back what a client program has not used of a range of hilo_next_range() that ends in high: the numbers above last; true when they went back';

--
-- This session's ranges
--
CREATE FUNCTION hilo_release(collection text DEFAULT NULL) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_release(text) IS
    'give up this session''s unused numbers of a collection, or of all; returns how many of them others will get';

CREATE FUNCTION hilo_cached_ranges(
    OUT collection text,
    OUT low bigint,
    OUT high bigint,
    OUT next bigint,
    OUT size bigint) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_cached_ranges() IS
    'the ranges that this session holds unused numbers of';

CREATE VIEW hilo_cached_ranges AS
    SELECT collection, low, high, next, size
    FROM hilo_cached_ranges();
COMMENT ON VIEW hilo_cached_ranges IS
    'the ranges that this session holds unused numbers of';
COMMENT ON COLUMN hilo_cached_ranges.collection IS 'name of the collection';
COMMENT ON COLUMN hilo_cached_ranges.low IS 'first number of the range';
COMMENT ON COLUMN hilo_cached_ranges.high IS 'last number of the range';
COMMENT ON COLUMN hilo_cached_ranges.next IS 'number that will be drawn next';
COMMENT ON COLUMN hilo_cached_ranges.size IS 'how many numbers the range had';

--
-- Move counters
--
CREATE FUNCTION hilo_seed(collection text, value bigint, force boolean DEFAULT false) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_seed(text, bigint, boolean) IS
    'raise max of a collection to value, or with force set it, at once and for good; returns the max now stored';

CREATE FUNCTION hilo_sync(collection text) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_sync';
COMMENT ON FUNCTION hilo_sync(text) IS
    'raise max of a collection to the highest number in the columns it is bound to, at once and for good; returns the max now stored';

CREATE FUNCTION hilo_sync(OUT collection text, OUT max bigint) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_sync_all';
COMMENT ON FUNCTION hilo_sync() IS
    'the same for all collections that are bound to columns';

CREATE FUNCTION hilo_drop(collection text) RETURNS boolean
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_drop(text) IS
    'forget a collection, at once and for good: its next draw starts at 1; false when there was none';

--
-- Identities and server-side ids
--
CREATE FUNCTION next_identity(name text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity(text) IS
    'draw the next id of an identity: companies|, companies/ or companies give companies/1, companies/2 ...';

CREATE FUNCTION next_identity_for(name text) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_for(text) IS
    'draw the next number of an identity';

CREATE FUNCTION seed_identity_for(name text, value bigint, force boolean DEFAULT false) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION seed_identity_for(text, bigint, boolean) IS
    'raise an identity to value, or with force set it, at once and for good; returns the value now stored, the next one is one more';

CREATE FUNCTION drop_identity(name text) RETURNS boolean
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION drop_identity(text) IS
    'forget an identity, at once and for good; false when there was none';

CREATE FUNCTION next_identity_free(prefix text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_free(text) IS
    'draw the next id of an identity that no document has; see hilo_bind()';

CREATE FUNCTION next_identity_free_for(prefix text, OUT value bigint, OUT tries integer) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_free_for(text) IS
    'draw the next number of an identity that no document has; tries: how many were looked up';

CREATE FUNCTION next_server_side_id(prefix text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_server_side_id(text) IS
    'draw a server-side id: companies/ gives companies/0000000000000000027-A; numbers increase on this server, whatever the prefix';

CREATE FUNCTION hilo_bind(collection text, relation regclass, column_name name) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_bind_column';
COMMENT ON FUNCTION hilo_bind(text, regclass, name) IS
    'say in which column of a table, led by a btree index, the ids or numbers of an identity are';

CREATE FUNCTION hilo_bind(collection text, taken regprocedure) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_bind_function';
COMMENT ON FUNCTION hilo_bind(text, regprocedure) IS
    'say which function, from bigint to boolean, knows whether a number of an identity is taken; it is run as its owner';

CREATE FUNCTION hilo_unbind(collection text) RETURNS boolean
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_unbind(text) IS
    'undo hilo_bind(); false when there was nothing to undo';

--
-- Id assignment
--
CREATE FUNCTION hilo_document_id(collection text, requested text DEFAULT NULL) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_document_id(text, text) IS
    'the id that a document gets: for null a HiLo id, for an empty text a GUID, for .../ a server-side id, for ...| an identity, else what is requested';

CREATE FUNCTION hilo_assign_id() RETURNS trigger
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_assign_id() IS
    'trigger before insert for each row: hilo_document_id() for the column named first; the collection is named second, or is the table''s name';

--
-- Attach tables
--
CREATE FUNCTION hilo_floor() RETURNS trigger
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_floor() IS
    'trigger of attached tables: raises the collection for ids that are not drawn';

CREATE FUNCTION hilo_attach(relation regclass, column_name name DEFAULT 'id', collection text DEFAULT NULL) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_attach(regclass, name, text) IS
    'draw the ids of a table from a collection, by default the one named like it, in place of a sequence; returns the max, above all ids there';

CREATE FUNCTION hilo_detach(relation regclass, column_name name DEFAULT 'id', back_to text DEFAULT NULL) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_detach(regclass, name, text) IS
    'undo hilo_attach(), and put back a "sequence", "identity", "identity always" or "nothing", by default what it has replaced; returns which';

CREATE FUNCTION hilo_configure(
    collection text,
    range_size bigint DEFAULT NULL,
    max_range_size bigint DEFAULT NULL,
    max_value bigint DEFAULT NULL,
    node_tag text DEFAULT NULL,
    grant_to name DEFAULT NULL,
    revoke_from name DEFAULT NULL,
    reset boolean DEFAULT false) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_configure(text, bigint, bigint, bigint, text, name, name, boolean) IS
    'give a collection sizes of ranges, a limit and a node tag of its own (at once and for good; null leaves one as it is, reset forgets them first), and let a role or "public" draw from it, or not any more';

--
-- Leases
--
CREATE FUNCTION hilo_lease_from(collection text, server text, lease_size bigint DEFAULT NULL, OUT low bigint, OUT high bigint) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_lease_from(text, text, bigint) IS
    'from now on lease the numbers of a collection from a foreign server, the hub, at least lease_size at a time; returns the first lease; an empty server: lease no more';

CREATE FUNCTION identity_from(name text, server text) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION identity_from(text, text) IS
    'from now on draw the numbers of an identity on a foreign server, the hub; an empty server: no more';

CREATE FUNCTION hilo_lease(collection text, size bigint, floor bigint DEFAULT 0, OUT low bigint, OUT high bigint) RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_lease(text, bigint, bigint) IS
    'on a hub: claim a lease of up to size numbers above floor, the highest that the caller has ever had, for another server';

CREATE FUNCTION identity_lease(name text, floor bigint DEFAULT 0) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION identity_lease(text, bigint) IS
    'on a hub: draw the next number of an identity above floor, the highest that the caller has ever had, for another server';

CREATE FUNCTION hilo_hub_resume(collection text, floor bigint) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_hub_resume';
COMMENT ON FUNCTION hilo_hub_resume(text, bigint) IS
    'on a hub that was promoted or restored: lease numbers of a collection again, above floor, the highest that any member holds; returns the max now stored';

CREATE FUNCTION hilo_hub_resume() RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_hub_resume_all';
COMMENT ON FUNCTION hilo_hub_resume() IS
    'on a hub that was promoted or restored, and has lost nothing of what was not resumed by name: lease numbers of all collections and identities again; returns of how many';

CREATE FUNCTION identity_resume(name text, floor bigint) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION identity_resume(text, bigint) IS
    'on a hub that was promoted or restored: draw numbers of an identity for members again, above floor, the highest that any of them has; returns the value now stored';

CREATE FUNCTION hilo_leases(
    OUT collection text,
    OUT server text,
    OUT low bigint,
    OUT high bigint,
    OUT next_low bigint,
    OUT next_high bigint,
    OUT numbers_left bigint,
    OUT seconds_left float8,
    OUT highest bigint,
    OUT leased_at timestamptz,
    OUT last_error text,
    OUT last_error_at timestamptz,
    OUT failing_since timestamptz) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_leases() IS
    'what this server has leased from hubs';

CREATE VIEW hilo_leases AS
    SELECT collection, server, low, high, next_low, next_high, numbers_left, seconds_left, highest,
        leased_at, last_error, last_error_at, failing_since
    FROM hilo_leases();
COMMENT ON VIEW hilo_leases IS
    'what this server has leased from hubs';
COMMENT ON COLUMN hilo_leases.collection IS 'name of the collection';
COMMENT ON COLUMN hilo_leases.server IS 'the hub; null: none any more';
COMMENT ON COLUMN hilo_leases.low IS 'first number of the current lease; null: there is none';
COMMENT ON COLUMN hilo_leases.high IS 'last number of the current lease';
COMMENT ON COLUMN hilo_leases.next_low IS 'first number of the next lease; null: there is none yet';
COMMENT ON COLUMN hilo_leases.next_high IS 'last number of the next lease';
COMMENT ON COLUMN hilo_leases.numbers_left IS 'how many numbers of both no session has claimed';
COMMENT ON COLUMN hilo_leases.seconds_left IS 'how long they last at the pace of the last minutes; null: none is claimed';
COMMENT ON COLUMN hilo_leases.highest IS 'highest number ever leased, which the hub must stay above';
COMMENT ON COLUMN hilo_leases.leased_at IS 'when the hub last gave a lease';
COMMENT ON COLUMN hilo_leases.last_error IS 'why it gave none since; null: it did';
COMMENT ON COLUMN hilo_leases.last_error_at IS 'when it was asked last in vain';
COMMENT ON COLUMN hilo_leases.failing_since IS 'when it was first asked in vain since it gave one';

--
-- Watch
--
CREATE FUNCTION hilo_status(
    OUT collection text,
    OUT max bigint,
    OUT max_value bigint,
    OUT share_used float8,
    OUT claims bigint,
    OUT given_back bigint,
    OUT last_claim timestamptz,
    OUT numbers_per_hour float8,
    OUT time_left interval,
    OUT range_size bigint,
    OUT max_range_size bigint,
    OUT node_tag text,
    OUT bound_to text[],
    OUT hub text) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_status() IS
    'how the collections are; read without locks that serializable transactions could fail by';

CREATE VIEW hilo_status AS
    SELECT collection, max, max_value, share_used, claims, given_back, last_claim,
        numbers_per_hour, time_left, range_size, max_range_size, node_tag, bound_to, hub
    FROM hilo_status();
COMMENT ON VIEW hilo_status IS
    'how the collections are; read without locks that serializable transactions could fail by';
COMMENT ON COLUMN hilo_status.collection IS 'name of the collection; | counts the server-side ids';
COMMENT ON COLUMN hilo_status.max IS 'highest number claimed by anybody';
COMMENT ON COLUMN hilo_status.max_value IS 'limit of max';
COMMENT ON COLUMN hilo_status.share_used IS 'max divided by max_value';
COMMENT ON COLUMN hilo_status.claims IS 'how many ranges were claimed';
COMMENT ON COLUMN hilo_status.given_back IS 'how many numbers of them went back';
COMMENT ON COLUMN hilo_status.last_claim IS 'when the newest claim was made; null: there was none';
COMMENT ON COLUMN hilo_status.numbers_per_hour IS 'how many numbers an hour are claimed, by the claims of the last hours';
COMMENT ON COLUMN hilo_status.time_left IS 'how long the numbers will last at that pace; null: longer than 10,000 years';
COMMENT ON COLUMN hilo_status.range_size IS 'own smallest range; null: hilo.range_size counts';
COMMENT ON COLUMN hilo_status.max_range_size IS 'own largest range; null: hilo.max_range_size counts';
COMMENT ON COLUMN hilo_status.node_tag IS 'own node tag; null: hilo.node_tag counts';
COMMENT ON COLUMN hilo_status.bound_to IS 'columns, or the function, that the collection is bound to; null: none';
COMMENT ON COLUMN hilo_status.hub IS 'server that numbers are leased from; null: none';

CREATE FUNCTION hilo_parked(
    OUT collection text,
    OUT low bigint,
    OUT high bigint,
    OUT size bigint,
    OUT parked_at timestamptz) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_parked() IS
    'unused numbers that connections have left in shared memory for the next one';

CREATE VIEW hilo_parked AS
    SELECT collection, low, high, size, parked_at
    FROM hilo_parked();
COMMENT ON VIEW hilo_parked IS
    'unused numbers that connections have left in shared memory for the next one';
COMMENT ON COLUMN hilo_parked.collection IS 'name of the collection';
COMMENT ON COLUMN hilo_parked.low IS 'lowest number';
COMMENT ON COLUMN hilo_parked.high IS 'highest number';
COMMENT ON COLUMN hilo_parked.size IS 'how many numbers they are';
COMMENT ON COLUMN hilo_parked.parked_at IS 'when a connection has left them';

--
-- The text of ids
--
CREATE FUNCTION hilo_number(id text) RETURNS bigint
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_number(text) IS
    'the number in a document id: 10 from orders/10-A; null when there is none';

CREATE FUNCTION hilo_format(collection text, number bigint) RETURNS text
    LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'hilo_format';
COMMENT ON FUNCTION hilo_format(text, bigint) IS
    'the document id of a number, with the node tag of this server';

CREATE FUNCTION hilo_format(collection text, number bigint, node_tag text) RETURNS text
    LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'hilo_format_tagged';
COMMENT ON FUNCTION hilo_format(text, bigint, text) IS
    'the document id of a number, with the node tag given';

--
-- Privileges
--
-- Drawing is for everybody who may call functions here; what moves other
-- people's counters is not, and nobody writes, or reads unless granted, the
-- table itself.
--
REVOKE ALL ON TABLE hilo FROM PUBLIC;
REVOKE ALL ON TABLE hilo_identity FROM PUBLIC;
REVOKE ALL ON TABLE hilo_lease FROM PUBLIC;
REVOKE ALL ON TABLE hilo_binding FROM PUBLIC;
REVOKE ALL ON FUNCTION seed_identity_for(text, bigint, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION drop_identity(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_bind(text, regclass, name) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_bind(text, regprocedure) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_unbind(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_seed(text, bigint, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_drop(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_sync(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_sync() FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_return_range(text, bigint, bigint, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_guard_rows() FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_guard_bindings() FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_guard_table() FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_attach(regclass, name, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_detach(regclass, name, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_configure(text, bigint, bigint, bigint, text, name, name, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_lease_from(text, text, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION identity_from(text, text) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_lease(text, bigint, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION identity_lease(text, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_hub_resume(text, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_hub_resume() FROM PUBLIC;
REVOKE ALL ON FUNCTION identity_resume(text, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_leases() FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_status() FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_parked() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION hilo_status(), hilo_leases(), hilo_parked() TO pg_monitor;
GRANT SELECT ON hilo_status, hilo_leases, hilo_parked TO pg_monitor;
GRANT SELECT ON hilo_cached_ranges TO PUBLIC;

-- From here on this database can be a hub, on the timeline that there is.
SELECT hilo_hub_resume();
