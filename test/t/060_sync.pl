# hilo.sync() reads the end of an index, and visits a million dead entries there once, a draw that looks for a free number few of them; it ends when it is cancelled or out of time.
use HiloTest;

my $node = server('sync', "autovacuum = off\n", q{
	CREATE EXTENSION hilo;
	SET client_min_messages = warning;
	CREATE TABLE parcels (id bigint PRIMARY KEY DEFAULT hilo_next_number('parcels'));
	SELECT hilo.bind('parcels', 'parcels', 'id');
	CREATE TABLE counted (id bigserial PRIMARY KEY);
	SELECT hilo.attach('counted');
	INSERT INTO counted SELECT generate_series(1, 1000000);
	DELETE FROM counted WHERE id > 10;
	INSERT INTO parcels SELECT generate_series(1, 1000000);
	DELETE FROM parcels WHERE id > 10;
});

# Blocks of a table that were touched so far.
sub touched
{
	my ($table) = @_;

	# A session's counts are certain to be there only after it has ended.
	wait_until_alone($node);
	return $node->safe_psql('postgres', qq{
		SELECT pg_stat_force_next_flush();
		SELECT heap_blks_read + heap_blks_hit FROM pg_statio_user_tables WHERE relname = '$table'}) =~ s/\s//gr;
}

sub synced { my ($table) = @_; return $node->safe_psql('postgres', "SELECT now, result FROM hilo.sync('$table')") }

# Dead entries are visited once, and not again.
foreach my $table (qw(parcels counted))
{
	my $max = 1000000;
	my $new = $max + 5;

	$node->safe_psql('postgres', $table eq 'counted' ? "SELECT setval('counted_id_seq', $max)" : "SELECT hilo.seed('$table', $max)");
	is(synced($table), "$max|not behind the ids", "$table: nothing is behind");
	my $before = touched($table);
	is(synced($table), "$max|not behind the ids", "$table: again");
	cmp_ok(touched($table) - $before, '<', 10, "$table: dead entries of the index are not visited again");
	$node->safe_psql('postgres', "SET session_replication_role = replica; INSERT INTO $table VALUES ($new)");
	is(synced($table), "$new|moved", "$table: a row that came from elsewhere");
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
	note("$table: blocks of a draw " . (touched($table) - $before));
	cmp_ok(touched($table) - $before, '<', 1100, "$table: few of them are visited");
}

# A table that another session has locked: it waits, and ends when it may not wait longer.
my $locker = session($node);
$locker->query_safe('BEGIN; LOCK TABLE counted');
$node->safe_psql('postgres', q{INSERT INTO parcels VALUES (1400000)});
my $session = session($node);
$session->query(q{SET statement_timeout = '200ms'});
is($session->error_of(q{SELECT hilo.sync('counted')}), '57014', 'out of time: it ends');
$session->query('SET statement_timeout = 0');
is($session->query_safe(q{SET lock_timeout = '100ms'; SELECT counter, now, result FROM hilo.sync()}),
	"public.counted_id_seq||not moved: canceling statement due to lock timeout\nparcels|1400000|moved",
	'all tables: one that is locked does not keep the others back');
$session->query('SET lock_timeout = 0');
$session->start(q{SELECT hilo.sync('counted')});
$session->waits_for($node, 'Lock');
like(($session->cancel($node))[1], qr/canceling statement due to user request/, 'cancelled: it ends');
$locker->query_safe('ROLLBACK');

$node->stop;
done_testing();
