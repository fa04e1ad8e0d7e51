/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 3: the pacing rate and the window that follow from the model. */
#ifndef KIRIKAE_BBR3_CONTROL_H
#define KIRIKAE_BBR3_CONTROL_H

#include "algorithms/bbr3/probe_rtt.h"
#include "algorithms/bbr3/samples.h"

/* "SetPacingRateWithGain(pacing_gain)" */
static __always_inline void set_pacing_rate(struct sock *sk, struct bbr3_rest *r, u32 gain)
{
	const struct bbr3 *b = bbr3_of(sk);
	u64 rate = pacing_rate(sk, b->bw, gain);

	if (unlikely(!r->has_seen_rtt))
		r->has_seen_rtt = tcp_sk(sk)->srtt_us && pace_at_first(sk, STARTUP_GAIN);
	if (b->full_bw_reached || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

/* "UpdateMaxInflight()" */
static __always_inline void update_max_inflight(struct sock *sk, const struct bbr3_rest *r)
{
	struct bbr3 *b = bbr3_of(sk);
	u32 bdp = bdp_multiple(b->bw, r->min_rtt_us, cwnd_gain(b));

	b->target_cwnd = quantization_budget(sk, bdp + b->extra_acked.first);
	if (b->full_bw_reached)
		b->target_cwnd = min(b->target_cwnd, max(r->inflight_shortterm, MIN_PIPE_CWND));
}

/* "Upon exiting loss recovery" */
static __always_inline void update_ca_state(struct sock *sk, const struct bbr3_rest *r)
{
	struct bbr3 *b = bbr3_of(sk);
	u8 prior = b->prior_ca_state;

	b->prior_ca_state = ca_state(sk);
	if (prior >= TCP_CA_Recovery && b->prior_ca_state < TCP_CA_Recovery)
		restore_cwnd(sk, r);
}

/* "BoundCwndForProbeRTT()" and "BoundCwndForModel()" */
static __always_inline void bound_cwnd(struct sock *sk, const struct bbr3_rest *r)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct bbr3 *b = bbr3_of(sk);
	u32 cap = INFINITE;

	tp->snd_cwnd = min(tp->snd_cwnd, max(r->inflight_shortterm, MIN_PIPE_CWND));
	if (b->state == PROBE_RTT)
		tp->snd_cwnd = min(tp->snd_cwnd, probe_rtt_cwnd(b, r));
	if (b->state == PROBE_RTT || b->state == PROBE_BW_CRUISE)
		cap = inflight_with_headroom(r);
	else if (is_probe_bw(b))
		cap = r->inflight_longterm;
	cap = max(cap, MIN_PIPE_CWND);
	tp->snd_cwnd = min(tp->snd_cwnd, cap);
}

/* "SetCwnd()", but for bound_cwnd() */
static __always_inline void grow_cwnd(struct sock *sk, u32 newly_acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct bbr3 *b = bbr3_of(sk);
	u32 cwnd = tp->snd_cwnd, target = b->target_cwnd;

	/* "C.cwnd = min(C.cwnd + RS.newly_acked, BBR.max_inflight)" */
	if (likely(b->full_bw_reached))
		cwnd = min(cwnd + newly_acked, target);
	/* "else if (C.cwnd < BBR.max_inflight || C.delivered < C.InitialCwnd)" */
	else if (cwnd < target || tp->delivered < TCP_INIT_CWND)
		cwnd += newly_acked;
	cwnd = max(cwnd, MIN_PIPE_CWND);
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
}

#endif
