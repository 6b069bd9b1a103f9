#!/bin/sh
# check.sh: build, and run tests on private servers.
#
#   sh test/check.sh [--no-install | --upgrade] [--all | FILE...]
#
# Without a FILE: SQL and isolation tests, and the TAP tests that test/README.md names
# for the promises, in six minutes.  FILE is a test: test/sql/*.sql, test/specs/*.spec,
# test/t/*.pl.  With --all everything there is, in half an hour; as root more than otherwise.
#
# Missing packages are named, and installed, after a question if this is a terminal;
# --no-install installs nothing.  What is installed stays as it is, unless --upgrade says
# that apt may upgrade what it must.  PG_CONFIG names the server to test with.  With --all,
# MINUTES is how long after its beginning a part may still begin; later ones are skipped, and named.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$top/test/lib.sh"
[ "$apt_option" != --no-install ] || export HILO_INSTALL=no     # nor do tests, by npm
which=short
case ${1:-} in
    --all) which=all; shift ;;
    -*) die "usage: sh test/check.sh [--no-install | --upgrade] [--all | FILE...]" ;;
    ?*) which=files ;;
esac

# The TAP tests that hold the promises, the last ones first: those of the hub take longest.
short_tests() {
    sed -n '/^| \(1[0-2]\|[1-9+]\) /p' "$top/test/README.md" | grep -oE '`[0-9]{3}_[a-z0-9_]+`' | tr -d '`' | sort -ru |
        while read -r name; do say "$top/test/t/$name.pl"; done
}

# Names of the tests of a kind: folder, ending.
tests_of() {
    case $which in
        files) for file in $files; do say "$file"; done ;;
        short) [ "$1" = t ] && short_tests || ls "$top/test/$1"/*."$2" ;;
        all) ls -r "$top/test/$1"/*."$2" ;;
    esac | sed -n "s,\(.*/\)*$1/\(.*\)\.$2\$,\2,p" | while read -r name; do
        [ "$which" != files ] && is_pending "$name" || say "$name"
    done | tr '\n' ' '
}

# True for a test, or a part of --all, that test/pending names: it has not been run on the code as
# it is, and is run by name only.
is_pending() { grep -Fx "$1" "$top/test/pending" >/dev/null 2>&1; }
files=$*

# What the tests of --all use; where a release of Debian has no package, its test is skipped.
need_all() {
    need_tests
    need gcc "gcc libc6-dev"
    need git git
    need unzip unzip
    need strace strace
    need pgbouncer pgbouncer
    need npm "nodejs npm"
    need_python psycopg2 python3-psycopg2
    need_python yaml python3-yaml
    clang=$(find_clang) && clang=$("$clang" -dumpversion)
    need "${clang:+true}" clang
    wish "libclang-rt-${clang%%.*}-dev" "postgresql-${pg_config:+$("$pg_config" --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')}-repack" \
        gnuplot-nox yamllint spin prometheus prometheus-postgres-exporter prometheus-sql-exporter patroni etcd-server \
        python3-django python3-sqlalchemy python3-alembic ruby-activerecord ruby-pg ruby-sequel \
        php-cli php-pgsql php-illuminate-database php-doctrine-orm libdbd-pg-perl libdbix-class-schema-loader-perl \
        default-jdk-headless libpostgresql-jdbc-java libhibernate3-java libjavassist-java libslf4j-java
    ! may_make_systems || need debootstrap debootstrap
}

passed=0
failed=0
skipped=
summary=
began=$(date +%s)

# Add a line to the summary: what was run, how many passed and failed, its exit code,
# when it began.  A runner that failed without a failed test has failed, too.
count() {
    [ "$4" -eq 0 ] || [ "$3" -gt 0 ] || set -- "$1" "$2" 1 "$4" "$5"
    passed=$((passed + $2))
    failed=$((failed + $3))
    summary="$summary
  $1: $2 passed, $3 failed, $(($(date +%s) - $5)) s"
}

note_skipped() {
    [ -z "$*" ] || skipped="$skipped
$*"
}

# Run a command, and show what it says; the exit code is in $status.  A shell that waits is
# stopped by a signal at once, one with a command in the foreground only after that.
show() {
    log=$1
    shift
    { "$@" 2>&1; echo $? >"$work/status"; } | tee "$log" &
    wait $!
    status=$(cat "$work/status")
}

