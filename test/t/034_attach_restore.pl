# A table that is attached to its sequence meets no id, whatever is done to it: dumped alone and restored, in one transaction too, beside an older counter, dropped and made again, restarted, loaded as a schema, given partitions that bring rows along.
use HiloTest;

my $dir = PostgreSQL::Test::Utils::tempdir;
my $node = server('restore', "wal_level = minimal\nmax_wal_senders = 0\nautovacuum = off\n");

sub sql
{
	my ($db, $query) = @_;
	return $node->safe_psql($db, "SET client_min_messages = warning;\n$query");
}

# Inserts in three sessions, of which one holds a range: no error, no id twice.
sub inserts_go_on
{
	my ($db, $table, $row, $what) = @_;
	my $before = sql($db, "SELECT count(*) FROM $table");
	my $holder = session($node, dbname => $db);
	my $errors = '';

	foreach (1 .. 4)
	{
		$errors .= ($holder->query("INSERT INTO $table $row"))[1];
		my (undef, undef, $err) = $node->psql($db, "INSERT INTO $table $row; INSERT INTO $table $row");
		$errors .= $err;
	}
	is($errors, '', "$what: no error");
	is(sql($db, "SELECT count(*) - $before, count(*) - count(DISTINCT id) FROM $table"), '12|0', "$what: no id twice");
	$holder->finish;
	return;
}

#
# A partitioned table, dumped alone and restored; a partition added, with rows
#
new_database($node, 'source', q{
	SET client_min_messages = warning;
	CREATE EXTENSION hilo;
	CREATE TABLE parts (id bigserial, part int, PRIMARY KEY (id, part)) PARTITION BY LIST (part);
	CREATE TABLE part_1 PARTITION OF parts FOR VALUES IN (1);
	SELECT hilo.attach('parts', 'id');
	INSERT INTO parts (part) SELECT 1 FROM generate_series(1, 5);
	CREATE TABLE orders (id serial PRIMARY KEY, item text);
	SELECT hilo.attach('orders');
	INSERT INTO orders (item) SELECT 'x' FROM generate_series(1, 20);
	CREATE TABLE shared (id bigint PRIMARY KEY DEFAULT hilo_next_number('common'));
	SELECT hilo.bind('common', 'shared', 'id');
	INSERT INTO shared SELECT FROM generate_series(1, 20)});
restore_sql($node, dump_to("$dir/parts.sql", $node, 'source', '-t', 'parts', '-t', 'part_1'), new_database($node, 'parts_copy', 'CREATE EXTENSION hilo'));
sql('parts_copy', q{
	ALTER TABLE parts DISABLE TRIGGER ALL;
	ALTER TABLE parts ENABLE TRIGGER ALL;
	CREATE TABLE part_2 (id bigint NOT NULL, part int NOT NULL, PRIMARY KEY (id, part));
	INSERT INTO part_2 SELECT i, 2 FROM generate_series(6, 1000) i;
	ALTER TABLE parts ATTACH PARTITION part_2 FOR VALUES IN (2)});
inserts_go_on('parts_copy', 'parts', '(part) VALUES (1)', 'a partitioned table restored, and a partition added');
is(sql('parts_copy', 'SELECT min(id) FROM parts WHERE part = 1 AND id > 5'), 1001, 'its draws are above what the partition brought');

#
# Dropped, and restored into a database whose counter is older; elsewhere
#
dump_to("$dir/$_.sql", $node, 'source', '-t', $_) foreach qw(orders shared);
new_database($node, 'older', q{
	SET client_min_messages = warning;
	CREATE EXTENSION hilo;
	CREATE TABLE orders (id serial PRIMARY KEY, item text);
	SELECT hilo.attach('orders');
	INSERT INTO orders (item) SELECT 'x' FROM generate_series(1, 3);
	CREATE TABLE shared (id bigint PRIMARY KEY DEFAULT hilo_next_number('common'));
	SELECT hilo.bind('common', 'shared', 'id');
	INSERT INTO shared SELECT FROM generate_series(1, 3);
	DROP TABLE orders, shared});
restore_sql($node, "$dir/orders.sql", 'older');
restore_sql($node, "$dir/shared.sql", 'older');
inserts_go_on('older', 'orders', 'DEFAULT VALUES', 'restored beside an older counter, a sequence');
inserts_go_on('older', 'shared', 'DEFAULT VALUES', 'restored beside an older counter, a collection');
# With another BEFORE trigger, whatever its name.
sql('older', q{
	CREATE FUNCTION touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.item := now(); RETURN NEW; END';
	CREATE TRIGGER a_touch BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION touch();
	INSERT INTO orders SELECT generate_series(last_value + 3, last_value + 20) FROM orders_id_seq});
