#!/bin/bash
# Boots a guest, lets it run one program, and says whether all went well.
#
# usage: tools/vm.sh --kernel FILE --initrd FILE --run NAME --results FILE --log FILE [OPTION...]
#
#   --run NAME          program of tests/guest to run; "shell" gives a prompt on this terminal
#   --results FILE      what the guest sends: JSON records, one a line
#   --log FILE          the kernel's log
#   --info FILE         writes what ran, as JSON: accelerator, QEMU, command lines, CPUs
#   --vcpus N           CPUs online in the guest (default: VCPUS)
#   --append WORDS      more for the kernel command line; ps.KEY=VALUE words are for the guest's program
#   --device-opts LIST  more properties of the guest's disk (default: DEVICE_OPTS)
#   --transport NAME    how the disk is attached: pci (the default) or mmio
#   --replug yes        the guest asks QEMU for devices that go and come (default: no)
#   --qemu ARGUMENT     one more argument for QEMU; may be given again and again
#   --image FILE        a disk image for the guest's disk, by its name's end qcow2 or raw (default: null-co, a disk that
#                       keeps nothing and answers after LATENCY_NS)
#   --count-host yes    the guest may ask what the host counted up to now, see serve_counters (default: no)
#   --progress FILE     where else to write the guest's records of its progress
#   --cpus N            the guest's CPUs are these N, none in reserve; --vcpus does not count then
#   --memory SIZE       the guest's memory (default: 1G)
#   --machine LIST      more properties of QEMU's machine, e.g. virtualization=on
#   --cpu MODEL         QEMU's CPU model (default: host with KVM, else max)
#   --reboots yes       the guest may boot again; else QEMU ends when it tries
#   --known TEXT        a complaint of the kernel that has nothing to do with the series; may be given again and again
#   --timeout SECONDS   when to give up (default 600)
#   --label TEXT        what the progress lines call it
#
# A record {"type":"qmp","request":{"execute":...,"arguments":...}} of the guest's is passed to QEMU, so that its program can
# have devices come and go.
#
# Status 0: the guest's program ended well and the kernel's log has no complaint in it.
#
# The guest has twice the CPUs that go online: virtio_blk takes no more queues than there are possible CPUs, and of those it
# takes the poll queues. So N interrupt-driven and N polled queues need 2N CPUs; the second half costs nothing.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/accel.sh"
source "$ROOT/tools/counters.sh"
source "$ROOT/tools/qmp.sh"

COMPLAINTS='Oops|BUG:|WARNING:|INFO: task .* blocked|rcu: INFO|Internal error:|Kernel panic|Unable to handle kernel|soft lockup|DEADLOCK|nobody cared'

KERNEL='' INITRD='' RUN='' RESULTS='' LOG='' INFO='' APPEND='' IMAGE='' TIMEOUT=600 LABEL='guest'
TRANSPORT=pci REBOOTS=no REPLUG=no COUNT_HOST=no QEMU_MORE=() KNOWN=()
PROGRESS=/dev/null CPUS='' MEMORY=1G MACHINE_MORE='' CPU_MODEL=''

