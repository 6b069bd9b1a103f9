# Readers miss no row: after CALL hilo.horizon() every row at or below the horizon is visible, or will never be, whatever writers do, and over crashes and promotions.
use HiloTest;

# HILO_SECONDS chooses how long the random writers write.
my $SECONDS = $ENV{HILO_SECONDS} // 12;
my $WRITERS = 8;
my $CALL = "CALL hilo.horizon('events_id_seq')";
my $dir = PostgreSQL::Test::Utils::tempdir;

chmod 0755, $dir;
my $node = server('horizon', "max_connections = 60\nmax_prepared_transactions = 20\nwal_writer_delay = 10s\nautovacuum = off\nlog_statement = none\n", <<'SQL', allows_streaming => 1);
SET client_min_messages = warning;
CREATE EXTENSION hilo;
CREATE TABLE events (id bigserial PRIMARY KEY, payload text);
CREATE TABLE attached (id bigserial PRIMARY KEY, payload text);
SELECT hilo.attach('attached');
CREATE TABLE identity (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, payload text);
CREATE SEQUENCE late;
CREATE TABLE by_hand (id bigint PRIMARY KEY, payload text);
SQL

# Wait until a session waits for the end of a transaction, or another one.
sub wait_for_lock { return $_[0]->waits_for($node, 'Lock'); }

#
# One by one
#
my ($writer, $other, $reader) = map { session($node) } 1 .. 3;
$writer->query_safe("BEGIN; INSERT INTO events (payload) VALUES ('early')");
$other->query_safe("INSERT INTO events (payload) VALUES ('late')");
is($reader->query('SELECT max(id) FROM events'), 2, 'a reader by "id > last" sees 2, and never 1');
is($reader->query('SELECT count(*) FROM events WHERE xmin::text::bigint < txid_snapshot_xmin(txid_current_snapshot())'), 0,
	'one that waits for the xmin of its snapshot sees nothing yet');
is($reader->error_of("SET lock_timeout = '50ms'; $CALL"), '55P03', 'lock_timeout ends the wait for the writer');
$reader->query_safe('SET lock_timeout = 0');
$reader->start("$CALL;\nSELECT string_agg(id::text, ' ' ORDER BY id) FROM events WHERE id <= 2");
wait_for_lock($reader);
$other->query_safe("INSERT INTO events (payload) VALUES ('drawn after the horizon was read')");
$writer->query_safe('COMMIT');
is($reader->result, "2\n1 2", 'the horizon waits for the writer: both rows are there');
is($reader->query($CALL), 3, 'nobody writes: the horizon is the last number');

$writer->query_safe("BEGIN; SAVEPOINT a; INSERT INTO events (payload) VALUES ('gone'); ROLLBACK TO a");
$reader->start($CALL);
wait_for_lock($reader);
$writer->query_safe("INSERT INTO events (payload) VALUES ('after the savepoint'); PREPARE TRANSACTION 'p'");
ok(eval { wait_for_lock($reader); 1 }, 'it waits for what was rolled back to a savepoint, and then prepared');
$other->query_safe("COMMIT PREPARED 'p'");
is($reader->result, 4, 'the horizon: what was drawn when it was called');
is($reader->query('SELECT count(*) FROM events WHERE id = 4'), 0, 'a number that was rolled back is no row');
is($reader->query($CALL), 5, 'and the next one');

# Two readers; and writers that read, which must not wait for each other.
$writer->query_safe("BEGIN; INSERT INTO events (payload) VALUES ('x')");
my @readers = map { session($node) } 1, 2;
$_->start($CALL) foreach @readers;
wait_for_lock($_) foreach @readers;
$writer->query_safe('COMMIT');
is($_->result, 6, 'two readers have the horizon') foreach @readers;
$writer->query_safe("BEGIN; INSERT INTO events (payload) VALUES ('x')");
is($writer->error_of($CALL), '55000', 'who has drawn is refused');
$writer->query_safe('ROLLBACK');

# An ALTER SEQUENCE beside a reader that waits.
$writer->query_safe("BEGIN; INSERT INTO events (payload) VALUES ('x')");
$reader->start($CALL);
wait_for_lock($reader);
$other->start('ALTER SEQUENCE events_id_seq CACHE 20');
wait_for_lock($other);
$writer->query_safe('COMMIT');
$reader->result;
$other->result;
is($reader->error_of($CALL), '55000', 'a sequence with a CACHE has no horizon');
$other->query_safe('ALTER SEQUENCE events_id_seq CACHE 1 INCREMENT BY 1');
$_->finish foreach $writer, $other, $reader, @readers;

