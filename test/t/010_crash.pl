# Shown is spent: no number comes back after kill -9 of the whole server, whatever became of its transaction.
use HiloTest;

# HILO_KILLS chooses how often the server is killed, HILO_SHOWN after how many lines of each client.
my $CLIENTS = 8;
my $ROUNDS = $ENV{HILO_KILLS} // 10;
my $STATEMENTS = 30_000;    # more than a client gets to in a round
my $LEAST = $ENV{HILO_SHOWN} // 150;    # lines that each client logs before the kill
my $dir = PostgreSQL::Test::Utils::tempdir;

# Small ranges make claims frequent.
my $settings = <<'SETTINGS';
synchronous_commit = off
hilo.debug_range_size = 3
hilo.max_range_size = 3
SETTINGS

# What clients do, a line of psql's script each.  All of it logs lines of the
# forms "collection/number-tag" and "collection|low[|high]".
my @draws_of_hilo = (
	"SELECT 'orders', hilo_next_number('orders');",
	"SELECT hilo_next('users');",
	"SELECT 'orders', low, high FROM hilo_reserve('orders', 2);",
	"SELECT 'users', low, high FROM hilo.next_range('users');",
	"SELECT hilo_next('orders');",
	"SELECT 'users', hilo_next_number('users');",
	"SELECT low, high, claim FROM hilo.next_range('orders') \\gset\n\\echo orders|:low\nSELECT hilo.return_range('orders', :low, :high, :claim) \\g /dev/null",
	# The first draw of a collection, of which all clients do the same ones.
	"SELECT n, hilo_next_number(n) FROM (VALUES ('new_' || :round || '_%d')) v(n);",
);
my @draws_of_nextval = ("SELECT 'orders', nextval('orders');", "SELECT 'users', nextval('users');");

# What a line shows.
sub shown
{
	my ($collection, $low, $high) = $_[0] =~ m,^(\w+)/(\d+)-A$, || $_[0] =~ /^(\w+)\|(\d+)(?:\|(\d+))?$/ ? ($1, $2, $3 // $2) : return;
	return ($collection, $low .. $high);
}

sub rounds
{
	my ($node, @draws) = @_;
	my $log = "$dir/" . $node->name;
	my @scripts = map { client_script("$log.$_.sql", $_, $STATEMENTS, @draws) } 0 .. $CLIENTS - 1;

	return crash_rounds($node, $ROUNDS, $log, $LEAST, \@scripts, \&shown);
}

#
# The extension as it is
#
my $node = crash_server('hilo', $settings, 'CREATE EXTENSION hilo');
my ($seen, $repeats) = rounds($node, @draws_of_hilo);
is("@$repeats", '', "$ROUNDS times kill -9: no number came twice");
cmp_ok(scalar(keys %{ $seen->{orders} }), '>=', $ROUNDS * $CLIENTS * $LEAST / 4, 'many numbers were drawn');

# What is stored agrees with what was shown, and nothing is broken.
$node->start;
my %max = map { split /\|/ } split /\n/, $node->safe_psql('postgres', 'SELECT collection, max FROM hilo.hilo');
my @behind = grep { my $max = $max{$_} // 0; grep { $_ > $max } keys %{ $seen->{$_} } } keys %$seen;
is("@behind", '', 'max is not behind any number shown');
whole_ok($node);
$node->stop;

#
# This test sees a number that comes twice: by a sequence, and by a library that does not flush
#
$node = crash_server('sequence', $settings, 'CREATE SEQUENCE orders; CREATE SEQUENCE users');
(undef, $repeats) = rounds($node, @draws_of_nextval);
cmp_ok(scalar @$repeats, '>', 0, 'the same with sequences: numbers come twice');

$node = mutant_server('row.c', 'XLogFlush(lsn);', '', q{hilo_next_number('loaded')}, $settings, 'CREATE EXTENSION hilo');
(undef, $repeats) = rounds($node, @draws_of_hilo);
cmp_ok(scalar @$repeats, '>', 0, 'the same without the flush: numbers come twice');

done_testing();
