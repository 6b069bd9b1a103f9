# Logical replication: after a switch-over hilo.sync() goes on above all rows that came, there and back; nodes that write at the same time, with tags or bands of their own, never collide.
use HiloTest;

my %nodes = map { $_ => server("node_$_", "max_connections = 40\nautovacuum = off\nhilo.node_tag = '$_'\n", '', allows_streaming => 'logical') } qw(A B);
my ($one, $other) = @nodes{qw(A B)};

sub on_both { my ($sql) = @_; $_->safe_psql('postgres', $sql) foreach $one, $other; return; }

sub errors_of { my ($node, $offset) = @_; return join("\n", slurp_file($node->logfile, $offset) =~ /.*(?:ERROR|FATAL|PANIC).*/g); }

# Clients insert at the same time; returns the errors.
sub insert_at_once
{
	my ($clients, $rows, @nodes_and_sql) = @_;
	my @jobs;

	while (my ($node, $sql) = splice(@nodes_and_sql, 0, 2))
	{
		push @jobs, ([ $node, "$sql\n" x $rows ]) x $clients;
	}
	return at_once(@jobs);
}

#
# Switch-over
#
on_both(q{
	CREATE EXTENSION hilo;
	SET client_min_messages = warning;
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT hilo_next('orders'), item text);
	CREATE TABLE invoices (id bigint PRIMARY KEY DEFAULT hilo_next_number('invoices'), part int);
	CREATE TABLE lines (id int DEFAULT hilo_next_number('lines'), part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
	CREATE TABLE lines1 PARTITION OF lines FOR VALUES IN (1);
	CREATE TABLE lines2 PARTITION OF lines FOR VALUES IN (2);
	CREATE TABLE people (number int PRIMARY KEY);
	CREATE TABLE tickets (id serial PRIMARY KEY);
	SELECT hilo.attach('tickets');
	SELECT hilo.bind('orders', 'orders', 'id'), hilo.bind('invoices', 'invoices', 'id'), hilo.bind('lines', 'lines', 'id');
});
$one->safe_psql('postgres', q{INSERT INTO invoices SELECT FROM generate_series(1, 50)});
$one->safe_psql('postgres', 'CREATE PUBLICATION there FOR TABLE orders, invoices, lines, people, tickets');
subscribe($other, $one, 'there', 'copy_data = true');

my $insert = q{
	INSERT INTO orders SELECT FROM generate_series(1, 400);
	INSERT INTO invoices SELECT FROM generate_series(1, 300);
	INSERT INTO lines (part) SELECT 1 + n % 2 FROM generate_series(1, 200) n;
	INSERT INTO people SELECT (next_identity_free_for('people')).value FROM generate_series(1, 30);
	INSERT INTO tickets SELECT FROM generate_series(1, 100);
};
$one->safe_psql('postgres', $insert);
my $late = session($other);
is($late->query_safe(q{SELECT hilo_next_number('invoices') > 0, hilo_next_number('lines') > 0}), 't|t',
	'a session of the subscriber has ranges among what arrives');

# The clients of one server have stopped; the other has all their rows, and takes over.  Of text ids and
# identities it looks up each, so they need no sync.
sub switch_over
{
	my ($from, $to, $name) = @_;

	$from->wait_for_catchup($name);
	$to->safe_psql('postgres', "DROP SUBSCRIPTION $name");
	my $offset = -s $to->logfile;
	is($to->safe_psql('postgres', q{
			SELECT counter, COALESCE(now >= CASE counter
				WHEN 'invoices' THEN (SELECT max(id) FROM invoices)
				WHEN 'lines' THEN (SELECT max(id) FROM lines)
				WHEN 'public.tickets_id_seq' THEN (SELECT max(id) FROM tickets) END, false), result ~ '^not moved: the ids are text'
			FROM hilo.sync() ORDER BY 1}),
		"invoices|t|f\nlines|t|f\norders|f|t\npublic.tickets_id_seq|t|f", "$name: all that own, or are bound, are brought up, and of text it is said");
	$to->safe_psql('postgres', $insert);
	is(errors_of($to, $offset), '', "$name: inserts go on without an error");
	return;
}

