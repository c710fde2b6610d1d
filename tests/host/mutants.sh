#!/bin/bash
# Each fault mutant applies to the patched kernel and names a test that there is. That the test catches it, `make mutants` shows.
# bases: all
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"
source "$ROOT/tests/mutants/mutants.sh"

# there TEST: there is such a test
there() {
	local program=${1%% *} case=${1#*.}
	if [[ $program == kunit ]]; then
		grep -qE "CASE(_SLOW)?\($case\)" "$ROOT"/drivers/*/*_kunit.c || { echo "no KUnit suite has a case $case"; return 1; }
	else
		[[ -e $ROOT/tests/guest/$program.c ]] || { echo "there is no tests/guest/$program.c"; return 1; }
	fi
}

# fresh NAME
fresh() {
	local test
	test=$(mutant_test "$1") || return 1
	there "$test" || return 1
	mutate "$tree" "$1" --dry-run || { echo "tests/mutants/$1.patch is stale: make it anew for the code as it is"; return 1; }
}

lock_out
tree=$("$ROOT/tools/tree.sh")
for name in $(mutants); do check "mutants: $name applies, and there is the test that it names" fresh "$name"; done
tap_end
