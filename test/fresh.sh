# fresh.sh: run psql, as pg_regress asks for it, with a new extension, so that no SQL test sees
# what another has left.
"$@" -v ON_ERROR_STOP=1 -c 'DROP EXTENSION IF EXISTS hilo CASCADE' -c 'CREATE EXTENSION hilo' </dev/null >/dev/null || exit 1
exec "$@"
