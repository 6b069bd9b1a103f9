# league.gp: the plots of league.sh, from a file into the folder results.
set terminal svg size 960,480 dynamic noenhanced font 'sans-serif,13' background 'white'
set datafile separator "\t"
set style fill solid 0.8 border -1
set grid ytics
kinds = 'sequence cache uuid7 snowflake hilo hilo_text'
titles = "'sequence' 'CACHE 32' 'UUIDv7' 'Snowflake' 'hilo, sequence' 'hilo, text'"
colours = '0xd95f0e 0xfe9929 0x999999 0x756bb1 0x2c7fb8 0x7fcdbb'
set boxwidth 0.13

set output results . '/league.svg'
set title 'Ids that were shown twice'
set ylabel '% of those shown'
set yrange [0:*]
set key outside below center horizontal
events = "'kill -9' 'clock steps back' 'cloned, both go on' 'cloned, with names of their own' 'base backup restored' 'standby promoted' 'DISCARD ALL'"
set xrange [0.5:7.5]
set xtics ('kill -9' 1, 'clock back' 2, 'cloned' 3, 'cloned, named' 4, 'restored' 5, 'promoted' 6, 'DISCARD ALL' 7)
place(event) = (p = NaN, sum [i = 1:words(events)] (event eq word(events, i) ? (p = i, 1) : 0), p)
plot for [k = 1:6] file using (strcol(2) eq word(kinds, k) && strcol(1) ne 'rate' ? place(strcol(1)) + (k - 3.5) * 0.14 : NaN):($4 * 100.0 / $3) \
        with boxes linecolor rgb int(word(colours, k)) title word(titles, k)

set output results . '/league-rate.svg'
set title 'Ids a second, one session, each called by one SQL function (median)'
set ylabel 'million ids a second'
set xrange [0.4:6.6]
set xtics ('sequence' 1, 'CACHE 32' 2, 'UUIDv7' 3, 'Snowflake' 4, 'hilo, sequence' 5, 'hilo, text' 6)
set boxwidth 0.6
plot for [k = 1:6] file using (strcol(1) eq 'rate' && strcol(2) eq word(kinds, k) ? k : NaN):($3 / 1e6) \
        with boxes linecolor rgb int(word(colours, k)) notitle
set output
