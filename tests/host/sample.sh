#!/bin/bash
# The sample of samples/poll_source: its device, a program, compiles and is plain about mistakes; the driver-api page shows the
# code that is there.
# shellcheck disable=SC2016,SC2317 # a script for perl; functions are called by check
set -euo pipefail
source "$(dirname "$0")/../../tools/lib.sh"
source "$ROOT/tests/tap.sh"

sample=$ROOT/samples/poll_source
page=$ROOT/Documentation/driver-api/poll-source.rst
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# refuses STATUS TEXT ARGUMENT...: the device ends at once, with STATUS, and says TEXT.
refuses() {
	local status=0
	timeout 10 "$work/device" "${@:3}" 2>"$work/said" || status=$?
	[[ $status == "$1" ]] && grep -F "$2" "$work/said" || { echo "status $status:" && cat "$work/said"; return 1; }
}

# shown: each block of code in the page's section stands in the sample. There must be some.
shown() {
	perl -0777 -e '
		my ($page, @sources) = map { open my $in, "<", $_ or die "$_: $!\n"; <$in> } @ARGV;
		my ($section) = $page =~ /\nA driver, line by line\n-+\n(.*?)\nTo see it work/s or die "the section is not there\n";
		my ($blocks, $bad) = (0, 0);
		while ($section =~ /((?:^\t.*\n|^\n(?=\n*\t))+)/mg) {
			my $block = $1 =~ s/^\n+//r;
			my $outer = $block =~ s/^\t//mgr;
			$blocks++;
			next if grep { index($_, $block) >= 0 || index($_, $outer) >= 0 } @sources;
			print "not in the sample:\n$block";
			$bad = 1;
		}
		die "only $blocks blocks\n" if $blocks < 5;
		exit $bad;' "$page" "$sample"/poll_source_sample.c "$sample"/poll_source_device.c
}

"$ROOT/tools/packages.sh" test
check "sample: the device compiles" \
	gcc -std=c11 -Wall -Wextra -Werror -O2 -o "$work/device" "$sample/poll_source_device.c"
check "sample: the device says how it is called" refuses 2 'usage:' "$work/socket"
check "sample: the device refuses a latency that is no number" refuses 2 'usage:' "$work/socket" 50us
check "sample: the device names a socket that it can not make" refuses 1 "$work/none/socket: No such file" "$work/none/socket" 0
check "sample: the page shows the code of the sample" shown
tap_end
