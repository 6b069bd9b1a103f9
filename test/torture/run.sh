#!/bin/sh
# run.sh: check that an id that was shown is never shown again.  Many clients draw in
# random transactions from a server that is stopped, killed, promoted and
# recovered; each number is recorded outside the database before the
# next statement is sent.
#
#   sh test/torture/run.sh [--no-install] [MINUTES] [SEED]
#
# mutants.sh shows that it finds mistakes.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
usage() {
    echo "usage: sh test/torture/run.sh [--no-install] [MINUTES] [SEED]" >&2
    exit 2
}
case ${1:-} in -*) usage ;; esac
[ $# -le 2 ] || usage
minutes=${1:-2}
seed=${2:-$(date +%s)}

require need_build
make_work_folder
copy_checkout
build
as_user $CC -O1 -g -Wall -I "$("$pg_config" --includedir)" -o torture \
    "$work"/src/test/torture/*.c -L "$("$pg_config" --libdir)" -Wl,-rpath,"$("$pg_config" --libdir)" -lpq ||
    die "Could not build the clients."

# Everything else that would write WAL to disk is off, so that what is not
# flushed explicitly is lost in a crash.
start_server <<'SETTINGS'
wal_buffers = 64MB
wal_writer_delay = 10s
wal_writer_flush_after = 1GB
wal_keep_size = 2GB
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
autovacuum = off
shared_buffers = 64MB
max_connections = 80
max_prepared_transactions = 40
deadlock_timeout = 100ms
hilo.max_range_size = 256
log_line_prefix = '%m [%p] %e '
SETTINGS
as_user "$bindir/pg_ctl" -D "$work/server/data" -w -s -m fast stop

seconds=$(awk "BEGIN { print int($minutes * 60) }")
say "== torture, seed $seed, $minutes minutes"
as_user ./torture "$bindir" "$work/server" "$seconds" "$seed"
