# lib.sh: what the runners of the tests share.  To be sourced by a POSIX shell with
# $top, the folder of the checkout.  It takes the first argument of the script if that is
# --no-install or --upgrade.
#
# Nothing on the system is changed except that packages are installed: the build, the
# servers and their sockets are in a folder of their own, $work, which is removed
# at the end.  A server's settings make it find the extension there.

say() { printf '%s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 1; }

apt_option=
case ${1:-} in
    --no-install | --upgrade)
        apt_option=$1
        shift ;;
esac
PATH=$PATH:/usr/sbin:/sbin

#
# Packages
#
# A script has a function that notes what it needs, and calls "require FUNCTION".
#

# Note packages unless a command is there: command, packages.
need() { command -v "$1" >/dev/null || missing="$missing $2"; }
need_file() { [ -e "$1" ] || missing="$missing $2"; }
need_perl() { perl -e "require $1" 2>/dev/null || missing="$missing $2"; }
need_python() { /usr/bin/python3 -c "import $1" 2>/dev/null || missing="$missing $2"; }

# The newest PostgreSQL that has a server and the files to build against it;
# PG_CONFIG names another one.
find_postgres() {
    if [ -n "${PG_CONFIG:-}" ]; then
        candidates=$(command -v "$PG_CONFIG") || die "PG_CONFIG: there is no $PG_CONFIG"
    else
        candidates="$(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -t/ -k5 -rn) $(command -v pg_config)"
    fi
    for candidate in $candidates; do
        bindir=$("$candidate" --bindir) || continue
        if [ -x "$bindir/postgres" ] && [ -x "$bindir/initdb" ] &&
            [ -f "$("$candidate" --includedir-server)/postgres.h" ] &&
            [ -f "$("$candidate" --pgxs)" ]; then
            pg_config=$candidate
            return 0
        fi
    done
    return 1
}

# clang, whatever its name in the server's packages.
find_clang() {
    for candidate in clang /usr/bin/clang-[0-9]*; do
        command -v "$candidate" && return
    done
    return 1
}

# The compiler that the server was built with, or the clang of its packages.
choose_compiler() {
    CC=$("$pg_config" --cc)
    command -v ${CC%% *} >/dev/null || CC=$(find_clang) || die "There is no compiler."
    export CC
}

# True if this process may create systems in folders, with mounts and processes that
# no other process sees.
may_make_systems() {
    [ "$(id -u)" -eq 0 ] && unshare --mount --pid --fork true 2>/dev/null
}

