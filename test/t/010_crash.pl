# Shown is spent: no number comes back after kill -9 of the whole server, whatever became of its transaction.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use List::Util qw(sum);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

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
	"SELECT low, high, claim FROM hilo.next_range('orders') \\gset\n"
	  . "\\echo orders|:low\n"
	  . "SELECT hilo.return_range('orders', :low, :high, :claim) \\g /dev/null",
	# The first draw of a collection, of which all clients do the same ones.
	"SELECT n, hilo_next_number(n) FROM (VALUES ('new_' || :round || '_%d')) v(n);",
);
my @draws_of_nextval = (
	"SELECT 'orders', nextval('orders');",
	"SELECT 'users', nextval('users');",
);

# Add the numbers in the lines to %$seen; returns those that were there before.
sub repeats
{
	my ($seen, @lines) = @_;
	my @repeats;

	for my $line (@lines)
	{
		my ($collection, $low, $high) =
		  $line =~ m,^(\w+)/(\d+)-A$, || $line =~ /^(\w+)\|(\d+)(?:\|(\d+))?$/
		  ? ($1, $2, $3 // $2)
		  : die "unexpected line in a client's log: $line";
		for my $number ($low .. $high)
		{
			push @repeats, "$collection $number"
			  if $seen->{$collection}{$number}++;
		}
	}
	return @repeats;
}

# Rounds over one data folder, until numbers repeat or all are done.
sub rounds
{
	my ($node, $name, @draws) = @_;
	my (%seen, @repeats);

	my @scripts = map { client_script("$dir/$name.$_.sql", $_, $STATEMENTS, @draws) }
	  0 .. $CLIENTS - 1;
	for my $round (1 .. $ROUNDS)
	{
		@repeats = repeats(\%seen,
			crash_round($node, $round, "$dir/$name", $LEAST, @scripts));
		last if @repeats;
	}
	return (\%seen, \@repeats);
}

# Take the flush of a claim out of the code.
sub remove_flush
{
	my ($tree) = @_;

	my $code = slurp_file("$tree/src/row.c");
	my $flushes = $code =~ s/^\tXLogFlush\(lsn\);\n//mg;
	is($flushes, 1, 'one line of the code flushes claims');
	unlink "$tree/src/row.c";
	append_to_file("$tree/src/row.c", $code);
	return;
}

#
# The extension as it is
#
my $node = crash_server('hilo', $settings, 'CREATE EXTENSION hilo');
my ($seen, $repeats) = rounds($node, 'hilo', @draws_of_hilo);
is("@$repeats", '', "$ROUNDS times kill -9: no number came twice");
cmp_ok(scalar(keys %{ $seen->{orders} }), '>=', $ROUNDS * $CLIENTS * $LEAST / 4,
	'many numbers were drawn');
note("$ROUNDS kills, " . sum(map { scalar keys %$_ } values %$seen) . ' numbers, ' . @$repeats . ' repeats');

# What is stored agrees with what was shown, and nothing is broken.
$node->start;
my %max = map { split /\|/ }
  split /\n/, $node->safe_psql('postgres', 'SELECT collection, max FROM hilo.hilo');
my @behind = grep {
	my $collection = $_;
	grep { $_ > ($max{$collection} // 0) } keys %{ $seen->{$collection} };
} keys %$seen;
is("@behind", '', 'max is not behind any number shown');
whole_ok($node);
$node->stop;

#
# This test sees a number that comes twice: by a sequence, and by a library that does not flush
#
$node = crash_server('sequence', $settings, 'CREATE SEQUENCE orders; CREATE SEQUENCE users');
(undef, $repeats) = rounds($node, 'sequence', @draws_of_nextval);
cmp_ok(scalar @$repeats, '>', 0, 'the same with sequences: numbers come twice');
note(scalar(@$repeats) . ' repeats');

my $libdir = build_variant("$dir/mutant", \&remove_flush);
$node = crash_server('no_flush', $settings . "dynamic_library_path = '$libdir:\$libdir'\n",
	'CREATE EXTENSION hilo');
$node->start;
my $session = session($node);
$session->query("SELECT hilo_next_number('loaded')");
like(slurp_file('/proc/' . $session->pid . '/maps'),
	qr,\Q$libdir\E/hilo\.so$,m, 'the library without the flush is loaded');
$session->finish;
$node->stop;
(undef, $repeats) = rounds($node, 'no_flush', @draws_of_hilo);
cmp_ok(scalar @$repeats, '>', 0, 'the same without the flush: numbers come twice');
note(scalar(@$repeats) . ' repeats');

done_testing();
