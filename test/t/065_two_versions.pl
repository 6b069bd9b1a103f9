# Promise 1 over two versions of the server: pg_upgrade in all its ways, logical replication in both directions; a physical standby of another version does not start.
#
# Takes a server of an older version, with the files to build for it: that of
# HILO_OLDER_PG_CONFIG, or the oldest that Debian's packages have put here.
use HiloTest;
use File::Basename qw(dirname);
use PostgreSQL::Test::RecursiveCopy;

sub config_of
{
	my ($pg_config, $what) = @_;
	chomp(my $value = `'$pg_config' $what 2>&1`);
	return $value;
}

sub major_of { return config_of($_[0], '--version') =~ /^PostgreSQL (\d+)/ ? $1 : 0 }

# What a server needs to run the extension from a folder of its own.
sub settings_for
{
	my ($pg_config, $dest) = @_;
	my $settings = `'${\ config_of($pg_config, '--bindir')}/postgres' --describe-config`;

	return "extension_destdir = '$dest'" if $settings =~ /^extension_destdir\t/m;
	return "extension_control_path = '$dest${\ config_of($pg_config, '--sharedir')}:\$system'"
	  if $settings =~ /^extension_control_path\t/m;
	return;
}

my ($pg_config) = grep { -x } map { "$_/pg_config" } split /:/, $ENV{PATH};
my $version = major_of($pg_config);
my ($older_config) = sort { major_of($a) <=> major_of($b) }
  grep { major_of($_) >= 14 && major_of($_) < $version && -x config_of($_, '--bindir') . '/initdb' && -f config_of($_, '--pgxs')
	  && -f config_of($_, '--includedir-server') . '/postgres.h' }
  $ENV{HILO_OLDER_PG_CONFIG} // glob '/usr/lib/postgresql/*/bin/pg_config';
plan skip_all => "there is no server older than $version, with the files to build for it" if !$older_config;

my $older = major_of($older_config);
my $older_bindir = config_of($older_config, '--bindir');
my $bindir = config_of($pg_config, '--bindir');
my $dir = PostgreSQL::Test::Utils::tempdir;
my $older_settings = settings_for($older_config, "$dir/older/dest");
plan skip_all => "the server of version $older looks for extensions in one folder only" if !$older_settings;
note "from version $older to $version";

{
	local $ENV{PATH} = "$older_bindir:$ENV{PATH}";
	my $libdir = build_variant("$dir/older");
	$older_settings .= "\ndynamic_library_path = '$libdir:\$libdir'\n";
}

# A server of either version, not started.
sub make_node
{
	my ($which, $name) = @_;
	my $node;

	if ($which == $older)
	{
		local $ENV{TEMP_CONFIG};
		delete $ENV{TEMP_CONFIG};
		$node = PostgreSQL::Test::Cluster->new($name, install_path => dirname($older_bindir));
		$node->init(extra => ['--data-checksums']);
		$node->append_conf('postgresql.conf', $older_settings);
	}
	else
	{
		$node = PostgreSQL::Test::Cluster->new($name);
		$node->init(extra => ['--data-checksums']);
	}
	$node->append_conf('postgresql.conf', "max_connections = 40\nautovacuum = off\n");
	return $node;
}

# The server shows so many numbers of some collections: name, number.
my @collections = ('orders', 'shared', 'seeded', 'companies|', '|');
my %draws = (
	'orders' => q{SELECT hilo_number(hilo_next('orders'))},
	'shared' => q{SELECT hilo_next_number('shared')},
	'seeded' => q{SELECT hilo_next_number('seeded')},
	'companies|' => q{SELECT next_identity_for('companies')},
	'|' => q{SELECT hilo_number(next_server_side_id('people/'))});

sub show_numbers
{
	my ($node, $count) = @_;
	my %shown;

	$shown{$_} = [ split /\n/, $node->safe_psql('postgres', "$draws{$_} FROM generate_series(1, $count)") ] foreach @collections;
	return \%shown;
}

# What is shown twice, or below what was shown before.
sub shown_again
{
	my ($before, $after) = @_;
	my @wrong;

	foreach my $name (@collections)
	{
		my ($highest) = sort { $b <=> $a } @{ $before->{$name} };
		push @wrong, map { "$name $_, after $highest" } grep { $_ <= $highest } @{ $after->{$name} };
		push @wrong, "$name: not 40 numbers" if @{ $after->{$name} } != 40;
	}
	return join ', ', @wrong;
}

#
# pg_upgrade
#
my $old = make_node($older, 'old');
$old->start;
$old->safe_psql('postgres', q{
	CREATE EXTENSION hilo;
	CREATE TABLE attached (number serial PRIMARY KEY, item text);
	INSERT INTO attached DEFAULT VALUES;
	SELECT hilo.attach('attached', 'number');
	CREATE TABLE bound (id bigint PRIMARY KEY);
	SELECT hilo.bind('bound', 'bound', 'id');
	SELECT hilo.seed('seeded', 5000), hilo.seed('seeded', 700, true);
	SELECT hilo_next_number('many' || i) FROM generate_series(1, 300) i;
	INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('limited', 40, 42);
	SELECT hilo.seed('gone', 9), hilo.drop('gone');
});
my $shown = show_numbers($old, 40);
is(shown_again({ map { $_ => [ $_ eq 'seeded' ? 700 : 0 ] } @collections }, $shown), '', "version $older shows numbers");
my $counters = q{SELECT collection, max, max_value, epoch, flags FROM hilo.hilo ORDER BY 1};
my $bindings = q{SELECT collection, schema_name, table_name, column_name, owner FROM hilo.binding ORDER BY 1};
$old->safe_psql('postgres', 'VACUUM FULL hilo.hilo');

