#!/bin/sh
#
# run.sh
#	  Checks the models: each variant must be free of repeats, and each one with a
#	  rule left out must lead to one, which is printed as a list of events.
#
# Usage: run.sh [--long]
#
# Needs spin and gcc.  Takes about a minute; with --long, half an hour and 4 GB:
# larger bounds, and three servers that can each become the hub.
#
set -eu

models=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
long=false
if [ "${1:-}" = --long ]; then
	long=true
fi
passed=0
failed=0

# result NAME WANTED GOT STATES SECONDS
result()
{
	if [ "$2" = "$3" ]; then
		passed=$((passed + 1))
		word=ok
	else
		failed=$((failed + 1))
		word=FAILED
	fi
	printf '%-6s  %-44s %-10s %10s states %5s s\n' "$word" "$1" "$3" "$4" "$5"
}

# check NAME WANTED COMPILER_OPTIONS MODEL MACROS...: translate, compile and run one
# model.  WANTED is "none" or "repeat".  A search that runs out of depth or memory
# fails; one of the long run may end after eight minutes with what it has seen.
check()
{
	name=$1
	wanted=$2
	search=$3
	model=$4
	shift 4
	rm -rf "$work"/*
	(
		cd "$work"
		cp "$models/$model.pml" model.pml
		spin "$@" -a model.pml >log 2>&1 && gcc $search -w -DSAFETY -DMEMLIM=4000 -o pan pan.c >>log 2>&1 &&
			{ ./pan -E -m1000000 $limit >out 2>&1 || true; }
	) || cat "$work/log"
	states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$work/out" 2>/dev/null || true)
	seconds=$(sed -n 's/.*elapsed time \([0-9.e+]*\) seconds.*/\1/p' "$work/out" 2>/dev/null | head -1)
	got=failure
	if grep -q 'errors: 0' "$work/out" 2>/dev/null && ! grep -q 'max search depth too small\|out of memory' "$work/out"; then
		got=none
	elif grep -q 'assertion violated (0\|assertion violated 0' "$work/out" 2>/dev/null; then
		got=repeat
	fi
	result "$name" "$wanted" "$got" "${states:-?}" "${seconds:-?}"
	if [ "$got" = repeat ]; then
		(cd "$work" && ./pan -r -S) | sed '/^spin: trail/,$d; /assertion violated/d; s/^/            /'
	fi
}

# A search for the shortest way to a repeat, and a complete one that may be long.
shortest='-O0 -DBFS -DCOLLAPSE'
complete='-O1 -DBITSTATE'
limit=-w28

rule_left_out()
{
	limit=-w20
	check "$1" repeat "$shortest" "$2" $3
	limit=-w28
}

variant()
{
	check "$1" none "$complete" "$2" $3
}

echo "The protocol of terms"
variant 'asynchronous, resumed by hand' terms '-DNUMBERS=3 -DTERMS=3'
variant 'asynchronous, the hub draws, too' terms '-DNUMBERS=3 -DTERMS=3 -DOWN'
variant 'synchronous, resumes by itself, draws' terms '-DNUMBERS=3 -DTERMS=3 -DSYNC -DOWN'
variant 'the setting switched' terms '-DNUMBERS=2 -DTERMS=3 -DMODES'
variant 'the setting switched, off at first' terms '-DNUMBERS=2 -DTERMS=3 -DMODES -DOFF'
variant 'requests and refusals are late, too' terms '-DNUMBERS=1 -DTERMS=3 -DLATE'
variant 'two standbys promoted beside each other' terms '-DNUMBERS=1 -DTERMS=3 -DHUBS=3 -DPROMOTED'
variant 'the hub restored from a base backup, as it is' terms '-DNUMBERS=1 -DTERMS=2 -DRESTORED'
variant 'own draws count everywhere, numbers are skipped' terms '-DNUMBERS=4 -DTERMS=2 -DOWN -DSHOWN=2'
variant 'a member is lost and forgotten' terms '-DNUMBERS=2 -DTERMS=2 -DFORGET'
variant 'each of two standbys is waited for' terms '-DNUMBERS=1 -DTERMS=2 -DHUBS=3 -DSYNC -DALL -DOWN'
if $long; then
	limit='-w34 -Q8'
	variant 'the setting switched, more numbers' terms '-DNUMBERS=3 -DTERMS=3 -DMODES -DOFF'
	variant 'asynchronous, more of all' terms '-DNUMBERS=4 -DTERMS=4'
	variant 'late, more of all' terms '-DNUMBERS=2 -DTERMS=3 -DLATE'
	variant 'two standbys' terms '-DNUMBERS=2 -DTERMS=3 -DHUBS=3'
	variant 'two standbys, the hub draws, too' terms '-DNUMBERS=2 -DTERMS=3 -DHUBS=3 -DOWN'
	variant 'two standbys, synchronous, draws' terms '-DNUMBERS=3 -DTERMS=4 -DHUBS=3 -DSYNC -DOWN'
	variant 'two standbys, the setting switched' terms '-DNUMBERS=2 -DTERMS=3 -DHUBS=3 -DMODES'
