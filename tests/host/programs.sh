#!/bin/bash
# The guest's programs compile for the guest without a warning.
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"

"$ROOT/tools/packages.sh" rootfs
"$ROOT/tools/rootfs.sh" >/dev/null # brings the headers of liburing
for source in "$ROOT"/tests/guest/*.c "$ROOT"/tests/guest/*/*.c; do
	check "guest program: ${source#"$ROOT/tests/guest/"}" "${CROSS_COMPILE}gcc" -std=c11 -Wall -Wextra -Werror -O2 -c \
		-I "$OUT/rootfs/$ARCH/liburing/include" -o /dev/null "$source"
done
tap_end
