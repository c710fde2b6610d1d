#!/bin/bash
# The KUnit suites, run by the test kernel as it boots; their results come from its log.
#
# The limit leaves time to build the kernel.
# limit: 1200
set -euo pipefail
source "$(dirname "$0")/guest.sh"

use_kernel test
boot_test kunit --run none --append "kunit.enable=1" --vcpus 1 --timeout 180
results=$(tr -d '\r' <"$LOGS/kunit.log" | awk -f "$ROOT/tests/vm/ktap.awk")
grep -E '^(not )?ok|^#' <<<"$results" || true
! grep -q '^not ok' <<<"$results" || TAP_FAILED=1
if grep -q '^ok - kunit: suite' <<<"$results"; then
	pass "kunit: at least one suite ran"
else
	flunk "kunit: at least one suite ran" "no KTAP in $LOGS/kunit.log"
fi
tap_end
