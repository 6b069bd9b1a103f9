# Promise 1, across pg_upgrade (copied and linked): counters, guards, comments and privileges come along, and no number repeats; a member of a hub stays the same one.
use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use HiloTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = PostgreSQL::Test::Cluster->new('old');
$old->init;
$old->start;

my $schema = q{"His; Schema"};
$old->safe_psql('postgres', 'CREATE ROLE reader');
$old->safe_psql('postgres', 'CREATE DATABASE quoted');
$old->safe_psql('postgres', q{
	CREATE EXTENSION hilo;
	GRANT SELECT ON hilo.hilo TO reader;
	GRANT EXECUTE ON FUNCTION hilo.drop(text, boolean) TO reader;
	REVOKE EXECUTE ON FUNCTION hilo_next(text) FROM PUBLIC;
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT hilo_next('orders'));
	INSERT INTO orders SELECT FROM generate_series(1, 100);
	SELECT hilo.seed('advanced', 5000);
	SELECT hilo.seed('dropped', 50);
	SELECT hilo.drop('dropped');
	INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('limited', 40, 50);
	SELECT count(hilo_next_number('many' || i)) FROM generate_series(1, 500) i;
	CREATE TABLE gone (id int, number serial, item text);
	ALTER TABLE gone DROP COLUMN id;
	ALTER TABLE gone RENAME TO attached;
	INSERT INTO attached DEFAULT VALUES;
	SELECT hilo.attach('attached', 'number', 'attached');
	CREATE INDEX ON attached (number);
	CREATE TABLE counted (id serial PRIMARY KEY);
	SELECT hilo.attach('counted');
	INSERT INTO counted SELECT FROM generate_series(1, 20);
	SELECT hilo.configure('attached', range_size => 4, node_tag => 'B'), hilo.allow('attached', 'reader');
});
# A row whose creation was rolled back; rows rewritten, and one after that.
$old->safe_psql('postgres', q{BEGIN; SELECT hilo_next_number('rolled back'); ROLLBACK;});
$old->safe_psql('postgres', 'VACUUM FULL hilo.hilo');
$old->safe_psql('postgres', q{SELECT hilo_next_number('after rewriting')});
$old->safe_psql('quoted', qq{
	CREATE SCHEMA $schema;
	CREATE EXTENSION hilo SCHEMA $schema;
	SELECT hilo.seed('orders', 77);
});

# All that is to stay as it is.
my %looks = (
	'counters' => q{SELECT * FROM hilo.hilo ORDER BY collection},
	'bindings' => q{SELECT collection, kind, object_name, column_name, owner FROM hilo.binding ORDER BY 1, 2, object_name COLLATE "C", owner COLLATE "C"},
	'hubs' => q{SELECT * FROM hilo.hub ORDER BY hub},
	'guards' => q{SELECT relname, tgname, tgenabled, tgtype, tgfoid::regprocedure FROM pg_trigger
		JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = 'hilo'::regnamespace ORDER BY 1, 2},
	'attached' => q{SELECT * FROM hilo.attachments ORDER BY 1},
	'what was replaced' => q{SELECT collection, was, sequence FROM hilo.binding ORDER BY 1, 2},
	'replica identity, persistence, access method' =>
	  q{SELECT relname, relreplident, relpersistence, amname FROM pg_class c JOIN pg_am a ON a.oid = relam
		WHERE relnamespace = 'hilo'::regnamespace AND relkind = 'r' ORDER BY 1},
	'constraints and indexes' =>
	  q{SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'hilo'::regnamespace
		UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'hilo' ORDER BY 1},
	'comments' =>
	  q{SELECT identity, d.description FROM pg_depend p
		CROSS JOIN LATERAL pg_identify_object(p.classid, p.objid, 0)
		JOIN pg_description d ON d.classoid = p.classid AND d.objoid = p.objid
		WHERE p.refclassid = 'pg_extension'::regclass AND p.deptype = 'e'
		AND p.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hilo')
		ORDER BY 1, d.objsubid},
	'privileges' =>
	  q{SELECT p.oid::regprocedure::text, proacl::text FROM pg_proc p
		JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
		WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'hilo')
		UNION ALL SELECT relname, coalesce(relacl, acldefault('r', relowner))::text FROM pg_class
		WHERE relkind IN ('r', 'v') AND relnamespace = 'hilo'::regnamespace
		UNION ALL SELECT nspname, nspacl::text FROM pg_namespace WHERE nspname = 'hilo' ORDER BY 1, 2},
	'tables to dump' =>
	  q{SELECT extversion, extconfig::regclass[], extcondition FROM pg_extension WHERE extname = 'hilo'},);
