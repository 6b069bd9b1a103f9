#!/bin/sh
# ordered.sh: what a draw of an ordered collection costs beside nextval, and the
# horizon.
#
#   sh test/bench/ordered.sh [--no-install] [--quick]
#
# Ways take turns, medians count.  --quick only shows that it works: its times say
# nothing.  Takes six minutes.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
seconds=3 rounds=7 draws=500000
for option in "$@"; do
    case $option in
        --quick) seconds=1 rounds=1 draws=10000 ;;
        *) echo "unknown option: $option" >&2; exit 2 ;;
    esac
done

require need_build
make_work_folder
copy_checkout
build
start_server <<SETTINGS
shared_preload_libraries = 'hilo'
max_connections = 150
fsync = on
SETTINGS
psql="as_user $bindir/psql -XAtq"
$psql -c "SET client_min_messages = warning" -c "CREATE EXTENSION hilo" -c "CREATE SEQUENCE plain" \
    -c "CREATE TABLE by_sequence (id bigint PRIMARY KEY DEFAULT nextval('plain'))" \
    -c "CREATE TABLE by_order (id bigint PRIMARY KEY DEFAULT hilo_next_number('ordered'))" \
    -c "CREATE TABLE by_range (id bigint PRIMARY KEY DEFAULT hilo_next_number('ranges'))" \
    -c "SELECT hilo.configure('ordered', ordered => true)"

median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

# Time of a query, in microseconds for each of $draws.
time_of() {
    $psql -c '\timing on' -c "$1" | sed -n 's/^Time: \([0-9.]*\) ms.*/\1/p' | awk -v n="$draws" '{ printf "%.4f\n", $1 * 1000 / n }'
}

say "one session, microseconds a draw, without the empty loop"
round=0
while [ "$round" -lt "$rounds" ]; do
    for way in "count(i)" "count(nextval('plain'))" "count(hilo_next_number('ordered'))" "count(hilo_next_number('ranges'))"; do
        time_of "SELECT $way FROM generate_series(1, $draws) i" >>"$work/tmp/$(say "$way" | tr -dc a-z)"
    done
    round=$((round + 1))
done
loop=$(median <"$work/tmp/counti")
for way in countnextvalplain counthilonextnumberordered counthilonextnumberranges; do
    say "   $(median <"$work/tmp/$way" | awk -v l="$loop" '{ printf "%.3f", $1 - l }') $way"
done

# Transactions a second of a statement.
throughput() {
    say "$2" >"$work/tmp/script.sql"
    as_user "$bindir/pgbench" -n -M prepared -c "$1" -j 2 -T "$seconds" -f "$work/tmp/script.sql" 2>/dev/null |
        sed -n 's/^tps = \([0-9.]*\).*/\1/p' | tail -n 1
}

# Compare statements: clients, name, statement, ...
compare() {
    clients=$1
    shift
    rm -f "$work"/tmp/way.*
    round=0
    while [ "$round" -lt "$rounds" ]; do
        i=0
        for statement in "$@"; do
            throughput "$clients" "$statement" >>"$work/tmp/way.$i"
            i=$((i + 1))
        done
        round=$((round + 1))
    done
    i=0
    for statement in "$@"; do
        say "   $(median <"$work/tmp/way.$i") $statement"
        i=$((i + 1))
    done
}
for sessions in 2 8 32; do
    say "$sessions sessions, transactions a second, of 100 draws"
    compare "$sessions" "SELECT count(nextval('plain')) FROM generate_series(1, 100);" \
        "SELECT count(hilo_next_number('ordered')) FROM generate_series(1, 100);" \
        "SELECT count(hilo_next_number('ranges')) FROM generate_series(1, 100);"
done
say "8 sessions, transactions a second, of one row"
compare 8 "INSERT INTO by_sequence DEFAULT VALUES;" "INSERT INTO by_order DEFAULT VALUES;" "INSERT INTO by_range DEFAULT VALUES;"

# 100 transactions that have drawn hold the horizon back, each in a session.
say "SELECT pg_sleep(1000) FROM hilo_next_number('ordered');" >"$work/tmp/hold.sql"
as_user "$bindir/pgbench" -n -c 100 -j 2 -t 1 -f "$work/tmp/hold.sql" >/dev/null 2>&1 &
hold=$!
until [ "$($psql -c "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%'")" = 100 ]; do sleep 0.1; done
say "hilo.horizon() beside 100 such transactions, microseconds a call, without the empty loop"
round=0
while [ "$round" -lt "$rounds" ]; do
    time_of "SELECT count(h) FROM generate_series(1, $draws) i, LATERAL (SELECT i + 0 AS h OFFSET 0) x" >>"$work/tmp/empty"
    time_of "SELECT count(h.horizon) FROM generate_series(1, $draws) i, LATERAL (SELECT horizon FROM hilo.horizon(CASE WHEN i > 0 THEN 'ordered' END) OFFSET 0) h" >>"$work/tmp/horizon"
    round=$((round + 1))
done
say "   $(median <"$work/tmp/horizon" | awk -v l="$(median <"$work/tmp/empty")" '{ printf "%.3f", $1 - l }')"
kill "$hold"
wait "$hold" 2>/dev/null
exit 0
