# shellcheck shell=bash disable=SC2034
# What the tools need to know of arm64. Sourced by tools/lib.sh.

KERNEL_ARCH=arm64                           # its directory of arch/
KERNEL_IMAGE=arch/arm64/boot/Image          # in the kernel's build directory
CROSS_COMPILE=aarch64-linux-gnu-            # Debian's gcc has this prefix on arm64 itself too
CROSS_PACKAGES=(gcc-aarch64-linux-gnu:aarch64-linux-gnu-gcc libc6-dev-arm64-cross:/usr/aarch64-linux-gnu/include/stdio.h)
NATIVE_PACKAGES=(gcc:aarch64-linux-gnu-gcc libc6-dev:/usr/include/stdio.h)
KERNEL_PACKAGES=()                          # what else the kernel's build needs
DEBIAN_ARCH=arm64
HOST_MACHINE=aarch64                        # uname -m of a host whose KVM can run it
QEMU=qemu-system-aarch64
QEMU_PACKAGES=(qemu-system-arm:qemu-system-aarch64)
MACHINE=virt,gic-version=3
MACHINE_ARGUMENTS=()                        # more for QEMU
CONSOLE=ttyAMA0
TCG_WORDS=""                                # for the kernel command line where the CPU is emulated
LAB_MACHINE=virtualization=on               # what the lab's machine has beyond MACHINE: EL2
LAB_CPU=neoverse-n1
LAB_WORDS=""                                # for its kernel
