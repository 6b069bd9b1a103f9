-- common.sql: where the results of run.sh are kept, and what times statements.
\set QUIET on
CREATE EXTENSION hilo;
CREATE SCHEMA bench;

-- x is whatever else is varied: clients, collections.
CREATE TABLE bench.result (part text, name text, x int DEFAULT 0, round int,
    value float8, unit text);

-- Statements to be timed.  With n it is the time of one of n; base names the
-- candidate whose time is subtracted: it may be there several times.
CREATE TABLE bench.candidate (pos int GENERATED ALWAYS AS IDENTITY, part text, name text,
    x int DEFAULT 0, query text, afterwards text DEFAULT '', base text, n bigint);

-- Time all candidates of a part, one after the other, in each round starting
-- with another one.  Round 0 is not counted.  cpu: count the time of the processor, not of the clock.
CREATE PROCEDURE bench.run(part text, first_round int, last_round int, cpu bool DEFAULT false)
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
    c record;
    total int := (SELECT count(*) FROM bench.candidate WHERE candidate.part = part);
    began timestamptz;
    cpu_began float8;
    raw jsonb;
    seconds float8;
BEGIN
    FOR round IN first_round .. last_round LOOP
        raw := '[]';
        FOR c IN SELECT * FROM bench.candidate WHERE candidate.part = part
                 ORDER BY (row_number() OVER (ORDER BY pos) + round * 5) % total LOOP
            began := clock_timestamp();
            cpu_began := bench_cpu();
            EXECUTE c.query;
            COMMIT;
            seconds := CASE WHEN cpu THEN bench_cpu() - cpu_began
                ELSE extract(epoch FROM clock_timestamp() - began) END;
            raw := raw || jsonb_build_object('name', c.name, 'x', c.x, 'base', c.base, 'n', c.n, 's', seconds);
            IF c.afterwards <> '' THEN
                EXECUTE c.afterwards;
            END IF;
            COMMIT;
        END LOOP;
        IF round > 0 THEN
            INSERT INTO bench.result
                WITH r AS (
                    SELECT name, x, base, n, avg(s) AS s
                    FROM jsonb_to_recordset(raw) AS t(name text, x int, base text, n bigint, s float8)
                    GROUP BY name, x, base, n)
                SELECT part, r.name, r.x, round,
                    (r.s - coalesce(b.s, 0)) * CASE WHEN r.n > 0 THEN 1e9 / r.n ELSE 1 END,
                    CASE WHEN r.n > 0 THEN 'ns' ELSE 's' END
                FROM r LEFT JOIN r b ON b.name = r.base AND b.x = r.x;
        END IF;
        COMMIT;
        RAISE INFO '%: round % of %', part, round, last_round;
    END LOOP;
END $$;

CREATE VIEW bench.summary AS
    SELECT part, name, x, unit, count(*)::int AS rounds,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS median,
        min(value) AS lowest, max(value) AS highest
    FROM bench.result GROUP BY part, name, x, unit;

-- One round's values of two candidates beside each other; no ratio where the loop hid one.
CREATE VIEW bench.pair AS
    SELECT a.part, a.x, a.round, a.name AS a_name, b.name AS b_name,
        a.value AS a, b.value AS b, greatest(a.value, 0) / nullif(greatest(b.value, 0), 0) AS ratio
    FROM bench.result a JOIN bench.result b USING (part, x, round);

CREATE SEQUENCE seq_1 CACHE 1;
CREATE SEQUENCE seq_32 CACHE 32;
CREATE SEQUENCE seq_1000 CACHE 1000;
CREATE SEQUENCE seq_32768 CACHE 32768;
CREATE FUNCTION bench_count(text) RETURNS bigint AS :'module' LANGUAGE c;
CREATE FUNCTION bench_text(text) RETURNS text AS :'module' LANGUAGE c;
CREATE FUNCTION bench_count_from(bigint) RETURNS void AS :'module' LANGUAGE c;
CREATE FUNCTION bench_cpu() RETURNS float8 AS :'module' LANGUAGE c;
