-- Promise 9, on one server: a hub gives leases, each above all that was claimed, and none that could overlap with others.

\set SHOW_CONTEXT never
-- Arguments.
\set VERBOSITY sqlstate
SELECT hilo.lease(NULL, 1);
SELECT hilo.lease('hub_x', NULL);
SELECT hilo.lease('hub_x', -1);
SELECT hilo.lease('hub_x', 1, NULL);
SELECT hilo.lease('hub_x', 1, -1);
SELECT hilo.lease('hub_x', 1, 0, NULL);
SELECT hilo.lease('hub_x', 1, 0, 0, NULL);
SELECT hilo.lease('hub_x', 1, 0, 0, 0, NULL);
SELECT hilo.lease('', 1);
SELECT hilo.lease('hub|x', 1);
SELECT hilo.lease('hub_x||', 1);
SELECT hilo.lease('|', 1);
SELECT hilo.report(NULL, 0, 0, 0, '{}', '{}');
SELECT hilo.report('regress_one', 0, 0, 0, NULL, '{}');
SELECT hilo.report('', 0, 0, 0, '{}', '{}');
SELECT hilo.report('regress_one', 0, 0, 0, '{hub_x}', '{-1}');
SELECT hilo.report('regress_one', 0, 0, 0, '{|}', '{1}');
SELECT hilo.hub_resume(1, NULL);
SELECT hilo.hub_resume(-1);
-- A server that has never been asked is no hub.
SELECT hilo.hub_resume();
\set VERBOSITY default
SELECT count(*) FROM hilo.hilo WHERE collection LIKE 'hub%';
-- A server that does not exist is said first.
SELECT hilo.lease_from('hub_x', 'nowhere');
-- A server from which nothing can be leased, as this one has no mapping for the user.
CREATE FOREIGN DATA WRAPPER hub_wrapper;
CREATE SERVER hub_here FOREIGN DATA WRAPPER hub_wrapper;
\set VERBOSITY terse
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

-- One that asks for more gets as much as a lease may have.
SELECT high - low + 1 AS size FROM hilo.lease('hub_large', 9223372036854775807);
-- A request is committed here only, unless it adds a member, which all standbys that are waited for must know.
SELECT l.low, current_setting('synchronous_commit') FROM hilo.lease('hub_large', 1, member => 'regress_new', started => 5) l;
SELECT l.low, current_setting('synchronous_commit') FROM hilo.lease('hub_large', 1, member => 'regress_new', started => 6) l;
SELECT hilo.hub_forget('regress_new', true);
-- Leases lie above all that was claimed, above max and at_least; with the epoch of the row, and the lineage and the term of this hub.
CREATE FUNCTION lease(collection text, size bigint, at_least bigint DEFAULT 0, OUT low bigint, OUT high bigint, OUT epoch text, OUT lineage text, OUT term bigint, OUT id text) LANGUAGE sql AS $$
	SELECT l.low, l.high, CASE WHEN l.epoch = (SELECT h.epoch FROM hilo.hilo h WHERE h.collection = lease.collection) THEN 'of the row' ELSE l.epoch::text END,
		CASE WHEN l.lineage = o.lineage THEN 'this' ELSE l.lineage::text END, l.term, CASE WHEN l.term_id = o.term_id THEN 'this' ELSE l.term_id::text END
	FROM hilo.lease(collection, size, at_least) l, hilo.hub o WHERE o.hub = '|' $$;
