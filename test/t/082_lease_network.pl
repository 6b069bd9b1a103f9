# Promises 3 and 4 over a bad line: wherever an exchange is cut, slow or dead, it costs a gap at most, is asked again after a second and no sooner, and can be cancelled.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hub = new_node('hub');
my $member = new_member('member', <<SETTINGS);
hilo.lease_size = 100
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.range_size = 10
hilo.max_range_size = 10
SETTINGS
my $proxy = HiloTest::Proxy->new($hub);
add_hub($member, $hub, host => '127.0.0.1', port => $proxy->port);
my %shown;

sub sql { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

# A number that was never shown before, or what was said in its place.
sub draw
{
	my ($session) = @_;
	my ($number, $err) = $session->query(q{SELECT hilo_next_number('orders')});

	return $err if $err;
	return $shown{$number}++ ? "$number again" : $number;
}

# Let a session use up the leases: the next draw asks the hub.
sub use_up
{
	my ($session) = @_;

	for (1 .. 400)
	{
		my $left = $session->query(q{SELECT numbers_left + (SELECT coalesce(sum(high - next + 1), 0) FROM hilo.ranges WHERE collection = 'orders') FROM hilo.leases WHERE collection = 'orders'});
		return if $left == 0;
		my $number = draw($session);
		die $number unless $number =~ /^\d+$/;
	}
	die 'there is no end of it';
}

my $session = session($member);
is($session->query(q{SELECT hilo.lease_from('orders', 'ids_hub')}), '', 'leased through a proxy');
is(draw($session), 1, 'a number');

#
# Cut
#
for my $mode (qw(refuse request answer half))
{
	use_up($session);
	my $max = sql($hub, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'});
	$proxy->mode($mode);
	like(draw($session), qr/08\w{3}: could not lease numbers of "orders" from server "ids_hub"\nDETAIL:  (?:The error was: |It has given no lease since 2\d{3}-)/,
		"cut, $mode: an error of class 08");
	$proxy->mode('pass');
	like(draw($session), qr/^\d+$/, "cut, $mode: the next draw works");
	# A hub that was not reached gave nothing.  Where an answer may be lost, the next request is for one number only.
	my $given = { refuse => 100, request => 1, answer => 100 + 1, half => 100 + 1 }->{$mode};
	is(sql($hub, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}), $max + $given,
		"cut, $mode: " . ($given > 100 ? 'a lease is lost, and one number asked for' : 'nothing is lost'));
}

# Also the very first exchange of a collection leaves things as they were.
for my $mode (qw(request answer half))
{
	$session->query(q{SELECT hilo_next_number('counted')});
	$proxy->mode($mode);
	like($session->error_of(q{SELECT hilo.lease_from('counted', 'ids_hub')}), qr/^08/, "first exchange, $mode: an error");
	$proxy->mode('pass');
	is(sql($member, q{SELECT flags & 2 FROM hilo.hilo WHERE collection = 'counted'}), 0, "first exchange, $mode: it counts on");
	like($session->query(q{SELECT hilo_next_number('counted')}), qr/^\d+$/, "first exchange, $mode: and draws");
}

# Identities keep the connection; one that was lost meanwhile is made anew.
$session->query(q{SELECT hilo.lease_from('invoices|', 'ids_hub')});
my @identities = scalar $session->query(q{SELECT next_identity_for('invoices')});
my $connections = $proxy->connections;
push @identities, scalar $session->query(q{SELECT next_identity_for('invoices')});
is($proxy->connections, $connections, 'identities keep the connection');
is(sql($hub, q{SELECT state FROM pg_stat_activity WHERE application_name = 'hilo'}), 'idle', 'with no transaction open');

# The hub ends the connection that is kept, and the member could know of it.
sub end_connection
{
	my $ended = $proxy->ended;
	sql($hub, q{SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hilo'});
	wait_until('the connection has ended', sub { $proxy->ended > $ended });
	return;
}
end_connection();
push @identities, scalar $session->query(q{SELECT next_identity_for('invoices')});
is($proxy->connections, $connections + 1, 'and make it anew');
for my $mode (qw(refuse request answer half))
{
	end_connection();
	$proxy->mode($mode);
	like($session->error_of(q{SELECT next_identity_for('invoices')}), qr/^08/, "identity, $mode: an error of class 08");
	$proxy->mode('pass');
	push @identities, scalar $session->query(q{SELECT next_identity_for('invoices')});
}
my %identity;
is(join(' ', grep { !/^\d+$/ || $identity{$_}++ } @identities), '', 'no identity came twice');
is(scalar keys %identity, 7, 'and all came');

#
# Slow, and dead
#
use_up($session);
$proxy->mode('hole');
configure($member, 'hilo.lease_timeout' => '300ms');
like(draw($session), qr/08\w{3}: .*DETAIL:  The error was: .*did not answer in time/s, 'no answer: an error after hilo.lease_timeout');
is($session->query(q{SELECT last_error ~ 'in time' AND failing_since <= last_error_at AND last_error_at <= now() FROM hilo.leases WHERE collection = 'orders'}),
	't', 'and the view shows it');

# What is not waited for any more ends on the hub, too.
$proxy->mode('pass');
my $held = hold_hub($hub);
like(draw($session), qr/08\w{3}: .*(?:did not answer in time|statement timeout)/s, 'a hub that works for too long');
wait_until('the hub has ended it', sub {
	!sql($hub, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo'}) });
pass('the hub ends what it does');
$held->query('COMMIT');
$held->finish;
$proxy->mode('hole');

# With connect_timeout, that one counts for connecting.
configure($member, 'hilo.lease_timeout' => '1h');
sql($member, q{ALTER SERVER ids_hub OPTIONS (ADD connect_timeout '1')});
my $start = time;
like(draw($session), qr/08\w{3}: .*in time/s, 'no connection: an error after connect_timeout');
cmp_ok(time - $start, '>=', 0.9, 'no sooner');
sql($member, q{ALTER SERVER ids_hub OPTIONS (DROP connect_timeout)});

# A cancel and a timeout while it waits for the connection, or for the answer.
for my $mode ('hole', 'delay 100000')
{
	for my $way ('cancel', 'timeout', 'terminate')
	{
		my $waiting = session($member);
		my $pid = $waiting->pid;

		$waiting->query('SET statement_timeout = 1500') if $way eq 'timeout';
		my $before = $proxy->connections;
		$waiting->start(q{SELECT hilo_next_number('orders')});
		wait_until('it asks the hub', sub { $proxy->connections > $before });
		sql($member, "SELECT pg_cancel_backend($pid)") if $way eq 'cancel';
		sql($member, "SELECT pg_terminate_backend($pid)") if $way eq 'terminate';
		my (undef, $err) = eval { $waiting->result };
		$err = ($waiting->finish)[1] if $way eq 'terminate';
		like($err, $way eq 'terminate' ? qr/57P01/ : qr/57014/, "$mode: $way");
		is(sql($member, q{SELECT last_error ~ 'in time' FROM hilo.leases WHERE collection = 'orders'}), 't',
			"$mode: $way: is no failure of the hub") if $way ne 'terminate';
		$waiting->finish if $way ne 'terminate';
	}
}
$proxy->mode('pass');
like(draw($session), qr/^\d+$/, 'afterwards draws work');
wait_until('the hub has no session of it left', sub {
	sql($hub, q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'hilo'}) eq 't' });
pass('and nothing is open on the hub');

#
# The hub away
#
# Other draws fail at once while one is waiting.
use_up($session);
configure($member, 'test.lease_retry' => '3600000');
configure($member, 'hilo.lease_timeout' => '1h');
$proxy->mode('refuse');
like(draw($session), qr/08\w{3}:/, 'the hub is away');
my $tries = $proxy->connections;
my @others = map { session($member) } 1 .. 3;
like(draw($_), qr/08\w{3}: could not lease.*DETAIL:  It has given no lease since 2/s, 'draws fail') for @others, $session, @others;
is($proxy->connections, $tries, 'and do not ask again');
configure($member, 'test.lease_retry' => '0');
$proxy->mode('hole');
$others[0]->start(q{SELECT hilo_next_number('orders')});
wait_until('one asks again', sub { $proxy->connections > $tries });
$_->start(q{SELECT hilo_next_number('orders')}) for @others[ 1, 2 ];
wait_until_waiting($member, @others);
is($proxy->connections, $tries + 1, 'others wait for its answer, and do not ask');
$proxy->mode('pass');
# What went into the hole is gone: the one that asks is told to end, the next one asks.
sql($member, 'SELECT pg_cancel_backend(' . $others[0]->pid . ')');
$others[0]->result;
for my $other (@others[ 1, 2 ])
{
	my ($number, $err) = $other->result;
	like($err || ($shown{$number}++ ? "$number again" : $number), qr/^\d+$/, 'then another one asks, and draws');
}
like(draw($others[1]), qr/^\d+$/, 'back again, the next draw works');
is($session->query(q{SELECT last_error IS NULL AND failing_since IS NULL FROM hilo.leases WHERE collection = 'orders'}),
	't', 'and the error is forgotten');
use_up($others[1]);

# What is in the pool is drawn to its end.  The worker asks, once a retry.
configure($member, 'test.lease_ahead' => '100');
configure($member, 'test.lease_retry' => '3600000');
draw($session);
wait_until('the next lease is there', sub {
	sql($member, q{SELECT numbers_left > 100 FROM hilo.leases WHERE collection = 'orders'}) eq 't' || (draw($session), 0)[1] });
wait_until('the worker has gone', sub {
	!sql($member, q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'hilo%'}) });
$proxy->mode('refuse');
$hub->stop;
$tries = $proxy->connections;
# The session may hold some, too.
my $left = sql($member, q{SELECT numbers_left FROM hilo.leases WHERE collection = 'orders'});
my $got = 0;
my $number;
my $offset = -s $member->logfile;

# With less than a lease left the worker is called for; it asks before the session
# has to.
do
{
	$number = draw($session);
	$got++ if $number =~ /^\d+$/;
} while $number =~ /^\d+$/
	&& sql($member, q{SELECT numbers_left >= 100 FROM hilo.leases WHERE collection = 'orders'}) eq 't';
wait_until('the worker has asked in vain', sub {
	slurp_file($member->logfile, $offset) =~ /LOG: .*could not lease numbers of "orders" from server "ids_hub"/ });
while (($number = draw($session)) =~ /^\d+$/)
{
	$got++;
}
cmp_ok($got, '>=', $left, 'no draw fails while the pool has numbers');
like($number, qr/08\w{3}: could not lease/, 'then draws fail');
pass('the log tells of what fails ahead');
is($proxy->connections - $tries, 1, 'the hub was asked once, ahead');
$hub->start;
$proxy->mode('pass');
configure($member, 'test.lease_retry' => '10');
like(draw($session), qr/^\d+$/, 'up again, the next draw works');

#
# Several hosts
#
configure($member, 'test.lease_ahead' => '0');
configure($member, 'test.lease_retry' => '0');
configure($member, 'hilo.lease_timeout' => '1h');
wait_until('no lease worker is left', sub {
	!sql($member, q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'hilo%'}) });
use_up($session);
my $second = HiloTest::Proxy->new($hub);
my ($one, $two) = map { $_->port } $proxy, $second;
sql($member, "ALTER SERVER ids_hub OPTIONS (SET host '127.0.0.1,127.0.0.1', SET port '$one,$two', ADD connect_timeout '1')");
$proxy->mode('hole');
like(draw($session), qr/^\d+$/, 'where the first host swallows connections, the second one is asked');
cmp_ok($second->requests, '>', 0, 'by its port');
use_up($session);
$tries = $proxy->connections;
like(draw($session), qr/^\d+$/, 'the next time');
is($proxy->connections, $tries, 'it comes first');
use_up($session);
$_->mode('refuse') for $proxy, $second;
like(draw($session), qr/08001: .*port $one.*port $two|08001: .*port $two.*port $one/s, 'the error names all hosts');
$proxy->mode('pass');
like(draw($session), qr/^\d+$/, 'one of them is enough');
sql($member, "ALTER SERVER ids_hub OPTIONS (SET host '127.0.0.1', SET port '$one', DROP connect_timeout)");
$second->stop;
configure($member, 'test.lease_ahead' => '100');
configure($member, 'test.lease_retry' => '10');

#
# 500 ms each way: a member with a lease does not wait
#
$proxy->mode('delay 500');
configure($member, 'hilo.lease_timeout' => '1min');
sql($member, q{SELECT hilo.lease_from('slow', 'ids_hub', 2000); SELECT hilo_next_number('slow')});
my @slow = map { session($member) } 1, 2;
my $longest = $slow[0]->query(<<'SQL');
CREATE TEMP TABLE t (ms float8);
DO $$
DECLARE s timestamptz;
BEGIN
	FOR i IN 1 .. 1500 LOOP
		s := clock_timestamp();
		PERFORM hilo_next_number('slow');
		INSERT INTO t VALUES (extract(epoch FROM clock_timestamp() - s) * 1000);
	END LOOP;
END $$;
SELECT max(ms) FROM t;
SQL
cmp_ok($longest, '<', 2000, 'no draw waits for an exchange of some seconds');
note("longest draw: $longest ms");
wait_until('the next lease has come', sub {
	sql($member, q{SELECT numbers_left > 1500 FROM hilo.leases WHERE collection = 'slow'}) eq 't' });

#
# Too slow for the lease worker, which has 3 s for a connection: sessions wait longer
#
configure($member, 'test.lease_ahead' => '0');
configure($member, 'test.lease_retry' => '3600000');
$proxy->mode('pass');
sql($member, q{SELECT hilo.lease_from('slower', 'ids_hub', 100); SELECT hilo_next_number('slower')});
wait_until('the worker has gone', sub {
	!sql($member, q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'hilo%'}) });
$proxy->mode('delay 1500');
$offset = -s $member->logfile;
configure($member, 'test.lease_ahead' => '100');
sql($member, q{SELECT hilo_next_number('slower')});
wait_until('the worker has given up', sub {
	slurp_file($member->logfile, $offset) =~ /LOG: .*could not lease numbers of "slower" from server "ids_hub"/ });
is(sql($member, q{SELECT failing_since IS NOT NULL FROM hilo.leases WHERE collection = 'slower'}), 't', 'where the worker gives up, the view says so');
is(message_of($member, 'postgres', q{SELECT count(hilo_next_number('slower')) FROM generate_series(1, 150)}), '', 'and no draw fails with it');
is(sql($member, q{SELECT max FROM hilo.hilo WHERE collection = 'slower'}), 200, 'nor is the lease small that a session asks for');

# A server that was started meanwhile may hold their input open.
for ($session, @others, @slow)
{
	$_->finish;
}
$proxy->stop;
$member->stop;
$hub->stop;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $member, $hub;
done_testing();
