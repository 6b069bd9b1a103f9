#!/bin/sh
# mutants.sh: check that mistakes are found.  Builds the extension with one mistake after
# another, each in a copy, and runs what has to find it: torture, or a check
# below.
#
#   sh test/torture/mutants.sh [--no-install | --upgrade] [--list | --fit] [NAME...]
#
# Without a name all of them, after a run without a mistake, which has to pass.  The
# exit code is 0 if all were found; with --fit, if all can be made.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd) || exit 1
. "$top/test/lib.sh"
list= fit=
usage() { echo "usage: sh test/torture/mutants.sh [--no-install | --upgrade] [--list | --fit] [NAME...]" >&2; exit 2; }
while [ $# -gt 0 ]; do
    case $1 in
        --list) list=yes ;;
        --fit) fit=yes ;;
        -*) usage ;;
        *) break ;;
    esac
    shift
done

# Run torture in the copy, for so many minutes: found if a failure has the text.
torture() {
    sh "$copy/test/torture/run.sh" --no-install "$1" 1 >"$work/tmp/log" 2>&1
    if [ "$2" = good ]; then
        grep '^verdict: good' "$work/tmp/log" >/dev/null
    else
        grep "^FAILURE .*\($2\)" "$work/tmp/log" >/dev/null && grep '^verdict: failed' "$work/tmp/log" >/dev/null
    fi
}

# Run a test of test/t in the copy: found if one with that name fails.
tap() {
    sh "$copy/test/check.sh" --no-install "$copy/test/t/$1" >"$work/tmp/log" 2>&1
    grep "\(Failed test .*\|IPC::Run: .*\)\($2\)" "$work/tmp/log" >/dev/null
}

# Run a test of test/sql or test/specs in the copy: found if its output differs in a line like that.
sql() {
    sh "$copy/test/check.sh" --no-install "$copy/test/$1" >"$work/tmp/log" 2>&1
    grep "$2" "$work/tmp/log" >/dev/null
}

# A number of a piece that another session claimed without waiting for the
# synchronous standby, which does not answer, must not be shown to one that waits.
# Found, if the second argument is "shown", when it is.
standby() (
    top=$copy
    server=$work/standby
    as_user mkdir "$server" "$server/src" "$server/dest" "$server/tmp"
    work=$server
    copy_checkout
    build >"$work/tmp/build.log" 2>&1
    start_server <<SETTINGS
shared_preload_libraries = 'hilo'
SETTINGS
    sql="as_user $bindir/psql -XAtq"
    $sql -c "CREATE EXTENSION hilo" -c "SELECT hilo.configure('a', range_size => 32)" -c "ALTER SYSTEM SET synchronous_standby_names = 'silent'" -c "SELECT pg_reload_conf()" >/dev/null
    sleep 1
    $sql -c "SET synchronous_commit = local" -c "SELECT hilo_next_number('a')" >/dev/null
    sleep 1
    pooled=$($sql -c "SELECT count(*) FROM hilo.pool")
    shown=$($sql -c "SET statement_timeout = '2s'" -c "SELECT hilo_next_number('a')" 2>>"$work/tmp/log")
    as_user "$bindir/pg_ctl" -D "$work/server/data" -s -m immediate stop
    echo "pooled pieces: $pooled; shown: ${shown:-nothing}" >>"$work/../tmp/log"
    [ "$pooled" = 1 ] || exit 1
    if [ "$1" = shown ]; then [ "$shown" = 2 ]; else [ -z "$shown" ]; fi
)

# In a file of src of the copy, replace a text by another; it has to
# occur exactly once.
replace() {
    perl -e '
        my ($file, $old, $new) = @ARGV;
        local $/;
        open(my $in, "<", $file) or die "$file: $!\n";
        my $text = <$in>;
        my $found = () = $text =~ /\Q$old\E/g;
        die "$file has this $found times, not once:\n$old\n" if $found != 1;
        $text =~ s/\Q$old\E/$new/;
        open(my $out, ">", $file) or die "$file: $!\n";
        print $out $text;
        close($out) or die "$file: $!\n";' "$copy/src/$1" "$2" "$3" ||
        misfit=yes
}

