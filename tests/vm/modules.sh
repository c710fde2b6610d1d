#!/bin/bash
# virtio, its transport, virtio_blk and cpuidle-haltpoll as modules: they build, load, poll, go and come again.
#
# The limit leaves time to build the kernel.
# limit: 1200
set -euo pipefail
source "$(dirname "$0")/guest.sh"

# with_modules IMAGE: the root file system and, behind it, /modules with all modules of the kernel.
with_modules() {
	local objects=${KERNEL%"/$KERNEL_IMAGE"} work=$LOGS/modules.tree
	rm -rf "$work"
	mkdir -p "$work/modules"
	(cd "$objects" && xargs -a <(sed 's/\.o$/.ko/' modules.order) cp -t "$work/modules")
	{
		cat "$INITRD"
		(cd "$work" && find . -mindepth 1 | cpio -o -H newc -R 0:0 --quiet) | zstd -q
	} >"$1"
	rm -rf "$work"
}

use_kernel modules
with_modules "$LOGS/modules.cpio.zst"
INITRD=$LOGS/modules.cpio.zst
boot_test modules --run modules --vcpus 1 --timeout 120
rm -f "$INITRD"
tap_end
