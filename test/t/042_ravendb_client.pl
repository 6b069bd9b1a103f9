# RavenDB's own client, through the bridge of test/clients/ravendb, stores documents with ids of all kinds: they are those that RavenDB's manual prints.
use HiloTest;

my $TIMEOUT = $PostgreSQL::Test::Utils::timeout_default;

my $folder = clients_folder();
chdir "$folder/ravendb" or die "$folder/ravendb: $!";
if (!install_packages())
{
	done_testing();
	exit;
}

my $node = server('ravendb', "hilo.max_range_size = 1048576\nmax_connections = 30", undef, allows_streaming => 1);
sub sql { return $node->safe_psql('postgres', $_[0]); }

# One table, as ids are unique in a database of RavenDB, over all collections.
sql(q{
	CREATE EXTENSION hilo;
	CREATE TABLE documents (id text COLLATE "C" PRIMARY KEY, document jsonb);
	CREATE TRIGGER assign_id BEFORE INSERT ON documents FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
	INSERT INTO documents SELECT 'members/' || n FROM generate_series(1, 1000) n;
});

# A standby, which takes over from the server, and its port, while the client goes on.
my $standby = standby_of($node, 'standby');
$standby->start;
wait_for_standbys($node, 'standby');

sub fail_over
{
	$node->stop('immediate');
	$standby->promote;
	$standby->stop;
	$standby->{_port} = $node->port;
	$standby->append_conf('postgresql.conf', 'port = ' . $node->port);
	$standby->start;
	return;
}

my ($in, $out, $err, %max) = ('', '', '');
{
	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGUSER} = 'postgres';
	local $ENV{PGDATABASE} = 'postgres';
	my $client = IPC::Run::start([ 'node', 'client.js' ], '<', \$in, '>', \$out, '2>', \$err, IPC::Run::timeout($TIMEOUT));
	$client->pump until $out =~ /^before failover.*\n/m || !$client->pumpable;
	# A crash adds to max what was logged ahead.
	%max = map { $_ => sql("SELECT max FROM hilo.hilo WHERE collection = '$_'") } 'products', 'orders';
	fail_over();
	$in .= "go on\n";
	ok($client->finish, 'the client comes to its end') or diag($err);
}
my %ids = map { my ($step, @values) = split /\|/; ($step => \@values) } split /\n/, $out;

sub gives
{
	my ($step, $expected, $what) = @_;

	is(join(' ', @{ $ids{$step} // [] }), $expected, $what // $step);
	return;
}

# What RavenDB's manual prints for these.
gives('hilo', 'orders/1-A orders/2-A orders/3-A');
gives('server-side', 'companies/0000000000000000001-A');
gives('server-side, nested', 'companies/1/0000000000000000002-A');
gives('identity', 'companies/1');
like(sql(q{SELECT id FROM documents WHERE document->>'kind' = 'guid'}), qr/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'guid');
gives('semantic', 'companies/acme');
gives('next identity', 2);
gives('after it', 'companies/3');
gives('seeded', 23);
gives('after the seed', 'companies/24');
gives('seeded lower', 24);
gives('forced', 5);
gives('after the force', 'companies/6');
gives('without a bar', 7);
is((split /\|/, ($out =~ /^(all\|.*)$/m)[0] // '|', 2)[1], '{"companies|":7}', 'all identities');
gives('imported', 'members/1001', 'an identity finds the next opening');

# A store that is closed gives the rest of its range back.
gives('first store', join(' ', map { "users/$_-A" } 1 .. 10));
gives('second store', join(' ', map { "users/$_-A" } 11 .. 20), 'a store goes on where the one before was closed');
gives('third store', 'users/21-A', 'so does the next');

# The client's own tests of HiLo documents.
my %drawn = map { $_ => 1 } @{ $ids{'cannot go down'} };
is(scalar(keys %drawn), 129, 'a HiLo document that is set lower makes no id come again');
gives('two documents', 'articles/65-A songs/129-A', 'each HiLo document counts for its collection');
gives('used up', 96, 'a range of 32 above 64');
gives('doubled', 160, 'and the next one, of 64');
gives('returned', 34, 'a store that is closed returns its range');

# The server is killed, and the standby takes over.
gives('before failover', 'songs/161-A songs/162-A songs/163-A');
is(join(' ', map { m{^songs/(\d+)-A$} && $1 > 163 } @{ $ids{'after failover'} }), join(' ', (1) x 100), 'the client goes on behind its range, and claims');
cmp_ok($ids{'identity after failover'}[0] =~ s,members/,,r, '>', 1001, 'and the identity');

sub numbers
{
	my ($step, $collection) = @_;
	my @numbers = map { m{^\Q$collection\E/(\d+)-A$} ? $1 : -1 } @{ $ids{$step} // [] };

	return sort { $a <=> $b } @numbers;
}

is(join(' ', numbers('parallel', 'products')), join(' ', 1 .. 400), '400 documents at once: exactly 1 to 400');
is($max{products}, 32 + 64 + 128 + 256, 'in ranges of 32, 64, 128, 256');

# The first store has 4 to 32 left, and keeps them.  Each has ranges of its own.
is(join(' ', numbers('slow', 'orders')), join(' ', 33 .. 37), 'a slow store stays in its first range');
is(join(' ', numbers('fast', 'orders')), join(' ', 65 .. 564), 'a fast one has ranges of its own');
is($max{orders}, 64 + 32 + 64 + 128 + 256 + 512, 'which double');

is(sql(q{SELECT count(*) FROM documents}), 1000 + 8 + 3 + 21 + 2 + 400 + 505 + 1 + 104, 'all documents are there');
my @told = map { @{ $ids{$_} } } grep { /hilo|before|server|identity$|semantic|after|store|parallel|slow|fast|imported/ && !/next/ } keys %ids;
is(sql(q{SELECT count(*) FROM documents WHERE id IN (} . join(', ', map { "'$_'" } @told) . ')'), scalar @told, 'with the ids that the client knows');

$standby->stop;
done_testing();
