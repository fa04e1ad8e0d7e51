/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thesis' latency tables say what latency each algorithm was measured to have at a given round
 * trip and loss rate (isolated losses) or free bandwidth (burst losses).
 *
 * Source: the thesis (Oguchi, 2016), section 4.3, Figs 4-9 to 4-17.
 */
#ifndef KIRIKAE_THESIS_TABLE_H
#define KIRIKAE_THESIS_TABLE_H

#include "arithmetic/branch_free.h"

#define THESIS_RTTS 8
#define THESIS_POINTS 16
#define THESIS_ALGORITHMS 16
/* No point is so far from a value, and no latency is so long. */
#define THESIS_FAR 0x7fffffff

/* Where values were measured, ascending. */
struct thesis_points {
	u32 at[THESIS_POINTS];
};

/* One value for each algorithm. */
struct thesis_columns {
	u32 by_column[THESIS_ALGORITHMS];
};

struct thesis_table {
	u32 algorithms; /* columns in use, 1 to THESIS_ALGORITHMS */
	u32 rtts;	/* round-trip times in use, 1 to THESIS_RTTS */
	u32 losses;	/* isolated loss rates in use, 1 to THESIS_POINTS */
	u32 bandwidths; /* bandwidths in use, 1 to THESIS_POINTS */
	/* Each column has the in-kernel name of its algorithm; it describes a connection that is
	 * found using that algorithm. */
	char name[THESIS_ALGORITHMS][TCP_CA_NAME_MAX];
	/* The column also describes this algorithm of the kernel's own; empty: none. */
	char also[THESIS_ALGORITHMS][TCP_CA_NAME_MAX];
	struct thesis_points rtt_us;   /* the first THESIS_RTTS places */
	struct thesis_points loss_ppb; /* losses per 10^9 segments */
	/* These are latencies by isolated loss rate. */
	struct thesis_columns isolated_us[THESIS_RTTS][THESIS_POINTS];
	/* An algorithm sees so many burst losses per 10^9 segments, from the largest bandwidth to
	 * the smallest, so that the rates ascend. */
	struct thesis_points burst_ppb[THESIS_RTTS][THESIS_ALGORITHMS];
	/* These are latencies by bandwidth, in the same order. */
	struct thesis_columns bandwidth_us[THESIS_RTTS][THESIS_POINTS];
};

/* Returns `a` where all bits of `is_a` are set, and `b` where none is. A product takes the place of
 * a mask: the verifier takes a constant under a mask for two ways. */
static __always_inline u32 one_of(u32 a, u32 b, u32 is_a)
{
	return b + (b - a) * is_a;
}

/*
 * Returns the place of the point nearest to a value, among the first `count`; the lower of two
 * equally near ones. "Values between or beyond the table's points use the nearest point" (section
 * 4.5).
 */
static __always_inline u32 nearest(const struct thesis_points *points, u32 count, u32 value)
{
	u32 best = 0;
	u32 best_distance = THESIS_FAR;

	for (u32 i = 0; i < THESIS_POINTS && i < count; i++) {
		u32 is_below = if_below(points->at[i], value);
		u32 distance = ((points->at[i] - value) ^ is_below) - is_below;

		best = one_of(i, best, if_below(distance, best_distance));
		best_distance = least(distance, best_distance);
	}
	return best;
}

#endif
