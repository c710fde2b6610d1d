#!/bin/bash
# The stress run: for MINUTES all that may happen to virtqueues, CPUs and devices happens at random under verified I/O, in
# three boots, one for each ring flavour. Prints TAP, then what was counted.
#
# The ways that interrupts come (a vector for each queue, one shared by all queues, INTx) go through the flavours as the
# seed has it, so that three seeds in a row meet all nine.
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
export VCPUS=${VCPUS:-2}
source "$(dirname "$0")/../tests/vm/guest.sh"

RINGS=(split split-no-event-idx packed)
RING_OPTS=('' event_idx=off packed=on)
INTERRUPTS=(msix shared-msix intx)
INTERRUPT_OPTS=('' vectors=2 vectors=0)

again() { echo "make soak SEED=$SEED MINUTES=$MINUTES VCPUS=$VCPUS"; }

# joined WORD...: with commas, less the empty ones
joined() {
	local IFS=, words=() word
	for word in "$@"; do [[ ! $word ]] || words+=("$word"); done
	echo "${words[*]}"
}

# What a hang leaves in the log is all of it.
WORDS='no_console_suspend printk.devkmsg=on'

# soak RING INTERRUPTS OPTS: one boot. The disk that comes and goes sits behind a bridge with an SHPC: PCI Express hotplug takes
# two locks in both orders when it removes a device, poll_source or not (pciehp_unconfigure_device(), 6.12.117), and lockdep
# speaks once only.
soak() {
	local name=soak-$1 opts=$3 more=() argument arguments
	# shellcheck disable=SC2054 # the commas are QEMU's
	arguments=(
		-object throttle-group,id=unbind-pace,x-iops-total=300 -object throttle-group,id=plug-pace,x-iops-total=300
		-blockdev "$(paced unbind)"
		-device "$(joined virtio-blk-pci,drive=unbind-disk,serial=unbind "$opts")"
		-blockdev "$(paced plug)"
		-device pci-bridge,id=hot-port,chassis_nr=1,shpc=on
		-device "$(joined virtio-blk-pci,id=plug,bus=hot-port,addr=1,drive=plug-disk,serial=plug "$opts")"
		-object rng-builtin,id=rng -device "$(joined virtio-rng-pci,rng=rng "$opts")"
		-netdev hubport,id=net0,hubid=0 -device "$(joined virtio-net-pci,netdev=net0,romfile= "$opts")"
		-netdev hubport,id=net1,hubid=0 -device "$(joined virtio-net-pci,netdev=net1,romfile= "$opts")"
	)
	for argument in "${arguments[@]}"; do more+=(--qemu "$argument"); done
	for argument in main unbind plug; do qemu-img create -q -f raw "$images/$argument.raw" 64M; done
	echo "# $name: interrupts: $2"
	boot_test "$name" --run soak --vcpus "$VCPUS" --image "$images/main.raw" --timeout $((seconds + 420)) \
		--device-opts "$(joined serial=main "$opts")" "${more[@]}" \
		--append "$WORDS ps.seed=$SEED ps.seconds=$seconds ps.device_opts=$opts"
}

# paced NAME: a disk that takes its time, so that CPUs idle, and poll, while it works: polling windows that end by a hit and
# such that end by their limit.
paced() {
	joined driver=throttle "node-name=$1-disk" "throttle-group=$1-pace" file.driver=raw file.file.driver=file \
		"file.file.filename=$images/$1.raw"
}

# polled: the queues of disks had hits, in one boot at least; those of other devices do not count.
polled() {
	local hits
	hits=$(cat "$LOGS"/soak-*.jsonl | jq -Rn '[inputs | fromjson? | select(.type == "source" and (.name | test("-req"))) | .hits] | add // 0')
	((hits > 0)) || { echo "no hits"; return 1; }
}

# table: what happened how often, a column for each ring.
table() {
	local files=()
	for ring in "${RINGS[@]}"; do files+=("$LOGS/soak-$ring.jsonl"); done
	jq -nr --arg rings "${RINGS[*]}" '
		def count: if . == null then "-" else tostring end;
		def pad($n): . + " " * ([$n - length, 1] | max);
		($rings | split(" ")) as $rings
		| [inputs | select(.type == "soak") | . + {ring: (input_filename | sub(".*/soak-"; "") | sub("\\.jsonl$"; ""))}] as $all
		| def row($what; f): $what | pad(34) + ([$rings[] as $ring | [$all[] | select(.ring == $ring) | f] | add | count | pad(20)] | add);
		  def events: [$all[] | .event // empty] | unique | .[];
		  def engines: [$all[] | .engine // empty] | unique | .[];
		("" | pad(34)) + ([$rings[] | pad(20)] | add),
		(events as $e | row("\($e): happened"; select(.event == $e) | .did), row("\($e): refused"; select(.event == $e) | .refused)),
		(engines as $e | row("\($e): requests"; select(.engine == $e) | .done), row("\($e): failed"; select(.engine == $e) | .failed)),
		row("main disk, with fio: requests"; .main_disk // empty),
		row("polling windows"; .windows // empty), row("hits"; .hits // empty), row("raced"; .raced // empty),
		row("interrupts while polled"; .irqs // empty), row("oldest request, ms"; .oldest_ms // empty)
	' "${files[@]}" | sed 's/ *$//; s/^/# /'
}

"$ROOT/tools/packages.sh" kernel rootfs vm
echo "# seed $SEED; the same again: $(again)"
use_kernel test
images=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$images"' EXIT
seconds=$((MINUTES * 60 / ${#RINGS[@]}))
for i in "${!RINGS[@]}"; do
	way=$(((i + SEED) % ${#INTERRUPTS[@]}))
	: >"$LOGS/soak-${RINGS[i]}.jsonl"
	soak "${RINGS[i]}" "${INTERRUPTS[way]}" "$(joined "${RING_OPTS[i]}" "${INTERRUPT_OPTS[way]}")"
done
check "soak: the poll sources of disks served requests" polled
table
((TAP_FAILED == 0)) || echo "# failed with seed $SEED; the same again: $(again); the logs are $LOGS/soak-*"
tap_end
