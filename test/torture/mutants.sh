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
    sed -n '/^@@/,$p' "$work/tmp/log" | grep "$2" >/dev/null
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
    shown=$($sql -c "SET statement_timeout = '2s'" -c "SELECT hilo_next_number('a')" 2>>"$work/tmp/log")
    as_user "$bindir/pg_ctl" -D "$work/server/data" -s -m immediate stop
    echo "shown: ${shown:-nothing}" >>"$work/../tmp/log"
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
names='none flush lsn redo storage elsewhere checkpoint image tokens own-token others-ahead compared unlogged unflushed waitless frozen news heed epoch standby held-local generation home guard joined leak forget leave sqlstate seq-flush seq-as-it-is seq-redo seq-lot seq-copy seq-standby horizon-flush horizon-wait look-none look-message look-locked look-partial look-parts look-window look-closed look-limit look-open look-text look-separator look-tag look-form look-stranger look-dependants look-passed look-invalid look-empty look-code look-block'
mutant() {
    case $1 in
        none)
            about="no mistake"
            look() { torture 0.7 good && standby nothing; } ;;
        flush)
            about="claims are not flushed"
            replace row.c '	XLogFlush(lsn);
' ''
            look() { tap 010_crash.pl 'no number came twice'; } ;;
        lsn)
            about="a claim needs no record although the page was logged as it is since"
            replace row.c 'before->logged_at == lsn &&' 'before->logged_at <= lsn &&'
            look() { tap 010_ahead.pl 'a lock of the row.*no number comes twice'; } ;;
        redo)
            about="a claim needs no record although the last one is not replayed any more"
            replace row.c 'covered = lsn > GetRedoRecPtr();' 'covered = true;'
            look() { tap 010_ahead.pl 'a checkpoint: no number comes twice'; } ;;
        storage)
            about="a claim needs no record although the last one was for another storage"
            replace row.c '		before->logged_in == change->storage &&
' ''
            look() { tap 010_ahead.pl 'another tablespace: no number comes twice'; } ;;
        elsewhere)
            about="a claim needs no record although the row is of another database"
            replace row.c ' &&
		before->epoch == row->epoch && before->home == row->home)' ')'
            look() { tap 027_wal_level_minimal.pl 'and claimed there'; } ;;
        checkpoint)
            about="a checkpoint does not wait for a claim that has read the redo pointer"
            replace row.c '		MyProc->delayChkptFlags |= DELAY_CHKPT_START;
' ''
            look() { tap 010_ahead.pl 'a checkpoint waits'; } ;;
        image)
            about="the record of a claim says no higher max than the buffer"
            replace row.c '		row->max += row->ahead;
' ''
            look() { torture 0.5 'repeated: '; } ;;
        tokens)
            about="the record of a claim says that clients' claims can go back"
            replace row.c '		row->claim_low = row->claim = 0;
' ''
            look() { tap 010_ahead.pl 'it cannot give them back again'; } ;;
        own-token)
            about="the record of a client's claim says that it can go back"
            replace row.c '		row->claim_low = row->claim = 0;
' '		if (i != change->offset)
			row->claim_low = row->claim = 0;
'
            look() { tap 010_ahead.pl 'it cannot give them back again'; } ;;
        others-ahead)
            about="a change that is no claim leaves numbers ahead"
            replace row.c 'return finish_logged(change, 0);' 'return finish_logged(change, change->row.ahead);'
            look() { tap 010_ahead.pl 'a change that is no claim'; } ;;
        compared)
            about="rows are logged ahead while the server compares pages"
            replace row.c '!logged || pages_are_compared() ? 0 : ahead;' '!logged ? 0 : ahead;'
            look() { tap 014_wal_consistency.pl 'nothing is logged ahead'; } ;;
        unlogged)
            about="rows are ahead in storage that is not logged"
            replace row.c '!logged || pages_are_compared() ? 0 : ahead;' 'pages_are_compared() ? 0 : ahead;'
            look() { tap 027_wal_level_minimal.pl 'and nothing ahead'; } ;;
        unflushed)
            about="a claim without a record waits for nothing"
            replace row.c 'AHEAD_SHARE));
