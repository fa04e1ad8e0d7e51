/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR version 1: sends at the rate, and keeps in flight the volume, that the path was seen to
 * carry.
 *
 * Source: draft-cardwell-iccrg-bbr-congestion-control-00.
 *
 * Deliberate differences from the draft, all as in Linux:
 *  1. Pacing is 1 % below the estimated bandwidth.
 *  2. What ACKs arrive in excess of the bandwidth is added to the window (extra_acked), up to what
 *     the path carries in 100 ms.
 *  3. A path that polices its rate is recognised by equal throughput over two intervals with 20 %
 *     loss, and that throughput used for 48 round trips ("lt_bw" in Linux).
 *  4. The window is an even number of segments, and 2 more while probing at 5/4.
 *  5. What is in flight is reckoned for the moment when pacing lets the next segment go.
 *  6. A delayed ACK does not renew RTprop.
 *  7. After a retransmission timeout the search for the full pipe begins anew.
 *
 * Deliberate differences from Linux:
 *  8. No min_tso_segs: ARCHITECTURE.md says why. Below 1.2 Mbit/s trains have 2 segments, not 1.
 *  9. Times are in milliseconds, not in jiffies.
 * 10. ssthresh stays infinite after Startup; the one found is kept for the successor.
 * 11. Of the samples of a round trip only the first and the fastest change the windowed maximum. In
 *     the second half of its window Linux has the third largest follow each.
 * 12. No sndbuf_expand: twice what Linux reckons a segment to take holds more than 3 windows, and
 *     the callback would run for each ACK of a sender that waits for its buffer.
 *
 * Switched in mid-flight: a start, as the draft has it, but from the window and the RTTs found:
 * paced at 2.89 cwnd/srtt, and the window is not cut before the pipe is seen to be full. Where
 * the connection is in recovery, the window found is what it goes back to.
 */
#include "algorithms/bbr/quiet.h"
#include "algorithms/bbr/startup.h"

/* "BBRUpdateModelAndState()" but for the samples */
static __always_inline void update_state(struct sock *sk, struct bbr *b,
					 const struct rate_sample *rs)
{
	if (b->mode == PROBE_BW && is_next_phase(sk, b, rs))
		advance_phase(b, tcp_sk(sk));
	if (!b->filled_pipe || b->mode == DRAIN)
		check_startup(sk, b, rs);
	update_rtprop(sk, b, rs);
}

/* "BBRUpdateOnACK()", where anything may have to be decided */
SELDOM void update_on_ack(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *b = bbr_of(sk);

	update_btl_bw(sk, b, rs);
	update_extra_acked(b, tcp_sk(sk), rs);
	update_state(sk, b, rs);
	set_pacing_rate(sk, b, pacing_gain(b));
	set_cwnd(sk, b, rs);
	settle(sk, rs);
}

CONG_CONTROL(bbr_cong_control, sk, rs)
{
	if (!update_quietly(sk, rs) && !update_going_on(sk, rs))
		update_on_ack(sk, rs);
}

/* "BBRInit()" */
CALLBACK(void, bbr_init, struct sock *sk)
{
	struct bbr *b = bbr_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	b->ssthresh_found = model_take_over(sk);
	stay_alert(sk);
	b->rtprop_us = min_rtt_at_first(sk);
	b->rtprop_stamp_ms = time_ms(tp);
	b->prior_cwnd = tp->snd_cwnd;
	round_begin(&b->rounds, tp);
	policer_interval_begin(&b->policer, tp);
	ack_interval_begin(&b->ack_interval, tp->tcp_mstamp);
	b->has_seen_rtt = pace_at_first(sk, HIGH_GAIN);
}

CALLBACK(void, bbr_release, struct sock *sk)
{
	const struct bbr *b = bbr_of(sk);
	u32 window = tcp_sk(sk)->snd_cwnd;

	/* In ProbeRTT and in recovery the window is a small one for a while. */
	if (b->mode == PROBE_RTT || ca_state(sk) >= TCP_CA_Recovery)
		window = max(window, b->prior_cwnd);
	model_release(sk, b->ssthresh_found, b->filled_pipe ? window : 0);
}

/* The kernel calls this on the way into recovery. */
CALLBACK(u32, bbr_ssthresh, struct sock *sk)
{
	save_cwnd(bbr_of(sk), tcp_sk(sk));
	return tcp_sk(sk)->snd_ssthresh;
}

/* What was held for lost was not, so the full pipe is looked for anew. The window comes back by
 * itself. */
CALLBACK(u32, bbr_undo_cwnd, struct sock *sk)
{
	struct bbr *b = bbr_of(sk);

	stay_alert(sk);
	b->full_bw = 0;
	b->full_bw_count = 0;
	policer_forget(&b->policer, tcp_sk(sk));
	return tcp_sk(sk)->snd_cwnd;
}

CALLBACK(void, bbr_set_state, struct sock *sk, u8 new_state)
{
	struct bbr *b = bbr_of(sk);

	stay_alert(sk);
	if (new_state != TCP_CA_Loss)
		return;
	b->prior_ca_state = TCP_CA_Loss;
	b->full_bw = 0;
	b->round_start = true; /* a timeout takes longer than a round trip */
	update_policer(sk, b, true, false);
}

/* "BBRHandleRestartFromIdle()" */
CWND_EVENT(bbr_cwnd_event, sk, event)
{
	struct bbr *b = bbr_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (event != CA_EVENT_TX_START)
		return;
	stay_alert(sk);
	burst_begins(sk);
	if (!tp->app_limited)
		return;
	b->idle_restart = true;
	ack_interval_begin(&b->ack_interval, tp->tcp_mstamp);
	if (b->mode == PROBE_BW)
		set_pacing_rate(sk, b, GAIN_ONE);
	else if (b->mode == PROBE_RTT)
		check_probe_rtt_done(sk, b);
}

ALGORITHM(bbr) = {
	.init = (void *)bbr_init,
	.release = (void *)bbr_release,
	.cong_control = (void *)bbr_cong_control,
	.ssthresh = (void *)bbr_ssthresh,
	.undo_cwnd = (void *)bbr_undo_cwnd,
	.set_state = (void *)bbr_set_state,
	HEARS(bbr_cwnd_event),
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_bbr",
};

ABOUT(bbr, "draft-cardwell-iccrg-bbr-congestion-control-00",
      "unknown buffers, policed paths; loss is not congestion", "held against Linux's module");
