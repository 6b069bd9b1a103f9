#!/bin/sh
# loaded.sh: run check.sh beside six busy loops, as on a machine that has other work
# to do.
#
#   sh test/loaded.sh [--no-install] [FILE...]
#
# The arguments are those of check.sh.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1

loops=
end_loops() {
    status=$?
    trap - EXIT
    [ -z "$loops" ] || kill $loops
    exit "$status"
}
trap end_loops EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
for _ in 1 2 3 4 5 6; do
    sh -c 'while :; do :; done' &
    loops="$loops $!"
done

echo "beside six busy loops on $(nproc) processors"
sh "$top/test/check.sh" "$@" &
wait "$!"
