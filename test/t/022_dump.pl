# Promise 1: after dump and restore, onto whatever is there already, draws go on above everything that either side has seen.
use strict;
use warnings;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init;
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir;

sub sql
{
	my ($db, $query) = @_;
	return $node->safe_psql($db, $query);
}

# "x 5, y 7": the counters of a database, without those dropped.
sub maxima
{
	my ($db, $schema) = @_;
	my $table = defined $schema ? "$schema.hilo" : 'hilo';
	return sql($db,
		qq{SELECT string_agg(collection || ' ' || max, ', ' ORDER BY collection) FROM $table WHERE NOT dropped});
}

sub guards
{
	my ($db) = @_;
	return sql($db,
		q{SELECT string_agg(tgname || ' ' || tgenabled::text, ', ' ORDER BY tgname) FROM pg_trigger WHERE tgrelid = 'hilo'::regclass});
}

my $always = 'hilo_guard_changes A, hilo_guard_rows A, hilo_guard_table A';

# The database that is dumped.  Its own session is in the middle of a range.
sql('postgres', 'CREATE DATABASE source');
sql('postgres', 'CREATE ROLE reader');
sql('source', q{
	CREATE EXTENSION hilo;
	GRANT SELECT ON hilo TO reader;
	GRANT EXECUTE ON FUNCTION hilo_seed(text, bigint, boolean) TO reader;
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT hilo_next('orders'), v int);
	SELECT hilo_seed('higher', 1000);
	SELECT hilo_seed('lower', 10);
	SELECT hilo_seed('only_here', 77);
	SELECT hilo_seed('gone_here', 500);
	SELECT hilo_drop('gone_here');
	SELECT hilo_seed('gone_there', 33);
	INSERT INTO hilo (collection, max, max_value) VALUES ('limited', 40, 50);
});
my $holder = $node->background_psql('source');
$holder->query_safe("INSERT INTO orders (v) SELECT generate_series(1, 3)");
my $source = 'gone_there 33, higher 1000, limited 40, lower 10, only_here 77, orders 32';
is(maxima('source'), $source, 'counters of the source');

sub dump_source
{
	my ($file, @options) = @_;
	$node->command_ok([ 'pg_dump', '-f', "$dir/$file", @options, 'source' ],
		"pg_dump @options");
	return "$dir/$file";
}

my $plain = dump_source('plain.sql');
my $inserts = dump_source('inserts.sql', '--inserts');
my $custom = dump_source('custom', '-Fc');
my $data = dump_source('data.sql', '--data-only');
my $table_data = dump_source('table_data.sql', '--data-only', '-t', 'hilo');
my $orders = dump_source('orders.sql', '-t', 'orders');
my $untriggered = dump_source('untriggered.sql', '--data-only', '--disable-triggers', '-t', 'hilo');

# Numbers shown by the source after the dump do not count, but its range does.
$holder->query_safe("INSERT INTO orders (v) SELECT generate_series(4, 6)");

sub restore_sql
{
	my ($file, $db, @options) = @_;
	$node->command_ok(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', @options, '-d', $db, '-f', $file ],
		"psql @options $file into $db");
	return;
}

#
# Into an empty database
#

sub check_restored
{
	my ($db) = @_;

	is(maxima($db), $source, "$db: all counters are there");
	is( sql($db, q{SELECT dropped, max, max_ever FROM hilo WHERE collection = 'gone_here'}),
		't|0|500', "$db: a dropped collection is remembered as such");
	is(guards($db), $always, "$db: guarded");
	is( sql($db, q{SELECT has_table_privilege('reader', 'hilo', 'SELECT'),
			has_function_privilege('reader', 'hilo_seed(text, bigint, boolean)', 'EXECUTE'),
			has_function_privilege('reader', 'hilo_drop(text)', 'EXECUTE')}),
		't|t|f', "$db: privileges");
	is( sql($db, q{INSERT INTO orders (v) VALUES (0) RETURNING id}),
		'orders/33-A', "$db: inserts go on behind the range that was in use");
	is( sql($db, q{SELECT hilo_nextval('higher'), hilo_nextval('lower'), hilo_nextval('gone_here')}),
		'1001|11|1', "$db: draws go on");
	is( sql($db, q{SELECT string_agg(hilo_nextval('limited')::text, ',') FROM generate_series(1, 10)}),
		join(',', 41 .. 50), "$db: a limited collection counts to its limit");
	my ($ret, $out, $err) = $node->psql($db, "\\set VERBOSITY verbose\nSELECT hilo_nextval('limited')");
	like($err, qr/ERROR:\s+2200H/, "$db: and no further");
	return;
}

