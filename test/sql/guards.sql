-- Promise 1: rows of the table hilo cannot be changed by hand; INSERT and COPY raise counters and never lower one.

SELECT hilo_nextval('guarded'), hilo_nextval('guarded_too');
UPDATE hilo SET max = 0;
UPDATE hilo SET max = 0 WHERE false;
DELETE FROM hilo WHERE collection = 'guarded';
TRUNCATE hilo;
INSERT INTO hilo (collection, max) VALUES ('guarded', 5) ON CONFLICT (collection) DO UPDATE SET max = 5;
MERGE INTO hilo USING (VALUES ('guarded')) v(c) ON collection = c WHEN MATCHED THEN UPDATE SET max = 0;
MERGE INTO hilo USING (VALUES ('guarded')) v(c) ON collection = c WHEN MATCHED THEN DELETE;
-- In a subscription's apply worker, or a restore that disables triggers, as well.
SET session_replication_role = replica;
UPDATE hilo SET max = 0;
DELETE FROM hilo;
TRUNCATE hilo;
INSERT INTO hilo (collection, max) VALUES ('guarded', 5), ('replicated', 12);
RESET session_replication_role;
-- The triggers are of no use elsewhere.
CREATE TABLE elsewhere (a int);
CREATE TRIGGER t AFTER INSERT ON elsewhere FOR EACH ROW EXECUTE FUNCTION hilo_guard_rows();
INSERT INTO elsewhere VALUES (1);
CREATE TRIGGER t2 BEFORE UPDATE ON elsewhere FOR EACH STATEMENT EXECUTE FUNCTION hilo_guard_table('hilo_bind');
UPDATE elsewhere SET a = 2;
DROP TABLE elsewhere;
SELECT collection, max FROM hilo WHERE collection IN ('guarded', 'guarded_too', 'replicated') ORDER BY 1;
SELECT hilo_nextval('guarded_too'), hilo_nextval('replicated');

-- Merged by maximum: a new row, a higher one, a lower one, one twice, one that conflicts.
INSERT INTO hilo (collection, max) VALUES ('merged', 100);
SELECT hilo_nextval('merged');
INSERT INTO hilo (collection, max) VALUES ('merged', 1000);
SELECT hilo_nextval('merged');
INSERT INTO hilo (collection, max) VALUES ('merged', 10);
SELECT max FROM hilo WHERE collection = 'merged';
INSERT INTO hilo (collection, max) VALUES ('merged', 2000), ('merged', 3000), ('merged', 500) ON CONFLICT DO NOTHING;
SELECT max FROM hilo WHERE collection = 'merged';
SELECT hilo_nextval('merged');
-- COPY, as pg_dump writes it; the rows of a dump restored twice, and onto counters that have moved on.
COPY hilo (max, max_ever, claim_low, claim_number, changes, incarnation, max_value, claim_end_new, dropped, collection) FROM stdin;
64	96	33	5	9	77	9223372036854775807	f	f	restored
640	640	1	0	3	78	1000	f	f	restored_limit
0	50	1	0	3	79	9223372036854775807	f	t	restored_dropped
1	1	1	0	3	80	9223372036854775807	f	f	merged
\.
COPY hilo (max, collection) FROM stdin;
64	restored
64	restored_limit
\.
SELECT collection, max, max_value, dropped FROM hilo WHERE collection LIKE 'restored%' OR collection = 'merged' ORDER BY 1;
SELECT hilo_nextval('restored'), hilo_nextval('restored_limit'), hilo_nextval('restored_dropped'), hilo_nextval('merged');
INSERT INTO hilo (collection, max) SELECT 'many_' || i, i FROM generate_series(1, 500) i;
SELECT count(*), sum(max) FROM hilo WHERE collection LIKE 'many\_%';
-- An end that was handed out before the dump cannot be returned without its number.
SET hilo.range_size = 22;
INSERT INTO hilo (collection, max, max_ever) VALUES ('ended', 10, 32);
SELECT low, high FROM hilo_next_range('ended');
SELECT hilo_return_range('ended', 20, 32);
RESET hilo.range_size;
-- As it was, whatever becomes of the transaction.
BEGIN;
INSERT INTO hilo (collection, max) VALUES ('rolled_back', 300);
ROLLBACK;
SELECT hilo_nextval('rolled_back');
-- Rows that no counter could have.
INSERT INTO hilo (collection, max) VALUES ('bad', -1);
INSERT INTO hilo (collection, range_size) VALUES ('bad', -1);
INSERT INTO hilo (collection, max_range_size) VALUES ('bad', 2147483648);
INSERT INTO hilo (collection, claims) VALUES ('bad', -1);
INSERT INTO hilo (collection, claim_rate) VALUES ('bad', 'NaN');
INSERT INTO hilo (collection, max, max_value) VALUES ('bad', 8, 7);
INSERT INTO hilo (collection, max, max_value) VALUES ('bad', 0, 0);
INSERT INTO hilo (collection, max) VALUES ('bad', NULL);
INSERT INTO hilo (collection) VALUES (NULL);
INSERT INTO hilo DEFAULT VALUES;
INSERT INTO hilo (collection, max) VALUES ('bad|', 1);
INSERT INTO hilo (collection, max) VALUES ('', 1);
SELECT count(*) FROM hilo WHERE collection LIKE 'bad%' OR collection = '';
SELECT hilo_nextval('bad');

