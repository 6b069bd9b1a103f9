# As a sequence counts: readers that poll by "id > last", or skip gaps once they are old, meet the numbers in the order in which sessions drew them, attached or by the setting.
use HiloTest;

my $node = server('readers', "fsync = off\n", <<'SQL');
SET client_min_messages = warning;
CREATE EXTENSION hilo;
CREATE TABLE plain (id bigserial PRIMARY KEY, payload text);
CREATE TABLE attached (id bigserial PRIMARY KEY, payload text);
SELECT hilo.attach('attached');
CREATE TABLE identity (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text);
CREATE SEQUENCE positions;
SQL

# Six writers, idle in between, insert bursts that are committed before the next writer's; a
# poller reads after each.  Returns how many rows it never sees.
sub missed
{
	my ($table, $setting) = @_;
	my @writers = map { session($node) } 1 .. 6;
	my $poller = session($node);
	my ($last, $seen, $rows) = (0, 0, 0);

	if ($setting)
	{
		$_->query("LOAD 'hilo'; SET hilo.sequences = on") foreach @writers;
	}
	srand(1);
	for my $burst (1 .. 120)
	{
		my $size = 1 + int(rand(60));
		$writers[ rand(@writers) ]->query_safe("INSERT INTO $table (payload) SELECT 'x' FROM generate_series(1, $size)");
		$rows += $size;
		my ($count, $max) = split /\|/, $poller->query("SELECT count(*), max(id) FROM $table WHERE id > $last");
		$seen += $count;
		$last = $max if $count;
	}
	$_->finish foreach @writers, $poller;
	is($node->safe_psql('postgres', "SELECT count(*), max(id) FROM $table"), "$rows|$rows", "$table: all rows, without a gap");
	return $rows - $seen;
}
is(missed('plain', 0), 0, 'the server alone: the poller misses no row');
is(missed('attached', 0), 0, 'attached: nor does it');
is(missed('identity', 1), 0, 'an identity column with the setting: nor here');

#
# A daemon skips a gap that is old, when no transaction is open: nothing may come below its mark
#
my ($first, $second) = map { session($node) } 1, 2;
my $mark = $first->query("WITH i AS (INSERT INTO attached (payload) SELECT 'a' FROM generate_series(1, 20) RETURNING id) SELECT max(id) FROM i");
my $next = $second->query("WITH i AS (INSERT INTO attached (payload) SELECT 'b' FROM generate_series(1, 3) RETURNING id) SELECT max(id) FROM i");
cmp_ok($next, '>', $mark, 'another session goes on above');
cmp_ok($first->query("INSERT INTO attached (payload) VALUES ('late') RETURNING id"), '>', $next, 'the first one, idle meanwhile, inserts above the mark');
$_->finish foreach $first, $second;

#
# Positions that no column uses, as a program reads them from last_value
#
my @sessions = map { session($node) } 1 .. 3;
$_->query("LOAD 'hilo'; SET hilo.sequences = on") foreach @sessions;
my @positions = map { scalar $sessions[ $_ % 3 ]->query("SELECT nextval('positions')") } 1 .. 300;
is("@positions", join(' ', 1 .. 300), '300 positions by three sessions with the setting: in order, none left out');
is($node->safe_psql('postgres', 'SELECT last_value FROM positions'), 300, 'last_value is the newest');
$_->finish foreach @sessions;

$node->stop;
done_testing();
