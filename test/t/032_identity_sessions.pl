# Promises 1 and 3 for identities, free identities and server-side ids: sixteen sessions at once, on new names, and against documents inserted by hand.
use HiloTest;

my $SESSIONS = 16;

my $node = server('sessions', "max_connections = 60\nautovacuum = off\nlog_statement = none\n", q{
	CREATE EXTENSION hilo;
	CREATE UNLOGGED TABLE drawn (session int, name text, number bigint, nth int);
});

# Run statements in $count sessions that start at the same moment, each what $statement->($session) says; the errors.
sub draw_at_once { my ($count, $statement) = @_; return at_once(map { [ $node, $statement->($_) ] } 1 .. $count); }

sub sql { return $node->safe_psql('postgres', $_[0]); }

#
# An identity counts without gaps
#

# Half of the sessions in one statement, half in one transaction a draw.
is( draw_at_once($SESSIONS, sub {
		my ($session) = @_;
		my $insert = "INSERT INTO drawn SELECT $session, 'n', next_identity_for('n')";
		return $session % 2
		  ? "$insert, i FROM generate_series(1, 500) i;"
		  : join "\n", map { "$insert, $_;" } 1 .. 500;
	}),
	'',
	"$SESSIONS sessions draw 500 numbers each of a new identity");
is( sql(q{SELECT count(*), count(DISTINCT number), min(number), max(number) FROM drawn WHERE name = 'n'}),
	'8000|8000|1|8000', 'exactly 1..8000');
is( sql(q{SELECT count(*) FROM (SELECT number < lag(number) OVER (PARTITION BY session ORDER BY nth) AS down FROM drawn WHERE name = 'n') d WHERE down}),
	0, 'each session counts up');
is( sql(q{SELECT count(*) > 100 FROM (SELECT session <> lag(session) OVER (ORDER BY number) AS other FROM drawn WHERE name = 'n') d WHERE other}),
	't', 'they took turns');
is(sql(q{SELECT value FROM hilo.identities WHERE name = 'n'}), 8000, 'the identity stands at 8000');

# What is rolled back leaves gaps, and no session waits for it or fails: in all
# isolation levels.
is( draw_at_once($SESSIONS, sub {
		my ($session) = @_;
		my $level = ('READ COMMITTED', 'REPEATABLE READ', 'SERIALIZABLE')[ $session % 3 ];
		my $end = $session % 2 ? 'COMMIT' : 'ROLLBACK';
		return join "\n", map { qq{
			BEGIN ISOLATION LEVEL $level;
			INSERT INTO drawn SELECT $session, 'r', next_identity_for('r'), $_;
			$end;} } 1 .. 100;
	}),
	'',
	'the same in transactions of all levels, half of them rolled back: no error');
is( sql(q{SELECT count(*), count(DISTINCT number), (SELECT value FROM hilo.identities WHERE name = 'r') FROM drawn WHERE name = 'r'}),
	'800|800|1600', 'gaps, no duplicates');

#
# Free identities against documents that come by hand
#

# A drawer notes when it began to look; whoever inserts by hand, when the
# document was there.  A number that is returned must not be that of a document
# that was there before the look; it may be that of a later one, and only then
# may its insert fail.
sql(q{
	CREATE TABLE users (id text COLLATE "C" PRIMARY KEY);
	INSERT INTO users SELECT 'users/' || i FROM generate_series(1, 500) i;
	CREATE UNLOGGED TABLE returned (session int, id text, began timestamptz, inserted boolean);
	CREATE UNLOGGED TABLE by_hand (id text, was_there timestamptz);

	CREATE PROCEDURE draw_free(session int, n int) LANGUAGE plpgsql AS $$
	DECLARE
		id text;
		began timestamptz;
	BEGIN
		FOR i IN 1 .. n LOOP
			began := clock_timestamp();
			id := next_identity_free('users/');
			BEGIN
				INSERT INTO users VALUES (id);
				INSERT INTO returned VALUES (session, id, began, true);
			EXCEPTION WHEN unique_violation THEN
				INSERT INTO returned VALUES (session, id, began, false);
			END;
			COMMIT;
		END LOOP;
	END $$;

	CREATE PROCEDURE insert_by_hand(seed float, n int) LANGUAGE plpgsql AS $$
	DECLARE
		new_id text;
	BEGIN
		PERFORM setseed(seed);
		FOR i IN 1 .. n LOOP
			/* A little ahead of the others, who are to run into it. */
			SELECT 'users/' || value + (random() * 40)::int INTO new_id
				FROM hilo.identities WHERE name = 'users';
			INSERT INTO users VALUES (new_id) ON CONFLICT DO NOTHING;
			IF FOUND THEN
				/* For others it is there once it is committed. */
				COMMIT;
				INSERT INTO by_hand VALUES (new_id, clock_timestamp());
			END IF;
			COMMIT;
		END LOOP;
	END $$;
	SELECT seed_identity_for('users', 0);
});
is( draw_at_once($SESSIONS + 4, sub {
		my ($session) = @_;
		return $session <= $SESSIONS
		  ? "CALL draw_free($session, 200);"
		  : "CALL insert_by_hand($session / 100.0, 1500);";
	}),
	'',
	"$SESSIONS sessions draw 200 free identities each, while 4 others insert by hand");
