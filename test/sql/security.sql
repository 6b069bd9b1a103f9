-- The extension's own tables and functions are used, whatever schemas and temporary objects come before them in the caller's search_path.

SELECT hilo_next_number('safe'), hilo.release();
CREATE ROLE regress_hilo_trojan;
CREATE SCHEMA regress_trojan AUTHORIZATION regress_hilo_trojan;
SET SESSION AUTHORIZATION regress_hilo_trojan;
CREATE TABLE regress_trojan.hilo (max bigint, collection text);
INSERT INTO regress_trojan.hilo VALUES (5000, 'safe'), (6000, 'safe_too');
CREATE FUNCTION regress_trojan.fake(anyelement, anyelement) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'fooled'; END $$;
CREATE FUNCTION regress_trojan.fake(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'fooled'; END $$;
CREATE FUNCTION regress_trojan.fake(bigint, bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'fooled'; END $$;
CREATE OPERATOR regress_trojan.= (FUNCTION = regress_trojan.fake, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR regress_trojan.= (FUNCTION = regress_trojan.fake, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR regress_trojan.<= (FUNCTION = regress_trojan.fake, LEFTARG = bigint, RIGHTARG = bigint);
CREATE OPERATOR regress_trojan.~~ (FUNCTION = regress_trojan.fake, LEFTARG = text, RIGHTARG = text);
CREATE OPERATOR regress_trojan.> (FUNCTION = regress_trojan.fake, LEFTARG = bigint, RIGHTARG = bigint);
CREATE FUNCTION regress_trojan.ranges(OUT collection text, OUT low bigint, OUT high bigint, OUT next bigint, OUT size bigint)
	RETURNS SETOF record LANGUAGE plpgsql AS $$ BEGIN RAISE 'fooled'; END $$;
CREATE FUNCTION regress_trojan.hilo_seed(collection text, value bigint, force boolean DEFAULT false) RETURNS bigint
	LANGUAGE plpgsql AS $$ BEGIN RAISE 'fooled'; END $$;
GRANT USAGE ON SCHEMA regress_trojan TO PUBLIC;
GRANT SELECT ON regress_trojan.hilo TO PUBLIC;

-- A fresh connection, the trojan schema first, even before the system's.
\c -
SET search_path = regress_trojan, pg_catalog, public;
SELECT public.hilo_next('safe'), public.hilo_next_number('safe_too'), public.hilo_last_number('safe');
SELECT collection, low, high FROM hilo.ranges ORDER BY collection COLLATE "C";
SELECT low, high FROM public.hilo_reserve('safe', 3);
SELECT low, high, claim FROM hilo.next_range('safe_too', last_max => 70) \gset
SELECT :low, :high, hilo.return_range('safe_too', 80, :high, :claim), hilo.release();
SELECT hilo.seed('safe', 200), hilo.drop('safe_too'), hilo.next_hi('safe', 10);
INSERT INTO hilo.hilo (collection, max) VALUES ('safe', 300);
SELECT public.hilo_number('safe/10-A'), public.hilo_format('safe', 10);
SELECT hilo.sync('unsafe|');
-- The right to seed is that on the extension's own function.
SET SESSION AUTHORIZATION regress_hilo_trojan;
SELECT low FROM hilo.next_range('safe', last_max => 10000);
RESET SESSION AUTHORIZATION;
SELECT collection, max FROM regress_trojan.hilo ORDER BY max USING OPERATOR(pg_catalog.<);
RESET search_path;
SELECT collection, max FROM hilo.hilo WHERE collection LIKE 'safe%' ORDER BY 1;

-- A temporary table is found before all others, except by the extension.
\c -
SET SESSION AUTHORIZATION regress_hilo_trojan;
CREATE TEMPORARY TABLE hilo (max bigint, collection text);
CREATE TEMPORARY TABLE binding (collection text, owner text);
INSERT INTO hilo VALUES (5000, 'safe');
SELECT hilo_next_number('safe');
SELECT max FROM hilo;
-- Nor can other objects be created in the schema of its tables.
CREATE TABLE hilo.mine (a int);
CREATE FUNCTION hilo.hilo_seed(text, bigint, boolean) RETURNS bigint LANGUAGE sql AS 'SELECT 1';
-- As long as the extension exists, only the owner of its objects can replace them.
ALTER FUNCTION public.hilo_next(text) RENAME TO hilo_other;
DROP TABLE hilo.hilo;
DROP SCHEMA hilo;
RESET SESSION AUTHORIZATION;
DROP TABLE hilo.hilo;
DROP SCHEMA hilo;
DROP FUNCTION hilo_next(text);
DROP TABLE pg_temp.hilo, pg_temp.binding;
-- A stranger's table whose default names a collection without bindings: its indexes run no code, its type is no limit, and its rows do not take the counter along.
\c -
CREATE TABLE public.loot (who name);
GRANT ALL ON public.loot TO PUBLIC;
SET SESSION AUTHORIZATION regress_hilo_trojan;
CREATE FUNCTION regress_trojan.note() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.loot VALUES (current_user); RETURN 1; END $$;
CREATE FUNCTION regress_trojan.evil() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN regress_trojan.note(); END $$;
CREATE TABLE regress_trojan.trap (id smallint DEFAULT hilo_next_number('victims'), x bigint DEFAULT hilo_next_number('victims'));
CREATE INDEX ON regress_trojan.trap (x) WHERE x > regress_trojan.evil();
CREATE INDEX ON regress_trojan.trap ((x + regress_trojan.evil()));
CREATE INDEX ON regress_trojan.trap (x);
RESET SESSION AUTHORIZATION;
TRUNCATE public.loot;
\c -
SELECT hilo_next_number('victims'), hilo.sync('victims');
SELECT * FROM public.loot;
SELECT hilo.seed('victims', 32767);
SELECT hilo_next_number('victims') > 32767 AS goes_on;
SELECT max + 1 AS next FROM hilo.status WHERE collection = 'victims' \gset
INSERT INTO regress_trojan.trap SELECT NULL, :next + g * 1048576::bigint FROM generate_series(0, 60) g;
SELECT hilo_next_number('victims') <= :next + 64 * 1048576::bigint AS near;
-- A stranger's number that is too far for hilo.sync(), and a default that would take long to read, which does not count.
INSERT INTO regress_trojan.trap VALUES (NULL, 9223372036854775806);
SELECT hilo.sync('victims') < 1e18 AS near;
SET SESSION AUTHORIZATION regress_hilo_trojan;
DO $$BEGIN EXECUTE format('CREATE TABLE regress_trojan.large (id text PRIMARY KEY DEFAULT hilo_next(''large'', %L))', repeat('x', 1000000)); END$$;
INSERT INTO regress_trojan.large VALUES ('large/1-A');
RESET SESSION AUTHORIZATION;
SELECT hilo_next('large');
DROP TABLE regress_trojan.large;
SELECT hilo.drop('large');
DROP TABLE public.loot, regress_trojan.trap;
SELECT hilo.drop('victims');
-- Promise 8: who inserts, and who owns a table that somebody else attaches, needs no right on the schema of the drawing functions.
CREATE ROLE regress_hilo_web;
CREATE SCHEMA regress_shop;
GRANT USAGE ON SCHEMA regress_shop TO regress_hilo_web, regress_hilo_trojan;
CREATE TABLE regress_shop.shop (id text COLLATE "C" PRIMARY KEY, x int);
ALTER TABLE regress_shop.shop OWNER TO regress_hilo_trojan;
GRANT INSERT, SELECT ON regress_shop.shop TO regress_hilo_web;
SELECT hilo.attach('regress_shop.shop', assign => true);
REVOKE ALL ON SCHEMA public FROM PUBLIC;
INSERT INTO regress_shop.shop VALUES ('shop/1', 0);
SET ROLE regress_hilo_web;
INSERT INTO regress_shop.shop VALUES (NULL, 1), ('shop|', 2);
SELECT id, x FROM regress_shop.shop ORDER BY x;
RESET ROLE;
CREATE TABLE regress_shop.others (id text COLLATE "C" PRIMARY KEY);
ALTER TABLE regress_shop.others OWNER TO regress_hilo_trojan;
INSERT INTO regress_shop.others VALUES ('Others/7-A');
SELECT hilo.attach('regress_shop.others');
GRANT USAGE ON SCHEMA public TO PUBLIC;
DROP SCHEMA regress_shop CASCADE;
DROP ROLE regress_hilo_web;
\set VERBOSITY terse
SET client_min_messages = warning;
DROP SCHEMA regress_trojan CASCADE;
DROP OWNED BY regress_hilo_trojan;
DROP ROLE regress_hilo_trojan;
