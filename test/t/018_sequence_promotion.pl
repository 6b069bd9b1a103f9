# Shown is spent, over a sequence, too, when a primary is killed and its synchronous standby is promoted: no number comes again,
# though all that drew rolled back.  Plain nextval() fails, which shows that the test can.
#
# HILO_PROMOTIONS is how often, HILO_SHOWN after how many statements of each client.
use HiloTest;

my $PROMOTIONS = $ENV{HILO_PROMOTIONS} // 1;
my $SHOWN = $ENV{HILO_SHOWN} // 150;
my $STATEMENTS = 20_000;    # more than a client gets to
my $dir = PostgreSQL::Test::Utils::tempdir;

# Numbers that come twice, and how many were shown.
sub promote_once
{
	my ($name, $function) = @_;
	my @draws = map {; "BEGIN;\nSELECT $function('s') FROM generate_series(1, $_);\nROLLBACK;\n" } 1, 1, 1, 5, 500;
	my @scripts = map { "$dir/$name.$_.sql" } 1 .. 3;

	append_to_file($_, join '', map { $draws[ rand @draws ] } 1 .. $STATEMENTS) foreach @scripts;
	my $primary = server("${name}_primary", "autovacuum = off\nlog_statement = none\nwal_writer_delay = 10s\n",
		'CREATE EXTENSION hilo; CREATE SEQUENCE s', allows_streaming => 1);
	my $standby = standby_of($primary, "${name}_standby");
	$standby->start;
	wait_for_standbys($primary, "${name}_standby");
	is(error_of($standby, 'postgres', "SELECT $function('s')"), '25006', "$name: a standby draws nothing");

	my @logs = draw_until($primary, "$dir/$name", $SHOWN, sub { kill_server($primary) }, \@scripts);
	$standby->promote;
	my %seen;
	my @numbers = ((map { lines_of("$_.out") } @logs), split /\n/, $standby->safe_psql('postgres', "SET synchronous_commit = local; SELECT $function('s') FROM generate_series(1, 2000)"));
	$seen{$_}++ foreach @numbers;
	$standby->stop;
	return (@numbers - keys %seen, scalar @numbers);
}

for my $round (1 .. $PROMOTIONS)
{
	my ($twice, $all) = promote_once("hilo$round", 'hilo.nextval');
	is($twice, 0, "promotion $round: of $all numbers none came twice");
}

# Its record is in memory only, and on no standby, while the first session has logged ahead for others and commits nothing.
my ($twice) = promote_once('plain', 'nextval');
cmp_ok($twice, '>', 0, "with plain nextval() $twice did");
done_testing();
