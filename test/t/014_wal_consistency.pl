# Replay makes of a claim's WAL the very pages that the claim left, and heap and index stay whole under load.
use HiloTest;

my $COLLECTIONS = 200;
my $dir = PostgreSQL::Test::Utils::tempdir;

# The standby compares each page it changes with an image that comes along.
# Hint bits count for generic records, and are not logged; rows that are
# frozen, as those of hilo.hilo are from the start, have none that change.
my $primary = server('primary', <<'SETTINGS', 'CREATE EXTENSION hilo', allows_streaming => 1);
wal_consistency_checking = 'generic,heap,btree'
synchronous_commit = off
autovacuum = off
max_connections = 30
shared_buffers = 32MB
log_statement = none
hilo.max_range_size = 1048576
SETTINGS
my $standby = standby_of($primary, 'standby');
$standby->start;

# Wait until the standby has replayed everything, or given up.
sub replayed
{
	my $lsn = $primary->lsn('insert');

	return wait_until("the standby has replayed $lsn", sub {
		return 'inconsistent' if slurp_file($standby->logfile) =~ /inconsistent page/;
		return $primary->safe_psql('postgres', "SELECT 'consistent' FROM pg_stat_replication WHERE replay_lsn >= '$lsn'");
	});
}

sub table_of { return $_[0]->safe_psql('postgres', 'SELECT * FROM hilo.hilo ORDER BY collection'); }

# Run a script of pgbench in several sessions at once.
sub load
{
	my ($name, $script) = @_;

	append_to_file("$dir/$name.sql", $script);
	command_ok([ qw(pgbench -n -c 6 -j 2 -t 150 -f), "$dir/$name.sql", $primary->connstr('postgres') ], "load: $name");
	return;
}

# amcheck: no rows are good news.
sub check_whole
{
	my ($when) = @_;

	is($primary->safe_psql('postgres', "SELECT * FROM verify_heapam('hilo.hilo', check_toast => true)"), '', "$when: the heap is whole");
	is(($primary->psql('postgres', "SELECT bt_index_check('hilo.hilo_collection_idx', true)"))[0], 0, "$when: the index is whole and complete");
	return;
}

my $start = $primary->lsn('insert');

# All sessions create the same collections, in random order, at the same time;
# half of them are rolled back.
load('create', <<"SCRIPT");
\\set c random(1, $COLLECTIONS)
\\set d random(1, $COLLECTIONS)
\\set commit random(0, 1)
BEGIN;
SELECT hilo_next_number('collection ' || :c);
SAVEPOINT s;
SELECT hilo_next('collection ' || :d);
ROLLBACK TO s;
\\if :commit
COMMIT;
\\else
ROLLBACK;
\\endif
SCRIPT
# The first draw of the same name, by all of them at the same moment.
load('race', <<'SCRIPT');
BEGIN;
SELECT hilo_next_number('race ' || floor(extract(epoch FROM clock_timestamp()) * 1000));
ROLLBACK;
SCRIPT
$primary->safe_psql('postgres',
	"BEGIN; SELECT hilo_next_number('collection ' || c) FROM generate_series(1, $COLLECTIONS) c; ROLLBACK");
is( $primary->safe_psql('postgres', <<'SQL'), "$COLLECTIONS|0", 'one row a collection, whatever was rolled back');
SET enable_indexscan = off;
SET enable_bitmapscan = off;
SET enable_indexonlyscan = off;
SELECT count(*) FILTER (WHERE collection LIKE 'collection %'),
	count(*) - count(DISTINCT collection)
FROM hilo.hilo;
SQL
$primary->safe_psql('postgres', 'CREATE EXTENSION amcheck');
check_whole('after creation');

# Every kind of change of a row.  A seed makes what is in the pool worthless, so that the next numbers are claimed.
load('change', <<"SCRIPT");
\\set c random(1, 20)
\\set size random(1, 50)
\\set seed random(1, 100000)
BEGIN;
SELECT hilo.seed('collection ' || :c, :seed);
SELECT hilo_next_number('collection ' || :c);
SELECT hilo.seed('collection ' || :c, :seed + 100000);
SELECT hilo_reserve('collection ' || :c, :size);
SELECT low AS low, high AS high, claim AS claim FROM hilo.next_range('collection ' || :c, :size) \\gset
SELECT hilo.return_range('collection ' || :c, :low, :high, :claim);
SELECT hilo.next_hi('collection ' || :c, :size);
SELECT hilo.seed('collection ' || :c, :seed + 200000);
SELECT hilo_next_number('collection ' || :c);
SELECT hilo.drop('collection ' || :c);
SELECT hilo_next_number('collection ' || :c);
ROLLBACK;
SCRIPT
check_whole('after changes');

# The table as it is after maintenance.
$primary->safe_psql('postgres', 'VACUUM (FREEZE) hilo.hilo');
load('vacuumed', <<"SCRIPT");
\\set c random(1, 2 * $COLLECTIONS)
SELECT hilo_next_number('collection ' || :c);
SCRIPT
check_whole('after VACUUM');
is($primary->safe_psql('postgres', 'SELECT count(*) FROM hilo.hilo WHERE ahead <> 0'), 0, 'nothing is logged ahead, or pages would differ');

unless (is(replayed(), 'consistent', 'the standby found no inconsistent page'))
{
	# It has ended itself.
	diag(grep { /inconsistent|CONTEXT/ } split /^/, slurp_file($standby->logfile));
	$standby->_update_pid(-1);
	done_testing();
	exit 1;
}
is(table_of($standby), table_of($primary), 'it has the same rows');
is( $standby->safe_psql('postgres', <<'SQL'), 't', 'its index finds them');
SET enable_seqscan = off;
SELECT bool_and(EXISTS (SELECT FROM hilo.hilo h WHERE h.collection = 'collection ' || c))
FROM generate_series(1, 200) c;
SQL
# Each change is an image of its page, which is put into place as it is; of what the server itself changes
# there, images are compared.
my ($changes) = run_command([ 'pg_waldump', '-r', 'XLOG', '-s', $start, '-p', $primary->data_dir . '/pg_wal' ]);
cmp_ok(scalar(() = $changes =~ /desc: FPI /mg), '>', 6 * 150 * 9, 'many changes were replayed');

# Was anything compared at all?  The images are in the WAL.
my ($records) = run_command([ 'pg_waldump', '-b', '-r', 'Heap', '-n', 20, '-s', $start, '-p', $primary->data_dir . '/pg_wal' ]);
cmp_ok(scalar(() = $records =~ /for WAL verification/g), '>', 0, 'there are images to compare with');

$standby->promote;
cmp_ok($standby->safe_psql('postgres', "SELECT hilo_next_number('collection 1')"), '>', 0, 'the standby is fit for promotion');
$standby->stop;
$primary->stop;

done_testing();
