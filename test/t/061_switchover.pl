# A physical standby takes over and the old primary comes back as its standby, in both directions, by a clean switch-over and after kill -9 with pg_rewind: no number is shown twice.
use HiloTest;

my $CLIENTS = 4;
my $LEAST = 40;

my $dir = PostgreSQL::Test::Utils::tempdir;
my %shown;    # "counter number" → the rounds in which it was shown

# What the clients do, over and over: each line that they write is a number that was shown.
my @draws = (
	q{SELECT 'orders ' || hilo_next_number('orders');},
	q{SELECT 'orders ' || hilo_number(hilo_next('orders'));},
	q{SELECT 'orders ' || n FROM hilo_reserve('orders', 3), generate_series(low, high) n;},
	q{SELECT 'orders ' || n FROM hilo.next_range('orders'), generate_series(low, high) n;},
	q{SELECT 'orders ' || n FROM hilo.next_hi('orders', 5) hi, generate_series(hi * 5 - 4, hi * 5) n;},
	q{INSERT INTO invoices DEFAULT VALUES RETURNING 'invoices ' || id;},
	q{SELECT 'identity ' || next_identity_for('companies');},
	q{SELECT 'server-side ' || hilo_number(next_server_side_id('any/'));});
my @scripts = map { client_script("$dir/client.$_", $_, 20000, @draws) } 0 .. $CLIENTS - 1;

# Clients draw until $end->() ends the server.
sub shown_until
{
	my ($node, $round, $end) = @_;
	my @logs = draw_until($node, "$dir/$round", $LEAST, $end, \@scripts);

	foreach my $log (@logs)
	{
		push @{ $shown{$_} }, $round for lines_of("$log.out");
		unlike(slurp_file("$log.err"), qr/ERROR/, "$round: only the end of the server ends a client");
	}
	my @twice = grep { @{ $shown{$_} } > 1 } sort keys %shown;
	is(join(', ', map { "$_ (" . join(", ", @{ $shown{$_} }) . ")" } splice(@twice, 0, 5)), '', "$round: no number came twice");
	return;
}

# A standby has been told of the numbers that are logged ahead as well.
sub counters
{
	my ($node) = @_;
	return $node->safe_psql('postgres',
		'SELECT collection, max + ahead, max_value, epoch, home, flags, node_tag FROM hilo.hilo ORDER BY collection');
}

sub ask_for_standbys
{
	my ($node, $names) = @_;

	$node->append_conf('postgresql.conf', "synchronous_standby_names = '$names'");
	$node->reload if -e $node->data_dir . '/postmaster.pid';
	return;
}

# Make $standby, which has never been ahead of $primary or was rewound, a synchronous standby.
sub follow
{
	my ($standby, $primary) = @_;

	$standby->enable_streaming($primary);
	$standby->start;
	ask_for_standbys($primary, '*');
	$primary->poll_query_until('postgres',
		q{SELECT count(*) = 1 AND bool_and(sync_state = 'sync') FROM pg_stat_replication})
	  or die 'the standby does not follow';
	$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
	return;
}

my $first = server('first', "max_connections = 30\nautovacuum = off\nwal_log_hints = on\nwal_keep_size = 512MB\n", q{
	CREATE EXTENSION hilo;
	CREATE TABLE invoices (id bigserial PRIMARY KEY);
	SELECT hilo.attach('invoices');
}, allows_streaming => 1);
my $second = standby_of($first, 'second');
follow($second, $first);

# The server stops in order, having sent all to its standby, and follows that.
sub switch_over
{
	my ($from, $to) = @_;
	my $round = 'clean, ' . $from->name . ' to ' . $to->name;

	shown_until($from, $round, sub { $from->stop('fast') });
	$to->promote;
	ask_for_standbys($to, '');
	follow($from, $to);
	is(counters($from), counters($to), "$round: the new standby has the counters of the new primary");
	return;
}

# The server is killed, comes up again by itself, claims what its standby, which
# has taken over, will claim too, and is rewound.
sub fail_over
{
	my ($from, $to) = @_;
	my $round = 'killed, ' . $from->name . ' to ' . $to->name;

	shown_until($from, $round, sub { kill_server($from) });
	$to->promote;
	ask_for_standbys($to, '');
	# pg_rewind takes the timeline from the last checkpoint.
	$to->safe_psql('postgres', 'CHECKPOINT');
	ask_for_standbys($from, '');
	$from->start;
	$from->safe_psql('postgres', q{
		SELECT hilo.seed('orders', hilo_next_number('orders') + 100000);
		SELECT hilo_next_number('of nobody');
		SELECT next_identity('companies');
		SELECT hilo.configure('invoices', node_tag => 'lost');
		CHECKPOINT;
	});
	$from->stop('fast');

	my $saved = slurp_file($from->data_dir . '/postgresql.conf');
	command_ok([ $from->installed_command('pg_rewind'), '--target-pgdata', $from->data_dir,
			'--source-server', $to->connstr('postgres'), '--no-sync' ],
		"$round: the old primary is rewound");
	rewrite($from->data_dir . '/postgresql.conf', sub { $_ = $saved });
	follow($from, $to);
	is(counters($from), counters($to), "$round: it has the counters of the new primary, and none of its own claims");
	return;
}

switch_over($first, $second);
switch_over($second, $first);
fail_over($first, $second);
fail_over($second, $first);
shown_until($first, 'at the end', sub { $first->stop('fast') });
cmp_ok(scalar(keys %shown), '>', 5 * $CLIENTS * $LEAST, scalar(keys %shown) . ' numbers were shown');
$second->stop;

done_testing();
