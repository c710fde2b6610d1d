#!/bin/bash
# Builds the kernel of one flavour, or brings it up to date; prints the path of its image.
#
# usage: tools/kernel.sh bench|test|soak|kunit|kcsan|modules|lab
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/series.sh"
source "$ROOT/tools/kbuild.sh"

FULL_BUILD=830 # files that a build from nothing compiles, about
BUILD_MIB=400

count_built() { built_objects "$log"; }

flavour=${1:-}
targets=("${KERNEL_IMAGE##*/}")
chosen=$(fragments "$flavour")
mapfile -t chosen <<<"$chosen"
[[ $flavour != modules ]] || targets+=(modules)

lock_out
tree=$("$ROOT/tools/tree.sh")
objects=$(build_dir kernel)/$BASE-$ARCH-$flavour
image=$objects/$KERNEL_IMAGE
about=$objects/kernel.json # written last: it is there only beside a whole kernel, the one it tells of
wanted=$objects/wanted.config
log=$objects/build.log
unfinished=$objects/.unfinished # there while make runs; a file it was cut off at may be half-written

mkdir -p "$objects"
merged_config "${chosen[@]}" | write_file "$wanted"
now="{
  \"arch\": \"$ARCH\",
  \"base\": \"$BASE\",
  \"version\": \"$(tree_version "$tree")\",
  \"series\": \"$(series_id)\",
  \"flavour\": \"$flavour\",
  \"config\": \"$(sha256sum <"$wanted" | cut -c 1-16)\",
  \"compiler\": \"$("${CROSS_COMPILE}gcc" --version | head -n 1)\"
}"
if [[ -e $image && $about -nt $tree.state/id && $(cat "$about") == "$now" ]]; then
	echo "$image"
	exit
fi

rm -f "$about"
need_space "$objects" "$BUILD_MIB" "a kernel build"
if [[ -e $unfinished ]]; then
	say "the last build was cut off: what it made is made anew"
	find "$objects" -type f -newer "$unfinished" ! -path "$wanted" -delete
fi
touch "$unfinished"
trap 'rm -f "$unfinished"' EXIT # make tidies up when it fails or is told to stop, but not when it is killed
total=0
[[ -e $objects/vmlinux ]] || total=$FULL_BUILD
configure "$tree" "$objects" "$wanted" "$log" || die_of_log "the kernel could not be configured" "$log"
lost=$(lost_symbols "$wanted" "$objects/.config")
[[ ! $lost ]] || die "the kernel's configuration lost what was asked for:" "$lost" \
	"a symbol it depends on is missing in tools/config, or Linux $(tree_version "$tree") has no such symbol"
run_logged "building the $flavour kernel" "$log" "$total" count_built \
	kernel_make "$tree" "$objects" -j "$JOBS" "${targets[@]}" ||
	die_of_log "the $flavour kernel could not be built" "$log"
write_file "$about" <<<"$now"
echo "$image"
