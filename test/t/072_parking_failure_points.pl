# Fail anywhere where numbers change hands between sessions: a kill -9, an error or a cancel leaves at most a gap, and no
# number comes twice; a stop or start that fails where what is parked is kept brings none back either.
use strict;
use warnings;

use File::Basename qw(dirname);
use lib dirname(__FILE__);
use HiloCrash;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $libdir = build_variant(PostgreSQL::Test::Utils::tempdir . '/points',
	undef, 'PROFILE=-DHILO_FAILURE_POINTS');
my $node = PostgreSQL::Test::Cluster->new('points');
$node->init;
$node->append_conf('postgresql.conf', <<"SETTINGS");
shared_preload_libraries = 'hilo'
dynamic_library_path = '$libdir:\$libdir'
restart_after_crash = on
# What is not flushed on purpose is lost.
wal_writer_delay = 10s
autovacuum = off
checkpoint_timeout = 1h
hilo.range_size = 8
hilo.range_duration = 0
SETTINGS
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo');

my $GAP = 60;    # more than all that a case claims
my $times = 0;

# Wait until a session is gone that was told to end: then it has parked.
sub leave
{
	my ($session) = @_;
	my $pid = $session->pid;

	$session->finish;
	wait_until('it has left', sub { !kill 0, $pid });
	return;
}

sub is_there { return $node->psql('postgres', 'SELECT 1') == 0; }

# A session that waits for nobody for long.
sub enter { return HiloCrash::Session->new($node, 'statement_timeout=20s'); }

sub draw
{
	my ($session, $name) = @_;
	my ($out, $err) = $session->query("SELECT hilo_nextval('$name')");

	return $err || $out;
}

# What changes hands: a session that parks, one that takes.  What it shows comes
# from a claim of a row that was there before: only that itself flushes it.
my $drawn = "SELECT 'n=' || hilo_nextval('NAME'); SELECT 'n=' || hilo_nextval('NAME') FROM generate_series(1, 8)";
my $parked = "$drawn; SET hilo.release_to = 'parking'; SELECT hilo_release('NAME')";
my @cases = (
	{
		what => 'exit', before => $drawn, sql => '\q',
		at => [ 'parked' => 'kill' ],
	},
	{
		what => 'release', before => "$drawn; SET hilo.release_to = 'parking'",
		sql => "SELECT hilo_release('NAME')",
		at => [ 'parked' => 'kill', 'given back' => 'kill' ],
	},
	{
		what => 'release of all', before => "$drawn; SET hilo.release_to = 'parking'",
		sql => 'SELECT hilo_release()', at => [ 'parked' => 'kill' ],
	},
	{
		# Not of the newest claim, it cannot go back into the row.
		what => 'release into the row', before => "$drawn; SELECT 'n=' || low FROM hilo_reserve('NAME', 1)",
		sql => "SELECT hilo_release('NAME')",
		at => [ 'given back' => 'kill', 'parked' => 'kill' ],
	},
	{
		what => 'draw of a parked number', before => $parked,
		sql => "SELECT hilo_nextval('NAME')", at => [ 'taken' => 'kill' ],
	},
	{
		what => 'draw past a parked number', before => $parked,
		sql => "SELECT hilo_nextval('NAME') FROM generate_series(1, 30)",
		at => [ 'taken' => 'kill', 'claimed' => 'error wait kill' ],
	});

