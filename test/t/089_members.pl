# Promises 1, 3, 4 and 9 on a member that is restored, renamed, cloned, that leaves, or whose hub is another server or frozen: it keeps its name, two are told apart, and nothing blocks or repeats.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $libdir = build_failure_points(\&add_pause);
my $hub = new_node('hub', '', allows_streaming => 1);
my $settings = <<SETTINGS;
dynamic_library_path = '$libdir:\$libdir'
hilo.lease_size = 100
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.range_size = 1
hilo.max_range_size = 1
SETTINGS
my $member = new_member('member', $settings, allows_streaming => 1);
my %shown;

sub sql { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

sub draw
{
	my ($node, $count) = @_;
	my $numbers = sql($node, "SELECT hilo_next_number('orders') FROM generate_series(1, $count)");
	$shown{$_}++ for split /\n/, $numbers;
	return;
}

sub twice { return join ' ', grep { $shown{$_} > 1 } sort keys %shown; }

sub names { return sql($hub, q{SELECT string_agg(DISTINCT member, ' ') FROM hilo.members}); }

add_hub($member, $hub);

#
# Restored from a backup of before it leased
#
$member->backup('early');
like(message_of($member, 'postgres', q{SELECT hilo.lease_from('orders', 'ids_hub')}), qr/NOTICE: .*the setting "hilo.hub" does not name server "ids_hub"\n.*HINT: .*hilo.hub = 'ids_hub'/s, 'hilo.lease_from() says what a restored member needs');
draw($member, 250);
my $early = PostgreSQL::Test::Cluster->new('early');
$early->init_from_backup($member, 'early');
$early->append_conf('postgresql.conf', "hilo.hub = 'ids_hub'\n");
$early->start;
draw($early, 150);
draw($member, 150);
is(twice(), '', 'with hilo.hub in its configuration, it leases');
$early->stop;

#
# Its name
#
my ($name) = grep { m,^member/, } split / /, names();
like($name, qr,^member/\d+$,, 'a member has a name of its own, with its cluster_name');
unlike($name, qr/postgres/, 'without that of its database');
sql($member, 'SELECT hilo.release()');
$member->safe_psql('template1', 'ALTER DATABASE postgres RENAME TO renamed');
$member->safe_psql('renamed', q{SELECT hilo_next_number('orders') FROM generate_series(1, 150)});
$member->safe_psql('template1', 'ALTER DATABASE renamed RENAME TO postgres');
is(scalar(grep { m,^member/, } split / /, names()), 1, 'it keeps it when the database is renamed');
$member->safe_psql('template1', 'CREATE DATABASE copy TEMPLATE postgres');
$member->safe_psql('copy', q{SELECT hilo_next_number('orders')});
my @copies = grep { m,^member/, && $_ ne $name } split / /, names();
is(scalar(@copies), 1, 'a copy of the database has another one');
my $dump = PostgreSQL::Test::Utils::tempdir() . '/member.sql';
$member->command_ok([ 'pg_dump', '-f', $dump, 'postgres' ], 'dumped');
sql($member, 'CREATE DATABASE restored');
restore_sql($member, $dump, 'restored');
$member->safe_psql('restored', q{SELECT hilo_next_number('orders')});
is(scalar(grep { m,^member/, && $_ ne $name } split / /, names()), 2, 'so has a database that is restored from a dump');
like(error_of($member, 'postgres', q{BEGIN; SELECT hilo_next_number('orders'); ROLLBACK}), qr/^$/, 'no error');
is(sql($member, q{SELECT count(*) FROM hilo.status WHERE collection = '|' AND last_claim IS NOT NULL}), 0, 'it has drawn no server-side ids for that');
like(sql($member, q{SELECT next_server_side_id('docs/')}), qr/^docs\/0*1-A$/, 'which begin with 1');

#
# Two with one name
#
$member->stop;
$member->backup_fs_cold('clone');
$member->start;
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($member, 'clone');
my $offset = -s $hub->logfile;
draw($member, 100);
unlike(slurp_file($hub->logfile, $offset), qr/two servers ask/, 'a restart is not taken for another server');
# The name is that of the server that it was cloned from.
sub start_clone
{
	PostgreSQL::Test::Utils::system_or_bail('pg_ctl', '-w', '-D', $clone->data_dir, '-l', $clone->logfile, '-o', '--cluster-name=member', 'start');
	$clone->_update_pid(1);
	return;
}
start_clone();
for (1 .. 3)
{
	draw($clone, 100);
	draw($member, 100);
}
is(twice(), '', 'both get numbers of their own');
like(slurp_file($hub->logfile, $offset), qr/WARNING:  two servers ask this hub by the name of member "\Q$name\E"/, 'the hub warns that two servers have one name');
is(sql($hub, "SELECT bool_or(shared_at IS NOT NULL) FROM hilo.members WHERE member = '$name'"), 't', 'and notes it');
$clone->stop;

#
# An answer that is lost
#
my $proxy = HiloTest::Proxy->new($hub);
add_hub($member, $hub, server => 'far', host => '127.0.0.1', port => $proxy->port);
my ($leased, $size) = (0);

# How many numbers were leased since the last call.
sub last_lease
{
	my $before = $leased;

	$leased = sql($hub, q{SELECT max FROM hilo.hilo WHERE collection = 'sizes'});
	return $leased - $before;
}
sub use_up { sql($member, q{SELECT hilo_next_number('sizes') FROM generate_series(1, (SELECT numbers_left FROM hilo.leases WHERE collection = 'sizes'))}); return; }
configure($member, 'test.lease_duration' => 600000);
sql($member, q{SELECT hilo.lease_from('sizes', 'far', 100)});
for (1 .. 6)
{
	sql($member, q{SELECT hilo_next_number('sizes')});
	use_up();
	$size = last_lease();
}
is($size, 3200, 'leases have grown');
foreach my $loss ([ 'an answer that is lost', 'answer', '08006', '' ], [ 'a draw that is canceled', 'hole', '57014', q{SET hilo.lease_timeout = '1min'; SET statement_timeout = '1s';} ])
{
	my ($what, $mode, $sqlstate, $setting) = @$loss;

	$proxy->mode($mode);
	is(error_of($member, 'postgres', "$setting SELECT hilo_next_number('sizes')"), $sqlstate, $what);
	last_lease();
	$proxy->mode('pass');
	sql($member, q{SELECT hilo_next_number('sizes')});
	is(last_lease(), 1, "$what: the next request is small");
	use_up();
	sql($member, q{SELECT hilo_next_number('sizes')});
	cmp_ok(last_lease(), '>=', $size, "$what: the one after that is as large as before");
	use_up();
}
configure($member, 'test.lease_duration' => 0);

#
# A password that is refused, and a missing right
#
sql($hub, q{CREATE ROLE nobody LOGIN});
add_hub($member, $hub, server => 'without_right', user => 'nobody');
like(message_of($member, 'postgres', q{SELECT hilo.lease_from('rights', 'without_right')}), qr/permission denied for function lease\n.*HINT:.*GRANT EXECUTE ON FUNCTION hilo.lease, hilo.report/s, 'a missing right comes with a hint');
add_hub($member, $hub, server => 'without_role', user => 'no such role');
my $message = message_of($member, 'postgres', q{SELECT hilo.lease_from('rights', 'without_role')});
is(scalar(() = $message =~ /role "no such role" does not exist/g), 1, 'a reason is given once') or diag($message);

#
# It leaves
#
sql($member, q{SELECT hilo.lease_from('left', 'ids_hub'); SELECT hilo_next_number('left')});
is(sql($hub, "SELECT count(*) FROM hilo.members WHERE collection = 'left'"), 1, 'a member is on the list');
sql($member, q{SELECT hilo.lease_from('left', NULL)});
is(sql($hub, "SELECT count(*) FROM hilo.members WHERE collection = 'left'"), 0, 'one that has left is not');
is(sql($member, q{SELECT count(hilo_next_number('left')) FROM generate_series(1, 99)}), 99, 'it draws what it has');
sql($member, q{SELECT hilo.seed('left', 5000000, true); SELECT hilo.lease_report()});
is(sql($hub, "SELECT count(*) FROM hilo.members WHERE collection = 'left'"), 0, 'and, counted here again, it is not reported');
is(sql($hub, "SELECT count(*) > 0 FROM hilo.members WHERE member = '$name' AND collection = 'orders'"), 't', 'its other collections stay');
sql($member, q{SELECT hilo.lease_from('alone', 'far'); SELECT hilo_next_number('alone')});
$proxy->mode('answer');
is(error_of($member, 'postgres', q{SET hilo.hub = far; SELECT hilo_next_number('in vain')}), '08006', 'a first lease is lost');
$proxy->mode('pass');
sub listed { return sql($hub, q{SELECT count(*) FROM hilo.members WHERE collection = 'in vain'}) . sql($member, q{SELECT count(*) FROM hilo.leases WHERE collection = 'in vain'}); }
is(listed(), '11', 'hub and member know of the request');
is(message_of($member, 'postgres', q{SELECT hilo.lease_from(collection, NULL) FROM hilo.leases WHERE collection = 'in vain'}), '', 'such a collection can be left, too');
is(listed(), '00', 'then neither does');
sql($hub, 'CREATE DATABASE second');
$hub->safe_psql('second', 'CREATE EXTENSION hilo');
add_hub($member, $hub, server => 'second', dbname => 'second');
sub moved { return sql($member, "SELECT hilo.lease_from('$_[0]', 'far'); SELECT hilo_next_number('$_[0]'); SELECT max FROM hilo.hilo WHERE collection = '$_[0]'") =~ s/.*\n//sr; }
my $above = moved('moves');
$hub->safe_psql('second', "SELECT hilo.seed('moves', $above); SELECT hilo.seed('blind', 1000)");
is(message_of($member, 'postgres', q{SET client_min_messages = warning; SELECT hilo.lease_from('moves', 'second')}), '', 'it goes to another hub');
is(sql($hub, q{SELECT count(*) FROM hilo.members WHERE collection = 'moves'}), 0, 'and leaves the list of the first one');
is(sql($member, q{SELECT count(DISTINCT hilo_next_number('moves')) FROM generate_series(1, 150)}), 150, 'it draws from the second one');
is($hub->safe_psql('second', q{SELECT count(*) FROM hilo.members WHERE collection = 'moves'}), 1, 'whose list it is on');
moved('blind');
$proxy->mode('refuse');
like(message_of($member, 'postgres', q{SELECT hilo.lease_from('blind', 'second')}), qr/WARNING:  08\w{3}: could not tell server "far" that "blind" is no longer leased/, 'where the first one cannot be told, that is said');
like(message_of($member, 'postgres', q{SELECT hilo.lease_from('alone', NULL)}), qr/WARNING:  08\w{3}: could not tell server "far" that "alone" is no longer leased.*HINT: .*hilo.hub_forget/s, 'where the hub cannot be told, that is said');
$proxy->mode('pass');

#
# A hub that is frozen does not take a large report
#
sql($member, <<SQL);
INSERT INTO hilo.hilo (collection, max, max_ever, flags, hub, lineage, term, term_id)
SELECT 'many' || n || repeat('x', 200), 1, 1, 2, 'ids_hub', h.lineage, h.term, h.term_id FROM generate_series(1, 4000) n, hilo.hilo h WHERE h.collection = 'orders';
ALTER DATABASE postgres SET hilo.lease_timeout = '2s';
SQL
my $session = session($member);
sub report_to_frozen
{
	$session->query("SET test.failure_point = 'hub ready:pause'");
	$session->start('SELECT hilo.lease_report()');
	paused($member);
	my $pid = sql($hub, q{SELECT pid FROM pg_stat_activity WHERE application_name = 'hilo'});
	kill 'STOP', $pid;
	return $pid;
}
{
	my $frozen = report_to_frozen();
	my $began = time;
	go_on($member);
	my ($out, $err) = $session->result;
	my $took = time - $began;
	kill 'CONT', $frozen;
	like($err, qr/WARNING: .*could not report.*in time/, 'a frozen hub');
	cmp_ok($took, '<', 10, 'is given up after hilo.lease_timeout');

	$session->finish;
	sql($member, q{ALTER DATABASE postgres SET hilo.lease_timeout = '100s'});
	$session = session($member);
	$frozen = report_to_frozen();
	go_on($member);
	wait_until('the hub is waited for', sub { sql($member, 'SELECT wait_event FROM pg_stat_activity WHERE pid = ' . $session->pid) eq 'HiloHub' || sql($member, q{SHOW server_version_num}) < 170000 });
	sql($member, 'SELECT pg_cancel_backend(' . $session->pid . ')');
	(undef, $err) = $session->result;
	kill 'CONT', $frozen;
	like($err, qr/57014/, 'or canceled');
}
$session->finish;

#
# Another hub in its place
#
my $other = new_node('other');
my ($drawn) = sql($member, q{SELECT hilo.lease_from('replaced', 'ids_hub'); SELECT hilo_next_number('replaced')}) =~ /(\d+)/;
my ($left, $highest) = split /\|/, sql($member, q{SELECT numbers_left, highest FROM hilo.leases WHERE collection = 'replaced'});
is("$left " . ($highest - $drawn), '99 99', 'more is leased than drawn');
move_hub($other, $member);
sql($member, q{SELECT hilo_next_number('orders') FROM generate_series(1, (SELECT numbers_left FROM hilo.leases WHERE collection = 'orders'))});
like(message_of($member, 'postgres', q{SELECT hilo_next_number('orders')}), qr/HINT: .*first seed its counters above the column highest of hilo.leases on all members, then call hilo.lease_from/, 'the hint says to seed first');
sql($other, "SELECT hilo.seed('replaced', $highest)");
unlike(message_of($member, 'postgres', q{SELECT hilo.lease_from('replaced', 'ids_hub')}), qr/WARNING/, 'it takes the place of the first one, which need not be told');
cmp_ok(sql($member, q{SELECT hilo_next_number('replaced')}), '>', $highest, 'whose leases are over');

$proxy->stop;
$_->stop for grep { -e $_->data_dir . '/postmaster.pid' } $member, $hub, $other;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $member, $hub, $other, $clone, $early;
done_testing();
