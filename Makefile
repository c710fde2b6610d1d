# The front: each target sees to the packages it needs, then calls the tool that does the work.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help bench lab test test-full soak model mutants kernel deb shell clean

help: ## this list
	@echo "targets:"
	@sed -n 's/^\([a-z-]*\): ## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done
	@sed -n 's/^#| \{0,1\}//p' Makefile

bench: ## boots the patched guest and measures what poll_source gains
	@tools/packages.sh kernel rootfs vm report
	@tools/bench.sh

lab: ## the same under KVM in an emulated machine that has it, with VM exits counted
	@tools/packages.sh kernel rootfs vm report
	@tools/lab.sh

test: ## runs every test; T=NAME runs one
	@tools/packages.sh kernel rootfs vm report test
	@tests/run.sh $(T)

test-full: ## runs also the tests that take long
	@tools/packages.sh kernel rootfs vm report test
	@tests/run.sh --full $(T)

soak: ## stress at random for MINUTES, with every ring; SEED=N repeats a run
	@tools/packages.sh kernel rootfs vm
	@tools/soak.sh

model: ## checks the models of event suppression and of the lists of sources in every order of events
	@tools/packages.sh test
	@tests/model/run.sh

mutants: ## puts known faults into the kernel and shows that tests catch each; M=NAME tries one
	@tools/packages.sh kernel rootfs vm test
	@tests/mutants/run.sh $(M)

kernel: ## builds the patched kernel and prints the path of its image
	@tools/packages.sh kernel
	@tools/kernel.sh bench

deb: ## builds Debian packages of the patched kernel; CONFIG=FILE: from that configuration, else from the running kernel's
	@tools/deb.sh $(CONFIG)

shell: ## boots the guest and gives a prompt in it
	@tools/packages.sh kernel rootfs vm
	@tools/shell.sh

clean: ## removes what was built; the results of benchmarks stay
	@tools/clean.sh

#|
#| variables, e.g. make bench ROUNDS=10:
#|   OUT=DIR          where everything is made (default: out)
#|   KERNEL_SRC=DIR   a kernel tree of the right line instead of Debian's linux-source package; it is only read
#|   BASE=6.12        the kernel line, 6.12 or 7.3: a directory of patches/
#|   ARCH=arm64       the guest's architecture: arm64 or x86_64; make test without it takes both, make deb this machine's
#|   JOBS=N           compilers at a time (default: the processors of this machine)
#|   ACCEL=auto       kvm or tcg: kvm fails where no guest starts with it, auto takes tcg there and says why
#|   VCPUS=N          processors of the guest (default: this machine's less one, at most 4; for soak: 2; for lab: 1)
#|   LATENCY_NS=N     how long the measured device takes for a request (default: 50000)
#|   IOTHREAD_POLL_NS=N  how long the device's thread polls before it sleeps; QEMU's own default is 32768
#|                    (default: 4 times LATENCY_NS and that, so that it never sleeps within a request)
#|   ROUNDS=N         rounds of the benchmark (default: 5; for lab: 3)
#|   RUNTIME=N        seconds a sample takes (default: 2)
#|   GUEST_HALT_POLL_NS=N  how long haltpoll polls at most (default: 200000; for lab: 3000000)
#|   DEVICE_OPTS=...  properties of the measured virtio-blk-pci device, e.g. packed=on
#|   MINUTES=N        how long soak takes, in all (default: 2)
#|   SEED=N           of what happens at random in soak and in tests (default: a new one each time, which is printed)
