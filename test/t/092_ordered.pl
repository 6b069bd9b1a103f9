# Ordered collections: numbers come in the order of the draws, over all sessions, and a reader that goes up to the horizon
# misses no row and reads none twice, whatever becomes of the transactions that draw.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('ordered');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'hilo'
hilo.pool_size = 1024
max_prepared_transactions = 5
autovacuum = off
restart_after_crash = on
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo');

my ($a, $b, $c) = map { session($node) } 1 .. 3;
my $observer = session($node);

sub draw { return scalar $_[0]->query("SELECT hilo_next_number('$_[1]')"); }

# The horizon, for a session; or the state of the error.
sub horizon
{
	my ($session, $collection) = @_;
	my ($out, $err) = $session->query("SELECT horizon FROM hilo.horizon('$collection')");

	return $err =~ /ERROR: +(\w{5})/ ? $1 : $out;
}

sub epoch { return scalar $observer->query("SELECT epoch FROM hilo.horizon('$_[0]')"); }
sub set_ordered { return $observer->query("SELECT hilo.configure('$_[0]', ordered => $_[1])"); }

# Wait until a session waits.
sub wait_until_it_waits
{
	my ($session) = @_;
	my $pid = $session->pid;

	wait_until('it waits', sub {
		$observer->query("SELECT wait_event_type IN ('Extension', 'IPC', 'Lock') FROM pg_stat_activity WHERE pid = $pid AND state = 'active'") eq 't';
	});
	return;
}

#
# Order
#
set_ordered('order', 'true');
is(horizon($a, 'order'), 0, 'nothing is drawn yet');
is(join(' ', map { draw($_, 'order') } $a, $b, $c, $b, $a, $a, $c), '1 2 3 4 5 6 7', 'sessions draw in turn');
is($b->query("SELECT hilo_next('order')"), 'order/8-A', 'ids');
is($a->query("SELECT * FROM hilo_reserve('order', 100)"), '9|108', 'a block, longer than there were numbers');
is($c->query("SELECT hilo_document_id('order')"), 'order/109-A', 'go on above it');
is($c->query("SELECT hilo_last_number('order')"), 109, 'the last one of this session');
is($a->query("SELECT hilo.release('order')") . $a->query('SELECT count(*) FROM hilo.ranges'), '00', 'a session holds nothing');

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE ways (id bigint DEFAULT hilo_next_number('order'), n int);
CREATE TABLE ids (id text, n int);
CREATE TRIGGER assign BEFORE INSERT ON ids FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'order');
SQL
is($b->query('INSERT INTO ways SELECT FROM generate_series(1, 3) RETURNING id'), "110\n111\n112", 'INSERT ... SELECT');
is($a->query("COPY ways (n) FROM STDIN;\n1\n2\n\\.\nSELECT max(id), count(*) FROM ways"), '114|5', 'COPY');
is($c->query('INSERT INTO ids SELECT NULL, n FROM generate_series(1, 2) n RETURNING id'), "order/115-A\norder/116-A", 'a trigger that assigns');
is($a->query("WITH d AS MATERIALIZED (SELECT hilo_next_number('order') n FROM generate_series(1, 50)) SELECT min(n), max(n), count(*) FROM d"), '117|166|50', 'many');
is($observer->query("SELECT low = 167, high = (SELECT max FROM hilo.hilo WHERE collection = 'order'), leased FROM hilo.pool WHERE collection = 'order'"), 't|t|f', 'the rest is in the pool');

# What a transaction has drawn is spent.
$a->query('BEGIN; SAVEPOINT s');
is(draw($a, 'order'), 167, 'in a savepoint');
$a->query('ROLLBACK TO s');
is(draw($b, 'order'), 168, 'which is rolled back');
$a->query('ROLLBACK');
is(draw($b, 'order'), 169, 'and so is the transaction');

