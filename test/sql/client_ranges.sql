-- Promise 1 and the rule by which ranges go back: a client program gets a range sized by its last one, and can give the
-- unused rest back once, while it is the newest claim, and never numbers of another one.

SET hilo.max_range_size = 1048576;
SELECT prefix, low, high, last_size, server_tag, range_at BETWEEN now() AND clock_timestamp() AS is_now, claim > 0 AS has_claim
FROM hilo.next_range('parts');
-- The range is the client's: not cached, not drawn from.
SELECT count(*) FROM hilo.ranges WHERE collection = 'parts';
SELECT hilo_next_number('parts');
SET hilo.node_tag = 'B';
SET hilo.server_prefix = 'NorthServer/';
SELECT prefix, low, high, last_size, server_tag FROM hilo.next_range('parts');
SET hilo.node_tag = '';
SET hilo.identity_parts_separator = '-';
SELECT prefix, low, high, last_size, server_tag FROM hilo.next_range('parts');
RESET hilo.node_tag;
RESET hilo.server_prefix;
RESET hilo.identity_parts_separator;
-- Numbers of claims cannot be guessed from earlier ones.
SELECT count(DISTINCT claim) FROM generate_series(1, 20) i, hilo.next_range('parts', 0 * i);

-- The size, by the last size and its age; T is 30 s.
CREATE FUNCTION size_for(last_batch_size bigint, last_range_at timestamptz) RETURNS bigint
LANGUAGE sql AS $$ SELECT last_size FROM hilo.next_range('sized', last_batch_size, last_range_at) $$;
SELECT age, size_for(0, at) AS "0", size_for(10, at) AS "10", size_for(40, at) AS "40", size_for(1000, at) AS "1000"
FROM (VALUES ('-1 day'), ('0'), ('20 s'), ('40 s'), ('50 s'), ('70 s'), ('1 year'), (NULL)) v(age), LATERAL (SELECT now() - age::interval) w(at);
SELECT at, size_for(0, at::timestamptz) AS "0", size_for(1000, at::timestamptz) AS "1000"
FROM (VALUES ('infinity'), ('-infinity'), ('4714-11-24 00:00:00+00 BC'), ('294276-12-31 23:59:59+00')) v(at);
-- Up to the maximum size, and no further.
SELECT size_for(600000, now()), size_for(1048576, now()), size_for(9223372036854775807, now()), size_for(9223372036854775807, NULL),
	size_for(9223372036854775807, '-infinity');
SET hilo.max_range_size = 100;
SELECT size_for(0, NULL), size_for(60, now()), size_for(1000, NULL), size_for(1000, '-infinity');
-- The smallest is 32, whatever the setting.
SET hilo.debug_range_size = 200;
SELECT size_for(0, NULL), size_for(1, '-infinity');
SET hilo.max_range_size = 1048576;
SELECT size_for(0, NULL), size_for(1, '-infinity');
RESET hilo.debug_range_size;
-- 30 s, whatever the setting of sessions is.
SET hilo.max_range_size = 200;
SELECT size_for(100, now() - interval '20 s');
SET hilo.max_range_size = 1048576;

-- last_max: the counter never answers below what the client has seen.
SELECT low, high FROM hilo.next_range('seen', last_max => 500);
SELECT low, high FROM hilo.next_range('seen', last_max => 100);
SELECT low, high FROM hilo.next_range('seen', last_max => 564);
SELECT low, high FROM hilo.next_range('seen', last_max => 597);
SELECT max FROM hilo.hilo WHERE collection = 'seen';

