/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the polling idle state needs of poll sources.
 */
#ifndef __CPUIDLE_POLL_SOURCE_H
#define __CPUIDLE_POLL_SOURCE_H

#include <linux/cpuidle.h>
#include <linux/jump_label.h>
#include <linux/types.h>

#ifdef CONFIG_POLL_SOURCE
DECLARE_STATIC_KEY_FALSE(poll_source_key);

bool __poll_source_idle(struct cpuidle_driver *drv, struct cpuidle_device *dev,
			u64 time_start);

/**
 * poll_source_idle - poll this CPU's sources in place of the plain wait
 * @drv: cpuidle driver of this CPU
 * @dev: cpuidle device of this CPU
 * @time_start: local_clock_noinstr() when the idle state was entered, in ns
 *
 * Context: Idle task, interrupts off, RCU not watching; the same on return.
 *
 * Return: true if the polling state is over, false if no source of this CPU has
 * anything to poll for, so that the plain wait is the thing to do.
 */
static __always_inline bool poll_source_idle(struct cpuidle_driver *drv,
					     struct cpuidle_device *dev,
					     u64 time_start)
{
	if (!static_branch_unlikely(&poll_source_key))
		return false;

	return __poll_source_idle(drv, dev, time_start);
}

/**
 * poll_source_work_ns - how much of an idle state was work
 * @dev: cpuidle device of this CPU, which has just left an idle state
 *
 * What handlers of poll sources did is interrupt time, and no part of the
 * state's residency.
 *
 * Return: that time in ns; 0 when asked again.
 */
static __always_inline u64 poll_source_work_ns(struct cpuidle_device *dev)
{
	u64 ns = dev->poll_work_ns;

	dev->poll_work_ns = 0;

	return ns;
}
#else
static __always_inline bool poll_source_idle(struct cpuidle_driver *drv,
					     struct cpuidle_device *dev,
					     u64 time_start)
{
	return false;
}

static __always_inline u64 poll_source_work_ns(struct cpuidle_device *dev)
{
	return 0;
}
#endif

#endif /* __CPUIDLE_POLL_SOURCE_H */
