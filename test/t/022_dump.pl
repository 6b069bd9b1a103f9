# Promise 1: after dump and restore, onto whatever is there already, draws go on above everything that either side has seen.
use HiloTest;

my $node = server('dump');
my $dir = PostgreSQL::Test::Utils::tempdir;

sub sql { return $node->safe_psql(@_); }

sub guards
{
	my ($db) = @_;
	return sql($db, q{
		SELECT string_agg(relname || ' ' || tgname || ' ' || tgenabled::text, ', ' ORDER BY relname, tgname)
		FROM pg_trigger JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = 'hilo'::regnamespace});
}

my $always = join(', ', map { ("$_ guard_rows A", "$_ guard_table A") } qw(binding hilo));

# The database that is dumped.  Its own session is in the middle of a range.
sql('postgres', 'CREATE ROLE reader');
new_database($node, 'source', q{
	CREATE EXTENSION hilo;
	GRANT SELECT ON hilo.hilo TO reader;
	GRANT EXECUTE ON FUNCTION hilo.seed(text, bigint, boolean) TO reader;
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT hilo_next('orders'), v int);
	SELECT hilo.seed('higher', 1000);
	SELECT hilo.seed('lower', 10);
	SELECT hilo.seed('only_here', 77);
	SELECT hilo.seed('gone_here', 500);
	SELECT hilo.drop('gone_here');
	SELECT hilo_next_number('drawn_and_gone'), hilo.drop('drawn_and_gone');
	SELECT hilo.seed('gone_there', 33);
	INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('limited', 40, 50);
});
my $holder = session($node, dbname => 'source');
$holder->query_safe("INSERT INTO orders (v) SELECT generate_series(1, 3)");
my $source = 'gone_there 33, higher 1000, limited 40, lower 10, only_here 77, orders 32';
is(maxima($node, 'source'), $source, 'counters of the source');

my $dumps = 0;
my ($plain, $inserts, $custom, $data, $table_data, $orders, $untriggered) = map { dump_to("$dir/" . ++$dumps, $node, 'source', @$_) } [], ['--inserts'], ['-Fc'],
  ['--data-only'], [ '--data-only', '-t', 'hilo.hilo' ], [ '-t', 'orders' ], [ '--data-only', '--disable-triggers', '-t', 'hilo.hilo' ];

# Numbers shown by the source after the dump do not count, but its range does.
$holder->query_safe("INSERT INTO orders (v) SELECT generate_series(4, 6)");

#
# Into an empty database
#

sub check_restored
{
	my ($db) = @_;

	is(maxima($node, $db), $source, "$db: all counters are there");
	is( sql($db, q{SELECT flags & 1 = 1, max FROM hilo.hilo WHERE collection = 'gone_here'}),
		't|0', "$db: a dropped collection is remembered as such");
	is(guards($db), $always, "$db: guarded");
	is( sql($db, q{SELECT has_table_privilege('reader', 'hilo.hilo', 'SELECT'),
			has_function_privilege('reader', 'hilo.seed(text, bigint, boolean)', 'EXECUTE'),
			has_function_privilege('reader', 'hilo.drop(text)', 'EXECUTE')}),
		't|t|f', "$db: privileges");
	is( sql($db, q{INSERT INTO orders (v) VALUES (0) RETURNING id}),
		'orders/33-A', "$db: inserts go on behind the range that was in use");
	is( sql($db, q{SELECT hilo_next_number('higher'), hilo_next_number('lower'), hilo_next_number('gone_here')}),
		'1001|11|1', "$db: draws go on");
	is( sql($db, q{SELECT string_agg(hilo_next_number('limited')::text, ',') FROM generate_series(1, 10)}),
		join(',', 41 .. 50), "$db: a limited collection counts to its limit");
	is(error_of($node, $db, q{SELECT hilo_next_number('limited')}), '2200H', "$db: and no further");
	return;
}

restore_sql($node, $plain, new_database($node, 'empty_plain'));
restore_sql($node, $inserts, new_database($node, 'empty_inserts'));
restore_sql($node, $plain, new_database($node, 'empty_single'), '--single-transaction');
pg_restore($node, $custom, new_database($node, 'empty_custom'), '--single-transaction');
pg_restore($node, $custom, new_database($node, 'empty_parallel'), '-j', '2');
check_restored("empty_$_") foreach qw(plain inserts single custom parallel);

