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
    spare1 bigint NOT NULL DEFAULT 0,
    spare2 bigint NOT NULL DEFAULT 0,
    spare3 bigint NOT NULL DEFAULT 0,
    spare4 bigint NOT NULL DEFAULT 0,
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
COMMENT ON COLUMN hilo.spare1 IS 'for later versions';
COMMENT ON COLUMN hilo.spare2 IS 'for later versions';
COMMENT ON COLUMN hilo.spare3 IS 'for later versions';
COMMENT ON COLUMN hilo.spare4 IS 'for later versions';
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
    'trigger: refuses UPDATE, DELETE and TRUNCATE of a counter table';

CREATE TRIGGER hilo_guard_rows BEFORE INSERT ON hilo
    FOR EACH ROW EXECUTE FUNCTION hilo_guard_rows();
CREATE TRIGGER hilo_guard_table BEFORE UPDATE OR DELETE OR TRUNCATE ON hilo
    FOR EACH STATEMENT EXECUTE FUNCTION hilo_guard_table();
ALTER TABLE hilo ENABLE ALWAYS TRIGGER hilo_guard_rows;
ALTER TABLE hilo ENABLE ALWAYS TRIGGER hilo_guard_table;
COMMENT ON TRIGGER hilo_guard_rows ON hilo IS
    'INSERT and COPY raise counters, they never lower one';
COMMENT ON TRIGGER hilo_guard_table ON hilo IS
    'counters are not changed by hand';

SELECT pg_catalog.pg_extension_config_dump('hilo', '');

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

CREATE FUNCTION hilo_drop(collection text) RETURNS boolean
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_drop(text) IS
    'forget a collection, at once and for good: its next draw starts at 1; false when there was none';

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
REVOKE ALL ON FUNCTION hilo_seed(text, bigint, boolean) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_drop(text) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_return_range(text, bigint, bigint, bigint) FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_guard_rows() FROM PUBLIC;
REVOKE ALL ON FUNCTION hilo_guard_table() FROM PUBLIC;
GRANT SELECT ON hilo_cached_ranges TO PUBLIC;
