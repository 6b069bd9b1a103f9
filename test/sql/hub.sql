-- What of leases needs no preloaded server: a hub gives them, each above all that was claimed, and none that could overlap with others.

-- Arguments.
\set VERBOSITY sqlstate
SELECT hilo.lease(NULL, 1);
SELECT hilo.lease('hub_x', NULL);
SELECT hilo.lease('hub_x', -1);
SELECT hilo.lease('hub_x', 1, NULL);
SELECT hilo.lease('hub_x', 1, -1);
SELECT hilo.lease('hub_x', 1, 0, NULL);
SELECT hilo.lease('hub_x', 1, 0, 0, NULL);
SELECT hilo.lease('', 1);
SELECT hilo.lease('hub|x', 1);
SELECT hilo.lease('hub_x||', 1);
SELECT hilo.lease('|', 1);
SELECT hilo.hub_resume(NULL, 1);
SELECT hilo.hub_resume('hub_x', NULL);
SELECT hilo.hub_resume('hub_x', -1);
SELECT hilo.hub_resume('|', 1);
\set VERBOSITY default
SELECT count(*) FROM hilo.hilo WHERE collection LIKE 'hub%';
-- A server that does not exist is said first.
SELECT hilo.lease_from('hub_x', 'nowhere');
-- A member needs the library preloaded; without it, the settings of leases do not exist.
CREATE FOREIGN DATA WRAPPER hub_wrapper;
CREATE SERVER hub_here FOREIGN DATA WRAPPER hub_wrapper;
SELECT hilo.lease_from('hub_x', 'hub_here');
\set VERBOSITY sqlstate
SELECT hilo.lease_from('hub_x', 'nowhere');
SELECT hilo.lease_from('hub_x', 'hub_here', 10);
SELECT hilo.lease_from('hub_x|', 'hub_here');
SELECT hilo.lease_from('hub_x', NULL);
\set VERBOSITY default
DROP FOREIGN DATA WRAPPER hub_wrapper CASCADE;
SELECT name FROM pg_settings WHERE name LIKE 'hilo.%' ORDER BY name;
SELECT count(*) FROM hilo.leases;
SELECT count(*) FROM hilo.pool;

-- One that asks for more gets as much as hilo.max_lease_size allows.
SELECT high - low + 1 AS size FROM hilo.lease('hub_large', 9223372036854775807);
-- Leases lie above all that was claimed, above max and at_least; with the epoch of the row, and this server's own identity.
CREATE FUNCTION lease(collection text, size bigint, at_least bigint DEFAULT 0, OUT low bigint, OUT high bigint, OUT epoch text, OUT system text, OUT timeline bigint) LANGUAGE sql AS $$
	SELECT l.low, l.high, CASE WHEN l.epoch = (SELECT h.epoch FROM hilo.hilo h WHERE h.collection = lease.collection) THEN 'of the row' ELSE l.epoch::text END,
		CASE WHEN l.system_identifier = (SELECT c.system_identifier FROM pg_control_system() c) THEN 'this' ELSE l.system_identifier::text END, l.timeline
	FROM hilo.lease(collection, size, at_least) l $$;