#
# Mistakes: what is broken, by replace; and what finds it, with what it says
#
names='none flush news heed epoch standby held-local take-in generation home guard joined leak forget leave sqlstate note-late note-own note-begin note-fold note-old note-small ends terms own-draws resume reports asked no-standby seq-flush seq-as-it-is seq-ahead seq-notes seq-copy seq-standby seq-held seq-cached seq-message seq-right seq-reserve seq-row seq-cache seq-step seq-logged seq-failed seq-restore seq-lock look-none look-abort look-message look-locked look-partial look-parts look-window look-limit look-open look-text look-separator look-tag look-form look-stranger look-many look-left reserve-left look-pooled look-passed look-invalid look-empty look-rest look-block look-code look-rewrite look-living'
mutant() {
    case $1 in
        none)
            about="no mistake"
            look() { torture 0.7 good && standby nothing; } ;;
        flush)
            about="claims are not flushed"
            replace counting/row.c '	XLogFlush(lsn);
' ''
            look() { torture 0.5 'repeated: '; } ;;
        news)
            about="other sessions do not hear of a forced seed"
            replace counting/catalog.c '	SendSharedInvalidMessages(&message, 1);
' ''
            look() { torture 0.4 'had returned'; } ;;
        heed)
            about="a session that reads rows without having opened the table does not hear of changes to them"
            replace counting/row.c '		hilo_catalog_heed(HILO_TABLE_COUNTERS, ref->table);
' ''
            look() { tap 071_one_mode.pl 'what it holds ends when the counter is set'; } ;;
        epoch)
            about="ranges of another epoch are good"
            replace counting/counter.c 'row->epoch == claim->epoch && ' ''
            look() { torture 0.4 'had returned'; } ;;
        standby)
            about="who takes a piece does not wait for the standby"
            replace session/session.c '				{
					hilo_row_flush(claim->lsn);
					return;
				}
				if (!hilo_counts_alone())
' '					return;
				if (!hilo_counts_alone())
'
            look() { standby shown; } ;;
        held-local)
            about="a range that was claimed with synchronous_commit = local is drawn under on without a wait"
            replace session/session.h ' &&
		entry->range.waited_how >= synchronous_commit;' ';'
            look() { tap 013_sync_standby.pl 'hilo_next_number.*not waited for'; } ;;
        take-in)
            about="of an answer of the hub more than what is above max is taken in"
            replace hub/leased.c '	if (range.low <= row->max)
		range.low = row->max < range.high ? row->max + 1 : range.high + 1;
' ''
            look() { tap 074_lease_in_flight.pl 'a counter that is leased and counted at the same time'; } ;;
        generation)
            about="the generation is read when the claim is made, and a message consumed before"
            replace session/session.c '	entry->range.last = claim.range.low - 1;
	entry->range.generation = generation;
' '	entry->range.last = claim.range.low - 1;
	{
		extern void AcceptInvalidationMessages(void);
		AcceptInvalidationMessages();
		(void) generation;
	}
	entry->range.generation = hilo_row_generation;
'
            look() { torture 0.5 'had returned'; } ;;
        home)
            about="pieces of a dropped database stay"
            replace shared/entry.c '		it->database.inode == database->inode &&
		it->database.changed_at == database->changed_at;' '		true;'
            look() { torture 0.4 'the copy of it in its place'; } ;;
        guard)
            about="a Citus worker draws what other nodes draw"
            replace ids/identity.c 'if (hilo_has_own_tag() ||' 'if (true ||'
            look() {
                torture 0.4 'not refused on a Citus worker' &&
                    grep '^verdict: .* [1-9][0-9]* repeated' "$work/tmp/log" >/dev/null
            } ;;
        joined)
            about="sessions do not hear that their node has become a Citus worker"
            replace counting/node.c '	if (!OidIsValid(group_table) || relid == group_table)
		hilo_rights_invalidate();
' '	(void) relid;
'
            look() { torture 0.4 'has become a Citus worker'; } ;;
        leak)
            about="some ranges are claimed and not used"
            replace session/session.c '					if (sizing != NULL && !for_client)
