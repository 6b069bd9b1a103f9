# As a sequence counts: random scripts of everything that touches a sequence give the same, number by number, with hilo.sequences on as off, where no index has ids.
use HiloTest;

# HILO_SCRIPTS and HILO_SEED choose more scripts, or others; HILO_SCRIPT only one of them, and shows it.
my $SCRIPTS = $ENV{HILO_SCRIPTS} // 300;
my $SEED = $ENV{HILO_SEED} // 1;
my $BATCH = 50;
my $dir = PostgreSQL::Test::Utils::tempdir;

chmod 0755, $dir;
append_to_file("$dir/$_.rows", "x\n" x $_) foreach 1, 2, 3, 10, 40, 70;
my $node = server('scripts', "fsync = off\nautovacuum = off\nlog_statement = none\nlog_min_messages = fatal\n", 'CREATE ROLE clerk');
foreach my $db ('switched_on', 'switched_off')
{
	my $setting = $db =~ s/switched_//r;
	my $connection = 'host=' . $node->host . ' port=' . $node->port . " dbname=$db";

	new_database($node, $db, qq{
		SET check_function_bodies = off;
		CREATE EXTENSION hilo;
		CREATE EXTENSION dblink;
		CREATE TABLE t (id serial, v text);
		CREATE TABLE p (id bigserial, v text);
		CREATE TABLE u (id int GENERATED ALWAYS AS IDENTITY, v text);
		CREATE TABLE checked (id bigint, CHECK (id <= 0 OR id = currval('s1'::text::regclass)));
		CREATE TABLE log (n bigint);
		GRANT ALL ON t, p, u, log TO clerk;
		CREATE FUNCTION inlined() RETURNS bigint LANGUAGE sql AS 'SELECT nextval(''s1'')';
		CREATE FUNCTION two(OUT a bigint, OUT b bigint) LANGUAGE sql AS 'SELECT nextval(''s1''), currval(''s1'')';
		CREATE FUNCTION block() RETURNS bigint LANGUAGE plpgsql AS 'DECLARE n bigint := nextval(''s2''); BEGIN RETURN n; EXCEPTION WHEN OTHERS THEN RETURN -1; END';
		CREATE FUNCTION fails() RETURNS bigint LANGUAGE plpgsql AS 'BEGIN PERFORM nextval(''s1''); PERFORM 1/0; END';
		CREATE PROCEDURE put(n bigint) LANGUAGE plpgsql AS 'BEGIN INSERT INTO log VALUES (n); END';
		-- A number drawn by another session, which holds none afterwards.
		CREATE FUNCTION other(s text) RETURNS bigint LANGUAGE plpgsql AS \$\$
		DECLARE n bigint;
		BEGIN
			SELECT x INTO n FROM public.dblink('$connection options=''-c lock_timeout=1s''', format('SELECT nextval(%L)', s)) d(x bigint);
			RETURN n;
		END \$\$;
		ALTER DATABASE $db SET hilo.sequences = $setting;
		ALTER DATABASE $db SET session_preload_libraries = 'hilo';
		ALTER DATABASE $db SET client_min_messages = error});
}

sub one_of { return $_[ int(rand(@_)) ]; }

# A sequence as it is made: its options, and which way it counts.
sub options
{
	return one_of('', '', '', 'CACHE 5', 'INCREMENT 3', 'INCREMENT -2', 'MAXVALUE 40', 'MINVALUE -5 START -5 MAXVALUE 25 CACHE 4', 'START 100 INCREMENT 10 MAXVALUE 300',
		'MAXVALUE 12 CYCLE', 'MAXVALUE 100 CYCLE CACHE 7', 'CACHE 40', 'AS smallint START 32700', 'AS int', 'START 9223372036854775790');
}

