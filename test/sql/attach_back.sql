-- hilo.attach() and hilo.detach(): afterwards the table is as it was, whatever it was, and the next number is above all.
CREATE SCHEMA regress_back;
SET search_path = regress_back, public;
SET client_min_messages = warning;
SET hilo.max_range_size = 1;
SET hilo.range_size = 1;
CREATE ROLE regress_back_user;
GRANT USAGE ON SCHEMA regress_back TO regress_back_user;
-- What pg_dump -s shows of a table and its partitions and children.
CREATE FUNCTION shape(relation regclass) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(concat_ws(' ', t, a.attname, a.atttypid::regtype, a.attidentity, a.attnotnull, pg_get_expr(d.adbin, d.adrelid), c.relacl, (SELECT count(*) FROM pg_trigger g WHERE g.tgrelid = t),
		(SELECT string_agg(s.oid::regclass || s.relowner::regrole::text || COALESCE(s.relacl::text, ''), ',') FROM pg_depend e JOIN pg_class s ON s.oid = e.objid AND s.relkind = 'S' WHERE e.classid = 'pg_class'::regclass AND e.refclassid = 'pg_class'::regclass AND e.refobjid = t AND e.refobjsubid = a.attnum)), E'\n' ORDER BY t::text, a.attnum)
	FROM hilo._tree(relation) t JOIN pg_attribute a ON a.attrelid = t AND a.attnum > 0 JOIN pg_class c ON c.oid = t LEFT JOIN pg_attrdef d ON d.adrelid = t AND d.adnum = a.attnum
$$;
-- Attach, insert as an ordinary role, detach, insert; to its sequence, and to a collection.
CREATE FUNCTION there_and_back(relation regclass, inserts text, OUT way text, OUT detached text, OUT same boolean, OUT all_above boolean) RETURNS SETOF record LANGUAGE plpgsql AS $$
DECLARE
	before text := shape(relation);
	max bigint;
	id bigint;
BEGIN
	EXECUTE inserts;
	FOREACH way IN ARRAY ARRAY['sequence', 'collection'] LOOP
		BEGIN
			IF way = 'sequence' THEN
				max := hilo.attach(relation, 'id');
			ELSE
				max := hilo.attach(relation, 'id', 'back_' || relation::oid);
			END IF;
		EXCEPTION WHEN feature_not_supported THEN
			detached := SQLERRM;
			same := before = shape(relation);
			all_above := NULL;
			RETURN NEXT;
			CONTINUE;
		END;
		EXECUTE inserts || ' RETURNING id' INTO id;
		all_above := id > max;
		EXECUTE inserts || ' RETURNING id' INTO id;
		all_above := all_above AND id > max + 1;
		max := id;
		detached := hilo.detach(relation, 'id');
		same := before = shape(relation);
		IF detached = 'sequence' THEN
			EXECUTE inserts || ' RETURNING id' INTO id;
			all_above := all_above AND id > max;
		END IF;
		RETURN NEXT;
	END LOOP;
END $$;

CREATE TABLE small (id smallserial PRIMARY KEY, x int);
CREATE TABLE plain (id serial PRIMARY KEY, x int);
CREATE TABLE big (id bigserial, x int);
CREATE TABLE "Quoted ""'Table" (id serial PRIMARY KEY, x int);
CREATE SEQUENCE shared;
CREATE TABLE sharing (id int PRIMARY KEY DEFAULT nextval('shared'), x int);
CREATE TABLE sharing_too (id bigint PRIMARY KEY DEFAULT nextval('shared'::regclass), x int);
CREATE SEQUENCE tens INCREMENT 10;
CREATE TABLE in_tens (id int PRIMARY KEY DEFAULT nextval('tens'), x int);
CREATE TABLE parts (id bigserial, x int) PARTITION BY LIST (x);
CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (0);
CREATE TABLE part_2 (x int, id bigint NOT NULL);
ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES IN (2);
CREATE TABLE parents (id serial PRIMARY KEY, x int);
CREATE TABLE children () INHERITS (parents);
CREATE TABLE children_own (id int DEFAULT nextval('shared')) INHERITS (parents);
CREATE TABLE always (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, x int);
CREATE TABLE expression (id bigint PRIMARY KEY DEFAULT nextval('shared') * 2, x int);
SELECT r, b.* FROM unnest('{small,plain,big,"\"Quoted \"\"''Table\"",sharing,sharing_too,in_tens,parts,parents,always}'::text[]) WITH ORDINALITY u(r, i), there_and_back(r::regclass, format('INSERT INTO %s (x) VALUES (0)', r)) b ORDER BY i, way DESC;
-- The sequence belongs to another role, and has privileges of its own.
CREATE TABLE granted (id serial PRIMARY KEY, x int);
ALTER TABLE granted OWNER TO regress_back_user;
GRANT USAGE ON SEQUENCE granted_id_seq TO PUBLIC;
SELECT * FROM there_and_back('granted', 'INSERT INTO granted (x) VALUES (0)');
-- An expression is not put back, which a notice says when it is replaced, and the text of it.
RESET client_min_messages;
SELECT hilo.attach('expression', collection => 'expression');
SELECT hilo.detach('expression');
SET client_min_messages = warning;
SELECT shape('expression');

