# report.sh: writes what run.sh has measured.  To be sourced by it.

# Name, median, spread of a part: part, title of the first column.
plain_table() {
    unit=$(sql "SELECT DISTINCT unit FROM bench.summary WHERE part = '$1'" | tr '\n' '/' | sed 's,/$,,')
    say "| $2 | median, $unit | lowest | highest |"
    say "| --- | ---: | ---: | ---: |"
    sql "SELECT format('| %s | %s | %s | %s |', replace(name, '|', '\\|'), bench.show(greatest(median, 0)), bench.show(greatest(lowest, 0)), bench.show(greatest(highest, 0)))
        FROM bench.summary LEFT JOIN LATERAL (SELECT min(pos) AS pos FROM bench.candidate c
            WHERE c.part = summary.part AND c.name = summary.name) c ON true
        WHERE part = '$1' ORDER BY pos, median"
    say ""
}

# Name and x, each with median and spread: part, title of x.
table_by_x() {
    sql "SELECT DISTINCT x FROM bench.summary WHERE part = '$1' ORDER BY x" |
        awk -v title="$2" '{ head = head " | " title " " $1; line = line " ---: |" } END { print "| " head " |"; print "| --- |" line }' |
        sed 's/^|  |/| |/'
    sql "SELECT '| ' || name || ' | ' || string_agg(bench.show(median, lowest, highest), ' | ' ORDER BY x) || ' |'
        FROM bench.summary WHERE part = '$1' GROUP BY name ORDER BY min(median)"
    say ""
}

chapter() { printf '## %s\n\n' "$*"; }
note() { printf '%s\n\n' "$*"; }

# The measured value, and if it misses the goal, the reason from reasons.txt.
targets_table() {
    say "| measure | target | measured | met |"
    say "| --- | --- | --- | --- |"
    sql "SELECT pos, format('| %s | %s | %s | %s', measure, target, measured,
            CASE WHEN met THEN 'yes' WHEN NOT met THEN 'no' ELSE 'reported' END) FROM bench.target ORDER BY pos" |
        while IFS= read -r line; do
            pos=${line%%|*}
            reason=
            case $line in
                *"| no") reason=$(sed -n "s/^$pos: /: /p" "$bench/reasons.txt") ;;
            esac
            say "${line#*|}$reason |"
        done
    say ""
}

