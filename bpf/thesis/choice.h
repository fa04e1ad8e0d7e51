/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thesis chooses the algorithm with the smallest latency at the nearest points of its tables.
 * The laboratory plays it, simulated and in the kernel; what servers run chooses by
 * switcher/core/choice.h.
 *
 * Source: the thesis (Oguchi, 2016), section 4.5, steps 1 to 6 (7, the switch, is
 * switcher/core/decision.h).
 */
#ifndef KIRIKAE_THESIS_CHOICE_H
#define KIRIKAE_THESIS_CHOICE_H

#include "switcher/core/names.h"
#include "thesis/table.h"

/* Step 1: what was measured. */
struct thesis_measured {
	u32 rtt_us;
	u32 isolated_ppb;
	u32 burst_ppb;
	u32 algorithm; /* column of the one in use */
};

/*
 * Returns the column chosen and leaves every candidate's L(i) (microseconds) in `predicted_us`.
 * Between equals the earlier column wins.
 */
static __always_inline u32 thesis_choose(const struct thesis_table *t,
					 const struct thesis_measured *m,
					 struct thesis_columns *predicted_us)
{
	u32 rtt = nearest(&t->rtt_us, t->rtts, m->rtt_us) % THESIS_RTTS;
	u32 in_use = m->algorithm % THESIS_ALGORITHMS;
	/* Step 2: the isolated table of the nearest RTT, at the nearest rate */
	u32 loss = nearest(&t->loss_ppb, t->losses, m->isolated_ppb) % THESIS_POINTS;
	/* Step 3: free bandwidth from the burst rate under the algorithm in use */
	u32 bandwidth =
		nearest(&t->burst_ppb[rtt][in_use], t->bandwidths, m->burst_ppb) % THESIS_POINTS;
	u32 best = 0;
	u32 best_us = THESIS_FAR;

	for (u32 i = 0; i < THESIS_ALGORITHMS && i < t->algorithms; i++) {
		/* Steps 2, 4 and 5: L(i) = L_r(i) + L_b(i) */
		u32 us = t->isolated_us[rtt][loss].by_column[i] +
			 t->bandwidth_us[rtt][bandwidth].by_column[i];

		predicted_us->by_column[i] = us;
		/* Step 6 */
		best = one_of(i, best, if_below(us, best_us));
		best_us = least(us, best_us);
	}
	return best;
}

/* Returns the column that describes an algorithm; the first one, cubic's, for those the table
 * lacks. */
static __always_inline u32 thesis_column_of(const struct thesis_table *table, const char *name)
{
	for (u32 i = 0; i < THESIS_ALGORITHMS && i < table->algorithms; i++)
		if (same_name(table->name[i], name) || same_name(table->also[i], name))
			return i;
	return 0;
}

#endif
