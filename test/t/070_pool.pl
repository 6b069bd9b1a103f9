# Promises 4 and 6: what a connection has not drawn goes into the pool, whoever has claimed since, and the next one takes
# it: no number is lost or comes twice by connections that come and go, and a claim serves many of them.  What ends the
# server ends the pool: a gap, and nothing comes back.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use File::Copy qw(move);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('pool');
$node->init;
$node->append_conf('postgresql.conf', <<'CONF');
hilo.pool_size = 64
autovacuum = off
restart_after_crash = on
CONF
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION hilo');

# Stays, and draws nothing.
my $observer = session($node);
my $connections = 1;

# Wait until the connections that have ended have left: then the pool has what they had.
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
	return session($node, @_);
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

# A session draws until it has a range of its own, of which it has used one number; that number.
sub take_range
{
	my ($session, $collection, $size) = @_;
	my $count = ($size // 32) + 1;
	return scalar $session->query("SELECT max(hilo_next_number('$collection')) FROM generate_series(1, $count)");
}

sub pooled
{
	my ($collection) = @_;
	return $observer->query("SELECT coalesce(string_agg(low || '..' || high, ' ' ORDER BY low), '')
		FROM hilo.pool WHERE collection = '$collection'");
}

sub highest_of { return $observer->query("SELECT max FROM hilo.hilo WHERE collection = '$_[0]'"); }

is($observer->query(q{LOAD 'hilo'; SHOW hilo.pool_size}), 64, 'there is room');

#
# From connection to connection
#
# One claim for as many connections as it has numbers, each of which takes what it uses.
is(once(q{SELECT hilo_next_number('a')}), 1, 'the first connection');
is(pooled('a'), '2..32', 'what it has left');
is($observer->query(q{SELECT * FROM hilo.pool}), 'a|2|32|31|f', 'as the view shows it');
is(once(q{SELECT hilo_next_number('a')}), $_, "connection $_") for 2 .. 32;
is(pooled('a'), '', 'nothing is left');
is(highest_of('a'), 32, 'all by one claim');
is($observer->query('SELECT * FROM hilo.pool_use'), '31|31|0', 'what went through the pool');
is(once(q{SELECT hilo_next_number('a')}), 33, 'the next claim');
is(pooled('a'), '34..64', 'is shared from the start');

# Also what is not of the newest claim; the lowest first.
my @held = map { enter() } 1 .. 3;
is(take_range($held[0], 'b'), 33, 'three connections at once');
is(take_range($held[1], 'b'), 97, 'have each a range');
is(take_range($held[2], 'b'), 161, 'of their own');
leave(@held);
is(pooled('b'), '34..64 98..128 162..192', 'and leave them all');
is(once(q{SELECT hilo_next_number('b')}), 34, 'the lowest number comes first');
is(once(q{SELECT array_agg(hilo_next_number('b')) FROM generate_series(1, 64)}),
	'{' . join(',', 35 .. 64, 98 .. 128, 162 .. 164) . '}', 'one connection draws on from piece to piece');
is(highest_of('b'), 192, 'without a claim');

# Many open sessions need not have a range each: what they take follows what they have drawn.
@held = map { enter() } 1 .. 24;
is(join(' ', map { scalar $_->query(q{SELECT hilo_next_number('slow')}) } @held), join(' ', 1 .. 24), 'each draws one number');
is(highest_of('slow') . ' ' . pooled('slow'), '32 25..32', 'of one claim');
is($held[0]->query(q{SELECT array_agg(hilo_next_number('slow')) FROM generate_series(1, 6)}), '{25,26,27,28,29,30}', 'more of them');
is($held[0]->query(q{SELECT next, high FROM hilo.ranges WHERE collection = 'slow'}), '31|31', 'in steps of 1, 2, 4');
is($held[0]->query(q{SELECT hilo_next_number('slow')}) . ' ' . pooled('slow'), '31 32..32', 'as many as it has drawn');
leave(@held);
is(pooled('slow'), '32..32', 'nothing is lost');

# Pieces that meet are one, so that few pieces are enough; those between which numbers were drawn are not.
@held = map { enter() } 1 .. 3;
$_->query(q{SET hilo.range_size = 10; SET hilo.max_range_size = 10}), take_range($_, 'meet', 10) for @held;
leave($held[1]);
leave($held[0]);
leave($held[2]);
is(pooled('meet'), '12..20 32..40 52..60', 'pieces with gaps between them');
is(once(q{SELECT max(hilo_next_number('meet')) FROM generate_series(1, 5)}), 16, 'are drawn');
is(pooled('meet'), '17..20 32..40 52..60', 'what goes back joins the piece that it was taken from');
is(once(q{SELECT count(hilo_next_number('meet')) FROM generate_series(1, 22)}), 22, 'all of them');
is(highest_of('meet'), 60, 'without a claim');

# Within a session numbers grow, whatever others have left below.
my ($early, $late) = map { enter() } 1 .. 2;
is(take_range($early, 'grow'), 33, 'the lower range');
is(take_range($late, 'grow'), 97, 'the upper one');
leave($early);
is(pooled('grow'), '34..64', 'the lower one is in the pool');
is($late->query(q{SELECT bool_and(n > 97), max(n) FROM (SELECT hilo_next_number('grow') n FROM generate_series(1, 40)) t}),
	't|137', 'and not for a session that is above it');
leave($late);
is(once(q{SELECT hilo_next_number('grow')}), 34, 'but for the next one');

# A connection that draws more than others goes on by the rule of sizes.
my $before = $node->lsn('insert');
is(once(q{SET hilo.max_range_size = 1048576; SELECT count(DISTINCT hilo_next_number('b')) FROM generate_series(1, 1000)}), 1000, 'a large one');
my ($claims) = run_command([ 'pg_waldump', '-r', 'Generic', '-s', $before, '-e', $node->lsn('flush'), '-p', $node->data_dir . '/pg_wal' ]);
cmp_ok(scalar(() = $claims =~ /^rmgr: Generic/mg), '<=', 12, 'has a few claims');
like($claims, qr/^rmgr: Generic/m, 'and at least one');

# A session that stays gives to the pool, too; whoever has claimed since.
my $pooler = enter();
take_range($pooler, 'd');
is($pooler->query(q{SELECT hilo.release('d')}), 31, 'released');
is(highest_of('d') . ' ' . pooled('d'), '64 34..64', 'into the pool, not into the row');
is($pooler->query(q{SELECT hilo_next_number('d'), hilo_last_number('d')}), '34|34', 'for the next client of a pooler');
$pooler->query(q{SELECT hilo.release('d')});
is(once(q{SELECT hilo_next_number('d')}), 35, 'or the next connection');
take_range($pooler, 'e');
once(q{SELECT hilo_reserve('e', 10)});
is($pooler->query(q{SELECT hilo.release('e')}) . ' ' . pooled('e'), '31 34..64', 'not the newest claim');
take_range($pooler, "all$_") for 1 .. 3;
is($pooler->query('SELECT hilo.release()'), 93, 'all at once');
is($pooler->query('SELECT count(*) FROM hilo.ranges'), 0, 'then the session has nothing');
is($pooler->query('SELECT hilo.release()'), 0, 'nor anything to give');
leave($pooler);

# A pooler changes roles, and resets sessions: they keep what they have.
my $role = enter();
$role->query(q{CREATE ROLE client});
take_range($role, 'roles');
for my $sql ('DISCARD ALL', 'RESET ALL', 'SET ROLE client')
{
	$role->query($sql);
	is($role->query(q{SELECT count(*) FROM hilo.ranges WHERE collection = 'roles'}), 1, "$sql: the range is kept");
}
leave($role);
is(pooled('roles'), '34..64', 'and goes into the pool in any role');

#
# What the pool must not keep
#
# What starts a new count ends it; nothing of before is drawn or shown.
my %void = (
	'a seed' => q{SELECT hilo.seed('%s', 100)},
	'a seed below' => q{SELECT hilo.seed('%s', 20)},
	'a forced seed' => q{SELECT hilo.seed('%s', 7, true)},
	'a drop' => q{SELECT hilo.drop('%s')},
	'a restored row' => q{INSERT INTO hilo.hilo (collection, max) VALUES ('%s', 40)},
);
my %next = ('a seed' => 101, 'a seed below' => 33, 'a forced seed' => 8, 'a drop' => 1, 'a restored row' => 41);
for my $what (sort keys %void)
{
	my $name = $what =~ tr/ /_/r;
	once("SELECT hilo_next_number('$name')");
	is(pooled($name), '2..32', "before $what");
	once(sprintf $void{$what}, $name);
	is(pooled($name), '', "after $what");
	is(once("SELECT hilo_next_number('$name')"), $next{$what}, 'the count is new');
}

# A session that goes on drawing in its open transaction, as with a range of its own.
my $open = enter();
once(q{SELECT hilo_next_number('f')});
$open->query(q{BEGIN; SELECT hilo_last_number('f')});
$open->query(q{ROLLBACK; BEGIN; SELECT 1});
once(q{SELECT hilo.seed('f', 1000, true)});
is($open->query(q{SELECT hilo_next_number('f')}), 1001, 'nothing is taken on the word of an old look at the row');
leave($open);

# Options leave it alone.
once(q{SELECT hilo_next_number('g')});
once(q{SELECT hilo.configure('g', range_size => 100)});
is(once(q{SELECT hilo_next_number('g')}), 2, 'options do not end what is in the pool');

# Tables are rewritten, and rows move.
once(qq{SELECT hilo_next_number('moved$_')}) for reverse 1 .. 9;
once(q{CLUSTER hilo.hilo USING hilo_collection_idx});
is(join(' ', map { once(qq{SELECT hilo_next_number('moved$_')}) } 1 .. 9), join(' ', (2) x 9), 'each finds its row');

# By hand: a number in the pool that was chosen by hand is no longer drawn, as whoever takes a piece looks at it.
once(q{CREATE TABLE docs (id bigint PRIMARY KEY); SELECT hilo.attach('docs', collection => 'docs')});
once(q{INSERT INTO docs DEFAULT VALUES});
is(pooled('docs'), '2..32', 'numbers of an attached table');
once('INSERT INTO docs VALUES (5)');
is(once(q{INSERT INTO docs DEFAULT VALUES RETURNING id}), 2, 'by hand: only what is taken is looked at');
is(once(q{INSERT INTO docs SELECT FROM generate_series(1, 3) RETURNING id}), "3\n4\n6", 'and the number is passed over');
once('INSERT INTO docs VALUES (7), (32), (9)');
once('INSERT INTO docs VALUES (200)');
is(once(q{INSERT INTO docs SELECT FROM generate_series(1, 300); SELECT count(*) FROM docs}), 310, 'no collision');

# The extension, dropped and created again.
once(q{SELECT hilo_next_number('x')});
once(q{DROP TABLE docs; DROP EXTENSION hilo; CREATE EXTENSION hilo});
is($observer->query('SELECT count(*) FROM hilo.pool'), 0, 'nothing of the old extension is shown');
is(once(q{SELECT hilo_next_number('x'), hilo_next_number('x')}), '1|2', 'or drawn');
is(once(q{SELECT hilo_next_number('x')}), 3, 'but what the new one leaves');

# Databases: dropped, made again, copied, and renamed.
$node->safe_psql('postgres', 'CREATE DATABASE one');
$node->safe_psql('one', 'CREATE EXTENSION hilo');
once(q{SELECT hilo_next_number('x')}, 'one');
is($node->safe_psql('one', q{SELECT low || '..' || high FROM hilo.pool}), '2..32', 'the pool of another database');
is(pooled('x'), '4..32', 'is its own');
settle();
$node->safe_psql('postgres', 'CREATE DATABASE two TEMPLATE one');
cmp_ok(once(q{SELECT hilo_next_number('x')}, 'two'), '>', 32, 'a copy has nothing of it');
is(once(q{SELECT hilo_next_number('x')}, 'one'), 2, 'but the original');
$node->safe_psql('postgres', 'DROP DATABASE one');
$node->safe_psql('postgres', 'CREATE DATABASE one TEMPLATE two');
cmp_ok(once(q{SELECT hilo_next_number('x')}, 'one'), '>', 64, 'nothing of a database dropped is drawn in one made anew');
$node->safe_psql('postgres', 'DROP DATABASE two; DROP DATABASE one');

# Names are told apart by all their bytes.
my $long = 'n' x 254;
once("SELECT hilo_next_number('${long}a')");
is(once("SELECT hilo_next_number('${long}b')"), 1, 'a name of 255 bytes is another one');

#
# The end of the server
#
# The server and its pool end in some way; numbers go on above what was claimed.
my %shown;

sub end_server
{
	my ($what, $end) = @_;

	do { $shown{ once(q{SELECT hilo_next_number('end')}) }++ } for 1 .. 3;
	isnt(pooled('end'), '', "$what: there is a pool");
	my $max = highest_of('end');
	$observer->finish unless $what =~ /connection/;
	$end->();
	$observer = session($node);
	is(pooled('end'), '', "$what: then it is empty");
	is(highest_of('end'), $max, "$what: nothing has gone back into the row");
	my $number = once(q{SELECT hilo_next_number('end')});
	$shown{$number}++;
	is($number, $max + 1, "$what: numbers go on above");
	return;
}

for my $mode (qw(fast smart immediate))
{
	end_server("a stop, $mode", sub { $node->stop($mode); $node->start });
}
end_server('kill -9', sub { kill_server($node); $node->start });
end_server('kill -9 of one connection', sub {
	my $other = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'});
	kill 'KILL', $observer->pid;
	$observer->hang_up;
	wait_until('the server starts anew', sub { !kill 0, $other });
	$node->poll_query_until('postgres', 'SELECT true') or die 'no restart';
});
end_server('a start that fails', sub {
	my $hba = $node->data_dir . '/pg_hba.conf';
	$node->stop;
	move($hba, "$hba.good") or die $!;
	append_to_file($hba, "nonsense\n");
	ok(!$node->start(fail_ok => 1), 'the server does not start');
	move("$hba.good", $hba) or die $!;
	$node->start;
});
end_server('a start with the library preloaded', sub {
	$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'hilo'});
	$node->restart;
});
is(join(' ', grep { $shown{$_} > 1 } keys %shown), '', 'no number came twice');
ok(!glob($node->data_dir . '/pg_stat/*hilo*'), 'nothing is kept in files');

