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
-- It may exist already, because a schema dump or a migration tool creates it first.  An empty
-- one that is the creator's is replaced, so that it has no other owner and no privileges.
--
DO $$
BEGIN
    IF pg_catalog.current_schema() <> 'hilo' THEN
        IF EXISTS (
            SELECT FROM pg_catalog.pg_namespace n, pg_catalog.pg_extension e
            WHERE n.nspname = 'hilo' AND e.extname = 'hilo'
                AND pg_catalog.pg_has_role(e.extowner, n.nspowner, 'USAGE')
                AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                                WHERE d.refobjid = n.oid AND d.refclassid = n.tableoid)) THEN
            DROP SCHEMA hilo;
        END IF;
        CREATE SCHEMA hilo;
    ELSIF (SELECT pg_catalog.pg_get_userbyid(n.nspowner) <> CURRENT_USER
           FROM pg_catalog.pg_namespace n
           WHERE n.nspname = 'hilo') THEN
        -- Its owner could replace these tables.
        RAISE insufficient_privilege USING
            MESSAGE = 'schema "hilo" belongs to another role',
            HINT = 'Create the extension in another schema, or as the owner of this one.';
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
COMMENT ON TABLE hilo.hilo IS 'counters of collections, identities and server-side ids';
COMMENT ON COLUMN hilo.hilo.max IS 'highest number claimed';
COMMENT ON COLUMN hilo.hilo.max_value IS 'upper limit of max';
COMMENT ON COLUMN hilo.hilo.claim_low IS 'lowest number of a client''s claim, if newest; else 0';
COMMENT ON COLUMN hilo.hilo.claim IS 'random number of that claim; else 0';
COMMENT ON COLUMN hilo.hilo.epoch IS 'random number; a new one ends all earlier ranges';
COMMENT ON COLUMN hilo.hilo.home IS 'table and database of the last change';
COMMENT ON COLUMN hilo.hilo.claimed_at IS 'time of the newest claim; -infinity: none yet';
COMMENT ON COLUMN hilo.hilo.claim_rate IS 'numbers claimed, those of an hour ago counted 1/e';
COMMENT ON COLUMN hilo.hilo.hub IS 'in row |: random number of the hub; 0: none';
COMMENT ON COLUMN hilo.hilo.opening IS 'in row |: how often the hub was opened';
COMMENT ON COLUMN hilo.hilo.opening_id IS 'in row |: random number of that opening';
COMMENT ON COLUMN hilo.hilo.floor IS 'in row |: max of a new counter';
COMMENT ON COLUMN hilo.hilo.ahead IS 'numbers above max that the WAL covers';
COMMENT ON COLUMN hilo.hilo.logged_at IS 'LSN of the record that covers them, if it is the page''s';
COMMENT ON COLUMN hilo.hilo.logged_in IS 'relfilenode of the table at that record';
COMMENT ON COLUMN hilo.hilo.range_size IS 'smallest range; 0: one number';
COMMENT ON COLUMN hilo.hilo.max_range_size IS 'largest range; 0: the setting';
COMMENT ON COLUMN hilo.hilo.flags IS 'sum of: 1 dropped, 2 has a tag, 4 shared, 8 hub';
COMMENT ON COLUMN hilo.hilo.node_tag IS 'own node tag; in row |, server or place of a hub';
COMMENT ON COLUMN hilo.hilo.separator IS 'own separator; empty: the setting';
COMMENT ON COLUMN hilo.hilo.collection IS 'name';
COMMENT ON INDEX hilo.hilo_collection_idx IS 'finds the row of a name';

--
-- Bindings: ordinary rows, written by the library
--
-- The names are not quoted.  A row counts as long as the table has that owner.
--
CREATE TABLE hilo.binding (
    collection text COLLATE "C" NOT NULL,
    schema_name name NOT NULL,
    table_name name NOT NULL,
    column_name name NOT NULL,
    owner name NOT NULL
) USING heap;
CREATE INDEX binding_collection_idx ON hilo.binding USING btree (collection);
COMMENT ON TABLE hilo.binding IS 'columns that hold the ids of collections, by hilo.bind()';
COMMENT ON COLUMN hilo.binding.collection IS 'collection, and identity';
COMMENT ON COLUMN hilo.binding.schema_name IS 'schema of the table';
COMMENT ON COLUMN hilo.binding.table_name IS 'name of the table';
COMMENT ON COLUMN hilo.binding.column_name IS 'name of the column';
COMMENT ON COLUMN hilo.binding.owner IS 'owner of the table; the row counts as long as that is so';
COMMENT ON INDEX hilo.binding_collection_idx IS 'finds the bindings of a collection';

--
-- Guards
--
CREATE FUNCTION hilo.guard() RETURNS trigger
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_guard';
COMMENT ON FUNCTION hilo.guard() IS 'trigger: INSERT merges a row; other changes are refused';

CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE ON hilo.hilo
    FOR EACH ROW EXECUTE FUNCTION hilo.guard('hilo.seed', 'hilo.drop');
CREATE TRIGGER guard_table BEFORE UPDATE OR DELETE OR TRUNCATE ON hilo.hilo
    FOR EACH STATEMENT EXECUTE FUNCTION hilo.guard('hilo.seed', 'hilo.drop');
CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE ON hilo.binding
    FOR EACH ROW EXECUTE FUNCTION hilo.guard('hilo.bind', 'hilo.unbind');
CREATE TRIGGER guard_table BEFORE UPDATE OR DELETE OR TRUNCATE ON hilo.binding
    FOR EACH STATEMENT EXECUTE FUNCTION hilo.guard('hilo.bind', 'hilo.unbind');
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
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_next';
COMMENT ON FUNCTION hilo_next(text) IS
    'draw the next document id of a collection, with its node tag or this server''s: orders/1-A';

CREATE FUNCTION hilo_next(collection text, node_tag text) RETURNS text
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_next_tagged';
COMMENT ON FUNCTION hilo_next(text, text) IS
    'draw the next document id of a collection, with a node tag; an empty one gives orders/1';

CREATE FUNCTION hilo_next_number(collection text) RETURNS bigint
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_next_number(text) IS 'draw the next number of a collection';

CREATE FUNCTION hilo_last_number(collection text) RETURNS bigint
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_last_number(text) IS 'the number of a collection this session drew last';

CREATE FUNCTION hilo_reserve(collection text, count bigint, OUT low bigint, OUT high bigint)
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_reserve(text, bigint) IS 'claim count consecutive numbers, low to high';

CREATE FUNCTION hilo.next_hi(collection text, capacity bigint) RETURNS bigint
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_next_hi';
COMMENT ON FUNCTION hilo.next_hi IS 'classic hi/lo: claim (hi-1)*capacity+1 .. hi*capacity';

CREATE FUNCTION hilo.next_range(
    collection text, last_batch_size bigint DEFAULT 0,
    last_range_at timestamptz DEFAULT NULL, last_max bigint DEFAULT 0,
    OUT prefix text, OUT low bigint, OUT high bigint, OUT last_size bigint,
    OUT server_tag text, OUT range_at timestamptz, OUT claim bigint)
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_next_range';
COMMENT ON FUNCTION hilo.next_range IS 'claim a range of numbers for a client program';

CREATE FUNCTION hilo.return_range(collection text, last bigint, high bigint, claim bigint)
    RETURNS boolean LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_return_range';
COMMENT ON FUNCTION hilo.return_range IS
    'put back the numbers of a range above the last one that was used; false if others followed';

--
-- Sequences
--
CREATE FUNCTION hilo.nextval(sequence regclass) RETURNS bigint
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_nextval';
COMMENT ON FUNCTION hilo.nextval IS
    'draw the next number of a sequence, which is on disk then, and no id of the column';

CREATE PROCEDURE hilo.horizon(sequence regclass, INOUT horizon bigint DEFAULT NULL)
    LANGUAGE C AS 'MODULE_PATHNAME', 'hilo_horizon';
COMMENT ON PROCEDURE hilo.horizon IS 'wait until no new row up to a number can appear; return it';

-- It refuses calls that the setting has not made; minor releases differ in whether SQL can
-- make one.
CREATE FUNCTION hilo._identity_nextval(sequence regclass, internal) RETURNS bigint
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_identity_nextval';
COMMENT ON FUNCTION hilo._identity_nextval IS 'draw for an identity column, by the setting';

--
-- Administer collections
--
CREATE FUNCTION hilo.seed(collection text, value bigint, force boolean DEFAULT false)
    RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_seed';
COMMENT ON FUNCTION hilo.seed(text, bigint, boolean) IS
    'move a collection to at least value, or set it with force; returns the highest number now';

CREATE FUNCTION hilo.drop(collection text) RETURNS boolean
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_drop';
COMMENT ON FUNCTION hilo.drop IS
    'drop a collection, or an identity (companies|); false if there is none';

CREATE FUNCTION hilo.configure(
    collection text, range_size bigint DEFAULT NULL, max_range_size bigint DEFAULT NULL,
    max_value bigint DEFAULT NULL, node_tag text DEFAULT NULL, separator text DEFAULT NULL,
    reset boolean DEFAULT false) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_configure';
COMMENT ON FUNCTION hilo.configure IS 'set options of a collection; null leaves one unchanged';

CREATE FUNCTION hilo.bind(collection text, relation regclass, column_name name) RETURNS void
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_bind';
COMMENT ON FUNCTION hilo.bind IS 'say which column has the ids of a collection and identity';

CREATE FUNCTION hilo.unbind(collection text, relation regclass DEFAULT NULL) RETURNS boolean
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_unbind';
COMMENT ON FUNCTION hilo.unbind IS 'undo hilo.bind() for a table, or all; false if none was bound';

