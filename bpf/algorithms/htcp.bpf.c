/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * H-TCP: the longer ago the latest congestion, the faster the window grows.
 *
 * Source: D. Leith, R. Shorten, draft-leith-tcp-htcp-06, "H-TCP: TCP Congestion Control for High
 * Bandwidth-Delay Product Paths", 2008.
 *
 * Deliberate differences:
 *  1. alpha's factor is a whole number, rounded down, and RTT scaling is limited to 1/2 ... 10 in
 *     steps of 1/8, as in Linux.
 *  2. The window grows by one segment an ACK at most, and the ACK at which it does is not counted
 *     towards the next segment, as in Linux.
 *  3. Adaptive backoff is for RTTs above 10 ms and from the second congestion with a steady
 *     throughput on, as in Linux: below, RTTs tell more of the hosts than of the queue.
 *  4. RTT_max follows single steps of at most 20 ms and comes 1/20 closer to RTT_min with each
 *     congestion, as in Linux, so that an outlier or an old path is forgotten.
 *  5. RTT_min is the lowest that the kernel has seen in its window (rtt_min).
 *  6. Time in which nothing was in flight is not counted, neither since the latest congestion nor
 *     in the throughput. In Linux it is.
 *  7. When a reduction proves to have been wrong, all that it changed is restored. In Linux beta is
 *     not.
 *  8. Idle keep (idle_keep.h).
 *
 * Switched in mid-flight: as if congestion had just ended; growth begins as Reno's, and the first
 * loss halves.
 */
#define PARAMETERS(P) \
	P(adaptive_backoff, 1, 0, 1, \
	  "1: gives up only the share of the RTT that is queue; 0: half") \
	P(bandwidth_switch, 1, 0, 1, "1: half wherever throughput has changed by more than 20 %") \
	P(rtt_scaling, 1, 0, 1, \
	  "1: a connection with a long round trip grows as fast as a short one") \
	IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/ssthresh.h"
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/after_outage.h"
#include "algorithms/common/parameters.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"

/* What congestion tells. */
struct learned {
	u32 rtt_max_us;	       /* RTT_max; 0: none yet */
	u32 throughput_before; /* the highest before the latest congestion: B(k) */
	u16 beta_1000;	       /* beta */
	bool steady;	       /* throughput was the same before the latest congestion */
};

struct htcp {
	struct idle_keep idle;
	u64 congestion_us;	  /* end of the latest congestion, moved on by idle time since */
	u64 before_congestion_us; /* the one before, while congestion lasts; else 0 */
	u32 sample_start_us;	  /* low 32 bits; of the present throughput sample */
	u32 sample_segments : 31; /* ACKed in it */
	u32 sampling : 1;	  /* it has begun */
	u32 throughput;		  /* smoothed since the latest congestion, segments/s */
	u32 throughput_max;	  /* its highest: B(k + 1) */
	struct learned learned;
	struct learned learned_before; /* before the latest congestion */
};
ASSERT_FITS_PRIVATE_AREA(struct htcp);

#define BETA_MIN_1000 500
#define BETA_MAX_1000 800
/* "Delta_L = 1 second" */
#define DELTA_L_MS 1000
/* No larger Delta is told apart: its square stays small. */
#define DELTA_MAX_MS 1000000
#define ADAPTIVE_RTT_MIN_US 10000
#define RTT_MAX_STEP_US 20000
#define REFERENCE_RTT_US 100000

static __always_inline u64 since_congestion_us(const struct htcp *h, const struct tcp_sock *tp)
{
	return tp->tcp_mstamp - h->congestion_us;
}

/* "alpha = 1 + 10 (Delta - Delta_L) + 0.25 (Delta - Delta_L)^2", 1 up to Delta_L */
static __always_inline u64 alpha_of(u64 delta_ms)
{
	u64 ms;

	if (delta_ms <= DELTA_L_MS)
		return 1;
	ms = min(delta_ms, (u64)DELTA_MAX_MS) - DELTA_L_MS;
	return 1 + (10 * ms + ms * ms / 4000) / 1000;
}

