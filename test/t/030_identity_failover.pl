# The failover of the old days: a second server has the documents by replication and no idea of the identity; next_identity_free() goes on behind them and overwrites nothing.
use HiloTest;

my $N = 1337;
my $NEXT = $N + 1;

# Look-ups that a search may take: 2 * ceil(log2(distance)) + 2, ceil(log2(1338)) = 11.
my $MOST_TRIES = 24;

my ($first, $second) = map { server($_, "max_connections = 40\nautovacuum = off", q{
	CREATE EXTENSION hilo;
	CREATE TABLE users (id text COLLATE "C" PRIMARY KEY DEFAULT next_identity_free('users/'), name text);
	CREATE TABLE members (id text COLLATE "C" PRIMARY KEY, name text);
	CREATE TABLE accounts (id bigint PRIMARY KEY, name text);
	CREATE SCHEMA archive;
	CREATE TABLE archive.people (a int, key varchar(40) UNIQUE, name text);
	ALTER TABLE archive.people REPLICA IDENTITY FULL;
	CREATE TABLE invoices (id text PRIMARY KEY, name text);
	SELECT hilo.bind('persons', 'archive.people', 'key');
}, allows_streaming => 'logical') } qw(first second);

# Checksum of all documents that the first server has made.
my $documents = qq{
	SELECT md5(string_agg(t || i || name, ',' ORDER BY t, i)) FROM (
		SELECT 'u' t, id i, name FROM users
		UNION ALL SELECT 'a', id::text, name FROM accounts
		UNION ALL SELECT 'p', key, name FROM archive.people
		UNION ALL SELECT 'i', id, name FROM invoices) d
	WHERE name LIKE 'first %'};

# Half of the documents go by the initial copy, half by the stream.
sub insert_until
{
	my ($from, $to) = @_;
	$first->safe_psql('postgres', qq{
		INSERT INTO users SELECT next_identity('users/'), 'first ' || i FROM generate_series($from, $to) i;
		INSERT INTO members SELECT next_identity('members/'), 'first ' || i FROM generate_series($from, least($to, 1000)) i;
		INSERT INTO accounts SELECT next_identity_for('accounts'), 'first ' || i FROM generate_series($from, $to) i;
		INSERT INTO archive.people SELECT i, next_identity('persons'), 'first ' || i FROM generate_series($from, $to) i;
		INSERT INTO invoices SELECT hilo_document_id('ids', 'invoices|'), 'first ' || i FROM generate_series($from, $to) i;
	});
	return;
}

insert_until(1, 700);
$first->safe_psql('postgres',
	'CREATE PUBLICATION documents FOR TABLE users, members, accounts, archive.people, invoices');
subscribe($second, $first, 'documents', 'copy_data');
insert_until(701, $N);
is( $first->safe_psql('postgres',
		q{SELECT string_agg(name || ' ' || value, ', ' ORDER BY name) FROM hilo.identities}),
	"accounts $N, invoices $N, members 1000, persons $N, users $N",
	'the first server knows its identities');

# A document that was never committed does not come over, its number was shown.
my $open = session($first);
$open->query('BEGIN');
is($open->query(q{INSERT INTO users (name) VALUES ('never committed') RETURNING id}),
	"users/$NEXT", 'the first server has a document in an open transaction');
$first->wait_for_catchup('documents');
my $expected = $first->safe_psql('postgres', $documents);

#
# The first server is gone, the second one takes over
#
kill_server($first);
$second->safe_psql('postgres', q{
	ALTER SUBSCRIPTION documents DISABLE;
	ALTER SUBSCRIPTION documents SET (slot_name = NONE);
	DROP SUBSCRIPTION documents;
});
is($second->safe_psql('postgres', $documents), $expected, 'the second server has all documents');
is($second->safe_psql('postgres', 'SELECT count(*) FROM hilo.identities'),
	0, 'and knows of no identity');

