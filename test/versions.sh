#!/bin/sh
# versions.sh: run check.sh with other versions of PostgreSQL than the machine's, or on another
# architecture.
#
#   sh test/versions.sh [--no-install | --upgrade] [--keep DIR] [VERSION...] [FILE...]
#
# VERSION is 17, 18 or 19, from other releases of Debian, or this release on i386 (32 bit), or,
# slowly, on arm64 or s390x, which Debian's qemu-user-static and binfmt-support imitate.  Each
# gets a Debian of its own, made by debootstrap in a folder of 2 GB, which is removed at the
# end; with --keep the folders are DIR/17 and so on, they stay, and those that are there are used
# again.  As root, on Debian.
#
# PG_CONFIG names servers of this machine, with spaces between them, to be tested as well: of
# any version, from a package or built.  Without a VERSION these are all; without either, 17,
# 18, 19 and i386 are tested.
#
# FILE is a test, as for check.sh.  PG_TEST_TIMEOUT_DEFAULT is for how many seconds a TAP test waits,
# 180 without it: a machine that is busy, or imitated, may need more.  It is passed on, and so are
# variables of tests, such as HILO_KILLS.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$top/test/lib.sh"
. "$top/test/system.sh"

is_architecture() { case $1 in i386 | arm64 | s390x) ;; *) return 1 ;; esac; }

# The suite of Debian that has a version; those of experimental come on top of sid.
suite_of() {
    case $1 in
        17) say trixie ;;
        18) say sid ;;
        19) say experimental ;;
        *) is_architecture "$1" && say "$release" ;;
    esac
}

keep=
if [ "${1:-}" = --keep ] && [ $# -ge 2 ]; then
    mkdir -p "$2" && keep=$(cd "$2" && pwd -P) || die "$2 cannot be used."
    chmod 755 "$keep"
    shift 2
fi
versions=
while suite_of "${1:-}" >/dev/null; do
    versions="$versions $1"
    shift
done
case ${1:-} in
    -* | [0-9]*) die "usage: sh test/versions.sh [--no-install | --upgrade] [--keep DIR] [17 | 18 | 19 | i386 | arm64 | s390x...] [FILE...]" ;;
esac
servers=${PG_CONFIG:-}
unset PG_CONFIG
[ -n "$versions$servers" ] || versions="17 18 19 i386"

# Add the server that the test of two versions upgrades from, 15 of bookworm.  The files
# for building are unpacked without the compiler that they depend on.
add_older() {
    [ ! -e "$root/hilo-older" ] || return 0
    package_sources bookworm >"$root/etc/apt/sources.list.d/older.list"
    in_system "$root" sh -c 'apt-get -q update && apt-get install -q -y --no-install-recommends postgresql-15 &&
        cd /tmp && apt-get -q download postgresql-server-dev-15 && dpkg -x postgresql-server-dev-15_*.deb /' &&
        touch "$root/hilo-older"
}

# Make the Debian of a version in $root.
make_version() {
    suite=$(suite_of "$1")
    if is_architecture "$1"; then
        make_system "$root" "$suite" "$1"
        return
    fi
    make_system "$root" "$(say "$suite" | sed 's/experimental/sid/')" || return 1
    if [ "$suite" = experimental ]; then
        # Only the server; the packages that it depends on are at home in sid.
        sed -n 's/ sid / experimental /p' "$root/etc/apt/sources.list" >"$root/etc/apt/sources.list.d/experimental.list"
        printf '%s\n' "Package: src:postgresql-$1" "Pin: release a=experimental" "Pin-Priority: 900" \
            >"$root/etc/apt/preferences.d/hilo"
        in_system "$root" apt-get -q update || return 1
    fi
    mkdir -p "$root/etc/postgresql-common/createcluster.d"
    echo 'create_main_cluster = false' >"$root/etc/postgresql-common/createcluster.d/hilo.conf"
    in_system "$root" apt-get install -q -y --no-install-recommends "postgresql-$1" "postgresql-server-dev-$1" || return 1
    [ "$1" != 17 ] || add_older
}

passed=0
failed=0
summary=
missing_versions=

# Run a command that runs check.sh: name, command.  Exit code 77: it cannot run here.
check() {
    name=$1 began=$(date +%s)
    shift
    say "=== $name"
    { "$@" 2>&1; echo $? >"$log.status"; } | tee "$log"
    if [ "$(cat "$log.status")" -eq 77 ]; then
        missing_versions="$missing_versions $name"
        return
    fi
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -n 1)
    set -- ${counts:-0 passed, 1 failed}
    summary="$summary
$name: $*, $(($(date +%s) - began)) s"
    passed=$((passed + $1)) failed=$((failed + $3))
}

check_version() {
    root=${keep:-$folder}/$1
    [ -e "$root/hilo-complete" ] ||
        { rm -rf --one-file-system "$root" && make_version "$1" && touch "$root/hilo-complete"; } ||
        { say "There is no Debian with $1 to be had."; return 77; }
    version=$1
    shift
    copy_into_system "$root" &&
        in_system "$root" env ${CI:+CI="$CI"} ${PG_TEST_TIMEOUT_DEFAULT:+PG_TEST_TIMEOUT_DEFAULT="$PG_TEST_TIMEOUT_DEFAULT"} \
            $(env | grep '^HILO_') \
            $(is_architecture "$version" || say "PG_CONFIG=/usr/lib/postgresql/$version/bin/pg_config") \
            sh /root/hilo/test/check.sh --upgrade "$@"
}

log=$(mktemp) || exit 1
folder=
if [ -n "$versions" ]; then
    may_make_systems || { say "needs root, and the right to make namespaces"; exit 77; }
    require need_systems
    folder=$(mktemp -d /tmp/hilo-versions.XXXXXX) || die "Could not create a folder in /tmp."
    trap 'end_namespace; rm -rf --one-file-system "$log" "$log.status" "$folder"' EXIT
    trap 'exit 1' HUP INT PIPE TERM
fi
for server in $servers; do
    check "$("$server" --version) of $server" env PG_CONFIG="$server" sh "$top/test/check.sh" $apt_option "$@"
done
for version in $versions; do
    check "$version" check_version "$version" "$@"
    rm -rf --one-file-system "${folder:?}/$version"
done
say "===$summary"
[ "$((passed + failed))" -gt 0 ] || { say "not to be had:$missing_versions"; exit 77; }
[ -z "$missing_versions" ] || say "not to be had:$missing_versions"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
