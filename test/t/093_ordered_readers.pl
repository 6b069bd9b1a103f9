# Ordered collections under load: readers that go up to the horizon read every committed row once, in order, beside writers
# that commit late, roll back, choose ids by hand, are prepared and are killed, beside a transaction that writes for long, seeds
# and collections that take its room in shared memory, and over kill -9 of the server; the same reader on a
# sequence misses rows.  And no draw that begins after another has returned gets a smaller number.
#
# HILO_ORDERED_ROWS is about how many rows are written, HILO_ORDERED_KILLS how often the server is killed in that.  The long form,
# 10,000,000 and 20, wrote 10,366,105 rows: no reader missed one, and the one on a sequence missed 174,542.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use IPC::Run ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $ROWS = $ENV{HILO_ORDERED_ROWS} // 20_000;
my $KILLS = $ENV{HILO_ORDERED_KILLS} // 1;
my $WRITERS = 16;
my $TIMEOUT = 7200;
my $SIZE = $ROWS > 1_000_000 ? 1000 : 60;    # of a transaction, at most
my $LONG = $ROWS > 1_000_000 ? 5 : 0.5;      # seconds that the longest transaction takes, at most

my $node = PostgreSQL::Test::Cluster->new('readers');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'hilo'
hilo.pool_size = 64
max_connections = 60
max_prepared_transactions = 20
log_statement = none
log_min_messages = fatal
log_min_error_statement = panic
log_connections = off
log_disconnections = off
max_wal_size = 2GB
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL' =~ s/SIZE/$SIZE/r);
CREATE EXTENSION hilo;
SET client_min_messages = warning;

--
-- Writers: rows with a number of each kind, in transactions that end in every way
--
CREATE SEQUENCE events_seq;
CREATE TABLE events (id bigint PRIMARY KEY, seq bigint DEFAULT nextval('events_seq'), writer int);
CREATE INDEX ON events (seq);
SELECT hilo.attach('events', collection => 'events'), hilo.configure('events', ordered => true);
CREATE PROCEDURE write(w int, transactions int) LANGUAGE plpgsql AS $$
DECLARE
	kind float8;
BEGIN
	FOR i IN 1 .. transactions LOOP
		kind := random();
		INSERT INTO events (writer) SELECT w FROM generate_series(1, 1 + (random() * SIZE)::int);
		IF random() < 0.2 THEN
			BEGIN
				INSERT INTO events (writer) SELECT w FROM generate_series(1, 5);
				IF random() < 0.5 THEN
					INSERT INTO events (id, writer) VALUES (hilo_last_number('events') + 3, w);
				END IF;
				IF random() < 0.5 THEN
					RAISE EXCEPTION 'back to the savepoint';
				END IF;
			EXCEPTION WHEN raise_exception OR unique_violation THEN NULL;
			END;
			INSERT INTO events (writer) VALUES (w);
		END IF;
		IF random() < 0.3 THEN
			PERFORM pg_sleep(random() ^ 3 * 0.1);
		END IF;
		IF kind < 0.2 THEN
			ROLLBACK;
		ELSIF kind < 0.21 THEN
			PERFORM pg_terminate_backend(pg_backend_pid());
			PERFORM pg_sleep(10);
		ELSE
			COMMIT;
		END IF;
	END LOOP;
END $$;

--
-- Readers: what they have read, by batches from above low up to high
--
CREATE TABLE place (kind text PRIMARY KEY, last bigint NOT NULL);
CREATE TABLE batch (i bigserial, kind text, low bigint, high bigint, rows bigint, total numeric);
CREATE TABLE stop ();
INSERT INTO place SELECT unnest('{two statements,one statement,repeatable read,cursor,sequence}'::text[]), 0;

CREATE PROCEDURE note(k text, low bigint, high bigint, rows bigint, total numeric) LANGUAGE plpgsql AS $$
BEGIN
	-- What fails here is read again: it has not been used.
	IF high > low THEN
		INSERT INTO batch (kind, low, high, rows, total) VALUES (k, low, high, rows, total);
		UPDATE place SET last = high WHERE kind = k;
	END IF;
END $$;

CREATE PROCEDURE read_once(k text) LANGUAGE plpgsql AS $$
DECLARE
	old bigint;
	h bigint;
	n bigint;
	t numeric;
	e bigint;
	late refcursor;
