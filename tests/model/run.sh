#!/bin/bash
# Has spin check the models of event suppression and of the lists of sources, and refute each of their mutants.
#
# usage: tests/model/run.sh [small]     small: a size that takes about a minute; else six minutes, 6 GiB of memory
#
# Prints TAP; ends with a comment that has the states explored and the mutants refuted.
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"

want=${1:-full}
[[ $want == full || $want == small ]] ||
	die "'$want' is no size of the models" "tests/model/run.sh, or: tests/model/run.sh small"

# model, what of it, the macros, size: each is explored to the end
MODELS='
events        split_flags       -DSPLIT_FLAGS                                       small
events        split_event       -DSPLIT_EVENT                                       small
events        packed            -DPACKED                                            small
events        split_flags,napi  -DSPLIT_FLAGS,-DNAPI                                small
events        split_event,napi  -DSPLIT_EVENT,-DNAPI                                small
events        packed,napi       -DPACKED,-DNAPI                                     small
registration  hotplug           -DSOURCES=1                                         small
events        split_flags       -DSPLIT_FLAGS,-DBUFFERS=3,-DWINDOWS=2               full
events        split_event       -DSPLIT_EVENT,-DBUFFERS=3,-DWINDOWS=2               full
events        packed            -DPACKED,-DBUFFERS=3,-DWINDOWS=2                    full
events        split_flags,napi  -DSPLIT_FLAGS,-DNAPI,-DBUFFERS=3,-DWINDOWS=2        full
events        split_event,napi  -DSPLIT_EVENT,-DNAPI,-DBUFFERS=3,-DWINDOWS=2        full
events        packed,napi       -DPACKED,-DNAPI,-DBUFFERS=3,-DWINDOWS=2             full
registration  hotplug           -DSOURCES=1,-DWINDOWS=2,-DEVENTS=2                  full
registration  two_sources       -DSOURCES=2,-DNO_HOTPLUG                            full'

# name, flavours that have the fault, what it is
MUTANTS='
NO_LOCK                 split_flags,split_event,packed  driver and poller tell the device without the lock
NO_DRIVER_BARRIER       split_flags,split_event,packed  enable_cb looks again without a barrier
NO_DELAYED_BARRIER      split_flags,split_event,packed  enable_cb_delayed looks again without a barrier
CALLBACK_TWICE          split_flags,split_event,packed  a second caller runs the callback beside the first
NO_WORD                 split_flags,split_event,packed  the first caller does not look for word of the second
STOP_LEAVES_NO_WORD     split_flags,split_event,packed  the poller goes while the callback runs and leaves no word
STAYS_POLLED            split_flags,split_event,packed  the poller goes and still counts as polling
FORGETS_WISH            split_flags,split_event,packed  the poller goes and does not turn on what the driver wants on
FORCES_ON               split_flags                     the poller goes and turns on what the driver wants off
NO_BARRIER              split_flags,split_event,packed  the poller looks again without a barrier
NO_SECOND_LOOK          split_flags,split_event,packed  the poller does not look again
ENABLES_POLLED          split_flags,split_event,packed  the driver arms the device while the queue is polled
PUBLISHES_POLLED        split_event                     get_buf arms the device while the queue is polled
TRIGGERED_DEFEATS_START split_event,packed              start does nothing when an event has been seen
FLAGS_ONLY              packed                          flags are turned on, the offset stays what it was
NAPI_NO_SECOND_LOOK     napi_flags,napi_event,napi_packed  NAPI completes and does not look again
FORGETS_WISH            napi_flags,napi_event,napi_packed  the poller turns nothing on, the driver is NAPI
NO_SECOND_LOOK          napi_flags,napi_event,napi_packed  the poller does not look again, the driver is NAPI
DOES_NOT_WAIT           hotplug      unregister does not wait for the CPU
DEL_WITHOUT_STOP        hotplug      a source that is polled is removed without stop
STOP_FORGETS_RACE       hotplug      what came while the event was off is not handled at stop
ENDS_WITHOUT_STOP       hotplug      the window ends without stop
STAYS_POLLING           hotplug      the window ends and the CPU still counts as polling
ADDS_TO_ACTIVE          hotplug      a source that comes in a window is taken for started
ADDS_FIRST              hotplug      a move adds before it removes
TOUCHES_AFTER_RUN       hotplug      the loop uses a source after its softirqs have run
INTERRUPTS_IN_HANDLER   hotplug      interrupts are on in a handler
INTERRUPTS_AT_START     hotplug      interrupts are on while sources are started
CHANGES_FROM_AFAR       hotplug      the lists of a CPU that runs are changed from another one
NO_HOTPLUG_LOCK         hotplug      a CPU comes back while its lists are changed from another one
FORGETS_OFFLINE         hotplug      a CPU that is offline is asked, and nobody does it
MOVER_WITHOUT_MUTEX     hotplug      the mover works beside unregister
READS_CLAIM_TWICE       two_events   the mover reads the claim more than once
STAYS_LISTED            hotplug      the mover still sees what is unregistered
REGISTERS_TWICE         hotplug      a source is registered twice
ROUND_GOES_ON           two_sources  the round goes on after a handler, with the next one it had in mind
SAVED_NEXT              two_sources  the sources are stopped by a list walk that keeps the next one'