SELECT * FROM lease('hub_given', 10);
SELECT hilo_next_number('hub_given');
SELECT hilo.release('hub_given');
SELECT * FROM lease('hub_given', 10);
SELECT * FROM lease('hub_given', 10, 100);
SELECT * FROM lease('hub_given', 10, 5);
SELECT hilo_next_number('hub_given'), hilo.release('hub_given');
-- An ordinary seed, and what advances: above it, of a new epoch, or of the same.
SELECT epoch AS before FROM hilo.hilo WHERE collection = 'hub_given' \gset
SELECT hilo.seed('hub_given', 1000);
SELECT * FROM lease('hub_given', 1);
SELECT epoch <> :before AS new_epoch, timeline, flags & 2 AS leased, max FROM hilo.hilo WHERE collection = 'hub_given';
-- Size 0 claims nothing.
SELECT max AS before FROM hilo.hilo WHERE collection = 'hub_given' \gset
SELECT low, high, epoch > 0 AS epoch, system_identifier > 0 AS system, timeline FROM hilo.lease('hub_given', 0);
SELECT low, high, epoch > 0 AS epoch, system_identifier > 0 AS system, timeline FROM hilo.lease('hub_given', 0, 5000);
SELECT max = :before AS same FROM hilo.hilo WHERE collection = 'hub_given';
SELECT low, high, system_identifier > 0 AS system, timeline FROM hilo.lease('hub_nothing', 0);
SELECT max, timeline FROM hilo.hilo WHERE collection = 'hub_nothing';
-- The limit: what is left, then an error.
SELECT hilo.configure('hub_given', max_value => 1003);
SELECT low, high FROM hilo.lease('hub_given', 10);
SELECT low, high FROM hilo.lease('hub_given', 10);
SELECT low, high FROM hilo.lease('hub_given', 10);
SELECT low, high FROM hilo.lease('hub_given', 0);
-- Identities.
SELECT * FROM lease('hub_given|', 1);
SELECT * FROM lease('hub_given|', 3, 7);
SELECT next_identity('hub_given'), hilo.hub_resume('hub_given|', 20), next_identity('hub_given');
SELECT low, high FROM hilo.lease('hub_given|', 1);
-- A lease is a claim: not rolled back, refused where a claim is.
BEGIN;
SELECT low, high FROM hilo.lease('hub_more', 10);
ROLLBACK;
SELECT low, high FROM hilo.lease('hub_more', 10);
BEGIN READ ONLY;
SELECT hilo.lease('hub_more', 10);
ROLLBACK;
CREATE TABLE hub_bound (id bigint PRIMARY KEY);
SELECT hilo.bind('hub_more', 'hub_bound', 'id');
SELECT low, high FROM hilo.lease('hub_more', 10);
SELECT hilo.unbind('hub_more');
DROP TABLE hub_bound;
SET hilo.auto_create = off;
SELECT low, high FROM hilo.lease('hub_made', 10);
RESET hilo.auto_create;

-- Members hold numbers of it: dropped only with force, and not set by force.
SELECT hilo.drop('hub_more');
\set VERBOSITY sqlstate
SELECT hilo.drop('hub_more', false);
SELECT hilo.seed('hub_more', 5, true);
SELECT hilo.seed('hub_more', 500000, true);
SELECT seed_identity_for('hub_given', 5, true);
SELECT hilo.seed('hub_given|', 5, true);
SELECT hilo.drop('hub_given|');
SELECT hilo.drop('hub_given|');
\set VERBOSITY default
SELECT hilo.seed('hub_more', 5, true);
SELECT hilo.drop('hub_given|');
SELECT hilo.seed('hub_more', 50), hilo_next_number('hub_more');
SELECT hilo.drop('hub_more', NULL);
SELECT hilo.drop('hub_more', true), hilo.drop('hub_more', true), hilo.drop('hub_never', true), hilo.drop('hub_given|', true), hilo.drop('hub_given|', force => true);
-- Dropped, it has given none.
SELECT hilo_next_number('hub_more'), hilo.seed('hub_more', 5, true), next_identity('hub_given'), seed_identity_for('hub_given', 5, true);
SELECT hilo.drop('hub_more'), hilo.drop('hub_given|');
-- Set by force, it may be once all its members are forgotten, which the error names.
SELECT low, high FROM hilo.lease('hub_set', 10, 0, 0, 0, 'regress_one');
SELECT low, high FROM hilo.lease('hub_set', 10, 0, 0, 0, 'regress_two');
SELECT low, high FROM hilo.lease('hub_set|', 10, 0, 0, 0, 'regress_two');
SELECT hilo.seed('hub_set', 5, true);
SELECT hilo.hub_forget('regress_one');
SELECT hilo.seed('hub_set', 5, true);
SELECT seed_identity_for('hub_set', 5, true);
SELECT hilo.hub_forget('regress_two');
SELECT hilo.seed('hub_set', 5, true), seed_identity_for('hub_set', 3, true), next_identity('hub_set');
-- Until one of them asks again.
SELECT low, high FROM hilo.lease('hub_set', 10, 0, 0, 0, 'regress_two');
\set VERBOSITY sqlstate
SELECT hilo.seed('hub_set', 5, true);
SELECT hilo.drop('hub_set');
SELECT seed_identity_for('hub_set', 2, true);
\set VERBOSITY default
-- A seed upwards, and a drop by force, name those that do not know of it.
SELECT hilo.seed('hub_set', 50);
SELECT hilo.drop('hub_set', true), hilo.drop('hub_set|', true);
SELECT hilo.seed('hub_set', 5, true), hilo.drop('hub_set');
-- Nor has one that was only asked with size 0.
SELECT hilo_next_number('hub_nothing'), hilo.drop('hub_nothing');

