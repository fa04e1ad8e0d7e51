/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 3: the cycle of ProbeBW, and the long-term bound that it probes. */
#ifndef KIRIKAE_BBR3_PROBE_BW_H
#define KIRIKAE_BBR3_PROBE_BW_H

#include "algorithms/bbr3/loss_thresh.h"

/* "RaiseInflightLongtermSlope()" */
static __always_inline void raise_slope(struct bbr3_rest *r, const struct tcp_sock *tp)
{
	u32 growth_this_round = 1U << (r->bw_probe_up_rounds & 31);

	r->bw_probe_up_rounds = min(r->bw_probe_up_rounds + 1, 30U);
	r->probe_up_acked_per_inc = max(tp->snd_cwnd / growth_this_round, 1U);
}

/* "StartProbeBW_DOWN()" with "PickProbeWait()" */
static __always_inline void start_down(struct sock *sk, struct bbr3_rest *r)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);

	/* "ResetCongestionSignals()" */
	r->is_loss_in_round = false;
	r->losses_in_round = 0;
	b->bw_latest = 0;
	b->inflight_latest = 0;

	r->probe_up_acked_per_inc = INFINITE;
	/* "random_int_between(0, 1)" */
	r->probe_up_round = b->rounds.count - (random_u32(sk) & 1);
	/* "2 + random_float_between(0.0, 1.0)" seconds */
	r->bw_probe_wait_ms = 2000 + random_u32(sk) % 1000;
	r->cycle_stamp_ms = time_ms(tp);
	r->ack_phase = ACKS_PROBE_STOPPING;
	round_begin(&b->rounds, tp);
	b->state = PROBE_BW_DOWN;
}

/* "StartProbeBW_REFILL()" */
static __always_inline void start_refill(struct sock *sk, struct bbr3_rest *r)
{
	reset_shortterm(r);
	r->bw_probe_up_rounds = 0;
	r->bw_probe_up_acked = 0;
	r->prev_probe_precautionary = false;
	r->ack_phase = ACKS_REFILLING;
	round_begin(&bbr3_of(sk)->rounds, tcp_sk(sk));
	bbr3_of(sk)->state = PROBE_BW_REFILL;
}

/* "StartProbeBW_UP()" */
static __always_inline void start_up(struct sock *sk, struct bbr3_rest *r)
{
	r->ack_phase = ACKS_PROBE_STARTING;
	round_begin(&bbr3_of(sk)->rounds, tcp_sk(sk));
	reset_full_bw(r, r->rate);
	bbr3_of(sk)->state = PROBE_BW_UP;
	raise_slope(r, tcp_sk(sk));
}

/* "HasElapsedInPhase(BBR.bw_probe_wait)": when it will have, milliseconds */
static __always_inline u32 bw_probe_due_ms(const struct bbr3_rest *r)
{
	return r->cycle_stamp_ms + r->bw_probe_wait_ms + 1;
}

/*
 * "BBR.rounds_since_bw_probe >= rounds" as the rounds to go, 0 or less when it is time; with
 * "rounds = min(reno_rounds, 63)" and "return min(BBR.bdp, C.cwnd)"
 */
static __always_inline s32 rounds_to_probe_bw(struct sock *sk, const struct bbr3_rest *r)
{
	const struct bbr3 *b = bbr3_of(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	return min(min(bdp(b, r), cwnd), 63U) - (b->rounds.count - r->probe_up_round);
}

/* "IsTimeToProbeBW()" */
static __always_inline bool is_time_to_probe_bw(struct sock *sk, const struct bbr3_rest *r)
{
	return reached(time_ms(tcp_sk(sk)), bw_probe_due_ms(r)) || rounds_to_probe_bw(sk, r) <= 0;
}

/* "IsTimeToCruise()" */
static __always_inline bool is_time_to_cruise(struct sock *sk, const struct bbr3_rest *r)
{
	u32 in_flight = tcp_packets_in_flight(tcp_sk(sk));

	return in_flight <= inflight_with_headroom(r) &&
	       in_flight <= inflight(sk, r, max_bw(sk, r));
}

/* Returns whether the window is in use and inflight_longterm is what bounds it. */
static __always_inline bool at_longterm_bound(const struct sock *sk, const struct bbr3_rest *r)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return cwnd_limited_flag(tp) && tp->snd_cwnd >= r->inflight_longterm;
}

