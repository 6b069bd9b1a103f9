#!/bin/sh
# untouched.sh: the installation, the demo and check.sh leave a running server alone.
#
#   sh test/untouched.sh [--no-install | --upgrade] [SUITE...] [FILE...]
#
# On a fresh Debian with a running cluster, of an older minor release if there is one: postmaster
# and sessions survive what README.md says to install, and both commands, started by root and by a
# user who may use sudo, and no package that is installed changes.  Where the headers of that very
# release are not to be had, they stop and say so.  SUITE is a release of Debian, this machine's
# without one; FILE is a test, as for check.sh.  Requires root.
set -u
top=$(cd "$(dirname "$0")/.." && pwd) || exit 1

failed=0
passed=0
check() {
    if [ "$2" = "$3" ]; then
        echo "ok      $1"
        passed=$((passed + 1))
    else
        printf 'FAILED  %s\nexpected: %s\ngot: %s\n' "$1" "$2" "$3"
        failed=$((failed + 1))
    fi
}

#
# Within the system
#

psql() { (cd / && exec runuser -u postgres -- psql -XAtq "$@"); }
as_ann() { (cd /home/ann/hilo && exec runuser -u ann -- env HOME=/home/ann "$@"); }
packages() { dpkg-query -W -f '${Package} ${Version} ${db:Status-Abbrev}\n'; }

# What must stay as it is.  The session that is open answers, and still has its table.
state() {
    pg_lsclusters -h
    head -n 1 "/var/lib/postgresql/$version/main/postmaster.pid"
    psql -c 'SELECT pg_postmaster_start_time(), version()'
    : >/root/answer
    echo 'SELECT pg_backend_pid(), what FROM kept;' >&3
    for _ in $(seq 100); do
        [ ! -s /root/answer ] || break
        sleep 0.1
    done
    cat /root/answer
}

# Run a command, and check that nothing but new packages has come: what it is, the command.
try() {
    name=$1 state=$(state) installed=$(packages)
    shift
    began=$(date +%s)
    "$@" >/root/log 2>&1
    status=$?
    echo "$name: exit code $status, $(($(date +%s) - began)) s, $(($(packages | wc -l) - $(say "$installed" | wc -l))) packages"
    check "$name: cluster and session are the same" "$state" "$(state)"
    packages >/root/packages
    check "$name: no package has changed" "" "$(say "$installed" | grep -vxF -f /root/packages)"
    check "$name: nothing of it is left in /tmp, and apt's settings are gone" "" \
        "$(ls -d /tmp/hilo* /etc/postgresql-common/createcluster.d/hilo* /usr/sbin/policy-rc.d 2>/dev/null)"
}

# The block of README.md that builds and installs, for the server that runs.
block() {
    awk '/^```/ { if (found) printf "%s", text; text = ""; found = 0; next }
        { text = text $0 "\n" }
        /test\/deps\.sh/ { found = 1 }' README.md | sed "s/17/$version/g"
}

