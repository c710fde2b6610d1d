#!/bin/bash
# objtool has nothing to say of the test kernel, noinstr code above all: the idle loop may call nothing that can be traced while
# RCU does not watch. And it does have something to say of a kernel in which it does.
#
# The limit leaves time to build the kernel.
# limit: 1500
# also: x86_64
# only: x86_64, objtool validates noinstr code there only
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tools/kbuild.sh"
source "$ROOT/tests/tap.sh"

lock_out
image=$("$ROOT/tools/kernel.sh" test)
objects=${image%"/$KERNEL_IMAGE"}
tree=$("$ROOT/tools/tree.sh")
mkdir -p "$OUT/test/$BASE-$ARCH"
log=$OUT/test/$BASE-$ARCH/noinstr.log
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# said: objtool's words of the whole kernel, linked anew
said() {
	rm -f "$objects/vmlinux.o"
	kernel_make "$tree" "$objects" -j "$JOBS" vmlinux_o >"$log" 2>&1 || { tail -n 20 "$log"; return 1; }
	[[ -e $objects/vmlinux.o ]] || { echo "vmlinux.o was not linked"; return 1; }
	! grep -E 'objtool:|vmlinux.o: warning' "$log"
}

validates() { grep -q -- '--noinstr' "$objects/.vmlinux.o.cmd"; }

# traced_call OBJECT: OBJECT is poll_source.o, but __poll_source_idle() calls what can be traced, before RCU watches.
traced_call() {
	local command source=$work/poll_source.c
	# shellcheck disable=SC2016 # $(pound) is the kernel build's own
	command=$(sed -n 's/^savedcmd_[^:]* := //p' "$objects/drivers/cpuidle/.poll_source.o.cmd" |
		sed 's/\$(pound)/#/g; s/ -Wp,-MMD,[^ ]*//; s/ *; .*//')
	sed 's/^\tct_cpuidle_exit();/\t_printk("traced\\n");\n&/' "$tree/drivers/cpuidle/poll_source.c" >"$source"
	grep -q traced "$source" || { echo "poll_source.c has no ct_cpuidle_exit()"; return 1; }
	command=${command/ -o drivers\/cpuidle\/poll_source.o / -I"$tree/drivers/cpuidle" -o "$1" }
	(cd "$objects" && eval "${command% *} $source")
}

# finds CALL OBJECT: objtool finds that noinstr code calls CALL
finds() { "$objects/tools/objtool/objtool" --noinstr --link "$2" 2>&1 | grep -q "__poll_source_idle.*call to $1() leaves"; }

# finds_no CALL OBJECT
finds_no() { ! finds "$@"; }

check "noinstr: objtool has nothing to say" said
check "noinstr: it validates noinstr code" validates
cp "$objects/drivers/cpuidle/poll_source.o" "$work/good.o"
check "noinstr: a call that can be traced is compiled into the idle loop" traced_call "$work/bad.o"
check "noinstr: objtool finds it" finds _printk "$work/bad.o"
check "noinstr: it is not there otherwise" finds_no _printk "$work/good.o"
tap_end
