#!/bin/bash
# A disk is polled whatever its transport and however its queues share interrupts.
#
# The limit leaves time to build the kernel.
# limit: 1200
set -euo pipefail
source "$(dirname "$0")/guest.sh"

# An emulated CPU with KASAN is slow: the disk is made as slow, so that the CPU polls before the disk has answered.
export LATENCY_NS=1000000

# transport NAME GUEST-WORDS OPTION...
transport() {
	local name=$1 words=$2
	shift 2
	boot_test "transports-$name" --run transports --vcpus 2 --timeout 200 \
		--append "haltpoll.guest_halt_poll_ns=10000000 $words" "$@"
}

use_kernel test
transport per-queue "ps.irq=-req.0 ps.managed=1 ps.trace=1"
transport shared "ps.irq=-virtqueues" --device-opts vectors=2
transport one-vector "ps.irq=" --device-opts vectors=1
transport intx "ps.irq=" --device-opts vectors=0
if [[ $ARCH == x86_64 ]]; then
	skip "transports-mmio" "QEMU's machine q35 has no virtio-mmio"
	tap_end
fi
transport mmio-legacy "ps.irq=" --transport mmio
transport mmio-modern "ps.irq=" --transport mmio --device-opts packed=on --qemu -global --qemu virtio-mmio.force-legacy=false
tap_end
