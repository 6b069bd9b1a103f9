# Promise 1: a lease that is on its way, or lies in the pool, comes in below nothing: no seed, sync, id by hand, change of
# hub, or cancelled exchange makes a number appear twice, or one at or below what was said to be the least.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $libdir = build_failure_points(\&add_pause);

# One server: hub and member are databases of it.
my $node = new_member('server', <<SETTINGS);
dynamic_library_path = '$libdir:\$libdir'
hilo.lease_size = 100
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.lease_timeout = 1h
test.max_lease_size = 1000000
SETTINGS
my $hub = database($node, 'hub');
my $member = database($node, 'member');
add_hub($node, $node, db => 'member', dbname => 'hub', server => 'hub');

# The hub gives no answer until this session's query('COMMIT').
sub hold { return hold_hub($node, 'hub'); }

sub asked { wait_until_asked($node, 'hub', $_[0] // 1); return; }

sub flags { return $member->sql("SELECT coalesce(max(flags & 2), 0) FROM hilo.hilo WHERE collection = '$_[0]'"); }

sub is_distinct
{
	my ($what, @numbers) = @_;
	my %seen;
	is(join(' ', grep { !/^\d+$/ || $seen{$_}++ } @numbers), '', "$what: all distinct");
	return;
}

#
# Switching to a hub fails
#
for my $way (qw(cancel timeout terminate))
{
	my $name = "i_$way";
	my $session = session($member);
	my $other = session($member);
	my @drawn;

	$member->sql("SELECT seed_identity_for('$name', 100)");
	push @drawn, scalar $other->query("SELECT next_identity_for('$name')");
	my $held = hold();
	$session->query('SET statement_timeout = 1000') if $way eq 'timeout';
	$session->start("SELECT hilo.lease_from('$name|', 'hub')");
	asked() if $way ne 'timeout';
	# Meanwhile it is counted as before, or a draw waits: then until this has failed.
	$other->start("SELECT next_identity_for('$name')");
	$member->sql('SELECT pg_cancel_backend(' . $session->pid . ')') if $way eq 'cancel';
	$member->sql('SELECT pg_terminate_backend(' . $session->pid . ')') if $way eq 'terminate';
	my (undef, $err) = eval { $session->result };
	$err = ($session->finish)[1] if $way eq 'terminate';
	like($err, $way eq 'terminate' ? qr/57P01/ : qr/57014/, "hilo.lease_from(), $way: ends with an error");
	push @drawn, scalar $other->result;
	is(flags("$name|"), 0, "hilo.lease_from(), $way: it is counted as before");
	push @drawn, map { $member->sql("SELECT next_identity_for('$name')") } 1 .. 2;
	is(join(' ', @drawn), '101 102 103 104', "hilo.lease_from(), $way: and no number is lost or comes twice");
	$held->query('COMMIT');
	wait_until('the hub is done with it', sub { !$node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo' AND state = 'active'}) });
	push @drawn, $member->sql("SELECT next_identity_for('$name')");
	$member->sql("SELECT hilo.lease_from('$name|', 'hub')");
	push @drawn, map { $member->sql("SELECT next_identity_for('$name')") } 1 .. 2;
	cmp_ok($drawn[-2], '>', $drawn[-3], "hilo.lease_from(), $way: leased then, above what was counted");
	push @drawn, $hub->sql("SELECT next_identity_for('$name')");
	is_distinct("identity, $way", @drawn);
	$_->hang_up for $session, $other, $held;
}

# hilo.lease_from() of a collection waits for its answer, while sessions hold ranges of it.
{
	my $session = session($member);
	my $other = session($member);
	my @drawn = scalar $other->query(q{SELECT hilo_next_number('c')});
	my $held = hold();

	$session->start(q{SELECT hilo.lease_from('c', 'hub')});
	asked();
	push @drawn, scalar $other->query(q{SELECT hilo_next_number('c')});
	$member->sql('SELECT pg_terminate_backend(' . $session->pid . ')');
	eval { $session->result };
	$session->hang_up;
	is(flags('c'), 0, 'a collection: counted as before');
	is($member->sql(q{SELECT max FROM hilo.hilo WHERE collection = 'c'}), 32, 'as far as before');
	push @drawn, scalar $other->query(q{SELECT hilo_next_number('c')});
	is(join(' ', @drawn), '1 2 3', 'its range is good as before');
	$held->query('COMMIT');
	push @drawn, split /\n/, $member->sql(q{SELECT hilo.lease_from('c', 'hub'); SELECT hilo_next_number('c')}) =~ s/^\n//r;
	push @drawn, scalar $other->query(q{SELECT hilo_next_number('c')});
	cmp_ok($drawn[-2], '>', 32, 'leased, numbers lie above what was counted');
	cmp_ok($drawn[-1], '>', 32, 'also of a session that has counted');
	is_distinct('a collection', @drawn);
	$_->finish for $other, $held;
}

# Sessions that wait for an identity, some of which are cancelled.
{
	$member->sql(q{SELECT hilo.lease_from('companies|', 'hub')});
	my @drawn = map { $member->sql(q{SELECT next_identity_for('companies')}) } 1 .. 3;
	my @waiting = map { session($member) } 1 .. 6;
	my $held = hold();

	$waiting[0]->start(q{SELECT next_identity_for('companies')});
	asked();
	$_->start(q{SELECT next_identity_for('companies')}) for @waiting[ 1 .. 5 ];
	wait_until_waiting($node, @waiting);
	# The one that asks, one that waits, and the next one that asks.
	$member->sql('SELECT pg_cancel_backend(' . $_->pid . ')') for @waiting[ 0, 1 ];
	push @drawn, grep { $_ } map { scalar $_->result } @waiting[ 0, 1 ];
	is(scalar(@drawn), 3, 'sessions that are cancelled draw nothing');
	$held->query('COMMIT');
	my @got = map { my ($out, $err) = $_->result; $err || $out } @waiting[ 2 .. 5 ];
	is_distinct('an identity whose sessions are cancelled', @drawn, @got,
		(map { $member->sql(q{SELECT next_identity_for('companies')}) } 1 .. 3), $hub->sql(q{SELECT next_identity_for('companies')}));
	$_->finish for @waiting, $held;
}

# An id by hand among the numbers of a lease that is on its way: whoever would draw it passes over it.
{
	my $session = session($member);
	my $other = session($member);
	$member->sql(q{CREATE TABLE cut (id bigint PRIMARY KEY); SELECT hilo.attach('cut', collection => 'cut'); SELECT hilo.lease_from('cut', 'hub')});
	my $held = hold();

	$session->query('SET hilo.max_range_size = 100');
	$session->start(q{SELECT low, high FROM hilo_reserve('cut', 60)});
	asked();
	$member->sql('INSERT INTO cut VALUES (80)');
	$other->start(q{SELECT hilo_next_number('cut')});
	wait_until_waiting($node, $other);
	$held->query('COMMIT');
	my ($out, $err) = $session->result;
	like($err || $out, qr/^(\d+)\D(\d+)$/, 'an id of a lease that is on its way: the session that asked draws');
	my ($low, $high) = ($err || $out) =~ /(\d+)\D(\d+)/;
	is(($high // 0) - ($low // 0), 59, 'numbers in a row');
	ok($low > 80 || $high < 80, 'without the id');
	my $number = $other->result;
	like($number, qr/^\d+$/, 'a session that waited draws');
	ok($number != 80 && ($number < $low || $number > $high), 'another number, not the id');
	is($member->error('INSERT INTO cut SELECT FROM generate_series(1, 200)'), '', 'and so do all others');
	$_->finish for $session, $other, $held;
}

# The first lease of a counter that another session, without hilo.hub, has begun to count meanwhile.
{
	my $leasing = session($member);
	my $counting = session($member);
	my $held = hold();

	$leasing->query(q{SET hilo.hub = 'hub'});
	$leasing->start(q{SELECT hilo_next_number('apart')});
	asked();
	my @drawn = map { scalar $counting->query(q{SELECT hilo_next_number('apart')}) } 1 .. 5;
	$held->query('COMMIT');
	push @drawn, scalar $leasing->result;
	push @drawn, scalar $_->query(q{SELECT hilo_next_number('apart')}) for $leasing, $counting, $leasing, $counting;
	push @drawn, $hub->sql(q{SELECT hilo_next_number('apart')});
	is(flags('apart'), 2, 'a counter that is leased and counted at the same time: leased in the end');
	is_distinct('a counter that is leased and counted at the same time', @drawn);
	$_->finish for $leasing, $counting, $held;
}

#
# "At least" while a lease is on its way
#
# 90 numbers of a lease of 100 are drawn; one session needs 30; meanwhile something is said of the ids.  Nothing at or
# below $least, and none of @taken, may appear then.
my %cases = (
	'a seed' => {
		say => sub { $member->sql("SELECT hilo.seed('$_[0]', 1000000)") },
		least => 1000000
	},
	'ids by hand' => {
		say => sub { $member->sql("INSERT INTO $_[0] SELECT generate_series(111, 140)") },
		least => 0
	},
	'ids by hand, above all leases' => {
		say => sub { $member->sql("INSERT INTO $_[0] SELECT generate_series(111, 900)") },
		least => 0
	},
	'a sync' => {
		say => sub {
			$member->sql("SET session_replication_role = replica;
				INSERT INTO $_[0] SELECT generate_series(101, 2000);
				SELECT hilo.sync('$_[0]')");
		},
		least => 2000
	},
	'a sync of all' => {
		say => sub {
			$member->sql("SET session_replication_role = replica;
				INSERT INTO $_[0] SELECT generate_series(101, 2000);
				SELECT count(*) FROM hilo.sync()");
		},
		least => 2000
	});
my $times = 0;
for my $what (sort keys %cases)
{
	my $case = $cases{$what};
	my $table = 't' . ++$times;
	my $early = session($member);
	my $session = session($member);

	$member->sql("CREATE TABLE $table (id bigint PRIMARY KEY);
		SELECT hilo.attach('$table', collection => '$table'); SELECT hilo.lease_from('$table', 'hub', 100)");
	is($early->query("INSERT INTO $table SELECT FROM generate_series(1, 90); SELECT max(id) FROM $table"), 90,
		"$what: 90 numbers of 100");
	$early->query('SELECT hilo.release()');
	my $held = hold();
	$session->start("INSERT INTO $table SELECT FROM generate_series(1, 30) RETURNING id");
	asked();
	$case->{say}->($table);
	$held->query('COMMIT');
	my ($out, $err) = $session->result;
	my @got = split /\n/, $out;
	is($err, '', "$what: a session that waited goes on");
	is(scalar(@got), 30, "$what: and has its numbers");
	is(join(' ', grep { $_ > 100 && $_ <= $case->{least} } @got), '', "$what: no number of the lease on its way comes in below");
	my @next = map { split /\n/, $member->sql("INSERT INTO $table SELECT FROM generate_series(1, 150) RETURNING id") } 1 .. 2;
	push @next, split /\n/, $session->query("INSERT INTO $table SELECT FROM generate_series(1, 150) RETURNING id");
	push @next, split /\n/, $early->query("INSERT INTO $table SELECT FROM generate_series(1, 150) RETURNING id");
	is(scalar(@next), 600, "$what: no duplicate key");
	is(join(' ', grep { $_ <= $case->{least} } @next), '', "$what: nothing at or below is drawn afterwards");
	cmp_ok($hub->sql("SELECT max FROM hilo.hilo WHERE collection = '$table'"), '>=',
		$member->sql("SELECT max(id) FROM $table"), "$what: the hub is above all of it");
	$_->finish for $early, $session, $held;
}

# "At least" where a large lease lies in the pool, and sessions hold ranges of it.
%cases = (
	'a seed' => {
		say => sub { $member->sql("SELECT hilo.seed('$_[0]', 50000)") },
		least => 50000
	},
	'a seed above' => {
		say => sub { $member->sql("SELECT hilo.seed('$_[0]', 1000000)") },
		least => 1000000
	},
	'ids by hand' => {
		say => sub { $member->sql("INSERT INTO $_[0] SELECT generate_series(1000, 2000); INSERT INTO $_[0] VALUES (100000), (7000)") },
		least => 0
	},
	'a sync' => {
		say => sub {
			$member->sql("SET session_replication_role = replica;
				INSERT INTO $_[0] SELECT generate_series(1000, 5000);
				SELECT hilo.sync('$_[0]')");
		},
		least => 5000
	});
for my $what (sort keys %cases)
{
	my $case = $cases{$what};
	my $table = 't' . ++$times;
	my $session = session($member);

	$member->sql("CREATE TABLE $table (id bigint PRIMARY KEY);
		SELECT hilo.attach('$table', collection => '$table'); SELECT hilo.lease_from('$table', 'hub', 100000)");
	is($session->query("INSERT INTO $table SELECT FROM generate_series(1, 10); SELECT max(id) FROM $table"), 10,
		"$what, where 100,000 are in the pool");
	$case->{say}->($table);
	my @next = map { split /\n/, $member->sql("INSERT INTO $table SELECT FROM generate_series(1, 3000) RETURNING id") } 1 .. 3;
	my ($out, $err) = $session->query("INSERT INTO $table SELECT FROM generate_series(1, 3000) RETURNING id");
	is($err, '', "$what: no duplicate key");
	push @next, split /\n/, $out;
	is(scalar(@next), 12000, "$what: all are drawn");
	is(join(' ', grep { $_ <= $case->{least} } @next), '', "$what: nothing at or below is drawn afterwards");
	$session->finish;
}

#
# A new count while others are in the middle of a draw
#
# $session comes to a pause at a failure point in a draw; then comes a new count, after which the session goes on.
# What it drew in that statement was in the middle of it; what it draws in new transactions is of the new count.
for my $point ('row read', 'taken')
{
	my $name = "paused_$times" . ++$times;
	my $session = session($member);

	$member->sql("SELECT hilo.lease_from('$name', 'hub', 100); SELECT hilo_next_number('$name') FROM generate_series(1, 60)");
	$member->sql("SELECT hilo.lease_from('$name', NULL)");
	is($member->sql("SELECT numbers_left FROM hilo.leases WHERE collection = '$name'"), 40, "$point: left, with 40 numbers");
	$session->query("SET test.failure_point = '$point:pause'");
	$session->start("SELECT hilo_next_number('$name')");
	paused($node);
	is($member->sql("SELECT hilo.seed('$name', 1000, true)"), 1000, "$point: a forced seed meanwhile");
	go_on($node);
	my ($first, $err) = $session->result;
	$session->query('RESET test.failure_point');
	my @drawn = split /\n/, $session->query("SELECT hilo_next_number('$name') FROM generate_series(1, 3)");
	push @drawn, scalar $session->query("SELECT hilo_next_number('$name')") for 1 .. 3;
	is(join(' ', grep { $_ <= 1000 } @drawn), '', "$point: new transactions draw numbers of the new count") or diag("first: $first$err");
	is_distinct($point, ($first || ()), @drawn, split /\n/, $member->sql("SELECT hilo_next_number('$name') FROM generate_series(1, 100)"));
	$session->finish;
}

# Ids of the lease are chosen by hand wherever it is: asked for, here, in the row, in the pool.  Whoever takes numbers of it
# passes over them.
for my $point ('lease got', 'lease taken in', 'pooled')
{
	my $table = 't' . ++$times;
	my $session = session($member);

	$member->sql("CREATE TABLE $table (id bigint PRIMARY KEY);
		SELECT hilo.attach('$table', collection => '$table'); SELECT hilo.lease_from('$table', 'hub', 100);
		INSERT INTO $table SELECT FROM generate_series(1, 100)");
	$session->query("SET test.failure_point = '$point:pause'");
	$session->start("INSERT INTO $table SELECT FROM generate_series(1, 20)");
	paused($node);
	$member->sql("INSERT INTO $table VALUES (103), (110), (150)");
	go_on($node);
	my ($state) = ($session->result)[1] =~ /ERROR: +(\w{5})/;
	is($state // '', '', "$point, ids by hand: the session that asked");
	$session->query('RESET test.failure_point');
	is($session->error_of("INSERT INTO $table SELECT FROM generate_series(1, 150)"), '', "$point, ids by hand: goes on");
	is($member->error("INSERT INTO $table SELECT FROM generate_series(1, 150)"), '', "$point, ids by hand: as others do");
	$session->finish;
}

# The answer is here, but not taken in, when the collection is seeded, leaves its hub, or gets another one.
my $other_hub = database($node, 'other');
add_hub($node, $node, db => 'member', dbname => 'other', server => 'other');
%cases = (
	'a seed' => "SELECT hilo.seed('NAME', 5000)",
	'leaving the hub' => "SELECT hilo.lease_from('NAME', NULL)",
	'leaving the hub, and a forced seed' => "SELECT hilo.lease_from('NAME', NULL); SELECT hilo.seed('NAME', 5000, true)",
	'another hub' => "SELECT hilo.lease_from('NAME', 'other')",
	'leaving the hub, and coming back' => "SELECT hilo.lease_from('NAME', NULL); SELECT hilo.lease_from('NAME', 'hub')",
	'dropped, and leased again' => "SELECT hilo.lease_from('NAME', NULL); SELECT hilo.drop('NAME'); SELECT hilo.lease_from('NAME', 'hub')");
for my $what (sort keys %cases)
{
	for my $point ('lease got', 'lease taken in', 'pooled')
	{
		my $name = 'answer' . ++$times;
		my $session = session($member);

		$member->sql("SELECT hilo.lease_from('$name', 'hub', 100)");
		my @drawn = split /\n/, $member->sql("SELECT hilo_next_number('$name') FROM generate_series(1, 100)");
		$session->query("SET test.failure_point = '$point:pause'");
		$session->start("SELECT hilo_next_number('$name')");
		paused($node);
		# What asks the hub itself may wait until the session is done.
		my $admin = session($member, client_min_messages => 'warning');
		$admin->start($cases{$what} =~ s/NAME/$name/gr);
		$node->poll_query_until('postgres', 'SELECT state = \'idle\' OR wait_event_type IN (\'Extension\', \'Lock\') FROM pg_stat_activity WHERE pid = ' . $admin->pid)
		  or die 'it neither ends nor waits';
		go_on($node);
		my (undef, $err) = $admin->result;
		is($err, '', "$point, $what: is done");
		my ($number, $error) = $session->result;
		push @drawn, $number if $number ne '';
		like($error, qr/^$|ERROR:  55000/, "$point, $what: the session draws, or is told that there is no hub");
		$session->query('RESET test.failure_point');
		@drawn = () if $what =~ /drop/;
		for my $s ($session, session($member))
		{
			($number, $error) = $s->query("SELECT hilo_next_number('$name') FROM generate_series(1, 60)");
			push @drawn, split /\n/, $number;
			like($error, $what eq 'leaving the hub' ? qr/^$|ERROR:  55000/ : qr/^$/, "$point, $what: draws go on");
			$s->finish;
		}
		is(join(' ', grep { $_ <= 5000 } @drawn[ 101 .. $#drawn ]), '', "$point, $what: above the seed") if $what =~ /seed/;
		# What counts by itself from a forced seed on has no lease any more.
		is_distinct("$point, $what", @drawn, $what =~ /drop|forced|leaving the hub$|another/ ? () : $hub->sql("SELECT hilo_next_number('$name')"));
		$admin->finish;
	}
}

# The answer is here, but not taken in, when the hub gets a new count, of which the member hears by a report of another session.
my %counts = (
	'seeded' => [ "SELECT hilo.seed('NAME', 5000)", 5000 ],
	'dropped' => [ "SELECT hilo.drop('NAME', true)", 0 ]);
for my $what (sort keys %counts)
{
	my $name = 'heard' . ++$times;
	my $session = session($member);
	my ($change, $least) = @{ $counts{$what} };

	$member->sql("SELECT hilo.lease_from('$name', 'hub', 100); SELECT hilo_next_number('$name') FROM generate_series(1, 100)");
	$session->query("SET test.failure_point = 'lease got:pause'");
	$session->start("SELECT hilo_next_number('$name') FROM generate_series(1, 10)");
	paused($node);
	$hub->sql('SET client_min_messages = error; ' . $change =~ s/NAME/$name/r);
	cmp_ok($member->sql('SELECT hilo.lease_report()'), '>', 0, "$what on the hub: the member hears of it");
	go_on($node);
	my ($out, $err) = $session->result;
	my @drawn = split /\n/, $out;
	is($err . @drawn, 10, "$what on the hub: the session draws");
	is(join(' ', grep { $_ <= $least } @drawn), '', "$what on the hub: no number of before comes in");
	is_distinct("$what on the hub", @drawn, split /\n/, $hub->sql("SELECT hilo_next_number('$name') FROM generate_series(1, 300)"));
	$session->finish;
}

$node->stop;
is(left_behind($node), '', 'nothing was left behind');
done_testing();