' '					if (claim->range.high % 64 == 0 && random() % 2)
						continue;
					if (sizing != NULL && !for_client)
'
            look() { tap 070_pool.pl 'but for the next one'; } ;;
        forget)
            about="sessions forget ranges that are good"
            replace session/session.c '!hilo_counter_holds(&entry->collection.row, claim)' '(random() % 2 || !hilo_counter_holds(&entry->collection.row, claim))'
            look() { torture 0.3 'has forgotten'; } ;;
        leave)
            about="what a session has left does not go into the pool when it ends"
            replace session/session.c '{
	(void) hilo_entries_release();
' '{
	(void) code;
'
            look() { torture 0.7 'has not left'; } ;;
        sqlstate)
            about="a bad count is refused with another SQLSTATE"
            replace session/call.c '(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and ' '(errcode(ERRCODE_INVALID_NAME),
				 errmsg("%s must be between 1 and '
            look() { torture 0.3 'SQLSTATE 42602'; } ;;
        note-late)
            about="ordered: the record is made after the draw"
            replace shared/order.c '	taken = ring->high - ring->last >= count &&
		note_number(order, ring, xid, ring->last + 1);
' '	taken = ring->high - ring->last >= count;
'
            replace shared/order.c '	LWLockRelease(&order->ring->shared.lock);
	return taken;
' '	LWLockRelease(&order->ring->shared.lock);
	if (!taken)
		return false;
	pg_usleep(20000);
	LWLockAcquire(&order->ring->shared.lock, LW_EXCLUSIVE);
	(void) note_number(order, ring, xid, claim->range.low);
	LWLockRelease(&order->ring->shared.lock);
	return true;
'
            look() { tap 093_ordered_readers.pl 'every row is read once' && torture 0.5 'a reader has missed'; } ;;
        note-own)
            about="ordered: our own transaction does not count as running"
            replace shared/order.c 'xid == view->own || ' ''
            look() { tap 094_ordered_attacks.pl 'our own transaction counts'; } ;;
        note-begin)
            about="ordered: what a ring that begins anew has forgotten counts as ended"
            replace shared/order.c 'HiloRecord	all = {next_xid() - 1, FOREVER,' 'HiloRecord	all = {next_xid() - 1, 1,'
            look() { tap 094_ordered_attacks.pl 'forgotten: a transaction that runs'; } ;;
        note-fold)
            about="ordered: transactions that run are folded"
            replace shared/order.c 'i >= among || !has_ended(record, now)' 'i >= among'
            look() { tap 094_ordered_attacks.pl 'a transaction that runs is not folded'; } ;;
        note-old)
            about="ordered: what was folded does not count for older snapshots"
            replace shared/order.c 'HiloRecord	folded = {0, now->xmax,' 'HiloRecord	folded = {0, 1,'
            look() { tap 094_ordered_attacks.pl 'whatever is folded since'; } ;;
        note-small)
            about="ordered: the ring has no room for all transactions"
            replace shared/order.c 'MAX_RECORDS		Max(MIN_RECORDS, 4 * (MaxBackends + max_prepared_xacts))' 'MAX_RECORDS		32'
            look() { tap 094_ordered_attacks.pl 'timeout'; } ;;
        ends)
            about="ordered: what began after the snapshot was taken is ignored"
            replace shared/order.c 'xid == view->own || xid >= view->xmax' 'xid == view->own'
            look() { tap 094_ordered_attacks.pl 'began after the snapshot'; } ;;
        terms)
            about="an answer of an earlier term is taken in"
            replace hub/leased.c 'obeys(row, &answer->term) ?' '(obeys(row, &answer->term) || true) ?'
            look() { tap 079_terms.pl 'an answer of an earlier term is not taken in'; } ;;
        own-draws)
            about="a hub that is not open draws for itself"
            replace hub/hub.c '		this_hub_state.may_draw = DatumGetInt64(columns[HUB_HOME]) == hilo_hub_home() &&
' '		this_hub_state.may_draw = true || DatumGetInt64(columns[HUB_HOME]) == hilo_hub_home() &&
'
            look() { tap 075_hub_memory.pl 'nor does it draw for itself'; } ;;
        resume)
            about="a hub resumes although reports are missing"
            replace ../sql/hilo--1.0.sql "        IF missing = '{}' THEN
