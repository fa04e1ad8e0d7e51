/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The latency table: what each algorithm was measured to do beforehand, by round-trip time, rate
 * of the bottleneck and load, under each of a list of conditions. A load is the size of a burst, or
 * the share of the rate that a stream asks for (streams.h).
 *
 * The first three are measured on every connection, and what lies between two points of theirs is
 * interpolated. A condition (loss, burst loss, queue) cannot be seen from the sender; belief.h
 * infers it from what was lost.
 */
#ifndef KIRIKAE_LATENCY_TABLE_H
#define KIRIKAE_LATENCY_TABLE_H

#include "connection/connection.h"
#include "arithmetic/fixed_log.h"

#define TABLE_RTTS 8
#define TABLE_RATES 8
#define TABLE_LOADS 8
#define TABLE_CELLS (TABLE_RTTS * TABLE_RATES * TABLE_LOADS)
#define TABLE_PLACES (TABLE_CELLS * TABLE_CONDITIONS * TABLE_ALGORITHMS)

/* Probabilities are multiples of 2^-30. */
#define PROBABILITY_BITS 30

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
	struct expectation of[TABLE_PLACES];
};

/* The cells around what was measured, and the share of each in 1 / 2^(3 * STEP_BITS). */
struct corners {
	u32 cell[8];
	u32 share[8];
};

/* Before they are known: 10 Mbit/s, in bytes per millisecond, and 64 KB. */
#define USUAL_RATE 1250
#define USUAL_BURST 65536
/* Beyond every table's largest burst. */
#define BULK ~0U
/* Steps between two points of an axis. */
#define STEP_BITS 6
#define STEPS (1U << STEP_BITS)

/* Where a value lies on an axis, in steps; beyond its ends, there. */
static __always_inline u32 axis_position(const struct axis *axis, u32 value)
{
	u32 position = 0;

	for (u32 i = 0; i < 7; i++) {
		u32 width = axis->at[i + 1] - axis->at[i];
		u32 above = least(most(value - axis->at[i], 0), width);

		position += above * STEPS / (u32)most(width, 1);
	}
	return position;
}

/* Streams come behind the bursts. For a table without any, a stream is a burst without end. */
static __always_inline u32 load_position(const struct latency_table *t, const struct measured *m)
{
	u32 first = least(t->bursts, TABLE_LOADS - 1) * STEPS;

	if (m->share)
		return first + axis_position(&t->share, log2_fixed(m->share));
	return axis_position(&t->burst, log2_fixed(m->burst ? m->burst : USUAL_BURST));
}

static __always_inline void corners_around(const struct latency_table *t, const struct measured *m,
					   struct corners *corners)
{
	u32 rate = axis_position(&t->rate, log2_fixed(m->rate ? m->rate : USUAL_RATE));
	u32 load = load_position(t, m);
	u32 rtt = axis_position(&t->rtt, log2_fixed(m->rtt_us));

	for (u32 i = 0; i < 8; i++) {
		u32 far_rtt = i >> 2, far_rate = i >> 1 & 1, far_load = i & 1;
		u32 cell = rtt / STEPS + far_rtt;

		cell = cell * TABLE_RATES + rate / STEPS + far_rate;
		corners->cell[i] = cell * TABLE_LOADS + load / STEPS + far_load;
		corners->share[i] = (far_rtt ? rtt % STEPS : STEPS - rtt % STEPS) *
				    (far_rate ? rate % STEPS : STEPS - rate % STEPS) *
				    (far_load ? load % STEPS : STEPS - load % STEPS);
	}
}

/* What an algorithm does under a condition, between the corners. */
static __always_inline void expect(const struct latency_table *t, const struct corners *corners,
				   u32 condition, u32 algorithm, struct expectation *expectation)
{
	u32 latency = 0, isolated = 0, bursts = 0;
	for (u32 i = 0; i < 8; i++) {
		u32 place = corners->cell[i] * TABLE_CONDITIONS + condition;
		const struct expectation *of =
			&t->of[(place * TABLE_ALGORITHMS + algorithm) % TABLE_PLACES];

		latency += corners->share[i] * of->latency;
		isolated += corners->share[i] * of->isolated;
		bursts += corners->share[i] * of->bursts;
	}
	expectation->latency = latency >> (3 * STEP_BITS);
	expectation->isolated = isolated >> (3 * STEP_BITS);
	expectation->bursts = bursts >> (3 * STEP_BITS);
}

#endif
