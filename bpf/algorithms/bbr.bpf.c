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
 *
 * Switched in mid-flight: a start, as the draft has it, but from the window and the RTTs found:
 * paced at 2.89 cwnd/srtt, and the window is not cut before the pipe is seen to be full. Where
 * the connection is in recovery, the window found is what it goes back to.
 */
#include "path_model.h"
#include "policer.h"

enum mode { STARTUP, DRAIN, PROBE_BW, PROBE_RTT };

struct bbr {
	struct max_filter btl_bw; /* BBR.BtlBwFilter */
	struct rounds rounds;
	u32 rtprop_us;
	u32 rtprop_stamp_ms;
	u32 probe_rtt_done_ms;
	u32 cycle_stamp_us;
	u32 full_bw;
	u32 prior_cwnd;	    /* segments */
	u32 ssthresh_found; /* segments */
	struct policer policer;
	struct ack_interval ack_interval;
	u16 extra_acked;	    /* segments, the most of this window */
	u16 extra_acked_before;	    /* of the window before */
	u16 extra_acked_rounds : 3; /* of this window */
	u16 mode : 2;		    /* enum mode */
	u16 phase : 3;		    /* BBR.cycle_index */
	u16 full_bw_count : 2;
	u16 prior_ca_state : 3; /* enum tcp_ca_state at the latest ACK */
	u16 filled_pipe : 1;
	u16 round_start : 1;
	u16 packet_conservation : 1;
	u16 idle_restart : 1;
	u16 probe_rtt_timed : 1; /* probe_rtt_done_ms is set */
	u16 probe_rtt_round_done : 1;
	u16 has_seen_rtt : 1;
};
ASSERT_FITS_PRIVATE_AREA(struct bbr);

/* "BBRHighGain = 2/ln(2) ~= 2.89" and its inverse, in 1/256 */
#define HIGH_GAIN 739
#define DRAIN_GAIN 88
#define CWND_GAIN (2 * GAIN_ONE)
/* "BtlBwFilterLen = 10 round trips" */
#define BTL_BW_ROUNDS 10
/* "RTpropFilterLen" and "ProbeRTTInterval = 10 seconds" */
#define RTPROP_MS 10000U
/* "ProbeRTTDuration (200 ms)" */
#define PROBE_RTT_MS 200U
/* "BBRGainCycleLen", a power of 2 */
#define CYCLE_PHASES 8
#define FULL_BW_ROUNDS 3
#define EXTRA_ACKED_ROUNDS 5
#define EXTRA_ACKED_US (100 * USEC_PER_MSEC)

static __always_inline struct bbr *bbr_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static __always_inline u32 bandwidth(const struct bbr *b)
{
	u32 policed_bw = read_now(b->policer.bw);

	return b->policer.in_use ? policed_bw : b->btl_bw.first.value;
}

/* "pacing_gain_cycle = [5/4, 3/4, 1, 1, 1, 1, 1, 1]" */
static __always_inline u32 pacing_gain(const struct bbr *b)
{
	if (b->mode == STARTUP)
		return HIGH_GAIN;
	if (b->mode == DRAIN)
		return DRAIN_GAIN;
	if (b->mode == PROBE_RTT || b->policer.in_use || b->phase > 1)
		return GAIN_ONE;
	return b->phase ? GAIN_ONE * 3 / 4 : GAIN_ONE * 5 / 4;
}

static __always_inline u32 cwnd_gain(const struct bbr *b)
{
	if (b->mode == PROBE_BW)
		return CWND_GAIN;
	return b->mode == PROBE_RTT ? GAIN_ONE : HIGH_GAIN;
}

/* 1 segment below 1.2 Mbit/s, else 2 */
static __always_inline u32 quantum(const struct sock *sk)
{
	return send_quantum(sk, sk->sk_pacing_rate < 1200000 / 8 ? 1 : 2);
}

/* "quanta = 3*BBR.send_quantum" */
static __always_inline u32 with_quanta(const struct sock *sk, const struct bbr *b, u32 segments)
{
	segments = (segments + 3 * quantum(sk) + 1) & ~1U;
	return b->mode == PROBE_BW && !b->phase ? segments + 2 : segments;
}

/* "BBRInflight(gain)" */
static __always_inline u32 inflight(const struct sock *sk, const struct bbr *b, u32 gain)
{
	return with_quanta(sk, b, bdp_multiple(b->btl_bw.first.value, b->rtprop_us, gain));
}

/* What of `in_flight` segments will still be when the next segment goes. */
static __always_inline u32 in_flight_at_departure(const struct sock *sk, const struct bbr *b,
						  u32 in_flight)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;
	u64 departure_ns = max(tp->tcp_wstamp_ns, now_ns);
	u32 delivered = delivers(bandwidth(b), (departure_ns - now_ns) / 1000);

	if (pacing_gain(b) > GAIN_ONE)
		in_flight += quantum(sk);
	return in_flight > delivered ? in_flight - delivered : 0;
}