-- A row that only a binding has made is filled like a new one: bindings may be restored first.
CREATE TABLE regress_bound (id text PRIMARY KEY);
SELECT hilo_bind('bound_before', 'regress_bound', 'id');
INSERT INTO hilo (collection, max, max_value, range_size, max_range_size, node_tag, has_node_tag) VALUES ('bound_before', 5, 1000, 4, 64, 'North', true);
SELECT max, max_value, range_size, max_range_size, node_tag, has_node_tag, may_be_bound FROM hilo WHERE collection = 'bound_before';
-- Afterwards only its count is raised.
INSERT INTO hilo (collection, max, max_value) VALUES ('bound_before', 7, 2000);
SELECT max, max_value, range_size, may_be_bound FROM hilo WHERE collection = 'bound_before';
SELECT hilo_unbind('bound_before');
DROP TABLE regress_bound;

-- A name that only the separator set here forbids may come from a server that has another one.
INSERT INTO hilo (collection, max) VALUES ('from_elsewhere/', 9);
SET hilo.identity_parts_separator = ':';
SELECT hilo_next('from_elsewhere/');
RESET hilo.identity_parts_separator;

-- A lock on the row, also one that a savepoint holds, is no obstacle, and stays what it is.
BEGIN;
SELECT max FROM hilo WHERE collection = 'restored' FOR UPDATE;
SELECT low, high FROM hilo_reserve('restored', 10);
SAVEPOINT s;
SELECT max FROM hilo WHERE collection = 'restored' FOR UPDATE;
SELECT low, high FROM hilo_reserve('restored', 10);
ROLLBACK TO s;
SELECT low, high FROM hilo_reserve('restored', 10);
SELECT max FROM hilo WHERE collection = 'restored' FOR SHARE;
SELECT low, high FROM hilo_reserve('restored', 10);
COMMIT;
SELECT low, high FROM hilo_reserve('restored', 10);
SELECT max FROM hilo WHERE collection = 'restored';
-- What programs that rewrite tables while they are in use ask for is not there; CLUSTER and VACUUM FULL keep the counts.
SELECT relreplident, (SELECT count(*) FROM pg_constraint WHERE conrelid = c.oid AND contype = 'p') AS primary_keys,
	(SELECT attnotnull FROM pg_attribute WHERE attrelid = c.oid AND attname = 'collection') AS not_null FROM pg_class c WHERE oid = 'hilo'::regclass;
SELECT tgname, tgenabled FROM pg_trigger WHERE tgrelid = 'hilo'::regclass AND NOT tgisinternal ORDER BY 1;
SELECT c::regclass AS dumped, extcondition[i] AS condition FROM pg_extension, unnest(extconfig) WITH ORDINALITY u(c, i) WHERE extname = 'hilo' ORDER BY i;
VACUUM FULL hilo;
VACUUM (FREEZE) hilo;
SELECT low, high FROM hilo_reserve('restored', 10);
SELECT count(*) = count(DISTINCT collection) AS no_name_twice FROM hilo;
