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
hilo.max_range_size = 1048576
max_prepared_transactions = 5
autovacuum = off
restart_after_crash = on
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo');

my ($a, $b, $c) = map { session($node) } 1 .. 3;
my ($observer, $maker) = map { session($node) } 1 .. 2;

sub draw { return scalar $_[0]->query("SELECT hilo_next_number('$_[1]')"); }

# The horizon, for a session; or the state of the error.
sub horizon
{
	my ($session, $collection) = @_;
	my ($out, $err) = $session->query("SELECT horizon FROM hilo.horizon('$collection')");

	return $err =~ /ERROR: +(\w{5})/ ? $1 : $out;
}

sub epoch { return scalar $observer->query("SELECT epoch FROM hilo.horizon('$_[0]')"); }
# Draw until a session has a range of its own, when a collection is not ordered; the number drawn last.
sub take_range { return scalar $_[0]->query("SELECT max(hilo_next_number('$_[1]')) FROM generate_series(1, 33)"); }
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
# A partitioned table, attached: a row that moves to another partition keeps its id, also one below the horizon
#
$observer->query(q{
	CREATE TABLE moved (id bigint, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
	CREATE TABLE moved_1 PARTITION OF moved FOR VALUES IN (1);
	CREATE TABLE moved_2 PARTITION OF moved FOR VALUES IN (2);
	SELECT hilo.configure('moved', ordered => true);
	SELECT hilo.attach('moved', 'id', collection => 'moved')});
is($observer->query('INSERT INTO moved (part) VALUES (1), (1), (2) RETURNING id'), "1\n2\n3", 'rows of an ordered collection');
is(horizon($maker, 'moved'), 3, 'are below the horizon');
is($maker->query('UPDATE moved SET part = 2 WHERE id = 1 RETURNING id, part'), '1|2', 'one moves to another partition');
is($observer->query('UPDATE moved SET part = 1 WHERE id = 3 RETURNING id, part'), '3|1', 'and one that this session has drawn');
is(horizon($maker, 'moved'), 3, 'the horizon stays');
is($maker->query('INSERT INTO moved (part) VALUES (1) RETURNING id'), '4', 'and draws go on');

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
	$_[0]->query(q{PREPARE TRANSACTION 'p'});
	is(horizon($c, 'end'), $last, 'prepare: it holds the horizon back');
	is($observer->query("SELECT horizon_held_by, horizon_held_since < now() FROM hilo.status WHERE collection = 'end'"), '|t', 'without a session');
	is($b->query(q{SELECT hilo_next_number('end')}), ++$last + 3, 'others draw');
	$last--;
	is(horizon($c, 'end'), $last, 'prepare: still');
	$observer->query(q{COMMIT PREPARED 'p'});
	is(horizon($c, 'end'), ++$last + 3, 'prepare: until it ends');
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
$a->query('BEGIN; SELECT pg_current_xact_id()');
$b->query("SELECT hilo.configure('early', ordered => true), hilo_next_number('early')");
is(horizon($c, 'early'), 0, 'a transaction that began before the collection was ordered holds it back');
is($observer->query("SELECT horizon_held_by FROM hilo.status WHERE collection = 'early'"), $pid, 'and is named');
$a->query('COMMIT');
is($observer->query("SELECT horizon_held_by FROM hilo.status WHERE collection = 'early'"), '', 'until it ends');
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

# More transactions end than there are records: an old snapshot learns less, never too much; a new one learns all, though an
# unrelated transaction has run all the time.
$node->safe_psql('postgres', 'CREATE PROCEDURE insert_many(n int) LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1 .. n LOOP INSERT INTO ended DEFAULT VALUES; COMMIT; END LOOP; END $$');
my $unrelated = session($node);
$unrelated->query('BEGIN; SELECT pg_current_xact_id()');
$b->query('CALL insert_many(300)');
$a->query('BEGIN');
$held = insert($a);
$c->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
is(horizon($c, 'end'), $held - 1, 'old: exactly, at first');
$a->query('COMMIT');
$b->query('CALL insert_many(200)');
is(horizon($c, 'end'), $held - 1, 'old: still, while there are records');
$b->query('CALL insert_many(5000)');
my $coarse = horizon($c, 'end');
cmp_ok($coarse, '<', $held, 'old: not too much');
cmp_ok($coarse, '>', $held - 400, 'nor much too little');
is(horizon($b, 'end'), $held + 5200, 'new: all');
$_->query('COMMIT') for $c, $unrelated;
$unrelated->finish;

#
# Ids chosen by hand: they are not drawn, but no part of the order, and the horizon does not cover them
#
$node->safe_psql('postgres', "CREATE TABLE by_hand (id bigint PRIMARY KEY); SELECT hilo.attach('by_hand', collection => 'by_hand')");
set_ordered('by_hand', 'true');
sub by_hand { return scalar $_[0]->query('INSERT INTO by_hand VALUES ' . ($_[1] // '(DEFAULT)') . ' RETURNING id'); }
is(by_hand($a) . ' ' . by_hand($b), '1 2', 'drawn by the default');
$maker->query('BEGIN');
is(by_hand($maker, '(4), (5), (7)'), "4\n5\n7", 'chosen');
is(horizon($c, 'by_hand'), 2, 'no numbers drawn');
my $skips = session($node);
is(by_hand($skips) . ' ' . by_hand($skips), '8 9', 'one that looks goes on above them, also while they are not committed');
is(horizon($c, 'by_hand'), 9, 'the transaction that has chosen them does not hold the horizon back');
$maker->query('COMMIT');
is(by_hand($maker, '(6)') . ' ' . horizon($c, 'by_hand'), '6 9', 'below the horizon: accepted, and that is where it was');
$maker->query('INSERT INTO by_hand VALUES (11)');
is(join(' ', map { by_hand($skips) } 1 .. 3), '10  12', 'one that has looked before fails once, looks again, and goes on');
is(horizon($c, 'by_hand'), 12, 'and so does the horizon');
$maker->query('INSERT INTO by_hand VALUES (14)');
$skips->query('BEGIN');
is(by_hand($skips), 13, 'a transaction draws');
is(horizon($c, 'by_hand'), 12, 'it holds the horizon back');
$a->query('INSERT INTO by_hand VALUES (15)');
is(horizon($c, 'by_hand'), 12, 'whatever others choose meanwhile');
$skips->query('COMMIT');
is(horizon($c, 'by_hand'), 13, 'until it ends');
$skips->finish;
$skips = session($node);
is($skips->query("SELECT * FROM hilo_reserve('by_hand', 4)"), '18|21', 'a block has none of them');
$maker->query('INSERT INTO by_hand SELECT generate_series(23, 5000)');
$skips->finish;
$skips = session($node);
$skips->query('BEGIN');
is(by_hand($skips) . ' ' . by_hand($skips), '5001 5002', 'many of them');
is(horizon($c, 'by_hand'), 21, 'while its transaction is open, the horizon is below what it has drawn and skipped');
$skips->query('ROLLBACK');
is(horizon($c, 'by_hand'), 5002, 'until it ends');
$maker->query('INSERT INTO by_hand VALUES (9000000000000000000)');
$skips->finish;
$skips = session($node);
is(by_hand($skips), 5003, 'one that is far off is not among the next numbers');
is(horizon($c, 'by_hand'), 5003, 'and no part of the order');
$skips->finish;

# What was drawn is inserted in any order.
is($b->query("WITH d AS MATERIALIZED (SELECT hilo_next_number('by_hand') n FROM generate_series(1, 5)) INSERT INTO by_hand SELECT n FROM d ORDER BY n DESC RETURNING id"),
	"5008\n5007\n5006\n5005\n5004", 'numbers drawn before, in the same transaction');
my $early = $b->query("SELECT low FROM hilo_reserve('by_hand', 5)");
is(by_hand($b, "($early)"), $early, 'a number drawn in another transaction');
is($b->query("BEGIN; WITH r AS (SELECT * FROM hilo_reserve('by_hand', 3)) INSERT INTO by_hand SELECT generate_series(low, high) FROM r RETURNING id; COMMIT"),
	join("\n", map { $early + 5 + $_ } 0 .. 2), 'a block reserved here');
#
# To become ordered, and unordered
#
is(take_range($a, 'old') . ' ' . take_range($b, 'old'), '33 97', 'two sessions hold ranges');
my (undef, $in_use) = set_ordered('old', 'true');
like($in_use, qr/55000.*in use.*hilo\.make_ordered/s, 'a collection in use does not become ordered at once');
is($observer->query("SELECT ordered FROM hilo.status WHERE collection = 'old'"), 'f', 'nor half');
is($maker->error_of("BEGIN; CALL hilo.make_ordered('old')"), '25001', 'not in a transaction');
$maker->query('ROLLBACK');
$maker->query("CALL hilo.make_ordered('old')");
my $highest = $observer->query("SELECT max FROM hilo.hilo WHERE collection = 'old'");
is(join(' ', map { draw($_, 'old') } $a, $b, $a), join(' ', map { $highest + $_ } 1 .. 3), 'numbers are above all that they hold');
is(horizon($c, 'old'), $highest + 3, 'and have a horizon');
like(($maker->query("CALL hilo.make_ordered('old')"))[1], qr/NOTICE.*already/, 'it is ordered');
like(($maker->query("CALL hilo.make_ordered('odl')"))[1], qr/NOTICE.*"odl" did not exist and was created/, 'a name that no collection had is told');
is($maker->error_of("CALL hilo.make_ordered('old|')"), '0A000', 'no identities');
is($maker->error_of("CALL hilo.make_ordered(NULL)"), '22004', 'nor nothing');
set_ordered('old', 'false');
is(horizon($c, 'old'), '55000', 'unordered: no horizon');
is(draw($a, 'old') > 131 && $a->query("SELECT sum(hilo_next_number('old')) > 0 FROM generate_series(1, 7)"), 't', 'ranges again');
is($observer->query("SELECT ordered FROM hilo.status WHERE collection = 'old'"), 'f', 'hilo.status says so');

# A reader that starts right after configure, beside transactions that have an id, and have drawn at once.
$b->query('BEGIN; SELECT pg_current_xact_id()');
set_ordered('at_once', 'true');
is(horizon($c, 'at_once'), 0, 'a reader that starts at once gets an answer');
$a->query('BEGIN');
is(draw($a, 'at_once') . ' ' . horizon($c, 'at_once'), '1 0', 'and after a draw');
$_->query('COMMIT') for $a, $b;
is(horizon($c, 'at_once'), 1, 'all');

# Transactions of before may still insert what they have drawn, and draw what they hold.
$node->safe_psql('postgres', 'CREATE TABLE before (id bigint, who text)');
take_range($a, 'switch');
$a->query('BEGIN');
$a->query("INSERT INTO before SELECT hilo_next_number('switch'), 'a'");
$b->query('BEGIN');
take_range($b, 'switch');
$maker->start("CALL hilo.make_ordered('switch')");
wait_until_it_waits($maker);
is(horizon($c, 'switch'), '55000', 'transactions of before run: no horizon');
is($observer->error_of("CALL hilo.make_ordered('old')"), '55006', 'one at a time');
is($observer->query("SELECT backend_xmin IS NULL FROM pg_stat_activity WHERE pid = " . $maker->pid), 't', 'it waits without a snapshot');
cmp_ok(draw($c, 'switch'), '>', 128, 'a new one draws above their ranges');
$a->query("INSERT INTO before SELECT hilo_next_number('switch'), 'a'");
$a->query('COMMIT');
wait_until_it_waits($maker);
is(horizon($c, 'switch'), '55000', 'one of them has ended, the other has no id');
$c->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$b->query("INSERT INTO before SELECT hilo_next_number('switch'), 'b'");
$b->query('COMMIT');
$maker->result;
is(horizon($observer, 'switch') =~ /^\d{3}$/, 1, 'both: there is a horizon');
is($c->query('SELECT count(*) FROM before') . ' ' . horizon($c, 'switch'), '2 0', 'which is below all that a snapshot of before does not show');
$c->query('COMMIT');
is($c->query('SELECT count(*) FROM before WHERE id <= (SELECT horizon FROM hilo.horizon(\'switch\'))'), 3, 'then it covers all of them');

# Interrupted, it goes on when it is called again.
take_range($a, 'again');
$a->query("BEGIN; INSERT INTO before SELECT hilo_next_number('again'), 'a'");
$maker->start("CALL hilo.make_ordered('again')");
wait_until_it_waits($maker);
$observer->query('SELECT pg_cancel_backend(' . $maker->pid . ')');
$maker->result;
is(horizon($c, 'again'), '55000', 'interrupted: not ordered yet');
like((set_ordered('again', 'true'))[1], qr/55000.*make_ordered/s, 'nor by hilo.configure()');
cmp_ok(draw($b, 'again'), '>', 64, 'though numbers are drawn in order');
$maker->start("CALL hilo.make_ordered('again')");
wait_until_it_waits($maker);
$a->query('COMMIT');
$maker->result;
like(horizon($c, 'again'), qr/^\d+$/, 'called again');

# Undone by another session meanwhile, it says so.
take_range($a, 'undone');
$a->query("BEGIN; INSERT INTO before SELECT hilo_next_number('undone'), 'a'");
$maker->start("CALL hilo.make_ordered('undone')");
wait_until_it_waits($maker);
set_ordered('undone', 'false');
$a->query('COMMIT');
like(($maker->result)[1], qr/55000.*has not become ordered/s, 'another session has undone it');

# A rollback does not undo it.
$a->query("BEGIN; INSERT INTO before VALUES (0, 'self'); SELECT hilo.configure('self', ordered => true)");
is(draw($a, 'self') . ' ' . horizon($c, 'self'), '1 0', 'a transaction draws from what it has made ordered');
$a->query('ROLLBACK');
is(horizon($c, 'self'), 1, 'made ordered for good');

# What was drawn before a drop may still be inserted.
draw($a, 'gone');
$observer->query("SELECT hilo.drop('gone')");
like((set_ordered('gone', 'true'))[1], qr/55000.*in use/s, 'a collection that was dropped is in use');
$maker->query("CALL hilo.make_ordered('gone')");
is(draw($b, 'gone') . ' ' . horizon($c, 'gone'), '1 1', 'until its transactions have ended');

# Prepared transactions of before.
$a->query("BEGIN; INSERT INTO before SELECT hilo_next_number('prepared'), 'p'; PREPARE TRANSACTION 'before'");
$maker->start("CALL hilo.make_ordered('prepared')");
wait_until_it_waits($maker);
is(horizon($c, 'prepared'), '55000', 'a prepared transaction of before');
$observer->query('SELECT pg_cancel_backend(' . $maker->pid . ')');
$maker->result;
$_->finish for $a, $b, $c, $observer, $maker;
$node->restart;
($a, $b, $c, $observer, $maker) = map { session($node) } 1 .. 5;
draw($a, 'prepared');
is(horizon($c, 'prepared'), '55000', 'after a restart, and a draw');
$maker->start("CALL hilo.make_ordered('prepared')");
wait_until_it_waits($maker);
$observer->query(q{COMMIT PREPARED 'before'});
$maker->result;
like(horizon($c, 'prepared'), qr/^\d+$/, 'no more');
# Transactions that are prepared over a restart hold the horizon back, wherever they have drawn.
$a->query(q{BEGIN});
my $in_doubt = $a->query(q{INSERT INTO before SELECT hilo_next_number('prepared'), 'p' RETURNING id});
$a->query(q{PREPARE TRANSACTION 'other'});
draw($b, 'prepared');
is(horizon($c, 'prepared'), $in_doubt - 1, 'a prepared transaction');
$_->finish for $a, $b, $c, $observer, $maker;
$node->restart;
($a, $b, $c, $observer, $maker) = map { session($node) } 1 .. 5;
cmp_ok(draw($a, 'prepared'), '>', $in_doubt, 'numbers go on after a restart');
cmp_ok(horizon($c, 'prepared'), '<', $in_doubt, 'the horizon does not pass it');
$observer->query(q{COMMIT PREPARED 'other'});
cmp_ok(horizon($c, 'prepared'), '>', $in_doubt, 'until it ends');

#
# Seed, drop
#
set_ordered('seeded', 'true');
draw($a, 'seeded') for 1 .. 5;
my $epoch = epoch('seeded');
$unrelated = session($node);
$unrelated->query('BEGIN; SELECT pg_current_xact_id()');
$a->query('BEGIN');
is(draw($a, 'seeded'), 6, 'a transaction has drawn');
$observer->query("SELECT hilo.seed('seeded', 1000)");
is(draw($b, 'seeded') . ' ' . horizon($c, 'seeded'), '1001 5', 'a seed keeps its record');
is(draw($a, 'seeded'), 1002, 'seeded');
$a->query('COMMIT');
is(horizon($c, 'seeded'), 1002, 'and no transaction that has not drawn holds the horizon back');
$unrelated->query('COMMIT');
$unrelated->finish;
is(epoch('seeded'), $epoch, 'the same epoch: nothing comes again');
$a->query('BEGIN');
is(draw($a, 'seeded'), 1003, 'drawn');
$epoch = epoch('seeded');
$observer->query("SELECT hilo.seed('seeded', 10, true)");
is(draw($b, 'seeded'), 11, 'a forced seed counts at once, also for who has drawn before');
is(draw($a, 'seeded'), 12, 'and in a transaction that was open');
isnt(epoch('seeded'), $epoch, 'a new epoch');
is(horizon($c, 'seeded'), 0, 'the horizon is below all that the open transaction may have drawn');
$observer->query("SELECT hilo.seed('seeded', 2000)");
is(draw($b, 'seeded') . ' ' . horizon($c, 'seeded'), '2001 0', 'also when the counter has passed that');
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
$observer->query("SELECT hilo.configure('room' || i, ordered => true) FROM generate_series(1, 20) i");
is(join(' ', map { draw($observer, "room$_") } 1 .. 20), join(' ', (1) x 20), 'idle ones make room');
$a->query('BEGIN');
is($a->query("SELECT sum(hilo_next_number('many' || i)) FROM generate_series(1, 16) i, generate_series(1, 2)"), 48, 'sixteen collections in a transaction');
is($b->query("SELECT hilo_next_number('many17')"), 1, 'another one takes the room of one of them');
is($b->error_of("SELECT hilo.horizon('many18')"), '53200', 'who only reads takes none');
is($b->query("SELECT min(hilo_next_number('many' || i)) > 2 FROM generate_series(1, 16) i"), 't', 'those go on');
is(join(' ', grep { !/^(0|53200)$/ } map { horizon($c, "many$_") } 1 .. 17), '', 'and show nothing yet');
$a->query('COMMIT');
my @wrong = grep
{
	my $shown = horizon($c, "many$_");
	my $drawn = draw($b, "many$_");

	$drawn <= $shown || horizon($c, "many$_") != $drawn;
} 1 .. 20;
is("@wrong", '', 'what made room goes on above its horizon');
$_->finish for $a, $b, $c, $observer, $maker;
$node->append_conf('postgresql.conf', 'hilo.pool_size = 4096');
$node->restart;
($a, $b, $c, $observer, $maker) = map { session($node) } 1 .. 5;
is($a->query("SELECT count(DISTINCT hilo_next_number('many' || i)) > 0 FROM generate_series(1, 20) i"), 't', 'a larger pool has more room');

#
# Upkeep
#
$observer->query("SELECT hilo.configure('kept', ordered => true, range_size => 20)");
$observer->query("CREATE TABLE kept (id bigint DEFAULT hilo_next_number('kept'))");
is(draw($a, 'kept'), 1, 'drawn');
$epoch = epoch('kept');
$observer->query('INSERT INTO kept VALUES (10)');
is($observer->query("SELECT hilo.sync('kept')"), 20, 'a sync');
is(draw($a, 'kept'), 21, 'after it, no number comes that was claimed before');
is($observer->query("SELECT hilo.attach('kept', 'id', 'kept')"), 40, 'attached');
is(draw($b, 'kept'), 41, 'nor after that');
is(epoch('kept') . ' ' . horizon($c, 'kept'), "$epoch 41", 'readers go on where they are');
$observer->query("SELECT hilo.seed('kept', 0, true)");
isnt(epoch('kept'), $epoch, 'unless numbers come again');

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
$_->hang_up for $a, $b, $c, $observer, $maker;
$node->poll_query_until('postgres', 'SELECT true') or die 'no restart';
($a, $b, $c, $observer, $maker) = map { session($node) } 1 .. 5;
is(horizon($c, 'end') > $shown, 1, 'after a crash the horizon is above what was shown');
is(draw($a, 'end') > $shown + 1, 1, 'and so is what is drawn');
is(epoch('end'), $epoch, 'of the same epoch');
kill_server($node);
$_->hang_up for $a, $b, $c, $observer, $maker;
$node->start;
($a, $b, $c, $observer, $maker) = map { session($node) } 1 .. 5;
$shown = horizon($c, 'end');
is(draw($a, 'end'), $shown + 1, 'after a kill -9 it goes on above the horizon');

# Not preloaded.
$_->finish for $a, $b, $c, $observer, $maker;
$node->append_conf('postgresql.conf', q{shared_preload_libraries = ''});
$node->restart;
($a, $b, $observer) = map { session($node) } 1 .. 3;
my $next = draw($a, 'end');
cmp_ok($next, '>', $shown, 'not preloaded: numbers go on');
$a->query('BEGIN');
is(join(' ', map { draw($_, 'end') } $b, $a, $b), join(' ', map { $next + $_ } 1 .. 3), 'not preloaded: sessions draw in turn');
is(horizon($b, 'end'), $next + 1, 'not preloaded: there is a horizon');
$a->query('COMMIT');
is(horizon($b, 'end'), $next + 3, 'not preloaded: which goes on');
is($b->query("SELECT hilo_reserve('end', 5)"), '(' . ($next + 4) . ',' . ($next + 8) . ')', 'not preloaded: a block');
set_ordered('new', 'true');
is(draw($a, 'new') . ' ' . horizon($b, 'new'), '1 1', 'not preloaded: another collection becomes ordered');
take_range($a, 'later');
$b->query("CALL hilo.make_ordered('later')");
like(horizon($b, 'later'), qr/^\d+$/, 'not preloaded: and one that is in use');
is($a->query("SELECT hilo.configure('end', ordered => false); SELECT hilo_next_number('end') > $next + 8"), "\nt", 'made unordered it draws');

$_->finish for $b, $observer;
$a->finish;
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|leak|still referenced|lock .* (?:already|not) held|own a lock/,
	'nothing was left behind');
done_testing();