# SQL or isolation tests: what they are, what make is told.  pg_regress says "test x ... ok", from
# version 16 on "ok 1 - x".
regress() {
    name=$1 regress_began=$(date +%s)
    shift
    say "== $name"
    show "$work/regress.log" make_copy installcheck "$@"
    count "$name" "$(grep -cE '^(ok +[0-9]+ +[-+] |(test )?.* \.\.\. ok )' "$work/regress.log")" \
        "$(grep -cE '^(not ok +[0-9]+ +[-+] |(test )?.* \.\.\. (FAILED|failed))' "$work/regress.log")" "$status" "$regress_began"
    [ "$status" -eq 0 ] || cat "$work/src/regression.diffs" "$work/src/output_iso/regression.diffs" 2>/dev/null
}

# TAP tests, as many at a time as there are processors.  Each has a log of its own.
tap() {
    say "== TAP tests"
    tap_began=$(date +%s)
    show "$work/tap.log" make_copy installcheck REGRESS= ISOLATION= TAP_TESTS=1 PROVE_TESTS="$*" \
        PROVE_FLAGS="-j$(nproc) --timer" TEMP_CONFIG="$work/hilo.conf"
    logs=$work/src/tmp_check/log
    cat "$logs"/regress_log_* | sed 's/^\[[^]]*\]([^)]*) //' >"$work/tap.all"
    count "TAP" "$(grep -E '^ok [0-9]+' "$work/tap.all" | grep -civE '# skip')" \
        "$(grep -E '^not ok [0-9]+' "$work/tap.all" | grep -civE '# todo')" "$status" "$tap_began"
    note_skipped "$(grep -iE '(^|\) )(ok [0-9]+.*|1\.\.0) # skip' "$logs"/regress_log_* | sed 's/.*regress_log_\([a-z0-9_]*\):.* # [Ss][Kk][Ii][Pp]/  \1:/' | sort -u)"
    grep '^not ok' "$work/tap.all"
    for name in $(sed -n 's,^test/t/\([a-z0-9_]*\)\.pl .*Wstat.*,\1,p' "$work/tap.log") \
        $(grep -l 'Bail out!' "$logs"/regress_log_* | sed 's/.*regress_log_//'); do
        for log in "$logs/regress_log_$name" "$logs/$name"_*; do
            say "-- ${log##*/}"
            tail -n 40 "$log"
        done
    done
}

# A test that is a command of its own: name, command.  It may count what it runs; exit code 77: it
# cannot run here.
single() {
    name=$1 single_began=$(date +%s)
    shift
    say "== $name"
    if is_pending "$name"; then
        note_skipped "  $name: pending, see test/pending"
        return
    fi
    if [ "$single_began" -gt $((began + ${MINUTES:-1000} * 60)) ]; then
        note_skipped "  $name: $MINUTES minutes are over"
        return
    fi
    "$@" </dev/null >"$work/single.log" 2>&1
    status=$?
    if [ "$status" -eq 77 ]; then
        note_skipped "  $name: $(tail -n 1 "$work/single.log")"
        return
    fi
    [ "$status" -eq 0 ] || cat "$work/single.log"
    set -- $(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$work/single.log" | tail -n 1)
    [ $# -eq 2 ] || set -- $((status == 0)) $((status != 0))
    count "$name" "$1" "$2" "$status" "$single_began"
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
    nm -D --undefined-only "$work/src/hilo.so" "$work/src/hilo_hub.so" |
        awk 'NF == 2 && $2 !~ /@|^_|^PQ/ { print $2 }' | sort -u >"$work/tmp/used"
    [ -s "$work/tmp/used" ] || { say "nothing is used"; return 1; }
    sed '/^#/d' "$top/test/server-functions" | sort -u >"$work/tmp/known"
    unknown=$(comm -23 "$work/tmp/used" "$work/tmp/known")
    [ -z "$unknown" ] || { say "not in test/server-functions:" $unknown; return 1; }
}

# Pack the last commit with make dist, in a clone because it creates a file, and build,
# install and uninstall what was packed.
try_distribution() {
    [ -e "$top/.git" ] || { say "not in a clone of the repository"; return 77; }
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
        as_user make -s -C "$dist" PG_CONFIG="$pg_config" CC="$CC" DESTDIR="$work/unpacked/dest" $target || return 1
    done
    for file in "$("$pg_config" --pkglibdir)/hilo.so" "$("$pg_config" --sharedir)/extension/hilo.control" "$("$pg_config" --sharedir)/extension/hilo--1.0.sql"; do
        [ -f "$work/unpacked/dest$file" ] || { say "$file is not installed"; return 1; }
    done
    as_user make -s -C "$dist" PG_CONFIG="$pg_config" DESTDIR="$work/unpacked/dest" uninstall || return 1
    left=$(find "$work/unpacked/dest" -type f)
    [ -z "$left" ] || { say "make uninstall has left $left"; return 1; }
}

try_yamllint() {
    command -v yamllint >/dev/null || { say "not installed"; return 77; }
    yamllint -s -d '{extends: default, rules: {document-start: disable, truthy: disable, line-length: {max: 140}}}' "$top/.github"
}

try_docker() {
    docker info >/dev/null 2>&1 || { say "there is no Docker here"; return 77; }
    docker build -q -t hilo-test "$top" && docker run --rm hilo-test postgres --version && docker rmi hilo-test
}

try_models() {
    [ -e "$top/test/model/run.sh" ] && command -v spin >/dev/null || { say "spin is not installed"; return 77; }
    sh "$top/test/model/run.sh"
}

case $which in
    all) require need_all ;;
    *) require need_tests ;;
