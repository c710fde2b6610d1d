#!/bin/bash
# The KUnit suites, run by the test kernel as it boots; their results come from its log.
#
# The limit leaves time to build the kernel.
# limit: 1200
set -euo pipefail
source "$(dirname "$0")/guest.sh"

use_kernel test
# Two CPUs, for sources that come and go from another one; a high limit for polling, so that a busy host, which makes all
# sleeps in the guest longer, does not keep the CPUs from polling at all.
boot_test kunit --run none --vcpus 2 --timeout 180 \
	--append "kunit.enable=1 maxcpus=2 haltpoll.guest_halt_poll_ns=10000000"
results=$(tr -d '\r' <"$LOGS/kunit.log" | awk -f "$ROOT/tests/vm/ktap.awk")
grep -E '^(not )?ok|^#' <<<"$results" || true
! grep -q '^not ok' <<<"$results" || TAP_FAILED=1
if grep -q '^ok - kunit: suite' <<<"$results"; then
	pass "kunit: at least one suite ran"
else
	flunk "kunit: at least one suite ran" "no KTAP in $LOGS/kunit.log"
fi
tap_end