#
# Into a database that has been in use
#

# A session of it is in the middle of ranges, above and below the dump's.
sub used_database
{
	my ($db) = @_;
	new_database($node, $db, q{
		CREATE EXTENSION hilo;
		SELECT hilo.seed('higher', 50);
		SELECT hilo.seed('lower', 500);
		SELECT hilo.seed('only_there', 88);
		SELECT hilo.seed('gone_here', 20);
		SELECT hilo.seed('gone_there', 44);
		SELECT hilo.drop('gone_there');
		INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('limited', 5, 2000);
	});
	my $session = session($node, dbname => $db);
	is($session->query_safe("SELECT hilo_next_number('higher'), hilo_next_number('lower'), hilo_next_number('only_there')"),
		'51|501|89', "$db: in use");
	return $session;
}

sub check_merged
{
	my ($db, $session) = @_;

	is( maxima($node, $db),
		'gone_here 20, gone_there 33, higher 1000, limited 40, lower 532, only_here 77, only_there 120, orders 32',
		"$db: the higher max of each collection");
	is(guards($db), $always, "$db: guarded");
	is( $session->query_safe("SELECT hilo_next_number('higher'), hilo_next_number('lower'), hilo_next_number('only_there')"),
		'1001|533|90',
		"$db: a session that was drawing goes on above both sides");
	is( sql($db, q{SELECT hilo_next_number('gone_here'), hilo_next_number('gone_there'), hilo_next_number('only_here'), hilo_next_number('orders')}),
		'21|34|78|33', "$db: draws go on above both sides");
	is(sql($db, q{SELECT max_value FROM hilo.hilo WHERE collection = 'limited'}),
		2000, "$db: a limit that was there stays");
	$session->finish;
	return;
}

my $session = used_database('used_data');
sql('used_data', 'CREATE TABLE orders (id text PRIMARY KEY, v int)');
restore_sql($node, $data, 'used_data');
check_merged('used_data', $session);

$session = used_database('used_table');
restore_sql($node, $table_data, 'used_table');
restore_sql($node, $table_data, 'used_table', '--single-transaction');
check_merged('used_table', $session);

$session = used_database('used_full');
restore_sql($node, $plain, 'used_full');
check_merged('used_full', $session);

$session = used_database('used_custom');
pg_restore($node, $custom, 'used_custom', '--single-transaction');
check_merged('used_custom', $session);

# A limit comes with a collection that is new here; also when one of that name
# was dropped, and so is as good as new.
new_database($node, 'was_dropped', q{CREATE EXTENSION hilo; SELECT hilo.seed('limited', 5); SELECT hilo.drop('limited');});
restore_sql($node, $table_data, 'was_dropped');
is(sql('was_dropped', q{SELECT max, max_value FROM hilo.hilo WHERE collection = 'limited'}),
	'40|50', 'a collection dropped here gets the limit of the one restored');

# A restore that fails at its end takes no number back.
$session = used_database('used_failed');
append_to_file("$dir/failing.sql", slurp_file($table_data) . "\nSELECT 1/0;\n");
$node->command_fails(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '--single-transaction', '-d', 'used_failed', '-f', "$dir/failing.sql" ],
	'a restore in one transaction fails');
check_merged('used_failed', $session);

#
# A table alone: its counter is a new one
#

restore_sql($node, $orders, new_database($node, 'table_alone', 'CREATE EXTENSION hilo'));
sql('table_alone', q{SELECT hilo.bind('orders', 'orders', 'id')});
is(sql('table_alone', q{INSERT INTO orders (v) VALUES (0) RETURNING hilo_number(id) > 3}), 't',
	'a table restored alone, and bound: the ids in it are seen, and passed');
is(sql('table_alone', q{SELECT count(DISTINCT id) FROM orders}), 4, 'and none of them is drawn again');

#
# --disable-triggers, which switches the guards off for a while
#

restore_sql($node, $untriggered, new_database($node, 'untriggered_empty', 'CREATE EXTENSION hilo'));
is(maxima($node, 'untriggered_empty'), $source, 'restored with --disable-triggers: all counters');
is( sql('untriggered_empty', q{SELECT hilo_next_number('higher'), hilo_next_number('lower'), hilo_next_number('orders')}),
	'1001|11|33', 'draws go on');
