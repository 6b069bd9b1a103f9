#!/bin/sh
# run.sh: a hub that fails over, in network namespaces of this machine, while members draw.
#
#   sh test/ha/run.sh [--no-install] [--short] [--only EVENT,EVENT...] [--modes N,N...] [RESULT]
#
# Three nodes with etcd, Patroni and PostgreSQL are the hub, three servers its members: one by a list of hosts, one by HAProxy,
# one by PgBouncer and HAProxy, set up by the files that doc/high-availability.md prints.  Events come one after the other, in
# four modes: 1 synchronous, automatic resume; 2 the same with a watchdog; 3 asynchronous, resume by hand; 4 asynchronous,
# resume by the callback, with a watchdog.  With a watchdog there are only events that may change the primary.  All numbers are
# counted, beside those of an ordinary sequence on the hub.  It takes about 40 minutes; --short is one switch-over and one kill,
# in two or three.  The table of results goes to RESULT.
#
# A watchdog is imitated: a real one would reset the machine.  Patroni's driver for tests writes to a pipe, and all processes of
# a node end when that is silent.
#
# It has to be root, for the namespaces, on a machine for which Debian has the packages.  Exit code 77: it cannot run here.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
# So many seconds more than psql members may need.
limit=3
only= result= modes=1,2,3,4
while [ $# -gt 0 ]; do
    case $1 in
        --short) only='switch-over,postgres killed' modes=1 limit=10 ;;
        --only) shift; only=$1 ;;
        --modes) shift; modes=$1 ;;
        *) result=$1 ;;
    esac
    shift
done

cannot() { say "not run: $*"; exit 77; }

need_nodes() {
    need_build
    need etcd etcd-server
    need patroni patroni
    need haproxy haproxy
    need pgbouncer pgbouncer
    need iptables iptables
    need ip iproute2
    need_python psycopg2 python3-psycopg2
    need_python yaml python3-yaml
}

[ "$(id -u)" -eq 0 ] || cannot "not root"
(require need_nodes) || cannot "missing packages"
ip netns add "hilo-try$$" 2>/dev/null || cannot "no network namespaces"
ip netns del "hilo-try$$"

find_postgres
make_work_folder
copy_checkout
# Settings test.* make leases small.
PROFILE=-DHILO_FAILURE_POINTS
export PROFILE
build
PATH=$PATH:/usr/sbin PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$top/test/ha/ha.py" --work "$work" --bindir "$bindir" --user "${run_as:-postgres}" \
    --page "$top/doc/high-availability.md" --only "$only" --modes "$modes" --limit "$limit" --result "$work/result.md"
status=$?
cat "$work/result.md" 2>/dev/null
[ -z "$result" ] || cp "$work/result.md" "$result"
if [ -n "${HILO_KEEP_LOGS:-}" ]; then
    mkdir -p "$HILO_KEEP_LOGS" && cp "$work"/*.log "$work"/*/*.log "$HILO_KEEP_LOGS" 2>/dev/null
fi
exit "$status"
