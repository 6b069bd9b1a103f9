# Promises 1, 4, 5 and 9 where hub and member do not know the same: a limit that only the member has, rows that arrive
# from a hub, a first answer that was lost, and a hub that lies.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_member('server', <<SETTINGS, allows_streaming => 'logical');
wal_level = logical
test.lease_ahead = 0
test.lease_retry = 0
SETTINGS
my $hub = database($node, 'hub');
my @all = map { database($node, "member$_") } 1 .. 2;
my ($first, $second) = @all;

sub use_hub
{
	my ($name, %how) = @_;

	add_hub($node, $node, db => $name, dbname => 'hub', %how);
	$node->safe_psql('template1', "ALTER DATABASE $name SET hilo.hub = 'ids_hub'");
	return;
}

use_hub($_->name) for @all;

# How many numbers the hub has given.
sub given { return $hub->sql("SELECT coalesce(max(max), 0) FROM hilo.hilo WHERE collection = '$_[0]'"); }

#
# A limit that the hub does not know
#
for my $member (@all)
{
	$member->sql(q{SET client_min_messages = error; CREATE TABLE small (id smallint PRIMARY KEY, t text); SELECT hilo.attach('small', collection => 'small')});
	is($member->sql(q{INSERT INTO small (t) VALUES ('x') RETURNING id < 1000}), 't', $member->name . ' has numbers below the limit of its column');
}
cmp_ok(given('small'), '<=', 2 * 32768 / 64, 'a lease takes a small share of what is left below it');

#
# What is lost is not made up for by a larger lease
#
$first->sql(q{SET client_min_messages = error; CREATE TABLE loose (id int PRIMARY KEY, t text); SELECT hilo.attach('loose', collection => 'loose')});
for (1 .. 5)
{
	$first->sql(q{INSERT INTO loose (t) VALUES ('x'); SELECT hilo.sync('loose'::regclass)});
}
cmp_ok(given('loose'), '<=', 5 * 65536, 'five leases that hilo.sync() has invalidated were of the smallest size');

#
# An id far above all others, by a mistake on a member
#
$first->sql(q{SET client_min_messages = error; CREATE TABLE far (id bigint PRIMARY KEY, t text); SELECT hilo.attach('far'); INSERT INTO far (t) VALUES ('x'); INSERT INTO far VALUES (9000000000000000000)});
like($first->message('SELECT count(*) FROM hilo.sync()'), qr/WARNING: .*collection "far" is not moved to 9000000000000000000.*hilo\.seed\(\) where it is counted/s, 'is not followed, as the hub would not do that, either');
is($first->message('SELECT hilo.lease_report()') =~ /WARNING/, '', 'so nothing keeps the member from reporting');
$first->sql(q{SELECT hilo.seed('far', 9000000000000000000)});
like($first->message('SELECT hilo.lease_report()'), qr/WARNING: .*numbers of "far" up to 9000000000000000000 would.*HINT: .*hilo\.lease_from/s, 'a seed on the member is, and the hub says what to do');
like($first->message(q{SELECT hilo.lease_from('far', NULL)}), qr/WARNING: .*could not tell/, 'it leaves');
$first->sql(q{SELECT hilo.seed('far', 1, true)});
is($first->message('SELECT hilo.lease_report()') =~ /WARNING/, '', 'counted there, it is not reported any more');
$first->sql(q{SET client_min_messages = error; SELECT hilo.lease_from('far', 'ids_hub')});
is($first->sql(q{INSERT INTO far (t) VALUES ('x') RETURNING id < 1000000}), 't', 'and can be leased again');

#
# Rows that arrive from the hub
#
$hub->sql(q{SELECT hilo_next_number('stock') FROM generate_series(1, 5); SELECT hilo.configure('line', ordered => true), hilo_next_number('line')});
my $received = database($node, 'received');
use_hub('received');
$hub->sql(q{CREATE PUBLICATION everything FOR ALL TABLES; SELECT pg_create_logical_replication_slot('received', 'pgoutput')});
$received->sql(sprintf q{CREATE SUBSCRIPTION received CONNECTION '%s' PUBLICATION everything WITH (create_slot = false, slot_name = 'received')}, $node->connstr . ' dbname=hub');
wait_until('the rows have arrived', sub { $received->sql(q{SELECT count(*) = 2 FROM hilo.hilo WHERE collection IN ('stock', 'line')}) eq 't' });
my @numbers = map { $_->sql(q{SELECT hilo_next_number('stock')}) } $received, $hub, $received, $hub;
is(scalar(keys %{ { map { $_ => 1 } @numbers } }), 4, 'a collection that arrived by replication is leased') or diag("@numbers");
like($received->message(q{SELECT hilo_next_number('line')}), qr/ERROR: .*55000.*is ordered/s, 'an ordered one is not counted at both');
$received->sql('DROP SUBSCRIPTION received');
is($received->sql(q{SELECT flags & (32 | 256) FROM hilo.hilo WHERE collection = 'line'}), 0, 'nor is it taken for one whose earlier draws have ended');