SELECT * FROM lease('hub_given', 10);
SELECT hilo_next_number('hub_given');
SELECT hilo.release('hub_given');
SELECT * FROM lease('hub_given', 10);
SELECT * FROM lease('hub_given', 10, 100);
SELECT * FROM lease('hub_given', 10, 5);
SELECT hilo_next_number('hub_given'), hilo.release('hub_given');
-- An ordinary seed, and what moves a counter: above it, of a new epoch, or of the same.
SELECT epoch AS before FROM hilo.hilo WHERE collection = 'hub_given' \gset
SELECT hilo.seed('hub_given', 1000);
SELECT * FROM lease('hub_given', 1);
SELECT epoch <> :before AS new_epoch, flags & 2 AS leased, max FROM hilo.hilo WHERE collection = 'hub_given';
-- Size 0 claims nothing.
SELECT max AS before FROM hilo.hilo WHERE collection = 'hub_given' \gset
SELECT low, high, epoch > 0 AS epoch, lineage > 0 AS lineage, term FROM hilo.lease('hub_given', 0);
SELECT low, high, epoch > 0 AS epoch, lineage > 0 AS lineage, term FROM hilo.lease('hub_given', 0, 5000);
SELECT max = :before AS same FROM hilo.hilo WHERE collection = 'hub_given';
SELECT low, high, lineage > 0 AS lineage, term FROM hilo.lease('hub_nothing', 0);
SELECT max FROM hilo.hilo WHERE collection = 'hub_nothing';
-- The limit: what is left, then an error.
SELECT hilo.configure('hub_given', max_value => 1003);
SELECT low, high FROM hilo.lease('hub_given', 10);
SELECT low, high FROM hilo.lease('hub_given', 10);
SELECT low, high FROM hilo.lease('hub_given', 10);
SELECT low, high FROM hilo.lease('hub_given', 0);
-- Identities.
SELECT * FROM lease('hub_given|', 1);
SELECT * FROM lease('hub_given|', 3, 7);
SELECT next_identity('hub_given'), seed_identity_for('hub_given', 20), next_identity('hub_given');
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
SELECT low, high FROM hilo.lease('hub_set', 10, 0, 0, 0, 0, 'regress_one');
SELECT low, high FROM hilo.lease('hub_set', 10, 0, 0, 0, 0, 'regress_two');
SELECT low, high FROM hilo.lease('hub_set|', 10, 0, 0, 0, 0, 'regress_two');
SELECT hilo.seed('hub_set', 5, true);
SELECT hilo.hub_forget('regress_one');
SELECT hilo.hub_forget('regress_one', NULL);
SELECT hilo.hub_forget('regress_one', true);
SELECT hilo.seed('hub_set', 5, true);
SELECT seed_identity_for('hub_set', 5, true);
BEGIN;
SELECT hilo.hub_forget('regress_two', true);
SELECT hilo.seed('hub_set', 5, true);
ROLLBACK;
SELECT hilo.hub_forget('regress_two', true);
SELECT hilo.seed('hub_set', 5, true), seed_identity_for('hub_set', 3, true), next_identity('hub_set');
-- Until one of them asks again.
SELECT low, high FROM hilo.lease('hub_set', 10, 0, 0, 0, 0, 'regress_two');
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

-- Isolation: rows of before would say nothing about the term.
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT hilo.lease('hub_more', 10);
ROLLBACK;

-- Terms.  What a member knows about this hub is compared; refusals are rows, and they are committed.
SELECT lineage, term, term_id FROM hilo.hub WHERE hub = '|' \gset
CREATE FUNCTION refused(known_lineage bigint, known_term bigint, known_id bigint, size bigint DEFAULT 10, OUT given boolean, OUT refusal text, OUT hint text, OUT wants_report boolean) LANGUAGE sql AS $$
	SELECT l.low IS NOT NULL, l.refusal, l.hint, l.wants_report FROM hilo.lease('hub_terms', size, 0, known_lineage, known_term, known_id, 'regress_one') l $$;
