# Promise 9 and the errors of leases: who may have them, from whom, and what becomes of collections that are leased, left and counted again.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $SECRET = 'correct horse battery';
my $schema = q{"it's a "" hub\;"};

# Every database is a server of its own to the others: all lie on two servers.
my $hub = new_node('hub', "shared_preload_libraries = 'hilo'\ntest.max_lease_size = 1073741824\n");
my $member = new_member('member', <<SETTINGS);
hilo.lease_size = 100
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.range_size = 1
hilo.max_range_size = 1
max_worker_processes = 0
max_prepared_transactions = 5
log_statement = none
SETTINGS

sub hub { return $hub->safe_psql('postgres', $_[0]); }
sub sql { return $member->safe_psql('postgres', $_[0]); }
sub refused { return error_of($member, 'postgres', $_[0]); }
sub message { return message_of($member, 'postgres', $_[0]); }

# From now on leased: collection, server, size.
sub lease
{
	my ($name, $server, @size) = @_;
	sql("SELECT hilo.lease_from(" . join(', ', "'$name'", "'$server'", @size) . ')');
	return;
}

sub flags { return sql("SELECT coalesce(max(flags & 2), 0) FROM hilo.hilo WHERE collection = '$_[0]'"); }

add_hub($member, $hub);

# A hub in SQL_ASCII does not know that a name in two encodings is one.
for my $node ($hub, $member)
{
	my $encoding = $node == $hub ? 'SQL_ASCII' : 'UTF8';
	$node->safe_psql('postgres', "CREATE DATABASE encoded ENCODING '$encoding' LOCALE 'C' TEMPLATE template0");
	$node->safe_psql('encoded', 'CREATE EXTENSION hilo; CREATE EXTENSION postgres_fdw');
}
add_hub($member, $hub, db => 'encoded', dbname => 'encoded');
is(error_of($member, 'encoded', q{SELECT hilo.lease_from('cafe', 'ids_hub')}), '', 'a name in ASCII is leased from a hub in SQL_ASCII');
like(message_of($member, 'encoded', q{SET client_encoding = 'UTF8'; SELECT hilo.lease_from(U&'caf\00e9', 'ids_hub')}),
	qr/0A000: could not lease .*SQL_ASCII.*HINT: .*in ASCII/s, 'another one is refused');

#
# Passwords and roles
#
hub(<<SQL);
CREATE ROLE drawer LOGIN PASSWORD '$SECRET';
CREATE ROLE trusted LOGIN;
GRANT EXECUTE ON FUNCTION hilo.lease(text, bigint, bigint, bigint, bigint, bigint, text, bigint) TO drawer, trusted;
GRANT EXECUTE ON FUNCTION hilo.report TO trusted;
CREATE ROLE stranger LOGIN PASSWORD '$SECRET';
SQL
my $hba = slurp_file($hub->data_dir . '/pg_hba.conf');
unlink $hub->data_dir . '/pg_hba.conf';
append_to_file($hub->data_dir . '/pg_hba.conf', "local all drawer,stranger scram-sha-256\n$hba");
$hub->reload;
my $host = $hub->host;
my $port = $hub->port;
my $grants = 'GRANT EXECUTE ON FUNCTION hilo.lease_from(text, text, bigint), hilo.seed(text, bigint, boolean)';
sql(<<SQL);
CREATE ROLE admin LOGIN;
$grants TO admin;
CREATE SERVER asks FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
SQL
my $as_admin = 'SET SESSION AUTHORIZATION admin; ';
like(message("$as_admin SELECT hilo.lease_from('a', 'asks')"), qr/42501: .*permission denied for foreign server asks/s, 'the role must be allowed to use the server');
sql('GRANT USAGE ON FOREIGN SERVER asks TO admin');
like(message("$as_admin SELECT hilo.lease_from('a', 'asks')"), qr/42704: .*user mapping not found for (?:user )?"?admin"?/s, 'and have a user mapping');
sql("CREATE USER MAPPING FOR admin SERVER asks OPTIONS (user 'trusted')");
like(message("$as_admin SELECT hilo.lease_from('a', 'asks')"), qr/2F003: .*password is required/s, 'with a password');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (ADD password '$SECRET')");
like(message("$as_admin SELECT hilo.lease_from('a', 'asks')"), qr/2F003: .*password is required/s, 'that the hub asks for');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (SET user 'drawer', SET password 'wrong one')");
my $wrong = message("$as_admin SELECT hilo.lease_from('a', 'asks')");
like($wrong, qr/08001: .*password authentication failed for user "drawer"/s, 'a wrong password');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (SET user 'stranger', SET password '$SECRET')");
like(message("$as_admin SELECT hilo.lease_from('a', 'asks')"), qr/42501: .*permission denied for function lease/s, 'a role that the hub gives nothing');
is(flags('a'), 0, 'nothing was leased');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (SET user 'drawer', SET password '$SECRET')");
like(message("$as_admin SELECT hilo.lease_from('a', 'asks')"), qr/42501: .*permission denied for function report/s, 'a role whose reports would be refused after a failover');
hub('GRANT EXECUTE ON FUNCTION hilo.report TO drawer');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (SET user 'drawer', SET password '$SECRET')");
is(sql("$as_admin SELECT hilo.lease_from('a', 'asks')"), '', 'as it should be');
is(sql("SELECT r.hub, h.role FROM hilo.hilo r JOIN hilo.hub h ON h.hub = r.hub::text WHERE collection = 'a'"), 'asks|admin', 'the role is remembered');
sql("$as_admin SELECT hilo.lease_from('a|', 'asks')");

