#!/bin/bash
# The time for which an idle CPU polls is bounded, with the timer's event stream and without.
#
# An emulated CPU does not stop in WFE, so that this shows the bound of the loops, not of the instruction.
#
# The limit leaves time to build the kernel.
# limit: 900
set -euo pipefail
source "$(dirname "$0")/guest.sh"

use_kernel bench
boot_test idle --run idle --vcpus 1 --timeout 120
[[ $ARCH == arm64 ]] || { skip "idle-no-evtstrm" "the event stream is arm64's"; tap_end; }
boot_test idle-no-evtstrm --run idle --vcpus 1 --timeout 120 --append "clocksource.arm_arch_timer.evtstrm=0"
tap_end