" "        IF true THEN
"
            look() { tap 081_lease_failover.pl .; } ;;
        reports)
            about="reports of another term count"
            replace ../sql/hilo--1.0.sql 'counts := known_lineage = own.lineage AND known_term = own.term AND known_term_id = own.term_id;' 'counts := true;'
            look() { sql sql/hub.sql '^-wants_report *| t'; } ;;
        asked)
            about="an answer of the hub is taken in although the row has another epoch since"
            replace hub/leased.c 'return hilo_counter_epoch_here(change) == asked->epoch &&' 'return'
            look() { tap 074_lease_in_flight.pl 'seeded on the hub: no number of before comes in'; } ;;
        no-standby)
            about="a lease is given that no synchronous standby has"
            replace hub/lease.c 'PG_GETARG_LSN(0), PG_GETARG_BOOL(1)' 'PG_GETARG_LSN(0), false'
            look() { tap 087_hub_modes.pl 'a lease that no standby has, in a long statement'; } ;;
        seq-flush)
            about="what is drawn from a sequence is not flushed"
            replace sequences/sequence.c '	hilo_row_flush(hilo_row_own_lsn(lsn));
' '	(void) hilo_row_own_lsn(lsn);
'
            look() { tap 017_sequence_crash.pl 'no number came twice'; } ;;
        seq-as-it-is)
            about="a number of a sequence is shown although the page was logged without it"
            replace sequences/sequence.c '	return lsn == sequence->logged && lsn > GetRedoRecPtr();' '	return true;'
            look() { tap 017_sequence_logged.pl 'above what was shown'; } ;;
        seq-ahead)
            about="the page of a sequence is logged without the numbers that nextval does not log then"
            replace sequences/sequence.c '	data->last_value = last + ahead * sequence->increment;
' ''
            look() { tap 017_sequence_logged.pl 'above what was shown'; } ;;
        seq-notes)
            about="no session knows that another one has logged the page of a sequence"
            replace shared/logged.c 'page.lsn == lsn' 'page.lsn > lsn'
            look() { tap 017_sequence_logged.pl 'do not log a page each'; } ;;
        seq-copy)
            about="what is known of the page of a sequence counts for a copy of the database, too"
            replace shared/logged.c 'page.database == MyDatabaseId && ' ''
            replace shared/logged.c 'murmurhash32(MyDatabaseId)' '0'
            look() { tap 027_wal_level_minimal.pl 'in a copy of the database'; } ;;
        seq-standby)
            about="what is drawn from a sequence does not wait for the standby"
            replace sequences/sequence.c '	hilo_row_flush(hilo_row_own_lsn(lsn));
' '	hilo_row_flush_here(hilo_row_own_lsn(lsn));
'
            look() { tap 018_sequence_standby.pl 'waits'; } ;;
        seq-held)
            about="a range of a sequence that was claimed with synchronous_commit = local is drawn under on without a wait"
            replace sequences/sequence.c ' || sequence->waited_how < synchronous_commit ||
' ' ||
'
            look() { tap 013_sync_standby.pl 'hilo.nextval.*not waited for'; } ;;
        seq-cached)
            about="what nextval has put into the range of a sequence with CACHE counts as flushed"
            replace sequences/sequence.c '				 sequence->cache != 1 ||' '				 false ||'
            replace sequences/sequence.c '		sequence->may_grow = sequence->clean = false;
' '		sequence->may_grow = false;
'
            look() { tap 018_sequence_standby.pl 'after nextval has used up a range'; } ;;
        seq-message)
            about="ALTER SEQUENCE is not noticed"
            replace sequences/sequence.c '		generation++;
