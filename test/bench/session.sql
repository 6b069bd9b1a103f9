-- session.sql: the cost of one draw in one session, :draws of them a round, in CPU time.
\set QUIET on

-- The empty loop three times, at both ends and in the middle.
INSERT INTO bench.candidate (part, name, query, base, n)
    SELECT 'session', name, format('SELECT count(%s) FROM generate_series(1, %s) x', expression, :draws),
        CASE WHEN name <> 'empty loop' THEN 'empty loop' END, :draws
    FROM (VALUES
        (1, 'empty loop', 'x'),
        (2, 'C function that only counts', $$bench_count('orders')$$),
        (3, 'hilo_next_number', $$hilo_next_number('orders')$$),
        (4, 'nextval CACHE 32768', $$nextval('seq_32768')$$),
        (5, 'nextval CACHE 1000', $$nextval('seq_1000')$$),
        (6, 'nextval CACHE 32', $$nextval('seq_32')$$),
        (7, 'nextval CACHE 1', $$nextval('seq_1')$$),
        (8, 'empty loop', 'x'),
        (9, 'C function that only builds text', $$bench_text('orders')$$),
        (10, 'hilo_next', $$hilo_next('orders')$$),
        (11, 'hilo_next with tag', $$hilo_next('orders', 'B')$$),
        (12, 'hilo_document_id', $$hilo_document_id('orders')$$),
        (13, '''orders/''||nextval||''-A'', CACHE 32768', $$'orders/' || nextval('seq_32768') || '-A'$$),
        (14, '''orders/''||nextval||''-A'', CACHE 1', $$'orders/' || nextval('seq_1') || '-A'$$),
        (15, 'gen_random_uuid', $$gen_random_uuid()$$),
        (16, 'empty loop', 'x')) AS c(pos, name, expression)
    ORDER BY pos;

-- In procedures; the empty loop assigns what is there already.
DO $do$
DECLARE
    c record;
BEGIN
    FOR c IN SELECT * FROM (VALUES
            ('loop_number', 'bigint', 'i'),
            ('loop_text', 'text', $$'orders/1-A'$$),
            ('loop_hilo_next_number', 'bigint', $$hilo_next_number('orders')$$),
            ('loop_nextval', 'bigint', $$nextval('seq_1000')$$),
            ('loop_hilo_next', 'text', $$hilo_next('orders')$$),
            ('loop_nextval_text', 'text', $$'orders/' || nextval('seq_1000') || '-A'$$)) AS v(name, type, expression)
    LOOP
        EXECUTE format('CREATE PROCEDURE bench.%I(n bigint) LANGUAGE plpgsql AS '
            '''DECLARE id %s; BEGIN FOR i IN 1 .. n LOOP id := %s; END LOOP; END''',
            c.name, c.type, replace(c.expression, '''', ''''''));
    END LOOP;
END $do$;
INSERT INTO bench.candidate (part, name, query, base, n)
    SELECT 'procedure', name, format('CALL bench.%I(%s)', procedure, :draws), base, :draws
    FROM (VALUES
        ('empty loop, number', 'loop_number', NULL),
        ('empty loop, text', 'loop_text', NULL),
        ('hilo_next_number', 'loop_hilo_next_number', 'empty loop, number'),
        ('nextval CACHE 1000', 'loop_nextval', 'empty loop, number'),
        ('hilo_next', 'loop_hilo_next', 'empty loop, text'),
        ('''orders/''||nextval||''-A'', CACHE 1000', 'loop_nextval_text', 'empty loop, text'))
        AS c(name, procedure, base);

-- The collection from a column with 1,000 names, in turn; the same loop over
-- the table for all, its two columns counted in the empty one.
CREATE TABLE names (n int, name text);
INSERT INTO names SELECT i, 'collection' || i % 1000 FROM generate_series(1, :draws) i;
VACUUM (FREEZE, ANALYZE) names;
INSERT INTO bench.candidate (part, name, query, base, n)
    SELECT 'names', name, format('SELECT count(name), count(%s) FROM names', expression),
        CASE WHEN name <> 'empty loop' THEN 'empty loop' END, :draws
    FROM (VALUES
        ('empty loop', 'n'),
        ('hilo_next_number, constant', $$hilo_next_number('orders')$$),
        ('hilo_next_number, 1,000 names', 'hilo_next_number(name)'),
        ('empty loop', 'n'),
        ('hilo_next, constant', $$hilo_next('orders')$$),
        ('hilo_next, 1,000 names', 'hilo_next(name)'),
        ('C function that only counts', 'bench_count(name)')) AS c(name, expression);

-- Text by the digits of its number: each goes back to where it began.
INSERT INTO bench.candidate (part, name, query, afterwards, base, n)
    SELECT 'digits', d.digits || ' digits, ' || c.name,
        format('SELECT count(%s) FROM generate_series(1, %s) x', format(c.expression, 'd' || d.digits), least(:draws, 80000)),
        format(c.afterwards, 'd' || d.digits, 10 ^ (d.digits - 1)), c.base, least(:draws, 80000)
    FROM (VALUES (5), (12)) AS d(digits), LATERAL (VALUES
        (1, 'empty loop', 'x', '', NULL),
        (2, 'the limit', 'bench_text(%L)', 'SELECT bench_count_from(%2$s)', d.digits || ' digits, empty loop'),
        (3, 'hilo_next', 'hilo_next(%L)', 'SELECT hilo.seed(%1$L, %2$s, true)', d.digits || ' digits, empty loop'),
        (4, 'hilo_next with tag', $$hilo_next(%L, 'B')$$, 'SELECT hilo.seed(%1$L, %2$s, true)', d.digits || ' digits, empty loop'),
        (5, 'empty loop', 'x', '', NULL)) AS c(pos, name, expression, afterwards, base)
    ORDER BY digits, pos;

CALL bench.run('session', 0, :rounds, true);
CALL bench.run('procedure', 0, :rounds, true);
-- Large ranges from the start: no claims in what is counted.
SET hilo.debug_range_size = 1048576;
CALL bench.run('digits', 0, 2 * :rounds, true);
CALL bench.run('names', 0, :rounds, true);
DROP TABLE names;
