# Promise 3 on a member, whatever sessions are in the middle of: transactions of every kind, others that draw, tables rewritten, and no lease worker to be had.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir;
my $hub = new_node('hub');
my $member = new_member('member', <<SETTINGS);
hilo.lease_size = 50
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.range_size = 10
hilo.max_range_size = 10
max_prepared_transactions = 5
SETTINGS
my $proxy = HiloTest::Proxy->new($hub);
add_hub($member, $hub, host => '127.0.0.1', port => $proxy->port);

sub sql { return $member->safe_psql('postgres', $_[0]); }
sub hub { return $hub->safe_psql('postgres', $_[0]); }

sub leased { sql("SELECT hilo.lease_from('$_', 'ids_hub')") for @_; return; }

#
# Transactions
#
# The first lease of a hub: its role is noted by a transaction that is still open.
my $s = session($member);
$s->query(q{BEGIN; SELECT hilo.lease_from('orders', 'ids_hub')});
is(session($member)->error_of(q{SELECT hilo_next_number('orders')}), '', 'others draw before lease_from has been committed');
$s->query('COMMIT');
my %shown;
my $count = 0;
sub draw
{
	my ($session, $times) = @_;
	my ($out, $err) = $session->query("SELECT hilo_next_number('orders') FROM generate_series(1, $times)");

	$shown{$_}++ for split /\n/, $out;
	$count += $times;
	return $err;
}

