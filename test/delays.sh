#!/bin/sh
# delays.sh: run torture, and the TAP tests of promises 1 to 3, with a library that sleeps
# a random 0 to 20 ms at its failure points: with a page or an entry locked, before and
# after a flush, and around the pool.  Interleavings that take
# luck elsewhere come in every minute here.
#
#   sh test/delays.sh [--no-install] [MINUTES [SEED [FILE...]]]
#
# MINUTES are those of torture.  One SEED gives the same delays to the same calls of sessions
# that connect in the same order; what the kernel does in between differs.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
option=
case ${1:-} in
    --no-install) option=$1; shift ;;
    -*) echo "usage: sh test/delays.sh [--no-install] [MINUTES [SEED [FILE...]]]" >&2; exit 2 ;;
esac
minutes=${1:-5}
seed=${2:-$(date +%s)}
[ $# -le 2 ] || shift 2
[ $# -gt 0 ] && [ -e "$1" ] || set -- $(sed -n '/^| [1-3] /p' "$top/test/README.md" | grep -oE '`[0-9]{3}_[a-z0-9_]+`' |
    tr -d '`' | sort -u | sed "s,.*,$top/test/t/&.pl,")

PROFILE=-DHILO_FAILURE_POINTS
EXTRA_SETTINGS="test.delay_seed = '$seed'"
export PROFILE EXTRA_SETTINGS
echo "delays of seed $seed"
status=0
sh "$top/test/torture/run.sh" $option "$minutes" "$seed" || status=1
sh "$top/test/check.sh" $option "$@" || status=1
exit "$status"
