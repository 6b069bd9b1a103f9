# Promise 1 for identities and server-side ids, and what is bound stays bound: through dump and restore, after dropped columns, after renames when it was bound again, onto identities that are there already, and through pg_upgrade.
use HiloTest;

my $dir = PostgreSQL::Test::Utils::tempdir;
my $node = server('dump');

sub sql
{
	my ($db, $query, $on) = @_;
	return ($on // $node)->safe_psql($db, $query);
}

# Names that need quotes, in SQL, in COPY and in arrays.
my $schema = q{"He said; DROP %s Schema "};
my $table = qq{"ta.ble ""quoted"" \\N ' ;--\n\tend"};
my $column = q{"co.l u""mn  \\t"};
my $name = q{"it's"; \\. {a,b}};
my $literal = q{'"it''s"; \\. {a,b}'};

sql('postgres', 'CREATE DATABASE source');
sql('postgres', 'CREATE ROLE reader');
sql('source', qq{
	CREATE EXTENSION hilo;
	GRANT SELECT ON hilo.hilo, hilo.binding TO reader;
	GRANT EXECUTE ON FUNCTION seed_identity_for(text, bigint, boolean) TO reader;
	CREATE SCHEMA archive;
	CREATE SCHEMA $schema;

	-- Each has its documents 1..n, with an n of its own, in the column bound.
	CREATE TABLE users (id text PRIMARY KEY);
	INSERT INTO users SELECT 'users/' || i FROM generate_series(1, 10) i;
	SELECT hilo.bind('users', 'users', 'id');

	CREATE TABLE renamed (id text PRIMARY KEY, id2 text UNIQUE);
	INSERT INTO renamed SELECT 'renamed/' || i, 'renamed/' || i + 500 FROM generate_series(1, 20) i;
	SELECT hilo.bind('renamed', 'renamed', 'id');
	-- The names change hands.
	ALTER TABLE renamed RENAME TO "is named Otherwise";
	ALTER TABLE "is named Otherwise" RENAME COLUMN id TO key;
	ALTER TABLE "is named Otherwise" RENAME COLUMN id2 TO id;
	CREATE TABLE renamed (id text PRIMARY KEY);
	INSERT INTO renamed SELECT 'renamed/' || i FROM generate_series(1, 900) i;

	-- Column 3 here is column 1 after a restore, and column 3 another one.
	CREATE TABLE shifted (a int, b text, id text PRIMARY KEY, other text UNIQUE, third text UNIQUE);
	INSERT INTO shifted SELECT i, i, 'shifted/' || i, 'shifted/' || i + 600, 'shifted/' || i + 700 FROM generate_series(1, 30) i;
	INSERT INTO shifted (id, third) SELECT 'x/' || i, 'shifted/' || i FROM generate_series(1, 700) i;
	SELECT hilo.bind('shifted', 'shifted', 'id');
	ALTER TABLE shifted DROP COLUMN a, DROP COLUMN b;

	CREATE TABLE moved (id bigint PRIMARY KEY);
	INSERT INTO moved SELECT generate_series(1, 40);
	SELECT hilo.bind('moved', 'moved', 'id');
	ALTER TABLE moved SET SCHEMA archive;
	CREATE TABLE moved (id bigint PRIMARY KEY);
	INSERT INTO moved SELECT generate_series(1, 800);

	CREATE TABLE $schema.$table (x int, $column text UNIQUE);
	INSERT INTO $schema.$table SELECT i, $literal || '/' || i FROM generate_series(1, 50) i;
	SELECT hilo.bind($literal, '$schema.@{[ $table =~ s/'/''/gr ]}', '@{[ $column =~ s/^"|"$//gr =~ s/""/"/gr ]}');

	CREATE TABLE parts (region text, id text) PARTITION BY LIST (region);
	CREATE TABLE part_a PARTITION OF parts FOR VALUES IN ('a');
	CREATE TABLE part_b (z int, id text, region text);
	ALTER TABLE part_b DROP COLUMN z;
	ALTER TABLE parts ATTACH PARTITION part_b FOR VALUES IN ('b');
	CREATE INDEX ON parts (id);
	INSERT INTO parts SELECT CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END, 'parts/' || i FROM generate_series(1, 60) i;
	SELECT hilo.bind('parts', 'parts', 'id');

	-- What is bound to is gone.
	CREATE TABLE gone (id text PRIMARY KEY);
	SELECT hilo.bind('gone', 'gone', 'id');
	DROP TABLE gone;
	CREATE TABLE less (id text PRIMARY KEY, x int);
	SELECT hilo.bind('less', 'less', 'id');
	ALTER TABLE less DROP COLUMN id;

	-- Identities, and the count of server-side ids.
	SELECT seed_identity_for('higher', 1000);
	SELECT seed_identity_for('lower', 10);
	SELECT seed_identity_for('only here', 77);
	SELECT seed_identity_for('gone here', 500);
	SELECT hilo.drop('gone here|');
	SELECT seed_identity_for($literal, 5);
	SELECT seed_identity_for('ends in a separator//', 6);
	SELECT next_identity('drawn'), next_identity('drawn');
	SELECT count(next_server_side_id('a/')) FROM generate_series(1, 26);
	SELECT hilo_next_number('drawn');
});

# Binding → the free number that its documents leave; none is drawn.
my %free = (users => 11, renamed => 21, shifted => 31, moved => 41, $literal => 51, parts => 61);

# A binding names what it was told: after a rename it is told again.
my $bindings = q{SELECT * FROM hilo.binding ORDER BY collection};
sql('source', q{SELECT hilo.unbind('renamed'), hilo.unbind('moved');
	SELECT hilo.bind('renamed', '"is named Otherwise"', 'key'), hilo.bind('moved', 'archive.moved', 'id')});
my $before = sql('source', $bindings);
like($before, qr/^renamed\|public\|is named Otherwise\|key\|/m, 'bound again after a rename');
like($before, qr/^moved\|archive\|moved\|id\|/m, 'and after SET SCHEMA');
my $identities = q{SELECT string_agg(name || ' ' || value, ', ' ORDER BY name) FROM hilo.identities};
my $all = qq{$name 5, drawn 2, ends in a separator/| 6, higher 1000, lower 10, only here 77};
is(sql('source', $identities), $all, 'identities of the source');

sub check
{
	my ($db, $what, $on) = @_;

	is(sql($db, $bindings, $on), $before, "$what: bindings are written alike");
	is(sql($db, $identities, $on), $all, "$what: all identities are there");
	is( sql($db, q{SELECT flags & 1 = 1, max FROM hilo.hilo WHERE collection = 'gone here|'}, $on),
		't|0', "$what: a dropped identity is remembered as such");

	foreach my $bound (sort keys %free)
	{
		my $text = $bound =~ /^'/ ? $bound : "'$bound'";
		is( sql($db, "SELECT value FROM next_identity_free_for($text)", $on),
			$free{$bound}, "$what: free number of $text");
	}

	is( sql($db, q{SELECT counter, relation, why_none IS NOT NULL FROM hilo.columns WHERE counter IN ('gone', 'less') ORDER BY 1}, $on),
		"gone||t\nless||t", "$what: what is gone is missed");
	is( join(' ', map { sql($db, "SELECT hilo.unbind('$_')", $on) } 'gone', 'less', 'gone'),
		't t f', "$what: and can be unbound");

	is( sql($db, q{SELECT next_identity('higher'), next_identity('lower'), next_identity('gone here'), next_identity('drawn')}, $on),
		'higher/1001|lower/11|gone here/1|drawn/3', "$what: draws go on");
	is( sql($db, q{SELECT next_server_side_id('b/')}, $on),
		'b/0000000000000000027-A', "$what: server-side ids go on");
	is(sql($db, q{SELECT hilo_next_number('drawn')}, $on), 33, "$what: collections go on above what was claimed");
	is( sql($db, q{SELECT has_table_privilege('reader', 'hilo.hilo', 'SELECT'),
			has_table_privilege('reader', 'hilo.binding', 'SELECT'),
			has_function_privilege('reader', 'seed_identity_for(text, bigint, boolean)', 'EXECUTE'),
			has_function_privilege('reader', 'hilo.drop(text)', 'EXECUTE')}, $on),
		't|t|t|f', "$what: privileges");
	is( error_of($on // $node, $db, q{SET session_replication_role = replica; DELETE FROM hilo.hilo}),
		'42809', "$what: guarded");
	return;
}

#
# Into an empty database
#
my $dumps = 0;
my ($plain, $inserts, $custom, $data) = map { dump_to("$dir/" . ++$dumps, $node, 'source', @$_) } [], ['--inserts'], ['-Fc'], [ '--data-only', '-t', 'hilo.*' ];

restore_sql($node, $plain, new_database($node, 'empty_plain'), '--single-transaction');
check('empty_plain', 'plain');
restore_sql($node, $inserts, new_database($node, 'empty_inserts'));
check('empty_inserts', 'inserts');
pg_restore($node, $custom, new_database($node, 'empty_custom'), '-j', '2');
check('empty_custom', 'custom');

# Once more from what was restored: nothing depends on where the columns were.
sql('postgres', 'ALTER DATABASE source RENAME TO first_source');
restore_sql($node, $plain, new_database($node, 'second'));
restore_sql($node, dump_to("$dir/again.sql", $node, 'second'), new_database($node, 'empty_again'));
check('empty_again', 'second generation');
sql('postgres', 'ALTER DATABASE first_source RENAME TO source');

#
# Onto identities in use
#
my $in_use = q{
	CREATE EXTENSION hilo;
	SELECT seed_identity_for('higher', 50);
	SELECT seed_identity_for('lower', 500);
	SELECT seed_identity_for('only there', 88);
	SELECT seed_identity_for('gone here', 20);
	SELECT count(next_server_side_id('a/')) FROM generate_series(1, %d);
};
my $merged = qq{$name 5, drawn 2, ends in a separator/| 6, gone here 20, higher 1000, lower 500, only here 77, only there 88};

foreach my $server_side (5, 100)
{
	my $db = new_database($node, "used_$server_side", sprintf $in_use, $server_side);
	restore_sql($node, $plain, $db);
	is(sql($db, $identities), $merged, "$db: the higher value of each identity");
	is( sql($db, q{SELECT next_identity('higher'), next_identity('lower'), next_identity('gone here')}),
		'higher/1001|lower/501|gone here/21', "$db: draws go on above both sides");
	is( sql($db, q{SELECT hilo_number(next_server_side_id('z/'))}),
		($server_side > 26 ? $server_side : 26) + 1, "$db: server-side ids go on above both sides");
	is(sql($db, $bindings), $before, "$db: bindings");
}

# A second copy of the same rows finds the names bound already.
my $db = new_database($node, 'used_twice');
restore_sql($node, $plain, $db);
sql($db, q{SELECT seed_identity_for('higher', 2000), seed_identity_for('lower', 3, true)});
my ($ret, $out, $err) = $node->psql($db, slurp_file($data), on_error_stop => 0);
is(sql($db, $identities), $all =~ s/higher 1000/higher 2000/r, 'restored twice: identities are merged');
is(sql($db, $bindings), $before, 'restored twice: bindings stay');

is($err, '', 'restored twice: no error');

#
# The extension, too, in a schema that needs quotes
#
new_database($node, 'quoted', qq{
	CREATE SCHEMA $schema;
	CREATE EXTENSION hilo SCHEMA $schema;
	CREATE TABLE $schema.$table (x int, y int, $column text UNIQUE);
	ALTER TABLE $schema.$table DROP COLUMN y;
	INSERT INTO $schema.$table SELECT i, 'q/' || i FROM generate_series(1, 5) i;
	SELECT hilo.bind('q', '$schema.@{[ $table =~ s/'/''/gr ]}', '@{[ $column =~ s/^"|"$//gr =~ s/""/"/gr ]}');
	SELECT $schema.next_server_side_id('a/');
});
restore_sql($node, dump_to("$dir/quoted.sql", $node, 'quoted'), new_database($node, 'quoted_copy'));
is( sql('quoted_copy', qq{SELECT $schema.next_identity_free('q/'), $schema.next_server_side_id('a/')}),
	'q/6|a/0000000000000000002-A', 'quoted schema: draws go on');

#
# pg_upgrade, which copies files and keeps the numbers of tables and columns
#
sql('postgres', "DROP DATABASE $_")
  foreach qw(empty_plain empty_inserts empty_custom empty_again second used_5 used_100 used_twice quoted_copy);
$node->stop;
foreach my $mode ('copy', 'link')
{
	my $new = upgrade($node, $mode);
	check('source', "pg_upgrade, $mode", $new);
	is( sql('quoted', qq{SELECT $schema.next_identity_free('q/'), $schema.next_server_side_id('a/')}, $new),
		'q/6|a/0000000000000000002-A', "pg_upgrade, $mode: in a quoted schema, too");

	# What was restored by numbers is written by names again.
	restore_sql($new, dump_to("$dir/$mode.sql", $new, 'source'), new_database($new, 'copy'));
	is(sql('copy', $bindings, $new), sql('source', $bindings, $new), 'bindings are written alike');
	$new->stop;
}

done_testing();
