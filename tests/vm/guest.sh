# shellcheck shell=bash
# Sourced by the tests that boot a guest: the kernel and root file system, booting, and what the guest says as TAP.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
source "$ROOT/tools/lib.sh"
source "$ROOT/tests/tap.sh"
LOGS=$OUT/test/$BASE-$ARCH

# use_kernel FLAVOUR
use_kernel() {
	lock_out
	mkdir -p "$LOGS"
	KERNEL=$("$ROOT/tools/kernel.sh" "$1")
	INITRD=$("$ROOT/tools/rootfs.sh")
}

# add_modules IMAGE: INITRD becomes IMAGE: what it was and, behind it, /modules with all modules of the kernel.
add_modules() {
	local objects=${KERNEL%"/$KERNEL_IMAGE"} work=$1.tree
	rm -rf "$work"
	mkdir -p "$work/modules"
	(cd "$objects" && xargs -a <(sed 's/\.o$/.ko/' modules.order) cp -t "$work/modules")
	{
		cat "$INITRD"
		(cd "$work" && find . -mindepth 1 | cpio -o -H newc -R 0:0 --quiet) | zstd -q
	} >"$1"
	rm -rf "$work"
	INITRD=$1
}

# boot NAME OPTION...: runs a guest; its records and log are $LOGS/NAME.jsonl and .log, what vm.sh says NAME.said.
boot() {
	local name=$1
	shift
	"$ROOT/tools/vm.sh" --kernel "$KERNEL" --initrd "$INITRD" --results "$LOGS/$name.jsonl" --log "$LOGS/$name.log" \
		--label "$name" "$@" 2>&1 | tee "$LOGS/$name.said" >&2
}

# guest_tap NAME PREFIX: the guest's own TAP lines, with PREFIX before each test's name.
guest_tap() {
	{ grep -a '"type":"tap"' "$LOGS/$1.jsonl" || true; } | jq -r .line | sed -E "s/^((not )?ok -) /\1 $2/"
	! grep -aq '"type":"tap","line":"not ok' "$LOGS/$1.jsonl" || TAP_FAILED=1
}

# boot_test NAME OPTION...: boots and folds in the guest's TAP; a test of its own says that the guest ended well.
boot_test() {
	local name=$1
	if boot "$@"; then
		guest_tap "$name" "$name: "
		pass "$name: the guest ended well, nothing in the kernel's log"
	else
		guest_tap "$name" "$name: "
		flunk "$name: the guest ended well, nothing in the kernel's log" "$(<"$LOGS/$name.said")"
	fi
}

# disk_test NAME SIZE OPTION...: boot_test with a raw image of SIZE behind the disk.
disk_test() {
	local name=$1 image=$LOGS/$1.raw
	rm -f "$image"
	qemu-img create -q -f raw "$image" "$2"
	boot_test "$name" --image "$image" "${@:3}"
	rm -f "$image"
}

# What runs the KUnit suites, on two CPUs; Linux 6.12 has no kunit.autorun, and does not miss it
KUNIT_WORDS="kunit.enable=1 kunit.autorun=1 maxcpus=2"

# kunit_test NAME OPTION...: boots for the KUnit suites, which run as the kernel does; their results come from its log.
# Two CPUs, for sources that come and go from another one; a high limit for polling, so that a busy host, which makes all
# sleeps in the guest longer, does not keep the CPUs from polling at all.
kunit_test() {
	local name=$1 results
	boot_test "$name" --run none --vcpus 2 --timeout 300 \
		--append "$KUNIT_WORDS haltpoll.guest_halt_poll_ns=10000000" "${@:2}"
	results=$(tr -d '\r' <"$LOGS/$name.log" | awk -v run="$name" -f "$ROOT/tests/vm/ktap.awk")
	grep -E '^(not )?ok|^#' <<<"$results" || true
	! grep -q '^not ok' <<<"$results" || TAP_FAILED=1
	if grep -q "^ok - $name: suite" <<<"$results"; then
		pass "$name: at least one suite ran"
	else
		flunk "$name: at least one suite ran" "no KTAP in $LOGS/$name.log"
	fi
}
