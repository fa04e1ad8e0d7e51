/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 3: what an ACK tells of the path's bandwidth, and of how ACKs come. */
#ifndef KIRIKAE_BBR3_SAMPLES_H
#define KIRIKAE_BBR3_SAMPLES_H

#include "algorithms/bbr3/model.h"

/* "BBR.ExtraAckedFilterLen ... = 10" round trips; "in Startup, just remember 1 round" */
static __always_inline u32 extra_acked_rounds(const struct bbr3 *b)
{
	return b->full_bw_reached ? 10 : 1;
}

static __always_inline void put_in_extra_acked(struct bbr3 *b, u32 extra)
{
	max_filter_renew(&b->extra_acked, extra_acked_rounds(b), b->rounds.count, extra);
}

/* Puts what quiet ACKs have only noted to where it belongs. */
static __always_inline void keep_noted(struct bbr3 *b)
{
	u32 rate = fastest_rate(&b->fastest);

	b->bw_latest = max(b->bw_latest, rate);
	b->latest_max = max(b->latest_max, rate);
	fastest_begin(&b->fastest);
	if (b->most_extra)
		put_in_extra_acked(b, b->most_extra);
	b->most_extra = 0;
}

static __always_inline bool begins_loss_round(const struct bbr3 *b, const struct rate_sample *rs)
{
	return reached(rs->prior_delivered, b->loss_round_delivered);
}

/* "UpdateLatestDeliverySignals()" */
static __always_inline void update_latest(struct sock *sk, struct bbr3_rest *r,
					  const struct rate_sample *rs)
{
	struct bbr3 *b = bbr3_of(sk);

	r->loss_round_start = false;
	r->rate = has_rate(rs) ? delivery_rate(rs) : 0;
	r->delivered = has_rate(rs) ? rs->delivered : 0;
	b->bw_latest = max(b->bw_latest, r->rate);
	b->inflight_latest = max(b->inflight_latest, r->delivered);
	if (has_rate(rs) && begins_loss_round(b, rs)) {
		b->loss_round_delivered = tcp_sk(sk)->delivered;
		r->loss_round_start = true;
	}
}

/* "UpdateMaxBw()" */
static __always_inline void update_max_bw(struct sock *sk, struct bbr3_rest *r,
					  const struct rate_sample *rs)
{
	struct bbr3 *b = bbr3_of(sk);

	r->round_start = false;
	if (!has_rate(rs))
		return;
	r->round_start = round_update(&b->rounds, tcp_sk(sk), rs);
	/* "(RS.delivery_rate >= BBR.max_bw || !RS.is_app_limited)" */
	if (r->rate >= max_bw(sk, r) || !rs->is_app_limited)
		b->latest_max = max(b->latest_max, r->rate);
}

/* "UpdateACKAggregation()" */
static __always_inline void update_extra_acked(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr3 *b = bbr3_of(sk);

	if (rs->acked_sacked && has_rate(rs))
		put_in_extra_acked(
			b, excess_acked(&b->ack_interval, tcp_sk(sk), b->bw, rs->acked_sacked));
}

#endif
