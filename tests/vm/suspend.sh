#!/bin/bash
# Suspend to idle, several times, while a polled disk does I/O: all rings come back, polled, and no request is lost; nothing is
# polled meanwhile.
#
# The limit leaves time to build the kernel.
# limit: 1200
# only: arm64, no alarm of the clock wakes QEMU's q35 from suspend to idle, haltpoll or not
set -euo pipefail
source "$(dirname "$0")/guest.sh"

# suspend NAME OPTION...
suspend() {
	local name=$1 image=$LOGS/suspend.raw
	shift
	rm -f "$image"
	qemu-img create -q -f raw "$image" 64M
	boot_test "suspend-$name" --run suspend --image "$image" --vcpus 2 --timeout 240 \
		--append "haltpoll.guest_halt_poll_ns=2000000 virtio_poll_source.enable=1" "$@"
	rm -f "$image"
}

if [[ $SLEEP_FAULT ]]; then
	skip "suspend: a polled disk sleeps and wakes" "$SLEEP_FAULT"
	tap_end
fi
use_kernel test
suspend split
suspend packed --device-opts packed=on
tap_end
