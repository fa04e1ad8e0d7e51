/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * After an outage the path may be another one (connection/outage.h). Then nothing that was learned
 * of the old one is held for true of it: neither how likely each condition is, nor the rates of
 * loss, the lowest RTT, the rate, nor what came of algorithms. What algorithms know of the path
 * they forget themselves (algorithms/common/idle_keep.h).
 */
#ifndef KIRIKAE_NEW_PATH_H
#define KIRIKAE_NEW_PATH_H

#include "connection/outage.h"
#include "switcher/core/belief.h"
#include "switcher/core/decision.h"

/* Timeouts have come in a row. The span in which the lowest RTT is looked for begins anew. There is
 * no choice in the round trips that follow: an algorithm of the kernel's would go on from the
 * window of the old path. */
static __always_inline void doubt_path(struct connection *c, const struct tcp_sock *tp)
{
	u32 lowest_us = lowest_rtt_us(c);
	bool was_in_doubt = is_path_in_doubt(c);

	c->outage.rounds = ROUNDS_IN_DOUBT;
	c->bursts.had_outage = true;
	if (was_in_doubt)
		return;
	c->outage.rtt_us = lowest_us == ~0U ? 0 : lowest_us;
	if (c->rtt.present != ~0U)
		rtt_span_begin(&c->rtt, &c->bursts, tp->tcp_mstamp);
}

/* A round trip with an RTT sample is over. Returns whether it has just come out that the path is
 * another than before. */
static __always_inline bool is_path_another(struct connection *c)
{
	if (!is_path_in_doubt(c) || --c->outage.rounds)
		return false;
	return c->outage.rtt_us && are_two_paths(c->outage.rtt_us, c->rtt.present);
}

/* The path is another than before. There may be no table. */
static __always_inline void forget_path(struct connection *c, const struct latency_table *table)
{
	struct estimator *e = &c->estimator;

	if (table)
		belief_begin(&c->belief, table);
	e->averaged_sent = e->averaged_isolated = e->averaged_bursts = 0;
	e->isolated_ppb = e->burst_ppb = 0;
	c->rtt.before = ~0U;
	c->bursts.rate = 0;
	c->path.rate = 0;
	__builtin_memset(&c->outcomes, 0, sizeof(c->outcomes));
	__builtin_memset(&c->idle, 0, sizeof(c->idle));
}

#endif
