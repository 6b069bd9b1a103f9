#!/bin/sh
# connections.sh: what connections that come and go cost, with the library
# preloaded and without.  The results go to standard output.
#
#   sh test/bench/connections.sh [--no-install] [CONNECTIONS [ROUNDS]]
#
# CONNECTIONS, 500 by default, are made in a run of pgbench -C with 2 clients,
# each of which sends one statement; ROUNDS, 9 by default, are such runs of each
# statement in turn.  CPU is that of the server, by what its postmaster's
# children have used until they ended.  Then 8 times as many connections, by 1, 8
# and 24 clients, draw one number each, in three rounds.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
connections=${1:-500}
rounds=${2:-9}
. "$top/test/bench/clients.sh"

psql_as_user() { as_user "$bindir/psql" -X -v ON_ERROR_STOP=1 -Atq "$@" || die "The benchmark failed."; }
sql() { psql_as_user -c "$1"; }

# How often WAL was flushed; nothing if the server does not report it.
flushes() {
    [ -z "$(sql "SELECT 1 FROM pg_attribute WHERE attrelid = 'pg_stat_wal'::regclass AND attname = 'wal_sync'")" ] ||
        sql "SELECT wal_sync FROM pg_stat_wal"
}

# Restart the server with or without the library.
preload() {
    echo "shared_preload_libraries = '$1'" | as_user sh -c 'cat >>server/data/postgresql.conf'
    as_user "$bindir/pg_ctl" -D "$work/server/data" -w -s -m fast stop
    run_server
}

median() { sort -n "$work/tmp/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# Microseconds of CPU that a connection takes, and connections a second.
measure_kind() {
    postmaster=$(head -n 1 "$work/server/data/postmaster.pid")
    before=$(awk '{ print $16 + $17 }' "/proc/$postmaster/stat")
    run_pgbench "$1" 2 -C -t $((connections / 2))
    wait_for_silence
    ticks=$(($(awk '{ print $16 + $17 }' "/proc/$postmaster/stat") - before))
    awk "BEGIN { printf \"%.0f\\n\", $ticks * 1e6 / $tick_rate / ($connections / 2 * 2) }" >>"$work/tmp/$1.cpu"
    echo "$rate" >>"$work/tmp/$1.rate"
}

compare() {
    kinds='nothing nextval sequence collection'
    as_user sh -c 'rm -f tmp/*.cpu tmp/*.rate'
    for round in $(seq "$rounds"); do
        for kind in $kinds; do
            measure_kind "$kind"
        done
        # begin with another one next time
        kinds="${kinds#* } ${kinds%% *}"
    done
    for kind in nothing nextval sequence collection; do
        say "$1, $(sed 's/;$//' "$work/tmp/$kind.pgbench"): $(median "$kind.cpu") us of CPU, $(median "$kind.rate") connections/s, CPU to that of nextval $(
            awk "BEGIN { printf \"%.3f\", $(median "$kind.cpu") / $(median nextval.cpu) }")"
    done
}

# The highest number that was claimed.
highest() {
    case $1 in
        nextval) sql "SELECT last_value FROM seq_1" ;;
        sequence) sql "SELECT last_value FROM seq_2" ;;
        collection) sql "SELECT max FROM hilo.hilo WHERE collection = 'orders'" ;;
    esac
}

# Connections that draw one number each.
come_and_go() {
    for round in 1 2 3; do
        for clients in 1 8 24; do
            for kind in nextval sequence collection; do
                flushed=$(flushes)
                used=$(highest "$kind")
                run_pgbench "$kind" "$clients" -C -t $((connections * 8 / clients))
                wait_for_silence
                say "$1, round $round, $clients clients, $((connections * 8 / clients * clients)) connections, $kind: $(($(highest "$kind") - used)) numbers, $(($(flushes) - flushed)) flushes, $rate connections/s"
            done
        done
    done
}

require need_build
make_work_folder
copy_checkout
build
start_server <<SETTINGS
fsync = on
jit = off
max_connections = 200
autovacuum = off
checkpoint_timeout = 1h
SETTINGS
tick_rate=$(getconf CLK_TCK)
sql "CREATE EXTENSION hilo; CREATE SEQUENCE seq_1; CREATE SEQUENCE seq_2"
echo "SELECT 1;" | script nothing
echo "SELECT nextval('seq_1');" | script nextval
echo "SELECT hilo.nextval('seq_2');" | script sequence
echo "SELECT hilo_next_number('orders');" | script collection
sql "SELECT hilo_next_number('orders'), nextval('seq_1'), hilo.nextval('seq_2')" >/dev/null
for mode in "not preloaded" preloaded; do
    [ "$mode" = "not preloaded" ] || preload hilo
    compare "$mode"
    come_and_go "$mode"
done
