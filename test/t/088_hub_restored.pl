# Promises 1 and 9 on a hub that was restored as it is, promoted without the newest WAL, or has lost a member, too: it gives and draws nothing that may be in use, and skips far enough when it is resumed.
use strict;
use warnings;

use File::Copy ();
use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::RecursiveCopy;
use PostgreSQL::Test::Utils;
use Test::More;

my $hub = new_node('hub', '', allows_streaming => 1);
my @nodes = ($hub);

sub sql { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

sub term { my ($node) = @_; return sql($node, q{SELECT concat_ws(',', lineage, term, term_id) FROM hilo.hub WHERE hub = '|'}); }

# A member's request for ten numbers, above what it has, in the term of the hub: the first number, or the refusal.
sub lease
{
	my ($node, $member, $at_least, $term) = @_;
	$term //= term($node) || '0, 0, 0';
	return sql($node, "SELECT coalesce(low::text, refusal) FROM hilo.lease('orders', 10, $at_least, $term, '$member')");
}

sub report
{
	my ($node, $member, $highest) = @_;
	return sql($node, "SELECT refusal IS NULL FROM hilo.report('$member', " . term($node) . ", '{orders}', '{$highest}')");
}

sub start_copy
{
	my ($name, $backup, %how) = @_;
	my $copy = PostgreSQL::Test::Cluster->new($name);

	$copy->init_from_backup($how{of} // $hub, $backup, has_streaming => $how{standby} // 0);
	$copy->start;
	push @nodes, $copy;
	return $copy;
}

my $restored = qr/waits for a resume, because it may lack leases that it has given/;
my @own = (q{SELECT hilo_next_number('orders')}, q{SELECT next_identity_for('companies')}, q{SELECT next_server_side_id('docs/')});

is(lease($hub, 'm1', 0), 1, 'a lease');
is(lease($hub, 'm2', 0), 11, 'one for another member');
sql($hub, $_) for @own;

#
# The raw rows of a dump, in a server that was made in the same way: OIDs and timeline are the same
#
my $same = new_node('same', '', allows_streaming => 1);
push @nodes, $same;
my $dump = PostgreSQL::Test::Utils::tempdir . '/raw.sql';
$hub->command_ok([ 'pg_dump', '--data-only', '--disable-triggers', '-f', $dump, 'postgres' ], 'a hub is dumped');
is(lease($hub, 'm2', 20), sql($hub, q{SELECT max - 9 FROM hilo.hilo WHERE collection = 'orders'}), 'and gives a lease');
restore_sql($same, $dump, 'postgres');
is(sql($same, q{SELECT c.home, is_open FROM hilo.hilo c, hilo.hub WHERE collection = 'orders'}), sql($hub, q{SELECT c.home, is_open FROM hilo.hilo c, hilo.hub WHERE collection = 'orders'}),
	'restored without triggers, the rows are the same');
like(lease($same, 'm2', 20), $restored, 'but this is another hub, which gives no lease');
is(error_of($same, 'postgres', $own[0]), '55000', 'and does not draw');
$same->stop;

#
# A base backup, started as it is: on the same timeline, in the same term
#
$hub->backup('base');
my $last = 10 + lease($hub, 'm1', 10) - 1;
$hub->stop;
my $copy = start_copy('copy', 'base');
is(sql($copy, q{SELECT timeline_id FROM pg_control_checkpoint()}), 1, 'a backup that is started as it is stays on the timeline');
for my $draw (@own)
{
	is(error_of($copy, 'postgres', $draw), '55000', "it does not draw: $draw");
}
like(lease($copy, 'm2', 20), $restored, 'and gives no lease');
is(sql($copy, 'SELECT is_open, missing FROM hilo.hub_resume()'), 'f|{m1,m2}', 'it waits for what its members hold');
report($copy, 'm2', 20);
report($copy, 'm1', $last);
is(sql($copy, 'SELECT is_open, missing FROM hilo.hub_resume(skip => 0)'), 't|{}', 'and goes on');
cmp_ok(lease($copy, 'm1', $last), '>', $last, 'above that');
is(error_of($copy, 'postgres', $_), '', "it draws: $_") for @own;
$copy->restart;
is(error_of($copy, 'postgres', $_), '', "also after a restart: $_") for @own;
like(lease($copy, 'm1', $last), qr/^\d+$/, 'it gives leases after a restart');

# A term that begins while a backup is taken is older than its end, and what follows is missing there, too.
my $session = session($copy);
$session->query(q{SELECT pg_backup_start('by hand', true)});
is(sql($copy, 'SELECT is_open FROM hilo.hub_resume(again => true)'), 'f', 'a new term');
report($copy, $_, $last) for 'm1', 'm2';
is(sql($copy, 'SELECT is_open FROM hilo.hub_resume()'), 't', 'begins during a backup');
sql($copy, 'CHECKPOINT');
my $path = $copy->backup_dir . '/by_hand';
mkdir $copy->backup_dir;
PostgreSQL::Test::RecursiveCopy::copypath($copy->data_dir, $path,
	filterfn => sub { $_[0] !~ m,^(?:postmaster\.(?:pid|opts)|log|backup_label.*)$, });
my $label = $session->query('SELECT labelfile FROM pg_backup_stop(false)');
append_to_file("$path/backup_label", "$label\n");
$session->finish;
sql($copy, 'SELECT pg_switch_wal()');
# What the backup needs of the WAL.
foreach my $segment (map { m,([0-9A-F]{24})$, } glob $copy->data_dir . '/pg_wal/*')
{
	File::Copy::copy($copy->data_dir . "/pg_wal/$segment", "$path/pg_wal/$segment") or die $!;
}
is(lease($copy, 'm1', $last) =~ /^\d+$/ ? 1 : 0, 1, 'a lease');
$copy->stop;
my $second = start_copy('second', 'by_hand', of => $copy);
like(lease($second, 'm1', $last), $restored, 'a term that was begun during the backup does not count in it');
is(error_of($second, 'postgres', $own[0]), '55000', 'nor may it draw');
$second->stop;

#
# A standby without the newest WAL is promoted: the hub's own draws
#
$copy->start;
$copy->backup('standby');
my $standby = start_copy('standby', 'standby', of => $copy, standby => 1);
$copy->wait_for_catchup($standby, 'replay', $copy->lsn('insert'));
$standby->stop;
my %before = map { $_ => [ map { /(\d+)(?:-A)?$/ } split /\n/, sql($copy, "$_ FROM generate_series(1, 300)") ] } @own;
$copy->stop('immediate');
$standby->start;
$standby->promote;
is(error_of($standby, 'postgres', $_), '55000', "promoted, it does not draw: $_") for @own;
like(message_of($standby, 'postgres', $own[2]), qr/cannot draw server-side ids until this hub is resumed/, 'in words');
like(lease($standby, 'm1', 50_000), $restored, 'nor does it give leases');

# One of its members is gone: what it had said stays in use.
like(message_of($standby, 'postgres', q{SELECT hilo.hub_forget('m1')}), qr/55000: member "m1" has asked this hub within the last two minutes.*HINT: .*force => true/s, 'a member that has just asked is not forgotten');
is(sql($standby, q{SELECT hilo.hub_forget('m1', force => true)}), 1, 'unless by force');
report($standby, 'm2', 20);
cmp_ok(sql($standby, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}), '>=', 50_000, 'the counter is above what a member had that was forgotten');

# By default numbers are skipped.
my $base = sql($standby, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'});
like(message_of($standby, 'postgres', 'SELECT hilo.hub_resume()'), qr/NOTICE: .*skip up to 1048576 numbers.*HINT: .*skip => 0/s, 'resumed, it says what it skips');
is(sql($standby, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}) - $base, 1048576, 'a million numbers of a collection');
cmp_ok(sql($standby, q{SELECT max FROM hilo.hilo WHERE collection = '|'}), '>=', 1048576, 'of server-side ids');
is(sql($standby, q{SELECT max FROM hilo.hilo WHERE collection = 'companies|'}) > 1000 ? 't' : 'f', 't', 'a thousand of an identity');
for my $draw (@own)
{
	my %is_old = map { $_ => 1 } $before{$draw}->@*;
	is((grep { $is_old{$_} } map { /(\d+)(?:-A)?$/ } split /\n/, sql($standby, "$draw FROM generate_series(1, 300)")), 0, "no number comes twice: $draw");
}

#
# An open hub
#
my $max = sql($standby, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'});
is(sql($standby, 'SELECT is_open FROM hilo.hub_resume()'), 't', 'an open hub is open');
like(message_of($standby, 'postgres', 'SELECT hilo.hub_resume(1000000)'), qr/55000: this hub gives leases, so no numbers are skipped.*HINT: .*again => true/s, 'and skips nothing without being told again');
is(sql($standby, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}), $max, 'nor has it moved');
is(sql($standby, 'SELECT is_open, missing FROM hilo.hub_resume(1000000, again => true)'), 'f|{m2}', 'told again, it collects reports');
report($standby, 'm2', 20);
is(sql($standby, 'SELECT is_open FROM hilo.hub_resume(1000000, again => true)'), 't', 'and goes on once they are there');
is(sql($standby, q{SELECT max FROM hilo.hilo WHERE collection = 'orders'}) - $max, 1000000, 'so many numbers above');

# A counter of a small type loses little.
sql($standby, q{SELECT hilo.configure('little', max_value => 32767); SELECT hilo.seed('little', 1024)});
$max = sql($standby, q{SELECT max FROM hilo.hilo WHERE collection = 'little'});
sql($standby, 'SELECT hilo.hub_resume(again => true)');
report($standby, 'm2', 20);
sql($standby, 'SELECT hilo.hub_resume()');
is(sql($standby, q{SELECT max FROM hilo.hilo WHERE collection = 'little'}) - $max, 30, 'at most 1/1024 of what is left is skipped');

# A call that is cancelled while it waits for a standby has skipped nothing.
sql($standby, 'SELECT hilo.hub_resume(again => true)');
report($standby, 'm2', 20);
configure($standby, synchronous_standby_names => 'nobody');
my $sum = sql($standby, 'SELECT sum(max) FROM hilo.hilo');
is(error_of($standby, 'postgres', q{SET statement_timeout = '1s'; SELECT hilo.hub_resume()}), '57014', 'a resume waits for a standby') for 1, 2;
is(sql($standby, 'SELECT sum(max) FROM hilo.hilo'), $sum, 'and, cancelled, has moved no counter');
configure($standby, synchronous_standby_names => '');
is(sql($standby, 'SELECT is_open FROM hilo.hub_resume()'), 't', 'the next call resumes');

#
# A lease in a transaction that stays open
#
my $giving = session($standby);
$giving->query(q{BEGIN; SELECT low FROM hilo.lease('orders', 10)});
my @stopping = map { session($standby, statement_timeout => '60s') } 1, 2;
$stopping[0]->start(q{SELECT hilo.hub_forget('m2', true)});
$stopping[1]->start(q{SELECT hilo.seed('little', 5, true)});
like(($_->result)[1], qr/ERROR:  55P03/, 'what would hold up all leases as long gives up') for @stopping;
is($giving->error_of(q{PREPARE TRANSACTION 'given'}), '0A000', 'it cannot be prepared, to stay longer');
is(sql($standby, q{SELECT hilo.hub_forget('m2', true)}), 1, 'and, over, is in no way');
$_->finish for $giving, @stopping;

#
# An old primary that has followed the new one without a rewind is on its timeline, and has no label of a backup
#
$standby->stop;
my $first = new_node('first', '', allows_streaming => 1);
push @nodes, $first;
lease($first, 'm1', 0);
$first->backup('follows');
my $follows = start_copy('follows', 'follows', of => $first, standby => 1);
$first->stop;
$follows->promote;
lease($follows, 'm1', 10);
report($follows, 'm1', 10);
is(sql($follows, 'SELECT is_open FROM hilo.hub_resume(0)'), 't', 'the new primary gives leases');
$first->enable_streaming($follows);
$first->start;
$follows->wait_for_catchup($first, 'replay', $follows->lsn('insert'));
$first->stop;
my $late = lease($follows, 'm1', 10);
$follows->stop('immediate');
unlink $first->data_dir . '/standby.signal';
$first->start;
is(sql($first, 'SELECT timeline FROM hilo.hub WHERE is_open'), 2, 'the old one is started on the same timeline');
like(lease($first, 'm2', 10), $restored, 'without being promoted, it gives no lease');
is(error_of($first, 'postgres', $own[0]), '55000', 'nor does it draw');
report($first, @$_) for [ 'm1', $late + 9 ], [ 'm2', 10 ];
is(sql($first, 'SELECT is_open FROM hilo.hub_resume(0)'), 't', 'until it is resumed');
is(lease($first, 'm2', 10), $late + 10, 'above what was leased meanwhile');

$_->stop for grep { -e $_->data_dir . '/postmaster.pid' } @nodes;
is(left_behind($_), '', $_->name . ' has left nothing behind') for @nodes;
done_testing();
