#!/bin/bash
# The model of event suppression holds, in a size that takes seconds, and its mutants do not. `make model` goes further.
set -euo pipefail
exec "$(dirname "$0")/../model/run.sh" 2 2
