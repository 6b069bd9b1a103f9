# Promise 1, across pg_upgrade (copied and linked): counters, guards, comments and privileges come along, and no number repeats.
use HiloTest;

my $old = server('old');

my $schema = q{"His; Schema"};
$old->safe_psql('postgres', 'CREATE ROLE reader');
$old->safe_psql('postgres', q{
	CREATE EXTENSION hilo;
	GRANT SELECT ON hilo.hilo TO reader;
	GRANT EXECUTE ON FUNCTION hilo.seed(text, bigint, boolean) TO reader;
	REVOKE EXECUTE ON FUNCTION hilo_next(text) FROM PUBLIC;
	CREATE TABLE orders (id text PRIMARY KEY DEFAULT hilo_next('orders'));
	INSERT INTO orders SELECT FROM generate_series(1, 100);
	SELECT hilo.seed('advanced', 5000);
	SELECT hilo.seed('dropped', 50);
	SELECT hilo.drop('dropped');
	INSERT INTO hilo.hilo (collection, max, max_value) VALUES ('limited', 40, 50);
	SELECT count(hilo_next_number('many' || i)) FROM generate_series(1, 500) i;
	SELECT hilo.configure('attached', range_size => 4, max_range_size => 4, node_tag => 'B');
	CREATE TABLE gone (id int, number bigint DEFAULT hilo_next_number('attached'), item text);
	ALTER TABLE gone DROP COLUMN id;
	ALTER TABLE gone RENAME TO attached;
	CREATE INDEX ON attached (number);
	SELECT hilo.bind('attached', 'attached', 'number');
	INSERT INTO attached DEFAULT VALUES;
	CREATE TABLE counted (id serial PRIMARY KEY);
	SELECT hilo.attach('counted');
	INSERT INTO counted SELECT FROM generate_series(1, 20);
});
# A row whose creation was rolled back; rows rewritten, and one after that.
$old->safe_psql('postgres', q{BEGIN; SELECT hilo_next_number('rolled back'); ROLLBACK;});
$old->safe_psql('postgres', 'VACUUM FULL hilo.hilo');
$old->safe_psql('postgres', q{SELECT hilo_next_number('after rewriting')});
new_database($old, 'quoted', qq{
	CREATE SCHEMA $schema;
	CREATE EXTENSION hilo SCHEMA $schema;
	SELECT hilo.seed('orders', 77);
});

# All that is to stay as it is.
my %looks = (
	'counters' => q{SELECT * FROM hilo.hilo ORDER BY collection},
	'bindings' => q{SELECT * FROM hilo.binding ORDER BY 1},
	'guards' => q{SELECT relname, tgname, tgenabled, tgtype, tgfoid::regprocedure FROM pg_trigger
		JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = 'hilo'::regnamespace ORDER BY 1, 2},
	'defaults' => q{SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid IN ('orders'::regclass, 'attached'::regclass, 'counted'::regclass) ORDER BY 1},
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
is($before{'bindings'}, "attached|public|attached|number|" . superuser(), 'a table is bound');
like($before{'defaults'}, qr/^counted\|hilo\.nextval\('counted_id_seq'::regclass\)$/m, 'and one is attached');
is(join(' ', $before{'guards'} =~ /^(\w+\|\w+\|A)\|/mg), join(' ', map { ("$_|guard_rows|A", "$_|guard_table|A") } qw(binding hilo)),
	'guards are always on');
is($before{'replica identity, persistence, access method'}, "binding|n|p|heap\nhilo|n|p|heap", 'no replica identity where SQL changes nothing');

# What pg_dump says of a database, but for its random words.
sub dump_of
{
	my ($node) = @_;
	my ($dump, $err) = run_command([ 'pg_dump', '-h', $node->host, '-p', $node->port, 'postgres' ]);
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

	is($new->safe_psql('postgres', $looks{$_}), $before{$_}, "$mode: $_") foreach sort keys %looks;
	is(dump_of($new), $dump, "$mode: all that pg_dump shows");

	is($new->safe_psql('postgres', q{INSERT INTO orders DEFAULT VALUES RETURNING id}),
		'orders/129-A', "$mode: inserts go on");
	is( $new->safe_psql('postgres',
			q{SELECT hilo_next_number('advanced'), hilo_next_number('dropped'), hilo_next_number('rolled back'), hilo_next_number('many500'), hilo_next_number('new')}),
		'5001|1|33|33|1', "$mode: draws go on");
	is($new->safe_psql('postgres', q{INSERT INTO attached DEFAULT VALUES RETURNING number}), 5, "$mode: bound tables go on");
	wait_until_alone($new);
	is( $new->safe_psql('postgres', q{INSERT INTO attached VALUES (6); SELECT hilo_next_number('attached'), hilo_format('attached', 91)}),
		'7|attached/91-B', "$mode: past ids chosen by hand, with options");
	is($new->safe_psql('postgres', q{INSERT INTO counted SELECT FROM generate_series(1, 20); SELECT count(DISTINCT id), min(id) FROM counted}),
		'40|1', "$mode: an attached sequence goes on");
	is( $new->safe_psql('postgres',
			q{SELECT string_agg(hilo_next_number('limited')::text, ',') FROM generate_series(1, 9)}),
		join(',', 42 .. 50), "$mode: up to the limit");
	is($new->safe_psql('quoted', qq{SELECT $schema.hilo_next_number('orders')}),
		78, "$mode: in a quoted schema, too");
	like(message_of($new, 'postgres', q{SET session_replication_role = replica; DELETE FROM hilo.hilo}), qr/cannot delete from table "hilo\.hilo" by hand/, "$mode: the table is guarded");
	is( $new->safe_psql('postgres', q{VACUUM (FREEZE) hilo.hilo; SELECT count(*) FROM hilo.hilo}),
		508, "$mode: no row was lost, or is there twice");
	$new->stop;
}

done_testing();
