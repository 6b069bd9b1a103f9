-- setup.sql: functions that call all functions of the extension with hostile arguments.
--
-- For each function in the catalog, so for new ones, too, two functions are made
-- that call it and return the SQLSTATE: call_N as usual, evil_N with a schema in
-- front of the search_path that has objects named like ours and like the
-- system's; and one that does so in a parallel worker.  run_N chooses arguments
-- and calls them.
CREATE EXTENSION hilo;
CREATE SCHEMA fuzz;
GRANT ALL ON SCHEMA fuzz TO PUBLIC;
SET search_path = fuzz, pg_catalog, public;
SET client_min_messages = warning;
SET check_function_bodies = off;

--
-- Values for arguments
--
CREATE FUNCTION fragments() RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    result text[] := ARRAY['', 'orders', 'users', 'canary1x', 'a/', 'a|', '|', '/', '//', '-', '--', '-A', 'A-', '_',
        '''', '"', '''; DROP SCHEMA fuzz; --', '$1', '%s%n%d', '\', E'\\x41', '.', 'fuzz.t_int', 'fuzz.t_text.id', '"Ta b"', 'NULL',
        E'\t', E'\n', E'\x01', E'\x7f', E'\x1f', ' ', '0', '00', '1', '10', '007', 'orders/10-A', 'orders/10', 'orders-10',
        '9223372036854775807', '9223372036854775808', '-9223372036854775808', '99999999999999999999999999',
        '01234567-89ab-cdef-0123-456789abcdef', 'sequence', 'identity', 'identity always', 'nothing', 'public', 'postgres',
        repeat('x', 31), repeat('x', 32), repeat('x', 33), repeat('y', 63), repeat('y', 64), repeat('z', 127),
        repeat('z', 254), repeat('z', 255), repeat('z', 256), repeat('q', 512), repeat('q', 513), repeat('7', 300)];
    -- In the encoding of the database: ordinary and odd characters, the longest
    -- names; in SQL_ASCII, bytes that are no text anywhere.
    bytes text[] := CASE getdatabaseencoding()
        WHEN 'UTF8' THEN ARRAY['c3bc', 'e697a5e69cac', 'f09f9880', 'cc81', 'e280ae', 'efbbbf', 'c4b0',
            repeat('e697a5', 85), repeat('e697a5', 86), repeat('c3bc', 16), repeat('f09f9880', 64)]
        WHEN 'LATIN1' THEN ARRAY['fc', '80', 'a0ff', repeat('ff', 255), repeat('fc', 256)]
        ELSE ARRAY['ff', 'c3', 'e697', 'f09f', '80', '61c3', repeat('e6', 255), repeat('ff', 300)]
    END;
BEGIN
    FOR i IN 1 .. array_length(bytes, 1) LOOP
        result := result || convert_from(decode(bytes[i], 'hex'), getdatabaseencoding());
    END LOOP;
    RETURN result;
END $$;

CREATE FUNCTION a_text() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    f CONSTANT text[] := fuzz.fragments();
    n CONSTANT int := array_length(f, 1);
    r float8 := random();
BEGIN
    CASE
        WHEN r < 0.02 THEN RETURN NULL;
        WHEN r < 0.50 THEN RETURN f[1 + floor(random() * n)::int];
        WHEN r < 0.65 THEN RETURN (ARRAY['orders', 'users', 'Ta b', 't_int', 't_text', 'free1', 'free2', 'other'])[1 + floor(random() * 8)::int];
        WHEN r < 0.80 THEN RETURN 'c' || floor(random() * 300)::int;
        WHEN r < 0.92 THEN RETURN f[1 + floor(random() * n)::int] || f[1 + floor(random() * n)::int];
        WHEN r < 0.98 THEN RETURN f[1 + floor(random() * n)::int] || floor(random() * 100)::int || f[1 + floor(random() * n)::int];
        WHEN r < 0.9995 THEN RETURN f[1 + floor(random() * n)::int] || '/' || floor(random() * 1000)::int || '-' || f[1 + floor(random() * n)::int];
        ELSE RETURN repeat(f[2 + floor(random() * (n - 1))::int], 1048576 / 4);
    END CASE;
