# Fail anywhere: an error, a cancel or a kill -9 at each step of each change leaves at most a gap, and no session waiting.
use HiloTest;

my $node = failure_node('points', <<'SETTINGS');
# Much room, so that each statement draws from a claim of its own.
hilo.debug_range_size = 4
hilo.max_range_size = 4
SETTINGS
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION amcheck;
SELECT hilo_next_number('other');
CREATE TABLE documents (id bigint PRIMARY KEY);
INSERT INTO documents SELECT generate_series(1, 10);
SQL

# What fails, NAME being a counter of its own for each time: the statement and
# what comes before it in the session; how numbers are drawn then; whether it
# may bring shown numbers back; and the places at which it fails, and how.
my @flush = (
	'row changed' => 'kill', 'before flush' => 'error wait kill',
	'after flush' => 'error wait kill');
my @seed = (
	'row locked' => 'kill', 'row changed' => 'kill',
	'before announcement' => 'kill', 'before flush' => 'error kill',
	'after flush' => 'error');
# Claims of a row that was there before: only they themselves flush them.
my $drawn = "SELECT hilo_next_number('NAME'); SELECT hilo_next_number('NAME') FROM generate_series(1, 11)";
my $bind = "SELECT hilo.bind('NAME', 'documents', 'id')";
my @changes = (
	{
		what => 'first draw', sql => "SELECT hilo_next_number('NAME')",
		at => [ 'row inserted' => 'error wait kill',
			'row locked' => 'kill', @flush ],
	},
	{ what => 'draw', before => $drawn,
		sql => "SELECT hilo_next('NAME')",
		at => [ 'row locked' => 'kill', 'redo pointer read' => 'kill', @flush ] },
	{ what => 'reserve', before => $drawn,
		sql => "SELECT hilo_reserve('NAME', 3)",
		at => [ 'before flush' => 'error kill', 'after flush' => 'error' ] },
	{ what => 'range of a client', before => $drawn,
		sql => "SELECT hilo.next_range('NAME')",
		at => [ 'before flush' => 'error kill', 'after flush' => 'error' ] },
	{ what => 'identity', draw => "SELECT next_identity_for('NAME')",
		before => "SELECT next_identity_for('NAME'); SELECT next_identity_for('NAME')", sql => "SELECT next_identity('NAME')",
		at => [ 'row locked' => 'kill', @flush ] },
	{ what => 'first identity', draw => "SELECT next_identity_for('NAME')",
		sql => "SELECT next_identity('NAME')",
		at => [ 'row inserted' => 'error wait kill', @flush ] },
	{
		what => 'server-side id',
		before => "SELECT hilo_number(next_server_side_id('NAME/')); SELECT hilo_number(next_server_side_id('NAME/'))",
		draw => "SELECT hilo_number(next_server_side_id('NAME/'))",
		sql => "SELECT next_server_side_id('NAME/')",
		at => [ 'row locked' => 'kill', @flush ],
	},
	{ what => 'free identity', before => $bind,
		draw => "SELECT next_identity_free_for('NAME')", pattern => qr/(\d+),/, sql => "SELECT next_identity_free('NAME')",
		at => [ 'free number found' => 'error wait kill', 'row locked' => 'kill', @flush ] },
	{ what => 'identity of a document', before => $bind,
		draw => "SELECT next_identity_free_for('NAME')", pattern => qr/(\d+),/, sql => "SELECT hilo_document_id('NAME', 'NAME|')",
		at => [ 'row locked' => 'kill', @flush, 'free number found' => 'error wait kill' ] },
	{ what => 'return', before => "CREATE TEMP TABLE r AS SELECT * FROM hilo.next_range('NAME')",
		sql => "SELECT hilo.return_range('NAME', 3, high, claim) FROM r",
		at => [ 'row locked' => 'kill', 'row changed' => 'kill' ] },
	{ what => 'seed', before => "SELECT hilo_next_number('NAME')",
		sql => "SELECT hilo.seed('NAME', 40)", at => \@seed },
	{ what => 'forced seed', before => "SELECT hilo_next_number('NAME')",
		sql => "SELECT hilo.seed('NAME', 0, true)", again => 1, at => \@seed },
	{ what => 'drop', before => "SELECT hilo_next_number('NAME')",
		sql => "SELECT hilo.drop('NAME')", again => 1, at => \@seed },
	{
		what => 'configure', before => "SELECT hilo_next_number('NAME')",
		sql => "SELECT hilo.configure('NAME', range_size => 9, node_tag => 'T')",
		at => [ 'row locked' => 'kill', 'row changed' => 'kill',
			'before flush' => 'error wait kill', 'after flush' => 'error' ],
	});

