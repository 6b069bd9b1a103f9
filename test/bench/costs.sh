# costs.sh: what run.sh measures of single steps.  To be sourced by it.

# Seconds of one statement in a new session.
time_alone() {
    psql_as_user <<SQL
SELECT clock_timestamp() AS began \\gset
$1 \\g /dev/null
SELECT extract(epoch FROM clock_timestamp() - :'began')::float8;
SQL
}

# New collection, new sequence, new session: claims and flushes included.
measure_cold_starts() {
    for round in $(seq "$rounds"); do
        sql "CREATE SEQUENCE cold_1_$round CACHE 1; CREATE SEQUENCE cold_1000_$round CACHE 1000"
        for kind in $(rotate "$round" hilo next 1 1000); do
            case $kind in
                hilo) name=hilo_next_number draw="hilo_next_number('cold$round')" ;;
                next) name=hilo_next draw="hilo_next('cold_text$round')" ;;
                *) name="nextval CACHE $kind" draw="nextval('cold_${kind}_$round')" ;;
            esac
            took=$(time_alone "SELECT count($draw) FROM generate_series(1, $draws)") || exit 1
            record "cold start" "$name" 0 "$round" "$took" s
        done
        say "   from a cold start: round $round of $rounds"
    done
}

# Claims and identities, one number each, by their calls in one statement.
measure_claims() {
    psql_as_user -v claims="$claims" -v rounds="$rounds" <<'SQL'
\set QUIET on
INSERT INTO bench.candidate (part, name, query, n)
    SELECT 'flush', name, format('SELECT count(%s) FROM generate_series(1, %s) x', expression, :claims), :claims
    FROM (VALUES
        ('claim: hilo_reserve(…, 1)', $$hilo_reserve('claim', 1)$$),
        ('next_identity_for', $$next_identity_for('identity')$$),
        ('next_identity', $$next_identity('identity')$$),
        ('next_server_side_id', $$next_server_side_id('orders/')$$)) AS c(name, expression);
INSERT INTO bench.candidate (part, name, query, n)
    SELECT 'no flush', name, replace(query, format(', %s)', :claims), format(', %s)', :claims * 20)), n * 20
    FROM bench.candidate WHERE part = 'flush' AND name LIKE 'next%';
CALL bench.run('flush', 0, :rounds);
SET synchronous_commit = off;
CALL bench.run('no flush', 0, :rounds);
SQL
}

# The first statement of new sessions, as the client sees it.
measure_first_draws() {
    sql "SELECT hilo_next_number('first'), nextval('seq_1')" >/dev/null
    for round in $(seq $((rounds * 4))); do
        for kind in $(rotate "$round" nothing nextval hilo); do
            case $kind in
                nothing) name='SELECT 1' draw='SELECT 1' ;;
                nextval) name='nextval CACHE 1' draw="SELECT nextval('seq_1')" ;;
                hilo) name=hilo_next_number draw="SELECT hilo_next_number('first')" ;;
            esac
            took=$(printf '\\timing on\n%s;\n%s;\n' "$draw" "$draw" | psql_as_user) || exit 1
            set -- $(say "$took" | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p')
            record "first statement of a session" "$name" 0 "$round" "$1" ms
            record "second statement of a session" "$name" 0 "$round" "$2" ms
        done
    done
    say "   first draws: $((rounds * 4)) rounds"
}

# Bytes of WAL for as many numbers as are drawn in one session.
measure_wal() {
    psql_as_user -v draws="$(($draws / 3))" -v rounds="$rounds" <<'SQL'
\set QUIET on
CREATE PROCEDURE bench.measure_wal(rounds int, draws int) LANGUAGE plpgsql AS $$
DECLARE
    c record;
    lsn pg_lsn;
BEGIN
    FOR round IN 0 .. rounds LOOP
        FOR c IN SELECT * FROM (VALUES ('hilo_next_number', 'hilo_next_number(''wal'')'), ('nextval CACHE 1', 'nextval(''seq_1'')'),
                ('nextval CACHE 32', 'nextval(''seq_32'')'), ('nextval CACHE 1000', 'nextval(''seq_1000'')')) AS v(name, draw) LOOP
            IF round = 1 THEN
                -- Whole pages are logged in round 0 and not counted.
                COMMIT;
            END IF;
            lsn := pg_current_wal_insert_lsn();
            EXECUTE format('SELECT count(%s) FROM generate_series(1, %s)', c.draw, draws);
            IF round > 0 THEN
                INSERT INTO bench.result VALUES ('WAL of a million numbers', c.name || CASE WHEN c.name LIKE 'hilo%' THEN ', grown range' ELSE '' END,
                    0, round, (pg_current_wal_insert_lsn() - lsn) * 1e6 / draws, 'bytes');
            ELSIF c.name LIKE 'hilo%' THEN
                INSERT INTO bench.result VALUES ('WAL of a million numbers', 'hilo_next_number, cold start', 0, 1,
                    (pg_current_wal_insert_lsn() - lsn) * 1e6 / draws, 'bytes');
            END IF;
            COMMIT;
        END LOOP;
    END LOOP;
END $$;
CALL bench.measure_wal(:rounds, :draws);
SQL
}

#
# CPU, by perf: each sample stands for 500 us; more of them would be felt
#
sample_time=500

# Start to record a process and its children: pid, file.
start_perf() {
    perf_data=$work/tmp/$2
    rm -f "$perf_data"
    perf record -q -e cpu-clock -c $((sample_time * 1000)) -g -p "$1" -o "$perf_data" >"$work/tmp/perf.log" 2>&1 &
    perf_pid=$!
    # It writes the head of its file before it records.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        sleep 0.1
        [ ! -s "$perf_data" ] || break
    done
    kill -0 "$perf_pid" 2>/dev/null
}

