# shellcheck shell=bash
# Sourced after lib.sh: reads a kernel tree's version, the patch series of BASE and the new kernel files that arrive with it.
#
# A patch holds edits to files that the kernel has. New kernel files stand in this repository at their in-tree paths;
# the patch they arrive with names each in its message, in a line "New-file: PATH".
#
# A base is a kernel line, with its directory of patches/ and its file of tools/base/. All bases have the same steps, after what
# an older one lacks (0000), and share the new kernel files. A step's patch that serves another base too exists once: the base's file `series` names it
# where it is, as ../linux-6.12/NAME. Lines may be found elsewhere (an offset), but they have to be the same (no fuzz): such a
# patch has as little context, down to one line, as the kernels have in common there. What is exported has it in full.

SERIES_DIR=$ROOT/patches/$BASE

# series_patches: the patches in order, as paths from $SERIES_DIR.
series_patches() {
	[[ -f $SERIES_DIR/series ]] || die "there is no file $SERIES_DIR/series" "is the clone complete? type: git status"
	sed -e 's/#.*//' -e 's/[[:space:]]*$//' -e '/^$/d' "$SERIES_DIR/series"
}

# patch_message PATCH: what stands before its first hunk.
patch_message() { sed -n -e '/^diff --git /q' -e '/^--- a\//q' -e p "$SERIES_DIR/$1"; }

# patch_new_files PATCH: the new kernel files that arrive with it.
patch_new_files() { patch_message "$1" | sed -n 's/^New-file:[[:space:]]*//p'; }

# patch_edits PATCH: the kernel's own files that it edits.
patch_edits() {
	awk -v patch="$1" '
		/^--- / { old = $2 }
		/^\+\+\+ / && old != "" {
			if (substr(old, 3) != substr($2, 3)) {
				print "error: " patch " makes, removes or renames a file: " old " -> " $2 > "/dev/stderr"
				exit 1
			}
			print substr($2, 3)
		}
		!/^--- / { old = "" }' "$SERIES_DIR/$1" ||
		die "a patch may only edit files" "a new file stands at its in-tree path here and is named by a New-file: line"
}

# series_edits: the kernel's own files that any patch edits.
series_edits() {
	local patch
	while read -r patch; do patch_edits "$patch" || return 1; done < <(series_patches) | sort -u
}

# kernel_files: the new kernel files of this repository.
kernel_files() {
	local top
	for top in arch block Documentation drivers include kernel lib samples; do
		[[ ! -d $ROOT/$top ]] || (cd "$ROOT" && find "$top" -type f ! -name '*~' ! -name '.*' ! -name '*.orig' ! -name '*.rej')
	done | sort
}

# series_id: changes whenever the series or a new kernel file does.
series_id() {
	(
		cd "$ROOT" || exit
		{ series_patches | sed "s|^|patches/$BASE/|" && kernel_files; } | xargs -d '\n' sha256sum
	) | sha256sum | cut -c 1-16
}

# series_check: every patch there and listed once, every new kernel file named by exactly one patch.
series_check() {
	local listed named odd patch
	listed=$(series_patches)
	[[ $listed ]] || die "$SERIES_DIR/series lists no patch"
	odd=$(sort <<<"$listed" | uniq -d)
	[[ ! $odd ]] || die "listed twice in $SERIES_DIR/series: $odd"
	odd=$(comm -3 <(grep -v / <<<"$listed" | sort) <(names_of "" "$SERIES_DIR"/*.patch | sort) | tr -d '\t')
	[[ ! $odd ]] || die "in only one of $SERIES_DIR and its file series: $odd"
	odd=$(while read -r patch; do [[ -f $SERIES_DIR/$patch ]] || echo "$patch"; done <<<"$listed")
	[[ ! $odd ]] || die "listed in $SERIES_DIR/series, but not there: $odd"
	odd=$(while read -r patch; do basename "$patch"; done <<<"$listed" | sort | uniq -d)
	[[ ! $odd ]] || die "two patches listed in $SERIES_DIR/series have the same name: $odd"
	odd=$(sha256sum "$SERIES_DIR"/../*/*.patch | sort | uniq -D -w 64 | cut -d ' ' -f 3-)
	[[ ! $odd ]] || die "the same patch twice: $odd" "name the one in the series file of the other base, as ../BASE/NAME"
	named=$(while read -r patch; do patch_new_files "$patch"; done <<<"$listed" | sort)
	odd=$(uniq -d <<<"$named")
	[[ ! $odd ]] || die "named as New-file by more than one patch: $odd"
	odd=$(comm -23 <(kernel_files) <(echo "$named"))
	[[ ! $odd ]] || die "no patch names this new kernel file: $odd" "add a line to the message of the patch it arrives with: New-file: PATH"
	odd=$(comm -13 <(kernel_files) <(sed '/^$/d' <<<"$named"))
	[[ ! $odd ]] || die "named as New-file by a patch, but not in this repository: $odd"
}

# pristine_file TREE FILE: the path of the kernel's own version of FILE, which the patched TREE may have another of.
pristine_file() { if [[ -e $1.pristine/$2 ]]; then echo "$1.pristine/$2"; else echo "$1/$2"; fi; }

# stage_edits TREE STAGE: STAGE becomes a directory of the kernel's own versions of the files that the series edits.
stage_edits() {
	local file from
	rm -rf "$2"
	mkdir -p "$2"
	while read -r file; do
		from=$(pristine_file "$1" "$file")
		[[ -f $from ]] || die "the kernel has no file $file, which the series edits" "is it Linux ${BASE#linux-}?"
		mkdir -p "$2/$(dirname "$file")"
		cp -- "$from" "$2/$file"
	done < <(series_edits)
}

# apply_patch STAGE PATCH: turns STAGE, which holds the files that PATCH edits, into what PATCH leaves.
apply_patch() {
	local file said
	said=$(patch -p1 --fuzz=0 --forward --batch --no-backup-if-mismatch --reject-file=- -d "$1" <"$SERIES_DIR/$2" 2>&1) || {
		say "$said"
		return 1
	}
	while read -r file; do
		[[ ! -e $1/$file ]] || { say "$2: the kernel has the file $file already"; return 1; }
		mkdir -p "$(dirname "$1/$file")" && cp -- "$ROOT/$file" "$1/$file" || return 1
	done < <(patch_new_files "$2")
}

# tree_version TREE: e.g. 6.12.117
tree_version() {
	awk -F ' *= *' '/^(VERSION|PATCHLEVEL|SUBLEVEL) *=/ { v = v (v == "" ? "" : ".") $2 } NR > 10 { exit } END { print v }' "$1/Makefile"
}