parse() {
	while (($# > 1)); do
		case $1 in
		--kernel) KERNEL=$2 ;;
		--initrd) INITRD=$2 ;;
		--run) RUN=$2 ;;
		--results) RESULTS=$2 ;;
		--log) LOG=$2 ;;
		--info) INFO=$2 ;;
		--vcpus) VCPUS=$2 ;;
		--append) APPEND=$2 ;;
		--device-opts) DEVICE_OPTS=$2 ;;
		--transport) TRANSPORT=$2 ;;
		--replug) REPLUG=$2 ;;
		--qemu) QEMU_MORE+=("$2") ;;
		--image) IMAGE=$2 ;;
		--known) KNOWN+=("$2") ;;
		--count-host) COUNT_HOST=$2 ;;
		--progress) PROGRESS=$2 ;;
		--cpus) CPUS=$2 ;;
		--memory) MEMORY=$2 ;;
		--machine) MACHINE_MORE=$2 ;;
		--cpu) CPU_MODEL=$2 ;;
		--reboots) REBOOTS=$2 ;;
		--timeout) TIMEOUT=$2 ;;
		--label) LABEL=$2 ;;
		*) die "tools/vm.sh does not know the option $1" ;;
		esac
		shift 2
	done
	(($# == 0)) || die "tools/vm.sh: $1 lacks its value"
	want_one_of TRANSPORT pci mmio
	want_one_of REPLUG no yes
	want_one_of REBOOTS yes no
	want_one_of COUNT_HOST no yes
	[[ $KERNEL && $INITRD && $RUN && $RESULTS && $LOG ]] ||
		die "tools/vm.sh needs --kernel, --initrd, --run, --results and --log"
}

# --- the command line -------------------------------------------------------------------------------------------------

# commas TEXT: as an option of QEMU takes it.
commas() { printf '%s' "${1//,/,,}"; }

disk() {
	if [[ $IMAGE ]]; then
		local format=raw
		[[ $IMAGE != *.qcow2 ]] || format=qcow2
		jq -nc --arg file "$IMAGE" --arg format "$format" \
			'{driver: $format, "node-name": "disk", file: {driver: "file", filename: $file}}'
	else
		jq -nc --argjson latency "$LATENCY_NS" \
			'{driver: "null-co", "node-name": "disk", size: 1073741824, "latency-ns": $latency, "read-zeroes": true}'
	fi
}

# An emulated CPU has none of the faults that the kernel's mitigations are for, and pays for them with each system call.
kernel_line() {
	local emulated=''
	[[ $ACCEL_USED == kvm ]] || emulated=" mitigations=off$TCG_WORDS"
	echo "console=$CONSOLE panic=-1 oops=panic sysctl.kernel.hung_task_timeout_secs=20$emulated" \
		"maxcpus=${CPUS:-1} virtio_blk.poll_queues=$VCPUS cpuidle_haltpoll.force=1 ps.run=$RUN ps.vcpus=${CPUS:-$VCPUS}" \
		"$([[ $COUNT_HOST == no ]] || echo "ps.count_host=1 ")$APPEND"
}

# tcg_threads: emulated CPUs have a thread each, but where QEMU before some version has to make do with one for all:
# - 8.2, where devices go and come: a CPU that runs while another one changes the memory map may look its devices up in the new
#   map by an index of the old one, and what it stores to one device, a doorbell say, goes to another one or nowhere.
# - 8.1, on x86-64: a CPU may keep the translation of code that another one patches just then. The kernel patches with int3 in
#   between, and the CPU runs into that long after it has gone ("Oops: int3").
#   The machine of make lab (--cpus) takes that small risk, as its guest's vCPU and disk have to run at the same time.
tcg_threads() {
	if [[ $REPLUG == yes ]] && ! qemu_has 8.2; then
		echo single
	elif [[ $ARCH == x86_64 ]] && ((VCPUS > 1)) && ! qemu_has 8.1; then
		echo single
	else
		echo multi
	fi
}

# qemu_has VERSION: QEMU is that one or a later one
qemu_has() { printf '%s\n' "$1" "$(qemu_version)" | sort -CV; }

qemu_version() { "$QEMU" --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p'; }

qemu_command() {
	local cpu=host accel=kvm serial
	[[ $ACCEL_USED == kvm ]] || cpu=max accel="tcg,thread=$(tcg_threads)"
	cpu=${CPU_MODEL:-$cpu}
	# An iothread needs a transport with ioeventfd, which virtio-mmio has with KVM only.
	case $TRANSPORT in
	pci) DEVICE="virtio-blk-pci,iothread=disk-thread" ;;
	mmio) DEVICE="virtio-blk-device" ;;
	esac
	DEVICE+=",drive=disk,num-queues=$((2 * VCPUS))${DEVICE_OPTS:+,$DEVICE_OPTS}"
	DISK=$(disk)
	serial="file,id=console,path=$WORK/log"
	[[ $RUN != shell ]] || serial="stdio,id=console,signal=off,logfile=$WORK/log"
	KERNEL_LINE=$(kernel_line)
	# shellcheck disable=SC2054 # the commas are QEMU's
	COMMAND=("$QEMU" -M "$MACHINE${MACHINE_MORE:+,$MACHINE_MORE}" -accel "$accel" -cpu "$cpu" -smp "${CPUS:-$((2 * VCPUS))}"
		-m "$MEMORY" -nodefaults -no-user-config -display none -S "${MACHINE_ARGUMENTS[@]}"
		-kernel "$KERNEL" -initrd "$INITRD" -append "$KERNEL_LINE"
		-chardev "$serial" -serial chardev:console
		-chardev "socket,id=qmp,path=$WORK/qmp,server=on,wait=off" -mon chardev=qmp,mode=control
		-device virtio-serial-pci -chardev "file,id=results,path=$WORK/results"
		-device virtserialport,chardev=results,name=results
		-object "iothread,id=disk-thread,poll-max-ns=$IOTHREAD_POLL_NS" -blockdev "$DISK" -device "$DEVICE"
		"${QEMU_MORE[@]}")
	[[ $REBOOTS == yes ]] || COMMAND+=(-no-reboot)
	[[ $COUNT_HOST == no ]] || add_counters
	! has_own_cores || COMMAND=(taskset -c "${CORES[-1]}" "${COMMAND[@]}")
}

