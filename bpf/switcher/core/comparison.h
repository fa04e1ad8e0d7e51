/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is switched is compared with what is not on the same connections.
 *
 * Paths differ by far more than a switch is worth. So where an operator holds a share back, a
 * connection is compared with itself: its bursts are cut into spans, and for each a lot is drawn
 * whether it is held back, on the algorithm that the connection came with. What the bursts of a
 * span took is held against what those before it took; and how far spans of the connection usually
 * are from that is their stratum, so that connections whose latency hardly varies are not drowned
 * by those whose latency does. Both are known before the lot is drawn, so that they favour neither
 * treatment (docs/guard.md).
 */
#ifndef KIRIKAE_COMPARISON_H
#define KIRIKAE_COMPARISON_H

#include "arithmetic/branch_free.h"
#include "arithmetic/fixed_log.h"
#include "connection/connection.h"
#include "interface/span_sums.h"

/* So many bursts of a span do not count: the algorithm that was just set settles in them. */
#define SPAN_SETTLING 3
#define SPAN_SCALE (SPAN_OCTAVE / OCTAVE)
/* A burst counts as no further from the usual than this: single timeouts would outweigh hundreds of
 * bursts. */
#define SPAN_CLIP (SPAN_OCTAVE * 3 / 2)
/* A new span counts 1/2 in what is usual, and 1/2^2 in how far spans are from it. */
#define USUAL_SHIFT 1
#define SPREAD_SHIFT 2
#define SPREAD_AT_FIRST (SPAN_OCTAVE / 4)
/* Connections with a smaller spread are in the first stratum; each of the next ones ends at twice
 * as much. */
#define SPAN_CALMEST (SPAN_OCTAVE / 16)
/* The first so many spans of a connection all count, of the next twice as many every other one, and
 * so on: one that lasts does not outweigh the others of its group. */
#define SPANS_IN_FULL 64
/* The thinning stays from here on. */
#define THINNEST 9

/* The next span begins. */
static __always_inline void span_begin(struct comparison *span)
{
	span->bursts = 0;
	span->sum = 0;
}

static __always_inline bool span_is_over(const struct comparison *span)
{
	return span->bursts >= SPAN_SETTLING + SPAN_COUNTED;
}

/* A burst of the span is over. Once the span is over itself, no more bursts count. */
static __always_inline void span_burst(struct comparison *span, u32 latency_us)
{
	s32 octaves = (s32)log2_fixed(latency_us) * (s32)SPAN_SCALE - span->usual;

	if (span->usual)
		octaves = most(least(octaves, SPAN_CLIP), -SPAN_CLIP);
	if (span->bursts >= SPAN_SETTLING && !span_is_over(span))
		span->sum += octaves;
	if (!span_is_over(span))
		span->bursts++;
}

/* Returns the stratum that the connection was in before the present span. */
static __always_inline u32 span_stratum(const struct comparison *span)
{
	s32 spread = span->spread ? span->spread : SPREAD_AT_FIRST;
	u32 stratum = 0;

	for (u32 i = 0; i < SPAN_STRATA - 1; i++)
		stratum += if_below(spread, SPAN_CALMEST << i) + 1;
	return stratum;
}

/* Returns the mean of the span's bursts, in 1/SPAN_OCTAVE octave. There is no signed division in
 * BPF. */
static __always_inline s32 span_mean(const struct comparison *span)
{
	u32 above_least = (u32)(span->sum + SPAN_COUNTED * SPAN_CLIP);

	return (s32)(above_least / SPAN_COUNTED) - SPAN_CLIP;
}

/* Returns all bits set where the present span counts, else 0. The first one does not: it tells what
 * is usual. */
static __always_inline u32 span_counts(const struct comparison *span)
{
	u32 place = span->spans & ((1U << span->thinning) - 1);

	return if_below(0, span->usual) & if_below(place, 1);
}

/* A span is over. Returns how far its bursts were from the usual in the mean, in 1/SPAN_OCTAVE
 * octave. */
static __always_inline s32 span_end(struct comparison *span)
{
	s32 octaves = span_mean(span);
	s32 from_usual = most(octaves, -octaves);

	if (!span->usual) {
		span->usual = most(octaves, 1);
		span->spread = SPREAD_AT_FIRST;
		return 0;
	}
	if (++span->spans == SPANS_IN_FULL << span->thinning) {
		span->spans = 0;
		span->thinning = min(span->thinning + 1, THINNEST);
	}
	span->usual += octaves >> USUAL_SHIFT;
	span->spread += (from_usual - span->spread) >> SPREAD_SHIFT;
	return octaves;
}

#endif
