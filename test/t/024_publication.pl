# Each node counts for itself: a FOR ALL TABLES publication brings the counters along once, merged by maximum, and is not disturbed by them afterwards.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# Long enough for a table that is copied twice, not for one that never is.
$PostgreSQL::Test::Utils::timeout_default = 60;

my $publisher = PostgreSQL::Test::Cluster->new('publisher');
my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
foreach my $node ($publisher, $subscriber)
{
	$node->init(allows_streaming => 'logical');
	$node->append_conf('postgresql.conf', "max_connections = 40\nautovacuum = off");
}
$subscriber->append_conf('postgresql.conf', "hilo.node_tag = 'B'");
$_->start foreach $publisher, $subscriber;

$publisher->safe_psql('postgres', q{
	CREATE EXTENSION hilo;
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT hilo_next('orders'), v int);
	INSERT INTO orders (v) SELECT generate_series(1, 40);
	SELECT hilo.seed('orders', 100);
	SELECT hilo.seed('theirs_higher', 20);
	SELECT hilo.seed('ours_higher', 200);
	SELECT hilo.seed('ours_only', 5);
	SELECT hilo.seed('dropped', 5);
	SELECT hilo.drop('dropped');
	INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('limited', 3, 10);
});
# The subscriber draws by itself, even in applying rows: its column "arrival".
$subscriber->safe_psql('postgres', q{
	CREATE EXTENSION hilo;
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT hilo_next('orders'), v int,
		arrival text DEFAULT hilo_next('arrivals'));
	SELECT hilo.seed('orders', 10);
	SELECT hilo.seed('theirs_higher', 300);
	SELECT hilo.seed('ours_higher', 30);
	SELECT hilo.seed('theirs_only', 7);
	SELECT hilo.seed('dropped', 8);
});
my $local = session($subscriber);
is($local->query_safe("SELECT hilo_next('orders')"),
	'orders/11-B', 'a session of the subscriber is drawing');

#
# The initial copy
#

my $offset = -s $subscriber->logfile;
$publisher->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION everything CONNECTION '"
	  . $publisher->connstr . ' dbname=postgres'
	  . "' PUBLICATION everything");
ok( $subscriber->poll_query_until('postgres',
		q{SELECT count(*) = 3 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel}),
	'all tables are ready');
is( $subscriber->safe_psql('postgres',
		q{SELECT string_agg(srrelid::regclass || ' ' || srsubstate::text, ', ' ORDER BY srrelid::regclass::text) FROM pg_subscription_rel}),
	'hilo.binding r, hilo.hilo r, orders r',
	'our tables are among them');
my $copied = q{dropped 8, limited 3, orders 100, ours_higher 200, ours_only 5, theirs_higher 300, theirs_only 7};
(my $without_arrivals = maxima($subscriber)) =~ s/^arrivals \d+, //;
is($without_arrivals, $copied, 'counters are merged by maximum');
is( $subscriber->safe_psql('postgres', q{SELECT max_value FROM hilo.hilo WHERE collection = 'limited'}),
	10, 'with the limit of a new one');
unlike(substr(slurp_file($subscriber->logfile), $offset), qr/ERROR:/, 'without an error');
is($local->query_safe("SELECT hilo_next('orders')"),
	'orders/101-B', 'the session goes on above both sides');

#
# Afterwards
#

$offset = -s $subscriber->logfile;
my $worker = $subscriber->safe_psql('postgres',
	q{SELECT pid FROM pg_stat_subscription WHERE subname = 'everything' AND relid IS NULL});
my $before = maxima($subscriber);
my $writer = session($publisher);
is( $writer->query_safe(
		q{BEGIN;
		  SELECT hilo_next('fresh');
		  INSERT INTO orders (v) VALUES (1000) RETURNING id;
		  SELECT count(hilo_next_number('fresh' || i)) FROM generate_series(1, 100) i;
		  SAVEPOINT a;
		  SELECT hilo_next('fresh in savepoint');
		  INSERT INTO orders (v) VALUES (1001) RETURNING id;
		  ROLLBACK TO a;
		  COMMIT;}),
	"fresh/1-A\norders/101-A\n100\nfresh in savepoint/1-A\norders/102-A",
	'the publisher creates counters and inserts with them');
$writer->query_safe(
	q{BEGIN; SELECT hilo_next('fresh rolled back'); INSERT INTO orders (v) VALUES (1002); ROLLBACK;});
$writer->query_safe(q{SELECT hilo_next('fresh alone')});
$writer->query_safe(
	q{SET client_min_messages = warning; SELECT hilo.seed('orders', 2000); SELECT hilo.seed('fresh seeded', 5); RESET client_min_messages; SELECT hilo.drop('fresh'); SELECT hilo.drop('ours_only');});
