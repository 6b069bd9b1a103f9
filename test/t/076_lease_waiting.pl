# Promise 3: on a member one session asks the hub for a collection while the others sleep; whatever becomes of it, one of
# them asks next.  No wait is a heavyweight lock, opens a subtransaction, or is one that no detector sees.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# One server: hub and members are databases of it.
my $node = new_member('server', <<SETTINGS);
hilo.lease_size = 100
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.lease_timeout = 1h
hilo.range_size = 1
hilo.max_range_size = 1
SETTINGS
my $hub = database($node, 'hub');
my $member = database($node, 'member');
add_hub($node, $node, db => 'member', dbname => 'hub', server => 'hub');

sub hold { return hold_hub($node, 'hub'); }

sub asked { wait_until_asked($node, 'hub', $_[0] // 1); return; }

sub sessions { return map { session($member) } 1 .. $_[0]; }

sub leases { return leases_asked_of($node, $_[0]); }

my %shown;
sub is_new
{
	my ($what, @numbers) = @_;
	is(join(' ', grep { !/^\d+$/ || $shown{$_}++ } @numbers), '', "$what: new numbers");
	return;
}

# All leased numbers are drawn: the next draw asks.
sub use_up
{
	my $left = $member->sql(q{SELECT coalesce(sum(numbers_left), 0) FROM hilo.leases WHERE collection = 'orders'});
	is_new('used up', split /\n/, $member->sql("SELECT hilo_next_number('orders') FROM generate_series(1, $left)")) if $left > 0;
	return;
}

my $draw = q{SELECT hilo_next_number('orders')};
$member->sql(q{SELECT hilo.lease_from('orders', 'hub')});

#
# One asks, the others wait
#
{
	my @s = sessions(6);
	my $before = leases('orders');
	my $held = hold();

	$_->query('BEGIN') for @s;
	# They have transaction ids, as those that insert.
	$_->query('SELECT pg_current_xact_id()') for @s;
	$_->query(q{SET client_min_messages = debug5}) for @s;
	$s[0]->start($draw);
	asked();
	$_->start($draw) for @s[ 1 .. 5 ];
	wait_until_waiting($node, @s);
	is($hub->sql(q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo'}), 1, 'one of six asks');
	my $pids = join ', ', map { $_->pid } @s;
	is($node->safe_psql('template1', "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid IN ($pids)"), 0, 'none waits for a lock');
	is($node->safe_psql('template1', "SELECT coalesce(string_agg(DISTINCT l.locktype || coalesce(c.relname, ''), ' '), '') FROM pg_locks l LEFT JOIN pg_class c ON c.oid = relation
		WHERE pid IN ($pids) AND locktype NOT IN ('virtualxid', 'transactionid', 'relation')"), '', 'or holds one that others could wait for');
	is($node->safe_psql('member', "SELECT count(*) FROM pg_locks WHERE pid IN ($pids) AND relation IN ('hilo.hilo'::regclass, 'hilo.hub'::regclass)"), 0,
		'nor one on our tables');
	$held->query('COMMIT');
	my @got = map { [ $_->result ] } @s;
	is_new('all six draw', map { $_->[0] } @got);
	unlike(join('', map { $_->[1] } @got), qr/SubTransaction|SAVEPOINT/i, 'no subtransaction was opened');
	like(join('', map { $_->[1] } @got), qr/DEBUG/, 'which would show');
	is(leases('orders') - $before, 1, 'by one lease');
	$_->query('COMMIT') for @s;
	$_->finish for @s, $held;
}

#
# The one that asks ends: the others ask
#
for my $way (qw(cancel terminate))
{
	use_up();
	my @s = sessions(4);
	my $held = hold();

	$s[0]->start($draw);
	asked();
	$_->start($draw) for @s[ 1 .. 3 ];
	wait_until_waiting($node, @s);
	my $first = $hub->sql(q{SELECT pid FROM pg_stat_activity WHERE application_name = 'hilo'});
	$member->sql("SELECT pg_${way}_backend(" . $s[0]->pid . ')');
	my (undef, $err) = eval { $s[0]->result };
	$err = ($s[0]->finish)[1] if $way eq 'terminate';
	like($err, $way eq 'cancel' ? qr/57014/ : qr/57P01/, "$way: the one that asks ends");
	wait_until("$way: another one asks", sub {
		$hub->sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo' AND wait_event_type = 'Lock' AND pid <> $first") });
	pass("$way: another one asks");
	# Also one that waits.
	my ($out);
	$member->sql('SELECT pg_cancel_backend(' . $_->pid . ')') for @s[ 1 .. 3 ];
	for my $s (@s[ 1 .. 3 ])
	{
		(undef, $err) = $s->result;
		like($err, qr/57014/, "$way: and is cancelled, as those that wait");
	}
	$s[1]->start($draw);
	$held->query('COMMIT');
	is_new($way, scalar $s[1]->result, map { scalar $_->query($draw) } @s[ 1 .. 3 ]);
	$_->finish for @s[ 1 .. 3 ], $held;
}

# Those that wait end by themselves, too; the one that asks draws.
{
	use_up();
	my @s = sessions(3);
	my $held = hold();

	$s[1]->query('SET statement_timeout = 500');
	$s[0]->start($draw);
	asked();
	$_->start($draw) for @s[ 1, 2 ];
	my (undef, $err) = $s[1]->result;
	like($err, qr/57014/, 'one that waits has a statement_timeout');
	wait_until_waiting($node, $s[2]);
	$member->sql('SELECT pg_terminate_backend(' . $s[2]->pid . ')');
	eval { $s[2]->result };
	like(($s[2]->finish)[1], qr/57P01/, 'or is terminated');
	$held->query('COMMIT');
	is_new('the one that asks', scalar $s[0]->result, scalar $s[1]->query($draw));
	$_->finish for @s[ 0, 1 ], $held;
}

# The hub fails: all are told, at once, without asking one after the other.
{
	use_up();
	my @s = sessions(4);
	my $held = hold();

	$_->query(q{SET test.lease_retry = '3600000'}) for @s;
	$s[0]->start($draw);
	asked();
	$_->start($draw) for @s[ 1 .. 3 ];
	wait_until_waiting($node, @s);
	$hub->sql(q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hilo'});
	for my $s (@s)
	{
		my (undef, $err) = $s->result;
		like($err, qr/08\w{3}: could not lease numbers of "orders" from server "hub"/, 'the hub fails: all that wait are told');
	}
	$held->query('COMMIT');
	is_new('then', scalar $member->sql($draw));
	$_->finish for @s, $held;
}

#
# Identities: several waiting sessions are served by one request
#
{
	$member->sql(q{SELECT hilo.lease_from('companies|', 'hub')});
	is($member->sql(q{SELECT next_identity_for('companies')}), 1, 'an identity is drawn one by one');
	my @s = sessions(8);
	my $before = leases('companies|');
	my $max = $hub->sql(q{SELECT value FROM hilo.identities WHERE name = 'companies'});
	my $held = hold();

	$s[0]->start(q{SELECT next_identity_for('companies')});
	asked();
	$_->start(q{SELECT next_identity_for('companies')}) for @s[ 1 .. 7 ];
	wait_until_waiting($node, @s);
	$held->query('COMMIT');
	my @got = sort { $a <=> $b } map { scalar $_->result } @s;
	is("@got", join(' ', 2 .. 9), 'eight sessions get the next eight numbers');
	is($hub->sql(q{SELECT value FROM hilo.identities WHERE name = 'companies'}), $max + 8, 'and no more was leased');
	cmp_ok(leases('companies|') - $before, '<=', 3, 'by few requests');
	is($member->sql(q{SELECT next_identity_for('companies')}), 10, 'then one by one again');

	# A hub that gives fewer than wait, by a setting or near the end: they come in turn, and none fails that need not.
	$node->safe_psql('template1', 'ALTER DATABASE hub SET test.max_lease_size = 3');
	$_->finish for @s, $held;
	@s = sessions(8);
	$held = hold();
	$s[0]->start(q{SELECT next_identity_for('companies')});
	asked();
	$_->start(q{SELECT next_identity_for('companies')}) for @s[ 1 .. 7 ];
	wait_until_waiting($node, @s);
	$held->query('COMMIT');
	@got = map { my ($out, $err) = $_->result; $err || $out } @s;
	is(join(' ', sort { $a <=> $b } @got), join(' ', 11 .. 18), 'a hub that gives no more than three at once');
	$node->safe_psql('template1', 'ALTER DATABASE hub RESET test.max_lease_size');
	$_->finish for @s;
	@s = sessions(8);
	$hub->sql(q{SELECT hilo.configure('companies|', max_value => 23)});
	$held->query('BEGIN; LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE');
	$s[0]->start(q{SELECT next_identity_for('companies')});
	asked();
	$_->start(q{SELECT next_identity_for('companies')}) for @s[ 1 .. 7 ];
	wait_until_waiting($node, @s);
	$held->query('COMMIT');
	@got = map { my ($out, $err) = $_->result; $err =~ /ERROR:  (\w+)/ ? $1 : $out } @s;
	is(join(' ', sort @got), '19 20 21 22 2200H 2200H 2200H 23', 'a hub that has no more than five left');
	$_->finish for @s, $held;
}

#
# No wait without an end
#
# One session asks, and needs the table to take the answer in; another one has locked it, and needs numbers.
for my $mode ('ACCESS EXCLUSIVE', 'SHARE', 'EXCLUSIVE')
{
	use_up();
	my ($asks, $locks) = sessions(2);
	my $held = hold();

	$asks->start($draw);
	asked();
	$locks->query("BEGIN; LOCK TABLE hilo.hilo IN $mode MODE; SET LOCAL hilo.lease_timeout = '1s'");
	$held->query('COMMIT');
	wait_until('the answer is here, and the table is locked', sub {
		$node->safe_psql('template1', q{SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = } . $asks->pid) eq 't' });
	like($locks->error_of($draw), qr/^(?:55P03|40P01)$/, "LOCK TABLE, $mode: a session that has locked the table ends with an error");
	$locks->query('ROLLBACK');
	my ($out, $err) = $asks->result;
	is_new("LOCK TABLE, $mode: the one that asks goes on", $err || $out);
	is_new("LOCK TABLE, $mode: then all", map { scalar $_->query($draw) } $asks, $locks);
	$_->finish for $asks, $locks, $held;
}

# Whoever has locked it draws alone.
{
	use_up();
	my ($locks) = sessions(1);
	$locks->query('BEGIN; LOCK TABLE hilo.hilo');
	is_new('a session that has locked the table asks itself', scalar $locks->query($draw));
	$locks->query('ROLLBACK');
	$locks->finish;
}

# The table is locked while a lease worker fetches ahead: it ends by its lock_timeout, and is in no session's way.
# Only the worker's timeout is short.
{
	$node->safe_psql('template1', q{ALTER DATABASE member SET test.lease_ahead = 100});
	$node->safe_psql('template1', q{ALTER DATABASE member SET hilo.lease_timeout = '500ms'});
	my ($locks) = sessions(1);
	my $offset = -s $node->logfile;
	$locks->query(q{BEGIN; LOCK TABLE hilo.hilo; SET LOCAL hilo.max_range_size = 10; SET LOCAL hilo.lease_timeout = '10min'});
	is_new('a session that has locked the table, while a worker fetches',
		split /\n/, $locks->query(q{SELECT hilo_next_number('orders') FROM generate_series(1, 350)}));
	wait_until('the worker ends', sub { slurp_file($node->logfile, $offset) =~ /due to lock timeout/ });
	pass('the worker ends by its lock_timeout');
	$locks->query('ROLLBACK');
	$locks->finish;
	$node->safe_psql('template1', 'ALTER DATABASE member RESET ALL');
	wait_until('no worker is left', sub { !$node->safe_psql('template1', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'hilo%'}) });
}

# Two collections, in opposite order.
{
	$member->sql(qq{SELECT hilo.lease_from('$_', 'hub')}) for qw(one two);
	my @two = sessions(2);
	my %before = map { $_ => leases($_) } qw(one two);
	my $held = hold();
	$_->query('BEGIN') for @two;
	$two[0]->start(q{SELECT hilo_next_number('one'), hilo_next_number('two')});
	$two[1]->start(q{SELECT hilo_next_number('two'), hilo_next_number('one')});
	asked(2);
	$held->query('COMMIT');
	like(scalar $_->result, qr/^\d+\|\d+$/, 'one of two sessions that need two collections in opposite order') for @two;
	is(leases($_), $before{$_} + 1, "$_: one lease") for qw(one two);
	$_->query('COMMIT') for @two;
	$_->finish for @two, $held;
}

#
# The worker, which fetches ahead, keeps no database in use for long
#
for my $what (qw(dropped copied))
{
	my $other = database($node, "soon_$what");
	add_hub($node, $node, db => $other->name, dbname => 'hub', server => 'hub');
	$node->safe_psql('template1', 'ALTER DATABASE ' . $other->name . ' SET test.lease_ahead = 75');
	$other->sql(qq{SELECT hilo.lease_from('soon $what', 'hub'); SELECT hilo_next_number('soon $what') FROM generate_series(1, 50)});
	$node->poll_query_until($other->name, qq{SELECT numbers_left > 100 FROM hilo.leases WHERE collection = 'soon $what'})
	  or die 'no worker has fetched';
	my $sql = $what eq 'dropped' ? 'DROP DATABASE ' . $other->name : 'CREATE DATABASE a_copy TEMPLATE ' . $other->name;
	wait_until("a database is $what", sub { $node->psql('template1', $sql) == 0 });
	pass("a database is $what soon after a worker was in it");
	is($node->safe_psql('template1', q{SELECT count(*) FROM pg_stat_activity WHERE datname = '} . $other->name . q{' AND backend_type LIKE 'hilo%'}), 0,
		'no worker is left');
}

$node->stop;
is(left_behind($node), '', 'nothing was left behind');
done_testing();
