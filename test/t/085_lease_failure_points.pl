# Promises 1, 3 and 4: fail anywhere in an exchange with the hub: an error, a cancel or a kill -9 at each step leaves at most a gap, no session waiting, and nothing open on the hub.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $hub = new_node('hub');
my $member = new_member('member', <<SETTINGS);
# What is not flushed on purpose is lost.
wal_writer_delay = 10s
checkpoint_timeout = 1h
hilo.lease_size = 20
test.lease_duration = 0
test.lease_ahead = 0
test.lease_retry = 0
hilo.range_size = 1
hilo.max_range_size = 1
SETTINGS
add_hub($member, $hub);

my $first = "SELECT hilo.lease_from('NAME', 'ids_hub')";
my @exchange = ('hub connected' => 'error wait kill', 'hub asked' => 'error wait kill',
	'hub answered' => 'error wait kill');
my @lease = ('lease got' => 'error wait kill', 'row locked' => 'kill', 'row changed' => 'kill', 'before flush' => 'error wait kill',
	'after flush' => 'error wait kill', 'lease taken in' => 'error wait kill', 'pooled' => 'kill', 'taken' => 'kill');
my @changes = (
	{
		what => 'a draw', shown => 20,
		before => "$first; SELECT hilo_next_number('NAME') FROM generate_series(1, 20)",
		sql => "SELECT hilo_next_number('NAME')", at => [ 'asking' => 'error wait kill', @exchange, @lease ],
	},
	{
		what => 'the switch to a hub', shown => 2,
		before => "SELECT hilo_next_number('NAME') FROM generate_series(1, 2)",
		sql => $first, at => [ @exchange, 'hub known' => 'error wait kill', 'row locked' => 'kill', 'row changed' => 'kill',
			'before announcement' => 'kill', 'before flush' => 'error kill', 'after flush' => 'error' ],
	},
	{
		what => 'leaving it', shown => 2,
		before => "$first; SELECT hilo_next_number('NAME') FROM generate_series(1, 2)", again => $first,
		sql => "SELECT hilo.lease_from('NAME', NULL)",
		at => [ 'row locked' => 'kill', 'row changed' => 'kill', 'before announcement' => 'kill', 'before flush' => 'error kill', 'after flush' => 'error' ],
	},
	{
		what => 'an identity', identity => 1, shown => 2,
		before => "SELECT hilo.lease_from('NAME|', 'ids_hub'); SELECT next_identity_for('NAME'), next_identity_for('NAME'); SELECT hilo.lease_from('other|', 'ids_hub')",
		sql => "SELECT next_identity_for('NAME')",
		at => [ 'asking' => 'error wait kill', 'hub asked' => 'error wait kill', 'hub answered' => 'error wait kill', @lease ],
	},
	{
		what => 'an identity that is switched', identity => 1, shown => 2,
		before => "SELECT next_identity_for('NAME'), next_identity_for('NAME')",
		sql => "SELECT hilo.lease_from('NAME|', 'ids_hub')",
		at => [ 'hub answered' => 'error wait kill', 'hub known' => 'error wait kill', 'before flush' => 'error kill' ],
	});

my $times = 0;

sub draw
{
	my ($session, $sql) = @_;
	my ($out, $err) = $session->query($sql);

	return $err || $out;
}

