#!/bin/sh
# package.sh: build the Debian package and the RPM, and try the Debian one on a fresh system.
#
#   sh test/package.sh [--no-install | --upgrade] [SUITE]
#
# They are built in a fresh system, which gets just what debian/control and hilo.spec name; the
# package is tried in another one.  Both are folders with a release of Debian, this
# machine's unless SUITE names another one.  Requires root.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$top/test/lib.sh"
. "$top/test/system.sh"
suite=${1:-$release}

may_make_systems || { say "needs root, and the right to make namespaces"; exit 77; }
require need_systems
work=$(mktemp -d /tmp/hilo-package.XXXXXX) || die "Could not create a folder in /tmp."
trap 'end_namespace; rm -rf --one-file-system "$work"' EXIT
trap 'exit 1' HUP INT PIPE TERM

# Run a step that is silent unless it fails: its name, the command.
step() {
    say "== $1"
    shift
    "$@" >"$work/log" 2>&1 || { tail -n 60 "$work/log"; die "That failed."; }
}

# As an ordinary user, the one whom some outputs name; the tests that debian/rules runs are part of it.
build_debian() {
    in_system "$work/builder" sh -c 'cd /root/hilo && apt-get build-dep -q -y --no-install-recommends ./ &&
        mkdir /build && mv /root/hilo /build/ && chown -R postgres: /build &&
        cd /build/hilo && runuser -u postgres -- dpkg-buildpackage -b -us -uc'
}

# Debian's rpmbuild does not know which packages the build needs: they are here.
build_rpm() {
    in_system "$work/builder" sh -c 'apt-get install -q -y --no-install-recommends rpm unzip zip && cd /build &&
        version=$(sed -n "s/^Version: *//p" hilo/hilo.spec) && cp -a hilo "hilo-$version" &&
        zip -qr "hilo-$version.zip" "hilo-$version" && chown postgres: . &&
        runuser -u postgres -- rpmbuild -bb --nodeps --define "_topdir /build/rpm" --define "_sourcedir /build" hilo/hilo.spec &&
        rpm -qlp rpm/RPMS/*/*.rpm'
}

say "== a fresh system: $suite"
make_system "$work/fresh" "$suite" >"$work/log" 2>&1 || { tail -n 20 "$work/log"; say "there is no $suite to be had"; exit 77; }
step "another one" cp -a "$work/fresh" "$work/builder"
copy_into_system "$work/builder" || die "The checkout could not be copied."
step "building the Debian package" build_debian
passed=$(sed -n 's/^ All \([0-9]*\) tests passed.*/\1/p; s/^# All \([0-9]*\) tests passed.*/\1/p' "$work/log" | awk '{ n += $1 } END { print n + 0 }')
[ "$passed" -gt 0 ] || { cat "$work/log"; die "The build has run no tests."; }
say "$passed tests passed in the build"
(cd "$work/builder/build" && ls postgresql-*.deb)
step "building the RPM" build_rpm
[ "$(grep -cE '^/.*/(hilo\.so|hilo\.control|hilo--1\.0\.sql)$' "$work/log")" -eq 3 ] || die "The RPM lacks a file."

say "== the Debian package, on the fresh system"
mkdir "$work/fresh/package" &&
    cp "$work/builder/build"/postgresql-*-hilo_*.deb "$top/test/package-inside.sh" "$work/fresh/package" || exit 1
in_system "$work/fresh" sh /package/package-inside.sh >"$work/log" 2>&1
status=$?
grep -E '^(ok|FAILED) ' "$work/log"
passed=$((passed + 1 + $(grep -c '^ok ' "$work/log")))
failed=$(grep -c '^FAILED ' "$work/log")
# A script that failed without a failed test has failed all the same.
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
[ "$failed" -eq 0 ] || cat "$work/log"

say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
