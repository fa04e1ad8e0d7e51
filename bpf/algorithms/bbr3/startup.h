/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 3: whether the pipe is full, Startup and Drain. */
#ifndef KIRIKAE_BBR3_STARTUP_H
#define KIRIKAE_BBR3_STARTUP_H

#include "algorithms/bbr3/probe_bw.h"

/* "BBRStartupFullLossCnt=6" */
#define STARTUP_FULL_LOSSES 6

/* "CheckFullBWReached()" */
static __always_inline void check_full_bw(struct sock *sk, struct bbr3_rest *r,
					  const struct rate_sample *rs)
{
	if (r->full_bw_now || !r->round_start || rs->is_app_limited)
		return;
	/* "if (RS.delivery_rate >= BBR.full_bw * 1.25)" */
	if (r->rate >= (u64)r->full_bw * 5 / 4) {
		reset_full_bw(r, r->rate);
		return;
	}
	r->full_bw_count++;
	r->full_bw_now = r->full_bw_count >= 3;
	if (r->full_bw_now)
		bbr3_of(sk)->full_bw_reached = true;
}

/* "CheckStartupDone()" with "CheckStartupHighLoss()" and "EnterDrain()" */
static __always_inline void check_startup_done(struct sock *sk, struct bbr3_rest *r)
{
	struct bbr3 *b = bbr3_of(sk);

	if (b->state != STARTUP)
		return;
	if (!b->full_bw_reached && r->loss_round_start && ca_state(sk) == TCP_CA_Recovery &&
	    r->losses_in_round >= STARTUP_FULL_LOSSES &&
	    is_inflight_too_high(flight_sent(&r->notes, &b->flights), tcp_sk(sk))) {
		r->undo_state = STARTUP;
		b->full_bw_reached = true;
		/* "max(BBR.bdp, BBR.inflight_latest)" */
		r->inflight_longterm = max(bdp(b, r), b->inflight_latest);
	}
	if (b->full_bw_reached) {
		b->state = DRAIN;
		r->drain_start_round = b->rounds.count;
	}
}

/* "CheckDrainDone()" */
static __always_inline void check_drain_done(struct sock *sk, struct bbr3_rest *r)
{
	const struct bbr3 *b = bbr3_of(sk);

	if (b->state != DRAIN)
		return;
	/* "C.inflight <= Inflight(1.0) || BBR.round_count > BBR.drain_start_round + 3" */
	if (tcp_packets_in_flight(tcp_sk(sk)) <= inflight(sk, r, b->bw) ||
	    b->rounds.count - r->drain_start_round > 3)
		start_down(sk, r);
}

#endif
