#!/bin/bash
# Runs in the lab's outer machine, as the program of its init: boots the inner guest with KVM, and hands what it left out
# through the port "files". Its progress goes out as this machine's own, through the results port, descriptor 3.
#
# /lab/run sets the variables of vm.sh, and OPTIONS and TIMEOUT for it.
set -euo pipefail

PROJECT=/project
LEFT=/tmp/lab

# port NAME: the device of a virtio-serial port
port() {
	local name
	for name in /sys/class/virtio-ports/*/name; do
		[[ $(<"$name") != "$1" ]] || { name=${name%/name}; echo "/dev/${name##*/}"; }
	done
}

# progress TEXT
progress() { printf '{"type":"progress","done":0,"total":0,"text":"(%s)"}\n' "$1" >&3; }

[[ -e /dev/fd ]] || ln -s /proc/self/fd /dev/fd
mkdir -p "$LEFT"
# shellcheck disable=SC1091 # it comes with the run
source /lab/run
progress "the guest in it boots"
status=0
ACCEL=kvm "$PROJECT/tools/vm.sh" --kernel /lab/kernel --initrd /lab/initrd "${OPTIONS[@]}" --timeout "$TIMEOUT" \
	--results "$LEFT/samples.jsonl" --log "$LEFT/console.log" --info "$LEFT/vm.json" --progress >(cat >&3) \
	</dev/null 2>&1 | tee "$LEFT/said" || status=$?
tar -C "$LEFT" -c . >"$(port files)"
exit "$status"
