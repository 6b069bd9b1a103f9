# Leases: who may have them, from whom, and what becomes of collections that are leased, left and counted again.
use strict;
use warnings;

use File::Basename qw(dirname);
use lib dirname(__FILE__);
use HiloCrash;
use HiloHub;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $SECRET = 'correct horse battery';
my $schema = q{"it's a "" hub\;"};

# Every database is a server of its own to the others: all lie on two servers.
my $hub = new_node('hub');
my $member = new_node('member', <<SETTINGS);
hilo.lease_size = 100
hilo.lease_duration = 0
hilo.lease_ahead = 0
hilo.lease_retry = 0
hilo.range_size = 1
hilo.range_duration = 0
max_worker_processes = 0
max_prepared_transactions = 5
log_statement = none
SETTINGS

sub hub { return $hub->safe_psql('postgres', $_[0]); }
sub sql { return $member->safe_psql('postgres', $_[0]); }
sub refused { return error_of($member, 'postgres', $_[0]); }
sub message { return message_of($member, 'postgres', $_[0]); }

add_hub($member, $hub);

#
# Passwords and roles
#
hub(<<SQL);
CREATE ROLE drawer LOGIN PASSWORD '$SECRET';
CREATE ROLE trusted LOGIN;
GRANT EXECUTE ON FUNCTION hilo_lease(text, bigint, bigint), identity_lease(text, bigint) TO drawer, trusted;
CREATE ROLE stranger LOGIN PASSWORD '$SECRET';
SQL
my $hba = slurp_file($hub->data_dir . '/pg_hba.conf');
unlink $hub->data_dir . '/pg_hba.conf';
append_to_file($hub->data_dir . '/pg_hba.conf', "local all drawer,stranger scram-sha-256\n$hba");
$hub->reload;
my $host = $hub->host;
my $port = $hub->port;
my $grants = 'GRANT EXECUTE ON FUNCTION hilo_lease_from(text, text, bigint), hilo_seed(text, bigint, boolean), identity_from(text, text)';
sql(<<SQL);
CREATE ROLE admin LOGIN;
$grants TO admin;
CREATE SERVER asks FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
SQL
my $as_admin = 'SET SESSION AUTHORIZATION admin; ';
like(message("$as_admin SELECT hilo_lease_from('a', 'asks')"), qr/42501: permission denied for foreign server asks/, 'the role must be allowed to use the server');
sql('GRANT USAGE ON FOREIGN SERVER asks TO admin');
like(message("$as_admin SELECT hilo_lease_from('a', 'asks')"), qr/42704: user mapping not found for "?admin"?/, 'and have a user mapping');
sql("CREATE USER MAPPING FOR admin SERVER asks OPTIONS (user 'trusted')");
like(message("$as_admin SELECT hilo_lease_from('a', 'asks')"), qr/2F003: password is required/, 'with a password');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (ADD password '$SECRET')");
like(message("$as_admin SELECT hilo_lease_from('a', 'asks')"), qr/2F003: password is required/, 'that the hub asks for');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (SET user 'drawer', SET password 'wrong one')");
my $wrong = message("$as_admin SELECT hilo_lease_from('a', 'asks')");
like($wrong, qr/08001: .*password authentication failed for user "drawer"/, 'a wrong password');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (SET user 'stranger', SET password '$SECRET')");
like(message("$as_admin SELECT hilo_lease_from('a', 'asks')"), qr/42501: permission denied for function hilo_lease/, 'a role that the hub gives nothing');
is(sql("SELECT count(*) FROM hilo WHERE collection = 'a' AND leased"), 0, 'nothing was leased');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (SET user 'drawer', SET password '$SECRET')");
is(sql("$as_admin SELECT * FROM hilo_lease_from('a', 'asks')"), '1|100', 'as it should be');
is(sql("SELECT hub, hub_role FROM hilo WHERE collection = 'a'"), 'asks|admin', 'the role is remembered');
sql("$as_admin SELECT identity_from('a', 'asks')");

