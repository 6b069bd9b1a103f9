#!/bin/sh
#
# run.sh
#	  Checks the models: each variant must be free of repeats, and each one with a
#	  rule left out must lead to one, which is printed as a list of events.
#
# Usage: run.sh [--long]
#
# Needs spin and gcc.  Takes about a minute; with --long, half an hour and 4 GB:
# larger bounds.
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

echo "Leases"
variant 'the others stopped, what is lacking skipped' leases '-DNUMBERS=3'
variant 'three servers' leases '-DNUMBERS=2 -DHUBS=3'
variant 'synchronous, nothing skipped or stopped' leases '-DNUMBERS=3 -DSYNC'
variant 'replaced servers go on, members have heard' leases '-DNUMBERS=2 -DUNFENCED'
variant 'and members are replaced by standbys' leases '-DNUMBERS=2 -DOPENINGS=2 -DPLACES=2 -DUNFENCED -DMEMBERS_FAIL'
variant 'and a member joins, and joins again' leases '-DNUMBERS=2 -DOPENINGS=2 -DPLACES=2 -DUNFENCED -DJOIN'
variant 'another hub answers' leases '-DNUMBERS=2 -DOPENINGS=2 -DPLACES=2 -DOTHER'
variant 'a member moves between two hubs' leases '-DNUMBERS=3 -DOPENINGS=1 -DPLACES=1 -DOTHER -DJOIN'
# Two rules only save numbers, so that nothing is repeated without them.
variant 'without: a request says what is known' leases '-DNUMBERS=2 -DUNFENCED -DWITHOUT_SENDING'
variant 'without: an answer is compared at once' leases '-DNUMBERS=2 -DOPENINGS=2 -DPLACES=2 -DUNFENCED -DOTHER -DWITHOUT_COMPARISON'
if $long; then
	limit='-w34 -Q8'
	variant 'more numbers and openings' leases '-DNUMBERS=4 -DOPENINGS=4 -DPLACES=4'
	variant 'three servers, more numbers' leases '-DNUMBERS=3 -DHUBS=3'
	variant 'synchronous, more of all' leases '-DNUMBERS=5 -DOPENINGS=4 -DPLACES=4 -DSYNC'
	variant 'replaced servers go on, more numbers' leases '-DNUMBERS=3 -DUNFENCED'
	variant 'three replaced servers go on' leases '-DNUMBERS=2 -DHUBS=3 -DUNFENCED'
	variant 'members fail, more of all' leases '-DNUMBERS=2 -DUNFENCED -DMEMBERS_FAIL'
	variant 'two hubs, promotions, joins' leases '-DNUMBERS=2 -DOPENINGS=2 -DPLACES=2 -DOTHER -DJOIN'
fi
rule_left_out 'a hub does not look at its place' leases -DWITHOUT_PLACE
rule_left_out 'resume skips no numbers' leases -DWITHOUT_SKIP
rule_left_out 'counters that are not there yet begin at 0' leases -DWITHOUT_FLOOR
rule_left_out 'a claim does not wait for the standby' leases '-DSYNC -DWITHOUT_WAIT'
rule_left_out 'a lower opening is taken' leases '-DNUMBERS=2 -DUNFENCED -DWITHOUT_OPENING'
rule_left_out 'an opening has no id' leases '-DNUMBERS=2 -DUNFENCED -DWITHOUT_ID'
rule_left_out 'another hub is taken' leases '-DNUMBERS=2 -DOTHER -DWITHOUT_HUB'
rule_left_out 'a written answer is not compared again' leases '-DNUMBERS=2 -DUNFENCED -DWITHOUT_SECOND_COMPARISON'
rule_left_out 'the same, and the member joins another hub' leases '-DNUMBERS=1 -DOPENINGS=1 -DPLACES=1 -DOTHER -DJOIN -DWITHOUT_SECOND_COMPARISON'
rule_left_out 'a lease may be below max' leases '-DNUMBERS=1 -DOPENINGS=1 -DPLACES=1 -DJOIN -DWITHOUT_ABOVE'
rule_left_out 'ranges outlive join' leases '-DNUMBERS=1 -DOPENINGS=1 -DPLACES=1 -DJOIN -DWITHOUT_EPOCH'
rule_left_out 'join compares only before it asks' leases '-DNUMBERS=1 -DOPENINGS=2 -DPLACES=2 -DUNFENCED -DJOIN -DWITHOUT_JOIN_COMPARISON'
# What the page rules out repeats numbers, and the model sees that.
rule_left_out 'asynchronous, and nothing skipped' leases -DNO_SKIP
rule_left_out 'a lost skip is not counted' leases -DFIXED_SKIP
rule_left_out 'two hubs, and members that have not heard' leases '-DUNFENCED -DUNCOVERED'
rule_left_out 'two hubs, and one lacks two openings' leases '-DNUMBERS=1 -DOPENINGS=4 -DPLACES=2 -DUNFENCED -DTWO_LACK'
rule_left_out 'a snapshot of the volume is started' leases -DSNAPSHOT

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
