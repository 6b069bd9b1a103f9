# clients.sh: what run.sh measures by pgbench.  To be sourced by it.

# Keep standard input as a script of pgbench.
script() { as_user sh -c "cat > tmp/$1.pgbench"; }

# Run a script; the rate in $rate.  Name, clients, options.
run_pgbench() {
    script_name=$1
    clients=$2
    shift 2
    threads=2
    [ "$clients" -ge "$threads" ] || threads=1
    as_user "$bindir/pgbench" -n -M prepared -c "$clients" -j "$threads" \
        -f "tmp/$script_name.pgbench" "$@" >"$work/tmp/pgbench.log" 2>&1 ||
        { cat "$work/tmp/pgbench.log"; die "pgbench failed: $script_name, $clients clients."; }
    rate=$(sed -n 's/^tps = \([0-9.]*\).*/\1/p' "$work/tmp/pgbench.log" | tail -n 1)
    [ -n "$rate" ] || { cat "$work/tmp/pgbench.log"; die "pgbench told no rate."; }
}

# For how long, as an option: a time, or in the short form few transactions.
how_long() {
    if [ "$seconds" -gt 0 ]; then say "-T $seconds"; else say "-t 5"; fi
}

insert_name() {
    case $1 in
        given) say "number given" ;;
        nextval) say "nextval CACHE 1" ;;
        hilo) say "hilo_next_number" ;;
    esac
}

measure_one_row_inserts() {
    sql "CREATE TABLE one_given (id bigint PRIMARY KEY, n int);
        CREATE TABLE one_nextval (id bigint PRIMARY KEY DEFAULT nextval('seq_1'), n int);
        CREATE TABLE one_hilo (id bigint PRIMARY KEY DEFAULT hilo_next_number('one'), n int)"
    script given <<'SQL'
\set n :n + 1
\set id :n * 64 + :client_id
INSERT INTO one_given VALUES (:id, 1);
SQL
    for kind in nextval hilo; do
        echo "INSERT INTO one_$kind (n) VALUES (1);" | script "$kind"
    done
    for round in $(seq "$rounds"); do
        for clients in $insert_clients; do
            for flush in on off; do
                for kind in $(rotate "$round" given nextval hilo); do
                    sql "TRUNCATE one_$kind"
                    PGOPTIONS="-c synchronous_commit=$flush" run_pgbench "$kind" "$clients" -D n=0 $(how_long)
                    record "one-row inserts, synchronous_commit $flush" "$(insert_name "$kind")" "$clients" "$round" "$rate" /s
                done
            done
        done
        say "   one-row inserts: round $round of $rounds"
    done
}

measure_reconnecting() {
    for round in $(seq "$rounds"); do
        for clients in 1 8; do
            for flush in on off; do
                for kind in $(rotate "$round" given nextval hilo); do
                    sql "TRUNCATE one_$kind"
                    PGOPTIONS="-c synchronous_commit=$flush" run_pgbench "$kind" "$clients" -C -D n=0 $(how_long)
                    record "reconnecting, synchronous_commit $flush" "$(insert_name "$kind")" "$clients" "$round" "$rate" /s
                done
            done
        done
        say "   reconnecting for each: round $round of $rounds"
    done
}

