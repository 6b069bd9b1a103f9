#!/bin/sh
# versions.sh: run check.sh on other PostgreSQL versions than the machine's.
#
#   sh test/versions.sh [--keep DIR] [VERSION...] [FILE...]
#
# VERSION is 17, 18 or 19, from other releases of Debian.  Each gets a Debian of its
# own, made by debootstrap in a folder of 2 GB, which is removed at the end; with
# --keep the folders are DIR/17 and so on, they stay, and those that are there are
# used again.  As root, on Debian; 5 minutes a version, and the tests.
#
# PG_CONFIG names servers of this machine, with spaces between them, to be tested
# as well: of any version, from a package or built.  Without a VERSION these are
# all; without either, 17, 18 and 19 are tested.
#
# FILE is a test, as for check.sh.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
install=yes
PATH=$PATH:/usr/sbin:/sbin
. "$top/test/lib.sh"

usage() { die "usage: sh test/versions.sh [--keep DIR] [VERSION...] [FILE...]"; }

# The suite of Debian that has a version; those of experimental
# come on top of sid.
suite_of() {
    case $1 in
        17) say trixie ;;
        18) say sid ;;
        19) say experimental ;;
        *) return 1 ;;
    esac
}

# The version that the test of two versions upgrades from, and its suite.
older=15
older_suite=bookworm

# The mirror that this machine's Debian comes from.
find_mirror() {
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(LABEL)' |
        sed -n 's|^\(http.*[^/]\)/* Debian Debian$|\1|p' | head -n 1)
    [ -n "$mirror" ]
}

#
# A Debian in a folder, $root
#

# Its programs trust the certificates that this machine's programs trust.
inside() {
    chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin \
        DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} \
        ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=/etc/hilo-ca.pem} "$@"
}

# If the index is older than it says that it is valid for, its signature has
# to be enough.
update_index() {
    inside apt-get -q update && return
    say "Once more, whatever the age of the index:"
    echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/hilo"
    inside apt-get -q update
}

mount_system() {
    mount -t proc proc "$root/proc" &&
        mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" ||
        { reason="nothing can be mounted in $root"; return 1; }
}

# Create a Debian of a suite in $root, with the server of a version.
make_root() {
    version=$1 suite=$2
    base=$suite
    [ "$suite" != experimental ] || base=sid
    say "+ debootstrap $base"
    debootstrap --variant=minbase "$base" "$root" "$mirror" ||
        { reason="there is no $base to be had from $mirror"; return 1; }
    mount_system || return 1
    if [ "$suite" != "$base" ]; then
        echo "deb $mirror $suite main" >"$root/etc/apt/sources.list.d/$suite.list"
        # Only the server; the packages that it depends on are at home in sid.
        printf '%s\n' "Package: src:postgresql-$version" "Pin: release a=$suite" "Pin-Priority: 900" \
            >"$root/etc/apt/preferences.d/hilo"
    fi
    update_index || { reason="the package index of $suite could not be read"; return 1; }
    inside apt-cache show "postgresql-$version" >/dev/null 2>&1 ||
        { reason="Debian's suite $suite has no postgresql-$version (any more, or yet)"; return 1; }
    # Only check.sh may start anything there.
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
    mkdir -p "$root/etc/postgresql-common/createcluster.d"
    echo 'create_main_cluster = false' >"$root/etc/postgresql-common/createcluster.d/hilo.conf"
    inside apt-get install -q -y --no-install-recommends \
        "postgresql-$version" "postgresql-server-dev-$version" ||
        { reason="the packages of PostgreSQL $version could not be installed"; return 1; }
    touch "$root/hilo-complete"
}

# Add the older server to $root.  The files for building are unpacked without
# the packages that they depend on: the compiler of another release.
add_older() {
    [ ! -e "$root/hilo-older" ] || return 0
    echo "deb $mirror $older_suite main" >"$root/etc/apt/sources.list.d/$older_suite.list"
    update_index &&
        inside apt-get install -q -y --no-install-recommends "postgresql-$older" &&
        inside sh -c 'cd /tmp && apt-get -q download "$1" && dpkg -x "$1"_*.deb / && rm "$1"_*.deb' \
            sh "postgresql-server-dev-$older" &&
        touch "$root/hilo-older"
}

# End what is running in $root, unmount what is mounted there, and remove it unless it
# is to be kept.
leave_root() {
    [ -n "${root:-}" ] || return 0
    for signal in TERM TERM KILL KILL KILL; do
        found=
        for process in /proc/[0-9]*; do
            [ "$(readlink "$process/root")" != "$root" ] || found="$found ${process#/proc/}"
        done
        [ -n "$found" ] || break
        kill -"$signal" $found 2>/dev/null
        sleep 0.5
    done
    while grep " $root/" /proc/mounts >/dev/null; do
        umount "$(sed -n "s,^[^ ]* \($root/[^ ]*\) .*,\1,p" /proc/mounts | tail -n 1)" || break
    done
    # Never remove something that is mounted.
    [ -n "$keep" ] && [ -e "$root/hilo-complete" ] || rm -rf --one-file-system "$root"
    root=
}

