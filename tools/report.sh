#!/bin/bash
# Turns what a benchmark left into results.json, results.csv, a chart, and a table on stdout.
#
# usage: tools/report.sh DIR      DIR holds samples.jsonl (from the guest) and run.json (from tools/bench.sh)
#
# Fails where the counters do not prove a mode (tools/report/proof.jq); the results are there then too, to look into it, but no chart.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

HERE=$ROOT/tools/report
DIR=$1

report() { jq -L "$HERE" -r -f "$HERE/$1.jq" "$DIR/results.json"; }

chart() {
	local title modes
	title=$(jq -r '(.device | split(",") | map(select(startswith("drive=") or startswith("iothread=") | not)) | join(",")) as $device |
		"Linux \(.kernel), \(.arch), \(.accelerator), \(.vcpus) vCPU, \($device)"' "$DIR/results.json")
	report chart >"$DIR/chart.data"
	modes=$(jq '.modes | length' "$DIR/results.json")
	gnuplot -c "$HERE/chart.gp" "$DIR/chart.data" pngcairo "$DIR/iops.png" "$title" "$modes"
	gnuplot -c "$HERE/chart.gp" "$DIR/chart.data" svg "$DIR/iops.svg" "$title" "$modes"
	rm "$DIR/chart.data"
}

jq -L "$HERE" --slurp --argjson run "$(cat "$DIR/run.json")" -f "$HERE/results.jq" "$DIR/samples.jsonl" >"$DIR/results.json"
report csv >"$DIR/results.csv"
report table

mapfile -t unproved < <(jq -r '.unproved[]' "$DIR/results.json")
((${#unproved[@]} == 0)) || die "the benchmark proves nothing:" "${unproved[@]}" "(samples: $DIR/samples.jsonl)"
chart