fi
rule_left_out 'the term is not stored before the report' terms '-DTERMS=3 -DWITHOUT_STORING'
rule_left_out 'a refusal carries no term' terms '-DTERMS=3 -DWITHOUT_TERM'
rule_left_out 'an equal number of another id is accepted' terms '-DNUMBERS=1 -DTERMS=2 -DHUBS=3 -DPROMOTED -DWITHOUT_IDS'
rule_left_out 'own draws are not guarded' terms '-DTERMS=3 -DOWN -DWITHOUT_GUARD'
rule_left_out 'resumes by itself without the standby' terms '-DSYNC -DWITHOUT_STANDBY'
rule_left_out 'resumes though a report is missing' terms '-DWITHOUT_REPORTS'
rule_left_out 'a lease is taken in without comparing' terms '-DWITHOUT_COMPARISON'
rule_left_out 'old reports count' terms '-DNUMBERS=1 -DTERMS=4 -DWITHOUT_VOIDING'
rule_left_out 'a report in another term counts' terms '-DNUMBERS=1 -DWITHOUT_EXACT'
rule_left_out 'own draws do not wait for the standby' terms '-DNUMBERS=1 -DTERMS=2 -DHUBS=3 -DSYNC -DOWN -DWITHOUT_OWN_WAIT'
rule_left_out 'the label of a backup is not looked at' terms '-DTERMS=3 -DRESTORED -DWITHOUT_LABEL'
rule_left_out 'no numbers are skipped' terms '-DNUMBERS=4 -DTERMS=3 -DOWN -DSHOWN=2 -DWITHOUT_SKIP'
rule_left_out 'what a forgotten member had is forgotten' terms '-DNUMBERS=3 -DTERMS=3 -DFORGET -DWITHOUT_RAISE'
rule_left_out 'one of two standbys is waited for' terms '-DNUMBERS=2 -DTERMS=4 -DHUBS=3 -DSYNC -DALL -DWITHOUT_ALL'
rule_left_out 'the note is cleared before the standby knows' terms '-DMODES -DWITHOUT_LEAVING'
rule_left_out 'the note is set at once' terms '-DMODES -DOFF -DWITHOUT_ENTERING'
rule_left_out 'the note is not looked at after a claim' terms '-DMODES -DOFF -DNUMBERS=3 -DTERMS=2 -DWITHOUT_SECOND_LOOK'

echo "Epochs, generations and ranges"
if $long; then
	limit='-w33 -Q8'
	variant 'one server, two sessions' ranges '-DNUMBERS=6 -DEPOCHS=3'
else
	variant 'one server, two sessions' ranges '-DNUMBERS=4 -DEPOCHS=2'
fi
rule_left_out 'a session does not look at the generation' ranges -DWITHOUT_GENERATION
rule_left_out 'a claim is not flushed' ranges -DWITHOUT_FLUSH
rule_left_out 'a pooled piece keeps its worth' ranges -DWITHOUT_EPOCH
rule_left_out 'a piece stays in the pool' ranges -DWITHOUT_TAKING
rule_left_out 'a range goes back that is not the newest' ranges -DWITHOUT_NEWEST
rule_left_out 'a forced seed keeps the epoch' ranges -DWITHOUT_NEW_EPOCH

echo "$passed passed, $failed failed"
test "$failed" -eq 0