switch_over($one, $other, 'there');
my ($number, $line) = split /\|/, $late->query_safe(q{SELECT hilo_next_number('invoices'), hilo_next_number('lines')});
cmp_ok($line, '>', 200, 'the range of the session from before is forgotten');
is($late->query_safe("INSERT INTO invoices VALUES ($number) RETURNING id"), $number, 'and its next number is free');
$late->finish;

# And back: the old publisher gets what it has missed.
$other->safe_psql('postgres', 'CREATE PUBLICATION back FOR TABLE orders, invoices, lines, people, tickets');
$one->safe_psql('postgres', 'DROP PUBLICATION there; TRUNCATE orders, invoices, lines, people, tickets');
subscribe($one, $other, 'back', 'copy_data = true');
switch_over($other, $one, 'back');
is($one->safe_psql('postgres', q{SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM invoices), (SELECT count(*) FROM lines), (SELECT count(*) FROM people), (SELECT count(*) FROM tickets)}),
	'1200|951|600|90|300', 'all rows of both are there');
$other->safe_psql('postgres', 'DROP PUBLICATION back');

#
# Both write, one gets the other's rows: its own have its tag.
#
on_both(q{CREATE TABLE notes (id text PRIMARY KEY DEFAULT hilo_next('notes'), item text)});
$one->safe_psql('postgres', 'CREATE PUBLICATION one_way FOR TABLE notes');
my $offset = -s $other->logfile;
subscribe($other, $one, 'one_way', 'copy_data = true');
is(insert_at_once(2, 200, map { $_ => q{INSERT INTO notes (item) VALUES ('one way');} } $one, $other), '',
	'one way: both sides insert');
$one->wait_for_catchup('one_way');
is($other->safe_psql('postgres', q{SELECT right(id, 1), count(*) FROM notes GROUP BY 1 ORDER BY 1}),
	"A|400\nB|400", 'one way: all rows are there');
is(errors_of($other, $offset), '', 'one way: without an error');
$other->safe_psql('postgres', 'DROP SUBSCRIPTION one_way');
$one->safe_psql('postgres', 'DROP PUBLICATION one_way');

#
# Both write, and get each other's rows.
#
SKIP:
{
	skip 'subscriptions with origin = none came with PostgreSQL 16', 6
	  if $one->safe_psql('postgres', 'SHOW server_version_num') < 160000;

	# Text with tags, and numbers in bands.
	on_both(q{
		CREATE TABLE letters (id text PRIMARY KEY DEFAULT hilo_next('letters'), item text);
		CREATE TABLE parcels (id bigint PRIMARY KEY DEFAULT hilo_next_number('parcels'), item text);
		SELECT hilo.bind('letters', 'letters', 'id');
	});
	$one->safe_psql('postgres', q{SELECT hilo.configure('parcels', max_value => 1000000)});
	$other->safe_psql('postgres', q{SELECT hilo.seed('parcels', 1000000), hilo.configure('parcels', max_value => 2000000)});
	$_->safe_psql('postgres', 'CREATE PUBLICATION from_' . lc($_->name =~ s/node_//r) . ' FOR TABLE letters, parcels') foreach $one, $other;
	subscribe($other, $one, 'from_a', 'origin = none, copy_data = false');
	subscribe($one, $other, 'from_b', 'origin = none, copy_data = false');

	my %offset = map { $_->name => -s $_->logfile } $one, $other;
	is(insert_at_once(2, 300, map {
			$_ => q{INSERT INTO letters (item) VALUES ('both ways'); INSERT INTO parcels (item) VALUES ('both ways');}
		} $one, $other), '', 'both ways: both sides insert');
	$one->wait_for_catchup('from_a');
	$other->wait_for_catchup('from_b');
	foreach my $node ($one, $other)
	{
		is($node->safe_psql('postgres', q{
				SELECT string_agg(n::text, ' ') FROM (SELECT count(*) FROM letters GROUP BY right(id, 1)
					UNION ALL SELECT count(*) FROM parcels GROUP BY id > 1000000) counts(n)}),
			'600 600 600 600', $node->name . ': all rows of both are there');
		is(errors_of($node, $offset{ $node->name }), '', $node->name . ': without an error');
	}
	is(join(' ', map { $_->safe_psql('postgres', q{SELECT hilo_next_number('parcels') / 1000000}) } $one, $other),
		'0 1', 'the other\'s numbers do not move a node out of its band');
}

$_->stop foreach $one, $other;
done_testing();
