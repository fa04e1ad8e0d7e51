/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection is met, measured, and switched where the choice is another algorithm than the one
 * in use. These are the steps; lifecycle.h says when each is taken.
 *
 * Source: the thesis (Oguchi, 2016), chapter 4.
 */
#ifndef KIRIKAE_DECISION_H
#define KIRIKAE_DECISION_H

#include "connection/lowest_rtt.h"
#include "switcher/core/choice.h"
#include "switcher/core/names.h"
#include "switcher/core/streams.h"

/* The kernel's bbr empties the queue with a window of so many segments, for 200 ms. */
#define BBR_PROBE_RTT_CWND 4

/* After so many round trips in Recovery nothing better is waited for. */
#define RECOVERING_LONG 8

/* Returns the column that describes an algorithm; TABLE_ALGORITHMS where the table lacks it. */
static __always_inline u32 column_of(const struct latency_table *table, const char *name)
{
	for (u32 i = 0; i < TABLE_ALGORITHMS && i < table->algorithms; i++)
		if (same_name(table->name[i], name) || same_name(table->also[i], name))
			return i;
	return TABLE_ALGORITHMS;
}

/* Returns the column by which an algorithm is described on a connection, even if it is one of the
 * kernel's that the table lacks; TABLE_ALGORITHMS where there is none for it. */
static __always_inline u32 described_by(const struct latency_table *table, const char *name)
{
	u32 column = column_of(table, name);

	return column < TABLE_ALGORITHMS || is_ours(name) ? column : table->stock;
}

/*
 * A connection is met for the first time; `original` is the algorithm it has. Returns whether it
 * is to be measured: one that dctcp carries lives from the marks of a data centre's switches, not
 * from losses.
 */
static __always_inline bool connection_met(struct connection *c)
{
	char dctcp[TCP_CA_NAME_MAX] __attribute__((aligned(8))) = "dctcp";

	if (same_name(c->original, dctcp))
		return false;
	__builtin_memcpy(c->current, c->original, sizeof(c->current));
	__builtin_memcpy(c->chosen, c->original, sizeof(c->chosen));
	return true;
}

/* The connection is established. A socket that is connected anew still has what it was given, but
 * counts from 0. */
static __always_inline void measuring_begin(struct connection *c, const struct tcp_sock *tp)
{
	__builtin_memset(&c->estimator, 0, sizeof(c->estimator));
	__builtin_memset(&c->runs, 0, sizeof(c->runs));
	__builtin_memset(&c->bursts, 0, sizeof(c->bursts));
	__builtin_memset(&c->stream, 0, sizeof(c->stream));
	/* The first look finds idle time before it. */
	c->stream.burst = ~0U;
	/* What is written first is a burst, too, but nobody tells when it is written. */
	c->bursts.start_us = tp->tcp_mstamp;
	c->bursts.start = bytes_before(tp, tp->snd_nxt);
	c->bursts.looked_us = tp->tcp_mstamp;
	c->bursts.is_mixed = true;
	c->runs.dsack_dups = tp->dsack_dups;
	__builtin_memset(&c->outcomes, 0, sizeof(c->outcomes));
	__builtin_memset(&c->comparison, 0, sizeof(c->comparison));
	__builtin_memset(&c->outage, 0, sizeof(c->outage));
	c->rtt.start_us = 0;
	c->rtt.start_burst = 0;
	c->rtt.present = ~0U;
	c->rtt.before = ~0U;
}

/* Returns the share of a rate (bytes per millisecond; 0: not known) that a stream asks for, in
 * 1/SHARE_ONE. What was never seen to be a stream asks for much, or it would not be behind. */
static __always_inline u32 share_asked_for(const struct stream *s, u32 rate)
{
	u64 per_second = (rate ? rate : USUAL_RATE) * 1000ULL;

	if (!s->demand)
		return SHARE_ONE / 4 * 3;
	return min(s->demand * (u64)SHARE_ONE / per_second + 1, (u64)SHARE_ONE);
}

/* Returns the fastest rate at which a predecessor has seen the path deliver, bytes per millisecond;
 * 0: not known. Bursts tell no rate while there is no idle time. */
static __always_inline u32 learned_rate(const struct idle_keep *idle)
{
	return max(idle->rate, idle->latest_rate);
}

/* Writes down what is measured of the connection, and where that is in the table. */
static __always_inline void measure(const struct connection *c, const struct tcp_sock *tp,
				    const struct scope *scope, const struct latency_table *table,
				    struct measured *measured, struct corners *corners)
{
	measured->rtt_us = lowest_rtt_us(c);
	measured->rate = c->bursts.rate;
	measured->burst = burst_bytes(&c->bursts, tp);
	measured->latency_us = burst_latency_us(&c->bursts);
	measured->share = 0;
	if (table->streams && is_stream(&c->stream)) {
		measured->rate = max(measured->rate, learned_rate(&c->idle));
		measured->share = share_asked_for(&c->stream, measured->rate);
		measured->latency_us = stream_latency_us(&c->stream);
	}
	if (scope->flags & SCOPE_THROUGHPUT || (c->bursts.is_file && !measured->share)) {
		measured->burst = BULK;
		measured->share = 0;
		measured->latency_us = 0;
	}
	corners_around(table, measured, corners);
}

/*
 * An ACK brought an RTT sample, the first of a round trip; `sample_us` is 0 where the kernel does
 * not tell it. Returns whether a measuring period is over; `period` is what it brought.
 */
static __always_inline bool period_is_over(struct connection *c, const struct tcp_sock *tp,
					   u32 sample_us, u32 fixed_period_us,
					   struct period *period)
{
	u32 srtt_us = tp->srtt_us >> 3;
	u32 period_us = estimator_period_us(fixed_period_us, srtt_us);

