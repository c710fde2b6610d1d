#!/bin/bash
# Builds Debian packages of the patched kernel, to be installed beside the distribution's. Prints the directory they are in.
#
# usage: tools/deb.sh [CONFIG]
#
# CONFIG is the configuration to start from; tools/config/deb.config has what is changed in it. Without one it is that of the
# running kernel, where it is of ARCH, else the one that Debian has for ARCH (package linux-config-LINE). ARCH is this
# machine's own unless it is set.
set -euo pipefail
tools=$(dirname "$0")
[[ ${ARCH:-} ]] || ARCH=$(grep -l "^HOST_MACHINE=$(uname -m) " "$tools"/arch/*.sh | xargs -r basename -s .sh)
source "$tools/lib.sh"
source "$ROOT/tools/series.sh"
source "$ROOT/tools/kbuild.sh"
source "$ROOT/tools/apt.sh"

LOCAL=-poll-source # what the kernel's version ends with, and so the packages' names
REVISION=1
CHANGES=$ROOT/tools/config/deb.config
FULL_BUILD=20000 # files that a distribution's configuration compiles, about
BUILD_MIB=12000
LINE=${BASE#linux-}
APT=$OUT/deb/apt

config=${1:-}
native=no
[[ $(uname -m) != "$HOST_MACHINE" ]] || native=yes

# check_config FILE
check_config() {
	[[ -r $1 && -f $1 ]] || die "the configuration $1 cannot be read" "e.g. make deb CONFIG=/boot/config-$(uname -r)"
	grep -q '^CONFIG_[A-Z0-9_]*=' "$1" || die "$1 is no kernel configuration: it has no line CONFIG_...=" \
		"e.g. make deb CONFIG=/boot/config-$(uname -r)"
}

# debian_config: the path of what Debian configures its kernel of this line with.
debian_config() {
	local package=linux-config-$LINE found
	apt_setup "$SOURCE_SUITE"
	say "fetching Debian's $package"
	{ apt update && (cd "$APT/archives" && rm -f -- ./*.deb && apt download "$package"); } >"$APT/download.log" 2>&1 ||
		die_of_log "apt-get could not download $package for $DEBIAN_ARCH" "$APT/download.log"
	rm -rf "$APT/files"
	apt_unpack "$APT/files"
	found=$(find "$APT/files/usr/src" -name "config.${DEBIAN_ARCH}_none_$DEBIAN_ARCH.xz")
	[[ $found ]] || die "$package has no configuration for $DEBIAN_ARCH" "give one: make deb CONFIG=FILE"
	xz -dc "$found" | write_file "$APT/config"
	echo "$APT/config"
}

# start_config: the path of the configuration to start from.
start_config() {
	local running
	running=/boot/config-$(uname -r)
	if [[ $config ]]; then
		realpath -- "$config"
	elif [[ $native == yes && -r $running ]]; then
		echo "$running"
	else
		debian_config
	fi
}

count_built() { built_objects "$log"; }
build() {
	kernel_make "$tree" "$objects" -j "$JOBS" LOCALVERSION=$LOCAL KDEB_SOURCENAME=linux$LOCAL KDEB_PKGVERSION="$version" \
		KDEB_CHANGELOG_DIST=unstable DEBFULLNAME=poll_source DEBEMAIL=poll_source@build DEB_BUILD_PROFILES="$profiles" bindeb-pkg
}

[[ ! $config ]] || check_config "$config"
lock_out
"$ROOT/tools/packages.sh" kernel deb
tree=$("$ROOT/tools/tree.sh")
from=$(start_config)
version=$(tree_version "$tree")-$REVISION
objects=$(build_dir kernel)/$BASE-$ARCH-deb
log=$objects/build.log
done_dir=$OUT/deb/$ARCH
profiles=pkg.linux$LOCAL.nokerneldbg
# The headers' package holds programs for the machine that it is installed on.
[[ $native == yes ]] || profiles+=" pkg.linux$LOCAL.nokernelheaders"

mkdir -p "$objects"
merged_config "$from" "$CHANGES" | write_file "$objects/.config"
kernel_make "$tree" "$objects" LOCALVERSION=$LOCAL olddefconfig >"$log" 2>&1 || die_of_log "the kernel could not be configured" "$log"
lost=$(lost_symbols <(grep -v SYSTEM_ "$CHANGES") "$objects/.config")
[[ ! $lost ]] || die "the configuration $from does not allow what was asked for:" "$lost" "a symbol it depends on is missing"
say "the configuration: $from, with tools/config/deb.config"
files=$FULL_BUILD
(($(grep -c '=[ym]$' "$objects/.config") > 2000)) || files=0
((files == 0)) || need_space "$objects" "$BUILD_MIB" "a kernel with all drivers"
rm -f -- "${objects%/*}"/linux-*_"$version"_*
trap 'rm -f -- "${objects%/*}"/linux-*_"$version"_*' EXIT
run_logged "building the packages" "$log" "$files" count_built build || die_of_log "the packages could not be built" "$log"
rm -rf "$done_dir"
mkdir -p "$done_dir"
# Debian's own linux-libc-dev is to stay.
for package in "${objects%/*}"/linux-*_"$version"_*.deb; do [[ $package == */linux-libc-dev_* ]] || mv -- "$package" "$done_dir"; done
say "to install, on the machine that is to run it: apt install ./linux-image-*.deb   and boot with cpuidle_haltpoll.force=1"
echo "$done_dir"
