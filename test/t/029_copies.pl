# Promise 1: a copy of a database counts by itself, in an epoch of its own, above what it was copied with; and nothing that changes a database brings a number back.
use HiloTest;

my $node = server('copies', 'autovacuum = off');

sub sql { return $node->safe_psql(@_); }

# Nobody is connected, and what connections do at their end is done.
sub wait_until_empty
{
	my ($db) = @_;
	$node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = '$db')")
	  or die "sessions are connected to $db";
	return;
}

sub row_of
{
	my ($db) = @_;
	my %row;
	@row{qw(max epoch home)} = split /\|/,
	  sql($db, q{SELECT max, epoch, home FROM hilo.hilo WHERE collection = 'orders'});
	return \%row;
}

# Ways to copy.
my @strategies = sql('postgres', 'SHOW server_version_num') >= 150000 ?
  (' STRATEGY wal_log', ' STRATEGY file_copy') : ('');
my $count = 0;
foreach my $strategy (@strategies)
{
	my $what = $strategy;
	my ($first, $copy) = map { "$_" . ++$count } qw(first copy);

	sql('postgres', "CREATE DATABASE $first");
	sql($first, q{
		CREATE EXTENSION hilo;
		SELECT hilo.seed('orders', 100), hilo_next_number('orders'), next_identity('people'), next_server_side_id('a/');
	});
	wait_until_empty($first);
	my $before = row_of($first);
	is($before->{max}, 132, "$what: max");

	sql('postgres', "CREATE DATABASE $copy TEMPLATE $first$strategy");
	is_deeply(row_of($copy), $before, "$what: the copy has the row as it was");

	is(sql($copy, q{SELECT hilo_next_number('orders')}), $before->{max} + 1, "$what: it goes on above max, as nothing is in its pool");
	my $after = row_of($copy);
	isnt($after->{epoch}, $before->{epoch}, "$what: in a new epoch");
	isnt($after->{home}, $before->{home}, "$what: with a home of its own");
	is(sql($copy, q{SELECT hilo_next_number('orders') > 101, next_identity('people'), next_server_side_id('a/')}),
		't|people/2|a/0000000000000000002-A', "$what: and so on, identities and server-side ids");
	is(row_of($copy)->{epoch}, $after->{epoch}, "$what: which is no other one for the next connection");

	# The one that was copied has not noticed.
	is(sql($first, q{SELECT hilo_next_number('orders'), next_identity('people')}), '102|people/2', "$what: the first one goes on");
	is(row_of($first)->{epoch}, $before->{epoch}, "$what: in its epoch");

	# It takes the place of the first one.
	wait_until_empty($_) foreach $first, $copy;
	my $max = row_of($copy)->{max};
	my $shown = sql($copy, q{SELECT hilo_next_number('orders')});
	wait_until_empty($_) foreach $first, $copy;
	sql('postgres', "DROP DATABASE $first");
	sql('postgres', "ALTER DATABASE $copy RENAME TO $first");
	cmp_ok(sql($first, q{SELECT hilo_next_number('orders')}), '>', $shown, "$what: renamed, it goes on above what was shown");
}

#
# A database that changes under its sessions
#
my %shown;

sub draw
{
	my ($session) = @_;
	$shown{ $session->query(q{SELECT hilo_next_number('orders')}) }++;
	return;
}

sql('postgres', 'CREATE ROLE someone; CREATE EXTENSION hilo');
my @sessions = map { session($node, 'hilo.debug_range_size' => 4, 'hilo.max_range_size' => 4) } 1 .. 3;
foreach my $command (
	'ALTER DATABASE postgres CONNECTION LIMIT 50',
	'ALTER DATABASE postgres OWNER TO someone',
	'ALTER DATABASE postgres SET hilo.node_tag = \'B\'',
	'COMMENT ON DATABASE postgres IS \'x\'',
	'VACUUM FULL pg_database',
	'VACUUM FREEZE pg_database')
{
	draw($_) foreach @sessions, @sessions;
	sql('template1', $command);
	foreach my $round (1 .. 6)
	{
		draw($_) foreach @sessions;
	}
	my $brief = session($node);
	draw($brief);
	$brief->finish;
	is(join(' ', grep { $shown{$_} > 1 } sort keys %shown), '', "$command: no number comes twice");
}
$_->finish foreach @sessions;
is(sql('postgres', 'SELECT count(*) FROM hilo.hilo'), 1, 'there is one row');

$node->stop;
done_testing();
