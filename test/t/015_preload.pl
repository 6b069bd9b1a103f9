# In shared_preload_libraries the library does what it does otherwise; but settings read before there is a database, whose encoding would say what is text, have to be ASCII.
use HiloTest;

my $node = server('main', 'autovacuum = off', 'CREATE EXTENSION hilo');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# A connection, and what it answers; afterwards it is gone, and has done what it does at its end.
sub in_a_connection
{
	my $answer = sql($_[0]);

	wait_until_alone($node);
	return $answer;
}

#
# Settings
#

# They are there when the library is.
my $settings = q{LOAD 'hilo'; SELECT name || ' ' || context FROM pg_settings WHERE name LIKE 'hilo.%' ORDER BY name COLLATE "C"};
my $all = 'hilo.auto_create superuser
hilo.debug_range_size user
hilo.identity_parts_separator superuser
hilo.max_range_size superuser
hilo.node_tag superuser
hilo.sequences user
hilo.server_prefix superuser';

is(sql($settings), $all, 'not preloaded: all settings');

# What a role that may not set them puts into the options of its connection does not count; the server says so when the library is loaded.
sql(q{CREATE ROLE plain LOGIN; ALTER DATABASE postgres SET hilo.node_tag = 'B'; GRANT SET ON PARAMETER hilo.auto_create TO plain});
{
	my @as_plain = (extra_params => [ '-U', 'plain' ]);
	local $ENV{PGOPTIONS} = '-c hilo.node_tag=Z';

	for (1, 2)
	{
		my ($status, $out, $err) = $node->psql('postgres', q{SELECT hilo_next('optional')}, @as_plain);

		like($err, qr/WARNING: .* permission denied to set parameter "hilo\.node_tag"/, 'a setting of superusers in the options: a warning');
		like($out, qr{^optional/\d+-A$}, 'and the default');
	}
	like(sql(q{SELECT hilo_next('optional')}), qr{^optional/\d+-Z$}, 'from a superuser it counts');
	local $ENV{PGOPTIONS} = '-c hilo.auto_create=on -c hilo.debug_range_size=3';
	like($node->safe_psql('postgres', q{SELECT hilo_next('optional')}, @as_plain), qr{^optional/\d+-B$}, 'so do settings that the role may set');
}
sql(q{ALTER DATABASE postgres RESET hilo.node_tag});

# A placeholder without a value is defined like any other.
{
	my ($status, $out, $err) = $node->psql('postgres', q{SET hilo.node_tag = 'B'; DISCARD ALL; SELECT hilo_next('optional')});

	like("$out $err", qr{^optional/\d+-A $}, 'a setting that was set and reset before: not a word');
}

$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'hilo'
hilo.server_prefix = 'South/'
hilo.identity_parts_separator = ':'
CONF
$node->stop;
my $seen = -s $node->logfile;
$node->start;
is(sql($settings), $all, 'preloaded: all settings');
is(sql('SHOW hilo.server_prefix'), 'South/', 'preloaded: they can be set');
is(sql(q{SELECT hilo_next('orders')}), 'orders:South/1-A', 'settings of a preloading server');
unlike(slurp_file($node->logfile, $seen), qr/(WARNING|ERROR|FATAL):/, 'without a word');
$node->stop;

$node->append_conf('postgresql.conf', "hilo.server_prefix = 'S\xc3\xbcd/'\nhilo.identity_parts_separator = '\xc2\xa7'");
$seen = -s $node->logfile;
$node->start;
my $log = slurp_file($node->logfile, $seen);
like($log, qr/invalid value for parameter "hilo\.$_"/, "$_: not ASCII") for qw(server_prefix identity_parts_separator);
is(sql(q{SELECT hilo_next('letters')}), 'letters/1-A', 'then the defaults count');

rewrite($node->data_dir . '/postgresql.conf', sub { s/^hilo\.(server_prefix|identity_parts_separator) .*\n//mg });

# The pool, behind another library that takes shared memory.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_stat_statements, hilo'");
$node->restart;
sql('CREATE EXTENSION pg_stat_statements');
is(in_a_connection(q{SELECT hilo_next_number('parcels')}), 1, 'behind another library: a connection draws');
is(in_a_connection(q{SELECT hilo_next_number('parcels')}), 2, 'behind another library: and the next one goes on');
is(sql('SELECT count(*) > 0 FROM pg_stat_statements'), 't', 'behind another library: and what that has');

$node->stop;
done_testing();
