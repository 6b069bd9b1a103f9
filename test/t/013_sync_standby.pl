# A claim waits for a synchronous standby as synchronous_commit says, and a wait that is cut short gives an error, not a number.
use HiloTest;
use List::Util qw(max);

my $primary = server('primary', "max_connections = 30\n", "CREATE EXTENSION hilo; SELECT hilo_next_number('x')", allows_streaming => 1);
my $standby = standby_of($primary, 'standby');

# This session never waits for the standby.
my $admin = session($primary, synchronous_commit => 'local');

sub ask_for_standbys
{
	my ($names) = @_;

	$admin->query("ALTER SYSTEM SET synchronous_standby_names = '$names'");
	$admin->query('SELECT pg_reload_conf()');
	return;
}

# Sessions have to know, and the checkpointer, which sets what they wait by;
# it looks at its settings before it starts a checkpoint.
sub wait_for_names
{
	my ($names) = @_;

	wait_until("sessions know synchronous_standby_names = '$names'", sub { $admin->query('SHOW synchronous_standby_names') eq $names });
	$admin->query('CHECKPOINT');
	return;
}

sub max_of_x { return $admin->query("SELECT max FROM hilo.hilo WHERE collection = 'x'"); }

# The max, read by a seed that empties the pool: a number there that standbys know need not be waited for.
sub max_without_pool { return $admin->query("SELECT hilo.seed('x', 0)"); }

# Start a claim and see it wait.
sub start_and_wait
{
	my ($session, $expression) = @_;

	$session->start("SELECT $expression");
	$session->waits_for($admin, 'SyncRep');
	return;
}

# What a session that is cancelled shows, and its SQLSTATE.
sub cancelled
{
	my ($out, $err) = $_[0]->cancel($admin);
	return "$out " . sqlstate_of($err);
}

# With the standby there, nothing waits for long.
$standby->start;
ask_for_standbys('standby');
wait_until('the standby is synchronous', sub { $admin->query('SELECT sync_state FROM pg_stat_replication') eq 'sync' });
for my $level (qw(remote_write on remote_apply))
{
	my $session = session($primary, synchronous_commit => $level);
	like($session->query("SELECT hilo_next_number('x')"), qr/^\d+$/, "standby up, synchronous_commit = $level: a number");
	$session->finish;
}

#
# The standby is down
#
$standby->stop;
my $session = session($primary);
my ($out, $err, $before);

for my $expression ("hilo_next_number('x')", "hilo_next('x')", "hilo_reserve('x', 5)", "hilo.next_range('x')", "hilo.next_hi('x', 5)")
{
	$before = max_without_pool();
	start_and_wait($session, $expression);
	($out, $err) = $session->cancel($admin);
	is("$out " . sqlstate_of($err), ' 57014', "$expression waits, and is cancelled: an error, and no number");
	unlike($err, qr/WARNING|already committed/, 'without the warning of the server, which speaks of a commit');
	cmp_ok(max_of_x(), '>', $before, 'what was claimed is a gap');
	is($session->query('SELECT count(*) FROM hilo.ranges'), 0, 'the session does not hold it');
	is($session->query('SELECT 42'), 42, 'the session works');
}

# Whatever is logged or sent; and a cancel that comes after the wait is not lost.
for my $setting ('client_min_messages = error', 'log_min_messages = panic', 'log_min_messages = debug1')
{
	$session->query("SET $setting");
	max_without_pool();
	start_and_wait($session, "hilo_next_number('x')");
	is(cancelled($session), ' 57014', "$setting: an error");
	is($session->query("SHOW log_min_messages"), $setting =~ /log_min_messages = (.*)/ ? $1 : 'warning', 'the setting is as it was');
	$session->query('RESET client_min_messages; RESET log_min_messages');
}
unlike(slurp_file($primary->logfile), qr/canceling wait for synchronous replication/, 'nor is the warning logged');

$session->query("SET statement_timeout = '200ms'");
is($session->error_of("SELECT hilo_next_number('x')"), '57014', 'statement_timeout ends the wait with an error');
$session->query('SET statement_timeout = 0');

# A claim that writes no record waits for the one that covers it.
$admin->query("SELECT hilo_reserve('x', 1)");
my $covered = q{SELECT ahead, logged_at FROM hilo.hilo WHERE collection = 'x'};
my ($ahead, $logged_at) = split /\|/, $admin->query($covered);
ok(eval { start_and_wait($session, "hilo_reserve('x', 1)"); 1 }, 'a claim without a record waits');
is($admin->query($covered), ($ahead - 1) . "|$logged_at", 'it has written none');
is(cancelled($session), ' 57014', 'and shows nothing without the standby');

