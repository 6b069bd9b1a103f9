#!/bin/sh
# deps.sh: install what building hilo needs: make, the compiler of an installed server, and
# the headers of that server's very release.
#
#   sh test/deps.sh [--no-install | --upgrade] [VERSION]
#
# VERSION is that of the server, such as 17; without it, the newest installed one, or the one of
# PG_CONFIG.  Nothing that is installed changes: where apt would have to upgrade something, it says
# so and stops, unless --upgrade allows that.  --no-install only names what is missing.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1
. "$top/test/lib.sh"
case ${1:-} in
    *[!0-9]*) die "usage: sh test/deps.sh [--no-install | --upgrade] [VERSION]" ;;
    ?*) PG_CONFIG=/usr/lib/postgresql/$1/bin/pg_config ;;
esac

# "make" takes the compiler that the server was built with.
need_make() {
    need_build
    compiler=$("$PG_CONFIG" --cc)
    need "${compiler%% *}" "gcc libc6-dev"
}

server=$(find_server)
[ -n "$server" ] || die "There is no server${1:+ of PostgreSQL $1} in /usr/lib/postgresql, where Debian's packages install it.
Install it first, or name the pg_config of another one: PG_CONFIG=... sh test/deps.sh"
PG_CONFIG=${server%/*}/pg_config
require need_make
say "Everything is there to build hilo for $("$PG_CONFIG" --version): make PG_CONFIG=$PG_CONFIG"
