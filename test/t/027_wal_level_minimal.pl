# Promises 1 and 2 under wal_level = minimal, where the storage of a table made in the same transaction is not logged.
use HiloTest;

my $node = server('minimal', "wal_level = minimal\nmax_wal_senders = 0");

# The session is let go of while the server is down: a server started earlier
# would inherit, and hold open, what psql reads from.
sub crash
{
	my ($session) = @_;
	$node->stop('immediate');
	$session->hang_up;
	$node->start;
	return;
}

sub numbers
{
	my ($db, $query) = @_;
	return join ',', split /\n/, $node->safe_psql($db, $query);
}

# Small tables are logged at commit, or written to disk, as this setting says.
foreach my $threshold ('0', '2MB')
{
	my $db = "threshold_" . lc $threshold;
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql('postgres', "ALTER DATABASE $db SET wal_skip_threshold = '$threshold'");

	# The session stays, so that it leaves nothing in the pool.
	my $session = session($node, dbname => $db);
	$session->query_safe('BEGIN; CREATE EXTENSION hilo');
	is( $session->query_safe(
			"SELECT string_agg(hilo_next_number('orders')::text, ',') FROM generate_series(1, 40)"),
		join(',', 1 .. 40),
		"$threshold: draws in the transaction that made the extension");
	$session->query_safe("SELECT hilo_reserve('reserved', 7)");
	is($session->query_safe('SELECT count(*), max(ahead) FROM hilo.hilo'), '2|0', "$threshold: nothing is logged, and nothing ahead");
	$session->query_safe('COMMIT');
	is($session->query_safe("SELECT hilo_next_number('orders')"),
		41, "$threshold: the range is good after commit");
	# A crash loses what is logged ahead.
	my $rows = 'SELECT collection, max + ahead, max_value, epoch FROM hilo.hilo ORDER BY collection';
	my $shown = $node->safe_psql($db, $rows);
	# How much is claimed follows the clock.
	my $max = $node->safe_psql($db, "SELECT max FROM hilo.hilo WHERE collection = 'orders'");
	cmp_ok($max, '>=', 41, "$threshold: what was drawn is claimed");
	crash($session);
	is($node->safe_psql($db, $rows), $shown, "$threshold: counters as they were, after a crash");
	cmp_ok($node->safe_psql($db, "SELECT hilo_next_number('orders')"),
		'>', $max, "$threshold: no number twice");

	# Made in a transaction long since over: claims are logged.
	$session = session($node, dbname => $db);
	$session->query_safe(
		"BEGIN; SELECT hilo_next_number('late'); SELECT hilo_next_number('orders'); ROLLBACK;");
	$session->query_safe("BEGIN; SELECT hilo_next_number('open')");
	crash($session);
	is( numbers($db, "SELECT hilo_next_number('late') > 32 UNION ALL SELECT hilo_next_number('open') > 32"),
		't,t',
		"$threshold: what a rolled back, and an unfinished, transaction drew is not drawn again");

	# An extension that is rolled back takes its counters with it, and the
	# ranges of the session.
	$node->safe_psql($db, 'DROP EXTENSION hilo');
	$session = session($node, dbname => $db);
	$session->query_safe(
		"BEGIN; CREATE EXTENSION hilo; SELECT hilo_next_number('orders'); ROLLBACK;");
	is($session->query("SELECT 'still here'"), 'still here', "$threshold: extension rolled back");
	$session->query_safe(
		q{BEGIN;
		  SAVEPOINT a;
		  CREATE EXTENSION hilo;
		  SELECT hilo_next_number('orders');
		  ROLLBACK TO a;
		  CREATE EXTENSION hilo;});
	is($session->query_safe("SELECT hilo_next_number('orders')"),
		1, "$threshold: made again, it counts from 1");
	$session->query_safe(
		q{SAVEPOINT b; SELECT hilo_next_number('orders'); SELECT hilo_next_number('inner'); ROLLBACK TO b;});
	is( $session->query_safe(
			"SELECT hilo_next_number('orders'), hilo_next_number('inner')"),
		'3|2',
		"$threshold: a savepoint takes no number back");
	$session->query_safe('COMMIT');
	$shown = $node->safe_psql($db, $rows);
	crash($session);
	is($node->safe_psql($db, $rows), $shown, "$threshold: counters as they were, after a crash");
	is( numbers($db, "SELECT hilo_next_number('orders') > 32 UNION ALL SELECT hilo_next_number('inner') > 32"),
		't,t',
		"$threshold: no number twice");
}

# Sequences: a number of a sequence that another session has restarted.
$node->safe_psql('postgres', 'CREATE EXTENSION IF NOT EXISTS hilo; CREATE TABLE restarted (id serial)');
my $second = session($node);
$second->query_safe(q{SELECT hilo.nextval('restarted_id_seq')}) for 1 .. 2;
$node->safe_psql('postgres', q{BEGIN; TRUNCATE restarted RESTART IDENTITY; SELECT nextval('restarted_id_seq'); COMMIT});
my $drawn = $second->query_safe(q{SELECT hilo.nextval('restarted_id_seq')});
crash($second);
cmp_ok($node->safe_psql('postgres', q{SELECT hilo.nextval('restarted_id_seq')}), '>', $drawn, 'nor a number after a restart of the sequence');

# A sequence that was moved to where its last transaction without WAL seemed to have logged it.
$node->safe_psql('postgres', q{BEGIN; CREATE SEQUENCE ends; CREATE TABLE ending (id bigint PRIMARY KEY DEFAULT hilo.nextval('ends')); ALTER SEQUENCE ends OWNED BY ending.id;
	INSERT INTO ending VALUES (1), (2), (3); SELECT nextval('ends'); COMMIT});
is($node->safe_psql('postgres', q{SELECT now FROM hilo.sync('ending')}), 3, 'a sequence is moved');
$node->safe_psql('postgres', 'DELETE FROM ending');

# A copy of a database, with the LSNs of the original.
my $draw = q{SELECT hilo.nextval('copied')};
$node->safe_psql('postgres', 'CREATE DATABASE original');
$node->safe_psql('original', q{CREATE EXTENSION hilo; CREATE SEQUENCE copied});
$node->safe_psql('original', $draw) for 1 .. 2;
my $claim = q{SELECT high FROM hilo_reserve('copied', 1)};
$node->safe_psql('original', $claim);
$node->safe_psql('postgres', 'SET wal_skip_threshold = 0; CREATE DATABASE copy TEMPLATE original STRATEGY wal_log');
my $copied = $node->safe_psql('copy', $draw);
$node->safe_psql('copy', $claim) for 1 .. 4;
my $claimed = $node->safe_psql('copy', $claim);
$node->stop('immediate');
$node->start;
cmp_ok($node->safe_psql('postgres', q{SELECT hilo.nextval('ends')}), '>', 3, 'and the move is not gone after a crash');
cmp_ok($node->safe_psql('copy', $draw), '>', $copied, 'nor is what was drawn in a copy of the database');
cmp_ok($node->safe_psql('copy', $claim), '>', $claimed, 'and claimed there');

$node->stop;
done_testing();
