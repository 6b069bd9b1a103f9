# Promises 1, 4 and 6 without anything preloaded: the pool is made by the first session that needs it.  Short connections use no
# more numbers than they draw; and what one database or one version of the library has left is not drawn in another one.
use HiloTest;

my $node = server('main', "max_connections = 60\nautovacuum = off\nrestart_after_crash = on\n",
	q{CREATE EXTENSION hilo; CREATE TABLE lines (id bigint DEFAULT hilo_next_number('lines'))}, allows_streaming => 1);

sub sql { return $node->safe_psql($_[1] // 'postgres', $_[0]); }

# Wait until no connections are left: then the pool has what they had.
sub settle
{
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE backend_type = 'client backend'})
	  or die 'connections are left';
	return;
}

sub once
{
	my $result = sql(@_);
	settle();
	return $result;
}

#
# Settings
#
my $settings = q{LOAD 'hilo'; SELECT string_agg(substr(name, 6), ' ' ORDER BY name COLLATE "C") FROM pg_settings WHERE name LIKE 'hilo.%' AND context = };
is(sql("$settings 'superuser'"), 'auto_create identity_parts_separator max_range_size node_tag server_prefix',
	'settings');

#
# Connections that come and go
#
append_to_file($node->basedir . '/insert.sql', "INSERT INTO lines DEFAULT VALUES;\n");
foreach my $clients (1, 8)
{
	my $before = sql(q{SELECT coalesce(max(max), 0) FROM hilo.hilo WHERE collection = 'lines'});
	my $rows = sql('SELECT count(*) FROM lines');

	$node->command_ok([ 'pgbench', '-n', '-C', '-c', $clients, '-t', 200 / $clients, '-f', $node->basedir . '/insert.sql', '-p', $node->port, '-h', $node->host, 'postgres' ],
		"$clients clients");
	settle();
	is(sql("SELECT count(DISTINCT id) - $rows FROM lines"), 200, "$clients clients: 200 different numbers");
	cmp_ok(sql('SELECT max(id) FROM lines') - $before, '<=', 200 + 32 * $clients, "$clients clients: none is lost");
}
is(sql('SELECT max(id) <= (SELECT max FROM hilo.hilo WHERE collection = \'lines\') FROM lines'), 't', 'max is ahead');

#
# A session that draws from the pool, and has read no more than the row
#
once(q{SELECT count(hilo_next_number('heeded')) FROM generate_series(1, 100)});
once(q{SELECT hilo_next_number('heeded')});
my $heeding = session($node);
$heeding->query(q{SELECT count(hilo_next_number('heeded')) FROM generate_series(1, 7)});
sql(q{SELECT hilo.seed('heeded', 5000, true)});
is($heeding->query(q{SELECT hilo_next_number('heeded')}), 5001, 'what it holds ends when the counter is set');
$heeding->finish;
settle();

# The row is elsewhere, because the table was rewritten, by another session or by this one.
sql('VACUUM FULL hilo.hilo');
cmp_ok(once(q{SELECT hilo_next_number('heeded')}), '>', 5001, 'a table that was rewritten');
is(error_of($node, 'postgres', q{BEGIN; CLUSTER hilo.hilo USING hilo_collection_idx; SELECT hilo_next_number('heeded')}), '55000', 'rewritten by this transaction');
sql('SET client_min_messages = error; ALTER TABLE hilo.hilo SET UNLOGGED');
is(error_of($node, 'postgres', q{SELECT hilo_next_number('heeded')}), '55000', 'a table that would lose its counters');
sql('ALTER TABLE hilo.hilo SET LOGGED');
cmp_ok(once(q{SELECT hilo_next_number('heeded')}), '>', 5001, 'and one that does not any more');

#
# Another database with the same OID
#
sql('CREATE DATABASE one');
sql(q{CREATE EXTENSION hilo; SELECT hilo_next_number('x')}, 'one');
settle();
sql('CREATE DATABASE two TEMPLATE one');
is(once(q{SELECT max(hilo_next_number('x')) FROM generate_series(1, 33)}, 'one'), 34, 'a database goes on after it was copied');
cmp_ok(once(q{SELECT hilo_next_number('x')}, 'two'), '>', 32, 'the copy has nothing of its pool');

