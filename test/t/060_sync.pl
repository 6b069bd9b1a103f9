# hilo.sync() reads the end of an index where it can, even with a million dead entries there; it ends at once when it is cancelled or out of time.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('sync');
$node->init;
$node->append_conf('postgresql.conf', "autovacuum = off\n");
$node->start;
$node->safe_psql('postgres', q{
	CREATE EXTENSION hilo;
	SET client_min_messages = warning;
	CREATE TABLE parcels (id bigint PRIMARY KEY);
	CREATE TABLE orders (id text PRIMARY KEY);
	CREATE INDEX ON orders (hilo_number(id));
	SELECT hilo.attach('parcels', collection => 'parcels'), hilo.attach('orders');
	CREATE TABLE counted (id bigserial PRIMARY KEY);
	SELECT hilo.attach('counted');
	INSERT INTO counted SELECT generate_series(1, 1000000);
	DELETE FROM counted WHERE id > 10;
	INSERT INTO parcels SELECT generate_series(1, 1000000);
	INSERT INTO orders SELECT 'orders/' || i || '-A' FROM generate_series(1, 100000) i;
	DELETE FROM parcels WHERE id > 10;
	DELETE FROM orders WHERE hilo_number(id) > 10;
});

# Blocks of a table that were touched so far.
sub touched
{
	my ($table) = @_;

	return $node->safe_psql('postgres', qq{
		SELECT pg_stat_force_next_flush();
		SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = '$table'}) =~ s/\s//gr;
}

# What is below the counter is not visited, dead or alive; only what is above it.
foreach my $table (qw(parcels orders counted))
{
	my $max = $table eq 'orders' ? 100000 : 1000000;
	my $new = $max + 5;
	my $row = $table eq 'orders' ? "'orders/$new-A'" : $new;
	my $before = touched($table);

	# Ids chosen by hand move no counter until then.
	$node->safe_psql('postgres', $table eq 'counted' ? "SELECT setval('counted_id_seq', $max)" : "SELECT hilo.seed('$table', $max)");
	is($node->safe_psql('postgres', "SELECT hilo.sync('$table')"), $max, "$table: nothing is behind");
	cmp_ok(touched($table) - $before, '<', 10, "$table: dead entries of the index are not visited");
	$node->safe_psql('postgres', "SET session_replication_role = replica; INSERT INTO $table VALUES ($row)");
	is($node->safe_psql('postgres', "SELECT hilo.sync('$table')"), $new, "$table: a row that came from elsewhere");
}

# Nor does a draw visit them all, whose number is far above or below.
$node->safe_psql('postgres', q{
	TRUNCATE parcels, counted;
	INSERT INTO parcels SELECT generate_series(1000006, 1300000);
	INSERT INTO counted SELECT generate_series(1000006, 1300000);
	DELETE FROM parcels;
	DELETE FROM counted;
});
foreach my $table (qw(parcels counted))
{
	my $before = touched($table);
	cmp_ok($node->safe_psql('postgres', "INSERT INTO $table DEFAULT VALUES RETURNING id"), '>', 1000005, "$table: a draw among dead rows");
	cmp_ok(touched($table) - $before, '<', 100, "$table: few of them are visited");
}

# A view that takes long, bound to a collection.
$node->safe_psql('postgres', q{
	CREATE VIEW slow AS SELECT i::bigint AS id FROM generate_series(1, 1000) i WHERE pg_sleep(60) IS NOT NULL;
	SELECT hilo.bind('slow', 'slow', 'id');
});
my $session = session($node, statement_timeout => '200ms');
my (undef, $err) = $session->query(q{SELECT hilo.sync('slow')});
like($err, qr/canceling statement due to statement timeout/, 'out of time: it ends');
$session->query('SET statement_timeout = 0');
$session->start(q{SELECT hilo.sync('slow')});
wait_until('it runs', sub {
	$node->safe_psql('postgres', 'SELECT wait_event FROM pg_stat_activity WHERE pid = ' . $session->pid) eq 'PgSleep';
});
is($node->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $session->pid . ')'), 't', 'cancelled');
(undef, $err) = $session->result;
like($err, qr/canceling statement due to user request/, 'cancelled: it ends');
is($node->safe_psql('postgres', q{SELECT count(*) FROM hilo.hilo WHERE collection = 'slow' AND max > 0}), 0, 'nothing is advanced');

$node->stop;
done_testing();
