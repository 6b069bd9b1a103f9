# fresh.sh: run psql, as pg_regress asks for it, with a new extension and an empty schema public as
# the only one, so that no SQL test sees what another has left, nor has to remove it, but for roles; and
# with functions that the tests share:
#
#   state_of(statement)     its SQLSTATE, or "fine"
#   told(statement)         all that its error says
#   result_of(statement)    what it gives, or its SQLSTATE and all that its error says
#   as_role(role, statement)  the same, run by that role
#   in_worker(call)         what an expression gives in a parallel worker, or its SQLSTATE: the function
#                           that calls it is marked so that a plan may do so
"$@" -v ON_ERROR_STOP=1 -c 'SET client_min_messages = warning' -c 'DROP EXTENSION IF EXISTS hilo CASCADE' -c '
DO $$
DECLARE
	name text;
BEGIN
	-- In no database but that of pg_regress.
	FOR name IN SELECT nspname FROM pg_namespace WHERE nspname !~ $f$^(pg_|information_schema$)$f$ AND current_database() ~ $f$regress$f$ LOOP
		EXECUTE format($f$DROP SCHEMA %I CASCADE$f$, name);
	END LOOP;
END $$' -c 'CREATE SCHEMA public AUTHORIZATION pg_database_owner' -c 'GRANT USAGE ON SCHEMA public TO PUBLIC' -c 'CREATE EXTENSION hilo' -c '
CREATE FUNCTION state_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN $f$fine$f$;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
CREATE FUNCTION told(statement text) RETURNS text LANGUAGE plpgsql AS $told$
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
CREATE FUNCTION result_of(statement text) RETURNS text LANGUAGE plpgsql AS $result$
DECLARE
	result text;
	detail text;
	hint text;
BEGIN
	EXECUTE statement INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	RETURN concat_ws(chr(10), SQLSTATE || $f$: $f$ || SQLERRM, $f$DETAIL:  $f$ || NULLIF(detail, $f$$f$), $f$HINT:  $f$ || NULLIF(hint, $f$$f$));
END $result$;
CREATE FUNCTION parallel_call(call text) RETURNS text PARALLEL SAFE LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE $f$SELECT $f$ || call INTO result;
	RETURN result;
END $$;
CREATE FUNCTION in_worker(call text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	name text := (SELECT s.name FROM pg_settings s WHERE s.name IN ($f$force_parallel_mode$f$, $f$debug_parallel_query$f$));
	result text;
BEGIN
	PERFORM set_config(name, $f$on$f$, true);
	BEGIN
		EXECUTE format($f$SELECT parallel_call(%L)$f$, call) INTO result;
	EXCEPTION WHEN OTHERS THEN
		result := SQLSTATE;
	END;
	PERFORM set_config(name, $f$off$f$, true);
	RETURN result;
END $$;
CREATE FUNCTION as_role(role name, statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config($f$role$f$, role, true);
	result := public.result_of(statement);
	PERFORM set_config($f$role$f$, $f$none$f$, true);
	RETURN result;
END $$' </dev/null >/dev/null || exit 1
exec "$@"
