#!/bin/bash
# The guest's programs compile for the guest without a warning.
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"

"$ROOT/tools/packages.sh" rootfs
for source in "$ROOT"/tests/guest/*.c; do
	check "guest program: $(basename "$source")" \
		"${CROSS_COMPILE}gcc" -std=c11 -Wall -Wextra -Werror -O2 -c -o /dev/null "$source"
done
tap_end
