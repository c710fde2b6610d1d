#!/bin/bash
# tests/run.sh itself, on made-up tests: it sums up, shows skips with their reasons, and takes neither silence nor a crash
# nor a test without end for success.
# shellcheck disable=SC2016,SC2317 # the made-up tests have variables of their own; functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"
source "$ROOT/tests/host/clone.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clone "$work/clone"
rm -f "$work"/clone/tests/{host,vm}/*

# made_up NAME LINE...: a test of these lines
made_up() {
	printf '%s\n' '#!/bin/bash' "${@:2}" >"$work/clone/tests/host/$1.sh"
	chmod +x "$work/clone/tests/host/$1.sh"
}

asked="" asked_base="" # the architecture, the base

# run [NAME]: its output and status
run() {
	local status=0
	OUT=$work/out ARCH=$asked BASE=$asked_base "$work/clone/tests/run.sh" "$@" >"$work/said" 2>/dev/null || status=$?
	echo "status $status" >>"$work/said"
}

# said LINE: the run's output has LINE
said() { grep -qxF -- "$1" "$work/said" || { cat "$work/said"; return 1; }; }

# ended PASSED FAILED: the run ended with these sums, and the status that goes with them
ended() { diff <(tail -n 2 "$work/said") <(printf '%d passed, %d failed\nstatus %d\n' "$1" "$2" $(($2 > 0))); }

made_up good 'echo "ok - one"' 'echo "# not ok - said in a comment"' 'echo "ok - two # SKIP no such device"' 'echo "ok - three"'
run
check "runner: good tests" ended 2 0
check "runner: a skip is shown with its reason" said "# skipped: host/good: two # SKIP no such device"
made_up bad 'echo "ok - one"' 'echo "not ok - two"' 'exit 1'
made_up crash 'echo "ok - one"' 'exit 3'
made_up silent 'exit 0'
made_up quitter 'echo "ok - one"' 'exit 1'
made_up endless '# limit: 1' 'echo "ok - one"' 'sleep 60'
run
check "runner: all tests" ended 6 5
check "runner: a test that fails" said "# failed: host/bad: two"
check "runner: a test that crashes" said "# failed: host/crash: ended with status 3"
check "runner: a test that says nothing" said "# failed: host/silent: ran a test"
check "runner: a test that gives up without a word" said "# failed: host/quitter: ended with status 1"
check "runner: a test that does not end" said "# failed: host/endless: ended within its 1s"
run good
check "runner: one test by name" ended 2 0
rm "$work"/clone/tests/host/{bad,crash,silent,quitter,endless}.sh
made_up long '# full: takes an hour' 'echo "ok - four"'
run
check "runner: a test that is left out is named with its reason" said "# left out: long: takes an hour"
check "runner: it does not count" ended 2 0
run --full
check "runner: --full leaves none out" ended 3 0
run long
check "runner: its name is enough" ended 1 0
made_up good 'echo "ok - $ARCH"'
made_up both '# also: x86_64' 'echo "ok - for $ARCH"'
made_up one '# only: arm64, the other has no such thing' 'echo "ok - one"'
run
check "runner: a test for two architectures runs for both" said "ok - for x86_64"
check "runner: the others for the default one" ended 4 0
asked=x86_64
run
check "runner: all that can run for the architecture that is asked for" said "ok - x86_64"
check "runner: what cannot is named with its reason" said "# left out: one: x86_64: the other has no such thing"
check "runner: and does not count" ended 2 0
rm "$work"/clone/tests/host/*.sh
asked=""
for which in all others full; do made_up "$which" "# bases: $which" "echo \"ok - $which \$BASE\""; done
run
check "runner: a test for all bases runs for the default one" said "ok - all linux-6.12"
check "runner: and for another" said "ok - all linux-7.3"
check "runner: a test for the others does not run for the default one" said "ok - others linux-7.3"
check "runner: a test for all with --full runs for the default one" said "ok - full linux-6.12"
check "runner: and no test for more" ended 4 0
run --full
check "runner: and with --full for another" said "ok - full linux-7.3"
check "runner: --full makes no other test run for more" ended 5 0
asked_base=7.3
run
check "runner: all tests run for the base that is asked for" ended 3 0
check "runner: and for none else" said "ok - others linux-7.3"
tap_end
