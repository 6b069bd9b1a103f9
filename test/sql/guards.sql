-- Promise 1: rows of our tables cannot be changed by hand; INSERT and COPY raise counters and never lower one.

SELECT hilo_next_number('guarded'), hilo_next_number('guarded_too');
UPDATE hilo.hilo SET max = 0;
UPDATE hilo.hilo SET max = 0 WHERE false;
DELETE FROM hilo.hilo WHERE collection = 'guarded';
TRUNCATE hilo.hilo;
INSERT INTO hilo.hilo (collection, max) VALUES ('guarded', 5) ON CONFLICT (collection) DO UPDATE SET max = 5;
-- In a subscription's apply worker, or a restore that disables triggers, as well.
SET session_replication_role = replica;
UPDATE hilo.hilo SET max = 0;
DELETE FROM hilo.hilo;
TRUNCATE hilo.hilo;
INSERT INTO hilo.hilo (collection, max) VALUES ('guarded', 5), ('replicated', 12);
RESET session_replication_role;
-- The trigger function is of no use elsewhere.
CREATE TABLE elsewhere (a int);
CREATE TRIGGER t AFTER INSERT ON elsewhere FOR EACH ROW EXECUTE FUNCTION hilo.guard('hilo.seed', 'hilo.drop');
INSERT INTO elsewhere VALUES (1);
CREATE TRIGGER t2 BEFORE UPDATE ON elsewhere FOR EACH STATEMENT EXECUTE FUNCTION hilo.guard('hilo.bind');
UPDATE elsewhere SET a = 2;
SELECT collection, max FROM hilo.hilo WHERE collection IN ('guarded', 'guarded_too', 'replicated') ORDER BY 1;
SELECT hilo_next_number('guarded_too'), hilo_next_number('replicated');

-- Merged by maximum: a new row, a higher one, a lower one, one twice, one that conflicts.
INSERT INTO hilo.hilo (collection, max) VALUES ('merged', 100);
SELECT hilo_next_number('merged');
INSERT INTO hilo.hilo (collection, max) VALUES ('merged', 1000);
SELECT hilo_next_number('merged');
INSERT INTO hilo.hilo (collection, max) VALUES ('merged', 10);
SELECT max FROM hilo.hilo WHERE collection = 'merged';
INSERT INTO hilo.hilo (collection, max) VALUES ('merged', 2000), ('merged', 3000), ('merged', 500) ON CONFLICT DO NOTHING;
SELECT max FROM hilo.hilo WHERE collection = 'merged';
SELECT hilo_next_number('merged');
-- COPY, as pg_dump writes it; the rows of a dump restored twice, and onto counters that have moved on.
COPY hilo.hilo (max, claim_low, claim, epoch, max_value, flags, collection) FROM stdin;
64	33	5	77	9223372036854775807	0	restored
640	0	0	78	1000	0	restored_limit
0	0	0	79	9223372036854775807	1	restored_dropped
1	0	0	80	9223372036854775807	0	merged
\.
COPY hilo.hilo (max, collection) FROM stdin;
64	restored
64	restored_limit
\.
SELECT collection, max, max_value, flags & 1 AS dropped FROM hilo.hilo WHERE collection LIKE 'restored%' OR collection = 'merged' ORDER BY 1;
SELECT hilo_next_number('restored'), hilo_next_number('restored_limit'), hilo_next_number('restored_dropped'), hilo_next_number('merged');
INSERT INTO hilo.hilo (collection, max) SELECT 'many_' || i, i FROM generate_series(1, 500) i;
SELECT count(*), sum(max) FROM hilo.hilo WHERE collection LIKE 'many\_%';
-- The newest claim of a dump has ended: its client may have got the rest back where the dump was made.
SELECT hilo.return_range('restored', 40, 64, 5), claim, claim_low FROM hilo.hilo WHERE collection = 'restored';
SELECT low, high, claim FROM hilo.next_range('ended') \gset
INSERT INTO hilo.hilo (collection, max, claim_low, claim) VALUES ('ended', 32, 1, :claim);
SELECT hilo.return_range('ended', 20, 32, :claim);
-- As it was, whatever becomes of the transaction.
BEGIN;
INSERT INTO hilo.hilo (collection, max) VALUES ('rolled_back', 300);
ROLLBACK;
SELECT hilo_next_number('rolled_back');
-- A dump has the rows of collections that were dropped after a draw.
SELECT hilo_next_number('dropped_drawn');
SELECT hilo.drop('dropped_drawn');
INSERT INTO hilo.hilo (flags, collection) SELECT flags, 'dropped_there' FROM hilo.hilo WHERE collection = 'dropped_drawn';
INSERT INTO hilo.hilo SELECT * FROM hilo.hilo WHERE collection = 'dropped_drawn';
SELECT collection, max, flags FROM hilo.hilo WHERE collection IN ('dropped_drawn', 'dropped_there') ORDER BY 1;

-- Rows that are not possible for a counter.
SELECT row, told('INSERT INTO hilo.hilo ' || row) FROM unnest(ARRAY[$$(collection, max) VALUES ('bad', -1)$$, $$(collection, range_size) VALUES ('bad', -1)$$,
	$$(collection, max_range_size) VALUES ('bad', 2147483648)$$, $$(collection, flags) VALUES ('bad', -1)$$, $$(collection, flags) VALUES ('bad', 16)$$,
	$$(collection, claim_rate) VALUES ('bad', 'NaN')$$, $$(collection, max, max_value) VALUES ('bad', 8, 7)$$,
	$$(collection, max, max_value) VALUES ('bad', 0, 0)$$, $$(collection) VALUES (NULL)$$, 'DEFAULT VALUES',
	$$(collection, max) VALUES ('ba|d', 1)$$, $$(collection, max) VALUES ('bad||', 1)$$, $$(collection, max) VALUES ('', 1)$$]) row;