# Many sessions try again and again: what fails takes no more each time.
$admin->query("SELECT hilo_next_number('x') FROM generate_series(1, 10)");
$before = max_of_x();
my @again = map { session($primary, statement_timeout => '1s') } 1 .. 12;
for (1 .. 2)
{
	$_->start("SELECT hilo_next_number('x') FROM generate_series(1, 1000)") for @again;
	is(join(' ', map { sqlstate_of(($_->result)[1]) } @again), join(' ', ('57014') x @again), 'all give up');
}
cmp_ok(max_of_x(), '<=', $before + 2 * 12 * 32, 'having claimed the least each time');
$_->finish for @again;

# What moves a counter for everybody waits as well.
start_and_wait($session, "hilo.seed('x', 1)");
is(cancelled($session), ' 57014', 'hilo.seed() is cancelled with an error');

# A session that is ended shows nothing and keeps nothing.
my $ended = session($primary);
start_and_wait($ended, "hilo_next_number('x')");
$before = max_of_x();
$admin->query('SELECT pg_terminate_backend(' . $ended->pid . ')');
($out, $err) = $ended->finish;
is($out, '', 'pg_terminate_backend(): no number is shown');
like($err, qr/terminating|closed the connection|connection to server was lost/, 'the session has ended');
wait_until('its process is gone', sub { !kill 0, $ended->pid });
is(max_of_x(), $before, 'and does not give back what it never had');

# Levels that do not wait.
for my $level (qw(local off))
{
	my $local = session($primary, synchronous_commit => $level);
	$before = max_without_pool();
	cmp_ok($local->query("SELECT hilo_next_number('x')"), '>', $before, "synchronous_commit = $level: a number, without a wait");
	$local->leave;
}

# What a session has held since a transaction that did not wait is waited for by one that does.
$admin->query('CREATE SEQUENCE held');
for my $draw (q{hilo_next_number('held')}, q{hilo.nextval('held')})
{
	my $held = session($primary);

	$held->query("BEGIN; SET LOCAL synchronous_commit = local; SELECT count($draw) FROM generate_series(1, 40); COMMIT");
	ok(eval { start_and_wait($held, $draw); 1 }, "$draw: one waits for a range that was not waited for");
	is(cancelled($held), ' 57014', 'and shows nothing without the standby');
	like($held->query("SET synchronous_commit = local; SELECT $draw"), qr/^\d+$/, 'the numbers stay, and come without a wait');
	$held->leave;
}

# A wait that ends because standbys are no longer asked for is no error.
# It took up to ten times for that to go wrong, when it could.
my (%numbers, $not_above);
my $errors = '';
for my $attempt (1 .. 25)
{
	my @waiting = map { session($primary) } 1 .. 3;
	$before = max_without_pool();
	start_and_wait($_, "hilo_next_number('x')") for @waiting;
	ask_for_standbys('');
	for (@waiting)
	{
		($out, $err) = $_->result;
		$numbers{$out}++;
		$errors .= $err;
		$not_above .= "$out " unless $out =~ /^\d+$/ && $out > $before;
		$_->leave;
	}
	wait_for_names('');
	like($session->query("SELECT hilo_next_number('x')"), qr/^\d+$/, "synchronous_standby_names = '': claims do not wait") if $attempt == 1;
	ask_for_standbys('standby');
	wait_for_names('standby');
}
is($errors, '', "synchronous_standby_names = '' while claims wait: no error");
is($not_above, undef, 'but numbers that were never shown');
is(scalar(keys %numbers), 25 * 3, 'all of them different');
my $shown = max(keys %numbers);
$session->leave;
$session = session($primary);

#
# The standby comes back
#
$before = max_without_pool();
start_and_wait($session, "hilo_next_number('x')");
$standby->start;
($out, $err) = $session->result;
is($err, '', 'the standby is back: no error');
cmp_ok($out, '>', max($before, $shown), 'the claim that waited has its number');
$shown = $out;

# What was cut short is not known to the standby; what was shown is.
$session->query('SET hilo.max_range_size = 1000');
$standby->stop;
start_and_wait($session, "hilo_reserve('x', 1000)");
is(cancelled($session), ' 57014', 'a claim is cut short');

$session->finish;
kill_server($primary);
$standby->start;
$standby->promote;
my $number = $standby->safe_psql('postgres', "SELECT hilo_next_number('x')");
cmp_ok($number, '>', $shown, 'promoted standby: above what was shown');
cmp_ok($number, '<', $shown + 1000, 'but the claim cut short is not there');
$standby->stop;

done_testing();