# One number a claim, and the limit.
$observer->query("SELECT hilo.configure('few', ordered => true, max_range_size => 1, max_value => 3)");
is(join(' ', map { draw($_, 'few') } $a, $b, $c), '1 2 3', 'one by one');
is($b->error_of("SELECT hilo_next_number('few')"), '2200H', 'up to the limit');
is(horizon($b, 'few'), 3, 'which is the horizon');
$observer->query("SELECT hilo.configure('block', ordered => true, max_value => 100, range_size => 30)");
draw($a, 'block');
is($b->query("SELECT * FROM hilo_reserve('block', 99)"), '2|100', 'a block of all that is left');

#
# The horizon: the end of a transaction
#
set_ordered('end', 'true');
$node->safe_psql('postgres', "CREATE TABLE ended (id bigint PRIMARY KEY DEFAULT hilo_next_number('end'))");
my $last = 0;

# A writer that ends in some way: while it runs the horizon is below what it has drawn, then above.
sub writer
{
	my ($what, $end) = @_;
	my $writer = session($node);

	$writer->query('BEGIN; INSERT INTO ended DEFAULT VALUES; INSERT INTO ended DEFAULT VALUES');
	$b->query('INSERT INTO ended DEFAULT VALUES');
	is(horizon($c, 'end'), $last, "$what: held back");
	$end->($writer);
	my $pid = $writer->pid;
	$writer->hang_up;
	wait_until('it has left', sub { $observer->query("SELECT count(*) FROM pg_stat_activity WHERE pid = $pid") eq '0' });
	$last += 3;
	is(horizon($c, 'end'), $last, "$what: no longer");
	return;
}
writer('commit', sub { $_[0]->query('COMMIT') });
writer('rollback', sub { $_[0]->query('ROLLBACK') });
writer('error', sub { $_[0]->query('SELECT 1 / 0') ; $_[0]->query('COMMIT') });
writer('exit', sub { });
writer('cancel', sub {
	my ($writer) = @_;
	my $pid = $writer->pid;

	$writer->start('SELECT pg_sleep(1000)');
	wait_until('it sleeps', sub { $observer->query("SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid") eq 't' });
	$observer->query("SELECT pg_cancel_backend($pid)");
	$writer->result;
	is(horizon($c, 'end'), $last + 3, 'cancel: at once');
});
writer('terminate', sub { $observer->query('SELECT pg_terminate_backend(' . $_[0]->pid . ')') });
writer('prepare', sub {
	is($_[0]->error_of(q{PREPARE TRANSACTION 'p'}), '0A000', 'PREPARE is refused');
	is(horizon($c, 'end'), $last + 3, 'prepare: at once');
});
writer('subtransaction', sub {
	my ($writer) = @_;

	$writer->query('ROLLBACK; BEGIN; SAVEPOINT s; INSERT INTO ended DEFAULT VALUES; ROLLBACK TO s');
	$last++;
	is(horizon($c, 'end'), $last + 2, 'subtransaction: its end does not count');
	$writer->query('COMMIT');
});
writer('DISCARD ALL', sub { $_[0]->query('COMMIT'); $_[0]->query('DISCARD ALL') });
writer('procedure', sub { $_[0]->query('COMMIT'); $_[0]->query('DO $$ BEGIN PERFORM hilo_next_number(\'end\'); COMMIT; PERFORM hilo_next_number(\'end\'); ROLLBACK; END $$'); $last += 2 });

# What holds it back.
$a->query('BEGIN');
draw($a, 'end');
my $pid = $a->pid;
is($observer->query("SELECT ordered, horizon_held_by, horizon_held_since = xact_start FROM hilo.status, pg_stat_activity WHERE collection = 'end' AND pid = $pid"), "t|$pid|t", 'hilo.status says since when, and by which session');
$a->query('COMMIT');
is($observer->query("SELECT ordered, horizon_held_by, horizon_held_since FROM hilo.status WHERE collection = 'end'"), 't||', 'and that nothing does');
$last = horizon($c, 'end');