/* Growth is by time, not by round trips: alpha in proportion to the RTT. */
static __always_inline u64 alpha_scaled(u64 alpha, u32 rtt_min_us)
{
	/* inverse of the scale, << 3 */
	u32 inverse_8 = 8 * REFERENCE_RTT_US / max(rtt_min_us, 1);

	inverse_8 = max(min(inverse_8, 80), 4);
	return max((alpha << 3) / inverse_8, 1ULL);
}

/* "alpha <- 2 (1 - beta) alpha": segments per round trip, in 1/1000 */
static __always_inline u64 alpha_1000(const struct htcp *h, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 alpha = alpha_of(since_congestion_us(h, tp) / USEC_PER_MSEC);

	if (parameter(sk, rtt_scaling) && tcp_min_rtt(tp) != ~0U)
		alpha = alpha_scaled(alpha, tcp_min_rtt(tp));
	return 2 * alpha * (1000 - h->learned.beta_1000);
}

/* "|B(k+1) - B(k)| / B(k) > 0.2" */
static __always_inline bool throughput_changed(const struct htcp *h)
{
	u64 now_5 = (u64)5 * h->throughput_max;
	u64 before = h->learned.throughput_before;

	return now_5 < 4 * before || now_5 > 6 * before;
}

/* "beta <- RTT_min / RTT_max", from 0.5 to 0.8; 0.5 where throughput has changed */
static __always_inline void beta_update(struct htcp *h, const struct sock *sk)
{
	u32 rtt_min = tcp_min_rtt(tcp_sk(sk));
	bool changed = parameter(sk, bandwidth_switch) && throughput_changed(h);
	bool steady = h->learned.steady && !changed;
	u64 beta_1000 = BETA_MIN_1000;

	h->learned.throughput_before = h->throughput_max;
	h->learned.steady = !changed;
	if (steady && parameter(sk, adaptive_backoff) && rtt_min > ADAPTIVE_RTT_MIN_US &&
	    h->learned.rtt_max_us)
		beta_1000 = (u64)rtt_min * 1000 / h->learned.rtt_max_us;
	h->learned.beta_1000 = max(min(beta_1000, (u64)BETA_MAX_1000), (u64)BETA_MIN_1000);
}

static __always_inline void rtt_max_fade(struct htcp *h, u32 rtt_min)
{
	if (h->learned.rtt_max_us > rtt_min)
		h->learned.rtt_max_us = rtt_min + (u64)(h->learned.rtt_max_us - rtt_min) * 95 / 100;
}

static __always_inline void rtt_max_acked(struct htcp *h, u32 rtt_min, u32 rtt)
{
	if (rtt_min == ~0U)
		return;
	h->learned.rtt_max_us = max(h->learned.rtt_max_us, rtt_min);
	if (rtt > h->learned.rtt_max_us && rtt - h->learned.rtt_max_us <= RTT_MAX_STEP_US)
		h->learned.rtt_max_us = rtt;
}

static __always_inline void sample_begin(struct htcp *h, const struct tcp_sock *tp)
{
	h->sampling = true;
	h->sample_start_us = tp->tcp_mstamp;
	h->sample_segments = 0;
}

/* Takes what was ACKed over the given time for throughput; soon after congestion, that alone. */
static __always_inline void sample_take(struct htcp *h, const struct tcp_sock *tp, u32 us)
{
	u64 sample = (u64)h->sample_segments * USEC_PER_SEC / max(us, 1);
	u32 now = min(sample, (u64)~0U);

	if (since_congestion_us(h, tp) < (u64)4 * tcp_min_rtt(tp)) {
		h->throughput = h->throughput_max = now;
		return;
	}
	h->throughput = ((u64)h->throughput * 3 + now) / 4;
	h->throughput_max = max(h->throughput_max, h->throughput);
}

/* Each ACK calls this; there is one sample per round trip and window. */
static __always_inline void sample_acked(struct htcp *h, const struct sock *sk, u32 segments)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 us = (u32)tp->tcp_mstamp - h->sample_start_us;

	if (h->sampling) {
		h->sample_segments += segments;
		/* Most ACKs come before the round trip is over: alpha is not asked for then. */
		if (us < tcp_min_rtt(tp) ||
		    h->sample_segments + max(alpha_1000(h, sk) / 1000, 1ULL) < tp->snd_cwnd)
			return;
		sample_take(h, tp, us);
	}
	sample_begin(h, tp);
}

