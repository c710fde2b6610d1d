#!/bin/bash
# Shows that the tests catch known faults: puts each into the patched kernel, builds it, boots the test that should fail, and
# sees it fail.
#
# usage: tests/mutants/run.sh [NAME]...      NAME: a mutant, tests/mutants/NAME.patch; see mutants.sh there
#
# Prints TAP. The kernel without a mutant has to pass the same tests first. A mutant that does not apply or does not build, and
# a guest that ends without a verdict, are errors of the run and catch nothing. Logs are $OUT/test/BASE-ARCH/mutant-NAME.*.
# shellcheck disable=SC2317 # functions are called by check and run_logged
set -euo pipefail
source "$(dirname "$0")/../vm/guest.sh"
source "$ROOT/tools/kbuild.sh"
source "$ROOT/tools/series.sh"
source "$ROOT/tests/host/pristine.sh"
source "$ROOT/tests/mutants/mutants.sh"

BUILD_MIB=800
# Long polling, so that what makes the guest slow does not keep its CPUs from polling at all
POLLING="haltpoll.guest_halt_poll_ns=100000000"

count_built() { built_objects "$log"; }

# --- the kernel -------------------------------------------------------------------------------------------------------

# prepare: a tree of our own, hard links to the files of the patched one, and a kernel directory beside it. They stand to each
# other as the test kernel's do, so that the compiler cache has its objects.
prepare() {
	local patched wanted files
	patched=$("$ROOT/tools/tree.sh")
	dir=$(build_dir mutants)
	tree=$dir/tree/$BASE objects=$dir/kernel/$BASE-$ARCH-test original=$patched
	log=$objects/build.log unfinished=$objects/.unfinished wanted=$objects/wanted.config
	INITRD=$("$ROOT/tools/rootfs.sh")
	KERNEL=$objects/$KERNEL_IMAGE
	mkdir -p "$LOGS" "$dir/tree"
	[[ ! -e $unfinished ]] || rm -rf "$objects" # a file that make was cut off at may be half-written
	need_space "$objects" "$BUILD_MIB" "a kernel build"
	if ! cmp -s "$patched.state/id" "$dir/id"; then
		rm -rf "$tree" "$dir/id"
		cp -al "$patched" "$tree"
		cp "$patched.state/id" "$dir/id"
	fi
	mapfile -t files < <(fragments test)
	merged_config "${files[@]}" | write_file "$wanted"
	mapfile -t files < <(series_edits && kernel_files)
	put_files "$original" "$tree" "${files[@]}" # what a run that was cut off has left
	touch "$unfinished"
	configure "$tree" "$objects" "$wanted" "$log" || die_of_log "the kernel could not be configured" "$log"
	rm -f "$unfinished"
}

# restore NAME: the files that the mutant changes become the patched kernel's again; new, for make to see.
restore() {
	local files
	mapfile -t files < <(mutant_files "$1")
	put_files "$original" "$tree" "${files[@]}"
}

# build LABEL
build() {
	local status=0
	touch "$unfinished"
	run_logged "building the kernel $1" "$log" 0 count_built kernel_make "$tree" "$objects" -j "$JOBS" "${KERNEL_IMAGE##*/}" ||
		status=1
	rm -f "$unfinished"
	return "$status"
}

# --- the tests --------------------------------------------------------------------------------------------------------

# test_boot LABEL KIND WORD...: boots one test; prints its TAP.
test_boot() {
	local label=$1 kind=$2 words="$POLLING ${*:3}"
	case $kind in
	kunit) kunit_test "$label" --timeout 200 --append "$KUNIT_WORDS $POLLING ${3:+kunit.filter_glob=${*:3}}" ;;
	*) disk_test "$label" 64M --run "$kind" --vcpus 1 --timeout 120 --append "$words" ;;
	esac
}

