-- hilo.detach() puts back exactly what hilo.attach() has found: default, identity, sequences with their options, owner, grants and comment; an ordinary role inserts before, between and after.
\set SHOW_CONTEXT never

CREATE SCHEMA regress_back;
CREATE ROLE regress_hilo_app;
GRANT USAGE ON SCHEMA regress_back TO regress_hilo_app;
SET search_path = regress_back, public;
SET hilo.range_size = 4;
SET hilo.range_duration = 0;
-- What pg_dump -s shows of a table, and more, except triggers and the state of sequences.
CREATE FUNCTION looks(relation regclass) RETURNS TABLE (what text) LANGUAGE sql AS $$
	SELECT format('column %s %s %s %s', attname, format_type(atttypid, atttypmod), CASE WHEN attnotnull THEN 'not null' END, attidentity)
		FROM pg_attribute WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped
	UNION ALL SELECT format('default %s %s', adnum, pg_get_expr(adbin, adrelid)) FROM pg_attrdef WHERE adrelid = relation
	UNION ALL SELECT format('%s sequence %s %s %s %s %s %s %s %s %s %s %s %s', d.deptype, s.oid, s.relname, s.relowner::regrole, s.relacl, s.relpersistence, format_type(seqtypid, NULL),
			seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle) || coalesce(' comment ' || obj_description(s.oid, 'pg_class'), '')
		FROM pg_depend d JOIN pg_class s ON s.oid = d.objid AND d.classid = 'pg_class'::regclass JOIN pg_sequence q ON seqrelid = s.oid
		WHERE d.refobjid = relation AND d.refclassid = 'pg_class'::regclass AND refobjsubid > 0
	UNION ALL SELECT format('table %s %s', relowner::regrole, relacl) FROM pg_class WHERE oid = relation
	UNION ALL SELECT format('trigger %s', tgname) FROM pg_trigger WHERE tgrelid = relation AND (NOT tgisinternal OR tgparentid <> 0)
	ORDER BY 1 $$;
CREATE FUNCTION looks_all(relations regclass[]) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(relation || ' ' || what, E'\n' ORDER BY i, what) FROM unnest(relations) WITH ORDINALITY r(relation, i), looks(relation) $$;
-- Insert as an ordinary role.
CREATE FUNCTION put(relation regclass) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	new_id text;
BEGIN
	SET LOCAL ROLE regress_hilo_app;
	EXECUTE format('INSERT INTO %s DEFAULT VALUES RETURNING id', relation) INTO new_id;
	RESET ROLE;
	RETURN new_id;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ': ' || SQLERRM;
END $$;
-- Attach and detach: everything is as it was.
CREATE FUNCTION there_and_back(relation regclass, others regclass[] DEFAULT '{}', column_name name DEFAULT 'id',
	OUT before text, OUT attached text, OUT meanwhile text, OUT put_back text, OUT after text, OUT same boolean) LANGUAGE plpgsql AS $$
DECLARE
	looked text := looks_all(relation || others);
	looks_now text;
BEGIN
	EXECUTE format('GRANT INSERT ON %s TO regress_hilo_app', relation);
	EXECUTE format('GRANT SELECT ON %s TO regress_hilo_app', relation);
	looked := looks_all(relation || others);
	before := put(relation);
	PERFORM hilo.attach(relation, column_name, 'back ' || relation);
	SELECT pg_get_expr(adbin, adrelid) INTO attached FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum WHERE adrelid = relation AND attname = column_name;
	meanwhile := put(relation);
	put_back := hilo.detach(relation);
	after := put(relation);
	looks_now := looks_all(relation || others);
	same := looked = looks_now;
	IF NOT same THEN
		RAISE WARNING E'before:\n%\nafter:\n%', looked, looks_now;
	END IF;
END $$;
SET client_min_messages = warning;