CALLBACK(void, htcp_init, struct sock *sk)
{
	struct htcp *h = inet_csk_ca(sk);

	idle_keep_init(sk);
	h->congestion_us = tcp_sk(sk)->tcp_mstamp;
	h->learned.beta_1000 = BETA_MIN_1000;
}

CALLBACK(void, htcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	const struct htcp *h = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		reno_slow_start(tp, acked);
		return;
	}
	/* "cwnd <- cwnd + alpha/cwnd" */
	if (tp->snd_cwnd_cnt * alpha_1000(h, sk) < (u64)tp->snd_cwnd * 1000) {
		tp->snd_cwnd_cnt += acked;
	} else {
		tp->snd_cwnd_cnt = 0;
		tp->snd_cwnd = min(tp->snd_cwnd + 1, tp->snd_cwnd_clamp);
	}
}

/* "cwnd <- beta cwnd" */
CALLBACK(u32, htcp_ssthresh, struct sock *sk)
{
	struct htcp *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	h->learned_before = h->learned;
	beta_update(h, sk);
	rtt_max_fade(h, tcp_min_rtt(tp));
	return bounded_ssthresh(sk, max((u32)((u64)tp->snd_cwnd * h->learned.beta_1000 / 1000), 2));
}

CALLBACK(u32, htcp_undo_cwnd, struct sock *sk)
{
	struct htcp *h = inet_csk_ca(sk);

	h->learned = h->learned_before;
	return undone(sk);
}

/* Delta counts from the end of congestion; there was none where the reduction was taken back. */
CALLBACK(void, htcp_set_state, struct sock *sk, u8 new_state)
{
	struct htcp *h = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	outage_set_state(sk, new_state);
	if (new_state >= TCP_CA_CWR) {
		if (!h->before_congestion_us)
			h->before_congestion_us = h->congestion_us;
		h->congestion_us = tp->tcp_mstamp;
	} else if (new_state == TCP_CA_Open && h->before_congestion_us) {
		h->congestion_us =
			tp->snd_cwnd < tp->prior_cwnd ? tp->tcp_mstamp : h->before_congestion_us;
		h->before_congestion_us = 0;
	}
}

CWND_EVENT(htcp_cwnd_event, sk, event)
{
	struct htcp *h = inet_csk_ca(sk);

	idle_keep_event(sk, event);
	if (event == CA_EVENT_TX_START) {
		/* The algorithm may have been switched in since the latest ACK. */
		u64 idle_since_us = max(h->idle.latest_ack_us, h->congestion_us);

		h->congestion_us += tcp_sk(sk)->tcp_mstamp - idle_since_us;
		h->sampling = false;
	}
}

CALLBACK(void, htcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct htcp *h = inet_csk_ca(sk);
	u8 state = ca_state(sk);

	idle_keep_acked(sk, sample);
	if (state == TCP_CA_Open && sample->rtt_us > 0)
		rtt_max_acked(h, tcp_min_rtt(tcp_sk(sk)), sample->rtt_us);
	if (state == TCP_CA_Open || state == TCP_CA_Disorder)
		sample_acked(h, sk, sample->pkts_acked);
	else
		h->sampling = false;
}

ALGORITHM(htcp) = {
	.init = (void *)htcp_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)htcp_cong_avoid,
	.ssthresh = (void *)htcp_ssthresh,
	.undo_cwnd = (void *)htcp_undo_cwnd,
	.set_state = (void *)htcp_set_state,
	HEARS(htcp_cwnd_event),
	.pkts_acked = (void *)htcp_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_htcp",
};

ABOUT_WITH_PARAMETERS(htcp, "Leith, Shorten: H-TCP. draft-leith-tcp-htcp-06, 2008",
		      "fast, long paths; fair to rivals whatever their round trip",
		      "held against Linux's module");
