#!/bin/bash
# The kernel source that is in another suite of Debian's archive: it is fetched without a change to this machine's sources, kept,
# renewed, and missed in plain words. APT is played by the test, but for what it knows of this machine's mirror.
# shellcheck disable=SC2317 # functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"
source "$ROOT/tests/host/clone.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
clone "$work/clone"
mkdir -p "$work/bin" "$work/clone/patches/linux-0.1" "$work/mirror"
printf '%s\n' SOURCE_SUITE=far-backports TARBALL_FILES=1 'TEST_PACKAGES=()' >"$work/clone/tools/base/linux-0.1.sh"
export OUT=$work/out BASE=0.1

# APT as source.sh calls it; a file $work/lists/NAME stands for the lists of this machine.
cat >"$work/bin/apt-get" <<-EOF
	#!/bin/bash
	set -e
	case " \$* " in
	*" --no-release-info "*) cat "$work/unlisted" ;;
	*" indextargets "*) cat "$work/targets" ;;
	*" update "*) ls "$work"/mirror/*.deb >/dev/null ;;
	*" --print-uris "*)
		cd "$work/mirror"
		for file in linux-source-0.1_*.deb; do
			[[ -e \$file ]] || { echo "E: Unable to locate package" >&2; exit 100; }
			echo "'http://mirror/\$file' \$file \$(stat -c %s "\$file") SHA256:0"
		done
		;;
	*" download "*) cp "$work"/mirror/*.deb . ;;
	esac
EOF
chmod +x "$work/bin/apt-get"

# mirror VERSION: it has this version of the package, and no other
mirror() {
	rm -rf "$work"/package "$work"/mirror/*
	mkdir -p "$work/package/DEBIAN" "$work/package/usr/src"
	echo "source $1" >"$work/package/usr/src/linux-source-0.1.tar.xz"
	printf '%s\n' "Package: linux-source-0.1" "Version: $1" "Architecture: all" "Maintainer: test <test@test>" \
		"Description: test" >"$work/package/DEBIAN/control"
	dpkg-deb -b "$work/package" "$work/mirror/linux-source-0.1_${1}_all.deb" >/dev/null
}

# lists LINE...: APT's account of this machine's sources: repository, release and component, origin and label
lists() {
	printf '%s\n' "$@" >"$work/targets"
	# shellcheck disable=SC2016 # what APT leaves of a field that it does not know
	sed 's,[^ ]*$,$(ORIGIN)/$(LABEL),' "$work/targets" >"$work/unlisted"
}

fetch() { PATH=$work/bin:$PATH "$work/clone/tools/source.sh"; }

# gives VERSION: that is what source.sh leads to
gives() {
	local path
	path=$(fetch) && grep -qx "source $1" "$path" || { echo "it is: $path"; return 1; }
}

# from LINE: the only source that APT was given
from() { diff <(cat "$OUT"/source/linux-0.1/apt/sources.list) <(echo "$1"); }
keyring=/usr/share/keyrings/debian-archive-keyring.gpg

release=$(source /etc/os-release && echo "${VERSION_CODENAME:-}")
lists "http://other/debian $release/main Other/Other"
check "source: a machine without Debian's archive" refused "name no mirror of Debian's archive" fetch
check "source: ... is told what to type" refused "make KERNEL_SRC=DIR BASE=0.1" fetch
lists "http://other/debian $release/main Other/Other" "http://security/debian x-security/main Debian/Debian-Security" \
	"http://mirror/debian x/main Debian/Debian"
if [[ ! -e $keyring ]]; then
	skip "source: all else" "there is no $keyring"
	tap_end
fi
check "source: a mirror that does not have it: what to type is said" refused "make KERNEL_SRC=DIR BASE=0.1" fetch
mirror 0.1.2-1~bpo1
check "source: it is fetched" gives 0.1.2-1~bpo1
check "source: from Debian's archive on this machine's mirror" from "deb [signed-by=$keyring] http://mirror/debian far-backports main"
mirror 0.1.3-1~bpo1
check "source: it stays while this machine's lists do" gives 0.1.2-1~bpo1
lists "http://second/debian x/main Debian/Debian"
check "source: a newer one takes its place when the lists are new" gives 0.1.3-1~bpo1
check "source: the older one is gone" test ! -e "$OUT/source/linux-0.1/0.1.2-1~bpo1"
rm "$work"/mirror/*
lists "http://third/debian x/main Debian/Debian"
check "source: it stays where the mirror has none any more" gives 0.1.3-1~bpo1
rm "$OUT"/source/linux-0.1/*/*.tar.xz
mirror 0.1.3-1~bpo1
check "source: it is fetched again where it was lost" gives 0.1.3-1~bpo1
lists "http://unknown/debian $release/main /"
: >"$work/targets"
check "source: without lists the mirror is the one with this machine's release" fetch
check "source: ... which is the source that APT was given" from "deb [signed-by=$keyring] http://unknown/debian far-backports main"
tap_end
