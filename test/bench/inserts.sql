-- inserts.sql: INSERT ... SELECT of :rows rows whose ids are drawn by DEFAULT.
\set QUIET on
CREATE TABLE bench.kind (pos int, name text, type text, id text, given bool, fixed bool);
INSERT INTO bench.kind VALUES
    (1, 'number given', 'bigint', 'x', true, false),
    (2, 'hilo_next_number', 'bigint', $$hilo_next_number('lines')$$, false, false),
    (3, 'nextval CACHE 1000', 'bigint', $$nextval('seq_1000')$$, false, false),
    (4, 'nextval CACHE 32', 'bigint', $$nextval('seq_32')$$, false, false),
    (5, 'nextval CACHE 1', 'bigint', $$nextval('seq_1')$$, false, false),
    (6, 'text given', 'text', $$'orders/' || x || '-A'$$, true, false),
    (7, 'hilo_next', 'text', $$hilo_next('lines')$$, false, false),
    (8, 'hilo_document_id', 'text', $$hilo_document_id('lines')$$, false, false),
    (9, 'trigger hilo.assign_id', 'text', NULL, false, false),
    (10, '''orders/''||nextval||''-A'', CACHE 32768', 'text', $$'orders/' || nextval('seq_32768') || '-A'$$, false, false),
    (11, 'gen_random_uuid', 'uuid', 'gen_random_uuid()', false, false),
    (12, 'fixed width: text given', 'text', $$'orders/' || lpad(x::text, 12, '0') || '-A'$$, true, true),
    (13, 'fixed width: hilo_next_number', 'text', $$'orders/' || lpad(hilo_next_number('lines')::text, 12, '0') || '-A'$$, false, true),
    (14, 'fixed width: nextval CACHE 32768', 'text', $$'orders/' || lpad(nextval('seq_32768')::text, 12, '0') || '-A'$$, false, true);

-- The width of numbers decides how text keys scatter: the same ones for all.
CREATE PROCEDURE bench.start_again() LANGUAGE sql AS $$
    SELECT hilo.seed('lines', 0, true), setval('seq_1', 1, false), setval('seq_32', 1, false),
        setval('seq_1000', 1, false), setval('seq_32768', 1, false)
$$;
CALL bench.start_again();

DO $do$
DECLARE
    k record;
    t text;
BEGIN
    FOR k IN SELECT *, part = 'insert with primary key' AS has_key
             FROM bench.kind, (VALUES ('insert heap only'), ('insert with primary key')) AS p(part)
             WHERE part = 'insert with primary key' OR NOT fixed ORDER BY part, pos LOOP
        t := format('%s_%s', CASE WHEN k.has_key THEN 'key' ELSE 'heap' END, k.pos);
        EXECUTE format('CREATE TABLE %s (id %s %s %s, n int)', t, k.type,
            CASE WHEN k.type = 'text' THEN 'COLLATE "C"' ELSE '' END,
            CASE WHEN k.has_key THEN 'PRIMARY KEY' ELSE '' END);
        IF k.name LIKE 'trigger%' THEN
            EXECUTE format('CREATE TRIGGER assign_id BEFORE INSERT ON %s FOR EACH ROW '
                'EXECUTE FUNCTION hilo.assign_id(''id'', ''lines'')', t);
        ELSIF NOT k.given THEN
            EXECUTE format('ALTER TABLE %s ALTER id SET DEFAULT %s', t, k.id);
        END IF;
        -- Empty again, all from 1 again, and the log's files to be used again.
        INSERT INTO bench.candidate (part, name, query, afterwards) VALUES (k.part, k.name,
            CASE WHEN k.given
                THEN format('INSERT INTO %s SELECT %s, x FROM generate_series(1, %s) x', t, k.id, current_setting('bench.rows'))
                ELSE format('INSERT INTO %s (n) SELECT x FROM generate_series(1, %s) x', t, current_setting('bench.rows'))
            END,
            format('TRUNCATE %s; CALL bench.start_again(); CHECKPOINT', t));
    END LOOP;
END $do$;

CALL bench.run('insert heap only', :first_round, :rounds);
CALL bench.run('insert with primary key', 1, :rounds);