my $session = session($second);
is($session->query(q{SELECT next_identity_free('users/')}),
	"users/$NEXT", "text: next_identity_free() gives users/$NEXT");
is($session->error_of(qq{INSERT INTO users VALUES ('users/$NEXT', 'second')}),
	'', 'text: it can be inserted');
is($session->query(q{SELECT * FROM next_identity_free_for('users/')}),
	($N + 2) . '|1', 'text: the next one in one look-up');
is($session->query(q{INSERT INTO users (name) VALUES ('second') RETURNING id}),
	'users/' . ($N + 3), 'text: and so on by DEFAULT');

my ($value, $tries) = split /\|/,
  $session->query(q{SELECT * FROM next_identity_free_for('members/')});
is($value, 1001, 'of 1,000 documents the 1,001st');
cmp_ok($tries, '<=', 22, "in $tries look-ups");

# In a column of numbers, and bound to a table of another name.
foreach ([ 'bigint', 'accounts', 'accounts|', 'accounts (id, name) VALUES (%s' ], [ 'bound', 'persons/', 'persons', q{archive.people (key, name) VALUES ('persons/%s'} ])
{
	my ($what, $identity, $again, $insert) = @$_;

	($value, $tries) = split /\|/, $session->query("SELECT * FROM next_identity_free_for('$identity')");
	is($value, $NEXT, "$what: next_identity_free_for() gives $NEXT");
	cmp_ok($tries, '<=', $MOST_TRIES, "$what: in $tries look-ups");
	is($session->error_of(sprintf "INSERT INTO $insert, 'second')", $value), '', "$what: it can be inserted");
	is($session->query("SELECT * FROM next_identity_free_for('$again')"), ($N + 2) . '|1', "$what: the next one in one look-up");
}

# An identity that knows too little, by a seed or by draws that met documents.
is($session->query(q{SELECT next_identity('invoices/')}),
	'invoices/1', 'without a search the identity starts over');
is($session->error_of(q{INSERT INTO invoices VALUES (next_identity('invoices/'), 'second')}),
	'23505', 'and meets a document');
$session->query(q{SELECT seed_identity_for('invoices', 500)});
is($session->query(q{SELECT next_identity_free('invoices/')}),
	"invoices/$NEXT", "behind a value too low: next_identity_free() gives invoices/$NEXT");
is($session->query(q{SELECT next_identity('invoices/')}),
	'invoices/' . ($N + 2), 'after which no search is needed');

# Seeded too far back by force it finds its way again.
$session->query(q{SELECT seed_identity_for('users', 0, true)});
is($session->query(q{SELECT next_identity_free('users')}),
	'users/' . ($N + 2), 'after a forced seed: the free number between the documents');

# Many clients come at once; none of them overwrites or fails.
$session->query(q{SELECT seed_identity_for('users', 0, true)});
my @clients = map { session($second) } 1 .. 8;
my $insert = q{INSERT INTO users (name) SELECT 'second' FROM generate_series(1, 25)};
$_->start($insert) for @clients;
is(join('', map { ($_->result)[1] } @clients), '', '8 clients at once: no error');
is( $second->safe_psql('postgres',
		qq{SELECT count(*), max(hilo_number(id)) FROM users}),
	($N + 202) . '|' . ($N + 202),
	'8 clients at once: all documents are there, next to each other');

is($second->safe_psql('postgres', $documents), $expected,
	'no document of the first server was touched');

# The number is as safe here as it was there.
is($session->query(q{SELECT next_identity_free('users/')}), 'users/' . ($N + 203), 'drawn last');
kill_server($second);
$second->start;
my ($after) = $second->safe_psql('postgres', q{SELECT next_identity_free('users/')}) =~ m{^users/(\d+)$};
cmp_ok($after, '>', $N + 203, 'kill -9 of the second server: no number comes back');
cmp_ok($after, '<=', $N + 204 + 32, 'and at most what was logged ahead is lost');
$second->stop;

done_testing();
