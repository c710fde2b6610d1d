#!/bin/bash
# The stress run, with two CPUs; for two minutes, where MINUTES does not say otherwise: see tools/soak.sh. And that it notices a
# request that hangs.
#
# The limit leaves time to build two kernels, and for ten minutes of stress.
# limit: 3600
# only: arm64, it takes CPU 0 offline and suspends, which QEMU's q35 does not come back from
set -euo pipefail

export VCPUS=2
status=0
"$(dirname "$0")/../../tools/soak.sh" || status=1
"$(dirname "$0")/../../tools/soak.sh" --hang || status=1
exit "$status"