-- The sequence is renamed meanwhile, moved to another schema, dropped.
CREATE TABLE renamed (id serial PRIMARY KEY, x int);
SELECT hilo.attach('renamed');
ALTER SEQUENCE renamed_id_seq RENAME TO other;
CREATE SCHEMA regress_back_2;
ALTER TABLE renamed SET SCHEMA regress_back_2;
INSERT INTO regress_back_2.renamed (x) VALUES (0) RETURNING id;
SELECT hilo.detach('regress_back_2.renamed');
SELECT shape('regress_back_2.renamed');
SELECT hilo.attach('regress_back_2.renamed', collection => 'renamed');
ALTER SEQUENCE regress_back_2.other RENAME TO other_again;
INSERT INTO regress_back_2.renamed (x) SELECT 0 FROM generate_series(1, 20);
SELECT hilo.detach('regress_back_2.renamed');
INSERT INTO regress_back_2.renamed (x) VALUES (0) RETURNING id;
SELECT hilo.attach('regress_back_2.renamed', collection => 'renamed');
DROP SEQUENCE regress_back_2.other_again;
SELECT hilo.detach('regress_back_2.renamed');
SELECT shape('regress_back_2.renamed');
-- Partitions and children that came meanwhile.
CREATE TABLE tree (id serial PRIMARY KEY, x int);
SELECT hilo.attach('tree', collection => 'tree');
CREATE TABLE branch () INHERITS (tree);
CREATE TABLE leaf () INHERITS (branch);
INSERT INTO leaf (x) VALUES (0) RETURNING id;
SELECT hilo.detach('tree');
SELECT shape('tree');
INSERT INTO leaf (x) VALUES (0) RETURNING id;
-- A copy by LIKE draws from the same, and is no part of it.
CREATE TABLE original (id serial PRIMARY KEY, x int);
SELECT hilo.attach('original');
CREATE TABLE copy (LIKE original INCLUDING ALL);
INSERT INTO original (x) VALUES (0) RETURNING id;
INSERT INTO copy (x) VALUES (0) RETURNING id;
SELECT relation, column_name, sequence FROM hilo.attachments WHERE relation IN ('original'::regclass, 'copy') ORDER BY 1;
SELECT hilo.detach('original'), hilo.detach('copy');
-- The default is dropped, or replaced, meanwhile.
SELECT hilo.attach('original');
ALTER TABLE original ALTER id DROP DEFAULT;
SELECT hilo.detach('original');
ALTER TABLE original ALTER id SET DEFAULT nextval('original_id_seq');
INSERT INTO original (x) VALUES (0) RETURNING id;
SELECT hilo.attach('original', collection => 'original');
ALTER TABLE original ALTER id SET DEFAULT 77;
SELECT hilo.detach('original');
SELECT hilo.attach('original', collection => 'original');
SELECT hilo.detach('original');
-- A larger type and back, to text and back.
CREATE TABLE typed (id serial PRIMARY KEY, x int);
SELECT hilo.attach('typed');
ALTER TABLE typed ALTER id TYPE bigint;
INSERT INTO typed (x) VALUES (0) RETURNING id;
ALTER TABLE typed ALTER id TYPE smallint;
INSERT INTO typed (x) VALUES (0) RETURNING id;
ALTER TABLE typed ALTER id TYPE text;
INSERT INTO typed (x) VALUES (0) RETURNING id;
ALTER TABLE typed ALTER id TYPE int USING id::int;
INSERT INTO typed (x) VALUES (0) RETURNING id;
SELECT hilo.attach('typed'), hilo.detach('typed');
SELECT shape('typed');
-- All of it rolled back; and the sequence of a table that is dropped.
BEGIN;
SELECT hilo.attach('plain', collection => 'rolled_back');
INSERT INTO plain (x) VALUES (0);
SELECT hilo.detach('plain');
ROLLBACK;
INSERT INTO plain (x) VALUES (0);
SELECT hilo.attach('plain');
DROP TABLE plain;
SELECT to_regclass('plain_id_seq');