inside() {
    cd /root/hilo || exit 1
    sources=/etc/apt/sources.list
    cp "$sources" /root/all.list
    grep -vE -- '-(updates|security) ' /root/all.list >"$sources"
    { apt-get -q update && apt-get install -q -y --no-install-recommends postgresql sudo; } >/root/log 2>&1 || { cat /root/log; exit 1; }
    useradd -m ann && echo 'ann ALL = (ALL) NOPASSWD: ALL' >/etc/sudoers.d/ann && cp -r . /home/ann/hilo || exit 1
    chown -R ann: /home/ann
    version=$(ls /etc/postgresql)
    there=$(dpkg-query -W -f '${Version}' "postgresql-$version")
    pg_ctlcluster "$version" main status >/dev/null || pg_ctlcluster "$version" main start || exit 1
    mkfifo /root/questions
    runuser -u postgres -- psql -XAtq </root/questions >/root/answer 2>&1 &
    exec 3>/root/questions
    echo "CREATE TEMP TABLE kept AS SELECT 'kept'::text AS what;" >&3

    cp /root/all.list "$sources"
    apt-get -q update >/dev/null
    newest=$(apt-cache policy "postgresql-$version" | sed -n 's/ *Candidate: //p')
    echo "PostgreSQL $there is running, $newest is to be had"
    if [ "$there" != "$newest" ]; then
        grep -E -- '-security ' /root/all.list >"$sources"
        for command in test/deps.sh test/demo.sh test/check.sh; do
            try "$command, no headers of that release" sh "$command"
            check "$command has stopped" 1 "$status"
            check "$command has said so" 1 "$(grep -c '^Nothing was installed' /root/log)"
        done
        cp /root/all.list "$sources"
        apt-get -q update >/dev/null
    fi

    # What the headers alone bring, and what else the tests may.
    LC_ALL=C apt-get install -s --no-install-recommends "postgresql-server-dev-$version=$there" "libpq-dev=$there" >/root/headers
    headers=$(grep -c ^Inst /root/headers)
    before=$(packages | wc -l)

    # Installed by a user, used in the running server, and removed again.
    check "README.md says how to build and to install" "sh make sudo" "$(block | awk '/^[^#]/ { print $1 }' | xargs)"
    try "the installation, by a user" as_ann sh -e -x -c "$(block)"
    check "README.md's block has run" 0 "$status"
    [ "$status" -eq 0 ] || tail -n 30 /root/log
    check "the server has the extension" orders/1-A \
        "$(psql -c "CREATE EXTENSION hilo; SELECT hilo_next('orders'); DROP EXTENSION hilo" 2>&1)"
    make -s -C /home/ann/hilo PG_CONFIG="/usr/lib/postgresql/$version/bin/pg_config" uninstall clean
    apt-get purge -q -y $(say "$(packages)" | grep -vxF "$installed" | cut -d ' ' -f 1) >/root/log 2>&1
    check "what was installed is removed again" "$installed" "$(packages)"

    try "test/demo.sh, by a user" as_ann sh test/demo.sh
    check "the demo has run, by a user" 0 "$status"
    [ "$status" -eq 0 ] || tail -n 30 /root/log
    try test/demo.sh sh test/demo.sh
    check "the demo has run" 0 "$status"
    try test/check.sh sh test/check.sh "$@"
    check "the tests have passed" 0 "$status"
    grep -E '^(ran on|  [a-zA-Z]|[0-9]+ passed)' /root/log
    [ "$status" -eq 0 ] || grep -v '\.\. ok' /root/log
    more=$(($(packages | wc -l) - before - headers))
    check "at most ten packages beyond the server and its headers (they have $headers): $more" yes \
        "$([ "$more" -le 10 ] && echo yes)"
    try "test/check.sh, by a user" as_ann sh test/check.sh test/sql/draw.sql
    check "the tests have passed, by a user" 0 "$status"
    exec 3>&-
    echo "$passed passed, $failed failed"
    [ "$failed" -eq 0 ]
}

say() { printf '%s\n' "$*"; }
if [ "${1:-}" = --inside ]; then
    [ "$top" = /root/hilo ] || exit 1       # on any other system this would do harm
    shift
    inside "$@"
    exit
fi

. "$top/test/lib.sh"
. "$top/test/system.sh"
suites=
while :; do
    case ${1:-} in
        '' | */* | -*) break ;;
        *) suites="$suites $1"; shift ;;
    esac
done
may_make_systems || { say "needs root, and the right to make namespaces"; exit 77; }
require need_systems
folder=$(mktemp -d /tmp/hilo-untouched.XXXXXX) || die "Could not create a folder in /tmp."
trap 'end_namespace; rm -rf --one-file-system "$folder"' EXIT
trap 'exit 1' HUP INT PIPE TERM
for suite in ${suites:-$release}; do
    say "== $suite"
    root=$folder/$suite
    make_system "$root" "$suite" >"$folder/log" 2>&1 || { tail -n 20 "$folder/log"; say "there is no $suite to be had"; exit 77; }
    copy_into_system "$root" || die "The checkout could not be copied."
    in_system "$root" sh /root/hilo/test/untouched.sh --inside "$@" 2>&1 | tee "$folder/log"
    counts=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$folder/log" | tail -n 1)
    set -- ${counts:-0 passed, 1 failed} -- "$@"
    passed=$((passed + $1)) failed=$((failed + $3))
    shift 5
    rm -rf --one-file-system "$root"
done
say "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