' '		(void) generation;
'
            look() { sql sql/sequences.sql '^[-+]'; } ;;
        seq-right)
            about="the right to draw is checked once for all roles"
            replace sequences/sequence.c '!has_right && sequence->role != GetUserId()' '!has_right && !OidIsValid(sequence->role)'
            replace sequences/sequence.c '!(has_right || sequence->role == GetUserId())' '!(has_right || OidIsValid(sequence->role))'
            look() { sql sql/sequences.sql '^[-+]'; } ;;
        seq-reserve)
            about="a large block is claimed with a step that is too small"
            replace sequences/sequence.c '(count - 1 + LOGGED_AHEAD - 1) / LOGGED_AHEAD' '(count - 1) / (LOGGED_AHEAD + 8)'
            look() { tap 017_sequence_blocks.pl 'draws of three sessions'; } ;;
        seq-row)
            about="a gap in what nextval gives is no reason to count the numbers of a block anew"
            replace sequences/sequence.c 'if (number == last + form->seqincrement && (step == 1 || !accessed))' 'if (true)'
            look() { tap 017_sequence_blocks.pl 'draws of three sessions'; } ;;
        seq-cache)
            about="a sequence is moved further if it has a large CACHE"
            replace sequences/sequence.c '	form->seqcache = cache;' '	form->seqcache = Max(cache, own_cache);'
            look() { tap 017_sequence_blocks.pl 'CACHE 1000: attached'; } ;;
        seq-step)
            about="numbers below the first one of a claim with a step are taken for the session's own"
            replace sequences/sequence.c '&& (step == 1 || !accessed))' ')'
            look() { tap 017_sequence_blocks.pl 'of another session is in its block'; } ;;
        seq-logged)
            about="a move ends with a claim that is logged in large steps"
            replace sequences/sequence.c 'missing / (LOGGED_AHEAD + 1) - 1' 'missing / (LOGGED_AHEAD + 1)'
            look() { tap 017_sequence_blocks.pl 'the far one, after a crash'; } ;;
        seq-failed)
            about="a claim that fails makes the next one larger"
            replace sequences/sequence.c '	if (claims)
		(void) call_nextval(' '	if (claims)
	{
		sequence->size = size;
		sequence->claimed_at = GetCurrentTimestamp();
	}
	if (claims)
		(void) call_nextval('
            look() { sql sql/sequences.sql '^- t'; } ;;
        seq-restore)
            about="after an error in nextval the larger cache stays"
            replace sequences/sequence.c '	PG_FINALLY();
	{
		form->seqcache = own_cache;
		form->seqincrement = own_increment;
	}
	PG_END_TRY();
' '	PG_CATCH();
	{
		PG_RE_THROW();
	}
	PG_END_TRY();
	form->seqcache = own_cache;
	form->seqincrement = own_increment;
'
            look() { sql sql/sequences.sql '^- *0$'; } ;;
        seq-lock)
            about="a sequence is not locked before its row in the catalog is changed for a claim"
            replace sequences/sequence.c '	LockRelationOid(oid, RowExclusiveLock);
' ''
            look() { sql specs/iso-sequence.spec '^+ERROR:  could not claim consecutive numbers of sequence "iso_s"'; } ;;
        look-none)
            about="nobody looks"
            replace tables/look.c '	if (found == HILO_NONE)
' '	if (true)
'
            look() { tap 039_look.pl 'an import: no insert fails'; } ;;
        look-abort)
            about="after an error the rest of a range is not looked at"
            replace tables/look.c '	if (event == XACT_EVENT_ABORT)
		forget_looks();
' ''
            look() { tap 039_look.pl 'at most one insert fails'; } ;;
        look-message)
            about="after a message about the table a range is not looked at"
            replace tables/look.c '		look->changes++;
		*look->clean = false;
