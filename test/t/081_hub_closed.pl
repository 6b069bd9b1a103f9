# Promise 12: a hub that may not be the only one is closed until it is told to go on, for leases and its own draws; then no number comes twice.
use HiloTest;
use PostgreSQL::Test::RecursiveCopy;

my $draw = q{SELECT hilo_next_number('orders') FROM generate_series(1, 3000)};
my $draw_more = q{SELECT hilo_next_number('orders') FROM generate_series(1, 9000)};

# A copy of a hub's data folder, as it is now or in a backup, that starts as a server of its own.
sub copied_node
{
	my ($name, $folder) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	mkdir $node->data_dir =~ s{/[^/]*$}{}r;
	PostgreSQL::Test::RecursiveCopy::copypath($folder, $node->data_dir, filterfn => sub { $_[0] ne 'postmaster.pid' });
	chmod 0700, $node->data_dir;
	$node->append_conf('postgresql.conf', 'port = ' . $node->port . "\nunix_socket_directories = '" . $node->host . "'");
	return $node;
}

# The ways in which another server, or another database, comes to stand for the hub.  Each makes it from
# what the hub is, calls $lose while the hub goes on, and returns the server.
my %ways = (
	'a lagging standby, promoted' => sub {
		my ($hub, $lose) = @_;
		my $standby = standby_of($hub, $hub->name . '_standby');

		$standby->start;
		$hub->wait_for_catchup($standby, 'replay', $hub->lsn('flush'));
		$standby->stop;
		$lose->();
		$hub->stop('immediate');
		$standby->start;
		like(outcome_of($standby, 'SELECT hilo_hub.lease(NULL, 0, NULL, NULL)'), qr/^25006/, 'a standby gives no lease');
		$standby->promote;
		return $standby;
	},
	'last night\'s backup, restored' => sub {
		my ($hub, $lose) = @_;
		my $copy = PostgreSQL::Test::Cluster->new($hub->name . '_backup');

		$hub->backup('b');
		$lose->();
		$hub->stop('immediate');
		$copy->init_from_backup($hub, 'b');
		$copy->start;
		return $copy;
	},
	'a cold copy' => sub {
		my ($hub, $lose) = @_;

		$hub->stop;
		my $copy = copied_node($hub->name . '_copy', $hub->data_dir);
		$hub->start;
		$lose->();
		$hub->stop('immediate');
		$copy->start;
		return $copy;
	},
	'a base backup without its standby.signal' => sub {
		my ($hub, $lose) = @_;
		my $copy = PostgreSQL::Test::Cluster->new($hub->name . '_signal');

		$hub->backup('b');
		$lose->();
		$copy->init_from_backup($hub, 'b', has_streaming => 1);
		unlink $copy->data_dir . '/standby.signal' or die;
		$hub->stop('immediate');
		$copy->start;
		return $copy;
	},
	'a copy of the database, renamed into its place' => sub {
		my ($hub, $lose) = @_;

		$hub->safe_psql('template1', 'CREATE DATABASE copy TEMPLATE postgres');
		$lose->();
		$hub->safe_psql('template1', 'ALTER DATABASE postgres RENAME TO old; ALTER DATABASE copy RENAME TO postgres');
		return $hub;
	});