SELECT count(*) FROM hilo.hilo WHERE collection LIKE 'ba%d%' OR collection = '';
SELECT hilo_next_number('bad');
-- What an INSERT leaves out is filled in as for a new row; null is refused.
INSERT INTO hilo.hilo (collection) VALUES ('filled');
INSERT INTO hilo.hilo (collection, max) VALUES ('filled_max', 7);
INSERT INTO hilo.hilo (collection, max) VALUES ('filled_null', NULL);
INSERT INTO hilo.hilo (collection, node_tag) VALUES ('filled_null', NULL);
SELECT collection, max, max_value, claim_low, claim, epoch > 0 AS epoch, home <> 0 AS home, claimed_at,
	claim_rate, range_size, max_range_size, flags, node_tag, separator FROM hilo.hilo WHERE collection LIKE 'filled%' ORDER BY collection;
SELECT hilo_next_number('filled'), hilo_next_number('filled_max');

-- Bindings may be restored first: they create nothing.
CREATE TABLE regress_bound (id text PRIMARY KEY);
SELECT hilo.bind('bound_before', 'regress_bound', 'id');
SELECT count(*) FROM hilo.hilo WHERE collection = 'bound_before';
INSERT INTO hilo.hilo (collection, max, max_value, range_size, max_range_size, node_tag, flags) VALUES ('bound_before', 5, 1000, 4, 64, 'North', 2);
SELECT max, max_value, range_size, max_range_size, node_tag, flags FROM hilo.hilo WHERE collection = 'bound_before';
-- Afterwards only its count moves.
INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('bound_before', 7, 2000);
SELECT max, max_value, range_size, flags FROM hilo.hilo WHERE collection = 'bound_before';
SELECT hilo.unbind('bound_before');

-- A name that only the separator set here makes invalid may come from a server with another separator.
INSERT INTO hilo.hilo (collection, max) VALUES ('from_elsewhere/', 9);
SET hilo.identity_parts_separator = ':';
SELECT hilo_next('from_elsewhere/');
RESET hilo.identity_parts_separator;

-- A lock on the row, also one that a savepoint holds, is no obstacle, and stays what it is.
BEGIN;
SELECT max FROM hilo.hilo WHERE collection = 'restored' FOR UPDATE;
SELECT low, high FROM hilo_reserve('restored', 10);
SAVEPOINT s;
SELECT max FROM hilo.hilo WHERE collection = 'restored' FOR UPDATE;
SELECT low, high FROM hilo_reserve('restored', 10);
ROLLBACK TO s;
SELECT low, high FROM hilo_reserve('restored', 10);
SELECT max FROM hilo.hilo WHERE collection = 'restored' FOR SHARE;
SELECT low, high FROM hilo_reserve('restored', 10);
COMMIT;
SELECT low, high FROM hilo_reserve('restored', 10);
SELECT max FROM hilo.hilo WHERE collection = 'restored';
-- The table lacks what programs that rewrite tables while in use require; CLUSTER and VACUUM FULL keep the counts.
SELECT relreplident, (SELECT count(*) FROM pg_constraint WHERE conrelid = c.oid AND contype = 'p') AS primary_keys,
	(SELECT attnotnull FROM pg_attribute WHERE attrelid = c.oid AND attname = 'collection') AS not_null FROM pg_class c WHERE oid = 'hilo.hilo'::regclass;
SELECT tgrelid::regclass, tgname, tgenabled, tgfoid::regproc FROM pg_trigger WHERE tgrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'hilo'::regnamespace) AND NOT tgisinternal ORDER BY tgrelid::regclass::text, tgname;
SELECT c::regclass AS dumped, extcondition[i] AS condition FROM pg_extension, unnest(extconfig) WITH ORDINALITY u(c, i) WHERE extname = 'hilo' ORDER BY i;
VACUUM FULL hilo.hilo;
VACUUM (FREEZE) hilo.hilo;
SELECT low, high FROM hilo_reserve('restored', 10);
SELECT count(*) = count(DISTINCT collection) AS no_name_twice FROM hilo.hilo;

-- Rows of hilo.binding are added as they are, once, in any order: no restore fails, and a row without its table does not count.
INSERT INTO hilo.binding VALUES ('regress_hub', 'nowhere', 'nothing', 'id', 'nobody'), ('regress_hub', 'nowhere', 'nothing', 'id', 'nobody');
INSERT INTO hilo.binding VALUES ('regress_hub', 'nowhere', 'nothing', 'id', 'nobody');
SELECT * FROM hilo.binding;
SELECT hilo_next('regress_hub');
SELECT hilo.unbind('regress_hub', 'hilo.hilo'), hilo.unbind('regress_hub'), hilo.unbind('regress_hub');
-- In a security-restricted operation, too: the worker that applies changes of another server may be in one.
CREATE FUNCTION regress_apply() RETURNS bigint LANGUAGE sql AS $$
	INSERT INTO hilo.hilo (collection, max) VALUES ('regress_applied', 7);
	INSERT INTO hilo.binding VALUES ('regress_applied', 'public', 'regress_applied', 'id', 'nobody');
	SELECT (SELECT count(*) FROM hilo.hilo WHERE collection = 'regress_applied') + (SELECT count(*) FROM hilo.binding WHERE collection = 'regress_applied')
$$;
CREATE MATERIALIZED VIEW regress_applied AS SELECT regress_apply() AS rows;
SELECT rows FROM regress_applied;
