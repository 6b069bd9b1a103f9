# An ORM lets its tables be attached: its models go on working, single and bulk inserts bring back the ids that are stored, and ids given by hand are in nobody's way.
use strict;
use warnings;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $TIMEOUT = $PostgreSQL::Test::Utils::timeout_default;

# Commands for the programs of test/clients.
my %clients = (
	sequelize => [ 'node', 'sequelize.js' ],
	typeorm => [ 'node', 'typeorm.js' ],
	django => [ '/usr/bin/python3', '-B', 'django_client.py' ],
	sqlalchemy => [ '/usr/bin/python3', '-B', 'sqlalchemy_client.py' ],);
my %tables = (
	orders => q{hilo_next_number('orders'::text)},
	lines => q{hilo_next_number('lines'::text)},
	documents => q{hilo_next('documents'::text)},);

# What each of them inserts into each table.
my $items = join "\n",
  sort('before', 'single', 'given', 'synchronized',
	(map { "bulk $_" } 1 .. 3), (map { "bulk $_" } 1 .. 100) x 3);

# Programs find the packages that npm installs beside them.
my $folder = PostgreSQL::Test::Utils::tempdir();
PostgreSQL::Test::RecursiveCopy::copypath('test/clients', "$folder/clients");
chdir "$folder/clients" or die "$folder/clients: $!";
my ($npm_out, $npm_err) = ('', '');
my $npm = IPC::Run::start(
	[
		qw(npm install --no-save --no-package-lock --ignore-scripts --no-audit --no-fund
		  --fetch-retries=1 --fetch-timeout=60000)
	],
	'<', '/dev/null', '>', \$npm_out, '2>', \$npm_err,
	IPC::Run::timeout($TIMEOUT));

my $node = PostgreSQL::Test::Cluster->new('orms');
$node->init;
$node->start;

# Run a program in a database of its own, as its owner, and compare what it
# says that it has inserted with what is there.
sub run_client
{
	my ($client) = @_;
	my ($out, $err);

	$node->safe_psql('postgres', "CREATE ROLE $client LOGIN");
	$node->safe_psql('postgres', "CREATE DATABASE $client OWNER $client");
	$node->safe_psql($client, 'CREATE EXTENSION hilo');

	local $ENV{PGHOST} = $node->host;
	local $ENV{PGPORT} = $node->port;
	local $ENV{PGUSER} = $client;
	local $ENV{PGDATABASE} = $client;
	my $done = IPC::Run::run($clients{$client},
		'<', '/dev/null', '>', \$out, '2>', \$err, IPC::Run::timeout($TIMEOUT));
	unless (ok($done, "$client: the program has come to its end"))
	{
		diag($err);
		return;
	}
	foreach my $table (sort keys %tables)
	{
		my @told = grep { s/^\Q$table\E\|// } split /\n/, $out;
		my ($stored, $default) = map { $node->safe_psql($client, $_) }
		  "SELECT id, item FROM $table",
		  qq{SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef
			 WHERE adrelid = '$table'::regclass};

		is( join("\n", sort @told), join("\n", sort split /\n/, $stored),
			"$client, $table: the ids told are those stored");
		is( join("\n", sort map { s/.*\|//r } @told), $items,
			"$client, $table: every row has been inserted");
		is($default, $tables{$table}, "$client, $table: is still attached");
	}
	is( $node->safe_psql($client, q{SELECT count(*) = 0 FROM hilo_detach_all('public') WHERE result NOT IN ('sequence', 'identity', 'identity always', 'default', 'nothing')}),
		't', "$client: all tables go back to what they were");
	return;
}

run_client($_) for qw(django sqlalchemy);

# Who does without installing may be without a way to do so.
my $installed = eval { $npm->finish };
SKIP:
{
	skip 'npm does not get the packages: ' . ($npm_err =~ /^npm (?:ERR!|error) (.*)/m)[0], 1
	  if !$installed && ($ENV{HILO_INSTALL} // '') eq 'no';
	ok($installed, 'npm installs packages') or diag($npm_out, $npm_err);
	run_client($_) for $installed ? qw(sequelize typeorm) : ();
}

$node->stop;
done_testing();
