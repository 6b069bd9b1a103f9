# Promise 12: whatever a hub answers, a member draws no number that it may not have, and is whole again at the next honest answer.
use HiloTest;

# What looks like a hub: the rows of a table are its answers.
my $hub = server('hub', '', q{
	CREATE SCHEMA hilo_hub;
	CREATE TABLE answer (hub text, opening text, opening_id text, low text, high text, then_do text, place serial);
	CREATE FUNCTION hilo_hub.lease(collection text, count bigint, known_opening bigint, known_id bigint)
		RETURNS TABLE (hub text, opening text, opening_id text, low text, high text) LANGUAGE plpgsql AS $$
	DECLARE todo text;
	BEGIN
		FOR todo IN SELECT then_do FROM answer WHERE then_do IS NOT NULL LOOP
			EXECUTE todo;
		END LOOP;
		RETURN QUERY SELECT a.hub, a.opening, a.opening_id, a.low, a.high FROM answer a ORDER BY place;
	END $$});

sub answers_are
{
	my @rows = @_;
	$hub->safe_psql('postgres', 'TRUNCATE answer; ' . join '; ', map { my $row = $_;
		'INSERT INTO answer (hub, opening, opening_id, low, high, then_do) VALUES (' . join(', ', map { defined $row->[$_] ? '$q$' . $row->[$_] . '$q$' : 'NULL' } 0 .. 5) . ')' } @rows);
	return;
}

answers_are([ 77, 1, 5 ]);
my $set_clock = clock_setter();
my $member = hub_node('member', '');
$member->safe_psql('postgres', hub_server('hub', $hub));
is(outcome_of($member, q{SELECT hilo_hub.join('hub')}), 'fine', 'it looks like a hub');
answers_are([ 77, 1, 5, 11, 12 ]);
is($member->safe_psql('postgres', q{SELECT hilo_next_number('orders') FROM generate_series(1, 2)}), "11\n12", 'and answers like one');

my $highest = 12;
my @strange = (
	[ 'no row' => qr/makes no sense/ ],
	[ 'two rows' => qr/makes no sense/, [ 77, 1, 5, 20, 21 ], [ 77, 1, 5, 30, 31 ] ],
	[ 'nulls' => qr/makes no sense/, [ 77, 1, 5 ] ],
	[ 'text' => qr/makes no sense/, [ 77, 1, 5, 'x', '21' ] ],
	[ 'a fraction' => qr/makes no sense/, [ 77, 1, 5, '20.0', '21' ] ],
	[ 'nothing' => qr/makes no sense/, [ 77, 1, 5, '', '21' ] ],
	[ 'a negative number' => qr/makes no sense/, [ 77, 1, 5, -20, -19 ] ],
	[ 'low above high' => qr/makes no sense/, [ 77, 1, 5, 21, 20 ] ],
	[ 'more than a bigint' => qr/makes no sense/, [ 77, 1, 5, 20, '9223372036854775808' ] ],
	[ 'more than was asked for' => qr/makes no sense/, [ 77, 1, 5, 20, 2000 ] ],
	[ 'all there is' => qr/makes no sense/, [ 77, 1, 5, 1, '9223372036854775807' ] ],
	[ 'a range near the end' => qr/far above/, [ 77, 1, 5, '9223372036854775807', '9223372036854775807' ] ],
	[ 'a range in the middle of nowhere' => qr/far above/, [ 77, 1, 5, '4611686018427387903', '4611686018427387904' ] ],
	[ 'numbers that were leased' => qr/were drawn here/, [ 77, 1, 5, 12, 13 ] ],
	[ 'the opening 0' => qr/makes no sense/, [ 77, 0, 5, 20, 21 ] ],
	[ 'the opening -1' => qr/makes no sense/, [ 77, -1, 5, 20, 21 ] ],
	[ 'another id' => qr/two servers/, [ 77, 1, 6, 20, 21 ] ],
	[ 'another hub' => qr/another hub/, [ 78, 1, 5, 20, 21 ] ],
	[ 'an error' => qr/the hub says: %s %n/, [ 77, 1, 5, 20, 21, q{DO $d$ BEGIN RAISE EXCEPTION '%', '%s %n' USING ERRCODE = '57014'; END $d$} ] ],
	[ 'a long error' => qr/the hub says: \x{20ac}*/, [ 77, 1, 5, 20, 21, q{DO $d$ BEGIN RAISE EXCEPTION '%', repeat(chr(8364), 9000); END $d$} ] ],
	[ 'many rows' => qr/too long/, map { [ 77, 1, 5, 20, 'x' x 900 ] } 1 .. 200 ],
	[ 'a row without an end' => qr/too long/, [ 77, 1, 5, 20, 'y' x 300_000 ] ],
	[ 'an end' => qr/lost the hub|hub says: terminating|did not answer|server closed/, [ 77, 1, 5, 20, 21, 'SELECT pg_terminate_backend(pg_backend_pid())' ] ],
	[ 'silence' => qr/within 5000 ms|statement timeout/, [ 77, 1, 5, 20, 21, 'SELECT pg_sleep(600)' ] ]);
