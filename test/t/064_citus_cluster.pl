# Promise 9 on a real Citus cluster, where Citus is installed: a coordinator and two workers, nothing set up; whatever statement draws, wherever it is sent, no number comes twice, and none fails.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# So many collections are first drawn by INSERT ... SELECT on all nodes at once.
my $FIRST = $ENV{HILO_CITUS_FIRST} // 20;

my ($coordinator, @workers) = map { PostgreSQL::Test::Cluster->new($_) } qw(coordinator worker1 worker2);
my $sharedir = $coordinator->config_data('--sharedir');
plan skip_all => "there is no Citus in $sharedir/extension" unless -f "$sharedir/extension/citus.control";

my @nodes = ($coordinator, @workers);
foreach my $node (@nodes)
{
	# Both orders.
	my $preload = $node == $workers[0] ? 'citus, hilo' : 'hilo, citus';

	# Citus must come before what has hooks of the planner; the library has none.
	$node->init;
	$node->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = '$preload'
listen_addresses = 'localhost'
max_connections = 200
max_prepared_transactions = 50
wal_level = logical
autovacuum = off
citus.enable_statistics_collection = off
citus.node_conninfo = 'sslmode=prefer'
citus.shard_count = 4
CONF
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION citus');
}

sub sql { my ($sql) = @_; return $coordinator->safe_psql('postgres', $sql); }

sub on_worker { my ($sql) = @_; return $workers[0]->safe_psql('postgres', $sql); }

# Workers hear of a change with their next request: have them make one now.
sub ask { my @asked = @_; $_->safe_psql('postgres', 'SELECT hilo.lease_report()') for @asked; return; }

sql(sprintf q{SELECT citus_set_coordinator_host('localhost', %d)}, $coordinator->port);
sql(sprintf q{SELECT citus_add_node('localhost', %d)}, $_->port) for @workers;
sql('CREATE EXTENSION hilo');
sql(q{
	CREATE TABLE src (k bigint, v bigint);
	SELECT create_distributed_table('src', 'k');
	INSERT INTO src SELECT n, n FROM generate_series(1, 200) n;
});

#
# Statements and tables
#

# The name of the table is that of its collection.
my %tables = (
	distributed => q{CREATE TABLE NAME (id bigint DEFAULT hilo_next_number('NAME'), k bigint, v bigint); SELECT create_distributed_table('NAME', 'k', colocate_with => 'src')},
	integer => q{CREATE TABLE NAME (id int DEFAULT hilo_next_number('NAME'), k bigint, v bigint); SELECT create_distributed_table('NAME', 'k', colocate_with => 'src')},
	smallint => q{CREATE TABLE NAME (id smallint DEFAULT hilo_next_number('NAME'), k bigint, v bigint); SELECT create_distributed_table('NAME', 'k', colocate_with => 'src');
		SELECT hilo.configure('NAME', max_value => 32767)},
	text => q{CREATE TABLE NAME (id text DEFAULT hilo_next('NAME'), k bigint, v bigint); SELECT create_distributed_table('NAME', 'k', colocate_with => 'src')},
	identity => q{CREATE TABLE NAME (id text DEFAULT next_identity('NAME'), k bigint, v bigint); SELECT create_distributed_table('NAME', 'k', colocate_with => 'src')},
	'by the id' => q{CREATE TABLE NAME (id bigint PRIMARY KEY DEFAULT hilo_next_number('NAME'), k bigint, v bigint); SELECT create_distributed_table('NAME', 'id')},
	partitioned => q{CREATE TABLE NAME (id bigint DEFAULT hilo_next_number('NAME'), k bigint, v bigint) PARTITION BY RANGE (v);
		CREATE TABLE NAME_1 PARTITION OF NAME FOR VALUES FROM (-10000) TO (100); CREATE TABLE NAME_2 PARTITION OF NAME FOR VALUES FROM (100) TO (10000);
		SELECT create_distributed_table('NAME', 'k', colocate_with => 'src')},
	'single shard' => q{CREATE TABLE NAME (id bigint DEFAULT hilo_next_number('NAME'), k bigint, v bigint); SELECT create_distributed_table('NAME', NULL)},
	reference => q{CREATE TABLE NAME (id bigint DEFAULT hilo_next_number('NAME'), k bigint, v bigint); SELECT create_reference_table('NAME')},
	local => q{CREATE TABLE NAME (id bigint DEFAULT hilo_next_number('NAME'), k bigint, v bigint); SELECT citus_add_local_table_to_metadata('NAME')},
	attached => q{CREATE TABLE NAME (id bigserial PRIMARY KEY, k bigint, v bigint); SELECT citus_add_local_table_to_metadata('NAME'); SELECT hilo.attach('NAME')});

