# Numbers of a sequence come once, whichever way they are drawn: blocks of hilo.reserve(), hilo.nextval() and plain nextval() take turns in sessions that change roles, with and without a CACHE; and a sequence is moved as far as it must be, whatever its CACHE.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $TURNS = 600;

my $node = PostgreSQL::Test::Cluster->new('blocks');
$node->init;
$node->append_conf('postgresql.conf', "hilo.range_size = 20\nhilo.max_range_size = 1048576\nfsync = off");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION hilo;
CREATE ROLE grp;
CREATE ROLE app LOGIN IN ROLE grp;
CREATE ROLE other LOGIN IN ROLE grp;
ALTER DEFAULT PRIVILEGES GRANT USAGE ON SEQUENCES TO grp;
SQL

my %seen;
# Draw in a session; each number has to be new.
sub draw
{
	my ($session, $sql) = @_;
	my @repeated;

	foreach my $line (split /\n/, $session->query($sql))
	{
		my ($low, $high) = split /\|/, $line;
		push @repeated, grep { $seen{$_}++ } $low .. $high // $low;
	}
	return "@repeated";
}

# What is left in nextval's own cache, of which only some is hilo's, is no block.
my ($a, $b) = map { session($node) } 1 .. 2;
my $n = 0;
foreach my $cache (1, 10)
{
	foreach my $way ([ 'SET ROLE app', 'a role that was not asked about yet' ], [ 'GRANT grp TO pg_monitor; REVOKE grp FROM pg_monitor; SET ROLE app', 'memberships have changed' ])
	{
		my $name = 'seq_' . ++$n;
		%seen = ();
		$a->query("CREATE SEQUENCE $name CACHE $cache");
		my @repeated = (
			draw($a, $cache == 1 ? "SELECT hilo.nextval('$name') FROM generate_series(1, 3) UNION ALL SELECT nextval('$name')" : "SELECT nextval('$name')"),
			draw($b, "SELECT nextval('$name') FROM generate_series(1, 100)"));
		$a->query($way->[0]);
		push @repeated, draw($a, "SELECT low, high FROM hilo.reserve('$name', 30)"), draw($a, "SELECT hilo.nextval('$name') FROM generate_series(1, 30)"),
			draw($b, "SELECT nextval('$name') FROM generate_series(1, 30)");
		is(join('', @repeated), '', "CACHE $cache, $way->[1]");
		$a->query('RESET ROLE');
	}
}

# At random.
srand 1;
foreach my $cache (1, 7)
{
	my $name = "mixed_$cache";
	my @sessions = map { session($node) } 1 .. 3;
	my @repeated;

	%seen = ();
	$a->query("CREATE SEQUENCE $name CACHE $cache");
	for (1 .. $TURNS)
	{
		my $session = $sessions[ rand @sessions ];
		my $count = 1 + int rand 40;

		$session->query((map { "SET ROLE $_" } qw(app other none))[ rand 3 ]) if rand() < 0.3;
		$a->query(rand() < 0.5 ? 'GRANT grp TO pg_monitor' : 'REVOKE grp FROM pg_monitor') if rand() < 0.1;
		push @repeated, draw($session, (
			"SELECT nextval('$name') FROM generate_series(1, $count)",
			"SELECT hilo.nextval('$name') FROM generate_series(1, $count)",
			"SELECT CASE WHEN g % 3 = 0 THEN nextval('$name') ELSE hilo.nextval('$name') END FROM generate_series(1, $count) g",
			"SELECT low, high FROM hilo.reserve('$name', $count)",
			"SELECT low, high FROM hilo.reserve('$name', 70000)")[ rand 4.05 ]);
	}
	is(join('', @repeated), '', "CACHE $cache: $TURNS draws of three sessions");
}

# A CACHE does not make a move longer.
foreach my $cache (50, 1000)
{
	$a->query("CREATE TABLE t_$cache (id int PRIMARY KEY, n int); CREATE SEQUENCE s_$cache AS int CACHE $cache OWNED BY t_$cache.id;
		ALTER TABLE t_$cache ALTER id SET DEFAULT nextval('s_$cache'); INSERT INTO t_$cache VALUES (1000000000)");
	is($a->query("SET client_min_messages = warning; SELECT hilo.attach('t_$cache') BETWEEN 1000000000 AND 1000000033"), 't', "CACHE $cache: attached");
	$a->query("INSERT INTO t_$cache SELECT 1000000033 + i FROM generate_series(1, 100000) i");
	is($a->query("SELECT hilo.sync('t_$cache') BETWEEN 1000100033 AND 1000100066"), 't', 'moved');
	is($a->query("INSERT INTO t_$cache DEFAULT VALUES RETURNING id BETWEEN 1000100034 AND 1000101100"), 't', 'the next id is near');
	$a->query("CREATE SEQUENCE r_$cache CACHE $cache");
	is($a->query("SELECT high - low FROM hilo.reserve('r_$cache', 100000)"), 99999, 'a large block');
	is($a->query("SELECT last_value BETWEEN 100000 AND 100066 FROM r_$cache"), 't', 'takes what it has');
}

# With a step, the numbers below the first one of a claim may be those of others.
%seen = ();
$a->query('CREATE SEQUENCE stepped CACHE 2');
is(join('', draw($a, q{SELECT nextval('stepped')}), draw($b, q{SELECT nextval('stepped') FROM generate_series(1, 2047)})), '', 'one number is left in a session');
$b->query(q{SELECT setval('stepped', 2050, false)});
is(draw($a, q{SELECT low, high FROM hilo.reserve('stepped', 65537)}), '', 'and no number of another session is in its block');

# At the limit of a type, and without the right to know how near that is.
$a->query(q{CREATE SEQUENCE near; SELECT setval('near', 9223372036854775607)});
is($a->query(q{SELECT low, high FROM hilo.reserve('near', 150)}), '9223372036854775608|9223372036854775757', 'the last but one block');
is($a->error_of(q{SELECT low, high FROM hilo.reserve('near', 100)}), '2200H', 'none beyond the limit');
is($a->query(q{SELECT low, high FROM hilo.reserve('near', 50)}), '9223372036854775758|9223372036854775807', 'the last one');
$a->query('REVOKE ALL ON SEQUENCE near FROM grp; SET ROLE app');
is($a->error_of(q{SELECT low, high FROM hilo.reserve('near', 100)}), '42501', 'refused to a role without a privilege');
$a->query('RESET ROLE');

# A crash does not make a move longer either.
$a->query('SET client_min_messages = warning; CREATE TABLE far (id serial PRIMARY KEY); INSERT INTO far DEFAULT VALUES; INSERT INTO far VALUES (1181116003)');
is($a->query(q{SELECT hilo.attach('far') < 100, hilo.sync('far') BETWEEN 1181116003 AND 1181116036}), 't|t', 'attach does not go so far, hilo.sync() does');
$node->stop('immediate');
$node->start;
$a = session($node);
is($a->query("SELECT last_value BETWEEN 1000100033 AND 1000101200 FROM s_$_"), 't', "a move, after a crash, CACHE $_") foreach 50, 1000;
is($a->query('SELECT last_value BETWEEN 1181116003 AND 1181116100 FROM far_id_seq'), 't', 'the far one, after a crash');
is($a->query("SELECT last_value BETWEEN 100000 AND 100100 FROM r_$_"), 't', "a large block, after a crash, CACHE $_") foreach 50, 1000;

is(left_behind($node), '', 'nothing is left behind');
$node->stop;
done_testing();
