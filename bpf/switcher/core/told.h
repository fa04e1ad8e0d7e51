/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Over which interfaces of a network namespace the agent was told that a connection waits, so that
 * none is told again and again, and no namespace takes the room of others. */
#ifndef KIRIKAE_CORE_TOLD_H
#define KIRIKAE_CORE_TOLD_H

#include "kernel/kernel.h"

/* Within such a time ... */
#define TOLD_WITHIN_NS 100000000ULL
/* ... so many interfaces of a namespace are told at most. */
#define TOLD_INTERFACES 32

struct told {
	u64 since_ns;	/* CLOCK_MONOTONIC */
	u32 interfaces; /* a bit for each */
	u32 unused;
};

/* Returns whether the interface is to be told now, and notes it. Two that share a bit do not share
 * it the next time. */
static __always_inline bool is_to_be_told(struct told *told, u32 interface, u64 now_ns)
{
	u32 bit;

	if (now_ns - told->since_ns >= TOLD_WITHIN_NS) {
		told->since_ns = now_ns;
		told->interfaces = 0;
	}
	bit = ((interface ^ (u32)told->since_ns) * 0x9e3779b9) >> 27;
	if (told->interfaces >> bit & 1)
		return false;
	told->interfaces |= 1U << bit;
	return true;
}

#endif
