# shellcheck shell=bash
# Sourced after tools/lib.sh: the fault mutants, small patches on top of the patched kernel, each of which puts one fault in.
#
# Before its diff a mutant says what the fault is and in whose code it was, and how it is caught, in one line of the two:
#
#   Caught-by: TEST       TEST fails with the mutant: a test of it does, or the kernel complains in its log
#   Not-caught-by: TEST   TEST passes: the mutant is no fault, and shows that the runner can tell
#
# TEST is "kunit SUITE.CASE" or a program of tests/guest with its words for the kernel's command line.

MUTANTS_DIR=$ROOT/tests/mutants

# mutants: the names of all.
mutants() { names_of .patch "$MUTANTS_DIR"/*.patch; }

# mutant_header NAME KEY: what the line "KEY: ..." before the diff says.
mutant_header() { sed -n -e '/^diff --git /q' -e "s/^$2: //p" "$MUTANTS_DIR/$1.patch"; }

# mutant_test NAME: the test that shows what the mutant is.
mutant_test() {
	local caught not
	caught=$(mutant_header "$1" Caught-by)
	not=$(mutant_header "$1" Not-caught-by)
	[[ $caught || $not ]] && [[ ! $caught || ! $not ]] ||
		die "tests/mutants/$1.patch does not say how it is caught" "it takes one line: Caught-by: TEST"
	echo "$caught$not"
}

# mutant_files NAME: the kernel files that it changes.
mutant_files() { sed -n 's|^+++ b/||p' "$MUTANTS_DIR/$1.patch"; }

# mutate TREE NAME [OPTION...]: applies the mutant, exactly.
mutate() {
	patch -p1 --fuzz=0 --forward --batch --no-backup-if-mismatch --reject-file=- "${@:3}" -d "$1" <"$MUTANTS_DIR/$2.patch"
}
