# The owner of a database, not a superuser, creates the extension, and gets the rights to draw, attach, bind, configure and seed, and no others: whatever is put in the way of the script, which a superuser runs, and of its tables.
use HiloTest;

my $node = server('owner');

sub sql
{
	my ($db, $query) = @_;
	return $node->safe_psql($db, "SET client_min_messages = warning;\n$query");
}

# What a statement of a role gives: what it returns, or its SQLSTATE.
sub gives
{
	my ($db, $role, $query) = @_;
	my ($ret, $out, $err) = $node->psql($db, "\\set VERBOSITY verbose\nSET client_min_messages = error;\nSET SESSION AUTHORIZATION \"$role\";\n$query",
		on_error_stop => 1);
	note($err) if $err;
	return $err =~ /(?:ERROR|FATAL): +(\w{5}):/ ? $1 : $out;
}

my $super = sql('postgres', 'SELECT current_user');
sql('postgres', 'CREATE ROLE boss LOGIN; CREATE ROLE mallory LOGIN; CREATE ROLE app LOGIN; CREATE DATABASE shop OWNER boss');

# A list of what to restore from a dump: all but the extension and its comment, which are there.
sub listed
{
	my ($dump) = @_;
	my ($list) = run_command([ 'pg_restore', '-l', $dump ]);

	append_to_file("$dump.list", join("\n", grep { !/ EXTENSION /} split /\n/, $list) . "\n");
	return "$dump.list";
}

#
# What he gets
#
is(gives('shop', 'app', 'CREATE EXTENSION hilo'), '42501', 'a role that may not create in the database cannot create the extension');
is(gives('shop', 'boss', 'CREATE EXTENSION hilo'), '', 'the owner of the database can');
is(sql('shop', q{SELECT extowner::regrole FROM pg_extension WHERE extname = 'hilo'}), 'boss', 'it is his');

# All that belongs to the extension is the superuser's.
is(sql('shop', q{
	SELECT string_agg(DISTINCT owner::text, ',') FROM (
		SELECT refobjid, classid, objid FROM pg_depend WHERE refclassid = 'pg_extension'::regclass AND deptype = 'e') d
	JOIN pg_extension e ON e.oid = refobjid AND extname = 'hilo',
	LATERAL (SELECT proowner::regrole AS owner FROM pg_proc WHERE classid = 'pg_proc'::regclass AND oid = objid
		UNION ALL SELECT relowner::regrole FROM pg_class WHERE classid = 'pg_class'::regclass AND oid = objid
		UNION ALL SELECT typowner::regrole FROM pg_type WHERE classid = 'pg_type'::regclass AND oid = objid
		UNION ALL SELECT nspowner::regrole FROM pg_namespace WHERE classid = 'pg_namespace'::regclass AND oid = objid
) o}),
	$super, 'all objects of it are the superuser\'s');

# The functions that he may execute and PUBLIC may not; and what is left for superusers.
my $functions = q{
	SELECT string_agg(p.oid::regprocedure::text, ' ' ORDER BY p.oid::regprocedure::text COLLATE "C")
	FROM pg_depend d JOIN pg_proc p ON p.oid = d.objid AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass
	WHERE NOT has_function_privilege('public', p.oid, 'execute') AND };
is(sql('shop', $functions . q{has_function_privilege('boss', p.oid, 'execute')}) =~ s/\(.*?\)//gr,
	join(' ', qw(hilo._counters hilo.bind hilo.configure hilo.drop hilo.return_range hilo.seed hilo.unbind seed_identity_for)),
	'he administers collections');
is( sql('shop', q{
	SELECT string_agg(format('%s: %s', c.oid::regclass, privileges), ', ' ORDER BY c.oid::regclass::text COLLATE "C")
	FROM pg_class c, LATERAL (SELECT string_agg(a.privilege_type, ' ' ORDER BY a.privilege_type) AS privileges FROM aclexplode(c.relacl) a WHERE a.grantee = 'boss'::regrole) a
	WHERE c.relnamespace = 'hilo'::regnamespace AND privileges IS NOT NULL AND c.relkind = 'r' AND privileges <> 'INSERT SELECT'}),
	'', 'he may read the tables and insert into them, no more');