static __always_inline void set_pacing_rate(struct sock *sk, struct bbr *b, u32 gain)
{
	u64 rate = pacing_rate(sk, bandwidth(b), gain);

	if (unlikely(!b->has_seen_rtt))
		b->has_seen_rtt = tcp_sk(sk)->srtt_us && pace_at_first(sk, HIGH_GAIN);
	/* "if (BBR.filled_pipe || rate > BBR.pacing_rate)" */
	if (b->filled_pipe || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

/* "BBRAdvanceCyclePhase()" */
static __always_inline void advance_phase(struct bbr *b, const struct tcp_sock *tp)
{
	b->phase = (b->phase + 1) % CYCLE_PHASES;
	b->cycle_stamp_us = tp->delivered_mstamp;
}

/* "BBR.cycle_index = BBRGainCycleLen - 1 - random_int_in_range(0..6)" */
static __always_inline void enter_probe_bw(struct sock *sk, struct bbr *b)
{
	b->mode = PROBE_BW;
	b->phase = CYCLE_PHASES - 1 - random_u32(sk) % (CYCLE_PHASES - 1);
	advance_phase(b, tcp_sk(sk));
}

/* The round trips in use that count are those of ProbeBW. */
SELDOM void update_policer(struct sock *sk, struct bbr *b, bool losses, bool is_app_limited)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!b->policer.in_use)
		policer_look_for(&b->policer, tp, losses, is_app_limited, b->round_start);
	else if (b->mode == PROBE_BW && b->round_start && policer_used_up(&b->policer, tp))
		enter_probe_bw(sk, b);
}

/* Whether update_policer() has anything to do. */
static __always_inline bool concerns_policer(const struct bbr *b, const struct rate_sample *rs)
{
	return rs->losses > 0 || ((b->policer.sampling || b->policer.in_use) &&
				  (b->round_start || rs->is_app_limited));
}

/* "BBRUpdateBtlBw()" */
static __always_inline void update_btl_bw(struct sock *sk, struct bbr *b,
					  const struct rate_sample *rs)
{
	u32 bw;

	b->round_start = false;
	if (!has_rate(rs))
		return;
	b->round_start = round_update(&b->rounds, tcp_sk(sk), rs);
	/* "After one round-trip in Fast Recovery: BBR.packet_conservation = false" */
	if (b->round_start)
		b->packet_conservation = false;
	if (concerns_policer(b, rs))
		update_policer(sk, b, rs->losses > 0, rs->is_app_limited);
	bw = delivery_rate(rs);
	/* "if (rs.delivery_rate >= BBR.BtlBw || ! rs.is_app_limited)" */
	if (bw >= b->btl_bw.first.value || !rs->is_app_limited)
		max_filter_update(&b->btl_bw, BTL_BW_ROUNDS, b->rounds.count, bw);
}

/* The most that was ACKed in excess, of the latest 5 to 10 rounds. */
static __always_inline void update_extra_acked(struct bbr *b, const struct tcp_sock *tp,
					       const struct rate_sample *rs)
{
	u32 extra;

	if (!rs->acked_sacked || !has_rate(rs))
		return;
	if (b->round_start && ++b->extra_acked_rounds >= EXTRA_ACKED_ROUNDS) {
		b->extra_acked_rounds = 0;
		b->extra_acked_before = b->extra_acked;
		b->extra_acked = 0;
	}
	extra = excess_acked(&b->ack_interval, tp, bandwidth(b), rs->acked_sacked);
	b->extra_acked = max(b->extra_acked, min(extra, 0xffffU));
}

static __always_inline u32 extra_cwnd(const struct bbr *b, u32 bw)
{
	u32 extra = max(b->extra_acked, b->extra_acked_before);
	u32 most = delivers(bw, EXTRA_ACKED_US);

	return b->filled_pipe ? min(extra, most) : 0;
}

/* "prior_inflight >= BBRInflight(BBR.pacing_gain)" */
SELDOM bool is_probed(struct sock *sk, struct bbr *b, u32 in_flight)
{
	return in_flight_at_departure(sk, b, in_flight) >= inflight(sk, b, pacing_gain(b));
}

/* "inflight <= BBRInflight(1)" */
SELDOM bool is_drained(struct sock *sk, struct bbr *b, u32 in_flight)
{
	return in_flight_at_departure(sk, b, in_flight) <= inflight(sk, b, GAIN_ONE);
}

