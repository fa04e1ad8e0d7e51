/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR version 3: the model of bbr.bpf.c, bounded by what was lost.
 *
 * Source: draft-ietf-ccwg-bbr-06.
 *
 * Deliberate differences:
 *  1. Volumes are segments, not bytes.
 *  2. The kernel keeps neither tx_in_flight nor lost with a segment. Both are taken from what is
 *     noted about the connection eight times a round trip (flight_notes.h).
 *  3. Losses come to notice once an ACK, not segment by segment, and are laid to the newest segment
 *     that the ACK covers.
 *  4. "Discontiguous sequence ranges lost" are counted as ACKs that brought losses to notice.
 *  5. Every connection is taken to have selective ACKs.
 *  6. C.send_quantum is reckoned from the pacing rate as the kernel does it, at least 2 segments.
 *  7. After a timeout "C.cwnd" in InitLowerBounds() is the window before it.
 *  8. Gains are in 1/256: 2.77 is 2.7695 and 0.90 is 0.8984.
 *  9. As the draft leaves it: no ECN.
 * 10. The ssthresh found is kept for the successor.
 * 11. Part of its state lies in socket storage. While there is no memory for it the window stays
 *     where it is, in recovery what leaves the path is replaced, and pacing is at 2 cwnd/srtt.
 *
 * Switched in mid-flight: a start, as the draft has it, but from the window and the RTTs found:
 * paced at 2.77 cwnd/srtt, and the window is not cut before the pipe is seen to be full.
 */
#include "algorithms/bbr3/loss_response.h"
#include "algorithms/bbr3/quiet.h"
#include "algorithms/bbr3/startup.h"

/* "OnInit()" */
SELDOM void begin(struct sock *sk, struct bbr3_rest *r)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);

	r->begun = true;
	r->min_rtt_us = b->probe_rtt_min_us = min_rtt_at_first(sk);
	r->min_rtt_stamp_ms = r->probe_rtt_min_stamp_ms = time_ms(tp);
	r->prior_cwnd = tp->snd_cwnd;
	r->undo_state = NO_STATE;
	r->inflight_longterm = INFINITE;
	r->probe_up_acked_per_inc = INFINITE;
	b->lost = tp->lost;
	b->loss_round_delivered = tp->delivered;
	flight_notes_begin(&r->notes, &b->flights, tp);
	ack_interval_begin(&b->ack_interval, tp->tcp_mstamp);
	reset_shortterm(r);
	round_begin(&b->rounds, tp);
	r->has_seen_rtt = pace_at_first(sk, STARTUP_GAIN);
}

/* Returns NULL where there is no memory for it. */
static __always_inline struct bbr3_rest *rest_of(struct sock *sk)
{
	struct bbr3_rest *r = large_state(sk);

	if (r && unlikely(!r->begun))
		begin(sk, r);
	return r;
}

/* Without a state nothing grows, and in recovery packets are conserved. */
SELDOM void conserve(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 conserved = tcp_packets_in_flight(tp) + rs->acked_sacked;

	if (ca_state(sk) >= TCP_CA_Recovery)
		tp->snd_cwnd = min(tp->snd_cwnd, conserved);
	tp->snd_cwnd = max(tp->snd_cwnd, MIN_PIPE_CWND);
	pace_at_first(sk, 2 * GAIN_ONE);
}

/* The rest of "UpdateModelAndState()": what follows from the samples, and the round trip */
static __always_inline void update_state(struct sock *sk, struct bbr3_rest *r,
					 const struct rate_sample *rs)
{
	struct bbr3 *b = bbr3_of(sk);

	check_full_bw(sk, r, rs);
	check_startup_done(sk, r);
	if (r->loss_round_start) {
		r->is_loss_in_round = false;
		r->losses_in_round = 0;
	}
	check_drain_done(sk, r);
	update_cycle_phase(sk, r, rs);
	update_min_rtt(sk, r, rs);
	check_probe_rtt(sk, r, rs);
	/* "AdvanceLatestDeliverySignals()" */
	if (r->loss_round_start) {
		b->bw_latest = r->rate;
		b->inflight_latest = r->delivered;
	}
	/* "BBR.bw = min(BBR.max_bw, BBR.bw_shortterm)" */
	b->bw = min(max_bw(sk, r), r->bw_shortterm);
}

/* "UpdateModelAndState()" */
static __always_inline void update_model(struct sock *sk, struct bbr3_rest *r,
					 const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);

	keep_noted(b);
	flight_keep(&r->notes, &b->flights, b->lost);
	if (flight_note_is_due(&b->flights, tp, rs))
		flight_note(&r->notes, &b->flights, tp, rs);
	if (has_rate(rs))
		flight_acked(&b->flights, rs);
	if (tp->lost != b->lost)
		handle_losses(sk, r, rs);
	update_latest(sk, r, rs);
	update_max_bw(sk, r, rs);
	if (r->loss_round_start)
		adapt_lower_bounds(sk, r);
	update_extra_acked(sk, rs);
	update_state(sk, r, rs);
}

