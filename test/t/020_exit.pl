# Promises 4 and 6: the unused rest of a range goes back when its connection ends, however that ends, as long as the range is the newest claim; and the end waits for no lock.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = PostgreSQL::Test::Cluster->new('exit');
$node->init(allows_streaming => 'logical');
$node->append_conf(
	'postgresql.conf', q{
max_connections = 40
max_prepared_transactions = 5
autovacuum = off
restart_after_crash = on
});
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo');

sub sql
{
	my ($query) = @_;
	return $node->safe_psql('postgres', $query);
}

# A connection that has drawn $count numbers of a collection.
sub drawer
{
	my ($collection, $count) = @_;
	my $session = session($node);
	$session->query_safe(
		"SELECT hilo_next_number('$collection') FROM generate_series(1, $count)");
	return $session;
}

# Wait until a process is gone, and has done what it does at its end.
sub wait_gone
{
	my ($pid) = @_;
	return $node->poll_query_until('postgres',
		"SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
}

# The same, within a time in which no lock is released.
sub gone_soon
{
	my ($pid) = @_;
	for (1 .. 100)
	{
		return 1
		  if sql("SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)") eq 't';
		usleep(100_000);
	}
	return 0;
}

sub disconnect
{
	my ($session) = @_;
	$session->hang_up;
	return wait_gone($session->pid);
}

sub terminate
{
	my ($session) = @_;
	sql('SELECT pg_terminate_backend(' . $session->pid . ')');
	my $gone = wait_gone($session->pid);
	$session->hang_up;
	return $gone;
}

sub row_of
{
	my ($collection) = @_;
	return sql("SELECT h FROM hilo.hilo h WHERE collection = '$collection'");
}

my ($session, $other, $before);

#
# Ends of a connection
#

$session = session($node);
is($session->query_safe("SELECT hilo_next('employees')"),
	'employees/1-A', 'first id of a collection');
is(max_of($node, 'employees'), 32, 'the whole range is claimed while it is in use');
disconnect($session);
is(max_of($node, 'employees'), 1, 'disconnected: the rest went back');

$session = session($node);
is($session->query_safe("SELECT hilo_next('employees')"),
	'employees/2-A', 'the next connection goes on behind it');
is( $session->query_safe(
		"SELECT low, high, next FROM hilo.ranges WHERE collection = 'employees'"),
	'2|33|3',
	'with the range 2..33');
disconnect($session);

sql("SELECT hilo.seed('raven', 32)");
disconnect(drawer('raven', 2));
is(max_of($node, 'raven'), 34, 'max 32, two drawn, closed: max is 34');

disconnect(drawer('used_up', 32));
is(max_of($node, 'used_up'), 32, 'nothing goes back of a range that was used up');

$session = drawer('vanished', 3);
$session->signal('KILL');
ok(wait_gone($session->pid), 'backend ends after its client was killed');
$session->hang_up;
is(max_of($node, 'vanished'), 3, 'client killed: the rest went back');

terminate(drawer('idle', 3));
is(max_of($node, 'idle'), 3, 'terminated when idle');

$session = session($node);
$session->query_safe("BEGIN; SELECT hilo_next_number('in_transaction')");
terminate($session);
is(max_of($node, 'in_transaction'), 1, 'terminated when idle in transaction');

$session = session($node);
$session->query_safe(
	"BEGIN; SELECT hilo_next_number('in_savepoint'); SAVEPOINT a; SELECT hilo_next_number('in_savepoint')");
disconnect($session);
is(max_of($node, 'in_savepoint'), 2, 'disconnected with a savepoint open');

$session = session($node);
$session->query("BEGIN; SELECT hilo_next_number('in_failed'); SELECT 1/0;");
terminate($session);
is(max_of($node, 'in_failed'), 1, 'terminated in a failed transaction');

$session = session($node);
$session->query("BEGIN; SELECT hilo_next_number('in_failed2'); SELECT 1/0;");
disconnect($session);
is(max_of($node, 'in_failed2'), 1, 'disconnected in a failed transaction');

$session = session($node);
$session->start("SELECT hilo_next_number('running'), pg_sleep(3600)");
ok( $node->poll_query_until(
		'postgres',
		"SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = " . $session->pid),
	'a statement is running');
terminate($session);
is(max_of($node, 'running'), 1, 'terminated inside a statement');

# The end may come before psql has shown the number.
$session = session($node);
$session->start(
	"SET idle_in_transaction_session_timeout = 10; BEGIN\\; SELECT hilo_next_number('timed_out')");
ok(wait_gone($session->pid), 'backend ends by a timeout');
$session->hang_up;
is(max_of($node, 'timed_out'), 1, 'ended by a timeout');

$session = session($node);
$session->query_safe("BEGIN; SELECT hilo_next_number('prepared'); PREPARE TRANSACTION 'p'");
disconnect($session);
is(max_of($node, 'prepared'), 1, 'disconnected with a prepared transaction left behind');
sql("ROLLBACK PREPARED 'p'");

$session = drawer('read_only', 1);
$session->query_safe(
	q{SET default_transaction_read_only = on;
	  SET default_transaction_isolation = 'serializable';
	  SET default_transaction_deferrable = on;});
disconnect($session);
is(max_of($node, 'read_only'), 1, 'disconnected with read-only transactions as the default');

$session = drawer('pooled', 1);
$session->query_safe('DISCARD ALL');
is($session->query_safe("SELECT hilo_next_number('pooled')"),
	2, 'DISCARD ALL keeps the range');
$session->query_safe('CREATE TEMP TABLE leftover (a int)');
disconnect($session);
is(max_of($node, 'pooled'), 2, 'disconnected after DISCARD ALL, with a temporary table');

$session = session($node);
is( $session->query_safe(
		q{SELECT count(hilo_next_number('many' || i)) FROM generate_series(1, 1000) i}),
	1000,
	'a number of each of 1,000 collections');
is(sql(q{SELECT count(*), sum(max) FROM hilo.hilo WHERE collection LIKE 'many%'}),
	'1000|32000', '1,000 ranges are claimed');
disconnect($session);
is(sql(q{SELECT count(*), sum(max) FROM hilo.hilo WHERE collection LIKE 'many%'}),
	'1000|1000', 'all of them went back');

#
# A table that is not as it should be
#

foreach my $damage (
	[ 'CREATE INDEX unfit ON hilo.hilo (max)', 'DROP INDEX hilo.unfit' ],
	[ 'ALTER TABLE hilo.hilo SET UNLOGGED', 'ALTER TABLE hilo.hilo SET LOGGED' ],
	[ 'ALTER TABLE hilo.hilo RENAME TO other', 'ALTER TABLE hilo.other RENAME TO hilo' ])
{
	my $end = -s $node->logfile;

	$session = drawer('damaged', 1);
	sql($damage->[0]);
	ok(disconnect($session), "ends after $damage->[0]");
	sql($damage->[1]);
	unlike(slurp_file($node->logfile, $end), qr/FATAL/, 'without an error');
}

#
# The row is found again, wherever it has gone
#

# Made in an order that CLUSTER changes.
foreach my $command (
	'VACUUM FULL hilo.hilo',
	'CLUSTER hilo.hilo USING hilo_collection_idx',
	'ANALYZE hilo.hilo',
	'VACUUM (FREEZE, ANALYZE) hilo.hilo',
	'REINDEX TABLE hilo.hilo',
	'REINDEX TABLE CONCURRENTLY hilo.hilo',
	"SELECT hilo.seed('something_else', 1)",
	'CREATE TABLE unrelated (a int)')
{
	(my $name = $command) =~ s/\W+/_/g;
	$session = drawer("z$name", 5);
	$other = drawer("a$name", 7);
	sql($command);
	disconnect($session);
	disconnect($other);
	is( sql(qq{SELECT string_agg(collection || ' ' || max, ', ' ORDER BY collection)
			FROM hilo.hilo WHERE collection IN ('a$name', 'z$name')}),
		"a$name 7, z$name 5",
		"both rests went back after $command");
}
is(sql(q{SELECT sum(max) FROM hilo.hilo WHERE collection LIKE 'many%'}),
	1000, 'no other row was changed');

#
# What is not the newest claim stays a gap
#

$session = drawer('two', 1);
$other = drawer('two', 1);
disconnect($session);
is(max_of($node, 'two'), 64, 'the older of two ranges stays a gap');
disconnect($other);
is(max_of($node, 'two'), 33, 'the newer one goes back');

my %meanwhile = (
	reserved => [ "SELECT hilo_reserve('reserved', 1)", 33 ],
	aligned => [ "SELECT hilo.next_hi('aligned', 10)", 50 ],
	seeded => [ "SELECT hilo.seed('seeded', 100)", 100 ],
	seeded_alike => [ "SELECT hilo.seed('seeded_alike', 32)", 32 ],
	forced => [ "SELECT hilo.seed('forced', 0, true)", 0 ],
	dropped => [ "SELECT hilo.drop('dropped')", 0 ],
	# claimed and returned: max is the same as before, the claim is not
	returned => [
		"SELECT hilo.return_range('returned', low - 1, high, claim) FROM hilo.next_range('returned')",
		32
	],
	# merged by a restore
	merged => [ "INSERT INTO hilo.hilo (collection, max) VALUES ('merged', 5)", 32 ],);
foreach my $collection (sort keys %meanwhile)
{
	my ($command, $expected) = @{ $meanwhile{$collection} };
	$session = drawer($collection, 1);
	sql($command);
	$before = row_of($collection);
	disconnect($session);
	is(row_of($collection), $before, "$collection meanwhile: nothing went back");
	is(max_of($node, $collection), $expected, "$collection meanwhile: max");
}

foreach my $start_over ("hilo.drop('again')", "hilo.seed('again', 0, true)")
{
	$session = drawer('again', 1);
	sql("SELECT $start_over");
	$other = drawer('again', 1);
	is(max_of($node, 'again'), 32, "another session has 1..32 after $start_over");
	disconnect($session);
	is(max_of($node, 'again'), 32, "nothing of it went back with the old 1..32");
	disconnect($other);
	is(max_of($node, 'again'), 1, "its holder gives it back");
	sql("SELECT hilo.drop('again')");
}

#
# Nothing goes back into an extension that was made anew, or is gone
#

my $offset = -s $node->logfile;
sql('CREATE DATABASE anew');
$node->safe_psql('anew', 'CREATE EXTENSION hilo');
my @anew = map { session($node, dbname => 'anew') } 1 .. 3;
is($anew[0]->query_safe("SELECT hilo_next_number('orders')"), 1, 'drawn before');
is($anew[1]->query_safe("SELECT hilo_next_number('other')"), 1, 'drawn before');
$node->safe_psql('anew', 'DROP EXTENSION hilo');
disconnect($anew[1]);
$node->safe_psql('anew', 'CREATE EXTENSION hilo');
is($anew[2]->query_safe("SELECT hilo_next_number('orders')"),
	1, 'a new extension, a new count');
$before = $node->safe_psql('anew', 'SELECT h FROM hilo.hilo h');
disconnect($anew[0]);
is($node->safe_psql('anew', 'SELECT h FROM hilo.hilo h'),
	$before, 'nothing was given back to the extension made anew');
disconnect($anew[2]);
is($node->safe_psql('anew', 'SELECT max FROM hilo.hilo'),
	1, 'its own holder gives back');
unlike(
	substr(slurp_file($node->logfile), $offset),
	qr/(ERROR|FATAL|PANIC|WARNING):/,
	'connections ended in silence');

#
# The table is locked
#

$session = drawer('locked', 1);
$other = drawer('locked2', 1);
my $locker = session($node);
$locker->query_safe('BEGIN; LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE');
$session->hang_up;
ok(gone_soon($session->pid), 'a connection ends while hilo.hilo is locked');
sql('SELECT pg_terminate_backend(' . $other->pid . ')');
ok(gone_soon($other->pid), 'a backend is terminated while hilo.hilo is locked');
$other->hang_up;
is( $locker->query_safe(
		q{SELECT mode FROM pg_locks WHERE relation = 'hilo.hilo'::regclass AND granted AND pid = pg_backend_pid()}),
	'AccessExclusiveLock',
	'it is locked still');
$locker->query_safe('COMMIT');
wait_gone($_->pid) foreach $session, $other;
is(max_of($node, 'locked'), 32, 'the rest became a gap');
is(max_of($node, 'locked2'), 32, 'the other one, too');
is(sql("SELECT hilo_next_number('locked')"), 33, 'and draws go on behind it');

# The same for the index alone, by a session that has to look the row up again.
$session = drawer('index_locked', 1);
sql('ANALYZE hilo.hilo');
$locker->query_safe(
	'BEGIN; ALTER INDEX hilo.hilo_collection_idx SET TABLESPACE pg_default');
is( $locker->query_safe(
		q{SELECT count(*) FROM pg_locks WHERE relation = 'hilo.hilo_collection_idx'::regclass AND mode = 'AccessExclusiveLock' AND granted}),
	1,
	'the index is locked');
$session->hang_up;
ok(gone_soon($session->pid), 'a connection ends while the index of hilo.hilo is locked');
$locker->query_safe('COMMIT');
wait_gone($session->pid);
disconnect($locker);

#
# A row that was deleted by hand
#

$session = drawer('deleted', 1);
$offset = -s $node->logfile;
sql(q{ALTER TABLE hilo.hilo DISABLE TRIGGER ALL;
	DELETE FROM hilo.hilo WHERE collection = 'deleted';
	ALTER TABLE hilo.hilo ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table});
disconnect($session);
is(max_of($node, 'deleted'), '', 'a connection ends whose row was deleted');
unlike(slurp_file($node->logfile, $offset), qr/WARNING|ERROR|FATAL|PANIC/, 'without a word');

#
# A walsender outlives the shutdown checkpoint: it never gives back
#

$session = session($node, replication => 'database');
is($session->query_safe("SELECT hilo_next_number('walsender')"),
	1, 'a walsender draws');
disconnect($session);
is(max_of($node, 'walsender'), 32, 'it gave nothing back');

$session = session($node, replication => 'database');
is($session->query_safe("SELECT hilo_next_number('walsender')"),
	33, 'another walsender draws');
$offset = -s $node->logfile;
ok($node->stop('fast', fail_ok => 1), 'the server stops under it');
$session->hang_up;
my $log = substr(slurp_file($node->logfile), $offset);
like($log, qr/database system is shut down/, 'cleanly');
unlike($log, qr/PANIC:|TRAP:|terminated by signal/, 'without an accident');
$node->start;
is(max_of($node, 'walsender'), 64, 'nothing went back');

#
# A backend that is killed leaves a gap
#

$session = drawer('killed', 3);
$other = drawer('killed', 1);
is(max_of($node, 'killed'), 64, 'two ranges are out');
my $started = sql('SELECT pg_postmaster_start_time()');
$offset = -s $node->logfile;
kill 'KILL', $session->pid;
# Not before: the other one would have time to end, and to give back.
$node->wait_for_log(qr/database system is ready to accept connections/, $offset);
$session->hang_up;
$other->hang_up;
is(max_of($node, 'killed'), 64, 'the server comes back after kill -9, with max as it was');
is(sql('SELECT pg_postmaster_start_time()'), $started, 'by itself');
is(sql("SELECT hilo_next_number('killed')"), 65, 'a gap, but no number twice');

$node->stop;
done_testing();
