/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This histogram counts how long bursts take, by their size. */
#ifndef KIRIKAE_BURST_LATENCIES_H
#define KIRIKAE_BURST_LATENCIES_H

#include "kernel/kernel.h"

/* Bursts are told apart by size: below 8 KiB, 32 KiB, 128 KiB, 512 KiB, and from there on. */
#define BURST_SIZES 5
#define SMALLEST_BURST_LOG2 13
#define BURST_SIZE_LOG2 2
/* The buckets of latency end at 2^10 microseconds, 2^10.5 and so on, up to 2^25.5. */
#define LATENCY_BUCKETS 32
#define SHORTEST_LATENCY_LOG2 10
#define LATENCY_BUCKETS_PER_OCTAVE 2

struct burst_latencies {
	u64 sum_us;
	u64 bursts[LATENCY_BUCKETS];
};

/* Connections that are switched are one treatment, those held back or observed the other. */
#define TREATMENTS 2

static __always_inline u32 burst_latencies_key(u32 scope, bool is_managed, u32 size)
{
	return (scope * TREATMENTS + !is_managed) * BURST_SIZES + size;
}

#endif