	sample_us = sample_us ? sample_us : srtt_us;
	rtt_update(&c->rtt, &c->bursts, tp->tcp_mstamp, sample_us);
	if (note_round_trip(&c->bursts, tp, sample_us))
		c->flags |= CONNECTION_CHOICE_DUE;
	stream_look(&c->stream, &c->bursts, tp, sample_us,
		    c->runs.isolated > 0 || c->runs.bursts > 0);
	if (is_stream(&c->stream))
		c->bursts.is_stream = true;
	loss_runs_dsack(&c->runs, tp->dsack_dups);
	if (!estimator_update(&c->estimator, &c->runs, tp->tcp_mstamp, period_us, tp->data_segs_out,
			      period))
		return false;
	c->flags |= CONNECTION_CHOICE_DUE;
	return true;
}

/* Returns whether a choice would come at a bad time: while the window is being reduced, or in
 * Recovery or Loss, where a pending undo would be lost. But where one recovery follows the other,
 * as with an algorithm that takes losses for none of its business, there is no better time to wait
 * for. */
static __always_inline bool is_reducing(struct connection *c, u32 state)
{
	if (state <= TCP_CA_Disorder) {
		c->patience.recovering = 0;
		return false;
	}
	c->patience.recovering = min(c->patience.recovering + 1, RECOVERING_LONG);
	return state != TCP_CA_Recovery || c->patience.recovering < RECOVERING_LONG;
}

/* Returns whether an answer has become a file beside others, who do not wait until a recovery is
 * over. */
static __always_inline bool is_file_among_others(const struct connection *c)
{
	return c->bursts.is_file && c->bursts.is_contended &&
	       load_of(&c->decision.measured) == LOAD_ANSWER;
}

/* Returns whether there is a choice to be made, and it may be made now. */
static __always_inline bool choice_is_due(struct connection *c, const struct tcp_sock *tp)
{
	if (!(c->flags & CONNECTION_CHOICE_DUE))
		return false;
	if (!is_file_among_others(c) && is_reducing(c, ca_state(tcp_to_sock(tp))))
		return false;
	/* It may not be made while bbr measures the RTT: its successor would go on with that
	 * window. */
	if (is_bbr(c->current) && tp->snd_cwnd <= BBR_PROBE_RTT_CWND)
		return false;
	c->flags &= ~CONNECTION_CHOICE_DUE;
	return true;
}

/* Learns what the period tells of the conditions. */
static __always_inline void learn(struct connection *c, const struct latency_table *table,
				  const struct corners *corners, const struct period *period)
{
	u32 column = described_by(table, c->current);

	if (column < TABLE_ALGORITHMS && period->sent)
		belief_update(&c->belief, table, corners, column, period);
}

/*
 * Chooses by what the table predicts. Returns the name of the algorithm that is to be in use,
 * where that is another than was chosen before; NULL: it is the same, or there is no table.
 */
static __always_inline const char *choice_by_table(void *sock, const struct tcp_sock *tp,
						   struct connection *c, const struct scope *scope,
						   const struct latency_table *table,
						   const struct corners *corners)
{
	struct decision *decision = &c->decision;
	/* Where choices are only observed, what is measured is not of what was chosen. */
	u32 latency_us = scope->flags & SCOPE_OBSERVED ? 0 : decision->measured.latency_us;
	u32 in_use = TABLE_ALGORITHMS;
	const char *to;

	if (!table)
		return NULL;
	handicap(table, decision->measured.burst == BULK, described_by(table, c->original),
		 &decision->prediction);
	predict(table, corners, &c->belief, &decision->prediction);
	if (c->flags & CONNECTION_DECIDED)
		in_use = described_by(table, c->chosen);
	decision->to = choose(table, &scope->hysteresis, latency_us, in_use, c);
	c->flags |= CONNECTION_DECIDED;
	to = table->name[decision->to % TABLE_ALGORITHMS];
	if (decision->to == table->stock)
		to = c->original;
	return same_name(to, c->chosen) ? NULL : to;
}

/* Returns whether a file beside others, which was an answer so far, is about to get what it came
 * with. */
static __always_inline bool is_handed_over(const struct connection *c, const struct scope *scope,
					   const char *to)
{
	return c->bursts.is_file && c->bursts.is_contended && c->bursts.begun &&
	       !(scope->flags & SCOPE_THROUGHPUT) && same_name(to, c->original);
}

/*
 * A switch to `to` is about to be made.
 *
 * Step 7: sequence state, cwnd and ssthresh are kept; the new algorithm's init mends the rest. A
 * connection that was in bbr when met never had a ssthresh: its window takes the place where it
 * has lost something, and where it has not, slow start goes on.
 */
static __always_inline void about_to_switch(struct connection *c, const struct tcp_sock *tp,
					    const char *to)
{
	if (is_bbr(to))
		c->ssthresh_before_bbr = tp->snd_ssthresh;
	else if (is_bbr(c->current) && !c->ssthresh_before_bbr && c->runs.segments)
		c->ssthresh_before_bbr = tp->snd_cwnd;
}

/* `to` is the choice, whether it is put in use or only observed. */
static __always_inline void note_chosen(struct connection *c, const char *to)
{
	__builtin_memcpy(c->chosen, to, sizeof(c->chosen));
	c->patience.agreeing = 0;
	c->patience.choices = 0;
	c->switches++;
}

/* The algorithm `to` is in use. */
static __always_inline void note_switched(struct connection *c, const char *to)
{
	if (!is_bbr(to))
		c->ssthresh_before_bbr = 0;
	__builtin_memcpy(c->current, to, sizeof(c->current));
	c->flags |= CONNECTION_SWITCHED;
	bursts_switched(&c->bursts);
	stream_switched(&c->stream);
	note_chosen(c, to);
}

#endif
