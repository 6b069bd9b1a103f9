#!/bin/sh
# run.sh: call the extension with hostile input, and check that it still works as before.
#
#   sh test/fuzz/run.sh [--no-install] [CALLS [SEED]]
#
# First libFuzzer on the modules that need no server (pure.c), CALLS inputs; then
# CALLS calls of all SQL functions (setup.sql) in a UTF8, a LATIN1 and a
# SQL_ASCII database, the last two with the library preloaded.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
calls=${1:-1000000}
seed=${2:-1}

# clang, and what it needs for sanitizers and libFuzzer.
need_fuzzer() {
    need_build
    clang=$(find_clang) || { missing="$missing clang"; return; }
    version=$("$clang" -dumpversion)
    need_file "/usr/lib/llvm-${version%%.*}/lib/clang/"*/lib/linux/libclang_rt.fuzzer-*.a "libclang-rt-${version%%.*}-dev"
}

require need_fuzzer

# What clang needs for sanitizers and libFuzzer.
has_fuzzer() {
    say 'int LLVMFuzzerTestOneInput(const void *d, unsigned long n); int LLVMFuzzerTestOneInput(const void *d, unsigned long n) { return 0; }' |
        "$clang" -x c -fsanitize=fuzzer,address,undefined -o "$work/tmp/probe" - 2>/dev/null
}

# A library of the server to be linked in: Debian and a server built
# from source keep it in different places.
server_library() {
    for folder in "$("$pg_config" --pkglibdir)" "$("$pg_config" --libdir)"; do
        [ ! -f "$folder/$1" ] || { say "$folder/$1"; return; }
    done
    die "This server has no $1."
}

build_pure() {
    common=$(server_library libpgcommon.a) && port=$(server_library libpgport.a) || return 1
    "$clang" -g -O1 -Wall -Wno-ignored-attributes -Werror \
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
        -I "$top/src" -I "$("$pg_config" --includedir-server)" -o "$work/tmp/pure" \
        "$top/test/fuzz/pure.c" "$top/src/range.c" "$top/src/free_search.c" "$top/src/text.c" \
        "$common" "$port" -lm
}

make_work_folder
has_fuzzer || { say "$clang has no libFuzzer"; exit 77; }

say "== libFuzzer, $calls inputs"
build_pure >"$work/build.log" 2>&1 || { cat "$work/build.log"; die "Could not build pure.c."; }
start=$(date +%s)
(cd "$work/tmp" && ./pure -seed="$seed" -runs="$calls" -max_len=600) >"$work/pure.log" 2>&1 ||
    { tail -n 60 "$work/pure.log"; die "The pure modules do not keep their promises."; }
grep '^Done ' "$work/pure.log" || { tail -n 60 "$work/pure.log"; die "libFuzzer did not finish."; }

copy_checkout
build >"$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
start_server <<SETTINGS
fsync = off
max_connections = 50
max_worker_processes = 20
max_locks_per_transaction = 1000
restart_after_crash = off
log_min_messages = warning
jit = off
checkpoint_timeout = 1h
max_wal_size = 4GB
SETTINGS

sql() { as_user "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 "$@"; }

sql -c "CREATE ROLE fuzz_plain; CREATE ROLE fuzz_member IN ROLE fuzz_plain, pg_monitor" || exit 1

# A script of so many batches, of so many calls per function.
batches() {
    number=0
    while [ "$number" -lt "$1" ]; do
        number=$((number + 1))
        batch="SELECT fuzz.batch((($seed::bigint * 7919 + $number) % 999983) / 999983.0, $2"
        case $((number % 8)) in
            1 | 2 | 3) say "$batch, true);" ;;
            4) say "BEGIN; SAVEPOINT a; $batch, true); RELEASE a; COMMIT;" ;;
            5) say "BEGIN; SAVEPOINT a; $batch, true); ROLLBACK TO a; ROLLBACK;" ;;
            6) say "BEGIN ISOLATION LEVEL SERIALIZABLE; $batch, true); COMMIT;" ;;
            7) say "BEGIN READ ONLY; $batch, false); COMMIT;" ;;
            0) say "BEGIN ISOLATION LEVEL REPEATABLE READ; $batch, true); COMMIT;"
                say '\c -' ;;
        esac
        say "CALL fuzz.check_state();"
    done
}

failed=0
total=0
wrong=0
functions=0
for encoding in UTF8 LATIN1 SQL_ASCII; do
    database=fuzz_$(say "$encoding" | tr 'A-Z' 'a-z')
    if [ "$encoding" != UTF8 ]; then
        say "shared_preload_libraries = 'hilo'" | as_user sh -c 'cat >> server/data/postgresql.conf'
        as_user "$bindir/pg_ctl" -D "$work/server/data" -w -s -m fast stop
        run_server
    fi
    sql -c "CREATE DATABASE $database TEMPLATE template0 ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C'" || exit 1
    sql -d "$database" -f "$work/src/test/fuzz/setup.sql" || die "setup.sql fails in $database."
    functions=$(sql -d "$database" -c "SELECT count(*) FROM fuzz.functions")
    light=$(sql -d "$database" -c "SELECT count(*) FROM fuzz.functions WHERE NOT heavy")

    # Batches of up to 200 calls a function.
    each=200
    count=$((calls / 3 / (light * each) + 1))
    if [ "$count" -lt 16 ]; then
        each=$((calls / 3 / light / 16 + 30))
        count=16
    fi
    batches "$count" "$each" >"$work/tmp/batches.sql"
    chmod 644 "$work/tmp/batches.sql"
    begun=$(date +%s)
    as_user "$bindir/psql" -XAtq -v ON_ERROR_STOP=1 -d "$database" -f "$work/tmp/batches.sql" \
        >"$work/tmp/out.log" 2>"$work/tmp/err.log"
    status=$?
    set -- $(awk '$1 == "calls" { c += $2; f += $4 } END { print c + 0, f + 0 }' "$work/tmp/out.log")
    say "$encoding: $1 calls of $functions functions, $2 of them errors, in $(($(date +%s) - begun)) s"
    total=$((total + $1))
    wrong=$((wrong + $2))
    if [ "$status" -ne 0 ] || grep -a FINDING "$work/tmp/err.log" >"$work/tmp/findings"; then
        failed=1
        [ "$status" -eq 0 ] || tail -n 20 "$work/tmp/err.log"
        grep -a FINDING "$work/tmp/err.log" | cut -c 1-600 | awk '{ key = $0; gsub(/[0-9]+/, "", key); key = substr(key, 1, 100) } seen[key]++ < 3' | head -n 60
    fi
    # ran to the end, and the canaries have drawn
    [ "$(grep -c '^calls' "$work/tmp/out.log")" -eq "$count" ] || { say "$encoding: not all batches were run"; failed=1; }
    [ "$(sql -d "$database" -c "SELECT count(*) > 100 FROM fuzz.shown")" = t ] || { say "$encoding: nothing was drawn"; failed=1; }
done

if grep -A 3 -E 'PANIC|TRAP|terminated by signal|leak|still referenced|lock .*(already|not) held|you don.t own|detected write past' "$work/server/log"; then
    failed=1
fi
say "$total calls, $wrong of them errors, in $(($(date +%s) - start)) s altogether"
[ "$failed" -eq 0 ] && [ "$total" -gt 0 ]
