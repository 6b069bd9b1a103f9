# No id twice, and no error that comes again: each rule of the look at a table, with other sessions that import, lock, hold and roll back.
use HiloTest;

my $node = server('look', "wal_level = replica\nmax_connections = 50\nautovacuum = off\nmax_prepared_transactions = 2\n", 'CREATE EXTENSION hilo');

sub sql { return $node->safe_psql('postgres', "SET client_min_messages = warning;\n$_[0]"); }

# A session that does not wait.
sub quick { return session($node, statement_timeout => '30s', lock_timeout => '5s'); }

# How many of some inserts fail in a session; each is a statement.
sub failures
{
	my ($session, $insert, $count) = @_;
	return scalar grep { ($session->query($insert))[1] } 1 .. $count;
}

sub attached
{
	my ($table, $column) = @_;
	sql("CREATE TABLE $table ($column); SELECT hilo.attach('$table')");
	return;
}

# An import lies ahead; it is passed in few steps, by several sessions at once.
attached('imported', 'id bigserial PRIMARY KEY');
sql('INSERT INTO imported SELECT generate_series(3, 200000)');
my @sessions = map { quick() } 1 .. 3;
is(join(' ', map { failures($_, 'INSERT INTO imported DEFAULT VALUES', 10) } @sessions), '0 0 0', 'an import: no insert fails');
is(sql('SELECT min(id), max(id) < 201000 FROM imported WHERE id NOT BETWEEN 3 AND 200000'), '1|t', 'it is passed, not far');
$_->finish foreach @sessions;

# A sentinel at the end of the type, and a thousand stray ids, do not take the counter along.
sql(q{CREATE TABLE far (id serial PRIMARY KEY); SELECT hilo.attach('far');
	INSERT INTO far VALUES (2147483647); INSERT INTO far SELECT i * 2000003::bigint FROM generate_series(1, 1000) i});
my $session = quick();
is(failures($session, 'INSERT INTO far SELECT FROM generate_series(1, 1000)', 3), 0, 'a sentinel and stray ids: no insert fails');
is(sql('SELECT last_value < 20000 FROM far_id_seq'), 't', 'nor is the counter far');
$session->finish;

# Ids of a transaction that is open are ids, and nobody waits for it.
attached('open', 'id bigserial PRIMARY KEY');
my $open = session($node);
$open->query('BEGIN; INSERT INTO open SELECT generate_series(2, 50)');
$session = quick();
is(failures($session, 'INSERT INTO open DEFAULT VALUES', 5), 0, 'ids of a transaction that is open: nobody waits');
$open->query('ROLLBACK');
$open->finish;
$session->finish;

# Ids given by hand just ahead: each command looks anew, so none fails.
attached('held', 'id bigserial PRIMARY KEY');
$session = quick();
$session->query('INSERT INTO held SELECT FROM generate_series(1, 5000)');
my $last = $session->query('INSERT INTO held DEFAULT VALUES RETURNING id');
sql("INSERT INTO held SELECT generate_series($last + 3, $last + 60)");
is(failures($session, 'INSERT INTO held DEFAULT VALUES', 100), 0, 'ids given by hand just ahead: no insert fails');
is($session->query("SELECT count(*) FROM held WHERE id < $last + 3 AND id > $last"), 2, 'and what is free before them is used');

# So does a session that inserts them itself, and a command that draws within a transaction.
is(failures($session, 'BEGIN; INSERT INTO held DEFAULT VALUES; INSERT INTO held SELECT max(id) + 1 FROM held; INSERT INTO held DEFAULT VALUES; COMMIT', 20), 0,
	'default, own id by hand, default: no insert fails');
$session->finish;

# An index that has not all rows, or is not valid, shows nothing.
sql('CREATE TABLE partial (id bigserial, v int); CREATE UNIQUE INDEX ON partial (id) WHERE v > 5; CREATE UNIQUE INDEX ON partial (id)');
sql(q{SELECT hilo.attach('partial', 'id'); INSERT INTO partial SELECT generate_series(1, 300), 1});
$session = quick();
is(failures($session, 'INSERT INTO partial DEFAULT VALUES', 3), 0, 'beside a partial index');
$session->finish;

