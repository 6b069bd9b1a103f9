#!/bin/sh
# league.sh: what becomes of ids of several kinds when servers crash, clocks step back, standbys are promoted.
#
#   sh test/bench/league.sh [--no-install] [--short] [--output DIR]
#
# Builds, starts private servers, lets clients draw ids of each kind (league.sql) and write
# down what they were shown, and counts those that were shown twice.  Writes LEAGUE.md,
# league.tsv and two plots into DIR: this folder, if none is given.  Takes two minutes; less with
# --short, which takes smaller volumes.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
bench=$top/test/bench
output=$bench
crashes=10
shown=3000          # ids that a client is shown before a crash
draws=10000         # ids before and after another event
timed=1000000       # ids for the rate
rounds=5
short=
while [ $# -gt 0 ]; do
    case $1 in
        --short) short=' --short' crashes=2 shown=300 draws=1000 timed=50000 rounds=3 ;;
        --output) [ $# -ge 2 ] || exit 2; output=$2; shift ;;
        *) die "usage: sh test/bench/league.sh [--no-install] [--short] [--output DIR]" ;;
    esac
    shift
done
need_league() { need_build; need gnuplot gnuplot-nox; }
require need_league
make_work_folder
copy_checkout
build >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
started=$(date +%s)

kinds='sequence cache uuid7 snowflake hilo hilo_text'
results=$work/tmp/league.tsv
: >"$results"