# first_failure TAP: of a test case, not of the run as a whole; of KUnit, what it expected.
first_failure() {
	awk '
		/(EXPECTATION|ASSERTION) FAILED at / && why == "" {
			why = $NF
			sub(/.*\//, "", why)
			do {
				getline
				sub(/^# +/, "")
				why = why " " $0
			} while (/ but$/)
		}
		/^not ok/ && !/: (the guest ended well|suite |at least one suite|[0-9]+ of [0-9]+ suites)/ {
			sub(/^not ok - [^:]*: /, "")
			print why == "" ? $0 : why
			exit
		}' "$1"
}

# verdict LABEL: what fails of the test's TAP in $LOGS/LABEL.verdict, the first of it; or what the kernel complains of. Nothing
# where it passes. Status 1: neither, the guest came to no verdict.
verdict() {
	local said=$LOGS/$1.said tap=$LOGS/$1.verdict line
	line=$(first_failure "$tap")
	if [[ $line ]]; then
		echo "$line"
	elif grep -q 'the kernel complained' "$said"; then
		sed -n '/the kernel complained/{n;s/^  | *//;p;q}' "$said"
	elif grep -q '^not ok' "$tap"; then
		return 1
	fi
}

# case_of TEST: the name of a KUnit test's case, as in its TAP; nothing for other tests.
case_of() { [[ $1 != kunit\ * ]] || { local name=${1#kunit }; echo "${name/./: }"; }; }

# sound: the kernel without a mutant passes the tests of the chosen ones.
sound() {
	local test case label number=0 all
	all=$(for name in "${chosen[@]}"; do mutant_test "$name"; done | sort -u)
	while read -r test; do
		label=mutant-none-$((++number))
		# shellcheck disable=SC2086 # words
		(test_boot "$label" $test) >"$LOGS/$label.verdict"
		check "mutants: without a mutant: $test passes" passes "$label"
	done < <(awk '$1 == "kunit" { $0 = $1 } { print }' <<<"$all" | sort -u)
	while read -r test; do
		case=$(case_of "$test")
		[[ ! $case ]] || check "mutants: without a mutant: $case passes, and is not skipped" \
			grep -qxF -- "ok - $(kunit_label): $case" "$LOGS/$(kunit_label).verdict"
	done <<<"$all"
	((TAP_FAILED == 0))
}

# kunit_label: of the boot without a mutant that ran the KUnit suites
kunit_label() { basename "$(grep -lE ': suite ' "$LOGS"/mutant-none-*.verdict | head -n 1)" .verdict; }

passes() { [[ ! $(verdict "$1") ]] && ! grep '^not ok' "$LOGS/$1.verdict"; }

# --- a mutant ---------------------------------------------------------------------------------------------------------

# try NAME: one mutant, from patch to verdict.
try() {
	local name=$1 test what failure label=mutant-$1
	test=$(mutant_test "$name")
	what="mutants: $name: caught by $test"
	[[ $(mutant_header "$name" Caught-by) ]] || what="mutants: $name: not caught by $test"
	mutate "$tree" "$name" >"$LOGS/$label.said" 2>&1 || {
		flunk "$what" "error: tests/mutants/$name.patch is stale, it does not apply to the patched kernel:"$'\n'"$(<"$LOGS/$label.said")"
		return
	}
	if ! build "with $name"; then
		flunk "$what" "error: the kernel does not build with it:"$'\n'"$(grep -E 'error|\*\*\*' "$log" | head -n 10)"
		return
	fi
	# shellcheck disable=SC2086 # words
	(test_boot "$label" $test) >"$LOGS/$label.verdict" 2>/dev/null
	if ! failure=$(verdict "$label"); then
		flunk "$what" "error: the guest came to no verdict:"$'\n'"$(tail -n 20 "$LOGS/$label.said")"
	elif [[ ! $(mutant_header "$name" Caught-by) ]]; then
		if [[ $failure ]]; then flunk "$what" "$failure"; else pass "$what"; fi
	elif [[ $failure ]]; then
		caught=$((caught + 1))
		pass "$what: $failure"
	else
		flunk "$what" "it passes: $(grep -E "SKIP" "$LOGS/$label.verdict" || echo "no test fails")"
	fi
}

mapfile -t chosen < <(if (($# > 0)); then printf '%s\n' "$@"; else mutants; fi)
for name in "${chosen[@]}"; do
	[[ -e $MUTANTS_DIR/$name.patch ]] || die "there is no mutant '$name'" "the mutants: $(mutants | paste -sd ' ')"
done
"$ROOT/tools/packages.sh" kernel rootfs vm
lock_out
prepare
build "without a mutant" || die_of_log "the kernel without a mutant could not be built" "$log"
rm -f "$LOGS"/mutant-none-*
sound || die "the kernel without a mutant fails: every mutant would be taken for caught"
number=0 caught=0 faults=0
for name in "${chosen[@]}"; do
	say "# mutant $((++number)) of ${#chosen[@]}: $name, $(clock "$SECONDS") so far"
	[[ ! $(mutant_header "$name" Caught-by) ]] || faults=$((faults + 1))
	try "$name"
	restore "$name"
done
echo "# $caught of $faults mutants caught"
tap_end
