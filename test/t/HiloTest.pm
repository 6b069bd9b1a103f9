# HiloTest.pm: all that the TAP tests share.
#
# A node is a PostgreSQL::Test::Cluster.
#
# Servers
#   server($name, $settings, $sql, %init)   a server that is started
#   standby_of($primary, $name, $backup)    a streaming standby, not started
#   wait_for_standbys($primary, $names)     have it wait for them
#   subscribe($to, $from, $name, $options)  a subscription to the publication of that name
#   wait_until($what, $code)         poll a condition
#   wait_until_alone($node)          wait until all other sessions have ended
#   answers($node)                   can a connection be made?
#   configure($node, %settings)      set them in postgresql.conf, and wait until they hold
#   message_of($node, $db, $sql), error_of(...), outcome_of(...)
#                                    run SQL, for what it says, its SQLSTATE, or how it ends
#   sqlstate_of($err)                the SQLSTATE in what psql says
#   new_database($node, $db, $sql)   a database, set up by SQL if there is any
#   rewrite($file, $code)            change a file
#   superuser()                      the role that initdb made
#   dump_to($file, $node, $db)       a test that dumps a database; the file
#   restore_sql($node, $file, $db), pg_restore(...)   a test that runs a file, or has pg_restore read it
#   upgrade($node, $mode), upgrade_to($new, $node, $data, $mode)
#                                    the node after pg_upgrade, which copies files or links them
#   maxima($node, $db), max_of($node, $collection)   counters
#   twice(@lists)                    numbers that come twice in these lists, a line each
#   left_behind($node)               what its log says of things that must not be
#   block_of($page, $kind, $has)     the one block of a page that is of that kind and has that text
#
# Sessions
#   session($node, %settings)        a connection that stays, also while it waits: HiloTest::Session
#   at_once(@jobs)                   sessions that start at the same moment
#
# Crashes
#   kill_server($node)               kill -9 of a whole server, at once
#   server_processes($postmaster)    the processes of a server
#   crash_server($name, ...)         a server that syncs nothing but what it has to
#   $BIG, write_pages($session, $relation)   a table to fill few buffers with, which writes those of others
#   client_script(...)               what a client of a crash test does
#   draw_until(...)                  clients draw until the server ends
#   crash_round(...)                 clients draw, the server is killed
#   crash_rounds(...)                the same, until a number comes again
#   mutant_server(...)               a server with a mistake in the library
#   whole_ok($node)                  nothing that is stored is broken
#   lines_of($file)                  the lines that a client has logged
#   HiloTest::Trace                  what a server writes, syncs and sends
#
# Failures on purpose
#   build_variant($dir, ...)         build and install the extension in another way
#   build_failure_points($edit)      the same, with the places at which it can fail
#   failure_node($name, $conf)       a server with it
#   test_failures(...)               a test for each of some changes that fail on purpose
#   dies_in($node, $sql, ...)        a session is killed, and the server starts anew
#   add_pause($tree), paused, go_on  a failure point that lets go again; NAME:slow takes 0.25 s each time
#
# Servers that lease
#   hub_node($name, $conf)           a server with hilo_hub
#   open_hub($name, $conf)           one that is a hub
#   lead_to($member, $node)          have a member ask another node
#   hub_server($name, @hubs)         SQL that makes the foreign server by which a member asks
#   member_node($name, $conf, @hubs) a member
#   clock_setter()                   give servers a clock that can be set
#
# Clients in other languages
#   clients_folder()                 a copy of test/clients, which is the current folder from here on
#   install_packages()               have npm install there what package.json names; true if it has
#   available($what, @command)       can the command be run? if not, one line says that $what is skipped
#   orm_server()                     the server
#   orm_database($name)              a database there, with a role that owns it
#   orm_ok($name, \@command, %how)   run the whole scenario with a program of test/clients
#   orm_output($name, @command)      what a program writes, in a database of its own
#   orm_client($database, $role, @command)   a program that goes on: it does a command, and gives its lines
package HiloTest;

use strict;
use warnings;

use Cwd qw(abs_path getcwd);
use Exporter;
use Fcntl qw(:flock);
use File::Basename qw(dirname);
use IPC::Run ();
use List::Util qw(sum0);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

our @EXPORT = qw(server standby_of wait_for_standbys subscribe wait_until wait_until_alone answers configure message_of sqlstate_of error_of outcome_of new_database dump_to restore_sql pg_restore maxima max_of superuser
  rewrite upgrade upgrade_to twice left_behind block_of
  session at_once
  kill_server server_processes crash_server $BIG write_pages client_script draw_until crash_round crash_rounds mutant_server whole_ok lines_of
  build_variant build_failure_points failure_node test_failures dies_in add_pause paused go_on
  hub_node open_hub hub_server lead_to member_node clock_setter
  clients_folder install_packages available orm_server orm_database orm_ok orm_output orm_client);

# pg_ctl gives up after a minute by itself, which would end the whole run.
$ENV{PGCTLTIMEOUT} //= 600;

# A test that uses this is strict, and has what PostgreSQL's tests have: Test::More, and their utilities.
sub import
{
	strict->import;
	warnings->import;
	Exporter::export($_, scalar caller) foreach 'Test::More', 'PostgreSQL::Test::Utils', __PACKAGE__;
	return;
}