# A commit that waits for a standby is on disk, but not visible: the horizon waits for it.
$a->query(q{BEGIN; SET LOCAL synchronous_commit = local; INSERT INTO ended DEFAULT VALUES; SET LOCAL synchronous_commit = on});
$node->append_conf('postgresql.conf', "synchronous_standby_names = 'silent'");
$node->reload;
$_->query('SET synchronous_commit = local') for $b, $c, $observer;
wait_until('sessions know of it', sub { $observer->query("SHOW synchronous_standby_names") eq "silent" });
$observer->query('CHECKPOINT');
$a->start('COMMIT');
wait_until('it waits', sub { $observer->query("SELECT wait_event = 'SyncRep' FROM pg_stat_activity WHERE pid = $pid") eq 't' });
$b->query('SELECT pg_current_xact_id()') for 1 .. 2;
is(horizon($c, 'end'), $last, 'committed, but not visible yet');
$node->append_conf('postgresql.conf', "synchronous_standby_names = ''");
$node->reload;
$a->result;
is(horizon($c, 'end'), ++$last, 'visible');

# A transaction that has drawn nothing, and one that has drawn from another collection, hold nothing back.
set_ordered('another', 'true');
$a->query('BEGIN; SELECT pg_current_xact_id()');
draw($a, 'another');
is(draw($b, 'end'), ++$last, 'draw');
is(horizon($c, 'end'), $last, 'a transaction that has not drawn from it holds nothing back');
$a->query('ROLLBACK');

#
# The horizon of a snapshot
#
sub insert { return scalar $_[0]->query("INSERT INTO ended DEFAULT VALUES RETURNING id"); }

# The reader's snapshot is from before the commit, though it asks after it.
$a->query('BEGIN');
my $held = insert($a);
insert($b);
$c->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$c->query('DECLARE late CURSOR FOR SELECT horizon, (SELECT max(id) FROM ended) FROM hilo.horizon(\'end\')');
insert($b);
$a->query('COMMIT');
is(horizon($c, 'end'), $held - 1, 'REPEATABLE READ: what committed after the snapshot counts as open');
is(horizon($b, 'end'), $held + 2, 'but not for others');
is($c->query('FETCH FROM late'), $held - 1 . '|' . ($held + 1), 'a cursor sees by its own snapshot');
insert($b) for 1 .. 5;
is(horizon($c, 'end'), $held - 1, 'and asks again');
$c->query('COMMIT');
is(horizon($c, 'end'), $held + 7, 'a new snapshot');

# In READ COMMITTED, a cursor that was opened before.
$a->query('BEGIN');
$held = insert($a);
$c->query('BEGIN; DECLARE old CURSOR FOR SELECT horizon, count(*) FILTER (WHERE id >= ' . $held . ') FROM hilo.horizon(\'end\'), ended GROUP BY 1');
$a->query('COMMIT');
is($c->query('FETCH FROM old'), $held - 1 . '|0', 'a cursor in READ COMMITTED');
is(horizon($c, 'end'), $held, 'while the next statement has another snapshot');
$c->query('COMMIT');

# A function that reads by one statement after the other; and one that is STABLE, and reads by the caller's snapshot.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION read_volatile(seconds float8) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE h bigint; n bigint;
BEGIN
	PERFORM pg_sleep(seconds);
	h := (hilo.horizon('end')).horizon;
	SELECT max(id) INTO n FROM ended WHERE id <= h;
	RETURN h || ' ' || n;
END $$;
CREATE FUNCTION read_stable() RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE h bigint; n bigint;
BEGIN
	h := (hilo.horizon('end')).horizon;
	SELECT max(id) INTO n FROM ended;
	RETURN h || ' ' || n;
END $$;
SQL
is($c->query('SELECT read_volatile(0)'), "$held $held", 'in a function');
$a->query('BEGIN');
insert($a);
insert($b);
$c->query('BEGIN; DECLARE stable CURSOR FOR SELECT read_stable()');
$a->query('COMMIT');
is($c->query('FETCH FROM stable'), $held . ' ' . ($held + 2), 'a STABLE function sees what its caller sees');
$c->query('COMMIT');
is($c->query('SELECT read_stable()'), ($held + 2) . ' ' . ($held + 2), 'later, too');

