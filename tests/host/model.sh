#!/bin/bash
# The models of event suppression and of the lists of sources hold, in a size that takes a minute, and their mutants do not.
# `make model` goes further.
# limit: 600
set -euo pipefail
exec "$(dirname "$0")/../model/run.sh" small
