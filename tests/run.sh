#!/bin/bash
# Runs the tests: those on the host, then those that boot a guest. Ends with the line "N passed, N failed".
#
# usage: tests/run.sh [--full] [NAME]     NAME: one test, e.g. style or host/style
#
# A test is an executable file of tests/host or tests/vm that prints TAP; what it prints is kept in
# $OUT/test/BASE-ARCH/NAME.tap.
# Comments in it say more:
#
#   # limit: SECONDS        how long it may take, where five minutes are not enough
#   # full: REASON          it runs with --full, or by its name, only
#   # also: ARCH            where no ARCH is asked for, tests run for the default one, and this one for ARCH as well;
#                           with --full all tests do that depend on the architecture: those of tests/vm, and those that say so
#   # only: ARCH, REASON    it runs for no other one
#   # bases: WHICH          where no BASE is asked for, tests run for the default one, and this one for all of them (all), for
#                           the others instead (others), or for all of them with --full (full)
set -euo pipefail
asked_arch=${ARCH:-} asked_base=${BASE:-}
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

# says PATH KEY: what the test says of itself in its comment "# KEY: ..."
says() { sed -n "s/^# $2: //p" "$1"; }

# archs_of PATH: the architectures that the test runs for.
archs_of() {
	local also only arch archs
	also=$(says "$1" also)
	only=$(says "$1" only)
	[[ $full == no || (! $also && $1 != */vm/*) ]] || also=$(names_of .sh "$ROOT"/tools/arch/*.sh)
	archs=$ARCH
	[[ $asked_arch ]] || archs+=" $also"
	for arch in $archs; do [[ $only && ${only%%,*} != "$arch" ]] || echo "$arch"; done | sort -u
}

# bases_of PATH: the bases that the test runs for.
bases_of() {
	local which
	which=$(says "$1" bases)
	if [[ $asked_base ]] || [[ $which != all && $which != others && "$which $full" != "full yes" ]]; then
		echo "$BASE"
	else
		names_of "" "$ROOT"/patches/*/ | if [[ $which == others ]]; then grep -vxF "$BASE" || true; else cat; fi
	fi
}

# left_out PATH: why the test does not run; nothing where it does.
left_out() {
	local only
	only=$(says "$1" only)
	if [[ ! $(archs_of "$1") ]]; then
		echo "$ARCH: ${only#*, }"
	elif [[ $full == no && $by_name == no ]]; then
		says "$1" full
	fi
}

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

# run_test ARCH BASE PATH
run_test() {
	local name=${3#"$ROOT/tests/"} limit counted=0 line status=0 began=$SECONDS log
	name=${name%.sh}
	limit=$(says "$3" limit)
	limit=${limit:-$DEFAULT_LIMIT}
	log=$OUT/test/$2-$1/${name//\//-}.tap
	mkdir -p "${log%/*}"
	[[ $1 == "$ARCH" ]] || name+=" ($1)"
	[[ $2 == "$BASE" ]] || name+=" ($2)"
	show "# $name"
	ARCH=$1 BASE=$2 timeout -k 20 "$limit" "$3" </dev/null >"$pipe" &
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

full=no by_name=no
if [[ ${1:-} == --full ]]; then
	full=yes
	shift
fi
mapfile -t chosen < <(tests "${1:-}")
((${#chosen[@]} > 0)) || die "there is no test '${1:-}'" "the tests: $(tests "" | sed 's|.*/tests/||; s|\.sh$||' | paste -sd ' ')"
[[ ! ${1:-} ]] || by_name=yes
runs=() others=() left=()
for path in "${chosen[@]}"; do
	reason=$(left_out "$path")
	if [[ $reason ]]; then
		left+=("$(basename "$path" .sh): $reason")
		continue
	fi
	for arch in $(archs_of "$path"); do
		for base in $(bases_of "$path"); do
			if [[ $arch == "$ARCH" && $base == "$BASE" ]]; then runs+=("$arch $base $path"); else others+=("$arch $base $path"); fi
		done
	done
done
runs+=("${others[@]}")
lock_out
for arch in $(printf '%s\n' "${runs[@]%% *}" | sort -u); do ARCH=$arch "$ROOT/tools/packages.sh" kernel rootfs vm; done
mkdir -p "$OUT/test"
pipe=$OUT/test/.pipe child=""
rm -f "$pipe"
mkfifo "$pipe"
trap 'rm -f "$pipe"' EXIT
trap '[[ ! $child ]] || kill "$child" 2>/dev/null; say "stopped"; exit 130' INT TERM

began=$SECONDS
for run in "${runs[@]}"; do
	say "# test $((++number)) of ${#runs[@]}, $(clock $((SECONDS - began))) so far"
	before=${#failures[@]}
	# shellcheck disable=SC2086 # ARCH and BASE have no spaces, the path may
	run_test ${run%% /*} "/${run#* /}"
done
for line in "${left[@]}"; do show "# left out: $line"; done
for line in "${skips[@]}"; do show "# skipped: $line"; done
for line in "${failures[@]}"; do show "# failed: $line"; done
show "# all in $(clock $((SECONDS - began)))"
show "$passed passed, ${#failures[@]} failed"
((${#failures[@]} == 0))