# Anybody draws, by the role's rights, and as long as that has them.
sql('CREATE ROLE anybody LOGIN');
my $as_anybody = 'SET SESSION AUTHORIZATION anybody; ';
is(sql("$as_anybody SELECT count(hilo_nextval('a')) FROM generate_series(1, 100)"), 100, 'anybody draws');
is(sql("$as_anybody SELECT hilo_nextval('a')"), 101, 'also what has to be leased');
is(sql("$as_anybody SELECT next_identity_for('a')"), 2, 'and identities');
my $kept = HiloCrash::Session->new($member);
$kept->query("SELECT next_identity_for('a')");
sql('REVOKE USAGE ON FOREIGN SERVER asks FROM admin');
is($kept->error_of("SELECT next_identity_for('a')"), '42501', 'a right that is revoked ends that, also in an open session');
sql("SELECT hilo_nextval('a') FROM generate_series(1, 99)");
like(message("SELECT hilo_nextval('a')"), qr/42501: could not lease.*permission denied for foreign server asks/s, 'and the leasing');
sql('GRANT USAGE ON FOREIGN SERVER asks TO admin');
is(sql("SELECT hilo_nextval('a')"), 201, 'until it is granted');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (SET password 'wrong one')");
sql("SELECT hilo_nextval('a') FROM generate_series(1, 99)");
$wrong .= message("SELECT hilo_nextval('a')");
like($wrong, qr/08001: could not lease numbers of collection "a" from server "asks"\n.*password authentication failed/s, 'a password that is changed');
$wrong .= sql('SELECT * FROM hilo_leases; SELECT * FROM hilo_lease; SELECT * FROM hilo; SELECT * FROM hilo_status');
sql("ALTER SERVER asks OPTIONS (SET port '1')");
$wrong .= message("SELECT hilo_nextval('a')");
sql("ALTER SERVER asks OPTIONS (SET port '$port')");
unlike($wrong . slurp_file($member->logfile), qr/wrong one|\Q$SECRET\E/, 'no password shows anywhere');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (ADD password_required 'false', SET user 'trusted')");
is(sql("SELECT hilo_nextval('a')"), 301, 'a superuser may say that none is needed');
sql(<<SQL);
CREATE FOREIGN DATA WRAPPER unchecked;
CREATE SERVER unchecked FOREIGN DATA WRAPPER unchecked OPTIONS (host '$host', port '$port', dbname 'postgres');
GRANT USAGE ON FOREIGN SERVER unchecked TO admin;
$as_admin CREATE USER MAPPING FOR admin SERVER unchecked OPTIONS (user 'trusted', password_required 'false');
SQL
like(message("$as_admin SELECT hilo_lease_from('a', 'unchecked')"), qr/2F003: password is required/, 'but nobody says so himself');

#
# Hubs that are none
#
$hub->safe_psql('postgres', "CREATE DATABASE none; CREATE DATABASE quoted; CREATE DATABASE rubbish");
add_hub($member, $hub, server => $_, dbname => $_) for qw(none quoted rubbish);
like(message("SELECT hilo_lease_from('b', 'none')"), qr/42704: extension "hilo" is not installed on the server/, 'a hub without the extension');
like(message("SELECT hilo_lease_from('b', 'nowhere')"), qr/42704: server "nowhere" does not exist/, 'a server that does not exist');
is(sql("SELECT hilo_nextval('b')"), 1, 'b is counted as before');

$hub->safe_psql('quoted', "CREATE SCHEMA $schema; CREATE EXTENSION hilo SCHEMA $schema");
is(sql("SELECT * FROM hilo_lease_from('q', 'quoted')"), '1|100', 'the extension in a schema with a strange name');
sql("SELECT identity_from('q', 'quoted')");
is(sql("SELECT next_identity_for('q')"), 2, 'also for identities');

