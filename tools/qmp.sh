# shellcheck shell=bash
# Sourced: speaks QEMU's machine protocol (QMP) on a Unix socket, through socat.

# qmp SOCKET COMMAND...: runs each COMMAND, a name or {"execute":NAME,"arguments":{...}}; prints the reply to each, one a line.
# QEMU speaks with one at a time: whatever comes of it, the line is free again afterwards.
qmp() {
	local pid status=0
	coproc QMP { exec socat - "UNIX-CONNECT:$1" 2>/dev/null; }
	# shellcheck disable=SC2153 # QMP_PID is the coprocess's
	pid=$QMP_PID
	qmp_talk "${@:2}" || status=$?
	kill "$pid" 2>/dev/null || true
	wait "$pid" 2>/dev/null || true
	return "$status"
}

# qmp_talk COMMAND...: on the open line
qmp_talk() {
	local line command id
	for command in qmp_capabilities "$@"; do
		id=$command
		if [[ $command == "{"* ]]; then
			id=$(jq -r .execute <<<"$command")
			command=$(jq -c --arg id "$id" '. + {id: $id}' <<<"$command")
		else
			command='{"execute":"'$id'","id":"'$id'"}'
		fi
		printf '%s\n' "$command" >&"${QMP[1]}" || return 1
		until IFS= read -r -t 20 -u "${QMP[0]}" line && [[ $line == *'"id": "'"$id"'"'* ]]; do
			[[ ${line:-} ]] || return 1
			line=
		done
		[[ $line != *'"error":'* ]] || { say "QMP: $line"; return 1; }
		[[ $id == qmp_capabilities ]] || printf '%s\n' "$line"
	done
}
