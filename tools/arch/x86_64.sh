# shellcheck shell=bash disable=SC2034
# What the tools need to know of x86-64. Sourced by tools/lib.sh.

KERNEL_ARCH=x86                             # its directory of arch/
KERNEL_IMAGE=arch/x86/boot/bzImage          # in the kernel's build directory
CROSS_COMPILE=x86_64-linux-gnu-             # Debian's gcc has this prefix on x86-64 itself too
CROSS_PACKAGES=(gcc-x86-64-linux-gnu:x86_64-linux-gnu-gcc libc6-dev-amd64-cross:/usr/x86_64-linux-gnu/include/stdio.h)
NATIVE_PACKAGES=(gcc:x86_64-linux-gnu-gcc libc6-dev:/usr/include/stdio.h)
KERNEL_PACKAGES=(libelf-dev:/usr/include/libelf.h) # for objtool
DEBIAN_ARCH=amd64
HOST_MACHINE=x86_64                         # uname -m of a host whose KVM can run it
QEMU=qemu-system-x86_64
QEMU_PACKAGES=(qemu-system-x86:qemu-system-x86_64)
MACHINE=q35
# Devices behind ports and bridges come and go by the kernel's own drivers, as on arm64, and not by ACPI.
MACHINE_ARGUMENTS=(-global ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off)
CONSOLE=ttyS0
TCG_WORDS=" no_timer_check"                 # a busy host makes the timer's test fail; KVM guests leave it out themselves
LAB_MACHINE=""                              # what the lab's machine has beyond MACHINE
LAB_CPU=max,+svm,-xsave                     # QEMU tells KVM nothing of a guest's XSETBV
LAB_WORDS="kvm.tsc_tolerance_ppm=50000"     # for its kernel: it knows the TSC's frequency roughly, and KVM can not scale
