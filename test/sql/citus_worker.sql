-- On a Citus worker, imitated by the table in which Citus keeps a node's group, no number is drawn that other nodes draw as well.

CREATE SCHEMA regress_worker;
SET search_path = regress_worker, public;
CREATE TABLE docs (id text PRIMARY KEY, way text);
CREATE TRIGGER assign BEFORE INSERT ON docs FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'w_docs');
CREATE TABLE people (number int PRIMARY KEY);
SELECT hilo.bind('w_people', 'people', 'number');
-- The result of each kind of draw: "fine" or an error.
CREATE FUNCTION draws(OUT what text, OUT result text) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	FOREACH what IN ARRAY ARRAY[
		$q$hilo_next_number('w')$q$, $q$hilo_next('w')$q$, $q$hilo_next('w', 'W1')$q$, $q$hilo_next('w', '')$q$, $q$hilo_next('w_own')$q$, $q$hilo_next_number('w_own')$q$, $q$hilo_next('w_default')$q$,
		$q$hilo_reserve('w', 2)$q$, $q$hilo.next_hi('w', 2)$q$, $q$hilo.next_range('w')$q$,
		$q$hilo_document_id('w')$q$, $q$hilo_document_id('w', 'w/')$q$, $q$hilo_document_id('w', 'w|')$q$, $q$hilo_document_id('w', '')$q$, $q$hilo_document_id('w', 'w/tea')$q$,
		$q$next_identity('w')$q$, $q$next_identity_for('w')$q$, $q$next_identity_free('w_people')$q$, $q$next_identity_free_for('w_people')$q$, $q$next_server_side_id('w/')$q$]
	LOOP
		BEGIN
			EXECUTE 'SELECT ' || what;
			result := 'fine';
		EXCEPTION WHEN OTHERS THEN
			result := SQLSTATE;
		END;
		RETURN NEXT;
	END LOOP;
END $$;
SELECT count(*) AS fine FROM draws() WHERE result = 'fine';
SELECT hilo.configure('w_own', node_tag => 'W2'), hilo.configure('w_default', node_tag => 'A');

-- As Citus makes it: one row, and a message for the table when it changes.  A message for nothing else: what CREATE STATISTICS sends.
SET allow_system_table_mods = on;
CREATE TABLE pg_catalog.pg_dist_local_group (groupid int NOT NULL PRIMARY KEY);
RESET allow_system_table_mods;
CREATE FUNCTION send_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	CREATE STATISTICS regress_worker.message ON (groupid + 1) FROM pg_catalog.pg_dist_local_group;
	DROP STATISTICS regress_worker.message;
	RETURN NULL;
END $$;
CREATE TRIGGER cache_invalidate AFTER INSERT OR UPDATE OR DELETE ON pg_catalog.pg_dist_local_group FOR EACH STATEMENT EXECUTE FUNCTION send_message();
SELECT count(*) AS fine FROM draws() WHERE result = 'fine';
INSERT INTO pg_dist_local_group VALUES (0);
SELECT count(*) AS fine FROM draws() WHERE result = 'fine';

