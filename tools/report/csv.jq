# results.json -> results.csv, a heading and one line a result; "accel" says on each line how the figures came about.

def columns: ["rw", "mode", "iops_median", "iops_min", "iops_max", "samples", "lat_p50_us", "lat_p99_us", "lat_p999_us",
	"irqs_per_io", "poll_share", "polls_per_io", "halts_per_io", "hits_per_io", "ratio_to_haltpoll",
	"exits_per_io", "halt_exits_per_io", "irq_injections_per_io", "host_cpu_us_per_io"];

.accelerator as $accelerator |
(["accel"] + columns),
(.results[] | . as $result | [$accelerator] + [columns[] | $result[.]]) |
@csv
