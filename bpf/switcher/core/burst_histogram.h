/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A burst is counted by its size and by how long it took. */
#ifndef KIRIKAE_BURST_HISTOGRAM_H
#define KIRIKAE_BURST_HISTOGRAM_H

#include "arithmetic/fixed_log.h"
#include "interface/burst_latencies.h"

static __always_inline u32 burst_size(u32 bytes)
{
	s32 octaves = log2_fixed(bytes) / OCTAVE;
	s32 above = most(octaves - (SMALLEST_BURST_LOG2 - BURST_SIZE_LOG2), 0);

	return least((u32)above / BURST_SIZE_LOG2, BURST_SIZES - 1);
}

static __always_inline u32 latency_bucket(u32 us)
{
	s32 steps = log2_fixed(us) / (OCTAVE / LATENCY_BUCKETS_PER_OCTAVE);
	s32 below = SHORTEST_LATENCY_LOG2 * LATENCY_BUCKETS_PER_OCTAVE - 1;

	return least(most(steps - below, 0), LATENCY_BUCKETS - 1);
}

static __always_inline void burst_latencies_add(struct burst_latencies *latencies, u32 us)
{
	latencies->sum_us += us;
	latencies->bursts[latency_bucket(us) % LATENCY_BUCKETS]++;
}

#endif
