#!/bin/bash
# The report on made-up samples: a run whose counters prove its modes passes with the right figures, and each rule of
# tools/report/proof.jq stops a run that breaks it, with the mode's name.
# shellcheck disable=SC2016,SC2317 # jq has variables too; functions are called by check
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

# What the host is to have counted in the samples to come: a filter that gives {before, after}, with $ios; nothing: it did not.
HOST=''
ACCELERATOR='emulated (TCG)'

# by_tcg, by_x86, by_arm64, by_debugfs: what the host answers, in the forms that it comes in
by_tcg='{before: {cpu_us: 1000000, kvm: null}, after: {cpu_us: (1000000 + 400 * $ios), kvm: null}}'
stats='def stats($add): {return: [1, 2 | {provider: "kvm", "qom-path": "cpu", stats: ($add + [
	{name: "signal_exits", value: 7}, {name: "halt_wait_hist", value: [1, 2]}])}]};
	def answer($cpu_us; $add): {cpu_us: $cpu_us, kvm: stats($add)};'
by_x86=$stats'{before: answer(500; [{name: "exits", value: 100}, {name: "halt_exits", value: 10}, {name: "irq_injections", value: 5}]),
	after: answer(500 + 300 * $ios; [{name: "exits", value: (100 + $ios)}, {name: "halt_exits", value: (10 + $ios / 4)},
		{name: "irq_injections", value: (5 + $ios / 2)}])}'
by_arm64=$stats'{before: answer(0; [{name: "exits", value: 0}, {name: "wfi_exit_stat", value: 0}, {name: "mmio_exit_kernel", value: 3}]),
	after: answer(300 * $ios; [{name: "exits", value: $ios}, {name: "wfi_exit_stat", value: ($ios / 8)},
		{name: "mmio_exit_kernel", value: (3 + $ios / 2)}])}'
by_debugfs='{before: {cpu_us: 0, kvm: {exits: 50, halt_exits: 1}}, after: {cpu_us: (300 * $ios), kvm: {exits: (50 + 3 * $ios), halt_exits: 1}}}'

host_filter() { if [[ $HOST ]]; then echo ".ios as \$ios | .host = {ios: \$ios} + ($HOST)"; else echo .; fi; }

# run_with CHANGED-MODE SAMPLE-ARGUMENTS...: a good run of two rounds, but for one mode.
run_with() {
	local mode=$1 round
	shift
	rm -rf "$WORK/run"
	mkdir "$WORK/run"
	sed "s/ACCELERATOR/$ACCELERATOR/" >"$WORK/run/run.json" <<-'EOF'
		{"arch": "arm64", "accel": "tcg", "accelerator": "ACCELERATOR", "kernel": "6.12.0", "qemu": "QEMU 7.2",
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
	done | jq -c "$(host_filter)" >"$WORK/run/samples.jsonl"
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

# counted ACCELERATOR HOST FILTER: true of the result of the mode poll_source, which the guest says took 0.02 interrupts per I/O
counted() {
	local ACCELERATOR=$1 HOST=$2
	run_with none || { cat "$WORK/errors"; return 1; }
	holds ".results[2] | $3" || { jq '.results[2]' "$WORK/run/results.json"; return 1; }
}

# shown HEADING...: the table has these columns, and the csv as many fields on each line
shown() {
	local heading
	for heading in "$@"; do grep -F "$heading" "$WORK/table" || { cat "$WORK/table"; return 1; }; done
	[[ $(awk -F , '{ print NF }' "$WORK/run/results.csv" | sort -u | wc -l) == 1 ]]
}

labelled() {
	grep -q "on arm64, $1, 1 vCPU" "$WORK/table" && grep -q "$1" "$WORK/run/iops.svg" &&
		[[ $(grep -cF "\"$1\",\"randread\"" "$WORK/run/results.csv") == 4 ]] && holds ".accelerator == \"$1\""
}

check "report: a host that counted nothing" counted 'emulated (TCG)' '' \
	'[.exits_per_io, .halt_exits_per_io, .irq_injections_per_io, .host_cpu_us_per_io, .exit_reasons_per_io] == [null, null, null, null, null]'
check "report: ... and no column for it" eval '! shown exits/IO'
check "report: the host's CPU time, without KVM" counted 'emulated (TCG)' "$by_tcg" '.host_cpu_us_per_io == 400 and .exits_per_io == null'
check "report: ... in the table, and no exits" eval 'shown "host us/IO" && ! shown exits/IO'
check "report: what KVM for x86-64 counts, of all vCPUs" counted KVM "$by_x86" \
	'.exits_per_io == 2 and .halt_exits_per_io == 0.5 and .irq_injections_per_io == 1 and .host_cpu_us_per_io == 300 and
	.exit_reasons_per_io == {halt_exits: 0.5, irq_injections: 1, rest: 1.5}'
check "report: ... in the table and the csv" shown exits/IO halts/IO inj/IO "host us/IO" "injections: KVM"
check "report: ... labelled as KVM" labelled KVM
check "report: what KVM for arm64 counts" counted "KVM inside emulation" "$by_arm64" \
	'.exits_per_io == 2 and .halt_exits_per_io == 0.25 and (.irq_injections_per_io * 1000 | round) == 20 and
	.irq_injections_source == "guest, interrupts of the disk" and .exit_reasons_per_io.mmio_exit_kernel == 1 and .exit_reasons_per_io.rest == 0.75'
check "report: ... labelled as KVM inside emulation" labelled "KVM inside emulation"
check "report: what debugfs gives" counted KVM "$by_debugfs" '.exits_per_io == 3 and .halt_exits_per_io == 0'

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
