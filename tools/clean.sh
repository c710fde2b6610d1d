#!/bin/bash
# Removes what the other tools made in OUT, apart from the results of benchmarks.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

[[ -d $OUT ]] || exit 0
lock_out
for name in source tree kernel mutants steps sparse kernel-src disk; do rm -rf -- "$BUILD/${name:?}" "$OUT/${name:?}"; done # as of build_dir
rm -rf -- "$OUT"/{rootfs,ccache,test,deb,export,.times}
[[ $BUILD == "$OUT" ]] || rmdir -- "$BUILD" "${BUILD%/*}" 2>/dev/null || true
for name in bench lab; do [[ ! -d $OUT/$name ]] || say "the results of benchmarks stay in $OUT/$name"; done
rm -f -- "$OUT/.lock"
rmdir --ignore-fail-on-non-empty -- "$OUT"
