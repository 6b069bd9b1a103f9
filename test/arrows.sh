#!/bin/sh
# arrows.sh: what a file of src may know of others.
#
#   sh test/arrows.sh
#
# A folder includes headers of its own and of those below it only, no two files need each other's
# header, and the core, which is all but src/hub, includes none of that folder and speaks
# of leases, terms, hubs, members and Citus only where test/border says, on 120 lines at most.  Says
# what is not so, and fails.
cd "$(dirname "$0")/.." || exit 1
status=0
refuse() {
    [ -n "$1" ] || return 0
    printf '%s\n' "$1" "$2"
    status=1
}

refuse "$(awk '
    BEGIN {
        n = split("base counting shared session tables sequences ids functions", floors)
        for (i = 1; i <= n; i++)
            floor[floors[i]] = i
        floor["hub"] = floor["tables"] + 0.5
    }
    /^#include "[a-z]+\/[a-z_]+\.h"/ {
        split(FILENAME, at, "/")
        split($2, to, /["\/]/)
        if ((to[2] in floor) && (floor[to[2]] > floor[at[2]] || to[2] == "hub" && at[2] != "hub"))
            print at[2] "/" at[3] " -> " substr($2, 2, length($2) - 2)
    }' src/*/*.[ch])" "An include climbs."

refuse "$(awk '
    /^#include "[a-z]+\/[a-z_]+\.h"/ {
        from = FILENAME
        gsub(/^src\/|\.[ch]$/, "", from)
        split($2, to, /"|\.h"/)
        if (from != to[2])
            print from, to[2]
    }' src/*/*.[ch] | sort -u | tsort 2>&1 >/dev/null | sed -n 's/^tsort: \([a-z]*\/\)/\1/p')" "These files need each other."

refuse "$(perl -e '
    my ($count, @may) = (0);
    open(my $border, "<", "test/border") or die "test/border: $!";
    while (<$border>) {
        next if /^#/;
        my ($files, $text) = /^(\S+)\s*\| (.*?)\s*\| [^|]+$/ or die "test/border: $_";
        push @may, {line => $., text => $text, files => {map { $_ => 1 } glob("src/$files")}};
    }
    for my $file ("src/README.md", grep { !m,^src/hub/, } glob("src/*/*.[ch]")) {
        open(my $in, "<", $file) or die "$file: $!";
        while (<$in>) {
            next unless /\b(hilo_)?(hub|member|lease|leased|leases|citus|lineage|term_id)/i;
            $count++;
            my $line = $_;
            my @fit = grep { $$_{files}{$file} && $line =~ $$_{text} } @may;
            print "$file:$.:$line" unless @fit;
            $$_{used} = 1 for @fit;
        }
    }
    print "test/border:$$_{line}: no line needs this\n" for grep { !$$_{used} } @may;
    print "$count lines\n" if $count > 120;')" "The core speaks of leases and hubs where it should not."
exit "$status"
