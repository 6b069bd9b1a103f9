# Promise 12, at random: a hub is killed, frozen, cut off, promoted, restored and resumed, members are killed, copied, leave and join, clocks jump, while
# all draw: no number comes twice.
# HILO_SECONDS is how long, HILO_SEED which events.
use HiloTest;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{HILO_SECONDS} // 25;
my $seed = $ENV{HILO_SEED} // time ^ $$;
srand $seed;
note("seed $seed");

my $dir = $PostgreSQL::Test::Utils::tmp_check;
my @collections = ('orders', 'lines', 'users|');
my ($draws, $events, $made, %happened) = (0, 0, 0);
my %seen;
my @repeats;

# Many small claims, so that a server that lacks some WAL lacks some claims.
my $small = "hilo_hub.timeout = 20s\nhilo_hub.lease_size = 60\nhilo.max_range_size = 200\n";

# The hub that counts, and its standby.  In every second test round of failovers the standby is waited for.
my ($hub, $standby);
my $synchronous = 0;

# Members ask whichever of these servers is there and no standby.
my @hubs;

sub sql { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql) }

sub new_standby
{
	$standby = standby_of($hub, 'standby' . ++$made);
	$standby->append_conf('postgresql.conf', "synchronous_standby_names = ''");
	$standby->start;
	$synchronous = rand() < 0.5;
	configure($hub, synchronous_standby_names => $synchronous ? '*' : '');
	return;
}

my @members;

my $set_clocks = clock_setter();

# Let each node draw in the background; each statement either shows numbers or is an error.
my $script = "$dir/draws.sql";
append_to_file($script, join '', map { my $c = $collections[ $_ % 3 ];
	$c =~ /^(.*)\|$/ ? "SELECT '$c', next_identity_for('$1') FROM generate_series(1, 12);\n"
	: "SELECT '$c', hilo_next_number('$c') FROM generate_series(1, " . (5 + 40 * ($_ % 5)) . ");\n" } 1 .. 250);
my @writers;

sub write_on
{
	my ($node, $log) = (shift, "$dir/log" . ++$made);
	push @writers, [ IPC::Run::start([ 'psql', '-XAtq', '-d', $node->connstr('postgres'), '-f', $script ], '>', $log, '2>', "$log.err"), $log, $node->name ];
	return;
}

sub gather
{
	foreach (@writers)
	{
		my ($run, $log, $name) = @$_;
		eval { $run->finish };
		foreach my $line (lines_of($log))
		{
			$draws++;
			push @repeats, "$line by $name and $seen{$line}" if exists $seen{$line};
			$seen{$line} = $name;
		}
	}
	@writers = ();
	return;
}

sub new_hub_is
{
	my ($node, $lossless) = @_;
	$hub = $node;
	configure($hub, synchronous_standby_names => '');
	sql($hub, $lossless ? 'SELECT hilo_hub.resume(0)' : 'SELECT hilo_hub.resume()');
	lead_to($_, $hub) for @members;
	new_standby();
	return;
}

sub signal_all { my ($name, $node) = @_; kill $name, $node->{_pid}, server_processes($node->{_pid}); return }

my %events = (
	'the hub is killed, and starts again' => sub { kill_server($hub); $hub->start },
	'the hub is restarted' => sub { $hub->restart('fast') },
	'the hub is killed, and its standby promoted' => sub {
		my ($old, $was_synchronous) = ($hub, $synchronous);
		kill_server($old);
		$standby->promote;
		new_hub_is($standby, $was_synchronous);
	},
	'the standby is away for a while, the hub is killed, and the standby promoted' => sub {
		configure($hub, synchronous_standby_names => '');
		$standby->stop;
		sleep 0.5;
		kill_server($hub);
		$standby->start;
		$standby->promote;
		new_hub_is($standby, 0);
	},
	'a backup takes the hub\'s place' => sub {
		my $copy = PostgreSQL::Test::Cluster->new('copy' . ++$made);
		configure($hub, synchronous_standby_names => '');
		$hub->backup("c$made");
		sleep 0.3;
		kill_server($hub);
		$standby->stop;
		$copy->init_from_backup($hub, "c$made");
		$copy->start;
		new_hub_is($copy, 0);
	},
	'the hub is resumed again' => sub { sql($hub, 'SELECT hilo_hub.resume(' . int(rand 100) . ')') },
	'the hub is frozen' => sub { signal_all('STOP', $hub); sleep 1.2; signal_all('CONT', $hub) },
	'connections to the hub are cut' => sub {
		sql($hub, q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()});
	},
	'all clocks jump' => sub {
		$set_clocks->(my $by = int(rand 7200) - 3600);
		cmp_ok(abs(sql($hub, 'SELECT extract(epoch FROM clock_timestamp())') - time - $by), '<', 60, "the clocks are off by $by s");
	},
	'a member leaves, and joins again' => sub {
		my $member = $members[ rand @members ];

		# Whoever draws in between counts alone.
		gather();
		sql($member, 'SELECT hilo_hub.leave()');
		sql($member, q{SELECT hilo_hub.join('hub')});
	},
	'a member is killed' => sub { my $it = $members[ rand @members ]; kill_server($it); $it->start },
	'a member is restarted' => sub { $members[ rand @members ]->restart('fast') },
	'a member joins again' => sub { sql($members[ rand @members ], q{SELECT hilo_hub.join('hub')}) },
	'a member is copied, and the copy takes its place' => sub {
		my $place = int rand @members;
		my $copy = PostgreSQL::Test::Cluster->new('member' . ++$made);
		$members[$place]->backup("m$made");
		$copy->init_from_backup($members[$place], "m$made");
		kill_server($members[$place]);
		$copy->start;
		$members[$place] = $copy;
	},
	'a new member joins' => sub {
		$members[ rand @members ]->stop('fast');
		@members = grep { $_->{_pid} } @members;
		push @members, member_node('new' . ++$made, $small, $hub);
	});

$hub = open_hub('hub0', $small);
new_standby();
push @members, member_node("member_$_", $small, $hub) for 1 .. 3;

my $end = time + $seconds;
my @names = sort keys %events;
while (time < $end || $events < @names)
{
	# Each of them once, and then at random.
	my $name = $events < @names ? $names[$events] : $names[ rand @names ];

	write_on($_) for @members, $hub;
	sleep rand 0.3;
	$events{$name}->();
	$happened{$name}++;
	$events++;
	write_on($_) for @members, $hub;
	gather();
}
ok(wait_until('all draw', sub {
	my @failures = grep { $_ ne 'fine' } map { outcome_of($_, q{SELECT hilo_next_number('orders')}) } $hub, @members;

	note("draws fail: $_") for @failures;
	!@failures }), 'in the end all draw');
is(join("\n", @repeats[ 0 .. ($#repeats > 9 ? 9 : $#repeats) ]), '', "no number came twice (seed $seed)");
cmp_ok($draws, '>', 100 * $events, 'many were drawn');
note("$draws numbers, $events events");
note("$happened{$_} times: $_") for sort keys %happened;
$_->stop for grep { $_->{_pid} } $hub, $standby, @members;

done_testing();