BEGIN
	SELECT last INTO old FROM place WHERE kind = k;
	IF k = 'two statements' THEN
		SELECT horizon INTO h FROM hilo.horizon('events');
		SELECT count(*), sum(id) INTO n, t FROM events WHERE id > old AND id <= h;
		CALL note(k, old, h, n, t);
	ELSIF k = 'one statement' THEN
		SELECT max(id), count(*), sum(id) INTO h, n, t FROM events
			WHERE id > old AND id <= (SELECT horizon FROM hilo.horizon('events'));
		CALL note(k, old, h, n, t);
	ELSIF k = 'repeatable read' THEN
		FOR i IN 1 .. 4 LOOP
			SELECT horizon INTO h FROM hilo.horizon('events');
			SELECT count(*), sum(id) INTO n, t FROM events WHERE id > old AND id <= h;
			CALL note(k, old, h, n, t);
			old := greatest(old, h);
			PERFORM pg_sleep(random() * 0.05);
		END LOOP;
	ELSIF k = 'cursor' THEN
		OPEN late NO SCROLL FOR SELECT id FROM events
			WHERE id > old AND id <= (SELECT horizon FROM hilo.horizon('events')) ORDER BY id;
		PERFORM pg_sleep(random() * 0.05);
		h := old;
		n := 0;
		t := 0;
		LOOP
			FETCH late INTO e;
			EXIT WHEN NOT FOUND;
			IF e <= h THEN
				RAISE EXCEPTION '% comes after %', e, h;
			END IF;
			h := e;
			n := n + 1;
			t := t + e;
		END LOOP;
		CLOSE late;
		CALL note(k, old, h, n, t);
	ELSE
		SELECT max(seq), count(*), sum(seq) INTO h, n, t FROM events WHERE seq > old;
		CALL note(k, old, h, n, t);
	END IF;
END $$;

CREATE PROCEDURE read(k text) LANGUAGE plpgsql AS $$
DECLARE
	stopped bool := false;
BEGIN
	WHILE NOT stopped LOOP
		stopped := EXISTS (SELECT FROM stop);
		COMMIT;
		CALL read_once(k);
		COMMIT;
		PERFORM pg_sleep(random() * 0.02);
		COMMIT;
	END LOOP;
END $$;
SQL

my $connection = $node->connstr('postgres');
my $psql = $node->installed_command('psql');
my $stopped = PostgreSQL::Test::Utils::tempdir . '/stopped';