# A statement, chosen at random.
sub statement
{
	my $s = one_of('s1', 's1', 's2');
	my $n = one_of(1, 2, 3, 10, 40, 70);
	my @kinds = (
		[ 12 => sub { "SELECT nextval('$s')" } ],
		[ 6 => sub { "SELECT nextval('$s') FROM generate_series(1, $n)" } ],
		[ 3 => sub { 'SELECT inlined()' } ],
		[ 2 => sub { 'SELECT (two()).*' } ],
		[ 2 => sub { "SELECT nextval('s1'), currval('s1')" } ],
		[ 2 => sub { 'SELECT block()' } ],
		[ 1 => sub { 'SELECT fails()' } ],
		[ 3 => sub { "CALL put(nextval('$s'))" } ],
		[ 2 => sub { 'EXECUTE prepared' } ],
		[ 2 => sub { "EXECUTE given(nextval('$s'))" } ],
		[ 2 => sub { "INSERT INTO log SELECT nextval('$s') FROM generate_series(1, $n)" } ],
		[ 2 => sub { "INSERT INTO checked VALUES (nextval('s1'))" } ],
		[ 4 => sub { one_of("INSERT INTO t (v) VALUES ('x') RETURNING id", "INSERT INTO t (v) VALUES ('x'), ('y') RETURNING id") } ],
		[ 3 => sub { "INSERT INTO p (v) SELECT 'x' FROM generate_series(1, $n) RETURNING id" } ],
		[ 3 => sub { one_of("INSERT INTO u (v) VALUES ('x') RETURNING id", "INSERT INTO u (v) SELECT 'x' FROM generate_series(1, $n) RETURNING id") } ],
		[ 1 => sub { "INSERT INTO u VALUES (7, 'x')" } ],
		[ 1 => sub { "INSERT INTO u OVERRIDING USER VALUE VALUES (7, 'x') RETURNING id" } ],
		[ 2 => sub { my $to = one_of('t', 'p', 'u'); "COPY $to (v) FROM '$dir/$n.rows'" } ],
		[ 3 => sub { my $to = one_of(1, 5, 20, 35, 1000); "SELECT setval('$s', $to)" } ],
		[ 2 => sub { my $to = one_of(1, 5, 20, 35, 1000); "SELECT setval('$s', $to, false)" } ],
		[ 1 => sub { "SELECT setval('t_id_seq', 500)" } ],
		[ 6 => sub { my $of = one_of('s1', 's2', 't_id_seq', 'p_id_seq', 'u_id_seq'); "SELECT currval('$of')" } ],
		[ 5 => sub { 'SELECT lastval()' } ],
		[ 2 => sub { 'DISCARD SEQUENCES' } ],
		[ 1 => sub { 'DISCARD ALL' } ],
		[ 4 => sub { 'BEGIN' } ],
		[ 3 => sub { 'COMMIT' } ],
		[ 4 => sub { 'ROLLBACK' } ],
		[ 3 => sub { 'SAVEPOINT a' } ],
		[ 3 => sub { 'ROLLBACK TO a' } ],
		[ 1 => sub { 'RELEASE a' } ],
		[ 2 => sub { "ALTER SEQUENCE $s " . one_of('RESTART', 'RESTART WITH 3', 'RESTART 30') } ],
		[ 2 => sub { "ALTER SEQUENCE $s " . one_of('CACHE 3', 'CACHE 1', 'CACHE 50', 'START 2', 'CYCLE', 'NO CYCLE', 'OWNED BY t.v', 'OWNED BY NONE', 'RENAME TO s3', 'SET LOGGED') } ],
		[ 1 => sub { "ALTER SEQUENCE $s " . one_of('MAXVALUE 50', 'NO MAXVALUE', 'MINVALUE -10', 'INCREMENT 2', 'INCREMENT 1', 'AS bigint') } ],
		[ 2 => sub { my $to = one_of('t', 'p', 'u'); "TRUNCATE $to RESTART IDENTITY" } ],
		[ 1 => sub { 'TRUNCATE t, p, u' } ],
		[ 1 => sub { "DROP SEQUENCE $s" } ],
		[ 2 => sub { "CREATE SEQUENCE $s " . options() } ],
		[ 2 => sub { my $of = one_of('s1', 's2', 't_id_seq'); "SELECT other('$of')" } ],
		[ 1 => sub { 'SET TRANSACTION READ ONLY' } ],
		[ 1 => sub { 'SET ROLE clerk' } ],
		[ 1 => sub { 'RESET ROLE' } ],
		[ 3 => sub { 'SELECT last_value, is_called FROM ' . one_of('s1', 's2', 't_id_seq') } ],
		[ 1 => sub { 'SELECT pg_sequence_last_value(' . one_of(q{'s1'}, q{'s2'}) . ')' } ],
		[ 1 => sub { one_of('SELECT nextval(NULL)', q{SELECT nextval('t')}, q{SELECT nextval('nothing')}, 'EXPLAIN (COSTS OFF) SELECT count(*) FROM t') } ],
		[ 1 => sub { 'SELECT count(*), count(DISTINCT id) FROM ' . one_of('t', 'p', 'u') } ]);
	my $of = 0;
	$of += $_->[0] for @kinds;
	my $at = int(rand($of));
	for (@kinds)
	{
		return $_->[1]->() if ($at -= $_->[0]) < 0;
	}
	die;
}

