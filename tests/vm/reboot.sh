#!/bin/bash
# A reboot in the middle of polled I/O: the guest comes up again, and has on its disk what it was told was written.
#
# The limit leaves time to build the kernel.
# limit: 1200
set -euo pipefail
source "$(dirname "$0")/guest.sh"

use_kernel test
image=$LOGS/reboot.raw
rm -f "$image"
qemu-img create -q -f raw "$image" 160M
boot_test reboot --run reboot --image "$image" --vcpus 2 --reboots yes --timeout 240 \
	--append "haltpoll.guest_halt_poll_ns=2000000"
rm -f "$image"
tap_end