my %before = map { $_ => $old->safe_psql('postgres', $looks{$_}) } keys %looks;
is($before{'bindings'}, "attached|allowed|||reader\nattached|attached|public.attached|number|" . superuser(), 'a table is attached');
is($before{'attached'}, "orders|id|orders|\nattached|number|attached|\ncounted|id||counted_id_seq", 'and one to its sequence');
is(join(' ', $before{'guards'} =~ /^(\w+\|\w+\|A)\|/mg), join(' ', map { ("$_|guard_rows|A", "$_|guard_table|A") } qw(binding hilo hub member)),
	'guards are always on');
is($before{'replica identity, persistence, access method'}, "binding|n|p|heap\nhilo|n|p|heap\nhub|i|p|heap\nmember|i|p|heap", 'no replica identity where SQL changes nothing');

# What pg_dump says of a database, but for its random words.
sub dump_of
{
	my ($node) = @_;
	my ($dump, $err) = run_command(
		[ 'pg_dump', '-h', $node->host, '-p', $node->port, 'postgres' ]);
	is($err, '', 'pg_dump is content');
	$dump =~ s/^\\(un)?restrict .*\n//mg;
	return $dump;
}

# Its owner goes on drawing until the end.  What is in the pool then is a gap.
is($old->safe_psql('postgres', q{SELECT hilo_next_number('limited')}), 41, 'drawn last');
$old->poll_query_until('postgres', q{SELECT max = 41 FROM hilo.hilo WHERE collection = 'limited'});
$before{'counters'} = $old->safe_psql('postgres', $looks{'counters'});
my $dump = dump_of($old);
$old->stop;

foreach my $mode ('copy', 'link')
{
	my $new = upgrade($old, $mode);

	is($new->safe_psql('postgres', $looks{$_}), $before{$_}, "$mode: $_")
	  foreach sort keys %looks;
	is(dump_of($new), $dump, "$mode: all that pg_dump shows");

	is($new->safe_psql('postgres', q{INSERT INTO orders DEFAULT VALUES RETURNING id}),
		'orders/129-A', "$mode: inserts go on");
	is( $new->safe_psql('postgres',
			q{SELECT hilo_next_number('advanced'), hilo_next_number('dropped'), hilo_next_number('rolled back'), hilo_next_number('many500'), hilo_next_number('new')}),
		'5001|1|33|33|1', "$mode: draws go on");
	is($new->safe_psql('postgres', q{INSERT INTO attached DEFAULT VALUES RETURNING number}), 2, "$mode: attached tables go on");
	is( $new->safe_psql('postgres', q{INSERT INTO attached VALUES (3); SET ROLE reader; SELECT hilo_next_number('attached'), hilo_format('attached', 91)}),
		'4|attached/91-B', "$mode: past ids chosen by hand, with options and grants");
	is($new->safe_psql('postgres', q{INSERT INTO counted SELECT FROM generate_series(1, 20); SELECT count(DISTINCT id), min(id) FROM counted}),
		'40|1', "$mode: an attached sequence goes on");
	is( $new->safe_psql('postgres',
			q{SELECT string_agg(hilo_next_number('limited')::text, ',') FROM generate_series(1, 9)}),
		join(',', 42 .. 50), "$mode: up to the limit");
	is($new->safe_psql('quoted', qq{SELECT $schema.hilo_next_number('orders')}),
		78, "$mode: in a quoted schema, too");
	my ($ret, $out, $err) = $new->psql('postgres',
		q{SET session_replication_role = replica; DELETE FROM hilo.hilo});
	like($err, qr/cannot delete from table "hilo\.hilo" by hand/, "$mode: the table is guarded");
	is( $new->safe_psql('postgres', q{VACUUM (FREEZE) hilo.hilo; SELECT count(*) FROM hilo.hilo}),
		508, "$mode: no row was lost, or is there twice");
	$new->stop;
}

