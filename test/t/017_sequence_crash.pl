# Shown is spent, over a sequence, too: no number comes back after kill -9 or an immediate stop, whatever became of its transaction; plain nextval repeats numbers of transactions that have committed.
use HiloTest;

# HILO_KILLS chooses how often the server is killed, HILO_SHOWN after how many lines of each client.
my $ROUNDS = $ENV{HILO_KILLS} // 6;
my $STATEMENTS = 30_000;    # more than a client gets to in a round
my $LEAST = $ENV{HILO_SHOWN} // 150;    # lines that each client logs before the end
my $dir = PostgreSQL::Test::Utils::tempdir;

# Nothing else may flush: no client commits.
my @CLIENTS = (1, 2, 4, 5, 7, 8);
my $settings = "synchronous_commit = off\nwal_writer_delay = 10s\n";
my $setup = <<'SQL';
CREATE EXTENSION hilo;
SET client_min_messages = warning;
CREATE SEQUENCE alone;
CREATE SEQUENCE beside;
CREATE SEQUENCE cached CACHE 10;
CREATE SEQUENCE down INCREMENT -3;
CREATE TABLE attached (id bigserial PRIMARY KEY);
SELECT hilo.attach('attached');
CREATE TABLE identity (id bigint GENERATED ALWAYS AS IDENTITY);
SELECT format('CREATE SEQUENCE own_%s', i) FROM generate_series(1, 9) i \gexec
SQL

# What clients do, a line of psql's script each: "sequence|number" for all that counts.
# What plain nextval gives does not, nor may anything have to be flushed for it.
sub draws
{
	my ($client) = @_;

	return (
		"SELECT 'alone', hilo.nextval('alone');",
		"SELECT 'beside', hilo.nextval('beside');",
		"SELECT nextval('beside') \\g /dev/null\nSELECT 'beside', hilo.nextval('beside');",
		"SELECT 'cached', hilo.nextval('cached');",
		"SELECT nextval('cached') \\g /dev/null\nSELECT 'cached', hilo.nextval('cached');",
		"SELECT 'down', hilo.nextval('down');",
		"INSERT INTO attached DEFAULT VALUES RETURNING 'attached', id;",
		"INSERT INTO attached SELECT FROM generate_series(1, 30) RETURNING 'attached', id;",
		$client < 5 ? "INSERT INTO identity DEFAULT VALUES RETURNING 'identity', id;" : "SELECT nextval('alone') \\g /dev/null\nSELECT 'alone', hilo.nextval('alone');",
		# Upwards only; no other session draws from this one.
		"SELECT setval('own_$client', (SELECT last_value FROM own_$client) + 7) \\g /dev/null\nSELECT 'own_$client', hilo.nextval('own_$client');",
		"SELECT nextval('own_$client') \\g /dev/null\nSELECT 'own_$client', hilo.nextval('own_$client');",
		"DISCARD SEQUENCES;\nSELECT 'alone', hilo.nextval('alone');");
}

sub rounds
{
	my ($node, $most) = @_;
	my $log = "$dir/" . $node->name;
	my @scripts = map { my $setting = $_ < 5 ? 'on' : 'off';
		append_to_file("$log.$_.sql", "SET hilo.sequences = $setting;\n");
		client_script("$log.$_.sql", $_, $STATEMENTS, draws($_)) } @CLIENTS;

	return crash_rounds($node, $most, $log, $LEAST, \@scripts, sub { $_[0] =~ /^(\w+)\|(-?\d+)$/ });
}

#
# Draws in transactions that roll back, or never end, and nothing else
#
my $node = crash_server('hilo', $settings, $setup);
my ($seen, $repeats) = rounds($node, $ROUNDS);
is("@$repeats", '', "$ROUNDS times kill -9: no number came twice");
cmp_ok(scalar(keys %{ $seen->{alone} }), '>=', $ROUNDS * @CLIENTS * $LEAST / 12, 'many numbers were drawn');

