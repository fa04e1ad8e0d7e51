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
 * 11. Its state lies in socket storage. While there is no memory for it the window stays where it
 *     is, in recovery what leaves the path is replaced, and pacing is at 2 cwnd/srtt.
 *
 * Switched in mid-flight: a start, as the draft has it, but from the window and the RTTs found:
 * paced at 2.77 cwnd/srtt, and the window is not cut before the pipe is seen to be full.
 */
#include "flight_notes.h"
#include "large_state.h"
#include "path_model.h"

enum state {
	STARTUP,
	DRAIN,
	PROBE_BW_DOWN,
	PROBE_BW_CRUISE,
	PROBE_BW_REFILL,
	PROBE_BW_UP,
	PROBE_RTT,
	NO_STATE, /* undo_state: "None" */
};

enum ack_phase {
	ACKS_INIT,
	ACKS_REFILLING,
	ACKS_PROBE_STARTING,
	ACKS_PROBE_FEEDBACK,
	ACKS_PROBE_STOPPING,
};

/*
 * Bandwidths as in path_model.h, volumes in segments; INFINITE is the draft's Infinity. What each
 * ACK needs comes first: three cache lines.
 */
struct bbr3 {
	bool begun;
	u8 state;	   /* enum state */
	u8 ack_phase;	   /* enum ack_phase */
	u8 prior_ca_state; /* enum tcp_ca_state at the latest ACK */
	bool round_start;
	bool loss_round_start;
	bool is_loss_in_round;
	bool full_bw_reached;
	bool full_bw_now;
	bool idle_restart;
	bool has_seen_rtt;
	u8 undo_state; /* enum state */
	bool is_bw_probe_sample;
	bool prev_probe_too_high;
	bool prev_probe_precautionary;
	bool probe_rtt_expired;
	bool probe_rtt_timed; /* probe_rtt_done_ms is set */
	bool probe_rtt_round_done;
	struct rounds rounds;
	u32 max_bw[2]; /* BBR.max_bw_filter: this cycle, the one before */
	u32 bw;
	u32 bw_shortterm;
	u32 bw_latest;
	u32 inflight_latest;
	u32 inflight_longterm;
	u32 inflight_shortterm;
	u32 loss_round_delivered;
	u32 lost;      /* tp->lost when last looked at */
	u32 rate;      /* RS.delivery_rate */
	u32 delivered; /* RS.delivered */
	u32 min_rtt_us;
	u32 min_rtt_stamp_ms;
	u32 probe_rtt_min_us; /* BBR.probe_rtt_min_delay */
	u32 probe_rtt_min_stamp_ms;
	u32 cycle_stamp_ms;
	u32 bw_probe_wait_ms;
	u32 rounds_since_probe_up;
	struct ack_interval ack_interval;
	struct max_filter extra_acked;
	struct flight_notes notes;
	u32 undo_bw_shortterm;
	u32 undo_inflight_shortterm;
	u32 undo_inflight_longterm;
	u32 probe_rtt_done_ms;
	u32 bw_probe_up_rounds;
	u32 bw_probe_up_acked;
	u32 probe_up_acked_per_inc;
	u32 drain_start_round;
	u32 full_bw;
	u32 full_bw_count;
	u32 losses_in_round; /* ACKs that brought losses to notice */
	u32 prior_cwnd;
};
LARGE_STATE(struct bbr3)

struct bbr3_private {
	u32 ssthresh_found; /* segments */
};
ASSERT_FITS_PRIVATE_AREA(struct bbr3_private);

#define INFINITE (~0U)
/* "BBRStartupPacingGain ... 4 * ln(2) ~= 2.77" */
#define STARTUP_GAIN 709
/* "BBR.DrainPacingGain ... 0.5" */
#define DRAIN_GAIN 128
/* "a BBR.pacing_gain of 0.90" */
#define DOWN_GAIN 230
/* "a BBR.pacing_gain of 1.25", and "It also raises BBR.cwnd_gain to 2.25" */
#define UP_GAIN 320
#define UP_CWND_GAIN 576
/* "BBR.DefaultCwndGain ... (2)" */
#define CWND_GAIN 512
/* "BBR.ProbeRTTCwndGain ... 0.5" */
#define PROBE_RTT_CWND_GAIN 128
/* "BBR.LossThresh ... (the default is 2%)" */
#define LOSS_PERCENT 2
/* "BBR.Beta ... (the value is 0.7)" */
#define BETA_TENTHS 7
/* "BBR.Headroom ... (the value is 0.15)" */
#define HEADROOM_PERCENT 15
/* "BBR.MinRTTFilterLen is 10 secs" */
#define MIN_RTT_MS 10000U
/* "BBR.ProbeRTTInterval ... 5 secs" */
#define PROBE_RTT_INTERVAL_MS 5000U
/* "BBR.ProbeRTTDuration ... 200 ms" */
#define PROBE_RTT_MS 200U
/* "BBRStartupFullLossCnt=6" */
#define STARTUP_FULL_LOSSES 6
/* "BBR.ExtraAckedFilterLen ... = 10" round trips */
#define EXTRA_ACKED_ROUNDS 10

