# A draw from a sequence waits for a synchronous standby as synchronous_commit says, also for numbers that a plain nextval has logged; a promoted standby goes on above all that was shown.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "max_connections = 30\nautovacuum = off\nhilo.max_range_size = 1048576\n");
$primary->start;
$primary->safe_psql('postgres', q{
	SET client_min_messages = warning;
	CREATE EXTENSION hilo;
	CREATE SEQUENCE s;
	CREATE SEQUENCE cached CACHE 5;
	CREATE SEQUENCE altered;
	CREATE TABLE orders (id bigserial PRIMARY KEY);
	SELECT hilo.attach('orders');
	CREATE UNLOGGED TABLE fleeting (id bigserial);
	SELECT hilo.attach('fleeting', 'id');
});
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);

# This session never waits for the standby.
my $admin = session($primary, synchronous_commit => 'local');

sub wait_until_it_waits
{
	my ($session, $what) = @_;
	my $pid = $session->pid;

	is(wait_until($what, sub {
		$admin->query("SELECT CASE WHEN wait_event = 'SyncRep' THEN 'waits' WHEN state LIKE 'idle%' AND query NOT LIKE '%BEGIN%' THEN 'is done' END FROM pg_stat_activity WHERE pid = $pid")
	}), 'waits', "$what: waits");
	return;
}

# It is canceled: there is an error, and no number.
sub cancel
{
	my ($session, $what) = @_;

	$admin->query('SELECT pg_cancel_backend(' . $session->pid . ')');
	my ($out, $err) = $session->result;
	is($out, '', "$what: canceled, no number is shown");
	like($err, qr/57014/, "$what: but an error");
	return;
}

$standby->start;
$admin->query("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
$admin->query('SELECT pg_reload_conf()');
wait_until('the standby is synchronous', sub { $admin->query('SELECT sync_state FROM pg_stat_replication') eq 'sync' });
foreach my $level (qw(remote_write on remote_apply))
{
	my $session = session($primary, synchronous_commit => $level);
	like($session->query("SELECT hilo.nextval('s')"), qr/^\d+$/, "standby up, synchronous_commit = $level: a number");
	$session->finish;
}

# A standby draws nothing.
is(error_of($standby, 'postgres', q{SELECT hilo.nextval('s')}), '25006', 'a standby draws nothing');

#
# The standby is down
#
$standby->stop;
my @draws = (
	q{SELECT hilo.nextval('s')}, q{SELECT hilo.nextval('cached')},
	q{INSERT INTO orders DEFAULT VALUES RETURNING id}, q{SELECT hilo.nextval('s') FROM generate_series(1, 1000)});
foreach my $draw (@draws)
{
	my $session = session($primary);

	# The first numbers after a checkpoint are logged again, instead of being among those logged ahead.
	$admin->query('CHECKPOINT');
	$session->query('BEGIN');
	$session->start($draw);
	wait_until_it_waits($session, $draw);
	cancel($session, $draw);
	$session->query('ROLLBACK');
	is($session->query('SELECT 42'), 42, "$draw: the session works");
	# Nor is a number shown that it draws next.
	$session->query('BEGIN');
	$session->start($draw);
	wait_until_it_waits($session, "$draw, again");
	cancel($session, "$draw, again");
	$session->finish;
}
my $local = session($primary, synchronous_commit => 'local');
like($local->query("BEGIN; SELECT hilo.nextval('s')"), qr/^\d+$/, 'synchronous_commit = local: does not wait');
$local->query('ROLLBACK');
$local->finish;

# Numbers that plain nextval has logged: here it waits for them.
my $plain = session($primary);
like($plain->query("BEGIN; SELECT nextval('cached'), 'BEGIN'"), qr/^\d+\|BEGIN$/, 'plain nextval does not wait');
$plain->start("SELECT hilo.nextval('cached')");
wait_until_it_waits($plain, 'hilo.nextval() of numbers that nextval has cached');
cancel($plain, 'it');
$plain->query('ROLLBACK');
$plain->finish;
# Temporary and unlogged sequences are on no standby.
my $session = session($primary, synchronous_commit => 'on');
is($session->query('BEGIN; CREATE TEMP SEQUENCE mine; SELECT hilo.nextval($$mine$$)'), 1, 'a temporary sequence: does not wait');
$session->query('ROLLBACK');
# Its sequence is unlogged from version 16 on.
is($session->query('BEGIN; INSERT INTO fleeting DEFAULT VALUES RETURNING id'), 1, 'a sequence of an unlogged table: does not wait')
  if $admin->query(q{SELECT relpersistence FROM pg_class WHERE relname = 'fleeting_id_seq'}) eq 'u';
$session->query('ROLLBACK');

#
# It comes back, and is promoted
#
$session->query('BEGIN');
$session->start("SELECT hilo.nextval('s')");
wait_until_it_waits($session, 'a draw');
$standby->start;
my ($shown, $err) = $session->result;
is($err, '', 'the standby is back: no error');
my $id = $session->query('INSERT INTO orders DEFAULT VALUES RETURNING id');
my $high = $session->query("SELECT max(hilo.nextval('cached')) FROM generate_series(1, 1000)");
# One whose page was logged as it is; nextval writes no WAL then.
$primary->safe_psql('postgres', "SELECT hilo.nextval('altered'); ALTER SEQUENCE altered START WITH 7");
my $altered = $primary->safe_psql('postgres', "SELECT hilo.nextval('altered')");
my $number = $session->query("SELECT hilo.nextval('s')");
cmp_ok($number, '>', $shown, 'draws go on');
kill_server($primary);
$session->hang_up;
$admin->hang_up;
$standby->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
$standby->promote;
foreach ([ s => $number ], [ cached => $high ], [ altered => $altered ], [ orders_id_seq => $id ])
{
	my ($sequence, $last) = @$_;
	my $next = $standby->safe_psql('postgres', "SET synchronous_commit = local; SELECT hilo.nextval('$sequence')");
	cmp_ok($next, '>', $last, "promoted standby, $sequence: above what was shown");
	cmp_ok($next, '<', $last + 250_000, "promoted standby, $sequence: not far above");
}
$standby->stop;

done_testing();