$publisher->safe_psql('postgres',
	q{INSERT INTO hilo.hilo (collection, max) VALUES ('fresh inserted', 5)});
$publisher->safe_psql('postgres', 'VACUUM FULL hilo.hilo');
is($writer->query_safe(q{INSERT INTO orders (v) VALUES (1003) RETURNING id}),
	'orders/2001-A', 'and goes on after a seed and a rewrite');
$publisher->wait_for_catchup('everything');

is( $subscriber->safe_psql('postgres',
		q{SELECT string_agg(id || ' ' || v, ', ' ORDER BY v) FROM orders WHERE v >= 1000}),
	'orders/101-A 1000, orders/2001-A 1003',
	'its rows have arrived');
(my $now = maxima($subscriber)) =~ s/^arrivals \d+, //;
$before =~ s/^arrivals \d+, //;
is($now, $before, 'no counter has');
is( $subscriber->safe_psql('postgres',
		q{SELECT pid FROM pg_stat_subscription WHERE subname = 'everything' AND relid IS NULL}),
	$worker, 'by the same apply worker');
unlike(substr(slurp_file($subscriber->logfile), $offset), qr/ERROR:/, 'without an error');

is( $subscriber->safe_psql('postgres',
		q{SELECT count(*), count(DISTINCT arrival), bool_and(arrival ~ '^arrivals/[0-9]+-B$') FROM orders}),
	'42|42|t', 'what the apply worker draws has the tag of the subscriber');
is( $local->query_safe(q{INSERT INTO orders (v, arrival) VALUES (1, 'local') RETURNING id}),
	'orders/102-B', 'and so has what its sessions draw');
is( $subscriber->safe_psql('postgres',
		q{SELECT max FROM hilo.hilo WHERE collection = 'arrivals'}),
	64, 'in two claims');

# Workers are backends like others: when they end, their unused numbers go into the pool.
$local->finish;
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION everything DISABLE');
ok( $subscriber->poll_query_until('postgres',
		qq{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $worker)}),
	'the apply worker ends');
is( $subscriber->safe_psql('postgres',
		q{SELECT max FROM hilo.hilo WHERE collection = 'arrivals'}),
	64, 'nothing else was claimed');
is( $subscriber->safe_psql('postgres',
		q{WITH n AS MATERIALIZED (SELECT hilo_next_number('arrivals') AS n) SELECT count(*) FROM orders, n WHERE hilo_number(arrival) = n}),
	0, 'no number that was drawn comes again');
is($subscriber->safe_psql('postgres', q{SELECT max FROM hilo.hilo WHERE collection = 'arrivals'}), 64, 'the rest is in the pool');

# A copy made once more still merges.
$publisher->safe_psql('postgres', 'TRUNCATE orders');
$subscriber->safe_psql('postgres', 'DROP SUBSCRIPTION everything');
$subscriber->safe_psql('postgres',
	"CREATE SUBSCRIPTION again CONNECTION '"
	  . $publisher->connstr . ' dbname=postgres'
	  . "' PUBLICATION everything");
ok( $subscriber->poll_query_until('postgres',
		q{SELECT count(*) = 3 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel}),
	'a second copy: all tables are ready');
is( $subscriber->safe_psql('postgres',
		q{SELECT string_agg(collection || ' ' || max, ', ' ORDER BY collection) FROM hilo.hilo
			WHERE collection IN ('orders', 'theirs_higher', 'ours_higher', 'ours_only', 'fresh inserted', 'fresh1')}),
	'fresh inserted 5, fresh1 32, orders 2032, ours_higher 200, ours_only 5, theirs_higher 300',
	'merged by maximum');
unlike(substr(slurp_file($subscriber->logfile), $offset), qr/ERROR:/, 'without an error');

# A TRUNCATE that came through is refused: a trigger cannot leave it out.
$offset = -s $subscriber->logfile;
$publisher->safe_psql('postgres', 'ALTER TABLE hilo.hilo DISABLE TRIGGER ALL; TRUNCATE hilo.hilo; ALTER TABLE hilo.hilo ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table');
wait_until('the subscriber refuses it', sub { substr(slurp_file($subscriber->logfile), $offset) =~ /cannot truncate table "hilo\.hilo"/ });
cmp_ok($subscriber->safe_psql('postgres', 'SELECT count(*) FROM hilo.hilo'), '>', 5, 'and keeps its counters');

$writer->finish;
$subscriber->stop;
$publisher->stop;
done_testing();
