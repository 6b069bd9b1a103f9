# Ordered collections where it is hard to say what is drawn, and by which transaction: a collection that becomes ordered
# under a session that draws, prepared transactions, forced seeds beside open transactions, copied databases, updates.
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

my ($a, $b, $observer) = map { session($node) } 1 .. 3;

# The horizon; or the state of the error, and its detail.
sub horizon
{
	my ($collection, $session) = @_;
	my ($out, $err) = ($session // $observer)->query("SELECT horizon FROM hilo.horizon('$collection')");

	return $out if $err !~ /ERROR: +(\w{5})/;
	return $err =~ /DETAIL: +(.*)/ ? "$1" : $err;
}

sub order { return $observer->query("SELECT hilo.configure('$_[0]', ordered => true)"); }
sub insert { return scalar $_[0]->query("INSERT INTO $_[1] DEFAULT VALUES RETURNING id"); }
sub rows { return join ' ', split /\n/, $observer->query("SELECT id FROM $_[0] ORDER BY id"); }

sub make_table
{
	$observer->query("CREATE TABLE $_[0] (id bigint PRIMARY KEY DEFAULT hilo_next_number('$_[0]'))");
	return;
}

my $RUNS = 'A transaction that was running when the collection became ordered has not ended yet.';
my $PREPARED = 'A prepared transaction may have drawn before the collection became ordered.';

#
# A session that has not heard of it yet keeps no numbers
#
make_table('kept');
is($a->query("SELECT max(hilo_next_number('kept')) FROM generate_series(1, 32)"), 32, 'a range is used up');
$a->query('BEGIN');
order('kept');
is($a->query("SELECT hilo_next_number('kept')"), 33, 'the next number is one of all sessions');
is($a->query("SELECT count(*) FROM hilo.ranges WHERE collection = 'kept'"), 0, 'none is kept');
$a->query('COMMIT');
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
order('prepared');
is(horizon('prepared'), $RUNS, 'that one is seen beside the prepared one');
$observer->query("COMMIT PREPARED 'p'");
is(horizon('prepared'), $RUNS, 'and when only it is left');
$a->query('COMMIT');
is(horizon('prepared'), 32, 'then the horizon is known');
is(rows('prepared'), 1, 'and misses nothing');

make_table('recovered');
$a->query('BEGIN');
is(insert($a, 'recovered'), 1, 'a transaction draws');
$a->query("PREPARE TRANSACTION 'q'");
$_->finish for $a, $b, $observer;
$node->restart;
($a, $b, $observer) = map { session($node) } 1 .. 3;
order('recovered');
is(horizon('recovered'), $PREPARED, 'a transaction prepared before a restart is no session\'s');
$observer->query("ROLLBACK PREPARED 'q'");
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
$observer->query("SELECT hilo.attach('chosen')");
order('chosen');
is(horizon('chosen'), 0, 'an attached table');
$a->query('BEGIN');
is($a->query("SELECT max(hilo_next_number('chosen')) FROM generate_series(1, 20)"), 20, 'a transaction draws');
$observer->query("SELECT hilo.seed('chosen', 0, true)");
$a->query('INSERT INTO chosen VALUES (10)');
$a->query('COMMIT');
is(insert($b, 'chosen'), 11, 'a number that it chooses after a forced seed is not drawn again');

#
# A copy of a database
#
$observer->query('CREATE DATABASE template');
my ($template, $copy) = map { session($node) } 1 .. 2;
$template->query('\c template');
$template->query('CREATE EXTENSION hilo');
for my $table ('copied', 'second')
{
	$template->query("CREATE TABLE $table (id bigint PRIMARY KEY); SELECT hilo.attach('$table')");
	$template->query("SELECT hilo.configure('$table', ordered => true)");
}
is(insert($template, 'copied'), 1, 'a database');
$template->finish;
$observer->query('CREATE DATABASE copy TEMPLATE template');
$copy->query('\c copy');
$copy->query("INSERT INTO copied VALUES (5000)");
is($copy->query("SELECT max FROM hilo.hilo WHERE collection = 'copied'"), 5000, 'a number chosen first in a copy is noted in the row');
is(insert($copy, 'copied'), 5001, 'drawn are those above it');
is(insert($copy, 'second'), 1, 'another collection of the copy is another one');
is(horizon('copied', $copy), $RUNS, 'whether it was settled where it comes from says nothing');
is(horizon('copied', $copy), 5001, 'it has a horizon');
is(horizon('second', $copy), $RUNS, 'so has the other one');
like($copy->query("SELECT epoch FROM hilo.horizon('second')"), qr/^[1-9]\d*$/, 'with an epoch');
$copy->finish;

#
# Updates that leave the number as it is
#
$observer->query('CREATE TABLE changed (id bigint PRIMARY KEY, i int)');
$observer->query("SELECT hilo.attach('changed')");
order('changed');
$observer->query('INSERT INTO changed (i) VALUES (1), (2)');
is(horizon('changed'), 2, 'two rows');
is(scalar $a->query('UPDATE changed SET id = id, i = i + 1 WHERE id = 1 RETURNING i'), 2, 'an update may name the column');
like($a->error_of('UPDATE changed SET id = 1 WHERE id = 2'), qr/22023/, 'but not choose a number below the horizon');
is(scalar $a->query('UPDATE changed SET id = 10 WHERE id = 2 RETURNING id'), 10, 'one above it counts as drawn');
is(horizon('changed'), 10, 'as the horizon says');

#
# Numbers chosen by hand, and a crash
#
$observer->query('CREATE TABLE first (id bigint PRIMARY KEY)');
$observer->query("SELECT hilo.attach('first')");
order('first');
$observer->query('INSERT INTO first VALUES (5)');
is($observer->query("SELECT max FROM hilo.hilo WHERE collection = 'first'"), 5, 'the first number of all is chosen: the row has it');

insert($observer, 'changed');
like(horizon('changed'), qr/^11$/, 'a number drawn');
$a->query('BEGIN; INSERT INTO changed VALUES (5000)');
is(horizon('changed'), 4999, 'the horizon is below a number that is chosen');
kill_server($node);
$node->start;
$observer = session($node);
is(insert($observer, 'changed'), 5001, 'after a crash no number below the horizon is drawn again');

$observer->finish;
$node->stop;
done_testing();