# What answers nonsense is not believed.
$hub->safe_psql('rubbish', q{CREATE EXTENSION hilo; CREATE TABLE answer (low text, high text)});
$hub->safe_psql('rubbish', <<'SQL');
ALTER EXTENSION hilo DROP FUNCTION hilo_lease(text, bigint, bigint);
DROP FUNCTION hilo_lease(text, bigint, bigint);
CREATE FUNCTION hilo_lease(text, bigint, bigint) RETURNS SETOF answer LANGUAGE sql AS 'SELECT * FROM answer';
SQL
sql("SELECT hilo_seed('r', 10)");
for my $answer ("('5', '9')", "('10', '20')", "('12', '11')", "('11', '111')", "('11', '9223372036854775807')",
	"('x', 'y')", "(NULL, NULL)", "('11', NULL)", "('-5', '-1')", "('11', '20'), ('21', '30')", '')
{
	$hub->safe_psql('rubbish', 'TRUNCATE answer; ' . ($answer ? "INSERT INTO answer VALUES $answer" : ''));
	is(refused("SELECT hilo_lease_from('r', 'rubbish')"), '08P01', "an answer of $answer");
}
$hub->safe_psql('rubbish', "TRUNCATE answer; INSERT INTO answer VALUES ('11', '110')");
is(sql("SELECT * FROM hilo_lease_from('r', 'rubbish')"), '11|110', 'one that is right');
$hub->safe_psql('rubbish', q{CREATE OR REPLACE FUNCTION hilo_lease(text, bigint, bigint) RETURNS SETOF answer LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION USING errcode = 'ZZ123', message = 'strange', detail = repeat('d', 1000), hint = 'do %s'; END $$});
sql("SELECT hilo_nextval('r') FROM generate_series(1, 100)");
like(message("SELECT hilo_nextval('r')"), qr/ZZ123: could not lease numbers of collection "r" from server "rubbish"\nDETAIL:  .*: strange\nHINT:  do %s/, 'an error of the hub is passed on');
$hub->safe_psql('rubbish', q{CREATE OR REPLACE FUNCTION hilo_lease(text, bigint, bigint) RETURNS SETOF answer LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION USING message = repeat('é%n', 300); END $$});
like(message("SELECT hilo_nextval('r')"), qr/P0001: could not lease.*(?:é%n){300}/s, 'a long one, too');
is(sql("SELECT length(last_error) > 100 AND octet_length(last_error) <= 240 AND last_error !~ '[^é%n]' FROM hilo_leases WHERE collection = 'r'"),
	't', 'of which the view has the start, in whole characters');
$hub->safe_psql('rubbish', q{CREATE OR REPLACE FUNCTION hilo_lease(text, bigint, bigint) RETURNS SETOF answer LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION USING errcode = '57014', message = 'canceled there'; END $$});
like(message("SELECT hilo_nextval('r')"), qr/08006: could not lease.*canceled there/s, 'what is canceled there was not canceled here');

# A hub that leases itself, in a line and in a circle.
sql("CREATE DATABASE second");
$member->safe_psql('second', 'CREATE EXTENSION hilo; CREATE EXTENSION postgres_fdw');
add_hub($member, $member, db => 'second', server => 'line');
add_hub($member, $member, server => 'self');
like(message_of($member, 'second', "SELECT hilo_lease_from('a', 'line')"), qr/55000: collection "a" is not counted on this server/, 'what a hub leases it does not give');
like(message("SELECT hilo_lease_from('own', 'self')"), qr/55000: collection "own" is not counted on this server/, 'nobody is a hub of himself');
is(sql("SELECT leased FROM hilo WHERE collection = 'own'"), 'f', 'and counts on');
like(message("SELECT identity_from('own', 'self')"), qr/55000: identity "own" is not counted on this server/, 'nor for identities');
is(sql("SELECT next_identity('own')"), 'own/1', 'which count on, too');

#
# Limits
#
hub("SELECT hilo_configure('full', max_value => 1000)");
is(sql("SELECT low FROM hilo_lease_from('full', 'ids_hub', 64)"), 1, 'a hub with a limit');
my $got = 0;
my $end;
while ($got++ < 3000)
{
	$end = message("SELECT hilo_nextval('full') FROM generate_series(1, greatest(1, (SELECT numbers_left FROM hilo_leases WHERE collection = 'full')))");
	last if $end;
}
like($end, qr/2200H: could not lease.*collection "full" has no numbers left/s, 'at the end of the hub there is an error');
is(hub("SELECT max FROM hilo WHERE collection = 'full'"), 1000, 'and all was leased');

hub("SELECT hilo_seed('small', 2147483000)");
sql("CREATE TABLE small (id int PRIMARY KEY); SELECT hilo_attach('small', 'id')");
sql("SELECT hilo_lease_from('small', 'ids_hub', 500)");
is(sql("WITH n AS (INSERT INTO small SELECT FROM generate_series(1, 647) RETURNING id) SELECT min(id), max(id), count(*) FROM n"),
	'2147483001|2147483647|647', 'a column of type integer gets all that fit');
