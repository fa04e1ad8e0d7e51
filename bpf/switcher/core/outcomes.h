/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Outcomes say what came of the algorithms that a connection had. The table does not know all of
 * the path, nor what an algorithm still remembers of one that has changed. For the algorithm in
 * use, and for a while for each that was left, it is known how much longer bursts, or the writes of
 * a stream, took than the table said; that is held against what is predicted of the others.
 */
#ifndef KIRIKAE_OUTCOMES_H
#define KIRIKAE_OUTCOMES_H

#include "arithmetic/branch_free.h"
#include "arithmetic/fixed_log.h"
#include "connection/connection.h"
#include "switcher/core/interpolation.h"

/* Occasions for which it is known of what was left; twice as many each time that it was left again
 * for having taken longer. */
#define OUTCOME_KNOWN 64
#define OUTCOMES_COUNTED 8
/* What makes one algorithm slower than predicted makes all of them so, up to this, in 1/256 octave.
 * Beyond it the table is wrong about this one. */
#define COMMON_EXCESS ((s32)OCTAVE / 2)
/* No outcome counts as further from what was predicted than this, in 1/256 octave. */
#define MOST_EXCESS ((s32)(6 * OCTAVE))

/* Returns how often what was chosen mattered: bursts begun, and round trips of a stream. */
static __always_inline u32 occasions(const struct connection *c)
{
	return c->bursts.begun + c->stream.looks;
}

/* Returns how much longer than predicted something took, in 1/256 octave. */
static __always_inline s32 excess_of(u32 latency_us, u32 predicted_us)
{
	s32 excess = (s32)log2_fixed(latency_us) - (s32)log2_fixed(predicted_us);

	return most(least(excess, MOST_EXCESS), -MOST_EXCESS);
}

/* Returns what was measured. */
static __always_inline u32 load_of(const struct measured *measured)
{
	if (measured->share)
		return LOAD_STREAM;
	return measured->burst == BULK ? LOAD_FILE : LOAD_ANSWER;
}

/* Returns the excess of a column that was left; where it is not known, `otherwise`. */
static __always_inline s32 remembered_excess(const struct connection *c, u32 column, u32 load,
					     s32 otherwise)
{
	const struct outcome *outcome = &c->outcomes.by_column[column % TABLE_ALGORITHMS];
	u32 is_known =
		if_below(0, outcome->until - occasions(c)) & if_below(outcome->load ^ load, 1);

	return otherwise + ((outcome->excess - otherwise) & is_known);
}

/* A column is about to be left; its excess was so much. */
static __always_inline void outcome_remember(struct connection *c, u32 column, u32 load, s32 excess)
{
	struct outcome *outcome = &c->outcomes.by_column[column % TABLE_ALGORITHMS];

	if (excess <= 0)
		outcome->failures = 0;
	outcome->excess = excess;
	outcome->load = load;
	outcome->until = occasions(c) + (OUTCOME_KNOWN << (outcome->failures % OUTCOMES_COUNTED));
	outcome->failures = min(outcome->failures + 1, OUTCOMES_COUNTED - 1);
}

#endif
