#!/bin/bash
# Removes what the other tools made in OUT, apart from the results of benchmarks.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

[[ -d $OUT ]] || exit 0
lock_out
rm -rf -- "$BUILD"/{tree,kernel,steps,sparse} "$OUT"/{tree,kernel,steps,sparse,rootfs,ccache,test,.times}
[[ $BUILD == "$OUT" ]] || rmdir -p --ignore-fail-on-non-empty -- "$BUILD" 2>/dev/null || true
if [[ -d $OUT/bench ]]; then say "the results of benchmarks stay in $OUT/bench"; fi
rm -f -- "$OUT/.lock"
rmdir --ignore-fail-on-non-empty -- "$OUT"