\x on
SELECT * FROM refused(:lineage, :term, :term_id);
SELECT * FROM refused(:lineage, 0, 0);
-- Another lineage: nothing is stored.
SELECT * FROM refused(12345, 77, 5);
-- A number that there cannot have been.
SELECT * FROM refused(:lineage, 1000000000000, 5);
SELECT seen FROM hilo.hub WHERE hub = '|';
-- A term of another server that was this hub, or its own with another id: the request is refused, others are not.
\set VERBOSITY terse
SELECT * FROM refused(:lineage, :term, 5);
SELECT * FROM refused(:lineage, :term + 3, 5);
\set VERBOSITY default
SELECT seen - :term AS seen, is_open FROM hilo.hub WHERE hub = '|';
SELECT * FROM refused(:lineage, :term, :term_id);
SELECT low > 0 AS given FROM hilo.lease('hub_terms', 10);
SELECT hilo_next_number('hub_counted');
-- Resumed, a hub collects reports in a term above all that was seen, gives no leases, and draws nothing itself.
SELECT is_open, term - :term AS term, missing FROM hilo.hub_resume();
SELECT is_open, term - :term AS term, missing FROM hilo.hub_resume();
SELECT * FROM refused(:lineage, :term, :term_id);
SELECT low, refusal FROM hilo.lease('hub_terms', 10);
SELECT hilo_next_number('hub_never_counted');
SELECT hilo.drop('hub_counted', true), hilo.seed('hub_counted', 5);
SELECT member, collection, reported FROM hilo.members WHERE member <> '' ORDER BY 1, 2;
-- A report counts only in exactly this term.
SELECT term_id AS new_id FROM hilo.hub WHERE hub = '|' \gset
SELECT collection, epoch, refusal, wants_report FROM hilo.report('regress_one', :lineage, :term, :term_id, '{hub_terms}', '{5000}');
\set VERBOSITY terse
SELECT collection, refusal, wants_report FROM hilo.report('regress_one', :lineage, :term + 4, 5, '{hub_terms}', '{5000}');
\set VERBOSITY default
SELECT missing FROM hilo.hub_resume();
-- That was its own number with another id, so a later term collects.
SELECT term AS new_term, term_id AS new_id FROM hilo.hub WHERE hub = '|' \gset
SELECT collection, refusal, wants_report FROM hilo.report('regress_one', :lineage, :new_term, :new_id, '{hub_terms,hub_unknown}', '{5000,70}');
-- A skip cannot use up more than half of the remaining numbers of any counter; refused, it has moved none.
SELECT hilo.configure('hub_terms', max_value => 5999);
SELECT collection, max AS before FROM hilo.hilo WHERE collection = 'hub_counted' \gset
\x off
SELECT hilo.hub_resume(9223372036854775807);
SELECT hilo.hub_resume(500);
SELECT max - :before AS moved FROM hilo.hilo WHERE collection = 'hub_counted';
SELECT hilo.configure('hub_terms', max_value => 9223372036854775807);
\x on
SELECT is_open, missing FROM hilo.hub_resume(100);
SELECT is_open, missing FROM hilo.hub_resume();
SELECT low, high, refusal FROM hilo.lease('hub_terms', 10, 5000, :lineage, :new_term, :new_id, 'regress_one');
SELECT low, high, refusal FROM hilo.lease('hub_unknown', 10);
SELECT hilo_next_number('hub_counted');
-- A report to an open hub says what is set for its collections.
SELECT collection, epoch = (SELECT epoch FROM hilo.hilo WHERE hilo.collection = 'hub_terms') AS epoch, refusal, wants_report FROM hilo.report('regress_one', :lineage, :new_term, :new_id, '{hub_terms}', '{5010}');
\x off

-- Members: what each has, as it says.  Forgotten, it is not waited for.
SELECT low > 0 AS given FROM hilo.lease('hub_members', 10, 50, :lineage, :new_term, :new_id, 'regress_two');
SELECT member, (address IS NULL) = (inet_client_addr() IS NULL) AS address, collection, highest, m.epoch = h.epoch AS epoch, m.term = :new_term AS term, last_seen <= clock_timestamp() AS seen, reported
	FROM hilo.members m JOIN hilo.hilo h USING (collection) WHERE member LIKE 'regress%' ORDER BY member, collection;
