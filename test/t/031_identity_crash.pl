# Shown is spent, for identities and server-side ids: none comes back after kill -9 of the whole server, and what an answer shows is on disk before, whatever synchronous_commit says.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use List::Util qw(sum);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# HILO_KILLS chooses how often each server is killed, HILO_SHOWN after how many lines of each client.
my $CLIENTS = 6;
my $ROUNDS = $ENV{HILO_KILLS} // 8;
my $STATEMENTS = 20_000;    # more than a client gets to in a round
my $LEAST = $ENV{HILO_SHOWN} // 120;    # lines that each client logs before the kill
my $dir = PostgreSQL::Test::Utils::tempdir;

# Every third number of the identity "users" is that of a document already;
# and all that are drawn by both ways meet in one row.
my $set_up = <<'SQL';
CREATE EXTENSION hilo;
CREATE TABLE users (id text COLLATE "C" PRIMARY KEY);
INSERT INTO users SELECT 'users/' || i FROM generate_series(3, 300000, 3) i;
CREATE TABLE accounts (id bigint PRIMARY KEY);
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

my @scripts = map { client_script("$dir/client.$_.sql", $_, $STATEMENTS, @draws) }
  0 .. $CLIENTS - 1;

#
# synchronous_commit = on
#
my $node = crash_server('on', "synchronous_commit = on\n", $set_up);
my (%seen, @repeats);
for my $round (1 .. $ROUNDS)
{
	@repeats = repeats(\%seen,
		crash_round($node, $round, "$dir/on", $LEAST, @scripts));
	last if @repeats;
}
is("@repeats", '', "$ROUNDS times kill -9: no number came twice, none was a document's");
note("$ROUNDS kills, " . sum(map { scalar keys %$_ } values %seen) . ' numbers, ' . @repeats . ' repeats');
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
whole_ok($node);
$node->stop;

#
# synchronous_commit = off waits for no standby, but for the disk
#
$node = crash_server('off', "synchronous_commit = off\n", $set_up);
my (%before, $back);
for my $round (1 .. $ROUNDS)
{
	$back = repeats(\%before, crash_round($node, $round, "$dir/off", $LEAST, @scripts));
	last if $back;
}
is($back, 0, 'synchronous_commit = off: no number comes back after kill -9');
note("$ROUNDS kills, " . sum(map { scalar keys %$_ } values %before) . " numbers, $back repeats");

#
# What reaches the disk before the answer
#
SKIP:
{
	skip 'strace is not installed' unless grep { -x "$_/strace" } split /:/, $ENV{PATH};

	$node = crash_server('traced', "fsync = on\nwal_sync_method = fdatasync\n",
		"CREATE EXTENSION hilo; SELECT next_identity('x'), next_server_side_id('x/')");
	my $trace = HiloTest::Trace->new($node);

	# In an open transaction, so that no commit flushes before the answer is sent.
	for my $synchronous_commit (qw(on local off))
	{
		my $session = session($node, synchronous_commit => $synchronous_commit);

		# Look the catalogs up, which may log the pruning of a page.
		$session->query("SELECT hilo_number('a/1'), next_identity('x'), next_server_side_id('x/')");
		$session->query('BEGIN');
		$trace->events($session, "hilo_number('a/1')");
		for ("next_identity('x')", "next_server_side_id('x/')", "next_server_side_id('y/')",
			"next_identity('new_$synchronous_commit')")
		{
			# The first record of an identity covers the next numbers, too.
			if (/new_/)
			{
				like($trace->events($session, $_), qr/^W+(?:W|S)*SA$/,
					"$_, synchronous_commit = $synchronous_commit: write, sync, answer");
			}
			else
			{
				is($trace->events($session, $_), 'A',
					"$_, synchronous_commit = $synchronous_commit: logged ahead, so answer at once");
			}
		}
		$session->query('ROLLBACK');
		$session->finish;
	}

	$node->stop;
	$trace->finish;
}

done_testing();
