# shellcheck shell=bash
# Sourced by every tool: messages, progress, the user's variables (checked and exported), the lock on OUT.
#
# Messages and progress go to stderr; a tool's stdout carries its result alone.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
# A make above us must not pass its own options and overrides to the kernel's make.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL GNUMAKEFLAGS CDPATH

# --- messages ---------------------------------------------------------------------------------------------------------

on_terminal() { [[ -t 2 && ${TERM:-dumb} != dumb ]]; }

# say TEXT: one line to the user.
say() {
	if on_terminal; then printf '\r\033[K%s\n' "$*" >&2; else printf '%s\n' "$*" >&2; fi
}

# die WHAT-WENT-WRONG [WHAT-TO-TYPE-NEXT]...
die() {
	say "error: $1"
	shift
	local next
	for next in "$@"; do say "  $next"; done
	exit 1
}

# --- progress ---------------------------------------------------------------------------------------------------------

# clock SECONDS: 75 -> 1m15s
clock() {
	if (($1 < 60)); then printf '%ds' "$1"; else printf '%dm%02ds' $(($1 / 60)) $(($1 % 60)); fi
}

# progress_start LABEL [EXPECTED-SECONDS]: begins a stage.
progress_start() {
	PROGRESS_LABEL=$1 PROGRESS_EXPECTED=${2:-0} PROGRESS_BEGAN=$SECONDS PROGRESS_SHOWN=$SECONDS
	on_terminal || say "$1 ..."
}

# progress DONE TOTAL [TEXT]: where the stage is. TOTAL 0: not known. A live line on a terminal, else a line every 30 s.
progress() {
	local done=$1 total=$2 text=${3:-} elapsed=$((SECONDS - PROGRESS_BEGAN)) left=0 line
	line="$PROGRESS_LABEL:"
	if ((total > 0)); then
		line+=" $done of $total"
		((done * 20 < total || done > total)) || left=$((elapsed * (total - done) / done))
	elif ((done > 0)); then
		line+=" $done"
	fi
	((left > 0 || PROGRESS_EXPECTED <= elapsed)) || left=$((PROGRESS_EXPECTED - elapsed))
	line+="${text:+ $text}, $(clock "$elapsed")"
	((left == 0)) || line+=", about $(clock "$left") left"
	if on_terminal; then
		printf '\r\033[K%s' "${line:0:$((${COLUMNS:-80} - 1))}" >&2
	elif ((SECONDS - PROGRESS_SHOWN >= 30)); then
		PROGRESS_SHOWN=$SECONDS
		printf '%s\n' "$line" >&2
	fi
}

# progress_end TEXT: the stage is over; TEXT says how, e.g. "done".
progress_end() {
	say "$PROGRESS_LABEL: $1 in $(clock $((SECONDS - PROGRESS_BEGAN)))"
}

# run_logged LABEL LOG TOTAL COUNTER COMMAND...: runs COMMAND with its output in LOG, shows progress meanwhile. COUNTER is
# a command that prints how far it is; TOTAL 0 where that is not known. How long it took is kept, to estimate the next
# time by. Returns the command's status.
run_logged() {
	local label=$1 log=$2 total=$3 counter=$4 status=0 reporter
	shift 4
	local times="$OUT/.times/${label//[^A-Za-z0-9]/-}"
	mkdir -p "${times%/*}" "${log%/*}" || die "cannot write to $OUT" "set OUT to a directory you may write to"
	: >"$log"
	progress_start "$label" "$(cat "$times" 2>/dev/null || echo 0)"
	(
		trap 'exit 0' TERM
		while sleep 1 && kill -0 $$ 2>/dev/null; do
			done=$($counter 2>/dev/null || true)
			progress "${done:-0}" "$total"
		done
	) 9>&- &
	reporter=$!
	"$@" >"$log" 2>&1 </dev/null || status=$?
	kill "$reporter" 2>/dev/null || true
	wait "$reporter" 2>/dev/null || true
	if ((status == 0)); then
		progress_end "done"
		echo $((SECONDS - PROGRESS_BEGAN)) >"$times" || true
	else
		say "$label: failed after $(clock $((SECONDS - PROGRESS_BEGAN)))"
	fi
	return "$status"
}