--
-- Identities and server-side ids
--
CREATE FUNCTION next_identity(name text) RETURNS text
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity(text) IS 'draw the next id of an identity: companies/4';

CREATE FUNCTION next_identity_for(name text) RETURNS bigint
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_for(text) IS 'draw the next number of an identity: 4';

CREATE FUNCTION seed_identity_for(name text, value bigint, force boolean DEFAULT false)
    RETURNS bigint LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION seed_identity_for(text, bigint, boolean) IS
    'move an identity to at least value, or set it with force; returns the highest number now';

CREATE FUNCTION next_identity_free(prefix text) RETURNS text
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_free(text) IS 'draw the id of an identity that no row has';

CREATE FUNCTION next_identity_free_for(prefix text, OUT value bigint, OUT tries integer)
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_identity_free_for(text) IS 'draw a number of an identity that no row has';

CREATE FUNCTION next_server_side_id(prefix text) RETURNS text
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION next_server_side_id(text) IS
    'draw the next server-side id: companies/0000000000000000027-A';

CREATE FUNCTION hilo_document_id(collection text, requested text DEFAULT NULL) RETURNS text
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_document_id(text, text) IS
    'the id for a document: as requested, or drawn for null, an empty text, prefix/ or identity|';

CREATE FUNCTION hilo.assign_id() RETURNS trigger
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_assign_id';
COMMENT ON FUNCTION hilo.assign_id IS 'trigger before insert: assign the id that the row requests';

--
-- Attach and detach
--
-- Names with an underscore are the extension's own business.  The functions in SQL run as the
-- caller; with their search_path, names and operators are the server's.
--
CREATE FUNCTION hilo._draws(expression pg_node_tree, OUT sequence oid, OUT function text)
    LANGUAGE C STABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'hilo_draws_of';
COMMENT ON FUNCTION hilo._draws IS 'sequence and function of a default that is just one call';

-- The default may be that of a domain.  The setting makes the server write it in one way.  A
-- default has no columns in it, so its relation need not be named, which would wait for locks.
CREATE FUNCTION hilo._default(relation regclass, column_number int2) RETURNS text
    LANGUAGE sql STABLE STRICT PARALLEL SAFE
    SET search_path = pg_catalog, pg_temp
    SET quote_all_identifiers = off
AS $$
    SELECT pg_get_expr(COALESCE(d.adbin, t.typdefaultbin), 0)
    FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = relation AND a.attnum = column_number AND a.attgenerated = ''
$$;
COMMENT ON FUNCTION hilo._default(regclass, int2) IS 'the default of a column, or of its domain';

-- Only a default that is exactly nextval of one sequence is changed, because then nothing is
-- lost when it is changed back.
CREATE FUNCTION hilo._switch(relation regclass, column_name name, function text) RETURNS text
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    calls CONSTANT text := '(?<![.])[[:<:]](hilo[.])?nextval[(]';
    attribute pg_attribute;
    part record;
    wanted text;
    stored text;
BEGIN
    SELECT a.* INTO attribute
    FROM pg_attribute a
        LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary AND i.indnkeyatts = 1
    WHERE a.attrelid = relation AND a.attnum > 0
        AND COALESCE(a.attname = column_name, a.attnum = i.indkey[0]);
    IF relation IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'relation must not be null';
    ELSIF NOT FOUND AND column_name IS NULL THEN
        RAISE 'table % has no single-column primary key', relation
            USING ERRCODE = 'undefined_object', HINT = 'Name the column as the second argument.';
    ELSIF NOT FOUND THEN
        RAISE 'column "%" of table % does not exist', column_name, relation
            USING ERRCODE = 'undefined_column';
    ELSIF attribute.attidentity <> '' THEN
        RAISE 'column "%" of table % is an identity column', attribute.attname, relation
            USING ERRCODE = 'feature_not_supported',
                HINT = 'The setting hilo.sequences says how it draws.';
    END IF;
    FOR part IN
        WITH RECURSIVE tree(relation) AS (
            SELECT _switch.relation::oid
            UNION
            SELECT i.inhrelid
            FROM tree t JOIN pg_inherits i ON i.inhparent = t.relation
        )
        SELECT c.oid::regclass AS relation, c.relname AS name, w.sequence, w.function,
            hilo._default(a.attrelid, a.attnum) AS stored
        FROM tree t JOIN pg_class c ON c.oid = t.relation
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = attribute.attname
            LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
            CROSS JOIN hilo._draws(d.adbin) w
        ORDER BY c.oid <> _switch.relation, c.oid
    LOOP
        IF part.function <> function THEN
            EXECUTE format('ALTER TABLE ONLY %s ALTER COLUMN %I SET DEFAULT %s(%L::regclass)',
                part.relation, attribute.attname, function, part.sequence::regclass);
        ELSIF part.function IS NULL AND part.relation <> relation THEN
            RAISE NOTICE 'column "%" of table % keeps its default: %',
                attribute.attname, part.relation, COALESCE(part.stored, 'none');
        ELSIF part.function IS NULL THEN
            wanted := CASE
                WHEN part.stored ~ calls
                    THEN regexp_replace(part.stored, calls, function || '(', 'g')
                WHEN attribute.atttypid IN ('text'::regtype, 'varchar'::regtype)
                    THEN format('hilo_next(%L)', part.name)
                ELSE format('%s(%L)', function, COALESCE(pg_get_serial_sequence(
                    relation::text, attribute.attname), 'name of a sequence'))
            END;
            RAISE 'column "%" of table % has %', attribute.attname, relation,
                COALESCE('the default ' || part.stored, 'no default')
                USING ERRCODE = 'feature_not_supported',
                    HINT = format('Write ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s;',
                        relation, attribute.attname, wanted);
        END IF;
    END LOOP;
    stored := hilo._default(relation, attribute.attnum);
    RAISE NOTICE 'column "%" of table % has the default %', attribute.attname, relation, stored;
    RETURN stored;
