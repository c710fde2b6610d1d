# shellcheck shell=bash disable=SC2034
# What the tools need to know of the base linux-7.3. Sourced by tools/lib.sh.

SOURCE_SUITE=trixie-backports # where Debian has linux-source-7.3
TARBALL_FILES=102000          # in the package's tarball, about
TEST_PACKAGES=(python3:python3) # what else its scripts need: kernel-doc is in Python
