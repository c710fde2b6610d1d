# The chart of the medians, bars from the lowest to the highest sample. gnuplot -c chart.gp DATA TERMINAL OUTPUT TITLE NUMBER-OF-MODES
set terminal @ARG2 size 900,500
set output ARG3
set title ARG4 noenhanced
set style data histogram
set style histogram errorbars gap 2 lw 1.5
set style fill solid 0.8 border -1
set boxwidth 0.9
set ylabel "IOPS (4 KiB, iodepth 1), median and range"
set yrange [0:*]
set grid ytics
set key outside right top noenhanced reverse Left
set xtics noenhanced
set datafile missing "-"
modes = ARG5
plot for [m = 0:modes - 1] ARG1 \
	using (column(3 * m + 2)):(column(3 * m + 3)):(column(3 * m + 4)):xtic(1) title columnheader(3 * m + 2)