/* "IsTimeToGoDown()" */
static __always_inline bool is_time_to_go_down(struct sock *sk, struct bbr3_rest *r)
{
	u32 in_flight = tcp_packets_in_flight(tcp_sk(sk));

	/* "BBR.prev_probe_too_high && C.inflight >= BBR.inflight_longterm" */
	if (r->prev_probe_too_high && in_flight >= r->inflight_longterm) {
		r->prev_probe_precautionary = true;
		return true;
	}
	if (at_longterm_bound(sk, r)) {
		reset_full_bw(r, r->rate); /* "bw is limited by BBR.inflight_longterm" */
		return false;
	}
	return r->full_bw_now;
}

/* "ProbeInflightLongtermUpward()" */
static __always_inline void probe_longterm_upward(struct sock *sk, struct bbr3_rest *r,
						  u32 newly_acked)
{
	u32 delta;

	if (!at_longterm_bound(sk, r))
		return;
	r->bw_probe_up_acked += newly_acked;
	if (r->bw_probe_up_acked >= r->probe_up_acked_per_inc) {
		delta = r->bw_probe_up_acked / max(r->probe_up_acked_per_inc, 1U);
		r->bw_probe_up_acked -= delta * r->probe_up_acked_per_inc;
		r->inflight_longterm += delta;
	}
	if (r->round_start)
		raise_slope(r, tcp_sk(sk));
}

/* "AdvanceMaxBwFilter()" */
static __always_inline void advance_max_bw(struct bbr3 *b, struct bbr3_rest *r)
{
	if (!b->latest_max)
		return; /* no sample in this cycle */
	r->earlier_max = b->latest_max;
	b->latest_max = 0;
}

/* "AdaptLongTermModel()": returns whether the state has been decided on. */
static __always_inline bool adapt_longterm(struct sock *sk, struct bbr3_rest *r,
					   const struct rate_sample *rs)
{
	struct bbr3 *b = bbr3_of(sk);
	const struct flight *sent;

	if (r->ack_phase == ACKS_PROBE_STARTING && r->round_start)
		r->ack_phase = ACKS_PROBE_FEEDBACK;
	if (r->ack_phase == ACKS_PROBE_STOPPING && r->round_start) {
		r->is_bw_probe_sample = false;
		r->ack_phase = ACKS_INIT;
		if (is_probe_bw(b) && !rs->is_app_limited)
			advance_max_bw(b, r);
		if (is_probe_bw(b) && r->prev_probe_precautionary && !r->prev_probe_too_high) {
			start_refill(sk, r);
			return true;
		}
	}
	if (r->inflight_longterm == INFINITE)
		return false;
	sent = flight_sent(&r->notes, &b->flights);
	if (is_inflight_too_high(sent, tcp_sk(sk)))
		return false;
	r->inflight_longterm = max(r->inflight_longterm, sent->in_flight);
	if (b->state == PROBE_BW_UP)
		probe_longterm_upward(sk, r, rs->acked_sacked);
	return false;
}

/* "UpdateProbeBWCyclePhase()" */
static __always_inline void update_cycle_phase(struct sock *sk, struct bbr3_rest *r,
					       const struct rate_sample *rs)
{
	struct bbr3 *b = bbr3_of(sk);

	if (!b->full_bw_reached || adapt_longterm(sk, r, rs))
		return;
	switch (b->state) {
	case PROBE_BW_DOWN:
	case PROBE_BW_CRUISE:
		if (is_time_to_probe_bw(sk, r))
			start_refill(sk, r);
		else if (b->state == PROBE_BW_DOWN && is_time_to_cruise(sk, r))
			b->state = PROBE_BW_CRUISE;
		break;
	case PROBE_BW_REFILL:
		/* "After one round of REFILL, start UP" */
		if (r->round_start) {
			r->is_bw_probe_sample = true;
			start_up(sk, r);
		}
		break;
	case PROBE_BW_UP:
		if (is_time_to_go_down(sk, r)) {
			r->prev_probe_too_high = false; /* "no high loss (yet)" */
			start_down(sk, r);
		}
		break;
	}
}

#endif
