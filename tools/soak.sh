#!/bin/bash
# The stress run: for MINUTES all that may happen to virtqueues, CPUs and devices happens at random under verified I/O, in
# six boots: each ring flavour with a kernel that checks memory, locks and objects, and with one that is fast. The former
# sees what goes wrong, the latter polls far more. Prints TAP, then what was counted.
#
# The ways that interrupts come (a vector for each queue, one shared by all queues, INTx) go through the boots as the seed has
# it, so that three seeds in a row meet all nine with each kernel.
#
# usage: tools/soak.sh [--hang]     --hang: instead, a boot with a disk that comes to a stop, which has to be noticed
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
export VCPUS=${VCPUS:-2}
source "$(dirname "$0")/../tests/vm/guest.sh"

KERNELS=(test soak)
RINGS=(split no-event-idx packed)
RING_OPTS=('' event_idx=off packed=on)
REPLUG=(no no yes) # see tcg_threads in vm.sh: not in all, so that most run with a thread for each CPU
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
WORDS='printk.devkmsg=on'

# sched_cpu_dying() looks whether the CPU is empty before it stops the server of fair tasks, which 6.12 counts as running.
KNOWN=sched_cpu_dying+

# soak NAME INTERRUPTS OPTS REPLUG [PACE]: one boot. The disk that comes and goes sits behind a bridge with an SHPC: PCI
# Express hotplug takes two locks in both orders when it removes a device, poll_source or not (pciehp_unconfigure_device(),
# 6.12.117), and lockdep speaks once only.
soak() {
	local name=$1 opts=$3 replug=$4 pace=${5:-x-iops-total=300} more=() argument arguments
	# shellcheck disable=SC2054 # the commas are QEMU's
	arguments=(
		-object "throttle-group,id=unbind-pace,$pace"
		-blockdev "$(paced unbind)"
		-device "$(joined virtio-blk-pci,drive=unbind-disk,serial=unbind "$opts")"
		-object rng-builtin,id=rng -device "$(joined virtio-rng-pci,rng=rng "$opts")"
		-netdev hubport,id=net0,hubid=0 -device "$(joined virtio-net-pci,netdev=net0,romfile= "$opts")"
		-netdev hubport,id=net1,hubid=0 -device "$(joined virtio-net-pci,netdev=net1,romfile= "$opts")"
	)
	# shellcheck disable=SC2054
	[[ $replug == no ]] || arguments+=(
		-object throttle-group,id=plug-pace,x-iops-total=300
		-blockdev "$(paced plug)"
		-device pci-bridge,id=hot-port,chassis_nr=1,shpc=on
		-device "$(joined virtio-blk-pci,id=plug,bus=hot-port,addr=1,drive=plug-disk,serial=plug "$opts")"
	)
	for argument in "${arguments[@]}"; do more+=(--qemu "$argument"); done
	for argument in main unbind plug; do qemu-img create -q -f raw "$images/$argument.raw" 64M; done
	echo "# $name: interrupts: $2; a disk is unplugged: $replug"
	boot_test "$name" --run soak --vcpus "$VCPUS" --image "$images/main.raw" --timeout $((seconds + 420)) \
		--device-opts "$(joined serial=main "$opts")" --replug "$replug" "${more[@]}" --known "$KNOWN" \
		--append "$WORDS ps.seed=$SEED ps.seconds=$seconds ps.replug=$([[ $replug == no ]] || echo 1) ps.device_opts=$opts${SLEEP_FAULT:+ ps.suspend=0}"
}

# paced NAME: a disk that takes its time, so that CPUs idle, and poll, while it works: polling windows that end by a hit and
# such that end by their limit.
paced() {
	joined driver=throttle "node-name=$1-disk" "throttle-group=$1-pace" file.driver=raw file.file.driver=file \
		"file.file.filename=$images/$1.raw"
}

