-- The view hilo.status: the state of each collection, and how long its numbers will last.

SET hilo.max_range_size = 1048576;
SET hilo.debug_range_size = 10;

-- Claims of every kind count; numbers that went back are subtracted from the rate; what a session left is in the pool.
SELECT hilo_next_number('stat');
SELECT collection, max, max_value, share_used, range_size, max_range_size, node_tag, separator, pooled FROM hilo.status WHERE collection = 'stat';
SELECT last_claim BETWEEN now() - interval '1 minute' AND clock_timestamp() AS just_now, numbers_per_hour, time_left FROM hilo.status WHERE collection = 'stat';
SELECT max, numbers_per_hour > 0 AS rate FROM hilo.status WHERE collection = 'stat';
SELECT low, high FROM hilo_reserve('stat', 5);
SELECT hilo.next_hi('stat', 10);
SELECT low, high, claim FROM hilo.next_range('stat') \gset
SELECT :low AS low, :high AS high, hilo.return_range('stat', :low, :high, :claim);
SELECT max FROM hilo.status WHERE collection = 'stat';
-- A rollback changes nothing about that.
BEGIN;
SELECT low, high FROM hilo_reserve('stat', 5);
ROLLBACK;
SELECT max FROM hilo.status WHERE collection = 'stat';
-- Seeds are no claims.
SELECT numbers_per_hour AS before FROM hilo.status WHERE collection = 'stat' \gset
SELECT hilo.seed('stat', 1000);
SELECT max, numbers_per_hour <= :before AS no_more FROM hilo.status WHERE collection = 'stat';

-- Never claimed; created by other means.
SELECT hilo.seed('stat_seeded', 50), hilo.configure('stat_configured', range_size => 3, max_range_size => 6, node_tag => 'B', max_value => 100);
SELECT collection, max, max_value, share_used, last_claim, numbers_per_hour, time_left, range_size, max_range_size, node_tag FROM hilo.status WHERE collection IN ('stat_seeded', 'stat_configured') ORDER BY 1;
SELECT hilo.configure('stat_configured', node_tag => '');
SELECT node_tag = '' AS none FROM hilo.status WHERE collection = 'stat_configured';

-- Share and time left: the numbers left divided by the rate, that of about the last hour.
SELECT hilo.configure('stat_left', max_value => 100000);
SELECT low, high FROM hilo_reserve('stat_left', 1000);
SELECT share_used, numbers_per_hour BETWEEN 990 AND 1000 AS rate, time_left BETWEEN interval '99 hours' AND interval '100 hours' AS about_99000_by_1000 FROM hilo.status WHERE collection = 'stat_left';
SELECT hilo.seed('stat_left', 100000);
SELECT share_used, time_left FROM hilo.status WHERE collection = 'stat_left';
-- Longer than ten thousand years is null.
SELECT low, high FROM hilo_reserve('stat_long', 1);
SELECT numbers_per_hour > 0 AS rate, time_left IS NULL AS long FROM hilo.status WHERE collection = 'stat_long';
-- An older claim counts for less: by a factor of e per hour.
COPY hilo.hilo (max, claim_rate, claimed_at, max_value, collection) FROM stdin WITH (DELIMITER ',');
720,100,-infinity,1000000,stat_old
\.
INSERT INTO hilo.hilo (max, claim_rate, claimed_at, collection, max_value)
	VALUES (720, 1000, now() - interval '1 hour', 'stat_hour', 1000000),
	(720, 1000, now() + interval '1 hour', 'stat_future', 1000000);
SELECT collection, numbers_per_hour BETWEEN 366 AND 368 AS e_th_part, numbers_per_hour BETWEEN 999 AND 1000 AS whole, numbers_per_hour = 0 AS none, time_left IS NULL AS long
	FROM hilo.status WHERE collection IN ('stat_old', 'stat_hour', 'stat_future') ORDER BY 1;

\set VERBOSITY terse
-- Server-side ids are a row of it; identities are not, nor what was dropped.
SELECT next_server_side_id('stat/') IS NOT NULL AS drawn, next_identity('stat_identity');
SELECT collection, last_claim IS NOT NULL AS claimed FROM hilo.status WHERE collection IN ('|', 'stat_identity', 'stat_identity|');
SELECT hilo.drop('stat_long');
SELECT count(*) FROM hilo.status WHERE collection = 'stat_long';
SELECT hilo_next_number('stat_long');
SELECT max FROM hilo.status WHERE collection = 'stat_long';
-- One row for each existing collection.
SELECT (SELECT count(*) FROM hilo.status) = (SELECT count(*) FROM hilo.hilo WHERE flags & 1 = 0 AND collection NOT LIKE '_%|') AS all_of_them;
-- The rest of the range of a connection that has ended.
SELECT hilo_next_number('stat_pooled');
SELECT pooled FROM hilo.status WHERE collection = 'stat_pooled';
\c -
SET hilo.max_range_size = 1048576;
SET hilo.debug_range_size = 10;
\set VERBOSITY terse
DO $$ BEGIN WHILE EXISTS (SELECT FROM hilo.status WHERE collection = 'stat_pooled' AND pooled = 0) LOOP PERFORM pg_sleep(0.01); END LOOP; END $$;
SELECT max, pooled FROM hilo.status WHERE collection = 'stat_pooled';
SELECT hilo_next_number('stat_pooled');
SELECT max, pooled FROM hilo.status WHERE collection = 'stat_pooled';
-- It is read-only, and can be read in read-only transactions.
BEGIN READ ONLY;
SELECT count(*) > 0 AS readable FROM hilo.status;
COMMIT;
UPDATE hilo.status SET max = 0;
INSERT INTO hilo.status (collection) VALUES ('x');

-- The right to read it.
CREATE ROLE regress_hilo_monitor IN ROLE pg_monitor;
CREATE ROLE regress_hilo_user;
SET ROLE regress_hilo_monitor;
SELECT count(*) > 0 AS readable FROM hilo.status;
SELECT count(*) > 0 AS readable FROM hilo._counters();
SELECT count(*) FROM hilo.hilo;
SET ROLE regress_hilo_user;
SELECT count(*) FROM hilo.status;
SELECT count(*) FROM hilo._counters();
RESET ROLE;
DROP ROLE regress_hilo_monitor, regress_hilo_user;
-- A rate that has faded long ago.
INSERT INTO hilo.hilo (collection, max, claimed_at, claim_rate) VALUES ('stat_old', 5, now() - interval '60 days', 1000);
SELECT numbers_per_hour, time_left FROM hilo.status WHERE collection = 'stat_old';