# The newest server of Debian's packages, or the one of PG_CONFIG.
find_server() {
    if [ -n "${PG_CONFIG:-}" ]; then
        ls "$("$PG_CONFIG" --bindir)/postgres"
    else
        ls /usr/lib/postgresql/*/bin/postgres | sort -t/ -k5 -rn | head -n 1
    fi 2>/dev/null
}

# A server with its headers, make and a compiler, which Debian's headers come with.
#
# A server that is there is the user's: it stays as it is, and only the headers of its very
# release fit.
need_build() {
    need make make
    if find_postgres; then
        command -v gcc >/dev/null || find_clang >/dev/null || missing="$missing gcc libc6-dev"
        return
    fi
    server=$(find_server)
    if [ -n "$server" ]; then
        version=${server#/usr/lib/postgresql/}
        version=${version%%/*}
        release=$(dpkg-query -W -f '${Version}' "postgresql-$version" 2>/dev/null) ||
            die "$server is not of a Debian package: install the headers that it was built with."
        missing="$missing postgresql-server-dev-$version=$release"
    else
        version=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | head -n 1)
        missing="$missing postgresql-${version:-VERSION} postgresql-server-dev-${version:-VERSION}"
    fi
}

need_tests() {
    need_build
    need_perl IPC::Run libipc-run-perl
}

# Note packages that are not installed, if apt has them: a release of Debian may lack some.
wish() {
    missing="$missing$(LC_ALL=C apt-cache policy "$@" 2>/dev/null | awk '
        /^[^ ]/ { sub(/:$/, ""); name = $1 }
        /^  Installed:/ { absent = $2 == "(none)" }
        /^  Candidate:/ && absent && $2 != "(none)" { printf " %s", name }')"
}

# Print a command, and run it as root.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        say "+ $*"
        "$@"
    else
        say "+ sudo $*"
        sudo "$@"
    fi
}

# Run apt-get as root.  While another process holds its locks, such as that of a
# machine that updates itself, wait for five minutes at most.
run_apt() {
    apt_messages=$(mktemp) || die "Could not create a file in /tmp."
    for _ in $(seq 60); do
        as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get "$@" 2>"$apt_messages"
        apt_status=$?
        cat "$apt_messages" >&2
        [ "$apt_status" -ne 0 ] && grep 'Could not get lock' "$apt_messages" >/dev/null || break
        say "apt is locked by another process: trying again"
        sleep 5
    done
    rm -f "$apt_messages"
    return "$apt_status"
}

# Choose versions of $missing, for $packages, so that apt changes nothing that is installed.
# libpq-dev, say, fits only the libpq5 of its own version: where apt would upgrade that,
# the version that is there is asked for.  Fails if there is no way, and says why in $changes.
plan_packages() {
    packages=$missing
    for _ in 1 2 3 4; do
        plan=$(LC_ALL=C apt-get install -s -q --no-install-recommends --no-upgrade $packages 2>&1) || {
            changes=$(say "$plan" | sed -n '/^E: /p; /^The following packages have unmet/,/^E: /p')
            return 1
        }
        changes=$(say "$plan" | awk '$1 == "Remv" || $1 == "Inst" && $3 ~ /^\[/ { print $2, $3, $4 }')
        [ -n "$changes" ] && [ "$apt_option" != --upgrade ] || return 0
        packages="$packages $(say "$plan" | awk '
            $1 == "Inst" && $3 ~ /^\[/ { there[substr($4, 2)] = substr($3, 2, length($3) - 2) }
            $1 == "Inst" && $3 ~ /^\(/ { new[$2] = substr($3, 2) }
            END { for (name in new) if (new[name] in there) print name "=" there[new[name]] }' | tr '\n' ' ')"
    done
    return 1
}

# Install what FUNCTION notes as missing, or say so and stop.  What else is needed may depend on
# what was installed, such as the version of the server.
require() {
    for round in 1 2 3; do
        missing=
        "$1"
        [ -n "$missing" ] || return 0
        if [ "$round" -eq 1 ]; then
            check_may_install
            say "Missing packages:$missing"
            run_apt update -q
            missing=
            "$1"
        fi
        install_missing
    done
    missing=
    "$1"
    [ -z "$missing" ] || die "Still missing:$missing"
}

check_may_install() {
    command -v apt-get >/dev/null ||
        die "Missing (names of Debian packages):$missing
Install them with this system's package manager, and start again."
    [ "$apt_option" != --no-install ] ||
        die "Missing packages; to install them: apt-get install --no-install-recommends$missing"
    [ "$(id -u)" -eq 0 ] || command -v sudo >/dev/null ||
        die "Missing packages (to install them, start this as root):$missing"
}

install_missing() {
    plan_packages || die "Nothing was installed, because what is installed would have to change:
$changes
Upgrade it when it suits you, or have it done here, with --upgrade as the first argument of $0."

    # A fresh server package would start a cluster, and others their service.  A policy that is
    # there, as in containers, stays.
    settings=/etc/postgresql-common/createcluster.d/hilo-no-main-cluster.conf
    policy=/usr/sbin/policy-rc.d
    prepare="mkdir -p ${settings%/*} && echo 'create_main_cluster = false' >$settings"
    if [ -e "$policy" ]; then
        policy=
    else
        prepare="$prepare && printf '#!/bin/sh\nexit 101\n' >$policy && chmod 755 $policy"
    fi
    say "Keep the packages from creating a cluster and starting services:"
    as_root sh -c "$prepare" || die "Nothing was installed."
    # At a terminal, apt asks.
    yes=
    [ -t 0 ] && [ "${CI:-}" != true ] || yes=-y
    (
        trap 'as_root rm -f "$settings" $policy' EXIT
        trap 'exit 1' HUP INT TERM
        run_apt install $yes --no-install-recommends --no-upgrade $packages
    ) || die "The packages were not installed."
}

#
# The folder for everything, and the user that owns it
#

# postgres refuses to run as root.
choose_user() {
    run_as=
    if [ "$(id -u)" -eq 0 ]; then
        for run_as in postgres nobody; do
            id "$run_as" >/dev/null 2>&1 && return 0
        done
        die "There is no ordinary user to run a server as."
    fi
}

# Run a command as the user that owns the servers, in $work.
as_user() {
    if [ -n "$run_as" ]; then
        (cd "$work" && exec runuser -u "$run_as" -- env HOME="$work" TMPDIR="$work/tmp" "$@")
    else
        (cd "$work" && exec env HOME="$work" TMPDIR="$work/tmp" "$@")
    fi
}

# End all processes that this one has started, directly or not.  unshare does not end when it is
# told to; what it runs ends with it.
end_children() {
    awk -v top=$$ '
        /^Name:/ { name = $2 }
        /^Pid:/ { pid = $2; signal[pid] = name == "unshare" ? "KILL" : "TERM" }
        /^PPid:/ { parent[pid] = $2 }
        END {
            for (pid in parent) {
                for (p = parent[pid]; p > 1 && p != top; p = parent[p]);
                if (p == top) print signal[pid], pid
            }
        }' /proc/[0-9]*/status 2>/dev/null |
        while read -r signal pid; do kill "-$signal" "$pid" 2>/dev/null; done
}

