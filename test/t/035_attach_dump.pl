# What is attached stays attached in every copy that pg_dump makes, whole or in part: the next insert is above all ids, without an error; and hilo.detach() leaves nothing in a dump.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
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

my $odd = q{"My ""Sch.ema"."it's a \\ ta.ble"};
sql('postgres', 'CREATE DATABASE source');
sql('postgres', 'CREATE ROLE clerk; CREATE ROLE inserter; CREATE ROLE leaver; CREATE ROLE nobody');
sql('source', qq{
	SET client_min_messages = warning;
	CREATE EXTENSION hilo;
	CREATE TABLE orders (id serial PRIMARY KEY, item text);
	GRANT INSERT ON orders TO inserter;
	INSERT INTO orders (item) SELECT 'old' FROM generate_series(1, 10);
	SELECT hilo.attach('orders', collection => 'orders');
	SELECT hilo.configure('orders', range_size => 4, max_range_size => 64, max_value => 100000), hilo.allow('orders', 'clerk');
	SELECT hilo.allow('orders', 'leaver');
	INSERT INTO orders (item) SELECT 'new' FROM generate_series(1, 10);
	INSERT INTO orders VALUES (500, 'explicit');

	CREATE TABLE texts (id text PRIMARY KEY);
	SELECT hilo.attach('texts'), hilo.configure('texts', node_tag => 'North'), hilo.allow('texts', 'public');
	INSERT INTO texts SELECT FROM generate_series(1, 5);
	INSERT INTO texts VALUES ('texts/70-B');

	CREATE TABLE parts (id bigserial, region text) PARTITION BY LIST (region);
	CREATE TABLE part_a PARTITION OF parts FOR VALUES IN ('a');
	CREATE TABLE part_b PARTITION OF parts FOR VALUES IN ('b');
	INSERT INTO parts (region) VALUES ('a'), ('b'), ('a');
	SELECT hilo.attach('parts', 'id');

	CREATE TABLE parent (id bigserial);
	CREATE TABLE child () INHERITS (parent);
	INSERT INTO child VALUES (30);
	SELECT hilo.attach('parent', 'id');

	CREATE TABLE letters (id smallserial PRIMARY KEY);
	CREATE TABLE parcels (id smallint PRIMARY KEY);
	SELECT hilo.attach('letters', 'id', 'post'), hilo.attach('parcels', 'id', 'post');
	INSERT INTO letters DEFAULT VALUES;
	INSERT INTO parcels VALUES (40);

	CREATE SCHEMA "My ""Sch.ema";
	CREATE TABLE $odd ("i'd" bigserial PRIMARY KEY);
	SELECT hilo.attach(\$q\$$odd\$q\$, 'i''d', 'a "co''ll\\');
	INSERT INTO $odd VALUES (7);

	CREATE TABLE free (id bigint PRIMARY KEY);
	SELECT hilo.attach('free'), hilo.detach('free');

	CREATE TABLE own_default (id text PRIMARY KEY DEFAULT gen_random_uuid());
	SELECT hilo.attach('own_default', collection => 'own');
	INSERT INTO own_default SELECT FROM generate_series(1, 3);
});

my %looks = (
	bindings => q{SELECT collection, kind, object_name, column_name, owner FROM hilo.binding ORDER BY 1, 2, object_name COLLATE "C", owner COLLATE "C"},
	options => q{SELECT collection, range_size, max_range_size, max_value, node_tag, flags & (2 + 4 + 8) FROM hilo.hilo ORDER BY 1},
	defaults => q{SELECT adrelid::regclass, adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef
		JOIN pg_class c ON c.oid = adrelid WHERE relkind IN ('r', 'p') AND relnamespace <> 'hilo'::regnamespace ORDER BY adrelid::regclass::text COLLATE "C"},
	attached => q{SELECT * FROM hilo.attachments ORDER BY relation::text COLLATE "C"},
	sequences => q{SELECT schemaname, sequencename, data_type, start_value, increment_by, last_value FROM pg_sequences ORDER BY 1, 2},
	status => q{SELECT collection, max, max_value, (SELECT string_agg(b, ', ' ORDER BY b COLLATE "C") FROM unnest(bound_to::text[]) b) FROM hilo.status ORDER BY 1});
