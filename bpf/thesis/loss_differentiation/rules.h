/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reno that takes some losses for those of a wireless hop, and does not reduce its window for them.
 * The thesis names three rules that tell the two kinds apart. The laboratory plays them, to hold
 * them against belief.h; compiled natively only.
 *
 * Source: the thesis (Oguchi, 2016), section 2.3.1, and what it cites: S. Biaz, N. Vaidya,
 * "Discriminating Congestion Losses from Wireless Losses using Inter-Arrival Times at the
 * Receiver", 1999 (Bias); Y. Tobe et al., "Achieving Moderate Fairness for UDP Flows by Path-Status
 * Classification", 2000 (Spike); S. Cen, P. Cosman, G. Voelker, "End-to-End Differentiation of
 * Congestion and Wireless Losses", 2003 (ZigZag).
 *
 * Deliberate differences:
 *  1. The sender classifies, when it enters recovery. The publications classify at the receiver,
 *     which would have to tell the sender.
 *  2. The spacing of ACKs stands for that of arrivals: the time since the ACK before, which an ACK
 *     for d segments divides by d. T_min is taken between two ACKs for several segments each while
 *     nothing is SACKed: the receiver may have held others back. It is not taken from the last
 *     segment of a write, which may be a short one.
 *  3. The round-trip time stands for the relative one-way time (ROTT), so that the way back counts,
 *     too. An ACK for a single segment gives no sample while nothing is SACKed: the receiver may
 *     have held it back.
 *  4. n is what is held for lost when recovery begins, all holes together; the spacing is that at
 *     the first hole.
 *  5. What is lost later in the same recovery is not classified, since Reno reduces its window once
 *     in a recovery.
 *  6. A retransmission timeout is always taken for congestion, and so is an ECN mark.
 *  7. After a loss that is taken for a wireless one ssthresh is again what it was, so that slow
 *     start goes on.
 */
#ifndef KIRIKAE_THESIS_LOSS_DIFFERENTIATION_RULES_H
#define KIRIKAE_THESIS_LOSS_DIFFERENTIATION_RULES_H

#include "algorithms/common/reno.h"

struct loss_differentiation {
	u64 latest_ack_us; /* 0: none yet */
	u32 delivered;	   /* tp->delivered then */
	u32 spacing_us;	   /* the lowest between two segments, T_min; 0: none yet */
	u32 hole_us;	   /* from the ACK before the first hole to the first after it, T_i */
	u32 hole_segments; /* that the latter delivered */
	u32 rtt_us;	   /* the latest; 0: none yet */
	u32 rtt_min_us;
	u32 rtt_max_us;
	u32 rtt_mean_32; /* moving average, microseconds << 5 */
	u32 rtt_dev_16;	 /* of the distance from it, microseconds << 4 */
	u32 ssthresh;	 /* before a loss that was taken for a wireless one; 0: there is none */
	bool is_spike;	 /* Spike's state */
	bool has_hole;	 /* something is SACKed */
	bool is_prompt;	 /* the latest ACK was surely not held back */
};
ASSERT_FITS_PRIVATE_AREA(struct loss_differentiation);

/* "a loss is wireless if (n+1) T_min <= T_i < (n+2) T_min"; an ACK for d segments after n lost ones
 * has waited for n + d. */
static __always_inline bool bias_is_wireless(const struct loss_differentiation *s, u32 lost)
{
	u64 due_us = (u64)(lost + s->hole_segments) * s->spacing_us;

	return s->spacing_us && due_us <= s->hole_us && s->hole_us < due_us + s->spacing_us;
}

/*
 * "B_spikestart = rott_min + alpha (rott_max - rott_min)" begins a spike, and
 * "B_spikeend = rott_min + beta (rott_max - rott_min)" ends it; alpha = 1/2, beta = 1/3.
 */
static __always_inline void spike_update(struct loss_differentiation *s)
{
	u32 above_us = s->rtt_us - s->rtt_min_us;
	u32 range_us = s->rtt_max_us - s->rtt_min_us;

	s->is_spike = s->is_spike ? above_us >= range_us / 3 : above_us > range_us / 2;
}

/* What is lost outside of a spike is wireless. */
static __always_inline bool spike_is_wireless(const struct loss_differentiation *s)
{
	return s->rtt_us && !s->is_spike;
}

/* "rott_mean = (1 - alpha) rott_mean + alpha rott_i",
 * "rott_dev = (1 - 2 alpha) rott_dev + 2 alpha |rott_i - rott_mean|"; alpha = 1/32. */
static __always_inline void zigzag_update(struct loss_differentiation *s)
{
	u32 mean_us;

	if (!s->rtt_mean_32)
		s->rtt_mean_32 = s->rtt_us << 5;
	s->rtt_mean_32 += s->rtt_us - (s->rtt_mean_32 >> 5);
	mean_us = s->rtt_mean_32 >> 5;
	s->rtt_dev_16 += (s->rtt_us > mean_us ? s->rtt_us - mean_us : mean_us - s->rtt_us) -
			 (s->rtt_dev_16 >> 4);
}

