# Promises 1 and 3 under load: many sessions that start at once on new collections get distinct numbers, and no error.
use HiloTest;

my $node = server('load', "max_connections = 130\nautovacuum = off\nlog_statement = none\n", q{
	CREATE EXTENSION hilo;
	CREATE UNLOGGED TABLE drawn (session int, collection text, number bigint, nth int);
});

sub sql { return $node->safe_psql('postgres', $_[0]); }

# Run a statement in $count sessions that start it at the same moment, and wait until
# they are gone; returns the errors.  $session in it stands for the session's number.
sub draw_at_once
{
	my ($count, $statement, %settings) = @_;
	my $errors = at_once(map { [ $node, $statement =~ s/\$session/$_/gr, %settings ] } 1 .. $count);

	wait_until_alone($node);
	return $errors;
}

# 32 sessions, 20,000 numbers each, one collection
is( draw_at_once(
		32,
		q{INSERT INTO drawn SELECT $session, 'c', hilo_next_number('c'), i FROM generate_series(1, 20000) i}),
	'',
	'32 sessions draw 20,000 numbers each of a new collection');
is(sql(q{SELECT count(*), count(DISTINCT number), min(number) FROM drawn}),
	'640000|640000|1', 'all numbers are distinct');
is(sql(q{SELECT (SELECT max FROM hilo.hilo WHERE collection = 'c') >= max(number) FROM drawn}),
	't', 'none is above max');
is(sql(q{SELECT count(*) FROM (SELECT number < lag(number) OVER (PARTITION BY session ORDER BY nth) AS down FROM drawn) d WHERE down}),
	0, 'each session draws in rising order');

# Afterwards one alone, with ranges that it does not use up, however slow it is.
is( draw_at_once(
		1,
		q{INSERT INTO drawn SELECT 33, 'c', hilo_next_number('c') FROM generate_series(1, 5000)},
		'hilo.debug_range_size' => 100000, 'hilo.max_range_size' => 100000),
	'',
	'one session draws alone');
is(sql(q{SELECT count(*), count(DISTINCT number) FROM drawn}),
	'645000|645000', 'its numbers are none of those drawn before');
# 100 sessions, the first draw of 20 new collections, in different orders
$node->safe_psql('postgres', 'TRUNCATE drawn');
is( draw_at_once(
		100,
		q{INSERT INTO drawn SELECT $session, 'new' || i % 20, hilo_next_number('new' || i % 20)
			FROM generate_series($session, $session + 19) i}),
	'',
	'100 sessions draw of 20 new collections');
is(sql(q{SELECT count(*), count(DISTINCT (collection, number)), count(DISTINCT collection), max(number) <= 3200 FROM drawn}),
	'2000|2000|20|t', 'all numbers of each collection are distinct');
is(sql(q{SELECT count(*), count(DISTINCT collection) FROM hilo.hilo WHERE collection LIKE 'new%'}),
	'20|20', 'each has one row');

# 40 sessions draw in transactions of every isolation level, half of which roll back
foreach my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
{
	$node->safe_psql('postgres', 'TRUNCATE drawn');
	(my $name = lc $level) =~ s/ /_/;
	# What is drawn goes to files, which a rollback leaves alone.
	my $dir = PostgreSQL::Test::Utils::tempdir;
	is( draw_at_once(
			40,
			qq{BEGIN ISOLATION LEVEL $level;
			   COPY (SELECT \$session, '$name' || i, hilo_next_number('$name' || i) FROM generate_series(1, 10) i CROSS JOIN generate_series(1, 5)) TO '$dir/\$session';
			   SELECT CASE WHEN \$session % 2 = 0 THEN set_config('hilo.debug_range_size', '1', true) END;
			   COPY (SELECT \$session, '$name' || i, hilo_next_number('$name' || i) FROM generate_series(1, 10) i CROSS JOIN generate_series(1, 50)) TO '$dir/more\$session';
			   ROLLBACK}),
		'',
		"40 sessions draw in transactions that are rolled back, $level");
	$node->safe_psql('postgres',
		join '', map { "COPY drawn (session, collection, number) FROM '$dir/$_';COPY drawn (session, collection, number) FROM '$dir/more$_';" } 1 .. 40);
	is( $node->safe_psql('postgres',
			q{SELECT count(*), count(DISTINCT (collection, number)) FROM drawn}),
		'22000|22000',
		"all numbers are distinct, $level");
}

# RavenDB's case, with ranges of one
$node->safe_psql('postgres', 'TRUNCATE drawn');
is( draw_at_once(
		100,
		q{INSERT INTO drawn SELECT $session, 'one', hilo_next_number('one') FROM generate_series(1, 20)},
		'hilo.max_range_size' => 1),
	'',
	'100 sessions draw 20 numbers each, with max_range_size 1');
is(sql(q{SELECT count(*), count(DISTINCT number), min(number), max(number) FROM drawn}),
	'2000|2000|1|2000', 'exactly 1..2000');

$node->stop;
done_testing();
