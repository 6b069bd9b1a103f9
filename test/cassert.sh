#!/bin/sh
# cassert.sh: run check.sh on a server built with --enable-cassert from Debian's
# source package, which finds mistakes that others let pass; then the SQL and the
# isolation tests once more with debug_discard_caches = 1, where that server
# forgets what it knows of the catalog whenever it might have to.  That takes
# more than half an hour; the other tests have waits that are too short for it.
#
#   sh test/cassert.sh [FILE...]
#
# FILE is a test, as for check.sh; those given are run both ways.  If PG_CONFIG
# names a server with assertions, that one is used.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
install=yes
. "$top/test/lib.sh"

# What building a server needs, beyond what the tests do.
require_build_packages() {
    missing=
    for program in bison flex dpkg-source; do
        command -v "$program" >/dev/null || missing="$missing $program"
    done
    [ -f /usr/include/zlib.h ] || missing="$missing zlib1g-dev"
    missing=$(say "$missing" | sed 's/dpkg-source/dpkg-dev/')
    [ -z "$missing" ] || as_root apt-get install -q -y --no-install-recommends $missing ||
        die "The packages could not be installed."
}

# Fetch the newest source package that there really is.  The system's list of
# package sources stays as it is: a copy of it, in $work, asks for sources.
fetch_source() {
    mkdir -p "$work/apt/parts" "$work/apt/lists/partial" "$work/source"
    cat /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list.d/ubuntu.sources 2>/dev/null |
        sed 's/^Types:.*/Types: deb-src/' >"$work/apt/parts/source.sources"
    sed -n 's/^deb /deb-src /p' /etc/apt/sources.list 2>/dev/null >"$work/apt/parts/source.list"
    set -- -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$work/apt/parts" \
        -o Dir::State::Lists="$work/apt/lists" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    apt-get "$@" -q update || return 1
    for version in $(apt-cache "$@" showsrc "$package" | sed -n 's/^Version: //p' | sort -rV); do
        (cd "$work/source" && apt-get "$@" -q --download-only source "$package=$version") &&
            return 0
    done
    return 1
}

build_server() {
    cd "$work/source" && tar -xf "$package"_*.orig.tar.* && cd postgresql-*/ || return 1
    ./configure -q --prefix="$server" --enable-cassert --enable-debug \
        --enable-tap-tests --without-readline --without-icu CFLAGS="-O1 -g" &&
        make -s -j"$(nproc)" && make -s install &&
        make -s -C contrib install && make -s -C src/test/isolation install
}

# Run check.sh with more settings for the servers, and add up.
passed=0
failed=0
check() {
    settings=$1
    shift
    say "=== a server with assertions${settings:+, $settings}"
    PG_CONFIG=$server/bin/pg_config EXTRA_SETTINGS=$settings \
        sh "$top/test/check.sh" --no-install "$@" 2>&1 |
        tee "$work/check.log"
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$work/check.log" | tail -n 1)
    set -- ${counts:-0 1}
    passed=$((passed + $1))
    failed=$((failed + $2))
}

require_packages check
make_work_folder
if "$pg_config" --configure | grep enable-cassert >/dev/null; then
    server=${bindir%/bin}
else
    require_build_packages
    server=$work/server-with-asserts
    package=postgresql-$("$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
    say "== fetching $package"
    fetch_source || die "There is no source package of $package."
    say "== building a server with assertions"
    (build_server) >"$work/build.log" 2>&1 ||
        { tail -n 30 "$work/build.log"; die "The server could not be built."; }
    [ -z "$run_as" ] || chown -R "$run_as" "$server"
fi
check '' "$@"
[ $# -gt 0 ] || set -- "$top"/test/sql/*.sql "$top"/test/specs/*.spec
check 'debug_discard_caches = 1' "$@"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