my %before = map { $_ => sql('source', $looks{$_}) } keys %looks;
is($before{attached} =~ tr/\n//, 7, 'eight tables are attached');
is($before{sequences} =~ tr/\n//, 5, 'all sequences are left');
like($before{bindings}, qr/^orders\|allowed\|\|\|leaver$/m, 'grants are there');

sub may_draw
{
	my ($db, $role, $collection) = @_;
	my $state = error_of($node, $db, "SET ROLE $role; SELECT hilo_next_number('$collection')");
	return $state;
}

# A restored database goes on by itself.
sub check
{
	my ($db, $what) = @_;

	is(sql($db, $looks{$_}), $before{$_}, "$what: $_") foreach sort keys %looks;
	is( sql($db, q{WITH new AS (INSERT INTO orders (item) SELECT 'restored' FROM generate_series(1, 3) RETURNING id)
			SELECT min(id) > 20, max(id) < 520, count(DISTINCT id) FROM new}),
		't|t|3', "$what: ids go on");
	is(sql($db, q{INSERT INTO own_default DEFAULT VALUES RETURNING hilo_number(id) > 3 AND id ~ '^own/[0-9]+-A$'}), 't', "$what: in place of another default");
	is(sql($db, q{INSERT INTO texts DEFAULT VALUES RETURNING hilo_number(id) > 5 AND id ~ '^texts/[0-9]+-North$'}), 't', "$what: text ids go on, with their tag");
	is( sql($db, q{WITH new AS (INSERT INTO parts (region) VALUES ('b'), ('a') RETURNING id)
			SELECT min(id), max(id) < 100, count(DISTINCT id) FROM new}),
		'4|t|2', "$what: in partitions");
	is(sql($db, q{INSERT INTO child DEFAULT VALUES RETURNING id}), 31, "$what: in children");
	is(sql($db, q{INSERT INTO letters DEFAULT VALUES RETURNING id > 1}), 't', "$what: in a shared collection");
	is(sql($db, qq{INSERT INTO $odd DEFAULT VALUES RETURNING "i'd" <> 7}), 't', "$what: with odd names, and an id by hand passed over");

	is( sql($db, q{INSERT INTO orders VALUES (26), (27); INSERT INTO parcels VALUES (5); INSERT INTO texts VALUES ('texts/7-North'), ('texts/8-North');
			INSERT INTO orders SELECT FROM generate_series(1, 20); INSERT INTO letters SELECT FROM generate_series(1, 20); INSERT INTO texts SELECT FROM generate_series(1, 20);
			SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM letters JOIN parcels USING (id)), (SELECT count(*) FROM texts)}),
		'46|0|29', "$what: explicit ids are passed");
	is( join(' ', map { "$_:" . may_draw($db, $_, 'orders') } qw(inserter clerk nobody)),
		'inserter: clerk: nobody:42501', "$what: who may draw");
	is(may_draw($db, 'nobody', 'texts'), '', "$what: all roles by a grant to public");
	is(sql($db, q{SELECT hilo.attach('orders') >= 500, hilo.attach('parts', 'id') >= 4}), 't|t', "$what: attaching again is fine");
	is( sql($db, q{SELECT hilo.detach('orders'), hilo.detach('parts'), hilo.detach('texts'), hilo.detach('letters'), hilo.detach('parcels'), hilo.detach('own_default')}),
		'sequence|sequence|nothing|sequence|nothing|nothing', "$what: what was replaced is known");
	is( sql($db, q{INSERT INTO orders DEFAULT VALUES RETURNING id > 500}), 't', "$what: the sequence goes on above");
	return;
}

#
# The whole database
#
$node->command_ok([ 'pg_dump', '-f', "$dir/plain.sql", 'source' ], 'pg_dump');
$node->command_ok([ 'pg_dump', '--inserts', '-f', "$dir/inserts.sql", 'source' ], 'pg_dump --inserts');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/custom", 'source' ], 'pg_dump -Fc');
$node->command_ok([ 'pg_dump', '-Fd', '-j', '2', '-f', "$dir/folder", 'source' ], 'pg_dump -Fd --jobs');
$node->command_ok([ 'pg_dump', '-s', '-f', "$dir/schema.sql", 'source' ], 'pg_dump -s');
$node->command_ok([ 'pg_dump', '-a', '-f', "$dir/data.sql", 'source' ], 'pg_dump -a');
$node->command_ok([ 'pg_dump', '-a', '--disable-triggers', '-f', "$dir/quiet_data.sql", 'source' ], 'pg_dump -a --disable-triggers');
# Roles are not in a dump: one that is gone is no obstacle.
sql('postgres', 'DROP ROLE leaver');

restore_sql($node, "$dir/plain.sql", new_database($node, 'plain'), '--single-transaction');
check('plain', 'plain');
restore_sql($node, "$dir/inserts.sql", new_database($node, 'inserts'));
check('inserts', 'inserts');
new_database($node, 'custom');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'custom', "$dir/custom" ], 'pg_restore');
check('custom', 'custom');
new_database($node, 'jobs');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-j', '3', '-d', 'jobs', "$dir/folder" ], 'pg_restore --jobs');
check('jobs', 'jobs');
new_database($node, 'sections');
$node->command_ok([ 'pg_restore', '--exit-on-error', "--section=$_", '-d', 'sections', "$dir/custom" ], "pg_restore --section=$_")
  foreach qw(pre-data data post-data);
