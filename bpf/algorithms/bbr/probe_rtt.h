/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 1: the round-trip propagation time, and ProbeRTT to measure it. */
#ifndef KIRIKAE_BBR_PROBE_RTT_H
#define KIRIKAE_BBR_PROBE_RTT_H

#include "algorithms/bbr/probe_bw.h"

/* "RTpropFilterLen" and "ProbeRTTInterval = 10 seconds" */
#define RTPROP_MS 10000U
/* "ProbeRTTDuration (200 ms)" */
#define PROBE_RTT_MS 200U

/* Returns when RTprop is too old, milliseconds. */
static __always_inline u32 rtprop_due_ms(const struct bbr *b)
{
	return b->rtprop_stamp_ms + RTPROP_MS + 1;
}

static __always_inline bool is_rtprop_expired(const struct bbr *b, const struct tcp_sock *tp)
{
	return reached(time_ms(tp), rtprop_due_ms(b));
}

/* "BBRExitProbeRTT()", once "Now() > BBR.probe_rtt_done_stamp" */
SELDOM void check_probe_rtt_done(struct sock *sk, struct bbr *b)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!b->probe_rtt_timed || !reached(time_ms(tp), b->probe_rtt_done_ms + 1))
		return;
	b->rtprop_stamp_ms = time_ms(tp);
	tp->snd_cwnd = min(max(tp->snd_cwnd, b->prior_cwnd), tp->snd_cwnd_clamp);
	if (b->filled_pipe)
		enter_probe_bw(sk, b);
	else
		b->mode = STARTUP;
}

/* "BBRHandleProbeRTT()" */
static __always_inline void handle_probe_rtt(struct sock *sk, struct bbr *b)
{
	struct tcp_sock *tp = tcp_sk(sk);

	mark_app_limited(tp); /* "Ignore low rate samples during ProbeRTT" */
	if (!b->probe_rtt_timed && tcp_packets_in_flight(tp) <= MIN_PIPE_CWND) {
		b->probe_rtt_done_ms = time_ms(tp) + PROBE_RTT_MS;
		b->probe_rtt_timed = true;
		b->probe_rtt_round_done = false;
		round_begin(&b->rounds, tp);
	} else if (b->probe_rtt_timed) {
		if (b->round_start)
			b->probe_rtt_round_done = true;
		if (b->probe_rtt_round_done)
			check_probe_rtt_done(sk, b);
	}
}

/* "BBRCheckProbeRTT()", where RTprop is too old or ProbeRTT is on */
SELDOM void check_probe_rtt(struct sock *sk, struct bbr *b)
{
	if (b->mode != PROBE_RTT && !b->idle_restart) {
		save_cwnd(b, tcp_sk(sk));
		b->mode = PROBE_RTT;
		b->probe_rtt_timed = false;
	}
	if (b->mode == PROBE_RTT)
		handle_probe_rtt(sk, b);
}

/* "BBRUpdateRTprop()" */
static __always_inline void update_rtprop(struct sock *sk, struct bbr *b,
					  const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool expired = is_rtprop_expired(b, tp);

	if (rs->rtt_us >= 0 && (rs->rtt_us < b->rtprop_us || (expired && !rs->is_ack_delayed))) {
		b->rtprop_us = rs->rtt_us;
		b->rtprop_stamp_ms = time_ms(tp);
	}
	if (expired || b->mode == PROBE_RTT)
		check_probe_rtt(sk, b);
	if (rs->delivered > 0)
		b->idle_restart = false;
}

#endif
