# HiloCrash.pm: what the tests of crashes and standbys share.
#
#   kill_server($node)        kill -9 of a whole server, at once
#   wait_until($what, $code)  poll a condition
#   client_script(...)        what a client of a crash test does
#   crash_round(...)          clients draw, the server is killed
#   lines_of($file)           the lines that a client has logged
#   build_variant($dir, ...)  build and install the extension in another way
#   test_failures(...)        a test for each of some changes that fail on purpose
#   HiloCrash::Session        a psql that stays connected, also one that waits
package HiloCrash;

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(dirname);
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

our @EXPORT = qw(kill_server wait_until server_processes client_script crash_round lines_of
  build_variant test_failures answers);

my $TIMEOUT = 120;

# Does the server let one in?  A psql that is refused ends without reading its
# input, so there is none.
sub answers
{
	my ($node) = @_;

	return IPC::Run::run(
		[ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SELECT 1' ],
		'<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
}

# Each change has what it is called and, in "at", the places at which it fails, with
# the ways in which it does there; $wrong_after->($change, $place, $way) makes it
# fail there, and says what is wrong after that.
sub test_failures
{
	my ($wrong_after, @changes) = @_;

	for my $change (@changes)
	{
		my @at = @{ $change->{at} };
		my @wrong;
		my $count = 0;

		while (my ($point, $ways) = splice @at, 0, 2)
		{
			for my $way (split / /, $ways)
			{
				push @wrong, map { "$point, $way: $_" } $wrong_after->($change, $point, $way);
				$count++;
			}
		}
		is(join("\n", @wrong), '', "$change->{what} fails in $count ways");
	}
	return;
}

# Poll until $condition->() is true, and return what it says; die when it
# takes too long.
sub wait_until
{
	my ($what, $condition) = @_;

	for (my $end = time + $TIMEOUT; time < $end; sleep 0.01)
	{
		my $result = $condition->();
		return $result if $result;
	}
	die "timed out waiting until $what";
}

# State letter and parent of a process, as the kernel says; () if it is gone.
sub process_stat
{
	my ($pid) = @_;

	open my $stat, '<', "/proc/$pid/stat" or return;
	my $line = <$stat> // return;
	return $line =~ /\) (\S) (\d+) / ? ($1, $2) : ();
}

# The children of a process.
sub server_processes
{
	my ($postmaster) = @_;

	return grep { ((process_stat($_))[1] // 0) == $postmaster }
	  map { m,(\d+)$, } glob '/proc/[0-9]*';
}

# kill -9 of the postmaster and all its children.  No process of the server
# learns of the death of another one and does something about it: the
# postmaster is stopped first, so it neither notices nor starts any more.
sub kill_server
{
	my ($node) = @_;
	my $postmaster = $node->{_pid} or die "the server is not running";

	kill 'STOP', $postmaster or die "cannot stop the postmaster: $!";
	wait_until('the postmaster is stopped',
		sub { (process_stat($postmaster))[0] eq 'T' });

	my @processes = server_processes($postmaster);
	kill 'KILL', @processes;
	$node->kill9;

	# Dead is enough: where process 1 is slow to collect the dead, waiting for
	# that takes seconds.  But the lock files name a process until then.
	wait_until('all processes are dead',
		sub {
			!grep { ((process_stat($_))[0] // 'Z') ne 'Z' }
			  $postmaster, @processes;
		});
	unlink $node->data_dir . '/postmaster.pid',
	  $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	return;
}

# Write a client's script of $count statements, in transactions of five.  A
# third of the clients commit, and connect again now and then; a third roll
# back; a third never end their transaction.  %d in a statement is how often it
# has come before.
sub client_script
{
	my ($file, $client, $count, @draws) = @_;
	my ($begin, $end) = (
		[ 'BEGIN;', 'COMMIT;' ],
		[ "BEGIN;\nSAVEPOINT s;", "ROLLBACK TO s;\nROLLBACK;" ],
		[ '', '' ])[ $client % 3 ]->@*;
	my $script = $client % 3 == 2 ? "BEGIN;\n" : '';

	for my $i (0 .. $count - 1)
	{
		my $n = $i % 5;
		$script .= "$begin\n" if $n == 0;
		my $draw = $draws[($i + $client) % @draws];
		my $nth = int($i / @draws);
		$script .= $draw =~ s/%d/$nth/r . "\n";
		$script .= "$end\n" if $n == 4;
		$script .= "\\c -\n" if $client % 3 == 0 && $i % 50 == 49;
	}
	append_to_file($file, $script);
	return $file;
}

# The lines of a log that are whole, without empty ones.
sub lines_of
{
	my ($file) = @_;

	my @lines = -e $file ? slurp_file($file) =~ /^(.+)\n/mg : ();
	return @lines;
}

# Start the server, let a client run each of the scripts, and kill it when all
# have logged $least lines.  The clients are processes of their own and keep
# their logs in files, named $log and what follows: what is there was written
# before the client drew again.  Returns all lines.
sub crash_round
{
	my ($node, $round, $log, $least, @scripts) = @_;
	my (@clients, @logs);

	$node->start;
	for my $script (@scripts)
	{
		push @logs, "$log.$round." . @logs;
		push @clients, IPC::Run::start(
			[
				$node->installed_command('psql'), '-XAtq',
				'-v', 'ON_ERROR_STOP=1', '-v', "round=$round",
				'-d', $node->connstr('postgres'), '-f', $script
			],
			'<', '/dev/null', '>', "$logs[-1].out", '2>', "$logs[-1].err");
	}
	wait_until('every client has drawn', sub {
		!grep { lines_of("$_.out") < $least } @logs
	});
	kill_server($node);
	$_->finish for @clients;

	# All of them were cut off: none had reached its end, or an error.
	my $cut_off = grep {
		slurp_file("$_.err") =~ /connection/ && slurp_file("$_.err") !~ /ERROR/
	} @logs;
	if ($cut_off < @scripts)
	{
		fail("round $round of $log: only the kill ends a client");
		diag(slurp_file("$_.err")) for @logs;
	}
	return map { lines_of("$_.out") } @logs;
}

# Build a copy of the extension below $dir, after $edit->(its folder), with more
# options for make; returns the folder with the library.
sub build_variant
{
	my ($dir, $edit, @options) = @_;
	my $top = dirname(__FILE__) . '/../..';
	my $tree = "$dir/tree";

	mkdir $_ for $dir, $tree, map { "$tree/$_" } qw(src sql);
	for my $file (map { glob "$top/$_" }
		qw(Makefile hilo.control src/*.c src/*.h sql/*.sql))
	{
		append_to_file($tree . substr($file, length $top), slurp_file($file));
	}
	$edit->($tree) if $edit;

	# make must not take the outer one for its parent.
	delete local @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
	my ($pg_config) = grep { -x } map { "$_/pg_config" } split /:/, $ENV{PATH};
	my @make = ('make', '-s', '-C', $tree, 'with_llvm=no',
		"PG_CONFIG=$pg_config", @options);
	system_or_bail(@make);
	system_or_bail(@make, 'install', "DESTDIR=$dir/dest");
	chomp(my $libdir = `'$pg_config' --pkglibdir`);
	return "$dir/dest$libdir";
}

package HiloCrash::Session;

use strict;
use warnings;

my $marks = 0;

# Connect to a server; more arguments are settings, like 'work_mem=1MB'.
sub new
{
	my ($class, $node, @settings) = @_;
	my $self = bless { in => '', out => '', err => '' }, $class;

	local $ENV{PGOPTIONS} = join ' ', map { "-c $_" } @settings;
	$self->{timer} = IPC::Run::timeout($TIMEOUT);
	$self->{psql} = IPC::Run::start(
		[
			$node->installed_command('psql'), '-XAtq', '-v', 'VERBOSITY=verbose',
			'-d', $node->connstr('postgres'), '-f', '-'
		],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err},
		$self->{timer});
	$self->{pid} = $self->query('SELECT pg_backend_pid()');
	return $self;
}

sub pid { return $_[0]{pid}; }

# Start a statement and do not wait.
sub start
{
	my ($self, $sql) = @_;

	$self->{mark} = 'mark-' . ++$marks;
	$self->{in} .= "$sql\n;\n\\echo $self->{mark}\n\\warn $self->{mark}\n";
	$self->{psql}->pump_nb;
	return;
}

# Wait for what start() started: its output, in list context its errors, too.
sub result
{
	my ($self) = @_;
	my $mark = qr/^\Q$self->{mark}\E\n/m;

	$self->{timer}->start($TIMEOUT);
	until ($self->{out} =~ $mark && $self->{err} =~ $mark)
	{
		$self->{psql}->pumpable
		  or die "the session is gone: $self->{out}$self->{err}";
		$self->{psql}->pump;
	}
	my ($out, $err) = @$self{qw(out err)};
	@$self{qw(out err)} = ('', '');
	s/$mark.*//s for $out, $err;
	chomp $out;
	return wantarray ? ($out, $err) : $out;
}

# Run a statement.
sub query
{
	my ($self, $sql) = @_;

	$self->start($sql);
	return $self->result;
}

# SQLSTATE of the error that a statement ends with; '' if there is none.
sub error_of
{
	my ($self, $sql) = @_;

	my (undef, $err) = $self->query($sql);
	return $err =~ /(?:ERROR|FATAL): +(\w{5}):/ ? $1 : '';
}

# Wait until psql ends, of itself or because its input does; all its output.
sub finish
{
	my ($self) = @_;

	$self->{timer}->start($TIMEOUT);
	$self->{psql}->finish;
	return ($self->{out}, $self->{err});
}

1;
