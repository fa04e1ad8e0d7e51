/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 1: its state, its constants, and the volumes that follow from them. */
#ifndef KIRIKAE_BBR_MODEL_H
#define KIRIKAE_BBR_MODEL_H

#include "algorithms/common/path_model.h"
#include "algorithms/bbr/policer.h"

enum mode { STARTUP, DRAIN, PROBE_BW, PROBE_RTT };

/* What a quiet ACK needs comes first: the kernel puts 48 bytes of it into one cache line. */
struct bbr {
	u32 quiet_until_64us;
	u32 rtprop_us;
	u32 target_cwnd;
	struct fastest fastest; /* of this round; it is yet to come into btl_bw */
	struct ack_interval ack_interval;
	struct rounds rounds;
	u16 extra_acked;	  /* segments, the most of this window */
	u16 extra_acked_before;	  /* of the window before */
	struct max_filter btl_bw; /* BBR.BtlBwFilter */
	u32 rtprop_stamp_ms;
	union {
		u32 cycle_stamp_us;    /* in ProbeBW */
		u32 probe_rtt_done_ms; /* in ProbeRTT */
	};
	union {
		u32 full_bw; /* before the pipe is full */
		/* From then on, it is the segments in flight with which Drain or phase 1 ends; 0 in
		 * others. */
		u32 drained_at;
	};
	u32 prior_cwnd;	    /* segments */
	u32 ssthresh_found; /* segments */
	struct policer policer;
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
	u16 settled : 1;     /* only time, a round, a sample and what is in flight can change it */
	u16 renewal_due : 1; /* of btl_bw, with the next sample that counts */
};
ASSERT_FITS_PRIVATE_AREA(struct bbr);

/* "BBRHighGain = 2/ln(2) ~= 2.89" and its inverse, in 1/256 */
#define HIGH_GAIN 739
#define DRAIN_GAIN 88
#define CWND_GAIN (2 * GAIN_ONE)

static __always_inline struct bbr *bbr_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

static __always_inline u32 bandwidth(const struct bbr *b)
{
	u32 policed_bw = read_now(b->policer.bw);

	return b->policer.in_use ? policed_bw : b->btl_bw.first;
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

/* A train has at least 1 segment below 1.2 Mbit/s, and else 2. */
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
	return with_quanta(sk, b, bdp_multiple(b->btl_bw.first, b->rtprop_us, gain));
}

/* Returns how many of `in_flight` segments will still be in flight when the next segment goes. */
static __always_inline u32 left_at_departure(const struct sock *sk, const struct bbr *b,
					     u32 in_flight)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;
	u64 departure_ns = max(tp->tcp_wstamp_ns, now_ns);
	u32 delivered = delivers(bandwidth(b), (departure_ns - now_ns) / 1000);

	return in_flight > delivered ? in_flight - delivered : 0;
}

/* Returns the same with the segments that go then, where more are to be in flight. */
static __always_inline u32 in_flight_at_departure(const struct sock *sk, const struct bbr *b,
						  u32 in_flight)
{
	return left_at_departure(sk, b,
				 pacing_gain(b) > GAIN_ONE ? in_flight + quantum(sk) : in_flight);
}

/* "inflight <= BBRInflight(1)" */
SELDOM bool is_drained(struct sock *sk, struct bbr *b, u32 in_flight)
{
	return in_flight_at_departure(sk, b, in_flight) <= inflight(sk, b, GAIN_ONE);
}

/* "BBRSaveCwnd()" */
static __always_inline void save_cwnd(struct bbr *b, const struct tcp_sock *tp)
{
	if (b->prior_ca_state < TCP_CA_Recovery && b->mode != PROBE_RTT)
		b->prior_cwnd = tp->snd_cwnd;
	else
		b->prior_cwnd = max(b->prior_cwnd, tp->snd_cwnd);
}

#endif
