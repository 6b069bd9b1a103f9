# Promise 9 for a Citus cluster, imitated: coordinator and Citus workers draw for the same table at the same time.  With nothing set up the workers lease from the coordinator that pg_dist_node names; no number comes twice.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The catalogs of Citus that say what a node is, where the coordinator is, and how Citus connects.
my ($coordinator, @workers) = map { PostgreSQL::Test::Cluster->new($_) } qw(coordinator worker1 worker2);
my $group = 0;
my $libdir = build_failure_points();
foreach my $node ($coordinator, @workers)
{
	$node->init;
	$node->append_conf('postgresql.conf', "dynamic_library_path = '$libdir:\\$libdir'\nmax_connections = 30\nautovacuum = off\nhilo.lease_size = 300\ntest.lease_retry = 0");
	$node->start;
	$node->safe_psql('postgres', qq{
		CREATE EXTENSION hilo;
		SET allow_system_table_mods = on;
		CREATE TABLE pg_catalog.pg_dist_local_group (groupid int NOT NULL PRIMARY KEY);
		INSERT INTO pg_catalog.pg_dist_local_group VALUES ($group);
		CREATE TABLE pg_catalog.pg_dist_node (nodeid int, groupid int, nodename text, nodeport int, noderole text);
		CREATE TABLE pg_catalog.pg_dist_authinfo (nodeid int, rolename name, authinfo text);
		CREATE TABLE pg_catalog.pg_dist_poolinfo (nodeid int, poolinfo text);
	});
	$group++;
}

# Citus's function that runs a command on each worker, in sessions of their own.
my @places = map { '{' . join(',', map { "\"$_\"" } $_->host, $_->port) . '}' } @workers;
$coordinator->safe_psql('postgres', sprintf(q{
	CREATE EXTENSION dblink;
	SET allow_system_table_mods = on;
	CREATE FUNCTION pg_catalog.run_command_on_workers(command text, parallel boolean DEFAULT true,
		OUT nodename text, OUT nodeport int, OUT success boolean, OUT result text) RETURNS SETOF record LANGUAGE plpgsql AS $$
	DECLARE
		place text;
	BEGIN
		FOREACH place IN ARRAY '{%s}'::text[] LOOP
			nodename := (place::text[])[1];
			nodeport := (place::text[])[2];
			BEGIN
				SELECT t.r INTO result FROM public.dblink(format('host=%%s port=%%s dbname=postgres', nodename, nodeport), command) t(r text);
				success := true;
			EXCEPTION WHEN OTHERS THEN
				success := false;
				result := SQLERRM;
			END;
			RETURN NEXT;
		END LOOP;
	END $$;
}, join(',', map { s/"/\\"/gr =~ s/(.*)/"$1"/r } @places)));

# All nodes draw at the same time, two sessions each; the numbers, and the errors.
sub draw_everywhere
{
	my ($sql) = @_;
	my ($errors, @outputs) = at_once(map { [ $_, "$sql;\n" x 10 ] } ($coordinator, @workers) x 2);

	return ([ map { split /\n/ } @outputs ], $errors);
}

sub distinct
{
	my %seen;
	$seen{$_}++ foreach @_;
	return scalar(keys %seen);
}

# What is known of the coordinator on a worker.
sub on_workers
{
	my ($sql) = @_;
	$_->safe_psql('postgres', $sql) foreach @workers;
	return;
}

my $draw = q{SELECT hilo_next_number('orders') FROM generate_series(1, 100)};
my ($worker, $other) = @workers;

#
# The coordinator is not known
#
like(outcome_of($worker, $draw), qr/^55000: .*the Citus coordinator.*the coordinator is not in pg_dist_node.*HINT:  Use SELECT citus_set_coordinator_host/s,
	'no coordinator: refused, with the hint of Citus');
is($worker->safe_psql('postgres', 'SELECT coalesce(max(max), 0) FROM hilo.hilo'), 0, 'and nothing has been counted');

