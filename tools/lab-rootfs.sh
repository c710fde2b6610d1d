#!/bin/bash
# Makes the root file system of the lab's hypervisor, an initramfs: QEMU and what tools/vm.sh calls, from Debian's packages
# for ARCH, and the tools themselves. Prints its path. What changes from run to run is not in it, see nested.sh.
#
# The packages come through APT, see apt.sh. Everything is reused until one of its inputs changes.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/apt.sh"

# Whose programs are taken, beside QEMU's
PACKAGES=(bash coreutils grep jq qemu-utils sed socat tar util-linux)
# What QEMU loads on a machine that has it
FIRMWARE=(bios-256k.bin kvmvapic.bin linuxboot_dma.bin)

DIR=$OUT/rootfs/$ARCH-lab
APT=$DIR/apt        # APT's state: lists, downloaded packages
TAKEN=$DIR/packages # what was taken from the packages
IMAGE=$DIR/initramfs.cpio

hash_of() { sha256sum | cut -c 1-32; }

# programs TREE: the programs of PACKAGES and QEMU, one path a line.
programs() {
	local package file
	echo "$1/usr/bin/$QEMU"
	for package in "${PACKAGES[@]}"; do
		for file in "$APT/archives/${package}"_*.deb; do
			dpkg-deb --fsys-tarfile "$file" | tar -t | sed -nE 's,^\./((usr/)?bin/[^/]+)$,'"$1"'/\1,p'
		done
	done
}

# libraries DIR: what the programs and libraries in it are linked with.
libraries() {
	find "$1/usr/bin" "$1/lib" -type f -exec "${CROSS_COMPILE}readelf" -d {} + 2>/dev/null |
		sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u
}

# take FROM TO: programs, then libraries until none is missing, the loader and QEMU's firmware.
take() {
	local from=$1 to=$2 path name missing=yes
	mkdir -p "$to"/{usr/bin,usr/share/qemu,lib,etc,dev,proc,sys,tmp}
	ln -s usr/bin "$to/bin"
	while read -r path; do
		[[ ! -f $path || -L $path ]] || install -m 755 "$path" "$to/usr/bin/"
	done < <(programs "$from")
	while [[ $missing ]]; do
		missing=''
		while read -r name; do
			[[ ! -e $to/lib/$name ]] || continue
			path=$(find "$from" -name "$name" | head -n 1)
			[[ $path ]] || die "the packages lack the library $name"
			install -m 755 "$(realpath "$path")" "$to/lib/$name"
			missing=yes
		done < <(libraries "$to")
	done
	path=$("${CROSS_COMPILE}readelf" -W -l "$to/bin/bash" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
	mkdir -p "$to/${path%/*}"
	[[ -e $to/$path ]] || install -m 755 "$(realpath "$(find "$from" -name "${path##*/}" | head -n 1)")" "$to/$path"
	for name in "${FIRMWARE[@]}"; do
		find "$from/usr/share" -name "$name" -type f -exec cp {} "$to/usr/share/qemu/" \;
	done
	echo 'root:x:0:0:root:/tmp:/bin/bash' >"$to/etc/passwd"
}

# make_base: $TAKEN, with key in $TAKEN.key
make_base() {
	local inputs new="$TAKEN.new"
	inputs=$({ echo "${PACKAGES[*]} ${QEMU_PACKAGES[*]} $DEBIAN_ARCH"; host_lists
		cat "$ROOT"/tools/{lab-rootfs,apt}.sh; } | hash_of)
	[[ "$(cat "$TAKEN.inputs" 2>/dev/null)" != "$inputs" ]] || return 0
	progress_start "the hypervisor's packages"
	rm -rf "$new" "$APT/archives" "$APT/tree"
	apt_setup ''
	apt update >"$APT/update.log" 2>&1 || true
	if ! apt_resolve "${QEMU_PACKAGES[@]%%:*}" "${PACKAGES[@]}" >"$APT/wanted"; then
		[[ ! -d $TAKEN || ! -e $TAKEN.key ]] ||
			{ say "APT cannot be reached: the hypervisor's packages stay as they are"; return 0; }
		cat "$APT/update.log" "$APT/resolve.log" >"$DIR/apt.log"
		die_of_log "APT finds no QEMU for $DEBIAN_ARCH" "$DIR/apt.log"
	fi
	apt_fetch "$APT/wanted"
	apt_unpack "$APT/tree" --exclude='./usr/share/'{doc,locale,man} --exclude='./etc'
	take "$APT/tree" "$new"
	rm -rf "$TAKEN" "$TAKEN.inputs" "$APT/tree" "$APT/archives"
	mv "$new" "$TAKEN"
	hash_of <"$APT/wanted" >"$TAKEN.key"
	echo "$inputs" >"$TAKEN.inputs"
	progress_end "done"
}

# make_image INITRAMFS-OF-THE-GUEST: the guest's init serves here too.
make_image() {
	local key work=$DIR/work
	key=$({ echo "$BASE"; cat "$TAKEN.key" "$TAKEN.inputs" "$1.key" "$ROOT"/tools/*.sh \
		"$ROOT"/tools/{arch,base}/*; } | hash_of)
	[[ "$(cat "$IMAGE.key" 2>/dev/null)" != "$key" || ! -e $IMAGE ]] || return 0
	rm -rf "$work" "$IMAGE.key"
	cp -a "$TAKEN" "$work"
	mkdir -p "$work/tests" "$work"/project/tools/{arch,base} "$work/project/patches/$BASE"
	(cd "$work" && zstd -q -dc "$1" | cpio -i --quiet init)
	cp "$ROOT"/tools/*.sh "$work/project/tools/"
	cp "$ROOT"/tools/arch/*.sh "$work/project/tools/arch/"
	cp "$ROOT"/tools/base/*.sh "$work/project/tools/base/"
	cp "$ROOT/tools/lab-guest.sh" "$work/tests/lab"
	(cd "$work" && find . -mindepth 1 -print0 | LC_ALL=C sort -z | cpio -0 -o -H newc -R 0:0 --quiet) >"$IMAGE.new"
	mv "$IMAGE.new" "$IMAGE"
	rm -rf "$work"
	echo "$key" >"$IMAGE.key"
}

"$ROOT/tools/packages.sh" rootfs
lock_out
need_space "$DIR" 500 "the hypervisor's root file system"
guest=$("$ROOT/tools/rootfs.sh")
make_base
make_image "$guest"
echo "$IMAGE"
