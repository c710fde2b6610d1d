#!/bin/bash
# The poll_source attribute under each kernel command line that bears on it.
#
# The limit leaves time to build the kernel.
# limit: 900
# also: x86_64
set -euo pipefail
source "$(dirname "$0")/guest.sh"

use_kernel test
boot_test attribute --run attribute --vcpus 1 --timeout 120 --append "ps.expect=off"
boot_test attribute-enable --run attribute --vcpus 1 --timeout 120 --append "virtio_poll_source.enable=1 ps.expect=on"
boot_test attribute-threadirqs --run attribute --vcpus 1 --timeout 120 \
	--append "threadirqs virtio_poll_source.enable=1 ps.expect=refused"
tap_end