-- Columns that draw from a sequence that they own.
CREATE TABLE t_serial (id serial PRIMARY KEY, x int);
GRANT USAGE ON SEQUENCE t_serial_id_seq TO regress_hilo_app;
COMMENT ON SEQUENCE t_serial_id_seq IS 'numbers of serials';
SELECT * FROM there_and_back('t_serial');
CREATE TABLE t_small (id smallserial PRIMARY KEY);
GRANT USAGE, SELECT ON SEQUENCE t_small_id_seq TO regress_hilo_app WITH GRANT OPTION;
SELECT * FROM there_and_back('t_small');
CREATE TABLE t_big (x text, id bigserial PRIMARY KEY);
ALTER SEQUENCE t_big_id_seq RENAME TO "Numbers of t_big";
ALTER SEQUENCE "Numbers of t_big" INCREMENT 10 START 7 MINVALUE 5 MAXVALUE 1000000 CACHE 3 CYCLE RESTART;
GRANT ALL ON SEQUENCE "Numbers of t_big" TO PUBLIC;
SELECT * FROM there_and_back('t_big');
SELECT * FROM there_and_back('t_big');
-- The table, and with it the sequence, of another role.
CREATE TABLE t_owned (id serial PRIMARY KEY);
GRANT CREATE ON SCHEMA regress_back TO regress_hilo_app;
ALTER TABLE t_owned OWNER TO regress_hilo_app;
SELECT * FROM there_and_back('t_owned');
-- Names full of quotes.
CREATE SCHEMA "regress Back\2";
GRANT USAGE ON SCHEMA "regress Back\2" TO regress_hilo_app;
CREATE TABLE "regress Back\2"."t'Quo""te\d" (id bigserial PRIMARY KEY, "$1" int);
ALTER SEQUENCE "regress Back\2"."t'Quo""te\d_id_seq" RENAME TO "it's\a ""seq""";
GRANT USAGE ON SEQUENCE "regress Back\2"."it's\a ""seq""" TO regress_hilo_app;
SELECT * FROM there_and_back('"regress Back\2"."t''Quo""te\d"');
-- The same where backslashes escape in plain strings, which ends with version 18.
DO $$
BEGIN
	IF current_setting('server_version_num')::int < 190000 THEN
		SET standard_conforming_strings = off;
		SET escape_string_warning = off;
	END IF;
END $$;
SELECT before, meanwhile, put_back, after, same FROM there_and_back(E'"regress Back\\2"."t''Quo""te\\d"');
DO $$
BEGIN
	IF current_setting('server_version_num')::int < 190000 THEN
		RESET standard_conforming_strings;
		RESET escape_string_warning;
	END IF;
END $$;
-- The sequence is renamed meanwhile.
CREATE TABLE t_renamed (id serial PRIMARY KEY);
SELECT hilo.attach('t_renamed');
ALTER SEQUENCE t_renamed_id_seq RENAME TO t_renamed_numbers;
SELECT hilo.detach('t_renamed');
SELECT * FROM looks('t_renamed') WHERE what LIKE 'default%';
-- It is dropped meanwhile: a hint says what to do, and nothing is changed.
SELECT hilo.attach('t_renamed');
DROP SEQUENCE t_renamed_numbers;
SELECT hilo.detach('t_renamed');
SELECT what FROM looks('t_renamed') WHERE what ~ '^(default|trigger)';
DROP TRIGGER zzz_hilo_advance_t_renamed ON t_renamed;

-- Identity columns.
CREATE TABLE t_identity (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY);
SELECT * FROM there_and_back('t_identity');
CREATE TABLE t_always (id bigint GENERATED ALWAYS AS IDENTITY (START 100 INCREMENT 10 MINVALUE 50 MAXVALUE 100000 CACHE 5 CYCLE) PRIMARY KEY, x int);
ALTER SEQUENCE t_always_id_seq RENAME TO "Numbers always";
COMMENT ON SEQUENCE "Numbers always" IS 'it''s always these';
GRANT SELECT ON SEQUENCE "Numbers always" TO regress_hilo_app;
SELECT * FROM there_and_back('t_always');
SELECT * FROM there_and_back('t_always');
INSERT INTO t_always VALUES (1);
SELECT hilo.attach('t_always');
INSERT INTO t_always VALUES (1);
SELECT hilo.detach('t_always');
-- Its sequence is dropped meanwhile.
CREATE TABLE t_lost (id smallint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY);
SELECT hilo.attach('t_lost');
DROP SEQUENCE t_lost_id_seq;
SELECT hilo.detach('t_lost');
DROP TABLE t_lost;

