# What is attached stays attached through dump and restore, with options and grants: inserts go on at once, above all ids; a table that is restored alone says what to do.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir;
my $node = PostgreSQL::Test::Cluster->new('dump');
$node->init;
$node->start;

sub sql
{
	my ($db, $query) = @_;
	return $node->safe_psql($db, $query);
}

# SQLSTATE, and all that was said.
sub error_of
{
	my ($db, $query) = @_;
	my (undef, undef, $err) = $node->psql($db, "\\set VERBOSITY verbose\n$query");
	return ($err =~ /ERROR: +(\w{5}):/ ? $1 : '', $err);
}

my $odd = q{"My ""Sch.ema"."it's a \\ ta.ble"};
sql('postgres', 'CREATE DATABASE source');
sql('postgres', 'CREATE ROLE clerk; CREATE ROLE inserter; CREATE ROLE leaver; CREATE ROLE nobody');
sql('source', qq{
	SET client_min_messages = warning;
	CREATE EXTENSION hilo;
	CREATE TABLE orders (id serial PRIMARY KEY, item text);
	GRANT INSERT ON orders TO inserter;
	INSERT INTO orders (item) SELECT 'old' FROM generate_series(1, 10);
	SELECT hilo_attach('orders');
	SELECT hilo_configure('orders', range_size => 4, max_range_size => 64, max_value => 100000, grant_to => 'clerk');
	SELECT hilo_configure('orders', grant_to => 'leaver');
	INSERT INTO orders (item) SELECT 'new' FROM generate_series(1, 10);
	INSERT INTO orders VALUES (500, 'explicit');

	CREATE TABLE texts (id text PRIMARY KEY);
	SELECT hilo_attach('texts'), hilo_configure('texts', node_tag => 'North', grant_to => 'public');
	INSERT INTO texts SELECT FROM generate_series(1, 5);
	INSERT INTO texts VALUES ('texts/70-B');

	CREATE TABLE parts (id bigint GENERATED ALWAYS AS IDENTITY, region text) PARTITION BY LIST (region);
	CREATE TABLE part_a PARTITION OF parts FOR VALUES IN ('a');
	CREATE TABLE part_b PARTITION OF parts FOR VALUES IN ('b');
	INSERT INTO parts (region) VALUES ('a'), ('b'), ('a');
	SELECT hilo_attach('parts');

	CREATE TABLE parent (id bigserial);
	CREATE TABLE child () INHERITS (parent);
	INSERT INTO child VALUES (30);
	SELECT hilo_attach('parent');

	CREATE TABLE letters (id smallserial);
	CREATE TABLE parcels (id smallint);
	SELECT hilo_attach('letters', 'id', 'post'), hilo_attach('parcels', 'id', 'post');
	INSERT INTO letters DEFAULT VALUES;
	INSERT INTO parcels VALUES (40);

	CREATE SCHEMA "My ""Sch.ema";
	CREATE TABLE $odd ("i'd" bigserial);
	SELECT hilo_attach(\$q\$$odd\$q\$, 'i''d', 'a "co''ll\\');
	INSERT INTO $odd VALUES (7);

	CREATE TABLE free (id bigint);
	SELECT hilo_attach('free'), hilo_detach('free');
});

my %looks = (
	bindings => q{SELECT collection, id_column, taken, granted_to, attached, replaced FROM hilo.binding ORDER BY 1, 2::text COLLATE "C", 4},
	options => q{SELECT collection, range_size, max_range_size, max_value, node_tag, flags & (2 + 4 + 8) FROM hilo.hilo ORDER BY 1},
	defaults => q{SELECT adrelid::regclass, adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef
		JOIN pg_class c ON c.oid = adrelid WHERE relkind IN ('r', 'p') AND relnamespace <> 'hilo'::regnamespace ORDER BY adrelid::regclass::text COLLATE "C"},
	triggers => q{SELECT tgrelid::regclass, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname LIKE 'zzz%' ORDER BY tgrelid::regclass::text COLLATE "C"},
	sequences => q{SELECT count(*) FROM pg_sequences},
	status => q{SELECT collection, max, max_value, bound_to FROM hilo.status ORDER BY 1},
	rights => q{SELECT has_function_privilege('nobody', 'hilo_attach(regclass, name, text)', 'EXECUTE')});
