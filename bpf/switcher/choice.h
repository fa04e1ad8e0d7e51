/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The choice: the algorithm that is expected to take least longer than the best one would.
 *
 * Source: rtcp, section 4.5, whose choice is the smallest predicted latency. Differences:
 * 1. What is predicted is interpolated between the table's points, and is the mean over the
 *    conditions that the connection may be under.
 * 2. Under each condition it is taken in proportion to the best algorithm's: of a condition that
 *    makes everything slow no more is lost by a wrong choice than of others.
 * 3. Paths change, and until that has been noticed the choice is for another path than it was made
 *    for: 1/2^4 of what is expected of an algorithm is what it does on the others.
 * 4. An algorithm that was measured to take no longer than the best is expected to is kept,
 *    whatever was expected of it.
 * 5. Another algorithm has to promise a margin less, twice in a row, and not right after a switch,
 *    or as much, where it does better on other paths. That is a trial (trial.h): where bursts turn
 *    out to take longer with it, the one before is taken again, and kept for a while. Of a stream
 *    all of which is carried it is measured first what its writes take.
 * 6. One that promises far less is taken at once, whatever trials came to; but not where it is
 *    measured what the writes of a stream take, or is about to be.
 * 7. Where bursts or the writes of a stream take far longer than the table says of the algorithm in
 *    use, it is wrong of the path or of what the algorithm remembers: the best of the others is
 *    tried.
 */
#ifndef KIRIKAE_CHOICE_H
#define KIRIKAE_CHOICE_H

#include "belief.h"
#include "scope.h"
#include "streams.h"
#include "trial.h"

/* Gain from which a switch does not wait. 1/256 */
#define FAR_BETTER (OCTAVE + OCTAVE / 2)
/* Gain from which what was never seen to be a stream is probed for being one. 1/256 */
#define PROBED_FROM (2 * OCTAVE)
/* The table is wrong where what is written takes more than so many times as long as expected. */
#define WRONG_FROM 2
/* No algorithm counts as more than so much slower than the best. */
#define SLOWEST ((s32)(6 * OCTAVE))
/* Latency of a column that is none: all bits set, and beyond any other. */
#define NO_COLUMN 0x1fff
/* The share of other paths. */
#define ELSEWHERE 4
/* Weights are up to 2^16. */
#define WEIGHT_LOG (16 * OCTAVE)
#define SHARE_BITS 16

static __always_inline u64 condition_weight(const struct latency_table *t,
					    const struct belief *belief, u32 condition)
{
	return exp2_fixed(WEIGHT_LOG + belief->of[condition]) & if_below(condition, t->conditions);
}

/* The regret where the path may have become any other; bursts stay what they are. */
static __always_inline u32 regret_elsewhere(const struct latency_table *t,
					    const struct corners *corners, u32 algorithm)
{
	u64 regret = 0;

	for (u32 i = 0; i < 8; i++)
		regret += (u64)corners->share[i] *
			  t->elsewhere[corners->cell[i] % TABLE_LOADS][algorithm];
	return regret >> (3 * STEP_BITS);
}

/* Returns 0, as belief_update(). */
VERIFIED_APART int predict(const struct latency_table *t, const struct corners *corners,
			   const struct belief *belief, struct prediction *p)
{
	u64 weights = 1;

	if (!t || !corners || !belief || !p)
		return 0;
	for (u32 i = 0; i < TABLE_CONDITIONS; i++)
		weights += condition_weight(t, belief, i);
	__builtin_memset(p, 0, sizeof(*p));
	for (u32 i = 0; i < TABLE_CONDITIONS; i++) {
		u64 share = (condition_weight(t, belief, i) << SHARE_BITS) / weights;
		s32 log[TABLE_ALGORITHMS];
		s32 best = NO_COLUMN;

		for (u32 k = 0; k < TABLE_ALGORITHMS; k++) {
			struct expectation expected;

			expect(t, corners, i, k, &expected);
			log[k] = expected.latency | (NO_COLUMN & ~if_below(k, t->algorithms));
			best = least(best, log[k]);
		}
		for (u32 k = 0; k < TABLE_ALGORITHMS; k++) {
			u32 slower = 16 * OCTAVE + least(log[k] - best, SLOWEST);

			p->latency_us.of[k] += share * exp2_fixed(log[k]) >> SHARE_BITS;
			p->regret.of[k] += share * exp2_fixed(slower) >> SHARE_BITS;
		}
	}
	for (u32 k = 0; k < TABLE_ALGORITHMS; k++) {
		p->elsewhere.of[k] = regret_elsewhere(t, corners, k);
		p->regret.of[k] -= p->regret.of[k] >> ELSEWHERE;
		p->regret.of[k] += p->elsewhere.of[k] >> ELSEWHERE;
	}
	return 0;
}

