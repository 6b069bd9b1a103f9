# package-inside.sh: the part of package.sh that runs on the fresh system, as root, with
# the package beside this file.
#
# The package is installed, used, removed, installed again, and dropped.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1
[ "$here" = /package ] || exit 1    # on any other system this would do harm
deb=$(ls "$here"/postgresql-*-hilo_*.deb) || exit 1
package=$(dpkg-deb -f "$deb" Package)
version=$(echo "$package" | sed 's/[^0-9]//g')
bindir=/usr/lib/postgresql/$version/bin
server=/var/tmp/server
export DEBIAN_FRONTEND=noninteractive PGHOST=$server PGDATABASE=postgres

die() { echo "$*" >&2; exit 1; }

failed=0

# Compare the expected result with the actual one: name, expected, actual.
check() {
    if [ "$2" = "$3" ]; then
        echo "ok      $1"
    else
        printf 'FAILED  %s\nexpected: %s\ngot: %s\n' "$1" "$2" "$3"
        failed=1
    fi
}

# Check that the third argument matches the second one, a shell pattern.
check_like() {
    case $3 in
        $2) check "$1" "$3" "$3" ;;
        *) check "$1" "$2" "$3" ;;
    esac
}

as_postgres() { (cd / && exec runuser -u postgres -- "$@"); }
value() { as_postgres psql -XAtq -v ON_ERROR_STOP=1 -v VERBOSITY=verbose -c "$1" 2>&1; }
start() { as_postgres "$bindir/pg_ctl" -D "$server/data" -l "$server/log" -w -s start || die "The server did not start."; }
restart() { as_postgres "$bindir/pg_ctl" -D "$server/data" -l "$server/log" -w -s -m fast restart || die "The server did not restart."; }

# Processes that are in the server's folder.
server_runs() {
    for cwd in /proc/[0-9]*/cwd; do
        [ "$(readlink "$cwd")" != "$server/data" ] || return 0
    done
    return 1
}

# Draw 40 numbers, and kill the server and the session in which they are shown.
draw_and_kill() {
    as_postgres psql -XAtq 2>/dev/null <<SQL
SELECT max(hilo_next_number('orders')) FROM generate_series(1, 40);
SELECT pg_backend_pid() AS backend \gset
\setenv backend :backend
\! kill -9 \$backend \$(head -n 1 $server/data/postmaster.pid)
SQL
}

install_package() { apt-get install -q -y --no-install-recommends "$deb" || die "Could not install the package."; }

echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/unsafe-io
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
mkdir -p /etc/postgresql-common/createcluster.d
echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.d/no-main-cluster.conf

#
# Install and use it
#
apt-get update -q || die "apt-get update failed."
install_package
check "installed with the server, nothing to build with" \
    "hilo.so" "$(cd "/usr/lib/postgresql/$version/lib" && ls hilo.so; command -v gcc make)"
check "it starts no cluster" "" "$(ls "/etc/postgresql/$version" 2>/dev/null)"

install -d -o postgres "$server"
as_postgres "$bindir/initdb" -D "$server/data" -A trust -E UTF8 --locale=C -N >/dev/null || die "initdb failed."
echo "listen_addresses = ''
unix_socket_directories = '$server'" >>"$server/data/postgresql.conf"
start

check "CREATE EXTENSION" "" "$(value 'CREATE EXTENSION hilo')"
check "a table that draws" "orders/1-A" "$(value "
    CREATE TABLE orders (id text COLLATE \"C\" PRIMARY KEY DEFAULT hilo_next('orders'), item text);
    INSERT INTO orders (item) VALUES ('tea') RETURNING id")"

#
# Kill it
#
shown=$(draw_and_kill)
check "drawn before the server is killed" 41 "$shown"
while server_runs; do sleep 0.1; done
start
check "after kill -9 the next number is above" t "$(value "SELECT hilo_next_number('orders') > $shown")"
check "its row is there" "orders/1-A|tea" "$(value 'SELECT * FROM orders')"

#
# Remove the package
#
before=$(value "SELECT max FROM hilo.hilo WHERE collection = 'orders'")
dpkg -r "$package" || die "Could not remove the package."
check "nothing of it is left" "" "$(find / -xdev -name '*hilo*' ! -path '/package/*' ! -path '/var/lib/dpkg/*')"
restart
missing='*ERROR:  58P01: could not access file "hilo": No such file or directory*'
check "removed: the counters can be read" "$before" "$(value "SELECT max FROM hilo.hilo WHERE collection = 'orders'")"
check "removed: so can a table that draws" "orders/1-A|tea" "$(value 'SELECT * FROM orders')"
check "removed: it takes rows that have an id" "orders/mine" \
    "$(value "INSERT INTO orders VALUES ('orders/mine', 'milk') RETURNING id")"
check "removed: and changes of them" "cream" \
    "$(value "UPDATE orders SET item = 'cream' WHERE id = 'orders/mine' RETURNING item")"
check_like "removed: a DEFAULT that draws is an error" "$missing" "$(value "INSERT INTO orders (item) VALUES ('honey')")"
check_like "removed: the counters are guarded still" "$missing" "$(value 'DELETE FROM hilo.hilo')"
check_like "removed: pg_dump works" "*COPY hilo.hilo *orders/mine?cream*" "$(as_postgres pg_dump 2>&1)"

#
# Install it again
#
install_package
check "installed again: draws go on above" "t" "$(value "SELECT hilo_next_number('orders') > $before")"
check "installed again: the DEFAULT draws" "t" \
    "$(value "INSERT INTO orders (item) VALUES ('honey') RETURNING hilo_number(id) > $before")"
check "installed again: no row was lost" 3 "$(value 'SELECT count(*) FROM orders')"

#
# Drop the extension, and the package after it
#
check_like "DROP EXTENSION refuses while a DEFAULT draws" "*ERROR:  2BP01: cannot drop extension hilo *" "$(value 'DROP EXTENSION hilo')"
check_like "DROP EXTENSION CASCADE" "*drop cascades to default value for column id of table orders*" "$(value 'DROP EXTENSION hilo CASCADE')"
dpkg -P "$package" || die "Could not purge the package."
restart
check "dropped: the rows are there, and the table takes more" 4 \
    "$(value "INSERT INTO orders VALUES ('orders/last', 'salt'); SELECT count(*) FROM orders")"
check_like "dropped: a row without an id is an error" "*ERROR:  23502: null value in column \"id\"*" \
    "$(value "INSERT INTO orders (item) VALUES ('sugar')")"

as_postgres "$bindir/pg_ctl" -D "$server/data" -w -s -m fast stop || die "The server did not stop."
exit "$failed"