my $count = 0;
foreach my $way (sort keys %ways)
{
	my $hub = open_hub('hub' . ++$count);
	my $member = member_node("member$count", '', $hub);
	my @drawn = map { $_->safe_psql('postgres', $draw) } $member, $hub;

	my $other = $ways{$way}->($hub, sub {
		push @drawn, map { $_->safe_psql('postgres', $draw_more) } $member, $hub;
		# And a collection that the other one has not heard of.
		push @drawn, map { $_->safe_psql('postgres', q{SELECT 'new' || hilo_next_number('new')}) } $member, $hub;
	});
	lead_to($member, $other);
	like(outcome_of($other, "SELECT $_"), qr/^55000.*resume/s, "$way: closed for $_")
	  for q{hilo_next_number('orders')}, q{hilo_next('unheard')}, q{next_identity('users')}, q{next_server_side_id('a/')}, q{hilo_reserve('orders', 5)},
	  q{hilo_hub.lease('orders', 5, NULL, NULL)};
	like($other->safe_psql('postgres', 'SELECT state FROM hilo_hub.leases LIMIT 1'), qr/^closed hub/, "$way: the view says so");
	my $left = $member->safe_psql('postgres', q{SELECT numbers_left FROM hilo_hub.leases WHERE collection = 'orders'});
	push @drawn, $member->safe_psql('postgres', "SELECT hilo_next_number('orders') FROM generate_series(1, $left)");
	like(outcome_of($member, q{SELECT hilo_next_number('orders') FROM generate_series(1, 1000000)}), qr/^55000.*closed/s, "$way: the member draws what it has");

	is($other->safe_psql('postgres', 'SELECT hilo_hub.resume()'), '2', "$way: resumed");
	push @drawn, map { $_->safe_psql('postgres', $draw) } $member, $other, $member;
	push @drawn, map { $_->safe_psql('postgres', q{SELECT 'new' || hilo_next_number('new')}) } $member, $other;
	is(twice(@drawn), '', "$way: no number comes twice");
	cmp_ok($other->safe_psql('postgres', q{INSERT INTO hilo.hilo (collection, max) VALUES ('old', 5); SELECT hilo_next_number('old')}), '>', 1000,
		"$way: a counter that an old dump brings begins above what it may have drawn since");

	# It goes on after a restart, and a crash.
	$other->restart;
	kill_server($other);
	$other->start;
	is(outcome_of($other, q{SELECT hilo_next_number('orders')}), 'fine', "$way: open after a restart and a crash");
	$_->stop for grep { $_->{_pid} } $hub, $other, $member;
}

#
# What the page does not promise: a standby that lacks numbers, resumed without skipping any
#
{
	my $hub = open_hub('short');
	my @drawn = $hub->safe_psql('postgres', $draw);
	my $missing;
	my $other = $ways{'a lagging standby, promoted'}->($hub, sub { push @drawn, $missing = $hub->safe_psql('postgres', $draw) });
	$other->safe_psql('postgres', 'SELECT hilo_hub.resume(0)');
	push @drawn, $other->safe_psql('postgres', $draw_more);
	my $repeats = split ' ', twice(@drawn);
	cmp_ok($repeats, '>', 0, 'skip 0 and an asynchronous standby: numbers come twice');
	cmp_ok($repeats, '<=', scalar(split /\n/, $missing), 'at most as many as it lacked');
	$other->stop;
}

#
# A synchronous standby has all that was shown
#
{
	my $hub = open_hub('sync');
	my $standby = standby_of($hub, 'sync_standby');
	$standby->start;
	wait_for_standbys($hub, '*');
	my $member = member_node('sync_member', '', $hub);
	my @drawn = map { $_->safe_psql('postgres', $draw) } $member, $hub, $member, $hub;
	push @drawn, map { $_->safe_psql('postgres', q{SELECT 'new' || hilo_next_number('new')}) } $member, $hub;
	kill_server($hub);
	$standby->promote;
	configure($standby, synchronous_standby_names => '');
	lead_to($member, $standby);
	$standby->safe_psql('postgres', 'SELECT hilo_hub.resume(0)');
	push @drawn, map { $_->safe_psql('postgres', $draw_more) } $member, $standby, $member;
	push @drawn, map { $_->safe_psql('postgres', q{SELECT 'new' || hilo_next_number('new')}) } $member, $standby;
	is(twice(@drawn), '', 'a synchronous standby, promoted and resumed without skipping any: no number comes twice');
	is($standby->safe_psql('postgres', q{SELECT count(*) FROM hilo_hub.leases WHERE highest > 1000000}), '0', 'and none is skipped');
	$_->stop for $standby, $member;
}

