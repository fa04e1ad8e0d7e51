/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR version 3: its state, its constants, and the volumes that follow from them.
 *
 * The state is in two places. What each ACK needs is in the private area; the rest in socket
 * storage, where a look-up costs what a third of an ACK may.
 */
#ifndef KIRIKAE_BBR3_MODEL_H
#define KIRIKAE_BBR3_MODEL_H

#include "algorithms/bbr3/flight_notes.h"
#include "algorithms/common/large_state.h"
#include "algorithms/common/path_model.h"

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

/* Bandwidths as in path_model.h, volumes in segments; INFINITE is the draft's Infinity. */
#define INFINITE (~0U)

/* quiet_in_flight is no larger than this, in segments. */
#define QUIET_IN_FLIGHT_MAX 0xffffU

/*
 * This is the private area. An ACK that update_quietly() (quiet.h) takes changes nothing of the
 * rest and nothing in the state machine.
 */
struct bbr3 {
	u32 quiet_until_1024us;
	u32 lost;	      /* tp->lost when last looked at */
	u32 probe_rtt_min_us; /* BBR.probe_rtt_min_delay */
	struct rounds rounds;
	u32 loss_round_delivered;
	u32 bw;
	u32 latest_max;		/* of BBR.max_bw_filter: this cycle's */
	struct fastest fastest; /* of this loss round; yet to come into bw_latest and latest_max */
	u32 bw_latest;
	u32 inflight_latest;
	struct ack_interval ack_interval;
	struct max_filter extra_acked;
	u32 most_extra;	 /* of this round; yet to come into extra_acked */
	u32 target_cwnd; /* BBR.max_inflight, and from when the pipe is full inflight_shortterm */
	struct flight_marks flights;
	u16 quiet_in_flight;   /* at least */
	u8 quiet_rounds : 7;   /* round trips that may begin with an ACK that decides nothing */
	bool renewal_due : 1;  /* of extra_acked, with the next ACK */
	u8 state : 3;	       /* enum state */
	u8 prior_ca_state : 3; /* enum tcp_ca_state at the latest ACK */
	bool full_bw_reached : 1;
	bool had_losses : 1; /* in the present loss round */
	u32 ssthresh_found;  /* segments */
};
ASSERT_FITS_PRIVATE_AREA(struct bbr3);

/* Most ACKs do without this; some of it is about the ACK at hand. */
struct bbr3_rest {
	bool begun;
	u8 ack_phase;  /* enum ack_phase */
	u8 undo_state; /* enum state */
	bool has_seen_rtt;
	bool round_start;
	bool loss_round_start;
	bool is_loss_in_round;
	bool full_bw_now;
	bool idle_restart;
	bool is_bw_probe_sample;
	bool prev_probe_too_high;
	bool prev_probe_precautionary;
	bool probe_rtt_expired;
	bool probe_rtt_timed; /* probe_rtt_done_ms is set */
	bool probe_rtt_round_done;
	u32 inflight_longterm;
	u32 min_rtt_us;
	u32 earlier_max; /* of BBR.max_bw_filter: that of the cycle before */
	u32 bw_shortterm;
	u32 inflight_shortterm;
	u32 rate;      /* RS.delivery_rate */
	u32 delivered; /* RS.delivered */
	u32 min_rtt_stamp_ms;
	u32 probe_rtt_min_stamp_ms;
	u32 cycle_stamp_ms;
	u32 bw_probe_wait_ms;
	u32 probe_up_round; /* BBR.rounds_since_bw_probe are counted from here */
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
	struct flight_notes notes;
};
LARGE_STATE(struct bbr3_rest)

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
/* "BBR.Headroom ... (the value is 0.15)" */
#define HEADROOM_PERCENT 15

static __always_inline struct bbr3 *bbr3_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static __always_inline bool is_probe_bw(const struct bbr3 *b)
{
	return b->state >= PROBE_BW_DOWN && b->state <= PROBE_BW_UP;
}

static __always_inline u32 max_bw(const struct sock *sk, const struct bbr3_rest *r)
{
	return max(bbr3_of(sk)->latest_max, r->earlier_max);
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

/* "QuantizationBudget(inflight_cap)" with "BBR.offload_budget = 3 * C.send_quantum" */
static __always_inline u32 quantization_budget(const struct sock *sk, u32 cap)
{
	u32 offload_budget = 3 * send_quantum(sk, 2);

	cap = max(cap, offload_budget);
	cap = max(cap, MIN_PIPE_CWND);
	return bbr3_of(sk)->state == PROBE_BW_UP ? cap + 2 : cap;
}

/* "Inflight(bw, 1.0)" */
static __always_inline u32 inflight(const struct sock *sk, const struct bbr3_rest *r, u32 bw)
{
	return quantization_budget(sk, bdp_multiple(bw, r->min_rtt_us, GAIN_ONE));
}

/* "InflightWithHeadroom()" */
static __always_inline u32 inflight_with_headroom(const struct bbr3_rest *r)
{
	u32 headroom;

	if (r->inflight_longterm == INFINITE)
		return INFINITE;
	/* "headroom = max(1*C.SMSS, BBR.Headroom * BBR.inflight_longterm)" */
	headroom = max((u64)r->inflight_longterm * HEADROOM_PERCENT / 100, 1ULL);
	return max(r->inflight_longterm - min(headroom, r->inflight_longterm), MIN_PIPE_CWND);
}

/* "BBR.bdp" */
static __always_inline u32 bdp(const struct bbr3 *b, const struct bbr3_rest *r)
{
	return bdp_multiple(b->bw, r->min_rtt_us, GAIN_ONE);
}

/* "SaveCwnd()" */
static __always_inline void save_cwnd(const struct sock *sk, struct bbr3_rest *r)
{
	const struct bbr3 *b = bbr3_of(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	if (b->prior_ca_state < TCP_CA_Recovery && b->state != PROBE_RTT)
		r->prior_cwnd = cwnd;
	else
		r->prior_cwnd = max(r->prior_cwnd, cwnd);
}

static __always_inline void restore_cwnd(struct sock *sk, const struct bbr3_rest *r)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = min(max(tp->snd_cwnd, r->prior_cwnd), tp->snd_cwnd_clamp);
}

/* "ResetFullBW()" */
static __always_inline void reset_full_bw(struct bbr3_rest *r, u32 baseline)
{
	r->full_bw = baseline;
	r->full_bw_count = 0;
	r->full_bw_now = false;
}

/* "ResetShortTermModel()" */
static __always_inline void reset_shortterm(struct bbr3_rest *r)
{
	r->bw_shortterm = INFINITE;
	r->inflight_shortterm = INFINITE;
}

#endif