my $dump = PostgreSQL::Test::Utils::tempdir() . '/hub.sql';
my $alone = database($node, 'alone');
$alone->sql(q{SELECT hilo_next_number('parcels') FROM generate_series(1, 3)});
$node->command_ok([ 'pg_dump', '-f', $dump, $alone->connstr ], 'dumped');
$node->safe_psql('postgres', 'CREATE DATABASE from_dump');
my $from_dump = HiloTest::Database->new($node, 'from_dump');
$node->safe_psql('template1', q{ALTER DATABASE from_dump SET hilo.hub = 'ids_hub'});
restore_sql($node, $dump, 'from_dump');
add_hub($node, $node, db => 'from_dump', dbname => 'alone');
@numbers = map { $_->sql(q{SELECT hilo_next_number('parcels')}) } $alone, $from_dump, $alone, $from_dump;
is(scalar(keys %{ { map { $_ => 1 } @numbers } }), 4, 'so is one that came with a dump') or diag("@numbers");

#
# A first answer that was lost, and then a new term
#
my $proxy = HiloTest::Proxy->new($node);
my $late = database($node, 'late');
use_hub('late', host => '127.0.0.1', port => $proxy->port);
$proxy->mode('answer');
isnt($late->error(q{SELECT hilo_next_number('late')}), '', 'the first answer is lost');
$proxy->mode('pass');
my $missing = $hub->sql('SELECT missing FROM hilo.hub_resume(again => true)');
like($missing, qr/\{.*\d.*\}/, 'a new term waits for that member, too');
$_->sql('SELECT hilo.lease_report()') for @all, $received;
like($late->message(q{SELECT hilo_next_number('late')}), qr/55000/, 'which is refused, and reports');
is($hub->sql('SELECT is_open, missing FROM hilo.hub_resume(skip => 0)'), 't|{}', 'so the hub resumes');
is($late->sql('SELECT hilo.lease_report()'), 1, 'it also reports when it is told to');
wait_until('it draws again', sub { $late->error(q{SELECT hilo_next_number('late')}) eq '' });

#
# Leases that are fetched ahead, where the first host does not answer
#
my $ahead = database($node, 'ahead');
add_hub($node, $node, db => 'ahead', dbname => 'hub', host => '127.0.0.1,' . $node->host, port => $proxy->port . ',' . $node->port);
$node->safe_psql('template1', q{ALTER DATABASE ahead SET hilo.hub = 'ids_hub'; ALTER DATABASE ahead SET hilo.lease_size = 100; ALTER DATABASE ahead SET test.lease_ahead = 75; ALTER DATABASE ahead SET test.lease_duration = 0});
$ahead->sql(q{SELECT hilo_next_number('ahead')});
$proxy->mode('hole');
wait_until('the worker has come to the second host', sub {
	$ahead->sql(q{SELECT hilo_next_number('ahead') FROM generate_series(1, 9); SELECT numbers_left > 100 FROM hilo.leases WHERE collection = 'ahead'}) =~ /t$/ });
is($ahead->sql(q{SELECT last_error IS NULL FROM hilo.leases WHERE collection = 'ahead'}), 't', 'a host that is silent leaves time for the next one');
$proxy->stop;