# How many rows each inserts.
my %statements = (
	'one row' => [ 1, q{INSERT INTO NAME (k, v) VALUES (7, 7)} ],
	rows => [ 3, q{INSERT INTO NAME (k, v) VALUES (1, 1), (2, 2), (3, 3)} ],
	'rows, RETURNING' => [ 3, q{INSERT INTO NAME (k, v) VALUES (1, 1), (2, 2), (3, 3) RETURNING id} ],
	series => [ 100, q{INSERT INTO NAME (k, v) SELECT n, n FROM generate_series(1, 100) n} ],
	COPY => [ 5, "COPY NAME (k, v) FROM stdin;\n" . join('', map { "$_\t$_\n" } 1 .. 5) . "\\.\n" ],
	'pushed down' => [ 200, q{INSERT INTO NAME (k, v) SELECT k, v FROM src} ],
	repartitioned => [ 200, q{INSERT INTO NAME (k, v) SELECT v + 1, k FROM src} ],
	pulled => [ 150, q{INSERT INTO NAME (k, v) SELECT k, v FROM src ORDER BY v LIMIT 150} ],
	WITH => [ 200, q{WITH s AS MATERIALIZED (SELECT k, v FROM src OFFSET 0) INSERT INTO NAME (k, v) SELECT k, v FROM s} ],
	prepared => [ 7, 'PREPARE i (bigint) AS INSERT INTO NAME (k, v) VALUES ($1, 1); ' . 'EXECUTE i (5);' x 7 ],
	'transaction with savepoint' => [ 201, q{BEGIN; INSERT INTO NAME (k, v) SELECT k, v FROM src; SAVEPOINT s; INSERT INTO NAME (k, v) SELECT k, v FROM src; ROLLBACK TO s; INSERT INTO NAME (k, v) VALUES (1, 1); COMMIT} ],
	'REPEATABLE READ' => [ 200, q{BEGIN ISOLATION LEVEL REPEATABLE READ; INSERT INTO NAME (k, v) SELECT k, v FROM src; COMMIT} ],
	function => [ 4, join(' ', map { "SELECT f_NAME($_);" } 1 .. 4),
		q{CREATE FUNCTION f_NAME(key bigint) RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO NAME (k, v) VALUES (key, 1); END $$;
		SELECT create_distributed_function('f_NAME(bigint)' WHERE)} ],
	procedure => [ 4, join(' ', map { "CALL p_NAME($_);" } 1 .. 4),
		q{CREATE PROCEDURE p_NAME(key bigint) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO NAME (k, v) VALUES (key, 1); END $$;
		SELECT create_distributed_function('p_NAME(bigint)' WHERE)} ]);

# Where calls are delegated to; of a table that is local, nowhere.
my %delegated = (local => '', reference => q{, colocate_with => 'NAME'}, 'single shard' => q{, colocate_with => 'NAME'});

