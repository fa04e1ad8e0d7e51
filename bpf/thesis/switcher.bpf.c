/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The laboratory's switcher is the one that servers run, with the thesis' choice beside its own: in
 * the scopes that are named here, connections are switched as published.
 */
#include "switcher/core/host.h"
#include "thesis/decision.h"

/* The agent sets these before it loads the program. */
const volatile struct thesis_table published_table;
/* A bit for each scope. */
const volatile u32 published_scopes;

/* The compiler is not told where the table is: it would take it for the zeros that are there before
 * it is set. */
static __always_inline const struct thesis_table *published(void)
{
	const struct thesis_table *table = (const void *)&published_table;

	asm volatile("" : "+r"(table));
	return table;
}

/* Returns 0, as belief_update(). */
VERIFIED_APART int decide_as_published(struct connection *c, u32 srtt_us)
{
	struct thesis_columns predicted_us;

	if (!c)
		return 0;
	thesis_decide(published(), srtt_us, c, &predicted_us);
	return 0;
}

static __always_inline const char *choice_beside_published(void *sock, const struct tcp_sock *tp,
							   struct connection *c,
							   const struct scope *scope,
							   const struct latency_table *table,
							   const struct corners *corners)
{
	if (!(published_scopes >> c->place.scope % POLICY_SCOPES & 1))
		return choice_by_table(sock, tp, c, scope, table, corners);
	decide_as_published(c, tp->srtt_us >> 3);
	return thesis_chosen(published(), c);
}

#undef host_choice
#define host_choice choice_beside_published

#include "switcher/programs/switcher.bpf.c"
