# Promises 3 and 4 on a member whose hub has several addresses: each has its own time, the last one that answered comes first, an error names them all, and the hub goes on with nothing that is not waited for any more.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use IO::Socket::INET;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $hub = new_node('hub', '', allows_streaming => 1);
$hub->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($hub, 'base', has_streaming => 1);
$standby->start;

# A name that has two addresses, and a clock that can be set back.
my $dir = PostgreSQL::Test::Utils::tempdir;
append_to_file("$dir/names.c", <<'CODE');
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
int
gettimeofday(struct timeval *now, void *zone)
{
	int (*real) (struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");
	int error = real(now, zone);

	if (access(CLOCK_IS_BACK, F_OK) == 0)
		now->tv_sec -= 3600;
	return error;
}
int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **result)
{
	int (*real) (const char *, const char *, const struct addrinfo *, struct addrinfo **) = dlsym(RTLD_NEXT, "getaddrinfo");
	struct addrinfo *last;
	int error;

	if (name == NULL || strcmp(name, "two.test") != 0)
		return real(name, service, hints, result);
	error = real("127.0.0.2", service, hints, result);
	if (error != 0)
		return error;
	for (last = *result; last->ai_next != NULL;)
		last = last->ai_next;
	return real("127.0.0.1", service, hints, &last->ai_next);
}
CODE
system_or_bail(split(' ', $ENV{CC} // 'cc'), '-shared', '-fPIC', "-DCLOCK_IS_BACK=\"$dir/back\"", '-o', "$dir/names.so", "$dir/names.c", '-ldl');
my $preloaded = $ENV{LD_PRELOAD};
$ENV{LD_PRELOAD} = join ' ', $preloaded // (), "$dir/names.so";

my $member = new_member('member', <<SETTINGS, extra => [ '--encoding=UTF8', '--locale=C' ]);
hilo.lease_size = 100
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.lease_timeout = 1h
hilo.range_size = 1
hilo.max_range_size = 1
SETTINGS
add_hub($member, $hub, options => "connect_timeout '1', sslmode 'disable', gssencmode 'disable'");
my $connect_timeout = 1;
if (defined $preloaded) { $ENV{LD_PRELOAD} = $preloaded }
else { delete $ENV{LD_PRELOAD} }

sub sql { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

# The hub has these addresses: [host, port] each; more options of the server.
sub hosts
{
	my ($hosts, @more) = @_;
	my ($host, $port) = map { my $n = $_; join ',', map { $_->[$n] } @$hosts } 0, 1;

	sql($member, "ALTER SERVER ids_hub OPTIONS (" . join(', ', "SET host '$host'", "SET port '$port'", @more) . ')');
	return;
}

# A process that sends each connection the same bytes, and ends it when something
# more has come than its first packet.
my @talkers;

sub talker
{
	my ($bytes) = @_;
	my $socket = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.1', Proto => 'tcp')
	  or die "cannot listen: $!";
	my $pid = fork // die "cannot fork: $!";

	if ($pid == 0)
	{
		while (getppid() != 1 && (my $client = $socket->accept))
		{
			sysread $client, my $packet, 10000;
			syswrite $client, $bytes;
			sysread $client, $packet, 10000;
			close $client;
		}
		POSIX::_exit(0);
	}
	push @talkers, $pid;
	return [ '127.0.0.1', $socket->sockport ];
}

END
{
	my $status = $?;
	kill 'KILL', @talkers;
	waitpid $_, 0 for @talkers;
	$? = $status;
}

my %shown;
my $session = session($member);

# A number that was never shown before, or what was said in its place.
sub draw
{
	my ($number, $err) = ($_[0] // $session)->query(q{SELECT hilo_next_number('orders')});

	return $err if $err;
	return $shown{$number}++ ? "$number again" : $number;
}

# The next draw has to ask the hub.
sub use_up
{
	$shown{$_}++ for split /\n/, $session->query(q{SELECT hilo_next_number('orders') FROM generate_series(1, (SELECT numbers_left FROM hilo.leases WHERE collection = 'orders'))});
	is($session->query(q{SELECT numbers_left FROM hilo.leases WHERE collection = 'orders'}), 0, 'nothing is left') or die;
	return;
}

my $number = qr/^\d+$/;
my $real = [ $hub->host, $hub->port ];
my $dead = [ '127.0.0.1', PostgreSQL::Test::Cluster::get_free_port() ];
my @proxies = map { HiloTest::Proxy->new($hub) } 1 .. 3;
my @proxy_hosts = map { [ '127.0.0.1', $_->port ] } @proxies;
$_->mode('hole') for @proxies;

# How often each proxy was connected to by what a piece of code does.
sub connections
{
	my ($code) = @_;
	my @before = map { $_->connections } @proxies;

	$code->();
	return join ' ', map { $proxies[$_]->connections - $before[$_] } 0 .. $#proxies;
}

is($session->query(q{SELECT hilo.lease_from('orders', 'ids_hub')}), '', 'leased');

#
# A dead address, two that take connections and say nothing, and the hub
#
hosts([ $dead, @proxy_hosts[ 0, 1 ], $real ]);
my $start = time;
is(connections(sub { like(draw(), $number, 'the hub is found behind three others') }), '1 1 0', 'each of which was tried');
cmp_ok(time - $start, '>=', 1.9 * $connect_timeout, 'and had its time');
cmp_ok(time - $start, '<', 60, 'but no longer');
use_up();
is(connections(sub { like(draw(), $number, 'another lease') }), '0 0 0', 'the one that answered last is tried first');
use_up();
my $new = session($member);
is(connections(sub { like(draw($new), $number, 'in a new session') }), '0 0 0', 'there as well');
$new->finish;

# It is the last good one that is remembered, whichever that is.
$proxies[1]->mode('pass');
hosts([@proxy_hosts]);
use_up();
is(connections(sub { like(draw(), $number, 'with three other addresses') }), '1 1 0', 'the second one answers');
$proxies[1]->mode('refuse');
$proxies[2]->mode('pass');
use_up();
is(connections(sub { like(draw(), $number, 'when it does no more') }), '0 1 1', 'those after it are tried, in turn');
use_up();
is(connections(sub { like(draw(), $number, 'and from then on') }), '0 0 1', 'the third one comes first');
# With fewer addresses than that.
$proxies[0]->mode('pass');
hosts([ @proxy_hosts[ 0, 1 ] ]);
use_up();
is(connections(sub { like(draw(), $number, 'of two addresses') }), '1 0 0', 'one answers');
# Another server does not begin where this one was.
hosts([ @proxy_hosts[ 1, 2 ] ]);
$proxies[1]->mode('refuse');
use_up();
like(draw(), $number, 'the second of two addresses');
add_hub($member, $hub, server => 'other_hub', host => '127.0.0.1,127.0.0.1', port => $proxies[0]->port . ',' . $proxies[2]->port);
is(connections(sub { $session->query(q{SELECT hilo.lease_from('others', 'other_hub')}) }), '1 0 0', 'the first one of another server');

#
# What went wrong is said of each
#
$_->mode('hole') for @proxies;
my $away = [ '/nonexistent', 5432 ];
hosts([ $dead, $proxy_hosts[0], $away, $proxy_hosts[1] ]);
use_up();
# The second one answered last.
my $all = join '.*', "port $proxy_hosts[0][1] failed: it did not answer in time", '/nonexistent/\.s\.PGSQL\.5432" failed: No such file',
  "port $proxy_hosts[1][1] failed: it did not answer in time", "port $dead->[1] failed: Connection refused";
my $late = session($member);
like(draw($late), qr/08001: could not lease numbers of "orders" from server "ids_hub"\nDETAIL:  .*$all/, 'the message names all');
like($session->query(q{SELECT last_error FROM hilo.leases WHERE collection = 'orders'}), qr/^connection to server at .*$all/, 'and so does the view');
$late->finish;

# As libpq counts them: one port may be that of all, and hostaddr goes before host.
hosts([ [ '/nonexistent,' . $hub->host, $hub->port ] ]);
like(draw(), $number, 'one port for two addresses');
use_up();
hosts([ [ 'first,second', $proxies[0]->port ] ], "ADD hostaddr '127.0.0.1,127.0.0.1'");
like(draw(), qr/"second" \(127.0.0.1\), .*failed: it did not answer in time; .*"first" \(127.0.0.1\), .*failed: it did not answer in time/, 'two host addresses, each with a name; the second one comes first, as before');
hosts([ [ 'first', $proxies[0]->port ] ]);
like(draw(), qr/08001: .*could not match 1 host names to 2 hostaddr values/s, 'one name for two host addresses');
hosts([ [ 'first,second', '1,2,3' ] ], "DROP hostaddr");
like(draw(), qr/08001: .*could not match 3 port numbers to 2 hosts/s, 'three ports for two addresses');

# A name with several addresses: each has its time, too.
my $silent = IO::Socket::INET->new(Listen => 5, LocalAddr => '127.0.0.2', LocalPort => $proxies[0]->port, Proto => 'tcp')
  or die "cannot listen: $!";
$proxies[0]->mode('pass');
hosts([ [ 'two.test', $proxies[0]->port ] ]);
use_up();
is(connections(sub { like(draw(), $number, 'a name whose first address does not answer') }), '1 0 0', 'the second one does');
$proxies[0]->mode('hole');
use_up();
my $port = $proxies[0]->port;
like(draw(), qr/08001: .*"two.test" \(127.0.0.2\), port $port failed: it did not answer in time; .*"two.test" \(127.0.0.1\), port $port failed/s, 'or the message names both');

#
# Servers that say something, but give nothing
#
# As before the encoding of the client is known: some byte that is not UTF-8.
my $says = "SFATAL\0C57P03\0Mge\xf6ffnet wird sp\xe4ter\0\0";
my $stranger = talker('E' . pack('N', 4 + length $says) . $says);
hosts([ $stranger, $real ]);
like(draw(), $number, 'after one that refuses');
use_up();
hosts([$stranger]);
like(draw(), qr/08001: .*FATAL:  ge\?ffnet wird sp\?ter/s, 'what it says can be read');
# One that ends when it is asked something.
my $states = join '', map { 'S' . pack('N', 4 + length $_) . $_ } map { "$_\0off\0" } qw(in_hot_standby default_transaction_read_only);
my $short = talker('R' . pack('NN', 8, 0) . $states . 'Z' . pack('N', 5) . 'I');
hosts([$short]);
like(draw(), qr/08006: .*server closed the connection unexpectedly/s, 'one that ends at once');
hosts([ $real, $short ]);
like(draw(), qr/08006: .*server closed the connection unexpectedly/s, 'one that was connected to is the hub');

#
# A standby
#
my $behind = [ $standby->host, $standby->port ];
hosts([ $behind, $real ]);
like(draw(), $number, 'a standby is passed over');
use_up();
hosts([ $real, $behind ], "ADD target_session_attrs 'any'");
my @said = map { draw() } 1 .. 2;
like($said[0], qr/25006: could not lease/, "with target_session_attrs 'any', it is asked, and gives no leases");
like($said[1], $number, 'the next question begins with the next address');
use_up();
hosts([ $behind, $real ], "ADD hostaddr ','");
@said = map { draw() } 1 .. 2;
like($said[1], $number, 'each has its turn, too, where host addresses are left out');
use_up();
hosts([ $behind, $dead, $real ], "DROP hostaddr");
@said = map { draw() } 1 .. 2;
like($said[1], $number, 'behind one that lives and gives none, and one that is dead, the third one has its turn');
for my $attributes ('any', 'read-write')
{
	hosts([ $real, $behind ], "SET target_session_attrs '$attributes'");
	draw();
	use_up();
	like(sql($hub, 'SELECT is_open, missing FROM hilo.hub_resume(again => true)'), qr/^f/, 'the hub waits for a report');
	@said = map { draw() } 1 .. 2;
	like("@said", qr/55000: could not lease.*waits for a resume/s, 'a draw is told so');
	is(sql($hub, 'SELECT bool_and(reported) FROM hilo.members'), 't', "$attributes: the report goes to the host that waits for it, not to the next one");
	is(sql($hub, 'SELECT is_open FROM hilo.hub_resume(skip => 0)'), 't', 'which goes on');
}
draw();
use_up();
hosts([$behind], "DROP target_session_attrs");
like(draw(), qr/25006: could not lease/, 'where a standby is the only one, the message says so');
hosts([ $behind, $real ]);

#
# What is not waited for any more
#
sub at_work { return sql($hub, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo'}); }

my $held = hold_hub($hub);
my $waiting = session($member);
my $draw = q{SELECT hilo_next_number('orders')};
for my $way ('cancel', 'statement_timeout', 'terminate')
{
	my $one = session($member);
	my $pid = $one->pid;

	$one->query(q{SET statement_timeout = '2s'}) if $way eq 'statement_timeout';
	$one->start($draw);
	wait_until_asked($hub);
	is(at_work(), 1, "$way: the hub is at it");
	sql($member, "SELECT pg_cancel_backend($pid)") if $way eq 'cancel';
	sql($member, "SELECT pg_terminate_backend($pid)") if $way eq 'terminate';
	my $err = $way eq 'terminate' ? ($one->finish)[1] : ($one->result)[1];
	like($err, $way eq 'terminate' ? qr/57P01/ : qr/57014/, "$way: it ends here");
	wait_until('it ends on the hub', sub { at_work() == 0 });
	pass("$way: and on the hub");
	$one->finish if $way ne 'terminate';
}
configure($member, 'hilo.lease_timeout' => '1s');
$start = time;
like(draw($waiting), qr/08006: .*(?:did not answer in time|statement timeout)/s, 'an answer that takes too long');
cmp_ok(time - $start, '>=', 0.9, 'and no sooner');
wait_until('it ends on the hub', sub { at_work() == 0 });
is($held->query('SELECT 1'), 1, 'while the hub is still held');
$held->query('COMMIT');
$held->finish;
configure($member, 'hilo.lease_timeout' => '1h');
my $given = sql($hub, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'});
like(draw($waiting), $number, 'then it answers');
is(sql($hub, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}) - $given, 1, 'and is asked for what is needed, no full lease: that answer could be late as well');
use_up();
like(draw($waiting), $number, 'the next time');
is(sql($hub, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}) - $given, 101, 'for a full one');

# The time that is waited is not the time of day.
use_up();
configure($member, 'hilo.lease_timeout' => '2s');
$held = hold_hub($hub);
$waiting->start($draw);
wait_until_asked($hub);
append_to_file("$dir/back", '');
wait_until('the session waits no more', sub { !sql($hub, q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo' AND state = 'active'}) });
wait_until('and says so', sub { sql($member, 'SELECT state FROM pg_stat_activity WHERE pid = ' . $waiting->pid) eq 'idle' });
like(($waiting->result)[1], qr/08006: .*(?:did not answer in time|statement timeout)/s, 'though the clock was set back an hour meanwhile');
unlink "$dir/back";
$held->query('COMMIT');
$held->finish;
configure($member, 'hilo.lease_timeout' => '1h');
like(draw($waiting), $number, 'and then it answers again');

# An error of the hub: the next question tries all in their order.
$_->mode('pass') for @proxies;
hosts([ @proxy_hosts[ 0, 1 ] ]);
$proxies[0]->mode('refuse');
use_up();
is(connections(sub { like(draw(), $number, 'the second address') }), '0 1 0', 'is the good one');
sql($hub, q{SELECT hilo.configure('orders', max_value => (SELECT max FROM hilo.hilo WHERE collection = 'orders'))});
use_up();
is(connections(sub { like(draw(), qr/2200H/, 'where it has an error') }), '0 1 0', 'it was asked');
sql($hub, q{SELECT hilo.configure('orders', max_value => 9223372036854775807)});
is(connections(sub { like(draw(), $number, 'the next time') }), '1 1 0', 'the first one is asked before');

#
# The lease worker asks a hub that cannot be reached once, however much it wants
#
hosts([$real]);
$session->query(q{SELECT hilo.lease_from('more', 'ids_hub'), hilo_next_number('more')});
$session->query(q{SELECT hilo_next_number(c) FROM unnest(ARRAY['orders', 'more']) c, generate_series(1, 30)});
configure($member, 'test.lease_retry' => '3600000');
configure($member, 'test.lease_ahead' => '90');
$_->mode('refuse') for @proxies;
hosts([ $proxy_hosts[0] ]);
my $offset = -s $member->logfile;
is(connections(sub {
	like(draw(), $number, 'a draw with numbers left');
	wait_until('the worker has given up', sub {
		2 == grep { slurp_file($member->logfile, $offset) =~ /LOG: .*could not lease numbers of "$_" from server "ids_hub" ahead: connection to server/ } qw(orders more) });
}), '1 0 0', 'it was tried once for two collections');
is($session->query(q{SELECT count(*) FROM hilo.leases WHERE collection IN ('orders', 'more') AND last_error LIKE 'connection to server%'}), 2, 'both show it');

#
# The standby takes over
#
configure($member, 'test.lease_ahead' => '0');
configure($member, 'test.lease_retry' => '0');
wait_until('no lease worker is left', sub { !sql($member, q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'hilo%'}) });
hosts([ $real, $behind ]);
use_up();
like(draw(), $number, 'from the hub');
$hub->wait_for_catchup($standby, 'replay', $hub->lsn('insert'));
$hub->stop;
$standby->promote;
use_up();
configure($member, 'test.lease_retry' => '3600000');
like(draw(), qr/55000: could not lease.*waits for a resume.*HINT/s, 'after a promotion the other one is asked, and refuses');
like(draw(session($member)), qr/HINT:  Call hilo.hub_resume/, 'with a hint in all sessions');
sql($member, 'SELECT hilo.lease_report()');
is(sql($standby, q{SELECT string_agg(collection, ' ' ORDER BY collection) FROM hilo.members WHERE reported}), 'more orders others', 'which hears of all that is leased from it, also by another name');
is(sql($standby, 'SELECT is_open FROM hilo.hub_resume()'), 't', 'and goes on');
like(draw(), qr/55000: could not lease/, 'it is not asked again that soon');
sql($member, 'SELECT hilo.lease_report()');
like(draw(), $number, 'but at once when it was heard to give leases');
is(join(' ', grep { $shown{$_} > 1 } sort keys %shown), '', 'no number came twice');

for ($session, $waiting)
{
	$_->finish;
}
$_->stop for @proxies;
$member->stop;
$standby->stop;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $member, $hub, $standby;
done_testing();
