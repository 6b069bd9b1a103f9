#!/bin/sh
# demo.sh: install what is missing, build, start a private server, and show what
# hilo does.
#
#   sh test/demo.sh [--no-install] [psql]
#
# With "psql" it ends in a psql on that server; leaving it removes everything.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$top/test/lib.sh"
end=tour
for argument in "$@"; do
    case $argument in
        psql) end=psql ;;
        *) echo "usage: sh test/demo.sh [--no-install] [psql]" >&2; exit 2 ;;
    esac
done

chapter() { printf '\n== %s\n' "$*"; }

# Show SQL, and run it in a session of its own.
run_sql() {
    printf '%s\n' "$1" | sed 's/^/   /'
    printf '%s\n' "$1" | psql_as_user -q || die "The demo failed."
}

psql_as_user() { as_user "$bindir/psql" -X -v ON_ERROR_STOP=1 "$@"; }
value() { psql_as_user -Atq -c "$1"; }

# Open a session that stays: $1 names it.
open_session() {
    mkfifo "$work/tmp/$1"
    chmod 666 "$work/tmp/$1"
    psql_as_user -Atq <"$work/tmp/$1" >"$work/tmp/$1.out" 2>"$work/tmp/$1.err" &
    case $1 in
        one) exec 3>"$work/tmp/one" ;;
        two) exec 4>"$work/tmp/two" ;;
    esac
    rm "$work/tmp/$1"
}

# Give SQL to an open session, wait until it has answered, show the answer.
answers=0
in_session() {
    printf '   session %s: %s\n' "$1" "$2"
    answers=$((answers + 1))
    case $1 in
        one) printf '\\echo question %s\n%s\n\\echo answer %s\n' "$answers" "$2" "$answers" >&3 ;;
        two) printf '\\echo question %s\n%s\n\\echo answer %s\n' "$answers" "$2" "$answers" >&4 ;;
    esac
    until grep "^answer $answers\$" "$work/tmp/$1.out" >/dev/null; do
        [ ! -s "$work/tmp/$1.err" ] || { cat "$work/tmp/$1.err"; die "The demo failed."; }
        sleep 0.02
    done
    sed -n "/^question $answers\$/,/^answer $answers\$/p" "$work/tmp/$1.out" |
        sed '1d; $d; s/^/              /'
}

# Show a picture of the range that an open session holds: collection, low, high, next, size.
draw_range() {
    grep "^$2|" "$work/tmp/$1.out" | tail -n 1 | awk -F '|' -v session="$1" '{
        drawn = $4 - $2
        for (number = $2; number <= $3; number++)
            bar = bar (number < $4 ? "#" : ".")
        printf "   session %s   %3d |%s| %-3d  %d drawn, %d in memory\n", session, $2, bar, $3, drawn, $3 - $4 + 1
    }'
}

close_sessions() {
    exec 3>&- 4>&-
    until [ "$(value "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")" = 1 ]; do
        sleep 0.02
    done
}

# Processes of the server: the postmaster and its children.
server_processes() {
    postmaster=$(head -n 1 "$work/server/data/postmaster.pid")
    say "$postmaster"
    grep -l "^PPid:	$postmaster\$" /proc/[0-9]*/status 2>/dev/null |
        sed 's,^/proc/,,; s,/status$,,'
}

is_running() {
    [ -e "/proc/$1" ] && ! grep '^State:	Z' "/proc/$1/status" >/dev/null 2>&1
}

kill_server() {
    processes=$(server_processes)
    kill -9 $processes
    for process in $processes; do
        while is_running "$process"; do
            sleep 0.02
        done
    done
    rm -f "$work/server/data/postmaster.pid" "$work/server"/.s.PGSQL.*
}

require need_build
make_work_folder
chapter "Building with $("$pg_config" --version), starting a private server"
copy_checkout
build
# With the first, the crash below is always the worst one possible: only the transactions
# themselves write WAL.  With the second, there are ranges to be seen from the first draw on.
start_server <<SETTINGS
wal_writer_delay = 10s
hilo.debug_range_size = 32
SETTINGS
say "It is in $work, listens on a socket there, and is removed at the end."

chapter "Numbers shown, then kill -9"
run_sql "CREATE EXTENSION hilo;
CREATE SEQUENCE plain;
CREATE SEQUENCE safe;
CHECKPOINT;"
open_session one
in_session one "BEGIN;"
in_session one "SELECT hilo.nextval('safe') AS hilo, nextval('plain') AS plain FROM generate_series(1, 3);"
say "   (the transaction is open)"
say "   kill -9 of the whole server, and restart"
kill_server
exec 3>&-
wait
run_server
draw="SELECT string_agg(number::text, ', ') FROM (SELECT %s AS number FROM generate_series(1, 3)) AS drawn"
plain=$(value "$(printf "$draw" "nextval('plain')")")
hilo=$(value "$(printf "$draw" "hilo.nextval('safe')")")
say ""
printf '   %-22s %-12s %s\n' "" "hilo.nextval" "nextval" \
    "shown before the crash" "1, 2, 3" "1, 2, 3" \
    "shown after it" "$hilo" "$plain"
[ "${hilo%%,*}" -gt 3 ] || die "hilo has repeated a number, which must never happen."
[ "${plain%%,*}" -gt 3 ] || say "
   nextval repeats numbers that a user has seen. hilo.nextval leaves a gap."

