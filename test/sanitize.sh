#!/bin/sh
# sanitize.sh: look for mistakes that tests alone do not show, and for lines that
# no test reaches.
#
#   sh test/sanitize.sh [--keep DIR] [asan|valgrind|analyse|coverage]...
#
# asan      all tests with AddressSanitizer and UndefinedBehaviorSanitizer
# valgrind  the SQL tests under Valgrind
# analyse   scan-build, clang-tidy and gcc -fanalyzer
# coverage  all tests, and the lines that they reach
#
# Without a name, all four; that takes an hour.  The servers for asan and valgrind
# are built from Debian's source package; with --keep they stay in DIR, and are
# used again.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$top/test/lib.sh"
. "$top/test/source-server.sh"

usage() { die "usage: sh test/sanitize.sh [--keep DIR] [asan|valgrind|analyse|coverage]..."; }

all_tests="$(ls "$top"/test/sql/*.sql "$top"/test/specs/*.spec "$top"/test/t/*.pl)"

need_valgrind() { need_file /usr/include/valgrind/memcheck.h valgrind; }

need_analyse() {
    need gcc gcc
    need clang clang
    need scan-build clang-tools
    need clang-tidy clang-tidy
}

# Run check.sh for some tests, with PROFILE as more flags for the extension; the
# server is that of $server, or the system's.  Fails if a test does.
check() {
    profile=$1
    shift
    PG_CONFIG=${server:+$server/bin/pg_config} PROFILE=$profile \
        sh "$top/test/check.sh" --no-install "$@" 2>&1 | tee "$work/check.log"
    tail -n 1 "$work/check.log" | grep '^[1-9][0-9]* passed, 0 failed$' >/dev/null
}

# Make a folder for reports that the servers can write to.
make_reports() {
    reports=$work/$1
    as_user mkdir "$reports"
}

# Show the reports, shortened; fails if there are any.
show_reports() {
    [ $# -gt 0 ] || return 0
    say "-- $# reports; the first ones are:"
    for file in $(ls "$@" | head -n 5); do
        head -n 60 "$file"
    done
    return 1
}

# Sets $server to one in the folder $1, built with the flags $2 unless it is there.
provide_server() {
    server=${keep:-$work}/$1
    [ ! -x "$server/bin/pg_config" ] || return 0
    build_source_server "$server" "$2"
}

# The server tells Valgrind which memory must not be accessed: what palloc() has not
# allocated, and buffers without a pin.  The file in test/sanitize passes that
# to AddressSanitizer instead.
#
# What UndefinedBehaviorSanitizer finds is a trap, which AddressSanitizer reports:
# a library of its own would find its options gone where the server has written
# its title over the environment.  Signed integers wrap around in the server by
# -fwrapv; hilo does not want that.
run_asan() {
    shim=${keep:-$work}/include
    mkdir -p "$shim" && cp -R "$top/test/sanitize/valgrind" "$shim/" || return 1
    # Programs that end do not free their memory.
    ASAN_OPTIONS=detect_leaks=0
    export ASAN_OPTIONS
    provide_server asan "-O1 -g -fno-omit-frame-pointer -fsanitize=address -DUSE_VALGRIND -I$shim"
    make_reports asan-reports
    ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1:handle_sigill=1:log_path=$reports/asan
    check '-fsanitize=undefined -fsanitize-undefined-trap-on-error -fno-wrapv' $all_tests
    good=$?
    unset ASAN_OPTIONS
    show_reports $(find "$reports" -type f) && [ "$good" -eq 0 ]
}

# Only the server itself runs under Valgrind, not the programs that create a cluster.
#
# Left out: the isolation tests and test/t.  A server under Valgrind is thirty
# times slower than its clients think, and their code is that of the SQL tests.
run_valgrind() {
    require need_valgrind
    provide_server valgrind "-O1 -g -DUSE_VALGRIND"
    make_reports valgrind-reports
    if [ ! -e "$server/bin/postgres.real" ]; then
        mv "$server/bin/postgres" "$server/bin/postgres.real"
        cat >"$server/bin/postgres" <<'SCRIPT'
#!/bin/sh
case ${HILO_REPORTS:-}:$1 in
    :* | *:--* | *:-V) exec "$0.real" "$@" ;;
esac
exec valgrind -q --leak-check=no --trace-children=yes --num-callers=30 \
    --suppressions="${0%/*}/../valgrind.supp" --log-file="$HILO_REPORTS/%p" \
    "$0.real" "$@"
SCRIPT
        chmod 755 "$server/bin/postgres"
    fi
    export HILO_REPORTS="$reports" PGCTLTIMEOUT=300
    check '' "$top"/test/sql/*.sql
    good=$?
    unset HILO_REPORTS PGCTLTIMEOUT
    show_reports $(find "$reports" -type f -size +0) && [ "$good" -eq 0 ]
}

# Run all three, whatever the first one finds.
run_analyse() {
    require need_analyse
    headers=$("$pg_config" --includedir-server)
    good=0

    say "== scan-build"
    as_user scan-build --status-bugs --use-cc="$(find_clang)" -o "$work/scan" \
        make -s -C "$work/src" PG_CONFIG="$pg_config" with_llvm=no || good=1
    make_copy clean

    say "== gcc -fanalyzer"
    make_copy CC=gcc PROFILE="-fanalyzer -Werror" || good=1
    make_copy clean

    say "== clang-tidy"
    clang-tidy --quiet --warnings-as-errors='*' --config-file="$top/test/sanitize/clang-tidy" \
        "$top"/src/*.c -- -I"$top/src" -I"$headers" -I"$("$pg_config" --includedir)" $("$pg_config" --cppflags) >"$work/tidy.log" 2>&1 ||
        { cat "$work/tidy.log"; good=1; }
    return "$good"
}

run_coverage() {
    server=
    export HILO_KEEP_COPY="$work/covered"
    check '--coverage -O0' $all_tests
    good=$?
    unset HILO_KEEP_COPY

    # Many tests reach lines in the build with failure points.
    points=$work/covered/tmp_check/points/tree
    (cd "$work/covered" && gcov --json-format src/*.gcno *.gcno >/dev/null) &&
        (cd "$points" && gcov --json-format src/*.gcno *.gcno >/dev/null) &&
        perl "$top/test/sanitize/coverage.pl" "$top/test/sanitize/unreached" "$work/covered" "$points" &&
        [ "$good" -eq 0 ]
}

keep=
if [ "${1:-}" = --keep ]; then
    [ $# -ge 2 ] || usage
    mkdir -p "$2" && keep=$(cd "$2" && pwd -P) || die "$2 cannot be used."
    chmod 755 "$keep"
    shift 2
fi
for part in "$@"; do
    case $part in
        asan | valgrind | analyse | coverage) ;;
        *) usage ;;
    esac
done
[ $# -gt 0 ] || set -- asan valgrind analyse coverage

require need_tests
make_work_folder
copy_checkout
passed=0
failed=0
summary=
for part in "$@"; do
    say "=== $part"
    began=$(date +%s)
    if "run_$part"; then
        verdict="ok    "
        passed=$((passed + 1))
    else
        verdict=FAILED
        failed=$((failed + 1))
    fi
    summary="$summary
$verdict  $part, $(($(date +%s) - began)) s"
done
say "===${summary}"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
