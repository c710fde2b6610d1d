# shellcheck shell=bash disable=SC2034
# What the tools need to know of the base linux-7.3. Sourced by tools/lib.sh.

SOURCE_SUITE=trixie-backports # where Debian has linux-source-7.3
TARBALL_FILES=102000          # in the package's tarball, about
TEST_PACKAGES=(python3:python3) # what else its scripts need: kernel-doc is in Python
# Why no guest can report after a suspend: virtcons_restore() asks the host whether ports are open before it has given it
# buffers for the answer, which QEMU drops (7.3.4). With the two in the old order the tests of suspend pass.
SLEEP_FAULT="Linux 7.3's virtio-console hears of its ports no more after a suspend"
