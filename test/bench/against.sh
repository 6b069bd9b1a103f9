#!/bin/sh
# against.sh: this checkout beside another one, in turn.
#
#   sh test/bench/against.sh [--no-install] [--preload] BASE [ROUNDS]
#
# BASE is the folder of another checkout, even one with other names of
# functions.  Both are built, and have a server each; with --preload these preload
# the library.  ROUNDS, 9 by default, measure them alternately.  Shown are the
# medians, and that of the rounds' ratios: below 1, this checkout takes less.
# Nothing is synced to disk, so that only the work is compared.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
preload=
usage() { echo "usage: sh test/bench/against.sh [--no-install] [--preload] BASE [ROUNDS]" >&2; exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
        --preload) preload="shared_preload_libraries = 'hilo'" ;;
        -*) usage ;;
        *) break ;;
    esac
    shift
done
[ $# -ge 1 ] && [ $# -le 2 ] || usage
base=$(cd "$1" && pwd) || exit 1
rounds=${2:-9}

# Use the server of one: "base" or "this".
use() {
    kind=$1
    PGHOST=$all/$kind/server
    export PGHOST
}

sql() { as_user "$bindir/psql" -X -v ON_ERROR_STOP=1 -Atq -c "$1" || die "The benchmark failed."; }

# Build a checkout, and start its server: "base" or "this", folder.
set_up() (
    as_user mkdir "$all/$1" "$all/$1/src" "$all/$1/dest" "$all/$1/tmp"
    work=$all/$1 top=$2
    copy_checkout
    build
    start_server <<SETTINGS
$preload
fsync = off
wal_init_zero = off
jit = off
shared_buffers = 512MB
max_parallel_workers_per_gather = 0
max_wal_size = 8GB
checkpoint_timeout = 1h
autovacuum = off
max_connections = 50
SETTINGS
    PGOPTIONS='-c client_min_messages=warning'
    export PGOPTIONS
    sql "CREATE EXTENSION hilo"
    # The names in use here; and CPU of this backend, in ns.
    next=$(sql "SELECT CASE WHEN to_regproc('hilo_next_number') IS NULL THEN 'hilo_nextval' ELSE 'hilo_next_number' END")
    sql "CREATE FUNCTION next_number(text) RETURNS bigint LANGUAGE sql AS 'SELECT $next(\$1)';
        CREATE FUNCTION cpu() RETURNS bigint LANGUAGE sql VOLATILE AS
            \$\$ SELECT split_part(pg_read_file('/proc/self/schedstat', 0, 100), ' ', 1)::bigint \$\$;
        CREATE TABLE rows (id bigint DEFAULT $next('rows'), n int);
        CREATE TABLE names AS SELECT 'name' || i % 1000 AS name FROM generate_series(1, 500000) i"
    say "$next" >"$work/tmp/next"
    say "SELECT count($next('sessions')) FROM generate_series(1, 1000);" >"$work/tmp/sessions.pgbench"
    say "SELECT $next('connections');" >"$work/tmp/connections.pgbench"
)

# CPU of a statement in ns, of one of so many that it does, in a session that has
# run it before; what an empty loop takes is measured with it: number, statement.
statement() {
    as_user "$bindir/psql" -X -v ON_ERROR_STOP=1 -Atq <<SQL || die "The benchmark failed."
SET hilo.debug_range_size = 1048576;
$2 \\g /dev/null
SELECT cpu() AS began \\gset
$2 \\g /dev/null
SELECT round((cpu() - :began) / $1.0, 1);
SQL
}

# Note a value: measure, value.
note() { say "$2" >>"$all/tmp/$1.$kind"; }

pgbench() { as_user "$bindir/pgbench" -n "$@" 2>&1 | sed -n 's/^tps = \([0-9.]*\).*/\1/p' | tail -n 1; }

children_cpu() { awk '{ print $16 + $17 }' "/proc/$(head -n 1 "$PGHOST/data/postmaster.pid")/stat"; }

measure() {
    next=$(cat "$all/$kind/tmp/next")
    note "1 warm number, ns" "$(statement 1000000 "SELECT count($next('orders')) FROM generate_series(1, 1000000)")"
    note "2 warm id, ns" "$(statement 1000000 "SELECT count(hilo_next('orders')) FROM generate_series(1, 1000000)")"
    note "3 empty loop, ns" "$(statement 1000000 "SELECT count(x) FROM generate_series(1, 1000000) x")"
    note "4 claim, ns" "$(statement 100000 "SELECT count(hilo_reserve('claims', 1)) FROM generate_series(1, 100000)")"
    note "6 identity, ns" "$(statement 100000 "SELECT count(next_identity_for('identity')) FROM generate_series(1, 100000)")"
    note "7 row of INSERT ... SELECT, ns" "$(statement 300000 "INSERT INTO rows (n) SELECT x FROM generate_series(1, 300000) x")"
    sql "TRUNCATE rows"
    note "8 number, 1000 names by turns, ns" "$(statement 500000 "SELECT count($next(name)) FROM names")"
    rate=$(pgbench -M prepared -c 8 -j 2 -T 2 -f "$all/$kind/tmp/sessions.pgbench")
    note "9 number, 8 sessions, ns" "$(awk "BEGIN { print 1e6 / $rate }")"
    before=$(children_cpu)
    pgbench -c 2 -j 1 -C -t 150 -f "$all/$kind/tmp/connections.pgbench" >/dev/null
    until [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")" = 1 ]; do sleep 0.02; done
    note "a connection that draws once, us" "$(awk "BEGIN { print ($(children_cpu) - $before) * 1e6 / $(getconf CLK_TCK) / 300 }")"
}

# Size of a table with very many collections, and the time it takes to create them.
measure_collections() {
    next=$(cat "$all/$kind/tmp/next")
    table=$(sql "SELECT CASE WHEN to_regclass('hilo.hilo') IS NULL THEN 'public.hilo' ELSE 'hilo.hilo' END")
    note "b first draw of 100,000 collections, ns" "$(as_user "$bindir/psql" -X -v ON_ERROR_STOP=1 -Atq <<SQL
SET hilo.debug_range_size = 1;
SELECT cpu() AS began \\gset
SELECT count($next('many' || x)) FROM generate_series(1, 100000) x \\g /dev/null
SELECT round((cpu() - :began) / 1e5);
SQL
)"
    note "c the table with them and its index, MB" "$(sql "SELECT round(pg_total_relation_size('$table') / 1e6, 1)")"
}

median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

require need_build
[ -r /proc/self/schedstat ] || die "This system does not tell the CPU time of a process."
make_work_folder
all=$work
set_up base "$base" || exit 1
set_up this "$top" || exit 1
PGPORT=5432 PGUSER=postgres PGDATABASE=postgres PGOPTIONS='-c client_min_messages=warning'
export PGPORT PGUSER PGDATABASE PGOPTIONS
kinds='base this'
for round in $(seq "$rounds"); do
    for one in $kinds; do
        use "$one"
        measure
    done
    kinds="${kinds#* } ${kinds%% *}"
done
for one in base this; do
    use "$one"
    measure_collections
done
say "$("$pg_config" --version), $(nproc) processors, $rounds rounds${preload:+, preloaded}; load $(cut -d ' ' -f 1 /proc/loadavg)"
printf '%-45s %10s %10s %7s\n' "CPU of" base this ratio
for file in "$all"/tmp/*.base; do
    measure=$(basename "$file" .base)
    printf '%-45s %10s %10s %7s\n' "${measure#? }" "$(median <"$file")" "$(median <"${file%.base}.this")" \
        "$(paste "$file" "${file%.base}.this" | awk '{ printf "%.3f\n", $2 / $1 }' | median)"
done