END
$$;
COMMENT ON FUNCTION hilo._switch(regclass, name, text) IS 'what hilo.attach() and hilo.detach() do';

CREATE FUNCTION hilo.attach(relation regclass, column_name name DEFAULT NULL) RETURNS text
    LANGUAGE sql RETURN hilo._switch(relation, column_name, 'hilo.nextval');
COMMENT ON FUNCTION hilo.attach IS 'let a default call hilo.nextval instead of nextval; returns it';

CREATE FUNCTION hilo.detach(relation regclass, column_name name DEFAULT NULL) RETURNS text
    LANGUAGE sql RETURN hilo._switch(relation, column_name, 'nextval');
COMMENT ON FUNCTION hilo.detach IS 'let a default call nextval again; returns it';

CREATE FUNCTION hilo._switch_all(schema regnamespace, function text, done text)
    RETURNS TABLE (relation regclass, column_name name, result text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
    SET client_min_messages = warning
AS $$
DECLARE
    advice text;
BEGIN
    IF schema IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'schema must not be null';
    END IF;
    FOR relation, column_name IN
        SELECT c.oid, a.attname
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
        WHERE c.relnamespace = schema AND c.relkind IN ('r', 'p', 'v', 'f')
            AND (a.attidentity <> '' OR hilo._default(c.oid, a.attnum) ~ '[[:<:]]nextval[(]')
        ORDER BY c.relname, a.attnum
    LOOP
        BEGIN
            PERFORM hilo._switch(relation, column_name, function);
            result := done;
        EXCEPTION WHEN OTHERS THEN
            GET STACKED DIAGNOSTICS advice = PG_EXCEPTION_HINT;
            result := concat_ws('. ', SQLERRM, NULLIF(advice, ''));
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION hilo._switch_all IS 'what hilo.attach_all() and hilo.detach_all() do';

CREATE FUNCTION hilo.attach_all(schema regnamespace)
    RETURNS TABLE (relation regclass, column_name name, result text)
    LANGUAGE sql
    BEGIN ATOMIC SELECT * FROM hilo._switch_all(schema, 'hilo.nextval', 'attached'); END;
COMMENT ON FUNCTION hilo.attach_all IS 'hilo.attach() for each default that mentions nextval';

CREATE FUNCTION hilo.detach_all(schema regnamespace)
    RETURNS TABLE (relation regclass, column_name name, result text)
    LANGUAGE sql
    BEGIN ATOMIC SELECT * FROM hilo._switch_all(schema, 'nextval', 'detached'); END;
COMMENT ON FUNCTION hilo.detach_all IS 'hilo.detach() for each default that mentions nextval';

--
-- Columns
--

-- The views of counters are not for PUBLIC, but hilo.columns is.
CREATE FUNCTION hilo._readable_counters()
    RETURNS TABLE (collection text, max bigint, max_value bigint)
    LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED
    SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF has_function_privilege('hilo._counters()', 'EXECUTE') THEN
        RETURN QUERY SELECT c.name, c.max, c.max_value FROM hilo._counters() c;
    END IF;
END
$$;
COMMENT ON FUNCTION hilo._readable_counters() IS 'the counters, if the caller may read them';

CREATE FUNCTION hilo._uses()
    RETURNS TABLE (relation oid, column_name name, sequence oid, counter text, draws text,
        max bigint, first_number bigint, last_number bigint, is_text boolean, problem text)
    LANGUAGE sql VOLATILE PARALLEL RESTRICTED
    SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE
    -- Each sequence that a default names as a constant; draws is null if it calls no nextval
    defaults(sequence, relation, column_name, is_alone, draws) AS (
        SELECT q.seqrelid, a.attrelid, a.attname, w.function IS NOT NULL,
            COALESCE(w.function,
                substring(hilo._default(d.adrelid, d.adnum) FROM '[[:<:]]((hilo[.])?nextval)[(]'))
        FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
            JOIN pg_depend n ON n.classid = 'pg_attrdef'::regclass AND n.objid = d.oid
            JOIN pg_sequence q ON n.refclassid = 'pg_class'::regclass AND n.refobjid = q.seqrelid
            CROSS JOIN hilo._draws(d.adbin) w
    ),
    -- The columns that own sequences, and those of their partitions and children, which are
    -- looked at only if the owner just draws
    owned(sequence, relation, column_name, is_owner, draws) AS (
        SELECT q.seqrelid, a.attrelid, a.attname, true,
            CASE WHEN o.deptype = 'i' THEN 'identity' WHEN d.is_alone THEN d.draws END
        FROM pg_sequence q
            JOIN pg_depend o ON o.classid = 'pg_class'::regclass AND o.objid = q.seqrelid
            JOIN pg_attribute a ON a.attrelid = o.refobjid AND a.attnum = o.refobjsubid
            LEFT JOIN defaults d ON (d.sequence, d.relation, d.column_name)
                = (q.seqrelid, a.attrelid, a.attname)
        WHERE o.refclassid = 'pg_class'::regclass AND o.deptype IN ('a', 'i')
        UNION
        SELECT o.sequence, i.inhrelid, o.column_name, false, o.draws
        FROM owned o JOIN pg_inherits i ON i.inhparent = o.relation AND o.draws IS NOT NULL
    ),
    -- A partition or child that draws as the owner does has no row of its own.
    uses AS (
        SELECT relation, column_name, sequence, sequence::regclass::text AS counter,
            COALESCE(d.draws, o.draws) AS draws,
            CASE
                WHEN o.sequence IS NULL THEN 'the column does not own the sequence'
                WHEN COALESCE(d.is_alone, o.draws = 'identity') THEN NULL
                WHEN d.draws IS NULL THEN 'the column owns the sequence without drawing from it'
                ELSE 'the default is not just a call of nextval'
            END AS problem
        FROM owned o FULL JOIN defaults d USING (sequence, relation, column_name)
            JOIN pg_class c ON c.oid = relation
        WHERE COALESCE(o.is_owner OR d.draws <> o.draws, d.draws IS NOT NULL)
            AND NOT pg_is_other_temp_schema(c.relnamespace)
        UNION ALL
        SELECT c.oid, b.column_name, NULL, b.collection, 'bound',
            CASE WHEN c.oid IS NULL THEN format(
                '%I.%I with this column and owner does not exist', b.schema_name, b.table_name) END
        FROM hilo.binding b
            LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0)
                ON (n.nspname, c.relname, a.attname, pg_get_userbyid(c.relowner))
                    = (b.schema_name, b.table_name, b.column_name, b.owner)
    )
    SELECT u.relation, u.column_name, u.sequence, u.counter,
        CASE WHEN u.draws IN ('nextval', 'identity')
            AND current_setting('hilo.sequences', true) = 'on' THEN 'setting' ELSE u.draws END,
        c.max,
        CASE WHEN q.seqincrement < 0 THEN q.seqmax ELSE COALESCE(q.seqmin, 1) END,
        CASE
            WHEN q.seqincrement < 0 THEN GREATEST(q.seqmin, -t.highest - 1)
            ELSE LEAST(q.seqmax, c.max_value, t.highest, 9223372036854775807)
        END,
        u.sequence IS NULL AND a.attlen < 0,
        COALESCE(u.problem, CASE WHEN q.seqcycle THEN 'the sequence cycles' END)
    FROM uses u
        LEFT JOIN hilo._readable_counters() c ON c.collection = u.counter AND u.sequence IS NULL
        LEFT JOIN pg_sequence q ON q.seqrelid = u.sequence
        LEFT JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.column_name
        LEFT JOIN (VALUES (2, 32767), (4, 2147483647)) AS t(length, highest) ON t.length = a.attlen
