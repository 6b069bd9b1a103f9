--
-- Leases: what needs no other server
--

-- arguments
SELECT hilo_lease_from(NULL, 'leased_x');
SELECT hilo_lease_from('leased_x', NULL);
SELECT hilo_lease_from('', 'leased_x');
SELECT hilo_lease_from('leased_x', 'no such server');
SELECT hilo_lease_from('leased_x', repeat('s', 64));
SELECT hilo_lease_from('leased_x', 'no such server', 0);
SELECT hilo_lease_from('leased_x', 'no such server', -1);
SELECT hilo_lease_from('leased_x', 'no such server', 9223372036854775807);
SELECT hilo_lease_from('leased_x', '');
SELECT identity_from(NULL, 'leased_x');
SELECT identity_from('leased_x', NULL);
SELECT identity_from('leased_x', 'no such server');
SELECT identity_from('leased_x', '');
SELECT hilo_lease(NULL, 1);
SELECT hilo_lease('leased_x', NULL);
SELECT hilo_lease('leased_x', 0);
SELECT hilo_lease('leased_x', 1, NULL);
SELECT hilo_lease('leased_x', 1, -1);
SELECT identity_lease(NULL);
SELECT identity_lease('leased_x', NULL);
SELECT identity_lease('leased_x', -1);
SELECT hilo_hub_resume(NULL, 1);
SELECT hilo_hub_resume('leased_x', NULL);
SELECT hilo_hub_resume('leased_x', -1);
SELECT identity_resume('leased_x', NULL);
SELECT count(*) FROM hilo WHERE collection = 'leased_x' AND leased;

-- servers that cannot be asked
CREATE FOREIGN DATA WRAPPER leases_test;
CREATE SERVER leases_test FOREIGN DATA WRAPPER leases_test OPTIONS (host '/nonexistent');
\set VERBOSITY sqlstate
SELECT hilo_lease_from('leased_x', 'leases_test');
CREATE USER MAPPING FOR CURRENT_USER SERVER leases_test OPTIONS (user 'nobody', password 'secret');
SELECT hilo_lease_from('leased_x', 'leases_test');
SELECT identity_from('leased_x', 'leases_test');
\set VERBOSITY default
SELECT leased FROM hilo WHERE collection = 'leased_x';
SELECT leased FROM hilo_identity WHERE name = 'leased_x';

-- the rule of a node: what was never drawn is leased, what was is not
SELECT hilo_nextval('counted here');
SET hilo.hub = 'leases_test';
SET hilo.lease_retry = '1h';
SELECT hilo_nextval('counted here');
\set VERBOSITY sqlstate
SELECT hilo_nextval('leased there');
SELECT hilo_reserve('leased there', 5);
SELECT hilo_next('leased there');
\set VERBOSITY default
SELECT collection, server, low, high, next_low, next_high, numbers_left, seconds_left, highest,
    leased_at, last_error IS NOT NULL AS error, last_error_at >= failing_since AS since
FROM hilo_leases;
SELECT hilo_lease('leased there', 10);
SELECT hilo_lease('never seen', 10);
RESET hilo.hub;
RESET hilo.lease_retry;
SELECT hilo_seed('leased there', 10, true);
SELECT hilo_drop('leased there');
SELECT hilo_seed('leased there', 10);
-- it can be left, and be told to count
SELECT hilo_lease_from('leased there', '');
SELECT hilo_lease_from('leased there', '');
SELECT collection, server FROM hilo_leases;
SELECT hilo_nextval('leased there');
SELECT hilo_seed('leased there', 20, true);
SELECT hilo_nextval('leased there');
SELECT collection, server FROM hilo_leases;
SELECT hilo_drop('leased there');

-- a hub: leases lie above all that was claimed, and above floor
SELECT * FROM hilo_lease('given', 10);
SELECT hilo_nextval('given');
SELECT hilo_release('given');
SELECT * FROM hilo_lease('given', 10);
SELECT * FROM hilo_lease('given', 10, 100);
SELECT * FROM hilo_lease('given', 10, 5);
SELECT hilo_seed('given', 1000);
SELECT * FROM hilo_lease('given', 1);
SELECT lease_timeline > 0 AS on_a_timeline, leased, max FROM hilo WHERE collection = 'given';
SELECT hilo_configure('given', max_value => 1003);
SELECT * FROM hilo_lease('given', 10);
SELECT * FROM hilo_lease('given', 10);
SELECT * FROM hilo_lease('given', 10);
SELECT hilo_hub_resume('given', 2000);
SELECT max, max_value FROM hilo WHERE collection = 'given';
SET hilo.max_lease_size = 5;
SELECT * FROM hilo_lease('less', 10);
RESET hilo.max_lease_size;
SELECT identity_lease('given'), identity_lease('given'), identity_lease('given', 10);
SELECT identity_resume('given', 20), identity_lease('given'), next_identity('given');
BEGIN READ ONLY;
SELECT hilo_lease('given', 10);
ROLLBACK;

-- a row of a hub that is restored gives none, until it is told
INSERT INTO hilo (collection, max, max_ever, lease_timeline, incarnation) VALUES ('leased_restored', 50, 50, 1, 1);
SELECT lease_timeline FROM hilo WHERE collection = 'leased_restored';
SELECT hilo_lease('leased_restored', 10);
SELECT hilo_lease('not restored', 10);
SELECT * FROM hilo_lease('less', 5);
SET hilo.hub_auto_resume = on;
SELECT hilo_lease('leased_restored', 10);
RESET hilo.hub_auto_resume;
SELECT hilo_hub_resume('leased_restored', 60);
SELECT * FROM hilo_lease('leased_restored', 10);
SELECT hilo_lease('not restored', 10);
SELECT hilo_hub_resume();
SELECT * FROM hilo_lease('not restored', 10);

-- what is merged from elsewhere: leased wins, leases do not come
INSERT INTO hilo (collection, max, max_ever, leased, hub, hub_role, incarnation) VALUES ('counted here', 70, 70, true, 'leases_test', '', 1);
SELECT max, leased, hub FROM hilo WHERE collection = 'counted here';
INSERT INTO hilo_lease (collection, max, max_value, error) VALUES ('counted here', 0, 100, '');
SELECT count(*) FROM hilo_lease WHERE collection = 'counted here';
INSERT INTO hilo (collection, lease_size) VALUES ('wrong', -1);
INSERT INTO hilo (collection, lease_timeline) VALUES ('wrong', -2);
UPDATE hilo_lease SET max = 0;
DELETE FROM hilo_lease;
TRUNCATE hilo_lease;

-- settings
SET hilo.hub = 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx';
SET hilo.lease_ahead = 101;
SET hilo.lease_size = 0;

SELECT hilo_lease_from('counted here', '');
SELECT hilo_seed('counted here', 0, true);
SELECT count(hilo_drop(c)) FROM unnest('{given,less,restored,not restored,counted here}'::text[]) c;
SELECT drop_identity('given');
DROP USER MAPPING FOR CURRENT_USER SERVER leases_test;
DROP SERVER leases_test;
DROP FOREIGN DATA WRAPPER leases_test;
