# Leases and servers that forget: a hub that was promoted, recovered to a point in time or restored refuses until it is told how far to go; a member that was gets leases of its own.
use strict;
use warnings;

use File::Basename qw(dirname);
use lib dirname(__FILE__);
use HiloCrash;
use HiloHub;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir;
my %shown;      # number → how often, of 'orders'

my $hub = new_node('hub', '', allows_streaming => 1);
my @members = map {
	new_node("member$_", <<SETTINGS, allows_streaming => 1)
hilo.lease_size = 100
hilo.lease_duration = 0
hilo.lease_retry = 0
hilo.lease_ahead = 0
hilo.hub = 'ids_hub'
hilo.range_duration = 0
SETTINGS
} 1, 2;

sub sql { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

# Draw so many numbers, none of which was seen before.
sub draw
{
	my ($member, $count, $collection) = @_;
	my @numbers = split /\n/, sql($member,
		"SELECT hilo_nextval('" . ($collection // 'orders') . "') FROM generate_series(1, $count)");

	unless ($collection) { $shown{$_}++ for @numbers }
	return @numbers;
}

sub twice { return join ' ', grep { $shown{$_} > 1 } sort keys %shown; }

sub highest { return sql($_[0], q{SELECT highest FROM hilo_leases WHERE collection = 'orders'}); }

# Members find the hub under another address.
sub move_hub
{
	my ($to, @who) = @_;
	sql($_, "ALTER SERVER ids_hub OPTIONS (SET host '" . $to->host . "', SET port '" . $to->port . "')")
	  for @who;
	return;
}

# Use up what a member has: its next draw asks the hub.
sub use_up
{
	my ($member) = @_;
	my $left = sql($member, q{SELECT coalesce(sum(numbers_left), 0) FROM hilo_leases WHERE collection = 'orders'});

	draw($member, $left) if $left > 0;
	return;
}

my $error = qr/gives no leases since this server was promoted or restored/;

#
# A standby that has lost the tail
#
$hub->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($hub, 'base', has_streaming => 1);
$standby->start;
add_hub($_, $hub) for @members;

draw($_, 150) for @members, $members[0];
sql($hub, q{SELECT next_identity_for('invoices')});
sql($_, q{SELECT identity_from('invoices', 'ids_hub')}) for @members;
is(sql($members[0], q{SELECT next_identity_for('invoices')}), 4, 'an identity is drawn on the hub');
$hub->wait_for_catchup($standby, 'replay', $hub->lsn('insert'));

like(message_of($standby, 'postgres', q{SELECT hilo_lease('orders', 10)}), qr/25006/, 'a standby gives no leases');
move_hub($standby, $members[0]);
use_up($members[0]);
like(message_of($members[0], 'postgres', q{SELECT hilo_nextval('orders')}),
	qr/25006: could not lease numbers of collection "orders" from server "ids_hub".*hilo_lease\(\) in a read-only/s,
	'a member that asks one is told so');
move_hub($hub, $members[0]);

# The tail: leases that only the old hub knows of, one the first of its collection.
$standby->stop;
draw($members[0], 350);
my @late = draw($members[0], 5, 'late');
my @late_identity = sql($members[0], q{SELECT next_identity_for('late') FROM (SELECT identity_from('late', 'ids_hub')) i});
is(sql($members[0], q{SELECT next_identity_for('invoices')}), 5, 'the identity, too');
kill_server($hub);
$standby->start;
$standby->promote;
move_hub($standby, @members);
use_up($members[1]);

# The one asks first that does not hold the lost leases.
for my $call (q{SELECT hilo_nextval('orders')}, q{SELECT hilo_nextval('late')})
{
	like(message_of($members[1], 'postgres', $call), qr/55000: could not lease.*$error/s, "refused: $call");
}
like(message_of($members[1], 'postgres', $_), qr/55000: .*$error/s, "refused: $_")
  for q{SELECT next_identity_for('invoices')}, q{SELECT identity_from('late', 'ids_hub')};
is(error_of($standby, 'postgres', q{SELECT hilo_nextval('orders')}), '', 'the hub itself draws what it is asked for');

# By name, above what the members hold.
my ($floor) = sort { $b <=> $a } map { highest($_) } @members;
cmp_ok(sql($standby, "SELECT hilo_hub_resume('orders', $floor)"), '>=', $floor, 'resumed');
$shown{$_}++ for split /\n/, sql($standby, q{SELECT hilo_nextval('orders') FROM generate_series(1, 40)});
draw($_, 250) for @members[ 1, 0 ];
is(twice(), '', 'no number was shown twice');

# All the others.
is(error_of($members[1], 'postgres', q{SELECT hilo_nextval('late')}), '55000', 'others are refused as before');
sql($standby, "SELECT hilo_hub_resume('late', " . sql($members[0], q{SELECT max(highest) FROM hilo_leases WHERE collection = 'late'}) . ')');
my %late = map { $_ => 1 } @late;
is((grep { $late{$_} } draw($members[1], 5, 'late')), 0, 'one whose first lease was lost goes on above it');
sql($standby, q{SELECT identity_resume('invoices', 5), identity_resume('late', 2)});
is(sql($members[1], q{SELECT next_identity_for('invoices')}), 6, 'and identities');
is(error_of($members[1], 'postgres', q{SELECT hilo_nextval('new')}), '55000', 'a new one may be one that was lost');
cmp_ok(sql($standby, q{SELECT hilo_hub_resume()}), '>=', 0, 'all are resumed');
is(error_of($members[1], 'postgres', q{SELECT hilo_nextval('new')}), '', 'and new ones leased');

# A restart is no promotion.
kill_server($standby);
$standby->start;
use_up($members[1]);
draw($members[1], 1);
is(twice(), '', 'the same server goes on after a crash');

#
# A hub that goes on by itself where nothing can have been lost
#
$standby->append_conf('postgresql.conf', "synchronous_standby_names = '*'\n");
$standby->backup('second');
my $third = PostgreSQL::Test::Cluster->new('third');
$third->init_from_backup($standby, 'second', has_streaming => 1);
$third->append_conf('postgresql.conf', "synchronous_standby_names = ''\nhilo.hub_auto_resume = on\n");
$third->start;
$standby->reload;
wait_until('the standby is synchronous', sub {
	sql($standby, q{SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'}) });
draw($_, 120) for @members;
kill_server($standby);
$third->promote;
move_hub($third, @members);
use_up($_) for @members;
draw($_, 120) for reverse @members;
is(twice(), '', 'a synchronous standby goes on by itself');

#
# Back in time
#
$third->append_conf('postgresql.conf', "hilo.hub_auto_resume = off\n");
$third->reload;
$third->enable_archiving;
$third->restart;
$third->backup('base');
my $lsn = sql($third, 'SELECT pg_current_wal_insert_lsn()');
draw($_, 300) for @members;
sql($third, 'SELECT pg_switch_wal()');
my $past = PostgreSQL::Test::Cluster->new('past');
$past->init_from_backup($third, 'base', has_restoring => 1, standby => 0);
$past->append_conf('postgresql.conf', "recovery_target_lsn = '$lsn'\nrecovery_target_action = promote\n");
$third->stop;
$past->start;
$past->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'no end of recovery';
move_hub($past, @members);
use_up($_) for @members;
like(message_of($members[1], 'postgres', q{SELECT hilo_nextval('orders')}), qr/55000: .*$error/s,
	'a hub that went back in time refuses');
($floor) = sort { $b <=> $a } map { highest($_) } @members;
sql($past, "SELECT hilo_hub_resume('orders', $floor), hilo_hub_resume()");
draw($_, 120) for @members[ 1, 0 ];
is(twice(), '', 'no number was shown twice');

#
# Out of a dump
#
$past->command_ok([ 'pg_dump', '-f', "$dir/hub.sql", 'postgres' ], 'the hub is dumped');
draw($_, 200) for @members;
draw($members[0], 5, 'first after the dump');
sql($past, q{CREATE DATABASE restored});
$past->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'restored', '-f', "$dir/hub.sql" ], 'and restored');
sql($_, q{ALTER SERVER ids_hub OPTIONS (SET dbname 'restored')}) for @members;
use_up($_) for @members;
like(message_of($members[1], 'postgres', q{SELECT hilo_nextval('orders')}), qr/55000: .*$error/s,
	'a hub that was restored refuses');
is(error_of($members[1], 'postgres', q{SELECT hilo_nextval('first after the dump')}), '55000',
	'also a collection that it knows nothing of');
# Whatever is said of promotions.
is(error_of($past, 'restored', q{SET hilo.hub_auto_resume = on; SELECT hilo_lease('orders', 10)}),
	'55000', 'also where promotions lose nothing');
($floor) = sort { $b <=> $a } map { highest($_) } @members;
$past->safe_psql('restored', "SELECT hilo_hub_resume('orders', $floor)");
draw($_, 120) for @members[ 1, 0 ];
is(twice(), '', 'no number was shown twice');

#
# Members
#
sql($members[0], q{SELECT hilo_nextval('orders')});
$shown{ sql($members[0], q{SELECT max FROM hilo_lease WHERE collection = 'orders'}) }++;
$members[0]->command_ok([ 'pg_dump', '-f', "$dir/member.sql", 'postgres' ], 'a member is dumped');
unlike(slurp_file("$dir/member.sql"), qr/COPY public.hilo_lease/, 'without its leases');
draw($members[0], 10);
sql($members[0], 'CREATE DATABASE copy');
$members[0]->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'copy', '-f', "$dir/member.sql" ], 'and restored');
is($members[0]->safe_psql('copy', q{SELECT numbers_left FROM hilo_leases WHERE collection = 'orders'}),
	0, 'the copy has no leases');
$shown{$_}++ for split /\n/, $members[0]->safe_psql('copy', q{SELECT hilo_nextval('orders') FROM generate_series(1, 150)});
draw($members[0], 150);
is(twice(), '', 'it gets its own');

# Onto one that counts: what others may get is not counted on from here.
sql($members[0], 'CREATE DATABASE counts');
$members[0]->safe_psql('counts', q{SET hilo.hub = ''; CREATE EXTENSION hilo; SELECT hilo_nextval('orders') FROM generate_series(1, 3)});
$members[0]->psql('counts', slurp_file("$dir/member.sql") =~ s/^CREATE EXTENSION.*hilo.*$//mr);
is($members[0]->safe_psql('counts', q{SELECT leased, hub FROM hilo WHERE collection = 'orders'}),
	't|ids_hub', 'restored where it was counted, a collection is leased');
$shown{$_}++ for split /\n/, $members[0]->safe_psql('counts', q{SELECT hilo_nextval('orders') FROM generate_series(1, 150)});
is(twice(), '', 'it gets its own');

# Rows of leases that come from elsewhere do nothing.
my $leases = sql($members[0], 'SELECT * FROM hilo_lease ORDER BY collection');
sql($members[0], q{SELECT hilo_release()});
$members[0]->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $members[0]->connstr('copy'), '-c',
		'COPY hilo_lease TO ' . "'$dir/leases'" ], 'leases can be copied');
sql($members[0], "COPY hilo_lease FROM '$dir/leases'; INSERT INTO hilo_lease (collection, max_value, next_high, error) VALUES ('x', 5, 100, '')");
is(sql($members[0], 'SELECT * FROM hilo_lease ORDER BY collection'), $leases, 'into a table that takes none');

# A standby of a member, promoted without the newest claims.
$members[1]->backup('base');
my $successor = PostgreSQL::Test::Cluster->new('successor');
$successor->init_from_backup($members[1], 'base', has_streaming => 1);
$successor->start;
draw($members[1], 20);
$members[1]->wait_for_catchup($successor, 'replay', $members[1]->lsn('insert'));
like(message_of($successor, 'postgres', q{SELECT hilo_nextval('orders')}), qr/25006/, 'a standby draws nothing');
is( sql($successor, q{SELECT numbers_left FROM hilo_leases WHERE collection = 'orders'}),
	sql($members[1], q{SELECT numbers_left FROM hilo_leases WHERE collection = 'orders'}),
	'but shows the leases');
$successor->stop;
draw($members[1], 20);
kill_server($members[1]);
$successor->start;
$successor->promote;
is(sql($successor, q{SELECT numbers_left FROM hilo_leases WHERE collection = 'orders'}), 0, 'promoted, it has none');
draw($successor, 150);
draw($members[0], 150);
is(twice(), '', 'it gets its own');

$_->stop for $members[0], $successor, $past;
is(left_behind($_), '', $_->name . ' has left nothing behind')
  for @members, $successor, $hub, $standby, $third, $past;
done_testing();
