/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection's way through the switcher: met, measured, and switched where the choice is another
 * algorithm than the one in use.
 *
 * Source: rtcp, chapter 4. What is left to switcher.bpf.c, and natively to crates/algorithms, is to
 * ask which algorithm is in use and to set another.
 */
#ifndef KIRIKAE_DECISION_H
#define KIRIKAE_DECISION_H

#include "choice.h"
#include "estimator.h"
#include "names.h"

/* Window with which the kernel's bbr empties the queue for 200 ms, segments. */
#define BBR_PROBE_RTT_CWND 4

/* A switch that is to be made, and why. */
struct decision {
	struct measured measured;
	u32 to; /* column of the algorithm chosen */
	struct columns predicted_us;
};

/* The column that describes an algorithm; the first one, cubic's, for those the table lacks. */
static __always_inline u32 column_of(const struct latency_table *table, const char *name)
{
	for (u32 i = 0; i < TABLE_ALGORITHMS && i < table->algorithms; i++)
		if (same_name(table->name[i], name) || same_name(table->also[i], name))
			return i;
	return 0;
}

/*
 * A connection is met for the first time; `original` is the algorithm it has. Whether it is to be
 * measured: one that dctcp carries lives from the marks of a data centre's switches, not from
 * losses.
 */
static __always_inline bool connection_met(struct connection *c, const struct latency_table *table)
{
	char dctcp[TCP_CA_NAME_MAX] __attribute__((aligned(8))) = "dctcp";

	if (same_name(c->original, dctcp))
		return false;
	__builtin_memcpy(c->current, c->original, sizeof(c->current));
	c->algorithm = column_of(table, c->original);
	return true;
}

/* It is established. A socket that is connected anew has what it was given, but counts from 0. */
static __always_inline void measuring_begin(struct connection *c, const struct tcp_sock *tp)
{
	__builtin_memset(&c->estimator, 0, sizeof(c->estimator));
	__builtin_memset(&c->runs, 0, sizeof(c->runs));
	c->runs.dsack_dups = tp->dsack_dups;
}

/* An ACK brought an RTT sample, the first of a round trip. Whether there is a choice to be made,
 * and it may be made now. */
static __always_inline bool choice_is_due(struct connection *c, const struct tcp_sock *tp,
					  u32 fixed_period_us)
{
	u32 period_us = estimator_period_us(fixed_period_us, tp->srtt_us >> 3);

	loss_runs_dsack(&c->runs, tp->dsack_dups);
	if (estimator_update(&c->estimator, &c->runs, tp->tcp_mstamp, period_us, tp->data_segs_out))
		c->flags |= CONNECTION_CHOICE_DUE;
	/* Never in Recovery or Loss, where a pending undo would be lost, nor on the way there. */
	if (!(c->flags & CONNECTION_CHOICE_DUE) || ca_state(tcp_to_sock(tp)) != TCP_CA_Open)
		return false;
	/* Nor while bbr measures the RTT: its successor would go on with that window. */
	if (is_bbr(c->current) && tp->snd_cwnd <= BBR_PROBE_RTT_CWND)
		return false;
	c->flags &= ~CONNECTION_CHOICE_DUE;
	return true;
}

/*
 * The choice. Whether it is another algorithm than `in_use`, to be set now; where the program has
 * set one itself since, the connection is left alone from now on.
 *
 * Step 7: sequence state, cwnd and ssthresh are kept; the new algorithm's init mends the rest. A
 * connection that was in bbr when met never had a ssthresh: its window takes the place where it
 * has lost something, and where it has not, slow start goes on.
 */
static __always_inline bool decide(struct connection *c, const struct tcp_sock *tp,
				   const struct latency_table *table, const char *in_use,
				   struct decision *decision)
{
	const char *to;

	/* A switch of ours sets the kernel's flag, too. */
	if (!same_name(in_use, c->current) || (!c->switches && set_by_program(tcp_to_sock(tp)))) {
		c->flags |= CONNECTION_LEFT_ALONE;
		return false;
	}
	decision->measured.rtt_us = tp->srtt_us >> 3;
	decision->measured.isolated_ppb = c->estimator.isolated_ppb;
	decision->measured.burst_ppb = c->estimator.burst_ppb;
	decision->measured.algorithm = c->algorithm;
	decision->to = choose(table, &decision->measured, &decision->predicted_us);
	to = table->name[decision->to % TABLE_ALGORITHMS];
	if (same_name(to, c->current))
		return false;
	if (is_bbr(to))
		c->ssthresh_before_bbr = tp->snd_ssthresh;
	else if (is_bbr(c->current) && !c->ssthresh_before_bbr && c->runs.segments)
		c->ssthresh_before_bbr = tp->snd_cwnd;
	return true;
}

/* The algorithm chosen is in use. */
static __always_inline void switched(struct connection *c, const struct latency_table *table,
				     const struct decision *decision)
{
	const char *to = table->name[decision->to % TABLE_ALGORITHMS];

	if (!is_bbr(to))
		c->ssthresh_before_bbr = 0;
	c->algorithm = decision->to;
	__builtin_memcpy(c->current, to, sizeof(c->current));
	c->switches++;
}

#endif
