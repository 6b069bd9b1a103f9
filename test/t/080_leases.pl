# Leases under load: no number twice over a hub and three members, whoever is killed, and few questions to the hub.
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

# Small leases, so that there is much to ask.
my $hub = new_node('hub');
my @members = map {
	new_node("member$_", <<SETTINGS)
hilo.lease_size = 400
hilo.max_lease_size = 2000
hilo.lease_duration = 0
hilo.lease_retry = 20ms
hilo.max_range_size = 100
SETTINGS
} 1 .. 3;
add_hub($_, $hub) for @members;

is($hub->safe_psql('postgres', "SELECT hilo_nextval('orders')"), 1, 'the hub counts');
is($members[0]->safe_psql('postgres', "SELECT * FROM hilo_lease_from('orders', 'ids_hub')"),
	'2|401', 'a member leases numbers above what the hub has claimed');
is($members[1]->safe_psql('postgres', "SELECT * FROM hilo_lease_from('orders', 'ids_hub', 600)"),
	'402|1001', 'so does another, with a size of its own');
is($members[0]->safe_psql('postgres', "SELECT hilo_nextval('orders')"), 2, 'draws come from the lease');
is( $members[0]->safe_psql('postgres',
		'SELECT collection, server, low, high, next_low, numbers_left, highest, last_error FROM hilo_leases'),
	'orders|ids_hub|2|401||399|401|', 'and the view shows it');

# The third member counted before, up to where the hub does not come soon.
$members[2]->safe_psql('postgres', "SELECT hilo_seed('orders', 5000); SELECT hilo_nextval('orders')");
is($members[2]->safe_psql('postgres', "SELECT * FROM hilo_lease_from('orders', 'ids_hub')"),
	'5002|5401', 'the hub goes above what a member has counted');

my @clients = map { start_clients($_, $dir, 2) } @members, $hub;

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
	my ($node) = @_;
	return $node->psql('postgres', 'SELECT 1') == 0;
}

let_draw('at first', 300, @clients);
pass('all draw');

kill_server($hub);
# What they have leases for they draw; then they are told.
my $errors = sub { scalar grep { slurp_file("$_->{file}.err") =~ /could not lease numbers/ } @_ };
wait_until('the members have used up what they had', sub {
	my $with_error = $errors->(map { of($_) } @members);
	return $with_error == 6;
});
$hub->start;
let_draw('after a crash of the hub', 300, @clients);
pass('all draw again after a crash of the hub');

for my $member (@members[ 0, 1 ])
{
	kill_server($member);
	let_draw('while a member is away', 200, map { of($_) } grep { $_ != $member } @members);
	$member->start;
	let_draw('after a crash of a member', 200, of($member));
}
pass('and after crashes of members');

# Workers at work: ended, and killed.
my $worker = q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'hilo lease worker' LIMIT 1};
for (1 .. 5)
{
	wait_until('a worker is ended', sub {
		$members[0]->safe_psql('postgres', "SELECT pg_terminate_backend(($worker))") });
}
let_draw('after workers were ended', 200, of($members[0]));
pass('workers were ended');
wait_until('a worker is killed', sub {
	my $pid = $members[1]->safe_psql('postgres', $worker);
	return $pid && kill 'KILL', $pid;
});
wait_until('the member is there again', sub { alive($members[1]) });
let_draw('after a worker was killed', 200, of($members[1]));
pass('one was killed, and the member with it');

# A session that draws alone leaves nothing behind on the hub.
stop_clients($dir, @clients);
is(repeats(@clients), '', 'no number was shown twice');
cmp_ok(drawn(@clients), '>', 3000, 'of thousands');
is( join('', map { slurp_file("$_->{file}.err") =~ /^.*(?:PANIC|protocol|XX000|not asked for).*$/mg } @clients),
	'', 'no strange error');
wait_until('nobody is connected to the hub any more', sub {
	!$hub->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo'}) });
pass('the members have left the hub');

#
# Few questions
#
$members[0]->append_conf('postgresql.conf', <<SETTINGS);
hilo.lease_duration = 10min
hilo.max_lease_size = 1073741824
hilo.max_range_size = 1000
SETTINGS
$members[0]->restart;
is($members[0]->safe_psql('postgres', <<SQL), 300_000, 'many numbers');
SELECT low FROM hilo_lease_from('many', 'ids_hub', 1000) OFFSET 1;
SELECT count(DISTINCT hilo_nextval('many')) FROM generate_series(1, 300000);
SQL
# The leases 1000, 2000, 4000 ... are used up so soon that each is twice as large.
my $leases = $hub->safe_psql('postgres', q{SELECT claims FROM hilo WHERE collection = 'many'});
cmp_ok($leases, '>=', 5, 'are of several leases');
cmp_ok($leases, '<=', 12, 'but of few, as each is twice as large as the one before');
note("$leases leases for 300,000 numbers");

$_->stop for @members;
$hub->stop;
is(left_behind($_), '', $_->name . ' has left nothing behind')
  for @members, $hub;

done_testing();
