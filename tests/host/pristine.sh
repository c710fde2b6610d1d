# shellcheck shell=bash
# Sourced after tools/lib.sh and tools/series.sh by tests that need the kernel without the series, or with a part of it.
#
# The tree is made of hard links to the patched one's files, but for those that the series touches: quick, and no space.

# put_files STAGE TREE FILE...: TREE gets each FILE as it is in STAGE.
put_files() {
	local stage=$1 tree=$2 file
	shift 2
	for file in "$@"; do
		cmp -s "$stage/$file" "$tree/$file" && continue
		mkdir -p "$(dirname "$tree/$file")"
		cp "$stage/$file" "$tree/$file.new~" && mv -f "$tree/$file.new~" "$tree/$file" # never into a linked file
	done
}

# pristine_tree PATCHED TREE STAGE: TREE becomes the kernel's own, STAGE what the series edits of it.
pristine_tree() {
	local files
	mkdir -p "$(dirname "$2")"
	rm -rf "$2"
	cp -al "$1" "$2"
	stage_edits "$1" "$3"
	mapfile -t files < <(series_edits)
	put_files "$3" "$2" "${files[@]}"
	mapfile -t files < <(kernel_files)
	((${#files[@]} == 0)) || (cd "$2" && rm -f "${files[@]}")
}