my %before = map { $_ => sql('source', $looks{$_}) } keys %looks;
is($before{triggers} =~ tr/\n//, 9, 'ten tables have a trigger');
is($before{sequences}, 0, 'no sequence is left');
like($before{bindings}, qr/^orders\|\|\|leaver\|f\|$/m, 'grants are there');

sub may_draw
{
	my ($db, $role, $collection) = @_;
	my ($state) = error_of($db, "SET ROLE $role; SELECT hilo_next_number('$collection')");
	return $state;
}

# A restored database goes on by itself.
sub check
{
	my ($db, $what) = @_;

	is(sql($db, $looks{$_}), $before{$_}, "$what: $_") foreach sort keys %looks;
	is( sql($db, q{INSERT INTO orders (item) SELECT 'restored' FROM generate_series(1, 3) RETURNING id}),
		"501\n502\n503", "$what: ids go on");
	is(sql($db, q{INSERT INTO texts DEFAULT VALUES RETURNING id}), 'texts/71-North', "$what: text ids go on, with their tag");
	is(sql($db, q{INSERT INTO parts (region) VALUES ('b'), ('a') RETURNING id}), "4\n5", "$what: in partitions");
	is(sql($db, q{INSERT INTO child DEFAULT VALUES RETURNING id}), 31, "$what: in children");
	is(sql($db, q{INSERT INTO letters DEFAULT VALUES RETURNING id}), 41, "$what: in a shared collection");
	is(sql($db, qq{INSERT INTO $odd DEFAULT VALUES RETURNING "i'd"}), 8, "$what: with odd names");

	sql($db, q{INSERT INTO orders VALUES (900); INSERT INTO parts VALUES (901, 'a'); INSERT INTO child VALUES (902); INSERT INTO parcels VALUES (903); INSERT INTO texts VALUES ('texts/904')});
	is( sql($db, q{SELECT string_agg(collection || ' ' || max, ', ' ORDER BY max) FROM hilo.hilo WHERE max >= 900}),
		'orders 900, parts 901, parent 902, post 903, texts 904', "$what: explicit ids are minded");
	is( join(' ', map { "$_:" . may_draw($db, $_, 'orders') } qw(inserter clerk nobody)),
		'inserter: clerk: nobody:42501', "$what: who may draw");
	is(may_draw($db, 'nobody', 'texts'), '', "$what: everybody by a grant to public");
	is(sql($db, q{SELECT hilo_attach('orders') >= 900, hilo_attach('parts') >= 901}), 't|t', "$what: attaching again is fine");
	is( sql($db, q{SELECT hilo_detach('orders'), hilo_detach('parts'), hilo_detach('texts'), hilo_detach('letters'), hilo_detach('parcels')}),
		'sequence|identity always|nothing|sequence|nothing', "$what: what was replaced is known");
	is( sql($db, q{INSERT INTO orders DEFAULT VALUES RETURNING id > 900}), 't', "$what: the sequence goes on above");
	return;
}

sub new_database
{
	my ($db, $set_up) = @_;
	sql('postgres', "CREATE DATABASE $db");
	sql($db, $set_up) if defined $set_up;
	return $db;
}

sub restore_sql
{
	my ($file, $db, @options) = @_;
	$node->command_ok(
		[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', @options, '-d', $db, '-f', $file ],
		"psql @options " . ($file =~ s,.*/,,r) . " into $db");
	return;
}

#
# The whole database
#
$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'source' ], 'pg_dump');
$node->command_ok([ 'pg_dump', '--inserts', '-f', "$dir/inserts.sql", 'source' ], 'pg_dump --inserts');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'source' ], 'pg_dump -Fc');
$node->command_ok([ 'pg_dump', '-Fd', '-j', '2', '-f', "$dir/folder", 'source' ], 'pg_dump -Fd --jobs');
# Roles are not in a dump: one that is gone is no obstacle.
sql('postgres', 'DROP ROLE leaver');

restore_sql("$dir/plain.sql", new_database('plain'), '--single-transaction');
check('plain', 'plain');
restore_sql("$dir/inserts.sql", new_database('inserts'));
check('inserts', 'inserts');
new_database('custom');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'custom', "$dir/custom" ], 'pg_restore');
check('custom', 'custom');
new_database('jobs');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-j', '3', '-d', 'jobs', "$dir/folder" ], 'pg_restore --jobs');
check('jobs', 'jobs');
new_database('sections');
$node->command_ok([ 'pg_restore', '--exit-on-error', "--section=$_", '-d', 'sections', "$dir/custom" ], "pg_restore --section=$_")
  foreach qw(pre-data data post-data);
