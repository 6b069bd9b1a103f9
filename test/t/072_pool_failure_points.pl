# Promises 1 and 4: fail anywhere where numbers change hands between sessions: a kill -9, an error or a cancel leaves at
# most a gap, and no number comes twice.
use HiloTest;

my $node = failure_node('points', <<'SETTINGS', \&add_pause);
shared_preload_libraries = 'hilo'
hilo.debug_range_size = 8
hilo.max_range_size = 8
SETTINGS

my $GAP = 60;    # more than all that a case claims
my $times = 0;

# A session that does not wait long.
sub enter { return session($node, statement_timeout => '60s'); }

sub draw
{
	my ($session, $name) = @_;
	my ($out, $err) = $session->query("SELECT hilo_next_number('$name')");

	return $err || $out;
}

# What changes hands: a session that puts numbers into the pool, one that takes them.  What it shows comes
# from a claim of a row that was there before: only that itself flushes it.
my $drawn = "SELECT 'n=' || hilo_next_number('NAME'); SELECT 'n=' || hilo_next_number('NAME') FROM generate_series(1, 8)";
my $pooled = "SELECT hilo_next_number('NAME') FROM generate_series(1, 9)";
my @cases = (
	{ what => 'exit', before => $drawn, sql => '\q', at => [ 'given back' => 'kill' ] },
	{
		what => 'draw out of the pool', first => $pooled, before => 'SELECT 1',
		sql => "SELECT hilo_next_number('NAME')",
		at => [ 'row read' => 'error wait kill', 'taken' => 'kill' ],
	},
	{
		what => 'draw past the pool', first => $pooled, before => 'SELECT 1',
		sql => "SELECT hilo_next_number('NAME') FROM generate_series(1, 30)",
		at => [ 'taken' => 'kill', 'row read' => 'error wait', 'before flush' => 'error wait kill',
			'after flush' => 'error wait kill' ],
	});

