# hilo.sync() of text reads the table once, says how far it is, and ends at once when it is cancelled or out of time.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# A report for each block, so that one can be waited for.
my $libdir = build_variant(PostgreSQL::Test::Utils::tempdir . '/talkative', sub {
	my ($tree) = @_;
	my ($file) = grep { slurp_file($_) =~ /^#define PROGRESS_INTERVAL_MS/m } glob "$tree/src/*/*.c";
	my $source = slurp_file($file);
	$source =~ s/^(#define PROGRESS_INTERVAL_MS\s+)\d+$/${1}0/m or die 'no interval';
	unlink $file;
	append_to_file($file, $source);
});
my $node = PostgreSQL::Test::Cluster->new('talkative');
$node->init;
$node->append_conf('postgresql.conf', <<"SETTINGS");
dynamic_library_path = '$libdir:\$libdir'
autovacuum = off
SETTINGS
$node->start;

# A row a block, and more reports than fit between a server and a client that does not read them.
my $blocks = 10000;
$node->safe_psql('postgres', qq{
	CREATE EXTENSION hilo;
	CREATE TABLE orders (id text, filler text) WITH (fillfactor = 10);
	ALTER TABLE orders ALTER filler SET STORAGE PLAIN;
	SET client_min_messages = warning;
	SELECT hilo.attach('orders', 'id');
	SET session_replication_role = replica;
	INSERT INTO orders SELECT 'orders/' || i || '-A', repeat('x', 900) FROM generate_series(1, $blocks) i;
});
is($node->safe_psql('postgres', "SELECT pg_relation_size('orders') / current_setting('block_size')::int"),
	$blocks, 'the table has as many blocks as rows');

# Call hilo.sync() in a client that stops reading after the first report; meanwhile what $then does; returns what it writes.
sub sync_and
{
	my ($then, @settings) = @_;
	my $err = '';
	pipe(my $reader, my $writer) or die "pipe: $!";

	local $ENV{PGOPTIONS} = join(' ', map { "-c $_" } @settings);
	my $client = IPC::Run::start(
		[ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'),
			'-c', "SELECT hilo.sync('orders')" ],
		'<', '/dev/null', '>', '/dev/null', '2>', $writer);
	close $writer;
	sysread($reader, $err, 1) or die 'nothing was written';
	my $pid = wait_until('the server waits for its client', sub {
		$node->safe_psql('postgres',
			q{SELECT pid FROM pg_stat_activity WHERE query LIKE 'SELECT hilo.sync%' AND wait_event = 'ClientWrite'});
	});
	$then->($pid);
	$err .= $_ while <$reader>;
	$client->finish;
	return $err;
}

my $report = qr/^NOTICE:  looking for the highest number in table "orders": block (\d+) of $blocks$/m;

my $err = sync_and(sub { });
my @reported = $err =~ /$report/g;
is(join(' ', @reported), join(' ', 1 .. $blocks), 'each block is reported once');
is($err =~ s/$report//gr =~ s/\s//gr, '', 'and nothing else');
is($node->safe_psql('postgres', q{SELECT max FROM hilo.hilo}), $blocks, 'the collection is advanced');

foreach my $way (
	[ 'cancelled', 'user request', sub {
			my ($pid) = @_;
			is($node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)"), 't', 'cancelled');
		} ],
	[ 'out of time', 'statement timeout', sub {
			my ($pid) = @_;
			wait_until('the time is over', sub {
				$node->safe_psql('postgres',
					"SELECT clock_timestamp() > query_start + interval '1.1 s' FROM pg_stat_activity WHERE pid = $pid") eq 't';
			});
		}, 'statement_timeout=1s' ])
{
	my ($name, $reason, $then, @settings) = @$way;

	$node->safe_psql('postgres', q{SELECT hilo.seed('orders', 0, true)});
	$err = sync_and($then, @settings);
	@reported = $err =~ /$report/g;
	like($err, qr/^ERROR:  canceling statement due to $reason$/m, "$name: it ends");
	cmp_ok($reported[-1], '<', $blocks, "$name: before the last block, at $reported[-1]");
	is($node->safe_psql('postgres', q{SELECT max FROM hilo.hilo}), 0, "$name: nothing is advanced");
}

# Numbers in an index: no block is reported.
$node->safe_psql('postgres', q{
	CREATE TABLE parcels (id int PRIMARY KEY);
	SET client_min_messages = warning;
	SELECT hilo.attach('parcels');
	SET session_replication_role = replica;
	INSERT INTO parcels SELECT generate_series(1, 100000);
});
$node->psql('postgres', q{SELECT hilo.sync('parcels')}, stderr => \$err);
is($err, '', 'numbers by an index: no scan');
$node->stop;

done_testing();
