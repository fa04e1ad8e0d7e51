/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 1: the pacing rate and the window that follow from the model. */
#ifndef KIRIKAE_BBR_CONTROL_H
#define KIRIKAE_BBR_CONTROL_H

#include "algorithms/bbr/model.h"

#define EXTRA_ACKED_US (100 * USEC_PER_MSEC)

static __always_inline void set_pacing_rate(struct sock *sk, struct bbr *b, u32 gain)
{
	u64 rate = pacing_rate(sk, bandwidth(b), gain);

	if (unlikely(!b->has_seen_rtt))
		b->has_seen_rtt = tcp_sk(sk)->srtt_us && pace_at_first(sk, HIGH_GAIN);
	/* "if (BBR.filled_pipe || rate > BBR.pacing_rate)" */
	if (b->filled_pipe || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

static __always_inline u32 extra_cwnd(const struct bbr *b, u32 bw)
{
	u32 extra = max(b->extra_acked, b->extra_acked_before);
	u32 most = delivers(bw, EXTRA_ACKED_US);

	return b->filled_pipe ? min(extra, most) : 0;
}

/* "BBRUpdateTargetCwnd()" */
static __always_inline void update_target_cwnd(struct sock *sk, struct bbr *b)
{
	u32 bw = bandwidth(b);
	u32 target = bdp_multiple(bw, b->rtprop_us, cwnd_gain(b));

	b->target_cwnd = with_quanta(sk, b, target + extra_cwnd(b, bw));
}

/* "cwnd = max(cwnd, packets_in_flight + packets_delivered)" */
static __always_inline void conserve_packets(struct tcp_sock *tp, u32 acked)
{
	tp->snd_cwnd = max(tp->snd_cwnd, tcp_packets_in_flight(tp) + acked);
}

static __always_inline void clamp_cwnd(struct tcp_sock *tp)
{
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

/* "BBRModulateCwndForRecovery()" */
SELDOM void modulate_for_recovery(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u8 prior = b->prior_ca_state, state = ca_state(sk);

	/* "cwnd = max(cwnd - packets_lost, 1)" */
	if (rs->losses > 0)
		tp->snd_cwnd = max((s32)(tp->snd_cwnd - rs->losses), 1);
	b->prior_ca_state = state;
	if (state == TCP_CA_Recovery && prior != TCP_CA_Recovery) {
		/* "cwnd = packets_in_flight + max(packets_delivered, 1)" */
		b->packet_conservation = true;
		round_begin(&b->rounds, tp);
		tp->snd_cwnd = tcp_packets_in_flight(tp) + rs->acked_sacked;
	} else if (state < TCP_CA_Recovery && prior >= TCP_CA_Recovery) {
		/* "cwnd = max(cwnd, BBR.prior_cwnd)" */
		tp->snd_cwnd = max(tp->snd_cwnd, b->prior_cwnd);
		b->packet_conservation = false;
	}
	if (b->packet_conservation)
		conserve_packets(tp, rs->acked_sacked);
}

/* Whether modulate_for_recovery() has anything to do. */
static __always_inline bool concerns_recovery(struct sock *sk, const struct bbr *b,
					      const struct rate_sample *rs)
{
	return rs->losses > 0 || b->prior_ca_state != ca_state(sk) || b->packet_conservation;
}

/* "BBRSetCwnd()", but for recovery and ProbeRTT */
static __always_inline void grow_cwnd(struct sock *sk, const struct bbr *b, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tp->snd_cwnd, target = b->target_cwnd;

	/* "cwnd = min(cwnd + packets_delivered, BBR.target_cwnd)" */
	if (likely(b->filled_pipe))
		cwnd = min(cwnd + acked, target);
	/* "else if (cwnd < BBR.target_cwnd || BBR.delivered < InitialCwnd)" */
	else if (cwnd < target || tp->delivered < TCP_INIT_CWND)
		cwnd += acked;
	tp->snd_cwnd = max(cwnd, MIN_PIPE_CWND);
}

/* "BBRSetCwnd()" */
static __always_inline void set_cwnd(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (likely(rs->acked_sacked)) {
		if (unlikely(concerns_recovery(sk, b, rs)))
			modulate_for_recovery(sk, b, rs);
		if (!b->packet_conservation) {
			update_target_cwnd(sk, b);
			grow_cwnd(sk, b, rs->acked_sacked);
		}
	}
	clamp_cwnd(tp);
	/* "cwnd = min(cwnd, BBRMinPipeCwnd)" */
	if (unlikely(b->mode == PROBE_RTT))
		tp->snd_cwnd = min(tp->snd_cwnd, MIN_PIPE_CWND);
}

#endif