# What comes before each script: all is as it was.
sub opening
{
	my ($number) = @_;
	return ($number % 25 == 0 ? "\\c -\n" : '') . "ROLLBACK;\nDISCARD ALL;\nSET client_min_messages = error;\nDROP SEQUENCE IF EXISTS s1, s2, s3;\nCREATE SEQUENCE s1 " . options() . ";\nCREATE SEQUENCE s2 "
	  . options() . ";\nDELETE FROM t;\nDELETE FROM p;\nDELETE FROM u;\nPREPARE prepared AS SELECT nextval('s1');\nPREPARE given AS SELECT \$1::bigint;\n"
	  . "GRANT SELECT ON s1 TO clerk;\nSELECT setval('t_id_seq', 1, false), setval('p_id_seq', 1, false), setval('u_id_seq', 1, false) \\g /dev/null\nDISCARD SEQUENCES;\n";
}

# A script has its own random numbers, so that it can be run alone.
sub script
{
	my ($number) = @_;
	srand($SEED * 1_000_003 + $number);
	my $opening = opening($number);
	my @statements = map { statement() } 1 .. 8 + int(rand(16));
	return { number => $number, opening => $opening, statements => \@statements };
}

# Start to run scripts.
sub start_scripts
{
	my ($db, @scripts) = @_;
	my $file = "$dir/$db.sql";

	open my $out, '>', $file or die $!;
	foreach my $script (@scripts)
	{
		print $out $script->{opening};
		my $i = 0;
		foreach my $statement (@{ $script->{statements} })
		{
			print $out "$statement;\n\\echo = $script->{number} " . $i++ . " :SQLSTATE\n";
		}
	}
	close $out;
	unlink "$file.out";
	return IPC::Run::start([ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr($db), '-f', $file ], '<', '/dev/null', '>', "$file.out", '2>', '/dev/null');
}

# What they have given: for each of them a list of [ SQLSTATE, lines ], one for each statement.
sub results_of
{
	my ($db, $run) = @_;
	my %results;
	my @lines;
	$run->finish;
	foreach my $line (split /\n/, slurp_file("$dir/$db.sql.out"))
	{
		if ($line =~ /^= (\d+) (\d+) (\w{5})$/)
		{
			$results{$1}[$2] = [ $3, [@lines] ];
			@lines = ();
		}
		else
		{
			push @lines, $line;
		}
	}
	return \%results;
}

# What differs: the SQLSTATE of a statement, or what it shows.
sub compare
{
	my ($script, $on, $off) = @_;

	foreach my $i (keys @{ $script->{statements} })
	{
		my ($o, $n) = ($off->[$i], $on->[$i]);

		return "no answer to $script->{statements}[$i]" unless $o && $n;
		return $script->{statements}[$i] if $o->[0] ne $n->[0] || "@{ $o->[1] }" ne "@{ $n->[1] }";
	}
	return;
}

sub show
{
	my ($script, $on, $off) = @_;
	my $text = $script->{opening};
	my $i = 0;
	foreach my $statement (@{ $script->{statements} })
	{
		my ($o, $n) = ($off->[$i] // [ '', [] ], $on->[$i] // [ '', [] ]);
		$text .= "$statement;  -- off: $o->[0] @{ $o->[1] }; on: $n->[0] @{ $n->[1] }\n";
		$i++;
	}
	return $text;
}

is($node->safe_psql("switched_$_", q{CREATE SEQUENCE s; EXPLAIN (VERBOSE, COSTS OFF) SELECT nextval('s')}) =~ /hilo\.nextval/ ? 'on' : 'off', $_, "the setting is $_")
  foreach qw(on off);

my @different;
my $statements = 0;
my @numbers = defined $ENV{HILO_SCRIPT} ? ($ENV{HILO_SCRIPT}) : (1 .. $SCRIPTS);
while (my @batch = splice @numbers, 0, $BATCH)
{
	my @scripts = map { script($_) } @batch;
	my %run = map { $_ => start_scripts($_, @scripts) } 'switched_on', 'switched_off';
	my ($on, $off) = map { results_of($_, $run{$_}) } 'switched_on', 'switched_off';

	foreach my $script (@scripts)
	{
		my ($n, $o) = ($on->{ $script->{number} } // [], $off->{ $script->{number} } // []);
		my $what = compare($script, $n, $o);
		$statements += @{ $script->{statements} };
		diag(show($script, $n, $o)) if defined $ENV{HILO_SCRIPT};
		next unless defined $what;
		push @different, "$script->{number}: $what";
		diag("script $script->{number}: $what\n" . show($script, $n, $o)) if @different <= 3;
	}
}
is(join("\n", @different), '', "seed $SEED: scripts give the same");
note("$statements statements");

$node->stop;
done_testing();
