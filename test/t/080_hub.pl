# Promise 12, Unique everywhere, or refused: members draw from leases of a hub, each number once, or get an error.
use HiloTest;

my $hub = hub_node('hub');
my $never = hub_node('never');

sub sql { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

# The view's row of a counter; the server itself is ''.
sub lease_row
{
	my ($node, $collection, $columns) = @_;
	return sql($node, "SELECT $columns FROM hilo_hub.leases WHERE coalesce(collection, '') = '$collection'");
}

#
# Join
#
is(outcome_of($hub, q{SELECT hilo_hub.lease('orders', 10, NULL, NULL)}) =~ s/^(55000).*/$1/sr, '55000', 'a server that was not told is no hub');
is(sql($hub, q{SELECT hilo_next_number('orders') FROM generate_series(1, 3)}), "1\n2\n3", 'it counts for itself');
is(sql($hub, 'SELECT hilo_hub.resume()'), '1', 'told so, it is open');
is(sql($hub, q{SELECT hilo_next_number('orders')}), '4', 'which skips nothing the first time');
like(message_of($hub, 'postgres', 'SELECT hilo_hub.resume()'), qr/NOTICE: .*open already/, 'told again, nothing happens');

is(error_of($never, 'postgres', q{SELECT hilo_hub.join('none')}), '42704', 'a server that does not exist');
sql($never, hub_server('nowhere', $never) =~ s/port '\d+'/port '1'/r);
like(outcome_of($never, q{SELECT hilo_hub.join('nowhere')}), qr/^08001/, 'a hub that is not there');
sql($never, hub_server('itself', $never));
like(outcome_of($never, q{SELECT hilo_hub.join('itself')}), qr/^55000.*not a hub/s, 'a server that is no hub');
is(sql($never, q{SELECT hilo_next_number('orders')}), '1', 'all of it in vain: it counts for itself');
is(lease_row($never, '', 'state'), 'counts for itself', 'and the view says so');
sql($never, q{CREATE FOREIGN DATA WRAPPER other; CREATE SERVER strange FOREIGN DATA WRAPPER other});
is(error_of($never, 'postgres', q{SELECT hilo_hub.join('strange')}), '42809', 'a server of another wrapper');
is(error_of($never, 'postgres', q{BEGIN READ ONLY; SELECT hilo_hub.join('itself')}), '25006', 'read only: refused');
is(error_of($hub, 'postgres', q{SELECT hilo_hub.join('itself')}), '55000', 'a hub joins nobody');

my ($first, $second) = map { member_node($_, "hilo_hub.timeout = 60s\n", $hub) } qw(first second);
like(lease_row($first, '', 'state'), qr/^member by server hub$/, 'a member, and the view says so');
is(sql($first, q{SELECT hilo_next_number('orders')}), '5', 'its first number is the next of all');
is(sql($second, q{SELECT hilo_next_number('orders')}), 5 + 1024, 'the other member has the next lease');
is(sql($first, q{SELECT hilo_next_number('orders')}), '6', 'a session leaves the rest to others');
is(lease_row($first, 'orders', 'highest, numbers_left, opening'), '1028|1022|1', 'the view has it');
is(error_of($first, 'postgres', 'SELECT hilo_hub.resume()'), '55000', 'a member is no hub');

#
# Each way to draw
#
sql($_, q{CREATE TABLE bound (id bigint PRIMARY KEY DEFAULT hilo_next_number('bound')); SELECT hilo.bind('bound', 'bound', 'id');
	CREATE TABLE users (id text PRIMARY KEY)}) for $first, $second;
my @ways = (
	q{SELECT hilo_next('orders') FROM generate_series(1, 700)}, q{SELECT hilo_next('orders', 'B') FROM generate_series(1, 5)},
	q{SELECT hilo_document_id('orders', NULL)}, q{SELECT generate_series(low, high) FROM hilo_reserve('orders', 50)},
	q{SELECT generate_series(low, high) FROM hilo.next_range('orders')}, q{SELECT generate_series(hi * 10 - 9, hi * 10) FROM hilo.next_hi('orders', 10) hi});
my @drawn = map { my $node = $_; map { sql($node, $_) =~ s{orders/(\d+)(-\w)?}{$1}gr } @ways } ($first, $second, $hub) x 2;
is(twice(@drawn), '', 'every way to draw: each number once, over two members and the hub');
cmp_ok(scalar(map { split /\n/ } @drawn), '>', 6 * 700, 'many were drawn');

my @identities = map { sql($_, q{SELECT next_identity_for('users') FROM generate_series(1, 40)}) } ($first, $second, $hub) x 3;
is(twice(@identities), '', 'identities, too');
@identities = map { my $node = $_; map { sql($node, q{INSERT INTO users SELECT next_identity_free('users/') RETURNING id}) } 1 .. 3 } $first, $second, $first;
is(twice(@identities), '', 'and free ones');
is(sql($first, q{SELECT next_server_side_id('a/')}), 'a/0000000000000000001-A', 'server-side ids are counted here');

sql($first, 'INSERT INTO bound SELECT generate_series(1, 100)');
is(sql($first, 'INSERT INTO bound DEFAULT VALUES RETURNING id'), '101', 'a lease passes the ids of a bound column');
sql($first, 'INSERT INTO bound VALUES (5000000)');
sql($first, 'INSERT INTO bound SELECT generate_series(102, 3000)');
like(outcome_of($first, 'INSERT INTO bound DEFAULT VALUES'), qr/^55000|fine/, 'ids above the lease');

#
# Leases
#
sql($first, q{SELECT count(hilo_next_number('bulk')) FROM generate_series(1, 300000)});
cmp_ok(lease_row($first, 'bulk', 'highest'), '<', 1_100_000, 'a bulk load gets few, large leases');
my ($errors, @outputs) = at_once(map { [ $_, q{SELECT hilo_next_number('crowd') FROM generate_series(1, 3000)} ] } ($first, $second, $hub) x 3);
is($errors, '', 'nine sessions at once: no error');
is(twice(@outputs), '', 'each number once');
is(sql($first, q{SELECT hilo_next_number('rolled')}), '1', 'a lease');
is(sql($first, q{BEGIN; SELECT hilo_next_number('back'); ROLLBACK; SELECT hilo_next_number('back')}), "1\n2", 'a rollback gives nothing back');
is(error_of($first, 'postgres', q{BEGIN READ ONLY; SELECT hilo_next_number('orders')}), '25006', 'read only: refused');
is(error_of($first, 'postgres', q{SET hilo.auto_create = off; SELECT hilo_next_number('misspelt')}), '42704', 'no new counter where draws may create none');
configure($hub, 'hilo.auto_create' => 'off');
like(outcome_of($first, q{SELECT hilo_next_number('misspelt')}), qr/^55000.*does not exist/s, 'nor on the hub');
configure($hub, 'hilo.auto_create' => 'on');

#
# Limits
#
sql($hub, q{SELECT hilo.configure('short', max_value => 100)});
my $got = 0;
my $outcome;
while (($outcome = outcome_of($first, q{SELECT hilo_next_number('short')})) eq 'fine') { $got++ }
like($outcome, qr/^2200H/, 'the hub has no numbers left: 2200H');
is($got, 100, 'after all were drawn');
sql($first, q{SELECT hilo.configure('lower', max_value => 50)});
is(sql($first, q{SELECT count(hilo_next_number('lower')) FROM generate_series(1, 50)}), '50', 'a member with a lower limit');
is(error_of($first, 'postgres', q{SELECT hilo_next_number('lower')}), '2200H', 'ends there');
sql($hub, q{SELECT hilo.seed('far', 9000000000000000000)});
like(outcome_of($first, q{SELECT hilo_next_number('far')}), qr/^55000.*far above/s, 'a hub that is far above is not believed');

#
# Counted here before
#
is(sql($never, q{SELECT count(hilo_next_number('late')) FROM generate_series(1, 5000)}), '5000', 'a server counts by itself');
my $open = session($never);
is($open->query_safe(q{SELECT hilo_next_number('late') > 5000}), 't', 'a session has a range');
sql($never, hub_server('hub', $hub));
sql($never, q{SELECT hilo_hub.join('hub')});
$outcome = $open->error_of(q{SELECT hilo_next_number('late')});
is($outcome, '55000', 'it joins: the session counts no more, and the hub is below');
like(message_of($never, 'postgres', q{SELECT hilo_next_number('late')}), qr/hilo\.seed\('late', \d+\)/, 'the error names what to call');
my ($call) = message_of($never, 'postgres', q{SELECT hilo_next_number('late')}) =~ /(SELECT hilo\.seed\('late', \d+\))/;
sql($hub, $call);
cmp_ok($open->query_safe(q{SELECT hilo_next_number('late')}), '>', 5001, 'that called, it draws above what it had');
sql($never, q{SELECT hilo_hub.keep_local('mine')});
is($open->query_safe(q{SELECT hilo_next_number('mine')}), '1', 'a counter that is kept local');
is(lease_row($hub, 'mine', 'count(*)'), '0', 'is not known to the hub');

#
# Leave, and come back
#
my $highest = lease_row($never, 'late', 'highest');
is(sql($never, 'SELECT hilo_hub.leave()'), 't', 'a member leaves');
is(sql($never, 'SELECT hilo_hub.leave()'), 'f', 'which it can once');
is($open->query_safe(q{SELECT hilo_next_number('late')}), $highest + 1, 'it counts above its leases');
sql($never, q{SELECT hilo_hub.join('hub')});
is($open->error_of(q{SELECT hilo_next_number('late')}) || 'fine', '55000', 'back again: the hub has not heard of that number');
sql($hub, q{SELECT hilo.seed('late', 1000000)});
cmp_ok($open->query_safe(q{SELECT hilo_next_number('late')}), '>', 1000000, 'until it is told');
$open->finish;
is(sql($never, q{BEGIN; SELECT hilo_hub.leave(); ROLLBACK; SELECT state FROM hilo_hub.leases WHERE collection IS NULL}), "t\ncounts for itself", 'a rollback changes nothing about it');
is(sql($never, 'SELECT hilo_hub.leave()'), 'f', 'it can be called again');

#
# A row that is leased, in other hands
#
$never->command_ok([ 'pg_dump', '-Fp', '-f', "$PostgreSQL::Test::Utils::tmp_check/member.sql", $first->connstr('postgres') ], 'a dump of a member');
new_database($never, 'restored', '');
restore_sql($never, "$PostgreSQL::Test::Utils::tmp_check/member.sql", 'restored');
is($never->safe_psql('restored', q{SELECT hilo_next_number('orders') > 5}), 't', 'restored, it is a member, with leases of its own');
is(twice(map { sql($_->[0], q{SELECT 1}); $_->[0]->safe_psql($_->[1], q{SELECT hilo_next_number('orders') FROM generate_series(1, 2000)}) }
		[ $never, 'restored' ], [ $first, 'postgres' ], [ $never, 'restored' ], [ $second, 'postgres' ]), '', 'and each number comes once');
$never->safe_psql('restored', 'DROP EXTENSION hilo_hub');
is(($never->psql('restored', q{SELECT hilo_next_number('orders')}))[0] ? 'refused' : '', 'refused', 'without the extension it draws nothing');
like(message_of($never, 'restored', q{SELECT hilo_next_number('orders')}), qr/55000.*CREATE EXTENSION hilo_hub/s, 'and says what is missing');
like(message_of($never, 'restored', q{SELECT hilo_next_number('unheard')}), qr/55000/, 'nor from a new collection');

#
# Rights
#
sql($hub, q{CREATE ROLE leaser LOGIN; GRANT EXECUTE ON FUNCTION hilo_hub.lease TO leaser});
foreach my $call (q{SELECT hilo_hub.resume()}, q{SELECT hilo_hub.join('hub')}, q{SELECT hilo_hub.leave()}, q{SELECT hilo_hub.keep_local('orders')},
	q{SELECT * FROM hilo_hub.leases}, q{SELECT hilo.seed('orders', 1)}, q{SELECT hilo.drop('orders')}, q{INSERT INTO hilo.hilo (collection) VALUES ('x')})
{
	is(error_of($hub, 'postgres', "SET ROLE leaser; $call"), '42501', "the lease role may not: $call");
}
is(error_of($hub, 'postgres', q{SET ROLE leaser; SELECT hilo_hub.lease('orders', 5, NULL, NULL)}), '', 'it may lease');
is(error_of($hub, 'postgres', q{SELECT hilo_hub.lease('|', 5, NULL, NULL)}), '22023', 'but not server-side ids');
is(error_of($hub, 'postgres', qq{SELECT hilo_hub.lease('orders', $_, NULL, NULL)}), '22023', "nor $_ numbers") for 0, -1, 'NULL';
sql($first, q{CREATE ROLE nobody LOGIN; GRANT USAGE ON FOREIGN SERVER hub TO nobody});
is(error_of($first, 'postgres', q{SET ROLE nobody; SELECT hilo_next_number('orders')}), '', 'any role draws, by the mapping of the owner');
is(error_of($first, 'postgres', qq{SET ROLE nobody; SELECT hilo_next_number('orders'); SET $_ = 1}), '42501', "and may not set $_") for qw(hilo_hub.lease_size hilo_hub.timeout);

# The owner is no superuser.
sql($hub, q{ALTER ROLE leaser PASSWORD 'secret'});
my $hba = $hub->data_dir . '/pg_hba.conf';
rewrite($hba, sub { s/^/local all leaser scram-sha-256\n/ });
$hub->reload;
sql($never, q{CREATE ROLE owner; GRANT USAGE ON FOREIGN DATA WRAPPER postgres_fdw TO owner; GRANT EXECUTE ON FUNCTION hilo_hub.join TO owner});
sql($never, "SET ROLE owner; " . hub_server('theirs', $hub) . q{ OPTIONS (user 'leaser')});
is(error_of($never, 'postgres', q{SET ROLE owner; SELECT hilo_hub.join('theirs')}), '2F003', 'an owner who is no superuser needs a password');
sql($never, q{SET ROLE owner; ALTER USER MAPPING FOR owner SERVER theirs OPTIONS (ADD password 'wrong')});
is(error_of($never, 'postgres', q{SET ROLE owner; SELECT hilo_hub.join('theirs')}), '08001', 'the right one');
unlike(message_of($never, 'postgres', q{SET ROLE owner; SELECT hilo_hub.join('theirs')}), qr/wrong/, 'which no message tells');
sql($never, q{SET ROLE owner; ALTER USER MAPPING FOR owner SERVER theirs OPTIONS (SET password 'secret')});
sql($never, q{CREATE ROLE other; GRANT EXECUTE ON FUNCTION hilo_hub.join TO other; GRANT USAGE ON FOREIGN SERVER theirs TO other});
is(error_of($never, 'postgres', q{SET ROLE other; SELECT hilo_hub.join('theirs')}), '42501', 'another role may not join by the server of this one');
sql($never, q{CREATE ROLE writer; CREATE DATABASE written OWNER writer});
$never->safe_psql('written', q{CREATE EXTENSION hilo_hub CASCADE; SET ROLE writer; INSERT INTO hilo.hilo (collection, flags, node_tag) VALUES ('|', 4, 'theirs')});
is($never->safe_psql('written', q{SELECT node_tag || flags FROM hilo.hilo}), '4', 'nor by a row that it writes');
is(error_of($never, 'written', qq{INSERT INTO hilo.hilo (collection, $_) VALUES ('|', -1)}), '22023', "a row with a wrong $_") for qw(hub opening floor);
is(error_of($never, 'written', q{SELECT hilo_next_number('orders')}), '55000', 'such a member draws nothing');
new_database($never, 'early', q{CREATE SCHEMA hilo_hub});
is(error_of($never, 'early', q{CREATE EXTENSION hilo_hub CASCADE}), '42P06', 'a schema that is there could hold functions that answer members');
new_database($never, 'defaults', q{CREATE ROLE lucky; ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO lucky; ALTER DEFAULT PRIVILEGES GRANT ALL ON SCHEMAS TO lucky; CREATE EXTENSION hilo_hub CASCADE});
is(error_of($never, 'defaults', "SET ROLE lucky; SELECT hilo_hub.$_"), '42501', "default privileges give no right to $_") for 'resume()', 'leave()', "lease('a', 1, 1, 1)";
is(error_of($never, 'defaults', 'SET ROLE lucky; CREATE FUNCTION hilo_hub.resume(int) RETURNS int LANGUAGE sql RETURN 1'), '42501', 'nor to put functions beside them');
is(error_of($never, 'postgres', q{SET ROLE owner; SELECT hilo_hub.join('theirs')}), '', 'with the password it joins');
is(error_of($never, 'postgres', q{SELECT hilo_next_number('orders')}), '', 'and the server draws');
rewrite($hba, sub { s/^/local all leaser trust\n/ });
$hub->reload;
wait_until('the hub trusts the role', sub { $never->psql('postgres', q{SELECT hilo_next_number('x' || clock_timestamp())}); 1 });
is(error_of($never, 'postgres', q{SET ROLE owner; SELECT hilo_hub.join('theirs')}), '2F003', 'a hub that does not ask for it is refused');

#
# A hub that leaves, and skips
#
my $small = hub_node('small');
is(sql($small, q{SELECT hilo_hub.resume(); SELECT hilo_hub.resume(1000); SELECT hilo_next_number('new')}), "1\n2\n1001", 'new counters begin above what was skipped');
is(error_of($small, 'postgres', q{SELECT hilo_hub.keep_local('new')}), '55000', 'a hub keeps nothing local');
sql($small, q{SELECT hilo.configure('limited', max_value => 100000)});
sql($small, q{SELECT hilo_next_number('limited')});
is(sql($small, q{SELECT hilo_hub.resume(50000); SELECT hilo_next_number('limited')}), "3\n51002", 'a skip that is given is not cut');
is(sql($small, q{SELECT hilo_hub.leave(); SELECT hilo_next_number('new')}), "t\n51002", 'a hub leaves: it counts for itself');
is(sql($small, 'SELECT hilo_hub.resume(10)'), '4', 'and goes on as the hub it was');
cmp_ok(sql($small, q{SELECT hilo_next_number('newer')}), '>', 51000, 'above all that it may have leased');
is(error_of($small, 'postgres', 'SELECT hilo_hub.resume(-1)'), '22023', 'nothing is skipped downwards');
my ($high, $claim) = split /\|/, sql($small, q{SELECT high, claim FROM hilo.next_range('returned')});
is(sql($small, "SELECT hilo.return_range('returned', " . ($high - 3) . ", $high, $claim)"), 'f', 'what a hub has counted does not go back');
$small->stop;

# A session that waits for another one's attempt waits no longer than the timeout in all.
my $locker = session($hub);
$locker->query_safe('BEGIN; LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE');
configure($first, 'hilo_hub.timeout' => '10s');
my @queue = map { session($first) } 1, 2;
$queue[0]->start(q{SELECT hilo_next_number('queue')});
wait_until('the hub waits for the lock', sub { sql($hub, q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted}) eq 't' });
$queue[1]->start(q{SELECT hilo_next_number('queue')});
wait_until('another session waits for the first', sub { sql($first, q{SELECT count(*) FROM pg_locks WHERE locktype = 'spectoken' AND NOT granted}) });
like(($_->result)[1], qr/no leased numbers/, 'both fail') for @queue;
my ($all, $rest) = slurp_file($hub->logfile) =~ /LOG:  statement: SET LOCAL statement_timeout = (\d+);[^;]*'queue'/g;
is($all, 10000, 'the first had the whole timeout');
cmp_ok($rest // 0, '<', 10000, 'the other one had only what was left of it');
$locker->query_safe('ROLLBACK');
$_->finish for $locker, @queue;
configure($first, 'hilo_hub.timeout' => '1min');

# More leased collections than the pool has room for: leases are small.
sql($first, q{SELECT hilo_next_number('pool' || n) FROM generate_series(1, 1100) n});
is(sql($hub, q{SELECT count(*) FILTER (WHERE highest >= 1024) <= 1024 AND count(*) FILTER (WHERE highest = 1) >= 76
	FROM hilo_hub.leases WHERE collection LIKE 'pool%'}), 't', 'without room in the pool, a lease has one number');
is(twice(map { sql($_, q{SELECT n || ' ' || hilo_next_number('pool' || n) FROM generate_series(1, 1100) n}) } $first, $second, $first), '',
	'and numbers are drawn once');

#
# The hub is away
#
my $left = lease_row($first, 'orders', 'numbers_left');
$hub->stop;
is(sql($first, "SELECT count(hilo_next_number('orders')) FROM generate_series(1, $left)"), $left, 'the hub is away: a member draws what it has');
like(outcome_of($first, q{SELECT hilo_next_number('orders')}), qr/^55000.*could not connect/s, 'and then says why it cannot');
like(lease_row($first, 'orders', 'last_error'), qr/could not connect/, 'so does the view');
($errors) = at_once(map { [ $first, q{SELECT hilo_next_number('orders')} ] } 1 .. 6);
is(() = $errors =~ /could not connect/g, 6, 'six sessions are told');
$hub->start;
is(sql($first, q{SELECT count(hilo_next_number('orders'))}), '1', 'when it is back, so are numbers');
is(lease_row($first, 'orders', 'last_error IS NULL'), 't', 'and the view has no error');

# It hangs.
$locker = session($hub);
$locker->query_safe('BEGIN; LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE');
configure($first, 'hilo_hub.timeout' => '300ms');
like(outcome_of($first, q{SELECT hilo_next_number('hangs')}), qr/^55000.*(within 300 ms|statement timeout)/s, 'a hub that hangs: an error after the timeout');
configure($first, 'hilo_hub.timeout' => '1h');
my $waits = session($first);
$waits->start(q{SELECT hilo_next_number('hangs')});
wait_until('the hub waits for the lock', sub { sql($hub, q{SELECT count(*) > 0 FROM pg_locks WHERE NOT granted}) eq 't' });
like(($waits->cancel($first))[1], qr/canceling statement/, 'a session that waits can be canceled');
$locker->query_safe('ROLLBACK');
cmp_ok($waits->query_safe(q{SELECT hilo_next_number('hangs')}), '>', 0, 'and draws when the hub answers again');
$_->finish for $waits, $locker;

# kill -9 of a member.
my $shown = sql($first, q{SELECT hilo_next_number('orders')});
kill_server($first);
$first->start;
cmp_ok(sql($first, q{SELECT hilo_next_number('orders')}), '>', $shown, 'kill -9 of a member: no number comes again');

# kill -9 just after joining.  Another session has flushed WAL while the call changed the counters, which are
# caught half way by a lock; nothing else writes WAL but the call.
my $late = hub_node('late', "wal_writer_delay = 10s\n");
sql($late, hub_server('hub', $hub));
sql($late, q{SELECT next_server_side_id('a/'); INSERT INTO hilo.hilo (collection) SELECT 'many' || i FROM generate_series(1, 3000) i});
my ($joins, $halfway) = map { session($late) } 1, 2;
my $leased = 'SELECT count(*) FROM hilo.hilo WHERE flags & 4 = 4';
my $caught = 0;
while ($caught == 0)
{
	sql($late, 'SELECT hilo_hub.leave()');
	$joins->start(q{SELECT hilo_hub.join('hub')});
	wait_until('the join begins', sub { $halfway->query_safe($leased) > 0 });
	$halfway->query_safe('BEGIN; LOCK TABLE hilo.hilo IN ACCESS EXCLUSIVE MODE');
	$caught = $halfway->query_safe($leased) < 3001;
	if ($caught)
	{
		kill 'STOP', sql($late, q{SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'}) or die;
		sql($late, 'CREATE TABLE flushes ()');
	}
	$halfway->query_safe('ROLLBACK');
	die 'a join failed' if ($joins->result)[1] ne '';
}
kill_server($late);
$_->finish for $joins, $halfway;
$late->start;
is(sql($late, $leased), 3001, 'kill -9 after a join: all counters are leased');

is(left_behind($_), '', 'nothing in the log of ' . $_->name) for $hub, $first, $second, $never;
$_->stop for $hub, $first, $second, $never;

done_testing();
