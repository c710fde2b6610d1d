#!/bin/bash
# The sample driver of samples/poll_source, with its device beside QEMU: the idle loop polls it, it loses no answer whatever
# happens, and it refuses devices that are not for it. On a kernel that checks, and as a module on a fast one.
#
# The limit leaves time to build the kernels.
# limit: 1800
set -euo pipefail
source "$(dirname "$0")/guest.sh"

# shellcheck disable=SC2317 # called by the trap
stop_device() { [[ ! $device ]] || { kill "$device" 2>/dev/null; wait "$device"; } || true; }

# start_device LATENCY_NS: the device's program, for one guest, which ends it; QEMU finds it by $work/socket.
start_device() {
	"$work/device" "$work/socket" "$1" 9>&- &
	device=$!
	for _ in {1..100}; do [[ -S $work/socket ]] && return; sleep 0.05; done
	die "the sample's device does not start"
}

# device_ended NAME: with the guest, and well.
device_ended() {
	local status=0
	for _ in {1..100}; do kill -0 "$device" 2>/dev/null || break; sleep 0.1; done
	kill "$device" 2>/dev/null || true # it may wait for a QEMU that never came
	wait "$device" || status=$?
	device=""
	if ((status == 0)); then pass "$1: the device ends with QEMU"; else flunk "$1: the device ends with QEMU" "status $status"; fi
}

# sample NAME LATENCY_NS OPTION...
sample() {
	local name=sample-$1 latency=$2
	shift 2
	start_device "$latency"
	boot_test "$name" --run sample --vcpus "$vcpus" --timeout 300 --qemu -chardev --qemu "socket,id=sample,path=$work/socket" \
		--qemu -device --qemu ivshmem-doorbell,chardev=sample,vectors=1 "$@"
	device_ended "$name"
}

# refuse SIZE BYTES: one more device for the guest, memory of SIZE that begins with BYTES, and no interrupt.
refuse() {
	local id=refused$((${#refused[@]} / 8))
	printf '%b' "$2" >"$work/$id"
	truncate -s "$1" "$work/$id"
	refused+=(--qemu -object --qemu "memory-backend-file,id=$id,mem-path=$work/$id,size=$1,share=on"
		--qemu -device --qemu "ivshmem-plain,memdev=$id")
}

device="" refused=()
# Where QEMU runs two emulated vCPUs in one thread (see tools/vm.sh), it leaves out their barriers, which are against the device
# as well: an answer may be lost there.
vcpus=2
[[ $ARCH != x86_64 ]] || vcpus=1
work=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d) # a short path, as sockets need one
trap 'stop_device; rm -rf "$work"' EXIT
gcc -std=c11 -Wall -Wextra -Werror -O2 -o "$work/device" "$ROOT/samples/poll_source/poll_source_device.c"
refuse 4K 'PSrc\x01'
refuse 64K ''
refuse 64K 'PSrc\x02'
refuse 64K 'PSrc\x01'

# An emulated CPU with KASAN is slow: the device is made as slow, so that the CPU polls before it has answered.
use_kernel test
sample test 1000000 "${refused[@]}" --append "haltpoll.guest_halt_poll_ns=10000000 ps.refused=1 ps.seed=$SEED"

use_kernel modules
add_modules "$LOGS/sample.cpio.zst"
sample module 50000 --append "haltpoll.guest_halt_poll_ns=2000000 ps.requests=5000 ps.module=1 ps.seed=$SEED"
rm -f "$INITRD"
tap_end
