/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The switcher's plain C as functions that Rust can call. */
#include "native.h"

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
			 u32 segs_out)
{
	return estimator_update(e, runs, now_us, period_us, segs_out);
}

u32 kk_choose(const struct latency_table *table, const struct measured *measured,
	      struct columns *predicted_us)
{
	return choose(table, measured, predicted_us);
}

bool kk_connection_met(struct connection *c, const struct latency_table *table)
{
	return connection_met(c, table);
}

void kk_measuring_begin(struct connection *c, const struct tcp_sock *tp)
{
	measuring_begin(c, tp);
}

bool kk_choice_is_due(struct connection *c, const struct tcp_sock *tp, u32 fixed_period_us)
{
	return choice_is_due(c, tp, fixed_period_us);
}

bool kk_decide(struct connection *c, const struct tcp_sock *tp, const struct latency_table *table,
	       const char *in_use, struct decision *decision)
{
	return decide(c, tp, table, in_use, decision);
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

void kk_switched(struct connection *c, const struct latency_table *table,
		 const struct decision *decision)
{
	switched(c, table, decision);
}
