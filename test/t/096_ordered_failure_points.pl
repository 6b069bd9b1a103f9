# Ordered collections, failing anywhere: an error, a cancel, a kill -9 or the end of a connection, in the middle of a turn too,
# leaves a gap at most.  Others go on at once, above all that was shown, and the horizon is not held back.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = failure_node('points', <<'SETTINGS', \&add_pause);
hilo.range_size = 4
hilo.max_range_size = 4
SETTINGS
my $times = 0;

# Let a change fail at a point in a way; returns what is wrong then.
sub wrong_after
{
	my ($change, $point, $way) = @_;
	my $name = 'f' . ++$times;
	my $sql = $change->{sql} =~ s/NAME/$name/gr;
	my @wrong;

	$node->safe_psql('postgres', "SET client_min_messages = warning; SELECT hilo.configure('$name', ordered => "
		. ($change->{unordered} ? 'NULL' : 'true') . '); SELECT hilo_next_number(\'' . $name . '\')');
	my $session = session($node);
	my $other = session($node, statement_timeout => '60s');
	my $shown = $session->query("SELECT hilo_next_number('$name')");
	$session->query("SET test.failure_point = '$point:$way'");
	$session->start($sql);
	if ($way eq 'wait')
	{
		my $pid = $session->pid;

		# Others wait for who has the turn, and go on when it is given up.
		$other->query('SELECT pg_sleep(0.2)');
		push @wrong, 'it does not wait' if $other->query("SELECT state FROM pg_stat_activity WHERE pid = $pid") ne 'active';
		$other->query("SELECT pg_cancel_backend($pid)");
	}
	my ($out, $err) = eval { $session->result };
	push @wrong, 'nothing fails' if defined $err && $err eq '' && $way ne 'term';
	if ($way eq 'kill')
	{
		# Its end is that of all sessions.
		eval { $other->query('SELECT pg_sleep(100)') };
		$_->hang_up for $session, $other;
		wait_until('the server is there', sub { answers($node) });
		$other = session($node, statement_timeout => '60s');
	}
	elsif ($way eq 'term')
	{
		$session->hang_up;
	}
	my $next = $other->query("SELECT hilo_next_number('$name')");
	push @wrong, "$next after $shown" if $next !~ /^\d+$/ || $next <= $shown;
	my $horizon = '';
	for (1 .. 3)
	{
		$horizon = $other->query("SELECT horizon FROM hilo.horizon('$name')");
		last if $horizon =~ /\d/;
	}
	push @wrong, "horizon $horizon after $next" if !$change->{unordered} && $horizon ne $next;
	$_->hang_up for $session, $other;
	return @wrong;
}

my $draw = "SELECT hilo_next_number('NAME') FROM generate_series(1, 20)";
test_failures(\&wrong_after,
	{ what => 'a draw', sql => $draw, at => [
		'turn begun' => 'error wait kill term', 'claimed in order' => 'error wait kill term', 'put in order' => 'kill term',
		'drawn in order' => 'kill term', 'row locked' => 'kill', 'row changed' => 'kill', 'before flush' => 'error wait kill' ] },
	{ what => 'a block', sql => "SET hilo.max_range_size = 100; SELECT hilo_reserve('NAME', 100)", at => [ 'turn begun' => 'error', 'claimed in order' => 'error kill' ] },
	{ what => 'to become unordered', unordered => 1, sql => "SELECT hilo.configure('NAME', ordered => false)", at => [ 'row changed' => 'kill' ] },
	{ what => 'to become ordered', unordered => 1, sql => "CALL hilo.make_ordered('NAME')",
		at => [ 'order changed' => 'error wait kill term', 'before announcement' => 'kill', 'row changed' => 'kill' ] });

# Who has the turn takes too long.
{
	my ($slow, $other) = map { session($node) } 1 .. 2;

	$other->query("SET client_min_messages = warning; SELECT hilo.configure('turn', ordered => true)");
	$slow->query("SET test.failure_point = 'turn begun:pause'");
	$slow->start("SELECT hilo_next_number('turn')");
	paused($node);
	$other->query("SET test.order_timeout = 100");
	my (undef, $err) = $other->query("SELECT hilo_next_number('turn')");
	like($err, qr/55P03:.*another session has been claiming numbers of ordered collection "turn" for too long/, 'another session gives up');
	unlike($err, qr/hub|asking/, 'without a word about a hub');
	go_on($node);
	is($slow->result, 1, 'the one that has the turn goes on');
	$_->finish for $slow, $other;
}

