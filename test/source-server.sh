# source-server.sh: build a server of the version in use from Debian's source
# package.  To be sourced after lib.sh; uses $pg_config and $work.

need_source() {
    need bison bison
    need flex flex
    need dpkg-source dpkg-dev
    need_file /usr/include/zlib.h zlib1g-dev
}

# Fetch the newest source package that actually exists.  The system's list of
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

# Run in the folder with the files of the source.
compile_server() {
    tar -xf "$work/source/$package"_*.orig.tar.* --strip-components=1 &&
        ./configure -q --prefix="$1" --enable-cassert --enable-debug \
            --enable-tap-tests --without-readline --without-icu CFLAGS="$2" &&
        make -s -j"$(nproc)" && make -s install &&
        make -s -C contrib install && make -s -C src/test/isolation install
}

# Install a server with assertions to $1, compiled with the flags $2.
build_source_server() {
    require need_source
    package=postgresql-$("$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/')
    if [ ! -d "$work/source" ]; then
        say "== fetching $package"
        fetch_source || die "$package has no source package."
    fi
    say "== building a server with $2"
    (mkdir "$work/build" && cd "$work/build" && compile_server "$1" "$2") >"$work/build.log" 2>&1 ||
        { tail -n 30 "$work/build.log"; die "Could not build the server."; }
    [ ! -f "$work/build/src/tools/valgrind.supp" ] || cp "$work/build/src/tools/valgrind.supp" "$1/"
    rm -rf "$work/build"
    [ -z "$run_as" ] || chown -R "$run_as" "$1"
}
