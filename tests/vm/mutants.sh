#!/bin/bash
# The tests catch every fault mutant: see tests/mutants.
#
# full: a kernel build and a boot for each mutant, about a minute each
# only: arm64, what they change is the same code for all
#
# limit: 7200
set -euo pipefail
exec "$(dirname "$0")/../mutants/run.sh"