-- Sequences that are not the column's: one that two tables share, one that no column owns, one that draws in an expression.
CREATE TABLE t_first (id serial PRIMARY KEY);
CREATE TABLE t_second (id int PRIMARY KEY DEFAULT nextval('t_first_id_seq'));
GRANT USAGE ON SEQUENCE t_first_id_seq TO regress_hilo_app;
SELECT * FROM there_and_back('t_first', '{t_second}');
SELECT * FROM there_and_back('t_second', '{t_first}');
-- Both at the same time
SELECT hilo.attach('t_first'), hilo.attach('t_second', 'id', 't_first');
INSERT INTO t_first DEFAULT VALUES;
INSERT INTO t_second SELECT FROM generate_series(1, 5);
SELECT hilo.detach('t_first');
INSERT INTO t_first DEFAULT VALUES RETURNING id > (SELECT max(id) FROM t_second) AS above;
INSERT INTO t_second DEFAULT VALUES;
SELECT hilo.detach('t_second');
INSERT INTO t_first DEFAULT VALUES RETURNING id > (SELECT max(id) FROM t_second) AS above;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM t_first UNION ALL SELECT id FROM t_second) t;
CREATE SEQUENCE free_seq START 50;
GRANT USAGE ON SEQUENCE free_seq TO regress_hilo_app;
CREATE TABLE t_free (id bigint PRIMARY KEY DEFAULT nextval('free_seq'));
SELECT * FROM there_and_back('t_free');
SELECT last_value FROM free_seq;
CREATE TABLE t_step (id bigint PRIMARY KEY DEFAULT nextval('free_seq') * 2 + 1);
SELECT * FROM there_and_back('t_step');
-- A serial column with another default, and none.
CREATE TABLE t_other (id serial PRIMARY KEY);
ALTER TABLE t_other ALTER id SET DEFAULT 3;
SELECT * FROM there_and_back('t_other');
CREATE TABLE t_without (id serial);
ALTER TABLE t_without ALTER id DROP DEFAULT, ALTER id DROP NOT NULL;
SELECT * FROM there_and_back('t_without');

-- Defaults that the user wrote.
CREATE TABLE t_text (id text PRIMARY KEY DEFAULT 'it''s \ ' || gen_random_uuid()::text);
SELECT attached, put_back, same FROM there_and_back('t_text');
CREATE FUNCTION own_number(int, text DEFAULT 'x') RETURNS int LANGUAGE sql AS 'SELECT (random() * 1000000)::int + $1';
CREATE TABLE t_function (id int PRIMARY KEY DEFAULT own_number(5));
SELECT attached, put_back, same FROM there_and_back('t_function');
CREATE TABLE t_zone (id text PRIMARY KEY DEFAULT (now() AT TIME ZONE 'UTC')::date::text || clock_timestamp()::text COLLATE "C");
SELECT attached, put_back, same FROM there_and_back('t_zone');
CREATE TABLE t_nothing (id int, x int DEFAULT 5);
SELECT * FROM there_and_back('t_nothing');
-- One that draws from a collection already: another, or the same.
CREATE TABLE t_hilo (id text PRIMARY KEY DEFAULT hilo_next('back_other'));
SELECT * FROM there_and_back('t_hilo');
CREATE TABLE t_same (id bigint PRIMARY KEY DEFAULT hilo_next_number('t_same'));
SELECT hilo.attach('t_same'), hilo.detach('t_same');
SELECT what FROM looks('t_same') WHERE what ~ '^(default|trigger)';
CREATE TABLE t_tag (id text PRIMARY KEY DEFAULT hilo_next('t_tag', 'B'));
SELECT hilo.attach('t_tag'), hilo.detach('t_tag');
SELECT what FROM looks('t_tag') WHERE what ~ '^(default|trigger)';
-- Changed while it was attached: it stays as it is now, with a notice.
RESET client_min_messages;
CREATE TABLE t_changed (id serial PRIMARY KEY);
SELECT hilo.attach('t_changed');
ALTER TABLE t_changed ALTER id SET DEFAULT 17;
SELECT hilo.detach('t_changed');
SELECT what FROM looks('t_changed') WHERE what ~ '^(default|trigger)';
-- A default that cannot be put back any more
CREATE TABLE t_gone (id int PRIMARY KEY DEFAULT own_number(6));
SELECT hilo.attach('t_gone');
DROP TABLE t_function;
DROP FUNCTION own_number;
\set VERBOSITY terse
SELECT hilo.detach('t_gone');
\set VERBOSITY default
SELECT what FROM looks('t_gone') WHERE what ~ '^(default|trigger)';
SET client_min_messages = warning;

