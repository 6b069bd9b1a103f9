# Promises 1 and 9 under load: no number twice over a hub and three members, whoever is killed, and few questions to the hub.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir;

# Small leases, so that there is much to ask.
my $hub = new_node('hub');
my @members = map {
	new_member("member$_", <<SETTINGS)
hilo.lease_size = 400
test.max_lease_size = 2000
test.lease_duration = 0
test.lease_retry = 20
hilo.max_range_size = 100
SETTINGS
} 1 .. 3;
add_hub($_, $hub) for @members;

is($hub->safe_psql('postgres', "SELECT hilo_next_number('orders')"), 1, 'the hub counts');
$members[0]->safe_psql('postgres', "SELECT hilo.lease_from('orders', 'ids_hub')");
$members[1]->safe_psql('postgres', "SELECT hilo.lease_from('orders', 'ids_hub', 600)");
# What the hub has claimed is 1 to 32, or 1.
like($hub->safe_psql('postgres', q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}), qr/^(?:1|32)$/, 'hilo.lease_from() draws nothing');
like($members[0]->safe_psql('postgres', "SELECT hilo_next_number('orders')"), qr/^(?:2|33)$/, 'a member draws above what the hub has claimed');
is($members[0]->safe_psql('postgres', q{SELECT collection, hub, highest IN (401, 432), last_error FROM hilo.leases}),
	'orders|ids_hub|t|', 'out of a lease');
$members[1]->safe_psql('postgres', "SELECT hilo_next_number('orders')");
like($hub->safe_psql('postgres', q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}), qr/^10[03][12]$/, 'another one of a lease with a size of its own');

# The third member counted before, up to where the hub does not come soon.
$members[2]->safe_psql('postgres', "SELECT hilo.seed('orders', 5000); SELECT hilo_next_number('orders'); SELECT hilo.lease_from('orders', 'ids_hub')");
cmp_ok($members[2]->safe_psql('postgres', "SELECT hilo_next_number('orders')"), '>', 5001, 'the hub goes above what a member has counted');

my @clients = map { start_clients($_, $dir, $_ == $hub ? 2 : 8) } @members, $hub;

sub drawn
{
	return scalar map { lines_of("$_->{file}.out") } @_;
}

# Wait until each of the clients has drawn so much more.
sub let_draw
{
	my ($what, $more, @who) = @_;
	my %before = map { $_ => drawn($_) } @who;

	wait_until("all draw: $what", sub {
		!grep { drawn($_) < $before{$_} + $more } @who
	});
	return;
}

sub of
{
	my ($node) = @_;
	return grep { $_->{database} eq $node->connstr('postgres') } @clients;
}

sub alive
{
	return answers(@_);
}

let_draw('at first', 200, @clients);
pass('all draw');

kill_server($hub);
# What they have leases for they draw; then they are told.
my $errors = sub { scalar grep { slurp_file("$_->{file}.err") =~ /could not lease numbers/ } @_ };
wait_until('the members have used up what they had', sub {
	my $with_error = $errors->(map { of($_) } @members);
	return $with_error == 24;
});
$hub->start;
let_draw('after a crash of the hub', 200, @clients);
pass('all draw again after a crash of the hub');

for my $member (@members[ 0, 1 ])
{
	kill_server($member);
	let_draw('while a member is away', 100, map { of($_) } grep { $_ != $member } @members);
	$member->start;
	let_draw('after a crash of a member', 100, of($member));
}
pass('and after crashes of members');

# Lease workers at work: ended, and killed.
my $worker = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'hilo lease worker' LIMIT 1};
for (1 .. 5)
{
	wait_until('a worker is ended', sub {
		$members[0]->safe_psql('postgres', "SELECT pg_terminate_backend(($worker))") });
}
let_draw('after workers were ended', 100, of($members[0]));
pass('workers were ended');
wait_until('a worker is killed', sub {
	my $pid = $members[1]->safe_psql('postgres', $worker);
	return $pid && kill 'KILL', $pid;
});
wait_until('the member is there again', sub { alive($members[1]) });
let_draw('after a worker was killed', 100, of($members[1]));
pass('one was killed, and the member with it');

stop_clients($dir, @clients);
is(shown_twice(@clients), '', 'no number was shown twice');
cmp_ok(drawn(@clients), '>', 3000, 'of thousands');
is( join('', map { slurp_file("$_->{file}.err") =~ /^.*(?:PANIC|protocol|XX000|not asked for).*$/mg } @clients),
	'', 'no strange error');
wait_until('no session is connected to the hub', sub {
	!$hub->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo'}) });
pass('the members have left the hub');

#
# Few questions
#
$members[0]->append_conf('postgresql.conf', <<SETTINGS);
test.lease_duration = 600000
test.max_lease_size = 1073741824
hilo.max_range_size = 1000
SETTINGS
$members[0]->restart;
is($members[0]->safe_psql('postgres', <<SQL) =~ s/^\n//r, 300_000, 'many numbers');
SELECT hilo.lease_from('many', 'ids_hub', 1000);
SELECT count(DISTINCT hilo_next_number('many')) FROM generate_series(1, 300000);
SQL
# The leases 1000, 2000, 4000 ... are used up so soon that each is twice as large.
my $leases = leases_asked_of($hub, 'many');
cmp_ok($leases, '>=', 5, 'are of several leases');
cmp_ok($leases, '<=', 14, 'but of few, as each is twice as large as the one before');
note("$leases leases for 300,000 numbers");

$_->stop for @members;
$hub->stop;
is(left_behind($_), '', $_->name . ' has left nothing behind')
  for @members, $hub;

done_testing();