#
# A member of a hub keeps its name, its lease and what it knows, so that nothing stands in the way of the hub's next resume.
#
my $settings = <<SETTINGS;
shared_preload_libraries = 'hilo'
hilo.lease_size = 100
test.lease_duration = 0
test.lease_ahead = 0
SETTINGS
my $hub = new_node('hub');
my $member = new_node('member', $settings);
my %shown;

sub draw
{
	my ($node, $count) = @_;
	my $numbers = $node->safe_psql('postgres', "SELECT hilo_next_number('orders') FROM generate_series(1, $count)");
	$shown{$_}++ for split /\n/, $numbers;
	return;
}

sub on_hub { return $hub->safe_psql('postgres', $_[0]); }

add_hub($member, $hub);
$member->safe_psql('postgres', q{SELECT hilo.lease_from('orders', 'ids_hub')});
draw($member, 150);
$member->safe_psql('postgres', 'SELECT hilo.release()');
my $name = on_hub('SELECT member FROM hilo.members');
like($name, qr,^member/\d+$,, 'a member');
my $leased = q{SELECT collection, hub, highest, member FROM hilo.leases ORDER BY 1};
my $lease = $member->safe_psql('postgres', $leased);
$member->stop;

# Its cluster_name is in its configuration, which is copied by hand.
my $upgraded = upgrade($member, 'copy');
$upgraded->stop;
$upgraded->append_conf('postgresql.conf', $settings);
PostgreSQL::Test::Utils::system_or_bail('pg_ctl', '-w', '-D', $upgraded->data_dir, '-l', $upgraded->logfile, '-o', '--cluster-name=member', 'start');
$upgraded->_update_pid(1);
is($upgraded->safe_psql('postgres', $leased), $lease, 'upgraded: the lease and the name are there');
draw($upgraded, 300);
is(join(' ', grep { $shown{$_} > 1 } keys %shown), '', 'upgraded: no number twice');
is(scalar(keys %shown), 450, 'of those that were drawn');
is(on_hub('SELECT member FROM hilo.members'), $name, 'upgraded: the hub knows one member');

like(on_hub(q{SELECT is_open, missing FROM hilo.hub_resume(again => true)}), qr/^f\|\{"?\Q$name\E"?\}$/, 'upgraded: a resume waits for it');
$upgraded->safe_psql('postgres', 'SELECT hilo.lease_report()');
is(on_hub(q{SELECT is_open, missing FROM hilo.hub_resume(0)}), 't|{}', 'upgraded: and for no other one');
draw($upgraded, 300);
is(join(' ', grep { $shown{$_} > 1 } keys %shown), '', 'upgraded: no number twice in a new term');
$_->stop for $upgraded, $hub;

# A hub is another one after that, as the old one could be started again.
$hub = upgrade($hub, 'copy');
like(on_hub(q{SELECT refusal FROM hilo.lease('orders', 10)}), qr/waits for a resume/, 'an upgraded hub gives no lease');
is(error_of($hub, 'postgres', q{SELECT hilo_next_number('own')}), '55000', 'nor does it draw');
is(on_hub(q{SELECT is_open, cardinality(missing) FROM hilo.hub_resume(0)}), 'f|1', 'before it is resumed');
$hub->stop;

done_testing();
