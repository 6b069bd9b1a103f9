# Promises 1 and 9 with terms: however late a server or an answer is, and whichever of several hubs a member meets, no
# number comes twice.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $libdir = build_failure_points(\&add_pause);
my $node = new_member('members', <<SETTINGS, allows_streaming => 1);
dynamic_library_path = '$libdir:\$libdir'
hilo.lease_size = 100
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.range_size = 1
hilo.max_range_size = 1
SETTINGS
my @members = map { database($node, "member$_") } 1, 2;
my $round = 0;
my (%shown, @servers);

# A hub, with so many standbys, and members that lease from it.  The last leases are lost: the standbys do not have them.
sub set_up
{
	my ($count) = @_;
	my $hub = new_node('hub' . ++$round, '', allows_streaming => 1);
	my @standbys;

	$hub->safe_psql('postgres', 'CREATE DATABASE hub');
	$hub->safe_psql('hub', 'CREATE EXTENSION hilo');
	for my $member (@members)
	{
		add_hub($node, $hub, db => $member->name, dbname => 'hub', server => "hub$round");
		$member->sql("SELECT hilo.lease_from('orders$round', 'hub$round'), hilo.lease_from('others$round', 'hub$round')");
	}
	%shown = ();
	draw($_, 50) for @members;
	$hub->backup('base');
	for my $i (1 .. $count)
	{
		my $standby = PostgreSQL::Test::Cluster->new("standby${round}_$i");
		$standby->init_from_backup($hub, 'base', has_streaming => 1);
		$standby->start;
		push @standbys, $standby;
	}
	$hub->wait_for_catchup($_, 'replay', $hub->lsn('insert')) for @standbys;
	# Nothing reaches them from now on.
	$hub->append_conf('postgresql.conf', 'max_wal_senders = 0');
	$hub->restart;
	draw($_, 500) for @members;
	push @servers, $hub, @standbys;
	return ($hub, @standbys);
}

sub move
{
	my ($to, @who) = @_;
	$_->sql("ALTER SERVER hub$round OPTIONS (SET host '" . $to->host . "', SET port '" . $to->port . "')") for @who;
	return;
}

# Draw as many as possible of so many numbers; what was said otherwise is returned.
sub draw
{
	my ($member, $count) = @_;
	my ($out, $err);

	$node->psql($member->name, "SELECT hilo_next_number('orders$round') FROM generate_series(1, $count)",
		stdout => \$out, stderr => \$err, on_error_stop => 1);
	$shown{$_}++ for split /\n/, $out;
	return $err;
}

# Let the next draw ask the hub.
sub use_up
{
	my ($member) = @_;
	my $left = $member->sql("SELECT numbers_left FROM hilo.leases WHERE collection = 'orders$round'");

	draw($member, $left) if $left > 0;
	return;
}

sub report { my ($member) = @_; $node->psql($member->name, 'SELECT hilo.lease_report()', stderr => \my $err); return; }

sub resume { my ($server) = @_; $server->safe_psql('hub', 'SELECT hilo.hub_resume()') for 1, 2; return; }

sub twice { return scalar grep { $_ > 1 } values %shown; }

# The session that has stored the term did not wait for the member's standby.
{
	my ($old, $new) = set_up(1);

	use_up($members[0]);
	$new->promote;
	move($new, $members[0]);
	configure($node, synchronous_standby_names => 'nobody');
	is($members[0]->error("SET statement_timeout = '2s'; SELECT hilo_next_number('orders$round')"), '57014', 'a session gives up while a term is on its way to the standby');
	is($members[0]->sql("SELECT term FROM hilo.hilo WHERE collection = 'orders$round'"), 2, 'the term is stored here');
	is($members[0]->error(q{SET statement_timeout = '2s'; SELECT hilo.lease_report()}), '57014', 'another session waits');
	is($new->safe_psql('hub', 'SELECT count(*) FROM hilo.members WHERE reported'), 0, 'and reports nothing that a promoted standby would not obey');
	configure($node, synchronous_standby_names => '');
	is($members[0]->sql('SELECT hilo.lease_report() > 0'), 't', 'then it does');
}

# Beside the promoted server, which has refused it and had its report, a member asks the old one.
{
	my ($old, $new) = set_up(1);

	$new->promote;
	move($new, @members);
	use_up($members[0]);
	like(draw($members[0], 1), qr/could not lease.*hilo\.hub_resume/s, 'a promoted server gives no lease before it is resumed');
	report($_) for @members;
	# The old one wakes up.
	move($old, $members[0]);
	like(draw($members[0], 1000), qr/could not lease/, 'the old server gives none to a member that has reported to the new one');
	move($new, $members[0]);
	$old->stop;
	resume($new);
	is(draw($_, 1000), '', 'the new one does') for reverse @members;
	is(twice(), 0, 'a report binds: no number twice');
}

# The answer of the old hub arrives when a new one has had all reports.
{
	my ($old, $new) = set_up(1);
	my $session = session($members[0]);

	use_up($members[0]);
	$session->query("SET test.failure_point = 'lease got:pause'");
	$session->start("SELECT hilo_next_number('orders$round') FROM generate_series(1, 90)");
	paused($node);
	$old->stop('immediate');
	$new->promote;
	move($new, @members);
	report($_) for @members;
	resume($new);
	is(draw($members[1], 1000), '', 'the new hub gives leases');
	go_on($node);
	my ($out, $err) = $session->result;
	$shown{$_}++ for split /\n/, $out;
	like($err, qr/could not lease.*it is in term 1, but term 2 was seen before/s, 'an answer of an earlier term is not taken in');
	$session->finish;
	is(draw($_, 300), '', 'all go on') for @members;
	is(twice(), 0, 'no number twice');
}

