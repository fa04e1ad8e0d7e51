/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lost segments sorted into runs: isolated (at most 2 consecutive) and burst (3 or more).
 *
 * Source: rtcp, section 4.2. The kernel of 2010 told the two apart by how recovery was entered;
 * with RACK it is always entered the same way, so the lengths of the lost runs are counted, from
 * the segments that are sent again.
 *
 * Isolated losses are counted by segment, because the isolated tables run over the loss rate of
 * segments. Burst losses are counted by run: the tables' largest rate is 1.79 % with 46 segments
 * a burst, less than one in 46, which only fits one count for each overflow.
 */
#ifndef KIRIKAE_LOSS_RUNS_H
#define KIRIKAE_LOSS_RUNS_H

#include "../include/connection.h"

#define BURST_RUN_SEGMENTS 3

/* `segments` of `mss` bytes from `seq` on are sent again. */
static __always_inline void loss_runs_retransmit(struct loss_runs *runs, u32 seq, u32 segments,
						 u32 mss)
{
	u32 before_it = 0;

	if (runs->segments && seq == runs->end_seq)
		before_it = runs->segments; /* the run goes on */
	runs->segments = before_it + segments;
	runs->end_seq = seq + segments * mss;

	if (runs->segments < BURST_RUN_SEGMENTS) {
		runs->isolated += segments;
	} else if (before_it < BURST_RUN_SEGMENTS) {
		/* What had looked isolated was the beginning of a burst loss. */
		runs->isolated -= min(runs->isolated, before_it);
		runs->bursts++;
	}
}

/* The receiver had a segment already (DSACK, RFC 2883): it was sent again without being lost. */
static __always_inline void loss_runs_dsack(struct loss_runs *runs, u32 dsack_dups)
{
	u32 spurious = dsack_dups - runs->dsack_dups;

	runs->isolated -= min(runs->isolated, spurious);
	runs->dsack_dups = dsack_dups;
}

#endif