my $GAP = 60;    # more than all that a case claims
my $times = 0;

# The number in what a session says, which it must say.
sub number
{
	my ($output, $pattern) = @_;

	return $output =~ ($pattern // qr/(\d+)/) ? $1 : "none in '$output'";
}

# Draw in a session, which must neither fail nor wait.
sub draw
{
	my ($session, $sql, $pattern) = @_;
	my ($out, $err) = $session->query($sql);

	return number($out || $err, $pattern);
}

# Let one thing fail at one place in one way; returns what is wrong then.
sub wrong_after
{
	my ($change, $point, $way) = @_;
	my $name = 't' . ++$times;
	my ($before, $sql, $draw) = map { ($_ // '') =~ s/NAME/$name/gr } (
		$change->{before}, $change->{sql},
		$change->{draw} // "SELECT hilo_next_number('NAME')");
	my $pattern = $change->{pattern};
	my (@wrong, @shown);
	my $session = session($node);
	my $other = session($node, statement_timeout => '20s');

	$other->query("SELECT hilo_next_number('other')");
	if ($before)
	{
		my $out = $session->query($before);
		push @shown, $out =~ /^(\d+)$/mg if $before =~ /^SELECT (?:hilo_next_number|next_identity_for|hilo_number)/;
		push @shown, 1 .. 3 if $before =~ /next_range/;
	}
	$session->query("SET test.failure_point = '$point:$way'");

	if ($way eq 'kill')
	{
		dies_in($node, $sql, $session, $other) or push @wrong, "nothing happened at $point";
		$other = session($node, statement_timeout => '20s');
	}
	elsif ($way eq 'error')
	{
		my (undef, $err) = $session->query($sql);
		push @wrong, "said $err" unless $err =~ /XX000: failure at \Q$point\E/;
	}
	else
	{
		# Nobody waits for one who stands still; who creates lets no other create.
		my $pid = $session->pid;

		$session->start($sql);
		wait_until('the session has come there', sub {
			$node->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND state = 'active' AND query LIKE '%$name%'") });
		for (1 .. 2)
		{
			my $number = draw($other, "SELECT hilo_next_number('other')", qr/(\d+)/);
			push @wrong, "other is $number" unless $number =~ /^\d+$/;
			next if $point eq 'row inserted';
			push @shown, draw($other, $draw, $pattern);
		}
		$other->query("SELECT pg_cancel_backend($pid)");
		my (undef, $err) = $session->result;
		push @wrong, "said $err" unless $err =~ /57014/;
	}

	# All go on: the session itself, the other one and a new one.
	my $new = session($node, statement_timeout => '20s');
	my @alive = ($other, $new);
	unless ($way eq 'kill')
	{
		unshift @alive, $session;
		$session->query('RESET test.failure_point; SET statement_timeout = 20000');
	}
	my @next;
	for (1 .. 3)
	{
		push @next, draw($_, $draw, $pattern) for @alive;
	}
	push @wrong, "next @next" if grep { !/^\d+$/ } @next;
	unless (@wrong)
	{
		my %seen;
		my @all = $change->{again} ? @next : (@shown, @next);
		my @twice = grep { $seen{$_}++ } @all;
		push @wrong, "twice: @twice of @all" if @twice;
		my ($highest) = sort { $b <=> $a } @next;
		push @wrong, "a gap up to $highest" if $highest > $GAP && $change->{what} ne 'server-side id';
		my $row = $draw =~ /server_side/ ? '|' : $draw =~ /identity/ ? "$name|" : $name;
		my $rows = $new->query("SET enable_indexscan = off; SET enable_bitmapscan = off;
			SELECT count(*), max(max) >= $highest FROM hilo.hilo WHERE collection = '$row'");
		push @wrong, "rows, and max is behind what is shown: $rows" unless $rows eq '1|t';
	}
	$_->finish for @alive;
	return @wrong;
}

test_failures(\&wrong_after, @changes);

is($node->safe_psql('postgres', <<'SQL'), '', 'tables and indexes are whole');
SELECT t, v FROM unnest('{hilo.hilo,hilo.binding}'::text[]) t, verify_heapam(t) v;
SELECT i FROM unnest('{hilo.hilo_collection_idx,hilo.binding_collection_idx}'::text[]) i, bt_index_check(i, true) c WHERE c IS NULL;
SQL
$node->stop;
is(left_behind($node), '', 'nothing was left behind');
note("$times failures");

done_testing();
