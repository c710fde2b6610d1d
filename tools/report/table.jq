# results.json -> the table for the terminal, as plain text.

def pad($width): tostring | (" " * ([$width - length, 0] | max)) + .;
def left($width): tostring | . + (" " * ([$width - length, 0] | max));
# 1.5 with 2 digits -> 1.50
def fixed($digits):
	if . == null then "-" else
		pow(10; $digits) as $unit | (. * $unit | round) as $n |
		if $digits == 0 then "\($n)" else
			"\($n / $unit | floor).\($n % $unit | pad($digits) | gsub(" "; "0"))"
		end
	end;

# The columns: heading, figure, digits after the point. Those at the end are there where the host could count.
def columns: [
	["IOPS", .iops_median, 0], ["lowest", .iops_min, 0], ["highest", .iops_max, 0], ["to haltpoll", .ratio_to_haltpoll, 2],
	["irqs/IO", .irqs_per_io, 3], ["poll share", .poll_share, 2],
	["p50 us", .lat_p50_us, 0], ["p99 us", .lat_p99_us, 0], ["p99.9 us", .lat_p999_us, 0],
	(["exits/IO", .exits_per_io, 3], ["halts/IO", .halt_exits_per_io, 3], ["inj/IO", .irq_injections_per_io, 3],
		["host us/IO", .host_cpu_us_per_io, 1] | select(.[1] != null))
];
def heading: ["access", "mode"] + (columns | map(.[0]));
def cells: [.rw, .mode] + (columns | map(. as [$name, $figure, $digits] | $figure | fixed($digits)));
def line: [.[:2][] | left(12)] + [.[2:][] | pad(11)] | join(" ");
# What the exits were, as far as KVM tells
def reasons: "  \(.rw), \(.mode): " + (.exit_reasons_per_io | to_entries | sort_by(-.value) |
	map(select(.value >= 0.001) | "\(.key) \(.value | fixed(3))") | join(", "));

"",
"Linux \(.kernel) on \(.arch), \(.accelerator), \(.vcpus) vCPU\(if .vcpus == 1 then "" else "s" end), \(.qemu)",
"\(.device)",
"medians of \(.rounds) round\(if .rounds == 1 then "" else "s" end) in one boot, \(.runtime) s a sample; every figure: \(.accelerator)",
"",
(.results[0] | heading | line),
(.rw[] as $rw | (.results[] | select(.rw == $rw) | cells | line), ""),
(.results | map(select(.exit_reasons_per_io)) | select(length > 0) |
	"KVM's counts per I/O, exits and what goes with them:", map(reasons)[],
	"injections: \(.[0].irq_injections_source)", ""),
(.ratios[] | select(.poll_source_to_haltpoll) |
	"\(.rw): poll_source / haltpoll \(.poll_source_to_haltpoll | fixed(2))" +
	(if .poll_source_to_io_poll then ", poll_source / io_poll \(.poll_source_to_io_poll | fixed(2))" else "" end)),
"",
(if .accelerator == "KVM" then empty else
	"\(.accelerator): interrupts cost an emulated CPU more than a real one; the ratios show that the mechanism works, not",
	"what hardware gains." end)
