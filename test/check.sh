#!/bin/sh
# check.sh: install what is missing, build, and run all tests on private servers.
#
#   sh test/check.sh [--no-install] [FILE...]
#
# FILE is a test (test/sql/*.sql, test/specs/*.spec, test/t/*.pl); without one,
# all are run.  PG_CONFIG names the server to test with.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
install=yes
if [ "${1:-}" = --no-install ]; then
    install=no
    shift
fi
. "$top/test/lib.sh"

# A test that fetches packages of its own may be skipped if it cannot.
export HILO_INSTALL="$install"

# Names of the tests of one kind among the files given: folder, ending.
chosen() {
    if [ $# -eq 2 ]; then
        ls "$top/test/$1"/*."$2" 2>/dev/null
        return
    fi
    folder=$1 ending=$2
    shift 2
    for file in "$@"; do
        case $file in
            */"$folder"/*."$ending") say "$file" ;;
        esac
    done
}

names() { sed 's,.*/,,; s,\.[a-z]*$,,' | tr '\n' ' '; }

passed=0
failed=0
skipped=

# Add up what pg_regress said: "test x ... ok", from version 16 on "ok 1 - x".
count_regress() {
    p=$(grep -cE '^(ok +[0-9]+ +[-+] |(test )?.* \.\.\. ok )' "$1")
    f=$(grep -cE '^(not ok +[0-9]+ +[-+] |(test )?.* \.\.\. (FAILED|failed))' "$1")
    add_up "$p" "$f" "$2"
}

# Add up the lines of TAP at the left margin (those of subtests are indented).
count_tap() {
    p=$(grep -E '^ok [0-9]+' "$1" | grep -civE '# skip')
    f=$(grep -E '^not ok [0-9]+' "$1" | grep -civE '# todo')
    add_up "$p" "$f" "$2"
    note_skipped "$(grep -iE '^(ok [0-9]+.*|1\.\.0) # skip' "$1" | sed "s,^,  $3: ,")"
}

# Remember what is not run, and why: for the end.
note_skipped() {
    [ -z "$1" ] || skipped="$skipped
$1"
}

# A runner that failed without a failed test has failed all the same.
add_up() {
    [ "$3" -eq 0 ] || [ "$2" -gt 0 ] || set -- "$1" 1 "$3"
    passed=$((passed + $1))
    failed=$((failed + $2))
}

# Run make installcheck for one kind of test; the exit code is in $status.
run() {
    log=$1
    shift
    { make_copy installcheck "$@" 2>&1; echo $? >"$work/status"; } | tee "$log"
    status=$(cat "$work/status")
}

# Report a test that is a command of its own: name, command.
single() {
    name=$1
    shift
    if "$@" >"$work/single.log" 2>&1; then
        say "ok      $name"
        passed=$((passed + 1))
    else
        say "FAILED  $name"
        cat "$work/single.log"
        failed=$((failed + 1))
    fi
}

# Build without a warning, and leave nothing behind.
strict_build() {
    make_copy CC="$1" PROFILE="-Wall -Wextra -Wno-unused-parameter \
        -Wno-missing-field-initializers -Wshadow -Wstrict-prototypes -Werror" &&
        make_copy clean
}

# Pack the last commit by make dist, in a clone as it leaves a file, and build,
# install and uninstall what was packed.
try_distribution() {
    version=$(perl "$top/test/meta.pl" "$top") || return 1
    # The checkout may belong to somebody else.
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
    git clone -q --no-hardlinks "$top" "$work/clone" &&
        make -s -C "$work/clone" PG_CONFIG="$pg_config" dist &&
        mkdir "$work/unpacked" && unzip -q "$work/clone/hilo-$version.zip" -d "$work/unpacked" || return 1
    dist=$work/unpacked/hilo-$version
    [ -z "$run_as" ] || chown -R "$run_as" "$work/unpacked"
    perl "$top/test/meta.pl" "$dist" || return 1

    for target in all install; do
        as_user make -s -C "$dist" PG_CONFIG="$pg_config" DESTDIR="$work/unpacked/dest" $target || return 1
    done
    for file in "$("$pg_config" --pkglibdir)/hilo.so" "$("$pg_config" --pkglibdir)/hilo_hub.so" "$("$pg_config" --sharedir)/extension/hilo.control" \
        "$("$pg_config" --sharedir)/extension/hilo--1.0.sql"; do
        [ -f "$work/unpacked/dest$file" ] || { say "$file is not installed"; return 1; }
    done
    as_user make -s -C "$dist" PG_CONFIG="$pg_config" DESTDIR="$work/unpacked/dest" uninstall || return 1
    left=$(find "$work/unpacked/dest" -type f)
    [ -z "$left" ] || { say "make uninstall has left $left"; return 1; }
}

# The package is made for the servers of the system.
if [ $# -gt 0 ]; then
    with_package=no
elif [ -n "${PG_CONFIG:-}" ]; then
    with_package=no
    note_skipped '  package.sh: PG_CONFIG names a server'
elif ! command -v apt-get >/dev/null || ! may_make_systems; then
    with_package=no
    note_skipped '  package.sh: takes Debian, root, and the right to make namespaces'
else
    with_package=yes
fi

case $with_package in
    yes) require_packages all ;;
    no) require_packages check ;;
esac
make_work_folder
copy_checkout
if [ $# -eq 0 ]; then
    say "== builds for $("$pg_config" --version), warnings are errors"
    single "gcc" strict_build gcc
    single "$(find_clang)" strict_build "$(find_clang)"
fi
build

sql=$(chosen sql sql "$@" | names)
specs=$(chosen specs spec "$@" | names)
tap=$(chosen t pl "$@" | sed 's,.*/,,')

if [ -n "$sql$specs" ]; then
    start_server <<SETTINGS
fsync = off
max_connections = 100
max_prepared_transactions = 10
SETTINGS
    if [ -n "$sql" ]; then
        say "== SQL tests"
        run "$work/sql.log" REGRESS="$sql" ISOLATION= TAP_TESTS=
        count_regress "$work/sql.log" "$status"
        [ "$status" -eq 0 ] || cat "$work/src/regression.diffs"
    fi
    if [ -n "$specs" ]; then
        say "== isolation tests"
        run "$work/specs.log" REGRESS= ISOLATION="$specs" TAP_TESTS=
        count_regress "$work/specs.log" "$status"
        [ "$status" -eq 0 ] || cat "$work/src/regression.diffs" "$work/src/output_iso/regression.diffs" 2>/dev/null
    fi
    as_user "$bindir/pg_ctl" -D "$work/server/data" -w -s -m fast stop
fi

for file in $tap; do
    say "== $file"
    run "$work/tap.log" REGRESS= ISOLATION= PROVE_TESTS="test/t/$file" \
        PROVE_FLAGS=-v TEMP_CONFIG="$work/hilo.conf"
    count_tap "$work/tap.log" "$status" "$file"
    if [ "$status" -ne 0 ]; then
        for log in "$work/src/tmp_check/log"/*; do
            say "-- $log"
            tail -n 40 "$log"
        done
    fi
done

if [ $# -eq 0 ]; then
    say "== hostile input"
    no_install=--no-install
    [ "$install" = no ] || no_install=
    single "hostile input" sh "$top/test/fuzz/run.sh" $no_install 300000 1
    say "== torture, two minutes"
    single "torture" sh "$top/test/torture/run.sh" $no_install 2 1
    say "== demo.sh, and the benchmark in its short form"
    single "demo" sh "$top/test/demo.sh" --no-install
    single "benchmark" sh "$top/test/bench/run.sh" --no-install --quick
    say "== distributions"
    single "META.json" perl "$top/test/meta.pl" "$top"
    if [ -e "$top/.git" ]; then
        single "make dist" try_distribution
    else
        note_skipped '  make dist: not in a clone of the repository'
    fi
    [ "$with_package" = no ] || single "Debian package, on a fresh system" sh "$top/test/package.sh" --no-install
fi

[ -z "$skipped" ] || say "skipped:$skipped"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
