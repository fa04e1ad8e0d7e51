/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A decision by the thesis' rule is made of what is measured now, without regard to what was chosen
 * before. It takes the place of choice_by_table().
 */
#ifndef KIRIKAE_THESIS_DECISION_H
#define KIRIKAE_THESIS_DECISION_H

#include "switcher/core/decision.h"
#include "thesis/choice.h"

/* Notes what was measured and which column that leads to, and leaves each column's L(i) in
 * `predicted_us`. */
static __always_inline void thesis_decide(const struct thesis_table *table, u32 srtt_us,
					  struct connection *c, struct thesis_columns *predicted_us)
{
	const struct thesis_measured measured = {
		.rtt_us = srtt_us,
		.isolated_ppb = c->estimator.isolated_ppb,
		.burst_ppb = c->estimator.burst_ppb,
		.algorithm = thesis_column_of(table, c->current),
	};

	c->decision.measured = (struct measured){.rtt_us = srtt_us};
	c->decision.to = thesis_choose(table, &measured, predicted_us);
}

/* Returns the name of the algorithm that was decided for; NULL: it is in use. */
static __always_inline const char *thesis_chosen(const struct thesis_table *table,
						 const struct connection *c)
{
	const char *to = table->name[c->decision.to % THESIS_ALGORITHMS];

	return same_name(to, c->current) ? NULL : to;
}

#endif
