# What doc/monitoring promises: its queries run as a member of pg_monitor, and give the metrics that they name; alerts and
# dashboard use metrics that there are; each alert fires, and only when it should.  Where the programs are installed, with
# prometheus-postgres-exporter and promtool.
use strict;
use warnings;

use HTTP::Tiny;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = 'doc/monitoring';
my $node = PostgreSQL::Test::Cluster->new('monitoring');
$node->init;
$node->start;

# The server leases from a database of its own.
$node->safe_psql('postgres', 'CREATE DATABASE hub');
$node->safe_psql('hub', 'CREATE EXTENSION hilo');
$node->safe_psql('postgres', sprintf <<'SQL', $node->host, $node->port);
CREATE EXTENSION hilo;
CREATE EXTENSION postgres_fdw;
CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
CREATE SERVER ids_hub FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%s', dbname 'hub');
CREATE USER MAPPING FOR CURRENT_USER SERVER ids_hub;
SELECT hilo_next('orders');
SELECT hilo.lease_from('parcels', 'ids_hub');
SELECT hilo_next('parcels');
SQL

# The queries, as far as this file uses YAML.
my (%query, %metric, $name, $column);
foreach my $line (split /\n/, slurp_file("$folder/queries.yaml"))
{
	if ($line =~ /^(\w+):$/) { $name = $1; }
	elsif ($line =~ /^    - (\w+):$/) { $column = $1; }
	elsif ($line =~ /^        usage: (\w+)$/)
	{
		$query{$name}{columns}{$column} = $1;
		$metric{"${name}_$column"} = 1 if $1 eq 'GAUGE';
	}
	elsif ($line =~ /^    (?! )?\s*(\S.*)$/ && !$query{$name}{columns}) { $query{$name}{sql} .= "$1\n"; }
}
is(join(' ', sort keys %query), 'hilo_collection hilo_lease hilo_pool', 'three queries');

foreach my $it (sort keys %query)
{
	my ($code, $out, $err) = $node->psql('postgres', $query{$it}{sql},
		connstr => $node->connstr('postgres') . ' user=watcher', extra_params => [ '-P', 'tuples_only=off', '-P', 'footer=off' ]);
	my ($columns, @rows) = split /\n/, $out;

	is($err, '', "$it: runs as a member of pg_monitor");
	is(join(' ', sort split /\|/, $columns), join(' ', sort keys %{ $query{$it}{columns} }), "$it: gives what it names");
	cmp_ok(scalar(@rows), '>', 0, "$it: gives rows");
}

# What others use is there.
sub unknown
{
	my ($text) = @_;
	my %used = map { $_ => 1 } $text =~ /\b(hilo_(?:collection|lease|pool)_\w+)/g;

	cmp_ok(scalar(keys %used), '>', 3, 'metrics are used');
	return join ' ', grep { !$metric{$_} } sort keys %used;
}

is(unknown(slurp_file("$folder/alerts.yaml")), '', 'alerts use metrics that there are');
my $dashboard = slurp_file("$folder/dashboard.json");
is(unknown($dashboard), '', 'the dashboard uses metrics that there are');
my $panels = decode_json($dashboard)->{panels};
is(scalar(@$panels), 6, 'the dashboard is JSON, with its panels');
is(scalar(keys %{ { map { $_->{id} => 1 } @$panels } }), 6, 'each panel has an id of its own');

# The exporter itself.
SKIP:
{
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my ($program) = grep { -x } map { "$_/prometheus-postgres-exporter" } split /:/, $ENV{PATH};
	skip 'prometheus-postgres-exporter is not installed', 4 if !$program;

	local $ENV{DATA_SOURCE_NAME} = 'host=' . $node->host . ' port=' . $node->port . ' user=watcher dbname=postgres sslmode=disable';
	my $log = '';
	my $exporter = IPC::Run::start(
		[ $program, "--extend.query-path=$folder/queries.yaml", "--web.listen-address=127.0.0.1:$port" ],
		'<', '/dev/null', '>', \$log, '2>', \$log);
	my $answer;
	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$answer = HTTP::Tiny->new->get("http://127.0.0.1:$port/metrics");
		last if $answer->{success};
		select undef, undef, undef, 0.1;
	}
	$exporter->signal('TERM');
	$exporter->finish;

	like($answer->{content}, qr/^hilo_collection_max\{collection="orders",datname="postgres",.*\} 32$/m, 'the exporter shows a collection');
	like($answer->{content}, qr/^hilo_lease_failing_seconds\{.*collection="parcels".*hub="ids_hub".*\} 0$/m, 'and a lease');
	like($answer->{content}, qr/^hilo_pool_numbers\{.*leased="true".*\} [1-9]/m, 'and the pool');
	is(join(' ', grep { $answer->{content} !~ /^\Q$_\E\{/m } sort keys %metric), '', 'and every metric') or diag($log);
}

SKIP:
{
	my ($program) = grep { -x } map { "$_/promtool" } split /:/, $ENV{PATH};
	skip 'promtool is not installed', 2 if !$program;

	command_ok([ $program, 'check', 'rules', "$folder/alerts.yaml" ], 'the alerts are rules');
	command_ok([ $program, 'test', 'rules', 'test/t/alerts_test.yaml' ], 'each alert fires, and only when it should');
}

$node->stop;
done_testing();
