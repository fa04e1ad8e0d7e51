/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loss rates over measuring periods are smoothed with a moving average.
 *
 * Source: the thesis (Oguchi, 2016), sections 4.4 and 4.6.3. Difference: losses and segments sent
 * are averaged apart and then divided. A period in which one probe was sent and lost would
 * otherwise weigh as much as one in which 46 segments arrived, and interactive traffic has many
 * such periods.
 */
#ifndef KIRIKAE_ESTIMATOR_H
#define KIRIKAE_ESTIMATOR_H

#include "switcher/core/loss_runs.h"

#define PERIOD_MIN_US (50 * USEC_PER_MSEC)
#define PPB 1000000000ULL
/* Averages keep this many binary digits after the point, so that a rate can fall to 1e-5. */
#define AVERAGE_POINT_SHIFT 16
/* Averages take up 1/2^AVERAGE_WEIGHT_SHIFT of each new period. The thesis names no weight; with
 * this one the average reaches over about 16 periods with traffic, some 700 segments of 64 KB
 * bursts. */
#define AVERAGE_WEIGHT_SHIFT 4

/* A period counts as no more segments than this: a peer that reports more than any window holds
 * must not make sums overflow. */
#define PERIOD_SEGMENTS_MAX (1 << 16)

/* Returns the period in use: `fixed_us`, or for 0 one smoothed round trip of at least 50 ms. */
static __always_inline u32 estimator_period_us(u32 fixed_us, u32 srtt_us)
{
	return fixed_us ? fixed_us : max(srtt_us, PERIOD_MIN_US);
}

/* Counts below 0 take back what earlier counts brought in; the average never falls below 0. */
static __always_inline u64 moving_average(u64 average, s64 count)
{
	s64 next = average - (average >> AVERAGE_WEIGHT_SHIFT);

	next += count * (1 << (AVERAGE_POINT_SHIFT - AVERAGE_WEIGHT_SHIFT));
	return next > 0 ? next : 0;
}

static __always_inline s32 within_period(s32 segments)
{
	return max(min(segments, PERIOD_SEGMENTS_MAX), -PERIOD_SEGMENTS_MAX);
}

static __always_inline u32 rate_ppb(u64 losses, u64 sent)
{
	u64 rate = losses * PPB / max(sent, 1ULL);

	return min(rate, PPB);
}

/*
 * Ends the period when it is over; `segs_out` is the socket's count of segments sent. Returns
 * whether there is something to choose by: new rates, with what the period brought in `period`, or,
 * when the first one begins with the first ACK, the round-trip time.
 */
static __always_inline bool estimator_update(struct estimator *e, struct loss_runs *runs,
					     u64 now_us, u32 period_us, u32 segs_out,
					     struct period *period)
{
	u32 sent = segs_out - e->period_start_segs;

	if (e->period_start_us && now_us - e->period_start_us < period_us)
		return false;
	/* Where nothing was sent there is no news. The first ACK after an idle gap ends the period
	 * over it. */
	if (e->period_start_us && sent) {
		period->sent = min(sent, (u32)PERIOD_SEGMENTS_MAX);
		period->isolated = within_period(runs->isolated);
		period->bursts = within_period(runs->bursts);
		e->averaged_sent = moving_average(e->averaged_sent, sent);
		e->averaged_isolated = moving_average(e->averaged_isolated, runs->isolated);
		e->averaged_bursts = moving_average(e->averaged_bursts, runs->bursts);
		e->isolated_ppb = rate_ppb(e->averaged_isolated, e->averaged_sent);
		e->burst_ppb = rate_ppb(e->averaged_bursts, e->averaged_sent);
		e->all_sent += sent;
		e->all_isolated += runs->isolated;
		e->all_bursts += runs->bursts;
		runs->isolated = 0;
		runs->bursts = 0;
	}
	e->period_start_us = now_us;
	e->period_start_segs = segs_out;
	return sent > 0;
}

#endif
