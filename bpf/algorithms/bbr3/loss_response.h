/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 3: the bounds that losses set, and the state that is kept in case they were none. */
#ifndef KIRIKAE_BBR3_LOSS_RESPONSE_H
#define KIRIKAE_BBR3_LOSS_RESPONSE_H

#include "algorithms/bbr3/probe_bw.h"

/* "BBR.Beta ... (the value is 0.7)" */
#define BETA_TENTHS 7

static __always_inline u32 beta_times(u32 value)
{
	return (u64)value * BETA_TENTHS / 10;
}

/* "SaveStateUponLoss()" */
static __always_inline void save_state(const struct sock *sk, struct bbr3_rest *r)
{
	save_cwnd(sk, r);
	r->undo_state = NO_STATE;
	r->undo_bw_shortterm = r->bw_shortterm;
	r->undo_inflight_shortterm = r->inflight_shortterm;
	r->undo_inflight_longterm = r->inflight_longterm;
}

/* "HandleInflightTooHigh()" */
static __always_inline void handle_inflight_too_high(struct sock *sk, struct bbr3_rest *r,
						     const struct rate_sample *rs, u32 tx_in_flight)
{
	struct bbr3 *b = bbr3_of(sk);

	r->prev_probe_too_high = true;
	r->is_bw_probe_sample = false; /* "only react once per bw probe" */
	if (!rs->is_app_limited)
		r->inflight_longterm =
			max(tx_in_flight, beta_times(min(bdp(b, r), tcp_sk(sk)->snd_cwnd)));
	if (b->state == PROBE_BW_UP) {
		r->undo_state = PROBE_BW_UP;
		start_down(sk, r);
	}
}

/* "HandleLostPacket(P)", once for all that an ACK brought to notice */
SELDOM void handle_losses(struct sock *sk, struct bbr3_rest *r, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);
	const struct flight *sent = flight_sent(&r->notes, &b->flights);
	u32 newly_lost = tp->lost - b->lost;

	b->lost = tp->lost;
	if (!r->is_loss_in_round) {
		b->loss_round_delivered = tp->delivered;
		save_state(sk, r);
	}
	r->is_loss_in_round = true;
	r->losses_in_round++;
	if (r->is_bw_probe_sample && is_inflight_too_high(sent, tp))
		handle_inflight_too_high(sk, r, rs, inflight_at_loss(sent, tp, newly_lost));
}

/* "IsProbingBW()" */
static __always_inline bool is_probing_bw(const struct bbr3 *b)
{
	return b->state == STARTUP || b->state == PROBE_BW_REFILL || b->state == PROBE_BW_UP;
}

/* "AdaptLowerBoundsFromCongestion()", with InitLowerBounds() and LossLowerBounds() */
SELDOM void adapt_lower_bounds(struct sock *sk, struct bbr3_rest *r)
{
	struct bbr3 *b = bbr3_of(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (is_probing_bw(b) || !r->is_loss_in_round)
		return;
	if (r->bw_shortterm == INFINITE)
		r->bw_shortterm = max_bw(sk, r);
	if (r->inflight_shortterm == INFINITE)
		r->inflight_shortterm =
			b->prior_ca_state == TCP_CA_Loss ? max(cwnd, r->prior_cwnd) : cwnd;
	r->bw_shortterm = max(b->bw_latest, beta_times(r->bw_shortterm));
	r->inflight_shortterm = max(b->inflight_latest, beta_times(r->inflight_shortterm));
}

#endif