chapter "An import that does not collide"
run_sql "CREATE TABLE customers (id serial PRIMARY KEY, name text);
INSERT INTO customers (name) VALUES ('Ada'), ('Ben');
SELECT hilo.attach('customers');
INSERT INTO customers SELECT n, 'imported' FROM generate_series(3, 1000) n;
INSERT INTO customers (name) VALUES ('Cleo'), ('Dan') RETURNING id, lastval();"
say "The sequence stays the counter; ids that are there are passed. Where hilo looks, and back again:"
run_sql "SELECT relation, draws, number, index FROM hilo.columns;
SELECT hilo.detach('customers');"

chapter "A reader that misses no row"
run_sql "CREATE TABLE events (id bigserial PRIMARY KEY, what text);"
open_session one
in_session one "BEGIN;"
in_session one "INSERT INTO events (what) VALUES ('slow') RETURNING id;"
run_sql "INSERT INTO events (what) VALUES ('fast') RETURNING id;
SELECT id, what FROM events;"
say "A reader that goes on above the last id it has seen would miss the slow row. hilo.horizon waits for it:"
printf '%s\n' "CALL hilo.horizon('events_id_seq');" | psql_as_user -q >"$work/tmp/horizon" 2>&1 &
reader=$!
until [ "$(value "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND wait_event_type = 'Lock'")" = 1 ]; do
    kill -0 "$reader" 2>/dev/null || break
    sleep 0.02
done
say "   session two: CALL hilo.horizon('events_id_seq');   (it waits)"
in_session one "COMMIT;"
wait "$reader" || die "The demo failed."
sed 's/^/              /' "$work/tmp/horizon"
run_sql "SELECT id, what FROM events WHERE id <= 2 ORDER BY id;"
exec 3>&-

chapter "A table whose ids are drawn by DEFAULT"
run_sql "CREATE TABLE orders (id text COLLATE \"C\" PRIMARY KEY DEFAULT hilo_next('orders'), item text);"
open_session one
open_session two
in_session one "INSERT INTO orders (item) VALUES ('tea'), ('milk') RETURNING id;"
in_session two "INSERT INTO orders (item) VALUES ('bread') RETURNING id;"
in_session one "INSERT INTO orders (item) VALUES ('jam') RETURNING id;"
say "Each session draws from a range of its own, without touching anything shared (here of 32; usually a"
say "range begins with one number, and grows while a session draws fast):"
in_session one "SELECT * FROM hilo.ranges;"
in_session two "SELECT * FROM hilo.ranges;"
say ""
draw_range one orders
draw_range two orders
max=$(value "SELECT max FROM hilo.hilo WHERE collection = 'orders'")
say "   row \"orders\"  max = $max: the next range begins with $((max + 1))"
say ""
close_sessions

chapter "A stored procedure that draws"
run_sql "CREATE PROCEDURE add_order(item text, INOUT id text DEFAULT NULL) LANGUAGE plpgsql AS \$\$
BEGIN
    id := hilo_next('orders');
    INSERT INTO orders VALUES (id, item);
END \$\$;
CALL add_order('honey');"

chapter "INSERT ... SELECT of 100,000 rows; a second session watches"
run_sql "CREATE TABLE lines (id bigint DEFAULT hilo_next_number('lines'), what text);"
open_session one
in_session one "BEGIN;"
printf '%s\n' "DO \$\$
DECLARE m bigint; seen bigint := 0;
BEGIN
    LOOP
        SELECT max INTO m FROM hilo.hilo WHERE collection = 'lines';
        IF m > seen THEN
            RAISE INFO 'max is %, and % rows are committed', m, (SELECT count(*) FROM lines);
            seen := m;
        END IF;
        EXIT WHEN m >= 100000;
    END LOOP;
END \$\$;" | psql_as_user -q >"$work/tmp/watch" 2>&1 &
watcher=$!
until [ "$(value "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'DO%'")" = 1 ]; do
    sleep 0.02
done
in_session one "INSERT INTO lines (what) SELECT 'line ' || n FROM generate_series(1, 100000) n;"
wait "$watcher"
sed 's/^INFO: /   session two:/' "$work/tmp/watch"
in_session one "ROLLBACK;"
in_session one "SELECT hilo_next_number('lines');"
say "Rolled back, but no number comes back."
close_sessions

chapter "Unused numbers go to the next session"
run_sql "SELECT hilo_next('employees', 'A');"
until [ "$(value "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")" = 1 ]; do
    sleep 0.02
done
say "   (the session has ended; in the next one:)"
open_session one
in_session one "SELECT hilo_next('employees', 'A');"
close_sessions

if [ "$end" = psql ]; then
    chapter "psql on the demo server; \\q removes it"
    as_user "$bindir/psql" -X
fi
say ""
say "That is all; the server and its folder are removed. What to read next:"
say ""
say "   doc/readers.md           readers that miss no row"
say "   doc/using-it.md          install it; first ids, and recipes"
say "   doc/existing-tables.md   switch tables from sequences to hilo, and back"
say "   doc/many-servers.md      ids of many servers that stay distinct"
say "   sh test/demo.sh psql     try it yourself, on a server like this one"
