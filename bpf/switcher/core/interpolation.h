/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The latency table is interpolated between its points, for what was measured of a connection. */
#ifndef KIRIKAE_INTERPOLATION_H
#define KIRIKAE_INTERPOLATION_H

#include "arithmetic/fixed_log.h"
#include "interface/latency_table.h"
#include "interface/measured.h"

/* Corners are the cells around what was measured, with the share of each in 1 / 2^(3 * STEP_SHIFT).
 */
struct corners {
	u32 cell[8];
	u32 share[8];
};

/* Before rate and burst are known they are taken to be 10 Mbit/s, in bytes per millisecond, and 64
 * KB. */
#define USUAL_RATE 1250
#define USUAL_BURST 65536
/* This is beyond every table's largest burst. */
#define BULK ~0U
/* There are so many steps between two points of an axis. */
#define STEP_SHIFT 6
#define STEPS (1U << STEP_SHIFT)

/* Returns where a value lies on an axis, in steps. A value beyond an end counts as the end. */
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

/* Returns where a load lies. Streams come behind the bursts; in a table without streams, one is a
 * burst without end. */
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

/* Interpolates what an algorithm does under a condition between the corners. */
static __always_inline void expect(const struct latency_table *t, const struct corners *corners,
				   u32 condition, u32 algorithm, struct expectation *expectation)
{
	u32 latency = 0, isolated = 0, bursts = 0;
	for (u32 i = 0; i < 8; i++) {
		u32 place = corners->cell[i] * TABLE_CONDITIONS + condition;
		const struct expectation *at =
			&t->by_place[(place * TABLE_ALGORITHMS + algorithm) % TABLE_PLACES];

		latency += corners->share[i] * at->latency;
		isolated += corners->share[i] * at->isolated;
		bursts += corners->share[i] * at->bursts;
	}
	expectation->latency = latency >> (3 * STEP_SHIFT);
	expectation->isolated = isolated >> (3 * STEP_SHIFT);
	expectation->bursts = bursts >> (3 * STEP_SHIFT);
}

#endif
