-- liar.sql: a hub that answers with whatever comes to its mind, or not at all.
CREATE FUNCTION public.answer() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    IF random() < 0.1 THEN
        RAISE EXCEPTION USING ERRCODE = (ARRAY['55000', '42501', '57P01', '22023'])[1 + floor(random() * 4)::int], MESSAGE = E'%s%n\n', DETAIL = '%d';
    END IF;
    IF random() < 0.02 THEN
        PERFORM pg_terminate_backend(pg_backend_pid());
    END IF;
    IF random() < 0.02 THEN
        PERFORM pg_sleep(1);
    END IF;
    RETURN (ARRAY[NULL, -9223372036854775808, -1, 0, 1, 100, 200, 1000000, 9223372036854775806, 9223372036854775807])[1 + floor(random() * 10)::int];
END $$;
CREATE OR REPLACE FUNCTION public.hilo_lease(collection text, size bigint, floor bigint DEFAULT 0, OUT low bigint, OUT high bigint) RETURNS record
    LANGUAGE sql AS $$ SELECT public.answer(), public.answer() $$;
CREATE OR REPLACE FUNCTION public.identity_lease(name text, floor bigint DEFAULT 0) RETURNS bigint
    LANGUAGE sql AS $$ SELECT public.answer() $$;