my @all = sort keys %statements;
my @some = ('one row', 'COPY', 'series', 'pushed down', 'repartitioned');
my @cases = (
	(map { my $table = $_; map { [ $table, $_ ] } @all } 'distributed', 'partitioned', 'by the id', 'single shard', 'reference', 'local'),
	(map { my $table = $_; map { [ $table, $_ ] } @some } 'integer', 'smallint', 'text', 'identity', 'attached'));

# A procedure that is distributed with a table of a single shard crashes the server, whatever the default (Citus 13.2.2 and 14.0.1).
@cases = grep { "@$_" ne 'single shard procedure' } @cases;

# Each once on the coordinator and once on a worker, with a new collection, and then again.
my $number = 0;
my ($rows, $twice, $failed) = (0, 0, 0);
foreach my $case (@cases)
{
	my ($table, $statement) = @$case;
	my ($count, $sql, $setup) = @{ $statements{$statement} };
	my $where_to = $delegated{$table} // q{, 'key', colocate_with => 'NAME'};
	$count = 5 if $table eq 'identity' && $count > 5;
	$sql =~ s/FROM src\b/FROM src WHERE k <= 5/ if $table eq 'identity';
	$sql =~ s/generate_series\(1, 100\)/generate_series(1, 5)/ if $table eq 'identity';

	foreach my $node ($coordinator, $workers[0])
	{
		my $name = 't' . ++$number;
		my $where = $node == $coordinator ? 'coordinator' : 'worker';
		my @names = ("$statement, $table, $where");

		sql($tables{$table} =~ s/NAME/$name/gr);
		sql($setup =~ s/ WHERE/$where_to/r =~ s/NAME/$name/gr) if defined $setup;
		foreach my $time (1 .. 2)
		{
			my $error = outcome_of($node, $sql =~ s/NAME/$name/gr);
			$failed++ if $error ne 'fine';
			is($error, 'fine', "$names[0]: " . ($time == 1 ? 'first' : 'warm'));
		}
		my $times = 2;
		if (defined $setup && $where_to)
		{
			my ($result, $out, $err) = $node->psql('postgres', "SET client_min_messages = debug1;\n$sql" =~ s/NAME/$name/gr);
			my $sent = () = $err =~ /DEBUG:  pushing down the (?:function call|procedure)/g;
			my $here = () = $err =~ /DEBUG:  not pushing down (?:function|procedure) to the same node/g;
			is($sent + $here, 4, "$names[0]: delegated");
			is($here, 0, "$names[0]: to other nodes") if $node == $coordinator;
			$times++;
		}
		my $got = sql("SELECT count(*), count(DISTINCT id), count(id) FROM $name");
		my ($had, $distinct) = split /\|/, $got;
		$rows += $had;
		$twice += $had - $distinct;
		is($got, join('|', ($times * $count) x 3), "$names[0]: rows, distinct ids");
	}
}
note(scalar(@cases) * 2 . " cases, first and warm: $rows rows, $twice ids twice, $failed failed");
is(sql(q{SELECT count(DISTINCT result) FROM run_command_on_all_nodes('SELECT md5(string_agg(t.*::text, '','' ORDER BY id)) FROM ' || (SELECT min(logicalrelid::text) FROM pg_dist_partition WHERE repmodel = 't') || ' t')}),
	1, 'all replicas of a reference table are equal');
is(on_worker(q{SELECT count(*) > 50 AND bool_and(hub = 'coordinator|') FROM hilo.leases}), 't', 'workers lease from the coordinator');
is(sql(q{SELECT count(*) FROM hilo.leases}), 0, 'the coordinator leases nothing');

