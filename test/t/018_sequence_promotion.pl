# Shown is spent, over a sequence, too, when a primary is killed and its synchronous standby is promoted: no number comes again,
# though all that drew rolled back.  Plain nextval() fails, which shows that the test can.
#
# HILO_PROMOTIONS is how often, HILO_SHOWN after how many statements of each client.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $PROMOTIONS = $ENV{HILO_PROMOTIONS} // 1;
my $SHOWN = $ENV{HILO_SHOWN} // 150;
my $STATEMENTS = 20_000;    # more than a client gets to
my $dir = PostgreSQL::Test::Utils::tempdir;

# Numbers that come twice, and how many were shown.
sub promote_once
{
	my ($name, $function) = @_;
	my ($primary, $standby) = map { PostgreSQL::Test::Cluster->new("${name}_$_") } 'primary', 'standby';
	my @draws = map {; "BEGIN;\nSELECT $function('s') FROM generate_series(1, $_);\nROLLBACK;\n" } 1, 1, 1, 5, 500;
	my @scripts = map { "$dir/$name.$_.sql" } 1 .. 3;

	append_to_file($_, join '', map { $draws[ rand @draws ] } 1 .. $STATEMENTS) foreach @scripts;
	$primary->init(allows_streaming => 1);
	$primary->append_conf('postgresql.conf', "autovacuum = off\nlog_statement = none\nwal_writer_delay = 10s\n");
	$primary->start;
	$primary->safe_psql('postgres', 'CREATE EXTENSION hilo; CREATE SEQUENCE s');
	$primary->backup('base');
	$standby->init_from_backup($primary, 'base', has_streaming => 1);
	$standby->start;
	configure($primary, synchronous_standby_names => "${name}_standby");
	wait_until('the standby is synchronous', sub { $primary->safe_psql('postgres', 'SELECT sync_state FROM pg_stat_replication') eq 'sync' });
	is(error_of($standby, 'postgres', "SELECT $function('s')"), '25006', "$name: a standby draws nothing");

	my @logs = draw_until($primary, "$dir/$name", $SHOWN, sub { kill_server($primary) }, \@scripts);
	$standby->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
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
