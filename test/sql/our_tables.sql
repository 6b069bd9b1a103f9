-- Promise 8: a column that others append to our tables does no harm; a column of ours that is gone is an error that names it.
CREATE TABLE our_doc (id bigint PRIMARY KEY);
SELECT hilo_next_number('our_before') AS before;
ALTER TABLE our_doc ALTER id SET DEFAULT hilo_next_number('our_bound_doc');
SELECT hilo.bind('our_bound_doc', 'our_doc', 'id');

-- A careless loop over all tables.
DO $$
DECLARE
	t regclass;
BEGIN
	FOR t IN SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind = 'r' AND nspname IN ('hilo', current_schema()) LOOP
		EXECUTE format('ALTER TABLE %s ADD COLUMN deleted_at timestamptz, ADD COLUMN version int NOT NULL DEFAULT 1', t);
	END LOOP;
END
$$;
-- In this session and in a new one: rows that are there, and new ones.
SELECT hilo_next_number('our_before') AS before, hilo_next_number('our_after') AS after, next_identity('our_id') AS id;
\c -
SELECT hilo_next_number('our_before') > 2 AS before, hilo_next_number('our_after') > 1 AS after, next_identity('our_id') AS id;
INSERT INTO our_doc DEFAULT VALUES RETURNING id;
INSERT INTO our_doc VALUES (2), (70);
INSERT INTO our_doc DEFAULT VALUES RETURNING id;
SELECT hilo.seed('our_before', 200), hilo.drop('our_after'), hilo_next_number('our_after');
CREATE TABLE our_bound (id text PRIMARY KEY);
SELECT hilo.bind('our_bound', 'our_bound', 'id'), next_identity_free('our_bound');
INSERT INTO hilo.hilo (collection, max) VALUES ('our_restored', 40);
SELECT hilo_next_number('our_restored');
SELECT collection, version, deleted_at FROM hilo.hilo WHERE collection IN ('our_after', 'our_before', 'our_restored') ORDER BY 1;
SELECT collection, max FROM hilo.status WHERE collection IN ('our_before', 'our_restored') ORDER BY 1;
-- Rewritten, with the new columns in the tuples.
ALTER TABLE hilo.hilo ADD COLUMN touched timestamptz DEFAULT clock_timestamp();
SELECT hilo_next_number('our_before') AS before, hilo_next_number('our_rewritten') AS rewritten;
VACUUM FULL hilo.hilo;
SELECT hilo_next_number('our_before') AS before, hilo_next_number('our_rewritten') AS rewritten, hilo_next_number('our_newest') AS newest;
SELECT hilo.unbind('our_bound_doc'), hilo.unbind('our_bound');
ALTER TABLE hilo.hilo DROP COLUMN deleted_at, DROP COLUMN version, DROP COLUMN touched;
SELECT hilo_next_number('our_before') AS before, hilo_next_number('our_last') AS last;

-- Not even one of a type that allows no nulls.
CREATE DOMAIN our_tenant AS int NOT NULL;
ALTER TABLE hilo.binding DROP COLUMN deleted_at, DROP COLUMN version, ADD COLUMN tenant our_tenant DEFAULT 1;
SELECT hilo.bind('our_last', 'our_bound', 'id');
SELECT collection, table_name, owner = current_user AS own, tenant FROM hilo.binding WHERE collection = 'our_last';
SELECT hilo.unbind('our_last');
ALTER TABLE hilo.binding DROP COLUMN tenant;
DROP DOMAIN our_tenant;

-- Nor does another owner.
CREATE ROLE regress_hilo_plain;
DO $$BEGIN EXECUTE (SELECT string_agg(format('ALTER TABLE %s OWNER TO regress_hilo_plain', oid::regclass), ';') FROM pg_class
	WHERE relnamespace = 'hilo'::regnamespace AND relkind = 'r'); END$$;
SELECT hilo_next_number('our_before') IS NOT NULL AS drawn;
SELECT hilo.bind('our_last', 'our_bound', 'id'), hilo.unbind('our_last');
SET ROLE regress_hilo_plain;
UPDATE hilo.binding SET owner = 'other';
RESET ROLE;
DO $$BEGIN EXECUTE (SELECT string_agg(format('ALTER TABLE %s OWNER TO CURRENT_USER', oid::regclass), ';') FROM pg_class
	WHERE relnamespace = 'hilo'::regnamespace AND relkind = 'r'); END$$;
DROP ROLE regress_hilo_plain;

-- Ours.
SELECT change, told(format('ALTER TABLE hilo.%s; SELECT %s', change, call)) FROM (VALUES ('hilo DROP COLUMN claim_rate', $$hilo_next_number('our_before')$$),
	('hilo RENAME COLUMN max TO highest', $$hilo_next_number('our_before')$$),
	('hilo ALTER COLUMN collection TYPE varchar(300)', $$hilo_next_number('our_before')$$),
	('binding RENAME COLUMN collection TO name', $$hilo.bind('our_bound', 'our_bound', 'id')$$)) v(change, call);
SELECT hilo_next_number('our_before') AS before;