/* "BBRIsNextCyclePhase()" */
static __always_inline bool is_next_phase(struct sock *sk, struct bbr *b,
					  const struct rate_sample *rs)
{
	u32 elapsed_us = (u32)tcp_sk(sk)->delivered_mstamp - b->cycle_stamp_us;

	/* "is_full_length or prior_inflight <= BBRInflight(1)" */
	if (elapsed_us <= b->rtprop_us)
		return pacing_gain(b) < GAIN_ONE && is_drained(sk, b, rs->prior_in_flight);
	/* "is_full_length and (packets_lost > 0 or prior_inflight >= ...)" */
	return pacing_gain(b) <= GAIN_ONE || rs->losses > 0 ||
	       is_probed(sk, b, rs->prior_in_flight);
}

/* "BBRCheckFullPipe()" */
static __always_inline void check_full_pipe(struct bbr *b, const struct rate_sample *rs)
{
	u32 btl_bw = b->btl_bw.first.value;

	if (b->filled_pipe || !b->round_start || rs->is_app_limited)
		return;
	/* "if (BBR.BtlBw >= BBR.full_bw * 1.25)" */
	if (btl_bw >= (u64)b->full_bw * 5 / 4) {
		b->full_bw = btl_bw;
		b->full_bw_count = 0;
		return;
	}
	b->full_bw_count++;
	b->filled_pipe = b->full_bw_count >= FULL_BW_ROUNDS;
}

/* "BBRCheckDrain()" */
static __always_inline void check_drain(struct sock *sk, struct bbr *b)
{
	if (b->mode == STARTUP && b->filled_pipe)
		b->mode = DRAIN;
	if (b->mode == DRAIN && is_drained(sk, b, tcp_packets_in_flight(tcp_sk(sk))))
		enter_probe_bw(sk, b);
}

/* "BBRSaveCwnd()" */
static __always_inline void save_cwnd(struct bbr *b, const struct tcp_sock *tp)
{
	if (b->prior_ca_state < TCP_CA_Recovery && b->mode != PROBE_RTT)
		b->prior_cwnd = tp->snd_cwnd;
	else
		b->prior_cwnd = max(b->prior_cwnd, tp->snd_cwnd);
}

/* "BBRExitProbeRTT()", once "Now() > BBR.probe_rtt_done_stamp" */
static __always_inline void check_probe_rtt_done(struct sock *sk, struct bbr *b)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!b->probe_rtt_timed || !reached(time_ms(tp), b->probe_rtt_done_ms + 1))
		return;
	b->rtprop_stamp_ms = time_ms(tp);
	tp->snd_cwnd = max(tp->snd_cwnd, b->prior_cwnd);
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

static __always_inline bool is_rtprop_expired(const struct bbr *b, const struct tcp_sock *tp)
{
	return reached(time_ms(tp), b->rtprop_stamp_ms + RTPROP_MS + 1);
}

/* "BBRUpdateRTprop()" and "BBRCheckProbeRTT()" */
static __always_inline void update_rtprop(struct sock *sk, struct bbr *b,
					  const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool expired = is_rtprop_expired(b, tp);

	if (rs->rtt_us >= 0 && (rs->rtt_us < b->rtprop_us || (expired && !rs->is_ack_delayed))) {
		b->rtprop_us = rs->rtt_us;
		b->rtprop_stamp_ms = time_ms(tp);
	}
	if (b->mode != PROBE_RTT && expired && !b->idle_restart) {
		save_cwnd(b, tp);
		b->mode = PROBE_RTT;
		b->probe_rtt_timed = false;
	}
	if (b->mode == PROBE_RTT)
		handle_probe_rtt(sk, b);
	if (rs->delivered > 0)
		b->idle_restart = false;
}

/* What follows from the bandwidth, and the round trip */
SELDOM void update_state(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	if (b->mode == PROBE_BW && is_next_phase(sk, b, rs))
		advance_phase(b, tcp_sk(sk));
	check_full_pipe(b, rs);
	check_drain(sk, b);
	update_rtprop(sk, b, rs);
}

/* Whether update_state() would leave everything as it is, as at most ACKs. */
static __always_inline bool is_cruising(struct sock *sk, struct bbr *b,
					const struct rate_sample *rs)
{
	return b->mode == PROBE_BW && !b->idle_restart && rs->rtt_us >= b->rtprop_us &&
	       !is_rtprop_expired(b, tcp_sk(sk)) && !is_next_phase(sk, b, rs);
}