static __always_inline bool is_probe_bw(const struct bbr3 *b)
{
	return b->state >= PROBE_BW_DOWN && b->state <= PROBE_BW_UP;
}

/* "IsProbingBW()" */
static __always_inline bool is_probing_bw(const struct bbr3 *b)
{
	return b->state == STARTUP || b->state == PROBE_BW_REFILL || b->state == PROBE_BW_UP;
}

static __always_inline u32 max_bw(const struct bbr3 *b)
{
	return max(b->max_bw[0], b->max_bw[1]);
}

/* The table of "Summary of Control Behavior in the State Machine" */
static __always_inline u32 pacing_gain(const struct bbr3 *b)
{
	switch (b->state) {
	case STARTUP:
		return STARTUP_GAIN;
	case DRAIN:
		return DRAIN_GAIN;
	case PROBE_BW_DOWN:
		return DOWN_GAIN;
	case PROBE_BW_UP:
		return UP_GAIN;
	default:
		return GAIN_ONE;
	}
}

static __always_inline u32 cwnd_gain(const struct bbr3 *b)
{
	if (b->state == PROBE_RTT)
		return PROBE_RTT_CWND_GAIN;
	return b->state == PROBE_BW_UP ? UP_CWND_GAIN : CWND_GAIN;
}

static __always_inline u32 beta_times(u32 value)
{
	return (u64)value * BETA_TENTHS / 10;
}

/* "QuantizationBudget(inflight_cap)" with "BBR.offload_budget = 3 * C.send_quantum" */
static __always_inline u32 quantization_budget(const struct sock *sk, const struct bbr3 *b, u32 cap)
{
	cap = max(cap, 3 * send_quantum(sk, 2));
	cap = max(cap, MIN_PIPE_CWND);
	return b->state == PROBE_BW_UP ? cap + 2 : cap;
}

/* "Inflight(bw, 1.0)" */
static __always_inline u32 inflight(const struct sock *sk, const struct bbr3 *b, u32 bw)
{
	return quantization_budget(sk, b, bdp_multiple(bw, b->min_rtt_us, GAIN_ONE));
}

/* "InflightWithHeadroom()" */
static __always_inline u32 inflight_with_headroom(const struct bbr3 *b)
{
	u32 headroom;

	if (b->inflight_longterm == INFINITE)
		return INFINITE;
	/* "headroom = max(1*C.SMSS, BBR.Headroom * BBR.inflight_longterm)" */
	headroom = max((u64)b->inflight_longterm * HEADROOM_PERCENT / 100, 1ULL);
	return max(b->inflight_longterm - min(headroom, b->inflight_longterm), MIN_PIPE_CWND);
}

/* "return min(BBR.bdp, C.cwnd)" */
static __always_inline u32 target_inflight(const struct sock *sk, const struct bbr3 *b)
{
	return min(bdp_multiple(b->bw, b->min_rtt_us, GAIN_ONE), tcp_sk(sk)->snd_cwnd);
}

/* "SaveCwnd()" */
static __always_inline void save_cwnd(struct bbr3 *b, const struct tcp_sock *tp)
{
	if (b->prior_ca_state < TCP_CA_Recovery && b->state != PROBE_RTT)
		b->prior_cwnd = tp->snd_cwnd;
	else
		b->prior_cwnd = max(b->prior_cwnd, tp->snd_cwnd);
}

/* "SaveStateUponLoss()" */
static __always_inline void save_state(struct bbr3 *b, const struct tcp_sock *tp)
{
	save_cwnd(b, tp);
	b->undo_state = NO_STATE;
	b->undo_bw_shortterm = b->bw_shortterm;
	b->undo_inflight_shortterm = b->inflight_shortterm;
	b->undo_inflight_longterm = b->inflight_longterm;
}

static __always_inline void restore_cwnd(const struct bbr3 *b, struct tcp_sock *tp)
{
	tp->snd_cwnd = max(tp->snd_cwnd, b->prior_cwnd);
}

/* "ResetFullBW()" */
static __always_inline void reset_full_bw(struct bbr3 *b, u32 baseline)
{
	b->full_bw = baseline;
	b->full_bw_count = 0;
	b->full_bw_now = false;
}

/* "ResetShortTermModel()" */
static __always_inline void reset_shortterm(struct bbr3 *b)
{
	b->bw_shortterm = INFINITE;
	b->inflight_shortterm = INFINITE;
}

