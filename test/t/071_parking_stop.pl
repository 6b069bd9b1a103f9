# What is parked outlives a stop in order, once, and nothing else: not a crash, a kill, a copy of the folder, a standby
# or its promotion.  No number is handed out twice, also by many connections at once.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use File::Copy qw(copy);
use HiloCrash;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir;
my $libdir = build_variant("$dir/points", sub {
	my $file = "$_[0]/src/parking.c";
	my $source = slurp_file($file);
	$source =~ s/(ABANDONED_AFTER_MS\s+)\(.*\)/${1}1/ or die 'no such constant';
	unlink $file;
	append_to_file($file, $source);
}, 'PROFILE=-DHILO_FAILURE_POINTS');

my $node = PostgreSQL::Test::Cluster->new('parking_stop');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'hilo'
autovacuum = off
wal_keep_size = 1GB
restart_after_crash = on
max_connections = 100
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo; CREATE TABLE drawn (id bigint PRIMARY KEY)');
my $file = $node->data_dir . '/pg_stat/hilo_parked.stat';

# Draw so many numbers, each of which must be new, and leave.
sub draw
{
	my ($count, $server) = @_;
	$server //= $node;
	my $pid = $server->safe_psql('postgres',
		"INSERT INTO drawn SELECT hilo_nextval('x') FROM generate_series(1, $count); SELECT pg_backend_pid()");
	wait_until('it has left', sub { !kill 0, $pid });
	return;
}

sub parked
{
	my ($server) = @_;
	return ($server // $node)->safe_psql('postgres',
		q{SELECT coalesce(string_agg(low || '..' || high, ' ' ORDER BY low), '') FROM hilo_parked});
}

sub max_now { return $node->safe_psql('postgres', q{SELECT max FROM hilo WHERE collection = 'x'}); }

# A stop, fast or smart, keeps what is parked and what sessions hold.
my @sessions = map { HiloCrash::Session->new($node) } 1 .. 2;
$_->query(q{INSERT INTO drawn SELECT hilo_nextval('x')}) for @sessions;
$node->stop('fast');
eval { $_->finish } for @sessions;
ok(-e $file, 'a stop leaves a file');
$node->start;
ok(!-e $file, 'a start removes it');
is(parked(), '2..32 34..64', 'all tails are there, not only the newest');
draw(1);
$node->stop('smart');
$node->start;
is(parked(), '3..32 34..64', 'and after the next stop');
draw(1);
is($node->safe_psql('postgres', 'SELECT max(id) FROM drawn'), 33, 'they are used');

# A stop at once, and crashes, keep nothing.
$node->stop('immediate');
$node->start;
is(parked(), '', 'nothing outlives an immediate stop');
draw(1);
isnt(parked(), '', 'parked');
kill_server($node);
$node->start;
is(parked(), '', 'nor a crash');
draw(1);
isnt(parked(), '', 'parked');
my $victim = HiloCrash::Session->new($node);
kill 'KILL', $victim->pid;
eval { $victim->finish };
$node->poll_query_until('postgres', 'SELECT true') or die 'no restart';
is(parked(), '', 'nor the kill of a backend, after which memory is made anew');
draw(1);
isnt(parked(), '', 'parked');

# The file is good for the next start, and only there.
my $max;
sub with_file
{
	my ($what, $tamper) = @_;

	do { draw(1) } until $node->safe_psql('postgres', 'SELECT sum(size) >= 10 FROM hilo_parked') eq 't';
	$max = max_now();
	$node->stop;
	copy($file, "$dir/saved") or die "no file: $!";
	$tamper->();
	$node->start;
	ok(!-e $file, "$what: the file is gone");
	draw(2);
	return;
}
with_file('nothing else', sub { });
is(max_now(), $max, 'nothing else: it is used');
sub try_file
{
	my ($what, $tamper) = @_;
	with_file($what, $tamper);
	cmp_ok(max_now(), '>', $max, "$what: it is not used");
	return;
}
try_file('a file from before the last start', sub {
	$node->start;
	draw(40);
	$node->stop;
	copy("$dir/saved", $file);
	$node->start;
	$max = max_now();
	$node->stop;
	copy("$dir/saved", $file);
});
try_file('a crash after the start', sub {
	$node->start;
	draw(2);
	$max = max_now();
	kill_server($node);
	copy("$dir/saved", $file);
});
try_file('a file cut short', sub { truncate $file, (-s $file) - 1; });
try_file('a file damaged', sub {
	open my $handle, '+<', $file or die;
	seek $handle, 100, 0;
	print $handle 'x';
	close $handle;
});
try_file('a start without the library', sub {
	$node->append_conf('postgresql.conf', q{shared_preload_libraries = ''});
	$node->start;
	draw(40);
	is($node->safe_psql('postgres', q{SELECT hilo_number('x/1'); SHOW hilo.parked_ranges}), "1\n0", 'nothing can be parked');
	is(parked(), '', 'or is');
	$max = max_now();
	$node->stop;
	$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'hilo'});
});
# Standbys: a copy of the stopped server, and one of the running; promoted, they
# draw nothing that the primary has drawn or parked.
draw(3);
$node->stop;
$node->backup_fs_cold('cold');
$node->start;
$node->backup('hot');
my @standbys;
for my $backup (qw(cold hot))
{
	my $standby = PostgreSQL::Test::Cluster->new("standby_$backup");
	$standby->init_from_backup($node, $backup, has_streaming => 1);
	$standby->start;
	ok(!-e $standby->data_dir . '/pg_stat/hilo_parked.stat', "$backup: a standby has no file");
	push @standbys, $standby;
}
draw(70);
$node->wait_for_catchup($_, 'replay', $node->lsn('insert')) for @standbys;
is(parked($_), '', 'nothing is parked on a standby') for @standbys;
$node->stop('immediate');
for my $standby (@standbys)
{
	$standby->promote;
	draw(70, $standby);
	isnt(parked($standby), '', 'who was promoted parks');
	$standby->stop;
}
$node->start;