#
# First draws of many sessions at once, and leases that a session has to fetch itself
#
foreach my $setting ('', "ALTER SYSTEM SET hilo.lease_size = 3; SELECT pg_reload_conf();")
{
	if ($setting)
	{
		$_->safe_psql('postgres', $setting =~ s/; /;\n/gr) for @workers;
		$_->poll_query_until('postgres', "SELECT hilo_number('x/1') = 1 AND current_setting('hilo.lease_size') = '3'") or die 'not reloaded' for @workers;
	}
	my $kind = $setting ? 'small leases' : 'as it is';
	my @errors;
	my $bad = 0;
	foreach my $i (1 .. $FIRST)
	{
		my $name = 't' . ++$number;
		sql($tables{distributed} =~ s/NAME/$name/gr);
		push @errors, scalar at_once(map { [ $_, "INSERT INTO $name (k, v) SELECT k, v FROM src WHERE k <= 60;\nINSERT INTO $name (k, v) SELECT v + 1, k FROM src WHERE k <= 60" ] } @nodes);
		$bad++ if sql("SELECT count(*), count(DISTINCT id) FROM $name") ne '360|360';
	}
	is(join('', @errors), '', "$FIRST first draws by INSERT ... SELECT on three nodes at once, $kind: none fails");
	is($bad, 0, 'no number twice');
}
$_->safe_psql('postgres', "ALTER SYSTEM RESET ALL") for @workers;
$_->reload for @workers;

#
# Free identities: ids are looked up in the shards, by whichever column they are distributed
#
foreach my $how ("bigint, create_distributed_table('NAME', 'k')", "text, create_distributed_table('NAME', 'k')", "bigint, create_distributed_table('NAME', 'id')",
	"text, create_distributed_table('NAME', NULL)", "bigint, create_reference_table('NAME')", "bigint, citus_add_local_table_to_metadata('NAME')")
{
	my $name = 't' . ++$number;
	my ($type, $call) = (split /, /, $how =~ s/NAME/$name/r, 2);
	my ($id, $viewed) = $type eq 'text' ? ("'$name/' || n", "'v_' || id AS id") : ('n', 'id');

	sql("CREATE TABLE $name (id $type, k bigint); SELECT $call; INSERT INTO $name SELECT $id, n FROM generate_series(1, 300) n; CREATE VIEW v_$name AS SELECT $viewed FROM $name");
	foreach my $place ($name, "v_$name")
	{
		sql("SELECT hilo.bind('$place', '$place', 'id')");
		# So often that the server would choose a plan for all numbers.
		my ($result, $out, $err) = $coordinator->psql('postgres', "SELECT string_agg(hilo_number(next_identity_free('$place'))::text, ' ') FROM generate_series(1, 8)");
		is("$out$err", join(' ', 301 .. 308), "$how: next_identity_free() looks into the shards of $place");
	}
}

#
# Seeds, syncs and options
#
my $d = 't' . ++$number;
sql($tables{distributed} =~ s/NAME/$d/gr);
sql("INSERT INTO $d (k, v) SELECT k, v FROM src; INSERT INTO $d (k, v) SELECT k, v FROM src");
sql("SELECT hilo.seed('$d', 10000000)");
ask(@workers);
sql("INSERT INTO $d (k, v) SELECT k, v FROM src");
is(sql("SELECT count(*), count(*) FILTER (WHERE id > 10000000) FROM $d"), '600|200', 'hilo.seed(): workers draw above it');
sql("INSERT INTO $d VALUES (20000000, 1, 1); CREATE INDEX ON $d (id); SELECT hilo.bind('$d', '$d', 'id')");
is(sql("SELECT hilo.sync('$d')"), 20000000, 'hilo.sync(): looks into shards');
ask(@workers);
sql("INSERT INTO $d (k, v) SELECT k, v FROM src");
is(sql("SELECT count(*) FILTER (WHERE id > 20000000) FROM $d"), 200, 'and workers draw above that');
sql("SELECT seed_identity_for('$d', 10000005, true)");
my $free = sql("SELECT hilo_number(next_identity_free('$d'))");
is(sql("SELECT $free > 10000006, count(*) FROM $d WHERE id = $free"), 't|0', 'next_identity_free() looks into shards');
sql("SELECT hilo.configure('$d', node_tag => 'tg')");
ask(@workers);
is(sql("SELECT bool_and(result LIKE '$d/%-tg') FROM run_command_on_all_nodes(\$\$SELECT hilo_next('$d')\$\$)"), 't', 'hilo.configure(): on all nodes');
is(sql("BEGIN; INSERT INTO $d (k, v) SELECT k, v FROM src; SELECT hilo.seed('$d', 30000000); INSERT INTO $d (k, v) SELECT k, v FROM src; COMMIT; SELECT count(*) - count(DISTINCT id) FROM $d"),
	"30000000\n0", 'in a transaction that has written as well');

