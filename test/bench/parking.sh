#!/bin/sh
# parking.sh: what connections that come and go cost, with the library preloaded
# and without.  The results go to standard output.
#
#   sh test/bench/parking.sh [--no-install] [CONNECTIONS [ROUNDS]]
#
# CONNECTIONS, 100000 by default, are made 8 at a time, each of which draws one
# number and leaves; ROUNDS, 9 by default, of one second each are pgbench -C.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
install=yes
if [ "${1:-}" = --no-install ]; then
    install=no
    shift
fi
total=${1:-100000}
rounds=${2:-9}
. "$top/test/lib.sh"
. "$top/test/bench/clients.sh"
seconds=1

psql_as_user() { as_user "$bindir/psql" -X -v ON_ERROR_STOP=1 -Atq "$@" || die "The benchmark failed."; }
sql() { psql_as_user -c "$1"; }

# Microseconds of one fdatasync of 8 kB on the disk of the server.
fdatasync_time() {
    as_user "$bindir/pg_test_fsync" -s 1 -f "$work/server/fsync" 2>/dev/null |
        sed -n '/^ *fdatasync /{s/.* \([0-9][0-9]*\) usecs.*/\1/p;q;}'
}

# How often WAL was flushed; nothing where the server does not tell.
flushes() {
    [ -z "$(sql "SELECT 1 FROM pg_attribute WHERE attrelid = 'pg_stat_wal'::regclass AND attname = 'wal_sync'")" ] ||
        sql "SELECT wal_sync FROM pg_stat_wal"
}

# Connections that draw one number each.
come_and_go() {
    echo "$2" | script come_and_go
    sql "CHECKPOINT"
    before=$(flushes)
    began=$(date +%s%N)
    run_pgbench come_and_go 8 -C -t $((total / 8))
    took=$((($(date +%s%N) - began) / 1000000))
    wait_for_silence
    used=$(sql "$3")
    say "$1: $((total / 8 * 8)) connections, $used numbers used, $(($(flushes) - before)) flushes, $took ms"
}

# Restart the server with or without the library.
preload() {
    echo "shared_preload_libraries = '$1'" | as_user sh -c 'cat >>server/data/postgresql.conf'
    as_user "$bindir/pg_ctl" -D "$work/server/data" -w -s -m fast stop
    run_server
}

median() { sort -n "$work/tmp/$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# One-row inserts, each over a connection of its own, in turn.
inserts() {
    for clients in 1 8 32; do
        for kind in nextval hilo; do
            as_user sh -c ": >tmp/$kind; : >tmp/ratio"
        done
        for round in $(seq "$rounds"); do
            if [ $((round % 2)) -eq 0 ]; then kinds='hilo nextval'; else kinds='nextval hilo'; fi
            for kind in $kinds; do
                run_pgbench "$kind" "$clients" -C -T "$seconds"
                echo "$rate" >>"$work/tmp/$kind"
                eval "rate_of_$kind=\$rate"
            done
            awk "BEGIN { print $rate_of_hilo / $rate_of_nextval }" >>"$work/tmp/ratio"
        done
        say "inserts $1, $clients clients: hilo_nextval $(median hilo)/s, nextval CACHE 1 $(median nextval)/s, ratio of a round $(median ratio)"
    done
}

require_packages demo
make_work_folder
copy_checkout
build
start_server <<SETTINGS
shared_preload_libraries = 'hilo'
fsync = on
jit = off
max_connections = 200
autovacuum = off
checkpoint_timeout = 1h
SETTINGS
sql "CREATE EXTENSION hilo; CREATE SEQUENCE seq_1 CACHE 1; CREATE SEQUENCE seq_32 CACHE 32;
    CREATE TABLE one_nextval (id bigint PRIMARY KEY DEFAULT nextval('seq_1'), n int);
    CREATE TABLE one_hilo (id bigint PRIMARY KEY DEFAULT hilo_nextval('one'), n int)"
for kind in nextval hilo; do
    echo "INSERT INTO one_$kind (n) VALUES (1);" | script "$kind"
done
say "fdatasync: $(fdatasync_time) us"
come_and_go "hilo_nextval, preloaded" "SELECT hilo_nextval('orders');" "SELECT max FROM hilo WHERE collection = 'orders'"
come_and_go "nextval CACHE 32" "SELECT nextval('seq_32');" "SELECT last_value FROM seq_32"
inserts "preloaded"
preload ''
inserts "not preloaded"
say "fdatasync: $(fdatasync_time) us"
