#!/bin/bash
# Writes the series as it is mailed: each patch complete, with the new files that arrive with it. Prints the directory.
#
# usage: tools/export.sh [DIR]     DIR: where (default: $OUT/export)
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/series.sh"

"$ROOT/tools/packages.sh" test
target=$(realpath -m -- "${1:-$OUT/export}")
tree=$("$ROOT/tools/tree.sh")

# in_stage COMMAND...: git in the repository that the steps are made in, undisturbed by the user's settings
in_stage() {
	GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null git -C "$stage" -c user.name=export -c user.email=export "$@"
}

# keep_step: what stands there now is where the next step starts.
keep_step() { in_stage commit -q --allow-empty -m step; }

rm -rf -- "$target"
mkdir -p -- "$target"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
stage_edits "$tree" "$stage"
in_stage init -q
in_stage add -A -f
keep_step
while read -r patch; do
	apply_patch "$stage" "$patch" || die "$patch does not apply to Linux $(tree_version "$tree")"
	in_stage add -A -f
	{
		patch_message "$patch" | sed -e '/^New-file:/d' -e '/^---$/,$d'
		echo ---
		in_stage diff --cached --no-renames --stat --summary
		echo
		in_stage diff --cached --no-renames
	} >"$target/${patch##*/}"
	keep_step
done < <(series_patches)
echo "$target"