# Let one thing fail at one place in one way; returns what is wrong then.
sub wrong_after
{
	my ($change, $point, $way) = @_;
	my $name = 't' . ++$times;
	my ($before, $sql) = map { s/NAME/$name/gr } @$change{qw(before sql)};
	my $next = $change->{identity} ? "SELECT next_identity_for('$name')" : "SELECT hilo_next_number('$name')";
	my @wrong;
	my $session = session($member);
	my $other = session($member, statement_timeout => '60s');
	my ($out, $err) = $session->query($before);
	my @shown = ($out =~ /\d+/g)[ -$change->{shown} .. -1 ];

	push @wrong, "before: $err" if $err =~ /ERROR/;
	$session->query("SET test.failure_point = '$point:$way'");
	if ($way eq 'kill')
	{
		dies_in($member, $sql, $session, $other) or push @wrong, 'nothing happened';
		$other = session($member, statement_timeout => '60s');
	}
	elsif ($way eq 'error')
	{
		(undef, $err) = $session->query($sql);
		push @wrong, "said $err" unless $err =~ /XX000: .*failure at \Q$point\E/s;
	}
	else
	{
		my $pid = $session->pid;

		$session->start($sql);
		wait_until('the session has come there', sub {
			$member->safe_psql('postgres', "SELECT count(*) FROM pg_stat_activity WHERE pid = $pid AND state = 'active' AND query LIKE '%$name%'") });
		$other->query("SELECT pg_cancel_backend($pid)");
		(undef, $err) = $session->result;
		push @wrong, "said $err" unless $err =~ /57014/;
	}

	# All go on, and what they get was never shown.
	$other->query($change->{again} =~ s/NAME/$name/r) if $change->{again};
	my @alive = ($other, session($member, statement_timeout => '60s'));
	unless ($way eq 'kill')
	{
		unshift @alive, $session;
		$session->query('RESET test.failure_point; SET statement_timeout = 60000');
	}
	my @next = map { draw($_, $next) } @alive, @alive;
	my %seen;
	push @wrong, "next @next" if grep { !/^\d+$/ } @next;
	push @wrong, "twice: $_" for grep { $seen{$_}++ } @shown, @next;
	push @wrong, "a gap of more than some leases: @next" if grep { /^\d+$/ && $_ > 100 } @next;

	# The hub is above all, and no transaction is open there.
	my $row = $change->{identity} ? "$name|" : $name;
	my $max = "SELECT max FROM hilo.hilo WHERE collection = '$row'";
	my $leased = $member->safe_psql('postgres', "SELECT flags & 2 FROM hilo.hilo WHERE collection = '$row'");
	push @wrong, 'the hub is behind'
	  if $leased && grep { $_ > $hub->safe_psql('postgres', $max) } @next;
	push @wrong, 'a transaction is open on the hub'
	  if $hub->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'hilo' AND (state <> 'idle' OR xact_start IS NOT NULL)});
	$_->finish for @alive;
	return @wrong;
}

test_failures(\&wrong_after, @changes);

# The worker, too.
$member->append_conf('postgresql.conf', "test.lease_ahead = 75\ntest.lease_retry = 10\n");
$member->reload;
my $s = session($member, statement_timeout => '60s');
$s->query($first =~ s/NAME/by_worker/r);
my %seen;
for my $point ('asking', 'hub connected', 'hub asked', 'hub answered', 'lease got', 'lease taken in')
{
	my $ahead = q{SELECT numbers_left > 20 FROM hilo.leases WHERE collection = 'by_worker'};
	$member->safe_psql('postgres', "ALTER DATABASE postgres SET test.failure_point = '$point:error'");
	my $offset = -s $member->logfile;
	wait_until("a worker fails at $point", sub {
		$seen{ draw($s, "SELECT hilo_next_number('by_worker')") }++;
		slurp_file($member->logfile, $offset) =~ /failure at $point/ });
	$member->safe_psql('postgres', 'ALTER DATABASE postgres RESET test.failure_point');
	wait_until('another one fetches', sub {
		$seen{ draw($s, "SELECT hilo_next_number('by_worker')") }++;
		$member->safe_psql('postgres', $ahead) eq 't' });
}
is(join(' ', grep { !/^\d+$/ || $seen{$_} > 1 } keys %seen), '', 'lease workers fail at six places, and no draw does');
$s->finish;

is($member->safe_psql('postgres', 'CREATE EXTENSION amcheck; ' . <<'SQL'), '', 'tables and indexes are whole');
SELECT t, v FROM unnest('{hilo.hilo,hilo.hub}'::text[]) t, verify_heapam(t) v;
SELECT i FROM unnest('{hilo.hilo_collection_idx,hilo.hub_hub_idx}'::text[]) i, bt_index_check(i, true) c WHERE c IS NULL;
SQL
$member->stop;
$hub->stop;
is(left_behind($_), '', $_->name . ' has left nothing behind') for $member, $hub;
note("$times failures");
done_testing();
