# Shown is spent, for identities and server-side ids: none comes back after kill -9 of the whole server, whatever synchronous_commit says.
use HiloTest;

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

# What a line shows; a number that a search should not have given is another one.
sub shown
{
	my ($line) = @_;
	my $free = $line =~ s/^free\|//;
	my ($name, $number) = $line =~ m,^[abc/]+/(\d{19})-A$, ? ('server-side', $1 + 0) : $line =~ m,^(\w+)[/|](\d+)$, ? ($1, $2) : return;

	return ($name, $number, $free && $number % 3 == 0 ? $number : ());
}

my @scripts = map { client_script("$dir/client.$_.sql", $_, $STATEMENTS, @draws) } 0 .. $CLIENTS - 1;

#
# synchronous_commit = on
#
my $node = crash_server('on', "synchronous_commit = on\n", $set_up);
my ($seen, $repeats) = crash_rounds($node, $ROUNDS, "$dir/on", $LEAST, \@scripts, \&shown);
is("@$repeats", '', "$ROUNDS times kill -9: no number came twice, none was a document's");
cmp_ok(scalar(keys %{ $seen->{$_} }), '>=', $ROUNDS * $CLIENTS * $LEAST / 18, "many numbers were drawn: $_")
  for 'users', 'orders', 'accounts', 'server-side';
cmp_ok(scalar(grep { /^new_/ } keys %$seen), '>=', $ROUNDS, 'and many first ones');

# What is stored agrees with what was shown, and nothing is broken.
$node->start;
my %value = map { split /=/ } split /\n/, $node->safe_psql('postgres', q{
	SELECT name || '=' || value FROM hilo.identities
	UNION ALL SELECT 'server-side=' || max FROM hilo.hilo WHERE collection = '|'});
my @behind = grep { my $value = $value{$_} // 0; grep { $_ > $value } keys %{ $seen->{$_} } } keys %$seen;
is("@behind", '', 'no stored value is behind a number shown');
whole_ok($node);
$node->stop;

#
# synchronous_commit = off waits for no standby, but for the disk
#
$node = crash_server('off', "synchronous_commit = off\n", $set_up);
(undef, $repeats) = crash_rounds($node, $ROUNDS, "$dir/off", $LEAST, \@scripts, \&shown);
is("@$repeats", '', 'synchronous_commit = off: no number comes back after kill -9');

done_testing();
