# Promises 4 and 6: the unused rest of a range goes into the pool when its connection ends, however that ends; and the end reads no table, waits for no lock, and writes no WAL.
use HiloTest;

my $node = server('exit', "max_connections = 40\nmax_prepared_transactions = 5\nautovacuum = off\n", 'CREATE EXTENSION hilo', allows_streaming => 'logical');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# A connection that has drawn $count numbers of a collection.
sub drawer
{
	my ($collection, $count) = @_;
	my $session = session($node);
	$session->query_safe("SELECT hilo_next_number('$collection') FROM generate_series(1, $count)");
	return $session;
}

# Wait until a process is gone, and has done what it does at its end.
sub wait_gone
{
	my ($pid) = @_;
	return $node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)");
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

# How many numbers were used up, as the next number says.
sub used
{
	my ($collection) = @_;
	return sql("SELECT hilo_next_number('$collection')") - 1;
}

sub row_of { return sql("SELECT h FROM hilo.hilo h WHERE collection = '$_[0]'"); }

my ($session, $other, $before);

#
# Ends of a connection
#

$session = drawer('vanished', 3);
$session->signal('KILL');
ok(wait_gone($session->pid), 'backend ends after its client was killed');
$session->hang_up;
is(used('vanished'), 3, 'client killed: the rest is in the pool');

# What a session does, in which it draws so many numbers of a collection; how it ends.
foreach my $case (
	[ 'idle', 1, '%s', \&terminate, 'terminated when idle' ],
	[ 'in_transaction', 1, 'BEGIN; %s', \&terminate, 'terminated when idle in transaction' ],
	[ 'in_savepoint', 2, 'BEGIN; %s; SAVEPOINT a; %s', \&disconnect, 'disconnected with a savepoint open' ],
	[ 'in_failed', 1, 'BEGIN; %s; SELECT 1/0', \&terminate, 'terminated in a failed transaction' ],
	[ 'in_failed2', 1, 'BEGIN; %s; SELECT 1/0', \&disconnect, 'disconnected in a failed transaction' ],
	[ 'prepared', 1, q{BEGIN; %s; PREPARE TRANSACTION 'p'}, \&disconnect, 'disconnected with a prepared transaction left behind' ],
	[ 'leftover', 2, '%s; DISCARD ALL; %s; CREATE TEMP TABLE leftover (a int)', \&disconnect, 'disconnected after DISCARD ALL, with a temporary table' ],
	[ 'read_only', 1, q{%s; SET default_transaction_read_only = on; SET default_transaction_isolation = 'serializable'; SET default_transaction_deferrable = on},
		\&disconnect, 'disconnected with read-only transactions as the default' ])
{
	my ($collection, $count, $sql, $end, $what) = @$case;

	$session = session($node);
	$session->query($sql =~ s/%s/SELECT hilo_next_number('$collection')/gr);
	$end->($session);
	is(used($collection), $count, $what);
}
sql("ROLLBACK PREPARED 'p'");

$session = session($node);
$session->start("SELECT hilo_next_number('running'), pg_sleep(3600)");
$session->waits_for($node, 'PgSleep');
terminate($session);
is(used('running'), 1, 'terminated inside a statement');

# The end may come before psql has shown the number.
$session = session($node);
$session->start("SET idle_in_transaction_session_timeout = 10; BEGIN\\; SELECT hilo_next_number('timed_out')");
ok(wait_gone($session->pid), 'backend ends by a timeout');
$session->hang_up;
is(used('timed_out'), 1, 'ended by a timeout');

$session = session($node);
is($session->query_safe(q{SELECT count(hilo_next_number('many' || i)) FROM generate_series(1, 1000) i}), 1000, 'a number of each of 1,000 collections');
is(sql(q{SELECT count(*), sum(max) FROM hilo.hilo WHERE collection LIKE 'many%'}),
	'1000|32000', '1,000 ranges are claimed');
disconnect($session);
is(sql(q{SELECT sum(hilo_next_number('many' || i)) FROM generate_series(1, 1000) i}), 2000, 'the rest of each is in the pool');

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
# The table is rewritten, or its contents are looked at again
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
	is(sql("SELECT hilo_next_number('a$name'), hilo_next_number('z$name')"), "8|6", "both rests are in the pool after $command");
}