/* "RaiseInflightLongtermSlope()" */
static __always_inline void raise_slope(struct bbr3 *b, const struct tcp_sock *tp)
{
	u32 growth_this_round = 1U << (b->bw_probe_up_rounds & 31);

	b->bw_probe_up_rounds = min(b->bw_probe_up_rounds + 1, 30U);
	b->probe_up_acked_per_inc = max(tp->snd_cwnd / growth_this_round, 1U);
}

/* "StartProbeBW_DOWN()" with "PickProbeWait()" */
static __always_inline void start_down(struct sock *sk, struct bbr3 *b)
{
	struct tcp_sock *tp = tcp_sk(sk);

	/* "ResetCongestionSignals()" */
	b->is_loss_in_round = false;
	b->losses_in_round = 0;
	b->bw_latest = 0;
	b->inflight_latest = 0;

	b->probe_up_acked_per_inc = INFINITE;
	/* "random_int_between(0, 1)" */
	b->rounds_since_probe_up = random_u32(sk) & 1;
	/* "2 + random_float_between(0.0, 1.0)" seconds */
	b->bw_probe_wait_ms = 2000 + random_u32(sk) % 1000;
	b->cycle_stamp_ms = time_ms(tp);
	b->ack_phase = ACKS_PROBE_STOPPING;
	round_begin(&b->rounds, tp);
	b->state = PROBE_BW_DOWN;
}

/* "StartProbeBW_REFILL()" */
static __always_inline void start_refill(struct sock *sk, struct bbr3 *b)
{
	reset_shortterm(b);
	b->bw_probe_up_rounds = 0;
	b->bw_probe_up_acked = 0;
	b->prev_probe_precautionary = false;
	b->ack_phase = ACKS_REFILLING;
	round_begin(&b->rounds, tcp_sk(sk));
	b->state = PROBE_BW_REFILL;
}

/* "StartProbeBW_UP()" */
static __always_inline void start_up(struct sock *sk, struct bbr3 *b)
{
	b->ack_phase = ACKS_PROBE_STARTING;
	round_begin(&b->rounds, tcp_sk(sk));
	reset_full_bw(b, b->rate);
	b->state = PROBE_BW_UP;
	raise_slope(b, tcp_sk(sk));
}

/* "EnterDrain()" */
static __always_inline void enter_drain(struct bbr3 *b)
{
	b->state = DRAIN;
	b->drain_start_round = b->rounds.count;
}

/* "RS.lost": segments lost since the one ACKed was sent */
static __always_inline u32 lost_since_sent(const struct flight *sent, const struct tcp_sock *tp)
{
	return tp->lost - sent->lost;
}

/* "RS.lost > RS.tx_in_flight * BBR.LossThresh" */
static __always_inline bool is_inflight_too_high(const struct flight *sent,
						 const struct tcp_sock *tp)
{
	return (u64)lost_since_sent(sent, tp) * 100 > (u64)sent->in_flight * LOSS_PERCENT;
}

/* "InflightAtLoss(P)", for `size` segments newly lost */
static __always_inline u32 inflight_at_loss(const struct flight *sent, const struct tcp_sock *tp,
					    u32 size)
{
	u32 inflight_prev = sent->in_flight - min(size, sent->in_flight);
	u32 lost = lost_since_sent(sent, tp);
	u64 allowed = (u64)inflight_prev * LOSS_PERCENT;
	u64 lost_prev = (u64)(lost - min(size, lost)) * 100;

	/* "(BBR.LossThresh * inflight_prev - lost_prev) / (1 - BBR.LossThresh)" */
	if (allowed <= lost_prev)
		return inflight_prev;
	return inflight_prev + (allowed - lost_prev) / (100 - LOSS_PERCENT);
}

/* "HandleInflightTooHigh()" */
static __always_inline void handle_inflight_too_high(struct sock *sk, struct bbr3 *b,
						     const struct rate_sample *rs, u32 tx_in_flight)
{
	b->prev_probe_too_high = true;
	b->is_bw_probe_sample = false; /* "only react once per bw probe" */
	if (!rs->is_app_limited)
		b->inflight_longterm = max(tx_in_flight, beta_times(target_inflight(sk, b)));
	if (b->state == PROBE_BW_UP) {
		b->undo_state = PROBE_BW_UP;
		start_down(sk, b);
	}
}

/* "HandleLostPacket(P)", once for all that an ACK brought to notice */
SELDOM void handle_losses(struct sock *sk, struct bbr3 *b, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct flight *sent = flight_sent(&b->notes);
	u32 newly_lost = tp->lost - b->lost;

	b->lost = tp->lost;
	if (!b->is_loss_in_round) {
		b->loss_round_delivered = tp->delivered;
		save_state(b, tp);
	}
	b->is_loss_in_round = true;
	b->losses_in_round++;
	if (b->is_bw_probe_sample && is_inflight_too_high(sent, tp))
		handle_inflight_too_high(sk, b, rs, inflight_at_loss(sent, tp, newly_lost));
}