END $$;

CREATE FUNCTION a_bigint() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    n CONSTANT bigint[] := '{NULL,-9223372036854775808,-9223372036854775807,-2147483649,-1,0,1,2,3,10,31,32,33,64,100,1048576,1048577,
        2147483646,2147483647,2147483648,4294967296,9007199254740993,4611686018427387904,9223372036854775806,9223372036854775807}';
    r float8 := random();
BEGIN
    CASE
        WHEN r < 0.6 THEN RETURN n[1 + floor(random() * array_length(n, 1))::int];
        WHEN r < 0.9 THEN RETURN floor(random() * 100)::bigint;
        ELSE RETURN floor(random() * 9e18)::bigint;
    END CASE;
END $$;

CREATE FUNCTION a_boolean() RETURNS boolean LANGUAGE sql VOLATILE AS
    $$ SELECT (ARRAY[NULL, true, false, false])[1 + floor(random() * 4)::int] $$;
CREATE FUNCTION a_name() RETURNS name LANGUAGE sql VOLATILE AS
    $$ SELECT (ARRAY[NULL, 'id', 'id', 'id', 'id', 'other', 'ctid', 'tableoid', '', 'public', 'fuzz_plain', 'postgres', 'none', 'pg_monitor',
        'gone', 'a"b', '........pg.dropped.2........'])[1 + floor(random() * 17)::int]::name $$;
CREATE FUNCTION a_time() RETURNS timestamptz LANGUAGE sql VOLATILE AS
    $$ SELECT (ARRAY[NULL, 'infinity', '-infinity', '4714-11-24 00:00:00+00 BC', '294276-12-31 23:59:59.999999+00', '2000-01-01', 'now', 'tomorrow']
        ::timestamptz[])[1 + floor(random() * 8)::int] $$;
CREATE FUNCTION a_relation() RETURNS regclass LANGUAGE sql VOLATILE AS
    $$ SELECT (ARRAY[NULL, '0', '1', '4294967295', 'fuzz.t_int', 'fuzz.t_int', 'fuzz.t_identity', 'fuzz.t_identity',
        'fuzz.t_text', 'fuzz.t_text', 'fuzz."Ta b"', 'fuzz.t_part', 'fuzz.t_part_1',
        'fuzz.t_small', 'fuzz.t_odd', 'fuzz.v', 'fuzz.t_int_pkey', 'pg_class', 'pg_authid',
        'hilo.hilo', 'hilo.binding', 'fuzz.assigned', 'fuzz.s', 'fuzz.s', 'fuzz.s_odd', 'fuzz.t_serial',
        'fuzz.t_serial_id_seq', 'fuzz.t_identity_id_seq']::regclass[])[1 + floor(random() * 28)::int] $$;
CREATE FUNCTION a_schema() RETURNS regnamespace LANGUAGE sql VOLATILE AS
    $$ SELECT (ARRAY[NULL, '0', '4294967295', 'fuzz', 'evil', 'hilo', 'pg_catalog']::regnamespace[])[1 + floor(random() * 7)::int] $$;

