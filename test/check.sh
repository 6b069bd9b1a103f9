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
began=$(date +%s)
summary=

# Add up the results of pg_regress: "test x ... ok", from version 16 on "ok 1 - x".
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

# Remember skipped tests, and why they were skipped, for the summary.
note_skipped() {
    [ -z "$1" ] || skipped="$skipped
$1"
}

# A runner that failed without a failed test counts as a failure, too.
add_up() {
    [ "$3" -eq 0 ] || [ "$2" -gt 0 ] || set -- "$1" 1 "$3"
    passed=$((passed + $1))
    failed=$((failed + $2))
}

# Add a line to the summary, which versions-page.sh reads: what was run, since
# $passed and $failed were $2 and $3, and the clock $4.
summarize() {
    ran=$((passed + failed - $2 - $3))
    summary="$summary
  $1: $((passed - $2)) of $ran, $(($(date +%s) - $4)) s"
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
    single_began=$(date +%s) passed_before=$passed failed_before=$failed
    shift
    if "$@" >"$work/single.log" 2>&1; then
        say "ok      $name"
        passed=$((passed + 1))
    else
        say "FAILED  $name"
        cat "$work/single.log"
        failed=$((failed + 1))
    fi
    summarize "$name" "$passed_before" "$failed_before" "$single_began"
}

# Build without a warning, and leave nothing behind.  With -O2 gcc knows enough not to
# warn about correct code; a server may have been built with less.
strict_build() {
    make_copy CC="$1" PROFILE="-O2 -Wall -Wextra -Wno-unused-parameter \
        -Wno-missing-field-initializers -Wshadow -Wstrict-prototypes -Werror" &&
        make_copy clean
}

# The libraries use only functions and variables of the server that are known
# to be in the first release of each version: a library built for one minor release
# has to load on all others of that version.
known_functions() {
    for library in hilo hilo_hub; do
        nm -D --undefined-only "$work/src/$library.so" || return 1
    done | awk '$2 !~ /@|^_|^PQ/ { print $2 }' | sort -u >"$work/tmp/used"
    [ -s "$work/tmp/used" ] || { say "nothing is used"; return 1; }
    sed '/^#/d' "$top/test/server-functions" | sort -u >"$work/tmp/known"
    unknown=$(comm -23 "$work/tmp/used" "$work/tmp/known")
    [ -z "$unknown" ] || { say "not in test/server-functions:" $unknown; return 1; }
}

# Pack the last commit with make dist, in a clone because it creates a file, and build,
# install and uninstall what was packed.
try_distribution() {
    version=$(perl "$top/test/meta.pl" "$top") || return 1
    # This checkout may belong to another user, as does the clone if this is root.
    GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
        git clone -q --no-hardlinks "$top" "$work/clone" || return 1
    [ -z "$run_as" ] || chown -R "$run_as" "$work/clone"
    env -u GIT_CONFIG_COUNT HOME="$work/tmp" make -s -C "$work/clone" PG_CONFIG="$pg_config" dist &&
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

# Another process holds apt's lock for a while, or for too long.  Other errors are
# not waited for.
try_locked_apt() (
    as_root() { "$@"; }
    folder=$work/locked-apt
    mkdir "$folder" || exit 1
    cat >"$folder/apt-get" <<'FAKE'
#!/bin/sh
echo try >>"${0%/*}/tries"
[ "$(wc -l <"${0%/*}/tries")" -le "$1" ] || exit 0
echo "$2" >&2
exit 100
FAKE
    printf '#!/bin/sh\necho "$1" >>"${0%%/*}/slept"\n' >"$folder/sleep"
    chmod 755 "$folder/apt-get" "$folder/sleep"
    PATH=$folder:$PATH

    # How often it is locked, with which message; the expected result: the exit
    # code, tries, lines that say so, seconds.
    expect() {
        : >"$folder/tries"
        : >"$folder/slept"
        run_apt "$1" "$2" >"$folder/out" 2>&1
        result="$? $(wc -l <"$folder/tries") $(grep -c 'locked by another process' "$folder/out") $(awk '{ n += $1 } END { print n + 0 }' "$folder/slept")"
        [ "$result" = "$3" ] || { say "locked $1 times, $2: $result, not $3"; exit 1; }
    }
    locked="E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (apt-get)"
    expect 0 "$locked" "0 1 0 0"
    expect 3 "$locked" "0 4 3 15"
    expect 1000 "$locked" "100 61 60 300"
    expect 1000 "E: Unable to locate package" "100 1 0 0"
)

# The package is built for the servers of the system.
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
    single "clang" strict_build "$(find_clang)"
fi
build
[ $# -gt 0 ] || single "functions of the server" known_functions

sql=$(chosen sql sql "$@" | names)
specs=$(chosen specs spec "$@" | names)
tap=$(chosen t pl "$@" | sed 's,.*/,,')

case "$("$pg_config" --version) $sql" in
    'PostgreSQL 14'*' since_15 '*) note_skipped '  since_15.sql: version 14 has nothing of it' ;;
esac
if [ -n "$sql$specs" ]; then
    start_server <<SETTINGS
fsync = off
max_connections = 100
max_prepared_transactions = 10
SETTINGS
    if [ -n "$sql" ]; then
        say "== SQL tests"
        sql_began=$(date +%s) passed_before=$passed failed_before=$failed
        run "$work/sql.log" REGRESS="$sql" ISOLATION= TAP_TESTS=
        count_regress "$work/sql.log" "$status"
        [ "$status" -eq 0 ] || cat "$work/src/regression.diffs"
        summarize "SQL" "$passed_before" "$failed_before" "$sql_began"
    fi
    if [ -n "$specs" ]; then
        say "== isolation tests"
        specs_began=$(date +%s) passed_before=$passed failed_before=$failed
        run "$work/specs.log" REGRESS= ISOLATION="$specs" TAP_TESTS=
        count_regress "$work/specs.log" "$status"
        [ "$status" -eq 0 ] || cat "$work/src/regression.diffs" "$work/src/output_iso/regression.diffs" 2>/dev/null
        summarize "isolation" "$passed_before" "$failed_before" "$specs_began"
    fi
    as_user "$bindir/pg_ctl" -D "$work/server/data" -w -s -m fast stop
fi

tap_began=$(date +%s) passed_before_tap=$passed failed_before_tap=$failed
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
[ -z "$tap" ] || summarize "TAP" "$passed_before_tap" "$failed_before_tap" "$tap_began"

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
    say "== a hub that fails over"
    sh "$top/test/ha/run.sh" --no-install --short >"$work/ha.log" 2>&1
    ha_status=$?
    if [ "$ha_status" -eq 77 ]; then
        note_skipped "  ha/run.sh: $(sed -n 's/^not run: //p' "$work/ha.log")"
    else
        single "switch-over and kill of a hub" sh -c 'cat "$1"; exit "$2"' sh "$work/ha.log" "$ha_status"
    fi
    say "== what the tests stand on"
    single "locked apt" try_locked_apt
    if command -v yamllint >/dev/null && [ -d "$top/.github" ]; then
        single "yamllint" yamllint -s -d '{extends: default, rules: {document-start: disable, truthy: disable, line-length: {max: 140}}}' "$top/.github"
    else
        note_skipped '  yamllint: not installed, or nothing there to read'
    fi
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
say "ran on $(date -u +%F), $("$pg_config" --version), in $(($(date +%s) - began)) s:$summary"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
