# shellcheck shell=bash
# Sourced after tools/lib.sh by the tests of the command-line front: copies of this clone to try things in.

# clone DIR: what git would have there, and what is not committed yet.
clone() {
	mkdir -p "$1"
	tar -C "$ROOT" --exclude=./.git --exclude=./out --exclude="$OUT" -cf - . | tar -C "$1" -xf -
}

# refused TEXT COMMAND...: COMMAND fails, and says TEXT.
refused() {
	local text=$1 said
	shift
	if said=$("$@" 2>&1 </dev/null); then
		printf 'it did not fail, and said: %s\n' "$said"
		return 1
	fi
	[[ $said == *"$text"* ]] || { printf 'it does not say "%s", but: %s\n' "$text" "$said"; return 1; }
}

# share_tree BUILD: the tree that is there already, with its state, as BUILD's own; quick, by hard links.
share_tree() {
	local part
	mkdir -p "$1/tree"
	cp -al "$BUILD/tree/$BASE" "$1/tree/"
	for part in pristine state; do cp -a "$BUILD/tree/$BASE.$part" "$1/tree/"; done
	[[ ! -d $BUILD/source ]] || cp -al "$BUILD/source" "$1/"
}

# killed_when CONDITION COMMAND...: starts COMMAND and kills it, with all it started, as soon as CONDITION holds.
killed_when() {
	local condition=$1 pid tries=0
	shift
	setsid "$@" >/dev/null 2>&1 </dev/null &
	pid=$!
	until eval "$condition"; do
		if ! kill -0 "$pid" 2>/dev/null || ((++tries > 3000)); then
			kill -KILL -- "-$pid" 2>/dev/null || true
			echo "it ended before: $condition"
			return 1
		fi
		sleep 0.1
	done
	kill -KILL -- "-$pid"
	wait "$pid" 2>/dev/null || true
}
