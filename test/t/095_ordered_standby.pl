# Ordered collections on a standby: a reader that waits for the lsn of a horizon reads every row once there, too, though the
# standby lags; and after a promotion the epoch is another one, as numbers may have been drawn that the standby never had.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "shared_preload_libraries = 'hilo'\nmax_connections = 30\n");
$primary->start;
$primary->safe_psql('postgres', <<'SQL');
SET client_min_messages = warning;
CREATE EXTENSION hilo;
CREATE TABLE events (id bigint PRIMARY KEY DEFAULT hilo_next_number('events'));
SELECT hilo.configure('events', ordered => true);
CREATE PROCEDURE write(transactions int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. transactions LOOP
		INSERT INTO events SELECT FROM generate_series(1, 5);
		PERFORM pg_sleep(random() ^ 3 * 0.05);
		IF random() < 0.2 THEN ROLLBACK; ELSE COMMIT; END IF;
	END LOOP;
END $$;
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "recovery_min_apply_delay = '30ms'\n");
$standby->start;

my $asker = session($primary);
my $reader = session($standby);
is($reader->error_of(q{SELECT hilo.horizon('events')}), '25006', 'the horizon is known to the primary only');
is($reader->error_of(q{SELECT hilo_next_number('events')}), '25006', 'and numbers are drawn there');

# Read above $last up to a horizon: at once, or when the standby has replayed its lsn.
sub read_up_to
{
	my ($last, $horizon, $lsn) = @_;

	wait_until('it is replayed', sub { $reader->query("SELECT pg_last_wal_replay_lsn() >= '$lsn'") eq 't' }) if $lsn;
	return scalar $reader->query("SELECT count(*) FROM events WHERE id > $last AND id <= $horizon");
}

my @writers = map { session($primary) } 1 .. 8;
$_->start('CALL write(150)') for @writers;
my $writing = sub { $asker->query(q{SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'CALL write%' AND state = 'active'}) > 0 };
my ($last, $read, $too_early, $batches, $lsn, $epoch) = (0, 0, 0, 0);
wait_until('they write', $writing);
while ($writing->())
{
	my $horizon;

	($horizon, $epoch, $lsn) = split /\|/, $asker->query(q{SELECT * FROM hilo.horizon('events')});
	next if $horizon == $last;
	$too_early += read_up_to($last, $horizon);
	$read += read_up_to($last, $horizon, $lsn);
	$last = $horizon;
	$batches++;
}
$_->finish for @writers;
my $horizon;
($horizon, $epoch, $lsn) = split /\|/, $asker->query(q{SELECT * FROM hilo.horizon('events')});
$too_early += read_up_to($last, $horizon);
$read += read_up_to($last, $horizon, $lsn);
my $count = $asker->query('SELECT count(*) FROM events');
note "$batches batches, $read of $count rows read, $too_early without waiting";
is($read, $count, 'every row is read once');
cmp_ok($too_early, '<', $count, 'but not without waiting for the lsn');

# While nothing is written, a standby that has replayed the lsn has not to wait for another record.
($horizon, $epoch, $lsn) = split /\|/, $asker->query(q{SELECT * FROM hilo.horizon('events')});
is(read_up_to(0, $horizon, $lsn), $count, 'an idle primary');

# At the start of a segment of WAL the next record stands behind a header, which is never replayed alone.
$asker->query(q{SELECT pg_switch_wal(); SELECT hilo.configure('page', ordered => true)});
($horizon, undef, $lsn) = split /\|/, $asker->query(q{SELECT * FROM hilo.horizon('page')});
is(read_up_to(0, 0, $lsn), 0, 'a new segment of WAL');

#
# Promotion
#
my $open = session($primary);
$open->query('BEGIN; INSERT INTO events DEFAULT VALUES');
$asker->query(q{INSERT INTO events SELECT FROM generate_series(1, 10)});
($horizon, $epoch, $lsn) = split /\|/, $asker->query(q{SELECT * FROM hilo.horizon('events')});
$primary->wait_for_catchup($standby, 'replay', $lsn);
$asker->finish;
$primary->stop('immediate');
$open->hang_up;
my $before = session($standby);
$before->query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
$standby->promote;
is($before->query(q{SELECT horizon FROM hilo.horizon('events')}), 0, 'by a snapshot of before the promotion, transactions of before are running');
$before->finish;
$asker = session($standby);
my ($new_horizon, $new_epoch) = split /\|/, $asker->query(q{SELECT * FROM hilo.horizon('events')});
cmp_ok($new_horizon, '>=', $horizon, 'a horizon above what was told');
cmp_ok($asker->query(q{INSERT INTO events VALUES (DEFAULT) RETURNING id}), '>', $new_horizon, 'numbers above it');
isnt($asker->query(q{SELECT epoch FROM hilo.horizon('events')}), $epoch, 'and, once one is drawn, another epoch');
$new_epoch = $asker->query(q{SELECT epoch FROM hilo.horizon('events')});
$asker->query(q{INSERT INTO events SELECT FROM generate_series(1, 1000)});
is($asker->query(q{SELECT epoch FROM hilo.horizon('events')}), $new_epoch, 'which stays');

$_->finish for $asker, $reader;
$standby->stop;
done_testing();
