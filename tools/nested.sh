#!/bin/bash
# Boots a guest with KVM in an emulated machine that has it: vm.sh in vm.sh. The outer machine's kernel is the flavour lab.
#
# usage: tools/nested.sh --kernel FILE --initrd FILE --results FILE --log FILE --info FILE [OPTION-OF-vm.sh...]
#
# The files are as vm.sh leaves them, for the inner guest. Beside the log, console.log say, the outer machine's is
# outer-console.log, and what the inner vm.sh said is inner-vm.log. The info tells of the outer machine in "outer".
set -euo pipefail
source "$(dirname "$0")/lib.sh"

# What the inner vm.sh is told, of the user's variables
VARIABLES=(ARCH BASE VCPUS LATENCY_NS IOTHREAD_POLL_NS DEVICE_OPTS)

KERNEL='' INITRD='' RESULTS='' LOG='' INFO='' TIMEOUT=600 LABEL=lab OPTIONS=()

parse() {
	while (($# > 1)); do
		case $1 in
		--kernel) KERNEL=$2 ;;
		--initrd) INITRD=$2 ;;
		--results) RESULTS=$2 ;;
		--log) LOG=$2 ;;
		--info) INFO=$2 ;;
		--timeout) TIMEOUT=$2 ;;
		--label) LABEL=$2 ;;
		# KVM passes an emulated CPU on, which has none of the faults that the kernel's mitigations are for.
		--append) OPTIONS+=("$1" "mitigations=off $2") ;;
		*) OPTIONS+=("$1" "$2") ;;
		esac
		shift 2
	done
	(($# == 0)) || die "tools/nested.sh: $1 lacks its value"
	[[ $KERNEL && $INITRD && $RESULTS && $LOG && $INFO ]] ||
		die "tools/nested.sh needs --kernel, --initrd, --results, --log and --info"
}

# image: the outer machine's initramfs, with what this run adds: the kernel takes one archive after the other.
image() {
	local name
	mkdir -p "$WORK/add/lab"
	cp "$KERNEL" "$WORK/add/lab/kernel"
	cp "$INITRD" "$WORK/add/lab/initrd"
	{
		for name in "${VARIABLES[@]}"; do printf 'export %s=%q\n' "$name" "${!name}"; done
		declare -p OPTIONS
		printf 'TIMEOUT=%s\n' "$TIMEOUT"
	} >"$WORK/add/lab/run"
	cat "$1"
	(cd "$WORK/add" && find . -mindepth 1 -print0 | cpio -0 -o -H newc -R 0:0 --quiet)
}

# handed FILE TARGET: FILE of what came out of the outer machine, if it did, becomes TARGET.
handed() { [[ ! -e $WORK/files/$1 ]] || cp "$WORK/files/$1" "$2"; }

# hand_over: what came out of the outer machine, to where it was asked for; a run that failed did not leave all of it.
hand_over() {
	mkdir "$WORK/files"
	tar -x -C "$WORK/files" -f "$WORK/files.tar" 2>/dev/null || die "the outer machine handed over nothing" "its log: $outer_log"
	handed samples.jsonl "$RESULTS"
	handed console.log "$LOG"
	handed said "$inner_said"
	[[ ! -e $WORK/files/vm.json ]] ||
		jq --slurpfile outer "$WORK/outer.json" '. + {outer: $outer[0]}' "$WORK/files/vm.json" >"$INFO"
}

parse "$@"
lock_out
outer_kernel=$("$ROOT/tools/kernel.sh" lab)
outer_root=$("$ROOT/tools/lab-rootfs.sh")
outer_log=${LOG%/*}/outer-${LOG##*/}
inner_said=${LOG%/*}/inner-vm.log
WORK=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -rf "$WORK"' EXIT
image "$outer_root" >"$WORK/initrd"
status=0
# The outer machine does not poll: its idle CPUs are what a host has to spare.
ACCEL=tcg DEVICE_OPTS='' "$ROOT/tools/vm.sh" --kernel "$outer_kernel" --initrd "$WORK/initrd" --run lab --label "$LABEL" \
	--cpus 2 --memory 4G --cpu "$LAB_CPU" --machine "$LAB_MACHINE" \
	--append "cpuidle_haltpoll.force=0${LAB_WORDS:+ $LAB_WORDS}" \
	--qemu -chardev --qemu "file,id=files,path=$WORK/files.tar" --qemu -device --qemu virtserialport,chardev=files,name=files \
	--results "$WORK/records" --log "$outer_log" --info "$WORK/outer.json" --timeout $((TIMEOUT + 120)) || status=$?
hand_over
((status == 0)) || {
	[[ ! -s $inner_said ]] || say "$(tail -n 20 "$inner_said")"
	die "the guest in the lab failed" "what was said of it: $inner_said"
}
