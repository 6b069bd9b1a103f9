# Shown is spent, also after ALTER SEQUENCE or a copy of the database has logged a sequence's page as it is, where nextval takes 32 numbers for logged that are not.
use HiloTest;

my $node = crash_server('main', '', 'CREATE EXTENSION hilo');
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE SEQUENCE started;
CREATE SEQUENCE typed AS int MAXVALUE 1000000;
CREATE SEQUENCE relogged;
CREATE SEQUENCE downwards INCREMENT -3;
CREATE SEQUENCE circle MAXVALUE 5 CYCLE;
CREATE UNLOGGED TABLE fleeting (id serial PRIMARY KEY);
INSERT INTO fleeting SELECT FROM generate_series(1, 5);
SELECT hilo.nextval(s) FROM unnest('{started,typed,relogged,downwards,circle}'::regclass[]) s;
ALTER SEQUENCE started START WITH 7;
ALTER SEQUENCE typed AS bigint;
ALTER SEQUENCE relogged SET UNLOGGED;
ALTER SEQUENCE relogged SET LOGGED;
ALTER SEQUENCE downwards START WITH -7;
ALTER SEQUENCE circle START WITH 2;
ALTER TABLE fleeting SET LOGGED;
CREATE DATABASE original;
SQL
$node->safe_psql('original', q{CREATE EXTENSION hilo; CREATE SEQUENCE copied; SELECT hilo.nextval('copied')});
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE original STRATEGY wal_log');
my %database = (started => 'postgres', typed => 'postgres', relogged => 'postgres', fleeting_id_seq => 'postgres', copied => 'copy');

# Two sessions in turn; no transaction commits that would flush.
sub draw_from_all
{
	my %drawn;

	foreach my $sequence (sort keys %database)
	{
		my @sessions = map { session($node, dbname => $database{$sequence}) } 1, 2;
		$drawn{$sequence} = [ map { $_->query_safe("SELECT hilo.nextval('$sequence')") } @sessions, @sessions ];
		note("$sequence: @{ $drawn{$sequence} }");
		$_->finish for @sessions;
	}
	return %drawn;
}

my %before = draw_from_all();
my $down = $node->safe_psql('postgres', "SELECT hilo.nextval('downwards')");
is($node->safe_psql('postgres', "SELECT hilo.nextval('circle')"), $_, "a cycle: $_") for 2 .. 4;
$node->stop('immediate');
$node->start;
my %after = draw_from_all();
cmp_ok($after{$_}[0], '>', $before{$_}[-1], "$_: after an immediate stop draws go on above what was shown") for sort keys %database;
cmp_ok($node->safe_psql('postgres', "SELECT hilo.nextval('downwards')"), '<', $down, 'downwards: below it');
like($node->safe_psql('postgres', "SELECT hilo.nextval('circle')"), qr/^[51]$/, 'a cycle: what was not shown, or the beginning');

#
# But it is logged once, and not for each connection
#
sub bytes_logged
{
	my ($statement) = @_;
	my @bytes;

	# What the server itself logs, once in a while, is not in each round.
	for my $round (1 .. 3)
	{
		my $from = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');
		$node->safe_psql('postgres', $statement) for 1 .. 12;
		push @bytes, $node->safe_psql('postgres', "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '$from')");
	}
	note("bytes: @bytes");
	return (sort { $a <=> $b } @bytes)[0];
}
cmp_ok(bytes_logged("SELECT hilo.nextval('started')"), '<', 600, '12 connections that draw a number each do not log a page each');
cmp_ok(bytes_logged("SELECT nextval('typed'); SELECT hilo.nextval('typed')"), '<', 800, 'nor if nextval is called besides');

#
# A record from before a checkpoint covers nothing: nextval may have looked for one just before it began, and have drawn after it
#
$node->safe_psql('postgres', q{CREATE TABLE checked (id bigserial PRIMARY KEY); SELECT hilo.attach('checked'); INSERT INTO checked DEFAULT VALUES});
my ($path, $from, $segment) = split /\|/, $node->safe_psql('postgres', q{CHECKPOINT; SELECT pg_relation_filenode('checked_id_seq'), l, pg_walfile_name(l) FROM pg_current_wal_insert_lsn() l});
$node->safe_psql('postgres', q{INSERT INTO checked VALUES (100); SELECT hilo.sync('checked')});
my ($records) = run_command([ 'pg_waldump', '-s', $from, '-p', $node->data_dir . '/pg_wal', $segment ]);
like($records, qr{^rmgr: XLOG .* FPI.*/$path\b}m, 'where a sequence is after a checkpoint is logged');

$node->stop;
done_testing();
