# Promise 6: behind a pooler, 1,000 clients that draw once each and are reset use no more than a range per server connection beyond what they have drawn; a sequence with a cache as large is measured beside it.
use HiloTest;

my $CLIENTS = 8;
my $SESSIONS = 1000;
my $SERVERS = 4;    # connections from the pooler to the server
my $RANGE = 32;

# An ordinary user's PATH may not have it.
my ($program) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin';
plan skip_all => 'there is no pgbouncer' unless $program;

# Ranges that do not grow, to compare with a cache that does not.
my $node = server('pooled', 'autovacuum = off', "CREATE EXTENSION hilo; ALTER DATABASE postgres SET hilo.max_range_size = $RANGE");

my $user = getpwuid($>);
my $folder = PostgreSQL::Test::Utils::tempdir_short();
my $bouncer;

sub sql { return $node->safe_psql('postgres', $_[0]); }

# Start the pooler; it listens on a socket in a folder of its own only.
sub start_pooler
{
	my (@settings) = @_;
	my ($host, $port) = ($node->host, $node->port);

	unlink "$folder/pgbouncer.ini";
	append_to_file(
		"$folder/pgbouncer.ini", join "\n",
		'[databases]',
		"postgres = host=$host port=$port user=$user",
		'[pgbouncer]',
		'auth_type = any',
		'listen_addr =',
		'listen_port = 6432',
		"unix_socket_dir = $folder",
		"pidfile = $folder/pgbouncer.pid",
		"default_pool_size = $SERVERS",
		'server_reset_query = DISCARD ALL',
		'query_wait_timeout = 30',
		@settings, '');
	$bouncer = IPC::Run::start(
		[ $program, '-q', "$folder/pgbouncer.ini" ],
		'<', '/dev/null', '>', "$folder/log", '2>&1',
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	wait_until('the pooler listens', sub { $bouncer->pumpable or die slurp_file("$folder/log"); -S "$folder/.s.PGSQL.6432" });
	return;
}

# Stop the pooler, and wait until its connections have ended.
sub stop_pooler
{
	$bouncer->signal('TERM');
	$bouncer->finish;
	wait_until_alone($node);
	return;
}

END
{
	local $?;
	$bouncer->kill_kill if $bouncer && $bouncer->pumpable;
}

# A table that draws from a collection and from a sequence in one statement.
sub create_table
{
	my ($table) = @_;
	sql(qq{
		CREATE SEQUENCE ${table}_seq CACHE $RANGE;
		CREATE TABLE $table (
			by_hilo bigint PRIMARY KEY DEFAULT hilo_next_number('$table'),
			by_sequence bigint UNIQUE DEFAULT nextval('${table}_seq'),
			server int DEFAULT pg_backend_pid());
		CREATE TABLE ${table}_lines (id bigint PRIMARY KEY REFERENCES $table)});
	return;
}

# Let clients come and go, each of which inserts a row, and another one that
# refers to it by the id that the first has returned.  Each has a thread of its
# own, as preparing a statement, which waits for a server connection, stops the
# thread.
sub come_and_go
{
	my ($table, @options) = @_;
	my ($out, $err);

	append_to_file("$folder/$table.sql", <<"SQL");
INSERT INTO $table DEFAULT VALUES RETURNING by_hilo \\gset
INSERT INTO ${table}_lines VALUES (:by_hilo);
SQL
	my $done = IPC::Run::run(
		[
			$node->installed_command('pgbench'), '-n', '-C', @options,
			'-c', $CLIENTS, '-j', $CLIENTS, '-t', $SESSIONS / $CLIENTS,
			'-f', "$folder/$table.sql",
			'-h', $folder, '-p', 6432, 'postgres'
		],
		'<', '/dev/null', '>', \$out, '2>', \$err,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	ok($done && $out =~ m,processed: $SESSIONS/$SESSIONS\b,,
		"$table: $SESSIONS clients have come and gone")
	  or diag($out, $err);
	return;
}

# What was drawn, over how many connections, and what is missing.
sub waste
{
	my ($table) = @_;
	my ($drawn, $lines, $servers, $by_hilo, $by_sequence) = split /\|/, sql(qq{
		SELECT count(DISTINCT by_hilo), (SELECT count(*) FROM ${table}_lines),
			count(DISTINCT server),
			(SELECT max FROM hilo.hilo WHERE collection = '$table') - count(*),
			(SELECT last_value FROM ${table}_seq) - count(*)
		FROM $table});
	note(
		sprintf
		  '%s: %d drawn over %d server connections; unused by hilo %d (%.1f a connection), by a sequence with CACHE %d %d (%.1f a connection, %.1f a session)',
		$table, $drawn, $servers, $by_hilo, $by_hilo / $servers, $RANGE,
		$by_sequence, $by_sequence / $servers, $by_sequence / $drawn);
	is("$drawn|$lines", "$SESSIONS|$SESSIONS",
		"$table: ids are distinct, and those returned are those stored");
	cmp_ok($servers, '>', 1, "$table: over several connections");
	return ($by_hilo, $by_sequence, $servers);
}

# The connections have ended: what they had left is there for the next ones.
sub is_left
{
	my ($table) = @_;
	my $max = sql("SELECT max FROM hilo.hilo WHERE collection = '$table'");
	sql("INSERT INTO $table SELECT FROM generate_series(1, (SELECT $max - count(*) FROM $table))");
	is( sql("SELECT count(*), max FROM $table, hilo.hilo WHERE collection = '$table' GROUP BY max"), "$max|$max",
		"$table: no number is lost: what was claimed and not drawn is drawn without a claim");
	return;
}

my %modes = (
	session => { settings => ['pool_mode = session'], queries => 'prepared', sequence_loses => 1 },
	transaction => { settings => ['pool_mode = transaction'], queries => 'extended', sequence_loses => 0 },
	transaction_reset => { settings => [ 'pool_mode = transaction', 'server_reset_query_always = 1' ], queries => 'extended', sequence_loses => 1 });
foreach my $mode (sort keys %modes)
{
	create_table($mode);
	start_pooler(@{ $modes{$mode}{settings} });
	come_and_go($mode, '-M', $modes{$mode}{queries});
	my ($by_hilo, $by_sequence, $servers) = waste($mode);
	cmp_ok($by_hilo, '<', $RANGE * $servers, "$mode: less than a range of each connection is unused");
	if ($modes{$mode}{sequence_loses})
	{
		is($by_sequence, ($RANGE - 1) * $SESSIONS,
			"$mode: a sequence loses all but one of its cache each time");
	}
	else
	{
		cmp_ok($by_sequence, '<', $RANGE * $servers,
			"$mode: and less than a cache of a sequence, without a reset");
	}
	stop_pooler();
	is_left($mode);
}

# A pool of one connection: every reset drops the client's prepared statements,
# none the range.
create_table('one');
start_pooler('pool_mode = session', 'default_pool_size = 1');
foreach my $nth (1 .. 3)
{
	my ($out, $err);
	IPC::Run::run(
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1',
			'-h', $folder, '-p', 6432, '-d', 'postgres',
			'-c', 'PREPARE add AS INSERT INTO one DEFAULT VALUES RETURNING by_hilo',
			'-c', 'EXECUTE add', '-c', 'EXECUTE add'
		],
		'<', '/dev/null', '>', \$out, '2>', \$err);
	is($out . $err, 2 * $nth - 1 . "\n" . 2 * $nth . "\n",
		"one: client $nth prepares its statement, and goes on in the range");
}
is(sql('SELECT count(DISTINCT server), max(by_sequence) FROM one'),
	'1|66', 'one: over one connection, with a reset after each client');
stop_pooler();
is_left('one');

# Ranges that grow: one has as many numbers as its connection has drawn before,
# and a range more.
sql('ALTER DATABASE postgres RESET hilo.max_range_size');
create_table('growing');
start_pooler('pool_mode = session');
come_and_go('growing');
my ($by_hilo, $by_sequence, $servers) = waste('growing');
cmp_ok($by_hilo, '<=', $SESSIONS + $RANGE * $servers,
	'growing: not more is unused than was drawn, and a range of each connection');
cmp_ok($by_hilo, '<', $by_sequence, 'growing: less than of a sequence');
stop_pooler();
is_left('growing');

$node->stop;
done_testing();
