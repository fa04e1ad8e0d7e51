/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The latency table: what each algorithm was measured to do beforehand, by round-trip time, rate
 * of the bottleneck and load, under each of a list of conditions. A load is the size of a burst, or
 * the share of the rate that a stream asks for (streams.h).
 *
 * The first three are measured on every connection, and what lies between two points of theirs is
 * interpolated (interpolation.h). A condition (loss, burst loss, queue) cannot be seen from the
 * sender; belief.h infers it from what was lost.
 */
#ifndef KIRIKAE_LATENCY_TABLE_H
#define KIRIKAE_LATENCY_TABLE_H

#include "kernel/kernel.h"

/* The most that a latency table has. */
#define TABLE_CONDITIONS 32
#define TABLE_ALGORITHMS 8
#define TABLE_RTTS 8
#define TABLE_RATES 8
#define TABLE_LOADS 8
#define TABLE_CELLS (TABLE_RTTS * TABLE_RATES * TABLE_LOADS)
#define TABLE_PLACES (TABLE_CELLS * TABLE_CONDITIONS * TABLE_ALGORITHMS)

/* Probabilities are multiples of 2^-30. */
#define PROBABILITY_SHIFT 30

/* What an algorithm was measured to do: logarithms (fixed_log.h). */
struct expectation {
	u16 latency;  /* of a write, microseconds */
	u16 isolated; /* segments lost in runs of at most 2, per segment sent */
	u16 bursts;   /* runs of at least 3 lost segments, per segment sent */
};

/* Points in ascending order, logarithms; the last one is repeated up to the end. */
struct axis {
	u16 at[8];
};

struct latency_table {
	u32 algorithms; /* columns in use, 1 to TABLE_ALGORITHMS */
	u32 conditions; /* in use, 1 to TABLE_CONDITIONS */
	/* In-kernel name of each column; a connection that is found using it is described by it. */
	char name[TABLE_ALGORITHMS][TCP_CA_NAME_MAX];
	/* The kernel's own algorithm that the column also describes. */
	char also[TABLE_ALGORITHMS][TCP_CA_NAME_MAX];
	struct axis rtt;   /* microseconds */
	struct axis rate;  /* bytes per millisecond */
	struct axis burst; /* bytes */
	struct axis share; /* of the rate that a stream asks for, multiples of 1/SHARE_ONE */
	u32 bursts;	   /* loads in use: first so many bursts, ... */
	u32 streams;	   /* ... then so many streams, or none */
	/* The column of the kernel's cubic, which stands for whatever a connection came with that
	 * no other column describes; TABLE_ALGORITHMS: none */
	u32 stock;
	/* Of column k bit k: it is last in bulk, but where a connection came with it */
	u32 barred_in_bulk;
	/* How much less likely a condition is before anything is known, logarithms */
	u16 doubt[TABLE_CONDITIONS];
	/* Mean regret of each algorithm over all places with that load, 1/65536 */
	u32 elsewhere[TABLE_LOADS][TABLE_ALGORITHMS];
	/* [rtt][rate][load][condition][algorithm] */
	struct expectation by_place[TABLE_PLACES];
};

#endif
