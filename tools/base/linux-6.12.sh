# shellcheck shell=bash disable=SC2034
# What the tools need to know of the base linux-6.12. Sourced by tools/lib.sh.

SOURCE_SUITE=""     # linux-source-6.12 is in Debian 12 and 13
TARBALL_FILES=92000 # in the package's tarball, about
TEST_PACKAGES=()    # what else its scripts need
SLEEP_FAULT=""      # why no guest can report after a suspend
