# Promise 12 on a real Citus cluster, where the server has Citus: a worker draws nothing that other nodes may draw; as members of
# a hub, by the block of doc/many-servers.md, all nodes draw by every kind of statement, and no number comes twice.
use HiloTest;

my ($coordinator, @workers) = map { PostgreSQL::Test::Cluster->new($_) } qw(coordinator worker1 worker2);
my @nodes = ($coordinator, @workers);
my $sharedir = $coordinator->config_data('--sharedir');
plan skip_all => "there is no Citus in $sharedir/extension" unless -e "$sharedir/extension/citus.control";

foreach my $node (@nodes)
{
	$node->init;
	$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'citus'
session_preload_libraries = 'hilo'
listen_addresses = 'localhost'
max_connections = 100
max_prepared_transactions = 50
wal_level = logical
autovacuum = off
hilo.debug_range_size = 1
hilo.max_range_size = 1024
# Citus looks for deadlocks between nodes all the time.
deadlock_timeout = 5ms
citus.enable_statistics_collection = off
citus.node_conninfo = 'sslmode=prefer'
citus.shard_count = 4
CONF
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION citus');
}

sub sql { my ($sql) = @_; return $coordinator->safe_psql('postgres', $sql) }

# The page's names stand for these servers.
sql(sprintf q{SELECT citus_set_coordinator_host('localhost', %d)}, $coordinator->port);
sql(sprintf q{SELECT citus_add_node('localhost', %d)}, $_->port) for @workers;
my $to = "'localhost', port '" . $coordinator->port . "', dbname 'postgres'";
my $set_up = block_of('doc/many-servers.md', 'sql', 'run_command_on_workers') =~ s/'coordinator', dbname 'shop'/$to/r;

sql(q{CREATE EXTENSION hilo; CREATE TABLE src (k int); SELECT create_distributed_table('src', 'k'); INSERT INTO src SELECT generate_series(1, 18000)});
foreach my $table (qw(attached plain))
{
	sql("CREATE TABLE $table (id bigserial, k int, PRIMARY KEY (id, k)); SELECT create_distributed_table('$table', 'k', colocate_with => 'src')");
}
sql(q{SELECT hilo.attach('attached', 'id')});
sql(q{CREATE TABLE orders (id bigint DEFAULT hilo_next_number('orders'), k int, PRIMARY KEY (id, k));
	SELECT create_distributed_table('orders', 'k', colocate_with => 'src');
	CREATE FUNCTION fill_orders(key int) RETURNS void LANGUAGE plpgsql AS 'BEGIN INSERT INTO orders (k) SELECT key FROM generate_series(1, 1000); END';
	SELECT create_distributed_function('fill_orders(int)', 'key', colocate_with => 'orders');
	CREATE TABLE ref (k int PRIMARY KEY); SELECT create_reference_table('ref'); INSERT INTO ref SELECT generate_series(1, 10); CREATE SEQUENCE alone});

# 18,000 rows each: drawn on the coordinator, and on the nodes that have the shards, or where the statement is sent.
my @here = (
	[ $coordinator, 'VALUES', 'INSERT INTO TABLE (k) VALUES ' . join(', ', map { "($_)" } 1 .. 18000) ],
	[ $coordinator, 'COPY', "COPY TABLE (k) FROM stdin;\n" . join('', map { "$_\n" } 1 .. 18000) . "\\.\n" ],
	[ $coordinator, 'upserts', 'INSERT INTO TABLE (k) SELECT generate_series(1, 18000) ON CONFLICT (id, k) DO UPDATE SET k = excluded.k' ]);
my @there = (
	[ $coordinator, 'INSERT ... SELECT, pulled', 'INSERT INTO TABLE (k) SELECT k FROM src ORDER BY k LIMIT 18000' ],
	[ $coordinator, 'INSERT ... SELECT, pushed down', 'INSERT INTO TABLE (k) SELECT k FROM src' ],
	[ $coordinator, 'INSERT ... SELECT, repartitioned', 'INSERT INTO TABLE (k) SELECT k + 1 FROM src' ],
	map { [ $_, 'INSERT, sent to ' . $_->name, $here[2][2] ], [ $_, 'COPY, sent to ' . $_->name, $here[1][2] ] } @workers);
my $delegated = [ $coordinator, 'a delegated function', join('; ', map { "SELECT fill_orders($_)" } 1 .. 18) ];

# Insert in each of these ways; each has to end in this way.
sub insert_ok
{
	my ($table, $end, @ways) = @_;
	like(outcome_of($_->[0], $_->[2] =~ s/TABLE/$table/r), $end, "$table: $_->[1]") for @ways;
	return;
}

#
# Sequences: on the coordinator only, and what shards have moves none
#
insert_ok('attached', qr/^fine$/, @here);
is(sql('SELECT count(*), count(DISTINCT id), max(id) FROM attached'), '54000|54000|54000', 'no number twice');
insert_ok('attached', qr/^55000.*on a Citus worker/s, @there);
like(outcome_of($workers[0], q{SELECT hilo.nextval('attached_id_seq')}), qr/^55000/, 'hilo.nextval on a worker');
is($workers[0]->safe_psql('postgres', q{SET hilo.sequences = on; INSERT INTO plain (k) VALUES (1) RETURNING id > 2^48}), 't', 'the setting does nothing there');
like(outcome_of($coordinator, q{ALTER TABLE ref ADD COLUMN n bigint DEFAULT hilo.nextval('alone')}), qr/^55000/, 'nor do replicas of a table draw');
sql('INSERT INTO attached VALUES (1000000, 1)');
is(sql(q{SELECT now - was, result FROM hilo.sync('attached')}), '0|no ids', 'hilo.sync moves nothing');
my $at = sql('SELECT last_value FROM attached_id_seq');
is(sql(q{SELECT hilo.detach('attached', 'id'); INSERT INTO attached (k) VALUES (1) RETURNING id}) =~ s/.*\n//r, $at + 1, 'nor does hilo.detach');

#
# Collections: with a hub on all nodes
#
insert_ok('orders', qr/^55000.*hilo_hub\.join/s, @there, $delegated);
like(sql($set_up), qr/\n1\|t\|open hub\n2\|t\|member by server hub\n3\|t\|member by server hub$/, 'the block of the page makes all nodes members');
insert_ok('orders', qr/^fine$/, @here, @there, $delegated);
is(sql('SELECT count(*), count(DISTINCT id) FROM orders'), join('|', (11 * 18000) x 2), 'no number twice');
is(sql(q{SELECT string_agg(result, ' ') FROM run_command_on_all_nodes($$ SELECT count(*) FROM hilo_hub.leases WHERE collection = 'orders' $$)}), '1 1 1', 'all nodes have drawn');

# Replicas of a reference table, each of which a node has.
my $replicas = q{SELECT count(DISTINCT result) FROM run_command_on_all_nodes('SELECT string_agg(ref.*::text, '','' ORDER BY k, 2) FROM ref')};
sql(q{ALTER TABLE ref ADD COLUMN n bigint; ALTER TABLE ref ALTER COLUMN n SET DEFAULT hilo_next_number('ref')});
sql("INSERT INTO ref (k) $_") for 'VALUES (101), (102)', 'SELECT k + 200 FROM ref WHERE k < 100', 'SELECT k + 300 FROM src WHERE k < 100';
is(sql($replicas), 1, 'an insert gives all replicas of a reference table the same numbers');
is(sql("ALTER TABLE ref ADD COLUMN m bigint DEFAULT hilo_next_number('ref'); $replicas"), 3, 'a new column does not, as the page says');

$_->stop for reverse @nodes;
done_testing();
