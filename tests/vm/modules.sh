#!/bin/bash
# virtio, its transport, virtio_blk and cpuidle-haltpoll as modules: they build, load, poll, go and come again.
#
# The limit leaves time to build the kernel.
# limit: 1200
set -euo pipefail
source "$(dirname "$0")/guest.sh"

use_kernel modules
add_modules "$LOGS/modules.cpio.zst"
boot_test modules --run modules --vcpus 1 --timeout 120
rm -f "$INITRD"
tap_end