# An exported snapshot.
$a->query('BEGIN');
$held = insert($a);
$b->query('BEGIN ISOLATION LEVEL REPEATABLE READ');
my $snapshot = $b->query('SELECT pg_export_snapshot()');
$a->query('COMMIT');
$c->query("BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'");
is(horizon($c, 'end'), $held - 1, 'an exported snapshot');
$_->query('COMMIT') for $b, $c;

# More transactions end than are remembered one by one: an old snapshot learns less, never too much, and never less
# than it did; a new one learns all, though an unrelated transaction has run all the time.
$node->safe_psql('postgres', 'CREATE PROCEDURE insert_many(n int) LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1 .. n LOOP INSERT INTO ended DEFAULT VALUES; COMMIT; END LOOP; END $$');
my $unrelated = session($node);
$unrelated->query('BEGIN; SELECT pg_current_xact_id()');
$b->query('CALL insert_many(600)');
$a->query('BEGIN');
$held = insert($a);
$c->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$observer->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
is(horizon($c, 'end'), $held - 1, 'old: exactly, at first');
$a->query('COMMIT');
$b->query('CALL insert_many(5000)');
is(horizon($c, 'end'), $held - 1, 'old: no less than before');
my $coarse = horizon($observer, 'end');
cmp_ok($coarse, '<', $held, 'old, asked for the first time: not too much');
cmp_ok($coarse, '>', $held - 700, 'nor much too little');
is(horizon($b, 'end'), $held + 5000, 'new: all');
$_->query('COMMIT') for $c, $observer, $unrelated;