/* "UpdateOnACK()", where anything may have to be decided */
SELDOM void update_on_ack(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr3_rest *r = rest_of(sk);
	struct bbr3 *b = bbr3_of(sk);

	if (!r) {
		stay_alert(sk);
		conserve(sk, rs);
		return;
	}
	update_model(sk, r, rs);
	set_pacing_rate(sk, r, pacing_gain(b));
	update_ca_state(sk, r);
	update_max_inflight(sk, r);
	grow_cwnd(sk, rs->acked_sacked);
	bound_cwnd(sk, r);
	settle(sk, r);
}

CONG_CONTROL(bbr3_cong_control, sk, rs)
{
	if (!update_quietly(sk, rs) && !update_nearly_quietly(sk, rs))
		update_on_ack(sk, rs);
}

CALLBACK(void, bbr3_init, struct sock *sk)
{
	bbr3_of(sk)->ssthresh_found = model_take_over(sk);
	stay_alert(sk);
	large_state_drop(sk);
	if (!rest_of(sk))
		pace_at_first(sk, 2 * GAIN_ONE);
}

CALLBACK(void, bbr3_release, struct sock *sk)
{
	const struct bbr3_rest *r = large_state(sk);
	const struct bbr3 *b = bbr3_of(sk);
	u32 window = 0;

	if (r && b->full_bw_reached) {
		window = tcp_sk(sk)->snd_cwnd;
		/* In ProbeRTT and in recovery the window is a small one for a while. */
		if (b->state == PROBE_RTT || ca_state(sk) >= TCP_CA_Recovery)
			window = max(window, r->prior_cwnd);
	}
	model_release(sk, b->ssthresh_found, window);
	large_state_drop(sk);
}

/* "OnEnterFastRecovery()"; called on the way into any recovery. */
CALLBACK(u32, bbr3_ssthresh, struct sock *sk)
{
	struct bbr3_rest *r = rest_of(sk);

	if (r)
		save_state(sk, r);
	return tcp_sk(sk)->snd_ssthresh;
}

/* "HandleSpuriousLossDetection()" */
CALLBACK(u32, bbr3_undo_cwnd, struct sock *sk)
{
	struct bbr3_rest *r = rest_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);

	if (!r)
		return max(tp->snd_cwnd, tp->prior_cwnd);
	stay_alert(sk);
	r->is_loss_in_round = false;
	reset_full_bw(r, 0);
	r->bw_shortterm = max(r->bw_shortterm, r->undo_bw_shortterm);
	r->inflight_shortterm = max(r->inflight_shortterm, r->undo_inflight_shortterm);
	r->inflight_longterm = max(r->inflight_longterm, r->undo_inflight_longterm);
	if (r->undo_state == STARTUP && b->state != STARTUP) {
		b->full_bw_reached = false;
		if (b->state != PROBE_RTT)
			b->state = STARTUP;
	} else if (r->undo_state == PROBE_BW_UP && b->state != PROBE_BW_UP) {
		if (b->state != PROBE_RTT)
			start_refill(sk, r);
	}
	r->undo_state = NO_STATE;
	return max(tp->snd_cwnd, r->prior_cwnd);
}

/* "OnEnterRTO()" among others; there the kernel sets the window to what is in flight and 1. */
CALLBACK(void, bbr3_set_state, struct sock *sk, u8 new_state)
{
	stay_alert(sk);
	if (new_state == TCP_CA_Loss && rest_of(sk))
		bbr3_of(sk)->prior_ca_state = TCP_CA_Loss;
}

/* "HandleRestartFromIdle()" */
CWND_EVENT(bbr3_cwnd_event, sk, event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);
	struct bbr3_rest *r;

	if (event != CA_EVENT_TX_START)
		return;
	burst_begins(sk);
	if (!tp->app_limited)
		return;
	r = rest_of(sk);
	if (!r)
		return;
	stay_alert(sk);
	r->idle_restart = true;
	ack_interval_begin(&b->ack_interval, tp->tcp_mstamp);
	if (is_probe_bw(b))
		set_pacing_rate(sk, r, GAIN_ONE);
	else if (b->state == PROBE_RTT)
		check_probe_rtt_done(sk, r);
}

ALGORITHM(bbr3) = {
	.init = (void *)bbr3_init,
	.release = (void *)bbr3_release,
	.cong_control = (void *)bbr3_cong_control,
	.ssthresh = (void *)bbr3_ssthresh,
	.undo_cwnd = (void *)bbr3_undo_cwnd,
	.set_state = (void *)bbr3_set_state,
	HEARS(bbr3_cwnd_event),
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_bbr3",
};

ABOUT(bbr3, "draft-ietf-ccwg-bbr", "as bbr, but it heeds loss beyond 2 % and shares better",
      "from its draft alone");