/* "UpdateMaxBw()" */
static __always_inline void update_max_bw(struct sock *sk, struct bbr3 *b,
					  const struct rate_sample *rs)
{
	b->round_start = false;
	if (!has_rate(rs))
		return;
	b->round_start = round_update(&b->rounds, tcp_sk(sk), rs);
	if (b->round_start)
		b->rounds_since_probe_up++;
	/* "(RS.delivery_rate >= BBR.max_bw || !RS.is_app_limited)" */
	if (b->rate >= max_bw(b) || !rs->is_app_limited)
		b->max_bw[0] = max(b->max_bw[0], b->rate);
}

/* "AdvanceMaxBwFilter()" */
static __always_inline void advance_max_bw(struct bbr3 *b)
{
	if (!b->max_bw[0])
		return; /* no sample in this cycle */
	b->max_bw[1] = b->max_bw[0];
	b->max_bw[0] = 0;
}

/* "UpdateLatestDeliverySignals()" */
static __always_inline void update_latest(struct bbr3 *b, const struct tcp_sock *tp,
					  const struct rate_sample *rs)
{
	b->loss_round_start = false;
	b->rate = has_rate(rs) ? delivery_rate(rs) : 0;
	b->delivered = has_rate(rs) ? rs->delivered : 0;
	b->bw_latest = max(b->bw_latest, b->rate);
	b->inflight_latest = max(b->inflight_latest, b->delivered);
	if (has_rate(rs) && reached(rs->prior_delivered, b->loss_round_delivered)) {
		b->loss_round_delivered = tp->delivered;
		b->loss_round_start = true;
	}
}

/* "AdaptLowerBoundsFromCongestion()", with InitLowerBounds() and LossLowerBounds() */
SELDOM void adapt_lower_bounds(struct bbr3 *b, const struct tcp_sock *tp)
{
	if (is_probing_bw(b) || !b->is_loss_in_round)
		return;
	if (b->bw_shortterm == INFINITE)
		b->bw_shortterm = max_bw(b);
	if (b->inflight_shortterm == INFINITE)
		b->inflight_shortterm = b->prior_ca_state == TCP_CA_Loss
						? max(tp->snd_cwnd, b->prior_cwnd)
						: tp->snd_cwnd;
	b->bw_shortterm = max(b->bw_latest, beta_times(b->bw_shortterm));
	b->inflight_shortterm = max(b->inflight_latest, beta_times(b->inflight_shortterm));
}

/* "UpdateACKAggregation()" */
static __always_inline void update_extra_acked(struct bbr3 *b, const struct tcp_sock *tp,
					       const struct rate_sample *rs)
{
	if (!rs->acked_sacked || !has_rate(rs))
		return;
	/* "in Startup, just remember 1 round" */
	max_filter_update(&b->extra_acked, b->full_bw_reached ? EXTRA_ACKED_ROUNDS : 1,
			  b->rounds.count,
			  excess_acked(&b->ack_interval, tp, b->bw, rs->acked_sacked));
}

/* "CheckFullBWReached()" */
static __always_inline void check_full_bw(struct bbr3 *b, const struct rate_sample *rs)
{
	if (b->full_bw_now || !b->round_start || rs->is_app_limited)
		return;
	/* "if (RS.delivery_rate >= BBR.full_bw * 1.25)" */
	if (b->rate >= (u64)b->full_bw * 5 / 4) {
		reset_full_bw(b, b->rate);
		return;
	}
	b->full_bw_count++;
	b->full_bw_now = b->full_bw_count >= 3;
	if (b->full_bw_now)
		b->full_bw_reached = true;
}

/* "CheckStartupDone()" with "CheckStartupHighLoss()" */
static __always_inline void check_startup_done(struct sock *sk, struct bbr3 *b)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (b->state != STARTUP)
		return;
	if (!b->full_bw_reached && b->loss_round_start && ca_state(sk) == TCP_CA_Recovery &&
	    b->losses_in_round >= STARTUP_FULL_LOSSES &&
	    is_inflight_too_high(flight_sent(&b->notes), tp)) {
		b->undo_state = STARTUP;
		b->full_bw_reached = true;
		/* "max(BBR.bdp, BBR.inflight_latest)" */
		b->inflight_longterm =
			max(bdp_multiple(b->bw, b->min_rtt_us, GAIN_ONE), b->inflight_latest);
	}
	if (b->full_bw_reached)
		enter_drain(b);
}

