#!/bin/bash
# Runs the tests: those on the host, then those that boot a guest. Ends with the line "N passed, N failed".
#
# usage: tests/run.sh [--full] [NAME]     NAME: one test, e.g. style or host/style
#
# A test is an executable file of tests/host or tests/vm that prints TAP. It may state its time limit in a comment
# "# limit: SECONDS"; what it prints is kept in $OUT/test/NAME.tap. One with a comment "# full: REASON" runs with --full, or
# by its name, only.
set -euo pipefail
source "$(dirname "$0")/../tools/lib.sh"

DEFAULT_LIMIT=300
number=0 passed=0 failures=() skips=()

# tests NAME: the paths of the tests so called; all of them where NAME is empty.
tests() {
	local path
	for path in "$ROOT"/tests/host/*.sh "$ROOT"/tests/vm/*.sh; do
		[[ -x $path && (-z $1 || $path == */"${1%.sh}".sh) ]] || continue
		echo "$path"
	done
}

# full_only PATH: why the test runs with --full only; nothing where it always runs.
full_only() { sed -n 's/^# full: //p' "$1"; }

# show LINE: on stdout, on a line of its own.
show() {
	! { on_terminal && [[ -t 1 ]]; } || printf '\r\033[K'
	printf '%s\n' "$1"
}

# count NAME LINE: what a line of TAP adds to the sums.
count() {
	case $2 in
	'ok '*' # SKIP'*) skips+=("$1: ${2#ok - }") ;;
	'ok '*) passed=$((passed + 1)) ;;
	'not ok '*) failures+=("$1: ${2#not ok - }") ;;
	*) return 0 ;;
	esac
	counted=$((counted + 1))
}

# run_test PATH
run_test() {
	local name=${1#"$ROOT/tests/"} limit counted=0 line status=0 began=$SECONDS log
	name=${name%.sh}
	limit=$(sed -n 's/^# limit: \([0-9]*\)$/\1/p' "$1")
	limit=${limit:-$DEFAULT_LIMIT}
	log=$OUT/test/${name//\//-}.tap
	show "# $name"
	timeout -k 20 "$limit" "$1" </dev/null >"$pipe" &
	child=$!
	while IFS= read -r line; do
		show "$line"
		count "$name" "$line"
		printf '%s\n' "$line" >&3
	done <"$pipe" 3>"$log"
	wait "$child" || status=$?
	child=""
	if ((status == 124 || status == 137)); then
		line="not ok - ended within its $(clock "$limit")"
	elif ((status > 1)) || ((status == 1 && ${#failures[@]} == before)); then
		line="not ok - ended with status $status"
	elif ((counted == 0)); then
		line="not ok - ran a test"
	else
		line=""
	fi
	[[ ! $line ]] || { show "$line"; count "$name" "$line"; }
	show "# $name: $(clock $((SECONDS - began)))"
}

full=no
if [[ ${1:-} == --full ]]; then
	full=yes
	shift
fi
mapfile -t chosen < <(tests "${1:-}")
((${#chosen[@]} > 0)) || die "there is no test '${1:-}'" "the tests: $(tests "" | sed 's|.*/tests/||; s|\.sh$||' | paste -sd ' ')"
left_out=()
if [[ $full == no && ! ${1:-} ]]; then
	for index in "${!chosen[@]}"; do
		reason=$(full_only "${chosen[index]}")
		[[ $reason ]] || continue
		left_out+=("$(basename "${chosen[index]}" .sh): $reason")
		unset "chosen[index]"
	done
fi
lock_out
mkdir -p "$OUT/test"
pipe=$OUT/test/.pipe child=""
rm -f "$pipe"
mkfifo "$pipe"
trap 'rm -f "$pipe"' EXIT
trap '[[ ! $child ]] || kill "$child" 2>/dev/null; say "stopped"; exit 130' INT TERM

began=$SECONDS
for path in "${chosen[@]}"; do
	say "# test $((++number)) of ${#chosen[@]}, $(clock $((SECONDS - began))) so far"
	before=${#failures[@]}
	run_test "$path"
done
for line in "${left_out[@]}"; do show "# left to make test-full: $line"; done
for line in "${skips[@]}"; do show "# skipped: $line"; done
for line in "${failures[@]}"; do show "# failed: $line"; done
show "# all in $(clock $((SECONDS - began)))"
show "$passed passed, ${#failures[@]} failed"
((${#failures[@]} == 0))