is( sql('shop', q{
	SELECT string_agg(c.relname, ' ' ORDER BY c.relname COLLATE "C") FROM pg_class c
	WHERE c.oid = ANY (SELECT unnest(extconfig) FROM pg_extension WHERE extname = 'hilo')
	AND NOT (has_table_privilege('boss', c.oid, 'SELECT') AND has_table_privilege('boss', c.oid, 'INSERT'))}),
	'', 'these are all tables that are dumped');

my @may = (
	[ q{SELECT hilo.seed('orders', 50), hilo_next('orders')}, '50|orders/51-A' ],
	[ q{SELECT hilo.seed('orders', 10, true), hilo.drop('orders')}, '10|t' ],
	[ q{SELECT seed_identity_for('ports', 5), next_identity('ports'), hilo.drop('ports|')}, '5|ports/6|t' ],
	[ q{SELECT hilo.configure('orders', max_value => 1000)}, '' ],
	[ q{CREATE TABLE orders (id serial PRIMARY KEY, item text); SELECT hilo.attach('orders'); INSERT INTO orders (item) VALUES ('tea') RETURNING id}, "hilo.nextval('public.orders_id_seq'::regclass)\n1" ],
	[ q{SELECT * FROM hilo.sync('orders')}, 'id|public.orders_id_seq|1|1|not behind the ids' ],
	[ q{CREATE TABLE docs (id text PRIMARY KEY); SELECT hilo.bind('docs', 'docs', 'id'), hilo.unbind('docs')}, '|t' ],
	[ q{SELECT collection FROM hilo.status WHERE collection = 'orders'; SELECT count(*) >= 0 FROM hilo.identities}, "orders\nt" ],
	[ q{GRANT EXECUTE ON FUNCTION hilo.seed(text, bigint, boolean) TO app; GRANT SELECT ON hilo.status TO app}, '' ]);
is(gives('shop', 'boss', $_->[0]), $_->[1], "he may: $_->[0]") foreach @may;
is(gives('shop', 'app', q{SELECT hilo.seed('orders', 500)}), 500, 'and let others seed');

my @may_not = (
	[ q{UPDATE hilo.hilo SET max = 0}, '42501' ], [ q{DELETE FROM hilo.hilo}, '42501' ], [ q{TRUNCATE hilo.hilo}, '42501' ],
	[ q{UPDATE hilo.binding SET owner = 'x'}, '42501' ], [ q{DELETE FROM hilo.binding}, '42501' ],
	[ q{ALTER TABLE hilo.hilo DISABLE TRIGGER ALL}, '42501' ], [ q{ALTER TABLE hilo.binding ENABLE ROW LEVEL SECURITY}, '42501' ],
	[ q{CREATE POLICY p ON hilo.binding USING (false)}, '42501' ], [ q{CREATE RULE r AS ON INSERT TO hilo.hilo DO INSTEAD NOTHING}, '42501' ],
	[ q{CREATE TRIGGER t BEFORE INSERT ON hilo.hilo FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'x')}, '42501' ],
	[ q{CREATE INDEX ON hilo.hilo (max)}, '42501' ], [ q{CREATE TABLE child () INHERITS (hilo.hilo)}, '42501' ],
	[ q{CREATE TABLE hilo.mine (a int)}, '42501' ], [ q{CREATE FUNCTION hilo.drop(int) RETURNS int LANGUAGE sql AS 'SELECT 1'}, '42501' ],
	[ q{ALTER SCHEMA hilo RENAME TO other}, '42501' ], [ q{DROP SCHEMA hilo CASCADE}, '42501' ], [ q{DROP TABLE hilo.hilo}, '42501' ],
	[ q{ALTER FUNCTION hilo.seed(text, bigint, boolean) OWNER TO boss}, '42501' ], [ q{ALTER FUNCTION hilo_next(text) SECURITY DEFINER}, '42501' ],
	[ q{CREATE OR REPLACE FUNCTION hilo.attach_all(schema regnamespace, OUT relation regclass, OUT column_name name, OUT result text) RETURNS SETOF record LANGUAGE sql AS ''}, '42501' ],
	[ q{ALTER EXTENSION hilo DROP TABLE hilo.hilo}, '42501' ], [ q{ALTER EXTENSION hilo DROP FUNCTION hilo_next(text)}, '42501' ],
	[ q{ALTER EXTENSION hilo SET SCHEMA pg_temp}, '0A000' ],
	[ q{CREATE TABLE g (a int); CREATE TRIGGER t BEFORE INSERT ON g FOR EACH ROW EXECUTE FUNCTION hilo.guard('a', 'b')}, '42501' ],
	[ q{CREATE FUNCTION c() RETURNS bigint LANGUAGE c AS 'hilo', 'hilo_next'}, '42501' ],
	[ q{SET hilo.node_tag = 'B'}, '42501' ], [ q{SET hilo.server_prefix = 'x/'}, '42501' ], [ q{SET hilo.auto_create = off}, '42501' ],
	[ q{ALTER DATABASE shop SET hilo.node_tag = 'B'}, '42501' ]);
