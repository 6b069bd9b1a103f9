# Promise 12 with Patroni, where it and etcd are installed: with the configuration and the callback of doc/many-servers.md, a hub
# counts on after each failover without a call by hand, and no number comes twice.
# HILO_FAILOVERS is how many there are with synchronous_mode; without it there are a quarter as many.
use HiloTest;
use HTTP::Tiny;
use IPC::Run ();
use JSON::PP qw(decode_json);
use Time::HiRes qw(time);

foreach my $program (qw(patroni etcd))
{
	plan skip_all => "there is no $program" unless grep { -x "$_/$program" } split /:/, $ENV{PATH};
}
my $failovers = $ENV{HILO_FAILOVERS} // 2;
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $member = hub_node('member', "hilo_hub.lease_size = 32\nhilo.max_range_size = 32\nhilo_hub.timeout = 20s\n");
my ($etcd, $peer, @ports) = map { PostgreSQL::Test::Cluster::get_free_port() } 1 .. 8;
my @nodes = map { { name => "node$_", data => "$dir/node$_", port => $ports[$_], api => "127.0.0.1:$ports[ $_ + 3 ]" } } 0 .. 2;
my ($hosts, $ports) = (join(',', ('127.0.0.1') x 3), join ',', @ports[ 0 .. 2 ]);
my $leader = "user=postgres host=$hosts port=$ports target_session_attrs=read-write dbname";
my $synchronous = 1;
my (@groups, %seen, %read);

# Start a program, which leads a group of processes, and ends with this one.
sub run_group
{
	my ($log, @command) = @_;
	push @groups, fork // die "fork: $!";
	exec 'sh', '-c', "exec setsid \"\$@\" >>$dir/$log.log 2>&1 </dev/null", 'sh', @command unless $groups[-1];
	return $groups[-1];
}
sub server_of { my ($pid) = lines_of("$_[0]{data}/postmaster.pid"); return $pid ? ($pid, server_processes($pid)) : () }
$SIG{$_} = sub { exit 1 } for qw(HUP INT TERM);
END { local $?; kill 'KILL', (map { -$_ } @groups), map { server_of($_) } @nodes if @groups }

sub write_file { my ($file, $text) = @_; unlink $file; append_to_file($file, $text); return }

# The callback's psql finds its server without being told, as it does on a system of its own.
sub run_patroni
{
	my ($node) = @_;
	local %ENV = (%ENV, PGHOST => $dir, PGPORT => $node->{port}, PGUSER => 'postgres');
	return $node->{patroni} = run_group($node->{name}, 'patroni', "$dir/$node->{name}.yml");
}

sub ask
{
	my ($where, $sql) = @_;
	IPC::Run::run([ 'psql', '-XAtq', '-d', $where, '-c', $sql ], '<', '/dev/null', '>', \my $out, '2>', \my $err);
	return "$err$out" =~ s/\n\z//r;
}
sub on_leader { my ($sql, $database) = (@_, 'shop'); return ask("$leader=$database", $sql) }