/* "n = 1 and rott_i < rott_mean - rott_dev, or n = 2 and rott_i < rott_mean - rott_dev / 2, or n =
 * 3 and rott_i < rott_mean, or n > 3 and rott_i < rott_mean - rott_dev / 2" */
static __always_inline bool zigzag_is_wireless(const struct loss_differentiation *s, u32 lost)
{
	u32 mean_us = s->rtt_mean_32 >> 5;
	u32 dev_us = s->rtt_dev_16 >> 4;
	u32 below_us = lost == 1 ? dev_us : lost == 3 ? 0 : dev_us / 2;

	return s->rtt_us + below_us < mean_us;
}

static __always_inline void rtt_sample(struct loss_differentiation *s, u32 rtt_us)
{
	s->rtt_min_us = s->rtt_us ? min(s->rtt_min_us, rtt_us) : rtt_us;
	s->rtt_max_us = max(s->rtt_max_us, rtt_us);
	s->rtt_us = rtt_us;
	spike_update(s);
	zigzag_update(s);
}

/* An ACK delivers something: how far it is from the one before tells Bias. */
static __always_inline void spacing_sample(struct loss_differentiation *s,
					   const struct tcp_sock *tp)
{
	u32 segments = tp->delivered - s->delivered;
	u32 since_us = tp->tcp_mstamp - s->latest_ack_us;
	bool is_prompt = segments > 1 && !tp->sacked_out;
	bool was_prompt = s->is_prompt;
	bool opens_hole = tp->sacked_out && !s->has_hole;

	if (!segments)
		return;
	s->has_hole = tp->sacked_out;
	s->is_prompt = is_prompt;
	s->delivered = tp->delivered;
	s->latest_ack_us = tp->tcp_mstamp;
	if (opens_hole) {
		s->hole_us = since_us;
		s->hole_segments = segments;
	} else if (is_prompt && was_prompt && tp->packets_out) {
		u32 spacing_us = max(since_us / segments, 1);

		s->spacing_us = s->spacing_us ? min(s->spacing_us, spacing_us) : spacing_us;
	}
}

CALLBACK(void, differentiation_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct loss_differentiation *s = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	spacing_sample(s, tp);
	if (sample->rtt_us > 0 && (sample->pkts_acked != 1 || tp->sacked_out))
		rtt_sample(s, sample->rtt_us);
}

CALLBACK(void, differentiation_init, struct sock *sk)
{
	struct loss_differentiation *s = inet_csk_ca(sk);

	s->delivered = tcp_sk(sk)->delivered;
}

/* "cwnd += SMSS*SMSS/cwnd": one segment per round trip. */
CALLBACK(void, differentiation_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	reno_grow(sk, tcp_sk(sk)->snd_cwnd, acked);
}

/* Returns the new ssthresh: what is in use for a wireless loss, half of it for any other. */
static __always_inline u32 differentiated_ssthresh(struct sock *sk, bool is_wireless)
{
	struct loss_differentiation *s = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!is_wireless || !tp->lost_out) {
		s->ssthresh = 0;
		return reno_half(tp);
	}
	s->ssthresh = tp->snd_ssthresh;
	return max(tp->snd_cwnd, 2);
}

/* The kernel asks for ssthresh before it tells that the cause is a timeout. */
CALLBACK(void, differentiation_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct loss_differentiation *s = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (event != CA_EVENT_LOSS)
		return;
	s->ssthresh = 0;
	tp->snd_ssthresh = max(tp->prior_cwnd >> 1, 2);
}

/* Recovery from a wireless loss is over: the window has become ssthresh again. */
CALLBACK(void, differentiation_set_state, struct sock *sk, u8 new_state)
{
	struct loss_differentiation *s = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (new_state > TCP_CA_Disorder || !s->ssthresh)
		return;
	tp->snd_ssthresh = max(s->ssthresh, tp->snd_ssthresh);
	s->ssthresh = 0;
}

CALLBACK(u32, differentiation_undo_cwnd, struct sock *sk)
{
	return reno_undone(tcp_sk(sk));
}

/* The three differ in ssthresh alone. */
#define DIFFERENTIATING(variable, rule) \
	ALGORITHM(variable) = { \
		.init = (void *)differentiation_init, \
		.cong_avoid = (void *)differentiation_cong_avoid, \
		.ssthresh = (void *)variable##_ssthresh, \
		.undo_cwnd = (void *)differentiation_undo_cwnd, \
		.set_state = (void *)differentiation_set_state, \
		.cwnd_event = (void *)differentiation_cwnd_event, \
		.pkts_acked = (void *)differentiation_pkts_acked, \
		.flags = TCP_CONG_NON_RESTRICTED, \
		.name = rule, \
	}

#endif
