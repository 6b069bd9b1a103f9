# With the library in shared_preload_libraries, settings are read before there is
# a database, whose encoding would say what is text: then they have to be ASCII.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'hilo'
hilo.server_prefix = 'South/'
hilo.identity_parts_separator = ':'
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo');
is($node->safe_psql('postgres', q{SELECT hilo_next('orders')}), 'orders:South/1-A', 'settings of a preloading server');
$node->stop;

$node->append_conf('postgresql.conf', "hilo.server_prefix = 'S\xc3\xbcd/'\nhilo.identity_parts_separator = '\xc2\xa7'");
my $seen = -s $node->logfile;
$node->start;
my $log = slurp_file($node->logfile, $seen);
like($log, qr/invalid value for parameter "hilo\.$_"/, "$_: not ASCII") for qw(server_prefix identity_parts_separator);
is($node->safe_psql('postgres', q{SELECT hilo_next('orders')}), 'orders/2-A', 'then the defaults count');
done_testing();