#
# Bounded memory
#
sub begin_again
{
	$observer->finish;
	$node->append_conf('postgresql.conf', $_[0]);
	$node->restart;
	$observer = session($node);
	return;
}
once(q{DROP EXTENSION hilo; CREATE EXTENSION hilo});
begin_again('hilo.pool_size = 8');
once(q{SELECT hilo_next_number('full' || i) FROM generate_series(1, 8) i});
is($observer->query('SELECT count(DISTINCT collection) FROM hilo.pool'), 8, 'all room is used');
once(q{SELECT hilo_next_number('full9')});
is($observer->query('SELECT count(DISTINCT collection) FROM hilo.pool') . ' ' . pooled('full9'), '8 2..32',
	'a ninth collection takes the room of another one');
is($observer->query('SELECT * FROM hilo.pool_use'), '279|0|31', 'whose numbers are lost');
once(q{SELECT hilo_next_number('many' || i) FROM generate_series(1, 100) i, generate_series(1, 32)});
is(once(q{SELECT count(hilo_next_number('many' || i)) FROM generate_series(1, 100) i}), 100, 'many collections');
cmp_ok($observer->query(q{SELECT count(DISTINCT collection) FROM hilo.pool}), '<=', 8, 'never more');

# What is evicted was not used up: it does not make claims grow, also if what another session leaves comes there later.
once(q{SET hilo.range_size = 1; SET hilo.max_range_size = 1048576;
	DO $$ BEGIN FOR k IN 0 .. 499 LOOP PERFORM hilo_next_number('evicted' || k % 12), hilo.release('evicted' || k % 12); END LOOP; END $$});
