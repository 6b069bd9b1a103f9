#!/bin/sh
# members.sh: how many members one hub can serve.
#
#   sh test/bench/members.sh [--no-install] [--quick] [MEMBERS [COLLECTIONS]]
#
# A member is simulated by what it sends: it connects, reads where the extension is, asks for a lease under a name of its own,
# and, as the short-lived lease worker does, goes.  A thousand members with ten collections each take turns at random: over
# connections that stay, with a connection for each request, the same through PgBouncer, and with a connection for all
# collections that are due.  Prints leases a second, and the processor time that one costs the hub, from which follows what all
# cores could do, however busy the machine is otherwise; and how many pairs of member and collection that is with leases of ten
# minutes.  Takes two minutes.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
seconds=10 members=1000 collections=10
while [ $# -gt 0 ]; do
    case $1 in
        --quick) seconds=2 ;;
        *) members=$1; [ $# -lt 2 ] || { collections=$2; shift; } ;;
    esac
    shift
done

require need_build
make_work_folder
copy_checkout
build
start_server <<EOT
max_connections = 300
max_wal_size = 4GB
EOT

sql() { as_user "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -h "$work/server" -U postgres -d postgres -c "$1" || die "This failed: $1"; }
sql "CREATE EXTENSION hilo"

# What connection.c sends when it has connected, and for each lease.
connected="SELECT pg_catalog.quote_ident(n.nspname), pg_catalog.set_config('statement_timeout', '10000', false), pg_catalog.set_config('client_connection_check_interval', '500', false) FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'hilo';"
lease() { say "SELECT hilo.lease('c' || $1, 65536, 0, 0, 0, 0, 'member' || :m);"; }
script() { as_user sh -c "cat > tmp/$1.sql"; }
{ say "\\set m random(1, $members)"; say "\\set c random(1, $collections)"; lease :c; } | script stay
{ say "\\set m random(1, $members)"; say "\\set c random(1, $collections)"; say "$connected"; lease :c; } | script once
{
    say "\\set m random(1, $members)"
    say "$connected"
    for c in $(seq "$collections"); do lease "$c"; done
} | script due

pgbouncer=$(command -v pgbouncer) && {
    as_user sh -c 'cat > tmp/pgbouncer.ini' <<EOT
[databases]
postgres = host=$work/server
[pgbouncer]
listen_addr =
unix_socket_dir = $work/tmp
listen_port = 6432
auth_type = any
auth_file = $work/tmp/users
pool_mode = session
server_reset_query = DISCARD ALL
default_pool_size = 16
max_client_conn = 500
logfile = $work/tmp/pgbouncer.log
pidfile = $work/tmp/pgbouncer.pid
EOT
    as_user sh -c "echo '\"postgres\" \"\"' > tmp/users; sed -i 's/^postgres = .*/& user=postgres/' tmp/pgbouncer.ini"
    as_user "$pgbouncer" -q -d "$work/tmp/pgbouncer.ini" || pgbouncer=
}

# Processor time of the server's sessions, which end for that, in hundredths of a second.
used() {
    sql "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()" >/dev/null
    while [ "$(sql "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")" -gt 1 ]; do sleep 0.2; done
    awk '{ print $16 + $17 }' "/proc/$(head -n 1 "$work/server/data/postmaster.pid")/stat"
}

# Leases a second, and milliseconds of processor time for one: script, leases in it, clients, where, options.
rate() {
    file=$1 each=$2 clients=$3 host=$4 port=$5
    shift 5
    before=$(used)
    tps=$(as_user "$bindir/pgbench" -n -h "$host" -p "$port" -U postgres -c "$clients" -j 2 -T "$seconds" -f "$work/tmp/$file.sql" "$@" postgres 2>"$work/tmp/pgbench.log" |
        sed -n 's/^tps = \([0-9.]*\).*/\1/p' | tail -n 1)
    [ -n "$tps" ] || { cat "$work/tmp/pgbench.log" >&2; die "pgbench failed."; }
    say "$tps $each $(($(used) - before)) $seconds" | awk '{ printf "%.0f %.3f", $1 * $2, $3 * 10 / ($1 * $2 * $4) }'
}

line() {
    say "$2" | awk -v what="$1" -v cores="$(nproc)" '{
        bound = cores * 1000 / $2
        n = bound * 600
        if (n < 1e6) pairs = sprintf("%d,000", n / 1000); else pairs = sprintf("%.1f million", n / 1e6)
        printf "| %s | %d | %.2f ms | %d | %s |\n", what, $1, $2, bound, pairs
    }'
}

say "$members members, $collections collections, leases of ten minutes; $(nproc) cores, PostgreSQL $("$pg_config" --version | sed 's/^[^0-9]*//'), $(date +%F)"
say
say '| how members ask | leases a second, here and now | processor time of the hub for one | at most a second, by that | pairs of member and collection |'
say '| --- | --- | --- | --- | --- |'
for clients in 1 8 64; do
    line "over $clients connections that stay" "$(rate stay 1 "$clients" "$work/server" 5432 -M prepared)"
done
line 'a connection for each lease, 8 at a time' "$(rate once 1 8 "$work/server" 5432 -C)"
line 'the same, 64 at a time' "$(rate once 1 64 "$work/server" 5432 -C)"
line "a connection for $collections collections that are due, 8 at a time" "$(rate due "$collections" 8 "$work/server" 5432 -C)"
if [ -n "$pgbouncer" ]; then
    line 'a connection for each lease, through PgBouncer, 8 at a time' "$(rate once 1 8 "$work/tmp" 6432 -C)"
    line 'the same, 64 at a time' "$(rate once 1 64 "$work/tmp" 6432 -C)"
    line "a connection for $collections collections, through PgBouncer, 8 at a time" "$(rate due "$collections" 8 "$work/tmp" 6432 -C)"
fi
say
say "hilo.member: $(sql "SELECT count(*) || ' rows, ' || pg_size_pretty(pg_total_relation_size('hilo.member')) FROM hilo.member")"
