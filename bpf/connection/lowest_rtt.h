/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lowest RTT of late. The kernel's is that of five minutes, and may be of another route.
 *
 * It is taken over spans of two bursts, or of ten seconds within a longer burst. The first ACKs of
 * a burst have met no queue of its own; bulk has to find the queue empty now and then.
 */
#ifndef KIRIKAE_LOWEST_RTT_H
#define KIRIKAE_LOWEST_RTT_H

#include "connection/connection.h"

#define RTT_SPAN_BURSTS 2
#define RTT_SPAN_US (10ULL * USEC_PER_SEC)

/* Another span begins. */
static __always_inline void rtt_span_begin(struct lowest_rtt *rtt, const struct bursts *bursts,
					   u64 now_us)
{
	rtt->before = rtt->present;
	rtt->present = ~0U;
	rtt->start_us = now_us;
	rtt->start_burst = bursts->begun;
}

/* Takes up a sample. */
static __always_inline void rtt_update(struct lowest_rtt *rtt, const struct bursts *bursts,
				       u64 now_us, u32 sample_us)
{
	if (now_us - rtt->start_us >= RTT_SPAN_US ||
	    bursts->begun - rtt->start_burst >= RTT_SPAN_BURSTS)
		rtt_span_begin(rtt, bursts, now_us);
	rtt->present = min(rtt->present, sample_us);
}

/* Returns the lowest RTT of late, microseconds; ~0: not known. */
static __always_inline u32 lowest_rtt_us(const struct connection *c)
{
	return min(c->rtt.present, c->rtt.before);
}

#endif
