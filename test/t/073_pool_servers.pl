# Promises 1 and 2: the pool brings no number back, whatever becomes of the server and of the database under it: databases
# with an OID that was used before, standbys that must know of a number before it is shown, promotions; many connections at once.
use HiloTest;

my $dir = PostgreSQL::Test::Utils::tempdir;
my $node = server('primary', <<"CONF", 'CREATE EXTENSION hilo; CREATE TABLE drawn (id bigint PRIMARY KEY)', allows_streaming => 1);
shared_preload_libraries = 'hilo'
autovacuum = off
wal_keep_size = 1GB
restart_after_crash = on
max_connections = 100
CONF

# Draw so many numbers of 'x', each of which must be new, and leave.
sub draw
{
	my ($count, $server) = @_;
	$server //= $node;
	my $pid = $server->safe_psql('postgres',
		"INSERT INTO drawn SELECT hilo_next_number('x') FROM generate_series(1, $count); SELECT pg_backend_pid()");
	wait_until('it has left', sub { !kill 0, $pid });
	return;
}

# One connection of a database that draws, and has left.
sub number_of
{
	my ($db, $sql) = @_;
	my ($number, $pid) = split /\n/, $node->safe_psql($db, "$sql; SELECT pg_backend_pid()");
	wait_until('it has left', sub { !kill 0, $pid });
	return $number;
}

#
# A database that gets the OID of one that is gone
#
SKIP:
{
	skip 'a database cannot be given an OID', 4 if $node->safe_psql('postgres', 'SHOW server_version_num') < 150000;
	my $next = q{SELECT hilo_next_number('x')};

	$node->safe_psql('template1', 'CREATE DATABASE oids OID 50000');
	$node->safe_psql('oids', 'CREATE EXTENSION hilo');
	is(number_of('oids', $next), 1, 'a database');
	$node->safe_psql('template1', 'CREATE DATABASE copy TEMPLATE oids');
	is(number_of('oids', $next), 2, 'has numbers in the pool');
	my $of_copy = number_of('copy', $next);
	$node->safe_psql('template1', 'DROP DATABASE oids');
	$node->safe_psql('template1', 'CREATE DATABASE oids OID 50000 TEMPLATE copy');
	my %seen = map { $_ => 1 } 1, 2, $of_copy;
	my @drawn = map { number_of('oids', $next) } 1 .. 40;
	is(join(' ', grep { $seen{$_}++ } @drawn), '', 'it is dropped, and one with its OID has none of them');

	# The database is replaced by a copy in which nothing was drawn.
	my $max = $node->safe_psql('oids', 'SELECT max FROM hilo.hilo');
	$node->safe_psql('template1', 'CREATE DATABASE copy2 TEMPLATE oids');
	$node->safe_psql('template1', 'DROP DATABASE oids');
	$node->safe_psql('template1', 'CREATE DATABASE oids OID 50000 TEMPLATE copy2');
	cmp_ok(number_of('oids', $next), '>', $max, 'nor is it so where nothing was drawn in between');
}

#
# Standbys: copies of the server as it was stopped, and as it runs
#
draw(3);
$node->stop;
$node->backup_fs_cold('cold');
$node->start;
$node->backup('hot');
my @standbys = map { standby_of($node, "standby_$_", $_) } qw(cold hot);
$_->start for @standbys;
draw(70);
$node->wait_for_catchup($_, 'replay', $node->lsn('flush')) for @standbys;
$node->stop('immediate');
for my $standby (@standbys)
{
	$standby->promote;
	draw(70, $standby);
	is($standby->safe_psql('postgres', 'SELECT count(*) = count(DISTINCT id) FROM drawn'), 't', 'promoted, it draws new numbers');
	$standby->stop;
}
$node->start;

#
# A number is shown when the synchronous standby has it
#
draw(1);
# What it has left was claimed while no session had to wait.
# A copy in which the claim is not: the standby lags behind it.
my $sync = standby_of($node, 'sync', 'hot');
my $admin = session($node, synchronous_commit => 'local');
$admin->query(q{ALTER SYSTEM SET synchronous_standby_names = 'sync'});
$admin->query('SELECT pg_reload_conf()');
wait_until('sessions know of the standby', sub { $admin->query('SHOW synchronous_standby_names') eq 'sync' });
# The checkpointer, which says whether there is something to wait for, reads its settings first.
$admin->query('CHECKPOINT');

my $waiting = session($node);
$waiting->start(q{SELECT hilo_next_number('x')});
ok(eval { $waiting->waits_for($admin, 'SyncRep'); 1 }, 'a draw out of the pool waits for the standby');
like($admin->query(q{SELECT hilo_next_number('x')}), qr/^\d+$/, 'one that need not wait does not');
my $cancelled = session($node);
$cancelled->start(q{SELECT hilo_next_number('x')});
$cancelled->waits_for($admin, 'SyncRep');
my ($out, $err) = $cancelled->cancel($admin);
is($out . sqlstate_of($err), '57014', 'and, cancelled, shows none');
my $cancelled_pid = $cancelled->pid;
$cancelled->finish;
wait_until('it has left', sub { !kill 0, $cancelled_pid });