#
# Attach
#
foreach my $how ("create_distributed_table('NAME', 'k')", "create_distributed_table('NAME', 'id')", "create_reference_table('NAME')")
{
	my $name = 't' . ++$number;
	sql("CREATE TABLE $name (id bigserial PRIMARY KEY, k bigint NOT NULL)");
	sql("ALTER TABLE $name DROP CONSTRAINT ${name}_pkey, ADD PRIMARY KEY (id, k)") if $how =~ /'k'/;
	sql("INSERT INTO $name (id, k) SELECT n, n FROM generate_series(1, 70) n; SELECT " . ($how =~ s/NAME/$name/r));
	# Citus refuses to alter the column by which a table is distributed.
	if ($how =~ /'id'/)
	{
		like(outcome_of($coordinator, "SELECT hilo.attach('$name', 'id')"), qr/cannot execute ALTER TABLE command involving partition column/, "$how: refused by Citus");
		sql("SELECT undistribute_table('$name'); SELECT hilo.attach('$name', collection => '$name'); SELECT create_distributed_table('$name', 'id')");
	}
	else
	{
		is(outcome_of($coordinator, "SELECT hilo.attach('$name', 'id')"), 'fine', "$how: attached");
	}
	is(sql("INSERT INTO $name (k) VALUES (7) RETURNING id"), 71, 'and the numbers go on');
	is(outcome_of($workers[1], "INSERT INTO $name (k) VALUES (8)"), 'fine', 'on a worker, too');
	is(sql("SELECT count(*), count(DISTINCT id) FROM $name"), '72|72', 'no number twice');
}

# Before.
my $before = 't' . ++$number;
sql("CREATE TABLE $before (id bigserial PRIMARY KEY, k bigint); INSERT INTO $before (k) SELECT generate_series(1, 10); SELECT hilo.attach('$before', collection => '$before')");
is(outcome_of($coordinator, "SELECT create_distributed_table('$before', 'id')"), 'fine', 'an attached table has no triggers that Citus would refuse');
is(sql("INSERT INTO $before (k) VALUES (1) RETURNING id > 10"), 't', 'the default draws on');
like(outcome_of($coordinator, "SELECT hilo.bind('$before', '$before', 'id')"), qr/^42710: .*HINT:  Undo that with hilo\.detach\(\), or change the default/s, 'so it is attached');
sql("INSERT INTO $before VALUES (5000, 1)");
is(sql("SELECT hilo.sync('$before')"), 5000, 'hilo.sync() looks into its shards');
is(outcome_of($coordinator, "SELECT undistribute_table('$before'); SELECT hilo.attach('$before', collection => '$before'); SELECT hilo.detach('$before')"), 'fine', 'undistributed, attached and detached');