is(gives('shop', 'boss', "SELECT hilo_number('loads/1') \\g /dev/null\n$_->[0]"), $_->[1], "he may not: $_->[0]") foreach @may_not;
is(gives('shop', 'app', $_), '42501', "nor another role: $_")
  foreach q{SELECT hilo.drop('orders')}, q{SELECT hilo.configure('orders')}, q{SELECT max FROM hilo.hilo}, q{INSERT INTO hilo.hilo (collection, max) VALUES ('orders', 1)};

#
# What the tables take from him: what he could do by functions
#
sql('shop', q{
	CREATE TABLE supers (id bigint PRIMARY KEY);
	INSERT INTO supers VALUES (1), (2)});
is(gives('shop', 'boss', q{SELECT hilo.bind('spy', 'supers', 'id')}), '42501', 'a table of another role is not bound');
is(gives('shop', 'boss', q{INSERT INTO hilo.binding (collection, schema_name, table_name, column_name, owner) VALUES ('spy', 'public', 'supers', 'id', 'boss'), ('spy', 'pg_catalog', 'pg_class', 'oid', 'boss')}), '',
	'a row that names it, with another owner, is taken');
is(sql('shop', q{SELECT count(*), count(relation) FROM hilo.columns WHERE counter = 'spy'}), '2|0', 'but it is bound to nothing');
is(gives('shop', 'boss', q{INSERT INTO hilo.binding (collection, schema_name, table_name, column_name, owner) VALUES ('mine2', 'public', 'docs', 'id', 'boss'), ('mine3', 'public', 'nothing', 'id', 'boss'); SELECT counter, relation FROM hilo.columns WHERE counter LIKE 'mine_' ORDER BY 1}), "mine2|docs\nmine3|",
	'his own tables are bound, as in a restore');

#
# What is put in the way of the script, and of what a superuser calls later
#
sql('postgres', 'CREATE DATABASE trap OWNER boss');
sql('trap', 'CREATE SCHEMA hilo AUTHORIZATION boss; GRANT CREATE ON SCHEMA public TO mallory; CREATE TABLE t (id serial PRIMARY KEY); CREATE TABLE log (by name, what text); GRANT ALL ON log TO PUBLIC');
my $traps = '';
my @pairs = map { [ split /:/ ] } qw(oid:regclass regclass:oid oid:regrole oid:regproc oid:regprocedure oid:regnamespace oid:integer oid:bigint oid:text
  name:text text:name name:regclass regclass:regclass regclass:text regrole:regrole regprocedure:regprocedure regproc:regproc smallint:oid integer:oid bigint:oid
  regtype:oid oid:regtype boolean:text bytea:text anyelement:anyelement anyarray:anyarray anynonarray:anynonarray);