# Each partition and child is looked at.
sql(q{CREATE TABLE parts (id bigserial, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
	CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1); CREATE TABLE parts_2 PARTITION OF parts FOR VALUES IN (2);
	SELECT hilo.attach('parts', 'id'); INSERT INTO parts VALUES (2, 2), (3, 1), (4, 2)});
$session = quick();
is(failures($session, 'INSERT INTO parts (part) VALUES (2)', 5), 0, 'partitions are looked at');
is(sql('SELECT count(*) - count(DISTINCT id) FROM parts'), 0, 'all of them, whichever the row is for');
$session->finish;

# A table that is locked: nobody waits, and the next draw looks.
attached('locked', 'id bigserial PRIMARY KEY');
$session = quick();
my $lock = session($node);
$session->query(q{SELECT hilo.nextval('locked_id_seq')});
$lock->query('BEGIN; LOCK TABLE locked; INSERT INTO locked SELECT generate_series(2, 90)');
like($session->query(q{SELECT hilo.nextval('locked_id_seq') FROM generate_series(1, 20) OFFSET 19}), qr/^\d+$/, 'a table that is locked: a draw does not wait');
$lock->query('COMMIT');
is(failures($session, 'INSERT INTO locked DEFAULT VALUES', 100), 0, 'when it is free again, the session looks');

# So it is with many partitions, where one look serves the commands of a second.
sql(q{CREATE TABLE shelf (id bigserial, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part); SELECT hilo.attach('shelf', 'id')});
sql("CREATE TABLE shelf_$_ PARTITION OF shelf FOR VALUES IN ($_)") for 1 .. 6;
$session->query(q{SELECT hilo.nextval('shelf_id_seq')});
$lock->query('BEGIN; LOCK TABLE ONLY shelf_1; INSERT INTO shelf_1 SELECT generate_series(2, 190), 1');
$session->query(q{SELECT hilo.nextval('shelf_id_seq') FROM generate_series(1, 20)});
$lock->query('COMMIT');
is(failures($session, 'INSERT INTO shelf (part) VALUES (1)', 100), 0, 'when it is free again, many partitions');
$_->finish foreach $lock, $session;

# A collection that is bound, whose range is held when ids come; after the commit of a binding, too.
sql(q{CREATE TABLE ranged (id bigint PRIMARY KEY DEFAULT hilo_next_number('ranged')); SELECT hilo.bind('ranged', 'ranged', 'id')});
$session = quick();
$session->query('INSERT INTO ranged SELECT FROM generate_series(1, 5000)');
$last = $session->query('INSERT INTO ranged DEFAULT VALUES RETURNING id');
sql("INSERT INTO ranged SELECT generate_series($last + 3, $last + 60)");
is(failures($session, 'INSERT INTO ranged DEFAULT VALUES', 100), 0, 'a collection that is bound: ids within a range that is held');
sql('CREATE TABLE bound_late (id bigint PRIMARY KEY); SELECT hilo.bind(\'ranged\', \'bound_late\', \'id\')');
$last = $session->query(q{SELECT hilo_next_number('ranged')});
sql("INSERT INTO bound_late SELECT generate_series($last + 1, $last + 60)");
cmp_ok($session->query(q{SELECT hilo_next_number('ranged')}), '>', $last + 60, 'a column that is bound meanwhile');
$session->finish;

# Text, every third id missing.
sql(q{CREATE TABLE texts (id text PRIMARY KEY DEFAULT hilo_next('texts')); SELECT hilo.bind('texts', 'texts', 'id');
	INSERT INTO texts SELECT 'texts/' || i || '-A' FROM generate_series(1, 3000) i WHERE i % 3 > 0});
$session = quick();
is(failures($session, 'INSERT INTO texts DEFAULT VALUES', 300), 0, 'text, every third id missing: no insert fails');
$session->finish;