# The primary dies, and the standby is promoted as far as it has come.
kill_server($node);
$_->hang_up for $waiting, $admin;
my @shown = grep { /^\d+$/ } split /\n/, $waiting->{out};
$sync->start;
$sync->promote;
my %seen = map { $_ => 1 } @shown, split /\n/, $sync->safe_psql('postgres', 'SELECT id FROM drawn');
my @next = split /\n/, $sync->safe_psql('postgres', q{SELECT hilo_next_number('x') FROM generate_series(1, 200)});
is(join(' ', grep { $seen{$_}++ } @next), '', 'no number comes twice after the promotion');
$sync->stop;

# With the standby there, connections draw as they come and go, the primary is killed in between, and the standby goes on.
# (What the primary has flushed last is not on the standby: it is given up, and made anew.)
$node->start;
$admin = session($node, synchronous_commit => 'local');
$node->backup('again', backup_options => [ '--checkpoint', 'fast' ]);
my $second = standby_of($node, 'second', 'again');
$second->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
append_to_file($second->data_dir . '/postgresql.auto.conf', "synchronous_standby_names = ''\n");
$second->start;
$admin->query(q{ALTER SYSTEM SET synchronous_standby_names = 'second'});
$admin->query('SELECT pg_reload_conf()');
wait_until('it is synchronous', sub { $admin->query(q{SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'}) });
append_to_file("$dir/one.sql", "SELECT hilo_next_number('y');\n");
my @clients = map {
	append_to_file("$dir/client$_.sh", <<SH);
while psql -XAtq -d "\$1" -f '$dir/one.sql' >>'$dir/client$_.out' 2>>'$dir/client$_.err'; do :; done
SH
	IPC::Run::start([ 'sh', "$dir/client$_.sh", $node->connstr('postgres') ], '<', '/dev/null');
} 1 .. 4;
wait_until('clients have drawn', sub {
	!grep { lines_of("$dir/client$_.out") < 30 } 1 .. 4 });
kill_server($node);
$_->finish for @clients;
# A server that was started meanwhile holds its input open.
$admin->hang_up;
$second->promote;
@shown = map { lines_of("$dir/client$_.out") } 1 .. 4;
@next = split /\n/, $second->safe_psql('postgres', q{SELECT hilo_next_number('y') FROM generate_series(1, 200)});
%seen = ();
is(join(' ', grep { $seen{$_}++ } @shown, @next), '', 'none of the numbers shown comes again on the standby');
$second->stop;
$node->append_conf('postgresql.auto.conf', "synchronous_standby_names = ''\n");
$node->start;

#
# Many connections at once, while they and the server die
#
my $script = "$dir/many.sql";
append_to_file($script, <<'SQL');
\set count random(1, 3) * random(1, 3) * random(1, 3)
\set way random(1, 10)
BEGIN;
INSERT INTO drawn SELECT hilo_next_number('x') FROM generate_series(1, :count);
\if :way = 1
INSERT INTO drawn SELECT hilo_next_number('x') FROM generate_series(1, 50);
\endif
COMMIT;
SQL
sub many
{
	my (@options) = @_;
	return IPC::Run::start(
		[
			$node->installed_command('pgbench'), '-n', '-C', '-c', 8, '-j', 2, @options,
			'-f', $script, '-d', $node->connstr('postgres')
		],
		'<', '/dev/null', '>', "$dir/many.out", '2>', "$dir/many.err",
		IPC::Run::timeout(10 * $PostgreSQL::Test::Utils::timeout_default));
}
sub counts
{
	return split /\|/, $node->safe_psql('postgres',
		q{SELECT count(*), (SELECT max FROM hilo.hilo WHERE collection = 'x') FROM drawn});
}
my ($before, $max_before) = counts();
ok(many('-t', 250)->finish, '2,000 connections, 8 at a time') or diag(slurp_file("$dir/many.err"));
wait_until_alone($node);
my ($after, $max_after) = counts();
cmp_ok($max_after - $max_before, '<=', $after - $before + 700, 'hardly a number is lost');
for my $way (qw(backend server))
{
	my $clients = many('-t', 100000);
	my $least = $node->safe_psql('postgres', 'SELECT count(*) + 500 FROM drawn');
	$node->poll_query_until('postgres', "SELECT count(*) >= $least FROM drawn");
	if ($way eq 'server')
	{
		kill_server($node);
		$clients->finish;
		$node->start;
	}
	else
	{
		my $session = session($node);
		kill 'KILL', $session->pid;
		$clients->finish;
		$session->hang_up;
		wait_until('the server answers', sub { answers($node) });
	}
	unlike(slurp_file("$dir/many.err"), qr/duplicate key/, "kill -9 of a $way: no number twice");
	ok(many('-t', 25)->finish, 'nor after it');
}

$node->stop;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $node, @standbys, $second;
done_testing();
