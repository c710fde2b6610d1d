# shellcheck shell=bash
# Sourced after lib.sh: KVM where a guest really starts with it, else emulation (TCG), and why.

KVM_DEVICE=/dev/kvm
CPUINFO=/proc/cpuinfo

# choose_accel: ACCEL_USED (kvm or tcg) and ACCEL_REASON, by what ACCEL asks for. It says which it is. ACCEL=kvm never falls back.
choose_accel() {
	local obstacle=''
	if [[ $ACCEL == tcg ]]; then
		ACCEL_USED=tcg ACCEL_REASON="ACCEL=tcg"
	else
		obstacle=$(kvm_obstacle)
		[[ ! $obstacle || $ACCEL != kvm ]] ||
			die "KVM was asked for and cannot be used: $obstacle" "ACCEL=auto takes emulation instead"
		if [[ $obstacle ]]; then
			ACCEL_USED=tcg ACCEL_REASON=$obstacle
		else
			ACCEL_USED=kvm ACCEL_REASON="a guest starts with it"
		fi
	fi
	case $ACCEL_USED in
	kvm) say "accelerator: KVM" ;;
	tcg) say "accelerator: emulation (TCG), because $ACCEL_REASON" ;;
	esac
}

# kvm_obstacle: why KVM cannot be used; nothing when it can. Nothing is started where the processor has no virtualization to
# give: there are x86-64 hosts, guests themselves, with a /dev/kvm that no guest runs on.
kvm_obstacle() {
	local machine
	machine=$(uname -m)
	if [[ $machine != "$HOST_MACHINE" ]]; then
		echo "this machine is $machine, the guest is $HOST_MACHINE"
	elif [[ $machine == x86_64 ]] && ! grep -qwE 'vmx|svm' "$CPUINFO"; then
		echo "this machine's processor gives no virtualization (neither vmx nor svm in $CPUINFO)"
	elif [[ ! -e $KVM_DEVICE ]]; then
		echo "there is no $KVM_DEVICE (is KVM's module loaded?)"
	elif [[ ! -r $KVM_DEVICE || ! -w $KVM_DEVICE ]]; then
		echo "$KVM_DEVICE is not open to $(id -un) (usual remedy: sudo adduser $(id -un) kvm, and log in again)"
	else
		probe_kvm
	fi
}

# probe_kvm: runs an empty guest for a second; says what came of it where that is no running guest. Who insists on KVM may
# have a slow machine.
probe_kvm() {
	local limit=4 said
	[[ $ACCEL != kvm ]] || limit=60
	# shellcheck disable=SC2153 # MACHINE is the architecture's
	said=$({ sleep 1; printf 'info status\nquit\n'; } 2>/dev/null | timeout -k 1 "$limit" \
		"$QEMU" -M "$MACHINE" -accel kvm -cpu host -m 128M -nodefaults -no-user-config -display none -monitor stdio 2>&1) || true
	[[ $said == *'VM status: running'* ]] ||
		echo "$KVM_DEVICE is there, but no guest starts with it${said:+ (QEMU: $(last_words "$said"))}"
}

# last_words TEXT: what QEMU said last, of interest
last_words() { grep -aE 'status:|kvm|KVM|qemu' <<<"$1" | grep -av '^(qemu)\|^QEMU .*monitor' | tail -n 1 | tr -d '\r' | cut -c 1-200; }
