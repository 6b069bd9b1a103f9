# What is attached or bound stays so in every copy that pg_dump makes, whole or in part: the next insert meets no id, without an error; and hilo.detach() leaves nothing in a dump.
use HiloTest;

my $dir = PostgreSQL::Test::Utils::tempdir;
my $node = server('dump');

sub sql { return $node->safe_psql(@_); }

my $odd = q{"My ""Sch.ema"."it's a \\ ta.ble"};
sql('postgres', 'CREATE DATABASE source; CREATE ROLE boss LOGIN');
sql('source', qq{
	SET client_min_messages = warning;
	CREATE EXTENSION hilo;
	CREATE TABLE orders (id serial PRIMARY KEY, item text);
	SELECT hilo.attach('orders');
	INSERT INTO orders (item) SELECT 'new' FROM generate_series(1, 20);
	INSERT INTO orders VALUES (22, 'explicit'), (500, 'explicit');

	CREATE TABLE texts (id text PRIMARY KEY DEFAULT hilo_next('texts'));
	SELECT hilo.bind('texts', 'texts', 'id'), hilo.configure('texts', range_size => 4, max_range_size => 64, max_value => 100000, node_tag => 'North');
	INSERT INTO texts SELECT FROM generate_series(1, 5);
	INSERT INTO texts VALUES ('texts/70-B');

	CREATE TABLE parts (id bigserial, region text) PARTITION BY LIST (region);
	CREATE TABLE part_a PARTITION OF parts FOR VALUES IN ('a');
	CREATE TABLE part_b PARTITION OF parts FOR VALUES IN ('b');
	CREATE INDEX ON parts (id);
	SELECT hilo.attach('parts', 'id');
	INSERT INTO parts (region) VALUES ('a'), ('b'), ('a');
	INSERT INTO parts VALUES (4, 'b');

	CREATE TABLE parent (id bigserial PRIMARY KEY);
	CREATE TABLE child (PRIMARY KEY (id)) INHERITS (parent);
	INSERT INTO child VALUES (1);
	SELECT hilo.attach('parent', 'id');

	CREATE TABLE letters (id smallint PRIMARY KEY DEFAULT hilo_next_number('post'));
	CREATE TABLE parcels (id smallint PRIMARY KEY DEFAULT hilo_next_number('post'));
	SELECT hilo.bind('post', 'letters', 'id'), hilo.bind('post', 'parcels', 'id');
	INSERT INTO letters DEFAULT VALUES;
	INSERT INTO parcels VALUES (40);

	CREATE SCHEMA "My ""Sch.ema";
	CREATE TABLE $odd ("i'd" bigserial PRIMARY KEY);
	SELECT hilo.attach(\$q\$$odd\$q\$, 'i''d');
	INSERT INTO $odd VALUES (1);
});

my %looks = (
	bindings => q{SELECT * FROM hilo.binding ORDER BY 1, table_name},
	options => q{SELECT collection, max, range_size, max_range_size, max_value, node_tag FROM hilo.status ORDER BY 1},
	defaults => q{SELECT adrelid::regclass, adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef
		JOIN pg_class c ON c.oid = adrelid WHERE relkind IN ('r', 'p') AND relnamespace <> 'hilo'::regnamespace ORDER BY adrelid::regclass::text COLLATE "C"},
	columns => q{SELECT relation, column_name, counter, draws, last_number, index, why_none FROM hilo.columns},
	sequences => q{SELECT schemaname, sequencename, data_type, start_value, increment_by, last_value FROM pg_sequences ORDER BY 1, 2});
my %before = map { $_ => sql('source', $looks{$_}) } keys %looks;
is(() = $before{columns} =~ /\|hilo\.nextval\|/g, 4, 'four trees of tables are attached');
is(() = $before{columns} =~ /\|bound\|/g, 3, 'three tables are bound');

# Inserts into each table, with an id by hand in their way: no error, no id twice.
sub inserts_go_on
{
	my ($db, $what, @tables) = @_;
	foreach my $table (@tables)
	{
		my ($column, $row) = $table eq $odd ? (q{"i'd"}, 'DEFAULT VALUES') : ('id', $table eq 'parts' ? "(region) VALUES ('b')" : 'DEFAULT VALUES');
		my (undef, $out, $err) = $node->psql($db, "BEGIN; INSERT INTO $table $row; INSERT INTO $table $row; ROLLBACK;" . "INSERT INTO $table $row;" x 3);
		is($err, '', "$what: inserts into $table go on");
		is(sql($db, "SELECT count(*) - count(DISTINCT $column) FROM $table"), 0, "$what: with no id twice");
	}
	return;
}
my @tables = (qw(orders texts parts parent child letters parcels), $odd);