isnt(sql('untriggered_empty', q{SELECT epoch FROM hilo.hilo WHERE collection = 'higher'}),
	sql('source', q{SELECT epoch FROM hilo.hilo WHERE collection = 'higher'}), 'in an epoch of their own');
like(message_of($node, 'untriggered_empty', 'UPDATE hilo.hilo SET max = 0'), qr/cannot update table "hilo\.hilo" by hand/, 'and the table is guarded');

# They are as on as ordinary triggers then, until the owner mends them.
sql('untriggered_empty', 'ALTER TABLE hilo.hilo ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table');
is(guards('untriggered_empty'), $always, 'and its guards can be mended');

$session = used_database('untriggered_used');
like(message_of($node, 'untriggered_used', slurp_file($untriggered), on_error_stop => 0), qr/duplicate key value/, 'a restore with --disable-triggers onto counters in use fails');
is( ($session->query("SELECT hilo_next_number('higher'), hilo_next_number('lower'), hilo_next_number('only_there')"))[0],
	'52|502|90', 'and does them no harm');
$session->finish;

#
# In a schema with a name that needs quotes
#

my $schema = q{"He said; DROP %s Schema "};
new_database($node, 'quoted_source', qq{
	CREATE SCHEMA $schema;
	CREATE EXTENSION hilo SCHEMA $schema;
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT $schema.hilo_next('orders'));
	INSERT INTO orders DEFAULT VALUES;
	SELECT hilo.seed('orders', 100);
	SELECT hilo.seed('orders; --', 7);
});
restore_sql($node, dump_to("$dir/quoted.sql", $node, 'quoted_source'), new_database($node, 'quoted_copy'));
is(maxima($node, 'quoted_copy'), 'orders 100, orders; -- 7', 'quoted schema: all counters');
is(sql('quoted_copy', q{INSERT INTO orders DEFAULT VALUES RETURNING id}),
	'orders/101-A', 'quoted schema: inserts go on');

#
# The schema of our tables
#

# It may be there before, as some tools make schemas first.
restore_sql($node, $plain, new_database($node, 'schema_first', 'CREATE SCHEMA hilo'), '--single-transaction');
check_restored('schema_first');

# The functions may be in it, too: then it is the user's, and is dumped.
new_database($node, 'together', q{
	CREATE SCHEMA hilo;
	CREATE EXTENSION hilo SCHEMA hilo;
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT hilo.hilo_next('orders'));
	INSERT INTO orders DEFAULT VALUES;
	SELECT hilo.seed('orders', 100);
});
pg_restore($node, dump_to("$dir/together", $node, 'together', '-Fc'), new_database($node, 'together_copy'), '--single-transaction');
is(maxima($node, 'together_copy'), 'orders 100', 'together: all counters');
is(sql('together_copy', q{INSERT INTO orders DEFAULT VALUES RETURNING id}), 'orders/101-A', 'together: inserts go on');

# Where tables of a user are in it, nothing happens to them.
new_database($node, 'schema_taken', 'CREATE SCHEMA hilo; CREATE TABLE hilo.mine (a int)');
like(message_of($node, 'schema_taken', 'CREATE EXTENSION hilo'), qr/ERROR:\s+42P06: schema "hilo" already exists/, 'a schema with tables in it is not taken');

# A dump of one schema has no counters in it: there the counter has to be told of the table.
unlike(slurp_file(dump_to("$dir/public.sql", $node, 'source', '-n', 'public')), qr/^(COPY|CREATE \w+|ALTER TABLE) (ONLY )?hilo\./m, 'it has nothing of schema hilo');
new_database($node, 'one_schema', 'CREATE EXTENSION hilo');
# The schema it was made of is there.
append_to_file("$dir/one_schema.sql", slurp_file("$dir/public.sql") =~ s/^CREATE SCHEMA public;$//mr);
restore_sql($node, "$dir/one_schema.sql", 'one_schema');
is(maxima($node, 'one_schema'), '', 'one schema: no counter has come along');
is(sql('one_schema', q{SET client_min_messages = warning; SELECT hilo.seed('orders', max(hilo_number(id))) = max(hilo_number(id)) FROM orders}), 't',
	'one schema: seeded, it is above all ids');
is(sql('one_schema', q{INSERT INTO orders (v) VALUES (0) RETURNING hilo_number(id) - 1 = (SELECT max(hilo_number(id)) FROM orders)}), 't',
	'one schema: inserts go on');

$holder->finish;
$node->stop;
done_testing();