/* "CheckDrainDone()" */
static __always_inline void check_drain_done(struct sock *sk, struct bbr3 *b)
{
	if (b->state != DRAIN)
		return;
	/* "C.inflight <= Inflight(1.0) || BBR.round_count > BBR.drain_start_round + 3" */
	if (tcp_packets_in_flight(tcp_sk(sk)) <= inflight(sk, b, b->bw) ||
	    b->rounds.count - b->drain_start_round > 3)
		start_down(sk, b);
}

/* "IsTimeToProbeBW()" */
static __always_inline bool is_time_to_probe_bw(struct sock *sk, const struct bbr3 *b)
{
	/* "HasElapsedInPhase(BBR.bw_probe_wait)" */
	if (reached(time_ms(tcp_sk(sk)), b->cycle_stamp_ms + b->bw_probe_wait_ms + 1))
		return true;
	/* "rounds = min(reno_rounds, 63)" */
	return b->rounds_since_probe_up >= min(target_inflight(sk, b), 63U);
}

/* "IsTimeToCruise()" */
SELDOM bool is_time_to_cruise(struct sock *sk, const struct bbr3 *b)
{
	u32 in_flight = tcp_packets_in_flight(tcp_sk(sk));

	return in_flight <= inflight_with_headroom(b) && in_flight <= inflight(sk, b, max_bw(b));
}

/* Whether the window is in use and inflight_longterm is what bounds it. */
static __always_inline bool at_longterm_bound(const struct bbr3 *b, const struct tcp_sock *tp)
{
	return cwnd_limited_flag(tp) && tp->snd_cwnd >= b->inflight_longterm;
}

/* "IsTimeToGoDown()" */
static __always_inline bool is_time_to_go_down(struct bbr3 *b, const struct tcp_sock *tp)
{
	/* "BBR.prev_probe_too_high && C.inflight >= BBR.inflight_longterm" */
	if (b->prev_probe_too_high && tcp_packets_in_flight(tp) >= b->inflight_longterm) {
		b->prev_probe_precautionary = true;
		return true;
	}
	if (at_longterm_bound(b, tp)) {
		reset_full_bw(b, b->rate); /* "bw is limited by BBR.inflight_longterm" */
		return false;
	}
	return b->full_bw_now;
}

/* "ProbeInflightLongtermUpward()" */
static __always_inline void probe_longterm_upward(struct bbr3 *b, const struct tcp_sock *tp,
						  u32 newly_acked)
{
	u32 delta;

	if (!at_longterm_bound(b, tp))
		return;
	b->bw_probe_up_acked += newly_acked;
	if (b->bw_probe_up_acked >= b->probe_up_acked_per_inc) {
		delta = b->bw_probe_up_acked / max(b->probe_up_acked_per_inc, 1U);
		b->bw_probe_up_acked -= delta * b->probe_up_acked_per_inc;
		b->inflight_longterm += delta;
	}
	if (b->round_start)
		raise_slope(b, tp);
}

/* "AdaptLongTermModel()": returns whether the state has been decided on. */
static __always_inline bool adapt_longterm(struct sock *sk, struct bbr3 *b,
					   const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct flight *sent;

	if (b->ack_phase == ACKS_PROBE_STARTING && b->round_start)
		b->ack_phase = ACKS_PROBE_FEEDBACK;
	if (b->ack_phase == ACKS_PROBE_STOPPING && b->round_start) {
		b->is_bw_probe_sample = false;
		b->ack_phase = ACKS_INIT;
		if (is_probe_bw(b) && !rs->is_app_limited)
			advance_max_bw(b);
		if (is_probe_bw(b) && b->prev_probe_precautionary && !b->prev_probe_too_high) {
			start_refill(sk, b);
			return true;
		}
	}
	if (b->inflight_longterm == INFINITE)
		return false;
	sent = flight_sent(&b->notes);
	if (is_inflight_too_high(sent, tp))
		return false;
	b->inflight_longterm = max(b->inflight_longterm, sent->in_flight);
	if (b->state == PROBE_BW_UP)
		probe_longterm_upward(b, tp, rs->acked_sacked);
	return false;
}

/* "UpdateProbeBWCyclePhase()" */
static __always_inline void update_cycle_phase(struct sock *sk, struct bbr3 *b,
					       const struct rate_sample *rs)
{
	if (!b->full_bw_reached || adapt_longterm(sk, b, rs))
		return;
	switch (b->state) {
	case PROBE_BW_DOWN:
	case PROBE_BW_CRUISE:
		if (is_time_to_probe_bw(sk, b))
			start_refill(sk, b);
		else if (b->state == PROBE_BW_DOWN && is_time_to_cruise(sk, b))
			b->state = PROBE_BW_CRUISE;
		break;
	case PROBE_BW_REFILL:
		/* "After one round of REFILL, start UP" */
		if (b->round_start) {
			b->is_bw_probe_sample = true;
			start_up(sk, b);
		}
		break;
	case PROBE_BW_UP:
		if (is_time_to_go_down(b, tcp_sk(sk))) {
			b->prev_probe_too_high = false; /* "no high loss (yet)" */
			start_down(sk, b);
		}
		break;
	}
}