#
# Whoever has claimed meanwhile
#

my $wal = sql('SELECT pg_current_wal_insert_lsn()');
$session = drawer('two', 33);
$other = drawer('two', 33);
is(max_of($node, 'two'), 128, 'two sessions have claimed');
$before = row_of('two');
$wal = sql('SELECT pg_current_wal_insert_lsn()');
disconnect($session);
is(sql("SELECT hilo_next_number('two')"), 34, 'the older of two ranges is in the pool');
disconnect($other);
wait_until_alone($node);
is(sql("SELECT count(hilo_next_number('two')) FROM generate_series(1, 61)"), 61, 'the newer one, too');
is(row_of('two'), $before, 'the row is as it was');
is(sql("SELECT pg_current_wal_insert_lsn() - '$wal' < 300"), 't', 'and no WAL was written for that');

# What makes claims of before worthless.
my %meanwhile = (
	seeded => [ "SELECT hilo.seed('seeded', 100)", 100 ],
	seeded_alike => [ "SELECT hilo.seed('seeded_alike', 32)", 32 ],
	forced => [ "SELECT hilo.seed('forced', 0, true)", 0 ],
	dropped => [ "SELECT hilo.drop('dropped')", 0 ],
	# merged by a restore
	merged => [ "INSERT INTO hilo.hilo (collection, max) VALUES ('merged', 5)", 32 ],);
foreach my $collection (sort keys %meanwhile)
{
	my ($command, $expected) = @{ $meanwhile{$collection} };
	$session = drawer($collection, 1);
	sql($command);
	disconnect($session);
	is(sql("SELECT hilo_next_number('$collection')"), $expected + 1, "$collection meanwhile: nothing of before is in the pool");
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
is($anew[2]->query_safe("SELECT hilo_next_number('orders')"), 1, 'a new extension, a new count');
$before = $node->safe_psql('anew', 'SELECT h FROM hilo.hilo h');
disconnect($anew[0]);
is($node->safe_psql('anew', 'SELECT h FROM hilo.hilo h'),
	$before, 'nothing of it came to the extension made anew');
disconnect($anew[2]);
is($node->safe_psql('anew', q{SELECT hilo_next_number('orders')}), 2, 'its own holder does');
unlike(slurp_file($node->logfile, $offset), qr/(ERROR|FATAL|PANIC|WARNING):/, 'connections ended in silence');

#
# The table is locked, and not let go of: who waited for it would not end
#

$session = drawer('locked', 1);
$other = drawer('locked2', 1);
my $locker = session($node);
$locker->query_safe('BEGIN; LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE');
$session->hang_up;
ok(wait_gone($session->pid), 'a connection ends while hilo.hilo is locked');
sql('SELECT pg_terminate_backend(' . $other->pid . ')');
ok(wait_gone($other->pid), 'a backend is terminated while hilo.hilo is locked');
$other->hang_up;
is($locker->query_safe(q{SELECT mode FROM pg_locks WHERE relation = 'hilo.hilo'::regclass AND granted AND pid = pg_backend_pid()}),
	'AccessExclusiveLock', 'it is locked still');
$locker->query_safe('COMMIT');
wait_gone($_->pid) foreach $session, $other;
is(used('locked'), 1, 'the rest is in the pool');
is(used('locked2'), 1, 'the other one, too');

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
# A walsender outlives the shutdown checkpoint, after which nothing may be logged
#

$session = session($node, replication => 'database');
is($session->query_safe("SELECT hilo_next_number('walsender')"), 1, 'a walsender draws');
disconnect($session);

$session = session($node, replication => 'database');
is($session->query_safe("SELECT hilo_next_number('walsender')"), 2, 'another walsender draws the rest');
$offset = -s $node->logfile;
ok($node->stop('fast', fail_ok => 1), 'the server stops under it');
$session->hang_up;
my $log = substr(slurp_file($node->logfile), $offset);
like($log, qr/database system is shut down/, 'cleanly');
unlike($log, qr/PANIC:|TRAP:|terminated by signal/, 'without an accident');
$node->start;
is(sql("SELECT hilo_next_number('walsender')"), 33, 'the pool is gone with the server');

$node->stop;
done_testing();
