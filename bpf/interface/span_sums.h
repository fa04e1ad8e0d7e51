/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How far from the usual spans of bursts were, summed up for the guard; see
 * switcher/core/comparison.h. */
#ifndef KIRIKAE_SPAN_SUMS_H
#define KIRIKAE_SPAN_SUMS_H

#include "interface/burst_latencies.h"

/* Bursts of a span that count. */
#define SPAN_COUNTED 5
/* Steps to an octave of latency. */
#define SPAN_OCTAVE 4096
/* Connections are told apart by how far their spans are from the usual: below 1/16 of an octave,
 * 1/8, 1/4, 1/2, and from there on. */
#define SPAN_STRATA 5

/* Of all spans of a scope, in a stratum, with one treatment. */
struct span_sums {
	u64 spans;
	u64 bursts;  /* that were counted */
	s64 sum;     /* how far above the usual, 1/SPAN_OCTAVE octave */
	u64 squares; /* of the same */
};

static __always_inline u32 span_sums_key(u32 scope, u32 stratum, bool is_managed)
{
	return (scope * SPAN_STRATA + stratum) * TREATMENTS + !is_managed;
}

#endif
