/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The switcher's plain C as functions that Rust can call. */
#include "native.h"

/* Of an operator who says nothing. */
static const struct scope usual_scope = {.hysteresis = USUAL_HYSTERESIS};

void kk_loss_runs_retransmit(struct loss_runs *runs, u32 seq, u32 segments, u32 bytes)
{
	loss_runs_retransmit(runs, seq, segments, bytes);
}

void kk_loss_runs_dsack(struct loss_runs *runs, u32 dsack_dups)
{
	loss_runs_dsack(runs, dsack_dups);
}

u32 kk_estimator_period_us(u32 fixed_us, u32 srtt_us)
{
	return estimator_period_us(fixed_us, srtt_us);
}

bool kk_estimator_update(struct estimator *e, struct loss_runs *runs, u64 now_us, u32 period_us,
			 u32 segs_out, struct period *period)
{
	return estimator_update(e, runs, now_us, period_us, segs_out, period);
}

u32 kk_log2_fixed(u32 value)
{
	return log2_fixed(value);
}

u64 kk_exp2_fixed(u32 log)
{
	return exp2_fixed(log);
}

u32 kk_rtcp_choose(const struct rtcp_table *table, const struct rtcp_measured *measured,
		   struct rtcp_columns *predicted_us)
{
	return rtcp_choose(table, measured, predicted_us);
}

u32 kk_rtcp_column_of(const struct rtcp_table *table, const char *name)
{
	return rtcp_column_of(table, name);
}

void kk_predict(const struct latency_table *table, const struct measured *measured,
		const struct belief *belief, struct prediction *prediction)
{
	struct corners corners;

	corners_around(table, measured, &corners);
	predict(table, &corners, belief, prediction);
}

void kk_belief_update(struct belief *belief, const struct latency_table *table,
		      const struct measured *measured, u32 algorithm, const struct period *period)
{
	struct corners corners;

	corners_around(table, measured, &corners);
	belief_update(belief, table, &corners, algorithm, period);
}

bool kk_connection_met(struct connection *c)
{
	return connection_met(c);
}

void kk_belief_begin(struct belief *belief, const struct latency_table *table)
{
	belief_begin(belief, table);
}

void kk_measuring_begin(struct connection *c, const struct tcp_sock *tp)
{
	measuring_begin(c, tp);
}

bool kk_period_is_over(struct connection *c, const struct tcp_sock *tp, u32 sample_us,
		       u32 fixed_period_us, struct period *period)
{
	return period_is_over(c, tp, sample_us, fixed_period_us, period);
}

bool kk_choice_is_due(struct connection *c, const struct tcp_sock *tp)
{
	return choice_is_due(c, tp);
}

void kk_measure(const struct connection *c, const struct tcp_sock *tp,
		const struct latency_table *table, struct measured *measured,
		struct corners *corners)
{
	measure(c, tp, &usual_scope, table, measured, corners);
}

void kk_learn(struct connection *c, const struct latency_table *table,
	      const struct corners *corners, const struct period *period)
{
	learn(c, table, corners, period);
}

bool kk_is_left_alone(struct connection *c, const struct tcp_sock *tp, const char *in_use)
{
	return is_left_alone(c, tp, in_use);
}

bool kk_decide(struct connection *c, const struct latency_table *table,
	       const struct corners *corners, struct decision *decision)
{
	predict(table, corners, &c->belief, &decision->prediction);
	return decide(c, &usual_scope, table, decision);
}

u32 kk_rto_min_begin(struct timeouts *t, const struct tcp_sock *tp, u32 found_us)
{
	return rto_min_begin(t, tp, found_us);
}

u32 kk_rto_min_renew(struct timeouts *t, const struct tcp_sock *tp)
{
	return rto_min_renew(t, tp);
}

void kk_rto_min_set(struct timeouts *t, u32 wanted_us, u32 min_us)
{
	rto_min_set(t, wanted_us, min_us);
}

bool kk_back_off_is_bounded(const struct tcp_sock *tp, u32 earlier)
{
	return back_off_is_bounded(tp, earlier);
}

void kk_switching(struct connection *c, const struct tcp_sock *tp, const char *to)
{
	switching(c, tp, to);
}

void kk_switched(struct connection *c, const char *to)
{
	switched(c, to);
}
