/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The choice falls on the algorithm that is expected to take least longer than the best one would.
 *
 * Source: the thesis (Oguchi, 2016), section 4.5, whose choice is the smallest predicted latency.
 * Differences:
 * 1. What is predicted is interpolated between the table's points, and is the mean over the
 *    conditions that the connection may be under.
 * 2. Under each condition it is taken in proportion to the best algorithm's: a condition that
 *    makes everything slow counts no more for a wrong choice than others do.
 * 3. Paths change, and until that has been noticed the choice is for another path than it was made
 *    for: 1/2^4 of what is expected of an algorithm is what it does on the others.
 * 4. What was measured counts (outcomes.h): an algorithm that took twice as long as predicted is
 *    held to do so again, be it in use or left of late. What takes longer than predicted, though
 *    not by far, is taken to do so with all.
 * 5. Another algorithm has to promise a margin less, twice in a row, and not right after a switch.
 *    Where it is measured that what is in use takes longer, it may also promise hardly less, if it
 *    does better on other paths. Where all of a stream is carried, it is measured first what its
 *    writes take.
 * 6. An algorithm that promises far less is taken at once; but not where it is measured what the
 *    writes of a stream take, or is about to be.
 * 7. What a connection came with counts as it is; against others there may be something, such as
 *    that they are barred in bulk.
 */
#ifndef KIRIKAE_CHOICE_H
#define KIRIKAE_CHOICE_H

#include "interface/scope.h"
#include "switcher/core/belief.h"
#include "switcher/core/outcomes.h"
#include "switcher/core/streams.h"

/* A switch does not wait where the gain is so large, in 1/256. */
#define FAR_BETTER (OCTAVE + OCTAVE / 2)
/* What was never seen to be a stream is probed for being one where the gain is so large, in 1/256.
 */
#define PROBED_FROM (2 * OCTAVE)
/* Where a connection came with an algorithm that the table describes, bbr, another one has to
 * promise so much more than the margin, in 1/256 octave: there is little to gain beside bbr, and it
 * is lost on a path that the table is wrong about. */
#define OWN_LEFT_FROM (OCTAVE / 4)
/* No algorithm counts as slower than the best by more than this. */
#define SLOWEST ((s32)(6 * OCTAVE))
/* A column that is none has this latency: all bits are set, and it is beyond any other. */
#define NO_COLUMN 0x1fff
/* This regret is beyond any other. */
#define NO_REGRET 0x7fffffff
/* What is larger by 1/32 counts as more; in 1/256. */
#define MARGIN (OCTAVE + OCTAVE / 32)
/* Other paths have a share of 1/2^4 in the regret. */
#define ELSEWHERE_SHIFT 4
/* Weights are at most 2^16. */
#define WEIGHT_LOG (16 * OCTAVE)
#define SHARE_SHIFT 16

static __always_inline u64 condition_weight(const struct latency_table *t,
					    const struct belief *belief, u32 condition)
{
	return exp2_fixed(WEIGHT_LOG + belief->weight_log[condition]) &
	       if_below(condition, t->conditions);
}

/* Returns the regret where the path may have become any other; bursts stay what they are. */
static __always_inline u32 regret_elsewhere(const struct latency_table *t,
					    const struct corners *corners, u32 algorithm)
{
	u64 regret = 0;

	for (u32 i = 0; i < 8; i++)
		regret += (u64)corners->share[i] *
			  t->elsewhere[corners->cell[i] % TABLE_LOADS][algorithm];
	return regret >> (3 * STEP_SHIFT);
}

/*
 * Finds what is held against each column. `own` is the column of what the connection came with:
 * nothing is held against that one, and the stock column may stand for it alone. This is a
 * function for the sake of the stack. Returns 0, as belief_update().
 */
VERIFIED_APART int handicap(const struct latency_table *t, bool is_bulk, u32 own,
			    struct prediction *p)
{
	u32 penalty, least;

	if (!t || !p)
		return 0;
	penalty = is_bulk ? SLOWEST : 0;
	least = OWN_LEFT_FROM & if_below(t->stock, t->algorithms) & if_below(own, t->algorithms) &
		~if_below(own ^ t->stock, 1);
	for (u32 k = 0; k < TABLE_ALGORITHMS; k++) {
		u32 is_other = ~if_below(k ^ own, 1);
		u32 is_barred = -(t->barred_in_bulk >> k & 1);
		u32 is_none = ~if_below(k, t->algorithms) | (if_below(k ^ t->stock, 1) & is_other);

		p->handicap.by_column[k] =
			(most(penalty & is_barred, least) & is_other) | (NO_COLUMN & is_none);
	}
	return 0;
}

/* Returns all bits set where a column may be given, and none otherwise. */
static __always_inline u32 is_usable(const struct prediction *p, u32 column)
{
	return if_below(p->handicap.by_column[column % TABLE_ALGORITHMS], NO_COLUMN);
}

