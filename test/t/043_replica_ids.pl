# On a server whose documents came by replication, users| becomes the next opening at the first try, in few look-ups, with one look-up from then on; sixteen sessions at once, beside ids by hand, meet no error.
use HiloTest;
use Time::HiRes qw(time);

my $DOCUMENTS = 1_000_000;
my $SESSIONS = 16;

my ($publisher, $replica) = map { server($_, "max_connections = 60\nautovacuum = off\n", 'CREATE TABLE users (id text COLLATE "C" PRIMARY KEY, document jsonb)',
	allows_streaming => 'logical') } qw(publisher replica);
sub sql { return $replica->safe_psql('postgres', $_[0]); }

$publisher->safe_psql('postgres', "INSERT INTO users SELECT 'users/' || n FROM generate_series(1, $DOCUMENTS) n; CREATE PUBLICATION p FOR TABLE users");
subscribe($replica, $publisher, 'p', 'copy_data');
configure($replica, 'hilo.node_tag' => 'B');
sql(q{
	CREATE EXTENSION hilo;
	CREATE TRIGGER assign BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
});
is(sql('SELECT count(*) FROM users'), $DOCUMENTS, "$DOCUMENTS documents have come");

#
# The next opening
#

# Store a document; its id, how often the index was looked into, how many of its blocks were
# read, and how long it took, in ms.
sub store
{
	my ($id) = @_;
	my $scans = q{SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'users_pkey'};
	my $blocks = q{SELECT idx_blks_read + idx_blks_hit FROM pg_statio_user_indexes WHERE indexrelname = 'users_pkey'};
	my ($before, $blocks_before) = (sql($scans), sql($blocks));
	my ($stored, $ms) = split /\|/, sql(qq{
		CREATE TEMP TABLE began AS SELECT clock_timestamp() AS at;
		WITH i AS (INSERT INTO users VALUES ('$id') RETURNING id)
		SELECT id, extract(epoch FROM clock_timestamp() - at) * 1000 FROM i, began});
	sql('SELECT pg_stat_clear_snapshot()');
	$replica->poll_query_until('postgres', qq{SELECT ($scans) > $before}) or die 'no look-up was counted';
	return ($stored, sql($scans) - $before, sql($blocks) - $blocks_before, $ms);
}

my ($id, $tries, $blocks, $ms) = store('users|');
is($id, 'users/' . ($DOCUMENTS + 1), 'users| is the next opening, at the first try');
cmp_ok($tries, '<=', 44, "after few look-ups: $tries, in $ms ms");
cmp_ok($blocks, '<=', 1000, "in few blocks: $blocks");
($id, $tries, $blocks, $ms) = store('users|');
is("$id $tries", 'users/' . ($DOCUMENTS + 2) . ' 1', "the next one takes one look-up: $ms ms");
is(sql(q{SELECT value FROM hilo.identities WHERE name = 'users'}), $DOCUMENTS + 2, 'the identity has moved there');
is(sql(q{INSERT INTO users VALUES ('users/'), (NULL) RETURNING id}), "users/0000000000000000001-B\nusers/1-B", 'other ids of this server have its tag');

#
# Many at once, beside ids by hand
#

# Ids are typed by hand, and taken back if the identity has come near meanwhile, so
# that it cannot reach them during their commit: those that stay were there before their
# number was drawn.
sql(q{
	CREATE PROCEDURE type_ids(n int) LANGUAGE plpgsql AS $$
	DECLARE
		number bigint;
	BEGIN
		-- Below the documents' highest id every number is taken.
		WHILE (SELECT value FROM hilo.identities WHERE name = 'users') < 1000000 LOOP
			PERFORM pg_sleep(0.001);
			COMMIT;
		END LOOP;
		FOR i IN 1 .. n LOOP
			SELECT value + 1001 + (random() * 3000)::int INTO number FROM hilo.identities WHERE name = 'users';
			INSERT INTO users VALUES ('users/' || number, '"by hand"') ON CONFLICT DO NOTHING;
			IF (SELECT value FROM hilo.identities WHERE name = 'users') >= number - 1000 THEN
				ROLLBACK;
			ELSE
				COMMIT;
			END IF;
		END LOOP;
	END $$;
});

# Rows a session: in one statement, one a transaction, or several in a transaction.  At SERIALIZABLE
# a search may fail with 40001, as any query may.
sub script
{
	my ($n, $rows) = @_;
	my $insert = qq{INSERT INTO users SELECT 'users|', '"drawn $n"' FROM generate_series(1, %d);};

	return sprintf($insert, $rows) if $n % 3 == 0;
	return join "\n", (sprintf $insert, 1) x $rows if $n % 3 == 1;
	return join "\n", map {
		my $level = ('READ COMMITTED', 'REPEATABLE READ')[ $_ % 2 ];
		"BEGIN ISOLATION LEVEL $level; SELECT FROM pg_class LIMIT 1; " . sprintf($insert, 10) . ' COMMIT;'
	} 1 .. $rows / 10;
}

sql(q{DELETE FROM users WHERE document IS NOT NULL; SELECT seed_identity_for('users', 0, true)});
my $began = time;
is(at_once(map { [ $replica, $_ ] } (map { script($_, 200) } 1 .. $SESSIONS), ('CALL type_ids(100)') x 4), '',
	"$SESSIONS sessions store 200 documents each, from an identity of 0, beside 4 that type ids: no error");
note(sprintf '%.1f s', time - $began);
is(sql(q{SELECT count(*), count(DISTINCT document) FROM users WHERE document::text LIKE '%drawn%'}), $SESSIONS * 200 . "|$SESSIONS", 'all have theirs');
cmp_ok(sql(q{SELECT count(*) FROM users WHERE document::text LIKE '%hand%'}), '>', 100, 'others were typed');

# What a session passes over while it searches are ids that were taken back, and
# what lies between ids by hand; not what is above the numbers of other sessions,
# however many they draw meanwhile (iso-free-leap).

my $gap = sql(qq{
	SELECT max(gap) FROM (
		SELECT number - lag(number) OVER (ORDER BY number) - 1 AS gap FROM (
			SELECT hilo_number(id) FROM users WHERE id LIKE 'users/%' AND hilo_number(id) >= $DOCUMENTS
				AND hilo_number(id) <= (SELECT value FROM hilo.identities WHERE name = 'users')) n(number)) g});
cmp_ok($gap, '<=', $SESSIONS, "no gap is larger than the number of sessions: $gap");

# Without ids by hand there is no gap at all, also where all have to search.
sql(q{DELETE FROM users WHERE document IS NOT NULL; SELECT seed_identity_for('users', 0, true)});
is(at_once(map { [ $replica, script($_, 30) ] } 1 .. $SESSIONS), '', 'the same without ids by hand: no error');
is(sql(q{SELECT count(*), max(hilo_number(id)) FROM users WHERE document IS NOT NULL}), $SESSIONS * 30 . '|' . ($DOCUMENTS + 2 + $SESSIONS * 30), 'and no gap');

$_->stop foreach $replica, $publisher;
done_testing();