# And a recovery is no start like others.
try_file('a recovery', sub {
	# As with the state that a standby was in when it was the primary.
	$node->append_conf('postgresql.conf', q{restore_command = 'false'});
	append_to_file($node->data_dir . '/recovery.signal', '');
});

# Many at once, of all sizes, while backends and the server die.
my $script = "$dir/many.sql";
append_to_file($script, <<'SQL');
\set count random(1, 3) * random(1, 3) * random(1, 3)
\set way random(1, 10)
BEGIN;
INSERT INTO drawn SELECT hilo_nextval('x') FROM generate_series(1, :count);
\if :way = 1
SELECT hilo_release();
\elif :way = 2
SET LOCAL hilo.release_to = 'parking';
SELECT hilo_release();
\elif :way = 3
INSERT INTO drawn SELECT hilo_nextval('x') FROM generate_series(1, 50);
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
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
}
my ($before, $max_before) = split /\|/, $node->safe_psql('postgres', q{SELECT count(*), (SELECT max FROM hilo) FROM drawn});
ok(many('-t', 250)->finish, '2,000 connections, 8 at a time') or diag(slurp_file("$dir/many.err"));
my ($after, $max_after) = split /\|/, $node->safe_psql('postgres', q{SELECT count(*), (SELECT max FROM hilo) FROM drawn});
my $left = $node->safe_psql('postgres', 'SELECT coalesce(sum(size), 0) FROM hilo_parked');
cmp_ok($max_after - $max_before - $left, '<=', $after - $before + 200, 'hardly a number is lost');
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
		my $session = HiloCrash::Session->new($node);
		kill 'KILL', $session->pid;
		$clients->finish;
		eval { $session->finish };
		$node->poll_query_until('postgres', 'SELECT true');
	}
	unlike(slurp_file("$dir/many.err"), qr/duplicate key/, "kill -9 of a $way: no number twice");
	ok(many('-t', 25)->finish, 'nor after it');
}

# Failures on purpose: between shared memory and the backend a tail can be lost,
# but nothing else.
$node->stop;
$node->append_conf('postgresql.conf', "dynamic_library_path = '$libdir:\$libdir'\nhilo.parked_ranges = 4\nhilo.range_duration = 0");
$node->start;
for my $point ('claimed:error', 'claimed:kill', 'taken:kill', 'parked:kill')
{
	draw(2);
	my $seen = -s $node->logfile;
	my $session = HiloCrash::Session->new($node);
	$session->query("SET test.failure_point = '$point'");
	$session->start(q{INSERT INTO drawn SELECT hilo_nextval('x') FROM generate_series(1, 200)});
	if ($point =~ /error/)
	{
		like(($session->result)[1], qr/failure at claimed/, "$point: it has failed");
		$session->finish;
	}
	else
	{
		eval { $session->result; $session->finish };
		wait_until("$point: it is dead", sub { !kill 0, $session->pid });
		$node->poll_query_until('postgres', 'SELECT true');
		like(slurp_file($node->logfile, $seen), qr/terminated by signal 9/, "$point: it was killed there");
	}
	draw(200);
	pass("$point: no number twice");
}

# A tail that nobody wants any more makes room.
$node->safe_psql('postgres', q{CREATE DATABASE gone});
$node->safe_psql('gone', q{CREATE EXTENSION hilo; SELECT hilo_nextval('x' || i) FROM generate_series(1, 4) i});
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'});
$node->safe_psql('postgres', 'DROP DATABASE gone');
draw(1);
isnt(parked(), '', 'what was parked in a database that is gone makes room');

$node->stop;
done_testing();
