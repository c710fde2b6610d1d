#!/bin/bash
# The KUnit suites, on the test kernel.
#
# The limit leaves time to build the kernel.
# limit: 1200
# also: x86_64
# bases: full
set -euo pipefail
source "$(dirname "$0")/guest.sh"

use_kernel test
kunit_test kunit
tap_end