# What might be taken for a fault and is none: no event is lost
HARMLESS='
TRIGGERED_STAYS         split_event,packed  stop does not clear event_triggered: an event too many
NO_WMB                  packed              no write barrier between offset and flags: the second look makes up for it
FLAGS_FIRST             packed              flags before the offset: the second look makes up for it
NO_START_AT_ADD         hotplug             a source that comes in a window is started in the next one'

explored=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
: >mutants
: >refuted

# mutated FLAVOUR NAME: the model and the macros of a mutant
mutated() {
	case $1 in
	split_flags) echo "events -DSPLIT_FLAGS,-D$2" ;;
	split_event) echo "events -DSPLIT_EVENT,-D$2" ;;
	packed) echo "events -DPACKED,-D$2" ;;
	napi_flags) echo "events -DSPLIT_FLAGS,-DNAPI,-D$2" ;;
	napi_event) echo "events -DSPLIT_EVENT,-DNAPI,-D$2" ;;
	napi_packed) echo "events -DPACKED,-DNAPI,-D$2" ;;
	hotplug) echo "registration -DSOURCES=1,-D$2" ;;
	two_events) echo "registration -DSOURCES=1,-DEVENTS=2,-D$2" ;;
	two_sources) echo "registration -DSOURCES=2,-DNO_HOTPLUG,-D$2" ;;
	esac
}

# explore MODEL MACROS [OPTION-OF-PAN]...: has spin try every order of events. Prints its verdict.
explore() {
	local model=$ROOT/tests/model/$1.pml macros effort=0
	# gcc at its best takes seconds, which short searches do not win back
	[[ $want == small || $# -gt 2 ]] || effort=2
	IFS=, read -r -a macros <<<"$2"
	rm -f pan* -- *.out
	if ! { spin -a "${macros[@]}" "$model" && gcc -w "-O$effort" -DSAFETY -DCOLLAPSE -o pan pan.c; } >build.out 2>&1; then
		cat build.out
		return 1
	fi
	./pan -m20000 -w24 "${@:3}" >pan.out 2>&1
	cat pan.out
}

states() { sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.out 2>/dev/null; }

# Every order, to the end, no error
holds() {
	explore "$@" && grep -q 'errors: 0$' pan.out &&
		! grep -qE 'max search depth too small|out of memory|Search not completed' pan.out
}

# The search finds an order in which an assertion fails; that parties wait for each other for ever does not count
refuted() {
	echo >>"$work/mutants"
	explore "$@" -E && grep -qE 'errors: [1-9]' pan.out && grep -q 'assertion violated' pan.out && echo >>"$work/refuted"
}

# check_all WHAT-TO-EXPECT TEXT LIST: checks each flavour of each line of LIST; small: one flavour of each.
check_all() {
	local name flavours fault flavour model macros
	while read -r name flavours fault; do
		[[ $name ]] || continue
		[[ $want == full ]] || flavours=${flavours##*,}
		for flavour in ${flavours//,/ }; do
			read -r model macros < <(mutated "$flavour" "$name")
			check "model: $flavour: $2: $fault" "$1" "$model" "$macros"
		done
	done <<<"$3"
}

while read -r model name macros size; do
	[[ $size == "$want" ]] || continue
	check "model: $model: $name: holds in every order" holds "$model" "$macros"
	found=$(states)
	explored=$((explored + ${found:-0}))
done <<<"$MODELS"
check_all holds "holds as well" "$HARMLESS"
check_all refuted "refuted" "$MUTANTS"
echo "# $explored states explored, $(wc -l <refuted) of $(wc -l <mutants) mutants refuted"
tap_end
