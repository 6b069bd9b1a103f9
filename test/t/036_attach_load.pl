# A table of a million rows with a serial column is attached while eight clients insert: all wait no longer than for the lock, none fails but by an id that another one gives by hand at the same moment, and no id comes twice.
use HiloTest;

my $CLIENTS = 8;
my $node = server('attach', "autovacuum = off\nfsync = off\nmax_wal_size = 2GB\nlog_statement = none\n");

sub sql { return $node->safe_psql('postgres', $_[0]); }

sql(q{
	CREATE EXTENSION hilo;
	CREATE TABLE orders (id bigserial PRIMARY KEY, client int, kind text);
	INSERT INTO orders (client, kind) SELECT 0, 'old' FROM generate_series(1, 1000000);
	CREATE TABLE done (round int, attached boolean, client int, kind text);
	CREATE TABLE failed (round int, attached boolean, client int, kind text, state text, id bigint);
	CREATE TABLE stop (round int);

	CREATE FUNCTION is_attached() RETURNS boolean LANGUAGE sql AS
		$$ SELECT EXISTS (SELECT FROM pg_attrdef WHERE adrelid = 'orders'::regclass AND pg_get_expr(adbin, adrelid) LIKE 'hilo.nextval(%') $$;

	-- The next number above a limit that is this client's own to give by hand.
	CREATE FUNCTION own_above(client int, low bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
		$$ SELECT low + 1 + (client - low % 8 + 15) % 8 $$;

	-- Insert in one of the ways, and note what becomes of it.
	CREATE FUNCTION put(round int, client int, kind text) RETURNS void LANGUAGE plpgsql AS $$
	DECLARE
		attached boolean := is_attached();
		high bigint := (SELECT last_value FROM orders_id_seq);
		id bigint;
		conflict text;
	BEGIN
		BEGIN
			CASE kind
				WHEN 'default' THEN
					INSERT INTO orders (client, kind) VALUES (client, kind);
				WHEN 'many' THEN
					INSERT INTO orders (client, kind) SELECT put.client, put.kind FROM generate_series(1, 20);
				WHEN 'far' THEN
					id := own_above(client, (SELECT max(o.id) FROM orders o) + 1000000 + client * 100000);
					INSERT INTO orders VALUES (id, client, kind);
				WHEN 'above' THEN
					id := own_above(client, high);
					INSERT INTO orders VALUES (id, client, kind);
			END CASE;
			INSERT INTO done VALUES (round, attached, client, kind);
		EXCEPTION WHEN OTHERS THEN
			GET STACKED DIAGNOSTICS conflict = PG_EXCEPTION_DETAIL;
			-- It may have waited for just that.
			INSERT INTO failed VALUES (round, attached OR is_attached(), client, kind, SQLSTATE, substring(conflict FROM '\(id\)=\((\d+)\)')::bigint);
		END;
	END $$;

	-- What a client does until it is told to stop.  Beside a sequence ids near its
	-- own are not given by hand: it would meet them.
	CREATE PROCEDURE client(round int, me int) LANGUAGE plpgsql AS $$
	DECLARE
		kinds text[];
	BEGIN
		WHILE NOT EXISTS (SELECT FROM stop s WHERE s.round = client.round) LOOP
			kinds := CASE WHEN is_attached() THEN '{default,far,default,above,many,default}'::text[] ELSE '{default,many,default,far}' END;
			FOR i IN 1 .. array_length(kinds, 1) LOOP
				PERFORM put(round, me, kinds[i]);
				COMMIT;
			END LOOP;
		END LOOP;
	END $$;
});

# Start clients, each a session that calls the procedure.
sub start_inserts
{
	my ($round) = @_;
	my @clients = map { session($node) } 1 .. $CLIENTS;

	$clients[$_]->start("CALL client($round, $_)") for keys @clients;
	return @clients;
}

# Wait until each client has got through inserts of each kind so often.
sub wait_for_inserts
{
	my ($round, $attached, $least, @kinds) = @_;
	my $list = join ', ', map { "'$_'" } @kinds;

	wait_until("each client has inserted $list", sub {
		sql(qq{SELECT count(*) = $CLIENTS * @{[ scalar @kinds ]} FROM (SELECT FROM done
			WHERE round = $round AND attached = $attached AND kind IN ($list)
			GROUP BY client, kind HAVING count(*) >= $least) d}) eq 't';
	});
	return;
}

sub stop_inserts
{
	my ($round, @clients) = @_;

	sql("INSERT INTO stop VALUES ($round)");
	is(join('', map { ($_->result)[1] } @clients), '', "round $round: no client ended in an error");
	$_->finish for @clients;
	return;
}

#
# Attach under load
#
my @clients = start_inserts(1);
wait_for_inserts(1, 'false', 10, qw(default many far));
my $default = $node->safe_psql('postgres', q{SET client_min_messages = warning; SELECT hilo.attach('orders')});
wait_for_inserts(1, 'true', 20, qw(default many far above));
is($default, q{hilo.nextval('public.orders_id_seq'::regclass)}, 'attached: its new default');
is(sql('SELECT is_attached()'), 't', 'by its default');
stop_inserts(1, @clients);

sub check
{
	my ($round) = @_;

	is(sql(q{SELECT count(*) = count(DISTINCT id) FROM orders}), 't', "round $round: ids are distinct");
	is( sql(q{SELECT (SELECT count(*) FROM orders) = 1000000 + sum(CASE kind WHEN 'many' THEN 20 ELSE 1 END) FROM done}),
		't', "round $round: each insert that was noted is there, and no other");

	# Every failure is of one kind.
	is( sql(q{SELECT string_agg(DISTINCT state, ',') FILTER (WHERE state <> '23505') FROM failed}),
		'', "round $round: nothing failed but by an id that is there");
	is(sql(q{SELECT count(*) FROM failed WHERE NOT attached}), 0, "round $round: none before it was attached");
	is(sql(q{SELECT count(*) FROM failed WHERE kind = 'far'}), 0, "round $round: none with an id far above");
	is( sql(q{SELECT count(*) FROM failed f WHERE NOT EXISTS (SELECT FROM orders o WHERE o.id = f.id)}),
		0, "round $round: the id that it met is known");
	is( sql(q{SELECT count(*) FROM failed f JOIN orders o USING (id) WHERE f.kind IN ('default', 'many') AND o.kind <> 'above'}),
		0, "round $round: what was drawn met only ids given by hand near the sequence's own");
	note(sql(q{SELECT string_agg(format('%s of %s %s', failed, failed + done, kind), ', ' ORDER BY kind) FROM
		(SELECT kind, count(*) AS done FROM done WHERE attached GROUP BY kind) d
		JOIN (SELECT kind, count(*) AS failed FROM failed GROUP BY kind) f USING (kind)}) . ' failed');
	return;
}
check(1);
is(sql(q{SELECT last_value > 1000000 FROM orders_id_seq}), 't', 'the sequence counts');

#
# Afterwards eight new clients go on
#
@clients = start_inserts(2);
wait_for_inserts(2, 'true', 20, qw(default many far above));
stop_inserts(2, @clients);
check(2);

#
# And without ids given by hand nothing fails, whatever was given before
#
sql(q{TRUNCATE failed});
is( at_once(map { [ $node, "INSERT INTO orders (client, kind) SELECT $_, 'last' FROM generate_series(1, 5000)" ] } 0 .. $CLIENTS - 1),
	'', 'draws of all clients go on');
is(sql(q{SELECT count(*), count(DISTINCT id) FROM orders WHERE kind = 'last'}), '40000|40000', 'with ids of their own');

#
# Ids given by hand just above what a session has drawn: none of its inserts fails
#
my $holder = session($node);
$holder->query('INSERT INTO orders SELECT FROM generate_series(1, 1000)');
my $id = $holder->query('INSERT INTO orders VALUES (DEFAULT) RETURNING id');
sql("INSERT INTO orders SELECT generate_series($id + 1, $id + 30) ON CONFLICT DO NOTHING");
is(join('', map { ($holder->query('INSERT INTO orders VALUES (DEFAULT)'))[1] } 1 .. 40), '', 'ids just above what a session has drawn: no insert fails');
is(sql('SELECT count(*) = count(DISTINCT id) FROM orders'), 't', 'and no id is there twice');
$holder->finish;

$node->stop;
done_testing();