# Microseconds a piece in samples that have functions of the first and, if it is
# given, the third pattern in their call chains, and none of the second: name,
# pieces, patterns.
record_cpu() {
    samples=$(perf script --no-inline -i "$perf_data" -F ip,sym 2>/dev/null |
        awk -v RS= -v with="$3" -v without="$4" -v also="${5:-.}" \
            '$0 ~ with && $0 ~ also && (without == "" || $0 !~ without) { n++ } END { print n + 0 }')
    [ "$samples" -gt 0 ] || { say "   perf has seen nothing of: $1"; return; }
    record "CPU, by perf" "$1" "$samples" 1 "$(awk "BEGIN { print $samples * $sample_time / $2 }")" us
}

no_cpu() { say "   CPU could not be measured: $1"; }

measure_cpu() {
    command -v perf >/dev/null || { no_cpu "perf is missing"; return; }
    # A session that waits until perf is there, then claims.
    psql_as_user >"$work/tmp/claims.out" <<SQL &
SELECT pg_backend_pid();
\\o /dev/null
SELECT hilo_next_number('perf'), hilo_reserve('perf', 1);
SELECT pg_sleep(1);
SELECT count(hilo_reserve('perf', 1)) FROM generate_series(1, $perf_claims);
SQL
    session=$!
    until [ -s "$work/tmp/claims.out" ]; do sleep 0.02; done
    start_perf "$(cat "$work/tmp/claims.out")" claims.perf
    perf_works=$?
    wait "$session" || die "The claims failed."
    if [ "$perf_works" -ne 0 ]; then
        no_cpu "$(head -n 3 "$work/tmp/perf.log" | tr '\n' ' ')"
        return
    fi
    wait "$perf_pid"
    record_cpu "claim outside XLogFlush (hilo_reserve)" "$perf_claims" ' hilo_reserve' 'XLogFlush|SyncRep'
    record_cpu "claim within XLogFlush (hilo_reserve)" "$perf_claims" ' hilo_reserve' '' XLogFlush

    # Many connections that draw once: our share of each.
    echo "SELECT hilo_next_number('perf');" | script perf_connect
    if start_perf "$(head -n 1 "$work/server/data/postmaster.pid")" connect.perf; then
        run_pgbench perf_connect 1 -C -t "$connections"
        wait_for_silence
        kill -INT "$perf_pid"
        wait "$perf_pid"
        record_cpu "connection that draws once, all" "$connections" . ''
        record_cpu "connection: first draw, outside XLogFlush" "$connections" ' hilo_next_number' 'XLogFlush'
        record_cpu "connection: loading libraries" "$connections" load_external_function ''
        record_cpu "connection: give-back at exit" "$connections" ' release_at_exit' ''
    fi
    say "   CPU by perf"
}

# Sessions with few and many collections, and a table that has them.
measure_collections() {
    for count in $collections; do
        part "   $count collections"
        psql_as_user -v count="$count" -v draws="$collection_draws" -v claims="$claims" -v rounds="$rounds" <<'SQL'
\set QUIET on
SET hilo.debug_range_size = 1048576;
CREATE TEMP TABLE had AS SELECT count(*) AS rows FROM hilo.hilo;
CREATE TEMP TABLE names AS SELECT format('many%s_%s', :count, i) AS name FROM generate_series(1, :count) i;
SELECT clock_timestamp() AS began \gset
SELECT count(hilo_next_number(name)) FROM names \g /dev/null
INSERT INTO bench.result VALUES ('collections', 'first draw that creates a collection', :count, 1,
    extract(epoch FROM clock_timestamp() - :'began') * 1e6 / :count, 'us');
INSERT INTO bench.result VALUES ('collections', 'rows in table hilo.hilo', :count, 1, (SELECT count(*) FROM hilo.hilo), 'rows');
INSERT INTO bench.result VALUES ('collections', 'table hilo.hilo with index', :count, 1, pg_total_relation_size('hilo.hilo') / 1e6, 'MB');
INSERT INTO bench.result VALUES ('collections', 'memory of a cached collection', :count, 1,
    (SELECT sum(total_bytes) FROM pg_backend_memory_contexts WHERE name IN ('hilo cache', 'hilo collections')) / :count, 'bytes');
-- In an order that defeats the caches of the processor.
CREATE TEMP TABLE draws AS
    SELECT format('many%s_%s', :count, 1 + i * 7919::bigint % :count) AS name FROM generate_series(1, :draws) i;
DELETE FROM bench.candidate WHERE part = 'collections';
INSERT INTO bench.candidate (part, name, x, query, base, n) VALUES
    ('collections', 'empty loop', :count, 'SELECT count(name) FROM draws', NULL, :draws),
    ('collections', 'warm hilo_next_number(name)', :count, 'SELECT count(hilo_next_number(name)) FROM draws', 'empty loop', :draws),
    ('collections', 'claim: hilo_reserve(name, 1)', :count, format('SELECT count(hilo_reserve(name, 1)) FROM (SELECT name FROM draws LIMIT %s) d', :claims), NULL, :claims);
CALL bench.run('collections', 0, :rounds);
SQL
    done
}

# By a script and server of their own.
measure_free_search() {
    sh "$bench/free_search.sh" --no-install $quick >"$work/free_search.md" 2>"$work/free_search.err" ||
        { cat "$work/free_search.md" "$work/free_search.err"; die "The free search failed."; }
}
