#!/bin/sh
# run.sh: is an id that was shown once never shown again?  Many clients draw in
# random transactions from a server that is stopped, killed, promoted and
# recovered; each number is put on record outside of the database, before the
# next statement is sent.
#
#   sh test/torture/run.sh [--no-install] [--break WHAT] [MINUTES] [SEED]
#
# --break builds the extension with a mistake, to show that the test finds it:
#
#   flush      claims are not flushed: numbers come twice
#   seed       other sessions do not hear of a forced seed: the same, or numbers
#              above max
#   leak       some ranges are claimed and never used: gaps without a reason
#   forget     sessions forget their ranges without a reason
#   give-back  what is left of a range does not go back when a session ends
#   sqlstate   a bad count is refused with another SQLSTATE
#
# The exit code is then 0 if the verdict is bad for that reason.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
install=yes
break=
usage() {
    echo "usage: sh test/torture/run.sh [--no-install] [--break flush|seed|leak|forget|give-back|sqlstate] [MINUTES] [SEED]" >&2
    exit 2
}
while [ $# -gt 0 ]; do
    case $1 in
        --no-install) install=no ;;
        --break) [ $# -ge 2 ] || usage; break=$2; shift ;;
        -*) usage ;;
        *) break ;;
    esac
    shift
done
case $break in '' | flush | seed | leak | forget | give-back | sqlstate) ;; *) usage ;; esac
[ $# -le 2 ] || usage
minutes=${1:-2}
seed=${2:-$(date +%s)}
. "$top/test/lib.sh"

# Change one line of a source of the copy.
spoil() {
    as_user cp "$work/src/src/$1" "$work/tmp/unspoilt"
    as_user sed -i "$2" "$work/src/src/$1"
    [ "$(diff "$work/tmp/unspoilt" "$work/src/src/$1" | grep -c '^[0-9]')" -eq 1 ] ||
        die "The code to break is not where it was."
}

require_packages torture
make_work_folder
# What is broken must not get into a server of the system.
[ -z "$break" ] || server_has_setting extension_destdir || server_has_setting extension_control_path ||
    die "--break takes a server that finds extensions outside of its own folder."
copy_checkout
case $break in
    flush) spoil row_change.c '/^hilo_row_flush(/,/^}/ { /^\tXLogFlush(lsn);$/d }' ;;
    seed) spoil counter.c '/^hilo_finish_new_incarnation(/,/^}/ { /^\thilo_catalog_announce(table);$/d }' ;;
    leak) spoil cache.c '/^claim_and_park(/,/^}/ s/^\thilo_source_claim(.*);$/&\n\tif (claim.range.high % 64 == 0)\n\t&/' ;;
    forget) spoil cache.c '/^read_row(/,/^}/ s/hilo_source_holds(/random() % 2 \&\& &/' ;;
    give-back) spoil cache.c '/^release_at_exit(/,/^}/ { /hilo_cache_release_all();$/d }' ;;
    sqlstate) spoil api_hilo.c '/^checked_count(/,/^}/ s/ERRCODE_INVALID_PARAMETER_VALUE/ERRCODE_INVALID_NAME/' ;;
esac
build
as_user gcc -O1 -g -Wall -I "$("$pg_config" --includedir)" -o torture \
    "$work"/src/test/torture/*.c -L "$("$pg_config" --libdir)" -Wl,-rpath,"$("$pg_config" --libdir)" -lpq ||
    die "The clients could not be built."

# Everything that would bring WAL to disk by the way is off, so that what is not
# flushed on purpose is lost in a crash.
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
hilo.lease_retry = 50ms
max_prepared_transactions = 40
deadlock_timeout = 100ms
hilo.max_range_size = 256
log_line_prefix = '%m [%p] %e '
SETTINGS
as_user "$bindir/pg_ctl" -D "$work/server/data" -w -s -m fast stop

seconds=$(awk "BEGIN { print int($minutes * 60) }")
say "== torture, seed $seed, $minutes minutes"
if [ -z "$break" ]; then
    as_user ./torture "$bindir" "$work/server" "$seconds" "$seed"
    exit
fi
as_user ./torture "$bindir" "$work/server" "$seconds" "$seed" >"$work/tmp/broken.log"
tail -n 40 "$work/tmp/broken.log"
case $break in
    flush) found='repeated: ' ;;
    seed) found='\(repeated\|beyond max\): ' ;;
    leak) found='unexplained gap: ' ;;
    forget) found='has forgotten' ;;
    give-back) found='has not given back' ;;
    sqlstate) found='SQLSTATE 42602' ;;
esac
if grep "^FAILURE .*$found" "$work/tmp/broken.log" >/dev/null &&
    grep '^verdict: failed' "$work/tmp/broken.log" >/dev/null; then
    say "Found: $break."
else
    die "Not found: $break; the verdict should be bad because of it."
fi
