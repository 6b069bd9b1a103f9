# lib.sh: what demo.sh and check.sh share.  To be sourced by a POSIX shell,
# with $top the folder of the checkout and $install "yes" or "no".
#
# Nothing on the system is changed except that packages are installed: the build, the
# servers and their sockets are in a folder of their own, $work, which is removed
# at the end.  A server's settings make it find the extension there.

say() { printf '%s\n' "$*"; }
die() { printf '%s\n' "$*" >&2; exit 1; }

#
# Packages
#

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

# pgbouncer, which an ordinary user's PATH may not have.
find_pgbouncer() { command -v pgbouncer || command -v /usr/sbin/pgbouncer; }

has_perl_module() { perl -e "require $1" 2>/dev/null; }

# True if this process may create systems in folders, with mounts and processes that
# no other process sees.
may_make_systems() {
    [ "$(id -u)" -eq 0 ] && unshare --mount --pid --fork true 2>/dev/null
}

# Not all releases of Debian have these, and they cannot always be installed: tests
# that need them are skipped without them.
wished_packages="python3-alembic ruby-activerecord ruby-pg ruby-sequel
    php-cli php-pgsql php-illuminate-database php-doctrine-orm
    libdbd-pg-perl libdbix-class-schema-loader-perl
    default-jdk-headless libpostgresql-jdbc-java libhibernate3-java libjavassist-java libslf4j-java"

# The ones that apt would install.
missing_wishes() {
    wishes=
    case $install,$1 in yes,check | yes,all) ;; *) return ;; esac
    for package in $wished_packages; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
            ! apt-get install -s -q --no-install-recommends "$package" >/dev/null 2>&1 ||
            wishes="$wishes $package"
    done
}

# The missing Debian packages; $1 is "check" if tests are to be run,
# "package" if the Debian package is to be built, "all" for both, "versions" if
# tests are run elsewhere, "server" if a server is to be built, and "valgrind" or
# "analyse" for what these parts of sanitize.sh need beyond that.
missing_packages() {
    missing=
    if [ "$1" = versions ]; then
        command -v debootstrap >/dev/null || missing=debootstrap
        return
    fi
    command -v make >/dev/null || missing="$missing make"
    command -v gcc >/dev/null || missing="$missing gcc libc6-dev"
    if find_postgres; then
        version=$(say "$bindir" | sed -n 's,^/usr/lib/postgresql/\([0-9]*\)/bin$,\1,p')
    else
        version=$(apt-cache depends postgresql 2>/dev/null | sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | head -n 1)
        missing="$missing postgresql-${version:-VERSION} postgresql-server-dev-${version:-VERSION}"
    fi
    case $1 in check | all)
        has_perl_module IPC::Run || missing="$missing libipc-run-perl"
        command -v strace >/dev/null || missing="$missing strace"
        find_clang >/dev/null || missing="$missing clang"
        command -v gnuplot >/dev/null || missing="$missing gnuplot-nox"
        # If Debian has them for this server.
        for package in "postgresql-$version-repack" "postgresql-$version-squeeze"; do
            dpkg -s "$package" >/dev/null 2>&1 || ! apt-cache show "$package" >/dev/null 2>&1 ||
                missing="$missing $package"
        done
        find_pgbouncer >/dev/null || missing="$missing pgbouncer"
        command -v node >/dev/null || missing="$missing nodejs"
        command -v npm >/dev/null || missing="$missing npm"
        for module in django sqlalchemy psycopg2; do
            /usr/bin/python3 -c "import $module" 2>/dev/null || missing="$missing python3-$module"
        done
        command -v unzip >/dev/null || missing="$missing unzip"
        [ ! -e "$top/.git" ] || command -v git >/dev/null || missing="$missing git"
    esac
    case $1 in package | all)
        command -v yamllint >/dev/null || missing="$missing yamllint"
        for package in build-essential debhelper debootstrap postgresql-all; do
            dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$' ||
                missing="$missing $package"
        done
    esac
    case $1 in server)
        command -v bison >/dev/null || missing="$missing bison"
        command -v flex >/dev/null || missing="$missing flex"
        command -v dpkg-source >/dev/null || missing="$missing dpkg-dev"
        [ -f /usr/include/zlib.h ] || missing="$missing zlib1g-dev"
    esac
    case $1 in valgrind)
        [ -f /usr/include/valgrind/memcheck.h ] || missing="$missing valgrind"
    esac
    case $1 in analyse)
        find_clang >/dev/null || missing="$missing clang"
        command -v scan-build >/dev/null || missing="$missing clang-tools"
        command -v clang-tidy >/dev/null || missing="$missing clang-tidy"
    esac
    missing=${missing# }
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
    apt_tries=60
    while :; do
        as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get "$@" 2>"$apt_messages"
        apt_status=$?
        cat "$apt_messages" >&2
        [ "$apt_status" -ne 0 ] && grep 'Could not get lock' "$apt_messages" >/dev/null || break
        [ "$apt_tries" -gt 0 ] || { say "apt is still locked: giving up"; break; }
        say "apt is locked by another process: trying again for $((apt_tries * 5)) s"
        apt_tries=$((apt_tries - 1))
        sleep 5
    done
    rm -f "$apt_messages"
    return "$apt_status"
}

