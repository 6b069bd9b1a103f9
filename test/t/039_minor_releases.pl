# Promise 2 on every minor release: one build asks the server that runs, not the headers, what the byte means that says whether synchronous standbys are required.  A hub that resumes by itself gives leases only if they are.
#
# Debian has but one minor release of a version.  So the function that asks is built to take
# the release from a setting, and the byte is written into the server's memory: first one
# of a release before May 2025, a boolean, then one of a release since, a set of bits.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $dir = PostgreSQL::Test::Utils::tempdir;
my $src = "$FindBin::RealBin/../../src";
my $compat = slurp_file("$src/base/compat.h");
$compat =~ s/"server_version_num"/"pretend.release"/ == 1 or die 'compat.h does not ask for the release';
append_to_file("$dir/compat.h", $compat);

# A library that writes the byte, and asks.  The former names the field that the headers have.
append_to_file("$dir/pretend.c", <<'C');
#include "postgres.h"

#include "fmgr.h"

#include "compat.h"

#include "replication/walsender_private.h"
#include "storage/lwlock.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(pretend);
PG_FUNCTION_INFO_V1(required);

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

Datum
required(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(hilo_sync_standbys_defined());
}
C
append_to_file("$dir/Makefile", "MODULES = pretend\nPG_CPPFLAGS = -I$dir -I$src\nPGXS := \$(shell \$(PG_CONFIG) --pgxs)\ninclude \$(PGXS)\n");
{
	delete local @ENV{qw(MAKEFLAGS MAKELEVEL MFLAGS)};
	my ($pg_config) = grep { -x } map { "$_/pg_config" } split /:/, $ENV{PATH};
	system_or_bail('make', '-s', '-C', $dir, 'with_llvm=no', "PG_CONFIG=$pg_config");
}

my $node = PostgreSQL::Test::Cluster->new('primary');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "pretend.release = 180000\n");
$node->start;
$node->safe_psql('postgres', "CREATE FUNCTION $_ LANGUAGE C AS '$dir/pretend'")
	for 'pretend(int) RETURNS void', 'required() RETURNS bool';

# Whether a server of a release that has this byte requires synchronous standbys.
sub required
{
	my ($release, $byte) = @_;
	return $node->safe_psql('postgres', "SET pretend.release = $release; SELECT pretend($byte) \\g /dev/null\nSELECT required()");
}

foreach my $release (150000, 150012, 160000, 160008, 170000, 170004)
{
	is(required($release, 0), 'f', "$release, false: not required");
	is(required($release, 1), 't', "$release, true: required");
}
foreach my $release (150013, 160009, 170005, 180000, 190000)
{
	is(required($release, 0), 'f', "$release, not initialized: the setting says not required");
	is(required($release, 1), 'f', "$release, initialized: not required");
	is(required($release, 3), 't', "$release, initialized and defined: required");
}

# Bits that are not there yet, and a setting that asks for a standby.  The server
# reads it into the byte, which is written after that.
$node->append_conf('postgresql.conf', "synchronous_standby_names = 'nobody'\nsynchronous_commit = local\n");
$node->reload;
$node->poll_query_until('postgres', q{SELECT current_setting('synchronous_standby_names') = 'nobody'}) or die 'no reload';
$node->safe_psql('postgres', 'CHECKPOINT');
is(required(150013, 0), 't', 'not initialized: the setting says required');

$node->stop('immediate');
done_testing();