#
# Ids chosen by hand
#
$node->safe_psql('postgres', "CREATE TABLE by_hand (id bigint PRIMARY KEY); SELECT hilo.attach('by_hand')");
set_ordered('by_hand', 'true');
sub by_hand { return scalar $_[0]->query('INSERT INTO by_hand VALUES ' . ($_[1] // '(DEFAULT)') . ' RETURNING id'); }
is(by_hand($a) . ' ' . by_hand($b), '1 2', 'drawn by the default');
$a->query('BEGIN');
is(by_hand($a, '(10)'), 10, 'chosen');
is(by_hand($b), 11, 'what is drawn later is above it');
is(horizon($c, 'by_hand'), 9, 'it counts as drawn');
$a->query('BEGIN; UPDATE by_hand SET id = 14 WHERE id = 1');
$a->query('COMMIT');
is(by_hand($b), 15, 'an UPDATE, too');
is(horizon($c, 'by_hand'), 15, 'until its transaction ends');
$a->query('BEGIN');
by_hand($a, '(5000)');
is(by_hand($b), 5001, 'above all that is claimed');
is(horizon($c, 'by_hand'), 4999, 'which counts, too');
$a->query('COMMIT');
is($b->error_of('INSERT INTO by_hand VALUES (5001)'), '22023', 'at the horizon: refused');
is($b->error_of('INSERT INTO by_hand VALUES (7)'), '22023', 'below it: refused');
is($b->error_of('UPDATE by_hand SET id = 8 WHERE id = 10'), '22023', 'by an UPDATE, too');
$a->query('BEGIN');
is(draw($a, 'by_hand'), 5002, 'a transaction holds the horizon back');
is(by_hand($b, '(5003)') . ' ' . by_hand($a, '(5002)'), '5003 5002', 'then others may choose above it, and it what it has drawn');
is(draw($a, 'by_hand') . ' ' . horizon($c, 'by_hand'), '5004 5001', 'in any order');
$a->query('COMMIT');
is(by_hand($b), 5005, 'and on');
is($b->query("WITH d AS MATERIALIZED (SELECT hilo_next_number('by_hand') n FROM generate_series(1, 5)) INSERT INTO by_hand SELECT n FROM d ORDER BY n DESC RETURNING id"),
	"5010\n5009\n5008\n5007\n5006", 'numbers drawn before, in the same transaction');
# Drawn in one transaction, inserted in another: the trigger finds out.
my $early = draw($b, 'by_hand');
is($b->error_of("INSERT INTO by_hand VALUES ($early)"), '22023', 'a number drawn in another transaction is refused');
$early = $b->query("SELECT low FROM hilo_reserve('by_hand', 5)");
is($b->error_of("INSERT INTO by_hand VALUES ($early)"), '22023', 'and so is one of a block reserved there');
is($b->query("BEGIN; WITH r AS (SELECT * FROM hilo_reserve('by_hand', 3)) INSERT INTO by_hand SELECT generate_series(low, high) FROM r RETURNING id; COMMIT"),
	join("\n", map { $early + 5 + $_ } 0 .. 2), 'but not one reserved here');
my ($out, $err) = $b->query('INSERT INTO by_hand VALUES (9000000000000000000) RETURNING id');
like($err, qr/WARNING.*not advanced/, 'one that is too far off');
is(by_hand($b), $early + 8, 'is passed over');
is(horizon($c, 'by_hand'), $early + 8, 'and no part of the order');

#
# To become ordered, and unordered
#
$a->query("SELECT hilo_next_number('old')");
is($b->query("SELECT hilo_next_number('old')"), 33, 'two sessions hold ranges');
set_ordered('old', 'true');
is(join(' ', map { draw($_, 'old') } $a, $b, $a), '65 66 67', 'numbers are above all that they hold');
is(horizon($c, 'old'), 67, 'and settled');
set_ordered('old', 'false');
is(horizon($c, 'old'), '55000', 'unordered: no horizon');
is(draw($a, 'old') > 67 ? draw($b, 'old') - draw($a, 'old') : 0, 31, 'ranges again');
is($observer->query("SELECT ordered FROM hilo.status WHERE collection = 'old'"), 'f', 'hilo.status says so');

# Transactions of before may still insert what they have drawn, and draw what they hold.
$node->safe_psql('postgres', 'CREATE TABLE before (id bigint, who text)');
$a->query('BEGIN');
$a->query("INSERT INTO before SELECT hilo_next_number('switch'), 'a'");
$b->query("BEGIN; SELECT hilo_next_number('switch')");
set_ordered('switch', 'true');
is(horizon($c, 'switch'), '55000', 'transactions of before run: no horizon');
cmp_ok(draw($c, 'switch'), '>', 64, 'a new one draws above their ranges');
$a->query("INSERT INTO before SELECT hilo_next_number('switch'), 'a'");
$a->query('COMMIT');
is(horizon($c, 'switch'), '55000', 'one of them has ended, the other had no id');
$c->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$b->query("INSERT INTO before SELECT hilo_next_number('switch'), 'b'");
$b->query('COMMIT');
is(horizon($observer, 'switch') =~ /^\d\d$/, 1, 'both: the horizon is known');
is($c->query('SELECT count(*) FROM before') . ' ' . horizon($c, 'switch'), '2 55000', 'but not to a snapshot of before');
$c->query('COMMIT');
is($c->query('SELECT count(*) FROM before WHERE id <= (SELECT horizon FROM hilo.horizon(\'switch\'))'), 3, 'then it covers all of them');

# The transaction that makes it ordered is one of them; a rollback does not undo it.
$a->query("BEGIN; INSERT INTO before SELECT hilo_next_number('self'), 'a'; SELECT hilo.configure('self', ordered => true)");
is(horizon($c, 'self'), '55000', 'its own transaction counts');
is(draw($a, 'self'), 33, 'and draws in order at once');
$a->query('ROLLBACK');
is(horizon($c, 'self'), 33, 'made ordered for good');

# Prepared transactions of before.
$a->query("BEGIN; INSERT INTO before SELECT hilo_next_number('prepared'), 'p'; PREPARE TRANSACTION 'before'");
set_ordered('prepared', 'true');
is(horizon($c, 'prepared'), '55000', 'a prepared transaction of before');
$b->query(q{BEGIN; INSERT INTO before VALUES (0, 'other'); PREPARE TRANSACTION 'later'});
$_->finish for $a, $b, $c, $observer;
$node->restart;
($a, $b, $c, $observer) = map { session($node) } 1 .. 4;
is(horizon($c, 'prepared'), '55000', 'also after a restart');
draw($a, 'prepared');
is(horizon($c, 'prepared'), '55000', 'and a draw');
$observer->query(q{COMMIT PREPARED 'before'});
is(horizon($c, 'prepared'), '55000', 'one prepared since then may be of before, too');
$observer->query(q{COMMIT PREPARED 'later'});
is(horizon($c, 'prepared') =~ /^\d+$/, 1, 'no more');
# Once that is known, it is noted, and others that are prepared do not matter.
draw($a, 'prepared') for 1 .. 70;
$observer->query(q{BEGIN; INSERT INTO before VALUES (0, 'other'); PREPARE TRANSACTION 'other'});
$_->finish for $a, $b, $c, $observer;
$node->restart;
($a, $b, $c, $observer) = map { session($node) } 1 .. 4;
is(horizon($c, 'prepared') =~ /^\d+$/, 1, 'after a restart, too');
$observer->query(q{ROLLBACK PREPARED 'other'});

#
# Seed, drop
#
set_ordered('seeded', 'true');
draw($a, 'seeded') for 1 .. 5;
my $epoch = epoch('seeded');
$observer->query("SELECT hilo.seed('seeded', 1000)");
is(draw($a, 'seeded') . ' ' . draw($b, 'seeded'), '1001 1002', 'seeded');
isnt(epoch('seeded'), $epoch, 'a new epoch');
$a->query('BEGIN');
is(draw($a, 'seeded'), 1003, 'drawn');
$epoch = epoch('seeded');
$observer->query("SELECT hilo.seed('seeded', 10, true)");
is(draw($b, 'seeded'), 11, 'a forced seed counts at once, also for who has drawn before');
is(draw($a, 'seeded'), 12, 'and in a transaction that was open');
isnt(epoch('seeded'), $epoch, 'a new epoch');
is(horizon($c, 'seeded'), 11, 'the horizon is below what the open transaction has drawn');
$observer->query("SELECT hilo.seed('seeded', 2000)");
is(draw($b, 'seeded') . ' ' . horizon($c, 'seeded'), '2001 11', 'also when the counter has passed that');
$a->query('COMMIT');
is(horizon($c, 'seeded'), 2001, 'until it ends');
$observer->query("SELECT hilo.drop('seeded')");
is(horizon($c, 'seeded'), '42704', 'dropped');
is(draw($a, 'seeded') . ' ' . horizon($c, 'seeded'), '1 55000', 'made anew: not ordered');
is($observer->error_of("SELECT hilo.horizon('never')"), '42704', 'never there');
$observer->query("SELECT hilo.configure('order', reset => true)");
is(horizon($c, 'order'), '55000', 'a reset makes it unordered');

#
# What is refused
#
is($a->error_of("SELECT hilo.next_range('end')"), '0A000', 'no ranges for client programs');
is($a->error_of("SELECT hilo.next_hi('end', $_)"), '0A000', "nor a hi of $_") foreach 10, 1;
is($a->error_of("SELECT hilo.configure('end|', ordered => true)"), '0A000', 'no identities');
is($a->error_of("SELECT hilo_reserve('end', 10000000)"), '22023', 'a block that is too large');
is($a->error_of('BEGIN READ ONLY; SELECT hilo_next_number(\'end\')'), '25006', 'a draw in a read-only transaction');
$a->query('ROLLBACK');
is($a->query('BEGIN READ ONLY; SELECT horizon > 0 FROM hilo.horizon(\'end\'); COMMIT'), 't', 'the horizon may be asked for there');
$observer->query(q{CREATE EXTENSION postgres_fdw; CREATE SERVER hub FOREIGN DATA WRAPPER postgres_fdw; SELECT hilo.lease('lessor', 10)});
is($a->error_of("SELECT hilo.lease('end', 10)"), '55000', 'no leases of it');
is($a->error_of("SELECT hilo.configure('lessor', ordered => true)"), '55000', 'nor of what has given leases');
$observer->query(q{SET hilo.hub = 'hub'});
is($observer->error_of("SELECT hilo.configure('to_lease', ordered => true)"), '55000', 'nor of what the hub counts');
$observer->query('RESET hilo.hub');

# The traps of a transaction that draws from many collections, and of more collections than there is room for.
my @many = map { "many$_" } 1 .. 16;
$observer->query('SET client_min_messages = warning');
$observer->query("SELECT hilo.configure('many' || i, ordered => true) FROM generate_series(1, 20) i");
($out, $err) = $observer->query("SELECT hilo.configure('room' || i, ordered => true) FROM generate_series(1, 20) i");
is($err, '', 'idle ones make room');
$a->query('BEGIN');
is($a->query("SELECT sum(hilo_next_number('many' || i)) FROM generate_series(1, 16) i, generate_series(1, 2)"), 48, 'sixteen collections in a transaction');
is($b->error_of("SELECT hilo_next_number('many17')"), '53200', 'the room is theirs');
is($b->error_of("SELECT hilo.configure('another_one', ordered => true)"), '53200', 'so there is none for another one');
is($b->query("SELECT count(*) FROM hilo.hilo WHERE collection = 'another_one'"), 0, 'of which nothing is left');
is($b->query("SELECT hilo_next_number('many1')"), 3, 'those go on');
$a->query('COMMIT');
is($b->query("SELECT hilo_next_number('many17')"), 1, 'then it is there again');
horizon($c, 'many1');
is(horizon($c, 'many1'), $observer->query("SELECT max FROM hilo.hilo WHERE collection = 'many1'"), 'what made room: all of it is spent');
$_->finish for $a, $b, $c, $observer;
$node->append_conf('postgresql.conf', 'hilo.pool_size = 4096');
$node->restart;
($a, $b, $c, $observer) = map { session($node) } 1 .. 4;
is($a->error_of("SELECT hilo_next_number('many' || i) FROM generate_series(1, 17) i"), '54000', 'seventeen are too many');
is(draw($a, 'many17') > 1, 1, 'an error, no more');

#
# Crashes
#
my $before = draw($a, 'end');
$epoch = epoch('end');
$b->query('BEGIN');
insert($b);
my $shown = horizon($c, 'end');
is($shown, $before, 'shown');
kill 'KILL', $a->pid;
wait_until('the server notices', sub { slurp_file($node->logfile) =~ /reinitializing/ });
$_->hang_up for $a, $b, $c, $observer;
$node->poll_query_until('postgres', 'SELECT true') or die 'no restart';
($a, $b, $c, $observer) = map { session($node) } 1 .. 4;
is(horizon($c, 'end') > $shown, 1, 'after a crash the horizon is above what was shown');
is(draw($a, 'end') > $shown + 1, 1, 'and so is what is drawn');
is(epoch('end'), $epoch, 'of the same epoch');
kill_server($node);
$_->hang_up for $a, $b, $c, $observer;
$node->start;
($a, $b, $c, $observer) = map { session($node) } 1 .. 4;
$shown = horizon($c, 'end');
is(draw($a, 'end'), $shown + 1, 'after a kill -9 it goes on above the horizon');

# Without the library in shared memory.
$_->finish for $a, $b, $c, $observer;
$node->append_conf('postgresql.conf', q{shared_preload_libraries = ''});
$node->restart;
$a = session($node);
is($a->error_of($_), '55000', "not preloaded: $_") for "SELECT hilo_next_number('end')", "SELECT hilo_reserve('end', 5)", "SELECT hilo.horizon('end')", "SELECT hilo.configure('new', ordered => true)";
is($a->query("SELECT hilo.configure('end', ordered => false); SELECT hilo_next_number('end') > $shown"), "\nt", 'made unordered it draws');

$a->finish;
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|leak|still referenced|lock .* (?:already|not) held|own a lock/,
	'nothing was left behind');
done_testing();
