#!/bin/bash
# The lab: KVM in the emulated machine works, the modes are proved there, and their exits are counted.
#
# full: it takes some minutes for each architecture
# limit: 1800
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/guest.sh"

export NESTED=yes LABEL=lab ROUNDS=1 RUNTIME=1 VCPUS=1 LATENCY_NS=50000 GUEST_HALT_POLL_NS=3000000
OWN=$LOGS/lab
lock_out
mkdir -p "$LOGS"
rm -rf "$OWN"

lab() { "$ROOT/tools/measure.sh" "$OWN" halt,haltpoll,poll_source,io_poll randread; }
holds() { jq -e "$1" "$OWN/results.json"; }

if lab >"$LOGS/lab.said" 2>&1; then
	pass "lab: the guest ran in it, every mode is proved by its counters"
	check "lab: the results say KVM inside emulation" holds '.accelerator == "KVM inside emulation" and .accel == "kvm"'
	check "lab: exits, halts, injections and the host's time are counted in each mode" \
		holds '.results | length == 4 and all(.[]; [.exits_per_io, .halt_exits_per_io, .irq_injections_per_io, .host_cpu_us_per_io] | all)'
	check "lab: without poll_source an I/O takes the exit of its doorbell at least" \
		holds '.results[] | select(.mode == "haltpoll") | .exits_per_io >= 1'
	check "lab: poll_source saves exits" \
		holds '.results | map({(.mode): .exits_per_io}) | add | .poll_source < .haltpoll'
else
	flunk "lab: the guest ran in it, every mode is proved by its counters" "$(tail -n 60 "$LOGS/lab.said")"
fi
tap_end
