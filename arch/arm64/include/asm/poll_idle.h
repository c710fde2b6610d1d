/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The low-power wait of the polling idle state, see poll_idle().
 */
#ifndef __ASM_POLL_IDLE_H
#define __ASM_POLL_IDLE_H

#include <linux/thread_info.h>
#include <linux/time64.h>

#include <asm/alternative-macros.h>
#include <asm/arch_timer.h>
#include <asm/vdso/processor.h>

#include <clocksource/arm_arch_timer.h>

/*
 * Wait for a store to @flags, which were @val, with the WFE or WFET that @wait
 * is. SEVL and the first WFE take a stale event away; LDXR makes the monitor
 * watch the line, so that a store between it and the wait is an event too.
 */
#define __poll_idle_monitor(flags, val, wait, ...)			\
do {									\
	unsigned long __tmp;						\
									\
	asm volatile(							\
	"	sevl\n"							\
	"	wfe\n"							\
	"	ldxr	%[tmp], %[v]\n"					\
	"	eor	%[tmp], %[tmp], %[old]\n"			\
	"	cbnz	%[tmp], 1f\n"					\
	"	" wait "\n"						\
	"1:"								\
	: [tmp] "=&r" (__tmp), [v] "+Q" (*(flags))			\
	: [old] "r" (val), ##__VA_ARGS__				\
	: "memory");							\
} while (0)

/*
 * The longest period of the event stream: a power of two of timer ticks, which
 * the nominal period is rounded to from three quarters of it on.
 */
#define POLL_IDLE_EVT_STREAM_NS						\
	(ARCH_TIMER_EVT_STREAM_PERIOD_US * NSEC_PER_USEC * 4 / 3)

/**
 * arch_poll_idle_wait - wait a while for the idle task's thread flags to change
 * @ns: how long at most, in nanoseconds
 *
 * Returns when the current task's thread flags are written or an interrupt has
 * been handled, after @ns at the latest, and often before: the caller loops.
 *
 * WFET keeps the bound by itself. WFE is woken by the event stream, if that is
 * on, but may overshoot by a period of it, so that the last period is left to
 * a plain loop, as all of the wait is where the event stream is off.
 *
 * Context: Idle task, interrupts on, RCU not watching.
 */
static __always_inline void arch_poll_idle_wait(u64 ns)
{
	unsigned long *flags = &current_thread_info()->flags;
	unsigned long val = READ_ONCE(*flags);

	if (val & _TIF_NEED_RESCHED)
		return;

	if (alternative_has_cap_unlikely(ARM64_HAS_WFXT)) {
		u64 end = __arch_counter_get_cntvct() +
			  ns * arch_timer_get_rate() / NSEC_PER_SEC;

		/* WFET, spelled for assemblers that do not know it */
		__poll_idle_monitor(flags, val, "msr s0_3_c1_c0_0, %[end]",
				    [end] "r" (end));
	} else if (ns > POLL_IDLE_EVT_STREAM_NS &&
		   arch_timer_evtstrm_available()) {
		__poll_idle_monitor(flags, val, "wfe");
	} else {
		cpu_relax();
	}
}

#endif /* __ASM_POLL_IDLE_H */
