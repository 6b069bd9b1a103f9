#!/bin/sh
# leases.sh: costs and benefits of leases, on a hub and three members.
#
#   sh test/bench/leases.sh [--no-install] [--quick]
#
# All four servers run on this machine.  --quick only shows that it works: its
# times say nothing.  Takes seven minutes.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
seconds=30 rounds=25 warm=120 away=60
for option in "$@"; do
    case $option in
        --quick) seconds=3 rounds=3 warm=6 away=3 ;;
        *) echo "unknown option: $option" >&2; exit 2 ;;
    esac
done

require need_build
make_work_folder
copy_checkout
build

members='member1 member2 member3'
clients=8

# Make and start a server: name; standard input has settings.
make_node() {
    as_user mkdir "$work/$1"
    as_user "$bindir/initdb" -D "$work/$1/data" -U postgres -A trust -E UTF8 --locale=C -N \
        >"$work/tmp/initdb.log" 2>&1 || die "initdb failed."
    {
        cat "$work/hilo.conf"
        say "shared_preload_libraries = 'hilo'"
        say "listen_addresses = ''"
        say "unix_socket_directories = '$work/$1'"
        [ "$1" != hub ] || say "log_statement = all"
        cat
    } | as_user sh -c "cat >> $1/data/postgresql.conf"
    start_node "$1"
    on "$1" 'CREATE EXTENSION hilo; CREATE EXTENSION postgres_fdw'
}

start_node() {
    as_user "$bindir/pg_ctl" -D "$work/$1/data" -l "$work/$1/log" -w -s start || die "$1 did not start."
}

# Run SQL on a server.
on() {
    as_user "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -h "$work/$1" -U postgres -d postgres -c "$2" ||
        die "This failed on $1: $2"
}

# How many leases of a collection the hub was asked for, by its log.
leases_of() {
    grep -c "parameters: \$1 = '$1', \$2 = '[1-9]" "$work/hub/log"
}

# pgbench on a server: name, script, options.
bench() {
    node=$1 script=$2
    shift 2
    as_user "$bindir/pgbench" -n -h "$work/$node" -U postgres -M prepared -f "$work/tmp/$script.sql" "$@" postgres
}

tps() { sed -n 's/^tps = \([0-9.]*\).*/\1/p'; }

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

script() { as_user sh -c "cat > tmp/$1.sql"; }

# Connect a member to a hub's database.
connect() {
    on "$1" "CREATE SERVER $2 FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$work/hub', dbname '$2');
        CREATE USER MAPPING FOR postgres SERVER $2 OPTIONS (user 'postgres')"
}

say "== servers"
for node in hub $members; do
    make_node "$node" <<SETTINGS
shared_buffers = 256MB
max_wal_size = 4GB
autovacuum = off
SETTINGS
done
for member in $members; do
    connect "$member" postgres
done

say "== $clients clients on each of three members, $seconds s"
script insert <<SQL
INSERT INTO drawn DEFAULT VALUES;
SQL
pids=
for member in $members; do
    on "$member" "CREATE UNLOGGED TABLE drawn (id bigint NOT NULL DEFAULT hilo_next_number('drawn'));
        SELECT hilo.lease_from('drawn', 'postgres')" >/dev/null
    bench "$member" insert -c "$clients" -j 1 -T "$seconds" >"$work/tmp/$member.out" 2>&1 &
    pids="$pids $!"
done
for pid in $pids; do
    wait "$pid" || die "A client has failed: $(cat "$work"/tmp/member?.out)"
done
on hub 'CREATE UNLOGGED TABLE drawn (id bigint)'
for member in $members; do
    as_user "$bindir/psql" -XAtq -h "$work/$member" -U postgres -d postgres -c 'COPY drawn TO STDOUT' |
        as_user "$bindir/psql" -XAtq -h "$work/hub" -U postgres -d postgres -c 'COPY drawn FROM STDIN' || exit 1
done
say "numbers drawn, and how often one was drawn again: $(on hub 'SELECT count(*), count(*) - count(DISTINCT id) FROM drawn')"
say "leases of all members: $(leases_of drawn)"