# A copy in which nothing was drawn has the old row; then it takes the OID of the original.
sql('CREATE DATABASE first');
sql(q{CREATE EXTENSION hilo; SELECT hilo_next_number('x')}, 'first');
my $oid = sql(q{SELECT oid FROM pg_database WHERE datname = 'first'});
settle();
sql('CREATE DATABASE copy TEMPLATE first');
once(q{SELECT hilo_next_number('x') FROM generate_series(1, 33)}, 'first');
sql('DROP DATABASE first');
sql("CREATE DATABASE first TEMPLATE copy OID $oid");
my %drawn;
$drawn{$_}++ for map { split /\n/, once(q{SELECT hilo_next_number('x') FROM generate_series(1, 15)}, 'first') } 1 .. 8;
is(join(' ', grep { $drawn{$_} > 1 } sort { $a <=> $b } keys %drawn), '', 'the OID of a dropped database: no number comes twice');
sql("DROP DATABASE $_") foreach qw(first copy one two);

#
# The end of a backend, and of the server
#
my %shown;
foreach my $end (
	[ 'kill -9 of a connection', sub {
		my $session = session($node);
		$session->query(q{SELECT hilo_next_number('end') FROM generate_series(1, 3)});
		my $other = sql(q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'});
		kill 'KILL', $session->pid;
		$session->hang_up;
		wait_until('the server starts anew', sub { !kill 0, $other });
		$node->poll_query_until('postgres', 'SELECT true') or die 'no restart';
	} ],
	[ 'an immediate stop', sub { $node->stop('immediate'); $node->start } ],
	[ 'kill -9 of the server', sub { kill_server($node); $node->start } ],
	[ 'a clean stop', sub { $node->restart } ],
	[ 'single-user mode', sub {
		$node->stop;
		my ($out, $err);
		my $ok = run_log([ 'postgres', '--single', '-D', $node->data_dir, 'postgres' ],
			'<', \"SELECT hilo_next_number('end')\n", '>', \$out, '2>', \$err);
		ok($ok, 'single-user mode: it draws') or diag($err);
		$shown{$_}++ for $out =~ /hilo_next_number = "(\d+)"/g;
		$node->start;
	} ],
	[ 'preloaded', sub { $node->append_conf('postgresql.conf', "shared_preload_libraries = 'hilo'"); $node->restart } ])
{
	$shown{ once(q{SELECT hilo_next_number('end')}) }++ for 1 .. 3;
	my $max = sql(q{SELECT max FROM hilo.hilo WHERE collection = 'end'});
	$end->[1]();
	my $next = once(q{SELECT hilo_next_number('end')});
	cmp_ok($next, '>', $max, "$end->[0]: the pool is empty then");
	$shown{$next}++;
	$shown{ once(q{SELECT hilo_next_number('end')}) }++ for 1 .. 2;
}
is(join(' ', grep { $shown{$_} > 1 } sort { $a <=> $b } keys %shown), '', 'no number comes twice');
cmp_ok(scalar(keys %shown), '>=', 37, 'of many');
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;

#
# A standby, and its promotion
#
once(q{SELECT hilo_next_number('end')});
my $standby = standby_of($node, 'standby');
$standby->start;
$shown{ once(q{SELECT hilo_next_number('end')}) }++ for 1 .. 40;
$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
is(error_of($standby, 'postgres', q{SELECT hilo_next_number('end')}), '25006', 'a standby does not draw');
$node->stop('immediate');
$standby->promote;
$shown{ $standby->safe_psql('postgres', q{SELECT hilo_next_number('end')}) }++ for 1 .. 40;
is(join(' ', grep { $shown{$_} > 1 } sort { $a <=> $b } keys %shown), '', 'promoted: no number comes twice');
$standby->stop;

#
# Another version of the library in the same server
#
my $other = build_variant(PostgreSQL::Test::Utils::tempdir() . '/other', sub {
	rewrite("$_[0]/src/pool.c", sub { s/(#define LAYOUT\t+)(\d+)/$1 . ($2 + 1)/e or die 'no layout' });
});
$node->start;
my $first = session($node);
$first->query(q{SELECT hilo_next_number('versions')});
my $second = session($node, dynamic_library_path => "$other:\$libdir");
is($second->query(q{SELECT hilo_next_number('versions')}), 33, 'another version: it draws');
$second->finish;
is($first->query(q{SELECT hilo_next_number('versions')}), 2, 'this one goes on');
$first->finish;

$node->stop;
is(left_behind($node), '', 'nothing was left behind');
done_testing();