clean_up_roots() {
    status=$?
    trap - EXIT
    trap '' HUP INT PIPE TERM
    leave_root
    [ -n "$keep" ] || rmdir "$folder" 2>/dev/null
    exit "$status"
}

# Run check.sh in the background, so that a signal ends it at once; the counts are
# in $p and $f: folder for the log, and the command.
run_check() {
    log=$1/log
    shift
    "$@" 2>&1 | tee "$log" &
    wait "$!"
    counts=$(sed -n 's/^\([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$log" | tail -n 1)
    [ -n "$counts" ] || return 1
    p=${counts% *} f=${counts#* }
    reason=
}

# Run check.sh with a server of this machine.
check_server() {
    server=$1
    shift
    p=0 f=1 reason="check.sh did not come to its end"
    logs=$(mktemp -d /tmp/hilo-versions.XXXXXX) || return 1
    run_check "$logs" env PG_CONFIG="$server" sh "$top/test/check.sh" "$@"
    rm -rf "$logs"
}

# Run check.sh with a version of another release.
check_version() {
    version=$1
    shift
    root=$folder/$version
    p=0 f=1 reason="check.sh did not come to its end"
    if [ -e "$root/hilo-complete" ]; then
        mount_system || return 1
        cp /etc/resolv.conf "$root/etc/"
    elif [ -e "$root" ]; then
        reason="$root was not made by this script, or not to its end: remove it"
        root=
        return 1
    else
        make_root "$version" "$(suite_of "$version")" || return 1
    fi
    rm -rf "$root/root/hilo" && mkdir "$root/root/hilo" &&
        (cd "$top" && tar -cf - --exclude=.git --exclude='*.o' --exclude='*.bc' --exclude='*.so' .) |
        tar -xf - -C "$root/root/hilo" || { reason="the checkout could not be copied"; return 1; }
    [ -z "${NODE_EXTRA_CA_CERTS:-}" ] ||
        install -m 644 "$NODE_EXTRA_CA_CERTS" "$root/etc/hilo-ca.pem" ||
        { reason="$NODE_EXTRA_CA_CERTS cannot be read"; return 1; }
    add_older || say "Could not add PostgreSQL $older: the test of two versions is skipped."
    run_check "$root/root" inside PG_CONFIG="/usr/lib/postgresql/$version/bin/pg_config" \
        sh /root/hilo/test/check.sh "$@"
}

keep=
versions=
while [ $# -gt 0 ]; do
    case $1 in
        --keep)
            [ $# -ge 2 ] || usage
            keep=$2
            shift
            ;;
        -* | *[!0-9]*) break ;;
        *)
            suite_of "$1" >/dev/null || die "PostgreSQL $1: no suite of Debian has it."
            versions="$versions $1"
            ;;
    esac
    shift
done
case ${1:-} in
    -*) usage ;;
esac
servers=${PG_CONFIG:-}
unset PG_CONFIG
[ -n "$versions$servers" ] || versions="17 18 19"

root=
folder=
if [ -n "$versions" ]; then
    [ "$(id -u)" -eq 0 ] || die "debootstrap has to be run by root."
    require_packages versions
    find_mirror || { run_apt -q update && find_mirror; } ||
        die "This machine's packages do not come from a mirror of Debian."
    eval "$(apt-config shell http_proxy Acquire::http::Proxy)"
    [ -z "${http_proxy:-}" ] || export http_proxy

    trap clean_up_roots EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 141' PIPE
    trap 'exit 143' TERM
    if [ -n "$keep" ]; then
        mkdir -p "$keep" && folder=$(cd "$keep" && pwd -P) || die "$keep cannot be used."
    else
        folder=$(cd "$(mktemp -d /tmp/hilo-versions.XXXXXX)" && pwd -P) || die "Could not create a folder in /tmp."
    fi
    chmod 755 "$folder"
fi

passed=0
failed=0
summary=

# Name, and the command that checks it.
check_one() {
    name=$1
    shift
    say "=== $name"
    began=$(date +%s)
    "$@"
    leave_root
    summary="$summary
$name: ${reason:-$p passed, $f failed, $(($(date +%s) - began)) s}"
    passed=$((passed + p))
    failed=$((failed + f))
}

for server in $servers; do
    check_one "$("$server" --version) of $server" check_server "$server" "$@"
done
for version in $versions; do
    check_one "PostgreSQL $version" check_version "$version" "$@"
done
say "==="
say "${summary#?}"
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
