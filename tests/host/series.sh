#!/bin/bash
# The series: it applies without fuzz to the kernel's own files, what is exported from it gives the very tree that is
# built, and a mistake in its bookkeeping is found and named.
# bases: all
# shellcheck disable=SC2016,SC2317 # a script for another bash; functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tools/series.sh"
source "$ROOT/tests/tap.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

exported_gives_the_tree() {
	local patch file
	stage_edits "$tree" "$work/stage"
	while read -r patch; do
		patch -p1 --fuzz=0 --forward --batch --no-backup-if-mismatch -d "$work/stage" <"$work/export/${patch##*/}" || return 1
	done < <(series_patches)
	diff <(cd "$work/stage" && find . -type f | sort) <({ series_edits && kernel_files; } | sort | sed 's|^|./|') || return 1
	(cd "$work/stage" && find . -type f) | while read -r file; do
		cmp "$work/stage/$file" "$tree/$file" || return 1
	done
}

# found TEXT CHANGE: series_check, on a copy that CHANGE has spoilt, says TEXT.
found() {
	local copy=$work/copy said
	rm -rf "$copy"
	mkdir -p "$copy/patches/$BASE" "$copy/patches/linux-0" "$copy/include/linux"
	echo "edits" >"$copy/patches/linux-0/0003-e.patch"
	printf 'New-file: include/linux/%s\n' a.h b.h >"$copy/patches/$BASE/0001-a.patch"
	printf 'New-file: include/linux/c.h\n' >"$copy/patches/$BASE/0002-c.patch"
	printf '0001-a.patch\n0002-c.patch\n' >"$copy/patches/$BASE/series"
	touch "$copy"/include/linux/{a,b,c}.h
	(
		cd "$copy/patches/$BASE"
		eval "$2"
	)
	if said=$(bash -c 'source "$0/tools/lib.sh"; source "$0/tools/series.sh"; ROOT=$1 SERIES_DIR=$2; series_check' \
		"$ROOT" "$copy" "$copy/patches/$BASE" 2>&1); then said="all is well"; fi
	[[ $said == *"$1"* ]] || { echo "it said: $said"; return 1; }
}

check "series: every patch is listed, every new kernel file named, once" series_check
tree=$("$ROOT/tools/tree.sh")
check "series: applies to Linux $(tree_version "$tree") without fuzz" "$ROOT/tools/export.sh" "$work/export"
check "series: what is exported gives the tree that is built" exported_gives_the_tree

check "series: good bookkeeping is found good" found "all is well" :
check "series: a new file that no patch names is found" found include/linux/d.h 'touch ../../include/linux/d.h'
check "series: a new file that two patches name is found" found include/linux/b.h 'echo New-file: include/linux/b.h >>0002-c.patch'
check "series: a named file that is not there is found" found include/linux/c.h 'rm ../../include/linux/c.h'
check "series: a patch that is not listed is found" found 0003-d.patch 'touch 0003-d.patch'
check "series: a listed patch that is not there is found" found 0002-c.patch 'rm 0002-c.patch'
check "series: a patch of another base is found" found "all is well" 'echo ../linux-0/0003-e.patch >>series'
check "series: one that is not there is found" found ../linux-0/0004-f.patch 'echo ../linux-0/0004-f.patch >>series'
check "series: a patch that is another base's, but stands here as well, is found" found 0003-e.patch \
	'cp ../linux-0/0003-e.patch . && echo 0003-e.patch >>series'
check "series: a step that is listed for this base and for another is found" found 0002-c.patch \
	'touch ../linux-0/0002-c.patch && echo ../linux-0/0002-c.patch >>series'
check "series: a patch that is listed twice is found" found 0001-a.patch 'echo 0001-a.patch >>series'
tap_end
