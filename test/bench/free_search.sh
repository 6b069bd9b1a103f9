#!/bin/sh
# free_search.sh: what next_identity_free() costs in real tables, beside trying
# one id after the other.
#
#   sh test/bench/free_search.sh [--no-install] [--quick]
#
# Tables of 10^4 to 10^7 ids users/1..n, all in memory; --quick stops at 10^5.
# Prints a table in Markdown, and judges nothing.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
sizes='10000 100000 1000000 10000000'
for argument in "$@"; do
    case $argument in
        --quick) sizes='10000 100000' ;;
        *) echo "usage: sh test/bench/free_search.sh [--no-install] [--quick]" >&2; exit 2 ;;
    esac
done

rounds=21           # of next_identity_free_for(); the median is shown
loop_rounds=5       # of the loop, as long as one takes under a second
loop_limit=60       # seconds after which a loop is stopped

psql_as_user() { as_user "$bindir/psql" -X -v ON_ERROR_STOP=1 -Atq "$@" || die "The benchmark failed."; }

require need_build
make_work_folder
copy_checkout
build
start_server <<SETTINGS
shared_buffers = 2GB
maintenance_work_mem = 1GB
max_wal_size = 16GB
checkpoint_timeout = 1h
autovacuum = off
SETTINGS

psql_as_user <<'SQL'
CREATE EXTENSION hilo;
CREATE EXTENSION pg_prewarm;

-- As a session would do it that has been at it before: the identity is set
-- back, then the call is timed in the server; flush is synchronous_commit.
CREATE PROCEDURE time_free(rounds int, flush text, INOUT times float[] DEFAULT '{}',
    INOUT value bigint DEFAULT NULL, INOUT tries int DEFAULT NULL)
LANGUAGE plpgsql AS $$
DECLARE
    began timestamptz;
BEGIN
    FOR i IN 0 .. rounds LOOP
        PERFORM seed_identity_for('users', 0, true);
        COMMIT;
        PERFORM set_config('synchronous_commit', flush, true);
        began := clock_timestamp();
        SELECT f.value, f.tries INTO STRICT value, tries FROM next_identity_free_for('users/') f;
        -- The first one fills the session's caches.
        IF i > 0 THEN
            times := times || extract(epoch FROM clock_timestamp() - began)::float * 1000;
        END IF;
        COMMIT;
    END LOOP;
END $$;

-- The usual loop: n + 1, n + 2 ... until one is free.
CREATE FUNCTION one_by_one(n bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    LOOP
        n := n + 1;
        EXIT WHEN NOT EXISTS (SELECT FROM documents WHERE id = 'users/' || n);
    END LOOP;
    RETURN n;
END $$;
SQL

# Make the table of n documents, and bring it into memory.
make_table() {
    psql_as_user <<SQL
SET client_min_messages = warning;
DROP TABLE IF EXISTS documents;
CREATE TABLE documents (id text COLLATE "C" NOT NULL);
INSERT INTO documents SELECT 'users/' || i FROM generate_series(1, $1) i;
ALTER TABLE documents ADD PRIMARY KEY (id);
VACUUM (FREEZE, ANALYZE) documents;
CHECKPOINT;
SELECT hilo.unbind('users') \\g /dev/null
SELECT hilo.bind('users', 'documents', 'id') \\g /dev/null
SELECT pg_prewarm('documents') + pg_prewarm('documents_pkey') \\g /dev/null
SQL
}

# Median, lowest and highest time, number and look-ups; $1 is
# synchronous_commit.
measure_search() {
    psql_as_user -F ' ' <<SQL
CALL time_free($rounds, '$1') \\gset
SELECT to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY t), 'FM9990.000'),
    to_char(min(t), 'FM9990.000'), to_char(max(t), 'FM9990.000'), :value, :tries
FROM unnest(:'times'::float[]) t;
SQL
}

# Median of the loop in ms, or how long it was given.
measure_loop() {
    psql_as_user 2>&1 <<SQL | tail -n 1
\\set ON_ERROR_STOP off
\\set VERBOSITY sqlstate
SET statement_timeout = '${loop_limit}s';
DO \$\$
DECLARE
    began timestamptz;
    times float[] := '{}';
BEGIN
    FOR i IN 1 .. $loop_rounds LOOP
        began := clock_timestamp();
        IF one_by_one(0) <> $1 + 1 THEN
            RAISE 'the loop found another number';
        END IF;
        times := times || extract(epoch FROM clock_timestamp() - began)::float * 1000;
        EXIT WHEN times[i] > 1000;
    END LOOP;
    PERFORM set_config('bench.loop', (SELECT to_char(percentile_cont(0.5) WITHIN GROUP (ORDER BY t), 'FM999990.0') FROM unnest(times) t), false);
END \$\$;
\\if :ERROR
SELECT CASE :'LAST_ERROR_SQLSTATE' WHEN '57014' THEN 'stopped after ${loop_limit} s' ELSE 'error ' || :'LAST_ERROR_SQLSTATE' END;
\\else
SELECT current_setting('bench.loop');
\\endif
SQL
}

say "$("$pg_config" --version); $(nproc) processors, load $(cut -d ' ' -f 1 /proc/loadavg)"
say ""
say "| documents | free id | look-ups | median, ms | lowest | highest | without flush: median, ms | lowest | one by one, ms |"
say "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
for n in $sizes; do
    make_table "$n"
    flushed=$(measure_search on) || exit 1
    unflushed=$(measure_search off) || exit 1
    loop=$(measure_loop "$n") || exit 1
    set -- $flushed $unflushed
    say "| $n | users/$4 | $5 | $1 | $2 | $3 | $6 | $7 | $loop |"
done
say ""
say "Times of next_identity_free_for() in $rounds rounds, taken in the server; they include"
say "the flush of the number found, except with synchronous_commit = off (\"without flush\")."
say "The loop is run $loop_rounds times (median), but once where that takes over a second."
