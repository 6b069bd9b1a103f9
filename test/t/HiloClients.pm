# HiloClients.pm: what the tests of ORMs share.
#
#   clients_folder()         a copy of test/clients, which is the current folder from here on
#   install_packages()       have npm install there what package.json names; true if it has
#   available($what, @command)   can the command be run? if not, one line says that $what is skipped
#   orm_ok($name, \@command, %how)   run the whole scenario with a program of test/clients
#   orm_output($name, @command)      what a program writes, in a database of its own
#   orm_database($name), start_client($database, $role, @command)   a database, and a program that
#                            goes on: it does a command, and gives its lines
#   orm_server()             the server
#
# A program of test/clients does what its standard input says, a line a command, and
# answers "done" to each.  Rows that it has inserted it shows as table|id|item.
#
#   create              make the tables orders (integer, from a sequence), lines (bigint, from a
#                       sequence) and documents (text), each with a column item
#   attach TABLE        SELECT hilo_attach(TABLE)
#   add TABLE N ITEM    insert N rows, as the tool inserts many
#   give TABLE ID ITEM  insert a row with an id that is given
#   synchronize         have the tool compare its tables with those that there are
#   and others of its own, which are given in "also" with what they answer but for rows
#   truncate            empty all tables that the tool finds
#   dump FILE           write what tables it finds
#   drop                drop all tables that the tool finds
#   load FILE           make the tables again, from that file where the tool can
package HiloClients;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(clients_folder install_packages available orm_database orm_ok orm_output orm_server start_client);

my $TIMEOUT = $PostgreSQL::Test::Utils::timeout_default;

my %defaults = (
	orders => q{hilo_next_number('orders'::text)},
	lines => q{hilo_next_number('lines'::text)},
	documents => q{hilo_next('documents'::text)},);
my @tables = sort keys %defaults;

my $node;

sub orm_server
{
	unless ($node)
	{
		$node = PostgreSQL::Test::Cluster->new('orms');
		$node->init(extra => ['--encoding=UTF8']);
		# JDBC knows no sockets.
		$node->append_conf('postgresql.conf', "listen_addresses = '127.0.0.1'");
		$node->start;
	}
	return $node;
}

# Programs find the packages that npm installs beside them.
sub clients_folder
{
	my $folder = PostgreSQL::Test::Utils::tempdir();

	PostgreSQL::Test::RecursiveCopy::copypath('test/clients', "$folder/clients");
	chdir "$folder/clients" or die "$folder/clients: $!";
	return "$folder/clients";
}