# Let one thing fail at one place in one way; returns what is wrong then.
sub wrong_after
{
	my ($case, $point, $way) = @_;
	my $name = 't' . ++$times;
	my ($before, $sql) = map { s/NAME/$name/gr } @$case{qw(before sql)};
	if ($case->{first})
	{
		my $first = enter();
		$first->query($case->{first} =~ s/NAME/$name/gr);
		$first->leave;
	}
	my $session = enter();
	my $other = enter();
	my @wrong;
	my ($out, $err) = $session->query($before);
	my @shown = $out =~ /^n=(\d+)$/mg;

	push @wrong, "before: $err" if $err;
	$session->query("SET test.failure_point = '$point:$way'");
	if ($way eq 'kill')
	{
		dies_in($node, $sql, $session, $other) or push @wrong, 'nothing happened';
		$other = enter();
	}
	else
	{
		my $pid = $session->pid;
		my $state = $way eq 'error' ? 'XX000' : '57014';

		$session->start($sql);
		if ($way eq 'wait')
		{
			# It stands there, and no other waits for it.
			wait_until('the session has come there', sub {
				$node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND state = 'active' AND query LIKE '%$name%'") });
			push @shown, draw($other, $name) for 1 .. 3;
			$other->query("SELECT pg_cancel_backend($pid)");
		}
		($out, $err) = $session->result;
		push @wrong, "said $err" unless $err =~ /$state/;
		push @shown, grep { /^\d+$/ } split /\n/, $out if $case->{what} =~ /draw/;
		$session->query('RESET test.failure_point; SET statement_timeout = 60000');
		push @shown, draw($session, $name);
		$session->leave;
	}

	# All go on, one after the other and at once.
	my @next;
	for my $s ($other, enter(), enter())
	{
		push @next, map { draw($s, $name) } 1 .. 5;
		$s->leave;
	}
	my @at_once = (enter(), enter());
	push @next, map { draw($_, $name) } (@at_once) x 12;
	$_->leave for @at_once;

	my %seen;
	my @all = (@shown, @next);
	push @wrong, "drawn: @all" if grep { !/^\d+$/ } @all;
	push @wrong, "twice: $_ of @all" for grep { $seen{$_}++ == 1 } @all;
	push @wrong, "a gap: @all" if grep { /^\d+$/ && $_ > $GAP + @all } @all;
	push @wrong, 'max is behind' if grep { $_ > max_of($node, $name) } @all;
	return @wrong;
}

test_failures(\&wrong_after, @cases);

# A session has read the row, and does nothing for so long that others claim anew: it takes nothing away
# of what is in the pool then.
{
	my ($slow, $other) = (enter(), enter());

	for (1 .. 2)
	{
		my $first = enter();
		$first->query(q{SELECT hilo_next_number('late')});
		$first->leave;
	}
	$slow->query("SET test.failure_point = 'row read:pause'");
	$slow->start("SELECT hilo_next_number('late')");
	paused($node);
	$other->query("SELECT hilo_next_number('late') FROM generate_series(1, 30)");
	$other->leave;
	go_on($node);
	my $number = $slow->result;
	like($number, qr/^3[3-9]$/, 'a session that has read an old row draws a new number');
	$slow->leave;
	my $next = enter();
	is(draw($next, 'late'), $number + 1, 'what has not been drawn is in the pool');
	$next->leave;
}

# Claims that are under way at the same time, or fail: none takes more because of the others, whose numbers nobody has used.
{
	my ($first, @at_once) = map { enter() } 0 .. 20;

	# The pool knows the collection, and has nothing.
	$_->query('SET hilo.debug_range_size = 1; SET hilo.max_range_size = 1000000') for $first, @at_once;
	$first->query(q{SELECT hilo_next_number('burst') FROM generate_series(1, 10)});
	draw($first, 'burst') while $first->query(q{SELECT max > coalesce((SELECT high FROM hilo.ranges WHERE collection = 'burst'), hilo_last_number('burst'))
		FROM hilo.hilo WHERE collection = 'burst'}) eq 't';
	$_->query(q{SET test.failure_point = 'before flush:wait'}) for @at_once;
	my $before = max_of($node, 'burst');
	$_->start(q{SELECT hilo_next_number('burst')}) for @at_once;
	wait_until('all have claimed', sub { $first->query(q{SELECT count(*) FROM pg_stat_activity
		WHERE query LIKE '%burst%' AND state = 'active' AND pid <> pg_backend_pid()}) == @at_once
		&& max_of($node, 'burst') >= $before + @at_once });
	cmp_ok(max_of($node, 'burst'), '<=', $before + 200, 'claims at the same time do not add up');
	$first->query('SELECT pg_cancel_backend(' . $_->pid . ')') for @at_once;
	is(scalar(grep { ($_->result)[1] =~ /57014/ } @at_once), scalar @at_once, 'all are cancelled');
	draw($_, 'burst') for $first, enter();
	cmp_ok(max_of($node, 'burst'), '<=', $before + 250, 'nor do those that have failed');
	$_->leave for $first, @at_once;
}

# A claim is large, and nobody has used what it took.  A session that claimed meanwhile is above that, and has to claim again,
# while the large one is under way or after: it does not take as much.
foreach my $when ('under way', 'pooled')
{
	my ($large, $above) = (enter(), enter());

	$above->query('SET hilo.debug_range_size = 1; SET hilo.max_range_size = 1000000');
	$above->query("SELECT hilo_next_number('$when') FROM generate_series(1, 10)");
	draw($above, $when) while $above->query("SELECT max > hilo_last_number('$when') FROM hilo.hilo WHERE collection = '$when'") eq 't';
	my $before = max_of($node, $when);
	$large->query(q{SET hilo.debug_range_size = 1000; SET hilo.max_range_size = 1000000; SET test.failure_point = 'before flush:pause'});
	$large->start("SELECT hilo_next_number('$when')");
	paused($node);
	cmp_ok(draw($above, $when), '>', $before + 1000, "$when: the next claim is above the large one");
	$above->query("SELECT hilo_next_number('$when') FROM generate_series(1, 20)") if $when eq 'under way';
	go_on($node);
	is(scalar $large->result, $before + 1, "$when: that goes on");
	$above->query("SELECT hilo_next_number('$when') FROM generate_series(1, 20)");
	cmp_ok(max_of($node, $when), '<=', $before + 1000 + 200, "$when: its numbers are not used up");
	$_->leave for $large, $above;
}

# A flush that takes long, as with a standby far away: a range lasts from when it can be used, and grows.
{
	my $far = enter();

	$far->query(q{SET hilo.debug_range_size = 1; SET hilo.max_range_size = 1000; SET test.failure_point = 'before flush:slow'});
	$far->query(q{SELECT hilo_next_number('far') FROM generate_series(1, 30)});
	cmp_ok(max_of($node, 'far'), '>', 30, 'a range grows where a flush takes long');
	$far->leave;
}

$node->stop;
is(left_behind($node), '', 'nothing was left behind');
note("$times failures");
done_testing();
