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
	SELECT hilo.attach('parcels'), hilo.attach('orders');
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
foreach my $table (qw(parcels orders))
{
	my $max = $table eq 'parcels' ? 1000000 : 100000;
	my $new = $max + 5;
	my $row = $table eq 'parcels' ? $new : "'orders/$new-A'";
	my $before = touched($table);

	is($node->safe_psql('postgres', "SELECT hilo.sync('$table')"), $max, "$table: nothing is behind");
	cmp_ok(touched($table) - $before, '<', 10, "$table: dead entries of the index are not visited");
	$node->safe_psql('postgres', "SET session_replication_role = replica; INSERT INTO $table VALUES ($row)");
	is($node->safe_psql('postgres', "SELECT hilo.sync('$table')"), $new, "$table: a row that came from elsewhere");
}

# The first insert after the trigger was off looks at the table, and does not visit them all either.
$node->safe_psql('postgres', q{
	TRUNCATE parcels;
	INSERT INTO parcels SELECT generate_series(2000000, 2300000);
	DELETE FROM parcels;
	ALTER TABLE parcels DISABLE TRIGGER ALL, ENABLE TRIGGER ALL;
});
my $before = touched('parcels');
cmp_ok($node->safe_psql('postgres', 'INSERT INTO parcels DEFAULT VALUES RETURNING id'), '>', 2300000, 'the first insert draws above them');
cmp_ok(touched('parcels') - $before, '<', 100, 'few of the dead rows are visited');

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
