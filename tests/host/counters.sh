#!/bin/bash
# What the host answers to the guest that asks for its counters: with a QEMU that has query-stats, with an older one and KVM's
# debugfs, with neither, and without KVM. QEMU is a script here, debugfs a directory.
# shellcheck disable=SC2317,SC2034 # functions are called by check; the variables are tools/counters.sh's
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"
source "$ROOT/tools/counters.sh"

"$ROOT/tools/packages.sh" vm
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
KVM_DEBUGFS=$work/kvm
export exits=100

# What QEMU answers to the question for its counters' names, and to the one for the counts
cat >"$work/new-qemu" <<-'EOT'
	#!/bin/bash
	printf '%s\r\n' '{"QMP": {"version": {}, "capabilities": []}}'
	while read -r question; do
		printf '%s\r\n' '{"timestamp": {}, "event": "RESUME"}'
		case $question in
		*query-stats-schemas*) printf '%s\r\n' '{"return": [{"provider": "kvm", "target": "vcpu", "stats": [
			{"name": "exits", "type": "cumulative"}, {"name": "halt_wait_ns", "type": "cumulative", "unit": "seconds"},
			{"name": "guest_mode", "type": "instant"}]}, {"provider": "kvm", "target": "vm", "stats": [
			{"name": "pages", "type": "cumulative"}]}]}' ;;
		*'"query-stats"'*'"names":["exits"]'*) printf '%s\r\n' '{"return": [{"provider": "kvm", "stats": [
			{"name": "exits", "value": '"$exits"'}]}]}' ;;
		*qmp_capabilities*) printf '%s\r\n' '{"return": {}}' ;;
		*) printf '%s\r\n' '{"error": {"class": "GenericError", "desc": "not asked as it should be"}}' ;;
		esac
	done
EOT
sed -i -z 's/\[\n\t*{/[{/g; s/,\n\t*{/, {/g' "$work/new-qemu" # QEMU's answers are of one line
cat >"$work/old-qemu" <<-'EOT'
	#!/bin/bash
	[[ ${1:-} != --version ]] || { echo 'QEMU emulator version 7.0.0'; exit; }
	while read -r question; do
		case $question in
		*qmp_capabilities*) echo '{"return": {}}' ;;
		*) echo '{"error": {"class": "CommandNotFound", "desc": "The command query-stats-schemas has not been found"}}' ;;
		esac
	done
EOT
chmod +x "$work"/*-qemu

# answer QEMU ACCELERATOR: what the host says, once; its notes go to $work/notes.
answer() {
	local server said
	WORK=$work/run QEMU=$work/$1 ACCEL_USED=$2
	rm -rf "$WORK"
	mkdir "$WORK"
	COMMAND=()
	add_counters
	echo $$ >"$WORK/pid"
	socat "UNIX-LISTEN:$WORK/qmp-counters" "EXEC:$QEMU" &
	while [[ ! -S $WORK/qmp-counters ]]; do sleep 0.05; done
	serve_counters 2>"$work/notes" &
	server=$!
	exec {ask}<>"$WORK/counters.out" {listen}<>"$WORK/counters.in"
	echo count >&"$ask"
	IFS= read -r -t 30 said <&"$listen" || true
	exec {ask}>&- {listen}>&-
	kill %1 "$server" 2>/dev/null || true
	wait 2>/dev/null || true
	printf '%s\n' "$said"
}

# answers QEMU ACCELERATOR FILTER: the answer is JSON, and FILTER is true of it.
answers() {
	local said
	said=$(answer "$1" "$2")
	jq -e "(.cpu_us >= 0) and ($3)" <<<"$said" >/dev/null || { echo "$said"; cat "$work/notes"; return 1; }
}
noted() { grep -F "$1" "$work/notes" || { cat "$work/notes"; return 1; }; }

check "counters: query-stats, the vCPUs' counts alone" answers new-qemu kvm '.kvm.return[0].stats == [{name: "exits", value: 100}]'
check "counters: QEMU's CPU time alone, where there is no KVM" answers new-qemu tcg '.kvm == null'
check "counters: an older QEMU, no debugfs: the CPU time alone" answers old-qemu kvm '.kvm == null'
check "counters: ... which is said, with the reason" noted 'VM exits are not counted: QEMU emulator version 7.0.0 has no query-stats'
mkdir -p "$KVM_DEBUGFS/$$-11/vcpu0"
echo 1234 >"$KVM_DEBUGFS/$$-11/exits"
echo 99 >"$KVM_DEBUGFS/$$-11/halt_poll_success_ns"
echo '1 2' >"$KVM_DEBUGFS/$$-11/halt_wait_hist"
check "counters: an older QEMU: debugfs" answers old-qemu kvm '.kvm == {exits: 1234}'
tap_end