my $claims = hub("SELECT claims FROM hilo WHERE collection = 'small'");
is(refused('INSERT INTO small DEFAULT VALUES'), '2200H', 'and then an error') for 1 .. 3;
is(hub("SELECT claims FROM hilo WHERE collection = 'small'"), $claims, 'without asking the hub');
hub("SELECT hilo_seed('past', 3000000000)");
sql("CREATE TABLE past (id int PRIMARY KEY); SELECT hilo_attach('past', 'id')");
is(refused("SELECT hilo_lease_from('past', 'ids_hub')"), '2200H', 'a hub that is past the limit');
is(sql('INSERT INTO past DEFAULT VALUES RETURNING id'), 1, 'is not taken');
# It may come to be so later.
sql("CREATE TABLE later (id int PRIMARY KEY); SELECT hilo_attach('later', 'id'); SELECT hilo_lease_from('later', 'ids_hub')");
hub("SELECT hilo_seed('later', 3000000000)");
sql('INSERT INTO later SELECT FROM generate_series(1, 100)');
is(refused('INSERT INTO later DEFAULT VALUES'), '2200H', 'that comes to be past the limit') for 1 .. 3;
cmp_ok(hub("SELECT max FROM hilo WHERE collection = 'later'"), '<=', 3000000100, 'is asked once');

# A hub that gives less than is needed at once.
$hub->append_conf('postgresql.conf', "hilo.max_lease_size = 500\n");
$hub->reload;
wait_until('the setting counts', sub { hub('SHOW hilo.max_lease_size') == 500 });
sql("SELECT hilo_lease_from('much', 'ids_hub')");
is(sql("SELECT high - low FROM hilo_reserve('much', 500)"), 499, 'as much as a hub gives');
like(message("SET hilo.lease_retry = '1h'; SELECT hilo_reserve('much', 501)"), qr/2200H: .*asked for 501 numbers in a row, and has given 500/s, 'and no more');
$claims = hub("SELECT claims FROM hilo WHERE collection = 'much'");
like(message("SET hilo.lease_retry = '1h'; SELECT hilo_reserve('much', 501)"), qr/2200H: .*has given 500/s, 'once more');
is(hub("SELECT claims FROM hilo WHERE collection = 'much'"), $claims, 'without asking');
like(sql("SELECT hilo_nextval('much')"), qr/^\d+$/, 'small draws go on');
$hub->append_conf('postgresql.conf', "hilo.max_lease_size = 5000\n");
$hub->reload;
wait_until('the setting counts', sub { hub('SHOW hilo.max_lease_size') == 5000 });
like(message($_), qr/22023/, "refused: $_")
  for "SELECT hilo_lease_from('x', 'ids_hub', 0)", "SELECT hilo_lease_from('x', 'ids_hub', 1073741825)";

#
# All the ways to draw, and to change things, of what is leased
#
sql("SELECT hilo_lease_from('ways', 'ids_hub', 1000)");
my $s = HiloCrash::Session->new($member);
is($s->query("SELECT hilo_next('ways')"), 'ways/1-A', 'hilo_next');
is($s->query("SELECT * FROM hilo_reserve('ways', 10)"), '2|11', 'hilo_reserve');
is($s->query("SELECT hilo_next_hi('ways', 100)"), 2, 'hilo_next_hi');
my ($low, $high, $claim) = split /\|/, $s->query("SELECT low, high, claim FROM hilo_next_range('ways', 50)");
is("$low to $high", '201 to 250', 'hilo_next_range');
is($s->query("SELECT hilo_return_range('ways', $low, $high, $claim + 1)"), 'f', 'hilo_return_range with a wrong number');
is($s->query("SELECT hilo_return_range('ways', $low, $high, $claim)"), 't', 'hilo_return_range');
is($s->query("SELECT hilo_nextval('ways')"), $low + 1, 'what was returned is drawn again');
$s->query('SET hilo.range_size = 20');
is($s->query("SELECT hilo_nextval('ways')"), $low + 2, 'a range of a session');
is($s->query("SELECT hilo_release('ways')"), 19, 'hilo_release');
is($s->query("SELECT hilo_nextval('ways')"), $low + 3, 'what was released is drawn again');
is($s->query("SELECT hilo_seed('ways', 600)"), 1000, 'hilo_seed, not above what is leased');
is($s->query("SELECT hilo_nextval('ways')"), 601, 'goes on there');
is($s->query("SELECT hilo_seed('ways', 5000)"), 5000, 'hilo_seed above it');
cmp_ok($s->query("SELECT hilo_nextval('ways')"), '>', 5000, 'asks the hub for more');
is(refused($_), '55000', "refused: $_")
  for "SELECT hilo_seed('ways', 1, true)", "SELECT hilo_drop('ways')",
  "SELECT seed_identity_for('q', 1, true)", "SELECT drop_identity('q')";