SELECT low > 0 AS given FROM hilo.lease('hub_members', 10, 40, :lineage, :new_term, :new_id, 'regress_two');
\set VERBOSITY terse
SELECT refusal IS NOT NULL AS refused FROM hilo.lease('hub_members', 10, 60, :lineage, :new_term + 1, 5, 'regress_two');
\set VERBOSITY default
SELECT missing FROM hilo.hub_resume();
SELECT hilo.hub_forget('regress_nobody');
SELECT hilo.hub_forget(NULL);
SELECT hilo.hub_forget('regress_one', true), hilo.hub_forget('regress_two', true);
SELECT is_open, missing FROM hilo.hub_resume(0);
-- Rows of a dump: this is not the hub that it was, and no member has reported.
INSERT INTO hilo.member (member, collection, highest) VALUES ('regress_three', 'hub_lost', 40);
INSERT INTO hilo.hub (hub, lineage, term, term_id) VALUES ('|', 5, 99, 5);
SELECT is_open FROM hilo.hub WHERE hub = '|';
INSERT INTO hilo.hub (hub, lineage, term, term_id) SELECT '|', lineage, term, term_id FROM hilo.hub WHERE hub = '|';
SELECT is_open FROM hilo.hub WHERE hub = '|';
SELECT low, refusal FROM hilo.lease('hub_members', 10);
SELECT is_open, missing FROM hilo.hub_resume();
SELECT hilo.hub_forget('regress_three');
SELECT is_open, missing FROM hilo.hub_resume(0);
-- Nothing is skipped by a hub that is open, unless it is told to begin a new term.
SELECT hilo.hub_resume(0);
SELECT is_open, missing FROM hilo.hub_resume(0, again => true);
SELECT max AS before FROM hilo.hilo WHERE collection = 'hub_counted' \gset
SET client_min_messages = warning;
SELECT is_open, missing FROM hilo.hub_resume(again => true);
RESET client_min_messages;
SELECT max - :before AS skipped FROM hilo.hilo WHERE collection = 'hub_counted';
SELECT low > 0 AS given FROM hilo.lease('hub_members', 10);
DROP FUNCTION refused;

-- Most leases take no transaction id, and write no row: the member's row says all already.
SELECT lineage, term, term_id FROM hilo.hub WHERE hub = '|' \gset
SELECT low, high FROM hilo.lease('hub_usual', 10, 0, :lineage, :term, :term_id, 'regress_one', 1);
SELECT ctid AS place, xmin AS writer FROM hilo.member WHERE collection = 'hub_usual' \gset
SELECT xmin AS hub_writer FROM hilo.hub WHERE hub = '|' \gset
BEGIN;
SELECT low, high FROM hilo.lease('hub_usual', 10, 10, :lineage, :term, :term_id, 'regress_one', 1);
SELECT low, high FROM hilo.lease('hub_usual', 10, 100, :lineage, :term, :term_id, 'regress_one', 1);
SELECT pg_current_xact_id_if_assigned() IS NULL AS without_id;
COMMIT;
SELECT m.ctid = :'place' AND m.xmin = :'writer' AS same_member, h.xmin = :'hub_writer' AS same_hub FROM hilo.member m, hilo.hub h WHERE m.collection = 'hub_usual' AND h.hub = '|';
-- What is new in it is written: when the member was started, what it knows, a new epoch, another member.
SELECT low, high FROM hilo.lease('hub_usual', 10, 110, :lineage, :term, :term_id, 'regress_one', 2);
SELECT xmin <> :'writer' AS written, started, highest FROM hilo.member WHERE collection = 'hub_usual';
SELECT hilo.hub_forget('regress_one', true) > 0 AS forgotten;
SELECT low, high FROM hilo.lease('hub_usual', 10, 120, :lineage, 0, 0, 'regress_one', 2);
SELECT low, high FROM hilo.lease('hub_usual', 10, 130, :lineage, :term, :term_id, 'regress_one', 2);
SELECT known_term = :term AS known FROM hilo.member WHERE collection = 'hub_usual';
SELECT hilo.seed('hub_usual', 500);
SELECT low, high FROM hilo.lease('hub_usual', 10, 140, :lineage, :term, :term_id, 'regress_one', 2);
SELECT m.epoch = c.epoch AS of_the_row FROM hilo.member m JOIN hilo.hilo c USING (collection) WHERE collection = 'hub_usual';
SELECT low, high FROM hilo.lease('hub_usual', 10, 0, :lineage, :term, :term_id, 'regress_two', 2);
SELECT count(*) FROM hilo.member WHERE collection = 'hub_usual';
SELECT hilo.hub_forget('regress_one', true) > 0 AND hilo.hub_forget('regress_two', true) > 0 AS forgotten;