# Concurrent connections, each of which draws one number and disconnects; CPU time of the
# whole by the server's children that have ended, in ticks of 1/100 s.
measure_connections() {
    postmaster=$(head -n 1 "$work/server/data/postmaster.pid")
    echo "SELECT 1;" | script connect_nothing
    echo "SELECT nextval('seq_1');" | script connect_nextval
    echo "SELECT hilo_next_number('connections');" | script connect_hilo
    for round in $(seq "$rounds"); do
        for kind in $(rotate "$round" nothing nextval hilo); do
            case $kind in
                nothing) name='SELECT 1' ;;
                nextval) name='nextval CACHE 1' ;;
                hilo) name=hilo_next_number ;;
            esac
            cpu_before=$(awk '{ print $16 + $17 }' "/proc/$postmaster/stat")
            wall_before=$(date +%s%N)
            run_pgbench "connect_$kind" "$connections" -t 1
            wall=$((($(date +%s%N) - wall_before) / 1000000))
            wait_for_silence
            cpu=$(($(awk '{ print $16 + $17 }' "/proc/$postmaster/stat") - cpu_before))
            record "connections" "$name" "$connections" "$round" "$wall" ms
            record "connections, CPU of each" "$name" "$connections" "$round" \
                "$(awk "BEGIN { print $cpu * 10000 / $connections }")" us
        done
    done
    spent=$(sql "SELECT max FROM hilo.hilo WHERE collection = 'connections'")
    record "connections, max of the collection" hilo_next_number "$connections" "$rounds" "$spent" numbers
    say "   connections: $rounds rounds"
}

# Until the others' sessions have ended.
wait_for_silence() {
    until [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")" = 1 ]; do
        sleep 0.02
    done
}

# Numbers a second of all sessions, 1,000 a statement; the first range of each
# session included.
measure_sessions() {
    batch=1000
    [ -z "$quick" ] || batch=100
    for kind in hot own seq_1 seq_32; do
        case $kind in
            hot) draw="hilo_next_number('hot')" ;;
            own) draw="hilo_next_number('own' || :client_id)" ;;
            *) draw="nextval('$kind')" ;;
        esac
        echo "SELECT count($draw) FROM generate_series(1, $batch);" | script "$kind"
    done
    for round in $(seq "$rounds"); do
        for clients in $sessions; do
            for kind in $(rotate "$round" hot own seq_1 seq_32); do
                case $kind in
                    hot) name='hilo_next_number, one collection' ;;
                    own) name='hilo_next_number, a collection each' ;;
                    seq_1) name='nextval CACHE 1' ;;
                    seq_32) name='nextval CACHE 32' ;;
                esac
                run_pgbench "$kind" "$clients" -t $(($total_draws / batch / clients + 1))
                record "sessions" "$name" "$clients" "$round" "$(awk "BEGIN { print $rate * $batch }")" /s
            done
        done
        say "   numbers by sessions: round $round of $rounds"
    done

    # The hot collection once more: each number must be there once.
    sql "CREATE TABLE hot (id bigint PRIMARY KEY)"
    echo "INSERT INTO hot SELECT hilo_next_number('hot') FROM generate_series(1, 100);" | script hot_check
    run_pgbench hot_check "$hot_sessions" -t 5
    [ "$(sql "SELECT count(*) FROM hot")" = $((hot_sessions * 500)) ] || die "A number of the hot collection is missing."
}

# Claims a second: each with a flush.
measure_claiming_sessions() {
    echo "SELECT hilo_reserve('claims', 1);" | script claims_one
    echo "SELECT hilo_reserve('claims' || :client_id, 1);" | script claims_own
    for round in $(seq "$rounds"); do
        for clients in $(say "$sessions" | tr ' ' '\n' | awk 'NR % 3 == 1'); do
            for kind in $(rotate "$round" one own); do
                [ "$kind" = one ] && name='one collection' || name='a collection each'
                run_pgbench "claims_$kind" "$clients" $(how_long)
                record "claims" "$name" "$clients" "$round" "$rate" /s
            done
        done
    done
    say "   claims by sessions: $rounds rounds"
}

# Eight sessions that draw from any of so many collections.
measure_collections_at_once() {
    script any_collection <<'SQL'
\set k random(1, :collections)
SELECT count(hilo_next_number('any' || :k)) FROM generate_series(1, 100);
SQL
    for round in $(seq "$rounds"); do
        for count in 1 10 100 1000 10000; do
            run_pgbench any_collection 8 -D collections="$count" $(how_long)
            record "collections at once" "hilo_next_number, 8 sessions" "$count" "$round" "$(awk "BEGIN { print $rate * 100 }")" /s
        done
    done
    say "   numbers by collections: $rounds rounds"
}
