# shellcheck shell=bash
# Sourced: speaks QEMU's machine protocol (QMP) on a Unix socket, through socat.

# qmp SOCKET COMMAND...: runs each COMMAND (a name without arguments); prints the reply to each, one a line.
qmp() {
	local socket=$1 line pid command
	shift
	coproc QMP { exec socat - "UNIX-CONNECT:$socket" 2>/dev/null; }
	# shellcheck disable=SC2153 # QMP_PID is the coprocess's
	pid=$QMP_PID
	for command in qmp_capabilities "$@"; do
		printf '{"execute":"%s","id":"%s"}\n' "$command" "$command" >&"${QMP[1]}" || return 1
		until IFS= read -r -t 20 -u "${QMP[0]}" line && [[ $line == *'"id": "'"$command"'"'* ]]; do
			[[ ${line:-} ]] || return 1
			line=
		done
		[[ $line != *'"error":'* ]] || { say "QMP: $line"; return 1; }
		[[ $command == qmp_capabilities ]] || printf '%s\n' "$line"
	done
	kill "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
}
