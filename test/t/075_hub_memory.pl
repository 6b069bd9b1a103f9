# Promises 1 and 9: a hub does not forget which leases are out.  What makes it forget is refused: a drop, a forced seed, a
# copy of its database in its place, a server that was left behind by a promotion, another server at its address.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_member('members', <<SETTINGS);
hilo.lease_size = 100
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.range_size = 1
hilo.max_range_size = 1
SETTINGS
my $hub_node = new_node('hub', '', allows_streaming => 1);
my $hub = database($hub_node, 'hub');
my @members = map { database($node, "member$_") } 1, 2;
add_hub($node, $hub_node, db => $_->name, dbname => 'hub', server => 'hub') for @members;
my %shown;

sub draw
{
	my ($member, $count, $collection) = @_;
	my @numbers = split /\n/, $member->sql(
		"SELECT hilo_next_number('" . ($collection // 'orders') . "') FROM generate_series(1, $count)");
	unless ($collection) { $shown{$_}++ for @numbers }
	return @numbers;
}

sub twice { return join ' ', grep { $shown{$_} > 1 } sort { $a <=> $b } keys %shown; }

# Let the next draw ask the hub.
sub use_up
{
	my ($member) = @_;
	my $left = $member->sql(q{SELECT coalesce(sum(numbers_left), 0) FROM hilo.leases WHERE collection = 'orders'});
	draw($member, $left) if $left > 0;
	return;
}

my $refused = q{SELECT hilo_next_number('orders')};

sub highest { return (sort { $b <=> $a } map { $_->sql(q{SELECT coalesce(max(highest), 0) FROM hilo.leases WHERE collection = 'orders'}) } @_)[0]; }

#
# A drop, and a forced seed
#
for my $member (@members)
{
	$member->sql(q{SELECT hilo.lease_from('orders', 'hub'), hilo.lease_from('companies|', 'hub')});
}
# Nothing was given by that.
is($hub->error(q{SELECT hilo.drop('orders')}), '', 'a hub that was only asked whether it gives any may drop');
draw($members[0], 10);
draw($members[1], 10);
is($members[0]->sql(q{SELECT next_identity_for('companies')}), 1, 'an identity, too');
is($hub->error($_), '55000', "refused: $_")
  for q{SELECT hilo.drop('orders')}, q{SELECT hilo.seed('orders', 0, true)}, q{SELECT hilo.seed('orders', 1000000, true)},
  q{SELECT hilo.drop('companies|')}, q{SELECT hilo.drop('companies|')}, q{SELECT seed_identity_for('companies', 0, true)},
  q{SELECT hilo.seed('companies|', 0, true)};
is($hub->sql(q{SELECT hilo.seed('orders', 100)}), 200, 'a seed that forgets nothing is not');
is($hub->sql(q{SELECT hilo.seed('orders', 300)}), 300, 'nor one that advances');
draw($_, 150) for @members;
is(twice(), '', 'no number was shown twice');
is($members[1]->sql(q{SELECT next_identity_for('companies')}), 2, 'nor an identity');
like($hub->message(q{SELECT hilo.drop('orders')}), qr/HINT:.*force/s, 'a hint says how');
is($hub->sql(q{SELECT hilo.drop('once', true)}), 'f', 'force, where there is nothing');
$members[0]->sql(q{SELECT hilo.lease_from('once', 'hub'); SELECT hilo_next_number('once')});
is($hub->sql(q{SELECT hilo.drop('once', true)}), 't', 'and where leases are out');
is($hub->sql(q{SELECT hilo.drop('companies|', true)}), 't', 'the same for an identity');
is($hub->sql(q{SELECT hilo_next_number('once')}), 1, 'then the hub counts anew');

# Set by force: the error names the members that may still draw, which are forgotten by hand.
$_->sql(q{SELECT hilo.lease_from('set', 'hub'); SELECT hilo_next_number('set') FROM generate_series(1, 10)}) for @members;
my $set = q{SELECT hilo.seed('set', 50, true)};
my @names = map { $_->sql('SELECT DISTINCT member FROM hilo.leases') } @members;
my ($lower, $upper) = sort @names;
like($hub->message($set), qr/55000: collection "set" has given leases\nDETAIL:  .*: "$lower", "$upper"\.\nHINT: .*hilo.hub_forget\(\)/, 'a forced seed is refused, by both members');
$hub->sql("SELECT hilo.hub_forget('$names[0]', true)");
like($hub->message($set), qr/55000: .*\nDETAIL: [^,]*: "$names[1]"\.\n/, 'by the second one');
$hub->sql("SELECT hilo.hub_forget('$names[1]', true)");
is($hub->sql($set), 50, 'by none');
# They hear with their next request; a report is one.
is($members[0]->sql(q{SELECT hilo_next_number('set')}), 11, 'a member draws from what it has');
$_->sql('SELECT hilo.lease_report()') for @members;
is($_->sql(q{SELECT numbers_left FROM hilo.leases WHERE collection = 'set'}), 0, $_->name . ' has heard') for @members;
is($members[0]->sql(q{SELECT hilo_next_number('set')}), 101, 'and goes on above what it ever had');
is($hub->error($set), '55000', 'once it has asked again, a forced seed is refused');
# A seed upwards is not, but names those that have not heard.
like($hub->message(q{SELECT hilo.seed('set', 1000)}), qr/WARNING:  01000: .*: "$lower", "$upper"\n.*HINT: .*hilo.lease_report\(\)/s, 'a seed upwards warns');
$_->sql('SELECT hilo.lease_report()') for @members;
is($members[0]->sql(q{SELECT hilo_next_number('set')}), 1001, 'a report is how a member hears at once');
unlike($hub->message(q{SELECT hilo.configure('set', range_size => 5)}), qr/WARNING/, 'then none is named');
like($hub->message(q{SELECT hilo.drop('set', true)}), qr/WARNING:  01000: .*: "$lower", "$upper"\n/, 'a drop by force warns, too');

#
# A copy of its database, in its place
#
$hub_node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE hub');
my @late = (draw($members[0], 300), draw($members[0], 5, 'only there'));
$hub_node->safe_psql('postgres', 'ALTER DATABASE hub RENAME TO former; ALTER DATABASE copy RENAME TO hub');
for my $member (@members)
{
	use_up($member);
	like($member->message($refused), qr/55000: could not lease.*hilo.hub_resume/s, 'a copy gives no lease');
	is($member->error(q{SELECT hilo.lease_from('fresh', 'hub')}), '55000', 'of nothing');
}
is($hub->error(q{SELECT hilo_next_number('orders')}), '55000', 'nor does it draw for itself');
is($hub->sql(q{SELECT low IS NULL AND refusal IS NOT NULL FROM hilo.lease('orders', 10)}), 't', 'refused, whoever asks');
is($_->sql(q{SELECT hilo.lease_report() = count(*) FROM hilo.leases WHERE hub IS NOT NULL}), 't', 'members say what they hold') for @members;
is($hub->sql(q{SELECT bool_and(reported) FROM hilo.members WHERE collection = 'orders'}), 't', 'which the hub notes');
is($hub->sql(q{SELECT max(highest) FROM hilo.members WHERE collection = 'orders'}), highest(@members), 'with the highest number');
is($hub->sql('SELECT is_open, missing FROM hilo.hub_resume()'), 't|{}', 'resumed');
cmp_ok($hub->sql(q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}), '>=', highest(@members), 'it goes on above that');
draw($_, 250) for reverse @members;
is(twice(), '', 'resumed above what members have, it gives no number again');
my %late = map { $_ => 1 } @late[ 300 .. 304 ];
is(join(' ', grep { $late{$_} } draw($members[0], 10, 'only there')), '', 'nor of a collection that it did not know of');
is($members[1]->error(q{SELECT hilo.lease_from('fresh', 'hub')}), '', 'it gives others, too');

# A hub that was only renamed goes on.
$hub_node->safe_psql('postgres', 'ALTER DATABASE hub RENAME TO hub1; ALTER DATABASE hub1 RENAME TO hub');
use_up($_) for @members;
draw($_, 250) for @members;
is(twice(), '', 'a hub that was renamed gives no number again');
# A member that was: its leases are void, and it asks for new ones.
$node->safe_psql('postgres', 'ALTER DATABASE member1 RENAME TO renamed; ALTER DATABASE renamed RENAME TO member1');
draw($_, 250) for @members;
is(twice(), '', 'nor does a member that was');

#
# A server that was left behind
#
$hub_node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($hub_node, 'base', has_streaming => 1);
$standby->start;
sub move
{
	my ($to, @who) = @_;
	$_->sql("ALTER SERVER hub OPTIONS (SET host '" . $to->host . "', SET port '" . $to->port . "')") for @who;
	return;
}
draw($_, 150) for @members;
$hub_node->wait_for_catchup($standby, 'replay', $hub_node->lsn('insert'));
$standby->promote;
my $missing = $standby->safe_psql('hub', 'SELECT missing FROM hilo.hub_resume()');
like($missing, qr/\b$_\b/, "a promoted server waits for member $_") for @names;
is($standby->safe_psql('hub', q{SELECT count(*) FROM hilo.members WHERE reported}), 0, 'none of them has reported');
$standby->safe_psql('hub', "SELECT hilo.hub_forget(member, true) FROM (SELECT DISTINCT member FROM hilo.members) m");
is($standby->safe_psql('hub', 'SELECT is_open, missing FROM hilo.hub_resume(1000)'), 't|{}', 'forgotten, they are not waited for');
# One member follows, the other one still asks the old server, which runs on: both think that they are the hub.
move($standby, $members[0]);
use_up($members[0]);
draw($members[0], 150);
is(twice(), '', 'a member follows the promoted server');
# It remembers that over a restart.
$node->restart;
move($hub_node, $members[0]);
use_up($members[0]);
my $offset = -s $hub_node->logfile;
like($members[0]->message($refused), qr/55000: could not lease.*it is in term \d+, but the member has seen term \d+/s, 'the old server refuses a member that has seen the new one');
like(slurp_file($hub_node->logfile, $offset), qr/WARNING:  a member knows term \d+/, 'and warns of it');
is($hub->sql('SELECT count(*) > 0 AND bool_and(later_term > term) FROM hilo.members'), 't', 'which its list of members shows');
use_up($members[1]);
draw($members[1], 150);
is(twice(), '', 'another member it does not refuse: the new one has skipped numbers for that');
move($standby, @members);
draw($_, 150) for @members;
is(twice(), '', 'both go on with the new server');
# The old one becomes the hub again.
move($hub_node, @members);
$_->sql('SELECT hilo.lease_report()') for @members;
like($hub->sql('SELECT missing FROM hilo.hub_resume()'), qr/\b$names[0]\b/, 'resumed, the old one has a term above that of the new one');
$_->sql('SELECT hilo.lease_report()') for @members;
is($hub->sql('SELECT is_open, missing FROM hilo.hub_resume()'), 't|{}', 'and gives leases again');
draw($_, 150) for @members;
is(twice(), '', 'no number was shown twice');
# No member stops it for others.
my $draw = q{SELECT count(hilo_next_number('lies')) FROM generate_series(1, 250)};
$members[0]->sql(q{SELECT hilo.lease_from('lies', 'hub')});
is($members[0]->error($draw), '', 'it gives leases');
sub lie { return $hub->sql("SELECT refusal IS NULL FROM hilo.hub o, hilo.lease('lies', 1, 0, o.lineage, o.term + $_[0], 1, 'liar') WHERE o.hub = '|'"); }
is(lie(1000000000000), 'f', 'a term that there cannot have been');
is($hub->sql(q{SELECT seen FROM hilo.hub WHERE hub = '|'}), 0, 'is not noted');
is($hub->error(q{SELECT hilo.lease('lies', 1, 5000000000000000000)}), '22023', 'nor is a number that is far ahead');
is(lie(1000), 'f', 'one that there may have been is refused');
is($hub->sql(q{SELECT refusal IS NULL FROM hilo.lease('lies', 1)}), 't', 'others get leases');
is($members[0]->error($draw), '', 'as members do');
move($standby, @members);

# A lease that is asked for while a drop forgets members is given after that, or it would be forgotten with them.
{
	my @sessions = map { session($hub_node, dbname => 'hub') } 1 .. 3;
	my ($locks, $drops, $leases) = @sessions;

	$hub->sql(q{SELECT hilo.lease('race', 10)});
	$locks->query_safe('BEGIN; LOCK TABLE hilo.member IN ACCESS EXCLUSIVE MODE');
	$drops->start(q{SELECT hilo.drop('race', true)});
	my $waits = sub { $hub->sql('SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = ' . $_[0]->pid . " AND $_[1]") };
	wait_until('the drop looks for members', sub { $waits->($drops, q{locktype = 'relation'}) });
	$leases->start(q{SELECT low FROM hilo.lease('race', 10)});
	wait_until('the lease waits', sub { $waits->($leases, 'true') });
	is($waits->($leases, q{locktype = 'relation'}), 0, 'for the drop, not for the table');
	$locks->query_safe('COMMIT');
	is(join(' ', map { ($_->result)[0] } $drops, $leases), 't 1', 'the drop ends, and a lease is given');
	is($hub->sql(q{SELECT count(*) FROM hilo.members WHERE collection = 'race'}), 1, 'which is known');
	$_->finish for @sessions;
}

#
# Another server at its address
#
my $stranger = new_node('stranger');
$stranger->safe_psql('postgres', 'CREATE DATABASE hub');
$stranger->safe_psql('hub', 'CREATE EXTENSION hilo');
move($stranger, @members);
use_up($members[0]);
is($members[0]->error($refused), '55000', 'another server is not the hub') for 1 .. 2;
is($stranger->safe_psql('hub', q{SELECT coalesce(max(max), 0) FROM hilo.hilo WHERE collection = 'orders'}), 0, 'nothing was claimed there');
like($members[0]->message(q{SELECT hilo_next_number('orders')}), qr/hilo.lease_from/, 'what to do is said');
$stranger->safe_psql('hub', "SELECT hilo.seed('orders', " . highest(@members) . ')');
$_->sql(q{SELECT hilo.lease_from('orders', 'hub')}) for @members;
is($members[0]->error($refused), '', 'until the member is told that it has taken over');
draw($_, 250) for @members;
is(twice(), '', 'no number was shown twice');

#
# The exchange itself
#
is($stranger->safe_psql('hub', q{SELECT low, high, epoch = (SELECT epoch FROM hilo.hilo WHERE collection = 'given'),
	lineage = (SELECT lineage FROM hilo.hub WHERE hub = '|'), term FROM hilo.lease('given', 10)}), '1|10|t|t|1', 'what a hub answers');
is($stranger->safe_psql('hub', q{SELECT low, high FROM hilo.lease('given', 10, 100)}), '101|110', 'above what a member knows');
is($stranger->safe_psql('hub', q{SELECT max FROM hilo.hilo, hilo.lease('given', 0) WHERE collection = 'given'}), 110, 'size 0 claims nothing');
is($stranger->safe_psql('hub', q{SELECT count(*) FROM hilo.lease('never', 0); SELECT count(*) FROM hilo.hilo WHERE collection = 'never' AND max > 0}), "1\n0", 'nor where there is nothing');
# Two members with one name, as of two copies of one server, each with the time of its start.
sub reported { return message_of($stranger, 'hub', "SELECT hilo.lease('shared', 10, 0, 0, 0, 0, 'member', $_[0])"); }
is(reported($_), '', "a member that was started at $_") for 5, 5, 10, 20, 'NULL';
is(reported(20), '', 'one that says so again');
is(message_of($stranger, 'hub', q{SELECT hilo.report('member', 0, 0, 0, '{shared}', '{10}')}), '', 'a report that a later question has overtaken');
like(reported(10), qr/WARNING:  01000: two servers ask this hub by the name of member "member"\n.*HINT: .*cluster_name/s, 'one that was started before it was started is another one');

$_->stop for $node, $hub_node, $standby, $stranger;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $node, $hub_node, $standby, $stranger;
done_testing();
