#!/bin/sh
# trace.sh: which functions of hilo a draw enters.
#
#   sh test/bench/trace.sh [--list] [STEP...]
#
# Builds a copy with -O0 -finstrument-functions, runs each step in a new session of
# a private server, and prints how many functions of .c files it enters, in how many
# files; with --list their names, too.  Steps: cold and refill (of a
# collection), nextval (a sequence's, cold), insert (a bound text id).
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
install=no
list=no
if [ "${1:-}" = --list ]; then
    list=yes
    shift
fi
steps=${*:-cold refill nextval insert}
. "$top/test/lib.sh"
find_postgres || die "There is no PostgreSQL with the files to build against it."
make_work_folder
copy_checkout

# Each entry is a line of the file that the setting test.trace names.
cat >"$work/tmp/trace.c" <<'C'
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include "utils/guc.h"

#define NOT_TRACED	__attribute__((no_instrument_function, visibility("hidden")))
void		NOT_TRACED __cyg_profile_func_enter(void *function, void *site);
void		NOT_TRACED __cyg_profile_func_exit(void *function, void *site);

void
__cyg_profile_func_enter(void *function, void *site)
{
	const char *name = GetConfigOption("test.trace", true, false);
	char		line[MAXPGPATH];
	Dl_info		info;
	int			fd;

	if (name == NULL || name[0] == '\0' || dladdr(function, &info) == 0 ||
		(fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600)) < 0)
		return;
	snprintf(line, sizeof(line), "%s 0x%lx\n", info.dli_fname,
			 (unsigned long) ((char *) function - (char *) info.dli_fbase));
	(void) !write(fd, line, strlen(line));
	close(fd);
}

void
__cyg_profile_func_exit(void *function, void *site)
{
}
C
as_user sh -c "(echo '#include \"postgres.h\"'; cat) > src/src/trace.c" <"$work/tmp/trace.c"
COPT='-O0 -g -finstrument-functions -Wno-declaration-after-statement'
export COPT
build
start_server <<'CONF'
autovacuum = off
hilo.debug_range_size = 1
hilo.max_range_size = 1
CONF
run_sql() { as_user "$bindir/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d "${1:-postgres}" >"$work/tmp/psql.log" 2>&1 ||
    { cat "$work/tmp/psql.log"; die "A step failed."; } }

# Trace the statement $3 in a session that has run $2 before.
trace() {
    run_sql <<SQL
LOAD 'hilo';
$2
SET test.trace = '$work/tmp/trace.$1';
$3
RESET test.trace;
SQL
    sort -u "$work/tmp/trace.$1" | while read -r library offset; do
        addr2line -f -e "$library" "$offset" | paste - -
    done | sed -n 's,^\(.*\)	.*/\(src/[a-z_]*\.c\):.*,\2 \1,p' | sort -u |
        while read -r file function; do
            # Not those that headers define.
            grep "^$function(" "$work/src/$file" >/dev/null && echo "$file $function"
        done >"$work/tmp/functions.$1"
    printf '%-14s %3d functions in %2d files\n' "$1" "$(wc -l <"$work/tmp/functions.$1")" \
        "$(cut -d' ' -f1 "$work/tmp/functions.$1" | sort -u | wc -l)"
    [ "$list" = no ] || sed 's/^/    /' "$work/tmp/functions.$1"
}

run_sql <<'SQL'
CREATE EXTENSION hilo;
SELECT hilo_next_number('orders');
CREATE TABLE items (id bigserial PRIMARY KEY);
SELECT hilo.attach('items');
CREATE TABLE docs (id text PRIMARY KEY DEFAULT hilo_next('docs'));
INSERT INTO docs SELECT 'docs/' || g || '-A' FROM generate_series(1, 1000) g;
SELECT hilo.bind('docs', 'docs', 'id');
SQL
for step in $steps; do
    case $step in
        cold) trace cold '' "SELECT hilo_next_number('orders');" ;;
        refill) trace refill "SELECT hilo_next_number('orders'), hilo_next_number('orders'), hilo_next_number('orders'), hilo_next_number('orders'), hilo_next_number('orders'), hilo_next_number('orders');" "SELECT hilo_next_number('orders');" ;;
        nextval) trace nextval '' "SELECT hilo.nextval('items_id_seq');" ;;
        insert) trace insert '' 'INSERT INTO docs DEFAULT VALUES;' ;;
    esac
done