foreach my $pair (@pairs)
{
	my ($left, $right) = @$pair;
	(my $name = "spring_${left}_$right") =~ s/\W/_/g;
	$traps .= qq{CREATE FUNCTION public.$name($left, $right) RETURNS boolean LANGUAGE plpgsql AS \$\$ BEGIN
		INSERT INTO public.log VALUES (current_user, '$name');
		IF current_setting('is_superuser') = 'on' OR (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) current_user) THEN ALTER ROLE mallory SUPERUSER; END IF;
		RETURN true; END \$\$;\n};
	$traps .= "CREATE OPERATOR public.$_ (FUNCTION = public.$name, LEFTARG = $left, RIGHTARG = $right);\n" foreach '=', '<>', '>', '<', '<=';
}
# Functions by the names of those that are called, for the arguments that are not theirs; and for those, where a schema is left out.
my $count = 0;
foreach my $signature ('attach(regclass, name)', 'attach(regclass)', 'attach(text)', 'detach(regclass)', 'bind(text, regclass, name)', 'hilo_next(varchar)', 'hilo_next_number(varchar)', 'hilo_number(varchar)',
	'nextval(regclass)', 'seed(text, bigint)',
	'format(text, name)', 'format(text, text)', 'quote_ident(name)', 'current_schema(int DEFAULT 0)', 'current_database(int DEFAULT 0)', 'aclexplode(aclitem[], int DEFAULT 0)', 'position(bytea, text)', 'convert_from(bytea, text)')
{
	$count++;
	$traps .= "CREATE FUNCTION public.$signature RETURNS bigint LANGUAGE plpgsql AS \$\$ BEGIN
		INSERT INTO public.log VALUES (current_user, 'function $count');
		IF (SELECT rolsuper FROM pg_catalog.pg_roles WHERE rolname OPERATOR(pg_catalog.=) current_user) THEN ALTER ROLE mallory SUPERUSER; END IF;
		RETURN 0; END \$\$;\n";
}
is(gives('trap', 'mallory', $traps), '', 'operators and functions are in the schema');
is(gives('trap', 'boss', 'SET search_path = public, pg_catalog; CREATE EXTENSION hilo'), '', 'the extension is created among them');
is(sql('trap', 'SELECT string_agg(DISTINCT what, $$, $$) FROM log'), '', 'and none of them is called by the script');
# As the superuser whose search_path has them in front of pg_catalog: only what is called by hand could be theirs.
is( sql('trap', q{
	SELECT result FROM hilo.attach_all('public');
	SELECT relation, counter, draws FROM hilo.columns;
	INSERT INTO t DEFAULT VALUES;
	SELECT count(*) >= 0 FROM hilo.status;
	ALTER TABLE t ALTER id TYPE bigint;
	SELECT count(*) FROM hilo.sync();
	SELECT result FROM hilo.detach_all('public');
	CREATE TABLE texts (id text PRIMARY KEY);
	SELECT hilo.bind('texts'::text, 'texts'::regclass, 'id'::name);
	DROP TABLE t, texts}), "attached\nt|public.t_id_seq|hilo.nextval\nt\n1\ndetached\n", 'a superuser works beside them');
