/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What was lost tells which of the table's conditions a connection is likely to be under.
 *
 * After each period every condition's weight is multiplied with how likely it made what the period
 * brought, with the algorithm that was in use: isolated and burst losses are counts of rare events
 * (Poisson). So the same losses mean another condition under another algorithm, as in the thesis'
 * step 3: an algorithm that overflows a queue makes losses of its own, and when they end with it,
 * they were no channel's.
 *
 * Conditions change. A weight therefore never falls below WEIGHT_FLOOR under the largest, which is
 * the fixed-share rule (Herbster and Warmuth, Machine Learning 32, 1998): as if, after each period,
 * everything could have become otherwise with a small probability. Its loss against the best
 * sequence of conditions is bounded, whatever happens.
 *
 * What overflows a queue is lost together, and less news than as many independent losses: all
 * evidence counts half.
 */
#ifndef KIRIKAE_BELIEF_H
#define KIRIKAE_BELIEF_H

#include "switcher/core/estimator.h"
#include "switcher/core/interpolation.h"

/* The belief is never surer than 1 to 2^10. */
#define WEIGHT_FLOOR (-(s32)(10 * OCTAVE))
/* With each period 1/2^8 of what is known is forgotten: an algorithm that avoids losses brings no
 * news, and now and then a trial has to show whether they are still there. */
#define FORGETTING_SHIFT 8
/* A condition that the table lacks has this weight. */
#define IMPOSSIBLE (-(1 << 28))
/* This is log2(e), in steps of 1/256. */
#define LOG2_E 369

/* The belief before anything is known is what the table says. */
static __always_inline void belief_begin(struct belief *belief, const struct latency_table *t)
{
	for (u32 i = 0; i < TABLE_CONDITIONS; i++)
		belief->weight_log[i] = -t->doubt[i];
}

/* Returns how likely a count is where so many are expected, as a logarithm and up to a constant. */
static __always_inline s32 likelihood(s32 count, u32 segments, u32 probability)
{
	u64 expected = segments * exp2_fixed(probability);

	return count * (s32)probability - (s32)(expected * LOG2_E >> PROBABILITY_SHIFT);
}

/* Learns from what a period brought. Returns 0: the verifier wants such functions to return a
 * number. */
VERIFIED_APART int belief_update(struct belief *belief, const struct latency_table *t,
				 const struct corners *corners, u32 algorithm,
				 const struct period *period)
{
	s32 largest = IMPOSSIBLE;

	if (!belief || !t || !corners || !period)
		return 0;
	for (u32 i = 0; i < TABLE_CONDITIONS; i++) {
		struct expectation expected;
		u32 is_one;
		s32 news;

		expect(t, corners, i, algorithm, &expected);
		news = likelihood(period->isolated, period->sent, expected.isolated) +
		       likelihood(period->bursts, period->sent, expected.bursts);
		news = (news >> 1) + ((-t->doubt[i] - belief->weight_log[i]) >> FORGETTING_SHIFT);
		is_one = if_below(i, t->conditions);
		belief->weight_log[i] =
			((belief->weight_log[i] + news) & is_one) | (IMPOSSIBLE & ~is_one);
		largest = most(largest, belief->weight_log[i]);
	}
	for (u32 i = 0; i < TABLE_CONDITIONS; i++)
		belief->weight_log[i] = most(belief->weight_log[i] - largest, WEIGHT_FLOOR);
	return 0;
}

#endif