$$;
COMMENT ON FUNCTION hilo._uses() IS 'columns that draw from or own sequences, or are bound';

CREATE VIEW hilo.columns AS
    WITH RECURSIVE uses AS MATERIALIZED (SELECT * FROM hilo._uses() WHERE draws IS NOT NULL),
    -- The tables, partitions and children where hilo looks
    part(root, column_name, relation) AS (
        SELECT u.relation, u.column_name, u.relation
        FROM uses u
        WHERE u.problem IS NULL AND u.draws NOT IN ('nextval', 'identity')
        UNION
        SELECT p.root, p.column_name, i.inhrelid
        FROM part p JOIN pg_catalog.pg_inherits i ON i.inhparent = p.relation
    ),
    looked(relation, column_name, index, missing) AS (
        SELECT p.root, p.column_name,
            COALESCE(pg_catalog.min(i.indexrelid) FILTER (WHERE p.relation = p.root),
                pg_catalog.min(i.indexrelid)),
            pg_catalog.min(p.relation) FILTER (WHERE i.indexrelid IS NULL AND c.relkind <> 'p')
        FROM part p JOIN pg_catalog.pg_class c ON c.oid = p.relation
            JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attname = p.column_name
            -- The rules are those of index_answers() in the library.  The families are
            -- integer_ops, text_ops and text_pattern_ops of btree; text_ops also has the type
            -- name, 19, which is not looked at.
            LEFT JOIN (pg_catalog.pg_index i JOIN pg_catalog.pg_opclass o
                    ON o.oid = i.indclass[0] AND o.opcfamily IN ('1976', '1994', '2095')
                        AND o.opcintype <> '19'
                LEFT JOIN pg_catalog.pg_collation l ON l.oid = i.indcollation[0])
                ON i.indrelid = c.oid AND i.indkey[0] = a.attnum AND i.indpred IS NULL
                    AND i.indisvalid AND i.indisready AND l.collisdeterministic IS NOT FALSE
        GROUP BY p.root, p.column_name
    )
    SELECT u.relation::regclass AS relation, u.column_name, u.counter, u.draws, n.number,
        u.last_number,
        pg_catalog.round((pg_catalog.abs(n.number::numeric - u.first_number::numeric) + '1')
            / (pg_catalog.abs(u.last_number::numeric - u.first_number::numeric) + '1'), 6) AS used,
        l.index::regclass AS index,
        CASE
            WHEN u.draws IN ('nextval', 'identity') THEN 'nextval does not look'
            WHEN u.problem IS NOT NULL THEN u.problem
            WHEN l.index IS NULL THEN 'no index leads with the column'
            WHEN l.missing IS NOT NULL THEN
                pg_catalog.format('no index of %s leads with the column', l.missing::regclass)
        END AS why_none
    FROM uses u LEFT JOIN looked l USING (relation, column_name)
        LEFT JOIN pg_catalog.pg_class s ON s.oid = u.sequence,
        LATERAL (SELECT CASE
            WHEN u.sequence IS NULL THEN NULLIF(u.max, 0)
            WHEN pg_catalog.has_sequence_privilege(u.sequence, 'USAGE, SELECT')
                AND NOT (s.relpersistence = 'u' AND pg_catalog.pg_is_in_recovery())
                THEN pg_catalog.pg_sequence_last_value(u.sequence)
        END) n(number)
    ORDER BY u.relation::regclass::text COLLATE "C", u.column_name, u.counter;
