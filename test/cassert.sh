#!/bin/sh
# cassert.sh: run check.sh on a server built with --enable-cassert from Debian's
# source package, which finds mistakes that other builds miss; then the SQL and the
# isolation tests once more with debug_discard_caches = 1, with which that server
# discards its catalog caches whenever it might have to.  That takes
# more than half an hour; the time limits of the other tests are too short for it.
#
#   sh test/cassert.sh [FILE...]
#
# FILE is a test, as for check.sh; those given are run both ways.  If PG_CONFIG
# names a server with assertions, that one is used.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$top/test/lib.sh"
. "$top/test/source-server.sh"

# Run check.sh with additional settings for the servers, and add up the results.
passed=0
failed=0
check() {
    settings=$1
    shift
    say "=== a server with assertions${settings:+, $settings}"
    PG_CONFIG=$server/bin/pg_config EXTRA_SETTINGS=$settings \
        sh "$top/test/check.sh" --no-install "$@" 2>&1 |
        tee "$work/check.log"
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$work/check.log" | tail -n 1)
    set -- ${counts:-0 1}
    passed=$((passed + $1))
    failed=$((failed + $2))
}

require need_tests
make_work_folder
if "$pg_config" --configure | grep enable-cassert >/dev/null; then
    server=${bindir%/bin}
else
    server=$work/server-with-asserts
    build_source_server "$server" "-O1 -g"
fi
check '' "$@"
[ $# -gt 0 ] || set -- "$top"/test/sql/*.sql "$top"/test/specs/*.spec
check 'debug_discard_caches = 1' "$@"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
