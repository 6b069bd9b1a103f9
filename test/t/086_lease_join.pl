# Joining a hub draws nothing: the first identity of a cluster is 1, whichever server draws it, and each next one is one more; and what a member assigns to documents is free there.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hub = new_node('hub');
my $one = new_member('one');
my $two = new_member('two');
my $three = new_member('three', "hilo.hub = 'ids_hub'\n");
add_hub($_, $hub) for $one, $two, $three;

#
# Join
#
$_->safe_psql('postgres', q{SELECT hilo.lease_from('companies|', 'ids_hub'), hilo.lease_from('orders', 'ids_hub')}) for $one, $two;

# Again, with another size, in a transaction that is rolled back, and in vain.
$one->safe_psql('postgres', q{SELECT hilo.lease_from('companies|', 'ids_hub')});
$one->safe_psql('postgres', q{SELECT hilo.lease_from('companies|', 'ids_hub', 1)});
$one->safe_psql('postgres', q{BEGIN; SELECT hilo.lease_from('companies|', 'ids_hub'); ROLLBACK});
is(error_of($one, 'postgres', q{SELECT hilo.lease_from('companies|', 'nowhere')}), '42704', 'a server that is not there');
$one->safe_psql('postgres', q{SELECT hilo.lease_from('companies|', NULL); SELECT hilo.lease_from('companies|', 'ids_hub')});
is(max_of($hub, 'companies|') . ' ' . max_of($hub, 'orders'), '0 0', 'members that join draw nothing');

is($two->safe_psql('postgres', q{SELECT next_identity('companies')}), 'companies/1', 'the first identity');
is($three->safe_psql('postgres', q{SELECT next_identity('companies')}), 'companies/2', 'the second, on a member by its setting');
is($one->safe_psql('postgres', q{SELECT next_identity('companies')}), 'companies/3', 'the third');
is($hub->safe_psql('postgres', q{SELECT next_identity('companies')}), 'companies/4', 'the fourth, on the hub');
is($one->safe_psql('postgres', q{SELECT next_identity('companies')}), 'companies/5', 'the fifth');

# Nor does a restart, or one that joins later, cost any.
$one->restart;
my $late = new_member('late');
add_hub($late, $hub);
$late->safe_psql('postgres', q{SELECT hilo.lease_from('companies|', 'ids_hub')});
is($_->safe_psql('postgres', q{SELECT next_identity_for('companies')}), max_of($hub, 'companies|'), $_->name . ': one more') for $late, $one;
is(max_of($hub, 'companies|'), 7, 'seven were drawn');

#
# Documents of a member
#
$one->safe_psql('postgres', q{
	CREATE TABLE documents (id text COLLATE "C" PRIMARY KEY);
	INSERT INTO documents SELECT 'companies/' || n FROM generate_series(1, 100) n;
	CREATE TRIGGER assign BEFORE INSERT ON documents FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
});
is($one->safe_psql('postgres', q{INSERT INTO documents VALUES ('companies|'), ('companies|') RETURNING id}),
	"companies/101\ncompanies/102", 'a document gets the next opening');
is($two->safe_psql('postgres', q{SELECT next_identity('companies')}), 'companies/103', 'others go on above it');
is($one->safe_psql('postgres', q{INSERT INTO documents VALUES ('companies/104'), ('companies/105'), ('companies|') RETURNING id}),
	"companies/104\ncompanies/105\ncompanies/106", 'ids by hand are passed over');

for my $node ($one, $two, $three, $late, $hub)
{
	$node->stop;
	is(left_behind($node), '', $node->name . ' has left nothing behind');
}
done_testing();
