# Whatever a session knows is as old as the generation before it was read: no message is missed, and none makes it look at more than what may have changed.
use HiloTest;

# At a failure point of the kind "wait" a session makes the file "here", and goes on
# when the file "go" is there.  Of the kind "hear" it accepts messages before it goes on.
my $dir = PostgreSQL::Test::Utils::tempdir;
my $libdir = build_variant("$dir/points", sub {
	my ($tree) = @_;
	rewrite("$tree/src/failure_point.h", sub {
		s{^(\twhile \(hilo_failure_is_wanted\(name, "wait"\))\)$}{
			"\tbool\t\thear = hilo_failure_is_wanted(name, \"hear\");\n\n"
			. "\tif (hear || hilo_failure_is_wanted(name, \"wait\"))\n\t\tclose(open(\"$dir/here\", O_CREAT | O_WRONLY, 0600));\n"
			. "\twhile ((hear || hilo_failure_is_wanted(name, \"wait\")) && access(\"$dir/go\", F_OK) != 0)"}me
		  or die 'no wait in failure_point.h';
		s{(pg_usleep\(1000\);\n\t\}\n)}{$1\tif (hear)\n\t\tAcceptInvalidationMessages();\n} or die 'no end of it';
		s{^#include <signal.h>$}{#include <fcntl.h>\n#include <signal.h>}m or die 'no include';
		s{^#include "miscadmin.h"$}{#include "miscadmin.h"\n#include "utils/inval.h"}m or die 'no other include';
	});
}, 'PROFILE=-DHILO_FAILURE_POINTS -Wno-declaration-after-statement');

my $node = server('generations', <<"SETTINGS", 'CREATE EXTENSION hilo');
dynamic_library_path = '$libdir:\$libdir'
autovacuum = off
hilo.debug_range_size = 4
hilo.max_range_size = 4
SETTINGS

#
# A count that begins anew while a session is getting a range
#

my $times = 0;

# Draw in a session, so often.
sub draw
{
	my ($session, $name, $times) = @_;
	return map { scalar $session->query("SELECT hilo_next_number('$name')") } 1 .. $times;
}

# A session stops at a point, having begun its draw; the count begins anew, and
# another session draws; the first one goes on.  Returns numbers that two transactions
# have drawn that began after that.
sub repeats_after
{
	my ($point, $kind, $begin) = @_;
	my $name = 'c' . ++$times;
	my $first = session($node);
	my $second = session($node);

	# Where there is a pool, it has something for the next session.
	my $brief = session($node);
	draw($brief, $name, 6);
	$brief->leave;

	unlink "$dir/here", "$dir/go";
	$first->query("SET test.failure_point = '$point:$kind'");
	$first->start("SELECT hilo_next_number('$name')");
	wait_until("a session is at \"$point\"", sub { -e "$dir/here" });
	$second->query($begin =~ s/NAME/$name/r);
	my @numbers = draw($second, $name, 8);
	append_to_file("$dir/go", '');
	my ($out, $err) = $first->result;
	$first->query('RESET test.failure_point');
	foreach (1 .. 8)
	{
		push @numbers, draw($first, $name, 1), draw($second, $name, 1);
	}
	my $third = session($node);
	push @numbers, draw($third, $name, 4);
	$_->finish foreach $first, $second, $third;

	my %seen;
	my @wrong = grep { !/^\d+$/ || $seen{$_}++ } @numbers;
	push @wrong, "$out$err" if $out !~ /^\d+$/ || $err ne '';
	return @wrong;
}

foreach my $preloaded (0, 1)
{
	if ($preloaded)
	{
		$node->append_conf('postgresql.conf', "shared_preload_libraries = 'hilo'");
		$node->restart;
	}
	my $how = $preloaded ? 'with a pool' : 'without a pool';
	foreach my $begin (q{SELECT hilo.seed('NAME', 0, true)}, q{SELECT hilo.drop('NAME')})
	{
		my ($function) = $begin =~ /(hilo\.\w+)/;

		# Without a pool, a claim reads the row that it changes.
		foreach my $point ($preloaded ? 'row read' : (), 'after flush')
		{
			foreach my $kind (qw(wait hear))
			{
				is(join(' ', repeats_after($point, $kind, $begin)), '',
					"$how: $function() while a session is at \"$point\", and " .
					  ($kind eq 'hear' ? 'hears of it there' : 'hears of it later') . ': no number comes twice');
			}
		}
	}
}

#
# A partition with ids that is attached while a session finds what to look at
#

# How the counter is told of the table.
sub named
{
	my ($table, $draw) = @_;
	return $draw =~ /nextval/ ? "ALTER SEQUENCE drawn OWNED BY $table.id" : "SELECT hilo.bind('drawn', '$table', 'id')";
}

# What the session knows ends with a message, of DDL; or messages come with each lock, also about a partition that was read, but
# not yet opened.  How the partition comes, as part 1 of which table, and what it is then.
my @partitions = (
	[ '', 'part', 'parts', 'generate_series(8, 40)', 'a partition that is attached while the session finds what to look at is looked at' ],
	[ 'CREATE TABLE branch (id bigint, part int, sub int) PARTITION BY LIST (sub); ALTER TABLE parts ATTACH PARTITION branch FOR VALUES IN (1)',
		'leaf', 'branch', 'generate_series(1, 100)', 'so is one of a partition' ]);
foreach my $draw (q{hilo.nextval('drawn')}, q{hilo_next_number('drawn')})
{
	my ($first, $second) = map { session($node) } 1 .. 2;

	foreach (@partitions)
	{
		my ($branch, $part, $parent, $ids, $what) = @$_;

		$second->query(qq{
			CREATE SEQUENCE drawn;
			CREATE TABLE parts (id bigint DEFAULT $draw, part int, sub int) PARTITION BY LIST (part);
			$branch;
			@{[ named('parts', $draw) ]};
			CREATE TABLE $part (id bigint PRIMARY KEY, part int, sub int);
			INSERT INTO $part SELECT $ids, 1, 1;
		});
		unlink "$dir/here", "$dir/go";
		if ($branch eq '')
		{
			$first->query("SELECT $draw FROM generate_series(1, 6)");
			$second->query("ALTER TABLE parts ADD x int; ALTER TABLE $part ADD x int");
		}
		my $point = $branch eq '' && $draw =~ /nextval/ ? 'places found' : 'parts found';
		$first->query("SET test.failure_point = '$point:hear'");
		$first->start("SELECT $draw");
		wait_until('a session has found no partition', sub { -e "$dir/here" });
		$second->query_safe("ALTER TABLE $parent ATTACH PARTITION $part FOR VALUES IN (1)");
		append_to_file("$dir/go", '');
		$first->result;
		$first->query('RESET test.failure_point');
		is(join(' ', map { $first->error_of('INSERT INTO parts (part, sub) VALUES (1, 1)') } 1 .. 3), '  ', "$draw: $what");
		$second->query('DROP TABLE parts; DROP SEQUENCE drawn');
	}
	$_->finish foreach $first, $second;
}

#
# A column that is bound while a session reads the bindings
#

{
	my ($first, $second) = map { session($node) } 1 .. 2;

	$second->query(q{
		CREATE TABLE early (id bigint PRIMARY KEY);
		CREATE TABLE late (id bigint PRIMARY KEY);
		INSERT INTO late SELECT generate_series(2, 40);
		SELECT hilo.bind('both', 'early', 'id');
	});
	unlink "$dir/here", "$dir/go";
	$first->query("SET test.failure_point = 'parts found:hear'");
	$first->start(q{SELECT hilo_next_number('both')});
	wait_until('a session has read the bindings', sub { -e "$dir/here" });
	$second->query_safe(q{SELECT hilo.bind('both', 'late', 'id')});
	append_to_file("$dir/go", '');
	$first->result;
	$first->query('RESET test.failure_point');
	is($first->query(q{SELECT hilo_next_number('both')}), 41, 'a column that is bound while the session reads the bindings is looked at');
	$_->finish foreach $first, $second;
}

#
# An index that REINDEX CONCURRENTLY replaces while a session looks into it
#

{
	my ($first, $reindexer, $holder) = map { session($node) } 1 .. 3;

	$holder->query(q{CREATE TABLE replaced (id bigint PRIMARY KEY); INSERT INTO replaced SELECT generate_series(1, 1000)});
	$holder->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	$reindexer->start('REINDEX INDEX CONCURRENTLY replaced_pkey');
	$reindexer->waits_for($node, 'Lock');
	unlink "$dir/here", "$dir/go";
	$first->query("SET test.failure_point = 'looked:wait'");
	$first->start(q{SELECT next_identity_free('replaced')});
	wait_until('a session is looking', sub { -e "$dir/here" });
	$holder->query('COMMIT');
	wait_until('the index is replaced', sub {
		$holder->query(q{SELECT count(*) FROM pg_index WHERE indrelid = 'replaced'::regclass AND indisvalid AND indexrelid::regclass::text = 'replaced_pkey'}) == 1
		  && $holder->query(q{SELECT count(*) FROM pg_index WHERE indrelid = 'replaced'::regclass AND NOT indisvalid AND indexrelid::regclass::text ~ 'ccold'}) == 1 });
	append_to_file("$dir/go", '');
	like(($first->result)[0], qr{^replaced/100[12]$}, 'an index that is replaced during a search is looked into as the new one');
	$reindexer->result;

	# One that is locked meanwhile is no reason to take a number that was not looked at.
	unlink "$dir/here", "$dir/go";
	$first->query("SET test.failure_point = 'free number found:wait'");
	$first->start(q{SELECT next_identity_free('replaced')});
	wait_until('a session has found a number', sub { -e "$dir/here" });
	$holder->query(q{INSERT INTO replaced SELECT generate_series(1002, 1100)});
	$holder->query(q{SELECT next_identity_free('replaced')});
	$holder->query(q{BEGIN; REINDEX INDEX replaced_pkey});
	append_to_file("$dir/go", '');
	like(($first->result)[1], qr/^ERROR: +55000/m, 'an index that is locked during a search: an error, and no number');
	$_->finish foreach $first, $reindexer, $holder;
}

#
# A lock on the bindings concerns only sessions that have to read them: new ones, and others
# once any change was announced, because there is one generation for all
#

$node->safe_psql('postgres', q{
	CREATE ROLE clerk;
	CREATE TABLE letters (id bigint PRIMARY KEY);
	SELECT hilo.bind('letters', 'letters', 'id');
	SET client_min_messages = warning;
	SELECT hilo.seed('other', 1);
});
my ($locker, $drawer, $seeder) = map { session($node, 'hilo.debug_range_size' => 32, 'hilo.max_range_size' => 32) } 1 .. 3;
$drawer->query('SET SESSION AUTHORIZATION clerk');
# Fails where it would wait, however slow the machine is.
$_->query("SET lock_timeout = '1s'; SET client_min_messages = warning") foreach $drawer, $seeder;
is($drawer->query(q{SELECT count(hilo_next_number('letters')) FROM generate_series(1, 40)}), 40, 'a session has numbers of a bound collection');
is($drawer->query(q{SELECT high > next FROM hilo.ranges WHERE collection = 'letters'}), 't', 'and some are left');
$locker->query('BEGIN; LOCK TABLE hilo.binding IN ACCESS EXCLUSIVE MODE');
is($drawer->error_of(q{SELECT hilo_next_number('letters')}), '', 'a session that has numbers left does not wait for a lock on the bindings');
foreach my $change (
	q{SELECT hilo.seed('other', 5)},
	q{SELECT hilo.seed('one more', 5)},
	q{SELECT hilo.seed('other', 0, true)})
{
	is(($seeder->query($change))[1], '', "$change: nor does this");
}
# A session that has to read them waits.
my $reader = session($node);
$reader->query(q{SET SESSION AUTHORIZATION clerk; SET lock_timeout = '100ms'});
is($reader->error_of(q{SELECT hilo_next_number('letters')}), '55P03', 'a session that is new to the bound collection waits');
$locker->query('ROLLBACK');
is($reader->error_of(q{SELECT hilo_next_number('letters')}), '', 'and not any more when the lock is gone');
is($drawer->error_of(q{SELECT hilo_next_number('letters')}), '', 'the other one goes on, too');
$_->finish foreach $locker, $drawer, $seeder, $reader;

$node->stop;
done_testing();
