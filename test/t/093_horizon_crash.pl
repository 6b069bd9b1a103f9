# No row comes at or below a horizon that was shown: not over kill -9, nor the promotion of a synchronous standby, though plain
# draws wrote no record; and not if the sequence is altered in the middle of the call.  A standby refuses.
use HiloTest;

my $setup = <<'SQL';
CREATE EXTENSION hilo;
CREATE TABLE events (id bigserial PRIMARY KEY, v text);
INSERT INTO events (v) SELECT 'a' FROM generate_series(1, 3);
SQL
my $horizon_of_events = q{CALL hilo.horizon('events_id_seq')};

# Numbers that nobody commits.
my $draw = q{BEGIN; SELECT max(nextval('events_id_seq')) FROM generate_series(1, 3); ROLLBACK};

#
# kill -9.  What logs the page as it is leaves plain draws nothing to log.
#
my $node = crash_server('crash', "max_prepared_transactions = 5\n", $setup);
$node->start;
foreach my $before ('', 'ALTER SEQUENCE events_id_seq START 2', 'ALTER SEQUENCE events_id_seq SET LOGGED', 'ALTER SEQUENCE events_id_seq RESTART WITH 5000',
	"SELECT setval('events_id_seq', 10000, false)", 'CHECKPOINT')
{
	my ($session, $reader) = map { session($node) } 1, 2;

	$session->query("$before; INSERT INTO events (v) SELECT 'b' FROM generate_series(1, 10)");
	$session->query_safe($draw);
	$reader->query_safe($horizon_of_events);
	my $drawn = $session->query_safe($draw);
	my $horizon = $reader->query_safe($horizon_of_events);

	is($horizon, $drawn, ($before || 'nothing') . ': the horizon is the number drawn last');
	kill_server($node);
	$_->hang_up foreach $session, $reader;
	$node->start;
	cmp_ok($node->safe_psql('postgres', q{INSERT INTO events (v) VALUES ('late') RETURNING id}), '>', $horizon, 'after kill -9 rows come above it');
	cmp_ok($node->safe_psql('postgres', $horizon_of_events), '>', $horizon, 'and so is the next horizon');
}

# A transaction that is prepared holds readers up after a crash, too.
my $reader = session($node);
my $id = $reader->query_safe(q{BEGIN; INSERT INTO events (v) VALUES ('prepared') RETURNING id; PREPARE TRANSACTION 'p'});
kill_server($node);
$reader->hang_up;
$node->start;
$reader = session($node);
is($reader->error_of("SET lock_timeout = '50ms'; $horizon_of_events"), '55P03', 'a prepared transaction, after a crash: the reader waits');
$node->safe_psql('postgres', q{COMMIT PREPARED 'p'});
cmp_ok($reader->query_safe($horizon_of_events), '>=', $id, 'until it has ended');
$reader->finish;
is(left_behind($node), '', 'nothing is left behind');
$node->stop;

#
# The promotion of a synchronous standby
#
my $primary = server('primary', "autovacuum = off\nwal_writer_delay = 10s\n", $setup, allows_streaming => 1);
my $standby = standby_of($primary, 'standby');
$standby->start;
my ($admin, $writer) = map { session($primary, synchronous_commit => 'local') } 1, 2;
wait_for_standbys($primary, 'standby');
is(error_of($standby, 'postgres', $horizon_of_events), '25006', 'a standby refuses');
$standby->stop;

# Numbers that the standby has not got are not shown.
$reader = session($primary);
$writer->query_safe($draw);
$reader->start($horizon_of_events);
$reader->waits_for($admin, 'SyncRep');
my ($shown, $error) = $reader->cancel($admin);
is("$shown " . sqlstate_of($error), ' 57014', 'canceled: an error, and no horizon is shown');
$reader->start($horizon_of_events);
$standby->start;
my ($horizon) = $reader->result;
like($horizon, qr/^\d+$/, 'the standby is back: there is one');
$writer->query_safe($draw);
kill_server($primary);
$_->hang_up foreach $reader, $admin, $writer;
$standby->promote;
cmp_ok($standby->safe_psql('postgres', q{INSERT INTO events (v) VALUES ('late') RETURNING id}), '>', $horizon, 'promoted: rows come above it');
cmp_ok($standby->safe_psql('postgres', $horizon_of_events), '>', $horizon, 'and so is the next horizon');
$standby->stop;

#
# The sequence is altered between the look at its options and the one at its page, where the reader is held
#
my $altered = failure_node('altered', '', sub {
	my ($tree) = @_;

	add_pause($tree);
	rewrite("$tree/src/sequence.c", sub {
		is(s/^(\tcheck_has_horizon\(sequence\);\n)/$1\tHILO_FAILURE_POINT("horizon checked");\n/m, 1, 'there is a place between the two looks') });
});
$altered->safe_psql('postgres', $setup =~ s/CREATE EXTENSION hilo;//r);
foreach my $alter ('CACHE 50', 'START 2', 'RESTART WITH 1000', 'CYCLE')
{
	my ($asker, $owner, $writer, $observer) = (session($altered, 'test.failure_point' => 'horizon checked:pause'), map { session($altered) } 1 .. 3);

	$observer->query_safe('ALTER SEQUENCE events_id_seq CACHE 1 NO CYCLE');
	$asker->start($horizon_of_events);
	paused($altered);
	$owner->start("ALTER SEQUENCE events_id_seq $alter");
	$owner->waits_for($observer, 'Lock');
	go_on($altered);

	# Now it may be altered, whether the reader has its answer or waits for the owner.
	my ($horizon, $error) = $asker->result;
	is(($owner->result)[1], '', "ALTER SEQUENCE $alter, in the middle of the call");
	my @ids = map { split /\n/, $_->query_safe(q{INSERT INTO events (v) VALUES ('b'), ('c') RETURNING id}) } $writer, $owner, $writer;
	is(join(' ', grep { $_ <= $horizon } @ids), '', "no row appears at or below the horizon, $horizon");
	$_->finish foreach $asker, $owner, $writer, $observer;
}
is(left_behind($altered), '', 'nothing is left behind');
$altered->stop;
done_testing();