# Two servers on the same timeline: one is promoted and resumed, the other one, which never followed it, later.
{
	my ($old, $first, $second) = set_up(2);

	$old->stop('immediate');
	$first->promote;
	move($first, @members);
	report($_) for @members;
	resume($first);
	is(draw($_, 300), '', 'the first one gives leases') for @members;
	$second->promote;
	move($second, @members);
	report($_) for @members;
	resume($second);
	is(draw($members[0], 1000), '', 'so does the second one');
	# The first one wakes up.
	move($first, $members[1]);
	like(draw($members[1], 1000), qr/could not lease/, 'the first one gives none to a member that knows the second one');
	move($second, $members[1]);
	is(draw($members[1], 300), '', 'which does');
	is(twice(), 0, 'no number twice');
}

# A first lease is on its way from the old hub, of a collection that no report knows of.
{
	my ($old, $new) = set_up(1);
	my $session = session($members[0]);

	$members[0]->sql("SELECT hilo.lease_from('fresh', 'hub$round')");
	$session->query("SET test.failure_point = 'lease got:pause'");
	$session->start("SELECT hilo_next_number('fresh') FROM generate_series(1, 90)");
	paused($node);
	$old->stop('immediate');
	$new->promote;
	move($new, @members);
	report($_) for @members;
	resume($new);
	go_on($node);
	my ($out, $err) = $session->result;
	$members[1]->sql("SELECT hilo.lease_from('fresh', 'hub$round')");
	my %fresh;
	$fresh{$_}++ for split(/\n/, $out), map { split /\n/, $_->sql(q{SELECT hilo_next_number('fresh') FROM generate_series(1, 200)}) } reverse @members;
	is(scalar(grep { $_ > 1 } values %fresh), 0, 'a first lease: no number twice');
	$session->finish;
}

# hilo.lease_from() is under way at a failover.
{
	my ($old, $new) = set_up(1);
	my $session = session($members[0]);

	$session->query("SET test.failure_point = 'hub known:pause'");
	$session->start("SELECT hilo.lease_from('joining', 'hub$round')");
	paused($node);
	$new->promote;
	move($new, @members);
	report($_) for @members;
	resume($new);
	go_on($node);
	unlike(($session->result)[1], qr/ERROR/, 'a collection joins');
	# The old one wakes up.
	move($old, $members[0]);
	like($members[0]->message(q{SELECT hilo_next_number('joining')}), qr/55000: could not lease.*term/s, 'and takes no lease of the term of before');
	$session->finish;
}

# The first lease by the setting is under way at a failover: the row is leased only once the lease is here, but it is marked before.
{
	my ($old, $new) = set_up(1);

	$members[$_]->sql("ALTER DATABASE member" . ($_ + 1) . " SET hilo.hub = 'hub$round'") for 0, 1;
	my $session = session($members[0]);
	$session->query("SET test.failure_point = 'marked:pause'");
	$session->start("SELECT hilo_next_number('set marked') FROM generate_series(1, 90)");
	paused($node);
	is($members[0]->sql(q{SELECT hub, numbers_left, last_error IS NULL FROM hilo.leases WHERE collection = 'set marked'}), "hub$round|0|t", 'the view shows a first lease that is on its way');
	$old->stop('immediate');
	$new->promote;
	move($new, @members);
	report($_) for @members;
	resume($new);
	go_on($node);
	my ($out, $err) = $session->result;
	like($err, qr/could not lease.*it is in term 1, but term 2 was seen before/s, 'its answer is not taken in');
	my %fresh;
	$fresh{$_}++ for split(/\n/, $out), map { split /\n/, $_->sql(q{SELECT hilo_next_number('set marked') FROM generate_series(1, 200)}) } reverse @members;
	is(scalar(grep { $_ > 1 } values %fresh), 0, 'no number twice');
	$session->finish;
	$members[$_]->sql("ALTER DATABASE member" . ($_ + 1) . " RESET hilo.hub") for 0, 1;
}

# What a first lease that fails says.
$members[0]->sql("CREATE SERVER nowhere FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '/nonexistent')");
$members[0]->sql(q{CREATE USER MAPPING FOR CURRENT_USER SERVER nowhere});
is($members[0]->error(q{SET hilo.hub = 'nowhere'; SELECT hilo_next_number('failing')}), '08001', 'a first lease that fails');
is($members[0]->sql(q{SELECT hub, numbers_left, last_error LIKE 'connection to server%', failing_since IS NOT NULL FROM hilo.leases WHERE collection = 'failing'}), 'nowhere|0|t|t', 'shows in the view');
is($members[0]->sql(q{SELECT hilo_next_number('failing')}), 1, 'without the setting it is counted here');
is($members[0]->sql(q{SELECT count(*) FROM hilo.leases WHERE collection = 'failing'}), 0, 'and no lease');

$_->stop for $node, grep { -e $_->data_dir . '/postmaster.pid' } @servers;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $node, @servers;
done_testing();
