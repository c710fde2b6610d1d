# results.json -> the chart's data: a line for each access pattern, median, lowest and highest of each mode.
.results as $results | ([.results[].mode] | reduce .[] as $m ([]; if index($m) then . else . + [$m] end)) as $modes |
(["access"] + [$modes[] | ., "lowest", "highest"] | join(" ")),
(.results | group_by(.rw)[] | .[0].rw as $rw | [$rw] +
	[$modes[] as $mode | ([$results[] | select(.rw == $rw and .mode == $mode)][0] // {}) |
		(.iops_median, .iops_min, .iops_max) // "-"] | join(" "))
