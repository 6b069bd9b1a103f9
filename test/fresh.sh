# fresh.sh: run psql, as pg_regress asks for it, with a new extension, so that no SQL test sees
# what another has left; and with functions that the tests share:
#
#   state_of(statement)     its SQLSTATE, or "fine"
#   told(statement)         all that its error says
#   parallel_call(call)     what an expression gives; marked so that a plan may call it in a worker
"$@" -v ON_ERROR_STOP=1 -c 'DROP EXTENSION IF EXISTS hilo CASCADE' -c 'CREATE EXTENSION hilo' -c '
CREATE OR REPLACE FUNCTION state_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN $f$fine$f$;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE OR REPLACE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $told$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE statement;
	RETURN $f$fine$f$;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(chr(10), SQLERRM, $f$DETAIL:  $f$ || NULLIF(detail, $f$$f$), $f$HINT:  $f$ || NULLIF(hint, $f$$f$));
END $told$;
CREATE OR REPLACE FUNCTION parallel_call(call text) RETURNS text PARALLEL SAFE LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE $f$SELECT $f$ || call INTO result;
	RETURN result;
END $$' </dev/null >/dev/null || exit 1
exec "$@"
