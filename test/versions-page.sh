#!/bin/sh
# versions-page.sh: write into test/VERSIONS.md what was tested on which versions.
#
#   sh test/versions-page.sh LOG...
#
# LOG is the output of check.sh, versions.sh or loaded.sh.  The section "Runs" of the
# page gets a row for each run in them.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
[ $# -gt 0 ] || { echo "usage: sh test/versions-page.sh LOG..." >&2; exit 2; }
page=$top/test/VERSIONS.md
table=$(mktemp)
trap 'rm -f "$table"' EXIT

awk '
BEGIN {
    count = split("gcc clang SQL isolation TAP hostile_input torture", kinds, " ")
    print "| PostgreSQL | date | gcc, no warning | clang, no warning | SQL | isolation | TAP | hostile input | torture, 2 minutes | seconds |"
    print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
}

function cell(kind,    p) {
    if (!(kind in result))
        return "not run"
    split(result[kind], p, " of ")
    if (p[1] != p[2])
        return "**" p[2] - p[1] " of " p[2] " failed**"
    return p[2] == 1 ? "passed" : p[2] " passed"
}

# Remember what a run has skipped: one line for all tests of a file with the same
# reason, and for all runs.
function note(run, what) {
    if (match(what, /: ok [0-9]+ # skip /))
        what = substr(what, 1, RSTART - 1) ": " substr(what, RSTART + RLENGTH)
    if (!(what in runs))
        notes[++lines] = what
    if (!((what, run) in noted))
        runs[what] = runs[what] (runs[what] == "" ? "" : "; ") run
    noted[what, run] = 1
}

# The end of a block, or of a file.
function finish(    i, row, where) {
    if (version == "")
        return
    where = loaded ? ", beside six busy loops" : ""
    row = "| " version where " | " date
    for (i = 1; i <= count; i++)
        row = row " | " cell(kinds[i])
    print row " | " seconds " |"
    for (i = 1; i <= skips; i++)
        note(substr(version, 1, index(version " ", " ") - 1) where, skip[i])
    version = ""
    skips = 0
    delete result
}

FNR == 1 { finish(); loaded = 0; skips = 0 }
/^beside six busy loops/ { loaded = 1 }
/^skipped:/ { finish(); in_skips = 1; skips = 0; next }
/^ran on / {
    finish()
    in_skips = 0
    date = $3
    sub(/,$/, "", date)
    version = $0
    sub(/^ran on [^,]*, PostgreSQL /, "", version)
    seconds = version
    sub(/, in [0-9]* s:$/, "", version)
    sub(/^.*, in /, "", seconds)
    sub(/ s:$/, "", seconds)
    next
}
in_skips && /^  / { skip[++skips] = substr($0, 3); next }
version != "" && /^  [^:]*: [0-9]* of [0-9]*, [0-9]* s$/ {
    kind = $0
    sub(/^  /, "", kind)
    value = kind
    sub(/: .*/, "", kind)
    gsub(/ /, "_", kind)
    sub(/^[^:]*: /, "", value)
    sub(/,.*/, "", value)
    result[kind] = value
    next
}
!/^  / { in_skips = 0; finish() }

END {
    finish()
    print "\nNot run, and why:\n"
    for (i = 1; i <= lines; i++)
        print "- " notes[i] " (" runs[notes[i]] ")"
    if (!lines)
        print "- Nothing was left out."
}' "$@" >"$table"
grep '^| [0-9]' "$table" >/dev/null || { echo "There is no run in these logs." >&2; exit 1; }

awk -v table="$table" '
/^## / { skipping = 0 }
!skipping
/^## Runs$/ { print ""; while ((getline line < table) > 0) print line; print ""; skipping = 1 }' "$page" >"$table.page"
cat "$table.page" >"$page"
rm "$table.page"
