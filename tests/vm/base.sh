#!/bin/bash
# A base beside the default one, with a small kernel: its KUnit suites, and polling that is proved by the guest's counters.
# All else is tested for the default one; `make test BASE=...` does it for another.
#
# The limit leaves time to build the kernel.
# limit: 1800
# bases: others
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/guest.sh"

export KERNEL_FLAVOUR=kunit ROUNDS=1 RUNTIME=2 VCPUS=1 LATENCY_NS=50000 DEVICE_OPTS LABEL=base

# what the benchmark proves its modes by: see tools/report/proof.jq
measured() { "$ROOT/tools/measure.sh" "$LOGS/base" haltpoll,poll_source randread; }

polled() {
	DEVICE_OPTS=$1
	rm -rf "$LOGS/base"
	measured 2>&1 | tail -n 40
	((PIPESTATUS[0] == 0))
}

use_kernel "$KERNEL_FLAVOUR"
kunit_test base-kunit
check "base: poll_source takes few interrupts, and hits (split ring)" polled ''
check "base: poll_source takes few interrupts, and hits (packed ring)" polled packed=on
tap_end