foreach my $file ($plain, $inserts)
{
	(my $db = "empty_$file") =~ s/.*\/(\w+)\.sql/empty_$1/;
	sql('postgres', "CREATE DATABASE $db");
	restore_sql($file, $db);
	check_restored($db);
}

sql('postgres', 'CREATE DATABASE empty_single');
restore_sql($plain, 'empty_single', '--single-transaction');
check_restored('empty_single');

sql('postgres', 'CREATE DATABASE empty_custom');
$node->command_ok(
	[ 'pg_restore', '--exit-on-error', '--single-transaction', '-d', 'empty_custom', $custom ],
	'pg_restore --single-transaction');
check_restored('empty_custom');

sql('postgres', 'CREATE DATABASE empty_parallel');
$node->command_ok(
	[ 'pg_restore', '--exit-on-error', '-j', '2', '-d', 'empty_parallel', $custom ],
	'pg_restore -j 2');
check_restored('empty_parallel');

#
# Into a database that has been in use
#

# A session of it is in the middle of ranges, above and below the dump's.
sub used_database
{
	my ($db) = @_;
	sql('postgres', "CREATE DATABASE $db");
	sql($db, q{
		CREATE EXTENSION hilo;
		SELECT hilo_seed('higher', 50);
		SELECT hilo_seed('lower', 500);
		SELECT hilo_seed('only_there', 88);
		SELECT hilo_seed('gone_here', 20);
		SELECT hilo_seed('gone_there', 44);
		SELECT hilo_drop('gone_there');
		INSERT INTO hilo (collection, max, max_value) VALUES ('limited', 5, 2000);
	});
	my $session = $node->background_psql($db);
	is($session->query_safe("SELECT hilo_nextval('higher'), hilo_nextval('lower'), hilo_nextval('only_there')"),
		'51|501|89', "$db: in use");
	return $session;
}

sub check_merged
{
	my ($db, $session) = @_;

	is( maxima($db),
		'gone_here 20, gone_there 33, higher 1000, limited 40, lower 532, only_here 77, only_there 120, orders 32',
		"$db: the higher max of each collection");
	is(guards($db), $always, "$db: guarded");
	is( $session->query_safe("SELECT hilo_nextval('higher'), hilo_nextval('lower'), hilo_nextval('only_there')"),
		'1001|533|90',
		"$db: a session that was drawing goes on above both sides");
	is( sql($db, q{SELECT hilo_nextval('gone_here'), hilo_nextval('gone_there'), hilo_nextval('only_here'), hilo_nextval('orders')}),
		'21|34|78|33', "$db: draws go on above both sides");
	is(sql($db, q{SELECT max_value FROM hilo WHERE collection = 'limited'}),
		2000, "$db: a limit that was there stays");
	$session->quit;
	return;
}

my $session = used_database('used_data');
sql('used_data', 'CREATE TABLE orders (id text PRIMARY KEY, v int)');
restore_sql($data, 'used_data');
check_merged('used_data', $session);

$session = used_database('used_table');
restore_sql($table_data, 'used_table');
restore_sql($table_data, 'used_table', '--single-transaction');
check_merged('used_table', $session);

$session = used_database('used_full');
restore_sql($plain, 'used_full');
check_merged('used_full', $session);

$session = used_database('used_custom');
$node->command_ok(
	[ 'pg_restore', '--exit-on-error', '--single-transaction', '-d', 'used_custom', $custom ],
	'pg_restore --single-transaction');
check_merged('used_custom', $session);