/* "UpdateMinRTT()" */
static __always_inline void update_min_rtt(struct bbr3 *b, const struct tcp_sock *tp,
					   const struct rate_sample *rs)
{
	u32 now_ms = time_ms(tp);

	b->probe_rtt_expired =
		reached(now_ms, b->probe_rtt_min_stamp_ms + PROBE_RTT_INTERVAL_MS + 1);
	if (rs->rtt_us >= 0 && (rs->rtt_us < b->probe_rtt_min_us || b->probe_rtt_expired)) {
		b->probe_rtt_min_us = rs->rtt_us;
		b->probe_rtt_min_stamp_ms = now_ms;
	}
	/* "BBR.probe_rtt_min_delay < BBR.min_rtt || min_rtt_expired" */
	if (b->probe_rtt_min_us < b->min_rtt_us ||
	    reached(now_ms, b->min_rtt_stamp_ms + MIN_RTT_MS + 1)) {
		b->min_rtt_us = b->probe_rtt_min_us;
		b->min_rtt_stamp_ms = b->probe_rtt_min_stamp_ms;
	}
}

/* "ProbeRTTCwnd()" */
static __always_inline u32 probe_rtt_cwnd(const struct bbr3 *b)
{
	return max(bdp_multiple(b->bw, b->min_rtt_us, PROBE_RTT_CWND_GAIN), MIN_PIPE_CWND);
}

/* "CheckProbeRTTDone()" and "ExitProbeRTT()" */
static __always_inline void check_probe_rtt_done(struct sock *sk, struct bbr3 *b)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!b->probe_rtt_timed || !reached(time_ms(tp), b->probe_rtt_done_ms + 1))
		return;
	b->probe_rtt_min_stamp_ms = time_ms(tp); /* "schedule next ProbeRTT" */
	restore_cwnd(b, tp);
	reset_shortterm(b);
	if (b->full_bw_reached) {
		start_down(sk, b);
		b->state = PROBE_BW_CRUISE;
	} else {
		b->state = STARTUP;
	}
}

