# Short random scripts of everything that touches a sequence give the same with hilo.sequences on as off, but for gaps, an early end near the limit as with CACHE, and ids that are skipped instead of met.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# HILO_SCRIPTS and HILO_SEED choose more scripts, or others; HILO_SCRIPT only one of them, and shows it.
my $SCRIPTS = $ENV{HILO_SCRIPTS} // 300;
my $SEED = $ENV{HILO_SEED} // 1;
my $BATCH = 50;
my $dir = PostgreSQL::Test::Utils::tempdir;

chmod 0755, $dir;
append_to_file("$dir/$_.rows", "x\n" x $_) foreach 1, 2, 3, 10, 40, 70;
my $node = PostgreSQL::Test::Cluster->new('scripts');
$node->init;
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nlog_statement = none\nlog_min_messages = fatal\n");
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE clerk');
foreach my $db ('switched_on', 'switched_off')
{
	my $setting = $db =~ s/switched_//r;
	my $connection = 'host=' . $node->host . ' port=' . $node->port . " dbname=$db";

	new_database($node, $db, qq{
		SET check_function_bodies = off;
		CREATE EXTENSION hilo;
		CREATE EXTENSION dblink;
		CREATE TABLE t (id serial, v text);
		CREATE TABLE p (id bigserial PRIMARY KEY, v text);
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
		'MAXVALUE 12 CYCLE', 'AS smallint START 32700', 'AS int', 'START 9223372036854775790');
}

# Statements: the text, and what it does to which sequence.  "draws" shows one number a line,
# and "hidden" shows none; "resets" begins a new count.
sub statement
{
	my $s = one_of('s1', 's1', 's2');
	my $n = one_of(1, 2, 3, 10, 40, 70);
	my @kinds = (
		[ 12 => sub { [ "SELECT nextval('$s')", draws => $s ] } ],
		[ 6 => sub { [ "SELECT nextval('$s') FROM generate_series(1, $n)", draws => $s ] } ],
		[ 3 => sub { [ 'SELECT inlined()', draws => 's1' ] } ],
		[ 2 => sub { [ 'SELECT (two()).*', pair => 's1' ] } ],
		[ 2 => sub { [ "SELECT nextval('s1'), currval('s1')", pair => 's1' ] } ],
		[ 2 => sub { [ 'SELECT block()', draws => 's2' ] } ],
		[ 1 => sub { [ 'SELECT fails()', hidden => 's1' ] } ],
		[ 3 => sub { [ "CALL put(nextval('$s'))", hidden => $s ] } ],
		[ 2 => sub { [ 'EXECUTE prepared', draws => 's1' ] } ],
		[ 2 => sub { [ "EXECUTE given(nextval('$s'))", draws => $s ] } ],
		[ 2 => sub { [ "INSERT INTO log SELECT nextval('$s') FROM generate_series(1, $n)", hidden => $s ] } ],
		[ 2 => sub { [ "INSERT INTO checked VALUES (nextval('s1'))", hidden => 's1' ] } ],
		[ 4 => sub { [ one_of("INSERT INTO t (v) VALUES ('x') RETURNING id", "INSERT INTO t (v) VALUES ('x'), ('y') RETURNING id"), draws => 't_id_seq' ] } ],
		[ 3 => sub { [ "INSERT INTO p (v) SELECT 'x' FROM generate_series(1, $n) RETURNING id", draws => 'p_id_seq' ] } ],
		[ 3 => sub { [ one_of("INSERT INTO u (v) VALUES ('x') RETURNING id", "INSERT INTO u (v) SELECT 'x' FROM generate_series(1, $n) RETURNING id"), draws => 'u_id_seq' ] } ],
		[ 1 => sub { [ "INSERT INTO u VALUES (7, 'x')", '' ] } ],
		[ 1 => sub { [ "INSERT INTO u OVERRIDING USER VALUE VALUES (7, 'x') RETURNING id", draws => 'u_id_seq' ] } ],
		[ 2 => sub { my $to = one_of('t', 'p', 'u'); [ "COPY $to (v) FROM '$dir/$n.rows'", hidden => "${to}_id_seq" ] } ],
		[ 3 => sub { my $to = one_of(1, 5, 20, 35, 1000); [ "SELECT setval('$s', $to)", sets => $s ] } ],
		[ 2 => sub { my $to = one_of(1, 5, 20, 35, 1000); [ "SELECT setval('$s', $to, false)", unset => $s ] } ],
		[ 1 => sub { [ "SELECT setval('t_id_seq', 500)", sets => 't_id_seq' ] } ],
		[ 6 => sub { [ "SELECT currval('" . one_of('s1', 's2', 't_id_seq', 'p_id_seq', 'u_id_seq') =~ s/(.*)/$1/r . "')", 'current' ] } ],
		[ 5 => sub { [ 'SELECT lastval()', 'last' ] } ],
		[ 2 => sub { [ 'DISCARD SEQUENCES', 'discards' ] } ],
		[ 1 => sub { [ 'DISCARD ALL', 'discards all' ] } ],
		[ 4 => sub { [ 'BEGIN', 'begins' ] } ],
		[ 3 => sub { [ 'COMMIT', 'commits' ] } ],
		[ 4 => sub { [ 'ROLLBACK', 'rolls back' ] } ],
		[ 3 => sub { [ 'SAVEPOINT a', 'saves' ] } ],
		[ 3 => sub { [ 'ROLLBACK TO a', 'rolls back to' ] } ],
		[ 1 => sub { [ 'RELEASE a', 'releases' ] } ],
		[ 2 => sub { [ "ALTER SEQUENCE $s " . one_of('RESTART', 'RESTART WITH 3', 'RESTART 30'), resets => $s ] } ],
		[ 2 => sub { [ "ALTER SEQUENCE $s " . one_of('CACHE 3', 'CACHE 1', 'OWNED BY t.v', 'OWNED BY NONE', 'RENAME TO s3', 'SET LOGGED'), alters => $s ] } ],
		[ 1 => sub { [ "ALTER SEQUENCE $s " . one_of('MAXVALUE 50', 'NO MAXVALUE', 'MINVALUE -10', 'INCREMENT 2', 'INCREMENT 1', 'AS bigint'), resets => $s ] } ],
		[ 2 => sub { my $to = one_of('t', 'p', 'u'); [ "TRUNCATE $to RESTART IDENTITY", resets => "${to}_id_seq" ] } ],
		[ 1 => sub { [ 'TRUNCATE t, p, u', '' ] } ],
		[ 1 => sub { [ "DROP SEQUENCE $s", resets => $s ] } ],
		[ 2 => sub { [ "CREATE SEQUENCE $s " . options(), resets => $s ] } ],
		[ 2 => sub { my $of = one_of('s1', 's2', 't_id_seq'); [ "SELECT other('$of')", other => $of ] } ],
		[ 1 => sub { [ 'SET TRANSACTION READ ONLY', '' ] } ],
		[ 1 => sub { [ 'SET ROLE clerk', '' ] } ],
		[ 1 => sub { [ 'RESET ROLE', '' ] } ],
		[ 1 => sub { [ 'SET hilo.max_range_size = ' . one_of(1, 3, 100, 1000), '' ] } ],
		[ 1 => sub { [ one_of('SELECT nextval(NULL)', q{SELECT nextval('t')}, q{SELECT nextval('nothing')}, 'EXPLAIN (COSTS OFF) SELECT count(*) FROM t'), '' ] } ],
		[ 1 => sub { [ 'SELECT count(*), count(DISTINCT id) FROM ' . one_of('t', 'p', 'u'), 'equal' ] } ]);
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
			print $out "$statement->[0];\n\\echo = $script->{number} " . $i++ . " :SQLSTATE\n";
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

# What differs, if it is more than gaps.  An end that is allowed is counted in %$ends.
sub compare
{
	my ($script, $on, $off, $ends) = @_;
	my $epochs = 0;
	my (%epoch, %drawn_in, $last, %map, @stack, %loose, $both_end, $turned);
	my $in_transaction = 0;
	my $new = sub { $epoch{ $_[0] } = ++$epochs; };
	my $wrong;

	# A number of one side that stands for one of the other: in a count, order and distinctness are kept.
	my $stands_for = sub {
		my ($epoch, $o, $n) = @_;
		return if !defined $epoch || $loose{$epoch};
		my $known = $map{$epoch}{$o};
		return "$o is $n, and was $known" if defined $known && $known ne $n;
		foreach my $other (keys %{ $map{$epoch} })
		{
			my $value = $map{$epoch}{$other};
			return "$o is $n, but $other was $value" if ($other <=> $o) != ($value <=> $n);
		}
		$map{$epoch}{$o} = $n;
		return;
	};
	$new->($_) foreach qw(s1 s2 t_id_seq p_id_seq u_id_seq);
	if ($script->{opening} =~ /CREATE SEQUENCE (s\d)[^;]* CYCLE/) { $loose{ $epoch{$1} } = 1; }
	while ($script->{opening} =~ /CREATE SEQUENCE (s\d)[^;]* CYCLE/g) { $loose{ $epoch{$1} } = 1; }

	foreach my $i (keys @{ $script->{statements} })
	{
		my ($sql, $kind, $s) = @{ $script->{statements}[$i] };
		my ($o, $n) = ($off->[$i], $on->[$i]);
		return "no answer to $sql" unless $o && $n;
		if ($o->[0] ne $n->[0])
		{
			if ($n->[0] eq '2200H') { $ends->{'early end'}++; return; }
			# With CACHE, too, a sequence that turns round is farther from its limit.
			if ($turned && $o->[0] eq '2200H' && $n->[0] eq '00000') { $ends->{'late end'}++; return; }
			# Both have come to an end, but one has drawn before.
			if ($both_end && $n->[0] eq '55000' && $kind =~ /^(?:current|last)$/) { $ends->{'early end'}++; return; }
			if ($o->[0] eq '23505' && $n->[0] eq '00000') { $ends->{'skipped ids'}++; return; }
			# As with CACHE, a sequence is already behind the numbers that a session holds.
			if ($n->[0] eq '22023' && $sql =~ /^ALTER SEQUENCE .*(?:MAX|MIN)VALUE/) { $ends->{'limit within a range'}++; return; }
			return "$sql: $n->[0] instead of $o->[0]";
		}
		my $ok = $o->[0] eq '00000';
		$both_end ||= $o->[0] eq '2200H';
		$turned ||= $ok && $sql =~ /^ALTER SEQUENCE .* INCREMENT/;
		if ($kind eq 'draws' || $kind eq 'pair' || $kind eq 'other')
		{
			return "$sql: " . @{ $n->[1] } . ' lines instead of ' . @{ $o->[1] } if $ok && @{ $o->[1] } != @{ $n->[1] };
			foreach my $line (keys @{ $o->[1] })
			{
				my ($on_value, $on_current) = split /\|/, $n->[1][$line];
				my ($off_value, $off_current) = split /\|/, $o->[1][$line];
				next if !$ok;
				return "$sql: $off_value and $on_value" if ($off_value eq '-1') != ($on_value eq '-1') && ($script->{opening} . $sql) !~ /MINVALUE -|INCREMENT -/ && do { $ends->{'early end'}++; return; };
				return "$sql: currval is $on_current after $on_value" if defined $on_current && $on_current ne $on_value && $off_current eq $off_value;
				# What another session takes is above what this one holds.
				$ends->{numbers}++;
				$ends->{'other numbers'}++ if $on_value ne $off_value;
				$wrong = $kind eq 'other' ? undef : $stands_for->($epoch{$s}, $off_value, $on_value);
				return "$sql: $wrong" if $wrong;
			}
			if ($kind ne 'other')
			{
				$drawn_in{$s} = $ok ? $epoch{$s} : undef;
				$last = $ok ? $s : undef;
			}
		}
		elsif ($kind eq 'hidden')
		{
			$drawn_in{$s} = $ok ? $epoch{$s} : undef;
			$last = $ok ? $s : undef;
		}
		elsif ($kind eq 'sets' || $kind eq 'unset')
		{
			return "$sql: @{ $n->[1] } instead of @{ $o->[1] }" if "@{ $o->[1] }" ne "@{ $n->[1] }";
			next if !$ok;
			my $was_loose = $loose{ $epoch{$s} };
			$new->($s);
			$loose{ $epoch{$s} } = $was_loose;
			$_->{set}{$s} = 1 foreach @stack;
			# It shows in currval, but not in lastval, if it is called.
			if ($kind eq 'sets')
			{
				$drawn_in{$s} = $epoch{$s};
				$stands_for->($epoch{$s}, (split / /, $o->[1][0])[0], $n->[1][0]);
				$last = undef if !defined $last || $last ne $s;
			}
		}
		elsif ($kind eq 'current')
		{
			my ($of) = $sql =~ /'(\w+)'/;
			next if !$ok;
			$wrong = $stands_for->($drawn_in{$of}, $o->[1][0], $n->[1][0]);
			return "$sql: $wrong" if $wrong;
		}
		elsif ($kind eq 'last')
		{
			next if !$ok || !defined $last;
			$wrong = $stands_for->($drawn_in{$last}, $o->[1][0], $n->[1][0]);
			return "$sql: $wrong" if $wrong;
		}
		elsif ($kind eq 'equal')
		{
			return "$sql: @{ $n->[1] } instead of @{ $o->[1] }" if "@{ $o->[1] }" ne "@{ $n->[1] }";
		}
		elsif ($kind eq 'resets' || $kind eq 'alters')
		{
			next if !$ok;
			if ($sql =~ /RENAME/) { $new->($_) foreach 's1', 's2'; $loose{ $epoch{$_} } = 1 foreach 's1', 's2'; next; }
			my $was_loose = $loose{ $epoch{$s} };
			$new->($s);
			$loose{ $epoch{$s} } = $sql =~ /^CREATE|^DROP/ ? $sql =~ /CYCLE/ : $was_loose;
		}
		elsif ($kind eq 'begins' && !$in_transaction)
		{
			$in_transaction = 1;
			@stack = ({ epoch => {%epoch}, set => {} }) if $ok;
		}
		elsif ($kind eq 'saves' && $in_transaction && $ok)
		{
			push @stack, { epoch => {%epoch}, set => {} };
		}
		elsif ($kind eq 'rolls back to' && $ok || $kind =~ /^(commits|rolls back)$/ && $in_transaction)
		{
			# A COMMIT of what has failed rolls back; to be safe, so it is taken.
			my $back = $kind eq 'rolls back to' ? $stack[-1] : $stack[0];
			my $before = $back ? $back->{epoch} : {%epoch};
			foreach my $name (keys %epoch)
			{
				next if $epoch{$name} == $before->{$name};
				# What is left is one of the counts; its order to the others is not known here.
				my $was_loose = $loose{ $epoch{$name} } || $loose{ $before->{$name} };
				$new->($name) unless $kind eq 'commits';
				$loose{ $epoch{$name} } = $was_loose;
				$drawn_in{$name} = undef unless $kind eq 'commits';
			}
			if ($kind ne 'rolls back to')
			{
				$in_transaction = 0;
				@stack = ();
			}
		}
		elsif ($kind =~ /^discards/ && $ok)
		{
			%drawn_in = ();
			$last = undef;
		}
	}
	$ends->{'equal'}++;
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
		$text .= "$statement->[0];  -- off: $o->[0] @{ $o->[1] }; on: $n->[0] @{ $n->[1] }\n";
		$i++;
	}
	return $text;
}

is($node->safe_psql("switched_$_", q{CREATE SEQUENCE s; EXPLAIN (VERBOSE, COSTS OFF) SELECT nextval('s')}) =~ /hilo\.nextval/ ? 'on' : 'off', $_, "the setting is $_")
  foreach qw(on off);

my (%ends, @different);
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
		my $what = compare($script, $n, $o, \%ends);
		$statements += @{ $script->{statements} };
		diag(show($script, $n, $o)) if defined $ENV{HILO_SCRIPT};
		next unless defined $what;
		push @different, "$script->{number}: $what";
		diag("script $script->{number}: $what\n" . show($script, $n, $o)) if @different <= 3;
	}
}
is(join("\n", @different), '', "seed $SEED: scripts give the same");
note("$statements statements; " . join(', ', map { "$_: $ends{$_}" } sort keys %ends));
cmp_ok($ends{'other numbers'}, '>', 0, 'some numbers are others');
cmp_ok($ends{equal} // 0, '>', $SCRIPTS / 2, 'most of them to their end') unless defined $ENV{HILO_SCRIPT};

$node->stop;
done_testing();
