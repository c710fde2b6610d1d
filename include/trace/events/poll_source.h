/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM poll_source

#if !defined(_TRACE_POLL_SOURCE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_POLL_SOURCE_H

#include <linux/poll_source.h>
#include <linux/tracepoint.h>

DECLARE_EVENT_CLASS(poll_source,

	TP_PROTO(const struct poll_source *src),

	TP_ARGS(src),

	TP_STRUCT__entry(
		__string(name, src->name)
		__field(int, cpu)
	),

	TP_fast_assign(
		__assign_str(name);
		__entry->cpu = src->cpu;
	),

	TP_printk("source=%s cpu=%d", __get_str(name), __entry->cpu)
);

/* A polling window begins for a source: its event is off */
DEFINE_EVENT(poll_source, poll_source_start,
	TP_PROTO(const struct poll_source *src),
	TP_ARGS(src)
);

/* A check found work, which is done now */
DEFINE_EVENT(poll_source, poll_source_hit,
	TP_PROTO(const struct poll_source *src),
	TP_ARGS(src)
);

/* The window has ended: the event is on; raced if work came before it was */
TRACE_EVENT(poll_source_stop,

	TP_PROTO(const struct poll_source *src, bool raced),

	TP_ARGS(src, raced),

	TP_STRUCT__entry(
		__string(name, src->name)
		__field(int, cpu)
		__field(bool, raced)
	),

	TP_fast_assign(
		__assign_str(name);
		__entry->cpu = src->cpu;
		__entry->raced = raced;
	),

	TP_printk("source=%s cpu=%d raced=%d",
		  __get_str(name), __entry->cpu, __entry->raced)
);

#endif /* _TRACE_POLL_SOURCE_H */

#include <trace/define_trace.h>