is(sql('trap', 'SELECT string_agg(DISTINCT by || $$ $$ || what, $$, $$) FROM log'), '', 'and calls none of them');
is(sql('trap', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'}), 'f', 'mallory has not become a superuser');

# The schema of the tables, made before.
sub create_in
{
	my ($db, $set_up, $extension) = @_;
	sql('postgres', "CREATE DATABASE $db OWNER boss");
	sql($db, $set_up);
	return gives($db, 'boss', $extension // 'CREATE EXTENSION hilo');
}
is(create_in('rails', 'SET SESSION AUTHORIZATION boss; CREATE SCHEMA hilo'), '', 'an empty schema of his is taken over');
is(sql('rails', q{SELECT nspowner::regrole FROM pg_namespace WHERE nspname = 'hilo'}), $super, 'it is not his any more');
is( create_in('opened', q{SET SESSION AUTHORIZATION boss; CREATE SCHEMA hilo; GRANT ALL ON SCHEMA hilo TO mallory, PUBLIC WITH GRANT OPTION;} =~ s/, PUBLIC WITH GRANT OPTION/ WITH GRANT OPTION; GRANT ALL ON SCHEMA hilo TO PUBLIC; SET SESSION AUTHORIZATION mallory; GRANT CREATE ON SCHEMA hilo TO app/r),
	'', 'one that others may write');
is( sql('opened', q{SELECT string_agg(DISTINCT CASE grantee WHEN 0 THEN 'public' ELSE grantee::regrole::text END || ' ' || privilege_type, ', ') FROM pg_namespace, aclexplode(nspacl) WHERE nspname = 'hilo' AND grantee <> nspowner}),
	'public USAGE', 'which they may not do afterwards');
is(gives('opened', $_, 'CREATE FUNCTION hilo.drop(int) RETURNS int LANGUAGE sql AS $$SELECT 1$$'), '42501', "$_ cannot put anything there") foreach qw(boss mallory app);
is(create_in('foreign_schema', 'GRANT CREATE ON DATABASE foreign_schema TO mallory; SET SESSION AUTHORIZATION mallory; CREATE SCHEMA hilo'), '42P06', 'a schema of another role is not taken');
is(create_in("full_$_->[0]", "SET SESSION AUTHORIZATION boss; CREATE SCHEMA hilo; $_->[1]"), '42P06', "nor one that has a $_->[0]")
  foreach [ table => 'CREATE TABLE hilo.hilo (a int)' ], [ function => q{CREATE FUNCTION hilo.guard() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'} ],
  [ type => 'CREATE TYPE hilo.x AS (a int)' ], [ sequence => 'CREATE SEQUENCE hilo.s' ], [ privilege => 'ALTER DEFAULT PRIVILEGES IN SCHEMA hilo GRANT ALL ON TABLES TO mallory' ];
is(create_in('together', 'SET SESSION AUTHORIZATION boss; CREATE SCHEMA hilo', 'CREATE EXTENSION hilo SCHEMA hilo'), '42501', 'his schema does not get the tables beside the functions');
is(create_in('defaults', 'SET SESSION AUTHORIZATION boss; ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO mallory; ALTER DEFAULT PRIVILEGES GRANT ALL ON FUNCTIONS TO mallory'), '', 'default privileges of his');
is( sql('defaults', q{SELECT string_agg(relname, ' ') FROM pg_class c WHERE relnamespace = 'hilo'::regnamespace AND c.relkind = 'r'
		AND (has_table_privilege('mallory', c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') OR has_table_privilege('mallory', c.oid, 'SELECT') AND relname <> 'binding')}),
	'', 'give nothing away');
is(gives('defaults', 'mallory', q{SELECT hilo.seed('x', 1)}), '42501', 'nor the functions');

# Those of a superuser neither.
sql('postgres', 'CREATE DATABASE super_defaults');
sql('super_defaults', join(';', map { "ALTER DEFAULT PRIVILEGES GRANT ALL ON $_ TO mallory WITH GRANT OPTION; ALTER DEFAULT PRIVILEGES GRANT ALL ON $_ TO PUBLIC" } qw(SCHEMAS TABLES FUNCTIONS)) .
	'; CREATE EXTENSION hilo');
is( sql('super_defaults', q{SELECT count(*) FROM (SELECT nspacl acl FROM pg_namespace WHERE nspname = 'hilo' UNION ALL SELECT relacl FROM pg_class WHERE relnamespace = 'hilo'::regnamespace
		UNION ALL SELECT proacl FROM pg_proc WHERE (probin LIKE '%hilo%' OR pronamespace = 'hilo'::regnamespace) AND NOT has_function_privilege('public', oid, 'EXECUTE')) o,
		aclexplode(acl) WHERE grantee = 'mallory'::regrole}),
	0, 'those of a superuser neither');
is(gives('super_defaults', 'mallory', $_), '42501', $_) foreach
  q{INSERT INTO hilo.hilo (collection, max) VALUES ('x', 1)}, q{SELECT hilo.seed('x', 1)}, q{CREATE FUNCTION hilo.drop(int) RETURNS int LANGUAGE sql AS 'SELECT 1'},
  q{CREATE TRIGGER t BEFORE INSERT ON hilo.binding FOR EACH ROW EXECUTE FUNCTION hilo.guard('a', 'b')};
is(gives('super_defaults', 'mallory', q{SELECT hilo_next('x')}), 'x/1-A', 'where PUBLIC may draw, he may');
is(sql('super_defaults', q{SELECT count(*) FROM pg_init_privs, aclexplode(initprivs) WHERE grantee = 'mallory'::regrole}), 0, 'nor is any of it recorded for dumps');

# Where functions are not for PUBLIC, those that they are for may draw, and not more.
sql('postgres', 'CREATE DATABASE hardened');
sql('hardened', 'ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC; ALTER DEFAULT PRIVILEGES GRANT EXECUTE ON FUNCTIONS TO mallory; CREATE EXTENSION hilo');
is(gives('hardened', 'mallory', q{SELECT hilo_next('x')}), 'x/1-A', 'who has functions by default draws');
is(gives('hardened', 'mallory', $_), '42501', $_) foreach q{SELECT hilo.seed('x', 1)};

# Names that need quotes.
my $role = q{o'w"n$$e\\r; ALTER ROLE mallory SUPERUSER; --};
my $schema = q{s'c"h$$e\\ma; ALTER ROLE mallory SUPERUSER; --};
(my $quoted_role = qq{"} . ($role =~ s/"/""/gr)) .= '"';
(my $quoted_schema = qq{"} . ($schema =~ s/"/""/gr)) .= '"';
sql('postgres', "CREATE ROLE $quoted_role LOGIN");
sql('postgres', "CREATE DATABASE odd OWNER $quoted_role");
is( gives('odd', $role =~ s/"/""/gr, qq{CREATE SCHEMA $quoted_schema; CREATE EXTENSION hilo SCHEMA $quoted_schema;
	SELECT hilo.seed('x', 5), $quoted_schema.hilo_next('x'); SELECT count(*) FROM hilo.hilo}), "5|x/6-A\n1", 'odd names of role and schema');
is(sql('odd', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'}), 'f', 'are names only');

#
# The way out
#
is(gives('shop', 'boss', 'DROP EXTENSION hilo CASCADE'), '', 'he drops it');
is(sql('shop', q{SELECT count(*) FROM pg_namespace WHERE nspname = 'hilo'}), 0, 'with its schema');
is(gives('shop', 'boss', q{CREATE EXTENSION hilo; SELECT hilo.seed('orders', 5)}), 5, 'and creates it anew');
is(gives('shop', 'boss', q{ALTER EXTENSION hilo UPDATE; COMMENT ON EXTENSION hilo IS 'mine'}), '', 'updates, and describes it');

# In a database of his, a superuser's extension gives him nothing.
sql('postgres', 'CREATE DATABASE ours OWNER boss');
sql('ours', 'CREATE EXTENSION hilo');
is(gives('ours', 'boss', q{SELECT hilo.seed('orders', 5)}), '42501', 'what a superuser has created is not his');

# But he can dump and restore all of it.
my $dir = PostgreSQL::Test::Utils::tempdir;
sql('ours', q{
	SET SESSION AUTHORIZATION boss;
	CREATE TABLE orders (id serial PRIMARY KEY, item text);
	SELECT hilo.attach('orders');
	INSERT INTO orders (item) VALUES ('tea')});
$node->command_ok([ 'pg_dump', '-U', 'boss', '-Fc', '-f', "$dir/ours", 'ours' ], 'he can dump it');
sql('postgres', 'CREATE DATABASE copy OWNER boss');
sql('copy', 'CREATE EXTENSION hilo');
$node->command_ok([ 'pg_restore', '-U', 'boss', '-L', listed("$dir/ours"), '-d', 'copy', "$dir/ours" ], 'and restore it beside a superuser\'s extension');
is(gives('copy', 'boss', q{INSERT INTO orders (item) VALUES ('milk') RETURNING id > 1}), 't', 'the table is attached there');
is(sql('copy', q{SELECT relation, counter, draws FROM hilo.columns}), 'orders|public.orders_id_seq|hilo.nextval', 'as it was');

# When the role that created the extension is dropped, versions before 17 keep its privileges as the first ones, by its OID: what operations.md says to do about it.
sql('postgres', 'CREATE ROLE keeper LOGIN; CREATE ROLE maker LOGIN; CREATE DATABASE made; CREATE DATABASE remade; GRANT CREATE ON DATABASE made TO maker');
is(gives('made', 'maker', 'CREATE EXTENSION hilo'), '', 'a role that owns nothing else creates the extension');
my $maker = sql('postgres', q{SELECT oid FROM pg_roles WHERE rolname = 'maker'});
sql('made', 'REASSIGN OWNED BY maker TO keeper; DROP OWNED BY maker; DROP ROLE maker');
is(gives('made', 'keeper', q{SELECT hilo.seed('orders', 5)}), '42501', 'its rights are not passed on');
sql('made', 'GRANT EXECUTE ON FUNCTION hilo.seed TO keeper');
is(gives('made', 'keeper', q{SELECT hilo.seed('orders', 5)}), '5', 'but can be granted');
$node->command_ok([ 'pg_dump', '-Fc', '-f', "$dir/made", 'made' ], 'a dump');
sql('postgres', qq{CREATE ROLE "$maker"}) if $node->safe_psql('postgres', 'SHOW server_version_num') < 170000;
$node->command_ok([ 'pg_restore', '-e', '-d', 'remade', "$dir/made" ], 'it can be restored without an error');
is(gives('remade', 'keeper', q{SELECT hilo.seed('orders', 6)}), '6', 'with what was granted');

# He drops the extension while a superuser's statement goes on drawing, and puts tables of his own in its place: no code of his runs there.
sql('postgres', 'CREATE DATABASE swapped OWNER boss');
is(gives('swapped', 'boss', 'CREATE EXTENSION hilo; CREATE TABLE hilo (LIKE hilo.hilo); CREATE TABLE binding (LIKE hilo.binding)'), '', 'he copies its tables');
my $victim = session($node, dbname => 'swapped');
$victim->query_safe(q{BEGIN; DECLARE c CURSOR FOR SELECT hilo_next('a' || g) FROM generate_series(1, 9) g});
is($victim->query('FETCH c'), 'a1/1-A', 'a superuser draws');
is( gives('swapped', 'boss', q{
		DROP EXTENSION hilo;
		CREATE SCHEMA hilo;
		GRANT USAGE ON SCHEMA hilo TO PUBLIC;
		ALTER TABLE hilo SET SCHEMA hilo;
		ALTER TABLE binding SET SCHEMA hilo;
		CREATE UNIQUE INDEX ON hilo.hilo (collection);
		CREATE INDEX ON hilo.binding (collection);
		CREATE TABLE log (who text);
		GRANT INSERT ON log TO PUBLIC;
		CREATE FUNCTION note() RETURNS void LANGUAGE sql AS 'INSERT INTO public.log VALUES (current_user)';
		CREATE FUNCTION evil(text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM public.note(); RETURN $1; END';
		CREATE INDEX ON hilo.hilo (evil(collection))}), '', 'he puts them in the place of the extension');
is($victim->error_of('FETCH c'), '42704', 'the statement ends');
$victim->query('COMMIT');
$victim->finish;
is(sql('swapped', 'SELECT count(*) FROM log'), 0, 'and his function was not called');

# Strings in which a backslash escapes, which versions before 19 still have.
if ($node->pg_version < 19)
{
	$node->safe_psql('postgres', q{CREATE EXTENSION IF NOT EXISTS hilo; CREATE TABLE "back\slash" (id serial PRIMARY KEY)});
	my $way = q{SET standard_conforming_strings = off; SET escape_string_warning = off};
	is($node->safe_psql('postgres', qq{$way; SELECT hilo.$_('"back\\\\slash"') LIKE '%nextval(%'}), 't', "$_ with escaped strings") for qw(attach detach);
}
$node->stop;
done_testing();