# Anybody draws, by the role's rights, and as long as that has them.
sql('CREATE ROLE anybody LOGIN');
my $as_anybody = 'SET SESSION AUTHORIZATION anybody; ';
is(sql("$as_anybody SELECT count(hilo_next_number('a')) FROM generate_series(1, 100)"), 100, 'anybody draws');
is(sql("$as_anybody SELECT hilo_next_number('a')"), 101, 'also what has to be leased');
is(sql("$as_anybody SELECT next_identity_for('a')"), 1, 'and identities');
my $kept = session($member);
$kept->query("SELECT next_identity_for('a')");
sql('REVOKE USAGE ON FOREIGN SERVER asks FROM admin');
is($kept->error_of("SELECT next_identity_for('a')"), '42501', 'a right that is revoked ends that, also in an open session');
sql("SELECT hilo_next_number('a') FROM generate_series(1, 99)");
like(message("SELECT hilo_next_number('a')"), qr/42501: could not lease.*permission denied for foreign server asks/s, 'and the leasing');
sql('GRANT USAGE ON FOREIGN SERVER asks TO admin');
is(sql("SELECT hilo_next_number('a')"), 201, 'until it is granted');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (SET password 'wrong one')");
sql("SELECT hilo_next_number('a') FROM generate_series(1, 99)");
$wrong .= message("SELECT hilo_next_number('a')");
like($wrong, qr/08001: could not lease numbers of "a" from server "asks"\n.*password authentication failed/s, 'a password that is changed');
$wrong .= sql('SELECT * FROM hilo.leases; SELECT * FROM hilo.hub; SELECT * FROM hilo.hilo; SELECT * FROM hilo.status; SELECT * FROM hilo.pool');
sql("ALTER SERVER asks OPTIONS (SET port '1')");
$wrong .= message("SELECT hilo_next_number('a')");
sql("ALTER SERVER asks OPTIONS (SET port '$port')");
unlike($wrong . slurp_file($member->logfile), qr/wrong one|\Q$SECRET\E/, 'no password shows anywhere');
sql("ALTER USER MAPPING FOR admin SERVER asks OPTIONS (ADD password_required 'false', SET user 'trusted')");
is(sql("SELECT hilo_next_number('a')"), 301, 'a superuser may say that none is needed');
sql(<<SQL);
CREATE FOREIGN DATA WRAPPER unchecked;
CREATE SERVER unchecked FOREIGN DATA WRAPPER unchecked OPTIONS (host '$host', port '$port', dbname 'postgres');
GRANT USAGE ON FOREIGN SERVER unchecked TO admin;
$as_admin CREATE USER MAPPING FOR admin SERVER unchecked OPTIONS (user 'trusted', password_required 'false');
SQL
like(message("$as_admin SELECT hilo.lease_from('a', 'unchecked')"), qr/2F003: .*password is required/s, 'but an ordinary role may not say so');

# A role that is dropped takes its user mapping along; another one can lease from there.
sql(q{CREATE ROLE leaver SUPERUSER});
add_hub($member, $hub, server => 'of_leaver', role => 'leaver');
sql(q{SET ROLE leaver; SELECT hilo.lease_from('bequeathed', 'of_leaver'); RESET ROLE; DROP USER MAPPING FOR leaver SERVER of_leaver; DROP ROLE leaver});
like(message("SELECT hilo_next_number('bequeathed')"), qr/42704: could not lease.*role "leaver", whose user mapping is used, does not exist/s, 'a role that was dropped');
sql(sprintf q{CREATE USER MAPPING FOR CURRENT_USER SERVER of_leaver OPTIONS (user '%s'); SELECT hilo.lease_from('bequeathed', 'of_leaver')}, superuser());
is(sql("SELECT hilo_next_number('bequeathed')"), 1, 'until another one leases');

#
# Hubs that are none
#
$hub->safe_psql('postgres', "CREATE DATABASE none; CREATE DATABASE quoted; CREATE DATABASE rubbish");
add_hub($member, $hub, server => $_, dbname => $_) for qw(none quoted rubbish);
like(message("SELECT hilo.lease_from('b', 'none')"), qr/42704: .*extension "hilo" is not installed on the server/s, 'a hub without the extension');
like(message("SELECT hilo.lease_from('b', 'nowhere')"), qr/42704: .*server "nowhere" does not exist/s, 'a server that does not exist');
is(sql("SELECT hilo_next_number('b')"), 1, 'b is counted as before');