-- A Citus worker with the default tag of every node, and with ranges from before: it refuses what the coordinator counts.
\set VERBOSITY terse
SELECT hilo_next_number('w') IS NOT NULL AS range;
UPDATE pg_dist_local_group SET groupid = 3;
SELECT * FROM draws();
SELECT hilo_next_number('w');
SELECT hilo_next('w');
SELECT next_identity('w');
SELECT next_server_side_id('w/');
INSERT INTO docs VALUES (NULL, 'HiLo');
INSERT INTO docs VALUES ('docs|', 'identity');
INSERT INTO docs VALUES ('', 'GUID'), ('docs/tea', 'semantic');
SELECT way FROM docs ORDER BY 1;
-- A sequence is unique on its own server only: refused, also where it is attached; the setting does nothing there.
CREATE SEQUENCE w_sequence;
CREATE TABLE w_serial (id bigint PRIMARY KEY DEFAULT hilo.nextval('w_sequence'));
SELECT hilo.nextval('w_sequence');
\set VERBOSITY terse
INSERT INTO w_serial DEFAULT VALUES;
SET hilo.sequences = on;
EXPLAIN (VERBOSE, COSTS OFF) SELECT nextval('w_sequence');
SELECT nextval('w_sequence');
UPDATE pg_dist_local_group SET groupid = 0;
EXPLAIN (VERBOSE, COSTS OFF) SELECT nextval('w_sequence');
INSERT INTO w_serial DEFAULT VALUES RETURNING id;
UPDATE pg_dist_local_group SET groupid = 3;
RESET hilo.sequences;
-- Functions that do not draw work.
SELECT hilo_last_number('w') IS NOT NULL AS drawn, hilo_format('w', 3);

-- A tag or prefix of a session, role or database, which Citus may have carried here, makes nothing unique.
SET hilo.node_tag = 'W1';
SET hilo.server_prefix = 'West/';
SELECT * FROM draws() WHERE result = 'fine';
RESET hilo.node_tag;
RESET hilo.server_prefix;
SELECT format('ALTER DATABASE %I SET hilo.node_tag = %L', current_database(), 'W1') AS by_database, format('ALTER DATABASE %I RESET hilo.node_tag', current_database()) AS not_any_more \gset
:by_database;
\c
SET search_path = regress_worker, public;
SHOW hilo.node_tag;
SELECT * FROM draws() WHERE result = 'fine';
:not_any_more;
\c
SET search_path = regress_worker, public;

-- It follows the row, and the table: changed, rolled back, gone, of another kind.
BEGIN;
UPDATE pg_dist_local_group SET groupid = 0;
SELECT hilo_next_number('w') IS NOT NULL AS drawn;
ROLLBACK;
SELECT hilo_next_number('w');
UPDATE pg_dist_local_group SET groupid = 0;
SELECT hilo_next_number('w') IS NOT NULL AS drawn;
UPDATE pg_dist_local_group SET groupid = 3;
SELECT hilo_next_number('w');
DELETE FROM pg_dist_local_group;
SELECT hilo_next_number('w') IS NOT NULL AS drawn;
INSERT INTO pg_dist_local_group VALUES (3);
SELECT hilo_next_number('w');
TRUNCATE pg_dist_local_group;
SELECT hilo_next_number('w') IS NOT NULL AS drawn;
INSERT INTO pg_dist_local_group VALUES (3);
SELECT hilo_next_number('w');
SET allow_system_table_mods = on;
ALTER TABLE pg_catalog.pg_dist_local_group RENAME TO pg_dist_former_group;
SELECT hilo_next_number('w') IS NOT NULL AS drawn;
ALTER TABLE pg_catalog.pg_dist_former_group RENAME TO pg_dist_local_group;
SELECT hilo_next_number('w');
ALTER TABLE pg_catalog.pg_dist_local_group RENAME groupid TO other;
SELECT hilo_next_number('w') IS NOT NULL AS drawn;
ALTER TABLE pg_catalog.pg_dist_local_group RENAME other TO groupid;
SELECT hilo_next_number('w');
ALTER TABLE pg_catalog.pg_dist_local_group ALTER groupid TYPE text;
SELECT hilo_next_number('w') IS NOT NULL AS drawn;
DROP TABLE pg_catalog.pg_dist_local_group;
CREATE VIEW pg_catalog.pg_dist_local_group AS SELECT 3 AS groupid;
SELECT hilo_next_number('w') IS NOT NULL AS drawn;
DROP VIEW pg_catalog.pg_dist_local_group;
RESET allow_system_table_mods;
-- A table of that name in another schema does not matter.
CREATE TABLE pg_dist_local_group AS SELECT 3 AS groupid;
SELECT count(*) AS fine FROM draws() WHERE result = 'fine';
