# Promises 1, 4 and 6: a server that stops is not held up by sessions that leave their unused numbers; they are lost with the pool, and no number is repeated afterwards.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

$ENV{PGCTLTIMEOUT} = 60;

my $node = PostgreSQL::Test::Cluster->new('stop');
$node->init;
$node->append_conf('postgresql.conf',
	"autovacuum = off\nmax_prepared_transactions = 5");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo');

my %seen;		# "collection number" => how often
my @sessions;

# Draw numbers, in a session of its own that stays, and remember them.
sub draw
{
	my ($collection, $count, $session) = @_;
	if (!defined $session)
	{
		$session = session($node);
		push @sessions, $session;
	}
	my @numbers = split /\n/,
	  $session->query_safe(
		"SELECT hilo_next_number('$collection') FROM generate_series(1, $count)");
	$seen{"$collection $_"}++ foreach @numbers;
	return $session;
}

sub hang_up_all
{
	$_->hang_up foreach @sessions;
	@sessions = ();
	return;
}

sub repeated
{
	return join ', ', grep { $seen{$_} > 1 } sort keys %seen;
}

sub log_since
{
	my ($offset) = @_;
	return substr(slurp_file($node->logfile), $offset);
}

# Sessions that hold ranges: a alone; b and c one after the other.
sub hold_ranges
{
	draw('a', 3);
	draw('b', 2);
	draw('b', 5);
	draw('c', 1);
	draw('c', 1);
	draw('c', 4);
	return;
}

# Fast, with nothing in the way.
hold_ranges();
my $idle = draw('d', 1);
$idle->query_safe('BEGIN');
draw('d', 1, $idle);
is(maxima($node), 'a 32, b 64, c 96, d 32', 'ranges are held');
my $offset = -s $node->logfile;
ok($node->stop('fast', fail_ok => 1), 'fast stop');
hang_up_all();
unlike(log_since($offset), qr/(PANIC|ERROR|TRAP|WARNING):|terminated by signal/,
	'without an accident');
$node->start;
is(maxima($node), 'a 32, b 64, c 96, d 32', 'what they left is a gap');
hold_ranges();
is(repeated(), '', 'no number was drawn twice');

# Fast, while another session holds a lock on the table.
my $locker = session($node);
push @sessions, $locker;
$locker->query_safe('BEGIN; LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE');
my $waiter = session($node);
push @sessions, $waiter;
$waiter->start("SELECT hilo_next_number('e')");
ok( $node->poll_query_until(
		'postgres',
		"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = " . $waiter->pid),
	'hilo.hilo is locked, and a draw waits for it');
$offset = -s $node->logfile;
ok($node->stop('fast', fail_ok => 1), 'fast stop while hilo.hilo is locked');
hang_up_all();
unlike(log_since($offset), qr/(PANIC|ERROR|TRAP|WARNING):|terminated by signal/,
	'without an accident');
like(log_since($offset), qr/database system is shut down/, 'and clean');
$node->start;
hold_ranges();
is(repeated(), '', 'no number was drawn twice');

# A prepared transaction keeps its lock while the server stops, and after.
$node->safe_psql('postgres', q{
	BEGIN;
	LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE;
	PREPARE TRANSACTION 'locker';
});
$offset = -s $node->logfile;
ok($node->stop('fast', fail_ok => 1),
	'fast stop while a prepared transaction keeps hilo.hilo locked');
hang_up_all();
unlike(log_since($offset), qr/(PANIC|ERROR|TRAP|WARNING):|terminated by signal/,
	'without an accident');
$node->start;
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'locker'});
hold_ranges();
is(repeated(), '', 'no number was drawn twice');

# Smart: waits for the sessions, which go on drawing until they leave.
my $last = draw('smart', 1);
$offset = -s $node->logfile;
my ($out, $err) = ('', '');
my $stop = IPC::Run::start(
	[ 'pg_ctl', '-D', $node->data_dir, '-m', 'smart', 'stop' ],
	'>', \$out, '2>', \$err);
$node->wait_for_log(qr/received smart shutdown request/, $offset);
draw('smart', 40, $last);
hang_up_all();
ok($stop->finish, 'smart stop, when the last session has left');
$node->stop('fast', fail_ok => 1);	# the node object has to learn it
unlike(log_since($offset), qr/(PANIC|ERROR|TRAP|WARNING):|terminated by signal/,
	'without an accident');
$node->start;
hold_ranges();
is(repeated(), '', 'no number was drawn twice');

# Immediate: nothing goes back, and nothing is forgotten.
my $held = maxima($node);
ok($node->stop('immediate', fail_ok => 1), 'immediate stop');
hang_up_all();
$node->start;
# And so is, at most, what was logged ahead.
my %now = map { split / / } split /, /, maxima($node);
is(join(' ', grep { my ($name, $max) = split / /; $now{$name} < $max } split /, /, $held), '', 'all ranges that were held are gaps');
hold_ranges();
draw('smart', 50);
is(repeated(), '', 'no number was drawn twice');
hang_up_all();

$node->stop;
done_testing();