# A default of a stranger does not count: only the column that owns the sequence is looked at.
sql(q{CREATE ROLE stranger; CREATE TABLE ours (id serial PRIMARY KEY); SELECT hilo.attach('ours');
	GRANT USAGE ON SEQUENCE ours_id_seq TO stranger; GRANT CREATE ON SCHEMA public TO stranger; SET ROLE stranger;
	CREATE TABLE theirs (id bigint PRIMARY KEY DEFAULT hilo.nextval('ours_id_seq')); INSERT INTO theirs SELECT generate_series(1, 100000)});
is(sql('INSERT INTO ours DEFAULT VALUES RETURNING id'), 1, 'ids in the table of a stranger do not count');

# Nor do ten thousand of them make a draw longer: neither the first one of a session, nor one after DDL.
sub pages_read
{
	my ($draw) = @_;
	my $session = session($node);
	my $read = 0;

	foreach (1 .. 2)
	{
		my ($hit, $missed) = $session->query("EXPLAIN (ANALYZE, BUFFERS) SELECT $draw") =~ /Buffers: shared hit=(\d+)(?: read=(\d+))?/
		  or die 'no buffers';
		$read += $hit + ($missed // 0);
		$session->query('ALTER TABLE ours ALTER id SET STATISTICS 50');
	}
	$session->finish;
	return $read;
}
my @draws = (q{hilo.nextval('ours_id_seq')}, q{hilo_next_number('ours')});
sql(q{SELECT hilo.bind('ours', 'ours', 'id')});
my %read = map { $_ => pages_read($_) } @draws;
sql(q{SET ROLE stranger; DO $$ BEGIN FOR i IN 1 .. 10 LOOP
	EXECUTE (SELECT format('CREATE TABLE wide_%s (%s)', i, string_agg(format('c%s bigint DEFAULT nextval(%L), n%1$s bigint DEFAULT hilo_next_number(''ours'')',
		c, 'ours_id_seq'::regclass::oid), ', ')) FROM generate_series(1, 500) c); END LOOP; END $$});
is(sql(q{SELECT count(*) FROM pg_attrdef WHERE adrelid::regclass::text LIKE 'wide%'}), 10000, 'a stranger has ten thousand defaults');
cmp_ok(pages_read($_), '<', 2 * $read{$_}, "$_ does not look at them") foreach @draws;

# Rows of a role that may insert, wherever the search looks next, do not drive the sequence away.
attached('driven', 'id bigserial PRIMARY KEY');
sql('GRANT SELECT, INSERT ON driven TO stranger; GRANT USAGE ON SEQUENCE driven_id_seq TO stranger');
$session = session($node);
$session->query('SET ROLE stranger; INSERT INTO driven DEFAULT VALUES');
for (1 .. 32)
{
	$session->query(q{INSERT INTO driven SELECT currval('driven_id_seq') + n FROM (
		SELECT generate_series(1, 2) UNION SELECT 2 + (1::bigint << k) FROM generate_series(0, 61) k) AS _ (n) ON CONFLICT DO NOTHING});
	$session->query('INSERT INTO driven DEFAULT VALUES');
}
my ($rows, $driven) = split /\|/, $session->query(q{SELECT count(*), currval('driven_id_seq') FROM driven});
cmp_ok($driven, '<', 1 << 18, "$rows rows where the search looks next do not drive the sequence away");
cmp_ok($rows, '>', 1900, 'these are many');
$session->finish;

# Who waits to lock the table is in nobody's way who has it locked already.
attached('awaited', 'id bigserial PRIMARY KEY, x int');
sql('INSERT INTO awaited SELECT generate_series(1, 3)');
my $writer = session($node);
$writer->query('BEGIN; INSERT INTO awaited VALUES (100)');
my $waiter = $node->background_psql('postgres');
$waiter->query_until(qr/started/, "\\echo started\nALTER TABLE awaited ADD y int;\n");
$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE relation = 'awaited'::regclass AND NOT granted});
is(($writer->query('INSERT INTO awaited (x) VALUES (5) RETURNING id > 3'))[0], 't', 'a table that another session waits to lock is looked at');
$writer->query('COMMIT');
$writer->finish;
$waiter->quit;