say "== one-row inserts, counted and leased, $rounds rounds"
on member1 "CREATE TABLE counted (id bigint PRIMARY KEY DEFAULT hilo_next_number('counted'), v text);
    CREATE TABLE leased (id bigint PRIMARY KEY DEFAULT hilo_next_number('leased'), v text);
    SELECT hilo.lease_from('leased', 'postgres')" >/dev/null
for kind in counted leased; do
    script "$kind" <<SQL
INSERT INTO $kind (v) VALUES ('some text');
SQL
    bench member1 "$kind" -c "$clients" -j 1 -T 2 >/dev/null 2>&1
done
for round in $(seq "$rounds"); do
    if [ $((round % 2)) -eq 0 ]; then order='counted leased'; else order='leased counted'; fi
    for kind in $order; do
        bench member1 "$kind" -c "$clients" -j 1 -T 2 2>/dev/null | tps >>"$work/tmp/$kind.tps"
    done
done
for kind in counted leased; do
    say "inserts a second, $kind: $(median <"$work/tmp/$kind.tps") ($(sort -n "$work/tmp/$kind.tps" | sed -n '1p;$p' | paste -sd-))"
done

say "== 10,000 numbers a second on each member, $warm s, then the hub is away for $away s"
script steady <<SQL
SELECT count(hilo_next_number('steady')) FROM generate_series(1, 100);
SQL
pids=
for member in $members; do
    on "$member" "SELECT hilo.lease_from('steady', 'postgres')" >/dev/null
    bench "$member" steady -c 4 -j 1 -R 100 -T $((warm + away + 2)) >"$work/tmp/$member.out" 2>&1 &
    pids="$pids $!"
done
sleep "$warm"
leases=$(leases_of steady)
left=$(for member in $members; do on "$member" "SELECT numbers_left FROM hilo.leases WHERE collection = 'steady'"; done | sort -n | head -n 1)
as_user "$bindir/pg_ctl" -D "$work/hub/data" -m immediate -w -s stop
sleep "$away"
start_node hub
failed=0
for pid in $pids; do
    wait "$pid" || failed=$((failed + 1))
done
for member in $members; do
    say "$member: $(sed -n 's/^number of transactions actually processed: \([0-9]*\).*/\1/p' "$work/tmp/$member.out")00 numbers, failed: $(sed -n 's/^number of failed transactions: \([0-9]*\).*/\1/p' "$work/tmp/$member.out")"
done
say "clients that have failed: $failed; leases of all members in $warm s: $leases; fewest numbers left when the hub went: $left"

say "== a hub that takes 500 ms to answer, $clients clients, 4,000 draws a second"
on hub 'CREATE DATABASE slow'
as_user "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -h "$work/hub" -U postgres -d slow <<'SQL' || die "The slow hub was not made."
CREATE EXTENSION hilo;
CREATE SCHEMA at_once;
ALTER FUNCTION hilo.lease SET SCHEMA at_once;
DO $do$ DECLARE f oid := 'at_once.lease'::regproc; BEGIN
    EXECUTE format($sql$CREATE FUNCTION hilo.lease(%s) LANGUAGE sql AS $f$SELECT pg_sleep(0.5); SELECT * FROM at_once.lease(%s)$f$$sql$,
        pg_get_function_arguments(f),
        (SELECT string_agg('$' || n, ', ') FROM generate_series(1, (SELECT pronargs FROM pg_proc WHERE oid = f)) n));
END $do$;
SQL
connect member2 slow
on member2 "SELECT hilo.lease_from('slow', 'slow'); SELECT hilo_next_number('slow')" >/dev/null
script draw <<SQL
SELECT hilo_next_number('slow');
SQL
bench member2 draw -c "$clients" -j 1 -R 4000 -T "$seconds" -l --log-prefix="$work/tmp/latency" >/dev/null 2>&1 ||
    die "A client has failed."
# Without the time that it started late.
awk '{ t = $3 - $7; if (t > max) max = t; n++ } END { printf "draws: %d, the slowest: %.1f ms\n", n, max / 1000 }' "$work"/tmp/latency*
say "leases: $(leases_of slow)"
