#!/bin/sh
# arrows.sh: a folder of src includes headers of its own and of those below it only, and the core,
# which is all but src/hub, includes none of that.
#
#   sh test/arrows.sh
#
# Says which includes climb, and fails if there is one.
cd "$(dirname "$0")/.." || exit 1
climbing=$(awk '
    BEGIN {
        n = split("base counting shared session tables sequences ids functions", floors)
        for (i = 1; i <= n; i++)
            floor[floors[i]] = i
        floor["hub"] = floor["session"] + 0.5
    }
    /^#include "[a-z]+\/[a-z_]+\.h"/ {
        split(FILENAME, at, "/")
        split($2, to, /["\/]/)
        if ((to[2] in floor) && (floor[to[2]] > floor[at[2]] || to[2] == "hub" && at[2] != "hub"))
            print at[2] "/" at[3] " -> " substr($2, 2, length($2) - 2)
    }' src/*/*.[ch])
[ -z "$climbing" ] || { printf '%s\n' "$climbing" "An include climbs."; exit 1; }