COMMENT ON VIEW hilo.columns IS 'columns that draw from sequences, or are bound to collections';
COMMENT ON COLUMN hilo.columns.relation IS 'table';
COMMENT ON COLUMN hilo.columns.column_name IS 'column that draws, or is bound';
COMMENT ON COLUMN hilo.columns.counter IS 'sequence that it draws from, or its collection';
COMMENT ON COLUMN hilo.columns.draws IS
    'nextval, hilo.nextval, identity or bound; setting: hilo.nextval because of hilo.sequences';
COMMENT ON COLUMN hilo.columns.number IS 'number it is at; null: none, or not yours to read';
COMMENT ON COLUMN hilo.columns.last_number IS 'last number of the counter that fits the column';
COMMENT ON COLUMN hilo.columns.used IS 'share of the numbers that fit; above 1: past them';
COMMENT ON COLUMN hilo.columns.index IS 'index in which hilo looks for ids; null: it does not look';
COMMENT ON COLUMN hilo.columns.why_none IS 'why hilo does not look, or not in the whole table';

--
-- Sync
--
CREATE FUNCTION hilo._highest_id(relation regclass, column_name name, lowest boolean DEFAULT false,
    OUT highest bigint, OUT index_missing boolean)
    LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_highest_id_of';
COMMENT ON FUNCTION hilo._highest_id IS 'highest or lowest id of a column; index_missing: unknown';

CREATE FUNCTION hilo._move_sequence(sequence regclass, number bigint) RETURNS bigint
    LANGUAGE C VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'hilo_move_sequence';
COMMENT ON FUNCTION hilo._move_sequence IS 'move a sequence, never back; returns where it is';

CREATE FUNCTION hilo._sync(one regclass, all_tables boolean)
    RETURNS TABLE (relation regclass, column_name name, counter text, was bigint, now bigint,
        result text)
    LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
    SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    u record;
    highest bigint;
    index_missing boolean;
    at numeric;
    statement text;