' 'AHEAD_SHARE));
	lsn = InvalidXLogRecPtr;
'
            look() { tap 010_ahead.pl 'flushes that of the other session'; } ;;
        waitless)
            about="a claim without a record waits for no standby"
            replace row.c 'AHEAD_SHARE));
' 'AHEAD_SHARE));
	hilo_row_flush_here(lsn);
	lsn = InvalidXLogRecPtr;
'
            look() { tap 013_sync_standby.pl 'a claim without a record waits'; } ;;
        frozen)
            about="a row just created goes with the transaction that made it"
            replace row.c '		header->t_infomask |= HEAP_XMIN_FROZEN;
' '		(void) header;
'
            look() { torture 0.5 'repeated: '; } ;;
        news)
            about="other sessions do not hear of a forced seed"
            replace catalog.c '	SendSharedInvalidMessages(&message, 1);
' ''
            look() { torture 0.4 'had returned'; } ;;
        heed)
            about="a session that reads rows without having opened the table does not hear of changes to them"
            replace row.c '		hilo_catalog_heed(HILO_TABLE_COUNTERS, ref->table);
' ''
            look() { tap 070_pool.pl 'what it holds ends when the counter is set'; } ;;
        epoch)
            about="ranges of another epoch are good"
            replace counter.c 'row->epoch == claim->epoch && ' ''
            look() { torture 0.4 'had returned'; } ;;
        standby)
            about="who takes a piece does not wait for the standby"
            replace session.c '	hilo_row_flush(hilo_row_own_lsn(claim->lsn));
' ''
            look() { standby shown; } ;;
        held-local)
            about="a range that was claimed with synchronous_commit = local is drawn under on without a wait"
            replace session.h '		entry->range.waited_how >= synchronous_commit &&
' ''
            look() { tap 013_sync_standby.pl 'hilo_next_number.*not waited for'; } ;;
        generation)
            about="the generation is read when the claim is made, and a message consumed before"
            replace session.c '	entry->range.generation = generation;
' '	{
		extern void AcceptInvalidationMessages(void);
		AcceptInvalidationMessages();
		(void) generation;
	}
	entry->range.generation = hilo_generation;
'
            look() { torture 0.5 'had returned'; } ;;
        home)
            about="pieces of a dropped database stay"
            replace pool.c '			it->database.inode == database->inode &&
			it->database.changed_at == database->changed_at &&
