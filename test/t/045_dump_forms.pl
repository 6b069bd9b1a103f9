# Every form of dump and restore, by the owner of the database and by a superuser: the next insert into a table that is attached, or bound to a collection, meets no id and gives no error.
use HiloTest;

my $node = server('forms');
my $dir = PostgreSQL::Test::Utils::tempdir;

sub sql
{
	my ($db, $query) = @_;
	return $node->safe_psql($db, "SET client_min_messages = warning;\n$query");
}

my $super = sql('postgres', 'SELECT current_user');
sql('postgres', 'CREATE ROLE boss LOGIN; CREATE ROLE clerk; CREATE ROLE keeper; CREATE DATABASE source OWNER boss');
sql('source', q{
	SET SESSION AUTHORIZATION boss;
	CREATE EXTENSION hilo;
	CREATE TABLE orders (id serial PRIMARY KEY, item text);
	INSERT INTO orders (item) SELECT 'old' FROM generate_series(1, 10);
	SELECT hilo.attach('orders');
	INSERT INTO orders (item) SELECT 'new' FROM generate_series(1, 10);
	INSERT INTO orders VALUES (500, 'by hand');
	CREATE TABLE notes (id text PRIMARY KEY DEFAULT hilo_next('notes'));
	SELECT hilo.bind('notes', 'notes', 'id'), hilo.configure('notes', node_tag => 'North', range_size => 4, max_value => 100000);
	INSERT INTO notes SELECT FROM generate_series(1, 5);
	-- Without a primary key, whose constraints on partitions pg_dump --clean tries to drop in vain.
	CREATE TABLE parts (id bigserial, region int) PARTITION BY LIST (region);
	CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
	CREATE TABLE part_2 PARTITION OF parts FOR VALUES IN (2);
	INSERT INTO parts (region) VALUES (1), (2), (1);
	SELECT hilo.attach('parts', 'id');
	CREATE TABLE plain (id bigint PRIMARY KEY DEFAULT hilo_next_number('plain'), x int);
	SELECT hilo.bind('plain', 'plain', 'id');
	INSERT INTO plain SELECT FROM generate_series(1, 5);
	CREATE TABLE docs (id text PRIMARY KEY);
	INSERT INTO docs VALUES ('docs/1'), ('docs/2');
	SELECT hilo.bind('docs', 'docs', 'id'), seed_identity_for('ports', 70);
});

# As whom a program connects.
sub as
{
	my ($role) = @_;
	return ('-U', $role eq 'boss' ? 'boss' : $super);
}

# Dumps, of each kind once by each role: options.
my %dumps = (
	plain => [], inserts => ['--inserts'], custom => ['-Fc'], folder => [ '-Fd', '-j', '2' ], schema => ['-s'], data => ['-a'],
	data_quiet => [ '-a', '--disable-triggers' ], clean => [ '--clean', '--if-exists' ], public => [ '-n', 'public' ], public_schema => [ '-n', 'public', '-s' ],
	table => [ '-t', 'orders', '-t', 'notes', '-t', 'part*', '-t', 'plain', '-t', 'docs' ]);
