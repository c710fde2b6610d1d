#!/bin/bash
# Every step of the series builds by itself, without a warning, as does the whole with its options set otherwise.
# limit: 2400
# bases: full
# shellcheck disable=SC2317 # functions are called by check
#
# The steps are made one after the other in one tree; most objects come out of the compiler cache, where the soak
# flavour of the kernel puts the same.
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tools/series.sh"
source "$ROOT/tools/kbuild.sh"
source "$ROOT/tests/tap.sh"
source "$ROOT/tests/host/pristine.sh"

exec 8>&2 # for progress: what a check says is kept for its failure
lock_out
patched=$("$ROOT/tools/tree.sh")
dir=$(build_dir steps)
tree=$dir/tree/$BASE
objects=$dir/kernel/$BASE-$ARCH-test
stage=$dir/stage
logs=$OUT/test/$BASE-$ARCH
mkdir -p "$logs" "$objects"

count_built() { built_objects "$log"; }

# builds NAME WANTED TARGET...: configures and builds; a warning is a failure. $lost: the symbols it could not set.
builds() {
	log=$logs/steps-$1.log
	configure "$tree" "$objects" "$2" "$log" || { tail -n 20 "$log"; return 1; }
	lost=$(lost_symbols "$2" "$objects/.config")
	run_logged "building step $1" "$log" 0 count_built kernel_make "$tree" "$objects" -j "$JOBS" "${@:3}" 2>&8 ||
		{ grep -E 'error|warning|\*\*\*' "$log" || tail -n 20 "$log"; return 1; }
	! grep -E 'warning:' "$log"
}

# step NUMBER PATCH: the tree becomes what PATCH leaves, and builds with what is wanted as far as it exists by then.
step() {
	local files
	apply_patch "$stage" "$2" || return 1
	mapfile -t files < <({ patch_edits "$2" && patch_new_files "$2"; } | sort -u)
	put_files "$stage" "$tree" "${files[@]}"
	builds "$1" "$dir/wanted.config" "${KERNEL_IMAGE##*/}" || return 1
}

# variant NAME LINE...: the whole series, built with other lines in its configuration; none of them may be lost.
variant() {
	local name=$1
	printf '%s\n' "${@:2}" >"$dir/$name.config"
	merged_config "$dir/wanted.config" "$dir/$name.config" >"$dir/$name.wanted"
	builds "$name" "$dir/$name.wanted" "${KERNEL_IMAGE##*/}" modules || return 1
	lost=$(lost_symbols "$dir/$name.config" "$objects/.config")
	[[ ! $lost ]] || { echo "lost: $lost"; return 1; }
}

merged_config "$ROOT"/tools/config/{common,devices,kunit,"$BASE","$ARCH"}.config >"$dir/wanted.config"
pristine_tree "$patched" "$tree" "$stage"
number=0 lost=""
while read -r patch; do
	check "steps: ${patch##*/} builds" step $((++number)) "$patch"
done < <(series_patches)
check "steps: the whole series has every symbol asked for" test -z "$(lost_symbols "$dir/wanted.config" "$objects/.config")"
check "steps: the haltpoll driver builds as a module" variant module CONFIG_HALTPOLL_CPUIDLE=m
check "steps: builds without poll sources" variant without '# CONFIG_VIRTIO_POLL_SOURCE is not set' \
	'# CONFIG_SAMPLE_POLL_SOURCE is not set' '# CONFIG_POLL_SOURCE_KUNIT_TEST is not set' \
	'# CONFIG_VIRTIO_RING_POLL_KUNIT_TEST is not set'
tap_end