-- Given back with the number of the claim: once, and the rest comes next.
SELECT low, high, claim FROM hilo.next_range('back') \gset
SELECT :low, :high, hilo.return_range('back', 5, :high, :claim + 1) AS wrong_claim;
SELECT hilo.return_range('back', 5, :high, 0) AS no_claim;
SELECT hilo.return_range('back', 5, :high, -1);
SELECT hilo.return_range('back', 5, :high, NULL);
SELECT hilo.return_range('back', 5, 31, :claim) AS wrong_end, hilo.return_range('elsewhere', 5, :high, :claim) AS unknown;
SELECT max FROM hilo.hilo WHERE collection = 'back';
SELECT hilo.return_range('back', 5, :high, :claim);
SELECT hilo.return_range('back', 5, :high, :claim) AS again, hilo.return_range('back', 5, 5, :claim) AS at_new_max;
-- The claim has ended.
SELECT claim_low, claim FROM hilo.hilo WHERE collection = 'back';
SELECT max FROM hilo.hilo WHERE collection = 'back';
SELECT hilo_next_number('back');
-- All of it, none of it, and one more than all of it.
SELECT low, high, claim FROM hilo.next_range('back') \gset
SELECT :low, :high, hilo.return_range('back', :low - 2, :high, :claim) AS more, hilo.return_range('back', 0, :high, :claim) AS far_more;
SELECT hilo.return_range('back', :low - 1, :high, :claim) AS all_of_it;
SELECT max FROM hilo.hilo WHERE collection = 'back';
SELECT low, high, claim FROM hilo.next_range('back') \gset
SELECT :low, :high, hilo.return_range('back', :high, :high, :claim) AS none_of_it;
SELECT max FROM hilo.hilo WHERE collection = 'back';
-- A client that has rolled its transaction back has given back all the same.
SELECT low, high, claim FROM hilo.next_range('back') \gset
BEGIN;
SELECT :low, :high, hilo.return_range('back', :low, :high, :claim);
ROLLBACK;
SELECT max FROM hilo.hilo WHERE collection = 'back';

-- An end that is handed out again: a late return by the first client must not take it from the second.
SELECT low, high, claim AS first FROM hilo.next_range('fresh') \gset
SELECT :low, :high, hilo.return_range('fresh', 10, :high, :first);
SET hilo.max_range_size = 22;
SELECT low, high, claim FROM hilo.next_range('fresh') \gset
SELECT :low, :high, hilo.return_range('fresh', 20, 32, :first) AS first, hilo.return_range('fresh', 30, 32, :claim) AS second;
SET hilo.max_range_size = 1048576;
SELECT low, high FROM hilo.next_range('fresh');
SELECT max FROM hilo.hilo WHERE collection = 'fresh';

-- Not after another claim, a seed, a drop, a forced seed down to the same end, even where the end is the same.
SELECT claim FROM hilo.next_range('late') \gset
SELECT low, high FROM hilo_reserve('late', 1);
SELECT hilo.return_range('late', 0, 32, :claim), hilo.return_range('late', 0, 33, :claim);
SELECT claim FROM hilo.next_range('late') \gset
SELECT hilo.seed('late', 1), hilo.return_range('late', 40, 65, :claim);
SELECT claim FROM hilo.next_range('late') \gset
SELECT hilo.seed('late', 97, true), hilo.return_range('late', 70, 97, :claim);
SELECT claim FROM hilo.next_range('late') \gset
SELECT hilo.drop('late'), hilo.return_range('late', 100, 129, :claim), hilo.return_range('late', 0, 0, :claim);
SELECT low, high FROM hilo.next_range('late');
SELECT hilo.return_range('late', 10, 32, :claim) AS of_before_the_drop;
SELECT max FROM hilo.hilo WHERE collection = 'late';

-- What a session or a caller holds cannot be given back by others.
SELECT hilo_next_number('held');
SELECT hilo.return_range('held', 0, 32, 0), hilo.return_range('held', 0, 32, 1);
SELECT low, high FROM hilo_reserve('held', 10);
SELECT hilo.return_range('held', 32, 42, 0), hilo.next_hi('held', 100), hilo.return_range('held', 100, 200, 0);
SELECT hilo_next_number('held'), max FROM hilo.hilo WHERE collection = 'held';

-- A client's range has none of the ids of a bound column.
CREATE TABLE bound (id text PRIMARY KEY);
SELECT hilo.bind('bound', 'bound', 'id');
INSERT INTO bound VALUES ('bound/20-A'), ('bound/70-B');
SELECT prefix, low, high, server_tag FROM hilo.next_range('bound', last_max => 10);
SELECT prefix, low, high, server_tag FROM hilo.next_range('bound', last_max => 60);