check('sections', 'sections');

# Schema and data one after the other, with triggers and without.
foreach my $data ('data', 'quiet_data')
{
	restore_sql($node, "$dir/schema.sql", new_database($node, "steps_$data"));
	restore_sql($node, "$dir/$data.sql", "steps_$data");
	check("steps_$data", "schema, then $data");
}

# Over a database that has gone on since, and into one in which a program has made schema hilo.
new_database($node, 'over');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-d', 'over', "$dir/custom" ], 'pg_restore');
sql('over', q{INSERT INTO orders SELECT generate_series(2000, 2100); INSERT INTO texts VALUES ('texts/3000-A')});
$node->command_ok([ 'pg_restore', '--exit-on-error', '--clean', '--if-exists', '-d', 'over', "$dir/custom" ], 'pg_restore --clean');
check('over', 'cleaned');
new_database($node, 'made', 'CREATE SCHEMA hilo');
restore_sql($node, "$dir/plain.sql", 'made');
check('made', 'schema hilo was there');

# A role that gets the name of one that is gone gets nothing by a dump.
sql('postgres', 'CREATE ROLE leaver');
$node->command_ok([ 'pg_dump', '-f', "$dir/namesake.sql", 'source' ], 'pg_dump with a new role of an old name');
restore_sql($node, "$dir/namesake.sql", new_database($node, 'namesake'));
is(may_draw('namesake', 'leaver', 'orders'), '42501', 'who may not draw in the dumped database does not in the restored one');
is(may_draw('namesake', 'clerk', 'orders'), '', 'who may does');
is(may_draw('namesake', 'nobody', 'texts'), '', 'and all may where they might');
sql('postgres', 'DROP ROLE leaver');

#
# The schema without data, and parts of the database
#

# A statement gives what is expected, and no error or warning.
sub gives
{
	my ($db, $query, $expected, $what) = @_;
	my (undef, $out, $err) = $node->psql($db, $query);
	is("$out$err", $expected, $what);
	return;
}

# Inserts into each attached table that is there, in sessions that roll back now and then: no id
# twice, no error.
sub inserts_go_on
{
	my ($db, $what, @tables) = @_;
	foreach my $table (@tables)
	{
		my ($name, $column) = ref $table ? @$table : ($table, 'id');
		my $values = "DEFAULT VALUES RETURNING $column";
		my (undef, $out, $err) = $node->psql($db, qq{
			SET hilo.range_size = 2;
			BEGIN;
			INSERT INTO $name $values;
			INSERT INTO $name $values;
			COMMIT;
			BEGIN;
			INSERT INTO $name $values;
			ROLLBACK;
			INSERT INTO $name $values;});
		is($err, '', "$what: inserts into $name go on");
		is( sql($db, "SELECT count(*) - count(DISTINCT $column) FROM $name"), 0, "$what: with no id twice");
	}
	return;
}
my @tables = ('orders', 'texts', 'child', 'parent', 'letters', 'parcels', 'own_default', [ $odd, q{"i'd"} ]);