# --- the disk and the lock --------------------------------------------------------------------------------------------

# free_mib DIR: MiB free there.
free_mib() { df --output=avail -m "$1" | tail -n 1 | tr -d ' '; }

# need_space DIR MIB WHAT: stops where DIR has not that much left.
need_space() {
	local free
	mkdir -p "$1" 2>/dev/null || die "cannot make the directory $1" "set OUT to a directory you may write to, e.g. make OUT=\$HOME/poll-source-out ..."
	free=$(free_mib "$1")
	((free >= $2)) || die "$1 has $free MiB free, $3 takes about $2 MiB" \
		"free some space, or set OUT to a directory on another disk, e.g. make OUT=/var/tmp/poll-source ..."
}

# die_of_log WHAT LOG [PATH]...: stops with the end of LOG and, where the disk is full, with that; removes each PATH, what
# was half-written.
die_of_log() {
	local what=$1 log=$2 full=0
	# The second is fixdep's way to say it.
	if grep -qiE 'no space left on device|not all data was written' "$log" || (($(free_mib "${log%/*}") < 1)); then full=1; fi
	tail -n 25 "$log" | while IFS= read -r line; do say "  | $line"; done
	rm -rf -- "${@:3}"
	((full == 0)) || die "$what: the disk with $OUT is full" \
		"free some space (make clean removes what was built), or set OUT to a directory on another disk"
	die "$what (log: $log)"
}

# write_file PATH: stdin becomes PATH, whole or not at all.
write_file() {
	cat >"$1.new" && mv -f -- "$1.new" "$1" || { rm -f -- "$1.new"; die "cannot write $1" "is the disk full?"; }
}

# build_dir NAME: the directory NAME for what the kernel's build makes; $OUT/NAME leads there.
build_dir() {
	mkdir -p "$BUILD/$1" "$OUT" 2>/dev/null || die "cannot make the directory $BUILD/$1" "set OUT to a directory you may write to"
	[[ $BUILD == "$OUT" || -e $OUT/$1 ]] || ln -sfn "$BUILD/$1" "$OUT/$1"
	echo "$BUILD/$1"
}

# lock_out: one run at a time works in OUT; the tools that a run calls share its lock.
lock_out() {
	[[ ${POLL_SOURCE_LOCKED:-} != "$OUT" ]] || return 0
	mkdir -p "$OUT" 2>/dev/null || die "cannot make the directory $OUT" "set OUT to a directory you may write to"
	{ exec 9>>"$OUT/.lock"; } 2>/dev/null || die "cannot write to $OUT" "set OUT to a directory you may write to"
	flock -n 9 || die "another run is at work in $OUT" "wait for it to end, or give this one its own directory: make OUT=DIR ..."
	export POLL_SOURCE_LOCKED=$OUT
}

# --- the user's variables ---------------------------------------------------------------------------------------------

# want_number NAME MIN MAX
want_number() {
	local value=${!1}
	[[ $value =~ ^(0|[1-9][0-9]{0,9})$ && $value -ge $2 && $value -le $3 ]] ||
		die "$1=$value is not a whole number from $2 to $3" "e.g. make $1=$2 ..."
}

# want_one_of NAME CHOICE...
want_one_of() {
	local name=$1 choice
	shift
	for choice in "$@"; do [[ ${!name} != "$choice" ]] || return 0; done
	die "$name=${!name} is not one of: $*" "e.g. make $name=$1 ..."
}

# names_of SUFFIX PATH...: the base names, without SUFFIX, of those that exist.
names_of() {
	local suffix=$1 path
	shift
	for path in "$@"; do [[ ! -e $path ]] || basename "$path" "$suffix"; done
}

