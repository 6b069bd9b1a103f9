# A table whose partitions are on three other servers, by postgres_fdw: the default draws on the coordinator, whatever the statement, so that ids are unique over all; hilo.attach(), hilo.sync() and next_identity_free() look into foreign partitions.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my ($coordinator, @members) = map { PostgreSQL::Test::Cluster->new($_) } qw(coordinator member0 member1 member2);
foreach my $node ($coordinator, @members)
{
	$node->init;
	$node->append_conf('postgresql.conf', "max_connections = 30\nautovacuum = off\nlog_statement = all");
	$node->start;
}

# The members have no extension: a default of theirs would show.
$coordinator->safe_psql('postgres', q{
	CREATE EXTENSION hilo;
	CREATE EXTENSION postgres_fdw;
	CREATE TABLE orders (id text DEFAULT hilo_next('orders'), way text) PARTITION BY HASH (id);
	CREATE TABLE parts (id bigint DEFAULT hilo_next_number('parts'), way text) PARTITION BY HASH (id);
});
foreach my $i (0 .. $#members)
{
	my ($host, $port) = ($members[$i]->host, $members[$i]->port);

	$members[$i]->safe_psql('postgres', q{
		CREATE TABLE orders (id text PRIMARY KEY DEFAULT 'drawn by a member', way text);
		CREATE TABLE parts (id bigint PRIMARY KEY DEFAULT -1, way text);
	});
	$coordinator->safe_psql('postgres', qq{
		CREATE SERVER member$i FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
		CREATE USER MAPPING FOR CURRENT_USER SERVER member$i;
		CREATE FOREIGN TABLE orders$i PARTITION OF orders FOR VALUES WITH (MODULUS 3, REMAINDER $i)
			SERVER member$i OPTIONS (table_name 'orders');
		CREATE FOREIGN TABLE parts$i PARTITION OF parts FOR VALUES WITH (MODULUS 3, REMAINDER $i)
			SERVER member$i OPTIONS (table_name 'parts');
	});
}

# All rows, from the members themselves: way, how many, how many ids.
sub rows
{
	my ($table) = @_;
	my (%count, %ids, %all);

	foreach my $member (@members)
	{
		foreach my $row (split /\n/, $member->safe_psql('postgres', "SELECT way, id FROM $table"))
		{
			my ($way, $id) = split /\|/, $row;
			$count{$way}++;
			$ids{$way}++ unless $all{$id}++;
		}
	}
	return join(', ', map { "$_ $count{$_} $ids{$_}" } sort keys %count);
}

my $copy = join('', map { "copy\n" } 1 .. 300) . "\\.\n";
sub insert_all
{
	my ($table) = @_;
	return "INSERT INTO $table (way) VALUES ('single');\n" x 30 .
	  "INSERT INTO $table (way) VALUES " . join(', ', map { "('multi')" } 1 .. 60) . ";\n" .
	  "INSERT INTO $table (way) SELECT 'select' FROM generate_series(1, 300);\n" .
	  "COPY $table (way) FROM STDIN;\n$copy";
}

# Four clients at once; returns the errors.
sub insert_by_clients
{
	my ($table) = @_;
	return at_once(([ $coordinator, insert_all($table) ]) x 4);
}

# The statements that a member got.
sub inserts_at
{
	my ($member, $table) = @_;
	return slurp_file($member->logfile) =~ /execute \S+: (INSERT INTO public\.$table.*)$/gm;
}

foreach my $table (qw(orders parts))
{
	foreach my $round (1 .. 2)
	{
		my $name = $table . ($round == 2 ? ', in batches' : '');
		my $n = 4 * $round;

		is(insert_by_clients($table), '', "$name: four clients insert");
		is(rows($table), 'copy ' . 300 * $n . ' ' . 300 * $n . ', multi ' . 60 * $n . ' ' . 60 * $n .
			  ', select ' . 300 * $n . ' ' . 300 * $n . ', single ' . 30 * $n . ' ' . 30 * $n,
			"$name: all rows are there, with ids of their own");
		my @inserts = map { inserts_at($_, $table) } @members;
		cmp_ok(scalar(@inserts), '>', 0, "$name: the members received " . @inserts . ' statements');
		is(scalar(grep { !/\(id, way\) VALUES \(\$1, \$2\)/ } @inserts), 0, "$name: each brings the id along");
		is(scalar(grep { /\$4\)/ } @inserts) > 0 ? 'batches' : 'rows', $round == 2 ? 'batches' : 'rows',
			"$name: members get what is expected");
		$coordinator->safe_psql('postgres', join('', map { "ALTER FOREIGN TABLE $table$_ OPTIONS (ADD batch_size '50');" } 0 .. $#members))
		  if $round == 1;
	}
}
is(join(' ', map { $_->safe_psql('postgres', 'SELECT (SELECT count(*) FROM orders) > 0, (SELECT count(*) FROM parts) > 0') } @members),
	't|t t|t t|t', 'each member has some of the rows');

# Attached again after a restore without the counters.
my $attach = q{SET client_min_messages = warning; SELECT hilo.attach('orders', 'id'), hilo.attach('parts', 'id')};
my $forget = q{SELECT hilo.seed('orders', 0, true), hilo.seed('parts', 0, true)};
my $most = $coordinator->safe_psql('postgres', 'SELECT max(hilo_number(id)) FROM orders') . '|' .
  $coordinator->safe_psql('postgres', 'SELECT max(id) FROM parts');
$coordinator->safe_psql('postgres', $forget);
is($coordinator->safe_psql('postgres', $attach), $most, 'hilo.attach() looks into foreign partitions');
$coordinator->safe_psql('postgres', $forget);
is($coordinator->safe_psql('postgres', q{SELECT hilo.sync('orders'), hilo.sync('parts')}), $most, 'so does hilo.sync()');
$coordinator->safe_psql('postgres', q{INSERT INTO parts VALUES (100000, 'by hand'); INSERT INTO orders VALUES ('orders/100000-B', 'by hand'), ('parts/200000-B', 'by hand')});
is($coordinator->safe_psql('postgres', $attach), '100000|100000', 'of text only the ids of the collection count');
is(insert_by_clients($_), '', "$_: four clients go on") foreach qw(orders parts);

# Documents in the foreign partitions, looked up with the rights of the owner, whose mapping is used.
$coordinator->safe_psql('postgres', q{
	SELECT hilo.bind('parted', 'parts', 'id'), seed_identity_for('parted', 99999);
	CREATE ROLE clerk;
	GRANT SELECT ON parts TO clerk;
});
my $free = $coordinator->safe_psql('postgres', q{SET ROLE clerk; SELECT value FROM next_identity_free_for('parted')});
is($coordinator->safe_psql('postgres', "SELECT count(*) FILTER (WHERE id = $free), count(*) FILTER (WHERE id = $free - 1) FROM parts"), '0|1',
	'a number is found that is free, behind one that is not');

$_->stop foreach $coordinator, @members;
done_testing();
