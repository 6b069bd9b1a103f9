# A draw from a sequence waits for a synchronous standby as synchronous_commit says, also for numbers that a plain nextval has logged; a promoted standby goes on above all that was shown.
use HiloTest;

my $primary = server('primary', "max_connections = 30\nautovacuum = off\nhilo.max_range_size = 1048576\n", q{
	SET client_min_messages = warning;
	CREATE EXTENSION hilo;
	CREATE SEQUENCE s;
	CREATE SEQUENCE cached CACHE 5;
	CREATE SEQUENCE altered;
	CREATE TABLE orders (id bigserial PRIMARY KEY);
	SELECT hilo.attach('orders');
	CREATE UNLOGGED TABLE fleeting (id bigserial);
	SELECT hilo.attach('fleeting', 'id');
}, allows_streaming => 1);
my $standby = standby_of($primary, 'standby');

# This session never waits for the standby.
my $admin = session($primary, synchronous_commit => 'local');

sub start_and_wait
{
	my ($session, $sql, $what) = @_;

	$session->start($sql);
	ok(eval { $session->waits_for($admin, 'SyncRep'); 1 }, "$what: waits");
	return;
}

# It is canceled: there is an error, and no number.
sub cancel
{
	my ($session, $what) = @_;

	my ($out, $err) = $session->cancel($admin);
	is("$out " . sqlstate_of($err), ' 57014', "$what: canceled, an error and no number");
	return;
}

$standby->start;
wait_for_standbys($primary, 'standby');
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
	start_and_wait($session, $draw, $draw);
	cancel($session, $draw);
	$session->query('ROLLBACK');
	is($session->query('SELECT 42'), 42, "$draw: the session works");
	# Nor is a number shown that it draws next.
	$session->query('BEGIN');
	start_and_wait($session, $draw, "$draw, again");
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
start_and_wait($plain, "SELECT hilo.nextval('cached')", 'hilo.nextval() of numbers that nextval has cached');
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
start_and_wait($session, "SELECT hilo.nextval('s')", 'a draw');
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
$_->hang_up foreach $session, $admin;
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
