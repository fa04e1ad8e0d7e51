/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 3: the minimum RTT, and ProbeRTT to measure it. */
#ifndef KIRIKAE_BBR3_PROBE_RTT_H
#define KIRIKAE_BBR3_PROBE_RTT_H

#include "algorithms/bbr3/probe_bw.h"

/* "BBR.MinRTTFilterLen is 10 secs" */
#define MIN_RTT_MS 10000U
/* "BBR.ProbeRTTInterval ... 5 secs" */
#define PROBE_RTT_INTERVAL_MS 5000U
/* "BBR.ProbeRTTDuration ... 200 ms" */
#define PROBE_RTT_MS 200U

/* These return when probe_rtt_min_us and min_rtt_us are too old, milliseconds. */
static __always_inline u32 probe_rtt_due_ms(const struct bbr3_rest *r)
{
	return r->probe_rtt_min_stamp_ms + PROBE_RTT_INTERVAL_MS + 1;
}

static __always_inline u32 min_rtt_due_ms(const struct bbr3_rest *r)
{
	return r->min_rtt_stamp_ms + MIN_RTT_MS + 1;
}

/* "UpdateMinRTT()" */
static __always_inline void update_min_rtt(struct sock *sk, struct bbr3_rest *r,
					   const struct rate_sample *rs)
{
	u32 now_ms = time_ms(tcp_sk(sk));
	struct bbr3 *b = bbr3_of(sk);

	r->probe_rtt_expired = reached(now_ms, probe_rtt_due_ms(r));
	if (rs->rtt_us >= 0 && (rs->rtt_us < b->probe_rtt_min_us || r->probe_rtt_expired)) {
		b->probe_rtt_min_us = rs->rtt_us;
		r->probe_rtt_min_stamp_ms = now_ms;
	}
	/* "BBR.probe_rtt_min_delay < BBR.min_rtt || min_rtt_expired" */
	if (b->probe_rtt_min_us < r->min_rtt_us || reached(now_ms, min_rtt_due_ms(r))) {
		r->min_rtt_us = b->probe_rtt_min_us;
		r->min_rtt_stamp_ms = r->probe_rtt_min_stamp_ms;
	}
}

/* "ProbeRTTCwnd()" */
static __always_inline u32 probe_rtt_cwnd(const struct bbr3 *b, const struct bbr3_rest *r)
{
	return max(bdp_multiple(b->bw, r->min_rtt_us, PROBE_RTT_CWND_GAIN), MIN_PIPE_CWND);
}

/* "CheckProbeRTTDone()" and "ExitProbeRTT()" */
static __always_inline void check_probe_rtt_done(struct sock *sk, struct bbr3_rest *r)
{
	u32 now_ms = time_ms(tcp_sk(sk));
	struct bbr3 *b = bbr3_of(sk);

	if (!r->probe_rtt_timed || !reached(now_ms, r->probe_rtt_done_ms + 1))
		return;
	r->probe_rtt_min_stamp_ms = now_ms; /* "schedule next ProbeRTT" */
	restore_cwnd(sk, r);
	reset_shortterm(r);
	if (b->full_bw_reached) {
		start_down(sk, r);
		b->state = PROBE_BW_CRUISE;
	} else {
		b->state = STARTUP;
	}
}

/* "HandleProbeRTT()" */
static __always_inline void handle_probe_rtt(struct sock *sk, struct bbr3_rest *r)
{
	struct tcp_sock *tp = tcp_sk(sk);

	mark_app_limited(tp); /* "Ignore low rate samples during ProbeRTT" */
	if (!r->probe_rtt_timed && tcp_packets_in_flight(tp) <= probe_rtt_cwnd(bbr3_of(sk), r)) {
		r->probe_rtt_done_ms = time_ms(tp) + PROBE_RTT_MS;
		r->probe_rtt_timed = true;
		r->probe_rtt_round_done = false;
		round_begin(&bbr3_of(sk)->rounds, tp);
	} else if (r->probe_rtt_timed) {
		if (r->round_start)
			r->probe_rtt_round_done = true;
		if (r->probe_rtt_round_done)
			check_probe_rtt_done(sk, r);
	}
}

/* "CheckProbeRTT()" */
static __always_inline void check_probe_rtt(struct sock *sk, struct bbr3_rest *r,
					    const struct rate_sample *rs)
{
	struct bbr3 *b = bbr3_of(sk);

	if (b->state != PROBE_RTT && r->probe_rtt_expired && !r->idle_restart) {
		save_cwnd(sk, r);
		b->state = PROBE_RTT;
		r->probe_rtt_timed = false;
		r->ack_phase = ACKS_PROBE_STOPPING;
		round_begin(&b->rounds, tcp_sk(sk));
	}
	if (b->state == PROBE_RTT)
		handle_probe_rtt(sk, r);
	if (rs->delivered > 0)
		r->idle_restart = false;
}

#endif
