/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is switched and what is not, compared on the same connections.
 *
 * Paths differ by far more than a switch is worth. So where an operator holds a share back, a
 * connection is compared with itself: its bursts are cut into spans, and for each a lot is drawn
 * whether it is held back, on the algorithm that the connection came with. What the bursts of a
 * span took is held against what those of its switched spans took before; since the lot knows
 * nothing of either, the two kinds of spans differ by what switching does (docs/guard.md).
 */
#ifndef KIRIKAE_COMPARISON_H
#define KIRIKAE_COMPARISON_H

#include "burst_latencies.h"
#include "fixed_log.h"
#include "policy.h"

/* Bursts of a span that do not count, in which the algorithm that was just set settles, and those
 * that do. */
#define SPAN_SETTLING 4
#define SPAN_COUNTED 12
/* Steps to an octave in the mean of a span. */
#define SPAN_OCTAVE 4096
#define SPAN_SCALE (SPAN_OCTAVE / OCTAVE)
/* A new span counts 1/2^2 of what is usual. */
#define USUAL_SHIFT 2

/* Of all spans of a scope with one treatment. */
struct span_sums {
	u64 spans;
	u64 bursts;  /* that were counted */
	s64 sum;     /* how far above the usual, 1/SPAN_OCTAVE octave */
	u64 squares; /* of the same */
};

static __always_inline u32 span_sums_key(u32 scope, bool is_managed)
{
	return scope * TREATMENTS + !is_managed;
}

/* The next span begins; its lot is drawn by the policy of this generation. */
static __always_inline void span_begin(struct comparison *span, u32 generation)
{
	span->drawn_by = generation;
	span->bursts = 0;
	span->sum = 0;
}

/* A burst of it is over. */
static __always_inline void span_burst(struct comparison *span, u32 latency_us)
{
	if (span->bursts >= SPAN_SETTLING)
		span->sum += log2_fixed(latency_us);
	span->bursts++;
}

static __always_inline bool span_is_over(const struct comparison *span)
{
	return span->bursts >= SPAN_SETTLING + SPAN_COUNTED;
}

/* What its bursts took in the mean, 1/SPAN_OCTAVE octave of microseconds; more than 0. */
static __always_inline u32 span_mean(const struct comparison *span)
{
	return max(span->sum * SPAN_SCALE / max(span->bursts - SPAN_SETTLING, 1U), 1U);
}

/* It is over, and was switched or not. */
static __always_inline void span_count(struct comparison *span, struct span_sums *sums)
{
	s64 above = (s64)span_mean(span) - span->usual;

	sums->spans++;
	sums->bursts += span->bursts - SPAN_SETTLING;
	sums->sum += above;
	sums->squares += above * above;
}

/* A switched one has told what is usual. */
static __always_inline void span_is_usual(struct comparison *span)
{
	u32 mean = span_mean(span);

	span->usual = span->usual
			      ? span->usual - (span->usual >> USUAL_SHIFT) + (mean >> USUAL_SHIFT)
			      : mean;
}

#endif