inserts_go_on('older', 'orders', 'DEFAULT VALUES', 'with a trigger of its own');

new_database($node, 'elsewhere', 'CREATE EXTENSION hilo');
restore_sql($node, "$dir/orders.sql", 'elsewhere');
restore_sql($node, "$dir/shared.sql", 'elsewhere');
sql('elsewhere', q{SELECT hilo.bind('common', 'shared', 'id')});
is(sql('elsewhere', 'SELECT relation, column_name, counter, now FROM hilo.sync() ORDER BY counter COLLATE "C"'), "shared|id|common|20\norders|id|public.orders_id_seq|20",
	'elsewhere hilo.sync() finds both, by the default and by the binding');
inserts_go_on('elsewhere', $_, 'DEFAULT VALUES', "elsewhere, $_") foreach qw(orders shared);

# A whole restore in one transaction: CREATE, the rows, and the default.
pg_restore($node, dump_to("$dir/orders.custom", $node, 'source', '-Fc', '-t', 'orders'), new_database($node, 'single', 'CREATE EXTENSION hilo'), '-1');
inserts_go_on('single', 'orders', 'DEFAULT VALUES', 'restored in one transaction');
is( sql('single', q{
		BEGIN;
		CREATE TABLE once (id bigserial PRIMARY KEY);
		SELECT hilo.attach('once') \g /dev/null
		INSERT INTO once SELECT generate_series(1, 100);
		INSERT INTO once DEFAULT VALUES RETURNING id;
		COPY once FROM STDIN;
102
103
\.
		INSERT INTO once DEFAULT VALUES RETURNING id;
		COMMIT}), "101\n104", 'CREATE, explicit ids and the default in one transaction');

#
# Restarted before it is attached; dropped and made again, with a smaller type
#
sql('single', 'CREATE TABLE restarted (id serial PRIMARY KEY); ALTER SEQUENCE restarted_id_seq RESTART WITH 5000');
is(sql('single', q{SELECT hilo.attach('restarted') \g /dev/null
	INSERT INTO restarted DEFAULT VALUES RETURNING id}), 5000, 'a sequence that was restarted goes on there');
foreach my $type ('bigserial', 'serial', 'smallserial')
{
	is(sql('single', qq{CREATE TABLE again (id $type PRIMARY KEY); SELECT hilo.attach('again'); INSERT INTO again SELECT FROM generate_series(1, 50);
		SELECT max(id) FROM again; DROP TABLE again}), "hilo.nextval('public.again_id_seq'::regclass)\n50", "made again as $type, it begins anew");
}

# A schema that a program has loaded: its default is all there is.
restore_sql($node, dump_to("$dir/schema.sql", $node, 'source', '-s', '-t', 'orders'), new_database($node, 'loaded', 'CREATE EXTENSION hilo'));
is(sql('loaded', 'SELECT relation, column_name, counter, draws, index FROM hilo.columns'), 'orders|id|public.orders_id_seq|hilo.nextval|orders_pkey', 'a schema that was loaded: it is attached');
sql('loaded', 'INSERT INTO orders SELECT generate_series(1, 30)');
inserts_go_on('loaded', 'orders', 'DEFAULT VALUES', 'a schema that was loaded, and rows');
is(sql('loaded', q{SELECT hilo.detach('orders')}), q{nextval('public.orders_id_seq'::regclass)}, 'and can be detached');

#
# Made, attached and killed under wal_level = minimal
#
my $session = session($node, dbname => 'loaded');
$session->query_safe(q{
	BEGIN;
	SET client_min_messages = warning;
	DROP EXTENSION hilo;
	CREATE EXTENSION hilo;
	CREATE TABLE minimal (id bigserial PRIMARY KEY);
	SELECT hilo.attach('minimal');
	INSERT INTO minimal SELECT FROM generate_series(1, 5000);
	COMMIT});
my $shown = $session->query('BEGIN; INSERT INTO minimal DEFAULT VALUES RETURNING id');
kill_server($node);
$session->hang_up;
$node->start;
is(sql('loaded', 'SELECT count(*) FROM minimal'), 5000, 'wal_level = minimal: the table is there after kill -9');
cmp_ok(sql('loaded', 'INSERT INTO minimal DEFAULT VALUES RETURNING id'), '>', $shown, 'and goes on above what was shown');

$node->stop;
done_testing();