new_database($node, 'bare');
restore_sql($node, "$dir/schema.sql", 'bare');
inserts_go_on('bare', 'schema only', @tables);
gives('bare', q{INSERT INTO parts (region) VALUES ('a'), ('b') RETURNING id}, "1\n2", 'schema only: and partitions');
gives('bare', q{SET ROLE inserter; INSERT INTO orders (item) VALUES ('x')}, '', 'schema only: as an ordinary role');
# The bindings are data.
sql('bare', q{SET client_min_messages = warning; SELECT hilo.attach('orders')});
gives('bare', q{SET ROLE nobody; SELECT hilo_next_number('orders')},
	q{psql:<stdin>:1: ERROR:  permission denied for collection "orders"
DETAIL:  It is bound to table public.orders; drawing requires the privilege to insert into it, or into a partition of it.
HINT:  Grant that privilege, or use hilo.allow().}, 'schema only: attached again, others may not draw');

# One schema, and tables out of an archive, into a database with the extension.
$node->command_ok([ 'pg_dump', '-n', 'public', '-f', "$dir/public.sql", 'source' ], 'pg_dump -n public');
$node->command_ok([ 'pg_dump', '-n', 'public', '-s', '-f', "$dir/public_schema.sql", 'source' ], 'pg_dump -n public -s');
foreach my $file ('public', 'public_schema')
{
	new_database($node, $file, 'CREATE EXTENSION hilo');
	append_to_file("$dir/$file.here.sql", slurp_file("$dir/$file.sql") =~ s/^CREATE SCHEMA public;$//mr);
	restore_sql($node, "$dir/$file.here.sql", $file);
	inserts_go_on($file, $file, grep { !ref } @tables);
	is(sql($file, q{WITH new AS (INSERT INTO parts (region) VALUES ('b'), ('a') RETURNING id)
		SELECT count(DISTINCT id) FROM new WHERE id NOT IN (SELECT id FROM parts)}), 2, "$file: partitions go on");
	is(sql($file, $looks{attached}) . "\n", $before{attached} =~ s/^"My.*\n//mr . "\n", "$file: all are attached");
}

# In one session that has drawn before: its next number is taken.
new_database($node, 'alone', 'CREATE EXTENSION hilo');
my $session = session($node, dbname => 'alone');
$session->query_safe('SET hilo.range_size = 100');
is($session->query_safe(q{SELECT hilo_next_number('orders')}), 1, 'a session has drawn');
$node->command_ok([ 'pg_dump', '-t', 'orders', '-f', "$dir/orders.sql", 'source' ], 'pg_dump -t orders');
$node->command_ok([ 'pg_dump', '-t', 'parts', '-t', 'part_?', '-f', "$dir/parts.sql", 'source' ], 'pg_dump -t parts');
restore_sql($node, "$dir/orders.sql", 'alone');
restore_sql($node, "$dir/parts.sql", 'alone');
is($session->query_safe(q{INSERT INTO orders (item) VALUES ('first'), ('second') RETURNING id > 20}), "t\nt", 'its next ids are none of those restored');
$session->finish;
inserts_go_on('alone', 'a table alone', 'orders');
is(sql('alone', q{INSERT INTO parts (region) VALUES ('b') RETURNING id > 3}), 't', 'a partitioned one, too');
my $describe = sub {
	my ($db) = @_;
	my ($out, $err) = run_command(
		[ 'psql', '-X', '-h', $node->host, '-p', $node->port, '-d', $db, '-c', '\d orders', '-c', '\d parts' ]);
	return "$out$err";
};
is($describe->('alone'), $describe->('source'), 'it looks like the one it was made of');
is(sql('alone', q{SELECT hilo.attach('orders') >= 500, hilo.detach('orders')}), 't|sequence', 'it can be attached and detached');

# pg_restore -t takes no index along that would show the ids: then hilo.sync() reads the table.
new_database($node, 'archive', 'CREATE EXTENSION hilo');
$node->command_ok([ 'pg_restore', '--exit-on-error', '-t', 'orders', '-d', 'archive', "$dir/custom" ], 'pg_restore -t orders');
gives('archive', 'SELECT * FROM hilo.sync()', 'orders||500', 'hilo.sync() finds it by its default');
is(sql('archive', 'SELECT count(*) FROM orders'), 21, 'a table out of an archive: its rows are there');
inserts_go_on('archive', 'a table out of an archive', 'orders');

# The order in which tables come: the second of a shared collection counts, too.
new_database($node, 'shared', 'CREATE EXTENSION hilo');
$node->command_ok([ 'pg_dump', '-t', $_, '-f', "$dir/$_.sql", 'source' ], "pg_dump -t $_") foreach 'letters', 'parcels';
restore_sql($node, "$dir/letters.sql", 'shared');
gives('shared', 'INSERT INTO letters DEFAULT VALUES RETURNING id > 1', 't', 'one of two tables alone');
restore_sql($node, "$dir/parcels.sql", 'shared');
gives('shared', 'INSERT INTO letters DEFAULT VALUES RETURNING id > 2', 't', 'the other one has come: the first one goes on');
gives('shared', 'INSERT INTO parcels DEFAULT VALUES RETURNING id > 3', 't', 'so does that');
inserts_go_on('shared', 'shared', 'letters', 'parcels');

# Where the collection belongs to another table, they share it.
new_database($node, 'elsewhere', q{
	CREATE EXTENSION hilo;
	CREATE SCHEMA archive;
	CREATE TABLE archive.orders (id bigint PRIMARY KEY);
	SELECT hilo.attach('archive.orders', collection => 'orders');
	SELECT hilo.seed('orders', 5000);
});
restore_sql($node, "$dir/orders.sql", 'elsewhere');
gives('elsewhere', q{INSERT INTO orders (item) VALUES ('x') RETURNING id}, 5001, 'in a collection of another table');

# By its owner, not a superuser.
sql('postgres', 'CREATE ROLE boss LOGIN CREATEDB');
new_database($node, 'bosses', q{
	CREATE EXTENSION hilo;
	GRANT ALL ON SCHEMA public TO boss;
	SET SESSION AUTHORIZATION boss;
	CREATE TABLE orders (id serial PRIMARY KEY, item text);
	INSERT INTO orders (item) SELECT 'old' FROM generate_series(1, 10);
	SELECT hilo.attach('orders');
	INSERT INTO orders (item) SELECT 'new' FROM generate_series(1, 10);
});
$node->command_ok([ 'pg_dump', '-U', 'boss', '-n', 'public', '-f', "$dir/boss.sql", 'bosses' ], 'pg_dump by the owner of the tables');
$node->command_ok([ 'pg_dump', '-n', 'public', '-f', "$dir/super.sql", 'bosses' ], 'pg_dump by a superuser');
foreach my $case ([ 'boss', 'boss' ], [ 'boss', 'super' ], [ 'super', 'boss' ], [ 'super', 'super' ])
{
	my ($by, $to) = @$case;
	my $db = new_database($node, "bosses_${by}_$to", 'CREATE EXTENSION hilo; GRANT ALL ON SCHEMA public TO boss');
	append_to_file("$dir/$db.sql", join '', grep { !/^(?:CREATE|ALTER|COMMENT ON) SCHEMA public|^(?:GRANT|REVOKE) .* SCHEMA public/ } map { "$_\n" } split /\n/, slurp_file("$dir/$by.sql"));
	restore_sql($node, "$dir/$db.sql", $db, $to eq 'boss' ? ('-U', 'boss') : ());
	gives($db, q{SET SESSION AUTHORIZATION boss; INSERT INTO orders (item) VALUES ('x'), ('y') RETURNING id > 20}, "t\nt", "dumped by $by, restored by $to: inserts go on");
	gives($db, q{SET SESSION AUTHORIZATION boss; SELECT hilo.attach('orders') > 20, hilo.detach('orders')}, 't|sequence', "dumped by $by, restored by $to: it is the owner's");
}

# A table that only has the default: its index tells what it has.
new_database($node, 'only_default', q{
	CREATE EXTENSION hilo;
	CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT hilo_next_number('orders'));
	INSERT INTO orders SELECT FROM generate_series(1, 5);
});
$node->command_ok([ 'pg_dump', '-f', "$dir/only_default.sql", 'only_default' ], 'pg_dump');
restore_sql($node, "$dir/only_default.sql", new_database($node, 'only_default_copy'));
gives('only_default_copy', 'INSERT INTO orders DEFAULT VALUES RETURNING id > 5', 't', 'a default alone goes on with its counter');
$node->command_ok([ 'pg_dump', '-t', 'orders', '-f', "$dir/only_table.sql", 'only_default' ], 'pg_dump -t');
restore_sql($node, "$dir/only_table.sql", new_database($node, 'only_table', 'CREATE EXTENSION hilo'));
gives('only_table', 'INSERT INTO orders DEFAULT VALUES RETURNING id', 6, 'without its counter, too');
gives('only_table', q{SET client_min_messages = warning; SELECT hilo.attach('orders') >= 6}, 't', 'attached, too');
gives('only_table', 'INSERT INTO orders DEFAULT VALUES RETURNING id > 6', 't', 'it goes on');

#
# The way back: a dump of the schema is the same, byte for byte
#
my $schema = q{
	CREATE EXTENSION hilo;
	CREATE ROLE keeper;
	CREATE TABLE t_serial (id serial PRIMARY KEY, x int);
	GRANT USAGE ON SEQUENCE t_serial_id_seq TO keeper;
	COMMENT ON SEQUENCE t_serial_id_seq IS 'some numbers';
	CREATE TABLE t_big (x int, id bigserial PRIMARY KEY);
	ALTER SEQUENCE t_big_id_seq INCREMENT 10 START 7 MINVALUE 5 MAXVALUE 1000000 CACHE 3 CYCLE RESTART;
	ALTER SEQUENCE t_big_id_seq RENAME TO "big's \\ Numbers";
	CREATE TABLE t_small (id smallserial PRIMARY KEY);
	CREATE TABLE t_always (id bigint GENERATED ALWAYS AS IDENTITY (START 100 INCREMENT 3 CACHE 5) PRIMARY KEY);
	COMMENT ON SEQUENCE t_always_id_seq IS 'numbers of t_always';
	GRANT SELECT ON SEQUENCE t_always_id_seq TO keeper;
	CREATE TABLE t_default (id int GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY);
	CREATE TABLE t_shares (id int PRIMARY KEY DEFAULT nextval('t_serial_id_seq'));
	CREATE SEQUENCE free_numbers START 9;
	CREATE TABLE t_free (id bigint PRIMARY KEY DEFAULT nextval('free_numbers') * 2);
	CREATE TABLE t_guid (id text PRIMARY KEY DEFAULT 'it''s \\ ' || gen_random_uuid());
	CREATE TABLE t_hilo (id text PRIMARY KEY DEFAULT hilo_next('t_hilo'));
	CREATE TABLE t_plain (id text PRIMARY KEY);
	CREATE TABLE t_parts (id bigserial, part int) PARTITION BY LIST (part);
	CREATE TABLE t_part_same PARTITION OF t_parts FOR VALUES IN (1);
	CREATE TABLE t_part_none PARTITION OF t_parts FOR VALUES IN (2);
	ALTER TABLE t_part_none ALTER id DROP DEFAULT;
	CREATE TABLE t_part_own PARTITION OF t_parts FOR VALUES IN (3);
	ALTER TABLE t_part_own ALTER id SET DEFAULT nextval('free_numbers');
	CREATE TABLE t_identity_parts (id bigint GENERATED ALWAYS AS IDENTITY, part int) PARTITION BY LIST (part);
	CREATE TABLE t_identity_part PARTITION OF t_identity_parts DEFAULT;
	CREATE TABLE t_parent (id serial);
	CREATE TABLE t_child () INHERITS (t_parent);
	CREATE TABLE t_child_own (id int DEFAULT 5) INHERITS (t_parent);
};
my @attached = ((map { "t_$_" } qw(serial big small shares plain)), (map { "t_$_', 'id" } qw(parts parent)));

# What pg_dump says, but for its random words.
sub schema_of
{
	my ($db) = @_;
	my ($dump, $err) = run_command([ 'pg_dump', '-s', '-h', $node->host, '-p', $node->port, $db ]);
	is($err, '', 'pg_dump -s is content');
	return $dump =~ s/^\\(un)?restrict .*\n//mgr;
}
new_database($node, 'back', $schema);
my $was = schema_of('back');
foreach my $round (1, 2)
{
	sql('back', "SET client_min_messages = warning; SELECT hilo.attach('$_')") foreach @attached;
	isnt(schema_of('back'), $was, "round $round: attached, the schema is another one");
	foreach my $table (@attached)
	{
		my ($name) = $table =~ /^(\w+)/;
		sql('back', $name =~ /parts/ ? "INSERT INTO $name (part) VALUES (1)" : "INSERT INTO $name DEFAULT VALUES");
	}
	sql('back', "SELECT hilo.detach('$_')") foreach @attached;
	is(schema_of('back'), $was, "round $round: detached, it is what it was");
}
# Detached in a restored copy, tables get their old defaults back: what these were is known there.
sql('back', "SET client_min_messages = warning; SELECT hilo.attach('$_')") foreach @attached;
$node->command_ok([ 'pg_dump', '-f', "$dir/back.sql", 'back' ], 'pg_dump of the attached tables');
restore_sql($node, "$dir/back.sql", new_database($node, 'back_copy'));
sql('back_copy', "SELECT hilo.detach('$_')") foreach @attached;
is(schema_of('back_copy'), $was, 'restored, and detached there: the same');
is(sql('back_copy', q{SELECT object_name FROM hilo.binding}), 'public.t_plain', 'the table of a collection stays recorded');
sql('back_copy', 'SET client_min_messages = warning; DROP TABLE ' . join(', ', map { s/'.*//r } @attached) . ' CASCADE');
is(sql('back_copy', q{SELECT relation FROM hilo.attachments}), 't_hilo', 'and when the tables are dropped, only the one remains that was made with such a default');

# Sequences that were renamed while collections drew: after hilo.sync() a dump has their present names.
new_database($node, 'renamed', q{
	CREATE EXTENSION hilo;
	SET client_min_messages = warning;
	CREATE TABLE bills (id serial PRIMARY KEY, x text);
	SELECT hilo.attach('bills', collection => 'b1');
	ALTER TABLE bills RENAME TO bills_old;
	ALTER SEQUENCE bills_id_seq RENAME TO bills_old_id_seq;
	ALTER INDEX bills_pkey RENAME TO bills_old_pkey;
	CREATE TABLE bills (id serial PRIMARY KEY, x text);
	SELECT hilo.attach('bills', collection => 'b2');
	CREATE SEQUENCE common;
	CREATE TABLE notes (id bigint PRIMARY KEY DEFAULT nextval('common'));
	CREATE TABLE memos (id bigint PRIMARY KEY DEFAULT nextval('common'));
	SELECT hilo.attach('notes', collection => 'nm'), hilo.attach('memos', collection => 'nm');
	ALTER SEQUENCE common RENAME TO note_ids;
	SELECT * FROM hilo.sync();
});
$node->command_ok([ 'pg_dump', '-f', "$dir/renamed.sql", 'renamed' ], 'pg_dump after renames');
restore_sql($node, "$dir/renamed.sql", new_database($node, 'renamed_copy'));
sql('renamed_copy', q{SELECT hilo.detach('bills_old'), hilo.detach('notes')});
is(sql('renamed_copy', q{SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid IN ('bills_old'::regclass, 'notes'::regclass) ORDER BY 1}),
	"bills_old|nextval('bills_old_id_seq'::regclass)\nnotes|nextval('note_ids'::regclass)",
	'restored, and detached there: the sequences are found by these names');

$node->stop;
done_testing();