#
# It is
#
my ($host, $port) = ($coordinator->host, $coordinator->port);
on_workers("INSERT INTO pg_dist_node VALUES (1, 0, '$host', $port, 'primary'), (7, 0, '$host', 1, 'secondary'), (2, 1, 'nowhere', 1, 'primary')");
my ($numbers, $errors) = draw_everywhere($draw);
is($errors, '', 'all nodes draw, with nothing set up');
is(distinct(@$numbers), 6000, 'no number twice');
is(join(' ', map { $_->safe_psql('postgres', q{SELECT flags & 2, hub FROM hilo.hilo WHERE collection = 'orders'}) } $coordinator, @workers),
	'0| 2|coordinator| 2|coordinator|', 'the workers lease, the coordinator counts');
(my $ids, $errors) = draw_everywhere(q{SELECT next_identity('companies')});
is($errors, '', 'all nodes draw identities');
is(distinct(@$ids), 60, 'no identity twice');
($ids, $errors) = draw_everywhere(q{SELECT hilo_next('texts'), hilo_document_id('texts'), (hilo.next_range('texts')).low} =~ s/, \(.*//r);
is($errors, '', 'all nodes draw ids');
is(distinct(map { split /\|/ } @$ids), 120, 'no id twice');
like(outcome_of($coordinator, q{SELECT hilo.lease_from('own', 'coordinator|')}), qr/^55000/, 'the coordinator leases nothing from itself');
like(outcome_of($worker, q{SELECT hilo.lease('orders', 5)}), qr/^55000/, 'a worker is no hub');
like(outcome_of($worker, q{SELECT hilo.lease('new', 5)}), qr/^55000/, 'of new ones, either');

#
# Each worker is a member by itself, even if one is a copy of another
#
my $groups = q{SELECT string_agg(DISTINCT substring(member FROM '[^/]*$'), ' ') FROM hilo.members WHERE collection = 'orders'};
is($coordinator->safe_psql('postgres', $groups), '1 2', 'the group is in the name of a member');

#
# Who administers on a worker is sent to the coordinator
#
$worker->safe_psql('postgres', 'CREATE TABLE documents (id bigint PRIMARY KEY)');
foreach my $call (q{hilo.seed('orders', 5)}, q{hilo.seed('never drawn here', 5)}, q{seed_identity_for('companies', 5)}, q{hilo.configure('orders', max_value => 5)},
	q{hilo.bind('companies', 'documents', 'id')}, q{hilo.drop('orders')}, q{hilo.drop('orders', true)}, q{hilo.drop('never drawn here')},
	q{hilo.drop('companies|', true)}, q{hilo.make_ordered('orders')}, q{hilo.make_ordered('never drawn here')})
{
	my ($function) = $call =~ /^([\w.]+)/;
	my $command = $function eq 'hilo.make_ordered' ? 'CALL' : 'SELECT';

	like(outcome_of($worker, "$command $call"), qr/^55000: .* is counted by the Citus coordinator.*HINT:  Call \Q$function\E\(\) on the coordinator, \Q$host\E:$port\./s, "$call is refused");
}
is($worker->safe_psql('postgres', q{SELECT count(*) FROM hilo.hilo WHERE collection = 'never drawn here'}), 0, 'and nothing has changed');

#
# The limit of a type is known before anybody draws on the coordinator
#
$coordinator->safe_psql('postgres', q{CREATE TABLE small (id smallint); SELECT hilo.bind('small', 'small', 'id')});
like(outcome_of($_, q{SELECT hilo_next_number('small')::smallint FROM generate_series(1, 33000)}), qr/^2200H/, 'a smallint column: no worker draws a larger number') for @workers;
is($coordinator->safe_psql('postgres', q{SELECT max, max_value FROM hilo.hilo WHERE collection = 'small'}), '32767|32767', 'all smaller ones were drawn');

#
# The extension, created in a transaction that is still open
#
{
	$_->safe_psql('template1', 'CREATE DATABASE early') for $coordinator, $worker;
	$worker->safe_psql('early', qq{
		CREATE EXTENSION hilo;
		SET allow_system_table_mods = on;
		CREATE TABLE pg_catalog.pg_dist_local_group (groupid int NOT NULL PRIMARY KEY);
		INSERT INTO pg_catalog.pg_dist_local_group VALUES (1);
		CREATE TABLE pg_catalog.pg_dist_node (nodeid int, groupid int, nodename text, nodeport int, noderole text);
		INSERT INTO pg_catalog.pg_dist_node VALUES (1, 0, '$host', $port, 'primary');
	});
	my $creates = session($coordinator, dbname => 'early');
	$creates->query_safe('BEGIN; CREATE EXTENSION hilo');
	like(message_of($worker, 'early', q{SELECT hilo_next_number('early')}), qr/42704: .*extension "hilo" is not installed on the server.*HINT:  Create it there, and commit that/s,
		'not committed on the coordinator: a worker says so');
	$creates->query_safe('COMMIT');
	is($worker->safe_psql('early', q{SELECT hilo_next_number('early')}), 1, 'and draws once it is');
	$creates->finish;
}

#
# What happens on the coordinator counts for the workers
#
my $session = session($worker);
$session->query_safe(q{SELECT hilo_next_number('orders')});
sub at_workers { $coordinator->safe_psql('postgres', $_[0]); $_->safe_psql('postgres', 'SELECT hilo.lease_report()') for @workers; return; }
at_workers(q{SELECT hilo.seed('orders', 1000000)});
is(join(' ', map { $_->safe_psql('postgres', q{SELECT hilo_next_number('orders') > 1000000}) } @workers), 't t', 'hilo.seed(): no worker draws at or below');
is($session->query_safe(q{SELECT hilo_next_number('orders') > 1000000}), 't', 'nor a session that holds a range');
at_workers(q{BEGIN; SELECT hilo.seed('orders', 2000000); ROLLBACK});
is($session->query_safe(q{SELECT hilo_next_number('orders') > 2000000}), 't', 'whatever becomes of the transaction');
at_workers(q{CREATE TABLE known (id bigint PRIMARY KEY); INSERT INTO known VALUES (3000000); SELECT hilo.bind('orders', 'known', 'id'), hilo.sync('orders'); SELECT hilo.unbind('orders')});
is($session->query_safe(q{SELECT hilo_next_number('orders') > 3000000}), 't', 'hilo.sync() as well');
like(outcome_of($worker, q{SELECT hilo.sync('orders')}), qr/^42704/, 'on a worker, no column draws from it');
like(outcome_of($coordinator, q{SELECT hilo.sync('orders')}), qr/^42704: .*HINT:  Use hilo.attach\(\) or hilo.bind\(\)/s, 'and what is missing there');
at_workers(q{SELECT hilo.configure('orders', node_tag => 'tg')});
is(join(' ', map { $_->safe_psql('postgres', q{SELECT hilo_next('orders') LIKE 'orders/%-tg'}) } @workers), 't t', 'hilo.configure(): options are those of the coordinator');
at_workers(q{SELECT hilo.configure('orders', reset => true)});
like($session->query_safe(q{SELECT hilo_next('orders')}), qr/-A$/, 'also when they are reset');
$session->finish;
$other->stop;
my ($result, $out, $warning) = $coordinator->psql('postgres', q{SELECT hilo.seed('orders', 4000000)});
is($out, 4000000, 'a worker that is away: it is done');
like($warning, qr/WARNING:  members may draw from earlier leases until their next request: .*HINT:  To make a member ask now, call hilo.lease_report\(\) there/s, 'with a warning');
is($worker->safe_psql('postgres', q{SELECT hilo.lease_report() > 0; SELECT hilo_next_number('orders') > 4000000}), "t\nt", 'the other one asks');
$other->start;
is($other->safe_psql('postgres', q{SELECT hilo_next_number('orders') > 4000000}), 't', 'so is that one, having lost its lease');

#
# As Citus connects
#
is($worker->safe_psql('postgres', q{SELECT count(*) FROM hilo.hub WHERE hub = 'coordinator|'}), 0, 'as no role of a user mapping');
my $owner = $worker->safe_psql('postgres', 'SELECT current_user');
sub connects { my ($name) = @_; return outcome_of($worker, "SELECT hilo_next_number('$name')"); }
is(connects('plain'), 'fine', 'it connects');
on_workers("INSERT INTO pg_dist_poolinfo VALUES (1, 'port=1')");
like(connects('pool'), qr/^08001: .*PGSQL\.1" failed/s, 'pg_dist_poolinfo: by the pooler');
on_workers('TRUNCATE pg_dist_poolinfo');
on_workers("INSERT INTO pg_dist_authinfo VALUES (0, '$owner', 'port=2')");
like(connects('authentication'), qr/^08001: .*PGSQL\.2" failed/s, 'pg_dist_authinfo: for all nodes');
on_workers("INSERT INTO pg_dist_authinfo VALUES (1, '$owner', 'port=$port')");
is(connects('authentication'), 'fine', 'and for one');
on_workers('TRUNCATE pg_dist_authinfo');
$worker->append_conf('postgresql.conf', "citus.node_conninfo = 'options=-crole=unknown'");
$worker->reload;
$worker->poll_query_until('postgres', q{SELECT current_setting('citus.node_conninfo')}, 'options=-crole=unknown') or die 'not reloaded';
like(connects('common'), qr/^08001: .*role "unknown" does not exist/s, 'citus.node_conninfo');
$worker->append_conf('postgresql.conf', "citus.node_conninfo = 'host=certificate.example'");
$worker->reload;
$worker->poll_query_until('postgres', q{SELECT current_setting('citus.node_conninfo')}, 'host=certificate.example') or die 'not reloaded';
on_workers("UPDATE pg_dist_node SET nodename = '192.0.2.300' WHERE nodeid = 1");
like(connects('address'), qr/^08001: .*"?192\.0\.2\.300/s, 'with a host there, nodes are found by address');
on_workers("UPDATE pg_dist_node SET nodename = '$host' WHERE nodeid = 1");
$worker->adjust_conf('postgresql.conf', 'citus.node_conninfo', undef);
$worker->reload;
$worker->poll_query_until('postgres', q{SELECT current_setting('citus.node_conninfo', true)}, '') or die 'not reloaded';
# Its row may be there: it names the hub that was asked, so that reports to that include it.
is($worker->safe_psql('postgres', q{SELECT count(*) FROM hilo.hilo WHERE collection IN ('pool', 'common', 'address') AND (max > 0 OR flags & 2 <> 0)}), 0,
	'a collection whose first lease failed is not leased, and counts nothing');

#
# The setting hilo.hub
#
$worker->safe_psql('postgres', qq{CREATE EXTENSION postgres_fdw; CREATE SERVER named FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres'); CREATE USER MAPPING FOR CURRENT_USER SERVER named});
is($worker->safe_psql('postgres', q{SET hilo.hub = 'named'; SELECT hilo_next_number('by setting') > 0; RESET hilo.hub; SELECT hub FROM hilo.hilo WHERE collection = 'by setting'}), "t\nnamed", 'comes before the coordinator');
like(outcome_of($worker, q{SET hilo.hub = 'named'; SELECT hilo_next_number('orders')}), qr/^55000: "orders" is leased from the Citus coordinator, but the setting "hilo.hub" names server "named"/, 'another one than in the row: refused, naming both');
is(outcome_of($worker, q{SELECT hilo_next_number('orders')}), 'fine', 'reset, it draws');
like(outcome_of($worker, q{SET hilo.hub = 'nowhere'; SELECT hilo_next_number('fits')}), qr/^42704: .*server "nowhere".*HINT:  The setting "hilo.hub" names that server/s, 'a server that does not exist: refused, naming the setting');
is(outcome_of($worker, q{SELECT hilo_next_number('fits')}), 'fine', 'reset, it is leased from the coordinator');
like(outcome_of($coordinator, q{SET hilo.hub = 'nowhere'; SELECT hilo_next_number('counts')}), qr/^42704/, 'on the coordinator, too');
is($coordinator->safe_psql('postgres', q{SELECT hilo_next_number('counts')}), 1, 'reset, it counts here');
like(outcome_of($worker, q{LOAD 'hilo'; SET hilo.hub = 'a|b'}), qr/^22023/, 'a name with a bar');
like(outcome_of($worker, q{SELECT hilo.lease_from('orders', 'a|b')}), qr/^42939/, 'nor for hilo.lease_from()');

#
# Counted before the node was a worker
#
$group = $worker->safe_psql('postgres', 'SELECT groupid FROM pg_dist_local_group');
$worker->safe_psql('postgres', 'UPDATE pg_dist_local_group SET groupid = 0');
$worker->safe_psql('postgres', q{SELECT hilo_next_number('counted') FROM generate_series(1, 500)});
$session = session($worker);
is($session->query_safe(q{SELECT hilo_next_number('counted') > 500}), 't', 'no worker: it counts');
# As Citus does, tell all sessions.
$worker->safe_psql('postgres', "BEGIN; TRUNCATE pg_dist_local_group; INSERT INTO pg_dist_local_group VALUES ($group); COMMIT");
$coordinator->safe_psql('postgres', q{SELECT hilo_next_number('counted') FROM generate_series(1, 2000)});
is($session->query_safe(q{SELECT hilo_next_number('counted') > 2000}), 't', 'then it leases, above both, whatever a session had left');
$session->finish;
is($worker->safe_psql('postgres', "BEGIN; TRUNCATE pg_dist_local_group; INSERT INTO pg_dist_local_group VALUES (9); COMMIT; SELECT hilo_next_number('new in group 9') > 0"), 't', 'a copy that is a node of its own');
is($coordinator->safe_psql('postgres', q{SELECT member ~ '/9$' FROM hilo.members WHERE collection = 'new in group 9'}), 't', 'is a member of its own');
$worker->safe_psql('postgres', "BEGIN; TRUNCATE pg_dist_local_group; INSERT INTO pg_dist_local_group VALUES ($group); COMMIT");

#
# Server-side ids, and a tag of this node
#
like(outcome_of($worker, q{SELECT next_server_side_id('a/')}), qr/^55000: .*postgresql\.conf/s, 'server-side ids are not leased');
like(outcome_of($worker, q{SET hilo.node_tag = 'W1'; SELECT next_server_side_id('a/')}), qr/^55000/, 'a tag of the session does not do');
$worker->safe_psql('postgres', q{ALTER DATABASE postgres SET hilo.node_tag = 'W1'});
like(outcome_of($worker, q{SELECT next_server_side_id('a/')}), qr/^55000/, 'nor one of the database');
$worker->safe_psql('postgres', q{ALTER DATABASE postgres RESET hilo.node_tag});
$worker->append_conf('postgresql.conf', "hilo.node_tag = 'W1'");
$worker->reload;
$worker->poll_query_until('postgres', q{SELECT current_setting('hilo.node_tag')}, 'W1') or die 'not reloaded';
like($worker->safe_psql('postgres', q{SELECT next_server_side_id('a/')}), qr/-W1$/, 'one in postgresql.conf does');
like(outcome_of($worker, q{SET hilo.node_tag = 'W2'; SELECT next_server_side_id('a/')}), qr/^55000/, 'unless a session sets another one');
$worker->adjust_conf('postgresql.conf', 'hilo.node_tag', "'A'");
$worker->reload;
$worker->poll_query_until('postgres', q{SELECT current_setting('hilo.node_tag')}, 'A') or die 'not reloaded';
like(outcome_of($worker, q{SELECT next_server_side_id('a/')}), qr/^55000/, 'the tag of all does not');

#
# Privileges
#
$worker->safe_psql('postgres', 'CREATE ROLE somebody');
like(outcome_of($worker, qq{LOAD 'hilo'; SET ROLE somebody; SET hilo.$_}), qr/^42501/, "an ordinary role may not set it: hilo.$_") foreach "hub = ''";
is(outcome_of($worker, q{SET ROLE somebody; SELECT hilo_next_number('somebody')}), 'fine', 'all roles draw');

#
# The coordinator is away, or this node is no worker any more
#
$session = session($worker);
1 until $session->query_safe(q{SELECT hilo_next_number('orders') > 0, EXISTS (SELECT FROM hilo.ranges WHERE collection = 'orders')}) eq 't|t';
$coordinator->stop('fast');
is($session->query_safe(q{SELECT hilo_next_number('orders') > 0}), 't', 'without the coordinator: out of the lease');
like(outcome_of($worker, q{SELECT hilo_next_number('never drawn')}), qr/^08/, 'without the coordinator: no new collection');
$session->finish;
$other->safe_psql('postgres', 'UPDATE pg_dist_local_group SET groupid = 0');
is($other->safe_psql('postgres', q{SELECT hilo_next_number('never leased')}), 1, 'no worker: what was never leased counts here');
like(outcome_of($other, q{SELECT hilo_next_number('orders')}), qr/^55000: .*not a Citus worker/, 'no worker: what was leased is refused');

$_->stop foreach @workers;
done_testing();