-- A row that was restored: its leases were given elsewhere, or before, so none are given before that is resumed; nor of a collection of which none was given
-- yet, as it could be one that did not get into the dump.  The others go on.
SELECT low, high FROM hilo.lease('hub_goes_on', 10);
INSERT INTO hilo.hilo (collection, max, max_ever, timeline, epoch) VALUES ('hub_restored', 50, 50, 1, 1);
SELECT timeline FROM hilo.hilo WHERE collection = 'hub_restored';
SELECT low, high FROM hilo.lease('hub_restored', 10);
SELECT low, high FROM hilo.lease('hub_restored', 0);
SELECT hilo_next_number('hub_restored');
SELECT low, high FROM hilo.lease('hub_goes_on', 10);
\set VERBOSITY sqlstate
SELECT low, high FROM hilo.lease('hub_fresh', 10);
\set VERBOSITY default
SELECT hilo.hub_resume('hub_restored', 600);
SELECT low, high FROM hilo.lease('hub_restored', 10);
-- Merged into a row that has given leases on.
INSERT INTO hilo.hilo (collection, max, max_ever, timeline, epoch) VALUES ('hub_restored', 700, 700, 3, 1);
SELECT low, high FROM hilo.lease('hub_restored', 10);
SELECT hilo.hub_resume() > 0 AS resumed;
SELECT low > 700 AS above FROM hilo.lease('hub_restored', 10);

-- A member that has seen a later timeline of this very server: it was left behind, and gives no leases of anything from then on.
SELECT system_identifier AS system, (SELECT timeline_id FROM pg_control_checkpoint()) AS timeline FROM pg_control_system() \gset
SELECT low, high FROM hilo.lease('hub_fresh', 10, 0, :system, :timeline);
-- A member that has seen an earlier timeline, or none, changes nothing; nor does one that knows another server, which gets no lease until it is told to ask this one.
SELECT low, high FROM hilo.lease('hub_fresh', 10, 0, :system, 0);
\set VERBOSITY sqlstate
SELECT low, high FROM hilo.lease('hub_fresh', 10, 0, 12345, :timeline + 5);
\set VERBOSITY default
SELECT low, high FROM hilo.lease('hub_fresh', 10, 0, 0, :timeline + 5);
SELECT low, high FROM hilo.lease('hub_fresh', 10, 0, :system, :timeline);
\set VERBOSITY terse
SELECT hilo.lease('hub_fresh', 10, 0, :system, :timeline + 1);
\set VERBOSITY default
\set VERBOSITY sqlstate
SELECT hilo.lease('hub_fresh', 10, 0, :system, :timeline);
SELECT hilo.lease('hub_fresh', 10);
SELECT hilo.lease('hub_fresh', 0);
SELECT hilo.lease('hub_restored', 10);
SELECT hilo.lease('hub_goes_on', 10);
SELECT hilo.lease('hub_fresh|', 10);
SELECT hilo.lease('hub_fresher', 10);
\set VERBOSITY default
SELECT timeline FROM hilo.hub WHERE hub = '|';
-- What it counts for itself is not affected.
SELECT hilo_next_number('hub_fresh') > 0 AS drawn, hilo_next_number('hub_counted');
-- Even if the transaction that was told is rolled back.
SELECT hilo.hub_resume() > 0 AS resumed;
SELECT low > 0 AS given FROM hilo.lease('hub_fresh', 10);
BEGIN;
\set VERBOSITY terse
SELECT hilo.lease('hub_fresh', 0, 0, :system, :timeline + 3, 'regress_member');
\set VERBOSITY default
ROLLBACK;
\set VERBOSITY sqlstate
SELECT hilo.lease('hub_fresh', 10);
\set VERBOSITY default
-- One by name, then all.
SELECT hilo.hub_resume('hub_fresh', 5000);
SELECT low > 5000 AS given FROM hilo.lease('hub_fresh', 10);
SELECT hilo.hub_resume() >= 0 AS resumed;
SELECT low > 0 AS given FROM hilo.lease('hub_fresher', 10);
SELECT timeline = :timeline AS this FROM hilo.hub WHERE hub = '|';

