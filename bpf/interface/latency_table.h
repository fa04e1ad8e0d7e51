/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The latency table says what each algorithm was measured to do beforehand, by round-trip time,
 * rate of the bottleneck and load, under each of a list of conditions. A load is the size of a
 * burst, or the share of the rate that a stream asks for (streams.h).
 *
 * The first three are measured on every connection, and what lies between two of their points is
 * interpolated (interpolation.h). A condition (loss, burst loss, queue) cannot be seen from the
 * sender; belief.h infers it from what was lost.
 */
#ifndef KIRIKAE_LATENCY_TABLE_H
#define KIRIKAE_LATENCY_TABLE_H

#include "kernel/kernel.h"

/* A latency table has room for so many of each. */
#define TABLE_CONDITIONS 32
#define TABLE_ALGORITHMS 8
#define TABLE_RTTS 8
#define TABLE_RATES 8
#define TABLE_LOADS 8
#define TABLE_CELLS (TABLE_RTTS * TABLE_RATES * TABLE_LOADS)
#define TABLE_PLACES (TABLE_CELLS * TABLE_CONDITIONS * TABLE_ALGORITHMS)

/* Probabilities are multiples of 2^-30. */
#define PROBABILITY_SHIFT 30

/* What an algorithm was measured to do. All three are logarithms (fixed_log.h). */
struct expectation {
	u16 latency;  /* of a write, microseconds */
	u16 isolated; /* segments lost in runs of at most 2, per segment sent */
	u16 bursts;   /* runs of at least 3 lost segments, per segment sent */
};

/* The points of an axis are logarithms in ascending order; the last one is repeated up to the end.
 */
struct axis {
	u16 at[8];
};

struct latency_table {
	u32 algorithms; /* columns in use, 1 to TABLE_ALGORITHMS */
	u32 conditions; /* in use, 1 to TABLE_CONDITIONS */
	/* Each column has the in-kernel name of its algorithm; it describes a connection that is
	 * found using that algorithm. */
	char name[TABLE_ALGORITHMS][TCP_CA_NAME_MAX];
	/* The column also describes this algorithm of the kernel's own; empty: none. */
	char also[TABLE_ALGORITHMS][TCP_CA_NAME_MAX];
	struct axis rtt;   /* microseconds */
	struct axis rate;  /* bytes per millisecond */
	struct axis burst; /* bytes */
	struct axis share; /* of the rate that a stream asks for, multiples of 1/SHARE_ONE */
	u32 bursts;	   /* the loads in use are first so many bursts, ... */
	u32 streams;	   /* ... then so many streams, or none */
	/* The column of the kernel's cubic. It stands for whatever a connection came with that no
	 * other column describes; TABLE_ALGORITHMS: there is none. */
	u32 stock;
	/* Bit k says that column k comes last in bulk, except where a connection came with it. */
	u32 barred_in_bulk;
	/* Logarithms that say how much less likely a condition is before anything is known. */
	u16 doubt[TABLE_CONDITIONS];
	/* The mean regret of each algorithm over all places with that load, in 1/65536. */
	u32 elsewhere[TABLE_LOADS][TABLE_ALGORITHMS];
	/* The index is that of [rtt][rate][load][condition][algorithm]. */
	struct expectation by_place[TABLE_PLACES];
};

#endif
