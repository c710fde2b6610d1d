# shellcheck shell=bash
# Sourced by vm.sh: what the host counts while a guest runs, for the guest to ask. WORK is the run's directory, QEMU's process
# is the one that $WORK/pid names.

KVM_DEBUGFS=/sys/kernel/debug/kvm

# add_counters: what QEMU needs for it, to COMMAND.
add_counters() {
	mkfifo "$WORK/counters.in" "$WORK/counters.out"
	# shellcheck disable=SC2054 # the commas are QEMU's
	COMMAND+=(-pidfile "$WORK/pid"
		-chardev "pipe,id=counters,path=$WORK/counters" -device virtserialport,chardev=counters,name=counters
		-chardev "socket,id=qmp-counters,path=$WORK/qmp-counters,server=on,wait=off" -mon chardev=qmp-counters,mode=control)
}

# serve_counters: to each line of the guest's on its port "counters", an answer of one line of JSON: the CPU time that QEMU
# took so far, in all its threads, and what KVM counted so far. The guest waits, so what it counts itself at that moment
# belongs to it. No process is started for an answer: the host's cores are busy with what is measured.
serve_counters() {
	local source=none cpu_us counts
	read -r QEMU_PID <"$WORK/pid"
	[[ $ACCEL_USED != kvm ]] || find_counters
	while read -r _; do
		counts=null
		"count_by_$source"
		count_cpu
		printf '{"cpu_us":%s,"kvm":%s}\n' "$cpu_us" "$counts"
	done <"$WORK/counters.out" >"$WORK/counters.in"
}

# find_counters: where KVM's counters can be read, to source.
find_counters() {
	if stats_open; then
		source=stats
	elif compgen -G "$KVM_DEBUGFS/$QEMU_PID-*/exits" >/dev/null; then
		source=debugfs
	else
		say "note: VM exits are not counted: $("$QEMU" --version | head -n 1) has no query-stats (7.1 has it), and" \
			"$KVM_DEBUGFS cannot be read by $(id -un)"
	fi
}

count_by_none() { :; }

# count_cpu: the fields of stat count in USER_HZ, which is 100 on arm64 and x86-64.
count_cpu() {
	local stat fields
	read -r stat <"/proc/$QEMU_PID/stat"
	read -r -a fields <<<"${stat##*) }"
	cpu_us=$(((fields[11] + fields[12]) * 10000))
}

# stats_open: a line to QEMU that stays open, and the question for the vCPUs' plain counts; histograms and times stay out.
stats_open() {
	local reply='' names
	coproc STATS { exec socat - "UNIX-CONNECT:$WORK/qmp-counters" 2>/dev/null; }
	stats_ask '{"execute":"qmp_capabilities"}' &&
		stats_ask '{"execute":"query-stats-schemas","arguments":{"provider":"kvm"}}' || return 1
	names=$(jq -c '[.return[] | select(.target == "vcpu").stats[] | select(.type == "cumulative" and .unit == null).name]' \
		<<<"$reply")
	[[ $names != '[]' ]] || return 1
	STATS_QUESTION='{"execute":"query-stats","arguments":{"target":"vcpu","providers":[{"provider":"kvm","names":'$names'}]}}'
}

# stats_ask QUESTION: what QEMU answers, to reply.
stats_ask() {
	printf '%s\n' "$1" >&"${STATS[1]}" || return 1
	while IFS= read -r -t 20 -u "${STATS[0]}" reply; do
		reply=${reply%$'\r'}
		case $reply in
		'{"return"'*) return 0 ;;
		'{"error"'*) return 1 ;;
		esac
	done
	return 1
}

count_by_stats() {
	local reply
	! stats_ask "$STATS_QUESTION" || counts=$reply
}

# count_by_debugfs: all that is there, for the whole machine; what is no count falls out where the report looks for it.
count_by_debugfs() {
	local file name value list=''
	for file in "$KVM_DEBUGFS/$QEMU_PID-"*/*; do
		name=${file##*/}
		[[ -f $file && $name != *_ns && $name != *_hist ]] || continue
		read -r value <"$file" && [[ $value =~ ^[0-9]+$ ]] || continue
		list+="${list:+,}\"$name\":$value"
	done
	counts="{$list}"
}
