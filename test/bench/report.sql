-- report.sql: the targets, and functions that make Markdown.
\set QUIET on

-- A number with three digits that count, or all before the point.
CREATE FUNCTION bench.show(v float8) RETURNS text LANGUAGE sql AS $$
    SELECT CASE WHEN abs(v) >= 100 THEN to_char(v, 'FM999,999,999,990')
        WHEN abs(v) >= 10 THEN to_char(v, 'FM90.0')
        WHEN abs(v) >= 0.1 OR v = 0 THEN to_char(v, 'FM0.00')
        ELSE to_char(v, 'FM0.0000') END
$$;

CREATE FUNCTION bench.show(median float8, lowest float8, highest float8) RETURNS text LANGUAGE sql AS $$
    SELECT bench.show(median) || ' (' || bench.show(lowest) || ' … ' || bench.show(highest) || ')'
$$;

-- How a compares with b, each round with itself.
CREATE TYPE bench.spread AS (median float8, lowest float8, highest float8);
CREATE FUNCTION bench.ratio(part text, a text, b text, x int DEFAULT 0) RETURNS bench.spread LANGUAGE sql AS $$
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY p.ratio), min(p.ratio), max(p.ratio)
    FROM bench.pair p WHERE (p.part, p.a_name, p.b_name, p.x) = (ratio.part, ratio.a, ratio.b, ratio.x)
$$;
-- a - factor * b, 0 where noise makes that less.
CREATE FUNCTION bench.excess(part text, a text, b text, factor float8 DEFAULT 1) RETURNS bench.spread LANGUAGE sql AS $$
    SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY d), min(d), max(d)
    FROM bench.pair p CROSS JOIN greatest(p.a - factor * p.b, 0) d WHERE (p.part, p.a_name, p.b_name, p.x) = (excess.part, excess.a, excess.b, 0)
$$;
CREATE FUNCTION bench.show(s bench.spread) RETURNS text LANGUAGE sql AS $$
    SELECT bench.show(s.median, s.lowest, s.highest)
$$;
CREATE FUNCTION bench.median(part text, name text, x int DEFAULT 0) RETURNS float8 LANGUAGE sql AS $$
    SELECT s.median FROM bench.summary s WHERE (s.part, s.name, s.x) = (median.part, median.name, median.x)
$$;

CREATE TABLE bench.target (pos int, measure text, target text, measured text, met bool);
INSERT INTO bench.target
    SELECT 1, '`hilo_next_number`, warm, net', 'at most 15 ns above the counting C function',
        bench.show(d) || ' ns above', d.median <= 15
    FROM bench.excess('session', 'hilo_next_number', 'C function that only counts') d
UNION ALL
    SELECT 2, '`hilo_next_number`, warm, net', 'at most 1/3 of `nextval` CACHE 1000',
        bench.show(r) || ' ×', r.median <= 1 / 3.0
    FROM bench.ratio('session', 'hilo_next_number', 'nextval CACHE 1000') r
UNION ALL
    SELECT 3, '`hilo_next`, net', 'at most 1.25 × the text-building C function',
        bench.show(r) || ' ×', r.median <= 1.25
    FROM bench.ratio('session', 'hilo_next', 'C function that only builds text') r
