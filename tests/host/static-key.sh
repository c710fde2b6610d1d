#!/bin/bash
# With no poll source registered the polling idle state costs a no-op, and nothing else, more than before.
#
# Compares the machine code of poll_idle() with what the compiler makes of it without its one line for poll sources.
# limit: 900
# also: x86_64
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"

image=$("$ROOT/tools/kernel.sh" bench)
objects=${image%"/$KERNEL_IMAGE"}
object=$objects/drivers/cpuidle/poll_state.o
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# compile_without OBJECT: as the kernel's build does, but the call of poll_source_idle() is false at compile time.
compile_without() {
	local command
	# shellcheck disable=SC2016 # $(pound) is the kernel build's own
	command=$(sed -n 's/^savedcmd_[^:]* := //p' "$objects/drivers/cpuidle/.poll_state.o.cmd" | sed 's/\$(pound)/#/g; s/ -Wp,-MMD,[^ ]*//')
	command=${command/ -c -o / -D__CPUIDLE_POLL_SOURCE_H \"-Dpoll_source_idle(drv,dev,start)=false\" -c -o }
	(cd "$objects" && eval "${command/ drivers\/cpuidle\/poll_state.o / \"\$1\" }")
}

# hot_code OBJECT: the operations of poll_idle() in order, without their operands; without the block, out of the line,
# that calls __poll_source_idle(). (x86-64 pads with xchg %ax,%ax where arm64 has nop.)
hot_code() {
	"${CROSS_COMPILE}objdump" -dr --no-show-raw-insn "$1" |
		awk '/^[0-9a-f]+ <poll_idle>:/ { inside = 1; next } inside && /^$/ { exit } inside' |
		awk '
			function flush() { if (!cold) printf "%s", block; block = ""; cold = 0 }
			/: R_.*__poll_source_idle/ { cold = 1 }
			/: R_/ { next }
			/xchg +%ax,%ax$/ { $2 = "nop" }
			{ block = block $2 "\n" }
			$2 == "ret" || $2 == "b" || $2 == "jmp" { flush() }
			END { flush() }'
}

compile_without "$work/without.o"
hot_code "$object" >"$work/with"
hot_code "$work/without.o" >"$work/without"

check "poll_idle() calls __poll_source_idle() out of the line" \
	grep -q __poll_source_idle <("${CROSS_COMPILE}objdump" -r "$object")
check "the call hangs on the static key" grep -q 'poll_source_key' <("${CROSS_COMPILE}objdump" -rj __jump_table "$object")
check "there is a no-op in its place" grep -qx nop "$work/with"
check "nothing but no-ops has come to poll_idle()" \
	diff <(grep -vx nop "$work/without" | sort) <(grep -vx nop "$work/with" | sort)
tap_end
