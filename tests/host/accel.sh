#!/bin/bash
# The choice between KVM and emulation, on machines made up of files and a QEMU that says what it is told to.
# shellcheck disable=SC2317,SC2034 # functions are called by check; the variables are tools/accel.sh's
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"
source "$ROOT/tools/accel.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
KVM_DEVICE=$work/kvm CPUINFO=$work/cpuinfo QEMU=$work/qemu
uname() { echo "$here"; }

# qemu LINE...: a program of these lines, which notes that it was called
qemu() {
	printf '%s\n' '#!/bin/bash' "touch $work/called" "$@" >"$QEMU"
	chmod +x "$QEMU"
}

# reason TEXT: emulation is chosen, and TEXT is in the reason
reason() {
	local said
	said=$(choose_accel 2>&1)
	[[ $said == 'accelerator: emulation (TCG), because '*"$1"* ]] || { echo "$said"; return 1; }
}

kvm_chosen() { [[ $(choose_accel 2>&1) == 'accelerator: KVM' ]]; }

# refused TEXT: nothing is chosen, and TEXT is in the message
refused() { ! (choose_accel) 2>"$work/said" && grep -qF "$1" "$work/said"; }

in_time() { (((SECONDS - began) <= 5)); }

ACCEL=auto here=$HOST_MACHINE
touch "$KVM_DEVICE"
echo 'flags : fpu svm' >"$CPUINFO"
qemu 'read -r _; echo "VM status: running"; read -r _'
check "accel: KVM, where a guest runs" kvm_chosen
qemu 'echo "qemu: failed to initialize kvm: Device or resource busy" >&2' 'exit 1'
check "accel: emulation where KVM is busy, with QEMU's word for it" reason 'Device or resource busy'
qemu 'read -r _; echo "VM status: paused (internal-error)"; read -r _'
check "accel: emulation where the guest stops at once" reason 'internal-error'
qemu 'exec sleep 100'
began=$SECONDS
check "accel: emulation where the guest never answers" reason 'no guest starts'
check "accel: ... within five seconds" in_time
rm "$KVM_DEVICE"
check "accel: emulation without a device" reason "there is no $KVM_DEVICE"
here=other
check "accel: emulation on another architecture" reason "this machine is other"
ACCEL=kvm
check "accel: ACCEL=kvm never falls back" refused "cannot be used: this machine is other"
ACCEL=auto here=x86_64 HOST_MACHINE=x86_64
touch "$KVM_DEVICE"
echo 'flags : fpu sse' >"$CPUINFO"
rm -f "$work/called"
check "accel: emulation on x86-64 without vmx or svm" reason 'neither vmx nor svm'
check "accel: ... and nothing is started" test ! -e "$work/called"
if ((EUID != 0)); then
	chmod 0 "$KVM_DEVICE"
	check "accel: emulation where the device is not ours" reason "is not open to"
else
	skip "accel: emulation where the device is not ours" "to root every file is open"
fi
tap_end
