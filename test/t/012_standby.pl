# Once, across promotion: a standby draws nothing, and after its promotion only numbers that the old primary never showed.
use HiloTest;
use List::Util qw(max);

my @collections = qw(orders users);
my %seen;       # collection → highest number shown by anybody
my %shown;      # collection → number → how often

# Remember numbers that were shown, one or a range.
sub show
{
	my ($collection, $low, $high) = @_;

	$shown{$collection}{$_}++ for $low .. $high // $low;
	$seen{$collection} = max($seen{$collection} // 0, $high // $low);
	return;
}

# Draw in each of the ways there are.
sub draw_all
{
	my ($session, $collection) = @_;

	show($collection, $session->query("SELECT hilo_next_number('$collection')"));
	show($collection,
		$session->query("SELECT hilo_number(hilo_next('$collection'))"));
	show($collection, split /\|/,
		$session->query("SELECT low, high FROM hilo_reserve('$collection', 7)"));
	show($collection, split /\|/,
		$session->query("SELECT low, high FROM hilo.next_range('$collection', 40)"));
	my $hi = $session->query("SELECT hilo.next_hi('$collection', 10)");
	show($collection, ($hi - 1) * 10 + 1, $hi * 10);
	return;
}

sub repeats
{
	return join ' ', map {
		my $collection = $_;
		map { "$collection/$_" }
		  grep { $shown{$collection}{$_} > 1 } keys %{ $shown{$collection} };
	} keys %shown;
}

my $primary = server('primary', "max_connections = 30\n",
	'CREATE EXTENSION hilo; CREATE UNLOGGED SEQUENCE passing; CREATE UNLOGGED TABLE fleeting (id bigserial PRIMARY KEY)', allows_streaming => 1);
my $standby = standby_of($primary, 'standby');
$standby->start;

# Sessions of the primary hold ranges open, in committed, rolled-back and open
# transactions.
my @holders = map { session($primary, synchronous_commit => 'off') } 0 .. 5;
for my $round (1 .. 3)
{
	for my $i (0 .. $#holders)
	{
		$holders[$i]->query('BEGIN');
		draw_all($holders[$i], $_) for @collections;
		$holders[$i]->query(('ROLLBACK', 'COMMIT')[$i % 2])
		  unless $i == 0 && $round == 3;
	}
}
# What is left goes into the pool when the session ends; what other sessions have is held.
my $brief = session($primary);
my $number = $brief->query("SELECT hilo_next_number('orders')");
show('orders', $number);
$brief->leave;
my $next = $primary->safe_psql('postgres', "SELECT hilo_next_number('orders')");
show('orders', $next);
is($next, $number + 1, 'the next session goes on with the rest');
show('orders', $_->query("SELECT hilo_next_number('orders')")) for @holders;
is($holders[0]->query('SELECT count(*) FROM hilo.ranges'),
	2, 'sessions of the primary hold ranges');

#
# On the standby
#
$primary->wait_for_catchup($standby, 'replay', $primary->lsn('flush'));
# It has been told of the numbers that are logged ahead as well.
my $rows = 'SELECT collection, max + ahead, max_value, epoch, home, flags FROM hilo.hilo ORDER BY collection';
is($standby->safe_psql('postgres', $rows), $primary->safe_psql('postgres', $rows), 'the standby has the rows as they are logged');

my $session = session($standby);
my $late = session($standby);
for my $call (
	"hilo_next_number('orders')", "hilo_next('orders')",
	"hilo_next('orders', 'B')", "hilo_next_number('not there')",
	"hilo_reserve('orders', 5)", "hilo.next_range('orders')",
	"hilo.next_hi('orders', 5)", "hilo.return_range('orders', 1, 2, 3)",
	"hilo.seed('orders', 1000000)", "hilo.drop('orders')",
	# It does not have the files of these.
	"hilo.nextval('passing')", "hilo.nextval('fleeting_id_seq')")
{
	is($session->error_of("SELECT $call"), '25006', "standby refuses $call");
}
is( $session->query("SELECT hilo_number('orders/7-A'), hilo_format('orders', 7), (SELECT count(*) FROM hilo.ranges)"),
	'7|orders/7-A|0',
	'what does not draw works on the standby');

# Open since before the promotion.
$late->query('BEGIN');
is($late->query('SELECT count(*) FROM hilo.hilo'), 2, 'a transaction is open on the standby');

#
# Promotion
#
# More draws whose WAL has reached the standby's disk at least.
for my $holder (@holders)
{
	draw_all($holder, 'orders');
	show('orders', $holder->query("SELECT hilo_next_number('orders')"));
}
$primary->wait_for_catchup($standby, 'flush', $primary->lsn('flush'));
kill_server($primary);
$standby->promote;

is($late->error_of("SELECT hilo_next_number('orders')"),
	'25006', 'a transaction from before the promotion stays read-only');
$late->query('ROLLBACK');
is($session->query('SELECT count(*) FROM hilo.ranges'),
	0, 'a session from before the promotion holds no ranges');

my %before = %seen;
for my $collection (@collections)
{
	for my $drawer ($session, $late, map { session($standby) } 1 .. 3)
	{
		my $number = $drawer->query("SELECT hilo_next_number('$collection')");
		show($collection, $number);
		cmp_ok($number, '>', $before{$collection},
			"promoted server: $collection/$number is above all numbers seen");
		draw_all($drawer, $collection);
	}
}
is($session->query("SELECT hilo_next_number('new')"),
	1, 'promoted server: a new collection starts');
is(repeats(), '', 'no number came twice');

# And the promoted server itself survives kill -9.
kill_server($standby);
$standby->start;
$session = session($standby);
draw_all($session, $_) for @collections;
is(repeats(), '', 'nor after kill -9 of the promoted server');
$session->finish;

#
# A full backup and an incremental one, which takes the blocks that the WAL names: together they know all that was shown
# before the second one's end.  In another database few numbers are drawn, each logged only because of the last checkpoint.
#
SKIP:
{
	skip 'incremental backups begin with 17' if $standby->safe_psql('postgres', 'SHOW server_version_num') < 170000;

	my $dir = PostgreSQL::Test::Utils::tempdir;
	my %draw = (orders => "hilo_next_number('orders')", people => "next_identity_for('people')", often => "hilo.nextval('often')");
	my @draws = map { "SELECT '$_', $draw{$_}, pg_current_wal_insert_lsn();" } sort keys %draw;
	my @scripts = map { client_script("$dir/$_.sql", $_, 30_000, @draws) } 0 .. 2;
	my %rare = map { $_ => "SELECT $_" } "low FROM hilo_reserve('rare', 1)", "hilo.nextval('rare')";
	my %shown_before;

	$standby->safe_psql('postgres', 'CREATE SEQUENCE often');
	new_database($standby, 'calm', 'CREATE EXTENSION hilo; CREATE SEQUENCE rare');
	$standby->safe_psql('calm', $_) for values %rare;
	configure($standby, summarize_wal => 'on');
	$standby->backup('full');
	my @logs = draw_until($standby, "$dir/client", 100, sub {
			$shown_before{$_} = $standby->safe_psql('calm', $rare{$_}) for keys %rare;
			$standby->backup('incremental', backup_options => [ '--incremental', $standby->backup_dir . '/full/backup_manifest' ]);
			kill_server($standby);
		}, \@scripts);

	my $position = sub { my ($high, $low) = split m{/}, shift; return hex($high) * 2**32 + hex $low };
	my ($end) = slurp_file($standby->backup_dir . '/incremental/backup_manifest') =~ /"End-LSN": "(.*?)"/;
	my @lines = map { lines_of("$_.out") } @logs;
	foreach my $line (@lines)
	{
		my ($name, $number, $lsn) = split /\|/, $line;
		$shown_before{$name} = max($shown_before{$name} // 0, $number) if $position->($lsn) < $position->($end);
	}
	my $combined = PostgreSQL::Test::Cluster->new('combined');
	$combined->init_from_backup($standby, 'incremental', combine_with_prior => ['full']);
	$combined->start;
	cmp_ok($combined->safe_psql('calm', $rare{$_}), '>', $shown_before{$_}, "incremental backup: what is drawn by $_ is new") for sort keys %rare;
	cmp_ok($combined->safe_psql('postgres', "SELECT $draw{$_}"), '>', $shown_before{$_}, "incremental backup: $_ go on above what was shown") for sort keys %draw;
	$combined->stop;
}

done_testing();
