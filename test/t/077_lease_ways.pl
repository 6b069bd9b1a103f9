# Promises 1, 4 and 5 on a member: every way to draw from a leased collection, what goes back, what a role may not burn, and
# how large the pool may grow.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use List::Util qw(max);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $libdir = build_failure_points(\&add_pause);
my $node = new_member('server', <<SETTINGS);
dynamic_library_path = '$libdir:\$libdir'
hilo.pool_size = 8
hilo.lease_size = 1000
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.range_size = 1
hilo.max_range_size = 1
SETTINGS
my $hub = database($node, 'hub');
my $member = database($node, 'member');
add_hub($node, $node, db => 'member', dbname => 'hub', server => 'hub');

sub lease { $member->sql("SELECT hilo.lease_from('$_[0]', 'hub', " . ($_[1] // 1000) . ')'); return; }

sub hub_max { return $hub->sql("SELECT coalesce(max(max), 0) FROM hilo.hilo WHERE collection = '$_[0]'"); }

sub left { return $member->sql("SELECT numbers_left FROM hilo.leases WHERE collection = '$_[0]'"); }

#
# To draw, and to give back
#
is($member->sql(q{SELECT pg_typeof(hilo.lease_from('ways', 'hub', 1000))}), 'void', 'hilo.lease_from() returns nothing');
is(hub_max('ways'), 0, 'and draws nothing');
is($member->sql(q{SELECT collection, hub, numbers_left, highest, leased_at IS NULL, last_error IS NULL FROM hilo.leases}), 'ways|hub|0|0|t|t', 'as the view shows');
my $s = session($member, 'hilo.max_range_size' => 1000);
is($s->query(q{SELECT hilo_next('ways')}), 'ways/1-A', 'hilo_next()');
is(hub_max('ways'), 1000, 'takes a lease');
is($member->sql(q{SELECT collection, hub, numbers_left, highest, leased_at IS NOT NULL, last_error IS NULL FROM hilo.leases}), 'ways|hub|999|1000|t|t', 'as the view shows');
is($member->sql(q{SELECT * FROM hilo.pool}), 'ways|2|1000|999|t', 'and that of the pool');
is($s->query(q{SELECT * FROM hilo_reserve('ways', 10)}), '2|11', 'hilo_reserve()');
is($s->query(q{SELECT hilo.next_hi('ways', 100)}), 2, 'hilo.next_hi()');
my ($low, $high, $claim) = split /\|/, $s->query(q{SELECT low, high, claim FROM hilo.next_range('ways', 50)});
is("$low $high", '12 61', 'hilo.next_range() takes what lies lowest');
is($s->query("SELECT hilo.return_range('ways', $low, $high, $claim)"), 'f', 'hilo.return_range(): the range of a client does not go back');
is($s->query("SELECT hilo.return_range('ways', $low, $high)"), 'f', 'in no way');
is($s->query(q{SELECT hilo_next_number('ways')}), 62, 'it is not drawn again');
is($s->query(q{SELECT hilo_next_number('ways')}), 63, 'a range of a session');
like($s->query(q{SELECT hilo.release('ways')}), qr/^[01]$/, 'hilo.release()');
is($s->query(q{SELECT hilo_next_number('ways')}), 64, 'what was released is drawn again');
is($s->query(q{SELECT hilo_last_number('ways')}), 64, 'hilo_last_number()');
my %seen;
my @all = split /\n/, $s->query(q{SELECT hilo_next_number('ways') FROM generate_series(1, 2000)});
is(join(' ', grep { $seen{$_}++ || $_ <= 64 || ($_ > 100 && $_ <= 200) } @all), '', 'all others, once');
is(scalar(grep { $_ <= 1000 } @all), 1000 - 100 - 64, 'as many as there are');
is($member->sql(q{SELECT seconds_left >= 0 AND seconds_left < 3600 FROM hilo.leases WHERE collection = 'ways'}), 't', 'as they are taken, the rest lasts so long');

# What needs more than is left in one piece leaves the rest to others.
lease('pieces', 100);
is($s->query(q{SELECT low, high FROM hilo_reserve('pieces', 60)}), '1|60', 'a reserve');
my ($rlow, $rhigh) = split /\|/, $s->query(q{SELECT low, high FROM hilo_reserve('pieces', 60)});
is($rhigh - $rlow, 59, 'another one, for which a lease is asked');
cmp_ok($rlow, '>', 60, 'of other numbers');
($rlow, $rhigh) = split /\|/, $s->query(q{SELECT low, high FROM hilo_reserve('pieces', 500)});
is($rhigh - $rlow, 499, 'one larger than a lease');

# A hub that is named anew is asked at once, however it failed before.
$member->sql(q{ALTER SERVER hub OPTIONS (SET port '1')});
is($member->error(q{SET hilo.max_range_size = 10000; SELECT hilo_reserve('pieces', 5000)}), '08001', 'a hub that does not answer');
$member->sql(q{ALTER SERVER hub OPTIONS (SET port '} . $node->port . q{')});
lease('pieces', 100);
is($member->sql(q{SET test.lease_retry = '3600000'; SET hilo.max_range_size = 10000; SELECT high - low FROM hilo_reserve('pieces', 5000)}), 4999, 'once named anew, is asked at once');
my $hi = $s->query(q{SELECT hilo.next_hi('pieces', 250)});
cmp_ok(hub_max('pieces'), '>=', $hi * 250, 'a hi that needs a lease of its own');
is($member->sql(q{SELECT count(*) FROM generate_series(1, 40), hilo_next_number('pieces')}), 40, 'the rest is drawn');

# The end of a lease goes back as well, and outlives nothing.
lease('back', 100);
my $one = session($member);
$one->query(q{SET hilo.range_size = 30; SET hilo.max_range_size = 30; SELECT hilo_next_number('back') FROM generate_series(1, 33)});
is(left('back'), 38, 'a session has drawn 32 numbers, and has a range of 30');
my $pid = $one->pid;
$one->finish;
wait_until('it has left', sub { !kill 0, $pid });
is(left('back'), 67, 'and leaves 29');
is($member->sql(q{SELECT hilo_next_number('back')}), 34, 'for the next one');

# A session goes on above what it has drawn, but rather below than it asks the hub.
lease('below', 100);
$one = session($member, 'hilo.range_size' => 30, 'hilo.max_range_size' => 30);
is($one->query(q{SELECT max(hilo_next_number('below')) FROM generate_series(1, 33)}), 33, 'one session has the lower numbers');
my $two = session($member, 'hilo.range_size' => 70, 'hilo.max_range_size' => 70);
is($two->query(q{SELECT hilo_next_number('below')}), 63, 'another one takes the others');
$pid = $one->pid;
$one->finish;
wait_until('the first one has left', sub { !kill 0, $pid });
is($two->query(q{SELECT max(hilo_next_number('below')) FROM generate_series(1, 37)}), 100, 'the second one draws those above');
is($two->query(q{SELECT hilo_next_number('below')}) . ' ' . hub_max('below'), '34 100', 'and then those that the first one has left');
$pid = $two->pid;
$two->finish;
wait_until('the second one has left', sub { !kill 0, $pid });
is(left('below'), 28, 'which leaves the rest');
$member->sql(q{SELECT hilo.lease_from('below', NULL); SELECT hilo_next_number('below') FROM generate_series(1, 28); SELECT hilo.drop('below')});

# Identities have no buffer, unless they are told to: then one request is enough for as many.
$member->sql(q{SELECT hilo.lease_from('buffered|', 'hub')});
is($member->sql(q{SELECT next_identity_for('buffered') FROM generate_series(1, 2)}), "1\n2", 'an identity is leased one by one');
is(hub_max('buffered|'), 2, 'and has no buffer');
$member->sql(q{SELECT hilo.lease_from('buffered|', 'hub', 50)});
is($member->sql(q{SELECT next_identity_for('buffered')}), 3, 'with a lease size');
is(hub_max('buffered|') . ' ' . left('buffered|'), '52 49', 'it has one');
is($member->sql(q{SELECT count(DISTINCT next_identity_for('buffered')) FROM generate_series(1, 49)}), 49, 'all of which are drawn');
is(hub_max('buffered|'), 52, 'without the hub');

#
# What a role may not do that may only draw
#
$member->sql(q{CREATE ROLE drawer; CREATE TABLE docs (id bigint PRIMARY KEY); GRANT INSERT ON docs TO drawer; SELECT hilo.attach('docs', collection => 'docs')});
lease('docs', 1000);
$member->sql(q{SET ROLE drawer; INSERT INTO docs DEFAULT VALUES});
is($member->sql('SELECT id FROM docs'), 1, 'it draws');
my $highest = $member->sql(q{SELECT highest FROM hilo.leases WHERE collection = 'docs'});
my $max = hub_max('docs');
is($member->error("SET ROLE drawer; SELECT low FROM hilo.next_range('docs', 0, NULL, $highest)"), '42501', 'burning leases, time ' . $_) for 1 .. 8;
is(hub_max('docs'), $max, 'the hub is not asked');
is(left('docs'), 999, 'and nothing is lost');
is($member->error("SET ROLE drawer; SELECT low FROM hilo.next_range('docs', 0, NULL, $highest + 1)"), '42501', 'nor above what is leased');
like($member->sql(q{SET ROLE drawer; SELECT low FROM hilo.next_range('docs', 0, NULL, 1)}), qr/^\d+$/, 'it gets ranges like others');
like($member->sql("SELECT low > $highest FROM hilo.next_range('docs', 0, NULL, $highest)"), qr/^t$/, 'a role that may seed passes over them');

#
# How large the pool may grow: eight collections
#
$member->sql(q{SELECT hilo.lease_from('room' || i, 'hub', 100), hilo_next_number('room' || i) FROM generate_series(1, 5) i});
is($member->sql(q{SELECT count(DISTINCT collection) FROM hilo.pool WHERE leased}), 8, 'eight leased collections have room');
my $logged = -s $node->logfile;
is($member->error(q{SELECT hilo.lease_from('ninth', 'hub', 100); SELECT hilo_next_number('ninth')}), '', 'a ninth one gets the room of another');
like(slurp_file($node->logfile, $logged), qr/LOG:  leases of "[^"]+" were lost, because the pool had no other room for "ninth"/, 'which the log says');
cmp_ok($member->sql(q{SELECT count(DISTINCT collection) FROM hilo.pool WHERE leased}), '<=', 8, 'there is no more');
is($member->sql(q{SELECT bool_and(hilo_next_number('room' || i) > 1) FROM generate_series(1, 4) i}), 't', 'and whoever loses a lease draws no number again');
# Numbers that are counted here are drawn all the same, and push no lease out.
my $before = $member->sql(q{SELECT sum(size) FROM hilo.pool WHERE leased});
is($member->sql(q{SELECT count(hilo_next_number('counted' || i)) FROM generate_series(1, 20) i}), 20, 'others are counted');
is($member->sql(q{SELECT sum(size) FROM hilo.pool WHERE leased}), $before, 'and leases stay');
is($member->sql(q{SELECT count(*) FROM hilo.pool WHERE NOT leased}), 0, 'counted numbers have no room');
# What a session leaves has a place once there is room; ids by hand among it are passed over.
$member->sql(q{CREATE TABLE by_hand (id bigint PRIMARY KEY); SELECT hilo.attach('by_hand', collection => 'by_hand')});
my $holder = session($member, 'hilo.range_size' => 20, 'hilo.max_range_size' => 20);
is($holder->query('INSERT INTO by_hand DEFAULT VALUES RETURNING id'), 1, 'a session has numbers');
$member->sql('INSERT INTO by_hand VALUES (5)');
$member->sql(q{SELECT hilo.lease_from('room2', NULL); SELECT hilo_next_number('room2') FROM generate_series(1, (SELECT numbers_left FROM hilo.leases WHERE collection = 'room2')); SELECT hilo.drop('room2')});
$pid = $holder->pid;
$holder->finish;
wait_until('it has left', sub { !kill 0, $pid });
is($member->error('INSERT INTO by_hand SELECT FROM generate_series(1, 40)'), '', 'no collision');

# A session of another database makes room for itself, and is cancelled while that is logged: it loses nothing by that,
# and says so once.
$member->sql(q{SELECT hilo.lease_from('fill' || i, 'hub', 100), hilo_next_number('fill' || i) FROM generate_series(1, 9) i});
my $other = session($hub, 'hilo.range_size' => 10, 'hilo.max_range_size' => 10);
$other->query(q{SELECT hilo_number('x/1'); SET test.failure_point = 'evicted:pause'});
$logged = -s $node->logfile;
$other->start(q{SELECT hilo_next_number('evicts')});
paused($node);
$node->safe_psql('postgres', 'SELECT pg_cancel_backend(' . $other->pid . ')');
go_on($node);
$other->result;
is($hub->sql(q{SELECT size FROM hilo.pool WHERE collection = 'evicts'}), 9, 'a cancel while a lost lease is logged: its rest is in the pool');
$other->query(q{SELECT hilo_next_number('evicts') FROM generate_series(1, 30)});
is(scalar(() = slurp_file($node->logfile, $logged) =~ /LOG:  leases of/g), 1, 'and one line in the log');
$other->finish;

# Leases on servers that preload nothing.
$s->finish;
$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
is($member->error(q{SELECT hilo.lease_from('no library', 'hub'); SELECT hilo_next_number('no library')}), '', 'without the library in shared_preload_libraries: leases');
like($member->sql(q{SELECT hilo_next_number('ways')}), qr/^\d+$/, 'also of a collection that was leased before');
is($hub->sql(q{SELECT high - low FROM hilo.lease('a hub does not need it, either', 10)}), 9, 'a hub does not need it, either');

$node->stop;
is(left_behind($node), '', 'nothing was left behind');
done_testing();
