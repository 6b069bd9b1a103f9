# Promise 2 on every minor release: one build asks the server that runs, not the headers, what the byte means that says whether synchronous standbys are asked for.
#
# Debian has but one minor release of a version.  So the library is built to take the
# release from a setting, and the byte is written into the server's memory: first one
# of a release before May 2025, a boolean, then one of a release since, a set of bits.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $libdir = build_variant(PostgreSQL::Test::Utils::tempdir . '/release', sub {
	my ($tree) = @_;
	my $compat = slurp_file("$tree/src/base/compat.h");
	$compat =~ s/"server_version_num"/"pretend.release"/ == 1 or die 'compat.h does not ask for the release';
	unlink "$tree/src/base/compat.h";
	append_to_file("$tree/src/base/compat.h", $compat);
});

# A library that writes the byte.  This names the field that the headers have.
my $dir = PostgreSQL::Test::Utils::tempdir;
append_to_file("$dir/pretend.c", <<'C');
#include "postgres.h"

#include "fmgr.h"
#include "replication/walsender_private.h"
#include "storage/lwlock.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(pretend);

Datum
pretend(PG_FUNCTION_ARGS)
{
	char	   *byte;

#ifdef SYNC_STANDBY_DEFINED
	byte = (char *) &WalSndCtl->sync_standbys_status;
#else
	byte = (char *) &WalSndCtl->sync_standbys_defined;
#endif
	LWLockAcquire(SyncRepLock, LW_EXCLUSIVE);
	*byte = PG_GETARG_INT32(0);
	LWLockRelease(SyncRepLock);
	PG_RETURN_VOID();
}
C
append_to_file("$dir/Makefile", "MODULES = pretend\nPGXS := \$(shell \$(PG_CONFIG) --pgxs)\ninclude \$(PGXS)\n");
{
	delete local @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
	my ($pg_config) = grep { -x } map { "$_/pg_config" } split /:/, $ENV{PATH};
	system_or_bail('make', '-s', '-C', $dir, 'with_llvm=no', "PG_CONFIG=$pg_config");
}

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "dynamic_library_path = '$libdir:\$libdir'\npretend.release = 180000\n");
$node->start;
$node->safe_psql('postgres', "CREATE FUNCTION pretend(int) RETURNS void LANGUAGE C AS '$dir/pretend'");
$node->safe_psql('postgres', "CREATE EXTENSION hilo");

# This session does not wait for standbys.
my $admin = session($node, synchronous_commit => 'local');

# What becomes of a draw on a server of a release that has a byte, and that has no
# standby that answers: "number", or "error" if the number may not be shown.
sub draw
{
	my ($release, $byte) = @_;
	my $session = session($node, 'pretend.release' => $release);
	my $pid = $session->pid;

	$admin->query("SELECT pretend($byte)");
	$session->start("SELECT hilo_next_number('x')");

	# The server that runs here waits by itself where its bits say so.
	wait_until('the draw ends, or waits', sub {
		return $admin->query(<<SQL) eq 't';
SELECT CASE WHEN wait_event = 'SyncRep' THEN pg_cancel_backend(pid) ELSE state = 'idle' AND query LIKE '%hilo_next_number%' END
FROM pg_stat_activity WHERE pid = $pid
SQL
	});
	my ($out, $err) = $session->result;
	$session->finish;

	# The server that runs may have waited, and warned, where the bits mean nothing to it.
	return 'number' if $out =~ /^\d+$/ && $err !~ /ERROR/;
	return 'error' if $out eq '' && $err =~ /ERROR: +57014: canceled the wait for a synchronous standby/;
	return "$out$err";
}

foreach my $release (140000, 140017, 150000, 150012, 160000, 160008, 170000, 170004)
{
	is(draw($release, 0), 'number', "$release, false: no standby is asked for");
	is(draw($release, 1), 'error', "$release, true: one is asked for");
}
foreach my $release (140018, 150013, 160009, 170005, 180000, 190000)
{
	is(draw($release, 0), 'number', "$release, not initialized: the setting says that no standby is asked for");
	is(draw($release, 1), 'number', "$release, initialized: no standby is asked for");
	is(draw($release, 3), 'error', "$release, initialized and defined: one is asked for");
}

# Bits that are not there yet, and a setting that asks for a standby.  The server
# reads it into the byte, which is written after that.
$node->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'\n");
$node->reload;
wait_until('the server asks for a standby', sub { return $admin->query('SHOW synchronous_standby_names') eq 'nobody' });
$admin->query('CHECKPOINT');
is(draw(150013, 0), 'error', 'not initialized: the setting says that a standby is asked for');

$admin->finish;
$node->stop('immediate');
done_testing();
