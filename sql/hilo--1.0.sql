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
                USING ERRCODE = 'insufficient_privilege',
                      HINT = 'Create the extension in another schema, or as the owner of this one.';
        END IF;
    ELSIF EXISTS (SELECT FROM pg_catalog.pg_depend
                  WHERE refclassid = 'pg_catalog.pg_namespace'::pg_catalog.regclass::pg_catalog.oid
                    AND refobjid = found) THEN
        RAISE EXCEPTION 'schema "hilo" is not empty'
            USING ERRCODE = 'duplicate_schema',
                  HINT = 'The extension keeps its tables there. Rename or drop the schema.';
    ELSIF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE oid = creator) OR holder = creator
            OR holder = (SELECT datdba FROM pg_catalog.pg_database
                         WHERE datname = pg_catalog.current_database()) THEN
        ALTER EXTENSION hilo ADD SCHEMA hilo;
        ALTER SCHEMA hilo OWNER TO CURRENT_USER;
        FOR grantee IN
            SELECT DISTINCT a.grantee
            FROM pg_catalog.pg_namespace n, pg_catalog.aclexplode(n.nspacl) a
            WHERE n.oid = found AND a.grantee <> n.nspowner
        LOOP
            EXECUTE pg_catalog.format('REVOKE ALL ON SCHEMA hilo FROM %s CASCADE',
                CASE WHEN grantee = '0'::pg_catalog.oid THEN 'PUBLIC'
                     ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(grantee)) END);
        END LOOP;
    ELSE
        RAISE EXCEPTION 'schema "hilo" belongs to another role'
            USING ERRCODE = 'insufficient_privilege',
                  HINT = 'Drop the schema, or have a superuser create the extension.';
    END IF;
END
$$;
COMMENT ON SCHEMA hilo IS 'functions, tables and views of the extension hilo';

--
-- Counters
--
-- Changed in place by the library, which knows this layout (see row.h): a heap,
-- fixed-width columns first and never null, the name last.  The name has a
-- unique index, but neither a primary key nor NOT NULL, and the table has no
-- replica identity: programs that rewrite a table while it is in use need these to
-- follow changes.  They would miss changes in place, and so they refuse this table.
--
-- The defaults are for an INSERT by hand, which the trigger merges.  A page holds few
-- rows on purpose: a claim may log the used part of its page, and locks the page
-- meanwhile.
--
CREATE TABLE hilo.hilo (
    max bigint NOT NULL DEFAULT 0,
    max_value bigint NOT NULL DEFAULT 9223372036854775807,
    claim_low bigint NOT NULL DEFAULT 0,
    claim bigint NOT NULL DEFAULT 0,
    epoch bigint NOT NULL DEFAULT 0,
    home bigint NOT NULL DEFAULT 0,
    claimed_at timestamptz NOT NULL DEFAULT '-infinity',
    claim_rate float8 NOT NULL DEFAULT 0,
    hub bigint NOT NULL DEFAULT 0,
    opening bigint NOT NULL DEFAULT 0,
    opening_id bigint NOT NULL DEFAULT 0,
    floor bigint NOT NULL DEFAULT 0,
    ahead bigint NOT NULL DEFAULT 0,
    logged_at pg_lsn NOT NULL DEFAULT '0/0',
    logged_in oid NOT NULL DEFAULT 0,
    range_size int NOT NULL DEFAULT 0,
    max_range_size int NOT NULL DEFAULT 0,
    flags int NOT NULL DEFAULT 0,
    node_tag name NOT NULL DEFAULT '',
    separator "char" NOT NULL DEFAULT '',
    collection text COLLATE "C"
) USING heap WITH (fillfactor = 33);
CREATE UNIQUE INDEX hilo_collection_idx ON hilo.hilo USING btree (collection);
COMMENT ON TABLE hilo.hilo IS
    'counters: a row for each collection and identity (companies|), and server-side ids (|)';
COMMENT ON COLUMN hilo.hilo.max IS 'highest number claimed';
COMMENT ON COLUMN hilo.hilo.max_value IS 'upper limit of max';
COMMENT ON COLUMN hilo.hilo.claim_low IS
    'lowest number of the newest claim if hilo.next_range() made it, else 0';
COMMENT ON COLUMN hilo.hilo.claim IS
    'random number of the newest claim if hilo.next_range() made it, else 0';
COMMENT ON COLUMN hilo.hilo.epoch IS
    'random number; a new one invalidates all earlier ranges and pooled numbers';
COMMENT ON COLUMN hilo.hilo.home IS
    'table and database of the last change; differs in a copy or after a restore';
COMMENT ON COLUMN hilo.hilo.claimed_at IS 'time of the newest claim; -infinity: none yet';
COMMENT ON COLUMN hilo.hilo.claim_rate IS
    'numbers claimed recently, with a weight that falls by a factor of e per hour';
COMMENT ON COLUMN hilo.hilo.hub IS
    'in row |, for the extension hilo_hub: the hub that counts; 0: this server does';
COMMENT ON COLUMN hilo.hilo.opening IS 'in row |: how often that hub was opened, as far as known';
COMMENT ON COLUMN hilo.hilo.opening_id IS 'in row |: random number of that opening';
COMMENT ON COLUMN hilo.hilo.floor IS 'in row |: max of a counter that is created';
COMMENT ON COLUMN hilo.hilo.ahead IS
    'numbers above max that the WAL covers; a crash loses at most these';
COMMENT ON COLUMN hilo.hilo.logged_at IS
    'LSN of the page after the record that covers them; with another one they do not count';
COMMENT ON COLUMN hilo.hilo.logged_in IS
    'storage that the record was for; in another one they do not count';
COMMENT ON COLUMN hilo.hilo.range_size IS
    'smallest range of this collection; 0: hilo.range_size applies';
COMMENT ON COLUMN hilo.hilo.max_range_size IS
    'largest range of this collection; 0: hilo.max_range_size applies';
COMMENT ON COLUMN hilo.hilo.flags IS
    'sum of: 1 dropped, 2 has a node tag of its own, 4 shared by servers, 8 this is their hub';
COMMENT ON COLUMN hilo.hilo.node_tag IS
    'node tag of this collection, if it has its own; in row |, what hilo_hub notes';
COMMENT ON COLUMN hilo.hilo.separator IS
    'separator of this collection; empty: hilo.identity_parts_separator applies';
COMMENT ON COLUMN hilo.hilo.collection IS 'name';
COMMENT ON INDEX hilo.hilo_collection_idx IS 'finds the row of a name';

--
-- Bindings: ordinary rows, written by the library
--
CREATE TABLE hilo.binding (
    collection text COLLATE "C" NOT NULL,
    schema_name name NOT NULL,
    table_name name NOT NULL,
    column_name name NOT NULL,
    owner name NOT NULL
) USING heap;
CREATE INDEX binding_collection_idx ON hilo.binding USING btree (collection);
COMMENT ON TABLE hilo.binding IS
    'columns that hold the ids of collections and identities, as hilo.bind() was told';
COMMENT ON COLUMN hilo.binding.collection IS 'name of the collection, and of the identity';
COMMENT ON COLUMN hilo.binding.schema_name IS 'schema of the table, unquoted';
COMMENT ON COLUMN hilo.binding.table_name IS 'name of the table, unquoted';
COMMENT ON COLUMN hilo.binding.column_name IS 'name of the column, unquoted';
COMMENT ON COLUMN hilo.binding.owner IS
    'owner of the table when it was bound; the row counts as long as that is the owner';
COMMENT ON INDEX hilo.binding_collection_idx IS 'finds the bindings of a collection';

