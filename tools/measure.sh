#!/bin/bash
# One measurement: boots the guest, runs the modes interleaved, reports.
#
# usage: tools/measure.sh DIR [MODES [PATTERNS]]      lists with commas; default: all
#
# KERNEL_FLAVOUR names another kernel than that of the benchmark. NESTED=yes boots the guest in an emulated machine that has KVM, see nested.sh.
#
# Leaves samples.jsonl, results.json, results.csv, iops.png, iops.svg and console.log in DIR; the table goes to stdout.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

DIR=$1 MODES=${2:-halt,haltpoll,poll_source,io_poll} PATTERNS=${3:-randread,randwrite,randrw}

# about_run: what ran, for the results: vm.sh's account with the kernel's and the benchmark's.
about_run() {
	jq -n --slurpfile info "$DIR/vm.json" --slurpfile kernel "${kernel%"/$KERNEL_IMAGE"}/kernel.json" \
		--arg modes "$MODES" --arg rw "$PATTERNS" --argjson rounds "$ROUNDS" --argjson runtime "$RUNTIME" \
		--argjson poll_ns "$GUEST_HALT_POLL_NS" --arg date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
		--arg fio 'fio --output-format=json+ --section=sync|io_poll RW.fio' '
		$info[0] as $vm | $kernel[0] as $kernel |
		{
			date: $date, arch: $vm.arch, accel: $vm.accel, accel_reason: $vm.accel_reason,
			accelerator: (if $vm.accel != "kvm" then "emulated (TCG)" elif $vm.outer then "KVM inside emulation" else "KVM" end),
			kernel: $kernel.version, patches: $kernel.series, config: $kernel.config, compiler: $kernel.compiler,
			qemu: $vm.qemu, vcpus: $vm.vcpus, device: $vm.device, disk: $vm.disk, host: $vm.host,
			command_lines: {qemu: $vm.qemu_command_line, kernel: $vm.kernel_command_line, fio: $fio},
			guest_halt_poll_ns: $poll_ns, rounds: $rounds, runtime: $runtime,
			modes: ($modes | split(",")), rw: ($rw | split(","))
		} + (if $vm.outer then {outer: $vm.outer} else {} end)'
}

lock_out
kernel=$("$ROOT/tools/kernel.sh" "${KERNEL_FLAVOUR:-bench}")
initrd=$("$ROOT/tools/rootfs.sh")
need_space "$DIR" 50 "a benchmark's results"
samples=$((12 * ROUNDS + 4))
vm=$ROOT/tools/vm.sh
[[ ${NESTED:-no} == no ]] || vm=$ROOT/tools/nested.sh
"$vm" --kernel "$kernel" --initrd "$initrd" --run bench --count-host yes --label "${LABEL:-benchmark}" \
	--append "ps.modes=$MODES ps.rw=$PATTERNS ps.rounds=$ROUNDS ps.runtime=$RUNTIME ps.halt_poll_ns=$GUEST_HALT_POLL_NS" \
	--results "$DIR/samples.jsonl" --log "$DIR/console.log" --info "$DIR/vm.json" \
	--timeout $((120 + samples * (RUNTIME + 10)))
about_run >"$DIR/run.json"
"$ROOT/tools/report.sh" "$DIR"
rm "$DIR/vm.json" "$DIR/run.json"
