#!/bin/bash
# Devices, drivers and CPUs come and go while polled I/O runs.
#
# The limit leaves time to build the kernel.
# limit: 1200
# only: arm64, it takes CPU 0 offline too, which x86-64 does not
set -euo pipefail
source "$(dirname "$0")/guest.sh"

# An emulated CPU with KASAN is slow: the disks are made as slow, so that the CPU polls before they have answered.
export LATENCY_NS=1000000

# goes NAME WORDS [REPLUG]: with a second disk that can be unplugged, behind a port of PCI Express.
goes() {
	boot_test "unplug-$1" --run unplug --vcpus 2 --timeout 280 --append "haltpoll.guest_halt_poll_ns=10000000 $2" \
		--replug "${3:-no}" --qemu -device --qemu pcie-root-port,id=slot1,chassis=1,slot=1 \
		--qemu -blockdev --qemu "$second" --qemu -device --qemu virtio-blk-pci,id=second,drive=second,bus=slot1
}

second='{"driver":"null-co","node-name":"second","size":1073741824,"latency-ns":1000000,"read-zeroes":true}'
use_kernel test
# Linux 6.12's pciehp takes reset_lock and pci_rescan_remove_lock in both orders whenever a device is unplugged, of which
# lockdep complains: there it is off.
# Later kernels put an empty port to sleep on arm64 as well, from which the event of a device that comes does not wake QEMU's.
goes device "ps.unplug=3 ps.bind=0 ps.cpus=0 lockdep.prove_locking=0 pcie_port_pm=off" yes
goes driver "ps.unplug=0 ps.bind=5 ps.cpus=0"
goes cpu "ps.unplug=0 ps.bind=0 ps.cpus=1"
tap_end