BEGIN
    IF one IS NULL AND NOT all_tables THEN
        RAISE null_value_not_allowed USING MESSAGE = 'relation must not be null';
    END IF;
    FOR u IN
        SELECT s.*, s.last_number > s.first_number AS up
        FROM hilo._uses() s
        WHERE s.relation = one
            OR all_tables AND has_column_privilege(s.relation, s.column_name, 'SELECT')
        ORDER BY s.sequence IS NULL, s.relation::regclass::text COLLATE "C", s.column_name
    LOOP
        relation := u.relation;
        column_name := u.column_name;
        counter := u.counter;
        was := u.max;
        statement := format(CASE
            WHEN u.is_text
                THEN 'SELECT hilo.seed(%1$L, (SELECT max(hilo_number(%2$I)) FROM %3$s));'
            WHEN u.sequence IS NULL THEN 'SELECT hilo.seed(%1$L, (SELECT max(%2$I) FROM %3$s));'
            ELSE 'SELECT setval(%1$L, %4$s(%2$I), (SELECT last_value FROM %1$s))) FROM %3$s;'
        END, counter, column_name, relation,
            CASE WHEN u.up THEN 'GREATEST(max' ELSE 'LEAST(min' END);
        BEGIN
            IF u.problem IS NULL AND NOT u.is_text THEN
                SELECT * INTO highest, index_missing
                FROM hilo._highest_id(relation, column_name, NOT u.up);
                IF u.sequence IS NOT NULL THEN
                    was := hilo._move_sequence(u.sequence, NULL);
                END IF;
            END IF;
            now := was;
            at := COALESCE(was, 0);
            -- An id beyond half of what is left is mostly a mistake, and no counter moves back.
            result := CASE
                WHEN u.problem IS NOT NULL THEN 'not moved: ' || u.problem
                WHEN u.is_text THEN 'not moved: the ids are text; ' || statement
                WHEN index_missing THEN 'not moved: no index leads with the column; ' || statement
                WHEN highest IS NULL THEN 'no ids'
                WHEN highest = at OR (highest < at) = u.up THEN 'not behind the ids'
                WHEN 2 * abs(highest - at) > abs(u.last_number - at) THEN format(
                    'not moved: the id %s is more than half way to the end, %s; %s',
                    highest, u.last_number, statement)
            END;
            IF result IS NULL AND u.sequence IS NULL THEN
                now := hilo.seed(counter, highest);
            ELSIF result IS NULL THEN
                now := hilo._move_sequence(u.sequence, highest);
            END IF;
            result := COALESCE(result, 'moved');
        EXCEPTION WHEN OTHERS THEN
            -- One table that is locked, or of another role, does not keep the others back.
            IF NOT all_tables OR SQLSTATE = '25006' THEN
                RAISE;
            END IF;
            CONTINUE WHEN SQLSTATE = '42P01';   -- It was dropped meanwhile.
            was := NULL;
            now := NULL;
            result := format('not moved: %s', SQLERRM);
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION hilo._sync(regclass, boolean) IS 'what hilo.sync() does';

CREATE FUNCTION hilo.sync(relation regclass)
    RETURNS TABLE (column_name name, counter text, was bigint, now bigint, result text)
    LANGUAGE sql BEGIN ATOMIC
        SELECT s.column_name, s.counter, s.was, s.now, s.result FROM hilo._sync(relation, false) s;
    END;
COMMENT ON FUNCTION hilo.sync(regclass) IS
    'move the counters of a table up to its highest ids; a row for each says so, or why not';

CREATE FUNCTION hilo.sync()
    RETURNS TABLE (relation regclass, column_name name, counter text, was bigint, now bigint,
        result text)
    LANGUAGE sql BEGIN ATOMIC SELECT * FROM hilo._sync(NULL, true); END;
COMMENT ON FUNCTION hilo.sync() IS 'hilo.sync() for each table that you may read';

--
-- Views
--
CREATE FUNCTION hilo._counters()
    RETURNS TABLE (name text, max bigint, max_value bigint, flags integer, claimed_at timestamptz,
        claim_rate float8, range_size bigint, max_range_size bigint, node_tag text, separator text,
        pooled bigint)
    LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'hilo_counters';
COMMENT ON FUNCTION hilo._counters() IS 'collections and identities, for views';

CREATE VIEW hilo.status AS
    SELECT c.name AS collection, c.max, c.max_value,
        c.max::float8 / c.max_value::float8 AS share_used,
        NULLIF(c.claimed_at, '-infinity') AS last_claim,
        pg_catalog.round(r.per_hour) AS numbers_per_hour,
        CASE WHEN h.hours < '87660000' THEN pg_catalog.justify_hours(
            pg_catalog.round(h.hours * '3600') * '1 second'::interval) END AS time_left,
        NULLIF(c.range_size, 0) AS range_size, NULLIF(c.max_range_size, 0) AS max_range_size,
        CASE WHEN c.flags & 2 <> 0 THEN c.node_tag END AS node_tag,
        NULLIF(c.separator, '') AS separator, c.pooled
    FROM hilo._counters() c,
        -- The rate falls by a factor of e per hour; after more than 100 it would underflow.
        LATERAL (SELECT CASE WHEN pg_catalog.isfinite(c.claimed_at)
            THEN c.claim_rate * pg_catalog.exp(GREATEST('-100', LEAST('0',
                EXTRACT(epoch FROM c.claimed_at - pg_catalog.clock_timestamp())::float8 / '3600')))
            ELSE '0' END) r(per_hour),
        LATERAL (SELECT (c.max_value - c.max)::float8 / NULLIF(r.per_hour, '0')) h(hours)
    WHERE c.name = '|' OR c.name NOT LIKE '%|';