' ''
            look() { torture 0.4 'the copy of it in its place'; } ;;
        guard)
            about="a Citus worker draws what other nodes draw"
            replace identity.c 'if (!hilo_has_own_tag() && hilo_node_is_worker())' 'if (false)'
            look() { torture 0.4 'not refused on a Citus worker'; } ;;
        joined)
            about="sessions do not hear that their node has become a Citus worker"
            replace node.c 'if (!OidIsValid(group_table) || relid == group_table || !OidIsValid(relid))' 'if (group_table == relid && false)'
            look() { torture 0.4 'has become a Citus worker'; } ;;
        leak)
            about="some ranges are claimed and not used"
            replace session.c '	/* Do not judge by the duration' '	if (claim.range.high % 64 == 0 && random() % 2)
		claim.range.low = claim.range.high;

	/* Do not judge by the duration'
            look() { tap 070_pool.pl 'but for the next one'; } ;;
        forget)
            about="sessions forget ranges that are good"
            replace session.c 'if (hilo_counter_holds(&entry->collection.row, &entry->range.claim))' 'if (random() % 2 && hilo_counter_holds(&entry->collection.row, &entry->range.claim))'
            look() { torture 0.3 'has forgotten'; } ;;
        leave)
            about="what a session has left does not go into the pool when it ends"
            replace session.c '			hilo_pool_put(entry->name, &rest);
' '			(void) rest;
'
            look() { torture 0.7 'has not left'; } ;;
        sqlstate)
            about="a bad count is refused with another SQLSTATE"
            replace arguments.c '(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s must be between 1 and ' '(errcode(ERRCODE_INVALID_NAME),
				 errmsg("%s must be between 1 and '
            look() { torture 0.3 'SQLSTATE 42602'; } ;;
        seq-flush)
            about="what is drawn from a sequence is not flushed"
            replace sequence.c '		hilo_row_flush(hilo_row_own_lsn(lsn));
' '		(void) hilo_row_own_lsn(lsn);
'
            look() { tap 017_sequence_crash.pl 'after an immediate stop draws go on above what was shown'; } ;;
        seq-as-it-is)
            about="a number of a sequence is shown although the page was logged without it"
            replace sequence.c '			return false;
		sequence->lot_lsn = lsn;
' '			(void) lsn;
		sequence->lot_lsn = lsn;
'
            look() { tap 017_sequence_logged.pl 'above what was shown'; } ;;
        seq-redo)
            about="a number of a sequence is shown although its record is not replayed any more"
            replace sequence.c '	return lsn > GetRedoRecPtr() &&
' '	return
'
            look() { tap 017_sequence_checkpoint.pl 'hilo.nextval.*was shown'; } ;;
        seq-lot)
            about="the page of a sequence is logged without the lot"
            replace sequence.c '	page_data(copy.data)->last_value = lot.end;
' '	page_data(copy.data)->last_value = number;
'
            look() { tap 017_sequence_logged.pl 'above what was shown'; } ;;
        seq-copy)
            about="what is known of the page of a sequence counts for a copy of the database, too"
            replace pool.c 'note.database == MyDatabaseId && ' ''
            replace pool.c 'murmurhash32(MyDatabaseId)' '0'
            look() { tap 027_wal_level_minimal.pl 'in a copy of the database'; } ;;
        seq-standby)
            about="what is drawn from a sequence does not wait for the standby"
            replace sequence.c '		hilo_row_flush(hilo_row_own_lsn(lsn));
' '		hilo_row_flush_here(hilo_row_own_lsn(lsn));
'
            look() { tap 018_sequence_standby.pl 'waits'; } ;;
        horizon-flush)
            about="a horizon is shown before it is on disk"
            replace sequence.c '	horizon = make_durable(sequence);
' '	{
		Buffer		buffer = ReadBuffer(relation_open(oid, NoLock), 0);

		horizon = position_of(sequence, page_data(BufferGetPage(buffer)));
		ReleaseBuffer(buffer);
	}
'
            look() { tap 093_horizon.pl '.'; } ;;
        horizon-wait)
            about="a horizon waits for nobody"
            replace sequence.c '	WaitForLockers(tag, ShareLock, false);
' '	(void) tag;
'
            look() { sql specs/iso-horizon.spec '^[-+]'; } ;;
        look-none)
            about="nobody looks"
            replace look.c '	if (ids->places == NIL || window_has' '	if (true || window_has'
            look() { tap 039_look.pl 'an import: no insert fails'; } ;;
        look-message)
            about="after a message about the table numbers that were looked at are not looked at again"
            replace look.c '		ids->has_missed = true;
		ids->is_current = false;
' '		ids->is_current = true;
'
            look() { tap 039_look.pl 'one whose default is nextval is'; } ;;
        look-locked)
            about="what could not be locked counts as looked at"
            replace look.c '		ids->is_current = false;
	else if (place->is_text)' '		found = false;
	else if (place->is_text)'
            look() { tap 039_look.pl 'when it is free again'; } ;;
        look-partial)
            about="a partial index is looked into"
            replace look.c ' &&
		heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL);' ';'
            look() { tap 039_look.pl 'beside a partial index'; } ;;
        look-parts)
            about="partitions are not looked at"
            replace look.c 'get_rel_relkind(oid) != RELKIND_RELATION' '(get_rel_relkind(oid) != RELKIND_RELATION || get_rel_relispartition(oid))'
            look() { tap 039_look.pl 'partitions are looked at\|all of them'; } ;;
        look-window)
            about="a window reaches beyond an id that was found in it"
            replace look.c 'found ? *id - 1 : high;' 'high;'
            look() { tap 039_look.pl '.'; } ;;
        look-closed)
            about="a window is never closed: what one command looked at counts for later ones"
            replace look.c '	return window->statement == GetCurrentStatementStartTimestamp() &&
' '	return window->statement != 0 || window->statement == GetCurrentStatementStartTimestamp() &&
'
            look() { sql sql/look.sql '^+ERROR:  duplicate key'; } ;;
        look-limit)
            about="the limit of the type does not count"
            replace look.c 'if (type == INT2OID || type == INT4OID)' 'if (false)'
            look() { sql sql/look.sql '^[-+]'; } ;;
        look-open)
            about="ids of transactions that are open do not count"
            replace look.c 'table_tuple_satisfies_snapshot(scan->heapRelation, *slot, &dirty) ||
' 'false ||
'
            look() { tap 039_look.pl 'nobody waits'; } ;;
        look-text)
            about="the first power of two that is free ends the search far above the ids"
            replace free_search.c 'if (number - taken > DOUBTFUL_DISTANCE)' 'if (false)'
            look() { sql sql/free_limits.sql '^[-+]' && tap 039_look.pl 'do not drive the sequence away'; } ;;
        look-separator)
            about="a collection's own separator does not count for ids that are looked up one by one"
            replace session.c 'entry->name, hilo_collection_separator(collection),' 'entry->name, hilo_identity_parts_separator,'
            look() { sql sql/separator.sql '^[-+]'; } ;;
        look-tag)
            about="the tag that a default gives does not count for ids that are looked up one by one"
            replace session.c 'form == &entry->text.given ?' 'false ?'
            look() { sql sql/look.sql '^[-+]'; } ;;
        look-form)
            about="what was free for one tag is taken for free for another one"
            replace look.c 'if (ids->form_hash != form)' 'if (false)'
            look() { sql sql/look.sql '^[-+]'; } ;;
        look-stranger)
            about="a binding counts although the table has another owner"
            replace binding.c 'if (owner == NULL || strcmp(owner, NameStr(binding->owner)) != 0)' 'if (owner == NULL)'
            look() { tap 044_owner.pl '.'; } ;;
        look-dependants)
            about="the look asks what depends on the sequence"
            replace look.c '#include "catalog/pg_am.h"
' '#include "access/table.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_depend.h"
'
            replace look.c '	is_identity = sequenceIsOwned(' '	{
		Relation	depend = table_open(DependRelationId, AccessShareLock);
		ScanKeyData keys[2];
		SysScanDesc scan;

		ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
					ObjectIdGetDatum(RelationRelationId));
		ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
					ObjectIdGetDatum(sequence));
		scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
		while (HeapTupleIsValid(systable_getnext(scan)))
			continue;
		systable_endscan(scan);
		table_close(depend, AccessShareLock);
	}
	is_identity = sequenceIsOwned('
            look() { tap 039_look.pl 'does not look at them'; } ;;
        look-passed)
            about="any number of dead entries is passed"
            replace look.c '		if (++passed > most_passed || row_counts' '		if (row_counts'
            look() { sql sql/look.sql '^+ f$'; } ;;
        look-invalid)
            about="an index that is not valid is looked into"
            replace look.c '		form->indisvalid && form->indisready &&
' ''
            replace look.c ' && index->rd_index->indisvalid)' ')'
            look() { sql sql/look.sql '^[-+]'; } ;;
        look-empty)
            about="an index that has no blocks yet is looked into"
            replace look.c ' ||
		((index->rd_createSubid != InvalidSubTransactionId || hilo_storage_is_new(index)) &&
		 RelationGetNumberOfBlocks(index) == 0);' ';'
            look() { sql sql/look.sql '^+ERROR:  could not read block 0'; } ;;
        look-code)
            about="the look runs code of an index's owner"
            replace look.c 'heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL)' 'RelationGetIndexPredicate(index) == NIL'
            look() { sql sql/security.sql '^+(1 row)'; } ;;
        look-block)
            about="a block is not looked at"
            replace session.c '		if (!hilo_ids_have(entry->ids, claim->range.low, claim->range.high, &id))' '		if (true)'
            look() { sql sql/look.sql '^[-+]'; } ;;
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