$hub->safe_psql('quoted', "CREATE SCHEMA $schema; CREATE EXTENSION hilo SCHEMA $schema");
lease('q', 'quoted');
is(sql("SELECT hilo_next_number('q')"), 1, 'the extension in a schema with a strange name');
lease('q|', 'quoted');
is(sql("SELECT next_identity_for('q')"), 1, 'also for identities');

# What answers nonsense is not believed.
my @fields = qw(low high epoch range_size max_range_size node_tag separator lineage term term_id refusal hint wants_report);
$hub->safe_psql('rubbish', q{CREATE EXTENSION hilo; ALTER EXTENSION hilo DROP FUNCTION hilo.lease; CREATE TABLE answer (low text, high text, epoch text, lineage text, term text, term_id text DEFAULT '9', refusal text, hint text, wants_report text, range_size text, max_range_size text, node_tag text, separator text)});
# A function that answers with the table, in these fields.
sub answer_in
{
	my ($columns, $types) = (join(', ', @_), join(', ', map { /(\w+)$/; "$1 text" } @_));
	$hub->safe_psql('rubbish', "DROP FUNCTION hilo.lease; DROP TYPE IF EXISTS lease; CREATE TYPE lease AS ($types);
		CREATE FUNCTION hilo.lease(text, bigint, bigint, bigint, bigint, bigint, text, bigint) RETURNS SETOF lease LANGUAGE sql AS 'SELECT $columns FROM answer'");
	return;
}
answer_in(@fields);
my $id = 77;
sub answer_with
{
	my ($rows) = @_;
	$hub->safe_psql('rubbish', 'TRUNCATE answer; ' . ($rows ? "INSERT INTO answer VALUES $rows" : ''));
	return;
}
sql("SELECT hilo.seed('r', 10)");
for my $answer ('', "('0', '0', '7', '$id', '1'), ('0', '0', '7', '$id', '1')", "('x', 'y', 'z', 'a', 'b')")
{
	answer_with($answer);
	is(refused("SELECT hilo.lease_from('r', 'rubbish')"), '08P01', "an answer of $answer, to the question whether it gives any");
	is(flags('r'), 0, 'it is not the hub');
}
answer_with("(NULL, NULL, '7', '$id', '1')");
lease('r', 'rubbish');
for my $numbers ("'5', '9'", "'10', '20'", "'12', '11'", "'11', '111'", "'11', '9223372036854775807'",
	"'11', '9223372036854775808'", "'x', 'y'", "'11', ''", "'11', '20 '", 'NULL, NULL', "'11', NULL", "'-5', '-1'", "'0', '0'")
{
	answer_with("($numbers, '7', '$id', '1')");
	is(refused("SELECT hilo_next_number('r')"), '08P01', "an answer of $numbers");
}
for my $rest ("NULL, '$id', '1'", "'0', '$id', '1'", "'-7', '$id', '1'", "'7', NULL, '1'", "'7', '0', '1'", "'7', '$id', NULL", "'7', '$id', '0'",
	"'7', '$id', '-1'", "'7', '-5', '1'", "'7', '$id', '1', '0'", "'7', '$id', '1', NULL", "'7', '$id', '4611686018427387904'")
{
	answer_with("('11', '20', $rest)");
	is(refused("SELECT hilo_next_number('r')"), '08P01', "an answer with $rest");
}
for my $text ("'a-b', NULL", "NULL, ''", "NULL, '__'", "NULL, 'x'", "NULL, '|'", "NULL, 'é'")
{
	answer_with("('11', '20', '7', '$id', '1', '9', NULL, NULL, NULL, NULL, NULL, $text)");
	is(refused("SELECT hilo_next_number('r')"), '08P01', "an answer with the tag and separator $text");
}
answer_with("('11', '20', '7', '$id', '1'), ('21', '30', '7', '$id', '1')");
is(refused("SELECT hilo_next_number('r')"), '08P01', 'two rows');
is(sql("SELECT max FROM hilo.hilo WHERE collection = 'r'"), 10, 'nothing of that counts');
answer_with("('11', '110', '7', '$id', '1')");
is(sql("SELECT hilo_next_number('r')"), 11, 'one that is right');
# Nor is a server that the member does not take for its hub.
sql("SELECT hilo_next_number('r') FROM generate_series(1, 99)");
answer_with("('111', '210', '7', '12345', '1')");
like(message("SELECT hilo_next_number('r')"), qr/55000: could not lease.*it is not the hub of that name that "r" is leased from; once its counters are above the column highest of hilo.leases on all members, hilo.lease_from\(\) accepts it/s, 'an answer of another hub');
answer_with("('111', '210', '7', '$id', '3')");
is(sql("SELECT hilo_next_number('r')"), 111, 'one of a later term');
sql("SELECT hilo_next_number('r') FROM generate_series(1, 99)");
answer_with("('211', '310', '7', '$id', '2')");
like(message("SELECT hilo_next_number('r')"), qr/55000: could not lease.*it is in term 2, but term 3 was seen before/s, 'one of an earlier term');
answer_with("('211', '310', '7', '$id', '3', '8')");
like(message("SELECT hilo_next_number('r')"), qr/55000: could not lease.*it is in another term 3 than was seen before/s, 'one of another term of that number');
answer_with("(NULL, NULL, NULL, '$id', '3', '9', 'go away', 'or stay')");
like(message("SELECT hilo_next_number('r')"), qr/55000: could not lease.*go away\nHINT:  or stay/s, 'a refusal');
answer_with(q{(NULL, NULL, NULL, '77', '3', '9', E'a "quoted", (odd) \\\\ text', '')});
like(message("SELECT hilo_next_number('r')"), qr/55000: could not lease.*a "quoted", \(odd\) \\ text/s, 'one in which a record has quotes');
answer_with("('211', '310', '7', '$id', '3')");
is(sql("SELECT hilo_next_number('r')"), 211, 'nothing of these counts');
sql("SELECT hilo_next_number('r') FROM generate_series(1, 99)");
answer_with("('311', '410', '7', '$id', '3')");
answer_in(@fields[ 0 .. $#fields - 1 ]);
is(refused("SELECT hilo_next_number('r')"), '08P01', 'a field too few');
answer_in(@fields, '5 AS later');
is(sql("SELECT hilo_next_number('r')"), 311, 'a field more, as of a later version');
$hub->safe_psql('rubbish', q{CREATE OR REPLACE FUNCTION hilo.lease(text, bigint, bigint, bigint, bigint, bigint, text, bigint) RETURNS SETOF lease LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION USING errcode = 'ZZ123', message = 'strange', detail = repeat('d', 1000), hint = 'do %s'; END $$});
sql("SELECT hilo_next_number('r') FROM generate_series(1, 99)");
like(message("SELECT hilo_next_number('r')"), qr/ZZ123: could not lease numbers of "r" from server "rubbish"\nDETAIL:  .*: strange\nHINT:  do %s/, 'an error of the hub is passed on');
$hub->safe_psql('rubbish', q{CREATE OR REPLACE FUNCTION hilo.lease(text, bigint, bigint, bigint, bigint, bigint, text, bigint) RETURNS SETOF lease LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION USING message = repeat('é%n', 300); END $$});
like(message("SELECT hilo_next_number('r')"), qr/P0001: could not lease.*(?:é%n){300}/s, 'a long one, too');
is(sql("SELECT length(last_error) > 100 AND last_error !~ '[^é%n]' FROM hilo.leases WHERE collection = 'r'"),
	't', 'which the view has, too, at least its start, in whole characters');
$hub->safe_psql('rubbish', q{CREATE OR REPLACE FUNCTION hilo.lease(text, bigint, bigint, bigint, bigint, bigint, text, bigint) RETURNS SETOF lease LANGUAGE plpgsql
	AS $$ BEGIN RAISE EXCEPTION USING errcode = '57014', message = 'canceled there'; END $$});
like(message("SELECT hilo_next_number('r')"), qr/08006: could not lease.*canceled there/s, 'what is canceled there was not canceled here');

# A hub that leases itself, in a line and in a circle.
sql("CREATE DATABASE second");
$member->safe_psql('second', 'CREATE EXTENSION hilo; CREATE EXTENSION postgres_fdw');
add_hub($member, $member, db => 'second', server => 'line');
add_hub($member, $member, server => 'self');
like(message_of($member, 'second', "SELECT hilo.lease_from('a', 'line')"), qr/55000: .*collection "a" is not counted on this server/s, 'what a hub leases it does not give');
# That it is its own hub, a server learns when it is asked; it then does not answer itself.
for my $name ('own', 'own|')
{
	my $session = session($member, 'hilo.lease_timeout' => '2s');
	my $first = $session->error_of("SELECT hilo.lease_from('$name', 'self')");
	my $draw = $name =~ /\|/ ? "SELECT next_identity_for('own')" : "SELECT hilo_next_number('own')";
	my $second = $session->error_of($draw);
	like("$first $second", qr/^(?:55000 | (?:55000|08\w{3}))$/, "no server is its own hub: $name");
	like($session->error_of($draw), qr/^(?:|55000|08\w{3})$/, 'and it does not hang');
	$session->finish;
}

#
# Limits
#
hub("SELECT hilo.configure('full', max_value => 1000)");
lease('full', 'ids_hub', 64);
my $got = 0;
my $end;
while ($got++ < 3000)
{
	$end = message("SELECT hilo_next_number('full') FROM generate_series(1, greatest(1, (SELECT numbers_left FROM hilo.leases WHERE collection = 'full')))");
	last if $end;
}
like($end, qr/2200H: could not lease.*collection "full" has no numbers left/s, 'at the end of the hub there is an error');
is(hub("SELECT max FROM hilo.hilo WHERE collection = 'full'"), 1000, 'and all was leased');

hub("SELECT hilo.seed('small', 2147483000)");
sql("CREATE TABLE small (id int PRIMARY KEY); SELECT hilo.attach('small', 'id', 'small')");
lease('small', 'ids_hub', 500);
is(sql("WITH n AS (INSERT INTO small SELECT FROM generate_series(1, 647) RETURNING id) SELECT min(id), max(id), count(*) FROM n"),
	'2147483001|2147483647|647', 'a column of type integer gets all that fit');
my $asked = leases_asked_of($hub, 'small');
is(refused('INSERT INTO small DEFAULT VALUES'), '2200H', 'and then an error') for 1 .. 3;
is(leases_asked_of($hub, 'small'), $asked, 'without asking the hub');
hub("SELECT hilo.seed('past', 3000000000)");
sql("CREATE TABLE past (id int PRIMARY KEY); SELECT hilo.attach('past', 'id', 'past')");
my $past = refused("SELECT hilo.lease_from('past', 'ids_hub')");
is($past || refused('INSERT INTO past DEFAULT VALUES'), '2200H', 'a hub that is past the limit');
is(refused('INSERT INTO past DEFAULT VALUES'), $past ? '' : '2200H', 'is not taken, or gives nothing');
# It may come to be so later.
sql("CREATE TABLE later (id int PRIMARY KEY); SELECT hilo.attach('later', 'id', 'later'); SELECT hilo.lease_from('later', 'ids_hub')");
is(sql('INSERT INTO later DEFAULT VALUES RETURNING id'), 1, 'a hub');
hub("SELECT hilo.seed('later', 3000000000)");
sql('INSERT INTO later SELECT FROM generate_series(1, 99)');
is(refused('INSERT INTO later DEFAULT VALUES'), '2200H', 'that comes to be past the limit') for 1 .. 3;
cmp_ok(hub("SELECT max FROM hilo.hilo WHERE collection = 'later'"), '<=', 3000000100, 'is asked once');

# A hub that gives less than is needed at once.
$hub->append_conf('postgresql.conf', "test.max_lease_size = 500\n");
$hub->reload;
wait_until('the setting counts', sub { hub('SHOW test.max_lease_size') == 500 });
lease('much', 'ids_hub');
is(sql("SET hilo.max_range_size = 10000; SELECT high - low FROM hilo_reserve('much', 500)"), 499, 'as much as a hub gives');
like(message("SET test.lease_retry = '3600000'; SET hilo.max_range_size = 10000; SELECT hilo_reserve('much', 501)"), qr/2200H: .*asked for 501 consecutive numbers, and gave 500/s, 'and no more');
$asked = leases_asked_of($hub, 'much');
like(message("SET test.lease_retry = '3600000'; SET hilo.max_range_size = 10000; SELECT hilo_reserve('much', 501)"), qr/2200H: .*and gave 500/s, 'once more');
is(leases_asked_of($hub, 'much'), $asked, 'without asking');
like(sql("SELECT hilo_next_number('much')"), qr/^\d+$/, 'small draws go on');
$hub->append_conf('postgresql.conf', "test.max_lease_size = 5000\n");
$hub->reload;
wait_until('the setting counts', sub { hub('SHOW test.max_lease_size') == 5000 });
like(message($_), qr/22023/, "refused: $_")
  for "SELECT hilo.lease_from('x', 'ids_hub', 0)", "SELECT hilo.lease_from('x', 'ids_hub', 1073741825)";

#
# All the ways to draw, and to change things, of what is leased
#
my $s = session($member);
lease('ways', 'ids_hub', 1000);
is($s->query("SELECT hilo_next('ways')"), 'ways/1-A', 'leased');
is($s->query("SELECT hilo.seed('ways', 600)"), 1000, 'hilo.seed, not above what is leased');
cmp_ok($s->query("SELECT hilo_next_number('ways')"), '>', 600, 'goes on above it');
is($s->query("SELECT hilo.seed('ways', 50000)"), 50000, 'hilo.seed above it');
cmp_ok($s->query("SELECT hilo_next_number('ways')"), '>', 50000, 'asks the hub for more');
is(refused($_), '55000', "refused: $_")
  for "SELECT hilo.seed('ways', 1, true)", "SELECT hilo.drop('ways')",
  "SELECT seed_identity_for('q', 1, true)", "SELECT hilo.drop('q|')";
is(refused("SELECT hilo.configure('ways', max_value => 100)"), '22023', 'a limit below what is leased');
is(refused("SELECT hilo.configure('ways', node_tag => 'W')"), '', 'other options are its own');
is($s->query("SELECT hilo_next('ways')") =~ /-W$/ ? 1 : 0, 1, 'and count');

# The tag and the separator of the hub: from the next lease or report on.
hub("SELECT hilo.configure('texts', separator => '_', node_tag => '')");
lease('texts', 'ids_hub');
is($s->query("SELECT hilo_next('texts'), hilo_format('texts', 7, 'B'), hilo_number(hilo_next('texts'))"), 'texts_1|texts_7-B|2', 'the separator of the hub, and no tag');
is(sql("SELECT separator, node_tag = '' FROM hilo.status WHERE collection = 'texts'"), '_|t', 'the view shows them');
hub("SELECT hilo.configure('texts', separator => '.')");
sql('SELECT hilo.lease_report()');
is($s->query("SELECT hilo_next('texts')"), 'texts.3', 'another one, after a report');
hub("SELECT hilo.configure('texts', reset => true)");
sql('SELECT hilo.lease_report()');
is($s->query("SELECT hilo_next('texts')"), 'texts/4-A', 'that of the setting');
hub("SELECT hilo.configure('texts', separator => ':')");
is($s->query("SELECT hilo_next('texts') FROM generate_series(1, 97) OFFSET 96"), 'texts:101-A', 'another one, with the next lease');

# Ids by hand.
sql("CREATE TABLE hand (id bigint PRIMARY KEY); SELECT hilo.attach('hand', 'id', 'hand'); SELECT hilo.lease_from('hand', 'ids_hub')");
sql('INSERT INTO hand DEFAULT VALUES; INSERT INTO hand VALUES (5), (50), (150), (400)');
is(sql('SELECT count(*) FROM hand WHERE id = 1'), 1, 'the first one is drawn');
sql('INSERT INTO hand SELECT FROM generate_series(1, 400)');
is(sql('SELECT count(*), max(id) > 400 FROM hand'), '405|t', 'what was inserted by hand is passed over');
cmp_ok(hub("SELECT max FROM hilo.hilo WHERE collection = 'hand'"), '>', 400, 'where the hub has gone, too');

# Identities.
hub("SELECT seed_identity_for('docs', 10)");
sql(<<SQL);
CREATE TABLE docs (id bigint PRIMARY KEY);
INSERT INTO docs SELECT generate_series(1, 14);
SELECT hilo.lease_from('docs|', 'ids_hub');
SQL
my $free = sql("SELECT value FROM next_identity_free_for('docs')");
is($free, 15, 'next_identity_free_for() leaves out what is taken');
is(sql("SELECT next_identity('docs')"), 'docs/16', 'next_identity() goes on');
is(hub("SELECT value FROM hilo.identities WHERE name = 'docs'"), 16, 'on the hub');
is(sql("SELECT seed_identity_for('docs', 20)"), 20, 'a seed');
is(sql("SELECT next_identity('docs')"), 'docs/21', 'is for the hub, too');
is(hub("SELECT next_identity_for('docs')"), 22, 'which goes on above it');
# Where the hub is ahead, its number may be taken here.
hub("SELECT seed_identity_for('taken', 10)");
sql("CREATE TABLE taken (id bigint PRIMARY KEY); INSERT INTO taken VALUES (1), (2), (3), (11); SELECT hilo.lease_from('taken|', 'ids_hub')");
is(sql("SELECT value FROM next_identity_free_for('taken')"), 12, 'next_identity_free_for() goes on where the hub gives one that is taken');
# A lease of some is drawn from first.
sql("CREATE TABLE many (id bigint PRIMARY KEY); INSERT INTO many VALUES (3), (4); SELECT hilo.lease_from('many|', 'ids_hub', 1000)");
is(join(' ', map { sql("SELECT value FROM next_identity_free_for('many')") } 1 .. 3), '1 2 5', 'next_identity_free_for() takes what is leased, and passes over what is taken');
is(hub("SELECT max FROM hilo.hilo WHERE collection = 'many|'"), 1000, 'with one lease');
sql("SELECT hilo.lease_from('docs|', NULL)");
like(message("SELECT next_identity('docs')"), qr/55000: identity "docs" has used up its leases and no longer has a hub/, 'an identity that has left its hub');
is(sql("SELECT seed_identity_for('docs', 100, true), next_identity('docs')"), '100|docs/101', 'counts again when told so');
is(sql("SELECT hilo.drop('docs|')"), 't', 'and can be dropped');
is(refused("SELECT hilo.lease_from('never|', NULL)"), '55000', 'an identity that never had a hub');

#
# Leaving, and coming back
#
is(refused("SELECT hilo.lease_from('never', NULL)"), '55000', 'a collection that never had a hub leaves none');
lease('left', 'ids_hub');
sql("SELECT hilo_next_number('left') FROM generate_series(1, 90)");
sql("SELECT hilo.lease_from('left', NULL)");
is(sql("SELECT hub IS NULL, numbers_left FROM hilo.leases WHERE collection = 'left'"), 't|10', 'one that has left has what is left');
sql("SELECT hilo.lease_from('left', NULL)");
is(sql("SELECT max(hilo_next_number('left')) FROM generate_series(1, 10)"), 100, 'draws that');
like(message("SELECT hilo_next_number('left')"), qr/55000: "left" has used up its leases and no longer has a hub/, 'and no more');
is(refused("SELECT hilo_next_number('left')"), '55000', 'however often');
is(hub("SELECT max FROM hilo.hilo WHERE collection = 'left'"), 100, 'the hub is not asked');
lease('left', 'ids_hub');
is(sql("SELECT hilo_next_number('left')"), 101, 'it can come back');
sql("SELECT hilo.lease_from('left', NULL)");
is(sql("SELECT hilo.seed('left', 7000, true); SELECT hilo_next_number('left')"), "7000\n7001", 'or count again');
is(sql("SELECT count(*) FROM hilo.leases WHERE collection = 'left'"), 0, 'and has no leases then');
lease('left', 'ids_hub');
is(sql("SELECT hilo_next_number('left')"), 7002, 'leased again, nothing of before comes back');
sql("SELECT hilo.lease_from('left', NULL); SELECT hilo.drop('left')");
is(sql("SELECT hilo_next_number('left')"), 1, 'dropped, it begins anew');

# From one hub to another.
$hub->safe_psql('none', 'CREATE EXTENSION hilo');
lease('moves', 'ids_hub');
sql("SELECT hilo_next_number('moves') FROM generate_series(1, 10)");
lease('moves', 'none');
is(sql("SELECT numbers_left FROM hilo.leases WHERE collection = 'moves'"), 0, 'leases of the first hub are void');
is(sql("SELECT hilo_next_number('moves')"), 101, 'another hub goes above what the first has given');
is($hub->safe_psql('none', "SELECT max FROM hilo.hilo WHERE collection = 'moves'"), 200, 'it was asked for a lease');

# The rule of a node.
sql("ALTER DATABASE postgres SET hilo.hub = 'ids_hub'; SELECT hilo.seed('seeded', 70)");
is(sql("SELECT hilo_next_number('by rule')"), 1, 'by hilo.hub');
is(sql("SELECT flags & 2, hub FROM hilo.hilo WHERE collection = 'by rule'"), '2|ids_hub', 'a new collection is leased');
is(sql("SELECT hilo_next_number('seeded')"), 71, 'one that was seeded');
is(hub("SELECT max FROM hilo.hilo WHERE collection = 'seeded'"), 170, 'from above that');
sql("SET hilo.max_range_size = 10; SELECT hilo_reserve('reserved', 5), hilo.next_hi('aligned', 5); SELECT low FROM hilo.next_range('ranged'); SELECT next_identity('identity')");
is(sql("SELECT string_agg(collection, ' ' ORDER BY collection) FROM hilo.leases WHERE collection IN ('reserved', 'aligned', 'ranged', 'identity|')"),
	'aligned identity| ranged reserved', 'however it is first drawn from');
is(sql("SELECT hilo_next_number('b')"), 2, 'one that was counted counts on');
is(flags('b'), 0, 'here');
like(sql("SELECT next_server_side_id('s/')"), qr/1-A$/, 'server-side ids are not leased');
like(message_of($member, 'postgres', "SELECT hilo.lease('by rule', 5)"), qr/55000/, 'nor is it a hub');
like(message_of($member, 'postgres', "SELECT hilo.lease('quite new', 5)"), qr/55000/, 'of new ones, either');
sql("ALTER DATABASE postgres SET hilo.hub = 'nowhere'");
like(message("SELECT hilo_next_number('wrong')"), qr/42704: could not lease numbers of "wrong".*server "nowhere" does not exist/s, 'a server that does not exist');
is(sql("SELECT hub, numbers_left, last_error FROM hilo.leases WHERE collection = 'wrong'"), 'nowhere|0|server "nowhere" does not exist', 'the view shows a first lease that failed');
is(sql("SELECT max, flags FROM hilo.hilo WHERE collection = 'wrong'"), '0|0', 'nothing else is left of that');
is(refused($_), '42704', "all the same: $_") for "SELECT hilo_next('wrong')", "SELECT hilo_reserve('wrong', 1)";
# Draws make no new ones if they must not.
sql("ALTER DATABASE postgres SET hilo.hub = 'ids_hub'");
sql("SET client_min_messages = error; CREATE TABLE no_new (id bigint PRIMARY KEY); SELECT hilo.attach('no_new')");
for my $draw (qw(hilo_next hilo_next_number next_identity))
{
	like(message("SET hilo.auto_create = off; SELECT $draw('misspelt')"), qr/42704: \w+ "misspelt" does not exist\n.*"hilo.auto_create" is off/, "hilo.auto_create = off: $draw() of a missing one");
}
is(sql("SELECT count(*) FROM hilo.hilo WHERE collection ~ 'misspelt'") + hub("SELECT count(*) FROM hilo.hilo WHERE collection ~ 'misspelt'"), 0, 'makes none, here or on the hub');
is(sql("SET hilo.auto_create = off; INSERT INTO no_new DEFAULT VALUES RETURNING id"), 1, 'one that is there is leased');
# It can be put right, for what never got a lease.
lease('wrong', 'ids_hub');
is(sql("SELECT hilo_next_number('wrong')"), 1, 'and put right');
sql("ALTER DATABASE postgres RESET hilo.hub");
is(refused("SET SESSION AUTHORIZATION anybody; SET hilo.$_"), '42501', "not everybody sets hilo.$_")
  for "hub = 'ids_hub'", 'lease_size = 5', "lease_timeout = '1s'", 'hub_auto_resume = on';
is(refused("SET hilo.$_"), '22023', "out of bounds: hilo.$_") for "hub = '" . ('x' x 64) . "'", 'lease_size = 0', 'lease_timeout = 0';
like(message('SET hilo.pool_size = 5'), qr/55P02/, 'some only at the start of the server');

#
# Arguments
#
is(refused("SELECT $_->[0]"), $_->[1], "$_->[0]: $_->[1]")
  for ["hilo.lease_from(NULL, 'ids_hub')", '22004'], ["hilo.lease_from('', 'ids_hub')", '22023'], ["hilo.lease_from('x', 'no such server')", '42704'],
  ["hilo.lease_from('x', '')", '42704'], ["hilo.lease_from('x', repeat('s', 64))", '42704'], ["hilo.lease_from('x', 'ids_hub', 0)", '22023'],
  ["hilo.lease_from('x', 'ids_hub', -1)", '22023'], ["hilo.lease_from('x', 'ids_hub', 9223372036854775807)", '22023'],
  ["hilo.lease_from('x', NULL)", '55000'], ["hilo.lease_from('x|', NULL)", '55000'], ["hilo.lease_from('x|y', 'ids_hub')", '22023'],
  ["hilo.lease_from('x||', 'ids_hub')", '22023'], ["hilo.lease_from('|', 'ids_hub')", '22023'], ["hilo.lease_from('x/', 'ids_hub')", '22023'],
  ["hilo.lease_from(repeat('x', 256), 'ids_hub')", '22023'];
is(sql("SELECT count(*) FROM hilo.hilo WHERE collection IN ('x', 'x|', '|') AND flags & 2 <> 0"), 0, 'nothing is leased by that');
like(message("BEGIN READ ONLY; SELECT hilo.lease_from('x', 'ids_hub')"), qr/25006/, 'nor in a read-only transaction');
# Servers that cannot be asked.
sql(q{CREATE FOREIGN DATA WRAPPER of_its_own; CREATE SERVER of_its_own FOREIGN DATA WRAPPER of_its_own OPTIONS (host '/nonexistent')});
is(refused("SELECT hilo.lease_from('$_', 'of_its_own')"), '42704', "without a user mapping: $_") for 'x', 'x|';
sql(q{CREATE USER MAPPING FOR CURRENT_USER SERVER of_its_own OPTIONS (user 'nobody', password 'secret')});
is(refused("SELECT hilo.lease_from('$_', 'of_its_own')"), '08001', "not to be reached: $_") for 'x', 'x|';
is(sql("SELECT count(*) FROM hilo.hilo WHERE collection IN ('x', 'x|') AND flags & 2 <> 0"), 0, 'nothing is leased by that, either');
is(refused($_), '42809', "by hand: $_") for "UPDATE hilo.hub SET lineage = 0", 'DELETE FROM hilo.hub', 'TRUNCATE hilo.hub';

# A restored row: leased wins; and one of a hub gives nothing, whatever is said of promotions.
sql("INSERT INTO hilo.hilo (collection, max, max_ever, flags, hub, epoch) VALUES ('b', 70, 70, 2, 'ids_hub', 1)");
is(sql("SELECT max, flags & 2, hub FROM hilo.hilo WHERE collection = 'b'"), '70|2|ids_hub', 'a row that was restored onto one that counts is leased');
cmp_ok(sql("SELECT hilo_next_number('b')"), '>', 70, 'and draws above');
is(hub("SET test.max_lease_size = 5; SELECT high - low + 1 FROM hilo.lease('at most', 10)"), 5, 'test.max_lease_size');
hub("INSERT INTO hilo.hub (hub, lineage, term, term_id) SELECT hub, lineage, term, term_id FROM hilo.hub WHERE hub = '|'");
is(hub("SELECT low IS NULL AND refusal IS NOT NULL FROM hilo.lease('$_', 10)"), 't', "a hub that was restored gives no lease: $_") for 'at most', 'never given';
is(error_of($hub, 'postgres', "SELECT hilo_next_number('own')"), '55000', 'nor does it draw');
is(hub('SELECT is_open, missing IS NOT NULL FROM hilo.hub_resume()'), 'f|t', 'it collects reports');
sql('SELECT hilo.lease_report()');
hub("SELECT hilo.hub_forget(member, true) FROM (SELECT DISTINCT member FROM hilo.members WHERE NOT reported AND member <> '') m");
is(hub('SELECT is_open, missing FROM hilo.hub_resume()'), 't|{}', 'and goes on');
is(hub("SELECT low > 0 FROM hilo.lease('never given', 10)"), 't', 'with all');

#
# Dropped and created again
#
lease('again', 'ids_hub');
sql("SELECT hilo_next_number('again') FROM generate_series(1, 5)");
is($s->query("SELECT hilo_next_number('again')") =~ /^\d+$/ ? 1 : 0, 1, 'a session draws');
sql('DROP EXTENSION hilo CASCADE; CREATE EXTENSION hilo');
is($s->query("SELECT hilo_next_number('again')"), 1, 'a new extension counts');
is(sql('SELECT count(*) FROM hilo.pool'), 0, 'nothing of the old one is left');
lease('again', 'ids_hub');
is(sql("SELECT hilo_next_number('again')"), 101, 'and leases');
is(hub("SELECT max FROM hilo.hilo WHERE collection = 'again'"), 200, 'above what the hub has given');

$s->finish;
$kept->finish;
$member->stop;
$hub->stop;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $member, $hub;
done_testing();
