#!/bin/sh
# core.sh: PostgreSQL's own tests, with the library preloaded and the extension in
# template1, give the same results as without; with hilo.sequences = on, too, but for what
# test/core.differences lists.
#
#   sh test/core.sh [--no-install | --upgrade]
#
# They come from Debian's source package.  A few of them fail on Debian's servers by
# themselves, so the results are compared with each other.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$top/test/lib.sh"
. "$top/test/source-server.sh"

require need_build
make_work_folder
copy_checkout
build
package=postgresql-$("$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
fetch_source >"$work/tmp/fetch.log" 2>&1 || { tail -n 5 "$work/tmp/fetch.log"; say "$package has no source package"; exit 77; }
suite=$work/core/src/test/regress
as_user mkdir "$work/core" "$work/libraries" "$work/out"
tar -xf "$work/source"/postgresql-*.orig.tar.* -C "$work/core" --strip-components=1 --wildcards '*/src/test/regress'
[ -z "$run_as" ] || chown -R "$run_as" "$work/core"
as_user $CC -O1 -fPIC -shared -I "$("$pg_config" --includedir-server)" -o "$work/libraries/regress.so" "$suite/regress.c" &&
    as_user cp "$("$pg_config" --pkglibdir)/autoinc.so" "$("$pg_config" --pkglibdir)/refint.so" "$work/libraries" ||
    die "The libraries of the tests could not be built."

# Run them on a new server: settings, SQL for template1, where the results go.
run_core() {
    rm -rf "$work/server"
    start_server <<SETTINGS
$1
SETTINGS
    as_user "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -d template1 -c "$2" -c 'CREATE DATABASE regression' || die "There is no database."
    for setting in "lc_messages = 'C'" "lc_monetary = 'C'" "lc_numeric = 'C'" "lc_time = 'C'" "bytea_output = 'hex'" "timezone_abbreviations = 'Default'"; do
        as_user "$bindir/psql" -XAtq -c "ALTER DATABASE regression SET $setting" || die "There is no database."
    done
    as_user "$(dirname "$("$pg_config" --pgxs)")/../test/regress/pg_regress" --use-existing --dbname=regression \
        --inputdir="$suite" --outputdir="$work/out" --dlpath="$work/libraries" --bindir="$bindir" \
        --schedule="$suite/parallel_schedule" --max-concurrent-tests=20 >"$work/tmp/core.log" 2>&1
    as_user "$bindir/pg_ctl" -D "$work/server/data" -w -s -m fast stop
    grep -E 'tests (failed|passed)|TRAP|PANIC' "$work/tmp/core.log" "$work/server/log" | sed 's/^[^:]*://'
    as_user mv "$work/out/results" "$3"
}

say "== without hilo"
run_core '' 'SELECT' "$work/without"
say "== with hilo"
run_core "shared_preload_libraries = 'hilo'" 'CREATE EXTENSION hilo' "$work/with"
say "== with hilo.sequences = on"
run_core "shared_preload_libraries = 'hilo'
hilo.sequences = on
hilo.debug_range_size = 32
hilo.max_range_size = 32" 'CREATE EXTENSION hilo' "$work/on"

# Two queries list functions that run with the rights of their owner, and those that share
# their name and arguments; functions of an extension in template1 are in their answers.
for run in without with on; do
    as_user sed -i '/^WHERE prosecdef$/,/^([0-9]* rows*)$/d; /p1.proargtypes = p2.proargtypes;$/,/^([0-9]* rows*)$/d' \
        "$work/$run/opr_sanity.out"
done

passed=0
failed=0
for file in "$work/without"/*.out; do
    if diff -u "$file" "$work/with/${file##*/}"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
done

# With the setting, all differences are compared with the list; the width of columns does not count.
for file in "$work/without"/*.out; do
    test=$(basename "$file" .out)
    tr -s ' -' <"$file" >"$work/tmp/without"
    tr -s ' -' <"$work/on/$test.out" >"$work/tmp/on"
    diff -U0 "$work/tmp/without" "$work/tmp/on" | sed -n "1,2d; s/ *$//; s/^[-+]/$test: &/p"
done >"$work/tmp/differences"
sed '/^#/d; /^$/d' "$top/test/core.differences" >"$work/tmp/known"
if diff -u "$work/tmp/known" "$work/tmp/differences"; then
    passed=$((passed + 1))
else
    failed=$((failed + 1))
fi
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 100 ]
