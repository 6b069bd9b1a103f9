# A table whose partitions are on three other servers, by postgres_fdw: the default draws on the coordinator, whatever the statement, so that ids are unique over all; what cannot be looked at there is said.
use HiloTest;

my ($coordinator, @members) = map { server($_, "max_connections = 30\nautovacuum = off\nlog_statement = all\n") } qw(coordinator member0 member1 member2);

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
sub insert_by_clients { return at_once(([ $coordinator, insert_all($_[0]) ]) x 4); }

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

# A foreign table has no index here: it is not looked at, which hilo.columns and hilo.sync() say, and a look-up that needs one refuses.
$coordinator->safe_psql('postgres', q{SELECT hilo.bind('parts', 'parts', 'id')});
is($coordinator->safe_psql('postgres', q{SELECT relation, draws, why_none IS NOT NULL FROM hilo.columns}), 'parts|bound|t', 'hilo.columns: there is no look');
my $most = $coordinator->safe_psql('postgres', 'SELECT max(id) FROM parts');
is($coordinator->safe_psql('postgres', q{SELECT now - was, result FROM hilo.sync('parts')}),
	q{0|not moved: no index leads with the column; SELECT hilo.seed('parts', (SELECT max(id) FROM public.parts));}, 'hilo.sync() says what to write');
is(insert_by_clients('parts'), '', 'parts: four clients go on');
is(session($coordinator)->error_of(q{SELECT next_identity_free('parts/')}), '55000', 'nor can a free identity be looked up');

# After a restore without the counters, the statement that it says puts them above the ids.
$most = $coordinator->safe_psql('postgres', 'SELECT max(id) FROM parts');
$coordinator->safe_psql('postgres', q{SELECT hilo.seed('parts', 0, true), hilo.seed('orders', 0, true)});
my ($statement) = $coordinator->safe_psql('postgres', q{SELECT result FROM hilo.sync('parts')}) =~ /; (SELECT .*)$/;
is($coordinator->safe_psql('postgres', $statement), $most, 'the statement looks into foreign partitions');
$coordinator->safe_psql('postgres', q{SELECT hilo.seed('orders', (SELECT max(hilo_number(id)) FROM orders))});
is(insert_by_clients($_), '', "$_: four clients go on") foreach qw(orders parts);

$_->stop foreach $coordinator, @members;
done_testing();
