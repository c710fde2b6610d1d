#!/bin/bash
# The KUnit suites and poll_source switched at random, on a kernel that watches for data races (KCSAN): it has none to report.
#
# full: a kernel build and two boots of its own, 20 minutes from nothing
#
# The limit leaves time to build the kernel.
# limit: 2400
set -euo pipefail
source "$(dirname "$0")/guest.sh"

use_kernel kcsan
kunit_test kcsan-kunit
check "kcsan: it was at work" grep -aqE 'kcsan: selftest: ([0-9]+)/\1 tests passed' "$LOGS/kcsan-kunit.log"
# fs/aio.c reads the tail of its ring while completions write it.
disk_test kcsan-toggle 64M --run toggle --vcpus 2 --append "ps.seconds=120 haltpoll.guest_halt_poll_ns=20000000" \
	--known 'KCSAN: data-race in aio_complete / aio_read_events' --timeout 600
tap_end
