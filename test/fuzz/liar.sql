-- liar.sql: a hub that answers at random, or not at all.
CREATE FUNCTION public.answer() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF random() < 0.05 THEN
        RAISE EXCEPTION USING ERRCODE = (ARRAY['55000', '42501', '57P01', '22023'])[1 + floor(random() * 4)::int], MESSAGE = E'%s%n\n', DETAIL = '%d';
    END IF;
    IF random() < 0.01 THEN
        PERFORM pg_terminate_backend(pg_backend_pid());
    END IF;
    IF random() < 0.01 THEN
        PERFORM pg_sleep(1);
    END IF;
    RETURN (ARRAY[NULL, -9223372036854775808, -1, 0, 1, 100, 200, 1000000, 9223372036854775806, 9223372036854775807])[1 + floor(random() * 10)::int];
END $$;
-- Mostly true, because a lie about these is noticed before anything else is checked.
CREATE FUNCTION public.mostly(truth bigint) RETURNS bigint LANGUAGE sql AS
    $$ SELECT CASE WHEN random() < 0.9 THEN truth ELSE public.answer() END $$;
-- Its row may have other types, and more columns, than the extension's.
ALTER EXTENSION hilo DROP FUNCTION hilo.lease;
DROP FUNCTION hilo.lease;
CREATE FUNCTION hilo.lease(
    collection text, size bigint, at_least bigint DEFAULT 0, known_lineage bigint DEFAULT 0, known_term bigint DEFAULT 0, known_term_id bigint DEFAULT 0, member text DEFAULT '', started bigint DEFAULT NULL,
    OUT low bigint, OUT high bigint, OUT epoch bigint, OUT range_size bigint, OUT max_range_size bigint, OUT node_tag text, OUT separator text,
    OUT lineage bigint, OUT term bigint, OUT term_id bigint, OUT refusal text, OUT hint text, OUT wants_report boolean) RETURNS record
    LANGUAGE sql AS $$
        SELECT public.answer(), public.answer(), public.mostly(7), public.mostly(0), public.mostly(0),
            (ARRAY[NULL, 'B', '', '%s-', repeat('t', 100)])[1 + floor(random() * 5)::int],
            (ARRAY[NULL, NULL, '_', '.', '%s-', 'x'])[1 + floor(random() * 6)::int],
            public.mostly(5), public.mostly(1), public.mostly(9), CASE WHEN random() < 0.1 THEN '%s' END, NULL, random() < 0.5
    $$;
