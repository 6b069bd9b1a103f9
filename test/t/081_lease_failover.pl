# Promises 1 and 9 with servers that forget: a hub that was promoted, recovered to a point in time or restored refuses until it is told how far to go; a member that was gets leases of its own.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir;
my %shown;      # number → how often, of 'orders'

my $hub = new_node('hub', "shared_preload_libraries = 'hilo'\n", allows_streaming => 1);
my @members = map {
	new_member("member$_", <<SETTINGS, allows_streaming => 1)
hilo.lease_size = 100
test.lease_duration = 0
test.lease_retry = 0
test.lease_ahead = 0
hilo.hub = 'ids_hub'
SETTINGS
} 1, 2;

sub sql { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

# Draw so many numbers, none of which was seen before.
sub draw
{
	my ($member, $count, $collection) = @_;
	my @numbers = split /\n/, sql($member,
		"SELECT hilo_next_number('" . ($collection // 'orders') . "') FROM generate_series(1, $count)");

	unless ($collection) { $shown{$_}++ for @numbers }
	return @numbers;
}

sub twice { return join ' ', grep { $shown{$_} > 1 } sort keys %shown; }

sub highest { return sql($_[0], q{SELECT highest FROM hilo.leases WHERE collection = 'orders'}); }

# Use up what a member has: its next draw asks the hub.
sub use_up
{
	my ($member) = @_;
	my $left = sql($member, q{SELECT coalesce(sum(numbers_left), 0) FROM hilo.leases WHERE collection = 'orders'});

	draw($member, $left) if $left > 0;
	return;
}

my $error = qr/waits for a resume, because it may lack leases that it has given/;

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
is(sql($members[0], q{SELECT next_identity_for('invoices')}), 2, 'an identity is drawn on the hub');
$hub->wait_for_catchup($standby, 'replay', $hub->lsn('insert'));

like(message_of($standby, 'postgres', q{SELECT hilo.lease('orders', 10)}), qr/25006/, 'a standby gives no leases');
move_hub($standby, $members[0]);
use_up($members[0]);
like(message_of($members[0], 'postgres', q{SELECT hilo_next_number('orders')}),
	qr/25006: could not lease numbers of "orders" from server "ids_hub"/s,
	'a member that asks one is told so');
move_hub($hub, $members[0]);

# The tail: leases that only the old hub knows of, one the first of its collection.
$standby->stop;
draw($members[0], 350);
my @late = draw($members[0], 5, 'late');
my @late_identity = sql($members[0], q{SELECT next_identity_for('late') FROM generate_series(1, 2)});
is(sql($members[0], q{SELECT next_identity_for('invoices')}), 3, 'the identity, too');
kill_server($hub);
$standby->start;
$standby->promote;
move_hub($standby, @members);
use_up($members[1]);

# The one asks first that does not hold the lost leases.
for my $call (q{SELECT hilo_next_number('orders')}, q{SELECT hilo_next_number('late')})
{
	like(message_of($members[1], 'postgres', $call), qr/55000: could not lease.*$error/s, "refused: $call");
}
like(message_of($members[1], 'postgres', $_), qr/55000: .*$error/s, "refused: $_")
  for q{SELECT next_identity_for('invoices')}, q{SELECT next_identity_for('late')}, q{SELECT hilo.lease_from('late|', 'ids_hub')};
is(error_of($standby, 'postgres', q{SELECT hilo_next_number('orders')}), '55000', 'nor does the hub itself draw: the numbers may have been leased');

# The one that was refused has said what it holds; the hub waits for the other one.
my $missing = sql($standby, 'SELECT missing FROM hilo.hub_resume()');
like($missing, qr/member1\/\d+/, 'the hub waits for what the other member holds');
unlike($missing, qr/member2/, 'but not for this one');
is(sql($standby, 'SELECT is_open FROM hilo.hub_resume()'), 'f', 'however often it is resumed');
is(sql($members[0], q{SELECT hilo.lease_report()}), sql($members[0], q{SELECT count(*) FROM hilo.leases}), 'it says so of all that it leases');

# Above what the members hold, of all collections.
my ($floor) = sort { $b <=> $a } map { highest($_) } @members;
is(sql($standby, 'SELECT is_open, missing FROM hilo.hub_resume(skip => 0)'), 't|{}', 'resumed');
cmp_ok(sql($standby, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}), '>=', $floor, 'above what was reported');
$shown{$_}++ for split /\n/, sql($standby, q{SELECT hilo_next_number('orders') FROM generate_series(1, 40)});
draw($_, 250) for @members[ 1, 0 ];
is(twice(), '', 'no number was shown twice');
my %late = map { $_ => 1 } @late;
is((grep { $late{$_} } draw($members[1], 5, 'late')), 0, 'one whose first lease was lost goes on above it');
is(sql($members[1], q{SELECT next_identity_for('invoices'), next_identity_for('late')}), '4|3', 'and identities');
is(error_of($members[1], 'postgres', q{SELECT hilo_next_number('new')}), '', 'and new ones are leased');

# A restart is no promotion.
kill_server($standby);
$standby->start;
use_up($members[1]);
draw($members[1], 1);
is(twice(), '', 'the same server goes on after a crash');

#
# A hub that goes on by itself where nothing can have been lost
#
# In this mode it gives no lease that a synchronous standby does not have.
$standby->append_conf('postgresql.conf', "hilo.hub_auto_resume = on\n");
$standby->reload;
wait_until('it goes on by itself', sub { sql($standby, 'SHOW hilo.hub_auto_resume') eq 'on' });
use_up($members[1]);
is(error_of($members[1], 'postgres', q{SELECT hilo_next_number('orders')}), '55000', 'without a synchronous standby it gives no leases');
is(error_of($standby, 'postgres', q{SELECT hilo_next_number('orders')}), '', 'but draws');
$standby->backup('second');
my $third = PostgreSQL::Test::Cluster->new('third');
$third->init_from_backup($standby, 'second', has_streaming => 1);
$third->append_conf('postgresql.conf', "synchronous_standby_names = 'fourth'\n");
$standby->append_conf('postgresql.conf', "synchronous_standby_names = 'third'\n");
$standby->reload;
# The standby is not there yet: no lease is shown before it has it.
my $waits = session($standby, synchronous_commit => 'local');
wait_until('the setting counts', sub { $waits->query('SHOW synchronous_standby_names') eq 'third' });
$waits->query('CHECKPOINT');
$waits->query('SET synchronous_commit = on');
my $pid = $waits->pid;
$waits->start(q{SELECT low > 0 FROM hilo.lease('auto', 10)});
wait_until('a lease waits for the standby', sub {
	$standby->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND wait_event = 'SyncRep'") });
sql($standby, "SELECT pg_cancel_backend($pid)");
my ($out, $err) = $waits->result;
is($out . ($err =~ /ERROR:  (\w+)/ ? $1 : ''), '57014', 'and, cancelled, is not given');
my ($state) = ($waits->query(q{SET synchronous_commit = local; SET statement_timeout = '1s'; SELECT hilo.lease('auto', 10)}))[1] =~ /ERROR:  (\w+)/;
is($state, '57014', 'nor to a role that would not wait');
$waits->finish;
$third->start;
wait_until('the standby is synchronous', sub {
	sql($standby, q{SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'}) });
draw($_, 120) for @members;
kill_server($standby);
$third->promote;
move_hub($third, @members);
use_up($_) for @members;
# It has no standby of its own yet.
my $fourth = PostgreSQL::Test::Cluster->new('fourth');
$third->backup('third');
$fourth->init_from_backup($third, 'third', has_streaming => 1);
$fourth->start;
wait_until('the next standby is synchronous', sub {
	sql($third, q{SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'}) });
draw($_, 120) for reverse @members;
is(twice(), '', 'a synchronous standby goes on by itself');
like(slurp_file($third->logfile), qr/WARNING:.*timeline/, 'and says so');
$fourth->stop;

#
# Back in time
#
$third->append_conf('postgresql.conf', "hilo.hub_auto_resume = off\nsynchronous_standby_names = ''\n");
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
like(message_of($members[1], 'postgres', q{SELECT hilo_next_number('orders')}), qr/55000: .*$error/s,
	'a hub that went back in time refuses');
($floor) = sort { $b <=> $a } map { highest($_) } @members;
sql($_, 'SELECT hilo.lease_report()') for @members;
is(sql($past, 'SELECT is_open FROM hilo.hub_resume()'), 't', 'once both have said what they hold it is resumed');
cmp_ok(sql($past, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}), '>=', $floor, 'above that');
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
like(message_of($members[1], 'postgres', q{SELECT hilo_next_number('orders')}), qr/55000: .*$error/s,
	'a hub that was restored refuses');
is(error_of($members[1], 'postgres', q{SELECT hilo_next_number('first after the dump')}), '55000',
	'also a collection that it knows nothing of');
# Whatever is said of promotions.
is($past->safe_psql('restored', q{SET hilo.hub_auto_resume = on; SELECT low IS NULL AND refusal IS NOT NULL FROM hilo.lease('orders', 10)}),
	't', 'also where promotions lose nothing');
is(error_of($past, 'restored', q{SELECT hilo_next_number('orders')}), '55000', 'nor does it draw for itself');
($floor) = sort { $b <=> $a } map { highest($_) } @members;
# The one that has asked may have said so already.
is($past->safe_psql('restored', q{SELECT count(*) FROM hilo.members WHERE collection = 'invoices|'}), 2, 'the dump knows the members');
is($past->safe_psql('restored', q{SELECT is_open, missing <> '{}' FROM hilo.hub_resume()}), 'f|t', 'which have to say what they hold');
sql($_, 'SELECT hilo.lease_report()') for @members;
is($past->safe_psql('restored', 'SELECT is_open, missing FROM hilo.hub_resume()'), 't|{}', 'resumed');
is($past->safe_psql('restored', "SELECT max >= $floor FROM hilo.hilo WHERE collection = 'orders'"), 't', 'it goes on above that');
draw($_, 120) for @members[ 1, 0 ];
is(twice(), '', 'no number was shown twice');

#
# Members
#
$shown{ sql($members[0], q{SELECT hilo_next_number('orders')}) }++;
$members[0]->command_ok([ 'pg_dump', '-f', "$dir/member.sql", 'postgres' ], 'a member is dumped');
draw($members[0], 10);
sql($members[0], 'CREATE DATABASE copy');
$members[0]->command_ok([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', 'copy', '-f', "$dir/member.sql" ], 'and restored');
is($members[0]->safe_psql('copy', q{SELECT hub, numbers_left FROM hilo.leases WHERE collection = 'orders'}),
	'ids_hub|0', 'the copy has no leases');
is($members[0]->safe_psql('copy', q{SELECT lineage <> 0 AND term > 1 AND term_id <> 0 FROM hilo.hilo WHERE collection = 'orders'}), 't', 'but knows the term of its hub');
$shown{$_}++ for split /\n/, $members[0]->safe_psql('copy', q{SELECT hilo_next_number('orders') FROM generate_series(1, 150)});
draw($members[0], 150);
is(twice(), '', 'it gets its own');

# Onto one that counts: what others may get is not counted on from here.
sql($members[0], 'CREATE DATABASE counts');
$members[0]->safe_psql('counts', q{SET hilo.hub = ''; CREATE EXTENSION hilo; SELECT hilo_next_number('orders') FROM generate_series(1, 3)});
$members[0]->psql('counts', slurp_file("$dir/member.sql") =~ s/^CREATE (EXTENSION|SCHEMA).*hilo.*$//mgr);
is($members[0]->safe_psql('counts', q{SELECT flags & 2, hub FROM hilo.hilo WHERE collection = 'orders'}),
	'2|ids_hub', 'restored where it was counted, a collection is leased');
$shown{$_}++ for split /\n/, $members[0]->safe_psql('counts', q{SELECT hilo_next_number('orders') FROM generate_series(1, 150)});
is(twice(), '', 'it gets its own');

# A copy of the database, and of its files.
sql($members[0], q{SELECT hilo.release()});
$members[0]->safe_psql('template1', 'CREATE DATABASE template_copy TEMPLATE postgres');
is($members[0]->safe_psql('template_copy', 'SELECT count(*) FROM hilo.pool'), 0, 'the copy of a database has no leases');
for (1 .. 2)
{
	$shown{$_}++ for split /\n/, $members[0]->safe_psql('template_copy', q{SELECT hilo_next_number('orders') FROM generate_series(1, 150)});
	draw($members[0], 150);
}
is(twice(), '', 'it gets its own');
$members[1]->stop;
$members[1]->backup_fs_cold('clone');
$members[1]->start;
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($members[1], 'clone');
$clone->start;
draw($_, 150) for $members[1], $clone, $members[1], $clone;
is(twice(), '', 'two members made of one copy, both in use, get their own');

# A standby of a member, promoted without the newest claims; and a member that is killed, and goes on.
$members[1]->backup('base');
my $successor = PostgreSQL::Test::Cluster->new('successor');
$successor->init_from_backup($members[1], 'base', has_streaming => 1);
$successor->start;
draw($members[1], 20);
$members[1]->wait_for_catchup($successor, 'replay', $members[1]->lsn('insert'));
like(message_of($successor, 'postgres', q{SELECT hilo_next_number('orders')}), qr/25006/, 'a standby draws nothing');
is( sql($successor, q{SELECT numbers_left, highest FROM hilo.leases WHERE collection = 'orders'}),
	'0|' . highest($members[1]), 'and has no leases');
$successor->stop;
draw($members[1], 20);
kill_server($members[1]);
$members[1]->start;
is(sql($members[1], q{SELECT numbers_left FROM hilo.leases WHERE collection = 'orders'}), 0, 'after a crash there are none');
draw($members[1], 20);
kill_server($members[1]);
$successor->start;
$successor->promote;
is(sql($successor, q{SELECT numbers_left FROM hilo.leases WHERE collection = 'orders'}), 0, 'nor after a promotion');
draw($successor, 150);
draw($members[0], 150);
is(twice(), '', 'it gets its own');

$_->stop for $members[0], $successor, $past, $clone;
is(left_behind($_), '', $_->name . ' has left nothing behind')
  for @members, $successor, $clone, $hub, $standby, $third, $past;
done_testing();