# The WAL writer would flush what a transaction that is rolled back has left.
start_server <<'SETTINGS'
wal_writer_delay = 10s
wal_level = replica
max_wal_senders = 4
jit = off
SETTINGS
sql() { as_user "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 "$@"; }
sql -f "$work/src/test/bench/league.sql" >/dev/null || die "league.sql fails."

# Draw so many ids of a kind, with these settings, and write them down.
draw() { sql -c "SET league.back = '${3:-0}'" -c "SET league.node = '${4:-1}'" -c "SELECT league.$1() FROM generate_series(1, $2)"; }

# Note for an event and a kind what the file has: ids, those that were shown before, numbers that are missing.
count() {
    sort "$3" | uniq -c | awk -v event="$1" -v kind="$2" '
        { n += $1; twice += $1 - 1; id = $2 }
        kind ~ /^(sequence|cache|hilo|hilo_text)$/ {
            sub(/^ids\//, "", id); sub(/-.*$/, "", id); id += 0
            if (!(id in seen)) { seen[id] = 1; distinct++ }
            if (low == "" || id < low) low = id
            if (id > high) high = id }
        END { printf "%s\t%s\t%d\t%d\t%s\n", event, kind, n, twice, distinct ? high - low + 1 - distinct : "" }' >>"$results"
    rm -f "$3"
}

# A copy of the running server, in a folder of its own, not started.
copy_server() {
    as_user mkdir "$work/$1" &&
        as_user "$bindir/pg_basebackup" -c fast -D "$work/$1/data" ${2:-} >"$work/tmp/copy.log" 2>&1 &&
        say "unix_socket_directories = '$work/$1'" | as_user sh -c "cat >> $1/data/postgresql.conf" ||
        { cat "$work/tmp/copy.log"; die "Could not copy the server."; }
}
control() { as_user "$bindir/pg_ctl" -D "$work/$1/data" -l "$work/$1/log" -w -s "$2" ${3:+-m $3} || die "Could not $2 server $1."; }
# The original goes on without its pool, which no copy has, so both begin with one number.
restart() { control server stop fast; control server start; }
wait_for() { until [ "$(sql -c "$1" 2>/dev/null)" = t ]; do sleep 0.1; done; }

# Transactions that show a number, and are then rolled back.
for kind in $kinds; do
    awk -v kind="$kind" -v n=200000 'BEGIN { for (i = 0; i < n; i++) print "BEGIN; SELECT league." kind "(); ROLLBACK;" }' >"$work/tmp/$kind.sql"
done

say "== kill -9, $crashes times for each kind"
for kind in $kinds; do
    : >"$work/tmp/ids"
    for crash in $(seq "$crashes"); do
        wait_for 'SELECT NOT pg_is_in_recovery()'
        sql -c CHECKPOINT
        pids=
        for client in 1 2; do
            sql -f "$work/tmp/$kind.sql" >"$work/tmp/shown.$client" 2>/dev/null &
            pids="$pids $!"
        done
        for client in 1 2; do
            while [ "$(wc -l <"$work/tmp/shown.$client")" -lt "$shown" ]; do sleep 0.02; done
        done
        kill -KILL "$(sql -c "SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'")"
        wait $pids
        # A line that is not whole was not shown.
        for client in 1 2; do grep -E '^[^ ]+$' "$work/tmp/shown.$client"; done | cat >>"$work/tmp/ids"
    done
    wait_for 'SELECT NOT pg_is_in_recovery()'
    count 'kill -9' "$kind" "$work/tmp/ids"
done

say "== the clock steps back"
for kind in $kinds; do
    before=$(sql -c 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint')
    draw "$kind" $((draws * 10)) >"$work/tmp/ids"
    now=$(sql -c 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint')
    draw "$kind" $((draws * 10)) $((now - before)) >>"$work/tmp/ids"
    count 'clock steps back' "$kind" "$work/tmp/ids"
done

say "== DISCARD ALL after each id"
for kind in $kinds; do
    awk -v kind="$kind" 'BEGIN { for (i = 0; i < 100; i++) print "SELECT league." kind "(); DISCARD ALL;" }' >"$work/tmp/discard.sql"
    sql -f "$work/tmp/discard.sql" >"$work/tmp/ids"
    count 'DISCARD ALL' "$kind" "$work/tmp/ids"
done

say "== numbers a second"
for kind in $kinds; do
    size=$(sql -c "SELECT pg_column_size(league.$kind())")
    for round in $(seq "$rounds"); do
        sql -c "SELECT clock_timestamp() AS t" -c "SELECT count(league.$kind()) FROM generate_series(1, $timed)" -c "SELECT clock_timestamp()" |
            awk -F'[: +]' 'NR == 1 { t = $2 * 3600 + $3 * 60 + $4 } NR == 3 { d = $2 * 3600 + $3 * 60 + $4 - t; print d < 0 ? d + 86400 : d }'
    done | sort -n | sed -n "$(((rounds + 1) / 2))p" | awk -v kind="$kind" -v n="$timed" -v size="$size" '{ printf "rate\t%s\t%.0f\t%s\n", kind, n / $1, size }' >>"$results"
done

say "== a cloned server: both go on; with numbers and tags of their own; a base backup that is restored"
copy_server clone
restart
control clone start
for kind in $kinds; do
    (PGHOST=$work/clone; export PGHOST; draw "$kind" "$draws") >"$work/tmp/other" &
    draw "$kind" "$draws" >"$work/tmp/ids"
    wait $!
    cat "$work/tmp/other" >>"$work/tmp/ids"
    count 'cloned, both go on' "$kind" "$work/tmp/ids"
done
control clone stop fast
copy_server named
say "hilo.node_tag = 'B'" | as_user sh -c 'cat >> named/data/postgresql.conf'
restart
control named start
for kind in $kinds; do
    (PGHOST=$work/named; export PGHOST; draw "$kind" "$draws" 0 2) >"$work/tmp/other" &
    draw "$kind" "$draws" >"$work/tmp/ids"
    wait $!
    cat "$work/tmp/other" >>"$work/tmp/ids"
    count 'cloned, with names of their own' "$kind" "$work/tmp/ids"
done
control named stop fast
copy_server backup
restart
control backup start
for kind in $kinds; do
    draw "$kind" "$draws" >"$work/tmp/$kind.ids"
    (PGHOST=$work/backup; export PGHOST; draw "$kind" "$draws") >>"$work/tmp/$kind.ids"
    count 'base backup restored' "$kind" "$work/tmp/$kind.ids"
done
control backup stop fast

say "== an asynchronous standby is promoted that lacks the last ids"
copy_server standby -R
control standby start
for kind in $kinds; do draw "$kind" "$draws" >"$work/tmp/$kind.ids"; done
wait_for "SELECT count(*) > 0 AND bool_and(replay_lsn >= pg_current_wal_lsn()) FROM pg_stat_replication"
control standby stop fast
for kind in $kinds; do draw "$kind" "$draws" >>"$work/tmp/$kind.ids"; done
control server stop immediate
control standby start
as_user "$bindir/pg_ctl" -D "$work/standby/data" -w -s promote || die "Could not promote."
PGHOST=$work/standby
for kind in $kinds; do
    draw "$kind" "$draws" >>"$work/tmp/$kind.ids"
    count 'standby promoted' "$kind" "$work/tmp/$kind.ids"
done
version=$(sql -c 'SHOW server_version')

# The page and the plots.
cp "$results" "$output/league.tsv"
{
    say "# A league of ids"
    say
    say "What \`sh test/bench/league.sh$short\` counted in one run, $(date -u +%F), on PostgreSQL $version, in $(($(date +%s) - started)) s; do not edit."
    say
    awk -v crashes="$crashes" -v draws="$draws" -F'\t' '
        BEGIN {
            split("sequence cache uuid7 snowflake hilo hilo_text", kinds, " ")
            title["sequence"] = "sequence"; title["cache"] = "sequence, `CACHE 32`"; title["uuid7"] = "UUIDv7"
            title["snowflake"] = "Snowflake kind"; title["hilo"] = "hilo, a sequence"; title["hilo_text"] = "hilo, text ids"
        }
        $1 == "rate" { rate[$2] = $3; size[$2] = $4; next }
        !($1 in known) { known[$1] = 1; events[++n] = $1 }
        { ids[$1, $2] = $3; twice[$1, $2] = $4; gaps[$1, $2] = $5 }
        function row(name, i, line) { line = "| " name; for (i = 1; i <= 6; i++) line = line " | " cell[i]; print line " |" }
        function head(what, i) { for (i = 1; i <= 6; i++) cell[i] = title[kinds[i]]; row(what); for (i = 1; i <= 6; i++) cell[i] = "---:"; row("---") }
        END {
            print "## Ids that were shown twice\n"
            head("event")
            for (e = 1; e <= n; e++) { for (i = 1; i <= 6; i++) cell[i] = twice[events[e], kinds[i]] " of " ids[events[e], kinds[i]]; row(events[e]) }
            print "\n## Numbers that were lost\n"
            head("event")
            for (e = 1; e <= n; e++) { for (i = 1; i <= 6; i++) cell[i] = gaps[events[e], kinds[i]] == "" ? "–" : gaps[events[e], kinds[i]]; row(events[e]) }
            print "\n## Size and speed\n"
            head("")
            for (i = 1; i <= 6; i++) cell[i] = size[kinds[i]]; row("bytes of an id")
            for (i = 1; i <= 6; i++) cell[i] = rate[kinds[i]]; row("ids a second, one session")
        }' "$results"
    cat <<'TEXT'

![Ids that were shown twice](league.svg)

![Ids a second](league-rate.svg)

## What was done

- **kill -9**: two clients draw in transactions that are rolled back, as a program does that shows an id before it commits. A process of the server is killed; all sessions end. `wal_writer_delay` is 10 seconds.
- **clock steps back**: it is turned back to where it was when the first half of the ids was drawn.
- **cloned, both go on**: Snowflake ids of one node number meet only where both servers draw in one millisecond with one counter value.
- **cloned, with names of their own**: the clone has another node number, and another `hilo.node_tag`. Plain numbers of two servers meet all the same: for these, there are [bands](../../doc/many-servers.md#bands).
- **standby promoted**: the standby lacks a third of the ids; the rows that had them are lost as well. Ids that hilo takes from a claim that the standby has do not come again. With a synchronous standby, [hilo repeats nothing](../PROMISES.md).
- **numbers that were lost** are between the lowest and the highest that was shown. UUIDv7 and Snowflake ids have no gaps to count.
- **hilo, a sequence** loses the rest of a session's range when that ends: here a range of a bulk draw, twice.
- The kinds are in [league.sql](league.sql). UUIDv7 is a function in SQL, slower than the `uuidv7()` of PostgreSQL 18; each kind pays for one SQL function around it.
TEXT
} >"$output/LEAGUE.md"
gnuplot -e "file = '$results'; results = '$output'" "$bench/league.gp" || die "gnuplot failed."
say "$(($(date +%s) - started)) s; the results are in $output/LEAGUE.md"
