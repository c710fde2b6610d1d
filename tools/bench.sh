#!/bin/bash
# The benchmark: builds what it needs, measures, and keeps the results.
#
# What is made is in OUT/bench/TIMESTAMP; OUT/bench/latest leads to the last good run. A run that fails keeps its
# directory, as TIMESTAMP-failed.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

lock_out
"$ROOT/tools/kernel.sh" bench >/dev/null
"$ROOT/tools/rootfs.sh" >/dev/null
name=$(date +%Y%m%d-%H%M%S)
dir=$OUT/bench/$name
need_space "$dir" 50 "a benchmark's results"
trap '[[ ! -d $dir ]] || mv "$dir" "$dir-failed"' EXIT
"$ROOT/tools/measure.sh" "$dir" || die "the benchmark failed" "what it left is in $dir-failed"
trap - EXIT
ln -sfn "$name" "$OUT/bench/latest"
say "results: $dir/results.json, results.csv, iops.png, iops.svg"
