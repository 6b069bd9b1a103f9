#!/bin/sh
# run.sh: what hilo costs, beside sequences.
#
#   sh test/bench/run.sh [--no-install] [--quick] [--output DIR]
#
# Builds, starts a private server, measures everything in turn over several
# rounds, and writes RESULTS.md, results.csv and plots (*.svg) into DIR: this
# folder, if none is given.  --quick takes small volumes, only to show that it
# works, and discards its results if no DIR is given.  Times decide
# nothing: the exit code says whether everything worked.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
quick=
output=
usage() { echo "usage: sh test/bench/run.sh [--no-install] [--quick] [--output DIR]" >&2; exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=--quick ;;
        --output) [ $# -ge 2 ] || usage; output=$2; shift ;;
        *) usage ;;
    esac
    shift
done
bench=$top/test/bench
. "$bench/clients.sh"
. "$bench/costs.sh"
. "$bench/report.sh"

if [ -z "$quick" ]; then
    rounds=5
    wal_kept=2GB
    draws=3000000           # from a cold start
    short_draws=1000000     # of a session, in more rounds
    session_rounds=15
    rows=1000000
    seconds=1               # of a run of pgbench
    claims=1000             # timed in a round
    perf_claims=50000
    connections=500
    sessions='1 2 4 8 16 32 64'
    insert_clients='1 8 64'
    collections='10 1000 100000'
    collection_draws=1000000
    total_draws=1000000     # of all sessions together, in a run
else
    rounds=1
    wal_kept=80MB
    draws=20000
    short_draws=20000
    session_rounds=1
    rows=2000
    seconds=0
    claims=20
    perf_claims=1000
    connections=20
    sessions='1 4'
    insert_clients='1 8'
    collections='10 100'
    collection_draws=2000
    total_draws=8000
fi
hot_sessions=64

psql_as_user() { as_user "$bindir/psql" -X -v ON_ERROR_STOP=1 -Atq "$@" || die "The benchmark failed."; }
sql() { psql_as_user -c "$1"; }
now() { date +%s; }
part() { say "$(date +%H:%M:%S) $*"; }

# Note a value measured here: part, name, x, round, value, unit.
record() { printf '%s;%s;%s;%s;%s;%s\n' "$@" >>"$work/values"; }

# Bring the values noted to the others.
load_values() {
    psql_as_user -c "COPY bench.result FROM STDIN (DELIMITER ';')" <"$work/values" || exit 1
    : >"$work/values"
}

# The words after the first argument, beginning with another one for each
# number that the first is.
rotate() {
    turn=$(($1 % ($# - 1)))
    shift
    while [ "$turn" -gt 0 ]; do
        first=$1
        shift
        set -- "$@" "$first"
        turn=$((turn - 1))
    done
    say "$*"
}

need_gnuplot() { need gnuplot gnuplot-nox; }

file_system() { df --output=fstype "$work" | tail -n 1; }

# Microseconds of one fdatasync of 8 kB on the disk of the server.
fdatasync_time() {
    # It ends, by its broken pipe, when this has been read.
    as_user "$bindir/pg_test_fsync" -s 1 -f "$work/server/fsync" 2>/dev/null |
        sed -n '/^ *fdatasync /{s/.* \([0-9][0-9]*\) usecs.*/\1/p;q;}'
}

require need_build
(require need_gnuplot) || say "No plots are drawn because gnuplot is missing."
began=$(now)
load_before=$(cut -d " " -f 1 /proc/loadavg)
make_work_folder
: >"$work/values"
part "building, starting a private server"
copy_checkout
build
as_user make -s -C "$work/src/test/bench" PG_CONFIG="$pg_config" with_llvm=no ||
    die "The module of the benchmark could not be built."
start_server <<SETTINGS
fsync = on
synchronous_commit = on
jit = off
shared_buffers = 1GB
work_mem = 512MB
maintenance_work_mem = 512MB
max_parallel_workers_per_gather = 0
max_connections = $((connections + 100))
min_wal_size = $wal_kept
max_wal_size = 16GB
checkpoint_timeout = 1h
autovacuum = off
SETTINGS
[ "$(file_system)" != tmpfs ] || say "Attention: /tmp is not on a disk; what is flushed costs nothing here."
psql_as_user -v module="$work/src/test/bench/limit.so" <"$bench/common.sql"

part "fdatasync of this disk"
record disk fdatasync 0 1 "$(fdatasync_time)" us
part "draws in one session"
psql_as_user -v draws="$short_draws" -v rounds="$session_rounds" <"$bench/session.sql"
part "from a cold start"
measure_cold_starts
part "INSERT ... SELECT"
PGOPTIONS="-c bench.rows=$rows" && export PGOPTIONS
psql_as_user -v first_round=1 -v rounds="$rounds" <"$bench/inserts.sql"
unset PGOPTIONS
part "one-row inserts by pgbench"
measure_one_row_inserts
measure_reconnecting
part "costs of single steps"
measure_claims
measure_first_draws
measure_wal
measure_cpu
part "many collections"
measure_collections
part "many sessions"
measure_connections
measure_sessions
measure_claiming_sessions
measure_collections_at_once
record disk fdatasync 0 2 "$(fdatasync_time)" us
part "free search"
measure_free_search
load_values
part "writing the results"
report
part "done"
