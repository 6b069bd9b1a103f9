# ALTER EXTENSION hilo UPDATE, to a version that this test makes: counters, ranges and attached tables stay; a dump goes into either version.
use HiloTest;

my $node = server('main');
my $sharedir = $node->config_data('--sharedir');

# Where the server finds the extension, and a folder beside that with both versions.
my $destdir = $node->safe_psql('postgres', q{SELECT current_setting('extension_destdir', true)});
my $control_path = $node->safe_psql('postgres', q{SELECT current_setting('extension_control_path', true)});
my $folder = PostgreSQL::Test::Utils::tempdir();
my ($from, $to, $setting);
if ($destdir ne '')
{
	($from, $to) = ("$destdir$sharedir/extension", "$folder$sharedir/extension");
	$setting = "extension_destdir = '$folder'";
}
elsif ($control_path =~ m{^([^:\$]+)})
{
	($from, $to) = ("$1/extension", "$folder/extension");
	$setting = "extension_control_path = '$folder:\$system'";
}
else
{
	plan skip_all => 'the server looks for extensions in one folder only';
}

system_or_bail('mkdir', '-p', $to);
append_to_file("$to/$_", slurp_file("$from/$_")) foreach 'hilo.control', 'hilo--1.0.sql';
rewrite("$to/hilo.control", sub { s/^default_version = '1\.0'/default_version = '1.1'/m or die 'no version' });
append_to_file("$to/hilo--1.0--1.1.sql", q{COMMENT ON FUNCTION hilo.nextval(regclass) IS 'the next number, and a new comment';});
$node->append_conf('postgresql.conf', "$setting\nhilo.range_size = 32\n");
$node->restart;

sub version_in { return $node->safe_psql($_[0], q{SELECT extversion FROM pg_extension WHERE extname = 'hilo'}); }
sub comment_in { return $node->safe_psql($_[0], q{SELECT obj_description('hilo.nextval(regclass)'::regprocedure)}); }

# The old version, in use.
$node->safe_psql('postgres', q{
	CREATE EXTENSION hilo VERSION '1.0';
	CREATE TABLE orders (id bigserial PRIMARY KEY);
	CREATE TABLE letters (id text PRIMARY KEY DEFAULT hilo_next('letters'));
	SELECT hilo.attach('orders');
	SELECT next_identity('companies');
});
is(version_in('postgres'), '1.0', 'the version before');
my $session = session($node);
my $draw = q{INSERT INTO letters DEFAULT VALUES RETURNING id};
$session->query($draw) for 1, 2;
is($session->query($draw), 'letters/3-A', 'a session draws');
is($session->query('SELECT next, high FROM hilo.ranges'), '4|32', 'and holds a range');
my $counters = $node->safe_psql('postgres', 'SELECT * FROM hilo.hilo ORDER BY collection');
my ($dump_of_old) = run_command([ 'pg_dump', '-h', $node->host, '-p', $node->port, 'postgres' ]);

# The update.
$node->safe_psql('postgres', 'ALTER EXTENSION hilo UPDATE');
is(version_in('postgres'), '1.1', 'the version after');
like(comment_in('postgres'), qr/a new comment/, 'with what is new in it');
is($node->safe_psql('postgres', 'SELECT * FROM hilo.hilo ORDER BY collection'), $counters, 'counters stay');
is($session->query('SELECT next, high FROM hilo.ranges'), '4|32', 'the session keeps its range');
is($session->query($draw), 'letters/4-A', 'and draws from it');
is($session->query('INSERT INTO orders DEFAULT VALUES RETURNING id'), 1, 'attached tables stay attached');
is($session->query(q{SELECT next_identity('companies')}), 'companies/2', 'identities go on');
$session->finish;
my ($dump_of_new) = run_command([ 'pg_dump', '-h', $node->host, '-p', $node->port, 'postgres' ]);

# A dump creates the default version, and brings the counters along; an older one can be made first.
sub restore
{
	my ($database, $dump) = @_;

	append_to_file("$folder/$database.sql", $dump);
	restore_sql($node, "$folder/$database.sql", $database);
	return;
}

$node->safe_psql('postgres', "CREATE DATABASE $_") foreach qw(forward same back);
restore('forward', $dump_of_old);
is(version_in('forward'), '1.1', 'a dump of the old version restores the new one');
is($node->safe_psql('forward', $draw), 'letters/33-A', 'above what had been claimed');
restore('same', $dump_of_new);
is($node->safe_psql('same', $draw), 'letters/33-A', 'a dump of the new version');
$node->safe_psql('back', q{CREATE EXTENSION hilo VERSION '1.0'});
restore('back', $dump_of_new);
is(version_in('back'), '1.0', 'a dump of the new version, into the old one');
is($node->safe_psql('back', $draw), 'letters/33-A', 'above what had been claimed');
is($node->safe_psql('back', q{SELECT next_identity('companies')}), 'companies/3', 'identities, too');

$node->stop;
done_testing();
