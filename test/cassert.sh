#!/bin/sh
# assert-server.sh: run check.sh on a server built with --enable-cassert from
# Debian's source package, which finds mistakes that others let pass.  Takes a
# few minutes more than check.sh; not part of every run of the CI.
#
#   sh test/assert-server.sh [FILE...]
#
# FILE is a test, as for check.sh.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
install=yes
. "$top/test/lib.sh"

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
    ./configure -q --prefix="$work/server-with-asserts" --enable-cassert --enable-debug \
        --enable-tap-tests --without-readline CFLAGS="-O1 -g" &&
        make -s -j"$(nproc)" && make -s install &&
        make -s -C contrib install && make -s -C src/test/isolation install
}

require_packages check
missing=
for program in bison flex dpkg-source; do
    command -v "$program" >/dev/null || missing="$missing $program"
done
[ -f /usr/include/zlib.h ] || missing="$missing zlib1g-dev"
missing=$(say "$missing" | sed 's/dpkg-source/dpkg-dev/')
[ -z "$missing" ] || as_root apt-get install -q -y --no-install-recommends $missing ||
    die "The packages could not be installed."

make_work_folder
package=postgresql-$("$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
say "== fetching $package"
fetch_source || die "There is no source package of $package."
say "== building a server with assertions"
(build_server) >"$work/build.log" 2>&1 ||
    { tail -n 30 "$work/build.log"; die "The server could not be built."; }
[ -z "$run_as" ] || chown -R "$run_as" "$work/server-with-asserts"
PG_CONFIG=$work/server-with-asserts/bin/pg_config sh "$top/test/check.sh" --no-install "$@"
