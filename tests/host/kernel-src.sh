#!/bin/bash
# KERNEL_SRC: a tree of the right line is copied and patched, never written to; later changes in it are followed, and a
# part of it that is missing is named.
# limit: 600
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tools/series.sh"
source "$ROOT/tests/tap.sh"
source "$ROOT/tests/host/pristine.sh"
source "$ROOT/tests/host/clone.sh"

lock_out
patched=$("$ROOT/tools/tree.sh")
work=$(build_dir kernel-src)
trap 'rm -rf "$work" "$OUT/kernel-src"' EXIT
rm -rf "${work:?}"/*
src="$work/a tree"
pristine_tree "$patched" "$src" "$work/stage"
edited=$(series_edits | grep '\.c$' | head -n 1)
touch "$work/before"

make_tree() { OUT=$work/out KERNEL_SRC=$src "$ROOT/tools/tree.sh" >"$work/path"; }

# same_tree EXCEPT...: the tree made is the one made from the package, but for EXCEPT.
same_tree() {
	local except options=()
	for except in "$@"; do options+=(--exclude="$(basename "$except")"); done
	diff -rq --no-dereference "${options[@]}" "$patched" "$(<"$work/path")"
}

untouched() { [[ ! $(find "$src" -newercm "$work/before" | head -n 5) ]]; }

# replace FILE LINE: FILE of the source gets another first line; the file it is linked to does not.
replace() { { echo "$2" && cat "$src/$1"; } >"$src/$1.new" && mv "$src/$1.new" "$src/$1"; }

has_line() { grep -qx "$2" "$(<"$work/path")/$1"; }
lacks() { [[ ! -e "$(<"$work/path")/$1" ]]; }

check "KERNEL_SRC: a tree at a path with a space is copied and patched" make_tree
check "KERNEL_SRC: is not written to" untouched

replace README "a later line"
replace "$edited" "/* a later line */"
rm "$src/CREDITS"
echo "obj-y := new.o" >"$src/new.mk"
check "KERNEL_SRC: changes are followed" make_tree
check "KERNEL_SRC: a changed file" has_line README "a later line"
check "KERNEL_SRC: a changed file that the series edits" has_line "$edited" '/\* a later line \*/'
check "KERNEL_SRC: a new file" has_line new.mk "obj-y := new.o"
check "KERNEL_SRC: all else is as the package gives it" same_tree README "$edited" new.mk CREDITS

rm "$src/scripts/Makefile.build"
check "KERNEL_SRC: a tree that lacks a part of the build is refused" refused "the kernel could not be configured" \
	env OUT="$work/out" KERNEL_SRC="$src" "$ROOT/tools/kernel.sh" bench
check "KERNEL_SRC: the message shows what is lacking" grep -q Makefile.build "$work/out/kernel/$BASE-$ARCH-bench/build.log"
tap_end
