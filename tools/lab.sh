#!/bin/bash
# The lab: the benchmark under real KVM on a machine without it, or without it for ARCH. An emulated machine whose processor
# has what KVM needs boots the project's kernel as hypervisor; in it the guest runs under KVM, and KVM counts its exits.
#
# Everything is some ten times slower there than under KVM, requests too. So haltpoll has to poll for longer.
#
# What is made is in OUT/lab/TIMESTAMP; OUT/lab/latest leads to the last good run. A run that fails keeps its directory, as
# TIMESTAMP-failed.
set -euo pipefail
export ROUNDS=${ROUNDS:-3} VCPUS=${VCPUS:-1} GUEST_HALT_POLL_NS=${GUEST_HALT_POLL_NS:-3000000}
source "$(dirname "$0")/lib.sh"

lock_out
"$ROOT/tools/kernel.sh" lab >/dev/null
"$ROOT/tools/kernel.sh" bench >/dev/null
"$ROOT/tools/rootfs.sh" >/dev/null
"$ROOT/tools/lab-rootfs.sh" >/dev/null
name=$(date +%Y%m%d-%H%M%S)
dir=$OUT/lab/$name
need_space "$dir" 50 "the lab's results"
trap '[[ ! -d $dir ]] || mv "$dir" "$dir-failed"' EXIT
NESTED=yes LABEL=lab "$ROOT/tools/measure.sh" "$dir" halt,haltpoll,poll_source,io_poll randread ||
	die "the lab failed" "what it left is in $dir-failed"
trap - EXIT
ln -sfn "$name" "$OUT/lab/latest"
say "results: $dir/results.json, results.csv, iops.png, iops.svg"
