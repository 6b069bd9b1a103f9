# As a sequence counts: over all sessions no draw returns a lower number than one that had returned before it began; and reconnects, DISCARD ALL and a clean restart leave no gap.
use HiloTest;

# HILO_DRAWS chooses how many numbers are drawn.
my $DRAWS = $ENV{HILO_DRAWS} // 60_000;
my $SESSIONS = 4;
my $each = int($DRAWS / $SESSIONS);
my $node = server('order', "fsync = off\n", 'CREATE EXTENSION hilo; CREATE SEQUENCE s; CREATE SEQUENCE turns');
$node->safe_psql('postgres', "CREATE UNLOGGED TABLE drawn_$_ (began timestamptz, number bigint, ended timestamptz)") foreach 1 .. $SESSIONS;
$node->safe_psql('postgres', <<'SQL');
CREATE PROCEDURE draw(into_table regclass, count int) LANGUAGE plpgsql AS $$
DECLARE
	began timestamptz;
	n bigint;
	-- The clock shows microseconds, so some draws seem to end when others begin.
	insertion text := format('INSERT INTO %s VALUES ($1, $2, $3)', into_table);
BEGIN
	FOR i IN 1 .. count LOOP
		began := clock_timestamp();
		n := hilo.nextval('s');
		EXECUTE insertion USING began, n, clock_timestamp();
		IF i % 1000 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
END $$;
SQL

my @sessions = map { session($node) } 1 .. $SESSIONS;
$sessions[ $_ - 1 ]->start("CALL draw('drawn_$_', $each)") foreach 1 .. $SESSIONS;
$_->result foreach @sessions;
$_->finish foreach @sessions;

my $all = join ' UNION ALL ', map { "SELECT * FROM drawn_$_" } 1 .. $SESSIONS;
is($node->safe_psql('postgres', "SELECT count(*), count(DISTINCT number), max(number) FROM ($all) d"),
	join('|', ($each * $SESSIONS) x 3), "$SESSIONS sessions: no number twice, and none left out");
is($node->safe_psql('postgres', <<"SQL"), 0, 'no number is lower than one that had returned before the draw began');
SELECT count(*) FROM (
	SELECT number, is_end, max(number) FILTER (WHERE is_end) OVER (ORDER BY at, is_end ROWS UNBOUNDED PRECEDING) AS highest
	FROM (SELECT began AS at, false AS is_end, number FROM ($all) d UNION ALL SELECT ended, true, number FROM ($all) d) e) o
WHERE NOT is_end AND number < highest
SQL

#
# Two sessions in turn, with all that makes a cache of a session's own lose its numbers
#
my @turns = map { session($node) } 1, 2;
my @numbers;
for my $round (1 .. 12)
{
	foreach my $i (0, 1)
	{
		push @numbers, scalar $turns[$i]->query("SELECT hilo.nextval('turns')");
		$turns[$i]->query('DISCARD ALL') if $round % 3 == 0;
		if ($round % 4 == 0)
		{
			$turns[$i]->finish;
			$turns[$i] = session($node);
		}
	}
	next if $round % 6;
	$_->finish foreach @turns;
	$node->restart;
	@turns = map { session($node) } 1, 2;
}
is("@numbers", join(' ', 1 .. 24), 'two sessions in turn, over DISCARD ALL, reconnects and clean restarts: no gap, and in order');
is($node->safe_psql('postgres', 'SELECT last_value FROM turns'), 24, 'last_value is the number drawn last');
$_->finish foreach @turns;

$node->stop;
done_testing();
