# Promises 1 and 9 on a hub that may be resumed by itself: whichever listed standby is promoted, it has every lease and every number that the hub drew.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hub = new_member("hub", "hilo.hub_auto_resume = on\n", allows_streaming => 1);
my %standby;

sub sql { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

$hub->backup('base');
foreach my $name (qw(one two))
{
	$standby{$name} = PostgreSQL::Test::Cluster->new($name);
	$standby{$name}->init_from_backup($hub, 'base', has_streaming => 1);
	$standby{$name}->start;
}

my $lease = q{SELECT low FROM hilo.lease('orders', 10)};
my $own = q{SELECT low FROM hilo_reserve('own', 30)};

sub names_are
{
	my ($names, $count) = @_;

	configure($hub, synchronous_standby_names => $names);
	wait_until("$count standbys are synchronous", sub { sql($hub, q{SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')}) == $count });
	return;
}

foreach my $case ([ 'ANY 1 (one, two)', 2 ], [ 'ANY 2 (one, two)', 2 ], [ 'FIRST 1 (one, two)', 1 ], [ '*', 1 ], [ 'FIRST 2 (one, two, three)', 2 ])
{
	names_are(@$case);
	like(message_of($hub, 'postgres', $lease), qr/55000: this server gives leases only if all standbys that may take over have them\n.*HINT: .*FIRST 2 \(a, b\)/s, "not each of those that are listed has every lease: $case->[0]");
}

# All of them, several times: the note that a standby may resume by itself is made with the second lease.
names_are('FIRST 2 (one, two)', 2);
my @shown = map { sql($hub, $lease) } 1 .. 3;
is(sql($hub, q{SELECT waited FROM hilo.hub WHERE hub = '|'}), 2, 'both standbys have all leases');
push @shown, sql($hub, $lease);
my @own = map { sql($hub, $own) } 1 .. 3;

# In this term what the hub draws needs them, too.
names_are('ANY 1 (one, two)', 2);
is(error_of($hub, 'postgres', $own), '55000', 'nor does it draw what not all standbys need to have');
is(error_of($hub, 'postgres', $lease), '55000', 'or give leases');
names_are('FIRST 2 (two, one)', 2);
push @own, sql($hub, $own);
push @shown, sql($hub, $lease);

# Two of one name count as one, and only if both have it.
my $twin = PostgreSQL::Test::Cluster->new('twin');
$twin->init_from_backup($hub, 'base', has_streaming => 1);
$twin->append_conf('postgresql.conf', "primary_conninfo = '" . $hub->connstr . " application_name=one'\n");
$twin->start;
wait_until('it follows, too', sub { sql($hub, q{SELECT count(*) FROM pg_stat_replication WHERE application_name = 'one' AND state = 'streaming'}) == 2 });
wait_until('both have a lease', sub { error_of($hub, 'postgres', $lease) eq '' });
$standby{two}->stop;
wait_until('one is gone', sub { sql($hub, q{SELECT count(*) FROM pg_stat_replication}) == 2 });
is(error_of($hub, 'postgres', $lease), '55000', 'two of one name are not both that are listed');
$standby{two}->start;
names_are('FIRST 2 (two, one)', 2);
$twin->stop;

# One that lags behind is waited for; so it has all, and goes on by itself.
kill_server($hub);
$standby{two}->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
$standby{two}->restart;
$standby{two}->promote;
like(message_of($standby{two}, 'postgres', $lease), qr/55000: this server gives leases only if all standbys/, 'any of them that is promoted goes on by itself, once it has standbys of its own');
cmp_ok(sql($standby{two}, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}), '>=', $shown[-1] + 9, 'it has every lease');
cmp_ok(sql($standby{two}, q{SELECT max FROM hilo.hilo WHERE collection = 'own'}), '>=', $own[-1] + 29, 'and every number that the hub drew');
$_->stop for values %standby;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $hub, values %standby;
done_testing();