# Run a statement again and again, over broken connections, until told to stop, or it succeeds if $once.
sub start_client
{
	my ($sql, $once) = @_;
	local $ENV{PGOPTIONS} = '-c default_transaction_isolation=repeatable\\ read' if $sql =~ /repeatable read/;
	my $loop = q{end=$(($(date +%s) + $6)); while [ $(date +%s) -lt $end ] && { [ ! -e "$1" ] || [ -n "$4" ]; }; do printf '%s\n;\n' "$5" | "$2" -XAtq -d "$3" -v ON_ERROR_STOP=1 && [ -n "$4" ] && exit 0; sleep 0.02; done};

	return IPC::Run::start([ 'sh', '-c', $loop, 'client', $stopped, $psql, $connection, $once ? 'once' : '', $sql, $TIMEOUT ],
		'<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
}

# How many rows were written, committed or not; 0 while the server is down.
sub progress
{
	my $out = '';

	IPC::Run::run([ $psql, '-XAtq', '-d', $connection, '-c', q{SELECT last_value FROM events_seq} ],
		'<', '/dev/null', '>', \$out, '2>', '/dev/null');
	return $out =~ /(\d+)/ ? $1 : 0;
}

# One transaction that runs for seconds; some that are prepared, and end later; seeds upwards, some of them forced (a forced one
# downwards would have readers begin anew); and other ordered
# collections, of which there are more than there is room for, so that they take that of the events where these are idle.
my $long = q{BEGIN; INSERT INTO events (writer) SELECT 100 FROM generate_series(1, 10); SELECT pg_sleep(LONG * random()); INSERT INTO events (writer) VALUES (100); COMMIT} =~ s/LONG/$LONG/r;
my $prepare = q{BEGIN; INSERT INTO events (writer) SELECT 101 FROM generate_series(1, 3); SELECT format('PREPARE TRANSACTION %L', 'p' || pg_backend_pid() || clock_timestamp()) \gexec
SELECT pg_sleep(random() * 0.3); SELECT format(CASE WHEN random() < 0.7 THEN 'COMMIT' ELSE 'ROLLBACK' END || ' PREPARED %L', gid) FROM pg_prepared_xacts \gexec};
my $seed = q{SELECT hilo.seed('events', max + 100000000, random() < 0.5) FROM hilo.hilo WHERE collection = 'events'; SELECT pg_sleep(random())};
my $crowd = q{SELECT hilo_next_number('crowd' || (random() * 20)::int); SELECT pg_sleep(random() * 0.1)};
$node->safe_psql('postgres', q{SET client_min_messages = warning; SELECT hilo.configure('crowd' || i, ordered => true) FROM generate_series(0, 20) i});

my @writers = map { start_client($_) } map({ "CALL write($_, 50)" } 1 .. $WRITERS), $long, $prepare, $prepare, $seed, $crowd;
my @readers = map { start_client("CALL read('$_')", 1) } 'two statements', 'one statement', 'repeatable read', 'cursor', 'sequence';
for my $kill (1 .. $KILLS + 1)
{
	my $end = time + $TIMEOUT;

	# About a quarter of the numbers is rolled back.
	while (progress() < $ROWS * 1.3 * $kill / ($KILLS + 1))
	{
		die 'too slow' if time > $end;
		sleep 0.2;
	}
	last if $kill > $KILLS;
	kill_server($node);
	$node->start;
}
append_to_file($stopped, '');
$_->finish for @writers;
$node->safe_psql('postgres', q{SELECT format('COMMIT PREPARED %L', gid) FROM pg_prepared_xacts \gexec});
$node->safe_psql('postgres', 'ALTER TABLE stop ADD i int; INSERT INTO stop VALUES (1)');
$_->finish for @readers;

my $count = $node->safe_psql('postgres', 'SELECT count(*) FROM events');
note "$count rows, $KILLS times kill -9";
cmp_ok($count, '>', $ROWS / 2, 'rows were written');
for my $kind ('two statements', 'one statement', 'repeatable read', 'cursor', 'sequence')
{
	my $number = $kind eq 'sequence' ? 'seq' : 'id';
	my ($batches, $broken, $wrong, $read, $missed) = split /\|/, $node->safe_psql('postgres', <<"SQL");
WITH b AS (SELECT *, lag(high, 1, 0::bigint) OVER (ORDER BY i) previous FROM batch WHERE kind = '$kind'),
	c AS (SELECT b.*, (SELECT count(*) FROM events WHERE $number > low AND $number <= high) there,
		(SELECT sum($number) FROM events WHERE $number > low AND $number <= high) sum_there FROM b)
SELECT count(*), count(*) FILTER (WHERE low <> previous), count(*) FILTER (WHERE rows <> there OR total IS DISTINCT FROM sum_there),
	sum(rows), (SELECT count(*) FROM events) - sum(rows) FROM c
SQL
	note "$kind: $batches batches, $read rows read, $missed missed";
	cmp_ok($batches, '>', 1, "$kind: it reads while others write");
	is($broken, 0, "$kind: each batch begins where the one before ended");
	if ($kind eq 'sequence')
	{
		cmp_ok($missed, '>', 0, "$kind: rows are missed");
		next;
	}
	is("$wrong $missed", '0 0', "$kind: every row is read once");
}

#
# Order, by a clock beside
#
my $CLOCKED = 16;
$node->safe_psql('postgres', <<'SQL');
SET client_min_messages = warning;
CREATE SEQUENCE clock;
CREATE UNLOGGED TABLE clocked (before bigint, number bigint, after bigint);
SELECT hilo.configure('clocked', ordered => true, max_range_size => 100);
SQL
my @clients = map { start_client(q{INSERT INTO clocked SELECT nextval('clock'), hilo_next_number('clocked'), nextval('clock') FROM generate_series(1, 2000)}, 1) } 1 .. $CLOCKED;
$_->finish for @clients;
is($node->safe_psql('postgres', <<'SQL'), $CLOCKED * 2000 . '|' . $CLOCKED * 2000 . '|0', 'a draw that begins after another has returned gets a higher number');
SELECT count(*), count(DISTINCT number), count(*) FILTER (WHERE is_before AND number < highest)
FROM (SELECT is_before, number, max(number) FILTER (WHERE NOT is_before) OVER (ORDER BY clock) highest
	FROM (SELECT before clock, number, true is_before FROM clocked UNION ALL SELECT after, number, false FROM clocked) a) b WHERE is_before
SQL
is($node->safe_psql('postgres', q{SELECT max(number) FROM clocked}), $CLOCKED * 2000, 'and none is left out');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|leak|still referenced|lock .* (?:already|not) held|own a lock/,
	'nothing was left behind');
done_testing();