/* "BBRModulateCwndForRecovery()" */
SELDOM void modulate_for_recovery(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 conserved = tcp_packets_in_flight(tp) + rs->acked_sacked;
	u8 prior = b->prior_ca_state, state = ca_state(sk);

	/* "cwnd = max(cwnd - packets_lost, 1)" */
	if (rs->losses > 0)
		tp->snd_cwnd = max((s32)(tp->snd_cwnd - rs->losses), 1);
	b->prior_ca_state = state;
	if (state == TCP_CA_Recovery && prior != TCP_CA_Recovery) {
		/* "cwnd = packets_in_flight + max(packets_delivered, 1)" */
		b->packet_conservation = true;
		round_begin(&b->rounds, tp);
		tp->snd_cwnd = conserved;
	} else if (state < TCP_CA_Recovery && prior >= TCP_CA_Recovery) {
		/* "cwnd = max(cwnd, BBR.prior_cwnd)" */
		tp->snd_cwnd = max(tp->snd_cwnd, b->prior_cwnd);
		b->packet_conservation = false;
	}
	/* "cwnd = max(cwnd, packets_in_flight + packets_delivered)" */
	if (b->packet_conservation)
		tp->snd_cwnd = max(tp->snd_cwnd, conserved);
}

/* Whether modulate_for_recovery() has anything to do. */
static __always_inline bool concerns_recovery(struct sock *sk, const struct bbr *b,
					      const struct rate_sample *rs)
{
	return rs->losses > 0 || b->prior_ca_state != ca_state(sk) || b->packet_conservation;
}

/* "BBRSetCwnd()", but for packet conservation */
static __always_inline void grow_cwnd(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 bw = bandwidth(b);
	u32 target = bdp_multiple(bw, b->rtprop_us, cwnd_gain(b));

	target = with_quanta(sk, b, target + extra_cwnd(b, bw));
	/* "cwnd = min(cwnd + packets_delivered, BBR.target_cwnd)" */
	if (likely(b->filled_pipe))
		tp->snd_cwnd = min(tp->snd_cwnd + rs->acked_sacked, target);
	/* "else if (cwnd < BBR.target_cwnd || BBR.delivered < InitialCwnd)" */
	else if (tp->snd_cwnd < target || tp->delivered < TCP_INIT_CWND)
		tp->snd_cwnd += rs->acked_sacked;
	tp->snd_cwnd = max(tp->snd_cwnd, MIN_PIPE_CWND);
}

/* "BBRSetCwnd()" */
static __always_inline void set_cwnd(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (likely(rs->acked_sacked)) {
		if (unlikely(concerns_recovery(sk, b, rs)))
			modulate_for_recovery(sk, b, rs);
		if (!b->packet_conservation)
			grow_cwnd(sk, b, rs);
	}
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
	/* "cwnd = min(cwnd, BBRMinPipeCwnd)" */
	if (unlikely(b->mode == PROBE_RTT))
		tp->snd_cwnd = min(tp->snd_cwnd, MIN_PIPE_CWND);
}

/* "BBRUpdateOnACK()" */
CONG_CONTROL(bbr_cong_control, sk, rs)
{
	struct bbr *b = bbr_of(sk);

	update_btl_bw(sk, b, rs);
	update_extra_acked(b, tcp_sk(sk), rs);
	if (unlikely(!is_cruising(sk, b, rs)))
		update_state(sk, b, rs);
	set_pacing_rate(sk, b, pacing_gain(b));
	set_cwnd(sk, b, rs);
}

/* "BBRInit()" */
CALLBACK(void, bbr_init, struct sock *sk)
{
	struct bbr *b = bbr_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	b->ssthresh_found = model_take_over(sk);
	b->rtprop_us = tcp_min_rtt(tp);
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

/* Called on the way into recovery. */
CALLBACK(u32, bbr_ssthresh, struct sock *sk)
{
	save_cwnd(bbr_of(sk), tcp_sk(sk));
	return tcp_sk(sk)->snd_ssthresh;
}

/* What was held for lost was not: look anew for the full pipe. The window comes back by itself. */
CALLBACK(u32, bbr_undo_cwnd, struct sock *sk)
{
	struct bbr *b = bbr_of(sk);

	b->full_bw = 0;
	b->full_bw_count = 0;
	policer_forget(&b->policer, tcp_sk(sk));
	return tcp_sk(sk)->snd_cwnd;
}

CALLBACK(void, bbr_set_state, struct sock *sk, u8 new_state)
{
	struct bbr *b = bbr_of(sk);

	if (new_state != TCP_CA_Loss)
		return;
	b->prior_ca_state = TCP_CA_Loss;
	b->full_bw = 0;
	b->round_start = true; /* a timeout takes longer than a round trip */
	update_policer(sk, b, true, false);
}

/* "BBRHandleRestartFromIdle()" */
CALLBACK(void, bbr_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct bbr *b = bbr_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (event != CA_EVENT_TX_START)
		return;
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
	.cwnd_event = (void *)bbr_cwnd_event,
	.sndbuf_expand = (void *)model_sndbuf_expand,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_bbr",
};

ABOUT(bbr, "draft-cardwell-iccrg-bbr-congestion-control-00",
      "unknown buffers, policed paths; loss is not congestion", "held against Linux's module");
