# Promises 1, 2 and 6: rows are logged ahead.  Each of the rules for that, by the order of events in which numbers would repeat
# without it; random crashes hardly meet these.  And what a crash loses, and a clean restart does not.
use HiloTest;

# Few buffers, so that it is easy to have a page written.
my $libdir = build_failure_points(\&add_pause);
my $node = crash_server('ahead', <<SETTINGS, "CREATE EXTENSION hilo; $BIG");
dynamic_library_path = '$libdir:\$libdir'
shared_buffers = 256kB
hilo.max_range_size = 1000
SETTINGS
$node->start;
my ($session, $other);

# Two sessions, after a crash if there is a server before.
sub connect_again
{
	if ($session)
	{
		kill_server($node);
		$_->hang_up foreach $session, $other;
		$node->start;
	}
	($session, $other) = map { session($node) } 1, 2;
	return;
}

# Claim exactly so many numbers, in a transaction that is rolled back; the last one.
sub claim
{
	my ($collection, $count) = @_;
	return $session->query_safe("BEGIN; SELECT high FROM hilo_reserve('$collection', $count); ROLLBACK");
}

sub row_of
{
	my ($collection, $columns) = @_;
	return $session->query_safe("SELECT $columns FROM hilo.hilo WHERE collection = '$collection'");
}

#
# What is logged ahead: as many as are claimed, at least 32, at most 1/64 of those that are left
#
connect_again();
$session->query_safe(q{SET client_min_messages = warning; SELECT hilo.configure('few', max_value => 640)});
my %lost = (one => [ 1, 32 ], many => [ 100, 100 ], few => [ 1, 9 ]);
claim($_, $lost{$_}[0]) foreach sort keys %lost;
claim($_, 1) foreach sort keys %lost;
connect_again();
foreach my $collection (sort keys %lost)
{
	my ($count, $ahead) = @{ $lost{$collection} };
	is(claim($collection, 1), $count + $ahead + 1, "a crash after a claim of $count loses what was logged ahead");
}

#
# Other changes log exactly what they set
#
my %change = (
	seeded => q{hilo.seed('seeded', 500)},
	forced => q{hilo.seed('forced', 7, true)},
	configured => q{hilo.configure('configured', max_value => 32)},
	dropped => q{hilo.drop('dropped')});
claim($_, 32) foreach sort keys %change;
$session->query_safe("SELECT $change{$_}") foreach sort keys %change;
my %at = map { $_ => row_of($_, 'max, ahead') } sort keys %change;
is(join(' ', map { "$_ $at{$_}" } sort keys %at), 'configured 32|0 dropped 0|0 forced 7|0 seeded 500|0', 'a change that is no claim logs nothing ahead');
connect_again();
is(row_of($_, 'max, ahead'), $at{$_}, "$_: as it was, after a crash") foreach sort keys %change;

#
# A record that does not count any more: it is not replayed, or another one came after it
#
my %event = (
	'a checkpoint' => 'CHECKPOINT',
	'a checkpoint, and a lock of the row, which logs the page as it is' =>
	  'CHECKPOINT; BEGIN; SELECT count(*) FROM (SELECT FROM hilo.hilo FOR KEY SHARE) l; COMMIT');
foreach my $event (sort keys %event)
{
	claim('known', 1);
	$other->query_safe($event{$event});
	cmp_ok(row_of('known', 'ahead'), '>', 5, 'numbers are ahead');
	my $shown = (map { claim('known', 1) } 1 .. 5)[-1];
	connect_again();
	cmp_ok(claim('known', 1), '>', $shown, "$event: no number comes twice");
}

