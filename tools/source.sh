#!/bin/bash
# Fetches the kernel source of a base whose package linux-source is not in this machine's release but in another suite of
# Debian's archive; prints the path of the tarball.
#
# The package comes through APT, see apt.sh, and is unpacked in OUT: this machine's sources and packages stay as they are. It is
# kept until this machine's package lists change and Debian has a newer one.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
source "$ROOT/tools/apt.sh"

PACKAGE=linux-source-${BASE#linux-}
SOURCE_MIB=500

lock_out
DIR=$(build_dir source)/$BASE
APT=$DIR/apt       # APT's state: lists, the package while it comes
STATE=$DIR/current # the version that was fetched last
INPUTS=$DIR/inputs # what it was looked up with
LOG=$DIR/apt.log

tarball() { echo "$DIR/$1/$PACKAGE.tar.xz"; }
kept() { [[ -s $STATE && -e $(tarball "$(<"$STATE")") ]]; }

# no_package WHY...: nothing new can be had: what is there is used, if anything is.
no_package() {
	if kept; then
		say "$1: $PACKAGE stays as it is"
		tarball "$(<"$STATE")"
		exit 0
	fi
	die "$@" "get a tree of Linux ${BASE#linux-} in another way, and name it: make KERNEL_SRC=DIR BASE=${BASE#linux-} ..."
}

fetched() { echo $(($(du -s -B 1M "$APT/archives" | cut -f 1))); }
fetch() { cd "$APT/archives" && apt download "$PACKAGE"; }

inputs=$(host_lists | sha256sum)
if kept && [[ $(cat "$INPUTS" 2>/dev/null) == "$inputs" ]]; then
	tarball "$(<"$STATE")"
	exit
fi
need_space "$DIR" "$SOURCE_MIB" "the kernel source"
[[ $(debian_mirror) ]] || no_package "this machine's APT sources name no mirror of Debian's archive, which has $PACKAGE in $SOURCE_SUITE"
[[ -e $DEBIAN_KEYRING ]] || no_package "there is no $DEBIAN_KEYRING, to check Debian's packages with" \
	"it is in the package debian-archive-keyring"
rm -rf "$APT/archives"
apt_setup "$SOURCE_SUITE"
apt update >"$LOG" 2>&1 || true
if ! read -r _ file size _ < <(apt download --print-uris "$PACKAGE" 2>>"$LOG"); then
	tail -n 5 "$LOG" | while IFS= read -r line; do say "  | $line"; done
	no_package "the mirror of this machine's APT sources has no $PACKAGE in $SOURCE_SUITE, or cannot be reached"
fi
version=$(cut -d _ -f 2 <<<"$file")
if [[ ! -e $(tarball "$version") ]]; then
	new=$DIR/new
	run_logged "fetching $PACKAGE" "$LOG" $((size / 1048576)) fetched fetch ||
		die_of_log "apt-get could not download $PACKAGE" "$LOG" "$APT/archives"
	rm -rf "$new" "$DIR/unpacked"
	mkdir "$new"
	dpkg-deb --fsys-tarfile "$APT"/archives/*.deb | tar -x -C "$new" --strip-components=3 --no-same-owner "./usr/src/$PACKAGE.tar.xz" &&
		[[ -s $new/$PACKAGE.tar.xz ]] || die "$PACKAGE could not be unpacked in $new" "is the disk full?"
	rm -rf "$APT/archives" "${DIR:?}/$version"
	mv "$new" "$DIR/$version"
fi
[[ ! -s $STATE || $(<"$STATE") == "$version" ]] || rm -rf "${DIR:?}/$(<"$STATE")"
write_file "$STATE" <<<"$version"
write_file "$INPUTS" <<<"$inputs"
tarball "$version"
