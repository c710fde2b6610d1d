#!/bin/bash
# Makes the guest's root file system, an initramfs: fio and busybox from Debian's packages for the guest's architecture,
# the project's programs of tests/guest, the fio job files. Prints its path. (A program is a file there, or a directory of
# files.)
#
# The packages come through APT, see apt.sh. Everything is reused until one of its inputs changes.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/apt.sh"

# Of these packages files are taken: the programs, and the libraries that fio really uses. Names differ between releases.
PACKAGES='fio|busybox-static|libc6|libaio1|libaio1t64|libnuma1|zlib1g|liburing-dev'
LIBRARIES=(libc.so.6 libm.so.6 libaio.so.1 libaio.so.1t64 libnuma.so.1 libz.so.1)

DIR=$OUT/rootfs/$ARCH
APT=$DIR/apt            # APT's state: lists, downloaded packages
BASE_TREE=$DIR/packages # what was taken from the packages
LIBURING=$DIR/liburing  # for the project's programs: headers and the static library
IMAGE=$DIR/initramfs.cpio.zst

hash_of() { sha256sum | cut -c 1-32; }

# take FROM TO: the programs and libraries that the guest needs.
take() {
	local from=$1 to=$2 name path
	mkdir -p "$to/lib" "$to/bin"
	install -m 755 "$(find "$from" -name fio -path '*bin/*')" "$to/bin/fio"
	install -m 755 "$(find "$from" -name busybox -path '*bin/*')" "$to/bin/busybox"
	for name in "${LIBRARIES[@]}"; do
		path=$(find "$from" -name "$name" | head -n 1)
		[[ ! $path ]] || install -m 755 "$(realpath "$path")" "$to/lib/$name"
	done
	path=$("${CROSS_COMPILE}readelf" -W -l "$to/bin/fio" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
	mkdir -p "$to/${path%/*}"
	name=$(find "$from" -name "${path##*/}" | head -n 1)
	install -m 755 "$(realpath "$name")" "$to/$path"
	"$ROOT/tools/standins.sh" "$to/bin/fio" "$to/lib"
}

# take_liburing FROM TO
take_liburing() {
	mkdir -p "$2/lib" "$2/include"
	cp -a "$1"/usr/include/liburing* "$2/include/"
	install -m 644 "$(find "$1" -name liburing.a)" "$2/lib/liburing.a"
}

# make_base: $BASE_TREE, with key in $BASE_TREE.key
make_base() {
	local inputs new="$BASE_TREE.new"
	inputs=$({ echo "$PACKAGES $DEBIAN_ARCH"; host_lists; cat "$ROOT"/tools/{rootfs,apt,standins}.sh; } | hash_of)
	[[ "$(cat "$BASE_TREE.inputs" 2>/dev/null)" != "$inputs" ]] || return 0
	progress_start "guest packages"
	rm -rf "$new" "$APT/archives" "$APT/tree"
	apt_setup ''
	apt update >"$APT/update.log" 2>&1 || true
	if ! apt_resolve fio busybox-static liburing-dev | grep -E "^[^ ]+ ($PACKAGES)_" >"$APT/wanted" || [[ ! -s $APT/wanted ]]; then
		[[ ! -d $BASE_TREE || ! -e $BASE_TREE.key ]] || { say "APT cannot be reached: the guest packages stay as they are"; return 0; }
		cat "$APT/update.log" "$APT/resolve.log" >"$DIR/apt.log"
		die_of_log "APT finds no fio for $DEBIAN_ARCH" "$DIR/apt.log"
	fi
	apt_fetch "$APT/wanted"
	apt_unpack "$APT/tree" --exclude='./usr/share' --exclude='./etc'
	take "$APT/tree" "$new"
	rm -rf "$BASE_TREE" "$BASE_TREE.inputs" "$LIBURING"
	take_liburing "$APT/tree" "$LIBURING"
	rm -rf "$APT/tree" "$APT/archives"
	cut -d ' ' -f 2 "$APT/wanted" >"$new/packages"
	mv "$new" "$BASE_TREE"
	hash_of <"$APT/wanted" >"$BASE_TREE.key"
	echo "$inputs" >"$BASE_TREE.inputs"
	progress_end "done"
}

# compile DIR: the project's programs: init, and each that is not a part of the others.
compile() {
	local program name sources
	mkdir -p "$1/tests"
	for program in "$ROOT"/tests/guest/*.c "$ROOT"/tests/guest/*/; do
		name=$(basename "$program" .c)
		[[ $name != guest ]] || continue
		sources=("$program")
		[[ ! -d $program ]] || sources=("$program"*.c)
		"${CROSS_COMPILE}gcc" -static -std=c11 -Wall -Wextra -Werror -O2 -pthread -s -I "$LIBURING/include" \
			-o "$1/tests/$name" "${sources[@]}" "$ROOT/tests/guest/guest.c" -L "$LIBURING/lib" -luring ||
			die "$program does not compile"
	done
	mv "$1/tests/init" "$1/init"
}

# pack DIR FILE
pack() {
	find "$1" -exec touch -h -d @0 {} +
	(cd "$1" && find . -mindepth 1 -print0 | LC_ALL=C sort -z |
		cpio -0 -o -H newc -R 0:0 --reproducible --quiet) | zstd -q -T0 -9 -f -o "$2"
}

make_image() {
	local key work=$DIR/work
	key=$({ cat "$BASE_TREE.key" "$BASE_TREE.inputs" "$ROOT"/tests/guest/*.[ch] "$ROOT"/tests/guest/*/*.[ch]
		cat "$ROOT"/tests/fio/*.fio
		"${CROSS_COMPILE}gcc" --version; } | hash_of)
	[[ "$(cat "$IMAGE.key" 2>/dev/null)" != "$key" || ! -e $IMAGE ]] || return 0
	progress_start "guest root file system"
	rm -rf "$work" "$IMAGE.key"
	cp -a "$BASE_TREE" "$work"
	mkdir -p "$work"/{dev,proc,sys,tmp,etc,fio}
	cp "$ROOT"/tests/fio/*.fio "$work/fio/"
	compile "$work"
	ln -s busybox "$work/bin/sh"
	pack "$work" "$IMAGE.new"
	mv "$IMAGE.new" "$IMAGE"
	rm -rf "$work"
	echo "$key" >"$IMAGE.key"
	progress_end "done"
}

"$ROOT/tools/packages.sh" rootfs
lock_out
need_space "$DIR" 100 "the guest's root file system"
make_base
make_image
echo "$IMAGE"
