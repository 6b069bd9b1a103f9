#!/bin/sh
# arrows.sh: what a file of src may know of others.
#
#   sh test/arrows.sh
#
# No two files need each other's header, be it by way of others.  Says which do, and fails.
cd "$(dirname "$0")/.." || exit 1
circles=$(awk '
    /^#include "[a-z_]+\.h"/ {
        from = FILENAME
        gsub(/^src\/|\.[ch]$/, "", from)
        split($2, to, /"|\.h"/)
        if (from != to[2])
            print from, to[2]
    }' src/*.[ch] | sort -u | tsort 2>&1 >/dev/null | sed -n 's/^tsort: \([a-z_]*\)$/\1/p')
[ -z "$circles" ] || { printf '%s\n' "$circles" "These files need each other."; exit 1; }
