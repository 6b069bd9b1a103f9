# Shown is spent, for identities and server-side ids: none comes back after kill -9 of the whole server, and a sync precedes each answer, unless synchronous_commit = off.
use strict;
use warnings;

use File::Basename qw(dirname);
use lib dirname(__FILE__);
use HiloCrash;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $CLIENTS = 6;
my $ROUNDS = 8;
my $STATEMENTS = 20_000;    # more than a client gets to in a round
my $LEAST = 120;            # lines that each client logs before the kill
my $dir = PostgreSQL::Test::Utils::tempdir;

# Everything that would bring WAL to disk by the way is off, so that what is
# not flushed on purpose is lost.
my $hostile = <<'SETTINGS';
wal_level = replica
wal_buffers = 64MB
wal_writer_delay = 10s
wal_writer_flush_after = 1GB
shared_buffers = 64MB
bgwriter_lru_maxpages = 0
checkpoint_timeout = 1h
autovacuum = off
max_connections = 30
log_statement = none
SETTINGS

# Every third number of the identity "users" is that of a document already;
# and all that are drawn by both ways meet in one row.
my $set_up = <<'SQL';
CREATE EXTENSION hilo;
CREATE TABLE users (id text COLLATE "C" PRIMARY KEY);
INSERT INTO users SELECT 'users/' || i FROM generate_series(3, 300000, 3) i;
CREATE TABLE accounts (id bigint PRIMARY KEY);
CHECKPOINT;
SQL

# What clients do, a line of psql's script each.  All of it logs lines of the
# forms "name/number", "name|number", "free|name/number" and "prefix/digits-tag".
my @draws = (
	"SELECT next_identity('users/');",
	"SELECT 'users', next_identity_for('users');",
	"SELECT 'free', next_identity_free('users/');",
	"SELECT next_server_side_id('a/');",
	"SELECT 'accounts', value FROM next_identity_free_for('accounts');",
	"SELECT hilo_document_id('x', 'orders|');",
	"SELECT next_server_side_id('b/c/');",
	"SELECT next_identity('orders');",
	# The first draw of an identity, of which all clients do the same ones.
	"SELECT n, next_identity_for(n) FROM (VALUES ('new_' || :round || '_%d')) v(n);",
);

# Add the numbers in the lines to %$seen; returns those that were there before,
# and those that a search should not have given.
sub repeats
{
	my ($seen, @lines) = @_;
	my @bad;

	for my $line (@lines)
	{
		my $free = $line =~ s/^free\|//;
		my ($name, $number) =
		  $line =~ m,^[abc/]+/(\d{19})-A$, ? ('server-side', $1 + 0)
		  : $line =~ m,^(\w+)[/|](\d+)$, ? ($1, $2)
		  : die "unexpected line in a client's log: $line";
		push @bad, "$name $number" if $seen->{$name}{$number}++;
		push @bad, "taken: $name $number" if $free && $number % 3 == 0;
	}
	return @bad;
}

sub new_server
{
	my ($name, $settings) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init;
	$node->append_conf('postgresql.conf', $hostile . $settings);
	$node->start;
	$node->safe_psql('postgres', $set_up);
	$node->stop;
	return $node;
}

my @scripts = map { client_script("$dir/client.$_.sql", $_, $STATEMENTS, @draws) }
  0 .. $CLIENTS - 1;

#
# synchronous_commit = on
#
my $node = new_server('on', "synchronous_commit = on\n");
my (%seen, @repeats);
for my $round (1 .. $ROUNDS)
{
	@repeats = repeats(\%seen,
		crash_round($node, $round, "$dir/on", $LEAST, @scripts));
	last if @repeats;
}
is("@repeats", '', "$ROUNDS times kill -9: no number came twice, none was a document's");
cmp_ok(scalar(keys %{ $seen{$_} }), '>=', $ROUNDS * $CLIENTS * $LEAST / 18,
	"many numbers were drawn: $_")
  for 'users', 'orders', 'accounts', 'server-side';
cmp_ok(scalar(grep { /^new_/ } keys %seen), '>=', $ROUNDS, 'and many first ones');

# What is stored agrees with what was shown, and nothing is broken.
$node->start;
my %value = map { split /=/ } split /\n/, $node->safe_psql('postgres', q{
	SELECT name || '=' || value FROM hilo.identities
	UNION ALL SELECT 'server-side=' || max FROM hilo.hilo WHERE collection = '|'});
