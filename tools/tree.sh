#!/bin/bash
# Makes the patched kernel tree of BASE, or brings it up to date; prints its path.
#
# The source is KERNEL_SRC, which is only read, or the tarball of Debian's linux-source package, unpacked once: that of this
# machine, or the one that source.sh fetches. Files
# whose content stays keep their time stamps, so a changed series rebuilds little. A pristine copy is kept of every file
# the series edits, so that a later series can start from it.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/series.sh"

LINE=${BASE#linux-}
TARBALL=/usr/src/linux-source-$LINE.tar.xz
TREE_MIB=2000

"$ROOT/tools/packages.sh" kernel
lock_out
TREE=$(build_dir tree)/$BASE
PARTIAL=$TREE.partial   # a tree being unpacked
STAGE=$TREE.stage       # edited and new files on their way into the tree
UNPACKED=$TREE.unpacked # the files unpacked so far
PRISTINE=$TREE.pristine # the kernel's own version of every file that differs in the tree
STATE=$TREE.state       # source: what was unpacked; manifest: its files, for a directory; added: new files; id: what is applied

# source_id: names what the tree is made from.
source_id() {
	if [[ $KERNEL_SRC ]]; then
		echo "directory $KERNEL_SRC"
	else
		echo "tarball ${TARBALL#"$BUILD"/} $(stat -L -c '%s %Y' "$TARBALL")"
	fi
}

check_kernel_src() {
	local version hint="set KERNEL_SRC to a kernel tree of the line $LINE, or leave it out to use Debian's package"
	[[ "$BUILD/" != "$KERNEL_SRC"/* && "$OUT/" != "$KERNEL_SRC"/* ]] || die "OUT=$OUT is inside KERNEL_SRC" "nothing is written to KERNEL_SRC: set OUT to a directory elsewhere"
	[[ "$KERNEL_SRC/" != "$BUILD"/* ]] || die "KERNEL_SRC=$KERNEL_SRC is what this project made itself" "$hint"
	[[ -r $KERNEL_SRC/Makefile && -r $KERNEL_SRC/Kconfig && -r $KERNEL_SRC/arch/$KERNEL_ARCH/Makefile ]] ||
		die "KERNEL_SRC=$KERNEL_SRC is not a complete kernel tree (no Makefile, Kconfig or arch/$KERNEL_ARCH/Makefile)" "$hint"
	version=$(tree_version "$KERNEL_SRC")
	[[ $version == "$LINE".* || $version == "$LINE" ]] || die "KERNEL_SRC=$KERNEL_SRC is Linux $version, not $LINE" "$hint"
	local file lacking=""
	while read -r file; do [[ -f $KERNEL_SRC/$file ]] || lacking+=" $file"; done <<<"$EDITS"
	[[ ! $lacking ]] || die "KERNEL_SRC=$KERNEL_SRC lacks files that the series edits:$lacking" "$hint"
	[[ -e $KERNEL_SRC/.git || ! -e $KERNEL_SRC/.config && ! -e $KERNEL_SRC/include/config ]] ||
		die "KERNEL_SRC=$KERNEL_SRC holds the results of a build" "type: make -C '$KERNEL_SRC' mrproper   (keep its .config first), or give a clean tree"
}

# manifest: path, size, time and mode of every source file of KERNEL_SRC, a line each.
manifest() {
	if [[ -e $KERNEL_SRC/.git ]] && command -v git >/dev/null; then
		(cd "$KERNEL_SRC" && GIT_OPTIONAL_LOCKS=0 git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
			{ xargs -0 stat --printf '%n\t%s\t%.Y\t%a\n' 2>/dev/null || true; })
	else
		find "$KERNEL_SRC" -name .git -prune -o \( -type f -o -type l \) -printf '%P\t%s\t%T@\t%m\n'
	fi | LC_ALL=C sort
}

# copy_files TARGET LIST: from KERNEL_SRC; the copies are new, whatever the age of their originals.
copy_files() {
	tar -C "$KERNEL_SRC" --no-recursion --verbatim-files-from -T "$2" -cf - |
		tar -C "$1" --no-same-owner --touch --index-file="$UNPACKED" -xvf - && chmod -R u+rwX "$1"
}

unpack_tarball() {
	tar -C "$PARTIAL" --strip-components=1 --no-same-owner --touch --index-file="$UNPACKED" -xvJf "$TARBALL"
}

count_unpacked() { wc -l <"$UNPACKED"; }

# unpack: a new tree, whole or not at all.
unpack() {
	local log=$TREE.log status=0
	rm -rf "$PARTIAL" "$PARTIAL".* "$STAGE"
	need_space "${TREE%/*}" "$TREE_MIB" "the kernel tree"
	mkdir "$PARTIAL"
	if [[ $KERNEL_SRC ]]; then
		manifest >"$PARTIAL.manifest"
		cut -f 1 "$PARTIAL.manifest" >"$PARTIAL.list"
		run_logged "copying $KERNEL_SRC" "$log" "$(wc -l <"$PARTIAL.list")" count_unpacked copy_files "$PARTIAL" "$PARTIAL.list" || status=1
	else
		run_logged "unpacking linux-source-$LINE" "$log" "$TARBALL_FILES" count_unpacked unpack_tarball || status=1
	fi
	((status == 0)) || die_of_log "the kernel tree could not be unpacked" "$log" "$PARTIAL" "$PARTIAL".*
	rm -f "$STATE/source"
	rm -rf "$TREE" "$PRISTINE" "$STATE"
	mkdir -p "$STATE" "$PRISTINE"
	mv "$PARTIAL" "$TREE"
	[[ ! $KERNEL_SRC ]] || mv "$PARTIAL.manifest" "$STATE/manifest"
	rm -f "$PARTIAL".*
	source_id | write_file "$STATE/source"
}

# follow_directory: brings the tree up to date with KERNEL_SRC, which may have changed since the last time.
follow_directory() {
	local list=$STATE/manifest.new file target
	manifest >"$list"
	if cmp -s "$list" "$STATE/manifest"; then rm "$list"; return; fi
	say "following the changes in $KERNEL_SRC"
	rm -f "$STATE/id"
	while IFS= read -r file; do
		target=$TREE
		[[ ! -e $PRISTINE/$file ]] || target=$PRISTINE
		rm -f -- "$target/$file"
		[[ ! -e $KERNEL_SRC/$file && ! -L $KERNEL_SRC/$file ]] || { mkdir -p "$(dirname "$target/$file")" && cp -d -- "$KERNEL_SRC/$file" "$target/$file"; }
	done < <(LC_ALL=C comm -3 "$STATE/manifest" "$list" | sed 's/^\t//' | cut -f 1 | sort -u)
	mv "$list" "$STATE/manifest"
}

# put SOURCE FILE: FILE in the tree becomes SOURCE, whole, and keeps its time stamp where it is the same already.
put() {
	cmp -s -- "$1" "$TREE/$2" && return
	mkdir -p "$(dirname "$TREE/$2")" && cp -- "$1" "$TREE/$2.new~" && mv -f -- "$TREE/$2.new~" "$TREE/$2" ||
		die "cannot write $TREE/$2" "is the disk full? free some space and start again"
}

# stage_series: the edited and the new files, as the whole series leaves them.
stage_series() {
	local file patch
	stage_edits "$TREE" "$STAGE"
	while read -r file; do
		[[ ! -e $TREE/$file ]] || grep -qxF -- "$file" "$STATE/added" || die "the kernel has its own $file, which the series adds"
	done < <(kernel_files)
	while read -r patch; do
		apply_patch "$STAGE" "$patch" || { rm -rf "$STAGE"; die "${patch##*/} does not apply to Linux $(tree_version "$TREE")" \
			"the patch is for another version: adapt $(realpath "$SERIES_DIR/$patch")"; }
	done < <(series_patches)
}

# install_series: what is staged into the tree; what an earlier series left there goes.
install_series() {
	local file
	while read -r file; do
		if [[ ! -e $PRISTINE/$file ]]; then
			mkdir -p "$(dirname "$PRISTINE/$file")"
			cp -p -- "$TREE/$file" "$PRISTINE/.copy" && mv "$PRISTINE/.copy" "$PRISTINE/$file" || die "cannot write to $PRISTINE" "is the disk full?"
		fi
	done <<<"$EDITS"
	kernel_files | sort -u - "$STATE/added" | write_file "$STATE/added"
	(cd "$STAGE" && find . -type f -printf '%P\n') | while IFS= read -r file; do put "$STAGE/$file" "$file"; done
	(cd "$PRISTINE" && find . -type f ! -name .copy -printf '%P\n') | while IFS= read -r file; do
		[[ -e $STAGE/$file ]] || put "$PRISTINE/$file" "$file"
	done
	while IFS= read -r file; do [[ -e $STAGE/$file ]] || rm -f -- "$TREE/$file"; done <"$STATE/added"
	rm -rf "$STAGE"
}

series_check
EDITS=$(series_edits)
[[ $KERNEL_SRC || -e $TARBALL || ! $SOURCE_SUITE ]] || TARBALL=$("$ROOT/tools/source.sh")
[[ ! $KERNEL_SRC ]] || check_kernel_src
if [[ ! -d $TREE || $(cat "$STATE/source" 2>/dev/null) != "$(source_id)" ]]; then
	unpack
elif [[ $KERNEL_SRC ]]; then
	follow_directory
fi
touch "$STATE/added"
id="$(tree_version "$TREE") $(series_id) $(source_id)"
if [[ $(cat "$STATE/id" 2>/dev/null) != "$id" ]]; then
	rm -f "$STATE/id"
	stage_series
	install_series
	echo "$id" | write_file "$STATE/id"
fi
echo "$TREE"
