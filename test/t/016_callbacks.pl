# Promise 8: of the ten places that a server has for relcache callbacks, hilo takes one, whatever a session does with it.
use HiloTest;

# Libraries that take so many places.
my $dir = PostgreSQL::Test::Utils::tempdir;
my $node = PostgreSQL::Test::Cluster->new('callbacks');

sub library
{
	my ($places) = @_;
	my $name = "$dir/places_$places";
	append_to_file("$name.c", <<"C");
#include "postgres.h"
#include "fmgr.h"
#include "utils/inval.h"
PG_MODULE_MAGIC;
extern PGDLLEXPORT void _PG_init(void);
static void
ignore(Datum arg, Oid relid)
{
}
void
_PG_init(void)
{
	for (int i = 0; i < $places; i++)
		CacheRegisterRelcacheCallback(ignore, (Datum) 0);
}
C
	system_or_bail(split(' ', $ENV{CC} // 'cc'), '-fPIC', '-shared', '-I', $node->config_data('--includedir-server'), '-o', "$name.so", "$name.c");
	return $name;
}

$node->init;
$node->append_conf('postgresql.conf', "max_prepared_transactions = 5\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo');

# How many the server itself leaves free: it uses some for what is done below.
my $plain = q{BEGIN; CREATE TABLE doc (id text PRIMARY KEY); INSERT INTO doc SELECT g FROM generate_series(1, 3) g; SELECT DISTINCT id FROM doc; ROLLBACK};
my $free = 9;
$free-- while $free > 0 && ($node->psql('postgres', "LOAD '" . library($free) . "'; $plain"))[0] != 0;
cmp_ok($free, '>', 3, "the server leaves $free places free");
my $others = library($free - 1);

my $everything = <<"SQL";
LOAD '$others';
SELECT hilo_next('orders'), next_identity('companies'), next_server_side_id('a/');
CREATE TABLE doc (id text PRIMARY KEY DEFAULT hilo_next('doc'));
CREATE TABLE numbered (id serial PRIMARY KEY);
SELECT hilo.bind('doc', 'doc', 'id'), hilo.attach('numbered');
INSERT INTO doc DEFAULT VALUES;
INSERT INTO numbered DEFAULT VALUES;
\\c
LOAD '$others';
INSERT INTO doc DEFAULT VALUES;
SELECT next_identity_free('doc');
SELECT count(*) FROM hilo.status, hilo.columns;
SELECT hilo.sync();
SELECT hilo.detach('numbered'), hilo.unbind('doc');
DROP TABLE doc, numbered;
SELECT hilo.drop('doc'), hilo.drop('doc|');
SQL
foreach my $preload ('', "shared_preload_libraries = 'hilo'\n")
{
	$node->append_conf('postgresql.conf', $preload);
	$node->restart;
	my ($ret, $out, $err) = $node->psql('postgres', $everything, on_error_stop => 1);
	is($ret, 0, 'beside all others' . ($preload ? ', preloaded' : '')) or diag($err);
}

# The test can fail: with no place left, hilo cannot be loaded.
my ($ret, $out, $err) = $node->psql('postgres', "LOAD '$dir/places_$free'; $plain; SELECT hilo_next('orders')");
like($err, qr/out of relcache_callback_list slots/, 'without a place it fails');

$node->stop;
done_testing;
