# system.sh: a Debian in a folder.  To be sourced after lib.sh; needs root, and
# debootstrap.
#
# Whatever is mounted and runs in it is in a namespace of its own, and ends with the command.

need_systems() { need debootstrap debootstrap; }

release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
namespace=

# Run a command in namespaces of its own, which end when it or this script ends, so that no
# mount can block clean_up.
in_namespace() {
    unshare --mount --pid --fork --kill-child "$@" </dev/null &
    namespace=$!
    wait "$namespace"
    namespace_status=$?
    namespace=
    return "$namespace_status"
}

end_namespace() {
    status=$?
    [ -z "$namespace" ] || { kill "$namespace" && wait "$namespace"; } 2>/dev/null
    return "$status"
}

# Run a command in a system: its folder, the command.
in_system() {
    in_namespace sh -c 'root=$1 && shift &&
        mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm" &&
        exec chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive "$@"' sh "$@"
}

# Where this machine's packages come from, for a suite: lines of a sources.list.
package_sources() {
    apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        awk -v release="$release" -v suite="$1" '{
            for (i = 2; i <= 3; i++)
                if ($i == release || suite != "sid" && ($i == release "-updates" || $i == release "-security")) {
                    sub(release, suite, $i)
                    print "deb", $1, $i, $4
                    next
                }
        }' | sort -u
}

# Make a system, smallest that it can be, with an up-to-date index: folder, suite, and the
# architecture if it is another one.
make_system() {
    sources=$(package_sources "$2")
    mirror=$(say "$sources" | awk -v suite="$2" '$3 == suite && $4 == "main" { print $2; exit }')
    [ -n "$mirror" ] || { say "No package source of apt's has $release main."; return 1; }
    eval "$(apt-config shell http_proxy Acquire::http::Proxy https_proxy Acquire::https::Proxy)"
    [ -z "${http_proxy:-}" ] || export http_proxy
    [ -z "${https_proxy:-}" ] || export https_proxy
    in_namespace debootstrap --variant=minbase ${3:+--arch="$3"} "$2" "$1" "$mirror" || return 1
    say "$sources" >"$1/etc/apt/sources.list"
    apt-config dump Acquire >"$1/etc/apt/apt.conf.d/90acquire"
    echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/unsafe-io"
    in_system "$1" apt-get -q update && return
    say "Once more, without updates:"
    say "$sources" | grep " $2 " >"$1/etc/apt/sources.list"
    in_system "$1" apt-get -q update
}

# Put the checkout into a system, as /root/hilo.
copy_into_system() {
    rm -rf "$1/root/hilo" && mkdir "$1/root/hilo" && pack_checkout | tar -xf - -C "$1/root/hilo" --no-same-owner
}