UNION ALL
    SELECT 4, '`hilo_next`, net', 'at most 1/2 of `''orders/''\|\|nextval\|\|''-A''`, CACHE 32768',
        bench.show(r) || ' ×', r.median <= 0.5
    FROM bench.ratio('session', 'hilo_next', '''orders/''||nextval||''-A'', CACHE 32768') r
UNION ALL
    SELECT 5, 'collection from a column with 1,000 names, `hilo_next_number`, net', 'at most 2 × constant + 20 ns',
        bench.show(bench.median('names', 'hilo_next_number, 1,000 names')) || ' ns, constant '
            || bench.show(bench.median('names', 'hilo_next_number, constant')) || ' ns', d.median <= 20
    FROM bench.excess('names', 'hilo_next_number, 1,000 names', 'hilo_next_number, constant', 2) d
UNION ALL
    SELECT 6, 'the same, `hilo_next`', 'at most 2 × constant + 20 ns',
        bench.show(bench.median('names', 'hilo_next, 1,000 names')) || ' ns, constant '
            || bench.show(bench.median('names', 'hilo_next, constant')) || ' ns', d.median <= 20
    FROM bench.excess('names', 'hilo_next, 1,000 names', 'hilo_next, constant', 2) d
UNION ALL
    SELECT 7, 'draws from a cold start, claims and flushes included', 'faster than `nextval` CACHE 1000',
        bench.show(r) || ' × its time', r.median < 1
    FROM bench.ratio('cold start', 'hilo_next_number', 'nextval CACHE 1000') r
UNION ALL
    SELECT 8, '`INSERT … SELECT`, heap only, bigint DEFAULT', 'within 5 % of the number given',
        bench.show(r) || ' × its time', r.median <= 1.05
    FROM bench.ratio('insert heap only', 'hilo_next_number', 'number given') r
UNION ALL
    SELECT 9, 'pgbench one-row inserts, any client count', 'not slower than `nextval` CACHE 1 beyond the run''s spread: the median not below its lowest round',
        string_agg(format('%s: %s', label, bench.show(ratio.median)), ', ' ORDER BY pos) || ' × its rate',
        bool_and(h.median >= n.lowest)
    FROM (SELECT s.*, row_number() OVER (ORDER BY s.part DESC, s.x) AS pos,
            regexp_replace(s.part, '.*synchronous_commit ', '') || ' ' || s.x AS label
          FROM bench.summary s WHERE s.part LIKE 'one-row inserts%' AND s.name = 'hilo_next_number') h
        JOIN bench.summary n ON (n.part, n.x, n.name) = (h.part, h.x, 'nextval CACHE 1'),
        bench.ratio(h.part, 'hilo_next_number', 'nextval CACHE 1', h.x) ratio
UNION ALL
    SELECT 10, 'pgbench `-C`, reconnecting for each', 'reported beside `nextval`, with fdatasync',
        string_agg(format('%s: %s', label, bench.show(ratio.median)), ', ' ORDER BY pos) || ' × the rate of nextval CACHE 1; fdatasync '
            || bench.show(bench.median('disk', 'fdatasync')) || ' µs', NULL
    FROM (SELECT s.*, row_number() OVER (ORDER BY s.part DESC, s.x) AS pos,
            regexp_replace(s.part, '.*synchronous_commit ', '') || ' ' || s.x AS label
          FROM bench.summary s WHERE s.part LIKE 'reconnecting%' AND s.name = 'hilo_next_number') h,
        bench.ratio(h.part, 'hilo_next_number', 'nextval CACHE 1', h.x) ratio
UNION ALL
    SELECT 12, 'attached table with primary key, `INSERT … SELECT`', 'reported beside a sequence, an identity and the default alone',
        string_agg(format('%s: %s', b.name, bench.show(r)), ', ' ORDER BY b.pos) || ' × its time', NULL
    FROM (VALUES (1, 'nextval CACHE 1'), (2, 'identity'), (3, 'nextval CACHE 1000'), (4, 'hilo_next_number')) AS b(pos, name),
        bench.ratio('insert with primary key', 'attached by hilo.attach', b.name) r
UNION ALL
    SELECT 13, 'attached table, one-row inserts by pgbench', 'reported beside `nextval` CACHE 1',
        string_agg(format('%s: %s', label, bench.show(ratio.median)), ', ' ORDER BY pos) || ' × its rate', NULL
    FROM (SELECT s.*, row_number() OVER (ORDER BY s.part DESC, s.x) AS pos,
            regexp_replace(s.part, '.*synchronous_commit ', '') || ' ' || s.x AS label
          FROM bench.summary s WHERE s.part LIKE 'one-row inserts%' AND s.name = 'attached by hilo.attach') h,
        bench.ratio(h.part, 'attached by hilo.attach', 'nextval CACHE 1', h.x) ratio
UNION ALL
    SELECT 11, 'CPU of a claim outside XLogFlush, by perf', 'at most 1.5 µs',
        coalesce(bench.show(c) || ' µs', 'could not be measured'), c <= 1.5
    FROM bench.median('CPU, by perf', 'claim outside XLogFlush (hilo_reserve)',
        (SELECT x FROM bench.result WHERE name = 'claim outside XLogFlush (hilo_reserve)')) c;

-- Claims a second of one collection that sessions on as many processors make.  A claim
-- takes cpu, of which no two spend the part locked at once; then it waits for a flush that
-- is under way, half of it on average, and for its own, which all share that wait.  All in
-- microseconds.
CREATE FUNCTION bench.claims(sessions float8, processors float8, flush float8, cpu float8, locked float8)
RETURNS float8 LANGUAGE sql AS $$
    SELECT 1e6 * least(sessions / (cpu + CASE WHEN sessions > 1 THEN 1.5 ELSE 1 END * flush), processors / cpu, 1 / locked)
$$;
