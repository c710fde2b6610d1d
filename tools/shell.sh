#!/bin/bash
# A prompt in the guest, on this terminal. "exit" ends it.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

[[ -t 0 && -t 1 ]] || die "make shell needs a terminal"
lock_out
kernel=$("$ROOT/tools/kernel.sh" bench)
initrd=$("$ROOT/tools/rootfs.sh")
mkdir -p "$OUT/test"
say "the guest's own programs are in /tests, fio's jobs in /fio; \"exit\" powers it off"
exec "$ROOT/tools/vm.sh" --kernel "$kernel" --initrd "$initrd" --run shell --append "quiet" \
	--results "$OUT/test/shell.jsonl" --log "$OUT/test/shell.log" --label "guest"
