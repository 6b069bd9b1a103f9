# Promise 12 on a node of a Citus cluster, imitated: a Citus worker draws nothing that other nodes may draw, and hears at once that it has become one.
use HiloTest;

# The catalog of Citus that says what a node is.
my ($coordinator, $worker) = map { server($_ ? 'worker' : 'coordinator', 'autovacuum = off', qq{
	CREATE EXTENSION hilo;
	SET allow_system_table_mods = on;
	CREATE TABLE pg_catalog.pg_dist_local_group (groupid int NOT NULL PRIMARY KEY);
	INSERT INTO pg_catalog.pg_dist_local_group VALUES ($_);
}) } 0, 1;

# As Citus does, tell all sessions.
sub set_group
{
	$worker->safe_psql('postgres', "BEGIN; TRUNCATE pg_dist_local_group; INSERT INTO pg_dist_local_group VALUES ($_[0]); COMMIT");
	return;
}

#
# What is counted where
#
$worker->safe_psql('postgres', 'CREATE SEQUENCE numbers');
foreach my $draw (q{SELECT hilo_next_number('orders')}, q{SELECT hilo_next('orders')}, q{SELECT hilo_reserve('orders', 5)},
	q{SELECT hilo.next_range('orders')}, q{SELECT next_identity('companies')}, q{SELECT next_server_side_id('a/')},
	q{SELECT hilo.nextval('numbers')})
{
	like(outcome_of($worker, $draw), qr/^55000/, "a worker: $draw is refused");
	is(outcome_of($coordinator, $draw), 'fine', "the coordinator: $draw") unless $draw =~ /nextval/;
}
is($worker->safe_psql('postgres', 'SELECT coalesce(max(max), 0) FROM hilo.hilo'), 0, 'and nothing has been counted');

#
# A node that becomes a worker
#
set_group(0);
my $session = session($worker);
is($session->query_safe(q{SELECT count(hilo_next_number('counted')) FROM generate_series(1, 500)}), 500, 'no worker: it counts');
set_group(1);
is($session->error_of(q{SELECT hilo_next_number('counted')}), '55000', 'it has become one: refused, whatever a session had left');
set_group(0);
is($session->query_safe(q{SELECT hilo_next_number('counted') > 500}), 't', 'no worker any more: it goes on');
$session->finish;
set_group(1);

#
# Server-side ids, and a tag of this node
#
like(outcome_of($worker, q{SET hilo.node_tag = 'W1'; SELECT next_server_side_id('a/')}), qr/^55000/, 'a tag of the session does not do');
$worker->safe_psql('postgres', q{ALTER DATABASE postgres SET hilo.node_tag = 'W1'});
like(outcome_of($worker, q{SELECT next_server_side_id('a/')}), qr/^55000/, 'nor one of the database');
$worker->safe_psql('postgres', q{ALTER DATABASE postgres RESET hilo.node_tag});
configure($worker, 'hilo.node_tag' => 'W1');
like($worker->safe_psql('postgres', q{SELECT next_server_side_id('a/')}), qr/-W1$/, 'one in postgresql.conf does');
like(outcome_of($worker, q{SET hilo.node_tag = 'W2'; SELECT next_server_side_id('a/')}), qr/^55000/, 'unless a session sets another one');
configure($worker, 'hilo.node_tag' => 'A');
like(outcome_of($worker, q{SELECT next_server_side_id('a/')}), qr/^55000/, 'the tag of all does not');

$_->stop foreach $coordinator, $worker;
done_testing();