# A limit comes with a collection that is new here; also when one of that name
# was dropped, and so is as good as new.
sql('postgres', 'CREATE DATABASE was_dropped');
sql('was_dropped', q{CREATE EXTENSION hilo; SELECT hilo_seed('limited', 5); SELECT hilo_drop('limited');});
restore_sql($table_data, 'was_dropped');
is(sql('was_dropped', q{SELECT max, max_value FROM hilo WHERE collection = 'limited'}),
	'40|50', 'a collection dropped here gets the limit of the one restored');

# A restore that fails at its end takes no number back.
$session = used_database('used_failed');
append_to_file("$dir/failing.sql", slurp_file($table_data) . "\nSELECT 1/0;\n");
$node->command_fails(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '--single-transaction', '-d', 'used_failed', '-f', "$dir/failing.sql" ],
	'a restore in one transaction fails');
check_merged('used_failed', $session);

#
# A table alone: its counter is the one that is there
#

sql('postgres', 'CREATE DATABASE table_alone');
sql('table_alone', 'CREATE EXTENSION hilo');
restore_sql($orders, 'table_alone');
my ($seed_ret, $seed_out, $seed_err) =
  $node->psql('table_alone', 'INSERT INTO orders (v) VALUES (0)');
like($seed_err, qr/Key \(id\)=\(orders\/1-A\) already exists/, 'a table restored alone draws from the counter that is there');
is(sql('table_alone', q{SELECT hilo_seed('orders', max(hilo_number(id))) FROM orders}), 3,
	'seeded from the ids in it');
is(sql('table_alone', q{INSERT INTO orders (v) VALUES (0) RETURNING id}),
	'orders/4-A', 'it goes on behind them');

#
# --disable-triggers, which switches the guards off for a while
#

sql('postgres', 'CREATE DATABASE untriggered_empty');
sql('untriggered_empty', 'CREATE EXTENSION hilo');
restore_sql($untriggered, 'untriggered_empty');
is(maxima('untriggered_empty'), $source, 'restored with --disable-triggers: all counters');
is( sql('untriggered_empty', q{SELECT hilo_nextval('higher'), hilo_nextval('lower'), hilo_nextval('orders')}),
	'1001|11|33', 'draws go on');
my ($ret, $out, $err) = $node->psql('untriggered_empty', 'UPDATE hilo SET max = 0');
like($err, qr/cannot update table "hilo" by hand/, 'and the table is guarded');
note('guards after --disable-triggers: ' . guards('untriggered_empty'));

$session = used_database('untriggered_used');
($ret, $out, $err) = $node->psql('untriggered_used', slurp_file($untriggered), on_error_stop => 0);
is($session->query_safe("SELECT hilo_nextval('higher'), hilo_nextval('lower'), hilo_nextval('only_there')"),
	'52|502|90', 'a restore with --disable-triggers onto counters in use does them no harm');
note("it says: $err");
note('guards after --disable-triggers: ' . guards('untriggered_used'));
$session->quit;

#
# In a schema with a name that needs quotes
#

my $schema = q{"He said; DROP %s Schema "};
sql('postgres', 'CREATE DATABASE quoted_source');
sql('postgres', 'CREATE DATABASE quoted_copy');
sql('quoted_source', qq{
	CREATE SCHEMA $schema;
	CREATE EXTENSION hilo SCHEMA $schema;
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT $schema.hilo_next('orders'));
	INSERT INTO orders DEFAULT VALUES;
	SELECT $schema.hilo_seed('orders', 100);
	SELECT $schema.hilo_seed('orders; --', 7);
});
$node->command_ok([ 'pg_dump', '-f', "$dir/quoted.sql", 'quoted_source' ], 'pg_dump with a quoted schema');
restore_sql("$dir/quoted.sql", 'quoted_copy');
is(maxima('quoted_copy', $schema), 'orders 100, orders; -- 7', 'quoted schema: all counters');
is(sql('quoted_copy', q{INSERT INTO orders DEFAULT VALUES RETURNING id}),
	'orders/101-A', 'quoted schema: inserts go on');

$holder->quit;
$node->stop;
done_testing();