# Install what is missing, or say so and stop.
require_packages() {
    missing_packages "$1"
    missing_wishes "$1"
    [ -n "$missing$wishes" ] || return 0
    # Optional packages are not worth a password, or a failure.
    [ -n "$missing" ] || [ "$(id -u)" -eq 0 ] || return 0

    if ! command -v apt-get >/dev/null; then
        say "Missing (names of Debian packages): $missing"
        die "Install them with this system's package manager, and start again."
    fi
    if [ "$install" = no ]; then
        say "Missing packages: $missing"
        die "Install them with: apt-get install --no-install-recommends $missing"
    fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        die "Missing packages: $missing (to install them, start this as root)"
    fi

    run_apt update -q
    missing_packages "$1"
    missing_wishes "$1"
    # A fresh server package would start a cluster on port 5432.
    no_cluster=/etc/postgresql-common/createcluster.d/hilo-no-main-cluster.conf
    say "Keep the packages from creating a cluster and starting a service:"
    as_root mkdir -p "${no_cluster%/*}"
    as_root sh -c "echo 'create_main_cluster = false' > $no_cluster"
    # A fresh pgbouncer would start its service.
    no_service=/usr/sbin/policy-rc.d
    if [ -e "$no_service" ]; then
        no_service=
    else
        as_root sh -c "echo '#!/bin/sh
case \$1 in pgbouncer*) exit 101 ;; esac' > $no_service && chmod 755 $no_service"
    fi
    [ -z "$missing" ] || run_apt install -q -y --no-install-recommends $missing
    status=$?
    [ -z "$wishes" ] || run_apt install -q -y --no-install-recommends $wishes
    as_root rm -f "$no_cluster" $no_service
    [ "$status" -eq 0 ] || die "Could not install the packages."

    missing_packages "$1"
    [ -z "$missing" ] || die "Still missing: $missing"
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

# End what was started below $work, and remove it; the copy of the checkout, with
# what the tests made of it, goes to $HILO_KEEP_COPY if that is set.
clean_up() {
    status=$?
    trap - EXIT
    trap '' HUP INT PIPE TERM
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
make_copy() { as_user make -s -C "$work/src" PG_CONFIG="$pg_config" with_llvm=no "$@"; }

copy_checkout() {
    (cd "$top" && tar -cf - --exclude='*.o' --exclude='*.bc' --exclude='*.so' \
        Makefile Dockerfile hilo.control README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE doc sql src expected test) |
        as_user tar -xf - -C "$work/src" &&
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
    as_user "$bindir/pg_ctl" -D "$work/server/data" -l "$work/server/log" -w -s start ||
        { tail -n 20 "$work/server/log"; die "The server did not start."; }
}