markdown() {
    say "# What hilo costs"
    say ""
    note "Measured by \`sh test/bench/run.sh${quick:+ --quick}\` in one run, $(date +%Y-%m-%d), on commit $commit; do not edit."
    [ -z "$quick" ] || note "**A short run, which only shows that everything works: the times mean nothing.**"
    say "| | |"
    say "| --- | --- |"
    say "| CPU | $(lscpu | sed -n 's/^Model name: *//p' | head -n 1), $(nproc) processors |"
    lscpu | sed -n 's/^\(CPU family\|Model\|L2 cache\|L3 cache\|Hypervisor vendor\): */\1 | /p' | sed 's/.*/| & |/'
    say "| system | $(. /etc/os-release && say "$PRETTY_NAME"), Linux $(uname -r), $(file_system) |"
    say "| server | $("$pg_config" --version), fsync on, JIT off, $("$pg_config" --configure | grep -c -- --enable-cassert | sed 's/0/no assertions/; s/1/with assertions/') |"
    say "| fdatasync of 8 kB | $(sql "SELECT bench.show(median, lowest, highest) FROM bench.summary WHERE part = 'disk'") µs |"
    say "| load before, now | $load_before, $(cut -d ' ' -f 1 /proc/loadavg) |"
    say ""
    note "Everything is measured in turn, over $rounds rounds, each of which begins with another candidate. The figures are the medians
of the rounds, with the lowest and the highest; ratios are those within one round. Compare within this page, not with other machines."
    chapter "Targets"
    targets_table
    chapter "One draw in one session"
    [ -z "$plots" ] || note "![one draw](session.svg)"
    note "CPU time in $session_rounds rounds of \`SELECT count(f('orders')) FROM generate_series(1, $short_draws)\`, net of the empty loop
\`count(x)\` (the row \`empty loop\` is gross), ranges warm. What the loop's own noise hides is shown as 0."
    plain_table session "draw"
    note "Texts by the digits of their numbers, beside the C function that only builds them, the limit:"
    plain_table digits "text"
    note "In a plpgsql procedure, \`id := f(…)\` in a loop, net of a loop that assigns an existing value:"
    plain_table procedure "draw"
    note "The collection from a column: a table with 1,000 names in turn, \`SELECT count(name), count(f(name))\`, net of
\`SELECT count(name), count(n)\`:"
    plain_table names "draw"
    note "$draws draws in a new session from a new collection or sequence, everything included:"
    plain_table "cold start" "draw"
    chapter "INSERT … SELECT of $rows rows"
    [ -z "$plots" ] || note "![inserts](inserts.svg)"
    note "Each with the id as DEFAULT, and an integer; tables without an index:"
    plain_table "insert heap only" "id"
    note "With a primary key. Unpadded numbers in text are not in text order, so inserts scatter over the index; with
fixed width they do not. All text columns are \`COLLATE \"C\"\`:"
    plain_table "insert with primary key" "id"
    chapter "One-row inserts by pgbench"
    [ -z "$plots" ] || note "![one-row inserts](clients.svg)"
    for flush in on off; do
        note "Transactions a second, into a table with a primary key, \`synchronous_commit = $flush\`:"
        table_by_x "one-row inserts, synchronous_commit $flush" "clients:"
    done
    for flush in on off; do
        note "Reconnecting for each (\`-C\`), \`synchronous_commit = $flush\`. hilo flushes its claim before it shows the first number:"
        table_by_x "reconnecting, synchronous_commit $flush" "clients:"
    done
    chapter "Single steps"
    note "One number each, with its flush (\`synchronous_commit = on\`):"
    plain_table flush "step"
    note "\`synchronous_commit = off\`:"
    plain_table "no flush" "step"
    note "First and second statement of a new session, as psql sees it:"
    plain_table "first statement of a session" "statement"
    plain_table "second statement of a session" "statement"
    if [ -n "$(sql "SELECT 1 FROM bench.result WHERE part = 'CPU, by perf' LIMIT 1")" ]; then
        note "CPU by perf (cpu-clock, a sample each $sample_time µs, of call chains); a connection draws once:"
        say "| step | µs | samples |"
        say "| --- | ---: | ---: |"
        sql "SELECT format('| %s | %s | %s |', name, bench.show(value), x) FROM bench.result WHERE part = 'CPU, by perf'"
        say ""
    else
        note "CPU could not be measured by perf on this machine."
    fi
    note "WAL:"
    plain_table "WAL of a million numbers" "numbers"
    chapter "Many collections"
    say "| | unit | $(say "$collections" | sed 's/ / | /g') |"
    say "| --- | --- | $(say "$collections" | sed 's/[0-9][0-9]*/---: |/g')"
    sql "SELECT '| ' || name || ' | ' || replace(unit, 'us', 'µs') || ' | ' || string_agg(bench.show(median), ' | ' ORDER BY x) || ' |'
        FROM bench.summary WHERE part = 'collections' GROUP BY name, unit ORDER BY name"
    say ""
    note "Eight sessions draw 100 numbers per statement, each time from any of so many collections; numbers per second:"
    [ -z "$plots" ] || note "![many collections](collections.svg)"
    table_by_x "collections at once" "collections:"
    chapter "Many sessions"
    [ -z "$plots" ] || note "![many sessions](sessions.svg)"
    note "$connections connections at once, each drawing once and disconnecting (wall time of all; CPU of each):"
    plain_table connections "draw"
    plain_table "connections, CPU of each" "draw"
    note "After $((connections * rounds)) such draws the collection's max was $(sql "SELECT bench.show(median) FROM bench.summary WHERE part = 'connections, max of the collection'"); what was not drawn is in the pool."
    note "Numbers a second of all sessions together, each from its first range on:"
    table_by_x sessions "sessions:"
    note "Claims of one number a second, each flushed:"
    table_by_x claims "sessions:"
    claims_model
    chapter "Free search"
    cat "$work/free_search.md"
}

# What limits claims, here and on more processors.
claims_model() {
    flush=$(sql "SELECT round(bench.median('disk', 'fdatasync')::numeric, 1)")
    locked=$(sql "SELECT round(value::numeric, 1) FROM bench.result WHERE name = 'claim outside XLogFlush (hilo_reserve)'")
    cpu=$(sql "SELECT round(($(nproc) * 1e6 / max(median))::numeric, 1) FROM bench.summary WHERE part = 'claims' AND name = 'one collection'")
    [ -n "$locked" ] || return 0
    note "A model of claims from one collection: a claim takes $cpu µs of CPU, its client's included (all processors, by the highest rate above),
of which at most $locked µs are under the lock of its page (all that perf finds outside the flush); it waits for half a flush
of $flush µs that is under way, and for its own, which it shares with all that wait. Assumed: flushes take no longer on a larger machine,
and the lock is handed on without a pause. So few sessions are limited by the flush, many by the processors, and one page never gives more
than $(sql "SELECT bench.show(1e6 / $locked)") claims a second, to which a larger range is the answer: each claim brings it whole."
    say "| claims a second | $(say "$sessions" | sed 's/ / | /g') |"
    say "| --- | $(say "$sessions" | sed 's/[0-9][0-9]*/---: |/g')"
    for processors in $(nproc) 64; do
        say "| by the model, $processors processors | $(sql "SELECT string_agg(bench.show(bench.claims(x, $processors, $flush, $cpu, $locked)), ' | ' ORDER BY x)
            FROM unnest('{$(say "$sessions" | tr ' ' ',')}'::int[]) x") |"
    done
    say ""
}

# The data of the plots.
write_plot_data() {
    psql_as_user -F '	' -c "SELECT name, median, lowest, highest FROM bench.summary JOIN (
            SELECT part, name, min(pos) AS pos FROM bench.candidate GROUP BY 1, 2) c USING (part, name)
            WHERE part = 'session' AND name <> 'empty loop' ORDER BY median DESC" >"$1/session.tsv"
    psql_as_user -F '	' -c "SELECT name, max(median) FILTER (WHERE part LIKE '%heap%'), max(median) FILTER (WHERE part LIKE '%key')
            FROM bench.summary WHERE part LIKE 'insert %' GROUP BY name ORDER BY 3 DESC" >"$1/inserts.tsv"
    for part in "one-row inserts, synchronous_commit on" "one-row inserts, synchronous_commit off" sessions "collections at once"; do
        # A block a line of the plot, its name above it.
        sql "SELECT '\"' || name || E'\"\n' || string_agg(concat_ws(E'\t', x, median, lowest, highest), E'\n' ORDER BY x) || E'\n\n'
            FROM bench.summary WHERE part = '$part' GROUP BY name ORDER BY name" >"$1/$part.tsv"
    done
}

report() {
    commit=$(git -C "$top" -c safe.directory='*' describe --always --dirty --abbrev=10 2>/dev/null || say "unknown")
    psql_as_user <"$bench/report.sql"
    results=$work/results
    mkdir "$results"
    write_plot_data "$work/tmp" || exit 1
    plots=
    if command -v gnuplot >/dev/null; then
        gnuplot -e "data='$work/tmp'; results='$results'" "$bench/plots.gp" || die "gnuplot failed."
        plots=yes
    fi
    markdown >"$results/RESULTS.md" || exit 1
    psql_as_user -c "COPY (SELECT part, name, x, rounds, median, lowest, highest, unit FROM bench.summary ORDER BY part, x, name)
        TO STDOUT (FORMAT csv, HEADER)" >"$results/results.csv" || exit 1
    [ -n "$output" ] || [ -n "$quick" ] || output=$bench
    if [ -n "$output" ]; then
        mkdir -p "$output" && cp "$results"/* "$output" || die "$output could not be written to."
        say "Results: $output/RESULTS.md, $output/results.csv${plots:+, $output/*.svg}"
    fi
    sed -n '/^## Targets/,/^## One/p' "$results/RESULTS.md" | sed '$d'
    say "It took $((($(now) - began) / 60)) min $((($(now) - began) % 60)) s."
}