is( sql(q{SELECT count(*), count(DISTINCT id), count(DISTINCT session) FROM returned}),
	'3200|3200|16', 'none was returned twice');
is( sql(q{SELECT count(*) FROM returned r JOIN by_hand h USING (id) WHERE h.was_there < r.began}),
	0, 'none was that of a document that was there before');
is( sql(q{SELECT count(*) FROM returned r WHERE NOT inserted AND NOT EXISTS (SELECT FROM by_hand h WHERE h.id = r.id)}),
	0, 'each could be inserted, but for those that were taken by hand afterwards');
is(sql(q{SELECT count(*) FROM returned WHERE hilo_number(id) <= 500}), 0, 'none is among the old ones');
is( sql(q{SELECT count(*) > 100 FROM by_hand h
			WHERE hilo_number(id) < (SELECT max(hilo_number(id)) FROM returned)
			AND NOT EXISTS (SELECT FROM returned r WHERE r.id = h.id)}),
	't', 'many documents by hand were stepped over');
note(sql(q{SELECT 'by hand: ' || (SELECT count(*) FROM by_hand) || ', taken after they were returned: ' || (SELECT count(*) FROM returned WHERE NOT inserted)}));

# A document of an open transaction is passed, and not waited for.
my $open = session($node);
my $last = sql(q{SELECT value FROM hilo.identities WHERE name = 'users'});
my ($one, $two) = map { 'users/' . ($last + $_ + 100) } 1, 2;
sql(qq{SELECT seed_identity_for('users', $last + 100)});
$open->query_safe(qq{BEGIN; INSERT INTO users VALUES ('$one') ON CONFLICT DO NOTHING;});
is(sql(q{SET lock_timeout = '10s'; SELECT next_identity_free('users/')}),
	$two, 'a document of an open transaction is not waited for');
is( sql(qq{BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) > 0 FROM users; SELECT next_identity_free('users/'); COMMIT;}),
	"t\n" . $two =~ s/(\d+)/$1 + 1/er, 'nor in REPEATABLE READ');
$open->query_safe('ROLLBACK');
$open->finish;

#
# Server-side ids: one count for all prefixes
#
is( draw_at_once($SESSIONS, sub {
		my ($session) = @_;
		return join "\n", map {
			my $prefix = ('a/', 'b/', 'a/b/', 'companies/')[ ($_ + $session) % 4 ];
			"INSERT INTO drawn SELECT $session, '$prefix', hilo_number(next_server_side_id('$prefix')), $_;"
		} 1 .. 300;
	}),
	'',
	"$SESSIONS sessions draw 300 server-side ids each of 4 prefixes");
my $server_side = q{(SELECT * FROM drawn WHERE name LIKE '%/') s};
is( sql("SELECT count(*), count(DISTINCT number), min(number), max(number), count(DISTINCT name) FROM $server_side"),
	'4800|4800|1|4800|4', 'all numbers are distinct');
is( sql("SELECT count(*) FROM (SELECT number < lag(number) OVER (PARTITION BY session ORDER BY nth) AS down FROM $server_side) d WHERE down"),
	0, 'they increase in each session, whatever the prefix');
is( sql("SELECT count(*) > 100 FROM (SELECT session <> lag(session) OVER (ORDER BY number) AS other FROM $server_side) d WHERE other"),
	't', 'the sessions took turns');

# A document that is updated all the time, and never deleted, is always taken:
# its row is then found at other places than the index said a moment ago.  An
# old snapshot keeps the dead versions.
sql('CREATE TABLE busy (id text PRIMARY KEY, v int);
	CREATE INDEX ON busy (v);
	INSERT INTO busy VALUES (\'busy/1\', 0)');
my $old = session($node);
$old->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM busy');
my $update = PostgreSQL::Test::Utils::tempdir . '/update.sql';
append_to_file($update, "UPDATE busy SET v = v + 1 WHERE id = 'busy/1';\n");
my $updates = IPC::Run::start(
	[ 'pgbench', '-n', '-T', '60', '-f', $update, $node->connstr('postgres') ],
	'<', '/dev/null', '>', '/dev/null', '2>', '/dev/null');
$node->poll_query_until('postgres', 'SELECT v > 10 FROM busy') or die 'no updates';
my $wrong = 0;
for (1 .. 20)
{
	$wrong += sql(q{SET synchronous_commit = off;
		SELECT count(*) FILTER (WHERE value = 1) FROM generate_series(1, 200) g,
		LATERAL (SELECT seed_identity_for('busy', 0 * g, true)) s,
		LATERAL (SELECT value FROM next_identity_free_for(left('busy' || s, 4))) f});
}
is($wrong, 0, 'a document that is being updated is taken');
$updates->signal('TERM');
$updates->finish;
$old->finish;

$node->stop;
done_testing();