# Local to the coordinator: before, after, and by a foreign key.
my $reference = sql(q{SELECT min(logicalrelid::text) FROM pg_dist_partition WHERE repmodel = 't'});
sql("CREATE TABLE ref (id int PRIMARY KEY); INSERT INTO ref VALUES (1); SELECT create_reference_table('ref')");
foreach my $how ("SELECT hilo.attach('NAME', collection => 'NAME'); SELECT citus_add_local_table_to_metadata('NAME')", "SELECT citus_add_local_table_to_metadata('NAME'); SELECT hilo.attach('NAME')",
	"SELECT hilo.attach('NAME', collection => 'NAME'); ALTER TABLE NAME ADD FOREIGN KEY (k) REFERENCES ref")
{
	my $name = 't' . ++$number;
	sql("CREATE TABLE $name (id bigserial PRIMARY KEY, k int); INSERT INTO $name VALUES (300, 1)");
	$coordinator->safe_psql('postgres', $how =~ s/NAME/$name/gr =~ s/; /;\n/gr);
	is(sql("INSERT INTO $name (k) VALUES (1) RETURNING id"), 301, "$how: above the rows in the shard");
	sql("INSERT INTO $name VALUES (5000, 1)");
	is(sql("INSERT INTO $name (k) VALUES (1) RETURNING id <> 5000"), 't', 'ids by hand are passed over');
	is(outcome_of($workers[0], "INSERT INTO $name (k) VALUES (1), (1)"), 'fine', 'a worker draws');
	sql("INSERT INTO $name (k) SELECT 1 FROM generate_series(1, 100)");
	is(sql("SELECT count(*), count(DISTINCT id) FROM $name"), '106|106', 'no number twice');
	is(outcome_of($coordinator, $how =~ /FOREIGN/ ? "ALTER TABLE $name DROP CONSTRAINT ${name}_k_fkey" : "SELECT undistribute_table('$name')"), 'fine', 'it becomes an ordinary table');
	sql("INSERT INTO $name (k) SELECT 1 FROM generate_series(1, 100)");
	is(sql("SELECT count(*), count(DISTINCT id) FROM $name"), '206|206', 'no number twice');
	is(sql("SELECT hilo.detach('$name')"), 'sequence', 'and detached');
}

#
# Tags
#
sql("ALTER DATABASE postgres SET hilo.node_tag = 'T'");
like(outcome_of($_, q{SELECT next_server_side_id('s/')}), qr/^55000/, 'a tag that Citus carries to all nodes tells none apart') for @workers;
is(outcome_of($coordinator, q{SELECT next_server_side_id('s/')}), 'fine', 'the coordinator alone draws server-side ids');
sql('ALTER DATABASE postgres RESET hilo.node_tag');

#
# Nodes that come and go
#
my $w = 't' . ++$number;
sql($tables{distributed} =~ s/NAME/$w/gr);
my $third = PostgreSQL::Test::Cluster->new('worker3');
$third->init;
$third->append_conf('postgresql.conf', "shared_preload_libraries = 'citus, hilo'\nlisten_addresses = 'localhost'\nmax_connections = 100\nmax_prepared_transactions = 50\nwal_level = logical\ncitus.node_conninfo = 'sslmode=prefer'\ncitus.enable_statistics_collection = off");
$third->start;
$third->safe_psql('postgres', 'CREATE EXTENSION citus');
sql(sprintf q{SELECT citus_add_node('localhost', %d)}, $third->port);
sql("SELECT rebalance_table_shards('src', shard_transfer_mode => 'block_writes')");
sql("INSERT INTO $w (k, v) SELECT k, v FROM src") for 1 .. 3;
is(outcome_of($third, "INSERT INTO $w (k, v) SELECT v + 1, k FROM src"), 'fine', 'a node added later draws with nothing set up');
$workers[0]->stop('immediate');
my ($ret, $out, $warning) = $coordinator->psql('postgres', "SELECT hilo.seed('$w', 1000000)");
like($warning, qr/WARNING:  members may draw from earlier leases until their next request: .*worker1/, 'a worker that is away: a warning names it');
$workers[0]->start;
$coordinator->stop('immediate');
$coordinator->start;
ask($workers[1], $third);
sql("INSERT INTO $w (k, v) SELECT k, v FROM src") for 1 .. 2;
is(sql("SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id > 1000000) FROM $w"), '1200|1200|400', 'killed and started again: no number twice, all above the seed');

$_->stop foreach $third, reverse @nodes;
done_testing();
