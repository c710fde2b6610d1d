#!/bin/bash
# The report on made-up samples: a run whose counters prove its modes passes with the right figures, and each rule of
# tools/report/proof.jq stops a run that breaks it, with the mode's name.
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/../tap.sh"
cd "$(dirname "$0")/../.."
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
export OUT=$WORK/out

# sample ROUND MODE IOPS IRQS-PER-IO POLLS-PER-IO POLL-SHARE HITS-PER-IO
sample() {
	jq -nc --argjson round "$1" --arg mode "$2" --argjson iops "$3" --argjson irqs "$4" --argjson polls "$5" \
		--argjson share "$6" --argjson hits "$7" '
		($iops * 2) as $ios | {
			type: "sample", round: $round, rw: "randread", mode: $mode, cpus: 1, wall_ns: 2000000000, ios: $ios,
			irqs: ($ios * $irqs), source: {windows: ($ios * $hits), hits: ($ios * $hits), raced: 0, irqs: 0},
			idle: [{cpu: 0, state: 0, usage: ($ios * $polls), time_us: (2000000 * $share)},
				{cpu: 0, state: 1, usage: $ios, time_us: 100000}],
			fio: {"fio version": "fio-3.33", jobs: [{
				read: {iops: $iops, total_ios: $ios, lat_ns: {bins: {"200000": ($ios - 20), "400000": 15, "800000": 5}}},
				write: {iops: 0, total_ios: 0, lat_ns: {}}}]}
		}'
}

# run_with CHANGED-MODE SAMPLE-ARGUMENTS...: a good run of two rounds, but for one mode.
run_with() {
	local mode=$1 round
	shift
	rm -rf "$WORK/run"
	mkdir "$WORK/run"
	cat >"$WORK/run/run.json" <<-'EOF'
		{"arch": "arm64", "accel": "tcg", "accelerator": "emulated (TCG)", "kernel": "6.12.0", "qemu": "QEMU 7.2",
		 "device": "virtio-blk-pci", "vcpus": 1, "rounds": 2, "runtime": 2, "rw": ["randread"],
		 "modes": ["halt", "haltpoll", "poll_source", "io_poll"]}
	EOF
	for round in 1 2; do
		while read -r -a fields; do
			[[ ${fields[0]} != "$mode" ]] || fields=("$mode" "$@")
			[[ ${fields[1]:-} ]] || continue
			fields[1]=$((fields[1] + 100 * round))
			sample "$round" "${fields[@]}"
		done <<-'EOF'
			halt        2000 1    0 0   0
			haltpoll    2500 1    1 0.5 0
			poll_source 5000 0.02 1 0.6 1
			io_poll     6000 0    0 0   0
		EOF
	done >"$WORK/run/samples.jsonl"
	tools/report.sh "$WORK/run" >"$WORK/table" 2>"$WORK/errors"
}

# holds FILTER: true of results.json
holds() { jq -e "$1" "$WORK/run/results.json"; }

good_run() {
	run_with none || { cat "$WORK/errors"; return 1; }
	holds '[.results[].mode] == ["halt", "haltpoll", "poll_source", "io_poll"]' &&
		holds '.unproved == [] and .fio == "fio-3.33"' &&
		holds '.results[2] | .iops_median == 5150 and .iops_min == 5100 and .iops_max == 5200 and .samples == 2' &&
		holds '.results[2] | .lat_p50_us == 200 and .lat_p999_us == 400' &&
		holds '.results[2] | (.irqs_per_io * 1000 | round) == 20 and .poll_share == 0.6 and .hits_per_io == 1' &&
		holds '.ratios[0].poll_source_to_haltpoll == 5150 / 2650 and .results[1].ratio_to_haltpoll == 1'
}

files() {
	run_with none
	[[ $(head -c 4 "$WORK/run/iops.png" | tail -c 3) == PNG ]] && grep -q '<svg' "$WORK/run/iops.svg" &&
		grep -q 'emulated (TCG)' "$WORK/run/iops.svg" && grep -q 'emulated (TCG)' "$WORK/table" &&
		[[ $(grep -c '^"emulated (TCG)","randread"' "$WORK/run/results.csv") == 4 ]]
}

# stopped_for TEXT MODE SAMPLE-ARGUMENTS...: the run fails, and says so.
stopped_for() {
	local text=$1
	shift
	! run_with "$@" || { echo "the run passed"; return 1; }
	grep -F "$text" "$WORK/errors" || { cat "$WORK/errors"; return 1; }
}

# rule MODE COUNTER SAMPLE-ARGUMENTS...
rule() {
	local mode=$1 counter=$2
	shift 2
	check "report: mode $mode is not taken for proved by its $counter alone being wrong" \
		stopped_for "mode $mode was not what it claims (randread): $counter" "$mode" "$@"
	echo "$mode $counter" >>"$WORK/shown"
}

check "report: figures of a good run" good_run
check "report: chart, table and csv of a good run, labelled as emulated" files

rule halt irqs_per_io        2000 0.5 0 0 0
rule halt polls_per_io       2000 1 0.5 0 0
rule halt poll_share         2000 1 0 0.3 0
rule halt hits_per_io        2000 1 0 0 0.1
rule haltpoll irqs_per_io    2500 0.4 1 0.5 0
rule haltpoll polls_per_io   2500 1 0.1 0.5 0
rule haltpoll poll_share     2500 1 1 0 0
rule haltpoll hits_per_io    2500 1 1 0.5 0.5
rule poll_source irqs_per_io 5000 0.9 1 0.6 1
rule poll_source hits_per_io 5000 0.02 1 0.6 0
rule poll_source poll_share  5000 0.02 1 0 1
rule io_poll irqs_per_io     6000 1 0 0 0
rule io_poll hits_per_io     6000 0 0 0 0.5

every_rule_shown() {
	diff <(jq -n -r -L tools/report 'include "proof"; rules | to_entries[] | "\(.key) \(.value[].counter)"' | sort) \
		<(sort "$WORK/shown")
}
check "report: every rule was shown to fail" every_rule_shown
check "report: a mode without samples is missed" stopped_for "mode io_poll has 0 samples of 2" io_poll
tap_end
