/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The choice: the algorithm that is expected to take least longer than the best one would.
 *
 * Source: rtcp, section 4.5, whose choice is the smallest predicted latency. Differences:
 * 1. What is predicted is interpolated between the table's points, and is the mean over the
 *    conditions that the connection may be under.
 * 2. Under each condition it is taken in proportion to the best algorithm's: of a condition that
 *    makes everything slow no more is lost by a wrong choice than of others.
 * 3. Another algorithm has to promise MARGIN less, twice in a row, and not right after a switch;
 *    one that promises far less is taken at once.
 */
#ifndef KIRIKAE_CHOICE_H
#define KIRIKAE_CHOICE_H

#include "belief.h"

/* Gain at which a switch pays, and from which it does not wait. 1/256 */
#define MARGIN (OCTAVE + OCTAVE / 16)
#define FAR_BETTER (OCTAVE + OCTAVE / 2)
/* Choices in a row that have to agree, and that a new algorithm is given. */
#define AGREEING 2
#define DWELL 4
/* No algorithm counts as more than so much slower than the best. */
#define SLOWEST (6 * OCTAVE)
/* Weights are up to 2^16. */
#define WEIGHT_LOG (16 * OCTAVE)

struct prediction {
	struct columns latency_us; /* expected of each algorithm */
	struct columns regret;	   /* expected latency over the best algorithm's, 1/256 */
};

static __always_inline void predict(const struct latency_table *t, const struct corners *corners,
				    const struct belief *belief, struct prediction *p)
{
	u64 latency[TABLE_ALGORITHMS] = {};
	u64 regret[TABLE_ALGORITHMS] = {};
	u64 weights = 0;

	for (u32 i = 0; i < TABLE_CONDITIONS; i++) {
		u64 weight = exp2_fixed(WEIGHT_LOG + belief->of[i]);
		u16 log[TABLE_ALGORITHMS];
		u32 best = 0xffff;

		if (i >= t->conditions)
			break;
		for (u32 k = 0; k < TABLE_ALGORITHMS; k++) {
			struct expectation expected;

			expect(t, corners, i, k, &expected);
			log[k] = k < t->algorithms ? expected.latency : 0xffff;
			best = min(best, (u32)log[k]);
		}
		weights += weight;
		for (u32 k = 0; k < TABLE_ALGORITHMS; k++) {
			u32 slower = min(log[k] - best, SLOWEST);

			latency[k] += weight * exp2_fixed(log[k]);
			regret[k] += weight * exp2_fixed(8 * OCTAVE + slower);
		}
	}
	for (u32 k = 0; k < TABLE_ALGORITHMS; k++) {
		p->latency_us.of[k] = latency[k] / max(weights, 1ULL);
		p->regret.of[k] = regret[k] / max(weights, 1ULL);
	}
}

/* The column to use where `in_use` is; for a connection in none of them, TABLE_ALGORITHMS. */
static __always_inline u32 choose(const struct latency_table *t, const struct prediction *p,
				  u32 in_use, struct patience *patience)
{
	u32 best = 0;
	u32 least = ~0U;
	u32 gain;

	for (u32 k = 0; k < TABLE_ALGORITHMS && k < t->algorithms; k++) {
		if (p->regret.of[k] < least) {
			best = k;
			least = p->regret.of[k];
		}
	}
	if (in_use >= TABLE_ALGORITHMS)
		return best;
	patience->choices = min(patience->choices + 1, DWELL);
	gain = p->regret.of[in_use % TABLE_ALGORITHMS] * OCTAVE / max(least, 1U);
	if (gain < MARGIN) {
		patience->agreeing = 0;
		return in_use;
	}
	patience->agreeing = min(patience->agreeing + 1, AGREEING);
	if (gain >= FAR_BETTER || (patience->agreeing == AGREEING && patience->choices == DWELL))
		return best;
	return in_use;
}

#endif
