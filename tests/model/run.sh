#!/bin/bash
# Has spin check the model of event suppression, and refute each of its mutants.
#
# usage: tests/model/run.sh [BUFFERS [WINDOWS]]     how far to go (default: 3 2, about a minute and 3 GiB of memory)
#
# Prints TAP; a comment has the states explored and the mutants refuted.
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"

MODEL=$ROOT/tests/model/events.pml
bounds=("-DBUFFERS=${1:-3}" "-DWINDOWS=${2:-2}")
small=(-DBUFFERS=2 -DWINDOWS=1) # what shows a mutant's fault

# name, flavours that have the fault, what it is
MUTANTS='
NO_LOCK            event_idx        driver and poller tell the device without the lock
NO_DRIVER_BARRIER  event_idx,flags  enable_cb looks again without a barrier
CALLBACK_TWICE     event_idx,flags  a second caller runs the callback beside the first
NO_WORD            event_idx,flags  the first caller does not look for word of the second
STAYS_POLLED       event_idx,flags  the poller goes and still counts as polling
FORGETS_WISH       event_idx,flags  the poller goes and does not turn on what the driver wants on
NO_BARRIER         event_idx,flags  the poller looks again without a barrier
NO_SECOND_LOOK     event_idx,flags  the poller does not look again'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# explore FLAVOUR MACRO...: has spin try every order of events. Prints its verdict.
explore() {
	local flavour=() macros=("${@:2}")
	[[ $1 == event_idx ]] || flavour=(-DFLAGS)
	rm -f pan*
	spin -a "${flavour[@]}" "${macros[@]}" "$MODEL" >spin.out 2>&1 && gcc -O2 -DSAFETY -DCOLLAPSE -o pan pan.c >gcc.out 2>&1 ||
		{ cat spin.out gcc.out; return 1; }
	./pan -m2000000 >pan.out 2>&1
	cat pan.out
}

states() { sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.out; }

# Every order, to the end, no error
holds() { explore "$@" && grep -q 'errors: 0$' pan.out && ! grep -qE 'max search depth too small|out of memory|Search not completed' pan.out; }

# The search finds an order that loses an event or runs the callback twice
refuted() { explore "$@" && grep -qE 'errors: [1-9]' pan.out && grep -q 'assertion violated' pan.out; }

explored=0 refuted=0 mutants=0
for flavour in event_idx flags; do
	check "model: $flavour: no event is lost, no callback runs twice" holds "$flavour" "${bounds[@]}"
	explored=$((explored + $(states)))
done
while read -r name flavours fault; do
	[[ $name ]] || continue
	for flavour in ${flavours//,/ }; do
		mutants=$((mutants + 1))
		check "model: $flavour: refuted: $fault" refuted "$flavour" "${small[@]}" "-D$name"
		! grep -qE 'errors: [1-9]' pan.out || refuted=$((refuted + 1))
	done
done <<<"$MUTANTS"
echo "# $explored states explored, $refuted of $mutants mutants refuted"
tap_end