-- Partitions: without a default, with that of the parent, with one of their own.
CREATE TABLE parts (id bigserial, part int) PARTITION BY LIST (part);
CREATE SEQUENCE part_seq START 500;
CREATE TABLE part_same PARTITION OF parts FOR VALUES IN (1);
CREATE TABLE part_none PARTITION OF parts FOR VALUES IN (2);
ALTER TABLE part_none ALTER id DROP DEFAULT;
CREATE TABLE part_own PARTITION OF parts FOR VALUES IN (3);
ALTER TABLE part_own ALTER id SET DEFAULT nextval('part_seq');
CREATE TABLE part_deep PARTITION OF parts DEFAULT PARTITION BY LIST (part);
CREATE TABLE part_deeper PARTITION OF part_deep FOR VALUES IN (NULL);
SELECT looks_all('{parts,part_same,part_none,part_own,part_deep,part_deeper}') AS looked \gset
SELECT hilo.attach('parts', 'id');
SELECT relation, what FROM unnest('{parts,part_same,part_none,part_own,part_deep,part_deeper}'::regclass[]) WITH ORDINALITY r(relation, i), looks(relation) WHERE what ~ '^(default|trigger)' ORDER BY i, what;
INSERT INTO parts (part) VALUES (1), (2), (3), (NULL) RETURNING id;
INSERT INTO part_own (part) VALUES (3) RETURNING id;
INSERT INTO part_none VALUES (2000, 2);
SELECT hilo.detach('parts');
SELECT looks_all('{parts,part_same,part_none,part_own,part_deep,part_deeper}') = :'looked' AS same;
INSERT INTO parts (part) VALUES (1) RETURNING id > 2000 AS above;
INSERT INTO part_own (part) VALUES (3) RETURNING id > 2000 AS above;
DROP TABLE parts;
-- An identity column of a partitioned table
CREATE TABLE parts (id bigint GENERATED ALWAYS AS IDENTITY, part int) PARTITION BY LIST (part);
CREATE TABLE part_same PARTITION OF parts FOR VALUES IN (1);
SELECT looks_all('{parts,part_same}') AS looked \gset
SELECT hilo.attach('parts', 'id');
INSERT INTO parts (part) VALUES (1) RETURNING id;
SELECT hilo.detach('parts');
SELECT looks_all('{parts,part_same}') = :'looked' AS same;
INSERT INTO parts (part) VALUES (1) RETURNING id;
DROP TABLE parts;

-- Inheritance: children with the default of the parent, with one of their own, without; and one that comes later.
CREATE TABLE parent (id serial, x int);
CREATE TABLE child_same () INHERITS (parent);
CREATE TABLE child_own (id int DEFAULT 77) INHERITS (parent);
CREATE TABLE child_serial (id serial) INHERITS (parent);
CREATE TABLE child_none () INHERITS (parent);
ALTER TABLE child_none ALTER id DROP DEFAULT;
SELECT looks_all('{parent,child_same,child_own,child_serial,child_none}') AS looked \gset
SELECT hilo.attach('parent', 'id');
SELECT relation, what FROM unnest('{parent,child_same,child_own,child_serial,child_none}'::regclass[]) WITH ORDINALITY r(relation, i), looks(relation) WHERE what ~ '^(default|trigger)' ORDER BY i, what;
CREATE TABLE child_late () INHERITS (parent);
INSERT INTO child_late DEFAULT VALUES RETURNING id;
SELECT hilo.attach('parent', 'id') > 0 AS again;
SELECT hilo.detach('parent');
SELECT looks_all('{parent,child_same,child_own,child_serial,child_none}') = :'looked' AS same;
SELECT what FROM looks('child_late') WHERE what ~ '^(default|trigger)';
DROP TABLE parent CASCADE;

