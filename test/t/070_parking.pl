# What a connection has not drawn goes to the next one, whoever has claimed since: where the library is preloaded no
# number is lost or handed out twice by connections that come and go, and a claim serves many of them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::RealBin;
use HiloCrash;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('parking');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', <<'CONF');
shared_preload_libraries = 'hilo'
hilo.parked_ranges = 64
autovacuum = off
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo');

# Stays, and draws nothing.
my $observer = HiloCrash::Session->new($node);
my $connections = 1;

# Wait until the connections that have ended have left: then they have parked.
sub settle
{
	wait_until('the connections have left', sub {
		$observer->query(q{SELECT count(*) FROM pg_stat_activity
			WHERE backend_type = 'client backend'}) == $connections;
	});
	return;
}

sub enter
{
	$connections++;
	return HiloCrash::Session->new($node, @_);
}

sub leave
{
	$_->finish for @_;
	$connections -= @_;
	settle();
	return;
}

# Run a statement in a connection of its own.
sub once
{
	my ($sql, $database) = @_;
	my $result = $node->safe_psql($database // 'postgres', $sql);
	settle();
	return $result;
}

# Stop the server at once, and start it with other settings: nothing is parked.
sub begin_again
{
	$observer->finish;
	$node->stop('immediate');
	$node->append_conf('postgresql.conf', $_[0]);
	$node->start;
	$observer = HiloCrash::Session->new($node);
	return;
}

sub parked
{
	my ($collection) = @_;
	return $observer->query("SELECT coalesce(string_agg(low || '..' || high, ' ' ORDER BY low), '')
		FROM hilo_parked WHERE collection = '$collection'");
}

sub max_of { return $observer->query("SELECT max FROM hilo WHERE collection = '$_[0]'"); }

is($observer->query('SHOW hilo.parked_ranges'), 64, 'there is room');

# One claim for as many connections as it has numbers, each of which takes what it uses.
is(once(q{SELECT hilo_nextval('a')}), 1, 'the first connection');
is(parked('a'), '2..32', 'what it has left');
is($observer->query(q{SELECT size || ' ' || (parked_at BETWEEN now() - interval '1 min' AND now()) FROM hilo_parked}),
	'31 true', 'and when');
is(once(q{SELECT hilo_nextval('a')}), $_, "connection $_") for 2 .. 32;
is(parked('a'), '', 'nothing is left');
is(max_of('a'), 32, 'all by one claim');
is(once(q{SELECT hilo_nextval('a')}), 33, 'the next claim');
is(parked('a'), '34..64', 'is shared from the start');

# Also what is not of the newest claim; the lowest first.
my @held = map { enter() } 1 .. 3;
is($held[0]->query(q{SELECT hilo_nextval('b')}), 1, 'three connections at once');
is($held[1]->query(q{SELECT hilo_nextval('b')}), 33, 'have each a range');
is($held[2]->query(q{SELECT hilo_nextval('b')}), 65, 'of their own');
leave(@held);
is(parked('b'), '2..32 34..64 66..96', 'and leave them all');
is(once(q{SELECT hilo_nextval('b')}), 2, 'the lowest number comes first');
is(once(q{SELECT array_agg(hilo_nextval('b')) FROM generate_series(1, 64)}),
	'{' . join(',', 3 .. 32, 34 .. 64, 66 .. 68) . '}', 'one connection draws on from tail to tail');
is(max_of('b'), 96, 'without a claim');

# Within a session numbers grow, whatever others have left below.
my ($early, $late) = map { enter() } 1 .. 2;
is($early->query(q{SELECT hilo_nextval('grow')}), 1, 'the lower range');
is($late->query(q{SELECT hilo_nextval('grow')}), 33, 'the upper one');
leave($early);
is(parked('grow'), '2..32', 'the lower one is parked');
is($late->query(q{SELECT bool_and(n > 33), max(n) FROM (SELECT hilo_nextval('grow') n FROM generate_series(1, 40)) t}),
	't|73', 'and not for who is above it');
leave($late);
is(once(q{SELECT hilo_nextval('grow')}), 2, 'but for the next one');

# A connection that draws more than others goes on by the rule of sizes.
is(once(q{SELECT count(DISTINCT hilo_nextval('b')) FROM generate_series(1, 1000)}), 1000, 'a large one');
cmp_ok($observer->query(q{SELECT claims FROM hilo WHERE collection = 'b'}), '<=', 10, 'has a few claims');

# What connections use is what the next one takes, and claims.
once(q{SELECT hilo_nextval('c') FROM generate_series(1, 500)}) for 1 .. 3;
once(q{SELECT hilo_drop('c')});
my $big = enter();
$big->query(q{SELECT hilo_nextval('c')});
is(max_of('c'), 500, 'the claim of a connection is as large as what those before have used');
leave($big);

# The end of the session is not needed.
my $pooled = enter();
$pooled->query(q{SELECT hilo_nextval('d')});
is($pooled->query(q{SELECT hilo_release('d')}), 31, 'given back');
is(max_of('d') . parked('d'), '1', 'into the row');
$pooled->query(q{SET hilo.release_to = 'parking'; SELECT hilo_nextval('d') FROM generate_series(1, 3)});
is($pooled->query('SELECT hilo_release()'), 29, 'given back');
is(max_of('d') . ' ' . parked('d'), '33 5..33', 'to the next connection');
is($pooled->query(q{SELECT hilo_nextval('d'), hilo_currval('d')}), '5|5', 'or the next client of the pool');

# What cannot go back into the row is not lost.
$pooled->query(q{RESET hilo.release_to; SELECT hilo_nextval('e')});
once(q{SELECT hilo_reserve('e', 10)});
is($pooled->query(q{SELECT hilo_release('e')}) . ' ' . parked('e'), '31 2..32', 'not the newest claim');
leave($pooled);

# Whatever starts a new count ends what was parked; nothing stale is drawn or shown.
my %void = (
	'a seed' => q{SELECT hilo_seed('%s', 100)},
	'a forced seed' => q{SELECT hilo_seed('%s', 7, true)},
	'a drop' => q{SELECT hilo_drop('%s')},
	'a restored row' => q{INSERT INTO hilo (collection, max) VALUES ('%s', 40)},
);
my %next = ('a seed' => 101, 'a forced seed' => 8, 'a drop' => 1, 'a restored row' => 41);
for my $what (sort keys %void)
{
	my $name = $what =~ tr/ /_/r;
	once("SELECT hilo_nextval('$name')");
	is(parked($name), '2..32', "before $what");
	once(sprintf $void{$what}, $name);
	is(parked($name), '', "after $what");
	is(once("SELECT hilo_nextval('$name')"), $next{$what}, 'the count is new');
}

# A session that goes on drawing in its open transaction, as with a range of its own.
my $open = enter();
once(q{SELECT hilo_nextval('f')});
$open->query(q{BEGIN; SELECT hilo_currval('f')});
$open->query(q{ROLLBACK; BEGIN; SELECT 1});
once(q{SELECT hilo_seed('f', 1000, true)});
is($open->query(q{SELECT hilo_nextval('f')}), 1001, 'a tail is not taken on the word of an old look at the row');
leave($open);

# Options leave it alone.
once(q{SELECT hilo_nextval('g')});
once(q{SELECT hilo_configure('g', range_size => 100)});
is(once(q{SELECT hilo_nextval('g')}), 2, 'options do not end what is parked');

# Where the row is goes with it, as a hint: rows may have moved since.
once(qq{SELECT hilo_nextval('moved$_')}) for reverse 1 .. 9;
once(q{CLUSTER hilo USING hilo_collection_idx});
is(join(' ', map { once(qq{SELECT hilo_nextval('moved$_')}) } 1 .. 9), join(' ', (2) x 9), 'each finds its row');

# By hand: a number that is parked is not drawn any more.
once(q{CREATE TABLE docs (id bigint PRIMARY KEY); SELECT hilo_attach('docs')});
once(q{INSERT INTO docs DEFAULT VALUES});
is(parked('docs'), '2..32', 'numbers of an attached table');
once(q{INSERT INTO docs VALUES (5)});
is(parked('docs'), '2..4 6..32', 'one by hand is cut out');
once(q{INSERT INTO docs VALUES (2), (32), (4)});
is(parked('docs'), '3..3 6..31', 'at the ends, too');
is(once(q{INSERT INTO docs SELECT FROM generate_series(1, 60); SELECT count(*) FROM docs}), 65, 'no collision');

# The extension, dropped and created again.
once(q{SELECT hilo_nextval('x')});
once(q{DROP TABLE docs; DROP EXTENSION hilo; CREATE EXTENSION hilo});
is($observer->query('SELECT count(*) FROM hilo_parked'), 0, 'nothing of the old extension is shown');
is(once(q{SELECT hilo_nextval('x'), hilo_nextval('x')}), '1|2', 'or drawn');
is(once(q{SELECT hilo_nextval('x')}), 3, 'but what the new one leaves');

# Databases: dropped, made again, and copied.
$node->safe_psql('postgres', 'CREATE DATABASE one');
$node->safe_psql('one', 'CREATE EXTENSION hilo');
once(q{SELECT hilo_nextval('x')}, 'one');
is($node->safe_psql('one', q{SELECT low || '..' || high FROM hilo_parked}), '2..32', 'parked in another database');
is(parked('x'), '4..32', 'is of that database');
settle();
$node->safe_psql('postgres', 'CREATE DATABASE two TEMPLATE one');
is(once(q{SELECT hilo_nextval('x')}, 'two'), 33, 'nothing is parked in a copy');
is(once(q{SELECT hilo_nextval('x')}, 'one'), 2, 'but in the original');
$node->safe_psql('postgres', 'DROP DATABASE one');
$node->safe_psql('postgres', 'CREATE DATABASE one TEMPLATE two');
is(once(q{SELECT hilo_nextval('x')}, 'one'), 65, 'nothing of a database dropped is drawn in one made anew');

# Bounded memory: nine tails do not fit into eight.
once(q{DROP EXTENSION hilo; CREATE EXTENSION hilo});
begin_again('hilo.parked_ranges = 8');
once(q{SELECT hilo_nextval('full' || i) FROM generate_series(1, 8) i});
is($observer->query('SELECT count(*) FROM hilo_parked'), 8, 'all room is used');
my $ninth = enter();
$ninth->query(q{SELECT hilo_nextval('full9')});
leave($ninth);
is($observer->query(q{SELECT count(*) FROM hilo_parked}) . ' ' . max_of('full9'), '8 1',
	'the ninth tail has gone back into the row');
$ninth = enter();
$ninth->query(q{SELECT hilo_nextval('full9')});
once(q{SELECT hilo_reserve('full9', 10)});
leave($ninth);
is(parked('full9'), '3..33', 'if it cannot, it is parked all the same');
is($observer->query(q{SELECT count(*) FROM hilo_parked}), 8, 'in the place of one');

# As many others as there are collections to remember.
once(q{SELECT hilo_nextval('many' || i) FROM generate_series(1, 100) i, generate_series(1, 32)});
is(once(q{SELECT count(hilo_nextval('many' || i)) FROM generate_series(1, 100) i}), 100, 'many collections');
cmp_ok($observer->query(q{SELECT count(*) FROM hilo_parked}), '<=', 8, 'never more');

# Names are told apart by all their bytes.
my $long = 'n' x 254;
once("SELECT hilo_nextval('${long}a')");
is(once("SELECT hilo_nextval('${long}b')"), 1, 'a name of 255 bytes is another one');

# A server that has standbys to wait for: what was claimed without waiting is not for those who wait.
begin_again("synchronous_standby_names = 'nobody'\nsynchronous_commit = local");
once(q{SELECT hilo_nextval('local')});
my $waiting = enter('synchronous_commit=on');
$waiting->start(q{SELECT hilo_nextval('local')});
wait_until('it waits', sub {
	$observer->query('SELECT wait_event FROM pg_stat_activity WHERE pid = ' . $waiting->pid) eq 'SyncRep';
});
is(parked('local'), '2..32', 'who waits for standbys takes nothing that was claimed without');
$observer->query('SELECT pg_cancel_backend(' . $waiting->pid . ')');
$waiting->result;
is(once(q{SELECT hilo_nextval('local')}), 2, 'who does not, does');
leave($waiting);

done_testing();