is(refused("SELECT hilo_configure('ways', max_value => 100)"), '22023', 'a limit below what is leased');

# Ids by hand.
sql("CREATE TABLE hand (id bigint PRIMARY KEY); SELECT hilo_attach('hand', 'id'); SELECT hilo_lease_from('hand', 'ids_hub')");
sql('INSERT INTO hand DEFAULT VALUES; INSERT INTO hand VALUES (5), (50), (150), (400)');
is(sql('INSERT INTO hand SELECT FROM generate_series(1, 100) RETURNING id') =~ s/\n.*//sr, 51, 'what somebody has inserted is passed over');
is(sql('SELECT count(*), max(id) > 400, count(*) FILTER (WHERE id BETWEEN 101 AND 400) FROM hand'), '105|t|2', 'also above the lease');
cmp_ok(hub("SELECT max FROM hilo WHERE collection = 'hand'"), '>', 400, 'where the hub has gone, too');

# Identities.
hub("SELECT seed_identity_for('docs', 10)");
sql(<<SQL);
CREATE TABLE docs (id bigint PRIMARY KEY);
INSERT INTO docs SELECT generate_series(1, 14);
SELECT identity_from('docs', 'ids_hub');
SQL
my $free = sql("SELECT value FROM next_identity_free_for('docs')");
is($free, 15, 'next_identity_free_for() leaves out what is taken');
is(sql("SELECT next_identity('docs')"), 'docs/16', 'next_identity() goes on');
is(hub("SELECT value FROM hilo_identity WHERE name = 'docs'"), 16, 'on the hub');
is(sql("SELECT seed_identity_for('docs', 20)"), 20, 'a seed');
is(sql("SELECT next_identity('docs')"), 'docs/21', 'is for the hub, too');
is(hub("SELECT next_identity_for('docs')"), 22, 'which goes on above it');
sql("SELECT identity_from('docs', '')");
like(message("SELECT next_identity('docs')"), qr/55000: identity "docs" has no hub any more/, 'an identity that has left its hub');
is(sql("SELECT seed_identity_for('docs', 100, true), next_identity('docs')"), '100|docs/101', 'counts again when told so');
is(sql("SELECT drop_identity('docs')"), 't', 'and can be dropped');
is(refused("SELECT identity_from('never', '')"), '55000', 'an identity that never had a hub');

#
# Leaving, and coming back
#
is(refused("SELECT hilo_lease_from('never', '')"), '55000', 'a collection that never had a hub leaves none');
hub("SELECT hilo_seed('left', 0)");
sql("SELECT hilo_lease_from('left', 'ids_hub'); SELECT hilo_nextval('left') FROM generate_series(1, 90)");
sql("SELECT hilo_lease_from('left', '')");
is(sql("SELECT server IS NULL, numbers_left FROM hilo_leases WHERE collection = 'left'"), 't|10', 'one that has left has what is left');
is(sql("SELECT max(hilo_nextval('left')) FROM generate_series(1, 10)"), 100, 'draws that');
like(message("SELECT hilo_nextval('left')"), qr/55000: collection "left" has used up its leases, and has no hub any more/, 'and no more');
is(refused("SELECT hilo_nextval('left')"), '55000', 'however often');
is(hub("SELECT max FROM hilo WHERE collection = 'left'"), 100, 'the hub is not asked');
is(sql("SELECT hilo_lease_from('left', 'ids_hub'); SELECT hilo_nextval('left')"), "(101,200)\n101", 'it can come back');
sql("SELECT hilo_lease_from('left', '')");
is(sql("SELECT hilo_seed('left', 7000, true); SELECT hilo_nextval('left')"), "7000\n7001", 'or count again');
is(sql("SELECT count(*) FROM hilo_leases WHERE collection = 'left'"), 0, 'and has no leases then');
is(sql("SELECT hilo_lease_from('left', 'ids_hub'); SELECT hilo_nextval('left')"), "(7002,7101)\n7002", 'leased again, nothing of before comes back');
sql("SELECT hilo_lease_from('left', ''); SELECT hilo_drop('left')");
is(sql("SELECT hilo_nextval('left')"), 1, 'dropped, it begins anew');

# From one hub to another.
$hub->safe_psql('none', 'CREATE EXTENSION hilo');
sql("SELECT hilo_lease_from('moves', 'ids_hub'); SELECT hilo_nextval('moves') FROM generate_series(1, 10)");
is(sql("SELECT hilo_lease_from('moves', 'none')"), '(101,200)', 'another hub goes above what the first has given');
is(sql("SELECT count(DISTINCT n), max(n) FROM (SELECT hilo_nextval('moves') n FROM generate_series(1, 190)) d"), '190|200', 'what is there of both is drawn');
sql("SELECT hilo_nextval('moves')");
is($hub->safe_psql('none', "SELECT max FROM hilo WHERE collection = 'moves'"), 300, 'then the other is asked');

# The rule of a node.
sql("ALTER DATABASE postgres SET hilo.hub = 'ids_hub'; SELECT hilo_seed('seeded', 70)");
is(sql("SELECT hilo_nextval('by rule')"), 1, 'by hilo.hub');
is(sql("SELECT hub, hub_role FROM hilo WHERE collection = 'by rule'"), 'ids_hub|', 'a new collection is leased');
is(sql("SELECT hilo_nextval('seeded')"), 71, 'one that was seeded');
is(hub("SELECT max FROM hilo WHERE collection = 'seeded'"), 170, 'from above that');
sql("SELECT hilo_reserve('reserved', 5), hilo_next_hi('aligned', 5); SELECT low FROM hilo_next_range('ranged')");
is(sql("SELECT string_agg(collection, ' ' ORDER BY collection) FROM hilo_leases WHERE collection IN ('reserved', 'aligned', 'ranged')"),
	'aligned ranged reserved', 'however it is first drawn from');
is(sql("SELECT hilo_nextval('b'), leased FROM hilo WHERE collection = 'b'"), '2|f', 'one that was counted counts on');
like(sql("SELECT next_server_side_id('s/')"), qr/1-A$/, 'server-side ids are not leased');
like(message_of($member, 'postgres', "SELECT hilo_lease('by rule', 5)"), qr/55000/, 'nor is it a hub');
like(message_of($member, 'postgres', "SELECT hilo_lease('quite new', 5)"), qr/55000/, 'of new ones, either');
sql("ALTER DATABASE postgres SET hilo.hub = 'nowhere'");
like(message("SELECT hilo_nextval('wrong')"), qr/42704: could not lease numbers of collection "wrong".*server "nowhere" does not exist/s, 'a server that does not exist');
sql("ALTER DATABASE postgres RESET hilo.hub");
is(refused("LOAD 'hilo'; SET SESSION AUTHORIZATION anybody; SET hilo.hub = 'ids_hub'"), '42501', 'not everybody sets it');
is(refused("LOAD 'hilo'; SET hilo.hub = '" . ('x' x 64) . "'"), '22023', 'to what can be a name');

#
# Dropped and created again
#
sql("SELECT hilo_lease_from('again', 'ids_hub'); SELECT hilo_nextval('again') FROM generate_series(1, 5)");
is($s->query("SELECT hilo_nextval('again')") =~ /^\d+$/ ? 1 : 0, 1, 'a session draws');
sql('DROP EXTENSION hilo CASCADE; CREATE EXTENSION hilo');
is($s->query("SELECT hilo_nextval('again')"), 1, 'a new extension counts');
is(sql("SELECT * FROM hilo_lease_from('again', 'ids_hub')"), '101|200', 'and leases') or diag(hub("SELECT * FROM hilo WHERE collection = 'again'"));

$s->start('\q');
$s->finish;
$kept->start('\q');
$kept->finish;
$member->stop;
$hub->stop;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $member, $hub;
done_testing();