#
# Another hub takes the place of one, and not all is leased from it again
#
my $next_hub = database($node, 'next_hub');
my $torn = database($node, 'torn');
use_hub('torn');
$torn->sql(q{SELECT hilo.lease_from('old', 'ids_hub'), hilo.lease_from('orders', 'ids_hub'), hilo_next_number('old'), hilo_next_number('orders')});
$next_hub->sql(q{SET client_min_messages = error; SELECT hilo.seed('old', 1000000), hilo.seed('orders', 1000000)});
$torn->sql(q{ALTER SERVER ids_hub OPTIONS (SET dbname 'next_hub'); SELECT hilo.lease_from('orders', 'ids_hub'), hilo_next_number('orders')});
my $said = $torn->message('SELECT hilo.lease_report()');
like($said, qr/WARNING: .*not the hub that the member knows.*DETAIL:  .*such as "old"/s, 'a report names the collection that is left behind');
is($next_hub->sql('SELECT is_open FROM hilo.hub_resume(again => true)'), 'f', 'the new hub waits for a report');
$torn->message('SELECT hilo.lease_report()');
is($next_hub->sql('SELECT is_open FROM hilo.hub_resume(skip => 0)'), 't', 'which has come: what is left behind keeps nothing back');
like($torn->message(q{SELECT hilo_next_number('fresh')}), qr/55000.*not the hub of that name that "old" is leased from/s, 'a new collection is refused, and told why');
$torn->sql(q{SELECT hilo.lease_from('old', 'ids_hub')});
is($torn->message('SELECT hilo.lease_report()') =~ /WARNING/, '', 'once all are leased from the new hub, no warning is left');
cmp_ok($torn->sql(q{SELECT hilo_next_number('fresh')}), '>', 0, 'and new ones are leased');

#
# Members that none can be
#
like($hub->message(qq{INSERT INTO hilo.member (member, collection, highest, seen_at) VALUES ($_, 1, now())}), qr/^psql:.*WARNING: .*left out/, "not restored: $_")
  for q{E'm|\n', 'lost'}, q{'m', 'a||'}, q{'m', ''}, q{'m', repeat('x', 256)};
is($hub->sql(q{INSERT INTO hilo.member (member, collection, highest, seen_at) VALUES ('other', 'a/', 1, now()), ('other', repeat('x', 255), 1, now()); SELECT hilo.hub_forget('other', true)}),
	2, 'one whose collection may not have its name under the settings is, and can be forgotten');

#
# A hub that lies
#
my $liar = database($node, 'liar');
my $trusting = database($node, 'trusting');
$node->safe_psql('template1', q{ALTER DATABASE trusting SET hilo.hub = 'ids_hub'});
add_hub($node, $node, db => 'trusting', dbname => 'liar');
$trusting->sql(q{SELECT hilo_next_number('a'), hilo_next_number('b')});
my $report = 'hilo.report(text,bigint,bigint,bigint,text[],bigint[],text[],bigint)';
$liar->sql(<<SQL);
ALTER EXTENSION hilo DROP FUNCTION $report;
DROP FUNCTION $report;
CREATE FUNCTION hilo.report(member text, known_lineage bigint, known_term bigint, known_term_id bigint, collections text[], highest bigint[],
	"left" text[] DEFAULT '{}', started bigint DEFAULT NULL, OUT collection text, OUT epoch bigint, OUT range_size int, OUT max_range_size int,
	OUT node_tag text, OUT separator text, OUT lineage bigint, OUT term bigint, OUT term_id bigint, OUT refusal text, OUT hint text, OUT wants_report boolean)
RETURNS SETOF record LANGUAGE sql AS \$\$ SELECT c, 5::bigint, 0, 0, NULL::text, NULL::text, known_lineage, known_term, known_term_id,
	CASE WHEN c <> collections[1] THEN 'no' END, NULL::text, false FROM unnest(collections) c \$\$;
SQL
like($trusting->message('SELECT hilo.lease_report()'), qr/WARNING: .*was not asked for/, 'an answer that refuses only some counters is no answer');
is($trusting->sql('SET client_min_messages = error; SELECT hilo.lease_report()'), 0, 'no counter was reported');

#
# A server and a mapping that another role has made by the name of the recorded ones
#
$node->safe_psql('postgres', 'CREATE ROLE bob LOGIN');
$second->sql(q{SET hilo.hub = ''; SELECT hilo.lease_from('users', 'ids_hub'); SELECT hilo_next_number('users'); DROP SERVER ids_hub CASCADE; GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO bob;
	ALTER TABLE hilo.hilo DISABLE TRIGGER USER; UPDATE hilo.hilo SET lineage = 0 WHERE collection = 'users'; ALTER TABLE hilo.hilo ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table});
$second->sql(sprintf q{SET SESSION AUTHORIZATION bob; CREATE SERVER ids_hub FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%s', dbname 'hub'); CREATE USER MAPPING FOR %s SERVER ids_hub OPTIONS (user '%s')},
	$node->host, $node->port, superuser(), superuser());
like($second->message(q{SELECT hilo.lease_from('taken', 'ids_hub')}), qr/2F003: .*password is required.*a superuser's own/s, 'no role makes a server that lets it in as the superuser whose mapping is used');

$node->stop;
is(left_behind($node), '', 'nothing is left behind');
done_testing();
