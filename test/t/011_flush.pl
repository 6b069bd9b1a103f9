# Shown is spent, even when the power fails: what a claim logged is synced to disk before its first number is sent.
use HiloTest;

plan skip_all => 'strace is not installed' unless grep { -x "$_/strace" } split /:/, $ENV{PATH};

# Each session has collections of its own: it would draw from the pool what the one before has left.  The stop empties the pool.
my $node = crash_server('main', "fsync = on\nwal_sync_method = fdatasync\n", <<'SQL');
CREATE EXTENSION hilo;
SELECT hilo_next_number(c) FROM unnest('{z,waits}'::text[]) c;
SELECT hilo_next_number(c || s) FROM unnest('{x_,y_,block_,range_,hi_}'::text[]) c, unnest('{on,local,off}'::text[]) s;
SELECT next_identity('x'), next_server_side_id('x/')
SQL
my $trace = HiloTest::Trace->new($node);

# In an open transaction, so that no commit flushes before the answer is sent.
for my $synchronous_commit (qw(on local off))
{
	my $session = session($node, synchronous_commit => $synchronous_commit);
	my ($new, $x, $y, $block, $range, $hi) = map { "${_}_$synchronous_commit" } qw(new x y block range hi);
	my @changes = (
		[ "hilo_next_number('$x')" => 'first draw of a session' ],
		[ "hilo_next('$y')" => 'first id of a session' ],
		[ "hilo_reserve('$block', 10)" => 'hilo_reserve()' ],
		[ "hilo.next_range('$range')" => 'hilo.next_range()' ],
		[ "hilo.next_hi('$hi', 30)" => 'hilo.next_hi()' ],
		[ "hilo_next_number('$new')" => 'first draw of a collection' ],
		[ "hilo.seed('$new', 1000)" => 'hilo.seed()' ],
		[ "hilo_next_number('$new')" => 'draw after hilo.seed()' ],
		[ "hilo.drop('$new')" => 'hilo.drop()' ],
		[ "hilo_next_number('$new')" => 'draw after hilo.drop()' ],
		[ "next_identity('$new')" => 'first identity' ],
		[ "next_identity('x')" => 'identity' ],
		[ "next_server_side_id('x/')" => 'server-side id' ]);

	# Look the catalogs up, which may log the pruning of a page.
	$session->query("SELECT hilo_number('a/1'), hilo_next_number('z'), next_identity('x'), next_server_side_id('x/')");
	$session->query('BEGIN');
	$trace->events($session, "hilo_number('a/1')");
	for (@changes)
	{
		my ($expression, $name) = @$_;

		# After it no number counts as logged ahead, so each claim writes.
		$node->safe_psql('postgres', 'CHECKPOINT');
		like($trace->events($session, $expression), qr/^W+(?:W|S)*SA$/,
			"$name, synchronous_commit = $synchronous_commit: write, sync, answer");
	}

	# And nothing of it as long as the range lasts, or a commit would wait.
	# The first record of an identity covers the next numbers, too.
	$trace->events($session, $_) for "hilo_next_number('$x')", "hilo_next_number('$y')", "next_identity('x')", "next_server_side_id('x/')";
	for ([ "hilo_next_number('$x')", 'a number from memory' ], [ "hilo_next('$y')", 'an id from memory' ], [ "next_identity('x')", 'an identity logged ahead' ],
		[ "next_server_side_id('x/')", 'a server-side id logged ahead' ], [ "next_server_side_id('y/')", 'one of another prefix' ])
	{
		my ($expression, $name) = @$_;
		is($trace->events($session, $expression), 'A', "$name, synchronous_commit = $synchronous_commit: no write, no sync");
	}
	$session->query('ROLLBACK');
	is($trace->events($session, "hilo_next_number('$x')"), 'A',
		"a transaction that draws from memory, synchronous_commit = $synchronous_commit: no write, no sync");
	$session->finish;
}

# The statement's commit must not have to do it: the same checker sees that a
# sequence is not flushed.
my $session = session($node);
$session->query('CREATE SEQUENCE s');
$session->query('BEGIN');
$trace->events($session, '1');
is($trace->events($session, "nextval('s')"), 'A', 'the same with a sequence: answer without a sync');
$session->finish;

# Servers that have wait events for extensions show the one of ours; and where nothing else has a name, it is seen.
if ($node->pg_version >= 17)
{
	is($node->safe_psql('postgres', "SELECT type FROM pg_wait_events WHERE name = 'HiloFlush'"),
		'Extension', 'the wait event of a flush is known');
}
if ($node->pg_version =~ /^17/)
{
	my $claims = session($node, commit_delay => 100000, commit_siblings => 0, 'hilo.max_range_size' => 1);
	$claims->start("SELECT count(hilo_next_number('waits')) FROM generate_series(1, 50)");
	ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'HiloFlush'"),
		'a session that waits before it flushes shows it');
	$claims->result;
	$claims->finish;
}

$node->stop;
$trace->finish;

done_testing();