#
# Writers of all kinds, and readers
#
my @kinds = (
	"INSERT INTO T (payload) VALUES ('x');",
	"INSERT INTO T (payload) SELECT 'x' FROM generate_series(1, 1 + (random() * 20)::int);",
	"BEGIN; SAVEPOINT a; INSERT INTO T (payload) VALUES ('x'); ROLLBACK TO a; INSERT INTO T (payload) VALUES ('y'); SELECT pg_sleep(random() / 50) \\g /dev/null\nCOMMIT;",
	"BEGIN; INSERT INTO T (payload) VALUES ('x'); SELECT pg_sleep(random() / 20) \\g /dev/null\nROLLBACK;",
	"BEGIN; INSERT INTO T (payload) VALUES ('x'); SELECT pg_sleep(random() / 10) \\g /dev/null\nINSERT INTO T (payload) VALUES ('y'); COMMIT;",
	"COPY T (payload) FROM stdin;\na\nb\n\\.\n");
foreach my $table ('events', 'attached', 'identity')
{
	srand(7);
	my @writers = map {
		my $session = session($node);
		my $me = $_;
		my $script = "SET client_min_messages = error;\n";
		for my $i (1 .. 40 * $SECONDS)
		{
			$script .= $kinds[ rand(@kinds) ] =~ s/\bT\b/$table/gr . "\n";
			$script .= "BEGIN; INSERT INTO $table (payload) VALUES ('p'); PREPARE TRANSACTION '$table $me $i';\nSELECT pg_sleep(random() / 30) \\g /dev/null\nCOMMIT PREPARED '$table $me $i';\n" if $i % 9 == 0;
		}
		append_to_file("$dir/$table.$me.sql", $script);
		IPC::Run::start([ $node->installed_command('psql'), '-XAtq', '-d', $node->connstr('postgres'), '-f', "$dir/$table.$me.sql" ], '<', '/dev/null', '>', '/dev/null', '2>', "$dir/$table.$me.err");
	} 1 .. $WRITERS;
	my ($horizons, $poller) = map { session($node) } 1, 2;
	my ($horizon, $last, %seen, %polled) = (0, 0);
	my $read = sub {
		my $next = $horizons->query("CALL hilo.horizon('${table}_id_seq')");
		$seen{$_} = 1 foreach split /\n/, $horizons->query("SELECT id FROM $table WHERE id > $horizon AND id <= $next");
		$horizon = $next;
	};
	while (grep { $_->pumpable } @writers)
	{
		$read->();
		foreach (split /\n/, $poller->query("SELECT id FROM $table WHERE id > $last ORDER BY id"))
		{
			$polled{$_} = 1;
			$last = $_;
		}
		# A writer that has ended cannot be pumped.
		eval { $_->pump_nb if $_->pumpable; 1 } foreach @writers;
	}
	$_->finish foreach @writers;
	$read->();
	my @rows = split /\n/, $node->safe_psql('postgres', "SELECT id FROM $table");
	is(scalar(grep { !$seen{$_} } @rows), 0, "$table: of " . @rows . ' rows the reader of the horizon misses none');
	cmp_ok(scalar(grep { !$polled{$_} } @rows), '>', 0, "$table: the poller misses " . grep { !$polled{$_} } @rows);
	is(slurp_file("$dir/$table.$_.err"), '', "$table: writer $_ has met no error") foreach 1 .. $WRITERS;
	$_->finish foreach $horizons, $poller;
}

#
# A crash: no row comes at or below a horizon that was shown.  After ALTER SEQUENCE START plain
# draws write no record
#
$node->safe_psql('postgres', q{SELECT nextval('late'); ALTER SEQUENCE late START WITH 5});
my $drawer = session($node);
$drawer->query("BEGIN; SELECT nextval('late') FROM generate_series(1, 9); ROLLBACK");
my $shown = $node->safe_psql('postgres', q{CALL hilo.horizon('late')});
kill_server($node);
$drawer->hang_up;
$node->start;
cmp_ok($node->safe_psql('postgres', q{SELECT nextval('late')}), '>', $shown, 'after a crash, a plain draw goes on above the horizon');

#
# A standby
#
my $standby = standby_of($node, 'standby');
$standby->start;
configure($node, synchronous_standby_names => '*');
is(error_of($standby, 'postgres', $CALL), '25006', 'a standby has no horizon of its own');
$node->safe_psql('postgres', q{INSERT INTO events (payload) VALUES ('x')});
my ($at, $lsn) = split /\n/, $node->safe_psql('postgres', "$CALL; SELECT pg_current_wal_insert_lsn()");
wait_until('the standby has replayed that', sub { $standby->safe_psql('postgres', "SELECT pg_last_wal_replay_lsn() >= '$lsn'") eq 't' });
is($standby->safe_psql('postgres', "SELECT max(id) FROM events WHERE id <= $at"), $at, 'a standby that has replayed the LSN of then shows all rows');
$node->safe_psql('postgres', q{BEGIN; SELECT nextval('late') FROM generate_series(1, 50); ROLLBACK});
$shown = $node->safe_psql('postgres', q{CALL hilo.horizon('late')});
$node->stop('immediate');
$standby->promote;
cmp_ok($standby->safe_psql('postgres', q{SELECT nextval('late')}), '>', $shown, 'a synchronous standby that is promoted goes on above the horizon');
$standby->stop;

done_testing();
