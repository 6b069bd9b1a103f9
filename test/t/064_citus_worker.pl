# Promise 9 for a Citus cluster, imitated: coordinator and Citus workers draw for the same table at the same time.  Citus workers refuse until they lease from the coordinator, by hilo.hub or collection by collection; then no number comes twice.
use strict;
use warnings;

use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($coordinator, @workers) = map { PostgreSQL::Test::Cluster->new($_) } qw(coordinator worker1 worker2);
my $group = 0;
foreach my $node ($coordinator, @workers)
{
	$node->init;
	$node->append_conf('postgresql.conf', "shared_preload_libraries = 'hilo'\nmax_connections = 30\nautovacuum = off\nhilo.lease_size = 300");
	$node->start;
	# As citus_add_node() leaves it.
	$node->safe_psql('postgres', qq{
		CREATE EXTENSION hilo;
		CREATE EXTENSION postgres_fdw;
		SET allow_system_table_mods = on;
		CREATE TABLE pg_catalog.pg_dist_local_group (groupid int NOT NULL PRIMARY KEY);
		INSERT INTO pg_catalog.pg_dist_local_group VALUES ($group);
	});
	$group++;
}

# All nodes draw at the same time, two sessions each; the numbers, and what was written to stderr.
sub draw_everywhere
{
	my ($sql) = @_;
	my @running;

	foreach my $node (($coordinator, @workers) x 2)
	{
		my $run = { in => "$sql;\n" x 10, out => '', err => '' };
		$run->{psql} = IPC::Run::start(
			[ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres') ],
			'<', \$run->{in}, '>', \$run->{out}, '2>', \$run->{err});
		push @running, $run;
	}
	$_->{psql}->finish foreach @running;
	return ([ map { split /\n/, $_->{out} } @running ], join('', map { $_->{err} } @running));
}

sub distinct
{
	my %seen;
	$seen{$_}++ foreach @_;
	return scalar(keys %seen);
}

my $draw = q{SELECT hilo_next_number('orders') FROM generate_series(1, 100)};
my $identity = q{SELECT next_identity('companies')};

my ($numbers, $errors) = draw_everywhere($draw);
is(scalar(@$numbers), 2000, 'only the coordinator draws');
is(scalar(() = $errors =~ /^ERROR:  cannot draw from collection "orders" on a Citus worker$/mg), 40, 'the Citus workers refuse');
is(distinct(@$numbers), 2000, 'no number twice');

# What the hint says.
foreach my $worker (@workers)
{
	my ($host, $port) = ($coordinator->host, $coordinator->port);

	$worker->safe_psql('postgres', qq{
		CREATE SERVER coordinator FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER coordinator;
	});
	$worker->append_conf('postgresql.conf', "hilo.hub = 'coordinator'");
	$worker->reload;
	$worker->poll_query_until('postgres', q{SELECT hilo_number('loads/1'), current_setting('hilo.hub')}, '1|coordinator') or die 'not reloaded';
}
(my $more, $errors) = draw_everywhere($draw);
is($errors, '', 'hilo.hub: all nodes draw');
is(distinct(@$numbers, @$more), 2000 + 6000, 'hilo.hub: no number twice, the earlier ones included');
is(join(' ', map { $_->safe_psql('postgres', q{SELECT flags & 2 FROM hilo.hilo WHERE collection = 'orders'}) eq '2' ? 'leased' : 'counted' } @workers),
	'leased leased', 'hilo.hub: it is leased');

# Leased, numbers alone are as good as ids.
my $session = $workers[0]->background_psql('postgres');
is($session->query_safe(q{SELECT hilo_number(hilo_next('orders')) < hilo_next_number('orders')}), 't', 'ids and numbers are drawn');

my $state_of = sub {
	my ($node, $sql) = @_;
	my ($result, $out, $err) = $node->psql('postgres', "\\set VERBOSITY sqlstate\n$sql");
	return $err =~ /ERROR:  (\w+)/ ? $1 : 'fine';
};
# Identities are counters like others; server-side ids are this node's alone.
(my $ids, $errors) = draw_everywhere($identity);
is($errors, '', 'hilo.hub: all nodes draw identities');
is(distinct(@$ids), 60, 'hilo.hub: no identity twice');
is($state_of->($workers[0], q{SELECT next_server_side_id('a/')}), '55000', 'server-side ids are not leased');

# What a Citus worker has counted before Citus knew it, or while that was allowed, it refuses even with hilo.hub, until it is leased.
$workers[0]->safe_psql('postgres', q{SET hilo.hub = ''; SET hilo.allow_worker_draws = on; SELECT hilo_next_number('counted')});
is($state_of->($workers[0], q{SELECT hilo_next_number('counted')}), '55000', 'what was counted on the Citus worker is refused');
is($workers[0]->safe_psql('postgres', q{SELECT hilo_lease_from('counted', 'coordinator'); SELECT hilo_next_number('counted') > 1}),
	"\nt", 'hilo_lease_from(): it goes on above');

# All of it is allowed where somebody says so, who may.
is($state_of->($workers[1], q{SET hilo.hub = ''; SET hilo.allow_worker_draws = on; SELECT hilo_next_number('allowed'), next_identity('allowed'), next_server_side_id('a/')}), 'fine',
	'hilo.allow_worker_draws: the Citus worker counts');
is($state_of->($workers[1], q{SET hilo.hub = ''; SELECT hilo_next_number('allowed')}), '55000', 'and then refuses again');
$workers[1]->safe_psql('postgres', 'CREATE ROLE somebody');
is($state_of->($workers[1], qq{SET ROLE somebody; SET hilo.$_}), '42501', "not everybody may say so: hilo.$_") foreach 'allow_worker_draws = on', "hub = ''";

# The coordinator is away: what is leased can be drawn, nothing else.
1 until $session->query_safe(q{SELECT hilo_next_number('orders') > 0, EXISTS (SELECT FROM hilo.ranges WHERE collection = 'orders')}) eq 't|t';
$coordinator->stop('fast');
is($session->query_safe(q{SELECT hilo_next_number('orders') > 0}), 't', 'without the coordinator: out of the lease');
like($state_of->($workers[0], q{SELECT hilo_next_number('never drawn')}), qr/^08/, 'without the coordinator: no new collection');
$session->quit;

$_->stop foreach @workers;
done_testing();
