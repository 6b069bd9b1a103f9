# Programs that rewrite a table while it is in use cannot see changes in place: they refuse our tables, and no number repeats whatever they try.
use HiloTest;

my $node = PostgreSQL::Test::Cluster->new('rewriters');
my $libdir = $node->config_data('--pkglibdir');
my $pg_repack = $node->config_data('--bindir') . '/pg_repack';
my @pg_repack = ($pg_repack, '-h', $node->host, '-p', $node->port, '-d', 'postgres');
my $squeeze = -e "$libdir/pg_squeeze.so";

$node->init(allows_streaming => 'logical');
$node->append_conf('postgresql.conf', 'autovacuum = off');
$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'pg_squeeze'}) if $squeeze;
$node->start;
my $version = $node->safe_psql('postgres', 'SHOW server_version_num');

my @ours = ('hilo.hilo', 'hilo.binding');
$node->safe_psql('postgres', q{
	CREATE EXTENSION hilo;
	CREATE TABLE users (id text PRIMARY KEY);
	INSERT INTO users SELECT 'users/' || i FROM generate_series(1, 1000) i;
	SELECT hilo.bind('users', 'users', 'id');
	CREATE TABLE drawn (collection text, number bigint, PRIMARY KEY (collection, number));
	INSERT INTO drawn SELECT 'c' || i % 50, hilo_next_number('c' || i % 50) FROM generate_series(1, 1000) i;
});

#
# Sessions that draw, and create counters, all the time
#

my $script = $PostgreSQL::Test::Utils::tmp_check . '/rewriters.bench';
append_to_file($script, q{
\set c random(1, 60)
SET hilo.debug_range_size = 1;
SET hilo.max_range_size = 1;
INSERT INTO drawn VALUES ('c' || :c, hilo_next_number('c' || :c));
INSERT INTO drawn VALUES ('i' || :c % 10, next_identity_for('i' || :c % 10));
INSERT INTO drawn SELECT 'users', value FROM next_identity_free_for('users/');
SELECT hilo_next_number('new ' || random());
});

sub value { return $node->safe_psql('postgres', $_[0]); }

# Rewrite while sessions draw: a number that comes again ends its session.
sub rewrite_in_use
{
	my ($tool, $rewrite) = @_;
	my $err = '';

	my $sessions = IPC::Run::start(
		[
			$node->installed_command('pgbench'), '-n', '-c', 3, '-T', 600,
			'-f', $script, $node->connstr('postgres')
		],
		'<', '/dev/null', '>', '/dev/null', '2>', \$err);
	my $running = sub { $sessions->pump_nb if $sessions->pumpable; $sessions->pumpable };
	my $drawing = sub {
		my $least = value('SELECT count(*) FROM drawn') + 100;
		wait_until("$tool: sessions draw",
			sub { !$running->() || value('SELECT count(*) FROM drawn') > $least });
	};
	$drawing->();
	$rewrite->();
	$drawing->();
	ok($running->(), "$tool: sessions have drawn all the time");
	$sessions->signal('TERM');
	$sessions->finish;
	wait_until_alone($node);
	unlike($err, qr/ERROR|aborted/, "$tool: without an error");

	# Whatever has come to lie somewhere else: it is found, and only once.
	foreach my $table ([ 'hilo.hilo', 'collection' ], [ 'hilo.binding', 'collection' ])
	{
		my ($name, $column) = @$table;
		my $rows = "SELECT string_agg($column, ',' ORDER BY $column) FROM $name WHERE $column >= ''";
		is( value("SET enable_indexscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; $rows"),
			value("SET enable_seqscan = off; $rows"),
			"$tool: the index of $name has all rows");
		is(value("SELECT count(*) - count(DISTINCT $column) FROM $name"),
			0, "$tool: every name is once in $name");
	}
	is( value(q{
			SELECT count(*) FROM (SELECT collection, max(number) AS last FROM drawn GROUP BY 1) d
			LEFT JOIN hilo.hilo c USING (collection) LEFT JOIN hilo.hilo i ON i.collection = d.collection || '|'
			WHERE coalesce(greatest(c.max, i.max), 0) < last}),
		0, "$tool: no counter is behind what was drawn");
	return;
}

sub storage { return value("SELECT pg_relation_filenode('$_[0]')"); }

#
# Online rewriters
#

# An ordinary table shows that the tool does its work here.
sub refuses
{
	my ($tool, $message, $run) = @_;

	rewrite_in_use($tool, sub {
		foreach my $table ('public.users', @ours)
		{
			my $before = storage($table);
			my $said = $run->($table);
			if ($table eq 'public.users')
			{
				isnt(storage($table), $before, "$tool rewrites an ordinary table") or diag($said);
				next;
			}
			like($said, $message, "$tool refuses $table");
			is(storage($table), $before, "$tool leaves $table where it is");
		}
	});
	return;
}

SKIP:
{
	skip 'pg_repack is not installed for this server', 1 if !-x $pg_repack;

	$node->safe_psql('postgres', 'CREATE EXTENSION pg_repack');
	refuses('pg_repack', qr/must have a primary key or not-null unique keys/,
		sub {
			my ($out, $err) = run_command([ @pg_repack, '--no-order', '-t', $_[0] ]);
			return $out . $err;
		});

	# An index alone can be rebuilt, or that fails like REINDEX CONCURRENTLY.
	rewrite_in_use('pg_repack --only-indexes', sub {
		foreach my $table (@ours)
		{
			my $index = value("SELECT indexrelid::regclass FROM pg_index WHERE indrelid = '$table'::regclass");
			my $before = storage($index);
			my ($out, $err) = run_command([ @pg_repack, '--only-indexes', '-t', $table ]);
			ok(storage($index) ne $before || $err =~ /duplicate key value/,
				"pg_repack rebuilds $index, or says why not")
			  or diag($out . $err);
			$node->safe_psql('postgres', "DROP INDEX $_")
			  foreach split /\n/, value("SELECT indexrelid::regclass FROM pg_index WHERE indrelid = '$table'::regclass AND NOT indisvalid");
		}
	});
}

SKIP:
{
	skip 'pg_squeeze is not installed for this server', 1 if !$squeeze;

	$node->safe_psql('postgres', 'CREATE EXTENSION pg_squeeze');
	# Minor releases from August 2026 on want to know whom to trust.
	if (value(q{SELECT count(*) FROM pg_settings WHERE name = 'output_plugin_libraries'}))
	{
		$node->append_conf('postgresql.conf', q{output_plugin_libraries = 'pg_squeeze'});
		$node->reload;
	}
	refuses('pg_squeeze', qr/has no identity index/,
		sub {
			my ($ret, $out, $err) = $node->psql('postgres',
				"SELECT squeeze.squeeze_table('" . $_[0] =~ s/\./', '/r . "')");
			return $out . $err;
		});
}

SKIP:
{
	skip 'REPACK comes with version 19', 1 if $version < 190000;

	refuses('REPACK (CONCURRENTLY)', qr/cannot execute REPACK \(CONCURRENTLY\) on relation/,
		sub {
			my ($ret, $out, $err) = $node->psql('postgres', "REPACK (CONCURRENTLY) $_[0]");
			return $out . $err;
		});

	# The other form locks everybody out.
	rewrite_in_use('REPACK', sub {
		foreach my $table (@ours)
		{
			my $before = storage($table);
			value("REPACK $table");
			isnt(storage($table), $before, "REPACK rewrites $table");
		}
	});
}

$node->stop;
done_testing();