foreach my $by ('boss', 'super')
{
	foreach my $kind (sort keys %dumps)
	{
		$node->command_ok([ 'pg_dump', as($by), @{ $dumps{$kind} }, '-f', "$dir/$by.$kind", 'source' ], "pg_dump @{ $dumps{$kind} } by $by");
		# What has to do with schema public, which is there.
		next unless $kind =~ /^public/;
		rewrite("$dir/$by.$kind", sub { s/^(?:(?:CREATE|ALTER|COMMENT ON) SCHEMA public|(?:GRANT|REVOKE) .* SCHEMA public).*\n//mg });
	}
}

sub psql_step
{
	my ($kind, @options) = @_;
	return sub { my ($by, $to, $db) = @_; return [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', as($to), @options, '-d', $db, '-f', "$dir/$by.$kind" ]; };
}

sub restore_step
{
	my ($kind, @options) = @_;
	return sub { my ($by, $to, $db) = @_; return [ 'pg_restore', '--exit-on-error', as($to), @options, '-d', $db, "$dir/$by.$kind" ]; };
}

# What is restored, with which steps, into what (an empty database of the owner, if nothing is said); and whether bindings, or bindings,
# keys and owners of sequences, have to be made again, because the dump leaves them out.
my @forms = (
	{ name => 'plain', steps => [ psql_step('plain') ] },
	{ name => 'plain, one transaction', steps => [ psql_step('plain', '--single-transaction') ] },
	{ name => 'inserts', steps => [ psql_step('inserts') ] },
	{ name => 'custom', steps => [ restore_step('custom') ] },
	{ name => 'custom, one transaction', steps => [ restore_step('custom', '--single-transaction') ] },
	{ name => 'folder, two jobs', steps => [ restore_step('folder', '-j', '2') ] },
	{ name => 'schema, then data', steps => [ psql_step('schema'), psql_step('data') ] },
	{ name => 'schema, then data without triggers', steps => [ psql_step('schema'), psql_step('data_quiet') ], superuser => 1 },
	{ name => 'sections', steps => [ map { restore_step('custom', "--section=$_") } qw(pre-data data post-data) ] },
	{ name => 'custom without triggers', steps => [ restore_step('custom', '--section=pre-data'), restore_step('custom', '-a', '--disable-triggers'), restore_step('custom', '--section=post-data') ], superuser => 1 },
	{ name => 'schema hilo is there', into => 'CREATE SCHEMA hilo', steps => [ psql_step('plain') ] },
	{ name => 'clean, over what has gone on', over => 1, steps => [ psql_step('clean') ] },
	{ name => 'custom, cleaned, over what has gone on', over => 1, steps => [ restore_step('custom', '--clean', '--if-exists') ] },
	{ name => 'schema alone', steps => [ psql_step('schema') ], empty => 1 },
	{ name => 'one schema', bind => 1, into => 'CREATE EXTENSION hilo', steps => [ psql_step('public') ] },
	{ name => 'one schema without data', bind => 1, into => 'CREATE EXTENSION hilo', steps => [ psql_step('public_schema') ], empty => 1 },
	{ name => 'tables', bind => 1, into => 'CREATE EXTENSION hilo', steps => [ psql_step('table') ] },
	{ name => 'tables out of an archive', into => 'CREATE EXTENSION hilo', steps => [ restore_step('custom', map { ('-t', $_) } qw(orders orders_id_seq notes plain)) ], unbound => 1 });

# What a program that connects as the owner of the tables gets: what it selects, and what it is told.
sub gives
{
	my ($db, $query) = @_;
	my (undef, $out, $err) = $node->psql($db, "SET SESSION AUTHORIZATION boss;\n$query");
	return join '/', grep { $_ ne '' } $out, $err;
}

# Two rows, in two ways, by a session that has drawn none.
sub inserts_go_on
{
	my ($what, $db, $table, $column, $value) = @_;
	my $before = sql($db, "SELECT count(*) FROM $table");
	my $inserted = gives($db, "INSERT INTO $table ($value->[0]) VALUES ($value->[1]), ($value->[1]); BEGIN; INSERT INTO $table ($value->[0]) VALUES ($value->[1]); COMMIT");
	is($inserted, '', "$what: inserts into $table give no error");
	is(sql($db, "SELECT count(*) - $before, count(*) - count(DISTINCT id) FROM $table"), '3|0', "$what: nor an id that was there");
	return;
}

my $number = 0;
foreach my $form (@forms)
{
	foreach my $by ('boss', 'super')
	{
		foreach my $to ('boss', 'super')
		{
			next if $form->{superuser} && $to ne 'super';
			my $db = 'copy_' . ++$number;
			my $what = "$form->{name}, dumped by $by, restored by $to";

			sql('postgres', "CREATE DATABASE $db OWNER boss");
			sql($db, ($to eq 'boss' ? 'SET SESSION AUTHORIZATION boss; ' : '') . $form->{into}) if $form->{into};
			if ($form->{over})
			{
				$node->command_ok(psql_step('plain')->($by, $to, $db), "$what: it is there");
				sql($db, q{INSERT INTO orders SELECT generate_series(2000, 2100); INSERT INTO plain SELECT FROM generate_series(1, 200)});
			}
			$node->command_ok($_->($by, $to, $db), $what) foreach @{ $form->{steps} };

			if ($form->{superuser})
			{
				# The guards are as on as ordinary triggers then, until the owner mends them.
				sql($db, "ALTER TABLE hilo.$_ ENABLE ALWAYS TRIGGER guard_rows, ENABLE ALWAYS TRIGGER guard_table") foreach 'hilo', 'binding';
			}
			if ($form->{unbound})
			{
				# Neither indexes nor bindings are there: their owner makes them.
				is(gives($db, q{SET client_min_messages = warning;
					ALTER TABLE orders ADD PRIMARY KEY (id); ALTER TABLE notes ADD PRIMARY KEY (id); ALTER TABLE plain ADD PRIMARY KEY (id);
					ALTER SEQUENCE orders_id_seq OWNED BY orders.id; ALTER TABLE orders ALTER COLUMN id SET DEFAULT hilo.nextval('orders_id_seq')}), '', "$what: their owner makes keys");
				sql($db, q{SELECT hilo.bind('notes', 'notes', 'id'), hilo.bind('plain', 'plain', 'id')});
			}
			elsif ($form->{bind})
			{
				sql($db, q{SELECT hilo.bind('notes', 'notes', 'id'), hilo.bind('plain', 'plain', 'id')});
			}
			inserts_go_on($what, $db, 'orders', 'id', [ 'item', q{'x'} ]);
			inserts_go_on($what, $db, 'notes', 'id', [ 'id', 'DEFAULT' ]);
			inserts_go_on($what, $db, 'parts', 'id', [ 'region', '2' ]) unless $form->{unbound};
			inserts_go_on($what, $db, 'plain', 'id', [ 'x', 1 ]);
			next if $form->{into} && $form->{into} =~ /EXTENSION/;

			# The counters of the database, and what belongs to them.
			is( sql($db, q{SELECT range_size, max_value, node_tag FROM hilo.hilo WHERE collection = 'notes'}), '4|100000|North', "$what: options") unless $form->{empty};
			is( gives($db, q{SELECT next_identity('ports'), next_identity_free('docs')}), 'ports/71|docs/3', "$what: identities, and where their documents are") unless $form->{empty};
			is( sql($db, q{SELECT extowner::regrole FROM pg_extension WHERE extname = 'hilo'}), $to eq 'boss' ? 'boss' : $super, "$what: whose it is");
			is(gives($db, q{SET client_min_messages = warning; SELECT hilo.seed('new', 5)}) eq '5' ? 'he may' : 'he may not', $to eq 'boss' ? 'he may' : 'he may not', "$what: its owner seeds");
		}
	}
}

# What the owner has granted himself: where the extension is a superuser's, it is not his to grant.
sql('source', q{SET SESSION AUTHORIZATION boss; GRANT EXECUTE ON FUNCTION hilo.seed(text, bigint, boolean) TO keeper});
$node->command_ok([ 'pg_dump', as('boss'), '-f', "$dir/boss.granted", 'source' ], 'pg_dump with grants of the owner');
sub keeper_seeds
{
	my ($db) = @_;
	return sql($db, q{SELECT has_function_privilege('keeper', 'hilo.seed(text, bigint, boolean)', 'execute')});
}
sql('postgres', "CREATE DATABASE $_ OWNER boss") foreach qw(granted_boss granted_super granted_first);
$node->command_ok(psql_step('granted')->('boss', 'boss', 'granted_boss'), 'grants restored by the owner');
is(keeper_seeds('granted_boss'), 't', 'they are there');
my ($out, $err) = run_command([ 'psql', '-X', '-q', '-h', $node->host, '-p', $node->port, as('super'), '-d', 'granted_super', '-f', "$dir/boss.granted" ]);
is(join(' ', $err =~ /ERROR: +(.*)/g), 'permission denied for function seed', 'restored by a superuser: an error for each grant, and no other');
inserts_go_on('after it', 'granted_super', 'orders', 'id', [ 'item', q{'x'} ]);
sql('granted_first', 'SET SESSION AUTHORIZATION boss; CREATE EXTENSION hilo');
$node->command_ok(psql_step('granted')->('boss', 'super', 'granted_first'), 'restored by a superuser, after the owner has created the extension');
is(keeper_seeds('granted_first'), 't', 'all grants are there');
inserts_go_on('all his', 'granted_first', 'orders', 'id', [ 'item', q{'x'} ]);

$node->stop;
done_testing();