# 120 numbers are of three leases at least.
for my $level ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')
{
	for my $end ('COMMIT', 'ROLLBACK', "PREPARE TRANSACTION 'p'")
	{
		$s->query("BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM hilo.hilo");
		is(draw($s, 120), '', "$level: leases are fetched");
		$s->query('SAVEPOINT s');
		is(draw($s, 120), '', "$level: in a savepoint");
		$s->query('ROLLBACK TO s');
		is(draw($s, 120), '', "$level: and after its rollback");
		is($s->error_of($end), '', "$level: $end");
		is(draw(session($member), 60), '', 'others draw meanwhile');
		$s->query("ROLLBACK PREPARED 'p'") if $end =~ /PREPARE/;
	}
}
# An open transaction holds no other up.
$s->query("BEGIN; CREATE TABLE open (); PREPARE TRANSACTION 'open'");
my $in_open = session($member);
$in_open->query('BEGIN ISOLATION LEVEL SERIALIZABLE');
is(draw($in_open, 120), '', 'in a transaction that stays open');
is(draw($s, 120), '', 'others fetch leases');
is(hub(q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo'}), 0, 'nothing is open on the hub');
is(hub(q{SELECT count(*) FROM pg_locks WHERE relation = 'hilo.hilo'::regclass}), 0, 'nor locked');
$s->query("ROLLBACK PREPARED 'open'");
$in_open->query('COMMIT');

# What is switched stays so, whatever becomes of the transaction.
$s->query(q{BEGIN; SELECT hilo.lease_from('rolled back', 'ids_hub'); SAVEPOINT s; SELECT hilo.lease_from('rolled back too', 'ids_hub'); ROLLBACK TO s; ROLLBACK});
is(sql(q{SELECT count(*) FROM hilo.hilo WHERE collection LIKE 'rolled back%' AND flags & 2 <> 0 AND hub = 'ids_hub'}), 2, 'hilo.lease_from() is for good');
is(sql(qq{SELECT hilo_next_number('$_')}), 1, "$_: leased") for 'rolled back', 'rolled back too';
is(hub(q{SELECT count(*) FROM hilo.hilo WHERE collection LIKE 'rolled back%' AND max = 50}), 2, 'from the hub');

# Errors inside PL/pgSQL, and functions that are called at the end of a transaction.
$proxy->mode('refuse');
is($s->query(<<'SQL'), 'told', 'an error of a fetch can be caught');
CREATE FUNCTION draws() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
	FOR i IN 1 .. 200 LOOP PERFORM hilo_next_number('orders'); END LOOP;
	RETURN 'none';
EXCEPTION WHEN connection_exception THEN RETURN 'told'; END $$;
SELECT draws();
SQL
$proxy->mode('pass');
is($s->query('SELECT draws()'), 'none', 'and draws go on');
$s->query(<<'SQL');
CREATE TABLE t (i int);
CREATE FUNCTION at_end() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
	PERFORM draws(); RETURN NULL; END $$;
CREATE CONSTRAINT TRIGGER t AFTER INSERT ON t DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION at_end();
SQL
is($s->error_of('INSERT INTO t VALUES (1), (2)'), '', 'leases are fetched while a transaction commits');
is($s->error_of("BEGIN READ ONLY; SELECT hilo_next_number('orders')"), '25006', 'a transaction that is read-only draws nothing');
$s->query('ROLLBACK');
is(join(' ', grep { $shown{$_} > 1 } keys %shown), '', 'no number was shown twice');
is(scalar keys %shown, $count, 'and all were');

# A cursor that is open while leases are fetched.
is($s->query(<<'SQL') =~ s/\n/ /gr, "1 2 3", 'a cursor goes on');
BEGIN; DECLARE c CURSOR FOR SELECT generate_series(1, 3); FETCH c;
DO $$ BEGIN PERFORM draws(); END $$;
FETCH 2 FROM c; COMMIT;
SQL

#
# Two sessions, two collections, in opposite order, slowly
#
leased('one', 'two');
sql("SELECT hilo_next_number('$_') FROM generate_series(1, 50)") for qw(one two);
$proxy->mode('delay 100');
my @two = map { session($member, 'hilo.max_range_size' => 10) } 1, 2;
$_->query('BEGIN') for @two;
my $before = leases_asked_of($hub, 'one');
$two[0]->start(q{SELECT hilo_next_number('one'), hilo_next_number('two')});
$two[1]->start(q{SELECT hilo_next_number('two'), hilo_next_number('one')});
my @got = map { my ($out, $err) = $_->result; "$out$err" } @two;
like($got[$_], qr/^\d+\|\d+$/, 'session ' . ($_ + 1) . ' of two that fetch in opposite order') for 0, 1;
$_->query('COMMIT') for @two;
is(leases_asked_of($hub, 'one'), $before + 1, 'one of them asked');

# Many that need the same lease: one asks, all draw.
sql("SELECT hilo_next_number('one') FROM generate_series(1, greatest(1, (SELECT numbers_left FROM hilo.leases WHERE collection = 'one')))");
my @many = map { session($member, 'hilo.range_size' => 1, 'hilo.max_range_size' => 1) } 1 .. 6;
$before = leases_asked_of($hub, 'one');
$_->start(q{SELECT hilo_next_number('one')}) for @many;
@got = map { scalar $_->result } @many;
is(scalar(grep { /^\d+$/ } @got), 6, 'six sessions need a lease at once');
cmp_ok(leases_asked_of($hub, 'one') - $before, '<=', 2, 'and do not all ask');
$proxy->mode('pass');

#
# Tables rewritten
#
for my $how ('VACUUM FULL hilo.hilo', 'CLUSTER hilo.hilo USING hilo_collection_idx',
	'REINDEX TABLE hilo.hilo', 'REINDEX TABLE CONCURRENTLY hilo.hilo', 'VACUUM FULL hilo.hub', 'REINDEX TABLE hilo.hub')
{
	$s->query(q{SELECT hilo_next_number('orders')});
	sql($how);
	is(draw($s, 70), '', "$how: draws go on");
	is(sql(q{SELECT count(*) FROM hilo.hub h JOIN hilo.hilo r ON h.hub = r.hub::text WHERE collection = 'orders'}), 1, "$how: there is one row");
}
for my $table (qw(hilo.hilo hilo.hub))
{
	is($s->error_of("BEGIN; LOCK $table; SELECT hilo_next_number('orders') FROM generate_series(1, 100)"), '', "a session that has locked $table draws");
	$s->query('ROLLBACK');
}
is(join(' ', grep { $shown{$_} > 1 } keys %shown), '', 'no number was shown twice');

#
# No lease worker to be had: sessions that need numbers ask themselves
#
sub set_up_workers
{
	my ($workers) = @_;
	$member->append_conf('postgresql.conf', "max_worker_processes = $workers\ntest.lease_ahead = 75\n");
	$member->restart;
	return;
}
set_up_workers(0);
leased('alone');
is(sql(q{SELECT count(DISTINCT hilo_next_number('alone')) FROM generate_series(1, 220)}), 220, 'without lease workers sessions ask themselves');
$proxy->mode('refuse');
my $left = sql(q{SELECT numbers_left FROM hilo.leases WHERE collection = 'alone'});
is(sql("SELECT count(*) FROM (SELECT hilo_next_number('alone') FROM generate_series(1, $left)) d"), $left, 'that none can fetch ahead is no error as long as there are numbers');
is(error_of($member, 'postgres', q{SELECT hilo_next_number('alone')}), '08001', 'then it is') if $left;
$proxy->mode('pass');

# All slots are taken: by workers of the server itself.
set_up_workers(1);
leased('taken');
is(sql(q{SELECT count(DISTINCT hilo_next_number('taken')) FROM generate_series(1, 220)}), 220, 'the same where all workers are in use');

# With a lease worker, several collections.
set_up_workers(8);
my @some = map { "some$_" } 1 .. 5;
leased(@some);
sql("SELECT hilo_next_number('$_') FROM generate_series(1, 30)") for @some;
wait_until('all next leases are there', sub {
	sql("SELECT hilo_next_number('$_')") for @some;
	sql(q{SELECT bool_and(numbers_left > 50) FROM hilo.leases WHERE collection LIKE 'some%'}) eq 't' });
pass('a lease worker fetches for all');
wait_until('it ends soon', sub { !sql(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'hilo%'}) });
pass('and ends');

#
# Counted, then leased, while others draw; left and counted again
#
$hub->safe_psql('postgres', q{SELECT hilo.seed('changing', 0)});
my @scripts = map { "$dir/changing$_.sql" } 1 .. 4;
append_to_file($_, "SELECT hilo_next_number('changing');\n" x 3000) for @scripts;
my @logs = draw_until($member, "$dir/changing", 100, sub {
	my $drawn = sub { my $sum = 0; $sum += lines_of("$dir/changing.$_.out") for keys @scripts; return $sum };
	my $at_least = $drawn->();
	leased('changing');
	wait_until('all draw of leases', sub { $drawn->() > $at_least + 1000 });
}, \@scripts);
my @numbers = map { lines_of("$_.out") } @logs;
my %seen;
is(join(' ', map { slurp_file("$_.err") } @logs) =~ s/\s+//r, '', 'sessions draw while their collection becomes leased');
is(scalar(@numbers), 12000, 'none is told of it');
is(join(' ', grep { $seen{$_}++ } @numbers), '', 'no number was shown twice');
cmp_ok(hub(q{SELECT max FROM hilo.hilo WHERE collection = 'changing'}), '>=', (sort { $b <=> $a } @numbers)[0], 'the hub is above all of them');

#
# The extension is created again
#
# What was leased before is in the pool, and of no use.
$member->safe_psql('postgres', 'ALTER SYSTEM SET hilo.hub = ids_hub');
$member->reload;
$member->poll_query_until('postgres', 'SHOW hilo.hub', 'ids_hub') or die 'not reloaded';
my $again = session($member);
my $first = $again->query(q{SELECT hilo_next_number('again')});
$again->query('DROP EXTENSION hilo CASCADE; CREATE EXTENSION hilo; SET statement_timeout = 20000');
cmp_ok($again->query(q{SELECT hilo_next_number('again')}), '>', $first, 'a member whose extension was created again leases anew');
$again->query(q{BEGIN; DROP EXTENSION hilo CASCADE; CREATE EXTENSION hilo; SELECT hilo_next_number('rolled back'); ROLLBACK});
is($again->error_of(q{SELECT hilo_next_number('rolled back')}), '', 'also after a rollback');
$again->query(q{BEGIN; SELECT hilo_next_number('locks')});
is($again->query(q{SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'pg_extension'::regclass}), 0, 'and no lock is left of that');
$again->query('COMMIT');

for ($s, $in_open, $again, @two, @many)
{
	$_->hang_up;
}
$proxy->stop;
$member->stop;
$hub->stop;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $member, $hub;
done_testing();
