# HiloHub.pm: what the tests of leases share.
#
#   new_node($name, $conf)         a server with the extension, started
#   new_member($name, $conf)       the same, which can lease
#   add_hub($member, $hub, ...)    make a server known to a member as its hub
#   database($node, $name)         a database that is a hub or member by itself
#   hold_hub($hub, $db)            a session in which a hub gives no answer
#   wait_until_asked(...)          until members wait for one
#   wait_until_waiting(...)        until sessions of a member wait
#   add_pause($tree), paused, go_on    a failure point that lets go again
#   error_of(...), message_of(...) run SQL, for its SQLSTATE or what it says
#   start_clients, stop_clients    clients that draw until told to stop
#   repeats(@clients)              numbers that were shown twice
#   left_behind($node)             what its log says of things that must not be
#   HiloHub::Database              what database() makes
#   HiloHub::Proxy                 a proxy between a member and a hub
package HiloHub;

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use HiloCrash;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(sleep);

our @EXPORT = qw(new_node new_member add_hub database hold_hub wait_until_asked
  wait_until_waiting add_pause paused go_on error_of message_of start_clients stop_clients
  shown_by repeats left_behind);

sub new_node
{
	my ($name, $conf, %params) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%params);
	$node->append_conf('postgresql.conf', <<SETTINGS . ($conf // ''));
max_connections = 50
autovacuum = off
restart_after_crash = on
SETTINGS
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION hilo; CREATE EXTENSION postgres_fdw');
	return $node;
}

sub new_member
{
	my ($name, $conf, %params) = @_;
	return new_node($name, "shared_preload_libraries = 'hilo'\n" . ($conf // ''), %params);
}

# Tell a member of a hub; options: server, db (of the member), dbname (there),
# host, port, options (of the server), user, role, password.
sub add_hub
{
	my ($member, $hub, %o) = @_;
	my $server = $o{server} // 'ids_hub';
	my $options = join ', ',
	  "host '" . ($o{host} // $hub->host) . "'",
	  "port '" . ($o{port} // $hub->port) . "'",
	  "dbname '" . ($o{dbname} // 'postgres') . "'", $o{options} // ();
	my $user = join ', ', "user '" . ($o{user} // 'postgres') . "'",
	  defined $o{password} ? "password '$o{password}'" : ();
	my $role = $o{role} // 'CURRENT_USER';

	$member->safe_psql($o{db} // 'postgres', <<SQL);
CREATE SERVER $server FOREIGN DATA WRAPPER postgres_fdw OPTIONS ($options);
CREATE USER MAPPING FOR $role SERVER $server OPTIONS ($user);
SQL
	return;
}

# A new database of a server, with the extension; $from: a copy of that one.
sub database
{
	my ($node, $name, $from) = @_;
	my $self = HiloHub::Database->new($node, $name);

	$node->safe_psql($from ? 'template1' : 'postgres',
		"CREATE DATABASE $name" . ($from ? " TEMPLATE $from" : ''));
	$self->sql('CREATE EXTENSION hilo; CREATE EXTENSION postgres_fdw') unless $from;
	return $self;
}

# Let a hub take questions and answer none, until query('COMMIT') in the session
# returned.
sub hold_hub
{
	my ($node, $db) = @_;
	my $session = HiloCrash::Session->new(HiloHub::Database->new($node, $db // 'postgres'));

	$session->query('BEGIN; LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE');
	return $session;
}

# Wait until so many questions of members wait in a hub that is held.
sub wait_until_asked
{
	my ($node, $db, $count) = @_;
	$db //= 'postgres';
	$count //= 1;

	wait_until("$count questions wait in the hub", sub {
		$node->safe_psql('template1', <<SQL) == $count });
SELECT count(*) FROM pg_stat_activity
WHERE datname = '$db' AND application_name = 'hilo' AND wait_event_type = 'Lock'
SQL
	return;
}

# Wait until each of these sessions waits for the hub, or for the one that asks it.
# (Servers before version 17 have one name for all waits of extensions.)
sub wait_until_waiting
{
	my ($node, @sessions) = @_;
	my $pids = join ', ', map { $_->pid } @sessions;

	wait_until('sessions of the member wait', sub {
		$node->safe_psql('template1', <<SQL) == @sessions });
SELECT count(*) FROM pg_stat_activity WHERE pid IN ($pids)
AND wait_event_type = 'Extension' AND wait_event IN ('HiloHub', 'HiloLease', 'Extension')
SQL
	return;
}

#
# A failure point that lets go again: for build_variant(), to which it adds the way
# 'pause'.  A session that comes there leaves a file, and goes on when that is gone;
# it hears of nothing meanwhile.
#
my $PAUSED = 'hilo_paused';

sub add_pause
{
	my ($tree) = @_;
	my $file = "$tree/src/failure_point.h";
	my $source = slurp_file($file);

	$source =~ s/(\tif \(hilo_failure_is_wanted\(name, "term"\)\))/<<CODE . $1/e or die 'no place for a pause';
	if (hilo_failure_is_wanted(name, "pause"))
	{
		static bool has_paused = false;

		if (!has_paused)
			fclose(fopen("$PAUSED", "w"));
		has_paused = true;
		while (access("$PAUSED", F_OK) == 0)
			pg_usleep(1000);
	}
CODE
	$source =~ s/(#include <signal.h>\n)/$1#include <stdio.h>\n/ or die 'no place for an include';
	unlink $file;
	append_to_file($file, $source);
	return;
}

# Wait until a session has come to its pause, of which there is one at a time.
sub paused
{
	my ($node) = @_;

	wait_until('a session has come to its pause', sub { -e $node->data_dir . "/$PAUSED" });
	return;
}

# Let it go on.  A session pauses once.
sub go_on
{
	my ($node) = @_;

	unlink $node->data_dir . "/$PAUSED" or die 'no session pauses';
	return;
}

# What psql says on standard error, with SQLSTATEs.
sub message_of
{
	my ($node, $db, $sql, @args) = @_;
	my (undef, undef, $err) =
	  $node->psql($db, $sql, extra_params => [ '-v', 'VERBOSITY=verbose' ], @args);

	return $err // '';
}

# SQLSTATE of the error that SQL ends with; '' if there is none.
sub error_of
{
	return message_of(@_) =~ /(?:ERROR|FATAL): +(\w{5}):/ ? $1 : '';
}

# What a client does over and over; :x is a number below 100.
my @DRAWS = (
	"SELECT hilo_next_number('orders');",
	"SELECT hilo_number(hilo_next('orders'));",
	"SELECT low, high FROM hilo_reserve('orders', 7);",
	"SELECT low, high FROM hilo_next_range('orders', 40);",
	"BEGIN;\nSELECT hilo_next_number('orders');\nROLLBACK;",
	"SELECT hilo_next_number('orders');",
	"BEGIN ISOLATION LEVEL SERIALIZABLE;\nSELECT hilo_next_number('orders');\nCOMMIT;",
	"SELECT 'hi', hilo_next_hi('orders', 20);");

# Start $count clients of a server, that connect again whenever they have to,
# until stop_clients().  Each logs what it was shown before it draws again.
my $started = 0;

sub start_clients
{
	my ($node, $dir, $count) = @_;
	my @clients;

	for (1 .. $count)
	{
		my $n = ++$started;
		my $file = "$dir/client$n";
		append_to_file("$file.sql",
			join "\n", map { $DRAWS[ ($_ + $n) % @DRAWS ] } 1 .. 400);
		append_to_file("$file.sh", <<SH);
# Also when the test is gone.
while kill -0 $$ && ! [ -e '$dir/stop' ]; do
	psql -XAtq -d "\$HILO_DATABASE" -f '$file.sql' >>'$file.out' 2>>'$file.err' || sleep 0.05
done
SH
		local $ENV{HILO_DATABASE} = $node->connstr('postgres');
		push @clients,
		  {
			file => $file,
			handle => IPC::Run::start([ 'sh', "$file.sh" ], '<', '/dev/null'),
			database => $ENV{HILO_DATABASE}
		  };
	}
	return @clients;
}

sub stop_clients
{
	my ($dir, @clients) = @_;

	append_to_file("$dir/stop", '');
	$_->{handle}->finish for @clients;
	unlink "$dir/stop";
	return;
}

# The numbers that a client was shown, as [low, high].
sub shown_by
{
	my ($client) = @_;

	return map {
		    /^hi\|(\d+)$/ ? [ ($1 - 1) * 20 + 1, $1 * 20 ]
		  : /^(\d+)\|(\d+)$/ ? [ $1, $2 ]
		  : /^(\d+)$/ ? [ $1, $1 ]
		  : ()
	} lines_of("$client->{file}.out");
}

# What was shown twice, in words; '' if nothing was.
sub repeats
{
	my @ranges = sort { $a->[0] <=> $b->[0] } map { shown_by($_) } @_;
	my @twice;

	for my $i (1 .. $#ranges)
	{
		push @twice, "$ranges[$i][0] to $ranges[$i][1]"
		  if $ranges[$i][0] <= $ranges[ $i - 1 ][1];
	}
	return join ', ', splice @twice, 0, 20;
}

# Lines of a server's log about what no session may do; '' if there are none.
sub left_behind
{
	my ($node) = @_;

	return join '', slurp_file($node->logfile) =~
	  /^.*(?:PANIC|TRAP|\bleak\b|still referenced|lock .* (?:already|not) held|own a lock).*\n/mg;
}

# A database that is a server of its own to others; HiloCrash::Session takes it
# for a server, too.
package HiloHub::Database;

use strict;
use warnings;

sub new
{
	my ($class, $node, $name) = @_;
	return bless { node => $node, name => $name }, $class;
}

sub node { return $_[0]{node}; }

sub name { return $_[0]{name}; }

sub connstr { return $_[0]{node}->connstr($_[0]{name}); }

sub installed_command { my ($self, @args) = @_; return $self->{node}->installed_command(@args); }

sub sql { return $_[0]{node}->safe_psql($_[0]{name}, $_[1]); }

sub message { return HiloHub::message_of($_[0]{node}, $_[0]{name}, $_[1]); }

sub error { return HiloHub::error_of($_[0]{node}, $_[0]{name}, $_[1]); }

# A session that stays; arguments are settings.
sub session { my ($self, @settings) = @_; return HiloCrash::Session->new($self, @settings); }

# A process of its own that passes on what comes to a port of this machine to
# the socket of a server, and does as it is told meanwhile:
#   pass     nothing special
#   refuse   end each connection as soon as it comes
#   hole     take what comes, pass nothing on
#   request  end a connection when a lease is asked for, before that arrives
#   answer   end a connection when the answer comes, before that is passed on
#   half     end a connection in the middle of the answer
#   delay N  pass everything on N milliseconds later
package HiloHub::Proxy;

use strict;
use warnings;

use IO::Select;
use IO::Socket::INET;
use IO::Socket::UNIX;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(time sleep);

sub new
{
	my ($class, $node) = @_;
	my $dir = PostgreSQL::Test::Utils::tempdir_short();
	my $socket = IO::Socket::INET->new(
		Listen => 50, LocalAddr => '127.0.0.1', Proto => 'tcp')
	  or die "cannot listen: $!";
	my $self = bless {
		port => $socket->sockport, dir => $dir,
		target => $node->host . '/.s.PGSQL.' . $node->port
	}, $class;

	$self->mode('pass');
	$self->{pid} = fork // die "cannot fork: $!";
	if ($self->{pid} == 0)
	{
		eval { $self->_run($socket) };
		warn $@ if $@;
		# Not END blocks, which are those of the test.
		require POSIX;
		POSIX::_exit(0);
	}
	close $socket;
	return $self;
}

sub port { return $_[0]{port}; }

# Do so from now on, also to connections that there are.
sub mode
{
	my ($self, $mode) = @_;
	my $file = "$self->{dir}/mode";

	open my $out, '>', "$file.new" or die "$file: $!";
	print $out $mode;
	close $out;
	rename "$file.new", $file or die "$file: $!";
	return;
}

# How many connections have come so far.
sub connections
{
	my ($self) = @_;
	return -s "$self->{dir}/connections" // 0;
}

# How many of them have ended.
sub ended
{
	my ($self) = @_;
	return -s "$self->{dir}/ended" // 0;
}

# How often a lease was asked for.
sub requests
{
	my ($self) = @_;
	return -s "$self->{dir}/requests" // 0;
}

sub stop
{
	my ($self) = @_;

	return unless $self->{pid};
	kill 'KILL', $self->{pid};
	waitpid $self->{pid}, 0;
	$self->{pid} = 0;
	return;
}

sub DESTROY
{
	my ($self) = @_;
	local $?;
	$self->stop if $self->{pid} && $self->{pid} != $$;
	return;
}

sub _count
{
	my ($self, $what) = @_;

	open my $out, '>>', "$self->{dir}/$what" or die "$what: $!";
	syswrite $out, '.';
	close $out;
	return;
}

sub _current_mode
{
	my ($self) = @_;

	open my $in, '<', "$self->{dir}/mode" or die "mode: $!";
	return <$in>;
}

sub _run
{
	my ($self, $socket) = @_;
	my $select = IO::Select->new($socket);
	my %other;      # socket → the one behind it
	my %asked;      # socket of the hub → a lease was asked for
	my %is_hub;
	my @later;      # [when, socket, data or undef for the end]
	my $end = sub {
		my ($one) = @_;
		my @both = ($one, $other{$one} // ());
		$self->_count('ended');
		for my $s (@both)
		{
			$select->remove($s);
			close $s;
			delete $other{$s};
			delete $asked{$s};
			delete $is_hub{$s};
			@later = grep { $_->[1] != $s } @later;
		}
	};

	while (getppid() != 1)
	{
		my @ready = $select->can_read(@later ? 0.002 : 0.02);
		my $mode = $self->_current_mode;

		while (@later && $later[0][0] <= time)
		{
			my (undef, $to, $data) = @{ shift @later };
			if (defined $data) { syswrite $to, $data }
			else { $end->($to) }
		}

		for my $from (@ready)
		{
			if ($from == $socket)
			{
				my $client = $socket->accept or next;
				$self->_count('connections');
				if ($mode eq 'refuse') { close $client; $self->_count('ended'); next }
				my $hub = IO::Socket::UNIX->new(Peer => $self->{target});
				if (!$hub) { close $client; $self->_count('ended'); next }
				@other{ $client, $hub } = ($hub, $client);
				$is_hub{$hub} = 1;
				$select->add($client, $hub);
				next;
			}

			my $to = $other{$from} or next;
			my $length = sysread $from, my $data, 65536;
			my $delay = $mode =~ /^delay (\d+)/ ? $1 / 1000 : 0;
			if (!$length)
			{
				if ($delay) { $select->remove($from); push @later, [ time + $delay, $from ] }
				else { $end->($from) }
				next;
			}
			my $is_request = $data =~ /hilo_lease/;
			if ($is_request)
			{
				$self->_count('requests');
				$asked{$to} = 1;
			}
			next if $mode eq 'hole';
			if ($mode eq 'request' && $is_request) { $end->($from); next }
			if ($is_hub{$from} && $asked{$from})
			{
				if ($mode eq 'answer') { $end->($from); next }
				if ($mode eq 'half')
				{
					syswrite $to, substr $data, 0, $length / 2;
					$end->($from);
					next;
				}
			}
			if ($delay) { push @later, [ time + $delay, $to, $data ] }
			else { syswrite $to, $data }
		}
	}
	return;
}

1;