my @behind = grep {
	my $name = $_;
	grep { $_ > ($value{$name} // 0) } keys %{ $seen{$name} };
} keys %seen;
is("@behind", '', 'no stored value is behind a number shown');
is( $node->safe_psql('postgres', <<'SQL'), '', 'table and index are whole');
CREATE EXTENSION amcheck;
SELECT * FROM verify_heapam('hilo.hilo');
SELECT 'index' FROM bt_index_check('hilo.hilo_collection_idx', true) c WHERE c IS NULL;
SQL
is( $node->safe_psql('postgres', q{
		SET enable_indexscan = off; SET enable_bitmapscan = off;
		SELECT collection FROM hilo.hilo GROUP BY collection HAVING count(*) > 1}),
	'', 'each identity has one row');
$node->stop;

#
# synchronous_commit = off: a crash may bring numbers back, and nothing else may
#
$node = new_server('off', "synchronous_commit = off\n");
my %before;
my (@within, $back);
for my $round (1 .. $ROUNDS)
{
	my @lines = crash_round($node, $round, "$dir/off", $LEAST, @scripts);
	push @within, repeats({}, @lines);
	$back = repeats(\%before, @lines);
	last if $back;
}
is("@within", '', 'synchronous_commit = off: no number came twice between two crashes');

# The same check sees what is not flushed, so it would see the above, too.
cmp_ok($back, '>', 0, 'synchronous_commit = off: numbers come back after kill -9');
note("$back repeats");

#
# What reaches the disk before the answer
#
$node = PostgreSQL::Test::Cluster->new('traced');
$node->init;
$node->append_conf('postgresql.conf',
	$hostile . "fsync = on\nwal_sync_method = fdatasync\n");
$node->start;
$node->safe_psql('postgres',
	"CREATE EXTENSION hilo; SELECT next_identity('x'), next_server_side_id('x/')");
$node->stop;

# strace is the server's parent, which it may trace on every system.  Each
# process gets a file of its own, so a line ends before the next one begins.
my $trace = "$dir/trace";
my $strace = IPC::Run::start(
	[
		'strace', '-ff', '-y', '-s', '4096', '-o', $trace,
		'-e', 'trace=pwrite64,pwritev,write,fdatasync,fsync,sendto',
		$node->installed_command('postgres'), '-D', $node->data_dir
	],
	'<', '/dev/null', '>>', $node->logfile, '2>&1');
wait_until('the server is up', sub {
	$strace->pumpable or die 'strace has ended, see ' . $node->logfile;
	return answers($node);
});
$node->_update_pid(1);

my $marks = 0;
my %read;    # how far the file of a process was looked at

# What the backend of a session did for an expression: W for a write of WAL, S
# for its sync, A for the answer.
sub events_of
{
	my ($session, $expression) = @_;
	my $file = "$trace." . $session->pid;
	my $answer = 'answer-' . ++$marks . '.';
	my $events = '';
	my @lines;

	$session->query("SELECT '$answer', $expression");

	# strace may write the last line after the answer has arrived.
	wait_until("strace shows the answer $answer", sub {
		@lines = split /\n/, substr(slurp_file($file), $read{$file} // 0);
		return grep { /^sendto\(.*\Q$answer\E/ } @lines;
	});
	for my $line (@lines)
	{
		$events .= 'W' if $line =~ m,^p?write\w*\(\d+<[^>]*/pg_wal/,;
		$events .= 'S' if $line =~ m,^f(?:data)?sync\(\d+<[^>]*/pg_wal/.* = 0,;
		$events .= 'A' if $line =~ /^sendto\(.*\Q$answer\E/;
	}
	$read{$file} += length join('', map { "$_\n" } @lines);
	return $events;
}

# In an open transaction, so that no commit flushes before the answer is sent.
for my $synchronous_commit (qw(on local off))
{
	my $session =
	  HiloCrash::Session->new($node, "synchronous_commit=$synchronous_commit");

	# Look the catalogs up, which may log the pruning of a page.
	$session->query("SELECT hilo_number('a/1'), next_identity('x'), next_server_side_id('x/')");
	$session->query('BEGIN');
	events_of($session, "hilo_number('a/1')");
	for ("next_identity('x')", "next_server_side_id('x/')", "next_server_side_id('y/')",
		"next_identity('new_$synchronous_commit')")
	{
		if ($synchronous_commit eq 'off')
		{
			is(events_of($session, $_), 'A', "$_, synchronous_commit = off: answer without a sync");
		}
		else
		{
			like(events_of($session, $_), qr/^W+(?:W|S)*SA$/,
				"$_, synchronous_commit = $synchronous_commit: write, sync, answer");
		}
	}
	$session->query('ROLLBACK');
	$session->finish;
}

$node->stop;
$strace->finish;

done_testing();
