# Promises 1 and 4 across ALTER EXTENSION hilo UPDATE: counters and the ranges of sessions stay as they are, whether the update is committed, rolled back, or fails.
#
# There is no later version yet, so the test makes some, in a folder of its own
# in which only its server looks for extensions.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use File::Copy;
use File::Path qw(make_path);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('version');
$node->init;
# Autovacuum makes sessions look their ranges up.
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->start;
my $dir = PostgreSQL::Test::Utils::tempdir;

sub sql
{
	my ($query, $db) = @_;
	return $node->safe_psql($db // 'postgres', $query);
}

#
# A folder with the extension and its artificial versions
#

my $sharedir = $node->config_data('--sharedir');
my $destdir = sql(q{SELECT setting FROM pg_settings WHERE name = 'extension_destdir'});
my $path = sql(q{SELECT setting FROM pg_settings WHERE name = 'extension_control_path'});
my ($installed, $setting);

if (sql(q{SELECT count(*) FROM pg_settings WHERE name = 'extension_destdir'}))
{
	$installed = "$destdir$sharedir";
	$setting = "extension_destdir = '$dir'";
	make_path("$dir$sharedir");
}
elsif ($path ne '')
{
	($installed) = grep { -f "$_/extension/hilo.control" }
	  map { $_ eq '$system' ? $sharedir : $_ } split /:/, $path;
	$setting = "extension_control_path = '$dir$sharedir:\$system'";
}
else
{
	$node->stop;
	plan skip_all => 'this server looks for extensions in one folder only';
}

my $folder = "$dir$sharedir/extension";
make_path($folder);
copy($_, $folder) || die "$_: $!" foreach glob "$installed/extension/hilo--*.sql";
my $control = slurp_file("$installed/extension/hilo.control");
like($control, qr/^default_version = '1\.0'$/m, 'the version that is updated is 1.0');

# With a spare that has got a name, and functions, one of them in the library.
append_to_file("$folder/hilo--1.0--1.1test.sql", q{
ALTER TABLE hilo.hilo RENAME COLUMN spare1 TO first_named;
COMMENT ON COLUMN hilo.hilo.first_named IS 'a column with a name';
CREATE FUNCTION hilo_added() RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT text 'added' $$;
CREATE FUNCTION hilo_draw(collection text) RETURNS bigint
    LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
    AS 'MODULE_PATHNAME', 'hilo_next_number';
});

# The same, but for an error at its end.
append_to_file("$folder/hilo--1.0--1.2test.sql",
	slurp_file("$folder/hilo--1.0--1.1test.sql") . "SELECT 1/0;\n");

# With a new table in the place of the old one.
append_to_file("$folder/hilo--1.1test--2.0test.sql", q{
LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE;
ALTER EXTENSION hilo DROP TABLE hilo.hilo;
ALTER TABLE hilo.hilo RENAME TO hilo_before;
ALTER INDEX hilo.hilo_collection_idx RENAME TO hilo_before_idx;
CREATE TABLE hilo.hilo (LIKE hilo.hilo_before INCLUDING ALL) USING heap WITH (fillfactor = 20);
ALTER TABLE hilo.hilo REPLICA IDENTITY NOTHING;
CREATE TRIGGER guard_rows BEFORE INSERT OR UPDATE OR DELETE ON hilo.hilo
    FOR EACH ROW EXECUTE FUNCTION hilo.guard('hilo.seed', 'hilo.drop');
CREATE TRIGGER guard_table BEFORE UPDATE OR DELETE OR TRUNCATE ON hilo.hilo
    FOR EACH STATEMENT EXECUTE FUNCTION hilo.guard('hilo.seed', 'hilo.drop');
ALTER TABLE hilo.hilo ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table;
INSERT INTO hilo.hilo SELECT * FROM hilo.hilo_before;
DROP TABLE hilo.hilo_before;
SELECT pg_catalog.pg_extension_config_dump('hilo.hilo', '');
});
(my $next_control = $control) =~ s/^default_version = .*/default_version = '1.1test'/m;
append_to_file("$folder/hilo.control", $next_control);
$node->append_conf('postgresql.conf', $setting);
$node->restart;

#
# A database at 1.0 with data
#

sql(q{
	CREATE EXTENSION hilo VERSION '1.0';
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT hilo_next('orders'), v int);
	INSERT INTO orders (v) VALUES (1), (2);
	SELECT hilo.release();
	SELECT hilo.seed('advanced', 5000);
	SELECT hilo.seed('in_vain', 0);
	SELECT hilo.seed('gone', 500);
	SELECT hilo.drop('gone');
	INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('limited', 40, 50);
	SELECT next_identity('companies'), next_server_side_id('companies/');
	SELECT hilo.bind('people', 'orders', 'id');

	CREATE TABLE drawn (session text, number bigint);
	CREATE TABLE stop (now bool);
	-- Each number is a claim; waits for who has locked the table.
	CREATE PROCEDURE draw_until_stop() LANGUAGE plpgsql AS $$
	BEGIN
		WHILE NOT EXISTS (SELECT FROM stop) LOOP
			INSERT INTO drawn SELECT 'drawing', hilo_next_number('shared') FROM generate_series(1, 10);
			COMMIT;
		END LOOP;
	END
	$$;
});

