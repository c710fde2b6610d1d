# shellcheck shell=bash
# Sourced after lib.sh: how this project calls the kernel's own build.

CCACHE=""
! command -v ccache >/dev/null || CCACHE=ccache
export CCACHE_DIR=${CCACHE_DIR:-$OUT/ccache}

# kernel_make TREE OBJECTS ARGUMENT...: the kernel's make, undisturbed by the user's environment. What would make two
# builds of one source differ (time, user, host, paths) is fixed, so that a later build finds the earlier one's objects in
# the compiler cache: wherever it is, as long as TREE and OBJECTS stand to each other as DIR/tree/BASE and DIR/kernel/NAME.
kernel_make() {
	local tree=$1 objects=$2
	shift 2
	env -i PATH="$PATH" HOME="${HOME:-/}" LANG=C LC_ALL=C TMPDIR="${TMPDIR:-/tmp}" \
		CCACHE_DIR="$CCACHE_DIR" CCACHE_BASEDIR="$(dirname "$(dirname "$objects")")" CCACHE_MAXSIZE=3G CCACHE_SLOPPINESS=time_macros \
		KBUILD_BUILD_TIMESTAMP=1970-01-01 KBUILD_BUILD_USER=poll_source KBUILD_BUILD_HOST=build KBUILD_BUILD_VERSION=1 \
		make --no-print-directory -C "$tree" O="$objects" ARCH="$ARCH" CROSS_COMPILE="$CROSS_COMPILE" LOCALVERSION= \
		CC="${CCACHE:+$CCACHE }${CROSS_COMPILE}gcc" HOSTCC="${CCACHE:+$CCACHE }gcc" "$@"
}

# fragments FLAVOUR: the configuration's fragments, one a line; those of the base and of the architecture come last.
fragments() {
	local names name
	case $1 in
	bench) names=(common) ;;
	test) names=(common devices kunit test "$ARCH-test") ;;
	soak) names=(common devices) ;;
	kunit) names=(common kunit) ;;
	kcsan) names=(common devices kunit test "$ARCH-test" kcsan) ;;
	modules) names=(common modules) ;;
	lab) names=(common lab "$ARCH-lab") ;; # the hypervisor of make lab
	*) die "there is no kernel flavour '$1'" "the flavours: bench test soak kunit kcsan modules lab" ;;
	esac
	for name in "${names[@]}" "$BASE" "$ARCH"; do
		[[ $name == "$ARCH"-* && ! -e $ROOT/tools/config/$name.config ]] || echo "$ROOT/tools/config/$name.config"
	done
}

# merged_config FRAGMENT...: the fragments as one; where two name a symbol the later one counts.
merged_config() {
	awk '
		/^CONFIG_[A-Za-z0-9_]+=/ { name = $0; sub(/=.*/, "", name) }
		/^# CONFIG_[A-Za-z0-9_]+ is not set$/ { name = $2 }
		name == "" { next }
		!(name in line) { order[++n] = name }
		{ line[name] = $0; name = "" }
		END { for (i = 1; i <= n; i++) print line[order[i]] }' "$@"
}

# lost_symbols WANTED CONFIG: the lines of WANTED that CONFIG does not fulfil.
lost_symbols() {
	awk '
		FNR == NR { have[$0] = 1; name = $1; sub(/=.*/, "", name); if (name ~ /^CONFIG_/) set[name] = 1; next }
		/^CONFIG_/ && !($0 in have) { print }
		/^# CONFIG_/ && ($2 in set) { print }' "$2" "$1"
}

# configure TREE OBJECTS WANTED LOG: an allnoconfig with the lines of WANTED. Symbols may be lost: see lost_symbols.
configure() {
	kernel_make "$1" "$2" KCONFIG_ALLCONFIG="$3" allnoconfig >"$4" 2>&1
}

# built_objects LOG: how many files a build has compiled so far.
built_objects() { grep -cE '^  (CC|AS|HOSTCC|LDS|VDSO|GEN)' "$1"; }