--
-- Guards
--
CREATE FUNCTION hilo.guard() RETURNS trigger
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_guard';
COMMENT ON FUNCTION hilo.guard() IS
    'trigger of the extension''s tables: INSERT merges the row; other changes are refused';

CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE ON hilo.hilo
    FOR EACH ROW EXECUTE FUNCTION hilo.guard('hilo.seed', 'hilo.drop');
CREATE TRIGGER guard_table BEFORE UPDATE OR DELETE OR TRUNCATE ON hilo.hilo
    FOR EACH STATEMENT EXECUTE FUNCTION hilo.guard('hilo.seed', 'hilo.drop');
CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE ON hilo.binding
    FOR EACH ROW EXECUTE FUNCTION hilo.guard('hilo.bind', 'hilo.unbind');
CREATE TRIGGER guard_table BEFORE UPDATE OR DELETE OR TRUNCATE ON hilo.binding
    FOR EACH STATEMENT EXECUTE FUNCTION hilo.guard('hilo.bind', 'hilo.unbind');
COMMENT ON TRIGGER guard_rows ON hilo.hilo IS
    'merges an INSERT into the existing rows; refuses changes by hand';
COMMENT ON TRIGGER guard_table ON hilo.hilo IS
    'refuses changes by hand, even if they affect no row';
COMMENT ON TRIGGER guard_rows ON hilo.binding IS
    'merges an INSERT into the existing rows; refuses changes by hand';
COMMENT ON TRIGGER guard_table ON hilo.binding IS
    'refuses changes by hand, even if they affect no row';
ALTER TABLE hilo.hilo
    ENABLE ALWAYS TRIGGER guard_rows,
    ENABLE ALWAYS TRIGGER guard_table,
    REPLICA IDENTITY NOTHING;
ALTER TABLE hilo.binding
    ENABLE ALWAYS TRIGGER guard_rows,
    ENABLE ALWAYS TRIGGER guard_table,
    REPLICA IDENTITY NOTHING;
SELECT pg_catalog.pg_extension_config_dump('hilo.hilo', '');
SELECT pg_catalog.pg_extension_config_dump('hilo.binding', '');