foreach my $case (@strange)
{
	my ($what, $error, @rows) = @$case;

	answers_are(@rows);
	my $outcome = outcome_of($member, q{SELECT hilo_next_number('orders')});
	like($outcome, qr/^55000/, "$what: refused");
	like($outcome, $error, "$what: with the reason");
	is(max_of($member, 'orders'), $highest, "$what: nothing is counted");
	$highest += 10;
	answers_are([ 77, 1, 5, $highest, $highest ]);
	is($member->safe_psql('postgres', q{SELECT hilo_next_number('orders')}), $highest, "$what: the next answer is drawn from");
}

# A field more, a later opening.
answers_are([ 77, 9, 6, 1000, 1001 ]);
is($member->safe_psql('postgres', q{SELECT hilo_next_number('orders') FROM generate_series(1, 2)}), "1000\n1001", 'a later opening');
answers_are([ 77, 8, 5, 1010, 1011 ]);
like(outcome_of($member, q{SELECT hilo_next_number('orders')}), qr/not the hub any more/, 'after which an earlier one is refused');
kill_server($member);
$member->start;
like(outcome_of($member, q{SELECT hilo_next_number('orders')}), qr/not the hub any more/, 'also after a crash');

# Ahead of need, a draw does not fail, and asks at most once in half a minute.
answers_are([ 77, 9, 6, 2001, 3024 ]);
is($member->safe_psql('postgres', q{SELECT max(hilo_next_number('orders')) FROM generate_series(1, 2)}), '2002', 'a lease');
$hub->safe_psql('postgres', 'CREATE SEQUENCE asked');
answers_are([ 1, 1, 1, 1, 1, q{SELECT nextval('asked')} ]);
my $asked = sub { return $hub->safe_psql('postgres', 'SELECT last_value FROM asked WHERE is_called') || 0 };
is($member->safe_psql('postgres', q{SELECT count(*) FROM (SELECT hilo_next_number('orders') FROM generate_series(1, 800)) n}), '800',
	'strange answers: no draw fails that has numbers');
my $by = 0;
foreach my $direction (1, -1)
{
	my $before = $asked->();

	# An attempt may have been too slow to reach the hub.
	wait_until('the hub is asked', sub { $set_clock->($by += 31 * $direction); $member->safe_psql('postgres', q{SELECT hilo_next_number('orders')}); $asked->() > $before });
	wait_until_alone($hub);
	$before = $asked->();
	is((at_once(map { [ $member, q{SELECT hilo_next_number('orders')} ] } 1 .. 8))[0], '', 'eight sessions do not fail either');
	is($asked->(), $before, 'and the hub is left alone for half a minute, by a clock that was set ' . ($direction > 0 ? 'forward' : 'back'));
}

is(left_behind($member), '', 'nothing in the log');
$_->stop for $hub, $member;

done_testing();
