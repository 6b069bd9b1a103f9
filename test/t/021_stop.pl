# Promises 1, 4 and 6: a server that stops is not held up by sessions that leave their unused numbers; they are lost with the pool, and no number is repeated afterwards.
use HiloTest;

my $node = server('stop', "autovacuum = off\nmax_prepared_transactions = 5", 'CREATE EXTENSION hilo');

my %seen;		# "collection number" => how often
my @sessions;

# Draw numbers, in a session of its own that stays, and remember them.
sub draw
{
	my ($collection, $count, $session) = @_;
	push @sessions, $session = session($node) unless defined $session;
	$seen{"$collection $_"}++ foreach split /\n/, $session->query_safe("SELECT hilo_next_number('$collection') FROM generate_series(1, $count)");
	return $session;
}

sub hang_up_all
{
	$_->hang_up foreach @sessions;
	@sessions = ();
	return;
}

# Sessions that hold ranges: a alone; b and c one after the other.
sub hold_ranges
{
	draw(@$_) foreach [ 'a', 3 ], [ 'b', 2 ], [ 'b', 5 ], [ 'c', 1 ], [ 'c', 1 ], [ 'c', 4 ];
	return;
}

sub no_number_twice { is(join(', ', grep { $seen{$_} > 1 } sort keys %seen), '', 'no number was drawn twice'); return; }

# A stop, by $stop->() if another one than the fast one, which nothing holds up; and a start.
sub stop_and_start
{
	my ($what, $stop) = @_;
	my $offset = -s $node->logfile;

	ok($stop ? $stop->($offset) : $node->stop('fast', fail_ok => 1), $what);
	hang_up_all();
	my $log = slurp_file($node->logfile, $offset);
	unlike($log, qr/(PANIC|ERROR|TRAP|WARNING):|terminated by signal/, 'without an accident');
	like($log, qr/database system is shut down/, 'and clean');
	$node->start;
	return;
}

# Fast, with nothing in the way.
hold_ranges();
my $idle = draw('d', 1);
$idle->query_safe('BEGIN');
draw('d', 1, $idle);
is(maxima($node), 'a 32, b 64, c 96, d 32', 'ranges are held');
stop_and_start('fast stop');
is(maxima($node), 'a 32, b 64, c 96, d 32', 'what they left is a gap');
hold_ranges();
no_number_twice();

# Fast, while another session holds a lock on the table.
my $locker = session($node);
push @sessions, $locker;
$locker->query_safe('BEGIN; LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE');
my $waiter = session($node);
push @sessions, $waiter;
$waiter->start("SELECT hilo_next_number('e')");
$waiter->waits_for($locker, 'Lock');
stop_and_start('fast stop while hilo.hilo is locked, and a draw waits for it');
hold_ranges();
no_number_twice();

# A prepared transaction keeps its lock while the server stops, and after.
$node->safe_psql('postgres', q{
	BEGIN;
	LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE;
	PREPARE TRANSACTION 'locker';
});
stop_and_start('fast stop while a prepared transaction keeps hilo.hilo locked');
$node->safe_psql('postgres', q{ROLLBACK PREPARED 'locker'});
hold_ranges();
no_number_twice();

# Smart: waits for the sessions, which go on drawing until they leave.
my $last = draw('smart', 1);
stop_and_start('smart stop, when the last session has left', sub {
	my $stop = IPC::Run::start([ 'pg_ctl', '-D', $node->data_dir, '-m', 'smart', 'stop' ], '>', '/dev/null', '2>&1');
	$node->wait_for_log(qr/received smart shutdown request/, $_[0]);
	draw('smart', 40, $last);
	hang_up_all();
	my $stopped = $stop->finish;
	$node->stop('fast', fail_ok => 1);	# the node object has to learn it
	return $stopped;
});
hold_ranges();
no_number_twice();

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
no_number_twice();
hang_up_all();

$node->stop;
done_testing();