my $holder = session($node);
my $drawing = session($node);
my $updating = session($node);
$holder->query('SET hilo.range_size = 1000');
$drawing->query('SET hilo.range_size = 1');
$drawing->query('SET hilo.range_duration = 0');

# The session in the middle of a range draws the next number of it.
my $held = 0;

sub holder_goes_on
{
	my ($what) = @_;

	$held++;
	is($holder->query(q{INSERT INTO drawn VALUES ('holder', hilo_next_number('shared')) RETURNING number}),
		$held, "$what: a session goes on in its range");
	return;
}

# What an update must not change: all but epoch and changes, which
# nothing outside depends on.
sub counters
{
	my ($db) = @_;
	return sql(q{
		SELECT string_agg(concat_ws(' ', collection, max, max_ever, max_value, flags & 1), ', ' ORDER BY collection)
		FROM hilo.hilo WHERE collection NOT IN ('shared', 'in_vain')
		UNION ALL SELECT string_agg(b::text, ', ') FROM hilo.binding b}, $db);
}

# The version, and what belongs to it.
sub version
{
	my ($db) = @_;
	return sql(q{
		SELECT extversion, to_regproc('hilo_added') IS NOT NULL, to_regproc('hilo_draw') IS NOT NULL,
			(SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
			 WHERE attrelid = 'hilo.hilo'::regclass AND attname ~ 'spare|named')
		FROM pg_extension WHERE extname = 'hilo'}, $db);
}

my $at_1_0 = '1.0|f|f|spare1 spare2';
my $at_1_1 = '1.1test|t|t|first_named spare2';

is(version(), $at_1_0, 'a database at 1.0');
my $counters = counters();
is( $counters, qq{advanced 5000 5000 9223372036854775807 0, companies| 1 1 9223372036854775807 0, gone 0 500 9223372036854775807 1, limited 40 40 50 0, orders 2 32 9223372036854775807 0, people 0 0 9223372036854775807 0, | 1 1 9223372036854775807 0
(people,public.orders.id,,,,)}, 'its counters, identities and bindings');
holder_goes_on('at 1.0');
is(sql(q{SELECT max FROM hilo.hilo WHERE collection = 'shared'}), 1000, 'of 1000 numbers');
$node->command_ok([ 'pg_dump', '-f', "$dir/at_1_0.sql", 'postgres' ], 'pg_dump at 1.0');

#
# Updates that come to nothing
#

is($updating->error_of(q{ALTER EXTENSION hilo UPDATE TO '1.2test'}), '22012', 'a script fails');
is(version(), $at_1_0, 'failed: everything is at 1.0');
is(counters(), $counters, 'failed: no counter has changed');
holder_goes_on('failed');

# While the transaction is open, sessions that need a new range wait.
$updating->query('BEGIN');
$updating->query(q{ALTER EXTENSION hilo UPDATE});
is($updating->query(q{SELECT hilo_draw('in_vain'), hilo_next_number('in_vain'), hilo_added()}), '1|2|added',
	'the updating transaction has the new functions, and draws');
$drawing->start('CALL draw_until_stop()');
my $waits = q{SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = } . $drawing->pid;
ok($node->poll_query_until('postgres', $waits), 'a session that needs a new range waits');
holder_goes_on('open');
$updating->query('ROLLBACK');
is(version(), $at_1_0, 'rolled back: everything is at 1.0');
holder_goes_on('rolled back');
is(sql(q{SELECT hilo_next_number('in_vain') > 2}), 't', 'rolled back: what it has drawn is not drawn again');
ok($node->poll_query_until('postgres', q{SELECT count(*) > 100 FROM drawn}), 'rolled back: others draw');

#
# The update
#

$updating->query('BEGIN');
$updating->query(q{ALTER EXTENSION hilo UPDATE});
ok($node->poll_query_until('postgres', $waits), 'a session that needs a new range waits once more');
holder_goes_on('open');
my $count = sql('SELECT count(*) FROM drawn');
$updating->query('COMMIT');
is(version(), $at_1_1, 'updated');
is(counters(), $counters, 'updated: no counter has changed');
holder_goes_on('updated');
ok($node->poll_query_until('postgres', "SELECT count(*) > $count + 100 FROM drawn"), 'updated: others draw');
is( sql(q{SELECT hilo_draw('advanced'), hilo_next_number('advanced'), hilo_added(), hilo_next_number('limited'), hilo_next_number('gone'), hilo_next_number('new'),
		next_identity_for('companies'), next_server_side_id('companies/')}),
	'5001|5002|added|41|1|1|2|companies/0000000000000000002-A', 'updated: draws go on');
