#!/bin/bash
# Every shell file is clean to shellcheck.
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"

cd "$ROOT"
while read -r file; do
	check "shellcheck: $file" shellcheck "$file"
done < <(find tools tests -name '[!.]*.sh' | sort; echo .ci/run)
tap_end