--
-- Draw from collections
--
CREATE FUNCTION hilo_next(collection text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_next';
COMMENT ON FUNCTION hilo_next(text) IS
    'draw the next document id of a collection, with its node tag or this server''s: orders/1-A';

CREATE FUNCTION hilo_next(collection text, node_tag text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_next_tagged';
COMMENT ON FUNCTION hilo_next(text, text) IS
    'draw the next document id of a collection, with a node tag; an empty one gives orders/1';

CREATE FUNCTION hilo_next_number(collection text) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_next_number(text) IS
    'draw the next number of a collection: unique, never rolled back, never shown twice';

CREATE FUNCTION hilo_last_number(collection text) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_last_number(text) IS
    'the last number of a collection that this session drew with hilo_next() or hilo_next_number()';

CREATE FUNCTION hilo_reserve(collection text, count bigint, OUT low bigint, OUT high bigint)
    RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_reserve(text, bigint) IS
    'claim exactly count consecutive numbers, low to high; at most hilo.max_range_size';

CREATE FUNCTION hilo.next_hi(collection text, capacity bigint) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_next_hi';
COMMENT ON FUNCTION hilo.next_hi(text, bigint) IS
    'classic hi/lo: claim (hi-1)*capacity+1 .. hi*capacity; capacity at most hilo.max_range_size';

CREATE FUNCTION hilo.next_range(
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
    AS 'MODULE_PATHNAME', 'hilo_next_range';
COMMENT ON FUNCTION hilo.next_range(text, bigint, timestamptz, bigint) IS
    'claim a range for a client program, which passes the size and time of its last one, '
    'and the highest number that it has seen';

CREATE FUNCTION hilo.return_range(collection text, last bigint, high bigint, claim bigint)
    RETURNS boolean
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_return_range';
COMMENT ON FUNCTION hilo.return_range(text, bigint, bigint, bigint) IS
    'put back the numbers above last of a range from hilo.next_range() that ends at high; '
    'false unless that claim is still the newest';

--
-- Sequences
--
CREATE FUNCTION hilo.nextval(sequence regclass) RETURNS bigint
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_nextval';
COMMENT ON FUNCTION hilo.nextval(regclass) IS
    'draw the next number of a sequence as nextval() does; it is on disk before it is returned, '
    'and no id of the column that owns the sequence';

CREATE PROCEDURE hilo.horizon(sequence regclass, INOUT horizon bigint DEFAULT NULL)
    LANGUAGE C
    AS 'MODULE_PATHNAME', 'hilo_horizon';
COMMENT ON PROCEDURE hilo.horizon(regclass, bigint) IS
    'wait for the transactions that have drawn from a sequence, and return the highest number '
    'up to which no row can appear any more for the statements that follow';

-- It refuses calls that the setting has not made; minor releases differ in whether SQL can
-- make one.
CREATE FUNCTION hilo._identity_nextval(sequence regclass, internal) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_identity_nextval';
COMMENT ON FUNCTION hilo._identity_nextval(regclass, internal) IS
    'for the setting hilo.sequences: draw the number of an identity column';

--
-- Administer collections
--
CREATE FUNCTION hilo.seed(collection text, value bigint, force boolean DEFAULT false)
    RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_seed';
COMMENT ON FUNCTION hilo.seed(text, bigint, boolean) IS
    'move a collection to at least value, or set it with force, at once and for good; '
    'returns the max now stored';

CREATE FUNCTION hilo.drop(collection text) RETURNS boolean
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_drop';
COMMENT ON FUNCTION hilo.drop(text) IS
    'forget a collection, or an identity (companies|), at once and for good: its next draw '
    'starts at 1; false if it did not exist';

CREATE FUNCTION hilo.configure(
    collection text,
    range_size bigint DEFAULT NULL,
    max_range_size bigint DEFAULT NULL,
    max_value bigint DEFAULT NULL,
    node_tag text DEFAULT NULL,
    separator text DEFAULT NULL,
    reset boolean DEFAULT false) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_configure';
COMMENT ON FUNCTION hilo.configure(text, bigint, bigint, bigint, text, text, boolean) IS
    'set a collection''s range sizes, limit, node tag and separator, at once and for good; '
    'null leaves an option unchanged, reset first resets all of them';

CREATE FUNCTION hilo.bind(collection text, relation regclass, column_name name) RETURNS void
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_bind';
COMMENT ON FUNCTION hilo.bind(text, regclass, name) IS
    'say that the ids of a collection, and of the identity of that name, are in a column';

CREATE FUNCTION hilo.unbind(collection text, relation regclass DEFAULT NULL) RETURNS boolean
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_unbind';
COMMENT ON FUNCTION hilo.unbind(text, regclass) IS
    'undo hilo.bind() for a table, or for all; false if nothing was bound';

--
-- Identities and server-side ids
--
CREATE FUNCTION next_identity(name text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity(text) IS
    'draw the next id of an identity: companies/4';

CREATE FUNCTION next_identity_for(name text) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_for(text) IS
    'draw the next number of an identity: 4';

CREATE FUNCTION seed_identity_for(name text, value bigint, force boolean DEFAULT false)
    RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION seed_identity_for(text, bigint, boolean) IS
    'move an identity to at least value, or set it with force, at once and for good; '
    'returns the value now stored';

CREATE FUNCTION next_identity_free(prefix text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_free(text) IS
    'draw the next id of an identity that no document has, in the columns bound to it, '
    'or else in the primary key of the table of that name';

CREATE FUNCTION next_identity_free_for(prefix text, OUT value bigint, OUT tries integer)
    RETURNS record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_free_for(text) IS
    'draw the next number of an identity that no document has; tries: numbers looked up';

CREATE FUNCTION next_server_side_id(prefix text) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_server_side_id(text) IS
    'draw the next server-side id: companies/0000000000000000027-A';

CREATE FUNCTION hilo_document_id(collection text, requested text DEFAULT NULL) RETURNS text
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_document_id(text, text) IS
    'the id for a document: drawn for null, a GUID for an empty text, server-side for one that '
    'ends in the separator, an identity for one that ends in |, else the text itself';

CREATE FUNCTION hilo.assign_id() RETURNS trigger
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_assign_id';
COMMENT ON FUNCTION hilo.assign_id() IS
    'trigger before insert, for each row: assign the id that the row requests, as '
    'hilo_document_id() does; arguments: the column, and the collection if not the table''s name';

--
-- What columns draw from
--
-- Names with an underscore are the extension's own business.  The functions in SQL run as the
-- caller; with their search_path, names and operators are the server's.
--
CREATE FUNCTION hilo._draws(expression pg_node_tree, OUT sequence oid, OUT function text)
    RETURNS record
    LANGUAGE C STABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'hilo_draws_of';
COMMENT ON FUNCTION hilo._draws(pg_node_tree) IS
    'the sequence that a stored default draws from, and by which function, nextval or '
    'hilo.nextval, if it is one call with a constant sequence and nothing around it but casts; '
    'else null';

CREATE FUNCTION hilo._tree(relation regclass)
    RETURNS SETOF regclass
    LANGUAGE sql STABLE STRICT PARALLEL SAFE ROWS 10
    SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE tree(relation) AS (
        SELECT _tree.relation::oid
        UNION
        SELECT i.inhrelid
        FROM tree t
            JOIN pg_inherits i ON i.inhparent = t.relation
    )
    SELECT t.relation::regclass FROM tree t ORDER BY t.relation <> _tree.relation, t.relation
$$;
COMMENT ON FUNCTION hilo._tree(regclass) IS
    'a table, and then its partitions and children';

-- The default may be that of a domain.  The setting makes the server write it in one way.  A
-- default has no columns in it, so its relation need not be named, which would wait for locks.
CREATE FUNCTION hilo._default(relation regclass, column_number int2)
    RETURNS text
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    SET quote_all_identifiers = off
AS $$
    SELECT pg_get_expr(COALESCE(d.adbin, t.typdefaultbin), '0'::oid)
    FROM pg_attribute a
        JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = _default.relation AND a.attnum = _default.column_number
        AND a.attgenerated = ''
$$;
COMMENT ON FUNCTION hilo._default(regclass, int2) IS
    'the default of a column, or else of its domain; null: there is none';

CREATE FUNCTION hilo._mentions_nextval(expression text)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$ SELECT COALESCE(expression ~ '(^|[^[:alnum:]_$])nextval[(]', false) $$;
COMMENT ON FUNCTION hilo._mentions_nextval(text) IS
    'whether a default calls a function of the name nextval';

CREATE FUNCTION hilo._identity_sequence(relation regclass, column_number int2)
    RETURNS oid
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT d.objid
    FROM pg_depend d
        JOIN pg_class s ON s.oid = d.objid AND s.relkind = 'S'
    WHERE d.refclassid = 'pg_class'::regclass
        AND d.refobjid = _identity_sequence.relation
        AND d.refobjsubid = _identity_sequence.column_number
        AND d.classid = 'pg_class'::regclass
        AND d.deptype = 'i'
$$;
COMMENT ON FUNCTION hilo._identity_sequence(regclass, int2) IS
    'the sequence of an identity column; null: it has none of its own';

CREATE FUNCTION hilo._owner(sequence oid, OUT relation oid, OUT column_number int2)
    RETURNS record
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT d.refobjid, d.refobjsubid::int2
    FROM pg_depend d
    WHERE d.classid = 'pg_class'::regclass
        AND d.objid = _owner.sequence
        AND d.objsubid = 0
        AND d.refclassid = 'pg_class'::regclass
        AND d.refobjsubid > 0
        AND d.deptype IN ('a', 'i')
$$;
COMMENT ON FUNCTION hilo._owner(oid) IS
    'the column that owns a sequence, as serial and identity columns do; null: none';

-- pg_depend knows each sequence that a default names as a constant.  nextval itself is in no
-- pg_depend, because it cannot be dropped.
CREATE FUNCTION hilo._drawing(
    OUT relation oid,
    OUT column_number int2,
    OUT sequence oid,
    OUT draws text,
    OUT is_alone boolean)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT d.adrelid, d.adnum, s.oid,
        COALESCE(w.function, CASE WHEN EXISTS (
            SELECT
            FROM pg_depend f
            WHERE f.classid = 'pg_attrdef'::regclass AND f.objid = d.oid
                AND f.refclassid = 'pg_proc'::regclass
                AND f.refobjid = 'hilo.nextval(regclass)'::regprocedure
            ) THEN 'hilo.nextval' ELSE 'nextval' END),
        w.sequence IS NOT NULL
    FROM pg_attrdef d
        JOIN pg_depend n ON n.classid = 'pg_attrdef'::regclass AND n.objid = d.oid
            AND n.refclassid = 'pg_class'::regclass
        JOIN pg_class s ON s.oid = n.refobjid AND s.relkind = 'S',
        hilo._draws(d.adbin) w
    WHERE hilo._mentions_nextval(hilo._default(d.adrelid, d.adnum))
    UNION ALL
    SELECT a.attrelid, a.attnum, s.sequence, 'identity', true
    FROM pg_attribute a, hilo._identity_sequence(a.attrelid, a.attnum) s(sequence)
    WHERE a.attidentity <> '' AND s.sequence IS NOT NULL
$$;
COMMENT ON FUNCTION hilo._drawing() IS
    'columns that draw from sequences, by nextval, hilo.nextval or identity; is_alone: by nothing '
    'else but casts';

--
-- Attach and detach
--

-- The single-column primary key of a table, if no column is named.
CREATE FUNCTION hilo._id_column(relation regclass, INOUT column_name name)
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF relation IS NULL THEN
        RAISE EXCEPTION 'relation must not be null'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF (SELECT c.relkind NOT IN ('r', 'p') FROM pg_class c WHERE c.oid = relation) THEN
        RAISE EXCEPTION '% is not a table', relation
            USING ERRCODE = 'wrong_object_type',
                HINT = 'Name the table whose column draws the numbers.';
    END IF;
    IF column_name IS NULL THEN
        SELECT a.attname INTO column_name
        FROM pg_index i
            JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = relation AND i.indisprimary AND i.indnkeyatts = 1;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'table % has no single-column primary key', relation
                USING ERRCODE = 'undefined_object',
                    HINT = 'Name the column as the second argument.';
        END IF;
    END IF;
    PERFORM FROM pg_attribute a
    WHERE a.attrelid = relation AND a.attname = column_name
        AND a.attnum > 0 AND NOT a.attisdropped;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'column "%" of table % does not exist', column_name, relation
            USING ERRCODE = 'undefined_column';
    END IF;
END
$$;
COMMENT ON FUNCTION hilo._id_column(regclass, name) IS
    'the column that hilo.attach() and hilo.detach() are to change; an error if there is none';

-- What can be attached is exactly nextval of one sequence, because then nothing is lost when
-- it is put back.
CREATE FUNCTION hilo._refuse_default(relation regclass, column_name name, function text)
    RETURNS void
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    attribute pg_attribute;
    stored text;
    sequence text;
    problem text;
    advice text;
BEGIN
    SELECT a.* INTO attribute
    FROM pg_attribute a
    WHERE a.attrelid = relation AND a.attname = column_name;
    stored := hilo._default(relation, attribute.attnum);
    sequence := COALESCE(pg_get_serial_sequence(relation::text, column_name), (
        SELECT min(d.sequence::regclass::text)
        FROM hilo._drawing() d
        WHERE d.relation = _refuse_default.relation AND d.column_number = attribute.attnum));
    advice := format('Write ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s(%L);', relation,
        column_name, function, COALESCE(sequence, 'name of a sequence'));
    IF attribute.attidentity <> '' THEN
        problem := 'is an identity column';
        advice := CASE function
            WHEN 'nextval' THEN 'It draws by nextval unless hilo.sequences is on.'
            ELSE 'SET hilo.sequences = on lets it draw as hilo.nextval does.' END;
    ELSIF attribute.attgenerated <> '' THEN
        problem := 'is a generated column';
        advice := 'Only a default can draw.';
    ELSIF (SELECT t.typcategory = 'S' FROM pg_type t WHERE t.oid = attribute.atttypid) THEN
        problem := format('has type %s', format_type(attribute.atttypid, attribute.atttypmod));
        advice := format('Write ALTER TABLE %s ALTER COLUMN %I SET DEFAULT hilo_next(%L);',
            relation, column_name, (SELECT c.relname FROM pg_class c WHERE c.oid = relation));
    ELSIF stored IS NULL THEN
        problem := 'has no default';
    ELSIF NOT attribute.atthasdef THEN
        problem := format('has the default of its domain, %s', stored);
    ELSE
        problem := format('has the default %s', stored);
    END IF;
    RAISE EXCEPTION 'column "%" of table % %', column_name, relation, problem
        USING ERRCODE = 'feature_not_supported', HINT = advice;
END
$$;
COMMENT ON FUNCTION hilo._refuse_default(regclass, name, text) IS
    'raise the error of hilo.attach() or hilo.detach() for a column whose default is not exactly '
    'nextval of a sequence';

CREATE FUNCTION hilo._set_function(relation regclass, column_name name, function text)
    RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    part regclass;
    number int2;
    draws record;
BEGIN
    FOR part IN SELECT t FROM hilo._tree(relation) t LOOP
        SELECT a.attnum INTO number
        FROM pg_attribute a
        WHERE a.attrelid = part AND a.attname = column_name;
        SELECT w.* INTO draws
        FROM pg_attribute a
            LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum,
            hilo._draws(d.adbin) w
        WHERE a.attrelid = part AND a.attnum = number AND a.attgenerated = '';
        IF draws.sequence IS NOT NULL THEN
            -- Not more than needed: it waits for all who use the table.
            CONTINUE WHEN draws.function = function;
            EXECUTE format('ALTER TABLE ONLY %s ALTER COLUMN %I SET DEFAULT %s(%L::regclass)',
                part, column_name, function, draws.sequence::regclass);
        ELSIF part = relation THEN
            PERFORM hilo._refuse_default(relation, column_name, function);
        ELSE
            RAISE NOTICE 'column "%" of table % keeps its default: %', column_name, part,
                COALESCE(hilo._default(part, number), 'none');
        END IF;
    END LOOP;
    RETURN hilo._default(relation, a.attnum)
    FROM pg_attribute a
    WHERE a.attrelid = relation AND a.attname = column_name;
END
$$;
COMMENT ON FUNCTION hilo._set_function(regclass, name, text) IS
    'let the defaults of a column that draw from a sequence call that function, nextval or '
    'hilo.nextval, in the table, its partitions and children; returns the default of the table';

CREATE FUNCTION hilo.attach(relation regclass, column_name name DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    stored text;
BEGIN
    column_name := hilo._id_column(relation, column_name);
    stored := hilo._set_function(relation, column_name, 'hilo.nextval');
    RAISE NOTICE 'column "%" of table % has the default %', column_name, relation, stored;
    RETURN stored;
END
$$;
COMMENT ON FUNCTION hilo.attach(regclass, name) IS
    'let a column whose default is exactly nextval of a sequence draw by hilo.nextval from the '
    'same one, in the table, its partitions and children; without a column, the single-column '
    'primary key; returns the new default; 0A000 for an identity column, and for another default '
    'or none';

CREATE FUNCTION hilo.detach(relation regclass, column_name name DEFAULT NULL)
    RETURNS text
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    stored text;
BEGIN
    column_name := hilo._id_column(relation, column_name);
    stored := hilo._set_function(relation, column_name, 'nextval');
    RAISE NOTICE 'column "%" of table % has the default %', column_name, relation, stored;
    RETURN stored;
END
$$;
COMMENT ON FUNCTION hilo.detach(regclass, name) IS
    'undo hilo.attach(): let the column draw by nextval from the same sequence; arguments, result '
    'and errors as there';

-- A partition or a child is left to its parent, unless it has another default.  The parent of
-- a child may be in another schema, where nobody asked for a change.
CREATE FUNCTION hilo._mentioning(schema regnamespace, OUT relation regclass, OUT column_name name)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT c.oid::regclass, a.attname
    FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped,
        hilo._default(c.oid, a.attnum) stored
    WHERE c.relnamespace = schema AND c.relkind IN ('r', 'p', 'v', 'f')
        AND (a.attidentity <> '' OR hilo._mentions_nextval(stored))
        AND NOT EXISTS (
            SELECT
            FROM pg_inherits i
                JOIN pg_class p ON p.oid = i.inhparent AND p.relnamespace = schema
                JOIN pg_attribute b ON b.attrelid = p.oid AND b.attname = a.attname
            WHERE i.inhrelid = c.oid AND b.attidentity = a.attidentity
                AND hilo._default(p.oid, b.attnum) IS NOT DISTINCT FROM stored)
    ORDER BY c.relname, a.attnum
$$;
COMMENT ON FUNCTION hilo._mentioning(regnamespace) IS
    'the columns of a schema that hilo.attach_all() and hilo.detach_all() are about';

CREATE FUNCTION hilo._set_all(
    schema regnamespace,
    function text,
    done text,
    OUT relation regclass,
    OUT column_name name,
    OUT result text)
    RETURNS SETOF record
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    advice text;
BEGIN
    IF schema IS NULL THEN
        RAISE EXCEPTION 'schema must not be null'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    FOR relation, column_name IN SELECT * FROM hilo._mentioning(schema) LOOP
        BEGIN
            column_name := hilo._id_column(relation, column_name);
            PERFORM hilo._set_function(relation, column_name, function);
            result := done;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS advice = PG_EXCEPTION_HINT;
            result := concat_ws('. ', SQLERRM, NULLIF(advice, ''));
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION hilo._set_all(regnamespace, text, text) IS
    'what hilo.attach_all() and hilo.detach_all() do';

CREATE FUNCTION hilo.attach_all(
    schema regnamespace,
    OUT relation regclass,
    OUT column_name name,
    OUT result text)
    RETURNS SETOF record
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM hilo._set_all(schema, 'hilo.nextval', 'attached') $$;
COMMENT ON FUNCTION hilo.attach_all(regnamespace) IS
    'hilo.attach() for each column of a schema whose default mentions nextval, and what came of '
    'it: attached, or the error; partitions and children are covered by the row of their parent '
    'unless they have another default';

CREATE FUNCTION hilo.detach_all(
    schema regnamespace,
    OUT relation regclass,
    OUT column_name name,
    OUT result text)
    RETURNS SETOF record
    LANGUAGE sql
    SET search_path = pg_catalog, pg_temp
AS $$ SELECT * FROM hilo._set_all(schema, 'nextval', 'detached') $$;
COMMENT ON FUNCTION hilo.detach_all(regnamespace) IS
    'hilo.detach() for each column of a schema whose default mentions nextval, and what came of '
    'it: detached, or the error; otherwise as hilo.attach_all()';

--
-- Sync
--
CREATE FUNCTION hilo._highest_id(
    relation regclass,
    column_name name,
    lowest boolean DEFAULT false,
    OUT highest bigint,
    OUT index_missing boolean)
    RETURNS record
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_highest_id_of';
COMMENT ON FUNCTION hilo._highest_id(regclass, name, boolean) IS
    'the highest id of a column, or the lowest, from the ends of indexes of the table, its '
    'partitions and children; null: none; index_missing: one with rows has no such index; 42501 '
    'for who may not read the column, in all rows';

CREATE FUNCTION hilo._move_sequence(sequence regclass, number bigint)
    RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_move_sequence';
COMMENT ON FUNCTION hilo._move_sequence(regclass, bigint) IS
    'move a sequence to a number, or to the next one on its way, unless it is there or beyond; '
    'number null: nowhere; returns where it is; 42501 for who may not UPDATE it, 2200H for a '
    'number beyond its end';

CREATE FUNCTION hilo._last_number(sequence oid, type oid)
    RETURNS bigint
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN q.seqincrement > 0 THEN LEAST(q.seqmax, w.high)
        ELSE GREATEST(q.seqmin, -w.high - 1) END
    FROM pg_sequence q
        JOIN pg_type t ON t.oid = type,
        LATERAL (SELECT CASE COALESCE(NULLIF(t.typbasetype, '0'::oid), t.oid)
            WHEN 'int2'::regtype THEN 32767
            WHEN 'int4'::regtype THEN 2147483647
            ELSE 9223372036854775807 END) w(high)
    WHERE q.seqrelid = sequence
$$;
COMMENT ON FUNCTION hilo._last_number(oid, oid) IS
    'the last number of a sequence that fits a column of that type';

-- A sequence that a column draws from without owning it is passed over only where the column
-- of a parent owns it: that one has the row.
CREATE FUNCTION hilo._synced(
    one regclass,
    OUT relation regclass,
    OUT column_name name,
    OUT sequence regclass,
    OUT problem text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    WITH owned AS (
        SELECT o.relation, o.column_number, s.oid AS sequence
        FROM pg_class s, hilo._owner(s.oid) o
        WHERE s.relkind = 'S' AND o.relation IS NOT NULL
    ), counter AS (
        SELECT relation, column_number, sequence, o.relation IS NOT NULL AS is_owned,
            COALESCE(d.is_alone, false) AS is_alone
        FROM owned o FULL JOIN hilo._drawing() d USING (relation, column_number, sequence)
    )
    SELECT c.relation::regclass, a.attname, c.sequence::regclass,
        CASE WHEN NOT c.is_owned THEN 'the column does not own the sequence'
            WHEN NOT c.is_alone THEN 'the column owns the sequence without drawing from it'
            WHEN t.oid NOT IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
                AND t.typbasetype NOT IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype)
                THEN 'the column is no integer'
            WHEN q.seqcycle THEN 'the sequence cycles' END
    FROM counter c
        JOIN pg_class r ON r.oid = c.relation AND NOT pg_is_other_temp_schema(r.relnamespace)
        JOIN pg_attribute a ON a.attrelid = c.relation AND a.attnum = c.column_number
        JOIN pg_type t ON t.oid = a.atttypid
        JOIN pg_sequence q ON q.seqrelid = c.sequence
    WHERE COALESCE(c.relation = one, true)
        AND (c.is_owned OR NOT EXISTS (
            SELECT FROM hilo._owner(c.sequence) o, hilo._tree(o.relation) t
            WHERE t = c.relation))
    ORDER BY c.relation::regclass::text COLLATE "C", c.column_number, c.sequence
$$;
COMMENT ON FUNCTION hilo._synced(regclass) IS
    'the columns of a table, or of all, that own a sequence or draw from one, and why it is not '
    'moved; null: it is';

CREATE FUNCTION hilo._sync_column(
    relation regclass,
    column_name name,
    sequence regclass,
    problem text,
    OUT was bigint,
    OUT now bigint,
    OUT result text)
    RETURNS record
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    up boolean;
    last bigint;
    ids record;
    statement text;
BEGIN
    IF problem IS NOT NULL THEN
        result := concat('not moved: ', problem);
        RETURN;
    END IF;
    SELECT q.seqincrement > 0, hilo._last_number(sequence, a.atttypid) INTO up, last
    FROM pg_sequence q, pg_attribute a
    WHERE q.seqrelid = sequence AND a.attrelid = relation AND a.attname = column_name;
    ids := hilo._highest_id(relation, column_name, NOT up);
    was := hilo._move_sequence(sequence, NULL);
    now := was;
    statement := format('SELECT setval(%L, %s(%s(%I), (SELECT last_value FROM %s))) FROM %s;',
        sequence, CASE WHEN up THEN 'GREATEST' ELSE 'LEAST' END,
        CASE WHEN up THEN 'max' ELSE 'min' END, column_name, sequence, relation);
    IF ids.index_missing THEN
        result := format('not moved: no index leads with the column; %s', statement);
    ELSIF ids.highest IS NULL THEN
        result := 'no ids';
    ELSIF (CASE WHEN up THEN ids.highest <= was ELSE ids.highest >= was END) THEN
        result := 'not behind the ids';
    ELSIF (CASE WHEN up THEN ids.highest > last ELSE ids.highest < last END) THEN
        result := format('not moved: it ends at %s, and there is the id %s; %s', last, ids.highest,
            format('ALTER SEQUENCE %s AS bigint NO MAXVALUE NO MINVALUE;', sequence));
    ELSIF 2 * abs(ids.highest::numeric - was) > abs(last::numeric - was) THEN
        -- It is mostly a stray id, and the numbers could not be had back.
        result := format('not moved: up to %s is more than half of what is left; %s',
            ids.highest, statement);
    ELSE
        now := hilo._move_sequence(sequence, ids.highest);
        result := 'moved';
    END IF;
END
$$;
COMMENT ON FUNCTION hilo._sync_column(regclass, name, regclass, text) IS
    'what hilo.sync() does for one column and sequence';

--
-- Bound columns
--
CREATE FUNCTION hilo._bound(
    OUT collection text,
    OUT relation oid,
    OUT column_name name,
    OUT type oid,
    OUT named text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT b.collection, t.oid, b.column_name, t.type,
        format('%I.%I', b.schema_name, b.table_name)
    FROM hilo.binding b
        LEFT JOIN LATERAL (
            SELECT c.oid, COALESCE(NULLIF(y.typbasetype, '0'::oid), y.oid) AS type
            FROM pg_namespace n
                JOIN pg_class c ON c.relnamespace = n.oid
                JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
                JOIN pg_type y ON y.oid = a.atttypid
            WHERE n.nspname = b.schema_name
                AND c.relname = b.table_name
                AND a.attname = b.column_name
                AND pg_get_userbyid(c.relowner) = b.owner
        ) t ON true
$$;
COMMENT ON FUNCTION hilo._bound() IS
    'the rows of hilo.binding, and the relation that each names; null: the row does not count';

-- Who may not read the counters gets nulls, and not an error.
CREATE FUNCTION hilo._collection_state(collection text, OUT max bigint, OUT max_value bigint)
    RETURNS record
    LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF has_function_privilege('hilo._counters()', 'EXECUTE') THEN
        SELECT c.max, c.max_value INTO max, max_value
        FROM hilo._counters() c
        WHERE c.name = collection;
    END IF;
END
$$;
COMMENT ON FUNCTION hilo._collection_state(text) IS
    'the max of a collection and its limit; null: there is none, or the caller may not read it';

CREATE FUNCTION hilo._sync_bound(
    relation regclass,
    column_name name,
    type oid,
    collection text,
    OUT was bigint,
    OUT now bigint,
    OUT result text)
    RETURNS record
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    ids record;
    limits record;
BEGIN
    limits := hilo._collection_state(collection);
    was := limits.max;
    now := was;
    IF type IN ('text'::regtype, 'varchar'::regtype) THEN
        result := format('not moved: the ids are text; '
            'SELECT hilo.seed(%L, (SELECT max(hilo_number(%I)) FROM %s));',
            collection, column_name, relation);
        RETURN;
    END IF;
    ids := hilo._highest_id(relation, column_name);
    IF ids.index_missing THEN
        result := format('not moved: no index leads with the column; '
            'SELECT hilo.seed(%L, (SELECT max(%I) FROM %s));',
            collection, column_name, relation);
    ELSIF ids.highest IS NULL THEN
        result := 'no ids';
    ELSIF ids.highest <= COALESCE(was, 0) THEN
        result := 'not behind the ids';
    ELSIF 2 * (ids.highest::numeric - COALESCE(was, 0))
            > COALESCE(limits.max_value, 9223372036854775807)::numeric - COALESCE(was, 0) THEN
        result := format('not moved: up to %s is more than half of what is left; '
            'SELECT hilo.seed(%L, %s);', ids.highest, collection, ids.highest);
    ELSE
        now := hilo.seed(collection, ids.highest);
        result := 'moved';
    END IF;
END
$$;
COMMENT ON FUNCTION hilo._sync_bound(regclass, name, oid, text) IS
    'what hilo.sync() does for one bound column';

CREATE FUNCTION hilo.sync(
    relation regclass,
    OUT column_name name,
    OUT counter text,
    OUT was bigint,
    OUT now bigint,
    OUT result text)
    RETURNS SETOF record
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    sequence regclass;
    problem text;
    type oid;
BEGIN
    IF relation IS NULL THEN
        RAISE EXCEPTION 'relation must not be null'
            USING ERRCODE = 'null_value_not_allowed';
    END IF;
    IF (SELECT c.relkind NOT IN ('r', 'p', 'f') FROM pg_class c WHERE c.oid = relation) THEN
        RAISE EXCEPTION '% is not a table', relation
            USING ERRCODE = 'wrong_object_type';
    END IF;
    FOR column_name, sequence, problem IN
        SELECT s.column_name, s.sequence, s.problem FROM hilo._synced(relation) s
    LOOP
        counter := sequence;
        SELECT c.* INTO was, now, result
        FROM hilo._sync_column(relation, column_name, sequence, problem) c;
        RETURN NEXT;
    END LOOP;
    FOR column_name, type, counter IN
        SELECT b.column_name, b.type, b.collection
        FROM hilo._bound() b
        WHERE b.relation = sync.relation
        ORDER BY b.collection, b.column_name
    LOOP
        SELECT c.* INTO was, now, result
        FROM hilo._sync_bound(relation, column_name, type, counter) c;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION hilo.sync(regclass) IS
    'move what the table''s integer columns own and draw from, or are bound to, to the highest id '
    'there, never down, at once and for good; a row for each counter: number that it was at, is '
    'at now, and what was done or why not; 42501 for who may not read the column, UPDATE the '
    'sequence, or execute hilo.seed()';

-- One table that is locked, or somebody else's, must not keep the others back.
CREATE FUNCTION hilo.sync(
    OUT relation regclass,
    OUT column_name name,
    OUT counter text,
    OUT was bigint,
    OUT now bigint,
    OUT result text)
    RETURNS SETOF record
    LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    sequence regclass;
    problem text;
    type oid;
BEGIN
    FOR relation, column_name, sequence, problem IN
        SELECT s.*
        FROM hilo._synced(NULL) s
        WHERE has_column_privilege(s.relation, s.column_name, 'SELECT')
    LOOP
        counter := sequence;
        BEGIN
            SELECT c.* INTO was, now, result
            FROM hilo._sync_column(relation, column_name, sequence, problem) c;
        EXCEPTION WHEN read_only_sql_transaction THEN
            RAISE;
        WHEN undefined_table THEN
            CONTINUE;
        WHEN OTHERS THEN
            was := NULL;
            now := NULL;
            result := concat('not moved: ', SQLERRM);
        END;
        RETURN NEXT;
    END LOOP;
    FOR relation, column_name, type, counter IN
        SELECT b.relation, b.column_name, b.type, b.collection
        FROM hilo._bound() b
        WHERE has_column_privilege(b.relation, b.column_name, 'SELECT')
        ORDER BY b.collection, b.relation::regclass::text, b.column_name
    LOOP
        BEGIN
            SELECT c.* INTO was, now, result
            FROM hilo._sync_bound(relation, column_name, type, counter) c;
        EXCEPTION WHEN read_only_sql_transaction THEN
            RAISE;
        WHEN undefined_table THEN
            CONTINUE;
        WHEN OTHERS THEN
            was := NULL;
            now := NULL;
            result := concat('not moved: ', SQLERRM);
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION hilo.sync() IS
    'hilo.sync() for each table that the caller may read; an error is the result of its row';

--
-- Columns
--

-- The rules are those of the library when it looks: see index_answers().
CREATE FUNCTION hilo._looked_up(
    relation regclass,
    column_name name,
    OUT index regclass,
    OUT missing regclass)
    RETURNS record
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    WITH part AS (
        SELECT t.oid AS relation, t.relkind, (
            SELECT min(i.indexrelid)
            FROM pg_index i
                JOIN pg_class x ON x.oid = i.indexrelid
                JOIN pg_am m ON m.oid = x.relam
                JOIN pg_opclass o ON o.oid = i.indclass[0]
                JOIN pg_opfamily f ON f.oid = o.opcfamily
            WHERE i.indrelid = t.oid AND i.indkey[0] = a.attnum
                AND i.indisvalid AND i.indisready AND i.indpred IS NULL
                AND m.amname = 'btree'
                AND f.opfname IN ('integer_ops', 'text_ops', 'text_pattern_ops')
                AND f.opfnamespace = 'pg_catalog'::regnamespace) AS index
        FROM hilo._tree(_looked_up.relation) p
            JOIN pg_class t ON t.oid = p
            JOIN pg_attribute a ON a.attrelid = t.oid AND a.attname = column_name
    )
    SELECT COALESCE(min(p.index) FILTER (WHERE p.relation = _looked_up.relation),
            min(p.index))::regclass,
        (min(p.relation) FILTER (WHERE p.relkind <> 'p' AND p.index IS NULL))::regclass
    FROM part p
$$;
COMMENT ON FUNCTION hilo._looked_up(regclass, name) IS
    'the index in which ids of a column are looked up, and a table, partition or child that has '
    'none';

-- The number may be read only with a privilege, and not on a standby if it is not there.
CREATE FUNCTION hilo._number(sequence regclass)
    RETURNS bigint
    LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    SELECT CASE WHEN has_sequence_privilege(sequence, 'USAGE, SELECT')
            AND NOT (pg_is_in_recovery() AND s.relpersistence = 'u')
        THEN pg_sequence_last_value(sequence) END
    FROM pg_class s
    WHERE s.oid = sequence
$$;
COMMENT ON FUNCTION hilo._number(regclass) IS
    'the number that a sequence is at; null: none was drawn, or the caller may not read it';

CREATE FUNCTION hilo._columns(
    OUT relation regclass,
    OUT column_name name,
    OUT counter text,
    OUT draws text,
    OUT number bigint,
    OUT last_number bigint,
    OUT used numeric,
    OUT index regclass,
    OUT why_none text)
    RETURNS SETOF record
    LANGUAGE sql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
    WITH drawing AS MATERIALIZED (
        SELECT d.*, a.attname, a.atttypid,
            CASE WHEN d.draws <> 'hilo.nextval'
                    AND COALESCE(current_setting('hilo.sequences', true), 'off') = 'on'
                THEN 'setting' ELSE d.draws END AS by
        FROM hilo._drawing() d
            JOIN pg_class c ON c.oid = d.relation AND NOT pg_is_other_temp_schema(c.relnamespace)
            JOIN pg_attribute a ON a.attrelid = d.relation AND a.attnum = d.column_number
    ), counter AS (
        SELECT d.*, q.seqcycle, hilo._number(d.sequence) AS number,
            hilo._last_number(d.sequence, d.atttypid) AS last_number,
            CASE WHEN q.seqincrement > 0 THEN q.seqmin ELSE q.seqmax END::numeric AS first,
            EXISTS (SELECT FROM hilo._owner(d.sequence) o, hilo._tree(o.relation) t
                WHERE t = d.relation) AS is_owned
        FROM drawing d
            JOIN pg_sequence q ON q.seqrelid = d.sequence
        -- A child that draws as its parent does has no row of its own.
        WHERE NOT EXISTS (
            SELECT
            FROM pg_inherits i
                JOIN drawing p ON p.relation = i.inhparent
            WHERE i.inhrelid = d.relation AND p.attname = d.attname
                AND p.sequence = d.sequence AND p.draws = d.draws)
    )
    SELECT * FROM (
        SELECT c.relation::regclass, c.attname, c.sequence::regclass::text, c.by, c.number,
            c.last_number,
            round((abs(c.number - c.first) + 1) / (abs(c.last_number - c.first) + 1), 6),
            CASE WHEN w.why IS NULL THEN l.index END,
            CASE WHEN w.why IS NOT NULL THEN w.why
                WHEN l.index IS NULL THEN 'no index leads with the column'
                WHEN l.missing IS NOT NULL
                    THEN format('no index of %s leads with the column', l.missing) END
        FROM counter c,
            LATERAL hilo._looked_up(c.relation, c.attname) l,
            LATERAL (SELECT CASE
                WHEN c.by IN ('nextval', 'identity') THEN 'nextval does not look'
                WHEN NOT c.is_owned THEN 'the sequence is not owned by the column'
                WHEN NOT c.is_alone THEN 'the default is not just a call of nextval'
                WHEN c.seqcycle THEN 'the sequence cycles' END) w(why)
        UNION ALL
        SELECT b.relation::regclass, b.column_name, b.collection, 'bound', v.max, m.last_number,
            round(v.max::numeric / m.last_number, 6),
            l.index,
            CASE WHEN b.relation IS NULL
                    THEN format('%s with this column and owner does not exist', b.named)
                WHEN l.index IS NULL THEN 'no index leads with the column'
                WHEN l.missing IS NOT NULL
                    THEN format('no index of %s leads with the column', l.missing) END
        FROM hilo._bound() b
            CROSS JOIN LATERAL hilo._collection_state(b.collection) v
            CROSS JOIN LATERAL (SELECT LEAST(v.max_value, CASE b.type
                WHEN 'int2'::regtype THEN 32767
                WHEN 'int4'::regtype THEN 2147483647
                ELSE 9223372036854775807 END)) m(last_number)
            LEFT JOIN LATERAL hilo._looked_up(b.relation, b.column_name) l ON true
    ) r(relation, column_name, counter, draws, number, last_number, used, index, why_none)
    ORDER BY r.relation::text COLLATE "C", r.column_name, r.counter
$$;
COMMENT ON FUNCTION hilo._columns() IS 'the rows of the view hilo.columns';

CREATE VIEW hilo.columns AS SELECT * FROM hilo._columns();
COMMENT ON VIEW hilo.columns IS
    'the columns that draw from sequences, and those that are bound to collections; '
    'the row of a table covers the partitions and children '
    'that draw in the same way';
COMMENT ON COLUMN hilo.columns.relation IS 'table';
COMMENT ON COLUMN hilo.columns.column_name IS 'column that draws';
COMMENT ON COLUMN hilo.columns.counter IS
    'sequence that it draws from, or collection that it is bound to';
COMMENT ON COLUMN hilo.columns.draws IS
    'how: nextval, hilo.nextval, identity; bound: a collection looks here; or setting: by nextval '
    'or identity, which are '
    'hilo.nextval here because hilo.sequences is on in this session';
COMMENT ON COLUMN hilo.columns.number IS
    'number that the counter is at; null: none was drawn, or you may not read it';
COMMENT ON COLUMN hilo.columns.last_number IS
    'last number of the counter that fits the column';
COMMENT ON COLUMN hilo.columns.used IS
    'share of the numbers up to the last one that is used up, from 0 to 1';
COMMENT ON COLUMN hilo.columns.index IS
    'index in which ids are looked up before a number is shown; of a partitioned table perhaps '
    'one of its partitions''; null: there is none';
COMMENT ON COLUMN hilo.columns.why_none IS
    'why there is no look, or not in all partitions and children; null: all are looked up';

--
-- Views
--
CREATE FUNCTION hilo._counters(
    OUT name text,
    OUT max bigint,
    OUT max_value bigint,
    OUT flags integer,
    OUT claimed_at timestamptz,
    OUT claim_rate float8,
    OUT range_size bigint,
    OUT max_range_size bigint,
    OUT node_tag text,
    OUT separator text,
    OUT pooled bigint) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME', 'hilo_counters';
COMMENT ON FUNCTION hilo._counters() IS
    'for the views: each collection and identity, as its row and shared memory say; '
    '-infinity: not yet';

CREATE VIEW hilo.status AS
    SELECT
        c.name AS collection,
        c.max,
        c.max_value,
        c.max::float8 / c.max_value::float8 AS share_used,
        NULLIF(c.claimed_at, '-infinity') AS last_claim,
        pg_catalog.round(r.per_hour) AS numbers_per_hour,
        CASE WHEN h.days < '3652500' THEN
            pg_catalog.make_interval(
                days => pg_catalog.floor(h.days)::int,
                secs => pg_catalog.round((h.days - pg_catalog.floor(h.days)) * '86400'))
        END AS time_left,
        NULLIF(c.range_size, 0) AS range_size,
        NULLIF(c.max_range_size, 0) AS max_range_size,
        CASE WHEN c.flags & 2 <> 0 THEN c.node_tag END AS node_tag,
        NULLIF(c.separator, '') AS separator,
        c.pooled
    FROM hilo._counters() c,
        -- The exponent ends at -100, below which float8 would underflow.
        LATERAL (SELECT CASE WHEN pg_catalog.isfinite(c.claimed_at)
            THEN GREATEST('-100', LEAST('0',
                EXTRACT(epoch FROM c.claimed_at - pg_catalog.clock_timestamp())::float8) / '3600')
            END) e(exponent),
        LATERAL (SELECT
            CASE WHEN pg_catalog.isfinite(c.claimed_at) AND c.claim_rate > '1e-200'
                THEN c.claim_rate * pg_catalog.exp(e.exponent)
                ELSE '0' END
        ) r(per_hour),
        LATERAL (SELECT
            (c.max_value - c.max)::float8 / NULLIF(r.per_hour, '0') / '24'
        ) h(days)
    WHERE c.name = '|' OR c.name NOT LIKE '%|';
COMMENT ON VIEW hilo.status IS
    'for each collection, how far it has counted, how fast it grows, and its options';
COMMENT ON COLUMN hilo.status.collection IS
    'name of the collection; | counts the server-side ids';
COMMENT ON COLUMN hilo.status.max IS 'highest number claimed';
COMMENT ON COLUMN hilo.status.max_value IS 'upper limit of max';
COMMENT ON COLUMN hilo.status.share_used IS 'max divided by max_value';
COMMENT ON COLUMN hilo.status.last_claim IS 'time of the newest claim; null: none yet';
COMMENT ON COLUMN hilo.status.numbers_per_hour IS
    'numbers claimed per hour, judging by the last hours';
COMMENT ON COLUMN hilo.status.time_left IS
    'how long the numbers will last at that rate; null: longer than 10,000 years';
COMMENT ON COLUMN hilo.status.range_size IS
    'smallest range of this collection; null: hilo.range_size applies';
COMMENT ON COLUMN hilo.status.max_range_size IS
    'largest range of this collection; null: hilo.max_range_size applies';
COMMENT ON COLUMN hilo.status.node_tag IS
    'node tag of this collection; null: hilo.node_tag applies';
COMMENT ON COLUMN hilo.status.separator IS
    'separator of this collection; null: hilo.identity_parts_separator applies';
COMMENT ON COLUMN hilo.status.pooled IS 'numbers in shared memory that no session holds';

-- The name has no bar, unless functions would take its last character for the separator.
CREATE VIEW hilo.identities AS
    SELECT
        CASE WHEN pg_catalog.right(n.name, pg_catalog.length(n.separator)) = n.separator
            THEN c.name
            ELSE n.name END AS name,
        c.max AS value
    FROM hilo._counters() c,
        LATERAL (SELECT
            pg_catalog.left(c.name, -1),
            pg_catalog.current_setting('hilo.identity_parts_separator')
        ) n(name, separator)
    WHERE c.name LIKE '_%|';
COMMENT ON VIEW hilo.identities IS 'each identity and its value';
COMMENT ON COLUMN hilo.identities.name IS 'name of the identity';
COMMENT ON COLUMN hilo.identities.value IS 'number drawn last, or seeded';

CREATE FUNCTION hilo.ranges(
    OUT collection text,
    OUT low bigint,
    OUT high bigint,
    OUT next bigint,
    OUT size bigint) RETURNS SETOF record
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED
    AS 'MODULE_PATHNAME', 'hilo_ranges';
COMMENT ON FUNCTION hilo.ranges() IS 'ranges of this session that have unused numbers';
CREATE VIEW hilo.ranges AS SELECT * FROM hilo.ranges();
COMMENT ON VIEW hilo.ranges IS 'ranges of this session that have unused numbers';
COMMENT ON COLUMN hilo.ranges.collection IS 'name of the collection';
COMMENT ON COLUMN hilo.ranges.low IS 'first number of the range';
COMMENT ON COLUMN hilo.ranges.high IS 'last number of the range';
COMMENT ON COLUMN hilo.ranges.next IS 'number that will be drawn next';
COMMENT ON COLUMN hilo.ranges.size IS 'size of the range when it was claimed';

--
-- The text of ids
--
CREATE FUNCTION hilo_number(id text) RETURNS bigint
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_number(text) IS
    'the number in a document id: 10 from orders/10-A; null if it has none';

CREATE FUNCTION hilo_format(collection text, number bigint) RETURNS text
    LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'hilo_format';
COMMENT ON FUNCTION hilo_format(text, bigint) IS
    'the document id of a number, with the node tag of the collection, or else of this server';

CREATE FUNCTION hilo_format(collection text, number bigint, node_tag text) RETURNS text
    LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL SAFE
    AS 'MODULE_PATHNAME', 'hilo_format';
COMMENT ON FUNCTION hilo_format(text, bigint, text) IS
    'the document id of a number, with the given node tag';

--
-- Privileges
--
-- Whoever may execute a function that draws may draw from every collection.  PUBLIC does not
-- administer.  A creator who is not a superuser administers collections, and can dump and
-- restore them (COPY requires privileges on the tables, whose triggers merge).  Default
-- privileges of a superuser change none of that.
--
DO $$
DECLARE
    creator name := (SELECT r.rolname
                     FROM pg_catalog.pg_extension e, pg_catalog.pg_roles r
                     WHERE e.extname = 'hilo' AND r.oid = e.extowner AND NOT r.rolsuper);
    administration CONSTANT text := '
        seed_identity_for, hilo.seed, hilo.drop, hilo.configure, hilo.return_range,
        hilo.bind, hilo.unbind, hilo._counters';
    others text := 'PUBLIC';
    granted record;
BEGIN
    FOR granted IN
        SELECT DISTINCT o.type, o.name,
            CASE a.grantee WHEN '0'::oid THEN 'PUBLIC'
                ELSE pg_catalog.quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) END AS role
        FROM (
            SELECT 'pg_catalog.pg_namespace'::pg_catalog.regclass::oid AS class, oid,
                'SCHEMA' AS type, oid::pg_catalog.regnamespace::text AS name,
                nspowner AS owner, nspacl AS acl
            FROM pg_catalog.pg_namespace
            UNION ALL
            SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::oid, oid,
                'TABLE', oid::pg_catalog.regclass::text, relowner, relacl
            FROM pg_catalog.pg_class
            UNION ALL
            SELECT 'pg_catalog.pg_proc'::pg_catalog.regclass::oid, oid,
                'ROUTINE', NULL, proowner, proacl
            FROM pg_catalog.pg_proc) o
        JOIN pg_catalog.pg_depend d
            ON d.classid = o.class AND d.objid = o.oid AND d.deptype = 'e'
                AND d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass::oid
        JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid AND e.extname = 'hilo',
        pg_catalog.aclexplode(o.acl) a
        WHERE a.grantee <> o.owner AND (a.grantee <> '0'::oid OR o.type <> 'ROUTINE')
    LOOP
        IF granted.type = 'ROUTINE' THEN
            others := others || ', ' || granted.role;
        ELSE
            EXECUTE pg_catalog.format('REVOKE ALL ON %s %s FROM %s',
                granted.type, granted.name, granted.role);
        END IF;
    END LOOP;
    EXECUTE pg_catalog.format('REVOKE ALL ON ROUTINE %s, hilo.guard FROM %s',
        administration, others);
    IF creator IS NOT NULL THEN
        EXECUTE pg_catalog.format('
            GRANT EXECUTE ON ROUTINE %2$s TO %1$I WITH GRANT OPTION;
            GRANT SELECT ON hilo.status, hilo.identities TO %1$I WITH GRANT OPTION;
            GRANT SELECT, INSERT ON hilo.hilo, hilo.binding TO %1$I WITH GRANT OPTION',
            creator, administration);
    END IF;
END
$$;
GRANT USAGE ON SCHEMA hilo TO PUBLIC;
GRANT EXECUTE ON FUNCTION hilo._counters() TO pg_monitor;
GRANT SELECT ON hilo.status, hilo.identities TO pg_monitor;
GRANT SELECT ON hilo.ranges, hilo.columns TO PUBLIC;
GRANT SELECT ON hilo.binding TO PUBLIC;

-- The owner of the database can dump and restore it.
GRANT SELECT, INSERT ON hilo.hilo, hilo.binding TO pg_database_owner;

-- The tag distinguishes the ids of servers; those without one of their own share the default.
DO $$
BEGIN
    IF pg_catalog.current_setting('hilo.node_tag') = 'A' AND EXISTS (
            SELECT FROM pg_catalog.pg_subscription s, pg_catalog.pg_database d
            WHERE d.oid = s.subdbid AND d.datname = pg_catalog.current_database()) THEN
        RAISE WARNING
            'this database receives rows from another server, but hilo.node_tag is "A", the default'
            USING HINT = 'Set hilo.node_tag to a tag that only this server has.';
    END IF;
END
$$;
