#!/bin/bash
# A full disk: the message says so, and what was half-written is gone or is made anew the next time.
# shellcheck disable=SC2016,SC2317 # a script for another shell; functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tools/kbuild.sh" # for its compiler cache, shared
source "$ROOT/tests/tap.sh"
source "$ROOT/tests/host/clone.sh"

lock_out
"$ROOT/tools/tree.sh" >/dev/null
work=$(build_dir disk)
mkdir -p "$work/small" "$work/bin"
mounted=()
clean_up() {
	((${#mounted[@]} == 0)) || umount "${mounted[@]}"
	rm -rf "$work" "$OUT/disk"
}
trap clean_up EXIT

# small_disk DIR MIB
small_disk() { mkdir -p "$1" && mount -t tmpfs -o "size=$2m" poll_source "$1" && mounted+=("$1"); }

# fills_up OUT COMMAND...: COMMAND, on a disk that fills up after its free space was looked at: df tells a lie once.
fills_up() {
	printf '#!/bin/sh\nif rm "$0.lie"; then printf "Avail\\n99999\\n"; else exec %s "$@"; fi 2>/dev/null\n' "$(command -v df)" >"$work/bin/df"
	chmod +x "$work/bin/df"
	touch "$work/bin/df.lie"
	PATH=$work/bin:$PATH OUT=$1 "${@:2}"
}

if ! small_disk "$work/small" 40 2>/dev/null; then
	skip "disk: a full disk" "a small disk cannot be mounted here"
	tap_end
fi
[[ ! -d $BUILD/source ]] || ln -s "$BUILD/source" "$work/small/"
check "disk: too little space is found before anything is made" refused "MiB free, the kernel tree takes about" \
	env OUT="$work/small" "$ROOT/tools/tree.sh"
check "disk: a disk that fills up while the tree is unpacked" refused "is full" fills_up "$work/small" "$ROOT/tools/tree.sh"
check "disk: nothing is left of the tree" test ! -e "$work/small/tree/$BASE.partial" -a ! -e "$work/small/tree/$BASE"

share_tree "$work/out"
small_disk "$work/out/kernel" 6
check "disk: a disk that fills up while the kernel is built" refused "is full" fills_up "$work/out" "$ROOT/tools/kernel.sh" bench
check "disk: what was built is not taken for a kernel" test ! -e "$work/out/kernel/$BASE-$ARCH-bench/kernel.json"
tap_end