# Without installing there may be no way to do so.
sub install_packages
{
	my ($out, $err) = ('', '');
	my $installed = eval {
		IPC::Run::run(
			[
				qw(npm install --no-save --no-package-lock --ignore-scripts --no-audit --no-fund
				  --fetch-retries=1 --fetch-timeout=60000)
			],
			'<', '/dev/null', '>', \$out, '2>', \$err, IPC::Run::timeout($TIMEOUT));
	};

  SKIP:
	{
		skip 'npm does not get the packages: ' . (($err =~ /^npm (?:ERR!|error) (.*)/m)[0] // $@), 1
		  if !$installed && ($ENV{HILO_INSTALL} // '') eq 'no';
		ok($installed, 'npm installs packages') or diag($out, $err);
	}
	return $installed;
}

# A release of Debian may do without a package.
sub available
{
	my ($what, @command) = @_;
	my $there = eval { IPC::Run::run(\@command, '<', '/dev/null', '>', '/dev/null', '2>', '/dev/null', IPC::Run::timeout($TIMEOUT)) };

  SKIP:
	{
		skip "$what: not installed", 1 unless $there;
	}
	return $there;
}

# A database, and the role of the same name that owns it, and the extension there.
sub orm_database
{
	my ($name) = @_;

	orm_server->safe_psql('postgres', "CREATE ROLE $name LOGIN");
	orm_server->safe_psql('postgres', "CREATE DATABASE $name OWNER $name");
	orm_server->safe_psql($name, "SET ROLE $name; CREATE EXTENSION hilo");
	return;
}

# How a program finds its database, and the programs of the server.
sub environment
{
	my ($database, $role) = @_;

	return (
		%ENV,
		PGHOST => orm_server->host,
		PGPORT => orm_server->port,
		PGUSER => $role,
		PGDATABASE => $database,
		PATH => orm_server->config_data('--bindir') . ":$ENV{PATH}");
}

sub orm_output
{
	my ($name, @command) = @_;
	my ($out, $err);

	orm_database($name);
	local %ENV = environment($name, $name);
	IPC::Run::run(\@command, '<', '/dev/null', '>', \$out, '2>', \$err, IPC::Run::timeout($TIMEOUT)) or diag($err);
	return $out;
}

#
# A program that runs
#

sub start_client
{
	my ($database, $role, @command) = @_;
	my $self = bless { name => "$database as $role", in => '', out => '', err => '' }, __PACKAGE__;

	local %ENV = environment($database, $role);
	$self->{timer} = IPC::Run::timeout($TIMEOUT);
	$self->{program} =
	  IPC::Run::start(\@command, '<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err}, $self->{timer});
	return $self;
}

# Do a command; the lines that it gives, or undef if it failed.
sub does
{
	my ($self, $command) = @_;

	$self->{timer}->start($TIMEOUT);
	$self->{out} = '';
	$self->{in} .= "$command\n";
	my $good = eval {
		IPC::Run::pump($self->{program}) until $self->{out} =~ /^done\n\z/m;
		1;
	};
	return [ grep { $_ ne 'done' } split /\n/, $self->{out} ] if $good;
	fail("$self->{name}: $command");
	diag($@, $self->{out}, $self->{err});
	return;
}

sub ends
{
	my ($self) = @_;

	# One that has failed has said so, and may not end.
	eval { IPC::Run::finish($self->{program}); 1 } or $self->{program}->kill_kill;
	return;
}

#
# The scenario
#

# All that must not change when a tool empties or drops what it finds: members of the
# extension, privileges, guards and rows.  (A session that ends may give numbers back.)
my $WHOLE = <<'SQL';
SELECT string_agg(line, E'\n' ORDER BY line COLLATE "C") FROM (
	SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hilo')
	UNION ALL SELECT concat_ws(' ', 'table', oid::regclass, relowner::regrole, relacl) FROM pg_class WHERE relnamespace = 'hilo'::regnamespace
	UNION ALL SELECT concat_ws(' ', 'trigger', tgname, tgrelid::regclass, tgenabled) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid AND relnamespace = 'hilo'::regnamespace
	UNION ALL SELECT concat_ws(' ', 'event trigger', evtname, evtenabled) FROM pg_event_trigger
	UNION ALL SELECT concat_ws(' ', 'row', collection, epoch, created_at, max_value) FROM hilo.hilo
	UNION ALL SELECT concat_ws(' ', 'hub', hub) FROM hilo.hub WHERE hub <> '|') AS _ (line)
SQL

sub beyond
{
	my ($id) = @_;
	return $id =~ s/(\d+)/$1 + 100/er;
}

sub tables_there
{
	my ($name) = @_;
	return orm_server->safe_psql($name,
		q{SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class
		  WHERE relnamespace = 'public'::regnamespace AND relname IN ('orders', 'lines', 'documents')});
}

# What a tool has written names the extension, its functions in defaults and its trigger,
# and nothing else that belongs to hilo.
sub dump_ok
{
	my ($name, $file) = @_;
	my $text = slurp_file($file);

	$text =~ s/^.*\bEXTENSION\b.*\n//gmi;
	$text =~ s/\b(enable_extension|create_schema) "hilo"//g;
	$text =~ s/\b(public\.)?hilo_next(_number)?\(//g;
	$text =~ s/\bzzz_hilo_advance_id\b|\b(public\.)?hilo_advance\(//g;
	like($text, qr/\borders\b/i, "$name: the dump has the tables");
	is(join("\n", grep { /hilo/i } split /\n/, $text), '', "$name: and nothing of hilo but the extension");
	return;
}

sub orm_ok
{
	my ($name, $command, %how) = @_;
	$how{also} //= [];
	my %without = map { $_ => 1 } @{ $how{without} // [] };
	my $folder = PostgreSQL::Test::Utils::tempdir();
	my (%told, %seen, @twice);

	orm_database($name);
	my $owner = start_client($name, $name, @$command);
	my $superuser = start_client($name, orm_server->safe_psql('postgres', 'SELECT current_user'), @$command);

	# Note the rows that a program says it has inserted.
	my $does = sub {
		my ($client, $line) = @_;
		my $answer = $client->does($line) or die "$name: $line\n";

		foreach my $row (grep { /\|/ } @$answer)
		{
			my ($table, $id, $item) = split /\|/, $row;
			push @{ $told{$table} }, "$id|$item";
			push @twice, $row if $seen{"$table|$id"}++;
		}
		return @$answer;
	};
	my $stays_whole = sub {
		my ($what, $client, $line) = @_;
		my $before = orm_server->safe_psql($name, $WHOLE);

		$does->($client, $line);
		is(orm_server->safe_psql($name, $WHOLE), $before, "$name, $what: hilo is whole");
	};
	my $add = sub {
		my ($count, $item) = @_;
		$does->($owner, "add $_ $count $item") foreach @tables;
	};
	my $attach = sub { $does->($owner, "attach $_") foreach @tables };
	my $stored_ok = sub {
		my ($what) = @_;
		foreach my $table (@tables)
		{
			is( join("\n", sort @{ delete $told{$table} // [] }),
				join("\n", sort split(/\n/, orm_server->safe_psql($name, "SELECT id, item FROM $table"))),
				"$name, $what: $table has the rows that the tool tells");
		}
	};

	my $end = eval {
		$does->($owner, 'create');
		foreach my $table (@tables)
		{
			# Before it is attached, no text comes by itself.
			$does->($owner, $table eq 'documents' ? 'give documents documents/1-A before' : "add $table 1 before");
			$does->($owner, "attach $table");
			$does->($owner, "add $table 1 single");
			my ($last) = reverse $does->($owner, "add $table 3 bulk");
			$does->($owner, "give $table " . beyond((split /\|/, $last)[1]) . ' given');
			$does->($owner, "add $table 100 bulk") for 1 .. 3;
		}
		is(join(' ', map { scalar @{ $told{$_} } } @tables), '306 306 306', "$name: every row has been inserted");
		$does->($owner, 'synchronize') unless $without{synchronize};
		$add->(1, 'synchronized');
		$stored_ok->('attached');
		foreach my $table (@tables)
		{
			is( orm_server->safe_psql($name, "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = '$table'::regclass"),
				$defaults{$table}, "$name, $table: is still attached");
		}

		unless ($without{truncate})
		{
			$stays_whole->('truncated by a superuser', $superuser, 'truncate');
			%told = ();
			while (my ($line, $answer) = splice @{ $how{also} }, 0, 2)
			{
				is(join("\n", grep { !/\|/ } $does->($owner, $line)), $answer, "$name: $line");
			}
			$add->(2, 'after it');
			$stored_ok->('truncated');
		}
		unless ($without{dump})
		{
			$does->($owner, "dump $folder/dump");
			dump_ok($name, "$folder/dump");
		}
		unless ($without{drop})
		{
			$stays_whole->('dropped by the owner', $owner, 'drop');
			is(tables_there($name), '', "$name: no table is left");
			%told = ();
			$does->($owner, "load $folder/dump");
			is( orm_server->safe_psql($name, 'SELECT count(*) FROM hilo.attachments'),
				$how{keeps_attached} // 0, "$name: tables that are attached as they are loaded");
			$attach->();
			$add->(2, 'again');
			$stored_ok->('loaded');
		}
		is(join(' ', @twice), '', "$name: no id has been told twice");
		is( orm_server->safe_psql($name,
				q{SELECT string_agg(result, ' ') FROM hilo_detach_all('public')
				  WHERE result NOT IN ('sequence', 'identity', 'identity always', 'default', 'nothing')}),
			'', "$name: all tables go back to what they were");
		unless ($without{drop})
		{
			$stays_whole->('truncated by the owner', $owner, 'truncate') unless $without{truncate};
			$stays_whole->('dropped by a superuser', $superuser, 'drop');
			is(tables_there($name), '', "$name: no table is left");
		}
		1;
	};
	diag($@) unless $end;
	$_->ends foreach $owner, $superuser;
	return;
}

1;
