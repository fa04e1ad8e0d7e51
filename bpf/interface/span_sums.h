/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The guard is told by these sums how far from the usual spans of bursts were; see
 * switcher/core/comparison.h. */
#ifndef KIRIKAE_SPAN_SUMS_H
#define KIRIKAE_SPAN_SUMS_H

#include "interface/burst_latencies.h"

/* So many bursts of a span count. */
#define SPAN_COUNTED 5
/* An octave of latency has so many steps. */
#define SPAN_OCTAVE 4096
/* Connections are told apart by how far their spans are from the usual: below 1/16 of an octave,
 * 1/8, 1/4, 1/2, and from there on. */
#define SPAN_STRATA 5

/* The sums are of all spans of a scope, in a stratum, with one treatment. */
struct span_sums {
	u64 spans;
	u64 bursts;  /* that were counted */
	s64 sum;     /* how far above the usual, 1/SPAN_OCTAVE octave */
	u64 squares; /* the squares of the same, summed up */
};

static __always_inline u32 span_sums_key(u32 scope, u32 stratum, bool is_managed)
{
	return (scope * SPAN_STRATA + stratum) * TREATMENTS + !is_managed;
}

#endif
