# Promises 1, 4 and 6: what a connection has not drawn goes into the pool, whoever has claimed since, and the next one takes
# it: no number is lost or comes twice by connections that come and go, and a claim serves many of them.  What ends the
# server ends the pool: a gap, and nothing comes back; nor is what one database or one version of the library has left
# drawn in another one.  Nothing is preloaded until the end: the first session that needs the pool makes it.
use HiloTest;

# Draw all that is in the pool, in one session; then it claims.
my $drain = <<'SQL';
CREATE FUNCTION drain(name text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	top bigint := (SELECT max FROM hilo.hilo WHERE collection = name);
	n bigint;
	low bigint;
	high bigint;
	pieces text[];
BEGIN
	LOOP
		n := hilo_next_number(name);
		EXIT WHEN n > top;
		IF n <> high + 1 THEN
			pieces := pieces || format('%s..%s', low, high);
		END IF;
		low := CASE WHEN n = high + 1 THEN low ELSE n END;
		high := n;
	END LOOP;
	RETURN array_to_string(pieces || format('%s..%s', low, high), ' ');
END $$;
SQL
my $node = server('pool', "autovacuum = off\nrestart_after_crash = on\n",
	"CREATE EXTENSION hilo; CREATE TABLE lines (id bigint DEFAULT hilo_next_number('lines')); $drain");

# Stays, and draws nothing.
my $observer = session($node);
my $connections = 1;

# Wait until the connections that have ended have left: then the pool has what they had.
sub settle
{
	wait_until('the connections have left', sub { $observer->query(q{SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'}) == $connections });
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

# What the pool has; afterwards it has what is left of another claim.
sub drained { return once("SELECT drain('$_[0]')"); }

sub highest_of { return $observer->query("SELECT max FROM hilo.hilo WHERE collection = '$_[0]'"); }

#
# From connection to connection
#
# One claim for as many connections as it has numbers, each of which takes what it uses.
is(once(q{SELECT hilo_next_number('a')}), 1, 'the first connection');
is(once(q{SELECT hilo_next_number('a')}), $_, "connection $_") for 2 .. 32;
is(highest_of('a'), 32, 'all by one claim');
is(once(q{SELECT hilo_next_number('a')}), 33, 'the next claim');
is(drained('a'), '34..64', 'is shared from the start');

# Clients that connect for each insert, one at a time, and several.
append_to_file($node->basedir . '/insert.sql', "INSERT INTO lines DEFAULT VALUES;\n");
foreach my $clients (1, 8)
{
	my ($before, $rows) = split /\|/, once(q{SELECT coalesce(max(max), 0), (SELECT count(*) FROM lines) FROM hilo.hilo WHERE collection = 'lines'});

	$node->command_ok([ 'pgbench', '-n', '-C', '-c', $clients, '-t', 200 / $clients, '-f', $node->basedir . '/insert.sql', '-p', $node->port, '-h', $node->host, 'postgres' ],
		"$clients clients");
	settle();
	is(once("SELECT count(DISTINCT id) - $rows FROM lines"), 200, "$clients clients: 200 different numbers");
	cmp_ok(once('SELECT max(id) FROM lines') - $before, '<=', 200 + 32 * $clients, "$clients clients: none is lost");
}
is(once(q{SELECT max(id) <= (SELECT max FROM hilo.hilo WHERE collection = 'lines') FROM lines}), 't', 'max is ahead');

# Also what is not of the newest claim; the lowest first.
my @held = map { enter() } 1 .. 3;
is(take_range($held[0], 'b'), 33, 'three connections at once');
is(take_range($held[1], 'b'), 97, 'have each a range');
is(take_range($held[2], 'b'), 161, 'of their own');
leave(@held);
is(once(q{SELECT hilo_next_number('b')}), 34, 'and leave them all: the lowest number comes first');
is(once(q{SELECT array_agg(hilo_next_number('b')) FROM generate_series(1, 64)}),
	'{' . join(',', 35 .. 64, 98 .. 128, 162 .. 164) . '}', 'one connection draws on from piece to piece');
is(highest_of('b'), 192, 'without a claim');

# Many open sessions need not have a range each: what they take follows what they have drawn.
@held = map { enter('hilo.debug_range_size' => 1) } 1 .. 24;
is(join(' ', map { scalar $_->query(q{SELECT hilo_next_number('slow')}) } @held), join(' ', 1 .. 24), 'each draws one number');
is(highest_of('slow'), 24, 'and has claimed no more');
is($held[0]->query(q{SELECT array_agg(hilo_next_number('slow')) FROM generate_series(1, 6)}), '{25,26,27,28,29,30}', 'more of them');
cmp_ok(highest_of('slow'), '<', 24 + 2 * 6, 'in claims that double');
leave(@held);

# Pieces that meet are one, so that few pieces are enough; those between which numbers were drawn are not.
@held = map { enter() } 1 .. 3;
$_->query(q{SET hilo.debug_range_size = 10; SET hilo.max_range_size = 10}), take_range($_, 'meet', 10) for @held;
leave($held[1]);
leave($held[0]);
leave($held[2]);
is(once(q{SELECT max(hilo_next_number('meet')) FROM generate_series(1, 5)}), 16, 'pieces with gaps between them are drawn');
is(drained('meet'), '17..20 32..40 52..60', 'what goes back joins the piece that it was taken from');

# Within a session numbers grow, whatever others have left below.
my ($early, $late) = map { enter() } 1 .. 2;
is(take_range($early, 'grow'), 33, 'the lower range');
is(take_range($late, 'grow'), 97, 'the upper one');
leave($early);
is($late->query(q{SELECT bool_and(n > 97), max(n) FROM (SELECT hilo_next_number('grow') n FROM generate_series(1, 40)) t}),
	't|137', 'the lower one is in the pool, and not for a session that is above it');
leave($late);
is(once(q{SELECT hilo_next_number('grow')}), 34, 'but for the next one');

# A connection that draws more than others goes on by the rule of sizes.
my $before = $node->lsn('insert');
is(once(q{SET hilo.max_range_size = 1048576; SELECT count(DISTINCT hilo_next_number('b')) FROM generate_series(1, 1000)}), 1000, 'a large one');
my ($claims) = run_command([ 'pg_waldump', '-r', 'XLOG', '-s', $before, '-e', $node->lsn('flush'), '-p', $node->data_dir . '/pg_wal' ]);
cmp_ok(scalar(() = $claims =~ /desc: FPI /mg), '<=', 12, 'has a few claims');
like($claims, qr/desc: FPI /m, 'and at least one');

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
is(drained('roles'), '34..64', 'and goes into the pool in any role');

#
# What the pool must not keep
#
# What starts a new count ends it; nothing of before is drawn or shown.
my %void = (
	'a seed' => [ q{SELECT hilo.seed('%s', 100)}, 101 ],
	'a seed below' => [ q{SELECT hilo.seed('%s', 20)}, 33 ],
	'a forced seed' => [ q{SELECT hilo.seed('%s', 7, true)}, 8 ],
	'a drop' => [ q{SELECT hilo.drop('%s')}, 1 ],
	'a restored row' => [ q{INSERT INTO hilo.hilo (collection, max) VALUES ('%s', 40)}, 41 ]);
for my $what (sort keys %void)
{
	my $name = $what =~ tr/ /_/r;
	once("SELECT hilo_next_number('$name')");
	once(sprintf $void{$what}[0], $name);
	is(once("SELECT hilo_next_number('$name')"), $void{$what}[1], "$what: the count is new");
}

# A session that goes on drawing in its open transaction, as with a range of its own.
my $open = enter();
once(q{SELECT hilo_next_number('f')});
$open->query(q{BEGIN; SELECT hilo_last_number('f')});
$open->query(q{ROLLBACK; BEGIN; SELECT 1});
once(q{SELECT hilo.seed('f', 1000, true)});
is($open->query(q{SELECT hilo_next_number('f')}), 1001, 'nothing is taken on the word of an old look at the row');
leave($open);

# A session that draws from the pool has read no more than the row.
once(q{SELECT count(hilo_next_number('heeded')) FROM generate_series(1, 100)});
my $heeding = enter();
$heeding->query(q{SELECT count(hilo_next_number('heeded')) FROM generate_series(1, 7)});
once(q{SELECT hilo.seed('heeded', 5000, true)});
is($heeding->query(q{SELECT hilo_next_number('heeded')}), 5001, 'what it holds ends when the counter is set');
leave($heeding);

# Options leave it alone.
once(q{SELECT hilo_next_number('g')});
once(q{SELECT hilo.configure('g', range_size => 100)});
is(once(q{SELECT hilo_next_number('g')}), 2, 'options do not end what is in the pool');

# Tables are rewritten, and rows move.
once(qq{SELECT hilo_next_number('moved$_')}) for reverse 1 .. 9;
once(q{CLUSTER hilo.hilo USING hilo_collection_idx});
is(join(' ', map { once(qq{SELECT hilo_next_number('moved$_')}) } 1 .. 9), join(' ', (2) x 9), 'each finds its row');
is(error_of($node, 'postgres', q{BEGIN; CLUSTER hilo.hilo USING hilo_collection_idx; SELECT hilo_next_number('heeded')}), '55000', 'rewritten by this transaction');
once('SET client_min_messages = error; ALTER TABLE hilo.hilo SET UNLOGGED');
is(error_of($node, 'postgres', q{SELECT hilo_next_number('heeded')}), '55000', 'a table that would lose its counters');
once('ALTER TABLE hilo.hilo SET LOGGED');
cmp_ok(once(q{SELECT hilo_next_number('heeded')}), '>', 5001, 'and one that does not any more');

# By hand: a number in the pool that was chosen by hand is no longer drawn, as whoever takes a piece looks at it.
once(q{CREATE TABLE docs (id bigint PRIMARY KEY DEFAULT hilo_next_number('docs')); SELECT hilo.bind('docs', 'docs', 'id')});
once(q{INSERT INTO docs DEFAULT VALUES});
once('INSERT INTO docs VALUES (5)');
is(once(q{INSERT INTO docs DEFAULT VALUES RETURNING id}), 2, 'by hand: only what is taken is looked at');
is(once(q{INSERT INTO docs SELECT FROM generate_series(1, 3) RETURNING id}), "3\n4\n6", 'and the number is passed over');
once('INSERT INTO docs VALUES (7), (32), (9)');
once('INSERT INTO docs VALUES (200)');
is(once(q{INSERT INTO docs SELECT FROM generate_series(1, 300); SELECT count(*) FROM docs}), 310, 'no collision');

# The extension, dropped and created again.
once(q{SELECT hilo_next_number('x')});
once(q{DROP TABLE docs, lines; DROP EXTENSION hilo; CREATE EXTENSION hilo});
is(once(q{SELECT hilo_next_number('x'), hilo_next_number('x')}), '1|2', 'nothing of the old extension is drawn');
is(once(q{SELECT hilo_next_number('x')}), 3, 'but what the new one leaves');

# Databases: dropped, made again, copied, and renamed.
$node->safe_psql('postgres', 'CREATE DATABASE one');
$node->safe_psql('one', 'CREATE EXTENSION hilo');
once(q{SELECT hilo_next_number('x')}, 'one');
is(once(q{SELECT hilo_next_number('x')}), 4, 'the pool of another database is its own');
settle();
$node->safe_psql('postgres', 'CREATE DATABASE two TEMPLATE one');
cmp_ok(once(q{SELECT hilo_next_number('x')}, 'two'), '>', 32, 'a copy has nothing of it');
is(once(q{SELECT hilo_next_number('x')}, 'one'), 2, 'but the original');
$node->safe_psql('postgres', 'DROP DATABASE one');
$node->safe_psql('postgres', 'CREATE DATABASE one TEMPLATE two');
cmp_ok(once(q{SELECT hilo_next_number('x')}, 'one'), '>', 64, 'nothing of a database dropped is drawn in one made anew');
once("DROP DATABASE $_") foreach qw(one two);

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
	my $max = highest_of('end');
	$observer->finish unless $what =~ /connection/;
	$end->();
	$observer = session($node);
	# A crash loses what was logged ahead; the single user has claimed.
	cmp_ok(highest_of('end'), $what =~ /immediate|kill|single/ ? '>=' : '==', $max, "$what: nothing has gone back into the row");
	$max = highest_of('end');
	my $number = once(q{SELECT hilo_next_number('end')});
	$shown{$number}++;
	is($number, $max + 1, "$what: the pool is empty then, and numbers go on above");
	return;
}

end_server("a stop, $_", sub { $node->stop($_); $node->start }) for qw(fast smart immediate);
end_server('kill -9', sub { kill_server($node); $node->start });
end_server('kill -9 of one connection', sub {
	my $other = $node->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'checkpointer'});
	kill 'KILL', $observer->pid;
	$observer->hang_up;
	wait_until('the server starts anew', sub { !kill 0, $other });
	wait_until('the server answers', sub { answers($node) });
});
end_server('a start that fails', sub {
	my $hba = $node->data_dir . '/pg_hba.conf';
	$node->stop;
	append_to_file($hba, "nonsense\n");
	ok(!$node->start(fail_ok => 1), 'the server does not start');
	rewrite($hba, sub { s/^nonsense\n//m });
	$node->start;
});
end_server('single-user mode', sub {
	my ($out, $err);
	$node->stop;
	ok(run_log([ 'postgres', '--single', '-D', $node->data_dir, 'postgres' ], '<', \"SELECT hilo_next_number('end')\n", '>', \$out, '2>', \$err),
		'single-user mode: it draws') or diag($err);
	$shown{$_}++ for $out =~ /hilo_next_number = "(\d+)"/g;
	$node->start;
});

# Another version of the library in the same server.
my $variant = build_variant(PostgreSQL::Test::Utils::tempdir() . '/other', sub {
	rewrite("$_[0]/src/pool.c", sub { s/(#define LAYOUT\t+)(\d+)/$1 . ($2 + 1)/e or die 'no layout' });
});
my ($first, $second) = (enter(), enter(dynamic_library_path => "$variant:\$libdir"));
$first->query(q{SELECT hilo_next_number('versions')});
is($second->query(q{SELECT hilo_next_number('versions')}), 33, 'another version: it draws');
leave($second);
is($first->query(q{SELECT hilo_next_number('versions')}), 2, 'this one goes on');
leave($first);

end_server('a start with the library preloaded', sub {
	$node->append_conf('postgresql.conf', q{shared_preload_libraries = 'hilo'});
	$node->restart;
});
is(join(' ', grep { $shown{$_} > 1 } keys %shown), '', 'no number came twice');
ok(!glob($node->data_dir . '/pg_stat/*hilo*'), 'nothing is kept in files');

#
# Bounded memory
#
# More collections than there is room for: numbers are lost, and none comes twice.
once(q{DROP EXTENSION hilo; CREATE EXTENSION hilo});
my $many = q{SELECT hilo_next_number('many' || i) FROM generate_series(1, 1500) i};
my (%number, $twice);
for (1 .. 3)
{
	my $i = 0;
	for my $number (split /\n/, once($many))
	{
		$twice++ if $number{ $i++ . " $number" }++;
	}
}
is($twice, undef, 'more collections than have room: no number comes twice');
is($observer->query(q{SELECT count(*) < 300 FROM hilo.hilo WHERE collection LIKE 'many%' AND max > 96}), 't', 'nor does it make claims grow');

# An id by hand within the range of a session is not cut out of that: whoever gets what it leaves looks at it.
once(q{CREATE TABLE by_hand (id bigint PRIMARY KEY DEFAULT hilo_next_number('by_hand')); SELECT hilo.bind('by_hand', 'by_hand', 'id')});
my $holder = enter();
$holder->query('INSERT INTO by_hand SELECT FROM generate_series(1, 33)');
once('INSERT INTO by_hand VALUES (36)');
leave($holder);
my $next = enter();
is($next->query('INSERT INTO by_hand SELECT FROM generate_series(1, 3) RETURNING id'), "34\n35\n37", 'the next one passes over a number that was chosen by hand meanwhile');
leave($next);

# Many pieces of one collection: there is a bound, and no number comes twice.
@held = map { enter('hilo.debug_range_size' => 10, 'hilo.max_range_size' => 10) } 1 .. 30;
my %seen;
$seen{$_}++ for map { split /\n/, $_->query(q{SELECT hilo_next_number('pieces') FROM generate_series(1, 11)}) } @held;
leave(@held[ grep { $_ % 2 } 0 .. 29 ]);
leave(@held[ grep { $_ % 2 == 0 } 0 .. 29 ]);
my @drawn = map { my ($low, $high) = split /\.\./; $low .. $high } split / /, drained('pieces');
cmp_ok(scalar(@drawn), '>', 10, 'what there is room for is kept');
is(scalar(grep { $seen{$_}++ } @drawn), 0, 'no number came twice');

# The smallest one goes, or does not come in.
my @sizes = (20, 20, 20, 10, 20, 20, 20, 20, 5, 30);
@held = map { enter('hilo.debug_range_size' => $_, 'hilo.max_range_size' => $_) } @sizes;
take_range($held[$_], 'sizes', $sizes[$_]) for 0 .. $#held;
leave($_) for splice @held, 0, 8;
leave($_) for @held;
is(drained('sizes'), '22..40 62..80 102..120 162..180 202..220 242..260 282..300 342..370', 'a larger one takes the place of the smallest, a smaller one none');

$observer->finish;
$node->stop;
is(left_behind($node), '', 'nothing was left behind');
done_testing();
