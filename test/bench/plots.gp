# plots.gp: the plots of run.sh, from the folder data into the folder results.
set terminal svg size 960,540 dynamic noenhanced font 'sans-serif,13' background 'white'
set datafile separator "\t"
set style fill solid 0.8 border -1
set grid

# One draw: bars, those of hilo in another colour; the limit in grey.
colour(name) = strstrt(name, 'hilo') ? 0x2c7fb8 : strstrt(name, 'C function') ? 0x999999 : 0xd95f0e
set output results . '/session.svg'
set title 'One draw in one session, net of the empty loop (median, lowest, highest)'
set xlabel 'ns a draw'
set xrange [0:*]
set yrange [-0.6:*]
set offsets 0, 0, 0.6, 0
set key outside below center horizontal
set lmargin 38
file = data . '/session.tsv'
bar = 0.35
plot file using (column(2) > 0 ? column(2) : 0):0:(0):(column(2) > 0 ? column(2) : 0):($0 - bar):($0 + bar):(colour(strcol(1))):ytic(1) \
        with boxxyerror linecolor rgb variable notitle, \
     file using 2:0:3:4 with xerrorbars linecolor black pointtype 0 notitle, \
     NaN with boxes linecolor rgb 0x2c7fb8 title 'hilo', \
     NaN with boxes linecolor rgb 0xd95f0e title 'PostgreSQL', \
     NaN with boxes linecolor rgb 0x999999 title 'limit'

set output results . '/inserts.svg'
set title 'INSERT … SELECT, ids by DEFAULT (median)'
set xlabel 'seconds'
file = data . '/inserts.tsv'
plot file using (0):0:(0):($3 > 0 ? $3 : 0):($0):($0 + 0.38):ytic(1) with boxxyerror linecolor rgb 0x2c7fb8 title 'with primary key', \
     file using (0):0:(0):($2 > 0 ? $2 : 0):($0 - 0.38):($0) with boxxyerror linecolor rgb 0xa6bddb title 'heap only'

# Lines over clients or sessions.
reset
set datafile separator "\t"
set style data yerrorlines
set grid
set logscale x 2
set offsets graph 0.05, graph 0.05, 0, 0
set yrange [0:*]
set output results . '/clients.svg'
set key outside below center horizontal maxcols 2
set multiplot layout 1, 2 title 'One-row inserts by pgbench (median, lowest, highest)'
set xlabel 'clients'
set ylabel 'transactions a second'
do for [flush in 'on off'] {
    set title 'synchronous_commit = ' . flush
    file = data . '/one-row inserts, synchronous_commit ' . flush . '.tsv'
    plot for [i = 0:5] file index i using 1:2:3:4 pointtype 7 linewidth 2 title columnheader(1)
}
unset multiplot

set output results . '/sessions.svg'
set title 'Numbers of all sessions together (median, lowest, highest)'
set xlabel 'sessions'
set ylabel 'million numbers a second'
set key outside below center horizontal
file = data . '/sessions.tsv'
plot for [i = 0:3] file index i using 1:($2 / 1e6):($3 / 1e6):($4 / 1e6) pointtype 7 linewidth 2 title columnheader(1)
set output

set output results . '/collections.svg'
set title 'Numbers of eight sessions, from so many collections (median, lowest, highest)'
set xlabel 'collections'
set logscale x 10
set key off
file = data . '/collections at once.tsv'
plot file index 0 using 1:($2 / 1e6):($3 / 1e6):($4 / 1e6) pointtype 7 linewidth 2 title columnheader(1)
set output
