/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Lost segments are sorted into runs: isolated (at most 2 consecutive) and burst (3 or more).
 *
 * Source: the thesis (Oguchi, 2016), section 4.2. The kernel of 2010 told the two apart by how
 * recovery was entered; with RACK it is always entered the same way, so the lengths of the lost
 * runs are counted, from the segments that are sent again.
 *
 * Isolated losses are counted by segment, because the isolated tables run over the loss rate of
 * segments. Burst losses are counted by run: the tables' largest rate is 1.79 % with 46 segments
 * a burst, less than one in 46, which only fits one count for each overflow.
 */
#ifndef KIRIKAE_LOSS_RUNS_H
#define KIRIKAE_LOSS_RUNS_H

#include "connection/connection.h"

#define BURST_RUN_SEGMENTS 3

/* `segments` with `bytes` from `seq` on are sent again. */
static __always_inline void loss_runs_retransmit(struct loss_runs *runs, u32 seq, u32 segments,
						 u32 bytes)
{
	u32 before_it = 0;

	if (runs->segments && seq == runs->end_seq)
		before_it = runs->segments; /* the run goes on */
	else
		runs->spurious = 0;
	runs->segments = before_it + segments;
	runs->end_seq = seq + bytes;

	if (runs->segments < BURST_RUN_SEGMENTS) {
		runs->isolated += segments;
	} else if (before_it < BURST_RUN_SEGMENTS) {
		/* What had looked isolated was the beginning of a burst loss. */
		runs->isolated -= before_it;
		runs->bursts++;
	}
}

/*
 * The receiver had segments already (DSACK, RFC 2883): they were sent again without being lost.
 * The report comes a round trip later, so that what it takes back may have been counted in an
 * earlier period. A burst loss is taken back when all of its segments turn out to have been there,
 * as after a timeout that was none; what goes beyond the latest run were isolated losses. (Segments
 * that the network doubles are reported likewise, and cannot be told apart here.)
 */
static __always_inline void loss_runs_dsack(struct loss_runs *runs, u32 dsack_dups)
{
	u32 spurious = dsack_dups - runs->dsack_dups;
	u32 of_burst = 0;

	runs->dsack_dups = dsack_dups;
	if (runs->segments >= BURST_RUN_SEGMENTS)
		of_burst = min(spurious, runs->segments - runs->spurious);
	runs->spurious += of_burst;
	if (of_burst && runs->spurious == runs->segments)
		runs->bursts--;
	runs->isolated -= spurious - of_burst;
}

#endif