COMMENT ON VIEW hilo.status IS 'how far each collection has counted, how fast, and its options';
COMMENT ON COLUMN hilo.status.collection IS 'name of the collection; | counts server-side ids';
COMMENT ON COLUMN hilo.status.max IS 'highest number claimed';
COMMENT ON COLUMN hilo.status.max_value IS 'upper limit of max';
COMMENT ON COLUMN hilo.status.share_used IS 'max divided by max_value';
COMMENT ON COLUMN hilo.status.last_claim IS 'time of the newest claim; null: none yet';
COMMENT ON COLUMN hilo.status.numbers_per_hour IS 'numbers claimed an hour, by the last hours';
COMMENT ON COLUMN hilo.status.time_left IS 'time until they are used up; null: over 10,000 years';
COMMENT ON COLUMN hilo.status.range_size IS 'smallest range; null: one number, 32 for clients';
COMMENT ON COLUMN hilo.status.max_range_size IS 'largest range; null: hilo.max_range_size applies';
COMMENT ON COLUMN hilo.status.node_tag IS 'node tag; null: hilo.node_tag applies';
COMMENT ON COLUMN hilo.status.separator IS 'separator; null: hilo.identity_parts_separator';
COMMENT ON COLUMN hilo.status.pooled IS 'numbers in shared memory that no session holds';

-- The name has no bar, unless functions would take its last character for the separator.
CREATE VIEW hilo.identities AS
    SELECT
        CASE pg_catalog.right(c.name, 2)
            WHEN pg_catalog.current_setting('hilo.identity_parts_separator') || '|' THEN c.name
            ELSE pg_catalog.left(c.name, -1)
        END AS name,
        c.max AS value
    FROM hilo._counters() c
    WHERE c.name LIKE '_%|';
COMMENT ON VIEW hilo.identities IS 'each identity and its value';
COMMENT ON COLUMN hilo.identities.name IS 'name of the identity';
COMMENT ON COLUMN hilo.identities.value IS 'number drawn last, or seeded';

CREATE FUNCTION hilo.ranges()
    RETURNS TABLE (collection text, low bigint, high bigint, next bigint, size bigint)
    LANGUAGE C VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'hilo_ranges';
COMMENT ON FUNCTION hilo.ranges() IS 'the rows of the view hilo.ranges';
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
    LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION hilo_number(text) IS 'the number in a document id: 10 from orders/10-A';

CREATE FUNCTION hilo_format(collection text, number bigint) RETURNS text
    LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'hilo_format';
COMMENT ON FUNCTION hilo_format(text, bigint) IS 'the document id of a number';

CREATE FUNCTION hilo_format(collection text, number bigint, node_tag text) RETURNS text
    LANGUAGE C STABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'hilo_format';
COMMENT ON FUNCTION hilo_format(text, bigint, text) IS 'the document id of a number, with a tag';

--
-- Privileges
--
-- A role that may execute a function that draws may draw from every collection.  PUBLIC does not
-- administer, nor does a role that has default privileges on what a superuser creates.  A creator
-- who is not a superuser administers collections, and can dump and restore them: COPY needs
-- privileges on the tables, whose triggers merge.
--
DO $$
DECLARE
    administration CONSTANT text := 'seed_identity_for(text, bigint, boolean), hilo.seed,
        hilo.drop, hilo.configure, hilo.return_range, hilo.bind, hilo.unbind, hilo._counters';
    others text := (
        SELECT pg_catalog.string_agg(pg_catalog.quote_ident(r.rolname), ', ')
        FROM pg_catalog.pg_roles r, pg_catalog.pg_default_acl d,
            pg_catalog.aclexplode(d.defaclacl) a
        WHERE r.oid = a.grantee AND r.rolname <> CURRENT_USER);
    creator name := (
        SELECT r.rolname
        FROM pg_catalog.pg_extension e, pg_catalog.pg_roles r
        WHERE e.extname = 'hilo' AND r.oid = e.extowner AND NOT r.rolsuper);
BEGIN
    EXECUTE pg_catalog.format('
        REVOKE ALL ON SCHEMA hilo FROM %1$s;
        REVOKE ALL ON hilo.hilo, hilo.binding, hilo.status, hilo.identities, hilo.ranges,
            hilo.columns FROM %1$s;
        REVOKE ALL ON ROUTINE %2$s, hilo.guard FROM %1$s',
        pg_catalog.concat_ws(', ', 'PUBLIC', others), administration);
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
GRANT SELECT ON hilo.binding, hilo.columns, hilo.ranges TO PUBLIC;

-- The owner of the database can dump and restore it.
GRANT SELECT, INSERT ON hilo.hilo, hilo.binding TO pg_database_owner;