# Let one thing fail at one place in one way; returns what is wrong then.
sub wrong_after
{
	my ($case, $point, $way) = @_;
	my $name = 't' . ++$times;
	my ($before, $sql) = map { s/NAME/$name/gr } @$case{qw(before sql)};
	my $session = enter();
	my $other = enter();
	my @wrong;
	my ($out, $err) = $session->query($before);
	my @shown = $out =~ /^n=(\d+)$/mg;

	push @wrong, "before: $err" if $err;
	$session->query("SET test.failure_point = '$point:$way'");
	if ($way eq 'kill')
	{
		my $pid = $other->pid;

		$session->start($sql);
		eval { $session->result };
		push @wrong, 'nothing happened' unless $@;
		eval { $session->finish };
		# The postmaster ends all others, and starts anew.
		wait_until('the server starts anew', sub { !kill 0, $pid });
		wait_until('the server is there', \&is_there);
		eval { $other->finish };
		$other = enter();
		push @wrong, 'parked after a crash'
		  if $other->query('SELECT count(*) FROM hilo_parked') ne '0';
	}
	else
	{
		my $pid = $session->pid;
		my $state = $way eq 'error' ? 'XX000' : '57014';

		$session->start($sql);
		if ($way eq 'wait')
		{
			wait_until('the session has come there', sub {
				$node->safe_psql('postgres', "SELECT max > 16 FROM hilo WHERE collection = '$name'") eq 't' });
			push @shown, draw($other, $name);
			$other->query("SELECT pg_cancel_backend($pid)");
		}
		(undef, $err) = $session->result;
		push @wrong, "said $err" unless $err =~ /$state/;
		$session->query('RESET test.failure_point; SET statement_timeout = 20000');
		push @shown, draw($session, $name);
		leave($session);
	}

	# All go on, one after the other and at once.
	my @next;
	for my $s ($other, enter(), enter())
	{
		push @next, map { draw($s, $name) } 1 .. 5;
		leave($s);
	}
	my @at_once = (enter(), enter());
	push @next, map { draw($_, $name) } (@at_once) x 12;
	leave($_) for @at_once;

	my %seen;
	my @all = (@shown, @next);
	push @wrong, "drawn: @all" if grep { !/^\d+$/ } @all;
	push @wrong, "twice: $_ of @all" for grep { $seen{$_}++ == 1 } @all;
	push @wrong, "a gap: @all" if grep { /^\d+$/ && $_ > $GAP + @all } @all;
	push @wrong, 'max is behind' if grep { $_ > $node->safe_psql('postgres', "SELECT max FROM hilo WHERE collection = '$name'") } @all;
	return @wrong;
}

test_failures(\&wrong_after, @cases);

# The postmaster keeps what is parked at a stop, and finds it at a start: let it be
# killed there.  Returns what is parked at the next start.
sub parked_after
{
	my ($point, $at_stop) = @_;
	my $pid = $node->{_pid};

	if ($at_stop)
	{
		$node->append_conf('postgresql.conf', "test.failure_point = '$point:kill'");
		$node->reload;
		wait_until('the postmaster has read it', sub {
			$node->safe_psql('postgres', 'SHOW test.failure_point') eq "$point:kill" });
		kill 'INT', $pid;
		wait_until('the postmaster is dead', sub {
			((HiloCrash::process_stat($pid))[0] // 'Z') eq 'Z' });
		$node->kill9;
	}
	else
	{
		$node->stop;
		$node->append_conf('postgresql.conf', "test.failure_point = '$point:kill'");
		ok(!$node->start(fail_ok => 1), "a start fails at: $point");
	}
	# They may name a dead process that nobody has asked after.
	unlink $node->data_dir . '/postmaster.pid',
	  $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	$node->append_conf('postgresql.conf', "test.failure_point = ''");
	$node->start;
	return $node->safe_psql('postgres',
		q{SELECT coalesce(string_agg(low || '..' || high, ' ' ORDER BY low), '') FROM hilo_parked WHERE collection = 'stop'});
}

my %seen;
my $last = 0;

# Draw in a session of its own, in which the number must be new.
sub draw_once
{
	my $session = enter();
	my $number = draw($session, 'stop');

	leave($session);
	return "twice: $number" if $number !~ /^\d+$/ || $seen{$number}++;
	$last = $number;
	return 'new';
}

for (
	[ 'stop file written', 1, 0, 'is not kept, if the stop fails before the file has its name' ],
	[ 'stop file read', 0, 1, 'is still there, if the start fails before anything has happened' ],
	[ 'stop file removed', 0, 0, 'is lost, if the start fails after that' ])
{
	my ($point, $at_stop, $kept, $what) = @$_;

	is(join(' ', map { draw_once() } 1 .. 3), 'new new new', "draws before: $point");
	my $parked = parked_after($point, $at_stop);
	like($parked, $kept ? qr/^\d+\.\.\d+$/ : qr/^$/, "what is parked $what");
	is(draw_once(), 'new', 'a number is not shown twice');

	# What the file had was used: a crash does not bring it back.
	kill_server($node);
	$node->start;
	is($node->safe_psql('postgres', 'SELECT count(*) FROM hilo_parked'), '0', 'nothing is parked after a crash');
	is(join(' ', map { draw_once() } 1 .. 9), join(' ', ('new') x 9), 'numbers are new');
}
cmp_ok($last, '<', 150, 'with gaps only');

$node->stop;
unlike(slurp_file($node->logfile),
	qr/PANIC|TRAP|leak|still referenced|lock .* (?:already|not) held|own a lock/,
	'nothing was left behind');
done_testing();
