#!/bin/bash
# sparse, the compiler under W=1 and kernel-doc have nothing to say of the files of the series that they do not say of the
# kernel without it.
# bases: full
# shellcheck disable=SC2317 # functions are called by check
# also: x86_64
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tools/series.sh"
source "$ROOT/tools/kbuild.sh"
source "$ROOT/tests/tap.sh"
source "$ROOT/tests/host/pristine.sh"

"$ROOT/tools/packages.sh" kernel test
lock_out
patched=$("$ROOT/tools/tree.sh")
dir=$(build_dir sparse)
pristine=$dir/tree/$BASE
logs=$OUT/test/$BASE-$ARCH
mkdir -p "$logs"

# Later kernels ask for a sparse that knows this word, which Debian's 0.6.4 does not. What may be missed is
# a qualifier.
SPARSE="sparse -D__typeof_unqual__=__typeof__"

# prepare TREE OBJECTS: what must be there before a single file can be compiled
prepare() {
	local log=$logs/sparse-prepare.log wanted=$dir/$ARCH.config files
	mkdir -p "$2"
	mapfile -t files < <(fragments test)
	merged_config "${files[@]}" >"$wanted"
	configure "$1" "$2" "$wanted" "$log" || die_of_log "the kernel could not be configured" "$log"
	kernel_make "$1" "$2" -j "$JOBS" prepare >"$log" 2>&1 || die_of_log "the kernel's build could not be prepared" "$log"
}

# messages TREE OBJECTS FILE...: what the checkers say, a line each: FILE, tab, message without line numbers.
messages() {
	local tree=$1 objects=$2 log=$logs/sparse.log
	shift 2
	(cd "$objects" && rm -f "${@/%.c/.o}")
	kernel_make "$tree" "$objects" -k -j "$JOBS" --output-sync=target C=2 W=1 CHECK="$SPARSE" "${@/%.c/.o}" >"$log" 2>&1 || true
	sed "s|$tree/||g" "$log" | awk -v files="$*" -v tree="$tree" '
		# what sparse makes of the assertion in each MODULE_LICENSE(), module_param() and their like in later kernels
		function of_module(path, line,   text, n) {
			while (n++ < line && (getline text < path) > 0);
			close(path)
			return text ~ /^(MODULE_|module_param)/
		}
		BEGIN { n = split(files, list, " "); for (i = 1; i <= n; i++) wanted[list[i]] = 1 }
		/^  CC / { file = $NF; sub(/\.o$/, ".c", file); if (!(file in wanted)) file = "" }
		/^  CHECK / && $2 == file { checked[file] = 1 }
		/^make/ { file = "" }
		/: error: bad constant expression$/ { split($0, at, ":"); if (of_module(tree "/" at[1], at[2])) next }
		file != "" && /warning|error/ { gsub(/:[0-9]+/, ""); print file "\t" $0 }
		END { for (file in wanted) if (!(file in checked)) print file "\tit cannot be compiled, or was not checked" }' | sort -u
}

# of_series: the messages that there are only with the series.
of_series() {
	local all=$dir/messages
	messages "$patched" "$dir/kernel/$BASE-$ARCH-patched" "${sources[@]}" >"$all"
	if [[ -s $all ]]; then
		pristine_tree "$patched" "$pristine" "$dir/stage"
		prepare "$pristine" "$dir/kernel/$BASE-$ARCH-pristine"
		messages "$pristine" "$dir/kernel/$BASE-$ARCH-pristine" "${sources[@]}" | grep -v 'it cannot be compiled' >"$all.pristine" || true
		comm -23 "$all" "$all.pristine"
	fi
}

# nothing_said FILE
nothing_said() { ! grep -P "^\Q$1\E\t" "$dir/of-series"; }

documented() { PYTHONDONTWRITEBYTECODE=1 "$patched/scripts/kernel-doc" -none -Werror "$patched/$1"; }

sources=()
while read -r file; do
	case $file in
	arch/"$KERNEL_ARCH"/*.c) sources+=("$file") ;;
	arch/*.c) skip "sparse, W=1: $file" "it is another architecture's" ;;
	drivers/clocksource/arm_*.c)
		if [[ $KERNEL_ARCH == arm64 ]]; then sources+=("$file"); else skip "sparse, W=1: $file" "it is arm64's"; fi
		;;
	samples/poll_source/poll_source_device.c) ;; # a program: tests/host/sample.sh
	*.c) sources+=("$file") ;;
	esac
done < <({ series_edits && kernel_files; } | sort -u)
prepare "$patched" "$dir/kernel/$BASE-$ARCH-patched"
of_series >"$dir/of-series"
for file in "${sources[@]}"; do check "sparse, W=1: $file" nothing_said "$file"; done
while read -r file; do
	[[ $file != *.h ]] || check "kernel-doc: $file" documented "$file"
done < <(kernel_files)
tap_end
