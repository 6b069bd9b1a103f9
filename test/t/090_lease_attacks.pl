# Promises 1 and 3 on a member: other people's functions on the hub, copied databases, workers that end or hang, an identity that is counted meanwhile.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hub = new_node('hub');
my $member = new_member('member', <<SETTINGS);
hilo.lease_size = 100
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.range_size = 1
hilo.max_range_size = 1
max_worker_processes = 20
SETTINGS

sub hub { return $hub->safe_psql('postgres', $_[0]); }
sub sql { return $member->safe_psql('postgres', $_[0]); }

add_hub($member, $hub);

#
# A function that fits as well
#
hub(<<'SQL');
CREATE ROLE someone LOGIN;
GRANT CREATE ON SCHEMA public TO someone;
SET ROLE someone;
CREATE FUNCTION public.lease(text, text, text, OUT low bigint, OUT high bigint) LANGUAGE plpgsql
	AS $$BEGIN RAISE 'called by %', session_user; END$$;
CREATE FUNCTION public.lease(text, text, text, text, text, OUT low bigint, OUT high bigint) LANGUAGE plpgsql
	AS $$BEGIN RAISE 'called by %', session_user; END$$;
SQL
{
	my $someone = session($hub, user => 'someone');
	is($someone->error_of(q{CREATE FUNCTION hilo.lease(text, text, text) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'}), '42501',
		'nobody makes functions in the schema of hilo');
	$someone->finish;
}
is(sql("SELECT hilo.lease_from('a', 'ids_hub'); SELECT hilo_next_number('a')"), "\n1", 'no other function of that name is called');
is(sql("SELECT hilo.lease_from('a|', 'ids_hub'); SELECT next_identity_for('a')"), "\n1", 'nor for identities');

#
# A server by the name in hilo.hub, in a database of another role
#
{
	sql('CREATE ROLE mallory LOGIN');
	$member->safe_psql('postgres', 'CREATE DATABASE theirs OWNER mallory');
	$member->safe_psql('theirs', 'CREATE EXTENSION hilo; CREATE EXTENSION postgres_fdw; GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO mallory; SET ROLE mallory; '
		  . sprintf(q{CREATE SERVER theirs FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%s', dbname 'postgres'); CREATE USER MAPPING FOR PUBLIC SERVER theirs OPTIONS (user '%s')},
			$hub->host, $hub->port, superuser()));
	sub theirs { return message_of($member, 'theirs', "SET hilo.hub = theirs; SET SESSION AUTHORIZATION mallory; SELECT hilo_next_number('stolen')"); }
	like(theirs(), qr/42501: .*belongs neither to a superuser nor to role .*HINT: .*hilo\.lease_from\(\)/s, 'a server of another role is not asked because it has the name in hilo.hub');
	$member->safe_psql('theirs', 'ALTER SERVER theirs OWNER TO ' . superuser());
	like(theirs(), qr/2F003: .*password is required/s, 'nor is a superuser let in without a password by the mapping of all roles');
	is(hub(q{SELECT count(*) FROM hilo.hilo WHERE collection = 'stolen'}), 0, 'the hub has given nothing');
}

#
# A copy of a member's database
#
sql("SELECT hilo.lease_from('c', 'ids_hub'); SELECT hilo_next_number('c')");
$member->safe_psql('template1', 'CREATE DATABASE copy TEMPLATE postgres');
my @numbers = split /\n/,
  $member->safe_psql('copy', "SELECT hilo_next_number('c') FROM generate_series(1, 150)") . "\n"
  . sql("SELECT hilo_next_number('c') FROM generate_series(1, 150)");
my %seen;
is(scalar(grep { $seen{$_}++ } @numbers), 0, 'a copy of a database has leases of its own');
is(scalar(@numbers), 300, 'and so all numbers that it needs');
#
# A row that was restored without firing the triggers, to what it was before the last lease
#
sql("SELECT hilo.lease_from('restored', 'ids_hub'); SELECT hilo_next_number('restored')");
sql(<<'SQL');
ALTER TABLE hilo.hilo DISABLE TRIGGER USER;
UPDATE hilo.hilo SET max = 1 WHERE collection = 'restored';
ALTER TABLE hilo.hilo ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table;
SQL
{
	my $session = session($member);
	is($session->query("SET statement_timeout = '20s'; SELECT count(DISTINCT hilo_next_number('restored')), min(hilo_next_number('restored')) > 1 FROM generate_series(1, 300)"),
		'300|t', 'leased numbers that its row does not know are in nobody\'s way');
	$session->finish;
}

#
# A lease worker that is told to end while it changes a row
#
my $session = session($member);
$session->query("SELECT hilo.lease_from('w', 'ids_hub'); SET test.lease_ahead = 100");
sql("ALTER DATABASE postgres SET test.lease_ahead = 100; ALTER DATABASE postgres SET test.failure_point = 'row changed:term'");
like($session->query("SELECT hilo_next_number('w')"), qr/^\d+$/, 'a draw starts a worker');
wait_until('the worker has ended',
	sub { slurp_file($member->logfile) =~ /terminating background worker "hilo lease worker" due to administrator command|PANIC/ });
unlike(slurp_file($member->logfile), qr/PANIC/, 'it ends when nothing is half done');
$member->safe_psql('template1', 'ALTER DATABASE postgres RESET ALL');
is(sql("SELECT count(DISTINCT hilo_next_number('w')) FROM generate_series(1, 150)"), 150, 'the collection goes on');

#
# Many collections, and a hub that does not answer
#
my $proxy = HiloTest::Proxy->new($hub);
add_hub($member, $hub, server => 'far', host => '127.0.0.1', port => $proxy->port);
sql(<<'SQL');
ALTER DATABASE postgres SET hilo.lease_timeout = '2s';
ALTER DATABASE postgres SET test.lease_retry = '1000';
SELECT hilo.lease_from('many' || n, 'far'), hilo_next_number('many' || n) FROM generate_series(1, 6) n;
SQL
$proxy->mode('hole');
my $before = $proxy->connections;
my $draws = "SELECT hilo_next_number('many' || n) FROM generate_series(1, 6) n";
sql('ALTER DATABASE postgres SET test.lease_ahead = 100');
$session->query("SET test.lease_ahead = 100; SET test.lease_retry = '1000'");
$session->query($draws);
wait_until('all of them know of the failure', sub {
	sql(q{SELECT count(*) FROM hilo.leases WHERE collection LIKE 'many%' AND last_error LIKE '%in time%'}) == 6;
});
is($proxy->connections - $before, 1, 'one worker asks, once, for all of them');
$proxy->mode('pass');
wait_until('there are leases again', sub {
	$session->query($draws);
	sql(q{SELECT count(*) FROM hilo.leases WHERE collection LIKE 'many%' AND last_error IS NULL AND numbers_left > 100}) == 6;
});

#
# A counter that is counted while it becomes a leased one
#
my $waiting = session($member);
$waiting->query("SELECT seed_identity_for('i', 10), hilo_next_number('i'); SET hilo.lease_timeout = '100s'");
$proxy->mode('hole');
for my $name ('i|', 'i')
{
	my $draw = $name eq 'i' ? "SELECT hilo_next_number('i')" : "SELECT next_identity_for('i')";
	my $next = $name eq 'i' ? 2 : 11;

	$before = $proxy->connections;
	$waiting->start("SELECT hilo.lease_from('$name', 'far')");
	wait_until('the hub is asked', sub { $proxy->connections > $before });
	sql("SELECT hilo.release()");
	like(sql($draw), qr/^\d+$/, 'until the hub has answered it is counted as before');
	sql('SELECT pg_cancel_backend(' . $waiting->pid . ')');
	like(($waiting->result)[1], qr/57014/, 'that is canceled');
	like(sql($draw), qr/^\d+$/, 'then all is as before');
}
$proxy->mode('pass');
# While sessions draw without a pause.
my @clients = map { session($member) } 1 .. 4;
my $draws_file = PostgreSQL::Test::Utils::tempdir() . '/draws.sql';
append_to_file($draws_file, "SELECT 'i', next_identity_for('i');\nSELECT 'c', hilo_next_number('i');\n" x 1000);
$_->start("\\i $draws_file") for @clients;
sql("SELECT hilo.lease_from('i|', 'far')");
sql("SELECT hilo.lease_from('i', 'ids_hub')");
sql("SELECT hilo.lease_from('i|', 'ids_hub')");
my @results = map { [ $_->result ] } @clients;
$_->finish for @clients;
is(join('', map { $_->[1] } @results), '', 'sessions draw while their counters become leased');
my %drawn;
is(scalar(grep { $drawn{$_}++ } map { split /\n/, $_->[0] } @results), 0, 'no number comes twice');
is(scalar(keys %drawn), 8000, 'and all come');
$proxy->stop;

for my $s ($session, $waiting)
{
	$s->finish;
}
$member->stop;
$hub->stop;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $member, $hub;
done_testing();