/* "CheckProbeRTT()" and "HandleProbeRTT()" */
static __always_inline void check_probe_rtt(struct sock *sk, struct bbr3 *b,
					    const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (b->state != PROBE_RTT && b->probe_rtt_expired && !b->idle_restart) {
		save_cwnd(b, tp);
		b->state = PROBE_RTT;
		b->probe_rtt_timed = false;
		b->ack_phase = ACKS_PROBE_STOPPING;
		round_begin(&b->rounds, tp);
	}
	if (b->state == PROBE_RTT) {
		mark_app_limited(tp); /* "Ignore low rate samples during ProbeRTT" */
		if (!b->probe_rtt_timed && tcp_packets_in_flight(tp) <= probe_rtt_cwnd(b)) {
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
	if (rs->delivered > 0)
		b->idle_restart = false;
}

/* The rest of "UpdateModelAndState()": what follows from the samples, and the round trip */
SELDOM void update_state(struct sock *sk, struct bbr3 *b, const struct rate_sample *rs)
{
	check_full_bw(b, rs);
	check_startup_done(sk, b);
	if (b->loss_round_start) {
		b->is_loss_in_round = false;
		b->losses_in_round = 0;
	}
	check_drain_done(sk, b);
	update_cycle_phase(sk, b, rs);
	update_min_rtt(b, tcp_sk(sk), rs);
	check_probe_rtt(sk, b, rs);
	/* "AdvanceLatestDeliverySignals()" */
	if (b->loss_round_start) {
		b->bw_latest = b->rate;
		b->inflight_latest = b->delivered;
	}
}

/* Whether update_state() would leave everything as it is, as at most ACKs. */
static __always_inline bool is_cruising(struct sock *sk, const struct bbr3 *b,
					const struct rate_sample *rs)
{
	u32 now_ms = time_ms(tcp_sk(sk));

	return (b->state == PROBE_BW_CRUISE ||
		(b->state == PROBE_BW_DOWN && !is_time_to_cruise(sk, b))) &&
	       !b->round_start && !b->loss_round_start && !b->idle_restart &&
	       b->inflight_longterm == INFINITE && rs->rtt_us >= b->probe_rtt_min_us &&
	       b->probe_rtt_min_us >= b->min_rtt_us &&
	       !reached(now_ms, b->probe_rtt_min_stamp_ms + PROBE_RTT_INTERVAL_MS + 1) &&
	       !reached(now_ms, b->min_rtt_stamp_ms + MIN_RTT_MS + 1) &&
	       !is_time_to_probe_bw(sk, b);
}

/* "UpdateModelAndState()" */
static __always_inline void update_model(struct sock *sk, struct bbr3 *b,
					 const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	flight_note(&b->notes, tp, rs);
	if (unlikely(tp->lost != b->lost))
		handle_losses(sk, b, rs);
	update_latest(b, tp, rs);
	update_max_bw(sk, b, rs);
	if (b->loss_round_start)
		adapt_lower_bounds(b, tp);
	update_extra_acked(b, tp, rs);
	if (unlikely(!is_cruising(sk, b, rs)))
		update_state(sk, b, rs);
	/* "BBR.bw = min(BBR.max_bw, BBR.bw_shortterm)" */
	b->bw = min(max_bw(b), b->bw_shortterm);
}

/* "SetPacingRateWithGain(pacing_gain)" */
static __always_inline void set_pacing_rate(struct sock *sk, struct bbr3 *b, u32 gain)
{
	u64 rate = pacing_rate(sk, b->bw, gain);

	if (unlikely(!b->has_seen_rtt))
		b->has_seen_rtt = tcp_sk(sk)->srtt_us && pace_at_first(sk, STARTUP_GAIN);
	if (b->full_bw_reached || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

/* "BoundCwndForModel()" */
static __always_inline u32 cwnd_bound(const struct bbr3 *b)
{
	u32 cap = INFINITE;

	if (b->state == PROBE_RTT || b->state == PROBE_BW_CRUISE)
		cap = inflight_with_headroom(b);
	else if (is_probe_bw(b))
		cap = b->inflight_longterm;
	return max(min(cap, b->inflight_shortterm), MIN_PIPE_CWND);
}

/* "SetCwnd()" */
static __always_inline void set_cwnd(struct sock *sk, struct bbr3 *b, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 max_inflight = bdp_multiple(b->bw, b->min_rtt_us, cwnd_gain(b));
	u8 prior = b->prior_ca_state;

	b->prior_ca_state = ca_state(sk);
	/* "Upon exiting loss recovery" */
	if (prior >= TCP_CA_Recovery && b->prior_ca_state < TCP_CA_Recovery)
		restore_cwnd(b, tp);
	max_inflight = quantization_budget(sk, b, max_inflight + b->extra_acked.first.value);
	/* "C.cwnd = min(C.cwnd + RS.newly_acked, BBR.max_inflight)" */
	if (b->full_bw_reached)
		tp->snd_cwnd = min(tp->snd_cwnd + rs->acked_sacked, max_inflight);
	/* "else if (C.cwnd < BBR.max_inflight || C.delivered < C.InitialCwnd)" */
	else if (tp->snd_cwnd < max_inflight || tp->delivered < TCP_INIT_CWND)
		tp->snd_cwnd += rs->acked_sacked;
	tp->snd_cwnd = max(tp->snd_cwnd, MIN_PIPE_CWND);
	/* "BoundCwndForProbeRTT()" */
	if (b->state == PROBE_RTT)
		tp->snd_cwnd = min(tp->snd_cwnd, probe_rtt_cwnd(b));
	tp->snd_cwnd = min(tp->snd_cwnd, cwnd_bound(b));
	tp->snd_cwnd = min(tp->snd_cwnd, tp->snd_cwnd_clamp);
}

/* "OnInit()" */
SELDOM void begin(struct sock *sk, struct bbr3 *b)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	b->begun = true;
	b->min_rtt_us = b->probe_rtt_min_us = tcp_min_rtt(tp);
	b->min_rtt_stamp_ms = b->probe_rtt_min_stamp_ms = time_ms(tp);
	b->prior_cwnd = tp->snd_cwnd;
	b->undo_state = NO_STATE;
	b->inflight_longterm = INFINITE;
	b->probe_up_acked_per_inc = INFINITE;
	b->lost = tp->lost;
	b->loss_round_delivered = tp->delivered;
	flight_notes_begin(&b->notes, tp);
	ack_interval_begin(&b->ack_interval, tp->tcp_mstamp);
	reset_shortterm(b);
	round_begin(&b->rounds, tp);
	b->has_seen_rtt = pace_at_first(sk, STARTUP_GAIN);
}

/* The state; NULL where there is no memory for it. */
static __always_inline struct bbr3 *bbr3_of(struct sock *sk)
{
	struct bbr3 *b = large_state(sk);

	if (b && unlikely(!b->begun))
		begin(sk, b);
	return b;
}

/* Without a state: nothing grows, and in recovery packets are conserved. */
SELDOM void conserve(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 conserved = tcp_packets_in_flight(tp) + rs->acked_sacked;

	if (ca_state(sk) >= TCP_CA_Recovery)
		tp->snd_cwnd = min(tp->snd_cwnd, conserved);
	tp->snd_cwnd = max(tp->snd_cwnd, MIN_PIPE_CWND);
	pace_at_first(sk, 2 * GAIN_ONE);
}

/* "UpdateOnACK()" */
CONG_CONTROL(bbr3_cong_control, sk, rs)
{
	struct bbr3 *b = bbr3_of(sk);

	if (unlikely(!b)) {
		conserve(sk, rs);
		return;
	}
	update_model(sk, b, rs);
	set_pacing_rate(sk, b, pacing_gain(b));
	set_cwnd(sk, b, rs);
}

CALLBACK(void, bbr3_init, struct sock *sk)
{
	struct bbr3_private *private = inet_csk_ca(sk);

	private->ssthresh_found = model_take_over(sk);
	large_state_drop(sk);
	if (!bbr3_of(sk))
		pace_at_first(sk, 2 * GAIN_ONE);
}

CALLBACK(void, bbr3_release, struct sock *sk)
{
	const struct bbr3_private *private = inet_csk_ca(sk);
	const struct bbr3 *b = large_state(sk);
	u32 window = 0;

	if (b && b->full_bw_reached) {
		window = tcp_sk(sk)->snd_cwnd;
		/* In ProbeRTT and in recovery the window is a small one for a while. */
		if (b->state == PROBE_RTT || ca_state(sk) >= TCP_CA_Recovery)
			window = max(window, b->prior_cwnd);
	}
	model_release(sk, private->ssthresh_found, window);
	large_state_drop(sk);
}

/* "OnEnterFastRecovery()"; called on the way into any recovery. */
CALLBACK(u32, bbr3_ssthresh, struct sock *sk)
{
	struct bbr3 *b = bbr3_of(sk);

	if (b)
		save_state(b, tcp_sk(sk));
	return tcp_sk(sk)->snd_ssthresh;
}

/* "HandleSpuriousLossDetection()" */
CALLBACK(u32, bbr3_undo_cwnd, struct sock *sk)
{
	struct bbr3 *b = bbr3_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!b)
		return max(tp->snd_cwnd, tp->prior_cwnd);
	b->is_loss_in_round = false;
	reset_full_bw(b, 0);
	b->bw_shortterm = max(b->bw_shortterm, b->undo_bw_shortterm);
	b->inflight_shortterm = max(b->inflight_shortterm, b->undo_inflight_shortterm);
	b->inflight_longterm = max(b->inflight_longterm, b->undo_inflight_longterm);
	if (b->undo_state == STARTUP && b->state != STARTUP) {
		b->full_bw_reached = false;
		if (b->state != PROBE_RTT)
			b->state = STARTUP;
	} else if (b->undo_state == PROBE_BW_UP && b->state != PROBE_BW_UP) {
		if (b->state != PROBE_RTT)
			start_refill(sk, b);
	}
	b->undo_state = NO_STATE;
	return max(tp->snd_cwnd, b->prior_cwnd);
}

/* "OnEnterRTO()"; the kernel sets the window to what is in flight and 1. */
CALLBACK(void, bbr3_set_state, struct sock *sk, u8 new_state)
{
	struct bbr3 *b = bbr3_of(sk);

	if (b && new_state == TCP_CA_Loss)
		b->prior_ca_state = TCP_CA_Loss;
}

/* "HandleRestartFromIdle()" */
CALLBACK(void, bbr3_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b;

	if (event != CA_EVENT_TX_START)
		return;
	burst_begins(sk, 0);
	if (!tp->app_limited)
		return;
	b = bbr3_of(sk);
	if (!b)
		return;
	b->idle_restart = true;
	ack_interval_begin(&b->ack_interval, tp->tcp_mstamp);
	if (is_probe_bw(b))
		set_pacing_rate(sk, b, GAIN_ONE);
	else if (b->state == PROBE_RTT)
		check_probe_rtt_done(sk, b);
}

ALGORITHM(bbr3) = {
	.init = (void *)bbr3_init,
	.release = (void *)bbr3_release,
	.cong_control = (void *)bbr3_cong_control,
	.ssthresh = (void *)bbr3_ssthresh,
	.undo_cwnd = (void *)bbr3_undo_cwnd,
	.set_state = (void *)bbr3_set_state,
	.cwnd_event = (void *)bbr3_cwnd_event,
	.sndbuf_expand = (void *)model_sndbuf_expand,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_bbr3",
};

ABOUT(bbr3, "draft-ietf-ccwg-bbr", "as bbr, but it heeds loss beyond 2 % and shares better",
      "from its draft alone");