# End what was started, here or below $work, and remove it; the copy of the checkout, with
# what the tests made of it, goes to $HILO_KEEP_COPY if that is set.
clean_up() {
    status=$?
    trap - EXIT
    trap '' HUP INT PIPE TERM
    end_children
    if [ -n "${work:-}" ] && [ -d "$work" ]; then
        find "$work" '(' -name postmaster.pid -o -name pgbouncer.pid ')' 2>/dev/null | while read -r file; do
            pid=$(head -n 1 "$file")
            case $(readlink "/proc/$pid/cwd") in
                "$work"/*)
                    # pgbouncer may have inherited that QUIT is ignored
                    case $file in
                        */pgbouncer.pid) kill -KILL "$pid" 2>/dev/null ;;
                        *) kill -QUIT "$pid" 2>/dev/null ;;
                    esac ;;
            esac
        done
        [ -z "${HILO_KEEP_COPY:-}" ] || cp -a "$work/src" "$HILO_KEEP_COPY"
        for _ in 1 2 3 4 5 6 7 8 9 10; do
            rm -rf "$work" 2>/dev/null && break
            sleep 0.2
        done
    fi
    exit "$status"
}

make_work_folder() {
    choose_user
    choose_compiler
    umask 022
    work=$(mktemp -d /tmp/hilo.XXXXXX) || die "Could not create a folder in /tmp."
    trap clean_up EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 141' PIPE
    trap 'exit 143' TERM
    chmod 755 "$work"
    mkdir "$work/src" "$work/dest" "$work/tmp"
    [ -z "$run_as" ] || chown -R "$run_as" "$work"
}

#
# Build and run
#

# True if settings can make the server look for extensions elsewhere.  Servers that are
# built from source can do so from version 18 on, Debian's also before that.
server_has_setting() {
    as_user "$bindir/postgres" --describe-config | grep "^$1	" >/dev/null
}

# Run make in the copy of the checkout.
make_copy() { as_user make -s -C "$work/src" PG_CONFIG="$pg_config" CC="$CC" with_llvm=no "$@"; }

# Write the checkout, without what was built in it, to standard output.
pack_checkout() { tar -cf - -C "$top" --exclude=./.git --exclude='*.o' --exclude='*.bc' --exclude='*.so' .; }

copy_checkout() {
    pack_checkout | as_user tar -xf - -C "$work/src" &&
        as_user chmod -R u+w "$work/src" || die "Could not copy the checkout."
}

# Build and install the copy, and write the settings by which a server finds it,
# and those in EXTRA_SETTINGS, to $work/hilo.conf.
build() {
    make_copy -j "$(nproc 2>/dev/null || echo 1)" || die "The build failed."
    libdir=$("$pg_config" --pkglibdir)
    sharedir=$("$pg_config" --sharedir)
    destdir=$work/dest
    if server_has_setting extension_destdir; then
        setting="extension_destdir = '$destdir'"
    elif server_has_setting extension_control_path; then
        setting="extension_control_path = '$destdir$sharedir:\$system'"
    else
        [ -w "$libdir" ] || die "This server finds extensions only in $libdir, which is not writable."
        destdir=
        setting=
    fi
    {
        say "$setting"
        [ -z "$destdir" ] || say "dynamic_library_path = '$destdir$libdir:\$libdir'"
        say "${EXTRA_SETTINGS:-}"
    } | as_user sh -c 'cat > hilo.conf'
    make_copy install DESTDIR="$destdir" ||
        die "Could not install the extension."
}

# Create and start a private server in $work/server, with its socket there.
# Standard input contains settings.
start_server() {
    as_user mkdir "$work/server"
    as_user "$bindir/initdb" -D "$work/server/data" -U postgres -A trust \
        -E UTF8 --locale=C -N >"$work/tmp/initdb.log" 2>&1 ||
        { cat "$work/tmp/initdb.log"; die "initdb failed."; }
    {
        cat "$work/hilo.conf"
        say "listen_addresses = ''"
        say "unix_socket_directories = '$work/server'"
        cat
    } | as_user sh -c 'cat >> server/data/postgresql.conf'
    PGHOST=$work/server PGPORT=5432 PGUSER=postgres PGDATABASE=postgres
    export PGHOST PGPORT PGUSER PGDATABASE
    run_server
}

run_server() {
    as_user "$bindir/pg_ctl" -D "$work/server/data" -l "$work/server/log" -w -t 600 -s start ||
        { tail -n 20 "$work/server/log"; die "The server did not start."; }
}
