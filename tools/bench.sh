#!/bin/bash
# The benchmark: builds what it needs, boots the guest, runs the modes interleaved, and reports.
#
# What is made is in OUT/bench/TIMESTAMP; OUT/bench/latest leads to the last good run. A run that fails keeps its
# directory, as TIMESTAMP-failed.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

MODES=halt,haltpoll,poll_source,io_poll
PATTERNS=randread,randwrite,randrw
: "${GUEST_HALT_POLL_NS:=200000}"
want_number GUEST_HALT_POLL_NS 1 1000000000

json_list() { jq -nc --arg list "$1" '$list | split(",")'; }

# about_run INFO KERNEL: what ran, for the results: vm.sh's account with the kernel's and the benchmark's.
about_run() {
	jq -n --slurpfile info "$1" --slurpfile kernel "$2/kernel.json" \
		--argjson modes "$(json_list $MODES)" --argjson rw "$(json_list $PATTERNS)" \
		--argjson rounds "$ROUNDS" --argjson runtime "$RUNTIME" --argjson poll_ns "$GUEST_HALT_POLL_NS" \
		--arg date "$(date -u +%Y-%m-%dT%H:%M:%SZ)" \
		--arg fio 'fio --output-format=json+ --section=sync|io_poll RW.fio' '
		$info[0] as $vm | $kernel[0] as $kernel |
		{
			date: $date, arch: $vm.arch, accel: $vm.accel, accel_reason: $vm.accel_reason,
			accelerator: (if $vm.accel == "kvm" then "KVM" else "emulated (TCG)" end),
			kernel: $kernel.version, patches: $kernel.series, config: $kernel.config, compiler: $kernel.compiler,
			qemu: $vm.qemu, vcpus: $vm.vcpus, device: $vm.device, disk: $vm.disk, host: $vm.host,
			command_lines: {qemu: $vm.qemu_command_line, kernel: $vm.kernel_command_line, fio: $fio},
			guest_halt_poll_ns: $poll_ns, rounds: $rounds, runtime: $runtime, modes: $modes, rw: $rw
		}'
}

# run_modes DIR: boots and runs; leaves samples.jsonl, run.json and console.log.
run_modes() {
	local samples=$((12 * ROUNDS + 4))
	"$ROOT/tools/vm.sh" --kernel "$kernel" --initrd "$initrd" --run bench --label benchmark \
		--append "ps.modes=$MODES ps.rw=$PATTERNS ps.rounds=$ROUNDS ps.runtime=$RUNTIME ps.halt_poll_ns=$GUEST_HALT_POLL_NS" \
		--results "$1/samples.jsonl" --log "$1/console.log" --info "$1/vm.json" \
		--timeout $((120 + samples * (RUNTIME + 10))) || return
	about_run "$1/vm.json" "${kernel%"/$KERNEL_IMAGE"}" >"$1/run.json" || return
	rm "$1/vm.json"
}

lock_out
kernel=$("$ROOT/tools/kernel.sh" bench)
initrd=$("$ROOT/tools/rootfs.sh")
name=$(date +%Y%m%d-%H%M%S)
dir=$OUT/bench/$name
need_space "$dir" 50 "a benchmark's results"
if ! run_modes "$dir" || ! "$ROOT/tools/report.sh" "$dir"; then
	mv "$dir" "$dir-failed"
	die "the benchmark failed" "what it left is in $dir-failed"
fi
rm "$dir/run.json"
ln -sfn "$name" "$OUT/bench/latest"
say "results: $dir/results.json, results.csv, iops.png, iops.svg"