DROP SCHEMA regress_back, regress_back_2 CASCADE;
DROP ROLE regress_back_user;
SELECT count(hilo.drop(collection)) > 0 AS dropped FROM hilo.hilo WHERE collection NOT LIKE '%|';
-- A child whose default is something else keeps it.
CREATE SCHEMA regress_back;
CREATE TABLE regress_back.parent (id serial);
CREATE TABLE regress_back.child (id int DEFAULT 5) INHERITS (regress_back.parent);
SELECT hilo.attach('regress_back.parent', 'id');
SELECT hilo.detach('regress_back.parent', 'id');
SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid IN ('regress_back.parent'::regclass, 'regress_back.child'::regclass) ORDER BY 1;
-- So does one whose parent has none.
CREATE TABLE regress_back.bare (id bigint PRIMARY KEY, x int) PARTITION BY RANGE (id);
CREATE SEQUENCE regress_back.own;
CREATE TABLE regress_back.bare_1 PARTITION OF regress_back.bare FOR VALUES FROM (0) TO (1000);
CREATE TABLE regress_back.bare_2 PARTITION OF regress_back.bare FOR VALUES FROM (1000) TO (2000);
CREATE TABLE regress_back.bare_3 PARTITION OF regress_back.bare FOR VALUES FROM (2000) TO (3000);
ALTER TABLE regress_back.bare_1 ALTER id SET DEFAULT nextval('regress_back.own');
ALTER TABLE regress_back.bare_2 ALTER id SET DEFAULT 1500;
SELECT hilo.attach('regress_back.bare', 'id');
SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid::regclass::text LIKE '%bare%' ORDER BY 1;
SELECT hilo.detach('regress_back.bare', 'id');
SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid::regclass::text LIKE '%bare%' ORDER BY 1;
-- A sequence that was renamed while a collection drew, and another one that has its name now.
CREATE SEQUENCE regress_back.shared;
CREATE TABLE regress_back.one (id bigint PRIMARY KEY DEFAULT nextval('regress_back.shared'));
CREATE TABLE regress_back.two (id serial PRIMARY KEY);
SELECT hilo.attach('regress_back.one', collection => 'one'), hilo.attach('regress_back.two', collection => 'two');
ALTER SEQUENCE regress_back.shared RENAME TO renamed;
ALTER TABLE regress_back.two RENAME TO two_old;
ALTER SEQUENCE regress_back.two_id_seq RENAME TO two_old_id_seq;
CREATE TABLE regress_back.two (id serial PRIMARY KEY);
SELECT hilo.detach('regress_back.one'), hilo.detach('regress_back.two_old');
SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid IN ('regress_back.one'::regclass, 'regress_back.two_old'::regclass) ORDER BY 1;
DROP TABLE regress_back.two;
-- Several columns of a table on one collection: each gets back what it had, also under another name.
CREATE TABLE regress_back.several (gone int, a bigserial PRIMARY KEY, b bigserial, c bigint, x int);
SELECT hilo.attach('regress_back.several', 'a', 'several'), hilo.attach('regress_back.several', 'b', 'several'), hilo.attach('regress_back.several', 'c', 'several');
SELECT column_name, column_number, was, sequence FROM hilo.binding WHERE collection = 'several' ORDER BY 1;
ALTER TABLE regress_back.several RENAME b TO d;
SELECT hilo.detach('regress_back.several', 'a'), hilo.detach('regress_back.several', 'd'), hilo.detach('regress_back.several', 'c');
SELECT a.attname, pg_get_expr(adbin, adrelid) FROM pg_attrdef JOIN pg_attribute a ON attrelid = adrelid AND attnum = adnum WHERE adrelid = 'regress_back.several'::regclass ORDER BY 1;
-- After a restore, when the columns have other numbers, by the names.
SELECT hilo.attach('regress_back.several', 'a', 'several'), hilo.attach('regress_back.several', 'd', 'several'), hilo.attach('regress_back.several', 'c', 'several');
CREATE TEMP TABLE dumped AS SELECT * FROM hilo.binding WHERE collection = 'several';
DROP TABLE regress_back.several;
SELECT hilo.drop('several');
CREATE SEQUENCE regress_back.several_a_seq;
CREATE SEQUENCE regress_back.several_b_seq;
CREATE TABLE regress_back.several (a bigint PRIMARY KEY DEFAULT hilo_next_number('several'), d bigint DEFAULT hilo_next_number('several'), c bigint DEFAULT hilo_next_number('several'));
INSERT INTO hilo.binding SELECT * FROM dumped;
SELECT column_name, column_number, was, sequence FROM hilo.binding WHERE collection = 'several' ORDER BY 1;
SELECT hilo.detach('regress_back.several', 'a'), hilo.detach('regress_back.several', 'd'), hilo.detach('regress_back.several', 'c');
SELECT a.attname, pg_get_expr(adbin, adrelid) FROM pg_attrdef JOIN pg_attribute a ON attrelid = adrelid AND attnum = adnum WHERE adrelid = 'regress_back.several'::regclass ORDER BY 1;
-- A column that another one has replaced, as when its type is changed: the table stays attached.
CREATE TABLE regress_back.replaced (id serial PRIMARY KEY, t text);
CREATE TABLE regress_back.kept (id serial PRIMARY KEY, t text);
SELECT hilo.attach('regress_back.replaced', 'id', 'replaced'), hilo.attach('regress_back.kept', 'id', 'kept');
ALTER TABLE regress_back.replaced ADD id2 bigint;
ALTER TABLE regress_back.replaced DROP id;
ALTER TABLE regress_back.replaced RENAME id2 TO id;
ALTER TABLE regress_back.replaced ADD PRIMARY KEY (id), ALTER id SET DEFAULT hilo_next_number('replaced');
ALTER TABLE regress_back.kept RENAME id TO id_old;
ALTER TABLE regress_back.kept ADD id bigint UNIQUE DEFAULT hilo_next_number('kept'), ALTER id_old DROP DEFAULT;
CREATE ROLE regress_back_stranger;
SET ROLE regress_back_stranger;
SELECT hilo_next_number('replaced');
SELECT hilo_next_number('kept');
RESET ROLE;
DROP ROLE regress_back_stranger;
INSERT INTO regress_back.replaced VALUES ('x', 50);
SELECT hilo.sync('replaced');
SELECT relation, column_name, collection FROM hilo.attachments WHERE collection IN ('replaced', 'kept') ORDER BY 1;
SELECT hilo.detach('regress_back.kept'), hilo.detach('regress_back.replaced');
-- A sequence that ends below the collection: a warning says so, and its hint moves it above.
CREATE TABLE regress_back.wide (id serial PRIMARY KEY, x int);
SELECT hilo.attach('regress_back.wide', collection => 'wide');
ALTER TABLE regress_back.wide ALTER id TYPE bigint;
SELECT hilo_next_number('wide'), hilo.seed('wide', 2147483647);
INSERT INTO regress_back.wide (x) VALUES (0) RETURNING id;
RESET client_min_messages;
SELECT hilo.detach('regress_back.wide');
SET client_min_messages = warning;
INSERT INTO regress_back.wide (x) VALUES (0);
ALTER SEQUENCE regress_back.wide_id_seq AS bigint NO MAXVALUE;
SELECT setval('regress_back.wide_id_seq', 2147483648);
INSERT INTO regress_back.wide (x) VALUES (0) RETURNING id;
-- A default that was written by hand gets no sequence of another table of the collection; nor does one of a temporary table.
CREATE TABLE regress_back.more (id bigserial, x int);
SELECT hilo.attach('regress_back.more', 'id', 'whole');
CREATE TABLE regress_back.by_hand (id bigint PRIMARY KEY DEFAULT hilo_next_number('whole'));
CREATE TEMP TABLE regress_temporary (id bigint DEFAULT hilo_next_number('whole'));
SELECT hilo.detach('regress_back.by_hand'), hilo.detach('regress_temporary', 'id');
DROP TABLE regress_temporary;
-- hilo.sync() records the present name of a sequence, by which a dump that is restored finds it.
ALTER SEQUENCE regress_back.more_id_seq RENAME TO more_ids;
SELECT hilo.sync('whole');
SELECT object_name, sequence FROM hilo.binding WHERE collection = 'whole' ORDER BY 1;
-- A sequence that was set, but not called since, counts for a collection, too.
CREATE TABLE regress_back.was_set (id serial PRIMARY KEY, x int);
INSERT INTO regress_back.was_set (x) SELECT 1 FROM generate_series(1, 10);
SELECT setval('regress_back.was_set_id_seq', 11, false);
DELETE FROM regress_back.was_set WHERE id > 7;
CREATE SEQUENCE regress_back.from_1000 START 1000;
CREATE TABLE regress_back.from_1000s (id bigint PRIMARY KEY DEFAULT nextval('regress_back.from_1000'), x int);
CREATE SEQUENCE regress_back.by_ten INCREMENT 10;
CREATE TABLE regress_back.by_tens (id bigint PRIMARY KEY DEFAULT nextval('regress_back.by_ten'), x int);
CREATE SEQUENCE regress_back.down INCREMENT -1 START 50 MAXVALUE 50;
CREATE TABLE regress_back.downs (id bigint PRIMARY KEY DEFAULT nextval('regress_back.down'), x int);
CREATE SEQUENCE regress_back.gone_down INCREMENT -1 START 50 MAXVALUE 50;
CREATE TABLE regress_back.gone_downs (id bigint PRIMARY KEY DEFAULT nextval('regress_back.gone_down'), x int);
SELECT nextval('regress_back.gone_down');
CREATE SEQUENCE regress_back.top INCREMENT -5 MINVALUE 1 MAXVALUE 9223372036854775807 START 9223372036854775807;
CREATE TABLE regress_back.tops (id bigint PRIMARY KEY DEFAULT nextval('regress_back.top'), x int);
-- Also below its start, or above it: a block is counted whole.
CREATE SEQUENCE regress_back.blocks START 1001 MINVALUE 1 INCREMENT 100;
CREATE TABLE regress_back.in_blocks (id bigint PRIMARY KEY DEFAULT nextval('regress_back.blocks'), x int);
ALTER SEQUENCE regress_back.blocks RESTART WITH 1;
SELECT nextval('regress_back.blocks');
CREATE SEQUENCE regress_back.up_and_down INCREMENT -1 START 1000 MINVALUE 1 MAXVALUE 2000;
CREATE TABLE regress_back.ups_and_downs (id bigint PRIMARY KEY DEFAULT nextval('regress_back.up_and_down'), x int);
SELECT setval('regress_back.up_and_down', 1500);
SELECT t, hilo.attach(format('regress_back.%s', t)::regclass, collection => t) FROM unnest('{was_set, from_1000s, by_tens, downs, gone_downs, tops, in_blocks, ups_and_downs}'::text[]) t;
INSERT INTO regress_back.was_set (x) VALUES (2) RETURNING id;
INSERT INTO regress_back.from_1000s (x) VALUES (2) RETURNING id;
DROP TABLE regress_back.was_set, regress_back.from_1000s, regress_back.by_tens, regress_back.downs, regress_back.gone_downs, regress_back.tops, regress_back.in_blocks, regress_back.ups_and_downs;
DROP SEQUENCE regress_back.from_1000, regress_back.by_ten, regress_back.down, regress_back.gone_down, regress_back.top, regress_back.blocks, regress_back.up_and_down;
SELECT count(hilo.drop(t)) FROM unnest('{was_set, from_1000s, by_tens, downs, gone_downs, tops, in_blocks, ups_and_downs}'::text[]) t;
DROP SCHEMA regress_back CASCADE;
SELECT count(hilo.drop(collection)) FROM hilo.status WHERE collection IN ('one', 'two', 'several', 'replaced', 'kept', 'wide', 'whole');
