# shellcheck shell=bash
# Sourced by the tests written in shell: TAP on stdout, one line a test.

TAP_FAILED=0

pass() { printf 'ok - %s\n' "$1"; }

# flunk NAME [TEXT]: the test failed; TEXT, of any number of lines, says how.
flunk() {
	TAP_FAILED=1
	printf 'not ok - %s\n' "$1"
	[[ ! ${2:-} ]] || printf '# %s\n' "${2//$'\n'/$'\n# '}"
}

skip() { printf 'ok - %s # SKIP %s\n' "$1" "$2"; }

# check NAME COMMAND...: passes when COMMAND does; else shows what it said.
check() {
	local name=$1 said
	shift
	if said=$("$@" 2>&1); then pass "$name"; else flunk "$name" "$said"; fi
}

# tap_end: the status of the whole.
tap_end() { exit "$TAP_FAILED"; }