is(sql(q{INSERT INTO orders (v) VALUES (3) RETURNING id}), 'orders/3-A', 'updated: inserts go on');
is( sql(q{SELECT col_description('hilo.hilo'::regclass, attnum) FROM pg_attribute
		WHERE attrelid = 'hilo.hilo'::regclass AND attname = 'first_named'}),
	'a column with a name', 'updated: the column has its comment');
sql('INSERT INTO stop VALUES (true)');
$drawing->result;
is( sql(q{SELECT count(*), count(DISTINCT number), min(number), max(number) - min(number) + 1 = count(*)
		FROM drawn WHERE session = 'drawing'}) =~ s/^(\d+)\|\1\|/all|/r,
	'all|1001|t', 'the session that drew all the time: no gap, no number twice');

# A library that knows nothing of the new column leaves it as it is.
sql(q{
	ALTER TABLE hilo.hilo DISABLE TRIGGER USER;
	UPDATE hilo.hilo SET first_named = 7, spare2 = 8 WHERE collection = 'shared';
	ALTER TABLE hilo.hilo ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table;
});
$drawing->query(q{INSERT INTO drawn VALUES ('drawing', hilo_next_number('shared'))});
is(sql(q{SELECT first_named, spare2, changes > 100 FROM hilo.hilo WHERE collection = 'shared'}), '7|8|t',
	'claims keep what is in the columns with a name');
holder_goes_on('a row rewritten by hand');

#
# Dumps
#

sub restore
{
	my ($file, $db) = @_;
	return run_command([ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr($db), '-f', "$dir/$file" ]);
}

my $most = sql(q{SELECT max(number) FROM drawn});
$counters = counters();
$node->command_ok([ 'pg_dump', '-f', "$dir/at_1_1.sql", 'postgres' ], 'pg_dump at the next version');
sql('CREATE DATABASE copy');
is((restore('at_1_1.sql', 'copy'))[1], '', 'it can be restored');
is(version('copy'), $at_1_1, 'restored: the next version');
is(counters('copy'), $counters, 'restored: all counters');
is(sql(qq{SELECT hilo_next_number('shared') > $most, hilo_next_number('limited')}, 'copy'), 't|42', 'restored: draws go on');

# A dump names the columns: one of 1.0 wants the names of 1.0.
sql('CREATE DATABASE other_names');
like((restore('at_1_0.sql', 'other_names'))[1], qr/column "spare1" of relation "hilo" does not exist/,
	'a dump of 1.0 into a new database, which gets the next version, is an error');
sql('CREATE DATABASE same_names');
sql(q{CREATE EXTENSION hilo VERSION '1.0'}, 'same_names');
is((restore('at_1_0.sql', 'same_names'))[1], '', 'a dump of 1.0 into a database at 1.0');
sql('ALTER EXTENSION hilo UPDATE', 'same_names');
is(version('same_names'), $at_1_1, 'restored at 1.0, and updated');
is(sql(q{SELECT hilo_next_number('shared'), hilo_next_number('advanced'), hilo_next_number('limited')}, 'same_names'),
	'1001|5001|41', 'restored at 1.0, and updated: draws go on');

#
# A version with a new table
#

$drawing->query('DELETE FROM stop');
$count = sql('SELECT count(*) FROM drawn');
$drawing->start('CALL draw_until_stop()');
ok($node->poll_query_until('postgres', "SELECT count(*) > $count + 100 FROM drawn"), 'a session draws');
$updating->query('BEGIN');
$updating->query(q{ALTER EXTENSION hilo UPDATE TO '2.0test'});
ok($node->poll_query_until('postgres', $waits), 'a session that needs a new range waits for the new table');
$updating->query('ROLLBACK');
holder_goes_on('new table, rolled back');
$updating->query('BEGIN');
$updating->query(q{ALTER EXTENSION hilo UPDATE TO '2.0test'});
ok($node->poll_query_until('postgres', $waits), 'it waits once more');
$count = sql('SELECT count(*) FROM drawn');
$updating->query('COMMIT');
is(version(), $at_1_1 =~ s/1\.1test/2.0test/r, 'new table: updated');
is(counters(), $counters, 'new table: no counter has changed');
ok($node->poll_query_until('postgres', "SELECT count(*) > $count + 100 FROM drawn"), 'new table: others draw');
$holder->query(q{INSERT INTO drawn VALUES ('holder', hilo_next_number('shared'))});
sql('INSERT INTO stop VALUES (true)');
$drawing->result;
is(sql(q{SELECT count(*) = count(DISTINCT number) FROM drawn}), 't', 'no number twice, of all that were drawn');
is( sql(q{SELECT extconfig::regclass[]::text FROM pg_extension WHERE extname = 'hilo'}),
	'{hilo.hub,hilo.member,hilo.binding,hilo.hilo}', 'new table: is dumped, the old one not');
my ($ret, $out, $err) = $node->psql('postgres', 'DELETE FROM hilo.hilo');
like($err, qr/cannot delete from table "hilo\.hilo" by hand/, 'new table: is guarded');

$holder->finish;
$drawing->finish;
$updating->finish;
$node->stop;
done_testing();