/* The column with the least regret, of all but one. */
static __always_inline u32 least_regret_but(const struct latency_table *t,
					    const struct prediction *p, u32 but)
{
	u32 lowest = ~0U;
	u32 best = 0;

	for (u32 k = 0; k < TABLE_ALGORITHMS && k < t->algorithms; k++) {
		if (k != but && p->regret.of[k] < lowest) {
			best = k;
			lowest = p->regret.of[k];
		}
	}
	return best;
}

/* Whether a probe for a stream is due, and gets no stream's algorithm. */
static __always_inline bool is_left_as_bulk(struct stream *s, u32 gain)
{
	bool is_given = s->demand || gain >= PROBED_FROM;

	if (!is_probe_due(s))
		return false;
	probe(s, is_given);
	return !is_given;
}

/*
 * The column to use where `in_use` is, with what takes `latency_us` (0: not known); for a
 * connection in none of them, TABLE_ALGORITHMS. By what was predicted and measured for its
 * decision.
 */
VERIFIED_APART u32 choose(const struct latency_table *t, const struct hysteresis *hysteresis,
			  u32 latency_us, u32 in_use, struct connection *c)
{
	bool has_share, is_slow, by_table, is_better, is_safer, is_wrong, is_far;
	const struct prediction *p;
	struct patience *patience;
	u32 best, expected_us, gain;

	if (!t || !hysteresis || !c)
		return in_use;
	p = &c->decision.prediction;
	patience = &c->patience;
	has_share = c->decision.measured.share;
	best = least_regret_but(t, p, TABLE_ALGORITHMS);
	expected_us = p->latency_us.of[best % TABLE_ALGORITHMS];
	if (in_use >= TABLE_ALGORITHMS)
		return best;
	/* The verifier has forgotten the bound of `in_use` where it is needed. */
	in_use = read_now(in_use) % TABLE_ALGORITHMS;
	patience->choices = min(patience->choices + 1, hysteresis->dwell);
	is_wrong = latency_us / WRONG_FROM > p->latency_us.of[in_use];
	if (trial_failed(c, latency_us, is_wrong))
		return c->trial.left;
	if (has_share && c->trial.left_us)
		return in_use;
	is_wrong = is_wrong && may_try_another(c);
	if (is_wrong)
		best = least_regret_but(t, p, in_use);
	gain = p->regret.of[in_use] * OCTAVE / max(p->regret.of[best % TABLE_ALGORITHMS], 1U);
	is_slow = latency_us && exceeds(latency_us, expected_us);
	by_table = !latency_us && !(has_share && is_to_be_measured(&c->stream));
	is_better = gain >= OCTAVE + hysteresis->margin && (is_slow || by_table);
	if (has_share && is_left_as_bulk(&c->stream, gain))
		return in_use;
	is_far = gain >= FAR_BETTER && !(has_share && latency_us);
	is_safer = exceeds(p->elsewhere.of[in_use], p->elsewhere.of[best % TABLE_ALGORITHMS]);
	if (!(is_better || (is_slow && is_safer) || is_wrong) ||
	    (!is_far && !is_wrong && !may_try(c))) {
		patience->agreeing = 0;
		return in_use;
	}
	patience->agreeing = min(patience->agreeing + 1, hysteresis->agreeing);
	if (!is_far &&
	    (patience->agreeing < hysteresis->agreeing || patience->choices < hysteresis->dwell))
		return in_use;
	if (is_wrong)
		trial_rest(c);
	trial_begin(&c->trial, in_use, is_far ? 0 : latency_us);
	return best;
}

#endif