cmp_ok($observer->query(q{SELECT max(max) FROM hilo.hilo WHERE collection LIKE 'evicted%'}), '<=', 2 * 42, 'claims stay small');
my $evicting = q{SELECT hilo_next_number('evicting' || i), hilo.release('evicting' || i) FROM generate_series(1, 3), generate_series(1, 16) i};
for (1 .. 20)
{
	$observer->query(q{SET hilo.range_size = 1; SET hilo.max_range_size = 1048576; SELECT hilo_next_number('left') FROM generate_series(1, 3)});
	$observer->query($_) for $evicting, q{SELECT hilo.release('left')}, q{SELECT hilo_next_number('left') FROM generate_series(1, 3)}, $evicting;
}
cmp_ok(highest_of('left'), '<=', 180, 'and so do those after such a rest');
$observer->query('RESET hilo.range_size; RESET hilo.max_range_size; SELECT hilo.release()');

# An id by hand within the range of a session is not cut out of that: whoever gets what it leaves looks at it.
once(q{CREATE TABLE by_hand (id bigint PRIMARY KEY); SELECT hilo.attach('by_hand', collection => 'by_hand')});
my $holder = enter();
$holder->query('INSERT INTO by_hand SELECT FROM generate_series(1, 33)');
once('INSERT INTO by_hand VALUES (36)');
leave($holder);
is(pooled('by_hand'), '34..64', 'what a session leaves has a number that was chosen by hand meanwhile');
my $next = enter();
is($next->query('INSERT INTO by_hand SELECT FROM generate_series(1, 3) RETURNING id'), "34\n35\n37", 'the next one passes over it');
leave($next);