# What sessions had left has gone back when they are all gone.
$old->restart;
my %looks = map { $_ => $old->safe_psql('postgres', $_) } $counters, $bindings;
$old->stop;

foreach my $mode ('copy', 'link', $version >= 18 ? 'swap' : ())
{
	my $new = make_node($version, "new_$mode");
	my $from = "$dir/old_$mode";

	# Two of these ways leave of the old server nothing that can be used.
	PostgreSQL::Test::RecursiveCopy::copypath($old->data_dir, $from);
	chmod 0700, $from;
	upgrade_to($new, $old, $from, $mode);
	like($new->safe_psql('postgres', 'SHOW server_version'), qr/^$version\D/, "$mode: a server of version $version");
	is($new->safe_psql('postgres', $counters), $looks{$counters}, "$mode: the counters are as they were");
	is($new->safe_psql('postgres', $bindings), $looks{$bindings}, "$mode: and so are the bindings");
	my $after = show_numbers($new, 40);
	is(shown_again($shown, $after), '', "$mode: no number is shown again");
	is($new->safe_psql('postgres', q{INSERT INTO attached DEFAULT VALUES RETURNING number}), 2, "$mode: an attached table goes on");
	is($new->safe_psql('postgres', q{SELECT hilo_next_number('limited'), hilo_next_number('limited'), hilo_next_number('gone'), hilo_next_number('many300') > 1}),
		'41|42|1|t', "$mode: limits hold, what was dropped begins anew");
	like(message_of($new, 'postgres', q{SELECT hilo_next_number('limited')}), qr/collection "limited" has no numbers left/, "$mode: up to the limit");
	like(message_of($new, 'postgres', 'DELETE FROM hilo.hilo'), qr/cannot delete from table "hilo\.hilo" by hand/, "$mode: the guards are there");
	$new->stop('immediate');
	$new->start;
	is(shown_again($after, show_numbers($new, 40)), '', "$mode: nor after a crash");
	$new->stop;
}

#
# Logical replication: one goes on above what came from the other.
#
# Without the settings that init() writes for it, which an older server may not know.
my %node = map { $_ => make_node($_, "version_$_") } $older, $version;
foreach my $node (values %node)
{
	$node->append_conf('postgresql.conf', "wal_level = logical\nmax_wal_senders = 10\nmax_replication_slots = 10\n");
	$node->append_conf('postgresql.conf', 'hilo.node_tag = ' . ($node == $node{$older} ? "'A'" : "'B'") . "\n");
	$node->start;
	$node->safe_psql('postgres', q{
		CREATE EXTENSION hilo;
		CREATE EXTENSION postgres_fdw;
		CREATE TABLE orders (id text PRIMARY KEY DEFAULT hilo_next('orders'));
		CREATE TABLE invoices (id bigint PRIMARY KEY DEFAULT hilo_next_number('invoices'));
		CREATE TABLE notes (id text PRIMARY KEY DEFAULT hilo_next('notes'));
		SELECT hilo.bind('orders', 'orders', 'id'), hilo.bind('invoices', 'invoices', 'id');
	});
}

sub publish
{
	my ($to, $from, $name, $tables) = @_;

	$from->safe_psql('postgres', "CREATE PUBLICATION $name FOR TABLE $tables");
	return subscribe($to, $from, $name, 'copy_data = true');
}

my $insert = q{
	INSERT INTO orders SELECT FROM generate_series(1, 300);
	INSERT INTO invoices SELECT FROM generate_series(1, 200);
};
my $counts = q{SELECT (SELECT count(*) FROM orders), (SELECT count(*) FROM invoices)};
my @rows = (0, 0);
foreach my $direction ([ $older, $version ], [ $version, $older ])
{
	my ($from, $to) = @node{@$direction};
	my $what = "from $direction->[0] to $direction->[1]";

	$to->safe_psql('postgres', 'TRUNCATE orders, invoices');
	publish($to, $from, "there_$direction->[0]", 'orders, invoices');
	$from->safe_psql('postgres', $insert);
	$from->wait_for_catchup("there_$direction->[0]");
	$to->safe_psql('postgres', "DROP SUBSCRIPTION there_$direction->[0]");
	$rows[0] += 300;
	$rows[1] += 200;
	is($to->safe_psql('postgres', $counts), join('|', @rows), "$what: the rows have come");
	$to->safe_psql('postgres', 'SELECT hilo.sync()');
	$to->safe_psql('postgres', $insert);
	$rows[0] += 300;
	$rows[1] += 200;
	is($to->safe_psql('postgres', $counts), join('|', @rows), "$what: inserts go on above them");
}

# Both write; what comes from the other has its tag.
publish($node{$version}, $node{$older}, 'tagged', 'notes');
$_->safe_psql('postgres', 'INSERT INTO notes SELECT FROM generate_series(1, 500)') foreach values %node;
$node{$older}->wait_for_catchup('tagged');
is($node{$version}->safe_psql('postgres', q{SELECT right(id, 2), count(*) FROM notes GROUP BY 1 ORDER BY 1}),
	"-A|500\n-B|500", 'both write: no id is there twice');
$node{$version}->safe_psql('postgres', 'DROP SUBSCRIPTION tagged');

#
# A physical standby
#
$node{$older}->backup('base');
append_to_file("$dir/empty.conf", '');
command_fails_like(
	[ "$bindir/postgres", '-D', $node{$older}->backup_dir . '/base', '-c', "config_file=$dir/empty.conf" ],
	qr/database files are incompatible with server/,
	"a base backup of $older does not start on $version");
$_->stop foreach values %node;

done_testing();
