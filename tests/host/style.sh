#!/bin/bash
# checkpatch --strict has nothing to say of the patches as they are mailed and of the new files, but for the exceptions
# of tests/host/checkpatch-exceptions, each of which is still needed.
# bases: all
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tools/series.sh"
source "$ROOT/tests/tap.sh"

"$ROOT/tools/packages.sh" test
tree=$("$ROOT/tools/tree.sh")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -v '^#' "$ROOT/tests/host/checkpatch-exceptions" >"$work/exceptions"
touch "$work/used"

# complaints ARGUMENT...: what checkpatch says, less the exceptions; those that were needed go to $work/used.
complaints() {
	(cd "$tree" && perl scripts/checkpatch.pl --strict --terse --show-types --showfile --no-summary "$@" 2>&1 || true) |
		awk -v used="$work/used" '
			FNR == NR { allowed[$1 " " $2] = 1; next }
			{
				file = $1; sub(/:.*/, "", file)
				type = $2; sub(/^[A-Z]+:/, "", type); sub(/:$/, "", type)
				for (key in allowed)
					if (key == file " " type || key == "* " type) { print key >> used; next }
				print
			}' "$work/exceptions" -
}

clean() {
	local said
	said=$(complaints "$@")
	[[ ! $said ]] || { echo "$said"; return 1; }
}

needed() { grep -qxF "$1" "$work/used"; }

"$ROOT/tools/export.sh" "$work/export" >/dev/null
while read -r patch; do
	patch=${patch##*/}
	check "checkpatch: $patch" clean "$work/export/$patch"
done < <(series_patches)
while read -r file; do
	check "checkpatch: $file" clean -f "$file"
done < <(kernel_files)
while read -r file type _; do
	check "checkpatch: the exception '$file $type' is needed" needed "$file $type"
done <"$work/exceptions"
tap_end
