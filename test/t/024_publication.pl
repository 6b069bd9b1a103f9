# Each node counts for itself: a FOR ALL TABLES publication brings the counters along once, merged by maximum, and is not disturbed by them afterwards.
use HiloTest;

my $settings = "max_connections = 40\nautovacuum = off\n";
my $publisher = server('publisher', $settings, q{
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
}, allows_streaming => 'logical');
# The subscriber draws by itself, even in applying rows: its column "arrival".
my $subscriber = server('subscriber', "${settings}hilo.node_tag = 'B'\n", q{
	CREATE EXTENSION hilo;
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT hilo_next('orders'), v int,
		arrival text DEFAULT hilo_next('arrivals'));
	SELECT hilo.seed('orders', 10);
	SELECT hilo.seed('theirs_higher', 300);
	SELECT hilo.seed('ours_higher', 30);
	SELECT hilo.seed('theirs_only', 7);
	SELECT hilo.seed('dropped', 8);
}, allows_streaming => 'logical');

sub theirs { return $subscriber->safe_psql('postgres', $_[0]); }

# Counters of the subscriber, but for that of what it draws in applying rows.
sub counters { return maxima($subscriber) =~ s/^arrivals \d+, //r; }

sub copy_to_subscriber
{
	my ($name) = @_;

	theirs("CREATE SUBSCRIPTION $name CONNECTION '" . $publisher->connstr . " dbname=postgres' PUBLICATION everything");
	ok($subscriber->poll_query_until('postgres', q{SELECT count(*) = 3 AND bool_and(srsubstate = 'r') FROM pg_subscription_rel}), "$name: all tables are ready");
	return;
}

my $offset;
sub without_error { unlike(slurp_file($subscriber->logfile, $offset), qr/ERROR:/, 'without an error'); return; }

my $local = session($subscriber);
is($local->query_safe("SELECT hilo_next('orders')"), 'orders/11-B', 'a session of the subscriber is drawing');

#
# The initial copy
#

$offset = -s $subscriber->logfile;
$publisher->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
copy_to_subscriber('everything');
is(theirs(q{SELECT string_agg(srrelid::regclass || ' ' || srsubstate::text, ', ' ORDER BY srrelid::regclass::text) FROM pg_subscription_rel}),
	'hilo.binding r, hilo.hilo r, orders r',
	'our tables are among them');
my $copied = q{dropped 8, limited 3, orders 100, ours_higher 200, ours_only 5, theirs_higher 300, theirs_only 7};
is(counters(), $copied, 'counters are merged by maximum');
is(theirs(q{SELECT max_value FROM hilo.hilo WHERE collection = 'limited'}),
	10, 'with the limit of a new one');
without_error();
is($local->query_safe("SELECT hilo_next('orders')"), 'orders/101-B', 'the session goes on above both sides');

#
# Afterwards
#

$offset = -s $subscriber->logfile;
my $worker = theirs(q{SELECT pid FROM pg_stat_subscription WHERE subname = 'everything' AND relid IS NULL});
my $before = counters();
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
$publisher->safe_psql('postgres', q{INSERT INTO hilo.hilo (collection, max) VALUES ('fresh inserted', 5)});
$publisher->safe_psql('postgres', 'VACUUM FULL hilo.hilo');
is($writer->query_safe(q{INSERT INTO orders (v) VALUES (1003) RETURNING id}),
	'orders/2001-A', 'and goes on after a seed and a rewrite');
$publisher->wait_for_catchup('everything');

is(theirs(q{SELECT string_agg(id || ' ' || v, ', ' ORDER BY v) FROM orders WHERE v >= 1000}),
	'orders/101-A 1000, orders/2001-A 1003',
	'its rows have arrived');
is(counters(), $before, 'no counter has');
is(theirs(q{SELECT pid FROM pg_stat_subscription WHERE subname = 'everything' AND relid IS NULL}),
	$worker, 'by the same apply worker');
without_error();

is(theirs(q{SELECT count(*), count(DISTINCT arrival), bool_and(arrival ~ '^arrivals/[0-9]+-B$') FROM orders}),
	'42|42|t', 'what the apply worker draws has the tag of the subscriber');
is( $local->query_safe(q{INSERT INTO orders (v, arrival) VALUES (1, 'local') RETURNING id}),
	'orders/102-B', 'and so has what its sessions draw');
is(theirs(q{SELECT max FROM hilo.hilo WHERE collection = 'arrivals'}), 64, 'in two claims');

# Workers are backends like others: when they end, their unused numbers go into the pool.
$local->finish;
theirs('ALTER SUBSCRIPTION everything DISABLE');
ok( $subscriber->poll_query_until('postgres',
		qq{SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $worker)}),
	'the apply worker ends');
is(theirs(q{SELECT max FROM hilo.hilo WHERE collection = 'arrivals'}), 64, 'nothing else was claimed');
is(theirs(q{WITH n AS MATERIALIZED (SELECT hilo_next_number('arrivals') AS n) SELECT count(*) FROM orders, n WHERE hilo_number(arrival) = n}),
	0, 'no number that was drawn comes again');
is(theirs(q{SELECT max FROM hilo.hilo WHERE collection = 'arrivals'}), 64, 'the rest is in the pool');

# A copy made once more still merges.
$publisher->safe_psql('postgres', 'TRUNCATE orders');
theirs('DROP SUBSCRIPTION everything');
copy_to_subscriber('again');
is( $subscriber->safe_psql('postgres',
		q{SELECT string_agg(collection || ' ' || max, ', ' ORDER BY collection) FROM hilo.hilo
			WHERE collection IN ('orders', 'theirs_higher', 'ours_higher', 'ours_only', 'fresh inserted', 'fresh1')}),
	'fresh inserted 5, fresh1 32, orders 2032, ours_higher 200, ours_only 5, theirs_higher 300',
	'merged by maximum');
without_error();

# A TRUNCATE that came through is refused: a trigger cannot leave it out.
$offset = -s $subscriber->logfile;
$publisher->safe_psql('postgres', 'ALTER TABLE hilo.hilo DISABLE TRIGGER ALL; TRUNCATE hilo.hilo; ALTER TABLE hilo.hilo ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table');
wait_until('the subscriber refuses it', sub { slurp_file($subscriber->logfile, $offset) =~ /cannot truncate table "hilo\.hilo"/ });
cmp_ok(theirs('SELECT count(*) FROM hilo.hilo'), '>', 5, 'and keeps its counters');

$writer->finish;
$subscriber->stop;
$publisher->stop;
done_testing();