# polled FILE...: the queues of disks had hits in each boot; those of other devices do not count.
polled() {
	local file hits
	for file in "$@"; do
		hits=$(jq -Rn '[inputs | fromjson? | select(.type == "source" and (.name | test("-req"))) | .hits] | add // 0' "$file")
		((hits > 0)) || { echo "no hits: $file"; return 1; }
	done
}

# happened FILE...: each kind of event that could happen did so in one boot at least.
happened() {
	local missing
	missing=$(cat "$@" | jq -Rnr '[inputs | fromjson? | select(.event and .offered)] | group_by(.event)[]
		| select(map(.did) | add == 0) | .[0].event')
	[[ ! $missing ]] || { echo "never: $missing"; return 1; }
}

# table FILE...: what happened how often, a column for each boot.
table() {
	jq -nr '
		def count: if . == null then "-" else tostring end;
		def pad($n): . + " " * ([$n - length, 1] | max);
		[inputs | select(.type == "soak") | . + {boot: (input_filename | sub(".*/soak-"; "") | sub("\\.jsonl$"; ""))}] as $all
		| ([$all[].boot] | unique) as $boots
		| def row($what; f): $what | pad(32) + ([$boots[] as $boot | [$all[] | select(.boot == $boot) | f] | add | count | pad(19)] | add);
		  def events: [$all[] | .event // empty] | unique | .[];
		  def engines: [$all[] | .engine // empty] | unique | .[];
		("" | pad(32)) + ([$boots[] | pad(19)] | add),
		(events as $e | row("\($e): happened"; select(.event == $e) | .did), row("\($e): refused"; select(.event == $e) | .refused)),
		(engines as $e | row("\($e): requests"; select(.engine == $e) | .done), row("\($e): failed"; select(.engine == $e) | .failed)),
		row("main disk, with fio: requests"; .main_disk // empty),
		row("polling windows"; .windows // empty), row("hits"; .hits // empty), row("raced"; .raced // empty),
		row("interrupts while polled"; .irqs // empty), row("oldest request, ms"; .oldest_ms // empty)
	' "$@" | sed 's/ *$//; s/^/# /'
}

"$ROOT/tools/packages.sh" kernel rootfs vm
echo "# seed $SEED; the same again: $(again)"
images=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$images"' EXIT
if [[ ${1:-} == --hang ]]; then
	use_kernel soak
	seconds=30
	said=$(soak soak-hang msix '' no x-bps-total=100,x-bps-total-max=1000000 2>&1) || true
	check "soak: a disk that comes to a stop is taken for a hang" grep -q '^not ok - soak-hang: no I/O hung' <<<"$said"
	check "soak: ... and the log has what helps to find out why" grep -aq 'soak: /sys/kernel/debug/poll_source' "$LOGS/soak-hang.log"
	check "soak: ... and the run ends" grep -aq '"type":"end","status":1' "$LOGS/soak-hang.jsonl"
	tap_end
fi
seconds=$((MINUTES * 60 / (${#KERNELS[@]} * ${#RINGS[@]})))
records=()
for k in "${!KERNELS[@]}"; do
	use_kernel "${KERNELS[k]}"
	for i in "${!RINGS[@]}"; do
		name=soak-${RINGS[i]}-${KERNELS[k]}
		way=$(((i + k + SEED) % ${#INTERRUPTS[@]}))
		records+=("$LOGS/$name.jsonl")
		: >"$LOGS/$name.jsonl"
		soak "$name" "${INTERRUPTS[way]}" "$(joined "${RING_OPTS[i]}" "${INTERRUPT_OPTS[way]}")" "${REPLUG[i]}"
	done
done
check "soak: in each boot, the poll sources of disks served requests" polled "${records[@]}"
check "soak: every kind of event happened" happened "${records[@]}"
table "${records[@]}"
((TAP_FAILED == 0)) || echo "# failed with seed $SEED; the same again: $(again); the logs are $LOGS/soak-*"
tap_end
