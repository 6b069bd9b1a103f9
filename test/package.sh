#!/bin/sh
# package.sh: build the Debian package, and try it on a fresh system.
#
#   sh test/package.sh [--no-install]
#
# The fresh system is a folder with the release of this machine, from the
# package sources of this machine; everything mounted and running in it is
# in a namespace of its own and ends with that.  Requires root.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
install=yes
case ${1:-} in
    '') ;;
    --no-install) install=no ;;
    *) echo "usage: sh test/package.sh [--no-install]" >&2; exit 2 ;;
esac
. "$top/test/lib.sh"

namespace=

# Run a command in namespaces of its own, which end when it or this script
# ends, so that no mount can block clean_up.
in_namespace() {
    unshare --mount --pid --fork --kill-child "$@" </dev/null &
    namespace=$!
    wait "$namespace"
    status=$?
    namespace=
    return "$status"
}

end_namespace() {
    status=$?
    [ -z "$namespace" ] || { kill "$namespace" && wait "$namespace"; } 2>/dev/null
    return "$status"
}

# In a copy of the checkout, as an ordinary user; the tests that debian/rules
# runs are part of it.
build_package() {
    as_user mkdir "$work/package" "$work/package/src" &&
        (cd "$top" && tar -cf - --exclude=.git --exclude='*.o' --exclude='*.bc' --exclude='*.so' .) |
        as_user tar -xf - -C "$work/package/src" &&
        as_user env -u PG_CONFIG LC_ALL=C.UTF-8 \
            sh -c 'cd package/src && exec dpkg-buildpackage -b -us -uc' >"$work/tmp/build.log" 2>&1 </dev/null
}

# Where this machine's packages come from, for its own release: lines of a
# sources.list.
package_sources() {
    apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v release="$1" '{
            for (i = 2; i <= 3; i++)
                if ($i == release || $i == release "-updates" || $i == release "-security") {
                    print "deb", $1, $i, $4
                    next
                }
        }' | sort -u
}

make_system() {
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    package_sources "$release" >"$work/tmp/sources.list"
    mirror=$(awk -v release="$release" '$3 == release && $4 == "main" { print $2; exit }' "$work/tmp/sources.list")
    [ -n "$mirror" ] || die "No package source of apt's has $release main."
    eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
    [ -z "${http_proxy:-}" ] || export http_proxy
    [ -z "${https_proxy:-}" ] || export https_proxy

    in_namespace debootstrap --variant=minbase "$release" "$work/system" "$mirror" >"$work/tmp/system.log" 2>&1 ||
        return 1
    cp "$work/tmp/sources.list" "$work/system/etc/apt/sources.list"
    apt-config dump Acquire >"$work/system/etc/apt/apt.conf.d/90acquire"
}

try_package() {
    mkdir "$work/system/package" &&
        cp "$work"/package/postgresql-*-hilo_*.deb "$top/test/package-inside.sh" "$work/system/package" || return 1
    in_namespace sh -c '
        mount -t proc proc "$1/proc" && mount -t tmpfs tmpfs "$1/dev/shm" &&
            exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
                sh /package/package-inside.sh' sh "$work/system" >"$work/tmp/inside.log" 2>&1
}

may_make_systems || die "This requires root, and the right to create namespaces."
require_packages package
make_work_folder
trap 'end_namespace; clean_up' EXIT

say "== building"
build_package || { tail -n 60 "$work/tmp/build.log"; die "Could not build the package."; }
passed=$(sed -n 's/^ All \([0-9]*\) tests passed.*/\1/p' "$work/tmp/build.log" | awk '{ n += $1 } END { print n + 0 }')
[ "$passed" -gt 0 ] || { cat "$work/tmp/build.log"; die "The build has run no tests."; }
say "$passed tests passed in the build"
(cd "$work/package" && ls postgresql-*.deb)

say "== a fresh system"
make_system || { tail -n 20 "$work/tmp/system.log"; die "Could not create the system."; }

say "== the package in it"
try_package
status=$?
grep -E '^(ok|FAILED) ' "$work/tmp/inside.log"
passed=$((passed + $(grep -c '^ok ' "$work/tmp/inside.log")))
failed=$(grep -c '^FAILED ' "$work/tmp/inside.log")
# A script that failed without a failed test has failed all the same.
[ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || failed=1
[ "$failed" -eq 0 ] || cat "$work/tmp/inside.log"

say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
