#!/bin/bash
# poll_source switched on and off at random for a minute while two CPUs do I/O: no request hangs, none goes wrong.
#
# The limit leaves time to build the kernel.
# limit: 1200
set -euo pipefail
source "$(dirname "$0")/guest.sh"

use_kernel test
disk_test toggle 64M --run toggle --vcpus 2 --append "ps.seconds=60 ps.seed=$SEED" --timeout 240
tap_end