' '		look->changes++;
'
            look() { tap 039_look.pl 'after a message about its table'; } ;;
        look-locked)
            about="what could not be locked counts as looked at"
            replace tables/look.c '		*look->clean = complete && look->changes' '		*look->clean = look->changes'
            look() { tap 039_look.pl 'when it is free again'; } ;;
        look-partial)
            about="a partial index is looked into"
            replace tables/search.c ' || !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL)' ''
            look() { tap 039_look.pl 'beside a partial index'; } ;;
        look-parts)
            about="partitions are not looked at"
            replace tables/look.c 'get_rel_relkind(oid) != RELKIND_RELATION' '(get_rel_relkind(oid) != RELKIND_RELATION || get_rel_relispartition(oid))'
            look() { tap 039_look.pl 'partitions are looked at\|all of them'; } ;;
        look-window)
            about="ids above the numbers are followed to the end"
            replace tables/look.c 'end = found + (int64) Min((uint64) progress->window, (uint64) limit - (uint64) found);' 'end = limit;'
            look() { sql sql/look.sql '^+ 2000001$'; } ;;
        look-limit)
            about="the limit of the type does not count"
            replace tables/look.c 'look->limit = limit;' 'look->limit = PG_INT64_MAX;'
            look() { sql sql/look.sql '^[-+]'; } ;;
        look-open)
            about="ids of transactions that are open do not count"
            replace tables/search.c '!table_tuple_satisfies_snapshot(search->table, search->slot, &search->dirty)' 'true'
            look() { tap 039_look.pl 'nobody waits'; } ;;
        look-text)
            about="of text the first power of two that is free ends the search too early: one look-up each"
            replace tables/search.c 'i < PROBES && !taken' 'i < 1 && !taken'
            look() { tap 039_look.pl 'every third id missing'; } ;;
        look-separator)
            about="a collection's own separator does not count for ids that are looked up one by one"
            replace tables/search.c 'hilo_collection_separator(collection)' 'hilo_identity_parts_separator'
            look() { sql sql/separator.sql '^[-+]'; } ;;
        look-tag)
            about="the tag that a default gives does not count for ids that are looked up one by one"
            replace tables/column.c 'column->drawn.form == HILO_DRAWN_TAGGED ?' 'false ?'
            look() { sql sql/look.sql '^+ERROR:  duplicate key'; } ;;
        look-form)
            about="numbers that were looked at as ids of another form are not looked at again"
            replace tables/take.h '			entry->range.clean = false;
' ''
            look() { sql sql/separator.sql '^[-+]'; } ;;
        look-stranger)
            about="ids in tables of strangers count"
            replace tables/drawing.c '		if (pg_class_aclcheck(sequence, ((Form_pg_class) GETSTRUCT(tuple))->relowner,
							  ACL_UPDATE) == ACLCHECK_OK)