/* Predicts what each column takes; handicap() comes before it. Returns 0, as belief_update(). */
VERIFIED_APART int predict(const struct latency_table *t, const struct corners *corners,
			   const struct belief *belief, struct prediction *p)
{
	u64 weights = 1;

	if (!t || !corners || !belief || !p)
		return 0;
	for (u32 i = 0; i < TABLE_CONDITIONS; i++)
		weights += condition_weight(t, belief, i);
	__builtin_memset(&p->latency_us, 0, sizeof(p->latency_us));
	__builtin_memset(&p->regret, 0, sizeof(p->regret));
	for (u32 i = 0; i < TABLE_CONDITIONS; i++) {
		u64 share = (condition_weight(t, belief, i) << SHARE_SHIFT) / weights;
		s32 log[TABLE_ALGORITHMS];
		s32 best = NO_COLUMN;

		for (u32 k = 0; k < TABLE_ALGORITHMS; k++) {
			struct expectation expected;

			expect(t, corners, i, k, &expected);
			log[k] = least(expected.latency + p->handicap.by_column[k], NO_COLUMN);
			best = least(best, log[k]);
		}
		for (u32 k = 0; k < TABLE_ALGORITHMS; k++) {
			u32 slower = 16 * OCTAVE + least(log[k] - best, SLOWEST);

			p->latency_us.by_column[k] += share * exp2_fixed(log[k]) >> SHARE_SHIFT;
			p->regret.by_column[k] += share * exp2_fixed(slower) >> SHARE_SHIFT;
		}
	}
	for (u32 k = 0; k < TABLE_ALGORITHMS; k++) {
		p->elsewhere.by_column[k] = regret_elsewhere(t, corners, k)
					    << (p->handicap.by_column[k] / OCTAVE & 7);
		p->latency_us.by_column[k] &= is_usable(p, k);
		p->regret.by_column[k] -= p->regret.by_column[k] >> ELSEWHERE_SHIFT;
		p->regret.by_column[k] += p->elsewhere.by_column[k] >> ELSEWHERE_SHIFT;
	}
	return 0;
}

/* Returns the regret to be expected of a column that was measured to take so much longer than
 * predicted, in 1/65536. */
static __always_inline u32 regret_with(const struct prediction *p, u32 column, s32 excess)
{
	u64 times = exp2_fixed(16 * OCTAVE + excess);

	return p->regret.by_column[column % TABLE_ALGORITHMS] * times >> 16;
}

/* Returns the column with the least regret to be expected, of all but one, and writes that regret
 * to `least`. A column of which nothing was measured is taken to need `common` longer than
 * predicted. */
static __always_inline u32 least_regret_but(const struct latency_table *t,
					    const struct connection *c, u32 but, s32 common,
					    u32 *least)
{
	const struct prediction *p = &c->decision.prediction;
	u32 load = load_of(&c->decision.measured);
	u32 best = 0;

	*least = NO_REGRET;
	for (u32 k = 0; k < TABLE_ALGORITHMS; k++) {
		s32 excess = remembered_excess(c, k, load, common);
		u32 regret = regret_with(p, k, excess);
		u32 is_less = if_below(regret, *least) & is_usable(p, k) & ~if_below(k ^ but, 1);

		best += (k - best) & is_less;
		*least += (regret - *least) & is_less;
	}
	return best;
}

/* Returns whether a probe for a stream is due that gets no stream's algorithm. */
static __always_inline bool is_left_as_bulk(struct stream *s, u32 gain)
{
	bool is_given = s->demand || gain >= PROBED_FROM;

	if (!is_probe_due(s))
		return false;
	probe(s, is_given);
	return !is_given;
}

static __always_inline bool exceeds(u32 value, u32 other)
{
	return (u64)value * OCTAVE > (u64)other * MARGIN;
}

/*
 * Returns the column to use. `in_use` is the one in use, with which bursts take `latency_us` (0:
 * not known); it is TABLE_ALGORITHMS for a connection in none of them. The choice goes by what was
 * predicted and measured for the connection's decision.
 */
VERIFIED_APART u32 choose(const struct latency_table *t, const struct hysteresis *hysteresis,
			  u32 latency_us, u32 in_use, struct connection *c)
{
	bool has_share, by_table, is_better, is_safer, is_far;
	u32 load, best, least, stays, gain, predicted_gain;
	const struct prediction *p;
	struct patience *patience;
	s32 excess, common;

	if (!t || !hysteresis || !c)
		return in_use;
	p = &c->decision.prediction;
	patience = &c->patience;
	has_share = c->decision.measured.share;
	load = load_of(&c->decision.measured);
	if (in_use >= TABLE_ALGORITHMS)
		return least_regret_but(t, c, in_use, 0, &least);
	/* The verifier has forgotten the bound of `in_use` where it is needed. */
	in_use = read_now(in_use) % TABLE_ALGORITHMS;
	patience->choices = min(patience->choices + 1, hysteresis->dwell);
	if (latency_us)
		c->outcomes.is_trial = false;
	if (has_share && c->outcomes.is_trial)
		return in_use;
	excess = latency_us ? excess_of(latency_us, p->latency_us.by_column[in_use])
			    : remembered_excess(c, in_use, load, 0);
	common = excess > COMMON_EXCESS ? 0 : most(excess, 0);
	best = least_regret_but(t, c, in_use, common, &least) % TABLE_ALGORITHMS;
	stays = regret_with(p, in_use, excess);
	gain = (u64)stays * OCTAVE / max(least, 1U);
	predicted_gain = p->regret.by_column[in_use] * OCTAVE / max(p->regret.by_column[best], 1U);
	if (has_share && is_left_as_bulk(&c->stream, gain))
		return in_use;
	by_table = !latency_us && !(has_share && is_to_be_measured(&c->stream));
	is_better = gain >= OCTAVE + hysteresis->margin && (latency_us || by_table);
	is_safer = gain > MARGIN && latency_us &&
		   exceeds(p->elsewhere.by_column[in_use], p->elsewhere.by_column[best]);
	is_far = min(gain, predicted_gain) >= FAR_BETTER && !(has_share && latency_us);
	if (!is_better && !is_safer && !is_far) {
		patience->agreeing = 0;
		return in_use;
	}
	patience->agreeing = min(patience->agreeing + 1, hysteresis->agreeing);
	if (!is_far &&
	    (patience->agreeing < hysteresis->agreeing || patience->choices < hysteresis->dwell))
		return in_use;
	if (latency_us)
		outcome_remember(c, in_use, load, excess);
	c->outcomes.is_trial = latency_us && !is_far;
	return best;
}

#endif
