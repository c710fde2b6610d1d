/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What the driver and the device of the poll_source sample both know: the
 * memory that they share. All in it is little-endian.
 */
#ifndef _POLL_SOURCE_SAMPLE_H
#define _POLL_SOURCE_SAMPLE_H

#include <linux/types.h>

#define SAMPLE_MAGIC	0x63725350	/* "PSrc" */
#define SAMPLE_VERSION	1
#define SAMPLE_ENTRIES	256		/* a power of two */
#define SAMPLE_FACTOR	0x9e3779b97f4a7c15ULL

/**
 * struct sample_entry - a request, and its answer beside it
 * @question: any number, from the driver
 * @answer: SAMPLE_FACTOR times that, from the device
 */
struct sample_entry {
	__le64 question;
	__le64 answer;
};

/**
 * struct sample_ring - requests, which the device answers in their order
 * @magic: SAMPLE_MAGIC, from the device
 * @version: SAMPLE_VERSION, from the device
 * @doorbell: what to write to the doorbell to have the device look, from it
 * @submitted: requests there have been, counted by the driver
 * @no_interrupt: not 0 while the driver does not want to be told of answers
 * @completed: answers there have been, counted by the device
 * @entries: request N is entry N modulo SAMPLE_ENTRIES
 *
 * The two counters wrap around. What the device writes and what the driver
 * writes is on cache lines of their own.
 */
struct sample_ring {
	__le32 magic;
	__le32 version;
	__le32 doorbell;
	/* private: */
	__le32 reserved1[13];
	/* public: */

	__le32 submitted;
	__le32 no_interrupt;
	/* private: */
	__le32 reserved2[14];
	/* public: */

	__le32 completed;
	/* private: */
	__le32 reserved3[15];
	/* public: */

	struct sample_entry entries[SAMPLE_ENTRIES];
};

#endif /* _POLL_SOURCE_SAMPLE_H */
