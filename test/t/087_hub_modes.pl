# Promises 1 and 9 on a hub with a synchronous standby: it goes on by itself after a promotion only where that standby has all leases; it waits for the standby whatever a role says, and what waits does not pile up.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hub = new_node('hub', "shared_preload_libraries = 'hilo'\n", allows_streaming => 1);
my $member = new_member('member', <<SETTINGS);
hilo.lease_size = 100
test.lease_duration = 0
test.lease_retry = 0
test.lease_ahead = 0
hilo.lease_timeout = 2s
SETTINGS
my %shown;

sub sql { my ($node, $sql) = @_; return $node->safe_psql('postgres', $sql); }

# A standby that streams; with a name, under which it may be a synchronous one.
sub standby_of
{
	my ($node, $name) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$node->backup("for_$name");
	$standby->init_from_backup($node, "for_$name", has_streaming => 1);
	$standby->append_conf('postgresql.conf', "synchronous_standby_names = ''\n");
	$standby->start;
	return $standby;
}

sub wait_until_sync
{
	my ($node) = @_;

	wait_until('a synchronous standby', sub { sql($node, q{SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'}) });
	return;
}

# Draw until the hub has been asked, or what was said in its place.
sub draw
{
	my ($collection) = @_;
	my ($out, $err);

	$member->psql('postgres', "SELECT hilo_next_number('$collection') FROM generate_series(1, 120)",
		stdout => \$out, stderr => \$err, extra_params => [ '-v', 'VERBOSITY=verbose' ], on_error_stop => 1);
	$shown{$collection}{$_}++ for split /\n/, $out;
	return $err ? $err : 'drawn';
}

# The hub draws itself.
my $own = q{SELECT hilo_next_number('orders')};

sub twice { my ($collection) = @_; return join ' ', grep { $shown{$collection}{$_} > 1 } sort keys %{ $shown{$collection} }; }

sub mark { my ($node) = @_; return sql($node, q{SELECT waited FROM hilo.hub WHERE hub = '|'}); }

# Draw until that is noted, one step with each lease.
sub draw_until_marked
{
	my ($node, $mark, $what) = @_;

	for (1 .. 10)
	{
		last if mark($node) == $mark;
		is(draw('orders'), 'drawn', "$what: a lease");
	}
	is(mark($node), $mark, $what);
	return;
}

add_hub($member, $hub, options => "connect_timeout '2', target_session_attrs 'any'");
sql($member, "SELECT hilo.lease_from('$_', 'ids_hub')") for qw(orders others);

#
# Leases were given without a standby's word: a standby that is promoted waits for a hand
#
is(draw($_), 'drawn', "$_: a lease, with no standby") for qw(orders others);
is(mark($hub), 0, 'no standby has it');
my $standby = standby_of($hub, 'one');
configure($hub, synchronous_standby_names => 'one');
wait_until_sync($hub);
is(draw('orders'), 'drawn', 'a lease that the standby has');
is(mark($hub), 0, 'with the setting off that is not promised');
$hub->wait_for_catchup($standby, 'replay', $hub->lsn('insert'));
$standby->stop;
# What was given last is lost: it reached no standby, as the mode was what it had been.
configure($hub, synchronous_standby_names => '');
is(draw('orders'), 'drawn', 'a lease that is lost');
kill_server($hub);
$standby->start;
# A session of a hot standby lives on.
my $early = session($standby);
like(($early->query($own))[1], qr/25006/, 'a standby draws nothing');
$standby->promote;
for my $draw ($own, map { "SELECT $_" } q{hilo_next('never leased')}, q{hilo_reserve('orders', 2)}, q{hilo.next_range('orders')}, q{hilo.next_hi('orders', 2)}, q{next_identity('companies')})
{
	like(($early->query($draw))[1], qr/55000: cannot draw from .* until this hub is resumed.*HINT:  Call hilo.hub_resume/s, "promoted, it does not draw itself: $draw");
}
is(error_of($standby, 'postgres', $own), '55000', 'nor in a new session');
is(error_of($standby, 'postgres', q{SELECT next_server_side_id('docs/')}), '55000', 'nor server-side ids, of which the newest may be lost, too');
configure($standby, 'hilo.hub_auto_resume' => 'on');
is(error_of($standby, 'postgres', $own), '55000', 'nor with a setting that came too late');
my $second = standby_of($standby, 'two');
configure($standby, synchronous_standby_names => 'two');
wait_until_sync($standby);
move_hub($standby, $member);
like(draw('orders'), qr/55000: could not lease.*waits for a resume.*HINT:  Call hilo.hub_resume/s, 'turned on where leases may be lost, it waits for a hand');
like(draw('others'), qr/55000: could not lease/, 'also for a collection that has lost none');
# What another session was told a moment ago, too.
configure($member, 'test.lease_retry' => '3600000');
like(draw('orders'), qr/55000: could not lease.*HINT:  Call hilo.hub_resume/s, 'the hint comes with each draw that is refused');
configure($member, 'test.lease_retry' => '0');
is(mark($standby), 0, 'it is not taken for one whose standby has all');
is(sql($standby, 'SELECT bool_and(reported) FROM hilo.members'), 't', 'the member that was refused has said what it holds');
is(sql($standby, 'SELECT is_open, missing FROM hilo.hub_resume()'), 't|{}', 'resumed');
is(draw($_), 'drawn', "$_: then leases are given") for qw(orders others);
$shown{orders}{$_}++ for scalar $early->query($own), sql($standby, $own);
$early->finish;
is(twice('orders') . twice('others'), '', 'no number was shown twice');
is(mark($standby), 2, 'which the standby has, all of them');

#
# From then on a synchronous standby goes on by itself
#
my $offset = -s $second->logfile;
kill_server($standby);
configure($second, 'hilo.hub_auto_resume' => 'on');
$second->promote;
my $third = standby_of($second, 'three');
configure($second, synchronous_standby_names => 'three');
wait_until_sync($second);
move_hub($second, $member);
$shown{orders}{ sql($second, $own) }++;
is(twice('orders'), '', 'a synchronous standby that is promoted draws itself');
is(sql($second, 'SELECT is_open, missing FROM hilo.hub_resume()'), 't|{}', 'and needs no hilo.hub_resume(), which leaves it open');
is(draw('orders'), 'drawn', 'and gives leases');
like(slurp_file($second->logfile, $offset), qr/WARNING:.*this hub gives leases again, on timeline 3 after 2/, 'and says so in its log');
is(twice('orders'), '', 'no number was shown twice');
is(sql($second, q{SELECT timeline FROM hilo.hub WHERE hub = '|'}), 3, 'it is at home on its timeline');

# Where the mode is left, the next one waits for a hand, whatever it says then.
configure($second, 'hilo.hub_auto_resume' => 'off');
draw_until_marked($second, 0, 'outside of the mode, it ends');
configure($second, 'hilo.hub_auto_resume' => 'on');
draw_until_marked($second, 2, 'within, it begins again, as the standby has what was before');

# Degraded: nothing to wait for.
configure($second, synchronous_standby_names => '');
like(draw('orders'), qr/55000: could not lease.*this server gives leases only if all standbys that may take over have them.*HINT:  List standbys by their names/s, 'without a synchronous standby no leases are given');
like(message_of($second, 'postgres', q{SELECT hilo_next_number('single')}), qr/55000: no synchronous standby has acknowledged/, 'nor does it claim for itself');

# Nor in a statement that began when there was a synchronous standby, and goes on when none is required any more.
configure($second, synchronous_standby_names => 'three');
wait_until_sync($second);
my $gate = session($second);
my %long = (
	'a lease' => q{SELECT low FROM hilo.lease('orders', 10, 0, 0, 0, 0, 'long')},
	'a claim of its own' => q{SELECT hilo_next_number('long own')});
my %statement;
$gate->query('SELECT pg_advisory_lock(1)');
for my $what (sort keys %long)
{
	$statement{$what} = session($second);
	$statement{$what}->start("DO \$\$ BEGIN PERFORM pg_advisory_lock_shared(1); PERFORM * FROM ($long{$what}) x; END \$\$");
}
wait_until('both have begun', sub { sql($second, q{SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}) == 2 });
# It is away, so what waits for it ends when it is required no longer.
$third->stop;
my $waiting = session($second);
my $waits = $waiting->pid;
$waiting->start('CREATE TABLE waits ()');
wait_until('a commit waits for the standby', sub { sql($second, "SELECT count(*) FROM pg_stat_activity WHERE pid = $waits AND wait_event = 'SyncRep'") });
configure($second, synchronous_standby_names => '');
is(($waiting->result)[1], '', 'the server requires no standby');
$gate->finish;
for my $what (sort keys %long)
{
	like(($statement{$what}->result)[1], qr/ERROR:  55000: no synchronous standby has acknowledged/, "$what that no standby has, in a long statement: refused");
	$statement{$what}->finish;
}
$waiting->finish;
$third->start;

#
# A standby that is asked for, and away
#
configure($second, synchronous_standby_names => 'three');
wait_until_sync($second);
is(draw('orders'), 'drawn', 'with one they are');
$third->stop;
# Roles that would not wait.
sql($second, q{SET synchronous_commit = local; CREATE ROLE hasty LOGIN SUPERUSER; ALTER ROLE hasty SET synchronous_commit = local});
sql($member, q{ALTER USER MAPPING FOR CURRENT_USER SERVER ids_hub OPTIONS (SET user 'hasty')});
for my $mode (qw(on off))
{
	$second->append_conf('postgresql.conf', "hilo.hub_auto_resume = $mode");
	$second->reload;
	my $most = 0;
	for (1 .. 4)
	{
		like(draw('orders'), qr/08006: could not lease/, "hub_auto_resume $mode: no lease that the standby does not have, to a role with synchronous_commit = local");
		my $count = $second->safe_psql('template1', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo'});
		$most = $count if $count > $most;
	}
	cmp_ok($most, '<=', 2, "hub_auto_resume $mode: what waits there ends");
	like(message_of($second, 'postgres', "SET statement_timeout = '1s'; SET synchronous_commit = local; SELECT hilo_next_number('own $mode')"), qr/ERROR:  (?:55000: no synchronous standby has|57014)/,
		'nor does it claim for itself what the standby does not have') if $mode eq 'on';
}
$third->start;
wait_until_sync($second);
is(draw('orders'), 'drawn', 'when the standby is back');
is(twice('orders'), '', 'no number was shown twice');

#
# The timeline rises, and nothing is lost: crash recovery as a standby, and promoted again
#
sub restart_in_place
{
	kill_server($second);
	$second->set_standby_mode;
	$second->start;
	$second->promote;
	wait_until_sync($second);
	return hex substr sql($second, 'SELECT pg_walfile_name(pg_current_wal_lsn())'), 0, 8;
}
configure($second, 'hilo.hub_auto_resume', 'on');
draw_until_marked($second, 2, 'in the mode');
configure($second, 'hilo.hub_auto_resume', 'off');
is(restart_in_place(), 4, 'restarted in place, a hub is on a new timeline');
like(draw('orders'), qr/55000: could not lease.*HINT:  Call hilo.hub_resume/s, 'with the setting off it waits for a hand');
# Whoever follows it then has to wait, too: what it lacked is still missing.
configure($second, 'hilo.hub_auto_resume', 'on');
is(restart_in_place(), 5, 'promoted again while reports are collected');
is(error_of($second, 'postgres', $own), '55000', 'it does not draw, though the setting is on and its standby has all that it has');
like(draw('orders'), qr/55000: could not lease.*HINT:  Call hilo.hub_resume/s, 'and gives no leases');
is(error_of($second, 'postgres', $own), '55000', 'nor does it draw then');
is(sql($second, 'SELECT bool_and(reported) FROM hilo.members'), 't', 'the refused member has reported');
is(sql($second, 'SELECT is_open, missing FROM hilo.hub_resume()'), 't|{}', 'so it is resumed');
is(draw($_), 'drawn', "$_: leases are given") for qw(orders others);
configure($second, 'hilo.hub_auto_resume', 'on');
draw_until_marked($second, 2, 'in the mode');
is(draw('orders'), 'drawn', 'which the standby has, with the next lease');
is(restart_in_place(), 6, 'once more');
is(draw($_), 'drawn', "$_: with the setting on it goes on by itself") for qw(orders others);
is(twice('orders') . twice('others'), '', 'no number was shown twice');

#
# Left behind, with no standby to wait for: the member that knows a later term is refused at once, and others are not
#
configure($second, 'hilo.hub_auto_resume' => 'off');
draw_until_marked($second, 0, 'the mode ends');
$third->stop;
my $later = session($second, statement_timeout => '2s');
my ($refusal, $err) = $later->query(q{SELECT refusal FROM hilo.hub o, hilo.lease('orders', 10, 0, o.lineage, o.term + 50, 1, 'later') WHERE o.hub = '|'});
like("$refusal$err", qr/it is in term \d+, but the member has seen term \d+/, 'left behind, a hub says so without its standby');
is(sql($second, q{SELECT seen - term FROM hilo.hub WHERE hub = '|'}), 50, 'and notes it');
is($later->error_of(q{SELECT hilo.lease('orders', 10)}), '57014', 'others get a lease, once the standby has it');
$later->finish;
$third->start;
wait_until_sync($second);
is(draw('orders'), 'drawn', 'as before');
is(outcome_of($second, $own), 'fine', 'nor do its own sessions stop');
like(sql($second, 'SELECT missing FROM hilo.hub_resume()'), qr/member/, 'resumed, it collects reports in a term above that');
like(draw($_), qr/55000: could not lease/, "$_: and gives no leases") for qw(orders others);
is(sql($second, q{SELECT is_open, term > 50 FROM hilo.hub_resume()}), 't|t', 'until all have reported');
is(draw('orders'), 'drawn', 'it gives leases');
is(twice('orders'), '', 'no number was shown twice');

#
# A forced seed waits for a lease that waits for the standby, and is refused then: the member may have been unknown until then
#
$third->stop;
my $asking = session($second);
my $pid = $asking->pid;
$asking->start("SELECT low FROM hilo.lease('set', 10, 0, 0, 0, 0, 'second')");
wait_until('it waits for the standby', sub { sql($second, "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND wait_event = 'SyncRep'") });
my $seeding = session($second, lock_timeout => '180s');
$seeding->start(q{SELECT hilo.seed('set', 0, true)});
wait_until('the seed waits for it', sub { sql($second, q{SELECT count(*) FROM pg_locks WHERE NOT granted AND classid = 'pg_extension'::regclass}) });
$third->start;
is(($asking->result)[0], 1, 'a lease of before the seed');
like(($seeding->result)[1], qr/55000: collection "set" has given leases\nDETAIL:  .*"second"/, 'which is refused');
$_->finish for $asking, $seeding;
wait_until_sync($second);

#
# A copy of the hub
#
$second->safe_psql('template1', 'CREATE DATABASE copy TEMPLATE postgres');
is(error_of($second, 'copy', $own), '55000', 'a copy of the hub does not draw');
$second->safe_psql('copy', q{SELECT hilo.hub_forget(member, true) FROM (SELECT DISTINCT member FROM hilo.members) m; SELECT hilo.hub_resume()});
like($second->safe_psql('copy', $own), qr{^\d+$}, 'before it is resumed');
is(outcome_of($second, $own), 'fine', 'the hub does');

#
# On a member
#
like(message_of($member, 'postgres', q{SELECT hilo.lease('orders', 5)}), qr/55000: .*not counted on this server.*HINT:  Ask its hub, "ids_hub"/s, 'a member gives no lease of what it leases');
like(message_of($member, 'postgres', q{SELECT hilo.hub_resume()}), qr/55000: this server has given no leases\nDETAIL:  It leases "o\w+" from "ids_hub"\.\nHINT:  Call hilo.hub_resume\(\) on the hub/, 'nor is it resumed');

$_->stop for $member, $third, $second;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $member, $hub, $standby, $second, $third;
done_testing();