-- What members report is noted, even if they get no lease.  A member that has not reported keeps the hub from resuming.
SELECT count(*) FROM hilo.members;
SELECT low > 0 AS given FROM hilo.lease('hub_members', 10, 70, 0, 0, 'regress_one');
SELECT low > 0 AS given FROM hilo.lease('hub_members', 10, 50, 0, 0, 'regress_two');
SELECT member, (address IS NULL) = (inet_client_addr() IS NULL) AS address, highest, m.epoch = h.epoch AS epoch, m.timeline, last_seen <= clock_timestamp() AS seen, reported FROM hilo.members m JOIN hilo.hilo h USING (collection) ORDER BY member;
INSERT INTO hilo.hilo (collection, max, max_ever, timeline, epoch) VALUES ('hub_members', 80, 80, 1, 1);
INSERT INTO hilo.member (member, highest, timeline, epoch) VALUES ('regress_two|hub_members', 90, 1, 1), ('regress_three|hub_lost', 40, 1, 1);
SELECT member, collection, highest, reported FROM hilo.members ORDER BY 1, 2;
-- While it gives none, it is not known which members there are.
\set VERBOSITY sqlstate
SELECT hilo.seed('hub_members', 5, true);
\set VERBOSITY default
\set SHOW_CONTEXT never
DO $$ BEGIN
	PERFORM hilo.hub_resume('hub_members', 0);
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RAISE NOTICE '%', SQLERRM;
END $$;
SELECT low, high FROM hilo.lease('hub_members', 0, 95, :system, 1, 'regress_two');
SELECT low, high FROM hilo.lease('hub_members', 0, 75, :system, 1, 'regress_one');
SELECT low, high FROM hilo.lease('hub_members', 0, 5000, 0, 0, 'regress_four');
SELECT hilo.hub_resume('hub_members', 0);
SELECT low, high FROM hilo.lease('hub_members', 10);
DO $$ BEGIN
	PERFORM hilo.hub_resume();
EXCEPTION WHEN object_not_in_prerequisite_state THEN
	RAISE NOTICE '%', SQLERRM;
END $$;
SELECT hilo.hub_forget('regress_nobody');
SELECT hilo.hub_forget(NULL);
SELECT hilo.hub_forget('regress_two');
SELECT hilo.hub_resume(NULL);
SELECT hilo.hub_resume(force => true) > 0 AS resumed;
SELECT member FROM hilo.members ORDER BY 1;
SELECT low, high FROM hilo.lease('hub_lost', 10);
-- A seed reaches members with their next request; a drop by force forgets them.
SELECT hilo.seed('hub_members', 500);
SELECT low FROM hilo.lease('hub_members', 10, 75, :system, 1, 'regress_one');
SELECT hilo.seed('hub_members', 600, false);
SELECT hilo.drop('hub_members');
SELECT hilo.drop('hub_members', true);
SELECT count(*) FROM hilo.members WHERE collection = 'hub_members';
-- A name that is not counted here.
SELECT hilo.hub_resume('hub_mispelt', 10);
SELECT hilo.hub_resume('hub_mispelt', 10, NULL);
SELECT hilo.hub_resume('hub_mispelt', 10, true);
-- Names of members.
SELECT hilo.lease('hub_fresh', 1, member => NULL);
SELECT hilo.lease('hub_fresh', 1, member => 'a|b');
SELECT hilo.lease('hub_fresh', 1, member => repeat('m', 256));
INSERT INTO hilo.member (member) VALUES ('regress_no_bar');
INSERT INTO hilo.member (member, highest) VALUES ('regress_one|x', -1);
UPDATE hilo.member SET highest = 0;
DELETE FROM hilo.member;
-- A member's report cannot use up more than half of the remaining numbers.
SELECT hilo.lease('hub_fresh', 1, 9000000000000000000, member => 'regress_liar');
SELECT count(*) FROM hilo.members WHERE member = 'regress_liar';
-- On a server that leases nothing.
SELECT hilo.lease_report();
-- It waits for synchronous standbys, whatever the role does.
SELECT proname, pronargs, proconfig FROM pg_proc WHERE proconfig::text LIKE '%synchronous%' AND pronamespace = 'hilo'::regnamespace ORDER BY 1, 2;

-- Rights: they have to be granted.
CREATE ROLE regress_hilo_member;
SET ROLE regress_hilo_member;
\set VERBOSITY sqlstate
SELECT hilo.lease('hub_fresh', 10);
SELECT hilo.lease_from('hub_fresh', 'nowhere');
SELECT hilo.hub_resume('hub_fresh', 10);
SELECT hilo.hub_resume();
\set VERBOSITY default
RESET ROLE;
GRANT EXECUTE ON FUNCTION hilo.lease(text, bigint, bigint, bigint, bigint, text) TO regress_hilo_member;
SET ROLE regress_hilo_member;
SELECT low > 0 AS given FROM hilo.lease('hub_fresh', 10);
RESET ROLE;
REVOKE ALL ON FUNCTION hilo.lease(text, bigint, bigint, bigint, bigint, text) FROM regress_hilo_member;
DROP ROLE regress_hilo_member;

SELECT count(hilo.drop(collection, true)) > 0 AS dropped FROM hilo.hilo WHERE collection LIKE 'hub%' AND flags & 1 = 0;
DROP FUNCTION lease;