esac
make_work_folder
copy_checkout

# What the tests show must not depend on the clock; those of sizes set other values.
EXTRA_SETTINGS="${EXTRA_SETTINGS:-}
hilo.debug_range_size = 32
hilo.max_range_size = 32"
say "== $("$pg_config" --version)"
if [ "$which" != files ]; then
    for compiler in gcc "$(find_clang)"; do
        ! command -v "$compiler" >/dev/null || single "builds with ${compiler##*/}, warnings are errors" strict_build "$compiler"
    done
    single "what files may know of others" sh "$top/test/arrows.sh"
fi
build
[ "$which" = files ] || single "functions of the server" known_functions

sql=$(tests_of sql sql)
specs=$(tests_of specs spec)
tap=$(tests_of t pl)
if [ -n "$sql$specs" ]; then
    start_server <<SETTINGS
fsync = off
autovacuum = off
max_connections = 100
max_prepared_transactions = 10
SETTINGS
    [ -z "$sql" ] || regress SQL REGRESS="$sql" ISOLATION=
    [ -z "$specs" ] || regress isolation REGRESS= ISOLATION="$specs"
    as_user "$bindir/pg_ctl" -D "$work/server/data" -w -s -m fast stop
fi
[ "$which" = files ] || [ ! -e "$top/test/pending" ] ||
    note_skipped "$(sed -n '/^[0-9]/s/$/: pending, see test\/pending/p' "$top/test/pending" | sed 's/^/  /')"
[ -z "$tap" ] || tap $(for name in $tap; do say "test/t/$name.pl"; done)

if [ "$which" = all ]; then
    single "the mistakes of mutants.sh can be made" sh "$top/test/torture/mutants.sh" --no-install --fit
    single "META.json" perl "$top/test/meta.pl" "$top"
    single "yamllint" try_yamllint
    single "make dist" try_distribution
    single "demo" sh "$top/test/demo.sh" --no-install
    single "hostile input" sh "$top/test/fuzz/run.sh" --no-install 60000 1
    single "models" try_models
    single "torture, two minutes" sh "$top/test/torture/run.sh" --no-install 2 1
    single "PostgreSQL's own tests" sh "$top/test/core.sh" --no-install
    single "benchmark, in short" sh "$top/test/bench/run.sh" --no-install --quick
    single "Dockerfile" try_docker
    # From here on, each makes systems of its own.
    single "packages, on a fresh system" sh "$top/test/package.sh" --no-install
    single "32 bit" sh "$top/test/versions.sh" --no-install i386 "$top"/test/sql/*.sql "$top"/test/specs/*.spec
    single "PostgreSQL 17" sh "$top/test/versions.sh" --no-install 17 "$top"/test/sql/*.sql "$top"/test/specs/*.spec \
        "$top/test/t/010_crash.pl" "$top/test/t/065_two_versions.pl"
    single "a running server is not touched" sh "$top/test/untouched.sh" --no-install "$top/test/sql/draw.sql"
fi

[ -z "$skipped" ] || say "skipped:$skipped"
say "ran on $(date -u +%F), $("$pg_config" --version), in $(($(date +%s) - began)) s:$summary"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
