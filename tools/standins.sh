#!/bin/bash
# Makes stand-ins for the libraries that a program is linked with but never calls here.
#
# usage: tools/standins.sh PROGRAM DIR
#
# Debian's fio is linked with the client libraries of Ceph, GlusterFS, RDMA, NBD and persistent memory, 80 MB with all that
# they need: seconds of loading in an emulated guest at each start. For each library that PROGRAM names and that is not in
# DIR, this puts one there which only has the names that PROGRAM wants to see; a call to one of them ends the program.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

PROGRAM=$1 DIR=$2
READELF="${CROSS_COMPILE}readelf"

# needed: libraries that PROGRAM names and DIR lacks.
needed() {
	local name
	"$READELF" -d "$PROGRAM" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
		while read -r name; do [[ -e $DIR/$name || $name == ld-linux* ]] || echo "$name"; done
}

# versions LIBRARY: the symbol versions that PROGRAM wants of it.
versions() {
	"$READELF" -W -V "$PROGRAM" | awk -v library="$1" '
		/ File: / { for (i = 1; i < NF; i++) if ($i == "File:") here = $(i + 1) == library }
		here && / Name: / { for (i = 1; i < NF; i++) if ($i == "Name:") print $(i + 1) }'
}

# symbols FILE UND|DEFINED: the strong dynamic symbols, as NAME or NAME@VERSION
symbols() {
	"$READELF" -W --dyn-syms "$1" | awk -v kind="$2" '
		$5 == "GLOBAL" || (kind == "DEFINED" && $5 == "WEAK") { if (($7 == "UND") == (kind == "UND")) print $8 }'
}

# unversioned: those that no library in DIR has.
unversioned() {
	local library
	comm -23 <(symbols "$PROGRAM" UND | grep -v @ | sort -u) \
		<(for library in "$DIR"/*; do symbols "$library" DEFINED; done | sed 's/@.*//' | sort -u)
}

# standin LIBRARY NAMES-WITHOUT-A-VERSION
standin() {
	local work version names options=()
	work=$(mktemp -d)
	{
		echo 'extern void abort(void);'
		awk 'NF { printf "void %s(void) { abort(); }\n", $1 }' <<<"$2"
	} >"$work/standin.c"
	: >"$work/standin.map"
	while read -r version; do
		names=$(symbols "$PROGRAM" UND | sed -n "s/@$version\$//p")
		awk 'NF { printf "void %s(void) { abort(); }\n", $1 }' <<<"$names" >>"$work/standin.c"
		{ echo "$version {"; awk 'NF { print "\t" $1 ";" }' <<<"$names"; echo "};"; } >>"$work/standin.map"
	done < <(versions "$1")
	[[ ! -s $work/standin.map ]] || options=("-Wl,--version-script=$work/standin.map")
	"${CROSS_COMPILE}gcc" -shared -fPIC -O2 -s -nostdlib -fno-builtin -Wl,-soname="$1" "${options[@]}" \
		-o "$DIR/$1" "$work/standin.c"
	rm -r "$work"
}

mapfile -t libraries < <(needed)
loose=$(unversioned)
for library in "${libraries[@]}"; do
	standin "$library" "$loose"
	loose=
done