' '		if (true)
'
            look() { tap 039_look.pl 'a stranger do not count'; } ;;
        look-many)
            about="a claim that is looked at in many indexes is as small as any other"
            replace tables/look.h 'return places > HILO_FEW_PLACES ? places : 0;' 'return 0 * places;'
            look() { sql sql/look.sql '^- *[12] |   20$'; } ;;
        look-left)
            about="what a plain nextval has left of a range is looked at one by one"
            replace sequences/sequence.c ' while (number <= highest && !sequence->may_grow);' ' while (false);'
            look() { sql sql/look.sql '^+ERROR:  duplicate key'; } ;;
        under-way)
            about="a claim goes on from the size of the newest one although that is under way"
            replace counting/counter.c 'if (sizing->finished != row->claim_low)' 'if (sizing->finished == 0)'
            look() { tap 072_pool_failure_points.pl 'do not add up'; } ;;
        not-used)
            about="a claim grows although what the newest one took is in the pool"
            replace counting/counter.c 'Max(last_size - sizing->left, Min(last_size, 1))' 'last_size'
            look() { tap 072_pool_failure_points.pl 'pooled: its numbers are not used up'; } ;;
        joining)
            about="a claim that has joined another one says that this has finished"
            replace session/session.c '	if (!joins)
		hilo_pool_finish(name, claim->range.low);' '	hilo_pool_finish(name, joins ? claim->range.low - 1000 : claim->range.low);'
            look() { tap 072_pool_failure_points.pl 'under way: its numbers are not used up'; } ;;
        reserve-left)
            about="what a plain nextval has left of a range is looked at block by block"
            replace sequences/sequence.c 'if (numbers.low <= highest && read_page(sequence) >= highest)' 'if (false)'
            look() { sql sql/look.sql '^+ f$\|^+ERROR:  could not find'; } ;;
        look-pooled)
            about="with very many indexes nothing is looked at"
            replace tables/take.c '		if (!hilo_look(look, numbers, entry' '		if (entry->growth.least > 0)
			entry->range.clean = true;
		if (entry->range.clean || !hilo_look(look, numbers, entry'
            look() { tap 039_look.pl 'numbers from the pool are looked at'; } ;;
        look-passed)
            about="any number of dead entries is passed"
            replace tables/search.c '++passed > max_passed || is_living(search)' '(++passed > max_passed && false) || is_living(search)'
            look() { sql sql/look.sql '^+ f$'; } ;;
        look-invalid)
            about="an index that is not valid is looked into"
            replace tables/search.c '!form->indisvalid ||' ''
            replace tables/look.c '!index->rd_index->indisvalid ||' ''
            look() { sql sql/look.sql '^[-+]'; } ;;
        look-empty)
            about="an index that has no blocks yet is looked into"
            replace tables/search.c ' ||
		RelationGetNumberOfBlocks(index) == 0)' ')'
            replace tables/look.c ' ||
		RelationGetNumberOfBlocks(index) == 0)' ')'
            look() { sql sql/look.sql '^+ERROR:  could not read block 0'; } ;;
        look-rest)
            about="what is left above an id is not used"
            replace tables/look.c 'if (found < numbers.high && !progress->exact)' 'if (false)'
            look() { sql sql/look.sql '^+ f$'; } ;;
        look-block)
            about="the window of a block is doubled only near its end"
            replace tables/look.c '(progress->exact || *highest > end - NEAR_END)' '*highest > end - NEAR_END'
            look() { sql sql/look.sql '^+ f$'; } ;;
        look-code)
            about="the look runs code of an index's owner"
            replace tables/search.c '!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL)' 'RelationGetIndexPredicate(index) != NIL'
            look() { sql sql/security.sql '^+(1 row)'; } ;;
        look-rewrite)
            about="nothing is looked up in a table that this transaction has made, if it has the index that orders ids"
            replace tables/look.c 'oid = place->exact;' 'oid = InvalidOid;'
            look() { sql sql/look.sql '^+ERROR:  duplicate key'; } ;;
        ordered-block)
            about="a block in order that has ids is followed by the next one, not by what is above them"
            replace tables/take.c '			skip_in_order(entry, claim->range.high, wanted->above);' '			(void) 0;'
            look() { sql sql/reserve.sql '^+  *641 '; } ;;
        ordered-rate)
            about="a block in order counts as a rate"
            replace shared/order.c 'Min(size, hilo_range_count(&claim->range))' 'hilo_range_count(&claim->range)'
            look() { sql sql/reserve.sql '^+ f$'; } ;;
        look-living)
            about="a right that came from no table being attached is kept"
            replace tables/rights.c 'look->awaits_table = !OidIsValid(bound.table);' 'look->awaits_table = false;'
            look() { sql sql/draw_rights.sql '^-ERROR:  permission denied for collection "again"'; } ;;
        *)
            usage ;;
    esac
}

if [ -n "$list" ]; then
    say "$names" | tr ' ' '\n'
    exit
fi
require need_build
make_work_folder
# A broken library must not be installed into a server of the system.
server_has_setting extension_destdir || server_has_setting extension_control_path ||
    die "This requires a server that finds extensions outside its own folder."
copy=$work/src
missed=0
for name in ${*:-$names}; do
    rm -rf "$work/src" "$work/standby"
    as_user mkdir "$work/src"
    : >"$work/tmp/log"
    copy_checkout
    misfit=
    mutant "$name"
    began=$(date +%s)
    if [ -n "$fit$misfit" ]; then
        [ -z "$misfit" ] || missed=$((missed + 1))
        verdict=${misfit:+DOES NOT }fit
    elif look; then
        verdict="found    "
        [ "$name" != none ] || verdict="good     "
    else
        verdict="NOT FOUND"
        [ "$name" != none ] || verdict="NOT GOOD "
        missed=$((missed + 1))
        tail -n 20 "$work/tmp/log"
    fi
    printf '%s  %-10s %3d s  %s\n' "$verdict" "$name" $(($(date +%s) - began)) "$about"
done
[ "$missed" -eq 0 ]