# The patience of PostgreSQL's own tests, in seconds; a test may change it.
sub patience { return $PostgreSQL::Test::Utils::timeout_default // 180; }

#
# Servers
#

# A server that is started, with lines for postgresql.conf and SQL that sets it up.
sub server
{
	my ($name, $settings, $sql, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%init);
	$node->append_conf('postgresql.conf', $settings) if $settings;
	$node->start;
	$node->safe_psql('postgres', $sql) if $sql;
	return $node;
}

# A streaming standby of a node, not started; made of a new backup, if none is named.
sub standby_of
{
	my ($primary, $name, $backup) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$primary->backup($backup = "for_$name") unless defined $backup;
	$standby->init_from_backup($primary, $backup, has_streaming => 1);
	return $standby;
}

# Have a node wait for standbys, one of which is there.
sub wait_for_standbys
{
	my ($primary, $names) = @_;

	configure($primary, synchronous_standby_names => $names);
	wait_until('a standby is synchronous', sub { $primary->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'}) });
	return;
}

# A node gets what is published on another one, and has it.
sub subscribe
{
	my ($to, $from, $name, $options) = @_;

	$to->safe_psql('postgres', "CREATE SUBSCRIPTION $name CONNECTION '" . $from->connstr . " dbname=postgres' PUBLICATION $name WITH ($options)");
	$to->wait_for_subscription_sync($from, $name);
	return;
}

# Poll until $condition->() is true, and return what it says; die when it
# takes too long.
sub wait_until
{
	my ($what, $condition) = @_;

	for (my $end = time + patience(); time < $end; sleep 0.01)
	{
		my $result = $condition->();
		return $result if $result;
	}
	die "timed out waiting until $what";
}

# Wait until all other sessions have ended: then the pool has their numbers, and the statistics views their counts.
sub wait_until_alone
{
	my ($node) = @_;

	return wait_until('other sessions end', sub { $node->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'}) == 1 });
}

# Does the server let one in?  A psql that is refused ends without reading its
# input, so there is none.
sub answers
{
	my ($node) = @_;

	return IPC::Run::run(
		[ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'), '-c', 'SELECT 1' ],
		'<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
}

# Set these in postgresql.conf, and wait until a new connection has them.
sub configure
{
	my ($node, %settings) = @_;

	$node->append_conf('postgresql.conf', join '', map { "$_ = '$settings{$_}'\n" } sort keys %settings);
	$node->reload;
	foreach my $name (sort keys %settings)
	{
		wait_until("$name is set", sub { $node->safe_psql('postgres', "SHOW $name") eq $settings{$name} });
	}
	return;
}

# What psql says on standard error, with SQLSTATEs.
sub message_of
{
	my ($node, $db, $sql, @args) = @_;
	my (undef, undef, $err) = $node->psql($db, $sql, extra_params => [ '-v', 'VERBOSITY=verbose' ], @args);

	return $err // '';
}

# SQLSTATE of the error in what psql says; '' if there is none.
sub sqlstate_of { return $_[0] =~ /(?:ERROR|FATAL): +(\w{5}):/ ? $1 : ''; }

# SQLSTATE of the error that SQL ends with; '' if there is none.
sub error_of { return sqlstate_of(message_of(@_)); }

# The error that SQL ends with, from its SQLSTATE on; 'fine' if there is none.  A session that
# ends by itself has an error, too.
sub outcome_of
{
	my ($node, $sql) = @_;
	my ($result, undef, $err) = $node->psql('postgres', $sql, extra_params => [ '-v', 'VERBOSITY=verbose' ]);

	return $err =~ /ERROR:  (.*)/s ? $1 : $result == 0 ? 'fine' : $err;
}

# A new database, set up by SQL if there is any; its name.
sub new_database
{
	my ($node, $db, $set_up) = @_;

	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql($db, $set_up) if defined $set_up;
	return $db;
}

# Change a file: $edit->() changes its text, in $_.
sub rewrite
{
	my ($file, $edit) = @_;
	local $_ = slurp_file($file);

	$edit->();
	unlink $file;
	append_to_file($file, $_);
	return;
}

# The superuser of the servers, as initdb names it.
sub superuser { return scalar getpwuid $>; }

# Test that a database can be dumped; returns the file.
sub dump_to
{
	my ($file, $node, $db, @options) = @_;

	$node->command_ok([ 'pg_dump', @options, '-f', $file, $db ], "pg_dump @options of $db");
	return $file;
}

# Test that pg_restore reads a dump without an error.
sub pg_restore
{
	my ($node, $file, $db, @options) = @_;

	$node->command_ok([ 'pg_restore', '--exit-on-error', @options, '-d', $db, $file ], "pg_restore @options into $db");
	return;
}

# Test that a file of SQL runs in a database without an error.
sub restore_sql
{
	my ($node, $file, $db, @options) = @_;

	$node->command_ok(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', @options, '-d', $db, '-f', $file ],
		"psql @options " . ($file =~ s,.*/,,r) . " into $db");
	return;
}

# Upgrade a node that is stopped by pg_upgrade, whose mode is copy or link; the new
# node, which is started.
sub upgrade
{
	my ($old, $mode) = @_;
	my $new = PostgreSQL::Test::Cluster->new($old->name . "_$mode");

	$new->init;
	return upgrade_to($new, $old, $old->data_dir, $mode);
}

# Upgrade a data folder to the new node, which is initialized.
sub upgrade_to
{
	my ($new, $old, $data, $mode) = @_;
	my $folder = getcwd();

	# pg_upgrade leaves files where it is started.
	chdir $PostgreSQL::Test::Utils::tmp_check;
	command_ok(
		[
			'pg_upgrade', '--no-sync',
			'-d', $data, '-D', $new->data_dir,
			'-b', $old->config_data('--bindir'), '-B', $new->config_data('--bindir'),
			'-s', $new->host, '-p', $old->port, '-P', $new->port,
			$mode eq 'copy' ? () : "--$mode"
		],
		"pg_upgrade, $mode");
	chdir $folder;
	$new->start;
	return $new;
}

# "x 5, y 7": the counters of a database, without those dropped.
sub maxima
{
	my ($node, $db) = @_;
	return $node->safe_psql($db // 'postgres',
		q{SELECT string_agg(collection || ' ' || max, ', ' ORDER BY collection) FROM hilo.hilo WHERE flags & 1 = 0});
}

sub max_of
{
	my ($node, $collection) = @_;
	return $node->safe_psql('postgres', "SELECT max FROM hilo.hilo WHERE collection = '$collection'");
}

sub twice
{
	my %seen;
	return join ' ', grep { $seen{$_}++ == 1 } map { split /\n/ } @_;
}

# Lines of a server's log about what no session may do; '' if there are none.
sub left_behind
{
	my ($node) = @_;

	return join '', slurp_file($node->logfile) =~
	  /^.*(?:PANIC|TRAP|\bleak\b|still referenced|lock .* (?:already|not) held|own a lock).*\n/mg;
}

# What a page prints as a file or a script.
sub block_of
{
	my ($page, $kind, $has) = @_;
	my @found = grep { /$has/ } slurp_file($page) =~ /^```$kind\n(.*?)^```$/gms;

	die "$page has " . @found . " blocks of $kind with $has" unless @found == 1;
	return $found[0];
}

#
# Sessions
#

# Connect to a node.  A setting is one of libpq (dbname, user, replication), or of
# the session, like work_mem => '1MB'.
sub session { return HiloTest::Session->new(@_); }

# Run each job, [ $node, $sql, %settings ], in a session of its own: all of them
# start at the same moment, as they wait for a lock until the last one is there.
# Returns the errors, and in list context each output, too.
sub at_once
{
	my @jobs = @_;
	my (%gate, %count, @sessions);
	my ($errors, @outputs) = ('');

	foreach my $job (@jobs)
	{
		my ($node, $sql, %settings) = @$job;
		my $place = $node->connstr('postgres');

		if (!$count{$place}++)
		{
			$gate{$place} = session($node);
			$gate{$place}->query_safe('SELECT pg_advisory_lock(1)');
		}
		push @sessions, HiloTest::Session->connect($node, %settings);
		$sessions[-1]->start("SELECT pg_advisory_lock_shared(1) \\g /dev/null\n$sql");
	}
	foreach my $place (sort keys %gate)
	{
		wait_until('all sessions have come', sub {
			$gate{$place}->query_safe(q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 1 AND NOT granted}) == $count{$place} });
	}
	$_->finish for values %gate;
	foreach my $session (@sessions)
	{
		my ($out, $err) = eval { $session->result };
		push @outputs, $out // '';
		$errors .= $err // $@;
		$session->hang_up;
	}
	return wantarray ? ($errors, @outputs) : $errors;
}

#
# Crashes
#

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

	return grep { ((process_stat($_))[1] // 0) == $postmaster } map { m,(\d+)$, } glob '/proc/[0-9]*';
}

# kill -9 of the postmaster and all its children.  No process of the server
# learns of the death of another one and does something about it: the
# postmaster is stopped first, so it neither notices nor starts any more.
sub kill_server
{
	my ($node) = @_;
	my $postmaster = $node->{_pid} or die "the server is not running";

	kill 'STOP', $postmaster or die "cannot stop the postmaster: $!";
	wait_until('the postmaster is stopped', sub { (process_stat($postmaster))[0] eq 'T' });

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

# A server that loses all that is not flushed on purpose when it is killed, as
# everything that would bring WAL to disk by the way is off.  $sql sets it up, and is
# on disk then.  The server is stopped.
sub crash_server
{
	my ($name, $settings, $sql) = @_;
	my $node = server($name, <<SETTINGS . $settings, "$sql; CHECKPOINT");
wal_level = replica
wal_buffers = 64MB
wal_writer_delay = 10s
wal_writer_flush_after = 1GB
shared_buffers = 64MB
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
autovacuum = off
max_connections = 30
log_statement = none
SETTINGS
	$node->stop;
	return $node;
}

# SQL for a table that fills a small server's buffers, and the extension that shows what is in them.
our $BIG = q{CREATE EXTENSION pg_buffercache;
CREATE TABLE big AS SELECT g, repeat('x', 400) t FROM generate_series(1, 10000) g;
CREATE INDEX ON big (g)};

# Make such a server write the pages of a relation, by asking for those of the table.
sub write_pages
{
	my ($session, $relation) = @_;

	wait_until('no page is dirty', sub {
		$session->query_safe(q{SET enable_seqscan = off; SET enable_bitmapscan = off;
			SELECT count(t) FROM generate_series(1, 10000, 7) h, LATERAL (SELECT t FROM big WHERE g = h) q});
		return !$session->query_safe("SELECT count(*) FROM pg_buffercache WHERE isdirty AND relfilenode = pg_relation_filenode('$relation')") });
	return;
}

# Write a client's script of $count statements, in transactions of five.  A
# third of the clients commit, unless HILO_ROLLBACK is set, and connect again now
# and then; a third roll back; a third never end their transaction.  %d in a statement
# is how often it has come before.
sub client_script
{
	my ($file, $client, $count, @draws) = @_;
	my ($begin, $end) = (
		[ 'BEGIN;', $ENV{HILO_ROLLBACK} ? 'ROLLBACK;' : 'COMMIT;' ],
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

# Let a client run each of the scripts until $end->() ends the server, once all have
# logged $least lines.  The clients are processes of their own and keep their logs in
# files, named $log and what follows: what is there was written before the client
# drew again.  Returns these names, to which .out and .err are added.
sub draw_until
{
	my ($node, $log, $least, $end, $scripts, @options) = @_;
	my @logs = map { "$log.$_" } keys @$scripts;
	my @clients = map {
		IPC::Run::start(
			[
				$node->installed_command('psql'), '-XAtq', '-v', 'ON_ERROR_STOP=1', @options,
				'-d', $node->connstr('postgres'), '-f', $scripts->[$_]
			],
			'<', '/dev/null', '>', "$logs[$_].out", '2>', "$logs[$_].err")
	} keys @$scripts;

	wait_until('every client has drawn', sub {
		!grep { lines_of("$_.out") < $least } @logs
	});
	$end->();
	$_->finish for @clients;
	return @logs;
}

# Start the server, and kill it when clients have drawn; returns all that they logged.
sub crash_round
{
	my ($node, $round, $log, $least, @scripts) = @_;

	$node->start;
	my @logs = draw_until($node, "$log.$round", $least, sub { kill_server($node) },
		\@scripts, '-v', "round=$round");

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

# Rounds over one data folder, until a number comes again or all are done.  $shown->($line) gives what a line of a log
# shows: a counter, and numbers.  Returns counter → number → how often, and what came again.
sub crash_rounds
{
	my ($node, $rounds, $log, $least, $scripts, $shown) = @_;
	my (%seen, @again);

	for my $round (1 .. $rounds)
	{
		for my $line (crash_round($node, $round, $log, $least, @$scripts))
		{
			my ($counter, @numbers) = $shown->($line) or die "unexpected line in a client's log: $line";
			push @again, map { "$counter $_" } grep { $seen{$counter}{$_}++ } @numbers;
		}
		last if @again;
	}
	note("$rounds kills, " . sum0(map { scalar keys %$_ } values %seen) . ' numbers, ' . @again . ' repeats');
	return (\%seen, \@again);
}

# A crash_server() whose library has another line instead of one of a file of src, which $draw loads.
sub mutant_server
{
	my ($file, $old, $new, $draw, $settings, $sql) = @_;
	my $libdir = build_variant(PostgreSQL::Test::Utils::tempdir() . '/mutant', sub {
		rewrite("$_[0]/src/$file", sub { is(s/^\t+\K\Q$old\E\n/$new\n/mg, 1, "one line of $file is taken out") });
	});
	my $node = crash_server('mutant', "${settings}dynamic_library_path = '$libdir:\$libdir'\n", $sql);

	$node->start;
	my $session = session($node);
	$session->query("SELECT $draw");
	like(slurp_file('/proc/' . $session->pid . '/maps'), qr,\Q$libdir\E/hilo\.so$,m, 'the library without it is loaded');
	$session->finish;
	$node->stop;
	return $node;
}

# Test that what is stored is whole.
sub whole_ok
{
	my ($node) = @_;

	is($node->safe_psql('postgres', <<'SQL'), '', 'table and index are whole');
CREATE EXTENSION amcheck;
SELECT * FROM verify_heapam('hilo.hilo');
SELECT 'index' FROM bt_index_check('hilo.hilo_collection_idx', true) c WHERE c IS NULL;
SQL
	is( $node->safe_psql('postgres', q{
			SET enable_indexscan = off; SET enable_bitmapscan = off;
			SELECT collection FROM hilo.hilo GROUP BY collection HAVING count(*) > 1}),
		'', 'each collection and each identity has one row');
	return;
}

#
# Failures on purpose
#

# Build a copy of the extension below $dir, after $edit->(its folder), with more
# options for make; returns the folder with the library.
sub build_variant
{
	my ($dir, $edit, @options) = @_;
	my $top = dirname(__FILE__) . '/../..';
	my $tree = "$dir/tree";

	mkdir $_ for $dir, $tree, map { "$tree/$_" } qw(sql src src/hub);
	for my $file (map { glob "$top/$_" }
		qw(Makefile *.control src/*.c src/*.h src/hub/*.c src/hub/*.h sql/*.sql))
	{
		append_to_file($tree . substr($file, length $top), slurp_file($file));
	}
	$edit->($tree) if $edit;

	# make must not take the outer one for its parent.
	delete local @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
	my ($pg_config) = grep { -x } map { "$_/pg_config" } split /:/, $ENV{PATH};
	my @make = ('make', '-s', '-C', $tree, 'with_llvm=no', $ENV{CC} ? "CC=$ENV{CC}" : (),
		"PG_CONFIG=$pg_config", @options);
	system_or_bail(@make);
	system_or_bail(@make, 'install', "DESTDIR=$dir/dest");
	chomp(my $libdir = `'$pg_config' --pkglibdir`);
	return "$dir/dest$libdir";
}

# Build a variant with failure points, which the setting test.failure_point names, and with
# constants that settings test.* replace; PROFILE of the run is kept.  Without $edit it is built once for all tests of a run.
sub build_failure_points
{
	my ($edit) = @_;
	my @points = ($edit, join ' ', 'PROFILE=-DHILO_FAILURE_POINTS', $ENV{PROFILE} // ());
	return build_variant(PostgreSQL::Test::Utils::tempdir() . '/points', @points) if $edit;

	my $dir = abs_path($PostgreSQL::Test::Utils::tmp_check) . '/points';
	open my $lock, '>', "$dir.lock" or die "$dir.lock: $!";
	flock $lock, LOCK_EX or die "$dir.lock: $!";
	append_to_file("$dir.built", build_variant($dir, @points)) unless -e "$dir.built";
	return slurp_file("$dir.built");
}

# A server with failure points and the extension, which loses what is not flushed on
# purpose when it crashes, and starts anew.
sub failure_node
{
	my ($name, $conf, $edit) = @_;
	my $libdir = build_failure_points($edit);

	return server($name, <<SETTINGS . $conf, 'CREATE EXTENSION hilo');
dynamic_library_path = '$libdir:\$libdir'
restart_after_crash = on
wal_writer_delay = 10s
autovacuum = off
checkpoint_timeout = 1h
SETTINGS
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

# Run SQL in which the backend of a session is killed, with which the postmaster ends
# all others, among them that of $other.  Waits until the server has started anew;
# true if all that has come to pass.
sub dies_in
{
	my ($node, $sql, $session, $other) = @_;
	my $pid = $other->pid;

	$session->start($sql);
	return 0 if eval { $session->result; 1 };
	$session->hang_up;
	wait_until('the server starts anew', sub { !kill 0, $pid });
	wait_until('the server is there', sub { answers($node) });
	$other->hang_up;
	return 1;
}

# A failure point that lets go again: for build_variant(), to which it adds the way
# 'pause'.  A session that comes there leaves a file, and goes on when that is gone;
# it hears of nothing meanwhile.
my $PAUSED = 'hilo_paused';

sub add_pause
{
	my ($tree) = @_;

	rewrite("$tree/src/failure_point.h", sub {
		s/(\tif \(hilo_failure_is_wanted\(name, "term"\)\))/<<CODE . $1/e or die 'no place for a pause';
	if (hilo_failure_is_wanted(name, "pause"))
	{
		static bool has_paused = false;

		if (!has_paused)
			fclose(fopen("$PAUSED", "w"));
		has_paused = true;
		while (access("$PAUSED", F_OK) == 0)
			pg_usleep(1000);
	}
	if (hilo_failure_is_wanted(name, "slow"))
		pg_usleep(250000);
CODE
		s/(#include <signal.h>\n)/$1#include <stdio.h>\n/ or die 'no place for an include'; });
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

#
# Servers that lease
#

# A server with hilo_hub and these lines in its configuration; it is no hub yet.
sub hub_node
{
	my ($name, $conf) = @_;

	return server($name, <<SETTINGS . ($conf // ''), 'CREATE EXTENSION hilo_hub CASCADE; CREATE EXTENSION postgres_fdw', allows_streaming => 1);
autovacuum = off
max_connections = 40
hilo.debug_range_size = 1
hilo.max_range_size = 1048576
SETTINGS
}

# A hub, which is open.
sub open_hub
{
	my $node = hub_node(@_);

	$node->safe_psql('postgres', 'SELECT hilo_hub.resume()');
	return $node;
}

# SQL that makes, or changes, the server of that name: it leads to these nodes, in turn.
sub hub_server
{
	my ($name, @hubs) = @_;
	my $hosts = join ',', map { $_->host } @hubs;
	my $ports = join ',', map { $_->port } @hubs;

	return qq{
		DROP SERVER IF EXISTS "$name" CASCADE;
		CREATE SERVER "$name" FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$hosts', port '$ports', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER "$name"};
}

# Have a member ask another node.
sub lead_to
{
	my ($member, $node) = @_;

	$member->safe_psql('postgres', "ALTER SERVER hub OPTIONS (SET host '" . $node->host . "', SET port '" . $node->port . "')");
	return;
}

# A member of a hub, which is open.
sub member_node
{
	my ($name, $conf, @hubs) = @_;
	my $node = hub_node($name, $conf);

	$node->safe_psql('postgres', hub_server('hub', @hubs));
	$node->safe_psql('postgres', q{SELECT hilo_hub.join('hub')});
	return $node;
}

# Give servers that start from here on a clock that is off; this returns a function that sets by how many seconds.
sub clock_setter
{
	my $clock = PostgreSQL::Test::Utils::tempdir() . '/clock';

	append_to_file($clock, pack 'q', 0);
	system_or_bail(split(' ', $ENV{CC} // 'cc'), qw(-shared -fPIC -o), "$clock.so", dirname(__FILE__) . '/clock.c');
	@ENV{qw(LD_PRELOAD HILO_CLOCK)} = (join(' ', $ENV{LD_PRELOAD} // (), "$clock.so"), $clock);
	return sub { open my $file, '+<', $clock or die "$clock: $!"; syswrite $file, pack 'q', shift; return close $file };
}

#
# Clients in other languages
#

# A program of test/clients does what its standard input says, a line a command, and
# answers "done" to each.  Rows that it has inserted it shows as table|id|item.
#
#   create              make the tables orders (integer, from a sequence), lines (bigint, from a
#                       sequence) and documents (text), each with a column item
#   attach TABLE        SELECT hilo.attach(TABLE), for tables with a sequence
#   add TABLE N ITEM    insert N rows, as the tool inserts many
#   give TABLE ID ITEM  insert a row with an id that is given
#   synchronize         have the tool compare its tables with those that there are
#   and others of its own, which are given in "also" with what they answer but for rows
#   truncate            empty all tables that the tool finds
#   dump FILE           write what tables it finds
#   drop                drop all tables that the tool finds
#   load FILE           make the tables again, from that file where the tool can

my %defaults = (
	orders => q{hilo.nextval('orders_id_seq'::regclass)},
	lines => q{hilo.nextval('lines_id_seq'::regclass)},
	documents => q{hilo_next('documents'::text)},);
my @tables = sort keys %defaults;

my $orm_server;

sub orm_server
{
	# JDBC knows no sockets.
	$orm_server //= server('orms', "listen_addresses = '127.0.0.1'\nhilo.max_range_size = 1048576\n", '', extra => ['--encoding=UTF8']);
	return $orm_server;
}

# Programs find the packages that npm installs beside them.
sub clients_folder
{
	my $folder = PostgreSQL::Test::Utils::tempdir();

	PostgreSQL::Test::RecursiveCopy::copypath('test/clients', "$folder/clients");
	chdir "$folder/clients" or die "$folder/clients: $!";
	return "$folder/clients";
}

# Not where nothing may be installed.
sub install_packages
{
	my ($out, $err) = ('', '');
	my $installed = ($ENV{HILO_INSTALL} // '') ne 'no' && eval {
		IPC::Run::run(
			[
				qw(npm install --no-save --no-package-lock --ignore-scripts --no-audit --no-fund
				  --fetch-retries=5 --fetch-timeout=60000)
			],
			'<', '/dev/null', '>', \$out, '2>', \$err, IPC::Run::timeout(600));
	};

  SKIP:
	{
		skip 'packages of npm: nothing may be installed', 1 if ($ENV{HILO_INSTALL} // '') eq 'no';
		ok($installed, 'npm installs packages') or diag($out, $err);
	}
	return $installed;
}

# A release of Debian may do without a package.
sub available
{
	my ($what, @command) = @_;
	my $there = eval { IPC::Run::run(\@command, '<', '/dev/null', '>', '/dev/null', '2>', '/dev/null', IPC::Run::timeout(patience())) };

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

	# Identity columns cannot be attached: the setting serves them.
	orm_server->safe_psql('postgres', "ALTER DATABASE $name SET session_preload_libraries = 'hilo'");
	orm_server->safe_psql('postgres', "ALTER DATABASE $name SET hilo.sequences = on");
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
	IPC::Run::run(\@command, '<', '/dev/null', '>', \$out, '2>', \$err, IPC::Run::timeout(patience())) or diag($err);
	return $out;
}

# A program that goes on, in a database, as a role.
sub orm_client
{
	my ($database, $role, @command) = @_;
	my $self = bless { name => "$database as $role", in => '', out => '', err => '' }, 'HiloTest::Client';

	local %ENV = environment($database, $role);
	$self->{timer} = IPC::Run::timeout(patience());
	$self->{program} =
	  IPC::Run::start(\@command, '<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err}, $self->{timer});
	return $self;
}

# All that must not change when a tool empties or drops what it finds: members of the
# extension, privileges, guards and rows.  (A session that ends may give numbers back.)
my $WHOLE = <<'SQL';
SELECT string_agg(line, E'\n' ORDER BY line COLLATE "C") FROM (
	SELECT pg_describe_object(classid, objid, objsubid) FROM pg_depend
	WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e'
		AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hilo')
	UNION ALL SELECT concat_ws(' ', 'table', oid::regclass, relowner::regrole, relacl) FROM pg_class WHERE relnamespace = 'hilo'::regnamespace
	UNION ALL SELECT concat_ws(' ', 'trigger', tgname, tgrelid::regclass, tgenabled) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid AND relnamespace = 'hilo'::regnamespace
	UNION ALL SELECT concat_ws(' ', 'row', collection, epoch, max_value) FROM hilo.hilo
	UNION ALL SELECT concat_ws(' ', 'binding', b.*) FROM hilo.binding b) AS _ (line)
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

# What a tool has written names the extension and its functions in defaults, and nothing else
# that belongs to hilo.
sub dump_ok
{
	my ($name, $file) = @_;
	my $text = slurp_file($file);

	$text =~ s/^.*\bEXTENSION\b.*\n//gmi;
	$text =~ s/\b(enable_extension|create_schema) "hilo"//g;
	$text =~ s/\b(public\.)?hilo_next(_number)?\(//g;
	$text =~ s/\bhilo\.nextval\(//g;
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
	my $owner = orm_client($name, $name, @$command);
	my $superuser = orm_client($name, orm_server->safe_psql('postgres', 'SELECT current_user'), @$command);

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
	my $is_identity = sub {
		return orm_server->safe_psql($name, "SELECT count(*) FROM pg_attribute WHERE attrelid = '$_[0]'::regclass AND attidentity <> ''");
	};
	my $attach = sub {
		my ($table) = @_;

		# A text draws from a collection because somebody writes its default, and is bound to pass ids given by hand.
		if ($table eq 'documents')
		{
			orm_server->safe_psql($name, "SET ROLE $name; ALTER TABLE documents ALTER id SET DEFAULT hilo_next('documents'); SELECT hilo.bind('documents', 'documents', 'id')");
		}
		elsif (!$is_identity->($table) && !$how{setting})
		{
			$does->($owner, "attach $table");
		}
	};

	# Numbers of a sequence start anew with it; those of a collection go on.
	my $start_anew = sub {
		%told = ();
		delete $seen{$_} foreach grep { !/^documents/ } keys %seen;
	};
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
			# Before it has a default, no text comes by itself.
			$does->($owner, $table eq 'documents' ? 'give documents documents/1-A before' : "add $table 1 before");
			$attach->($table);
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
				$is_identity->($table) ? '' : $how{setting} && $table ne 'documents' ? "nextval('${table}_id_seq'::regclass)" : $defaults{$table},
				"$name, $table: has the default that it had");
		}

		unless ($without{truncate})
		{
			$stays_whole->('truncated by a superuser', $superuser, 'truncate');
			$start_anew->();
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
			$start_anew->();
			$does->($owner, "load $folder/dump");
			is( orm_server->safe_psql($name, q{SELECT relation, draws FROM hilo.columns WHERE draws IN ('hilo.nextval', 'bound') ORDER BY 1}),
				orm_server->safe_psql($name,
					q{SELECT adrelid::regclass, 'hilo.nextval' FROM pg_attrdef WHERE pg_get_expr(adbin, adrelid) ~ '^hilo\.nextval'
					  UNION ALL SELECT 'documents', 'bound' ORDER BY 1}),
				"$name: what has such a default is attached as it is loaded, and what was bound is bound");
			$attach->($_) foreach @tables;
			$add->(2, 'again');
			$stored_ok->('loaded');
		}
		is(join(' ', @twice), '', "$name: no id has been told twice");
		is( orm_server->safe_psql($name,
				q{SELECT string_agg(result, ' ') FROM hilo.detach_all('public') WHERE result <> 'detached' AND result !~ 'is an identity column'}),
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

# A session of psql, which stays.
package HiloTest::Session;

use strict;
use warnings;

my $marks = 0;

# See session().
sub new
{
	my ($class, @args) = @_;
	my $self = $class->connect(@args);

	$self->{pid} = $self->query('SELECT pg_backend_pid()');
	return $self;
}

# See session(); but this does not wait until it is connected, and does not know its pid.
sub connect
{
	my ($class, $node, %settings) = @_;
	my $self = bless { in => '', out => '', err => '' }, $class;
	my $connstr = $node->connstr(delete $settings{dbname} // 'postgres');

	foreach my $name (qw(user replication))
	{
		$connstr .= " $name=" . delete $settings{$name} if $settings{$name};
	}
	local $ENV{PGOPTIONS} = join ' ', $ENV{PGOPTIONS} // (),
	  map { "-c $_=" . $settings{$_} =~ s/([\s\\])/\\$1/gr } sort keys %settings;
	$self->{timer} = IPC::Run::timeout(HiloTest::patience());
	$self->{psql} = IPC::Run::start(
		[ $node->installed_command('psql'), '-XAtq', '-v', 'VERBOSITY=verbose', '-d', $connstr ],
		'<', \$self->{in}, '>', \$self->{out}, '2>', \$self->{err},
		$self->{timer});
	return $self;
}

# The process of the server.
sub pid { return $_[0]{pid}; }

# Start a statement, or several lines of a script of psql, and do not wait.
sub start
{
	my ($self, $sql) = @_;

	# Not twice: after rows of COPY, psql ends at an empty statement.
	$sql .= "\n;" unless $sql =~ /;\s*\z|^\\.*\n*\z/m;
	$self->{mark} = 'mark-' . ++$marks;
	$self->{busy} = 1;
	$self->{timer}->start(HiloTest::patience());
	$self->{in} .= "$sql\n\\echo $self->{mark}\n\\warn $self->{mark}\n";
	$self->{psql}->pump_nb;
	return;
}

# Wait for what start() started: its output, in list context its errors, too.
sub result
{
	my ($self) = @_;
	my $mark = qr/^\Q$self->{mark}\E\n/m;

	$self->{timer}->start(HiloTest::patience());
	until ($self->{out} =~ $mark && $self->{err} =~ $mark)
	{
		$self->{psql}->pumpable or die "the session is gone: $self->{out}$self->{err}";
		$self->{psql}->pump;
	}
	my ($out, $err) = @$self{qw(out err)};
	@$self{qw(out err)} = ('', '');
	s/$mark.*//s for $out, $err;
	$self->{busy} = 0;
	chomp $out;
	return wantarray ? ($out, $err) : $out;
}

# Run a statement: its output, in list context its errors, too.
sub query
{
	my ($self, $sql) = @_;

	$self->start($sql);
	return $self->result;
}

# Run a statement: its output; dies if there is an error, or any message.
sub query_safe
{
	my ($self, $sql) = @_;
	my ($out, $err) = $self->query($sql);

	die "$sql: $err" if $err ne '';
	return $out;
}

# SQLSTATE of the error that a statement ends with; '' if there is none.
sub error_of
{
	my ($self, $sql) = @_;

	return HiloTest::sqlstate_of(($self->query($sql))[1]);
}

# Wait until psql ends, of itself or because its input does; all its output.
sub finish
{
	my ($self) = @_;

	# Others that were started since may have inherited its input, so that this does not end.
	$self->{in} .= "\\q\n" unless $self->{busy};
	$self->{timer}->start(HiloTest::patience());
	$self->{psql}->finish;
	return ($self->{out}, $self->{err});
}

# End it, and wait until its process is gone: then the pool has what it had.
sub leave
{
	my ($self) = @_;

	$self->hang_up;
	HiloTest::wait_until('a session has left', sub { !kill 0, $self->pid });
	return;
}

# Let go of psql, whatever has become of its connection.
sub hang_up
{
	my ($self) = @_;

	eval { $self->finish; 1 } or $self->{psql}->kill_kill;
	return;
}

# What another session, or one of its own of a node, is answered.
sub ask
{
	my ($by, $sql) = @_;
	return $by->can('query_safe') ? $by->query_safe($sql) : $by->safe_psql('postgres', $sql);
}

# Wait until another session, or a node, sees this one wait for an event of that name or type.  Dies if it is done.
sub waits_for
{
	my ($self, $by, $event) = @_;
	my $sql = "SELECT '$event' IN (wait_event, wait_event_type) FROM pg_stat_activity WHERE pid = $self->{pid}";

	HiloTest::wait_until("a session waits for $event", sub {
		$self->{psql}->pump_nb;
		die 'it does not wait' if $self->{out} =~ /^\Q$self->{mark}\E\n/m;
		return ask($by, $sql) eq 't';
	});
	return;
}

# Have another session cancel what this one does: its output and errors.
sub cancel
{
	my ($self, $by) = @_;

	ask($by, "SELECT pg_cancel_backend($self->{pid})");
	return $self->result;
}

# Send a signal to psql.
sub signal
{
	my ($self, $signal) = @_;

	$self->{psql}->signal($signal);
	return;
}

# A server that strace watches.
package HiloTest::Trace;

use strict;
use warnings;

use PostgreSQL::Test::Utils;

# Start a node.  strace is the server's parent, which it may trace on every system.
# Each process gets a file of its own, so a line ends before the next one begins.
sub new
{
	my ($class, $node) = @_;
	my $self = bless { file => PostgreSQL::Test::Utils::tempdir() . '/trace', marks => 0, read => {} }, $class;

	$self->{strace} = IPC::Run::start(
		[
			'strace', '-ff', '-y', '-s', '4096', '-o', $self->{file},
			'-e', 'trace=pwrite64,pwritev,write,fdatasync,fsync,sendto',
			$node->installed_command('postgres'), '-D', $node->data_dir
		],
		'<', '/dev/null', '>>', $node->logfile, '2>&1');
	HiloTest::wait_until('the server is up', sub {
		$self->{strace}->pumpable or die 'strace has ended, see ' . $node->logfile;
		return HiloTest::answers($node);
	});
	$node->_update_pid(1);
	return $self;
}

# What the backend of a session does for an expression: W for a write of WAL, S
# for its sync, A for the answer, which carries a mark.
sub events
{
	my ($self, $session, $expression) = @_;
	my $answer = 'answer-' . ++$self->{marks} . '.';
	my $file = "$self->{file}." . $session->pid;
	my $read = \$self->{read}{$file};    # how far it was looked at
	my $events = '';
	my @lines;

	$session->query("SELECT '$answer', $expression");

	# strace may write the last line after the answer has arrived.
	HiloTest::wait_until("strace shows the answer $answer", sub {
		@lines = split /\n/, substr(slurp_file($file), $$read // 0);
		return grep { /^sendto\(.*\Q$answer\E/ } @lines;
	});
	for my $line (@lines)
	{
		$events .= 'W' if $line =~ m,^p?write\w*\(\d+<[^>]*/pg_wal/,;
		$events .= 'S' if $line =~ m,^f(?:data)?sync\(\d+<[^>]*/pg_wal/.* = 0,;
		$events .= 'A' if $line =~ /^sendto\(.*\Q$answer\E/;
	}
	$$read += length join('', map { "$_\n" } @lines);
	return $events;
}

# Once the server is stopped.
sub finish
{
	my ($self) = @_;

	$self->{strace}->finish;
	return;
}

# A program in another language that goes on.
package HiloTest::Client;

use strict;
use warnings;

use Test::More;

# Do a command; the lines that it gives, or undef if it failed.
sub does
{
	my ($self, $command) = @_;

	$self->{timer}->start(HiloTest::patience());
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

1;