# --- threads on host cores --------------------------------------------------------------------------------------------

# host_cores: the cores this process may use, one a line.
host_cores() {
	local range
	for range in $(taskset -cp $$ | sed 's/.*: //; s/,/ /g'); do seq "${range%-*}" "${range#*-}"; done
}

# has_own_cores: there are enough for each vCPU that goes online to have one of its own, with one left for the disk.
has_own_cores() { ((${CPUS:-$VCPUS} < ${#CORES[@]})); }

# pin: each vCPU that goes online on a core of its own. The disk's iothread, and what else QEMU has, were started on the last
# core and stay there. Two neighbours share a queue and one of them goes online, so they share a core; not where there are
# none in reserve. Where cores are short the host's scheduler does better: vCPUs that share a core take turns of milliseconds.
pin() {
	local cpus index thread own=false each=2
	[[ ! $CPUS ]] || each=1
	if has_own_cores; then
		own=true
		cpus=$(qmp "$WORK/qmp" query-cpus-fast) || no_start
		while read -r index thread; do
			pin_thread "$thread" "${CORES[$((index / each % (${#CORES[@]} - 1)))]}" ||
				say "note: vCPU $index could not be pinned"
		done < <(jq -r '.return[] | "\(."cpu-index") \(."thread-id")"' <<<"$cpus")
	else
		say "note: ${CPUS:-$VCPUS} vCPUs and the disk share the host's cores (${#CORES[@]}); figures suffer"
	fi
	PINNED=$(jq -nc --argjson cores "${#CORES[@]}" --argjson own "$own" '{cores: $cores, each_thread_its_own: $own}')
}

pin_thread() { taskset -cp "$2" "$1" >/dev/null 2>&1; }

# --- the run ----------------------------------------------------------------------------------------------------------

start_guest() {
	: >"$RESULTS"
	: >"$LOG"
	: >"$WORK/results"
	: >"$WORK/log"
	if [[ $RUN == shell ]]; then
		"${COMMAND[@]}" 9>&- <&8 2>"$WORK/qemu.err" &
	else
		timeout -k 5 "$TIMEOUT" "${COMMAND[@]}" 9>&- </dev/null >"$WORK/qemu.out" 2>"$WORK/qemu.err" &
	fi
	GUEST=$!
	for _ in {1..200}; do
		[[ ! -S $WORK/qmp ]] || return 0
		kill -0 "$GUEST" 2>/dev/null || break
		sleep 0.05
	done
	no_start
}

no_start() {
	local said
	mapfile -t said < <(head -n 10 "$WORK/qemu.err")
	die "QEMU did not start, or does not answer on its control socket" "${said[@]/#/| }" "the command line: ${COMMAND[*]@Q}"
}

# show_progress: what the guest says of how far it is.
show_progress() {
	local at total text
	progress_start "$LABEL"
	tail -n +1 -s 0.5 -f --pid="$GUEST" "$WORK/results" 2>/dev/null |
		grep --line-buffered '"type":"progress"' | tee -a "$PROGRESS" |
		jq --unbuffered -r '"\(.done) \(.total) \(.text)"' |
		while read -r at total text; do progress "$at" "$total" "$text"; done
}

# serve_qmp: passes on what the guest asks of QEMU.
serve_qmp() {
	local request
	tail -n +1 -s 0.1 -f --pid="$GUEST" "$WORK/results" 2>/dev/null |
		grep --line-buffered '"type":"qmp"' |
		jq --unbuffered -c .request |
		while read -r request; do qmp "$WORK/qmp" "$request" >/dev/null || say "$LABEL: QEMU did not do $request"; done
}

write_info() {
	[[ $INFO ]] || return 0
	jq -n --arg arch "$ARCH" --arg accel "$ACCEL_USED" --arg reason "$ACCEL_REASON" --argjson vcpus "$VCPUS" \
		--arg qemu "$("$QEMU" --version | sed -n '1s/emulator version //p')" --arg device "$DEVICE" --argjson disk "$DISK" \
		--argjson command "$(printf '%s\n' "${COMMAND[@]}" | jq -Rn '[inputs]')" \
		--arg kernel_line "$KERNEL_LINE" --argjson host "$PINNED" --arg host_cpu "$(host_cpu)" \
		'{arch: $arch, accel: $accel, accel_reason: $reason, vcpus: $vcpus, qemu: $qemu, device: $device, disk: $disk,
		kernel_command_line: $kernel_line, qemu_command_line: $command,
		host: ($host + {cpu: $host_cpu})}' >"$INFO"
}

host_cpu() { sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1; }

# complaints: lines of the kernel's log that no good run has, with what follows them; nothing where all are known.
complaints() {
	[[ ! $(grep -aE "$COMPLAINTS" "$LOG" | unknown) ]] || grep -aE -A 25 "$COMPLAINTS" "$LOG" | tr -d '\r' | head -n 60
}

# unknown: of the complaints, those that --known does not name.
unknown() { if ((${#KNOWN[@]} > 0)); then grep -avF "${KNOWN[@]/#/--regexp=}"; else cat; fi; }

quote() { while IFS= read -r line; do say "  | $line"; done; }

judge() {
	local status=$1 found end
	found=$(complaints || true)
	if [[ $found ]]; then
		say "$LABEL: the kernel complained ($LOG):"
		quote <<<"$found"
	fi
	while IFS= read -r line; do say "$LABEL: the guest says: $line"; done < <(
		grep -a '"type":"error"' "$RESULTS" | jq -r .text || true)
	end=$(grep -a '"type":"end"' "$RESULTS" | tail -n 1 | jq -r .status || true)
	if [[ ! $end ]]; then
		if ((status == 124 || status == 137)); then
			say "$LABEL: the guest had not finished after $TIMEOUT s"
		else
			say "$LABEL: the guest stopped before its program ended (QEMU's status: $status)"
			quote <"$WORK/qemu.err"
		fi
		say "  the end of the kernel's log ($LOG):"
		tail -n 15 "$LOG" | tr -d '\r' | quote
		return 1
	fi
	((end == 0)) || say "$LABEL: the guest's program $RUN ended with status $end"
	[[ $end == 0 && ! $found ]]
}

# keep: what the guest said, to where it was asked for.
keep() {
	cp -- "$WORK/results" "$RESULTS" && cp -- "$WORK/log" "$LOG" || die "cannot write $RESULTS and $LOG" "is the disk full?"
}

stop() {
	[[ ! ${GUEST:-} ]] || { kill "$GUEST" 2>/dev/null && wait "$GUEST" 2>/dev/null; keep; } || true
	rm -rf "$WORK"
}

parse "$@"
exec 8<&0
"$ROOT/tools/packages.sh" vm
# In memory, where there is such a place: QEMU's main loop, and with it the guest's timers and interrupts, stands still
# while a write waits for a busy disk.
WORK=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
GUEST=''
trap stop EXIT
choose_accel
mapfile -t CORES < <(host_cores)
qemu_command
start_guest
pin
write_info
[[ $COUNT_HOST == no ]] || serve_counters 9>&- &
qmp "$WORK/qmp" cont >/dev/null || no_start
serve_qmp 9>&- &
[[ $RUN == shell ]] || show_progress || true # a guest that reports none is as good
status=0
wait "$GUEST" || status=$?
GUEST=''
keep
judge "$status"
