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
def heading: ["access", "mode", "IOPS", "lowest", "highest", "to haltpoll", "irqs/IO", "poll share", "p50 us", "p99 us", "p99.9 us"];
def cells: [
	.rw, .mode, (.iops_median | fixed(0)), (.iops_min | fixed(0)), (.iops_max | fixed(0)), (.ratio_to_haltpoll | fixed(2)),
	(.irqs_per_io | fixed(3)), (.poll_share | fixed(2)), (.lat_p50_us | fixed(0)), (.lat_p99_us | fixed(0)),
	(.lat_p999_us | fixed(0))];

"",
"Linux \(.kernel) on \(.arch), \(.accelerator), \(.vcpus) vCPU\(if .vcpus == 1 then "" else "s" end), \(.qemu)",
"\(.device)",
"medians of \(.rounds) round\(if .rounds == 1 then "" else "s" end) in one boot, \(.runtime) s a sample; every figure: \(.accelerator)",
"",
(heading | [.[:2][] | left(12)] + [.[2:][] | pad(11)] | join(" ")),
(.rw[] as $rw | (.results[] | select(.rw == $rw) | cells | [.[:2][] | left(12)] + [.[2:][] | pad(11)] | join(" ")), ""),
(.ratios[] | select(.poll_source_to_haltpoll) |
	"\(.rw): poll_source / haltpoll \(.poll_source_to_haltpoll | fixed(2))" +
	(if .poll_source_to_io_poll then ", poll_source / io_poll \(.poll_source_to_io_poll | fixed(2))" else "" end)),
"",
(if .accel == "kvm" then empty else
	"\(.accelerator): interrupts cost an emulated CPU more than a real one; the ratios show that the mechanism works, not",
	"what hardware gains." end)