-- A member that leaves while this hub waits for reports is off the list, if all that it had was given here.
SELECT low > 0 AS given FROM hilo.lease('hub_left', 10, 0, :lineage, :term, :term_id, 'regress_one');
SELECT low > 0 AS given FROM hilo.lease('hub_left', 10, 0, :lineage, :term, :term_id, 'regress_two');
SELECT is_open, missing FROM hilo.hub_resume(again => true);
SELECT term, term_id FROM hilo.hub WHERE hub = '|' \gset
SELECT collection, refusal FROM hilo.report('regress_one', :lineage, :term, :term_id, '{hub_left}', '{10}', '{hub_left}');
SELECT collection, refusal FROM hilo.report('regress_two', :lineage, :term, :term_id, '{hub_left,hub_gone}', '{20,30}', '{hub_left,hub_gone}');
SELECT member, collection, highest FROM hilo.member WHERE member LIKE 'regress%' ORDER BY 1, 2;
-- A resume that moves a counter ends all leases and ranges; where it has lost nothing, they stay.
SELECT low > 0 AS given FROM hilo.lease('hub_left', 10, 0, :lineage, :term, :term_id, 'regress_one');
SELECT refusal IS NULL AS reported FROM hilo.report('regress_one', :lineage, :term, :term_id, '{hub_left}', '{10}');
SELECT epoch AS before FROM hilo.hilo WHERE collection = 'hub_left' \gset
SELECT is_open, missing FROM hilo.hub_resume(0);
SELECT epoch = :before AS same FROM hilo.hilo WHERE collection = 'hub_left';
SELECT is_open FROM hilo.hub_resume(again => true);
SELECT term, term_id FROM hilo.hub WHERE hub = '|' \gset
SELECT count(refusal) FROM (VALUES ('regress_one'), ('regress_two')) m (name), hilo.report(name, :lineage, :term, :term_id, '{hub_left}', '{10}');
SELECT is_open, missing FROM hilo.hub_resume(1);
SELECT epoch = :before AS same FROM hilo.hilo WHERE collection = 'hub_left';
SELECT hilo.hub_forget('regress_one', true) > 0 AND hilo.hub_forget('regress_two', true) > 0 AS forgotten;

-- Names of members.
SELECT hilo.lease('hub_fresh', 1, member => NULL);
SELECT hilo.lease('hub_fresh', 1, member => 'a|b');
SELECT hilo.lease('hub_fresh', 1, member => repeat('m', 256));
UPDATE hilo.member SET highest = 0;
DELETE FROM hilo.member;
-- A member's report cannot use up more than half of the remaining numbers.
SELECT hilo.lease('hub_fresh', 1, 9000000000000000000, member => 'regress_liar');
SELECT count(*) FROM hilo.members WHERE member = 'regress_liar';
-- On a server that leases nothing.
SELECT hilo.lease_report();

-- Rights: they have to be granted.
CREATE ROLE regress_hilo_member;
SET ROLE regress_hilo_member;
\set VERBOSITY sqlstate
SELECT hilo.lease('hub_fresh', 10);
SELECT hilo.lease_from('hub_fresh', 'nowhere');
SELECT hilo.report('regress_one', 0, 0, 0, '{}', '{}');
SELECT hilo.hub_resume();
SELECT hilo.hub_forget('');
\set VERBOSITY default
RESET ROLE;
GRANT EXECUTE ON FUNCTION hilo.lease TO regress_hilo_member;
SET ROLE regress_hilo_member;
SELECT low > 0 AS given FROM hilo.lease('hub_fresh', 10);
RESET ROLE;
REVOKE ALL ON FUNCTION hilo.lease FROM regress_hilo_member;
DROP ROLE regress_hilo_member;

SELECT count(hilo.drop(collection, true)) > 0 AS dropped FROM hilo.hilo WHERE collection LIKE 'hub%' AND flags & 1 = 0;
DROP FUNCTION lease;
