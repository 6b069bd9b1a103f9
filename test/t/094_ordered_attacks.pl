# Ordered collections where it is hard to say what is drawn, and by which transaction: a collection that becomes ordered
# under a session that draws, prepared transactions, forced seeds beside open transactions, copied databases, and the four
# ways in which a horizon was once too high: each has a test that fails without the rule that came out of it.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('attacks');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'hilo'
hilo.pool_size = 64
max_prepared_transactions = 5
autovacuum = off
wal_writer_delay = 10s
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo');

my ($a, $b, $observer, $maker) = map { session($node) } 1 .. 4;

my $YET = 'Transactions may hold numbers that were not drawn in order.';

# The horizon; or the detail of the error.
sub horizon
{
	my ($collection, $session) = @_;
	my ($out, $err) = ($session // $observer)->query("SELECT horizon FROM hilo.horizon('$collection')");

	return $out if $err !~ /ERROR: +(\w{5})/;
	return $err =~ /DETAIL: +(.*)/ ? "$1" : $err;
}

sub order { return $observer->query("SELECT hilo.configure('$_[0]', ordered => true)"); }

# Start to make a collection ordered that is in use: it waits.
sub begin_to_order
{
	my ($collection) = @_;

	$maker->start("CALL hilo.make_ordered('$collection')");
	wait_until_it_waits('it waits');
	return;
}

# It waits for each transaction in turn, and one of them may be the observer's that looks.
sub wait_until_it_waits
{
	my ($what) = @_;
	my $pid = $maker->pid;

	wait_until($what, sub {
		$observer->query("SELECT cardinality(b) > 0 AND pg_backend_pid() <> ALL (b) FROM pg_blocking_pids($pid) b") eq 't';
	});
	return;
}

sub still_waits
{
	my ($what, $collection) = @_;

	wait_until_it_waits($what);
	is(horizon($collection), $YET, $what);
	return;
}

sub insert { return scalar $_[0]->query("INSERT INTO $_[1] DEFAULT VALUES RETURNING id"); }
sub rows { return join ' ', split /\n/, $observer->query("SELECT id FROM $_[0] ORDER BY id"); }

sub make_table
{
	$observer->query("CREATE TABLE $_[0] (id bigint PRIMARY KEY DEFAULT hilo_next_number('$_[0]'))");
	return;
}


#
# A session that has not heard of it yet keeps no numbers
#
make_table('kept');
is($a->query("SELECT max(hilo_next_number('kept')) FROM generate_series(1, 32)"), 32, 'a range is used up');
$a->query('BEGIN');
begin_to_order('kept');
is($a->query("SELECT hilo_next_number('kept')"), 33, 'the next number is one of all sessions');
is($a->query("SELECT count(*) FROM hilo.ranges WHERE collection = 'kept'"), 0, 'none is kept');
$a->query('COMMIT');
$maker->result;
is(horizon('kept'), 33, 'the horizon');
$a->query('BEGIN');
is(insert($a, 'kept'), 34, 'the next transaction draws in turn');
is(insert($b, 'kept'), 35, 'so does another session');
is(horizon('kept'), 33, 'the open transaction holds the horizon back');
$a->query('COMMIT');
is(horizon('kept'), 35, 'until it ends');

#
# Prepared transactions are not those that run
#
make_table('prepared');
$observer->query('CREATE TABLE other (i int)');
$a->query('BEGIN; INSERT INTO other VALUES (1)');
$a->query("PREPARE TRANSACTION 'p'");
$a->query('BEGIN');
is(insert($a, 'prepared'), 1, 'the session that prepared runs another transaction');
begin_to_order('prepared');
still_waits('that one is seen beside the prepared one', 'prepared');
$observer->query("COMMIT PREPARED 'p'");
still_waits('and when only it is left', 'prepared');
$a->query('COMMIT');
$maker->result;
is(horizon('prepared'), 32, 'then there is a horizon');
is(rows('prepared'), 1, 'and misses nothing');

make_table('recovered');
$a->query('BEGIN');
is(insert($a, 'recovered'), 1, 'a transaction draws');
$a->query("PREPARE TRANSACTION 'q'");
$_->finish for $a, $b, $observer, $maker;
$node->restart;
($a, $b, $observer, $maker) = map { session($node) } 1 .. 4;
begin_to_order('recovered');
still_waits('a transaction prepared before a restart is no session\'s', 'recovered');
$observer->query("ROLLBACK PREPARED 'q'");
$maker->result;
like(horizon('recovered'), qr/^\d+$/, 'nor does it leave anything behind');

#
# A forced seed beside a transaction that has drawn
#
make_table('seeded');
order('seeded');
$observer->query("SELECT hilo.seed('seeded', 100)");
is(horizon('seeded'), 100, 'a seed');
$a->query('BEGIN');
is($a->query("SELECT hilo_next_number('seeded')"), 101, 'a transaction draws');
$observer->query("SELECT hilo.seed('seeded', 0, true)");
is(insert($a, 'seeded'), 1, 'and draws again after a forced seed');
is(insert($b, 'seeded'), 2, 'beside another one');
is(horizon('seeded'), 0, 'the horizon is below both of its numbers');
$a->query('COMMIT');
is(horizon('seeded'), 2, 'until it ends');

$observer->query('CREATE TABLE chosen (id bigint PRIMARY KEY)');
$observer->query("SELECT hilo.attach('chosen', collection => 'chosen')");
order('chosen');
is(horizon('chosen'), 0, 'an attached table');
$a->query('BEGIN');
is($a->query("SELECT max(hilo_next_number('chosen')) FROM generate_series(1, 20)"), 20, 'a transaction draws');
$observer->query("SELECT hilo.seed('chosen', 0, true)");
$a->query('INSERT INTO chosen VALUES (10)');
$a->query('COMMIT');
is(insert($b, 'chosen'), 11, 'a number that it inserts after a forced seed is skipped');

#
# A copy of a database
#
$observer->query('CREATE DATABASE template');
my ($template, $copy) = map { session($node) } 1 .. 2;
$template->query('\c template');
$template->query('CREATE EXTENSION hilo');
for my $table ('copied', 'second')
{
	$template->query("CREATE TABLE $table (id bigint PRIMARY KEY); SELECT hilo.attach('$table', collection => '$table')");
	$template->query("SELECT hilo.configure('$table', ordered => true)");
}
is(insert($template, 'copied'), 1, 'a database');
$template->finish;
$observer->query('CREATE DATABASE copy TEMPLATE template');
$copy->query('\c copy');
$copy->query("INSERT INTO copied VALUES (34)");
is(insert($copy, 'copied'), 35, 'a copy goes on above what was claimed, and skips what is chosen in it');
is(insert($copy, 'second'), 1, 'another collection of the copy is another one');
is(horizon('copied', $copy), 35, 'it has a horizon');
is(horizon('second', $copy), 1, 'so has the other one');
like($copy->query("SELECT epoch FROM hilo.horizon('second')"), qr/^[1-9]\d*$/, 'with an epoch');
$copy->finish;

#
# The rules of the horizon
#
# Our own transaction is not among those that our snapshot lists.
make_table('own');
order('own');
insert($b, 'own');
$a->query('BEGIN');
insert($a, 'own');
insert($b, 'own');
is(horizon('own', $a), 1, 'our own transaction counts as running');
is(horizon('own'), 1, 'as it does for others');
$a->query('ROLLBACK');

# A ring that begins anew holds nothing about transactions that have drawn: whichever has an id may be one.
$a->query('BEGIN');
insert($a, 'own');
$observer->query('DELETE FROM own');
$observer->query("SELECT hilo.seed('own', 1, true)");
is(insert($b, 'own'), 5, 'numbers go on above those that the table has, also where they are not committed');
is(horizon('own'), 0, 'forgotten: a transaction that runs may have any number');
$a->query('ROLLBACK');
is(horizon('own'), 5, 'until it ends');

# A transaction with an id that is prepared, and one whose session has drawn since, are two.
$a->query('BEGIN');
insert($a, 'own');
$a->query("PREPARE TRANSACTION 'own'");
$a->query('BEGIN');
insert($a, 'own');
$a->query('COMMIT');
is(horizon('own'), 5, 'the session of a prepared transaction goes on, not its record');
$observer->query("COMMIT PREPARED 'own'");
is(horizon('own'), 7, 'until that ends');

# What begins after a snapshot is not among those that it lists, either.
my $reader = session($node);
$reader->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
insert($b, 'own');
is(horizon('own', $reader), 7, 'a transaction that began after the snapshot counts as running');
is(horizon('own'), 8, 'not for a later snapshot');
$reader->finish;

# Records of transactions that have ended are folded into one, which counts for every snapshot that may be older; those of
# transactions that run are not, however many there are.
$observer->query('CREATE PROCEDURE insert_many(n int) LANGUAGE plpgsql AS $$ BEGIN FOR i IN 1 .. n LOOP INSERT INTO folded DEFAULT VALUES; COMMIT; END LOOP; END $$');
make_table('folded');
order('folded');
insert($b, 'folded');
$a->query('BEGIN');
my $held = insert($a, 'folded');
my $young = session($node);
$young->query('BEGIN');
my $late = insert($young, 'folded');
my $old = session($node);
$old->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$young->query('COMMIT');
is(horizon('folded', $old), $held - 1, 'an old snapshot');
for my $times (1 .. 4)
{
	$b->query('CALL insert_many(700)');
	is(horizon('folded'), $held - 1, "a transaction that runs is not folded, $times");
}
$a->query('COMMIT');
is(horizon('folded'), $held + 1 + 2800, 'a new snapshot sees all');
cmp_ok(horizon('folded', $old), '<', $held, 'an old one not what it does not show');
$b->query('CALL insert_many(2000)');
cmp_ok(horizon('folded', $old), '<', $held, 'whatever is folded since');
$old->query('COMMIT');
is(horizon('folded', $old), $held + 1 + 4800, 'and then all');
$_->finish for $young, $old;

# More transactions that run than a small ring would hold: nobody waits.
my @many = map { session($node) } 1 .. 60;
$_->query("BEGIN; SELECT hilo_next_number('folded')") for @many;
$b->query('CALL insert_many(3000)');
is(horizon('folded'), $held + 1 + 4800, 'sixty transactions run');
$_->query('COMMIT') for @many;
is(horizon('folded'), $held + 1 + 4800 + 60 + 3000, 'and have ended');
$_->finish for @many;

#
# Numbers chosen by hand, and a crash
#
$observer->query('CREATE TABLE changed (id bigint PRIMARY KEY)');
$observer->query("SELECT hilo.attach('changed', collection => 'changed')");
order('changed');
insert($observer, 'changed');
$observer->query('INSERT INTO changed SELECT generate_series(10, 500)');
is(horizon('changed'), 1, 'the horizon is that of what was drawn');
$b->query('BEGIN');
is(insert($b, 'changed'), 501, 'a transaction skips numbers');
is(horizon('changed'), 1, 'and holds the horizon back from there');
kill_server($node);
$node->start;
$observer = session($node);
my $claimed = horizon('changed');
cmp_ok($claimed, '>=', 501, 'after a crash the horizon is the end of what was claimed');
is(insert($observer, 'changed'), $claimed + 1, 'no number below it is drawn again');

$observer->finish;
$node->stop;
done_testing();
