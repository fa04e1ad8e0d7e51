/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * HyStart++: the first slow start ends when round trips become longer, before the queue overflows.
 *
 * Source: RFC 9406.
 *
 * It is for the slow start that no loss has shown the end of (section 4.3): while ssthresh is
 * infinite. After idle time it begins anew, since the queue that it has seen is gone; and so it
 * does after a switch.
 *
 * The algorithm's file lists HYSTART_PARAMETER among its parameters. As preset it is for transfers
 * that go on: what a burst of an interactive program wants is to be out, and a queue of one window
 * that empties before the next burst harms nobody. So it begins when so much has been sent since
 * the latest idle time that this is no such burst.
 */
#ifndef KIRIKAE_HYSTART_H
#define KIRIKAE_HYSTART_H

/* parameters.h reads the algorithm's list, this one included. */
#define HYSTART_PARAMETER(P) \
	P(hystart, 2, 0, 2, \
	  "1: HyStart++ ends the first slow start (RFC 9406); 2: where a transfer goes on; 0: " \
	  "never")

#include "algorithms/common/idle_keep.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/per_round_trip.h"

enum hystart_when { HYSTART_NEVER, HYSTART_ALWAYS, HYSTART_GOING_ON };

struct hystart {
	u32 end_seq;	     /* windowEnd, of the present round trip */
	u32 sample_us;	     /* currRTT, not yet counted; 0: none */
	u32 rtt_us;	     /* currentRoundMinRTT; 0: none yet */
	u32 rtt_before_us;   /* lastRoundMinRTT; 0: none */
	u32 rtt_baseline_us; /* cssBaselineMinRtt */
	u8 samples;	     /* rttSampleCount, as far as it matters */
	u8 css_rounds; /* of Conservative Slow Start, the present one included; 0: not in it */
};

#define MIN_RTT_THRESH_US (4 * USEC_PER_MSEC)
#define MAX_RTT_THRESH_US (16 * USEC_PER_MSEC)
#define MIN_RTT_DIVISOR 8
#define N_RTT_SAMPLE 8
#define CSS_GROWTH_DIVISOR 4
#define CSS_ROUNDS 5
/* "L = infinity if paced, L = 8 if non-paced", segments for each ACK */
#define L_NOT_PACED 8

/* HyStart++ begins anew. init and CA_EVENT_TX_START call this. */
static __always_inline void hystart_begin(struct hystart *h, const struct tcp_sock *tp)
{
	round_trip_begin(&h->end_seq, tp);
	h->rtt_us = 0;
	h->samples = 0;
	h->css_rounds = 0;
}

/* pkts_acked calls this with a sample. Whether it is the next round trip's is known later. */
static __always_inline void hystart_acked(struct hystart *h, const struct ack_sample *sample)
{
	h->sample_us = sample->rtt_us < 0 ? 0 : max(sample->rtt_us, 1);
}

/* "currentRoundMinRTT = min(currentRoundMinRTT, currRTT)", "rttSampleCount += 1" */
static __always_inline void sample_count(struct hystart *h)
{
	if (!h->sample_us)
		return;
	h->rtt_us = h->rtt_us ? min(h->rtt_us, h->sample_us) : h->sample_us;
	h->samples = min(h->samples + 1, N_RTT_SAMPLE);
	h->sample_us = 0;
}

/* "RttThresh = max(MIN_RTT_THRESH, min(lastRoundMinRTT / MIN_RTT_DIVISOR, MAX_RTT_THRESH))" */
static __always_inline u32 rtt_threshold_us(const struct hystart *h)
{
	return max(min(h->rtt_before_us / MIN_RTT_DIVISOR, MAX_RTT_THRESH_US), MIN_RTT_THRESH_US);
}

/* The round trip is over. Returns whether slow start is over, too. */
static __always_inline bool round_ended(struct hystart *h)
{
	h->rtt_before_us = h->rtt_us;
	h->rtt_us = 0;
	h->samples = 0;
	/* "If CSS_ROUNDS rounds are complete, enter congestion avoidance" */
	return h->css_rounds && ++h->css_rounds > CSS_ROUNDS;
}

/* Goes into Conservative Slow Start, or back. */
static __always_inline void css_enter_or_leave(struct hystart *h)
{
	if (h->samples < N_RTT_SAMPLE)
		return;
	if (h->css_rounds) {
		/* "if (currentRoundMinRTT < cssBaselineMinRtt)": it was no queue */
		if (h->rtt_us < h->rtt_baseline_us)
			h->css_rounds = 0;
	} else if (h->rtt_before_us && h->rtt_us >= h->rtt_before_us + rtt_threshold_us(h)) {
		h->rtt_baseline_us = h->rtt_us;
		h->css_rounds = 1;
	}
}

/* Returns whether HyStart++ is in use now, by the parameter's value. */
static __always_inline bool hystart_is_on(u32 when, const struct sock *sk)
{
	return when == HYSTART_ALWAYS ||
	       (when == HYSTART_GOING_ON && transfer_goes_on(idle_keep(sk), tcp_sk(sk)));
}

/* This comes before congestion avoidance, as reno_before_avoidance() does. */
static __always_inline u32 hystart_before_avoidance(struct hystart *h, struct sock *sk, bool on,
						    u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!on || tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		return reno_before_avoidance(sk, acked);
	if (round_trip_ended(&h->end_seq, tp, ack) && round_ended(h)) {
		tp->snd_ssthresh = max(tp->snd_cwnd, 2);
		return reno_before_avoidance(sk, acked);
	}
	sample_count(h);
	css_enter_or_leave(h);
	if (!tcp_is_cwnd_limited(sk))
		return 0;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		acked = min(acked, L_NOT_PACED);
	/* "cwnd = cwnd + (min(N, L * SMSS) / CSS_GROWTH_DIVISOR)" */
	if (h->css_rounds) {
		reno_additive_increase(tp, CSS_GROWTH_DIVISOR, acked);
		return 0;
	}
	return reno_slow_start(tp, acked);
}

#endif
