# What doc/monitoring promises: its queries run as a member of pg_monitor, and give the metrics that they name; alerts and
# dashboard use metrics that there are; each alert fires, and only when it should.  Where the programs are installed, with
# prometheus-postgres-exporter, prometheus-sql-exporter on two databases, and promtool.
use HiloTest;
use HTTP::Tiny;
use JSON::PP;

my $folder = 'doc/monitoring';
my $node = server('monitoring');

# One database, and another one.
$node->safe_psql('postgres', 'CREATE DATABASE other');
$node->safe_psql('other', q{CREATE EXTENSION hilo; SELECT hilo_next('orders')});
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION hilo;
CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
SELECT hilo_next('orders');
SELECT next_identity('companies');
SELECT hilo_next('parcels');
CREATE TABLE tickets (id serial PRIMARY KEY);
INSERT INTO tickets DEFAULT VALUES;
GRANT SELECT ON SEQUENCE tickets_id_seq TO watcher;
CREATE TABLE unread (id serial PRIMARY KEY);
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
		$metric{"${name}_$column"} = 1 if $1 ne 'LABEL';
	}
	elsif ($line =~ /^    (?! )?\s*(\S.*)$/ && !$query{$name}{columns}) { $query{$name}{sql} .= "$1\n"; }
}
is(join(' ', sort keys %query), 'hilo_collection hilo_column hilo_identity', 'three queries');

foreach my $it (sort keys %query)
{
	my ($code, $out, $err) = $node->psql('postgres', $query{$it}{sql},
		connstr => $node->connstr('postgres') . ' user=watcher', extra_params => [ '-P', 'tuples_only=off', '-P', 'footer=off' ]);
	my ($columns, @rows) = split /\n/, $out;

	is($err, '', "$it: runs as a member of pg_monitor");
	is(join(' ', sort split /\|/, $columns), join(' ', sort keys %{ $query{$it}{columns} }), "$it: gives what it names");
	cmp_ok(scalar(@rows), '>', 0, "$it: gives rows");
	like($out, qr/unread.id\|nextval\|NaN\|0/, 'a column whose sequence the role may not read is there as well') if $it eq 'hilo_column';
}

# What others use is there.
sub unknown
{
	my ($text) = @_;
	my %used = map { $_ => 1 } $text =~ /\b(hilo_(?:collection|column|identity)_\w+)/g;

	cmp_ok(scalar(keys %used), '>=', 2, 'metrics are used');
	return join ' ', grep { !$metric{$_} } sort keys %used;
}

is(unknown(slurp_file("$folder/alerts.yaml")), '', 'alerts use metrics that there are');
my $dashboard = slurp_file("$folder/dashboard.json");
is(unknown($dashboard), '', 'the dashboard uses metrics that there are');
my $panels = decode_json($dashboard)->{panels};
is(scalar(@$panels), 3, 'the dashboard is JSON, with its panels');
is(scalar(keys %{ { map { $_->{id} => 1 } @$panels } }), 3, 'each panel has an id of its own');

# Where a program is, if it is installed.
sub program
{
	my ($name) = @_;
	my ($program) = grep { -x } map { "$_/$name" } split /:/, $ENV{PATH};

	return $program;
}

# Run an exporter that is told to listen on the port, until its answer has all that is wanted; returns the answer and the log.
sub answer_of
{
	my ($port, $wanted, @command) = @_;
	my $log = '';
	my $exporter = IPC::Run::start([@command], '<', '/dev/null', '>', \$log, '2>', \$log);
	my $answer;

	foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$answer = HTTP::Tiny->new->get("http://127.0.0.1:$port/metrics");
		last if $answer->{success} && !grep { $answer->{content} !~ $_ } @$wanted;
		last if !$exporter->pumpable;
		$exporter->pump_nb;
		select undef, undef, undef, 0.1;
	}
	$exporter->signal('TERM');
	$exporter->finish;
	return ($answer->{content}, $log);
}

# The exporter of one database.
SKIP:
{
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $program = program('prometheus-postgres-exporter');
	skip 'prometheus-postgres-exporter is not installed', 2 if !$program;

	local $ENV{DATA_SOURCE_NAME} = 'host=' . $node->host . ' port=' . $node->port . ' user=watcher dbname=postgres sslmode=disable';
	my ($answer, $log) = answer_of($port, [], $program, "--extend.query-path=$folder/queries.yaml", "--web.listen-address=127.0.0.1:$port");

	like($answer, qr/^hilo_collection_max\{collection="orders",datname="postgres",.*\} 32$/m, 'the exporter shows a collection');
	is(join(' ', grep { $answer !~ /^\Q$_\E\{/m } sort keys %metric), '', 'and every metric') or diag($log);
}

# The exporter of several databases.  Its metrics become the others when Prometheus puts the name of the column behind.
SKIP:
{
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $program = program('prometheus-sql-exporter');
	skip 'prometheus-sql-exporter is not installed', 3 if !$program;

	my @connections = map { sprintf "postgres://watcher@/%s?host=%s&port=%s&sslmode=disable", $_, $node->host, $node->port } qw(postgres other);
	my $config = PostgreSQL::Test::Utils::tempdir . '/sql_exporter.yml';
	my $text = slurp_file("$folder/sql_exporter.yml");
	$text =~ s/^( *)- postgres:.*\n//mg;
	$text =~ s/^( *)connections:\n/join("\n$1  - ", "$1connections:", @connections) . "\n"/me or die 'no connections';
	append_to_file($config, $text);

	my @shown = map { qr/^sql_hilo_collection\{col="max",collection="\w+",.*datname="$_"/m } qw(postgres other);
	my ($answer, $log) = answer_of($port, [ @shown, qr/^sql_hilo_identity\{/m, qr/^sql_hilo_column\{/m ], $program, '-config.file', $config, '-web.listen-address', "127.0.0.1:$port");

	like($answer, $_, 'the exporter of several databases shows each') or diag($log) foreach @shown;
	my %shown = map { $_ => 1 } map { s/^sql_(hilo_\w+)\{col="(\w+)"/$1_$2/r } $answer =~ /^(sql_hilo_\w+\{col="\w+")/mg;
	is(join(' ', sort keys %shown), join(' ', sort keys %metric), 'with the same metrics');
}

SKIP:
{
	my $program = program('promtool');
	skip 'promtool is not installed', 2 if !$program;

	command_ok([ $program, 'check', 'rules', "$folder/alerts.yaml" ], 'the alerts are rules');
	command_ok([ $program, 'test', 'rules', 'test/t/alerts_test.yaml' ], 'each alert fires, and only when it should');
}

$node->stop;
done_testing();