# The leader, once the other nodes stream from it; with synchronous_mode, one of them is waited for.
sub whole_cluster
{
	my $found;
	wait_until('the cluster is whole', sub {
		my $got = HTTP::Tiny->new(timeout => 5)->get("http://$nodes[ rand 3 ]{api}/cluster");
		my %role = map { $_->{role} => $_->{name} } $got->{success} ? @{ decode_json($got->{content})->{members} } : ();
		($found) = grep { $_->{name} eq ($role{leader} // '') } @nodes;
		return $found && !$role{sync_standby} == !$synchronous
		  && on_leader(q{SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'}, 'postgres') eq '2';
	});
	return $found;
}

# A writer; what its log has was shown, so it may not come again.
my @all = qw(leader member);
sub write_on { return run_group("$_[0].err", 'sh', '-c', "while [ -e $dir/draws ]; do psql -XAtq -d \"$_[1]\" -f $dir/draws >>$dir/$_[0] || sleep 0.1; done") }

# Wait until these writers have shown so many more; a member has had fewer left.
sub draws_ok
{
	my ($count, @logs) = @_;
	my %had = map { $_ => scalar lines_of("$dir/$_") } @logs;
	return wait_until("@logs draw", sub { !grep { lines_of("$dir/$_") < $had{$_} + $count } @logs });
}

# How many numbers have come again since the last call.
sub repeats
{
	my @new = map { my @lines = lines_of("$dir/$_"); splice @lines, 0, $read{$_} // 0; $read{$_} += @lines; @lines } @all;
	return scalar grep { $seen{$_}++ } @new;
}

# kill -9 of the leader and its Patroni; without synchronous_mode, the others lack what was drawn in the last moments.  Then wait
# until the callback, or $then, has opened the hub, and these writers draw.
sub fail_over
{
	my ($logs, $then) = @_;
	my $old = whole_cluster();
	my $opening = on_leader('SELECT max(opening) FROM hilo_hub.leases') + 1;
	if (!$synchronous)
	{
		kill 'STOP', grep { (eval { slurp_file("/proc/$_/cmdline") } // '') =~ /walsender/ } server_of($old);
		draws_ok(1000, @all);
	}
	kill 'STOP', (server_of($old))[0];
	kill 'KILL', -$old->{patroni}, server_of($old);
	my $began = time;
	wait_until('another node leads', sub { on_leader('SELECT 1') eq '1' });
	$then->() if $then;
	wait_until('the hub is open', sub { on_leader('SELECT max(opening) FROM hilo_hub.leases') =~ /^(\d+)$/ && $1 >= $opening && $1 <= $opening + 1 });
	draws_ok(200, @$logs);
	note(sprintf '%s killed: all draw after %.1f s', $old->{name}, time - $began);
	return run_patroni($old);
}

my $page = 'doc/many-servers.md';
my $callback = block_of($page, 'sh', 'hilo_hub\.resume');
my $postgresql = block_of($page, 'yaml', 'on_role_change') =~ s,/etc/patroni,$dir,r;
my ($options) = slurp_file($page) =~ /`(host 'one,two', target_session_attrs 'read-write')`/ or die "$page does not name all nodes";
my $settings = join '', map { /^(\S+) = (.*)/ ? "    $1: $2\n" : () } split /\n/, slurp_file($ENV{TEMP_CONFIG} // '/dev/null');
write_file("$dir/$_->{name}.yml", <<"YAML") for @nodes;
scope: hub
name: $_->{name}
restapi: {listen: '$_->{api}', connect_address: '$_->{api}'}
etcd3: {host: '127.0.0.1:$etcd'}
bootstrap:
  dcs: {ttl: 8, loop_wait: 1, retry_timeout: 3, synchronous_mode: true, postgresql: {use_pg_rewind: true}}
  initdb: [auth: trust, encoding: UTF8, no-sync]
${postgresql}  listen: 127.0.0.1:$_->{port}
  connect_address: 127.0.0.1:$_->{port}
  data_dir: $_->{data}
  bin_dir: @{[ $member->config_data('--bindir') ]}
  pgpass: $dir/pgpass
  authentication: {superuser: {username: postgres}, replication: {username: postgres}}
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
  parameters:
    unix_socket_directories: $dir
$settings
YAML
write_file("$dir/hilo_resume", $callback);
write_file("$dir/draws", <<'SQL' x 20);
SELECT 'orders', hilo_next_number('orders') FROM generate_series(1, 12);
SELECT 'users|', next_identity_for('users') FROM generate_series(1, 5);
SELECT pg_sleep(0.02) \g /dev/null
SQL
run_group('etcd', 'etcd', '--data-dir', "$dir/etcd", '--initial-cluster', "default=http://127.0.0.1:$peer",
	(map { ("--$_-client-urls", "http://127.0.0.1:$etcd") } qw(listen advertise)),
	map { ("--$_-peer-urls", "http://127.0.0.1:$peer") } qw(listen initial-advertise));
run_patroni($_) for @nodes;
whole_cluster();
# A client that meets a node without the database first gives up.
on_leader('CREATE DATABASE shop', 'postgres');
wait_until('all nodes have the database', sub { !grep { ask("host=127.0.0.1 port=$_->{port} user=postgres dbname=shop", 'SELECT 1') ne '1' } @nodes });
like(on_leader('CREATE EXTENSION hilo_hub CASCADE; SELECT hilo_hub.resume()'), qr/^\d+$/m, 'a cluster that is a hub');
$options =~ s/one,two/$hosts/;
$member->safe_psql('postgres', qq{
	CREATE SERVER hub FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options, port '$ports', dbname 'shop');
	CREATE USER MAPPING FOR CURRENT_USER SERVER hub OPTIONS (user 'postgres')});
$member->safe_psql('postgres', q{SELECT hilo_hub.join('hub')});
write_on('leader', "$leader=shop");
write_on('member', $member->connstr('postgres'));
draws_ok(200, @all);

fail_over(\@all) for 1 .. $failovers;
is(repeats(), 0, "$failovers failovers with synchronous_mode: no number came twice");

write_file("$dir/hilo_resume", '');
fail_over(\@all, sub {
	my $draw = q{SELECT hilo_next_number('orders') FROM generate_series(1, 100)};
	wait_until('the member hears it', sub { outcome_of($member, $draw) =~ /^55000.*closed/s });
	like(on_leader($draw), qr/closed/, 'without the callback the hub is closed');
	like(on_leader('SELECT hilo_hub.resume(0)'), qr/^\d+$/, 'until it is opened by hand');
});
is(repeats(), 0, 'and no number came twice');

# Without synchronous_mode, the skip has to cover what the new leader lacks.
my $node = whole_cluster();
ok(HTTP::Tiny->new->request('PATCH', "http://$node->{api}/config", { content => '{"synchronous_mode": false}' })->{success}, 'asynchronous');
$synchronous = 0;
write_file("$dir/hilo_resume", $callback =~ s/resume\(0\)/resume(100000)/r);
fail_over(\@all) for 1 .. ($failovers + 3) / 4;
is(repeats(), 0, 'with a skip that is large enough no number came twice');

write_file("$dir/hilo_resume", $callback);
fail_over(['leader']);
cmp_ok(my $again = repeats(), '>', 0, 'with none, what was lacking came again');
note(keys(%seen) . " numbers, and then $again again");
$member->stop;
done_testing();
