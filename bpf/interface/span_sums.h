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

/* The connections of a scope are judged in groups: those of a cgroup of this level, or above it. On
 * the usual host cgroups of this level are made by root alone (a service, a user, a container), and
 * what is made below them is of the same tenant. */
#define SPAN_GROUP_LEVEL 2
/* So many groups are told apart; the others of a scope are one together. */
#define SPAN_GROUPS 256
/* With this share all spans are held back. */
#define SPAN_SHARE_ALL 0xffffffffU

/* The sums are of all spans of a group, in a stratum, with one treatment. */
struct span_sums {
	u64 spans;
	u64 bursts;  /* that were counted */
	s64 sum;     /* how far above the usual, 1/SPAN_OCTAVE octave */
	u64 squares; /* the squares of the same, summed up */
};

#define SPAN_SUMS (SPAN_STRATA * TREATMENTS)

struct span_group_key {
	u64 cgroup; /* its id; 0: all others of the scope */
	u32 scope;
	u32 zero;
};

struct span_group {
	u32 share; /* of its spans that is held back, in 1/2^32; 0: the scope's */
	u32 epoch; /* spans whose lots were drawn in another one do not count */
	struct span_sums sums[SPAN_SUMS]; /* by span_sums_place() */
};

static __always_inline u32 span_sums_place(u32 stratum, bool is_managed)
{
	return stratum * TREATMENTS + !is_managed;
}

#endif
