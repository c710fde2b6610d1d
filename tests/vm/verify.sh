#!/bin/bash
# Data written and read back through a polled disk with a real image behind it: raw and qcow2.
#
# The limit leaves time to build the kernel.
# limit: 1200
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/guest.sh"

# with_image FORMAT DEVICE-OPTIONS
with_image() {
	local image=$LOGS/verify.$1
	rm -f "$image"
	qemu-img create -q -f "$1" "$image" 128M
	# Long polling: on a busy host a request takes longer than the default of 200 us, and is not polled for at all.
	boot_test "verify-$1" --run verify --image "$image" --vcpus 1 --device-opts "$2" --timeout 300 \
		--append "haltpoll.guest_halt_poll_ns=100000000"
	check "verify-$1: qemu-img finds the image whole" image_whole "$1" "$image"
	rm -f "$image"
}

# raw images have nothing to check but their size
image_whole() {
	if [[ $1 == raw ]]; then [[ $(stat -c %s "$2") == $((128 * 1024 * 1024)) ]]; else qemu-img check -f "$1" "$2"; fi
}

use_kernel test
with_image raw ''
with_image qcow2 packed=on
tap_end
