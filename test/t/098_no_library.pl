# Promise 9: where the library hilo_hub is not installed, what is leased, or has given leases, is refused, and never counted; and a server that counts alone does not load it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hub = new_node('hub');
# Without a worker that fetches ahead, the sessions do.
my $member = new_node('member', "max_worker_processes = 0\n");
my $alone = new_node('alone');
add_hub($member, $hub);

sub sql { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

# Which of our libraries the process of a session has loaded.
sub loaded
{
	my ($session) = @_;
	my %loaded = map { $_ => 1 } slurp_file('/proc/' . $session->pid . '/maps') =~ m,/(hilo\w*|libpq)\.so,g;
	return join ' ', sort keys %loaded;
}

#
# What is loaded
#
my %session = map { $_->name => session($_, client_min_messages => 'warning') } $hub, $member, $alone;

$session{alone}->query_safe(q{SELECT hilo_next('orders'), next_identity('companies'), next_server_side_id('users/'), hilo.seed('orders', 100), hilo.configure('orders', max_value => 1000)});
$session{alone}->query_safe(q{CREATE TABLE orders (id bigserial PRIMARY KEY); SELECT hilo.attach('orders'); INSERT INTO orders DEFAULT VALUES});
$session{alone}->query_safe(q{SELECT * FROM hilo.status; SELECT * FROM hilo.pool; SELECT hilo.drop('companies|')});
is(loaded($session{alone}), 'hilo', 'a server that counts alone loads the core only');

sql($member, q{SELECT hilo.lease_from('orders', 'ids_hub', 100)});
my @shown = split /\n/, $session{member}->query_safe(q{SELECT hilo_next_number('orders') FROM generate_series(1, 10)});
is(loaded($session{member}), 'hilo hilo_hub hilo_libpq libpq', 'a member that asks loads all');
push @shown, split /\n/, $session{hub}->query_safe(q{SELECT hilo_next_number('orders') FROM generate_series(1, 10)});
$session{hub}->query_safe(q{SELECT hilo.lease('orders', 10)});
is(loaded($session{hub}), 'hilo hilo_hub', 'a hub does not load libpq');
$_->finish for values %session;
my $max = max_of($member, 'orders');
my $highest = max_of($hub, 'orders');
my $dump = sql($member, q{SELECT hilo FROM hilo.hilo WHERE collection = 'orders'});

#
# Without the library
#
my $libdir = PostgreSQL::Test::Utils::tempdir();
my $hilo;
{
	my $session = session($member);

	$session->query_safe(q{SELECT hilo_number('orders/1-A')});
	($hilo) = slurp_file('/proc/' . $session->pid . '/maps') =~ m,(/.*/hilo\.so),;
	$session->finish;
}
symlink $hilo, "$libdir/hilo.so" or die "$libdir: $!";
# From 19 on, PL/pgSQL is looked for there, too.
symlink sql($member, q{SELECT setting FROM pg_config WHERE name = 'PKGLIBDIR'}) . '/plpgsql.so', "$libdir/plpgsql.so"
  or die "$libdir: $!";
# What a session says that finds only the core.
sub without { my ($node, $sql) = @_; return message_of($node, 'postgres', "SET dynamic_library_path = '$libdir'; $sql"); }

my $refused = qr/55000: cannot use the library "hilo_hub"/;
foreach my $draw (
	[ 'a number', q{SELECT hilo_next_number('orders')} ],
	[ 'a block', q{SELECT hilo_reserve('orders', 10)} ],
	[ 'a range', q{SELECT hilo.next_range('orders')} ],
	[ 'another lease', q{SELECT hilo.lease_from('other', 'ids_hub')} ],
	[ 'an end of leasing', q{SELECT hilo.lease_from('orders', NULL)} ],
	[ 'a new collection, where hilo.hub is set', q{SET hilo.hub = 'ids_hub'; SELECT hilo_next_number('fresh')} ],
	[ 'a new identity there', q{SET hilo.hub = 'ids_hub'; SELECT next_identity('fresh')} ])
{
	like(without($member, $draw->[1]), $refused, "refused on a member: $draw->[0]");
}
is(max_of($member, 'orders'), $max, 'nothing is counted there');
is(sql($member, q{SELECT count(*) FROM hilo.hilo WHERE collection LIKE 'fresh%'}), 0, 'nor is a counter created');
is(without($member, q{SELECT hilo_next_number('here')}), '', 'what is counted there still is');

foreach my $draw (
	[ 'a number of its own', q{SELECT hilo_next_number('own')} ],
	[ 'an identity of its own', q{SELECT next_identity('companies')} ],
	[ 'a lease', q{SELECT hilo.lease('orders', 10)} ],
	[ 'a drop of what was leased', q{SELECT hilo.drop('orders')} ],
	[ 'a resume', q{SELECT hilo.hub_resume()} ])
{
	like(without($hub, $draw->[1]), $refused, "refused on a hub: $draw->[0]");
}
is(max_of($hub, 'orders'), $highest, 'nothing is counted there, either');

is(without($alone, q{SELECT hilo_next_number('orders'), hilo.drop('orders')}), '', 'a server that counts alone needs it for nothing');
like(without($alone, "INSERT INTO hilo.hilo SELECT ('$dump'::hilo.hilo).*"), $refused, 'a leased counter is not restored');
like(without($alone, q{SELECT * FROM hilo.leases}), $refused, 'leases are not shown');

#
# With it again
#
push @shown, split /\n/, sql($_, q{SELECT hilo_next_number('orders') FROM generate_series(1, 10)}) for $hub, $member;
my %times;
$times{$_}++ for @shown;
is(join(' ', grep { $times{$_} > 1 } @shown), '', 'no number twice');
is(left_behind($_), '', $_->name . ' has left nothing behind') for $hub, $member, $alone;
done_testing();
