# results.json -> the chart's data: a line for each access pattern, median, lowest and highest of each mode.
(["access"] + [.modes[] | ., "lowest", "highest"] | join(" ")),
(. as $all | .rw[] as $rw | [$rw] + [
	$all.modes[] as $mode | ([$all.results[] | select(.rw == $rw and .mode == $mode)][0] // {}) |
	(.iops_median, .iops_min, .iops_max) // "-"
] | join(" "))