#
# Two servers that were resumed; another hub; a member's own failover
#
{
	my $hub = open_hub('old');
	my $member = member_node('loyal', "hilo_hub.lease_size = 1\n", $hub);
	is($member->safe_psql('postgres', q{SELECT hilo_next_number('a')}), '1', 'leases of one number');
	$hub->backup('b');
	my $other = PostgreSQL::Test::Cluster->new('newer');
	$other->init_from_backup($hub, 'b');
	$other->start;
	$other->safe_psql('postgres', 'SELECT hilo_hub.resume(0)');
	$hub->safe_psql('postgres', 'SELECT hilo_hub.resume(0)');

	my $next = q{SELECT hilo_next_number('a')};
	lead_to($member, $other);
	is(outcome_of($member, $next), 'fine', 'two servers were resumed: a member draws from the one');
	lead_to($member, $hub);
	like(outcome_of($member, $next), qr/^55000.*another server was opened/s, 'and is refused by the other');
	like(outcome_of($member, q{SELECT hilo_hub.join('hub')}), qr/^55000/, 'also by a join');
	$hub->safe_psql('postgres', 'SELECT hilo_hub.resume(100)');
	is(outcome_of($member, $next), 'fine', 'until that one is resumed again');
	lead_to($member, $other);
	like(outcome_of($member, $next), qr/^55000.*not the hub any more/s, 'and the first one is not the hub any more');

	my $stranger = hub_node('stranger');
	$stranger->safe_psql('postgres', 'SELECT hilo_hub.resume(); SELECT hilo_next_number(\'a\') FROM generate_series(1, 50)');
	lead_to($member, $stranger);
	like(outcome_of($member, $next), qr/^55000/, 'a hub that it did not join');
	is(outcome_of($member, q{SELECT hilo_hub.join('hub')}), 'fine', 'which it may join');
	like(outcome_of($member, $next), qr/^55000.*hilo\.seed\('a'/s, 'whose numbers are below its own');
	$_->stop for $hub, $other, $stranger, $member;
}

#
# Rows of a dump that meet counters that are here already, and those of the hub itself
#
{
	my $next = q{SELECT hilo_next_number('a')};
	my $hub = open_hub('dumped_hub');
	my $member = member_node('dumped', '', $hub);
	$_->safe_psql('postgres', $next) foreach $member, $hub;
	foreach my $from ($member, $hub)
	{
		my $rows = $from->basedir . '/rows';
		my $name = $from->name;

		$from->safe_psql('postgres', "COPY hilo.hilo TO '$rows'");
		new_database($from, 'used', "CREATE EXTENSION hilo_hub CASCADE; $next; COPY hilo.hilo FROM '$rows'");
		like(error_of($from, 'used', $next), qr/^(?:55000|42704)$/, "$name: a counter that the dump shares is shared, though it was here before");
		like($from->safe_psql('used', 'SELECT max(state) FROM hilo_hub.leases'), $from == $hub ? qr/^closed hub/ : qr/^member by server \w/, "$name: and the database is what the dump says");
		$from->safe_psql('postgres', "DROP EXTENSION hilo CASCADE; CREATE EXTENSION hilo_hub CASCADE; COPY hilo.hilo FROM '$rows'");
	}
	is(error_of($hub, 'postgres', $next), '55000', 'a hub that comes back with a dump is closed, even in its place');
	$_->stop for $hub, $member;
}

#
# An answer that comes late: the opening that it is of was overtaken while a session took it in
#
{
	my $libdir = build_variant("$PostgreSQL::Test::Utils::tmp_check/pause", \&add_pause, 'PROFILE=-DHILO_FAILURE_POINTS');
	my $hub = open_hub('late_hub');
	my $member = member_node('late_member', "dynamic_library_path = '$libdir:\$libdir'\nhilo_hub.lease_size = 1\n", $hub);
	foreach my $point ('opening noted', 'lease written')
	{
		my $name = $point =~ s/ /_/r;
		my $late = session($member, 'test.failure_point' => "$point:pause");
		$late->start("SELECT hilo_next_number('$name')");
		paused($member);
		my $opening = $hub->safe_psql('postgres', 'SELECT hilo_hub.resume(10)');
		is($member->safe_psql('postgres', "SELECT hilo_next_number('other'); SELECT max(opening) FROM hilo_hub.leases") =~ s/.*\n//r,
			$opening, "$point: another session has heard of a later opening meanwhile");
		go_on($member);
		like(($late->result)[1], qr/opened anew meanwhile/, "$point: the late answer is not taken in");
		is($late->query_safe("SELECT hilo_next_number('$name') > 1"), 't', "$point: a new one is");
		$late->finish;
	}
	$_->stop for $hub, $member;
}

done_testing();
