#!/bin/bash
# The kernel that `make deb` packs stands beside a distribution's, and boots.
#
# The limit leaves time to build the kernel.
# limit: 1200
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/guest.sh"
source "$ROOT/tools/kbuild.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# refused TEXT CONFIG: what tools/deb.sh says of a bad configuration.
refused() {
	! "$ROOT/tools/deb.sh" "$2" >"$work/said" 2>&1 || { echo "it was taken"; return 1; }
	grep -F -- "$1" "$work/said"
}

# holds PATH...: the package has these, and nothing of the distribution's names.
holds() {
	local path
	for path in "$@"; do [[ -e $work/files/$path ]] || { echo "$path is not there"; return 1; }; done
}

lock_out
mkdir -p "$LOGS"
mapfile -t small < <(fragments bench)
merged_config "${small[@]}" >"$work/config"
echo "no configuration" >"$work/text"

check "deb: a configuration that is not there" refused "cannot be read" "$work/nothing"
check "deb: a file that is no configuration" refused "no kernel configuration" "$work/text"
check "deb: the packages are built" "$ROOT/tools/deb.sh" "$work/config"
image=$(names_of "" "$OUT/deb/$ARCH"/linux-image-*.deb)
if [[ $image ]]; then
	dpkg-deb -x "$OUT/deb/$ARCH/$image" "$work/files"
	release=${image%%_*}
	release=${release#linux-image-}
	check "deb: the kernel is called $release" grep -qx '[0-9.]*-poll-source' <<<"$release"
	check "deb: it has its own image and configuration" holds "boot/vmlinuz-$release" "boot/config-$release"
	check "deb: nothing but packages of its own name" \
		test "$(find "$OUT/deb/$ARCH" -name '*.deb' ! -name "linux-*-${release}_*" | wc -l)" = 0
	KERNEL=$work/files/boot/vmlinuz-$release
	INITRD=$("$ROOT/tools/rootfs.sh")
	boot_test deb --run idle --vcpus 1 --timeout 120
fi
tap_end