# plain_dir DIR: DIR, or where the kernel's build cannot work in a path such as DIR, a directory in the user's cache.
plain_dir() {
	local odd='[][:space:]:#$%"\\`&;|<>()*?[!~,='\'']' cache
	if [[ ! $1 =~ $odd ]]; then
		echo "$1"
		return
	fi
	cache=${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/poll-source/$(sha256sum <<<"$1" | cut -c 1-12)
	[[ ! $cache =~ $odd ]] || die "the kernel cannot be built below $1 nor below $cache" \
		"set OUT to a directory whose path has no space and no special character, e.g. make OUT=/var/tmp/poll-source ..."
	echo "$cache"
}

check_variables() {
	export ARCH=${ARCH:-arm64} BASE=${BASE:-linux-6.12} JOBS=${JOBS:-$(nproc)} ACCEL=${ACCEL:-auto} VCPUS=${VCPUS:-}
	export LATENCY_NS=${LATENCY_NS:-50000} ROUNDS=${ROUNDS:-5} RUNTIME=${RUNTIME:-2} DEVICE_OPTS=${DEVICE_OPTS:-}
	export GUEST_HALT_POLL_NS=${GUEST_HALT_POLL_NS:-200000}
	[[ $BASE == linux-* ]] || BASE=linux-$BASE
	export MINUTES=${MINUTES:-2} SEED=${SEED:-$SRANDOM}
	export KERNEL_SRC=${KERNEL_SRC:-} OUT=${OUT:-$ROOT/out} BUILD

	local choices spare
	mapfile -t choices < <(names_of .sh "$ROOT"/tools/arch/*.sh)
	want_one_of ARCH "${choices[@]}"
	mapfile -t choices < <(names_of "" "$ROOT"/patches/*/)
	want_one_of BASE "${choices[@]}"
	want_one_of ACCEL auto kvm tcg
	want_number JOBS 1 4096
	spare=$(($(nproc) - 1))
	[[ $VCPUS ]] || VCPUS=$((spare < 1 ? 1 : spare > 4 ? 4 : spare))
	want_number VCPUS 1 64
	want_number LATENCY_NS 0 1000000000
	# Fast storage is polled for: a thread that sleeps and is woken adds as much again to the latency, on a virtual host.
	export IOTHREAD_POLL_NS=${IOTHREAD_POLL_NS:-$((4 * LATENCY_NS + 32768))}
	want_number IOTHREAD_POLL_NS 0 10000000000
	want_number ROUNDS 1 1000
	want_number RUNTIME 1 3600
	want_number GUEST_HALT_POLL_NS 1 1000000000
	want_number MINUTES 1 100000
	want_number SEED 0 4294967295
	[[ ! $DEVICE_OPTS || $DEVICE_OPTS =~ ^[A-Za-z0-9_.-]+=[A-Za-z0-9_.-]+(,[A-Za-z0-9_.-]+=[A-Za-z0-9_.-]+)*$ ]] ||
		die "DEVICE_OPTS=$DEVICE_OPTS is not a list such as packed=on,event_idx=off" "see: qemu-system-aarch64 -device virtio-blk-pci,help"
	OUT=$(realpath -m -- "$OUT")
	[[ ! -e $OUT || -d $OUT ]] || die "OUT=$OUT is not a directory" "set OUT to a directory, or to a path where one can be made"
	[[ $OUT != / ]] || die "OUT=/ would fill the root directory" "set OUT to a directory of its own"
	if [[ $KERNEL_SRC ]]; then
		[[ -d $KERNEL_SRC ]] || die "KERNEL_SRC=$KERNEL_SRC is not a directory" \
			"set it to a kernel tree of the line ${BASE#linux-}, or leave it out to use Debian's package linux-source-${BASE#linux-}"
		KERNEL_SRC=$(realpath -- "$KERNEL_SRC")
	fi
	BUILD=$(plain_dir "$OUT")
}
check_variables

# shellcheck source=tools/arch/arm64.sh
source "$ROOT/tools/arch/$ARCH.sh"
# shellcheck source=tools/base/linux-6.12.sh
source "$ROOT/tools/base/$BASE.sh"
