#!/bin/bash
# The stress run, with two CPUs; for two minutes, where MINUTES does not say otherwise: see tools/soak.sh.
#
# The limit leaves time to build the kernel, and for ten minutes of stress.
# limit: 3000
set -euo pipefail

export VCPUS=2
exec "$(dirname "$0")/../../tools/soak.sh"