# A forced seed comes between the look at the row and the claim: numbers go on behind the seed, and no two sessions have the same.
for my $seed (1000, 10)
{
	my ($slow, $other) = map { session($node, statement_timeout => '60s') } 1 .. 2;
	my $name = "seeded_$seed";

	$other->query("SET client_min_messages = warning; SELECT hilo.configure('$name', ordered => true)");
	$other->query("SELECT hilo_next_number('$name') FROM generate_series(1, 200)");
	$slow->query("SET test.failure_point = 'row adopted:pause'");
	$slow->start("SELECT hilo_next_number('$name') FROM generate_series(1, 20)");
	paused($node);
	$other->query("SELECT hilo.seed('$name', $seed, true)");
	go_on($node);
	is(join(' ', split /\n/, $slow->result), join(' ', $seed + 1 .. $seed + 20), "a forced seed to $seed meanwhile: numbers go on behind it");
	is($other->query("SET hilo.max_range_size = 100; SELECT * FROM hilo_reserve('$name', 50)"), ($seed + 21) . '|' . ($seed + 70), 'and another session has those above');
	$_->finish for $slow, $other;
}

# A number that a failed look has left behind: the horizon may have passed it, so no later transaction draws it.
$node->safe_psql('postgres', q{SET client_min_messages = warning; CREATE TABLE looked (id bigint PRIMARY KEY);
	SELECT hilo.attach('looked', 'id', 'looked'), hilo.configure('looked', ordered => true)});
my $looker = session($node);
$looker->query_safe('INSERT INTO looked DEFAULT VALUES');
$looker->query_safe('ALTER TABLE looked ADD COLUMN v int');
$looker->query_safe(q{SET test.failure_point = 'looked:error'});
isnt($looker->error_of('INSERT INTO looked DEFAULT VALUES'), '', 'a look fails');
$looker->query_safe('RESET test.failure_point');
$node->safe_psql('postgres', 'BEGIN; INSERT INTO looked DEFAULT VALUES; ROLLBACK');
my $passed = $node->safe_psql('postgres', q{SELECT horizon FROM hilo.horizon('looked')});
cmp_ok($looker->query_safe('INSERT INTO looked DEFAULT VALUES RETURNING id'), '>', $passed, 'its number is not drawn later');

# The transactions of one message begin at the same time, and are two nevertheless.
$looker->query_safe('ALTER TABLE looked ADD COLUMN w int');
my ($shown) = $looker->query_safe(q{BEGIN\\; DO $$ BEGIN SET LOCAL test.failure_point = 'looked:error'; INSERT INTO looked DEFAULT VALUES; EXCEPTION WHEN OTHERS THEN NULL; END $$\\;
	COMMIT\\; BEGIN\\; INSERT INTO looked DEFAULT VALUES RETURNING id}) =~ /(\d+)\s*\z/;
$node->safe_psql('postgres', 'INSERT INTO looked DEFAULT VALUES');
cmp_ok($node->safe_psql('postgres', q{SELECT horizon FROM hilo.horizon('looked')}), '<', $shown, 'the horizon is below a number of an open transaction that follows another in its message');
$looker->query_safe('COMMIT');
$looker->finish;

# Standbys that are waited for long: what was claimed lasts from when it can be used, and claims grow.
{
	my $far = session($node);

	$far->query(q{SET client_min_messages = warning; SELECT hilo.configure('far', ordered => true, range_size => 1, max_range_size => 1000)});
	$far->query(q{SET test.failure_point = 'before flush:slow'; SELECT hilo_next_number('far') FROM generate_series(1, 30)});
	cmp_ok($far->query(q{SELECT max FROM hilo.hilo WHERE collection = 'far'}), '>', 30, 'claims in order grow');
	$far->finish;
}

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|leak|still referenced|lock .* (?:already|not) held|own a lock/,
	'nothing was left behind');
done_testing();