#
# A client's claim ends: with that of another row, which is logged together with it, and with
# its own, when nothing is ahead
#
$session->query_safe(q{SET client_min_messages = warning; SELECT hilo.configure('rare', max_value => 50)});
foreach my $case ([ 'client', 32 ], [ 'rare', 1 ])
{
	my ($collection, $size) = @$case;

	claim($_, 1) foreach $collection, 'neighbour';
	my ($low, $high, $token) = split /\|/, $session->query_safe("SELECT low, high, claim FROM hilo.next_range('$collection', $size)");
	my $rest = "'$collection', " . ($high - $size) . ", $high, $token";
	is(row_of($collection, 'ahead'), 0, "$collection: nothing is ahead of a client's range");
	claim('neighbour', 40) if $size > 1;
	is(row_of($collection, q{logged_at = (SELECT logged_at FROM hilo.hilo WHERE collection = 'neighbour')}), 't', 'the rows are on one page')
	  if $size > 1;
	is($session->query_safe("SELECT hilo.return_range($rest)"), 't', 'it gives them back');
	my $shown = claim($collection, 1);
	is($shown, $low, 'others draw them');
	connect_again();
	is($session->query_safe("SELECT hilo.return_range($rest)"), 'f', 'after a crash it cannot give them back again');
	cmp_ok(claim($collection, 1), '>', $shown, 'and no number comes twice');
}

#
# A checkpoint waits while a session, which has seen that its record is newer than the last
# checkpoint, has not changed the page yet
#
claim($_, 1) foreach 'held', 'flushed';
my $at = row_of('held', 'logged_at');
write_pages($other, 'hilo.hilo');
$session->start(q{SET test.failure_point = 'redo pointer read:pause'; SELECT low FROM hilo_reserve('held', 1)});
paused($node);
is($other->error_of("SET statement_timeout = '1s';\nCHECKPOINT"), '57014', 'a checkpoint waits for a claim that has read the redo pointer');
$other->query_safe('RESET statement_timeout');
go_on($node);
my $shown = $session->result;
wait_until('the checkpoint has ended', sub { $other->query_safe("SELECT redo_lsn > '$at' FROM pg_control_checkpoint()") eq 't' });
connect_again();
cmp_ok(claim('held', 1), '>', $shown, 'and no number comes twice');

#
# A claim without a record flushes that of another session
#
my $max = claim('flushed', 1);
$other->query_safe(q{SET test.failure_point = 'before flush:wait'});
$other->start(q{SELECT hilo_reserve('flushed', 40)});
wait_until('another session has claimed, and not flushed', sub { row_of('flushed', 'max') == $max + 40 });
$at = row_of('flushed', 'logged_at');
$shown = claim('flushed', 1);
is(row_of('flushed', 'logged_at'), $at, 'a claim writes no record');
connect_again();
cmp_ok(claim('flushed', 1), '>', $shown, 'but flushes that of the other session: no number comes twice');

#
# A clean restart loses what the pool held, and what sessions leave there
#
$session->query_safe(<<'SQL');
SELECT hilo_reserve('c' || i, i), hilo_next_number('p' || i) FROM generate_series(1, 20) i;
SQL
my $rest = q{SELECT count(*), sum(max - COALESCE(pooled, 0)) FROM hilo.status WHERE collection ~ '^[cp]\d+$'};
$session->finish;
wait_until('what the session has left is in the pool', sub { $other->query_safe($rest) eq '40|' . (20 * 21 / 2 + 20) });
my $before = maxima($node);
$other->finish;
$node->restart;
is(maxima($node), $before, '20 collections, a clean restart: each goes on where it was');
is($node->safe_psql('postgres', q{SELECT count(*) FROM generate_series(1, 20) i, hilo_reserve('c' || i, 1) r WHERE low = i + 1}), 20, 'with the next number');

#
# A record for another storage: with wal_level = minimal, SET TABLESPACE copies pages as they are
#
$node->append_conf('postgresql.conf', "wal_level = minimal\nmax_wal_senders = 0\nwal_skip_threshold = 0\n");
$node->restart;
undef $session;
connect_again();
my $folder = PostgreSQL::Test::Utils::tempdir();
$session->query_safe("CREATE TABLESPACE elsewhere LOCATION '$folder'");
claim('moved', 1);
$session->query_safe('SET allow_system_table_mods = on; ALTER TABLE hilo.hilo SET TABLESPACE elsewhere; RESET allow_system_table_mods');
cmp_ok(row_of('moved', 'ahead'), '>', 5, 'numbers are ahead');
$shown = (map { claim('moved', 1) } 1 .. 5)[-1];
connect_again();
cmp_ok(claim('moved', 1), '>', $shown, 'another tablespace: no number comes twice');

$_->finish foreach $session, $other;
$node->stop;
is(left_behind($node), '', 'nothing was left behind');
done_testing();
