-- The extension's own tables and functions are used, whatever schemas and temporary objects come before them in the caller's search_path.

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
CREATE FUNCTION regress_trojan.texteq(text, text) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN RAISE 'fooled'; END $$;
CREATE TABLE regress_trojan.binding (LIKE hilo.binding);
INSERT INTO regress_trojan.binding VALUES ('docs', 'regress_trojan', 'docs', 'id', 'regress_hilo_trojan');
GRANT ALL ON SCHEMA regress_trojan TO PUBLIC;
GRANT SELECT ON ALL TABLES IN SCHEMA regress_trojan TO PUBLIC;

-- A fresh connection, the trojan schema first, even before the system's.
\c -
SET search_path = regress_trojan, pg_catalog, public;
SELECT public.hilo_next('safe'), public.hilo_next_number('safe_too'), public.hilo_last_number('safe');
SELECT collection, low, high FROM hilo.ranges ORDER BY collection COLLATE "C";
SELECT low, high FROM public.hilo_reserve('safe', 3);
SELECT low, high, claim FROM hilo.next_range('safe_too', last_max => 70) \gset
SELECT :low, :high, hilo.return_range('safe_too', 80, :high, :claim);
SELECT hilo.seed('safe', 200), hilo.drop('safe_too'), hilo.next_hi('safe', 10);
INSERT INTO hilo.hilo (collection, max) VALUES ('safe', 300);
SELECT public.hilo_number('safe/10-A'), public.hilo_format('safe', 10);
-- The right to seed is that on the extension's own function.
SET SESSION AUTHORIZATION regress_hilo_trojan;
SELECT low FROM hilo.next_range('safe', last_max => 10000);
RESET SESSION AUTHORIZATION;
SELECT collection, max FROM regress_trojan.hilo ORDER BY max USING OPERATOR(pg_catalog.<);
RESET search_path;
SELECT collection, max FROM hilo.hilo WHERE collection LIKE 'safe%' ORDER BY 1;

-- The search_path decides which table is meant, but not how ids are looked up.
CREATE TABLE docs (id text PRIMARY KEY);
INSERT INTO docs VALUES ('docs/1');
CREATE SCHEMA regress_empty;
CREATE VIEW regress_empty.docs AS SELECT 'docs/3' AS id;
CREATE DOMAIN regress_trojan.bigint AS text;
\c -
SET search_path = regress_trojan, regress_empty, pg_catalog, public;
SELECT seed_identity_for('docs', 0, true), next_identity_free('docs');
SELECT hilo.bind('docs', 'public.docs', 'id'), next_identity_free('docs');
SELECT hilo.unbind('docs'), next_identity_free('docs');
SELECT collection, table_name, column_name FROM hilo.binding;
SELECT hilo.unbind('docs');
CREATE TABLE regress_trojan.docs (id text PRIMARY KEY);
INSERT INTO regress_trojan.docs SELECT 'docs/' || i FROM pg_catalog.generate_series(1, 9) i;
SELECT seed_identity_for('docs', 0, true), next_identity_free('docs');
RESET search_path;
SELECT seed_identity_for('docs', 0, true), next_identity_free('docs');
DROP DOMAIN regress_trojan.bigint;

-- A temporary table is found before all others, except by the extension.
\c -
SET SESSION AUTHORIZATION regress_hilo_trojan;
CREATE TEMPORARY TABLE hilo (max bigint, collection text);
CREATE TEMPORARY TABLE binding (collection text, owner name);
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
-- The look runs no code of a table's owner, neither of a table that is bound nor of one that owns a sequence.
\c -
CREATE TABLE public.loot (who name);
GRANT ALL ON public.loot TO PUBLIC;
SET SESSION AUTHORIZATION regress_hilo_trojan;
CREATE FUNCTION regress_trojan.note() RETURNS int LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.loot VALUES (current_user); RETURN 1; END $$;
CREATE FUNCTION regress_trojan.evil() RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN regress_trojan.note(); END $$;
CREATE TABLE regress_trojan.trap (id bigserial, x bigint);
CREATE INDEX ON regress_trojan.trap (id) WHERE id > regress_trojan.evil();
CREATE INDEX ON regress_trojan.trap ((id + regress_trojan.evil()));
CREATE INDEX ON regress_trojan.trap (id);
ALTER TABLE regress_trojan.trap ENABLE ROW LEVEL SECURITY;
ALTER TABLE regress_trojan.trap FORCE ROW LEVEL SECURITY;
CREATE POLICY trap ON regress_trojan.trap USING (regress_trojan.evil() = 1);
CREATE POLICY trap_too ON regress_trojan.trap FOR INSERT WITH CHECK (true);
INSERT INTO regress_trojan.trap VALUES (1), (2);
RESET SESSION AUTHORIZATION;
SELECT hilo.bind('victims', 'regress_trojan.trap', 'id');
TRUNCATE public.loot;
\c -
SELECT hilo_next_number('victims'), hilo.nextval('regress_trojan.trap_id_seq');
SELECT * FROM public.loot;
-- A stranger's table draws from the sequence of another without owning it: its ids move nothing.
CREATE SEQUENCE public.victim;
GRANT USAGE ON SEQUENCE public.victim TO regress_hilo_trojan;
SET SESSION AUTHORIZATION regress_hilo_trojan;
CREATE TABLE regress_trojan.draws (id bigint PRIMARY KEY DEFAULT hilo.nextval('public.victim'));
INSERT INTO regress_trojan.draws SELECT generate_series(1, 100);
ALTER SEQUENCE public.victim OWNED BY regress_trojan.draws.id;
RESET SESSION AUTHORIZATION;
SELECT hilo.nextval('public.victim');
-- A bound table that was dropped, and made again by another role, is not looked at: its rows would move the counter.
CREATE TABLE regress_trojan.mine (id bigint PRIMARY KEY);
SELECT hilo.bind('mine', 'regress_trojan.mine', 'id');
DROP TABLE regress_trojan.mine;
SET SESSION AUTHORIZATION regress_hilo_trojan;
CREATE TABLE regress_trojan.mine (id bigint PRIMARY KEY);
INSERT INTO regress_trojan.mine SELECT generate_series(1, 100);
RESET SESSION AUTHORIZATION;
SELECT hilo_next_number('mine');
-- Promise 10: who inserts needs no right on the schema of the drawing functions.
CREATE ROLE regress_hilo_web;
CREATE SCHEMA regress_shop;
GRANT USAGE ON SCHEMA regress_shop TO regress_hilo_web, regress_hilo_trojan;
CREATE TABLE regress_shop.shop (id text COLLATE "C" PRIMARY KEY DEFAULT hilo_next('shop'), x int);
CREATE TRIGGER assign_id BEFORE INSERT ON regress_shop.shop FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
ALTER TABLE regress_shop.shop OWNER TO regress_hilo_trojan;
GRANT INSERT, SELECT ON regress_shop.shop TO regress_hilo_web;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
INSERT INTO regress_shop.shop VALUES ('shop/1', 0);
SET ROLE regress_hilo_web;
INSERT INTO regress_shop.shop VALUES (DEFAULT, 1), (NULL, 1), ('shop|', 2);
SELECT id, x FROM regress_shop.shop ORDER BY x, id;
RESET ROLE;
GRANT USAGE ON SCHEMA public TO PUBLIC;
DROP OWNED BY regress_hilo_web, regress_hilo_trojan CASCADE;
DROP ROLE regress_hilo_web, regress_hilo_trojan;
