#!/bin/bash
# Each of the benchmark's modes works, is proved by the counters, and gains what it should, on all three ring flavours:
# split with EVENT_IDX (QEMU's default), packed, split without EVENT_IDX.
#
# The limit leaves time to build the kernel.
# limit: 900
# also: x86_64
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/guest.sh"

export ROUNDS=3 RUNTIME=1 VCPUS=1 LATENCY_NS=50000 DEVICE_OPTS LABEL

# figure MODE KEY
figure() { jq -e --arg mode "$1" --arg key "$2" '.results[] | select(.mode == $mode)[$key]' "$dir/results.json"; }

measured() { "$ROOT/tools/measure.sh" "$dir" halt,haltpoll,poll_source,io_poll randread; }

# bounded MODE KEY FILTER: FILTER holds of the figure
bounded() { jq -n -e --argjson value "$(figure "$1" "$2")" "\$value | $3" >/dev/null; }

# flavour NAME DEVICE-OPTIONS
flavour() {
	DEVICE_OPTS=$2
	LABEL="modes, $1"
	dir=$LOGS/modes-$1
	rm -rf "$dir"
	if measured >"$LOGS/modes-$1.said" 2>&1; then
		pass "modes: $1: every mode is proved by its counters"
	else
		flunk "modes: $1: every mode is proved by its counters" "$(tail -n 40 "$LOGS/modes-$1.said")"
		return
	fi
	check "modes: $1: haltpoll takes an interrupt per I/O ($(figure haltpoll irqs_per_io))" \
		bounded haltpoll irqs_per_io '. >= 0.9'
	check "modes: $1: poll_source takes at most 0.1 interrupts per I/O ($(figure poll_source irqs_per_io))" \
		bounded poll_source irqs_per_io '. <= 0.1'
	check "modes: $1: poll_source is more than 1.2 times haltpoll, emulated ($(figure poll_source ratio_to_haltpoll))" \
		bounded poll_source ratio_to_haltpoll '. > 1.2 or env.ACCEL == "kvm"'
}

use_kernel bench
flavour default ''
flavour packed packed=on
flavour no-event-idx event_idx=off
tap_end
