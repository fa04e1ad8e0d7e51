/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thesis' latency tables: what latency each algorithm had, measured beforehand, at a given
 * round trip and loss rate (isolated losses) or free bandwidth (burst losses).
 *
 * Source: rtcp (Oguchi 2016), section 4.3, Figs 4-9 to 4-17.
 */
#ifndef KIRIKAE_RTCP_TABLE_H
#define KIRIKAE_RTCP_TABLE_H

#include "kernel/kernel.h"

#define RTCP_RTTS 8
#define RTCP_POINTS 16
#define RTCP_ALGORITHMS 16

/* Where values were measured, ascending. */
struct rtcp_points {
	u32 at[RTCP_POINTS];
};

/* One value for each algorithm. */
struct rtcp_columns {
	u32 of[RTCP_ALGORITHMS];
};

struct rtcp_table {
	u32 algorithms; /* columns in use, 1 to RTCP_ALGORITHMS */
	u32 rtts;	/* round-trip times in use, 1 to RTCP_RTTS */
	u32 losses;	/* isolated loss rates in use, 1 to RTCP_POINTS */
	u32 bandwidths; /* bandwidths in use, 1 to RTCP_POINTS */
	/* In-kernel name of each column; a connection that is found using it is described by it. */
	char name[RTCP_ALGORITHMS][TCP_CA_NAME_MAX];
	/* The kernel's own algorithm that the column also describes; empty: none. */
	char also[RTCP_ALGORITHMS][TCP_CA_NAME_MAX];
	struct rtcp_points rtt_us;   /* the first RTCP_RTTS places */
	struct rtcp_points loss_ppb; /* losses per 10^9 segments */
	/* Latency by isolated loss rate. */
	struct rtcp_columns isolated_us[RTCP_RTTS][RTCP_POINTS];
	/* Burst losses per 10^9 segments that an algorithm sees, from the largest bandwidth to the
	 * smallest, so that the rates ascend. */
	struct rtcp_points burst_ppb[RTCP_RTTS][RTCP_ALGORITHMS];
	/* Latency by bandwidth, in the same order. */
	struct rtcp_columns bandwidth_us[RTCP_RTTS][RTCP_POINTS];
};

/*
 * The place of the point nearest to a value, among the first `count`; the lower of two equally
 * near ones. "Values between or beyond the table's points use the nearest point" (section 4.5).
 */
static __always_inline u32 nearest(const struct rtcp_points *points, u32 count, u32 value)
{
	u32 best = 0;
	u32 best_distance = ~0U;

	for (u32 i = 0; i < RTCP_POINTS && i < count; i++) {
		u32 point = points->at[i];
		u32 distance = point > value ? point - value : value - point;

		if (distance < best_distance) {
			best = i;
			best_distance = distance;
		}
	}
	return best;
}

#endif