-- An expression for an argument of a type; an unknown type is an error,
-- so that new ones have to be added here.
CREATE FUNCTION argument(type oid, name text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN CASE type::regtype
        WHEN 'text'::regtype THEN 'fuzz.a_text()'
        WHEN 'bigint'::regtype THEN 'fuzz.a_bigint()'
        WHEN '"char"'::regtype THEN '(ARRAY[NULL, ''a'', ''d'', '''', ''x''])[1 + floor(random() * 5)::int]::"char"'
        WHEN 'bytea'::regtype THEN '(ARRAY[NULL, '''', ''\x00'', (SELECT tgargs FROM pg_catalog.pg_trigger ORDER BY random() LIMIT 1)]::bytea[])[1 + floor(random() * 4)::int]'
        WHEN 'smallint'::regtype THEN '(fuzz.a_bigint() % 32768)::smallint'
        WHEN 'oid'::regtype THEN 'fuzz.a_relation()::oid'
        WHEN 'pg_node_tree'::regtype THEN '(SELECT adbin FROM pg_catalog.pg_attrdef ORDER BY random() LIMIT 1)'
        WHEN 'integer'::regtype THEN '(fuzz.a_bigint() % 2147483648)::int'
        WHEN 'boolean'::regtype THEN 'fuzz.a_boolean()'
        WHEN 'name'::regtype THEN 'fuzz.a_name()'
        WHEN 'timestamptz'::regtype THEN 'fuzz.a_time()'
        WHEN 'regclass'::regtype THEN 'fuzz.a_relation()'
        WHEN 'regnamespace'::regtype THEN 'fuzz.a_schema()'
        WHEN 'text[]'::regtype THEN 'CASE floor(random() * 4) WHEN 0 THEN NULL WHEN 1 THEN ARRAY[]::text[] WHEN 2 THEN ARRAY[fuzz.a_text()] ELSE ARRAY[fuzz.a_text(), NULL, fuzz.a_text()] END'
        WHEN 'bigint[]'::regtype THEN 'CASE floor(random() * 4) WHEN 0 THEN NULL WHEN 1 THEN ARRAY[]::bigint[] WHEN 2 THEN ARRAY[fuzz.a_bigint()] ELSE ARRAY[fuzz.a_bigint(), NULL, fuzz.a_bigint()] END'
        WHEN 'pg_lsn'::regtype THEN '(ARRAY[NULL, ''0/0'', ''0/1'']::pg_lsn[])[1 + floor(random() * 3)::int]'
    END;
END $$;

--
-- Tables, functions and roles that arguments name
--
CREATE TABLE t_int (id serial PRIMARY KEY, other text);
CREATE TABLE t_identity (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, other text);
CREATE TABLE t_text (id text COLLATE "C" PRIMARY KEY, other text);
CREATE TABLE "Ta b" (id varchar(40) PRIMARY KEY, other bigint, gone int);
ALTER TABLE "Ta b" DROP COLUMN gone;
CREATE TABLE t_small (id smallint PRIMARY KEY);
CREATE SEQUENCE s;
CREATE SEQUENCE s_odd AS smallint INCREMENT -7 CACHE 3 CYCLE;
CREATE TABLE t_serial (id serial PRIMARY KEY, other text);
CREATE TABLE t_odd (id numeric PRIMARY KEY, other uuid);
CREATE TABLE t_part (id bigint, other text) PARTITION BY RANGE (id);
CREATE TABLE t_part_1 PARTITION OF t_part DEFAULT;
CREATE VIEW v AS SELECT * FROM t_int;
CREATE TABLE assigned (id text, other text DEFAULT public.hilo_next('canary_default'));
CREATE TRIGGER assign BEFORE INSERT ON assigned FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO t_small VALUES (32000);
INSERT INTO t_text VALUES ('t_text/7'), ('orders/1'), ('t_text/99999999999999999999'), ('');
GRANT ALL ON t_int, assigned TO PUBLIC;

-- Is the library preloaded?
CREATE FUNCTION preloaded() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER AS
    $$ SELECT current_setting('shared_preload_libraries') = 'hilo' $$;
-- The schema of an attacker.  Its functions report when they are called.
CREATE SCHEMA evil;
GRANT ALL ON SCHEMA evil TO PUBLIC;
DO $$
DECLARE
    trap text := 'LANGUAGE plpgsql AS $x$ BEGIN RAISE EXCEPTION USING ERRCODE = ''EVIL0'', MESSAGE = ''an object of another schema was used''; END $x$';
    f record;
BEGIN
    CREATE TABLE evil.hilo (max bigint, collection text);
    CREATE TABLE evil.binding (collection text);
    CREATE TABLE evil.pg_class (relname text);
    CREATE TABLE evil.pg_extension (extname text);
    CREATE DOMAIN evil.text AS pg_catalog.text CHECK (false);
    CREATE DOMAIN evil.int8 AS pg_catalog.int8 CHECK (false);
    FOR f IN
        SELECT format('evil.%I(%s) RETURNS %s', proname,
                (SELECT string_agg(format_type(t, NULL), ', ') FROM unnest(proargtypes) t),
                CASE WHEN proretset THEN 'SETOF ' ELSE '' END || format_type(prorettype, NULL)) AS signature
        FROM pg_proc
        WHERE pronamespace = 'pg_catalog'::regnamespace AND prokind = 'f' AND NOT proargtypes::oid[] && ARRAY[2281, 2275, 2276]::oid[]
          AND prorettype NOT IN (2281, 2275, 2249) AND proname IN ('nextval', 'setval', 'max', 'lower', 'upper', 'length', 'format', 'texteq', 'textcat',
            'int8eq', 'int8lt', 'int8gt', 'int8pl', 'quote_ident', 'quote_literal', 'has_table_privilege', 'pg_get_serial_sequence', 'hashtext', 'starts_with',
            'strpos', 'substr', 'replace', 'regexp_replace', 'abs', 'gen_random_uuid', 'pg_get_expr', 'format_type', 'to_regclass')
    LOOP
        EXECUTE 'CREATE FUNCTION ' || f.signature || ' ' || trap;
    END LOOP;
    FOR f IN
        SELECT o.oid, oprname, oprleft::regtype AS l, oprright::regtype AS r, oprresult::regtype AS result
        FROM pg_operator o
        WHERE oprnamespace = 'pg_catalog'::regnamespace AND oprname IN ('=', '<>', '<', '>', '<=', '>=', '+', '-', '~~', '||')
          AND (oprleft::regtype::text || ' ' || oprright::regtype::text) ~ '^(text|name|bigint|integer|oid|"char"|boolean) (text|name|bigint|integer|oid|"char"|boolean)$'
    LOOP
        EXECUTE format('CREATE FUNCTION evil.op_%s(pg_catalog.%s, pg_catalog.%s) RETURNS pg_catalog.%s %s', f.oid,
            (SELECT quote_ident(typname) FROM pg_type WHERE oid = f.l), (SELECT quote_ident(typname) FROM pg_type WHERE oid = f.r),
            (SELECT quote_ident(typname) FROM pg_type WHERE oid = f.result), trap);
        EXECUTE format('CREATE OPERATOR evil.%s (FUNCTION = evil.op_%s, LEFTARG = pg_catalog.%s, RIGHTARG = pg_catalog.%s)', f.oprname, f.oid,
            (SELECT quote_ident(typname) FROM pg_type WHERE oid = f.l), (SELECT quote_ident(typname) FROM pg_type WHERE oid = f.r));
    END LOOP;
END $$;

--
-- Calls
--
CREATE TABLE functions AS
    SELECT row_number() OVER (ORDER BY p.oid::regprocedure::text COLLATE "C")::int AS n, p.oid::regprocedure AS function,
        format('%I.%I', p.pronamespace::regnamespace::name, p.proname) AS name,
        p.oid::regprocedure::text ~ '(attach|attach_all|detach|detach_all|_switch|_switch_all|bind|configure|_counters|_readable_counters|ranges|sync|_sync|_uses)\(' AS heavy
    FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
        JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
    WHERE e.extname = 'hilo' AND p.prorettype <> 'trigger'::regtype
        -- What no user can call.
        AND NOT 'internal'::regtype = ANY (p.proargtypes::oid[]);

-- The errors that a call may end in: those of the reference, without those of a
-- system out of resources (58P01, XX000) and a cancel, and P0001, which a
-- function bound here raises.
CREATE FUNCTION may_be(state text) RETURNS boolean LANGUAGE sql IMMUTABLE AS
    $$ SELECT state IN ('0A000', '22004', '22023', '2200H', '25000', '25001', '25006', '42601', '2BP01', '39P01', '39P03', '40001', '42501', '42P01', '42703', '42704', '42883',
        '42710', '42804', '42809', '55000', '55006', '22P02', '42602', '08000', '08001', '08006', '08P01', '2F003', '42939', '53200', '55P03', 'P0001') $$;

-- What is drawn from the collections named canary may come only once.  What is
-- written here goes with the transaction, and so does what shown() has.
CREATE TABLE shown (collection text, low bigint, high bigint);
GRANT ALL ON shown TO PUBLIC;

DO $$
DECLARE
    f record;
    types oid[];
    names text[];
    type oid;
    verb text;
    params text;
    vars text;
    choice text;
    list text;
    texts text;
    body text;
BEGIN
    FOR f IN SELECT * FROM fuzz.functions LOOP
        SELECT proargtypes::oid[], proargnames INTO types, names FROM pg_proc WHERE oid = f.function;
        verb := CASE WHEN EXISTS (SELECT FROM pg_proc WHERE oid = f.function AND prokind = 'p') THEN 'CALL' ELSE 'PERFORM' END;
        params := ''; vars := ''; choice := ''; list := ''; texts := '''';
        FOR i IN 1 .. coalesce(array_length(types, 1), 0) LOOP
            type := types[i - 1 + array_lower(types, 1)];
            IF fuzz.argument(type, names[i]) IS NULL THEN
                RAISE 'no arguments are known of type %', type::regtype;
            END IF;
            params := params || CASE WHEN i > 1 THEN ', ' ELSE '' END || format('a%s pg_catalog.%I', i, (SELECT typname FROM pg_type WHERE oid = type));
            vars := vars || format('a%s %s; ', i, type::regtype);
            choice := choice || format('a%s := %s; ', i, fuzz.argument(type, names[i]));
            list := list || CASE WHEN i > 1 THEN ', ' ELSE '' END || 'a' || i;
            texts := texts || CASE WHEN i > 1 THEN ', ' ELSE '' END || '%';
        END LOOP;
        texts := texts || ''' ' || CASE WHEN list = '' THEN '' ELSE ', ' ||
            (SELECT string_agg(format('left(quote_nullable(a%s::text), 300)', i), ', ') FROM generate_series(1, array_length(types, 1)) i) END;

        body := format('BEGIN %s %s(%s); RETURN NULL; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE; END', verb, f.name, list);
        EXECUTE format('CREATE FUNCTION fuzz.call_%s(%s) RETURNS pg_catalog.text LANGUAGE plpgsql AS %L', f.n, params, body);
        EXECUTE format('CREATE FUNCTION fuzz.evil_%s(%s) RETURNS pg_catalog.text LANGUAGE plpgsql SET search_path = evil, pg_catalog AS %L', f.n, params, body);
        -- It is not parallel safe at all: the workers must refuse by themselves.
        EXECUTE format('CREATE FUNCTION fuzz.worker_%s(%s) RETURNS pg_catalog.text PARALLEL SAFE LANGUAGE plpgsql AS %L', f.n, params,
            format('BEGIN %s %s(%s); RETURN NULL; END', verb, f.name, list));

        EXECUTE format($run$
            CREATE FUNCTION fuzz.run_%1$s(calls int, evil boolean) RETURNS int LANGUAGE plpgsql AS $x$
            DECLARE
                state text;
                failed int := 0;
                %2$s
            BEGIN
                FOR i IN 1 .. calls LOOP
                    %3$s
                    IF evil THEN
                        state := fuzz.evil_%1$s(%4$s);
                    ELSE
                        state := fuzz.call_%1$s(%4$s);
                    END IF;
                    IF state IS NOT NULL THEN
                        failed := failed + 1;
                        IF NOT fuzz.may_be(state) THEN
                            RAISE WARNING 'FINDING: %% of %5$s: %%', state, concat_ws(', ', 'evil ' || evil, %6$s);
                        END IF;
                    END IF;
                END LOOP;
                RETURN failed;
            END $x$ $run$,
            f.n, vars, choice, list, replace(f.function::text, '%', '%%'),
            coalesce((SELECT string_agg(format('left(quote_nullable(a%s::text), 300)', i), ', ') FROM generate_series(1, array_length(types, 1)) i), ''''''));
        EXECUTE format($run$
            CREATE FUNCTION fuzz.in_worker_%1$s() RETURNS text LANGUAGE plpgsql AS $x$
            DECLARE
                result text;
                %2$s
            BEGIN
                %3$s
                EXECUTE 'SELECT max(fuzz.worker_%1$s(' || concat_ws(', ' %4$s) || ')) FROM fuzz.many WHERE n > 0' INTO result;
                RETURN NULL;
            EXCEPTION WHEN OTHERS THEN
                IF NOT fuzz.may_be(SQLSTATE) THEN
                    RAISE WARNING 'FINDING: %% in a worker: %5$s: %%', SQLSTATE, SQLERRM;
                END IF;
                RETURN SQLSTATE;
            END $x$ $run$,
            f.n, vars, choice,
            coalesce((SELECT string_agg(format(', coalesce(quote_literal(a%1$s::text), ''NULL'') || ''::%2$s''', i, types[i - 1 + array_lower(types, 1)]::regtype), '') FROM generate_series(1, array_length(types, 1)) i), ''),
            replace(f.function::text, '%', '%%'));
    END LOOP;
END $$;

CREATE TABLE many AS SELECT generate_series(1, 100) AS n;
GRANT SELECT ON many TO PUBLIC;
ANALYZE many;

--
-- Between the calls
--

-- Other settings: extremes, mostly.
CREATE FUNCTION change_settings() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    sizes CONSTANT text[] := '{1,2,32,1000,1048576,2147483647}';
    -- Where the library is loaded before there is an encoding, ASCII.
    odd text := CASE WHEN fuzz.preloaded() THEN '~' ELSE convert_from(CASE getdatabaseencoding() WHEN 'UTF8' THEN '\xc2b7'::bytea ELSE '\xb7' END, getdatabaseencoding()) END;
BEGIN
    PERFORM set_config('hilo.debug_range_size', sizes[1 + floor(random() * 6)::int], true),
        set_config('hilo.max_range_size', sizes[1 + floor(random() * 6)::int], true),
        set_config('hilo.auto_create', (random() < 0.8)::text, true),
        set_config('hilo.node_tag', (ARRAY['A', '', '_', repeat('Z', 32)])[1 + floor(random() * 4)::int], true),
        set_config('hilo.server_prefix', (ARRAY['', '', 'North/', repeat('x', 127) || '/', '-'])[1 + floor(random() * 5)::int], true),
        set_config('hilo.identity_parts_separator', (ARRAY['/', '/', '/', '-', ' ', '''', odd])[1 + floor(random() * 7)::int], true),
        set_config('synchronous_commit', (ARRAY['on', 'off', 'local'])[1 + floor(random() * 3)::int], true);
END $$;

-- Draw in all ways from the collections that are never seeded or dropped.
CREATE FUNCTION draw_canaries() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    name text;
    low bigint;
    high bigint;
BEGIN
    FOR i IN 1 .. 20 LOOP
        name := 'canary_' || floor(random() * 5)::int;
        low := NULL;
        CASE floor(random() * 6)::int
            WHEN 0 THEN low := public.hilo_number(public.hilo_next(name, 'A'));
            WHEN 1 THEN low := public.hilo_number(public.hilo_document_id(name));
            WHEN 2 THEN SELECT r.low, r.high INTO low, high FROM public.hilo_reserve(name, 1) r;
            WHEN 3 THEN SELECT r.low, r.high INTO low, high FROM hilo.next_range(name, 7) r;
            WHEN 4 THEN low := hilo.next_hi(name, 1);
            ELSE low := public.hilo_next_number(name);
        END CASE;
        IF low IS NOT NULL THEN
            INSERT INTO fuzz.shown VALUES (name, low, coalesce(high, low));
        END IF;
        high := NULL;
    END LOOP;
END $$;

-- What a counter was at the end of the last batch.
CREATE TABLE counters_before AS SELECT * FROM hilo.hilo LIMIT 0;

-- Check the state.
CREATE PROCEDURE check_state() LANGUAGE plpgsql AS $$
DECLARE
    bad text;
    number bigint;
BEGIN
    CREATE TEMP TABLE counters_now ON COMMIT DROP AS SELECT * FROM hilo.hilo;
    FOR bad IN
        SELECT format('%s: max %s of %s, %s ahead; before %s', quote_literal(left(n.collection, 60)), n.max, n.max_value, n.ahead, b.max)
        FROM counters_now n LEFT JOIN fuzz.counters_before b USING (collection)
        WHERE n.max < 0 OR n.max > n.max_value OR n.ahead < 0 OR n.ahead > n.max_value - n.max
           -- Only a seed or a drop lowers it, with a new epoch; or a return of the newest claim.
           OR n.epoch = b.epoch AND n.max < CASE b.claim_low WHEN 0 THEN b.max ELSE least(b.max, b.claim_low - 1) END
        UNION ALL
        SELECT format('%s is gone', quote_literal(left(b.collection, 60)))
        FROM fuzz.counters_before b LEFT JOIN counters_now n USING (collection) WHERE n.epoch IS NULL
        UNION ALL
        SELECT format('%s rows of %s', count(*), collection) FROM counters_now GROUP BY collection HAVING count(*) > 1
        UNION ALL
        SELECT format('%s shown twice: %s to %s, and %s', collection, low, high, before)
        FROM (SELECT *, lag(high) OVER (PARTITION BY collection ORDER BY low, high) AS before FROM fuzz.shown) s WHERE low <= before
        UNION ALL
        SELECT format('%s shows %s, above %s', s.collection, s.high, n.max)
        FROM (SELECT collection, max(high) AS high FROM fuzz.shown GROUP BY collection) s
            LEFT JOIN counters_now n ON n.collection = s.collection
        WHERE n.max IS NULL OR n.max < s.high
    LOOP
        RAISE WARNING 'FINDING: %', bad;
    END LOOP;
    TRUNCATE fuzz.counters_before;
    INSERT INTO fuzz.counters_before SELECT * FROM counters_now;
    PERFORM public.hilo_next_number('canary_end'), public.next_identity('canary_end');
    BEGIN
        PERFORM public.next_server_side_id('a/');
    EXCEPTION WHEN sequence_generator_limit_exceeded THEN
        -- Correct if a call has seeded them at the end.
        IF NOT EXISTS (SELECT FROM hilo.hilo WHERE collection = '|' AND max = max_value) THEN
            RAISE;
        END IF;
    END;
    SELECT count(*) INTO number FROM hilo.status;
    SELECT count(*) INTO number FROM hilo.identities;
    SELECT count(*) INTO number FROM hilo.ranges;
    COMMIT;
END $$;

-- Rows by hand, tables with our triggers, cursors, input of the type.
CREATE FUNCTION statements(count int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    names CONSTANT text[] := ARRAY['hilo', 'binding'];
    statement text;
    failed int := 0;
    c refcursor;
BEGIN
    FOR i IN 1 .. count LOOP
        statement := CASE floor(random() * 13)::int
            WHEN 0 THEN format('INSERT INTO hilo.hilo (max, max_value, collection, claim_rate, claimed_at, ahead, flags)
                VALUES (%L, %L, %L, %L, %L, %L, %s)',
                fuzz.a_bigint(), fuzz.a_bigint(), fuzz.a_text() || CASE WHEN random() < 0.3 THEN '|' ELSE '' END,
                (ARRAY['0', 'NaN', 'Infinity', '-1', '1e308', '5'])[1 + floor(random() * 6)::int],
                fuzz.a_time(), fuzz.a_bigint(), floor(random() * 40)::int)
            WHEN 1 THEN format('INSERT INTO hilo.hilo (collection, node_tag, separator, range_size, max_range_size, home, epoch, flags)
                VALUES (%L, %L, %L, %L, %L, %L, %L, %L)', fuzz.a_text(), fuzz.a_name(), (ARRAY['', '', '_', '.', 'x', '|', NULL])[1 + floor(random() * 7)::int], (fuzz.a_bigint() % 2147483648)::int, (fuzz.a_bigint() % 2147483648)::int,
                fuzz.a_bigint(), fuzz.a_bigint(), (ARRAY[NULL, 0, 1, 2, 4, 8, 16, 31, -1])[1 + floor(random() * 9)::int])
            WHEN 2 THEN format('INSERT INTO hilo.binding (collection, schema_name, table_name, column_name, owner) VALUES (%L, %L, %L, %L, %L)',
                fuzz.a_text(), fuzz.a_name(), fuzz.a_name(), fuzz.a_name(), fuzz.a_name())
            WHEN 3 THEN 'SELECT * FROM hilo.columns, hilo.identities'
            WHEN 4 THEN format('%s hilo.%s', (ARRAY['DELETE FROM', 'TRUNCATE', 'DELETE FROM ONLY'])[1 + floor(random() * 3)::int], names[1 + floor(random() * 2)::int])
            WHEN 5 THEN format('UPDATE hilo.hilo SET claim = 0 WHERE random() < 2')
            WHEN 6 THEN format('INSERT INTO fuzz.assigned (id) VALUES (%L)', fuzz.a_text())
            WHEN 7 THEN format('INSERT INTO fuzz.t_identity (id) OVERRIDING SYSTEM VALUE VALUES (%L) ON CONFLICT DO NOTHING', fuzz.a_bigint())
            WHEN 8 THEN format('INSERT INTO fuzz.t_text (id) VALUES (%L) ON CONFLICT DO NOTHING', 't_text/' || coalesce(fuzz.a_bigint(), 5))
            WHEN 9 THEN format('UPDATE fuzz.t_int SET id = %s WHERE id IN (SELECT min(id) FROM fuzz.t_int)', floor(random() * 2147483647)::bigint)
            WHEN 11 THEN 'INSERT INTO fuzz.t_int (other) SELECT ''x'' FROM generate_series(1, 5)'
            ELSE NULL
        END;
        BEGIN
            IF statement IS NULL THEN
                OPEN c FOR SELECT public.hilo_next(x), public.hilo_next_number(x) FROM unnest(ARRAY['orders', 'users', fuzz.a_text()]) x;
                MOVE 2 FROM c;
                MOVE 2 FROM c;
                CLOSE c;
            ELSE
                EXECUTE statement;
            END IF;
        EXCEPTION WHEN OTHERS THEN
            failed := failed + 1;
            -- Of the server: a text is too long for a column or an index, a value not unique, or NULL where a row needs one.
            IF NOT fuzz.may_be(SQLSTATE) AND SQLSTATE NOT IN ('22001', '54000', '23505', '23502', '23514', '22003') THEN
                RAISE WARNING 'FINDING: % (%) in: %', SQLSTATE, SQLERRM, left(statement, 400);
            END IF;
        END;
    END LOOP;
    RETURN failed;
END $$;

-- One batch: the functions in turn, as a random role, with random settings.
CREATE FUNCTION batch(seed float8, calls int, may_write boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    f record;
    failed int := 0;
    result int;
    done int := 0;
    count int;
    role text;
    state text;
BEGIN
    PERFORM setseed(seed);
    FOR f IN SELECT * FROM fuzz.functions ORDER BY random() LOOP
        IF random() < 0.3 THEN
            PERFORM fuzz.change_settings();
        END IF;
        role := (ARRAY['none', 'none', 'none', 'none', 'fuzz_plain', 'fuzz_member'])[1 + floor(random() * 6)::int];
        PERFORM set_config('role', role, true);
        count := calls / CASE WHEN f.heavy THEN 30 ELSE 1 END;
        EXECUTE format('SELECT fuzz.run_%s($1, random() < 0.3)', f.n) INTO result USING count;
        failed := failed + result;
        done := done + count;
        -- A tree cannot be given as text.
        IF random() < 0.05 AND f.function::text !~ 'pg_node_tree' THEN
            EXECUTE format('SELECT fuzz.in_worker_%s()', f.n) INTO state;
            failed := failed + (state IS NOT NULL)::int;
            done := done + 1;
        END IF;
        PERFORM set_config('role', 'none', true);
    END LOOP;
    failed := failed + fuzz.statements(calls / 20);
    done := done + calls / 20;
    PERFORM set_config('hilo.identity_parts_separator', '/', true), set_config('hilo.server_prefix', '', true), set_config('hilo.auto_create', 'on', true),
        set_config('hilo.max_range_size', '1048576', true);
    IF may_write THEN
        PERFORM fuzz.draw_canaries();
    END IF;
    RETURN format('calls %s failed %s', done, failed);
END $$;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fuzz TO PUBLIC;
CALL check_state();
