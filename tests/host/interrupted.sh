#!/bin/bash
# A build that is killed, wherever it was, and started again; a symbol that is lost; a patch that does not apply; all in a
# clone at a path with a space. Nothing half-made is ever taken for whole.
# limit: 1200
# shellcheck disable=SC2016,SC2317 # conditions for killed_when; functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tools/kbuild.sh"
source "$ROOT/tests/tap.sh"
source "$ROOT/tests/host/clone.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
copy="$work/a clone"
export HOME=$work/home XDG_CACHE_HOME=$work/home/cache # where a clone at such a path has its kernel built
clone "$copy"
unset OUT

build=$(cd "$copy" && bash -c 'source tools/lib.sh; echo "$BUILD"')
tree=$build/tree/$BASE
objects=$build/kernel/$BASE-$ARCH-bench
image=$objects/$KERNEL_IMAGE

front() { make --no-print-directory -C "$copy" "$@"; }
absent() { [[ ! -e $1 ]] || { echo "$1 is there"; return 1; }; }
whole() { [[ -s $image && -s $objects/kernel.json ]]; }

# builds_kernel: says the image's path alone on stdout, the same as ever
builds_kernel() { [[ $(front kernel) == "$image" ]] && whole; }

# files DIR: how many there are
files() { find "$1" -type f 2>/dev/null | head -n 2000 | wc -l; }

# --- the tree ---------------------------------------------------------------------------------------------------------

check "interrupted: killed while it unpacks" killed_when '(($(files "$tree.partial") > 1000))' "$copy/tools/tree.sh"
check "interrupted: the part that was unpacked is not taken for a tree" absent "$tree"
check "interrupted: the tree is whole the next time" "$copy/tools/tree.sh"
check "interrupted: nothing is left of the part" absent "$tree.partial"

# --- the kernel -------------------------------------------------------------------------------------------------------

check "interrupted: killed while it builds" killed_when '[[ -e $objects/init/main.o ]]' make -C "$copy" kernel
check "interrupted: what was built is not taken for a kernel" absent "$objects/kernel.json"
check "interrupted: the kernel is whole the next time, in a clone at a path with a space" builds_kernel
check "interrupted: out/ leads there" test "$copy/out/kernel/$BASE-$ARCH-bench/$KERNEL_IMAGE" -ef "$image"
check "built once: the next time takes no build" refused "" bash -c "make -C '$copy' kernel 2>&1 | grep building"

# cut_off: leaves what a build that was killed while it wrote an object would
cut_off() {
	rm "$objects/kernel.json"
	touch "$objects/.unfinished"
	sleep 0.1
	truncate -s 100 "$objects/init/main.o"
}

cut_off
check "interrupted: an object that was half-written is made anew" builds_kernel

# --- what the user changes --------------------------------------------------------------------------------------------

echo CONFIG_NO_SUCH_SYMBOL=y >>"$copy/tools/config/common.config"
check "a symbol that is lost stops the build, by name" refused CONFIG_NO_SUCH_SYMBOL front kernel
check "a symbol that is lost: the old kernel is not taken for the new one" absent "$objects/kernel.json"
cp "$ROOT/tools/config/common.config" "$copy/tools/config/"

first=$(head -n 1 "$ROOT/patches/$BASE/series")
sed -i '0,/^-/s/^-.*/-what the kernel does not have/' "$copy/patches/$BASE/$first"
sed -i '0,/^ [^ ]/s/^ [^ ].*/ what the kernel does not have/' "$copy/patches/$BASE/$first"
check "a patch that does not apply stops the build, by name" refused "$first does not apply" front kernel
cp "$ROOT/patches/$BASE/$first" "$copy/patches/$BASE/"
check "both put right: the kernel is whole again" builds_kernel
check "clean: removes what was built" front clean
check "clean: leaves nothing, in the clone or elsewhere" test ! -e "$copy/out" -a ! -e "$build"
tap_end