-- Other commands on an attached table.
CREATE TABLE t_done (id serial PRIMARY KEY, x int);
SELECT hilo.attach('t_done');
INSERT INTO t_done SELECT FROM generate_series(1, 10);
-- TRUNCATE ... RESTART IDENTITY sets back the sequence that the column owns, and not the collection.
TRUNCATE t_done RESTART IDENTITY;
INSERT INTO t_done DEFAULT VALUES RETURNING id > 10 AS goes_on;
SELECT hilo.detach('t_done');
INSERT INTO t_done DEFAULT VALUES RETURNING id > 11 AS goes_on;
-- CREATE TABLE ... LIKE copies the default, not the trigger: it draws, and is not attached.
SELECT hilo.attach('t_done');
CREATE TABLE t_like (LIKE t_done INCLUDING ALL);
SELECT what FROM looks('t_like') WHERE what ~ '^(default|trigger)';
SELECT hilo.detach('t_like');
SELECT hilo.attach('t_like', 'id', 't_done') > 0 AS attached;
DROP TABLE t_like;
-- A column of a larger type, and back: the collection's limit goes with it.
INSERT INTO t_done VALUES (2000);
ALTER TABLE t_done ALTER id TYPE bigint;
INSERT INTO t_done VALUES (3000000000);
INSERT INTO t_done DEFAULT VALUES RETURNING id;
SELECT max, max_value FROM hilo.hilo WHERE collection = 't_done';
SELECT hilo.attach('t_done') > 3000000000 AS attached;
SELECT max, max_value FROM hilo.hilo WHERE collection = 't_done';
SELECT hilo.detach('t_done');
SELECT regexp_replace(what, 'sequence \d+ (\S+) \S+', 'sequence \1') AS what FROM looks('t_done') WHERE what !~ '^table';
INSERT INTO t_done DEFAULT VALUES;
-- The same of an identity column.
CREATE TABLE t_grows (id smallint GENERATED ALWAYS AS IDENTITY (INCREMENT 2) PRIMARY KEY);
SELECT hilo.attach('t_grows');
ALTER TABLE t_grows ALTER id TYPE int;
INSERT INTO t_grows VALUES (40000);
INSERT INTO t_grows DEFAULT VALUES RETURNING id;
SELECT hilo.detach('t_grows');
SELECT regexp_replace(what, 'sequence \d+ (\S+) \S+', 'sequence \1') AS what FROM looks('t_grows') WHERE what !~ '^table';
INSERT INTO t_grows DEFAULT VALUES RETURNING id;
-- To text, and the other way round: the default has to change as well.
CREATE TABLE t_kind (id bigint PRIMARY KEY);
SELECT hilo.attach('t_kind');
INSERT INTO t_kind DEFAULT VALUES;
ALTER TABLE t_kind ALTER id TYPE text;
INSERT INTO t_kind DEFAULT VALUES RETURNING id;
SELECT hilo.detach('t_kind'), hilo.attach('t_kind');
INSERT INTO t_kind DEFAULT VALUES RETURNING id;
DROP TABLE t_done, t_grows, t_kind;
-- A session that meets one trigger after another, of one table or of many, keeps what it knows of those that exist.
CREATE PROCEDURE attach_again(times int) LANGUAGE plpgsql AS $$
BEGIN
    FOR i IN 1 .. times LOOP
        CREATE TABLE t_each (id bigserial PRIMARY KEY);
        PERFORM hilo.attach('t_again'), hilo.attach('t_each');
        INSERT INTO t_again DEFAULT VALUES;
        INSERT INTO t_each DEFAULT VALUES;
        PERFORM hilo.detach('t_again');
        DROP TABLE t_each;
    END LOOP;
END $$;
CREATE FUNCTION known() RETURNS bigint LANGUAGE sql AS $$ SELECT sum(used_bytes)::bigint FROM pg_backend_memory_contexts WHERE name = 'hilo triggers' $$;
CREATE TABLE t_again (id bigserial PRIMARY KEY);
CALL attach_again(40);
SELECT known() AS before \gset
CALL attach_again(40);
SELECT known() - :before AS more;
DROP TABLE t_again;
-- A statement goes on whose partition a trigger detaches, and gives another trigger.
CREATE TABLE t_whole (id bigint PRIMARY KEY, id2 bigint, id3 bigint, v text) PARTITION BY RANGE (id);
CREATE TABLE t_part PARTITION OF t_whole FOR VALUES FROM (0) TO (1000000);
SELECT hilo.attach('t_whole', 'id', 't_c1'), hilo.attach('t_whole', 'id2', 't_c2'), hilo.attach('t_whole', 'id3', 't_c3');
CREATE FUNCTION leave() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF new.v = 'leave' THEN
        ALTER TABLE t_whole DETACH PARTITION t_part;
        CREATE TRIGGER zzzz_new BEFORE INSERT ON t_part FOR EACH ROW EXECUTE FUNCTION hilo.advance('t_c4', 'was nothing');
        INSERT INTO t_part VALUES (500, 500, 500, 'inside');
    END IF;
    RETURN new;
END $$;
CREATE TRIGGER a BEFORE INSERT ON t_part FOR EACH ROW EXECUTE FUNCTION leave();
INSERT INTO t_part (v) VALUES ('one'), ('leave'), ('two'), ('three') RETURNING *;
DROP TABLE t_whole, t_part;
-- Only a sequence makes an identity column, even if an index depends on the column in the same way.
CREATE TABLE t_index (id bigint NOT NULL);
CREATE INDEX t_index_id ON t_index (id);
SELECT hilo._set_identity('t_index', 'id', 'd', 't_index_id'::regclass::oid);
DROP TABLE t_index;

RESET client_min_messages;
SET client_min_messages = error;
DROP SCHEMA regress_back, "regress Back\2" CASCADE;
DROP OWNED BY regress_hilo_app;
DROP ROLE regress_hilo_app;
SELECT count(hilo.drop(collection)) > 0 AS dropped FROM hilo.hilo WHERE collection ~ '^(back|t_|parts|parent)';
