#!/bin/bash
# What goes wrong in a guest is noticed by tools/vm.sh: complaints in the kernel's log, a program that fails, hangs or never
# ends its report; and ACCEL=kvm does not fall back.
#
# The limit leaves time to build the kernel.
# limit: 900
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/guest.sh"

# noticed TEXT KERNEL-WORDS OPTION...: the run fails and says TEXT.
noticed() {
	local text=$1 words=$2
	shift 2
	! boot faults --run fault --timeout 60 --append "$words" "$@" || { echo "the run passed"; return 1; }
	grep -F -- "$text" "$LOGS/faults.said"
}

complaint() { noticed "${1//_/ }" "ps.fault=kmsg ps.line=$1"; }

no_kvm() {
	(unset VCPUS; ACCEL=kvm boot faults --run none --timeout 60) && { echo "the run passed"; return 1; }
	grep -F 'KVM was asked for and cannot be used' "$LOGS/faults.said"
}

harmless() { boot faults --run fault --timeout 60 --append "ps.fault=kmsg ps.line=all_is_well"; }

use_kernel bench
check "faults: a line that is no complaint passes" harmless
for line in 'WARNING:_CPU:_0_PID:_1_at_x.c:1' 'BUG:_unable_to_handle' 'Internal_error:_Oops:_0000' \
	'INFO:_task_fio:70_blocked_for_more_than_20_seconds.' 'rcu:_INFO:_rcu_sched_self-detected_stall_on_CPU'; do
	check "faults: \"${line//_/ }\" in the kernel's log" complaint "$line"
done
check "faults: a program that fails" noticed "ended with status 3" ps.fault=status
check "faults: a guest that stops dead" noticed "stopped before its program ended" ps.fault=die
check "faults: a guest that hangs" noticed "had not finished after 8 s" ps.fault=hang --timeout 8
check "faults: io_poll on a disk that has no queues for it" noticed "the disk has no queue for polled I/O" \
	'' --run bench --device-opts num-queues=1
check "faults: device properties that QEMU refuses" noticed "QEMU did not start" '' --device-opts nonsense=on
if [[ $(uname -m) == "$HOST_MACHINE" && -e /dev/kvm ]]; then
	skip "faults: ACCEL=kvm where KVM cannot work" "it can here"
else
	check "faults: ACCEL=kvm where KVM cannot work" no_kvm
fi
tap_end
