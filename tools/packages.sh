#!/bin/bash
# Sees to it that the Debian packages of the named groups are there.
#
# usage: tools/packages.sh GROUP...     groups: kernel rootfs vm report deb test
#
# As root, or with sudo on a terminal, it installs what is missing; otherwise it prints the line to type and fails.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

# group NAME: its packages, each with the command or file that shows it is there.
group() {
	case $1 in
	kernel)
		echo bc:bc bison:bison flex:flex gcc:gcc libc6-dev:/usr/include/stdio.h make:make ccache:ccache
		echo patch:patch xz-utils:xz perl:perl
		compiler_packages
		((${#KERNEL_PACKAGES[@]} == 0)) || echo "${KERNEL_PACKAGES[@]}"
		[[ $KERNEL_SRC || $SOURCE_SUITE ]] || echo "linux-source-${BASE#linux-}:/usr/src/linux-source-${BASE#linux-}.tar.xz"
		;;
	rootfs)
		echo cpio:cpio zstd:zstd
		compiler_packages
		;;
	vm) echo "${QEMU_PACKAGES[@]}" qemu-utils:qemu-img socat:socat jq:jq ;;
	report) echo gnuplot-nox:gnuplot jq:jq ;;
	deb)
		echo debhelper:dh_prep dpkg-dev:dpkg-buildpackage rsync:rsync kmod:/sbin/depmod cpio:cpio
		echo libelf-dev:/usr/include/libelf.h libssl-dev:/usr/include/openssl/ssl.h
		;;
	test) echo shellcheck:shellcheck sparse:sparse git:git spin:spin gcc:gcc "${TEST_PACKAGES[@]}" ;;
	*) die "there is no package group '$1'" "the groups: kernel rootfs vm report deb test" ;;
	esac
}

compiler_packages() {
	if [[ $(uname -m) == "$HOST_MACHINE" ]]; then echo "${NATIVE_PACKAGES[@]}"; else echo "${CROSS_PACKAGES[@]}"; fi
}

# missing PACKAGE:PROOF...: the packages whose command or file is not there.
missing() {
	local entry proof
	for entry in "$@"; do
		proof=${entry#*:}
		if [[ $proof == /* ]]; then [[ -e $proof ]]; else command -v "$proof" >/dev/null; fi || echo "${entry%%:*}"
	done
}

(($# > 0)) || die "no package group was named" "usage: tools/packages.sh GROUP...   (kernel rootfs vm report deb test)"
entries=()
for name in "$@"; do
	listed=$(group "$name")
	mapfile -t -O ${#entries[@]} entries < <(tr ' ' '\n' <<<"$listed")
done
mapfile -t entries < <(printf '%s\n' "${entries[@]}" | sort -u)
mapfile -t wanted < <(missing "${entries[@]}")
((${#wanted[@]} > 0)) || exit 0

install=(apt-get install --no-install-recommends "${wanted[@]}")
command -v apt-get >/dev/null || die "these Debian packages, or what they hold, are missing: ${wanted[*]}" \
	"install what your system has for them"
if ((EUID == 0)); then
	say "installing ${wanted[*]}"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -o DPkg::Lock::Timeout=300 -qq update >&2 || say "apt-get update failed; going on with the lists at hand"
	"${install[@]}" -y -q -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 >&2 </dev/null ||
		die "apt-get could not install ${wanted[*]}" "see its messages above, then type: ${install[*]}"
elif [[ -t 0 && -t 2 ]] && command -v sudo >/dev/null; then
	say "these packages are missing: ${wanted[*]}"
	say "sudo may ask for your password, apt-get whether to go on"
	sudo apt-get -qq update >&2 || say "apt-get update failed; going on with the lists at hand"
	sudo "${install[@]}" >&2 || die "the packages were not installed" "type: sudo ${install[*]}"
else
	die "these packages are missing: ${wanted[*]}" "type, as root: ${install[*]}"
fi

mapfile -t wanted < <(missing "${entries[@]}")
((${#wanted[@]} == 0)) || die "installed, yet not found in PATH or in its place: ${wanted[*]}" "look at PATH: $PATH"