# Many tables: with more than four indexes a look lasts a second, also for what is taken from the pool.
sql(q{CREATE TABLE many (id bigint DEFAULT hilo_next_number('many'), part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part)} . join '', map { "; CREATE TABLE many_$_ PARTITION OF many FOR VALUES IN ($_)" } 1 .. 20);
sql(q{SELECT hilo.bind('many', 'many', 'id'); INSERT INTO many (part) SELECT 1 FROM generate_series(1, 30)});
sql(q{INSERT INTO many SELECT g, 2 FROM generate_series((SELECT max(id) + 1 FROM many), (SELECT max(id) + 25 FROM many)) g});
sql('INSERT INTO many (part) VALUES (3)') foreach 1 .. 12;
is(sql('SELECT count(*) - count(DISTINCT id) FROM many'), 0, 'many indexes: numbers from the pool are looked at');

# A look at a table of its own kind that is temporary leaves the transaction fit to be prepared.
attached('staged', 'id bigserial PRIMARY KEY, x int');
my $other = session($node);
$other->query('CREATE TEMP TABLE stage (LIKE staged INCLUDING ALL)');
is(($node->psql('postgres', q{BEGIN; INSERT INTO staged (x) VALUES (1); PREPARE TRANSACTION 'a'; COMMIT PREPARED 'a'}))[0], 0, 'a temporary table of another session');
$other->finish;

# Sequences of tables that were dropped are forgotten, and what was known of a default that changes.
$session = session($node);
$session->query("DO \$\$ BEGIN FOR i IN 1 .. 400 LOOP CREATE TEMP TABLE gone (id bigserial PRIMARY KEY); PERFORM hilo.nextval('gone_id_seq'); DROP TABLE gone; END LOOP; END \$\$");
my $known = ($session->query(q{SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'hilo ids'}))[0];
ok($known > 0 && $known < 150, 'sequences that were dropped are forgotten') or diag($known);
my $memory = q{SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name LIKE 'hilo %'};
my $change = q{DO $$ BEGIN FOR i IN 1 .. 150 LOOP ALTER TABLE staged ALTER id SET DEFAULT hilo.nextval('staged_id_seq'); PERFORM hilo.nextval('staged_id_seq'); END LOOP; END $$};
$session->query($change);
my $used = ($session->query($memory))[0];
$session->query($change) for 1 .. 3;
is(($session->query($memory))[0], $used, 'and defaults');
$session->finish;

# Numbers that come again, and a column that gets a sequence, while a session goes on.
attached('again', 'id bigserial PRIMARY KEY');
$session = session($node);
$session->query(q{SELECT hilo.nextval('again_id_seq') FROM generate_series(1, 20); INSERT INTO again SELECT generate_series(1, 20); SELECT setval('again_id_seq', 3)});
is(($session->query(q{SELECT hilo.nextval('again_id_seq') > 20}))[0], 't', 'a number after setval downwards');
sql(q{CREATE SEQUENCE s; CREATE TABLE owner (id bigint PRIMARY KEY DEFAULT hilo.nextval('s')); INSERT INTO owner SELECT generate_series(1, 5000)});
is(($session->query(q{SELECT hilo.nextval('s')}))[0], 1, 'a column that draws, but does not own the sequence, is not looked at');
sql('ALTER SEQUENCE s OWNED BY owner.id');
is(failures($session, 'INSERT INTO owner DEFAULT VALUES', 100), 0, 'when it owns it, it is');
sql(q{ALTER TABLE owner ALTER id DROP DEFAULT; ALTER SEQUENCE s RESTART});
is(($session->query(q{SELECT hilo.nextval('s')}))[0], 1, 'one that owns it, but does not draw, is not');
sql(q{ALTER TABLE owner ALTER id SET DEFAULT nextval('s')});
is(failures($session, q{INSERT INTO owner VALUES (hilo.nextval('s'))}, 100), 0, 'one whose default is nextval is');
$session->finish;

$node->stop;
done_testing();