#
# An immediate stop
#
$node->start;
my $session = session($node);
my @shown = map { scalar $session->query("BEGIN; SELECT hilo.nextval('alone')") } 1 .. 40;
$node->stop('immediate');
$session->hang_up;
$node->start;
my $next = $node->safe_psql('postgres', "SELECT hilo.nextval('alone')");
cmp_ok($next, '>', (sort { $a <=> $b } @shown)[-1], 'after an immediate stop draws go on above what was shown');

#
# Jumps of a million: the first number after kill -9 is above it, and not far
#
sub jump
{
	my ($what, $before, $draw, $sequence) = @_;

	$node->safe_psql('postgres', $before);
	my $jumper = session($node);
	$jumper->query('BEGIN');
	my $number = $jumper->query($draw);
	kill_server($node);
	$jumper->hang_up;
	$node->start;
	my $after = $node->safe_psql('postgres', "SELECT hilo.nextval('$sequence')");
	cmp_ok($number, '>=', 1_000_000, "$what: a jump");
	cmp_ok($after, '>', $number, "$what: it is not gone");
	cmp_ok($after, '<', $number + 70_000, "$what: nor farther than a lot");
	return;
}
jump('an import', q{SET client_min_messages = warning; CREATE TABLE imports (id bigserial PRIMARY KEY);
	SELECT hilo.attach('imports'); INSERT INTO imports SELECT generate_series(1, 1000000)},
	'INSERT INTO imports DEFAULT VALUES RETURNING id', 'imports_id_seq');
jump('hilo.sync()', q{SET client_min_messages = warning; CREATE TABLE synced (id bigserial PRIMARY KEY);
	SELECT hilo.attach('synced'); INSERT INTO synced VALUES (5000000)}, q{SELECT now FROM hilo.sync('synced')}, 'synced_id_seq');

# A setval that nothing has flushed yet, and draws after it; and a sequence that was restarted upwards.
$node->safe_psql('postgres', 'CREATE SEQUENCE moved; CREATE SEQUENCE restarted');
$session = session($node);
$session->query("SELECT hilo.nextval('moved'), hilo.nextval('restarted')");
$session->query('ALTER SEQUENCE restarted RESTART 3000');
$session->query("BEGIN; SELECT setval('moved', 5000)");
is($session->query("SELECT hilo.nextval('moved')"), 5001, 'a draw after setval');
is($session->query("SELECT hilo.nextval('restarted')"), 3000, 'a draw after RESTART, which is not flushed itself');
kill_server($node);
$session->hang_up;
$node->start;
cmp_ok($node->safe_psql('postgres', "SELECT hilo.nextval('moved')"), '>', 5001, 'after kill -9 it is not drawn again');
cmp_ok($node->safe_psql('postgres', "SELECT hilo.nextval('restarted')"), '>', 3000, 'nor is that');
$node->stop;

#
# The control: a plain draw of a transaction that has committed is drawn again
#
$node->start;
foreach my $function ('nextval', 'hilo.nextval')
{
	my ($open, $committed) = map { session($node, synchronous_commit => 'on') } 1, 2;
	my $sequence = 'control_' . length $function;

	$node->safe_psql('postgres', "CREATE SEQUENCE $sequence; CHECKPOINT");
	$open->query("BEGIN; SELECT $function('$sequence')");
	my $number = $committed->query("SELECT $function('$sequence')");
	kill_server($node);
	$_->hang_up foreach $open, $committed;
	$node->start;
	my $next = $node->safe_psql('postgres', "SELECT $function('$sequence')");
	$function eq 'nextval' ? cmp_ok($next, '<=', $number, 'nextval gives a number again whose transaction had committed')
	  : cmp_ok($next, '>', $number, 'hilo.nextval does not');
}
$node->stop;

#
# This test sees a number that comes twice: by a library that does not flush
#
$node = mutant_server('sequence.c', 'hilo_row_flush(hilo_row_own_lsn(lsn));', '(void) hilo_row_own_lsn(lsn);', q{hilo.nextval('alone')}, $settings, $setup);
(undef, $repeats) = rounds($node, 10 * $ROUNDS);
cmp_ok(scalar @$repeats, '>', 0, 'the same without the flush: numbers come twice');

done_testing();