# A restored database goes on by itself.
sub check
{
	my ($db, $what) = @_;

	is(sql($db, $looks{$_}), $before{$_}, "$what: $_") foreach sort keys %looks;
	is(sql($db, 'INSERT INTO orders DEFAULT VALUES RETURNING id'), 21, "$what: the sequence goes on");
	is(sql($db, 'INSERT INTO orders DEFAULT VALUES RETURNING id'), 23, "$what: past an id that was given by hand");
	is(sql($db, q{INSERT INTO texts DEFAULT VALUES RETURNING hilo_number(id) > 5 AND id ~ '^texts/[0-9]+-North$'}), 't', "$what: text ids go on, with their tag");
	is(sql($db, q{INSERT INTO parts (region) VALUES ('a') RETURNING id}), 5, "$what: in partitions");
	is(sql($db, q{INSERT INTO parent DEFAULT VALUES RETURNING id}), 2, "$what: past the ids of children");
	inserts_go_on($db, $what, @tables);
	return;
}

#
# The whole database
#
dump_to("$dir/$_->[0]", $node, 'source', @{ $_->[1] })
  foreach [ plain => [] ], [ inserts => ['--inserts'] ], [ custom => ['-Fc'] ], [ folder => [ '-Fd', '-j', '2' ] ],
  [ schema => ['-s'] ], [ data => ['-a'] ], [ quiet_data => [ '-a', '--disable-triggers' ] ];

restore_sql($node, "$dir/plain", new_database($node, 'plain'), '--single-transaction');
check('plain', 'plain');
restore_sql($node, "$dir/inserts", new_database($node, 'inserts'));
check('inserts', 'inserts');
pg_restore($node, "$dir/folder", new_database($node, 'jobs'), '-j', '3');
check('jobs', 'jobs');
new_database($node, 'sections');
pg_restore($node, "$dir/custom", 'sections', "--section=$_") foreach qw(pre-data data post-data);
check('sections', 'sections');
foreach my $data ('data', 'quiet_data')
{
	restore_sql($node, "$dir/schema", new_database($node, "steps_$data"));
	restore_sql($node, "$dir/$data", "steps_$data");
	# What --disable-triggers leaves behind, a draw warns about.
	sql("steps_$data", "ALTER TABLE $_ ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table") foreach 'hilo.hilo', 'hilo.binding';
	check("steps_$data", "schema, then $data");
}
# Over a database that has gone on since.
$node->command_ok([ 'pg_restore', '--exit-on-error', '--clean', '--if-exists', '-d', 'sections', "$dir/custom" ], 'pg_restore --clean');
check('sections', 'cleaned');

# The schema without data, and a table without its counter or binding.
restore_sql($node, "$dir/schema", new_database($node, 'bare'));
inserts_go_on('bare', 'schema only', @tables);
new_database($node, 'alone', 'CREATE EXTENSION hilo');
$node->command_ok([ 'pg_dump', '-t', 'texts', '-t', 'orders', '-f', "$dir/alone", 'source' ], 'pg_dump -t');
restore_sql($node, "$dir/alone", 'alone');
inserts_go_on('alone', 'tables alone', 'orders');
sql('alone', q{SELECT hilo.bind('texts', 'texts', 'id'), hilo.configure('texts', node_tag => 'North')});
inserts_go_on('alone', 'tables alone, bound again', 'texts');

# Bindings whose table is left out are no obstacle, and count when it comes.
restore_sql($node, dump_to("$dir/left_out", $node, 'source', '-T', 'texts'), new_database($node, 'left_out'));
is(sql('left_out', $looks{bindings}), $before{bindings}, 'a bound table that was left out: all bindings are there');
inserts_go_on('left_out', 'a bound table that was left out', grep { $_ ne 'texts' } @tables);
restore_sql($node, dump_to("$dir/texts", $node, 'source', '-t', 'texts'), 'left_out');
inserts_go_on('left_out', 'it has come', 'texts');
is(sql('left_out', $looks{columns}), $before{columns}, 'and is bound');

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
my @attached = ((map { "t_$_" } qw(serial big small shares)), (map { "t_$_', 'id" } qw(parts parent)));

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
	sql('back', "SET client_min_messages = warning; SELECT hilo.detach('$_')") foreach @attached;
	is(schema_of('back'), $was, "round $round: detached, it is what it was");
}
# Detached in a restored copy, tables get their old defaults back.
sql('back', "SET client_min_messages = warning; SELECT hilo.attach('$_')") foreach @attached;
restore_sql($node, dump_to("$dir/back.sql", $node, 'back'), new_database($node, 'back_copy'));
sql('back_copy', "SET client_min_messages = warning; SELECT hilo.detach('$_')") foreach @attached;
is(schema_of('back_copy'), $was, 'restored, and detached there: the same');

$node->stop;
done_testing();
