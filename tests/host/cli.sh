#!/bin/bash
# The command-line front: what a user may get wrong is refused at once, with a clear message, and nothing is made.
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tools/series.sh"
source "$ROOT/tests/tap.sh"
source "$ROOT/tests/host/clone.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # nobody looks in
clone "$work/clone"
out=$work/out

# front TARGET [VARIABLE=VALUE]...: the front of the copy
front() { make --no-print-directory -C "$work/clone" "$1" OUT="$out" "${@:2}"; }

# refused_untouched TEXT COMMAND...: refused, and nothing was made.
refused_untouched() {
	refused "$@" || return 1
	[[ ! -e $out || ! $(find "$out" -type f ! -name .lock) ]] || { find "$out"; return 1; }
}

# --- help -------------------------------------------------------------------------------------------------------------

help_lists() { front help | grep -E "$1"; }

while read -r target; do
	check "help: the target $target" help_lists "^  make $target +[^ ]"
done < <(sed -n 's/^\.PHONY: //p' "$ROOT/Makefile" | tr ' ' '\n')
while read -r variable; do
	check "help: the variable $variable" help_lists "^  $variable="
done < <(sed -n 's/^\twant_[a-z_]* \([A-Z_]*\) .*/\1/p' "$ROOT/tools/lib.sh"; printf '%s\n' OUT KERNEL_SRC DEVICE_OPTS)

# --- values -----------------------------------------------------------------------------------------------------------

for setting in JOBS=0 JOBS=many JOBS=08 JOBS=-1 VCPUS=0 VCPUS=1.5 LATENCY_NS=-1 LATENCY_NS=50us IOTHREAD_POLL_NS=x ROUNDS=0 RUNTIME=0 \
	RUNTIME=99999999999999999999 GUEST_HALT_POLL_NS=x MINUTES=0 MINUTES=2m SEED=x SEED=4294967296 ARCH=m68k ARCH=../arm64 BASE=linux-2.4 ACCEL=maybe \
	DEVICE_OPTS=packed 'DEVICE_OPTS=a=b c=d' KERNEL_SRC=/no/such/directory; do
	check "refused: $setting" refused_untouched "${setting%%=*}=${setting#*=}" front kernel "$setting"
done
touch "$work/file"
check "refused: OUT=FILE" refused "OUT=$work/file is not a directory" front kernel OUT="$work/file"
check "refused: OUT=/" refused "OUT=/" front kernel OUT=/
check "refused: OUT=/proc/x, where nothing can be made" refused "cannot make the directory /proc/x" front kernel OUT=/proc/x
check "refused: a target that is not there" refused nosuch front nosuch
check "refused: a test that is not there" refused_untouched "there is no test 'nosuch'" env OUT="$out" "$ROOT/tests/run.sh" nosuch
check "refused: a flavour that is not there" refused_untouched "there is no kernel flavour 'x'" env OUT="$out" "$ROOT/tools/kernel.sh" x

# --- packages ---------------------------------------------------------------------------------------------------------

# as_user COMMAND...: COMMAND as someone who may install nothing, with only the commands of $work/bin
as_user() {
	if ((EUID == 0)); then set -- setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; fi
	PATH=$work/bin HOME=$work "$@"
}

# without COMMAND: fills $work/bin with this machine's commands, but for COMMAND.
without() {
	local dirs
	rm -rf "${work:?}/bin"
	mkdir "$work/bin"
	IFS=: read -r -a dirs <<<"$PATH"
	find -L "${dirs[@]}" -maxdepth 1 -type f -perm /111 ! -name "$1" -print0 2>/dev/null |
		xargs -0 ln -st "$work/bin" 2>/dev/null || true
}

while read -r group command package; do
	without "$command"
	check "packages: an ordinary user without $command is told what to type" \
		refused_untouched "apt-get install --no-install-recommends $package" as_user "$work/clone/tools/packages.sh" "$group"
done <<-LIST
	kernel bc bc
	kernel ccache ccache
	vm $QEMU ${QEMU_PACKAGES[0]%%:*}
	report gnuplot gnuplot-nox
	test sparse sparse
LIST
check "packages: a group that is not there is refused" refused "no package group 'x'" "$ROOT/tools/packages.sh" x

# --- kernel trees -----------------------------------------------------------------------------------------------------

src=$work/src
mkdir "$src"
kernel_src() { refused_untouched "$1" front kernel KERNEL_SRC="$src"; }

check "refused: an empty KERNEL_SRC" kernel_src "is not a complete kernel tree"
mkdir -p "$src/arch/$KERNEL_ARCH"
printf 'VERSION = 5\nPATCHLEVEL = 10\nSUBLEVEL = 1\n' >"$src/Makefile"
touch "$src/Kconfig" "$src/arch/$KERNEL_ARCH/Makefile"
check "refused: a KERNEL_SRC of another line" kernel_src "is Linux 5.10.1, not ${BASE#linux-}"
check "BASE=7.3 stands for linux-7.3" refused_untouched "is Linux 5.10.1, not 7.3" front kernel KERNEL_SRC="$src" BASE=7.3
printf 'VERSION = %s\nPATCHLEVEL = %s\nSUBLEVEL = 1\n' "$(cut -d . -f 1 <<<"${BASE#linux-}")" "${BASE##*.}" >"$src/Makefile"
check "refused: a KERNEL_SRC that lacks files" kernel_src "lacks files that the series edits"
while read -r file; do
	mkdir -p "$(dirname "$src/$file")"
	touch "$src/$file"
done < <(series_edits)
touch "$src/.config"
check "refused: a KERNEL_SRC that was built in" kernel_src "mrproper"
check "refused: an OUT inside KERNEL_SRC" refused "nothing is written to KERNEL_SRC" front kernel KERNEL_SRC="$src" OUT="$src/out"

# --- the lock ---------------------------------------------------------------------------------------------------------

mkdir -p "$out"
exec 8>"$out/.lock"
flock 8
check "refused: a second run in the same OUT" refused "another run is at work in $out" front kernel
exec 8>&-
check "clean: removes what was made" front clean
check "clean: leaves nothing" test ! -e "$out"
tap_end