check('sections', 'sections');

# Schema and data one after the other: the triggers are there before the
# bindings, so they have to be off meanwhile.
$node->command_ok([ 'pg_dump', '-s', '-f', "$dir/schema.sql", 'source' ], 'pg_dump -s');
$node->command_ok([ 'pg_dump', '-a', '--disable-triggers', '-f', "$dir/data.sql", 'source' ], 'pg_dump -a --disable-triggers');
restore_sql("$dir/schema.sql", new_database('two_steps'));
restore_sql("$dir/data.sql", 'two_steps');
check('two_steps', 'two steps');

#
# A table alone
#
$node->command_ok([ 'pg_dump', '-t', 'orders', '-f', "$dir/orders.sql", 'source' ], 'pg_dump -t orders');
$node->command_ok([ 'pg_dump', '-t', 'parts', '-t', 'part_?', '-f', "$dir/parts.sql", 'source' ], 'pg_dump -t parts');
new_database('alone', 'CREATE EXTENSION hilo');
restore_sql("$dir/orders.sql", 'alone');
restore_sql("$dir/parts.sql", 'alone');
is(sql('alone', 'SELECT count(*) FROM orders'), 21, 'its rows are there');

my $insert = q{INSERT INTO orders (item) VALUES ('first')};
my ($state, $said) = error_of('alone', $insert);
is($state, '55000', 'an insert is refused');
like($said, qr/HINT: +Run hilo_attach\(\) for the column\./, 'and says what to do');
($state) = error_of('alone', q{INSERT INTO orders VALUES (1000)});
is($state, '', 'one with an id is not, as a restore of data alone does that');
($state) = error_of('alone', q{INSERT INTO parts (region) VALUES ('a')});
is($state, '55000', 'and one in a partition');
($state) = error_of('alone', q{UPDATE orders SET item = 'x' WHERE id = 1});
is($state, '', 'other columns can be changed');

my $describe = sub {
	my ($db) = @_;
	my ($out, $err) = run_command(
		[ 'psql', '-X', '-h', $node->host, '-p', $node->port, '-d', $db, '-c', '\d orders', '-c', '\d parts' ]);
	return "$out$err";
};
is($describe->('alone'), $describe->('source'), 'it looks like the one it was made of');
is(sql('alone', q{SELECT hilo_attach('orders'), hilo_attach('parts')}), '1000|3', 'it is attached, above all ids');
is($describe->('alone'), $describe->('source'), 'nothing had to be changed for that');
is(sql('alone', "$insert RETURNING id"), 1001, 'inserts go on');
is(sql('alone', q{INSERT INTO parts (region) VALUES ('b') RETURNING id}), 4, 'in a partition, too');

# Where the collection belongs to another table, it is not shared unasked.
new_database('elsewhere', q{
	CREATE EXTENSION hilo;
	CREATE SCHEMA archive;
	CREATE TABLE archive.orders (id bigint);
	SELECT hilo_attach('archive.orders');
	SELECT hilo_seed('orders', 5000);
});
restore_sql("$dir/orders.sql", 'elsewhere');
($state) = error_of('elsewhere', $insert);
is($state, '55000', 'a collection of another table does not do, though it was drawn from');
($state) = error_of('elsewhere', q{SELECT hilo_attach('orders')});
is($state, '42710', 'attaching it asks for the name');
is(sql('elsewhere', q{SELECT hilo_attach('orders', 'id', 'orders')}), 5001, 'with the name, they share it');
is(sql('elsewhere', "$insert RETURNING id"), 5002, 'and inserts go on above both');

# Back to what there was, without ever having been attached here.
new_database('detached', 'CREATE EXTENSION hilo');
restore_sql("$dir/orders.sql", 'detached');
is(sql('detached', q{SELECT hilo_detach('orders', back_to => 'sequence')}), 'sequence', 'it can be detached');
is(sql('detached', q{SELECT count(*) FROM pg_trigger WHERE tgrelid = 'orders'::regclass AND NOT tgisinternal}), 0, 'without a trigger');

$node->stop;
done_testing();