# Many pieces of one collection: there is a bound, and no number comes twice.
@held = map { enter('hilo.range_size' => 10, 'hilo.max_range_size' => 10) } 1 .. 30;
my %seen;
$seen{$_}++ for map { split /\n/, $_->query(q{SELECT hilo_next_number('pieces') FROM generate_series(1, 11)}) } @held;
leave(@held[ grep { $_ % 2 } 0 .. 29 ]);
leave(@held[ grep { $_ % 2 == 0 } 0 .. 29 ]);
my $left = $observer->query(q{SELECT sum(size) FROM hilo.pool WHERE collection = 'pieces'});
cmp_ok($left, '>', 10, 'what there is room for is kept');
$before = highest_of('pieces');
my @drawn = split /\n/, once("SELECT hilo_next_number('pieces') FROM generate_series(1, $left)");
is(highest_of('pieces'), $before, 'and used');
is(scalar(grep { $seen{$_}++ } @drawn), 0, 'no number came twice');

# The smallest one goes, or does not come in.
my @sizes = (20, 20, 20, 10, 20, 20, 20, 20, 5, 30);
@held = map { enter('hilo.range_size' => $_, 'hilo.max_range_size' => $_) } @sizes;
take_range($held[$_], 'sizes', $sizes[$_]) for 0 .. $#held;
leave($_) for splice @held, 0, 8;
like(pooled('sizes'), qr/^22\.\.40 62\.\.80 102\.\.120 132\.\.140 162\.\.180 (?:\d+\.\.\d+ ?){3}$/, 'eight pieces');
leave(shift @held);
unlike(pooled('sizes'), qr/310/, 'a smaller one finds no place');
leave(shift @held);
is(pooled('sizes'), '22..40 62..80 102..120 162..180 202..220 242..260 282..300 342..370', 'a larger one takes that of the smallest');

$observer->finish;
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|leak|still referenced|lock .* (?:already|not) held|own a lock/,
	'nothing was left behind');
done_testing();
