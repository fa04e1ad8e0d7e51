/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Linux's own cubic, as it is from 5.16 to 6.12, to be played in the simulator. Compiled natively
 * only: on a real host the kernel's is there.
 *
 * Source: RFC 8312; S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks
 * 55(9), 2011 (HyStart). What the module does beyond these was seen in the running kernel, and
 * crates/algorithms/tests/stock.rs holds this file against it.
 *
 * What it does otherwise than kk_cubic:
 *  1. HyStart ends slow start, and not only the first one, until it has done so once.
 *  2. The curve counts whole segments, and is looked at again when the window has changed or 1/32 s
 *     has passed, at most once a jiffy. Of it, beta and C are 717/1024 and 410/1024.
 *  3. The target is that of min_rtt from now, not of the smoothed RTT; the window grows by at most
 *     one segment for two ACKed. Until a loss has shown a W_max, by at least one for 20.
 *  4. W_est goes on with one segment for 15/8 windows (0.53 a round trip) beyond the window before
 *     the loss.
 *  5. Time after the latest transmission, when all was ACKed, is no part of the epoch; other time
 *     in which the application was the limit is.
 *  6. No idle keep. What it finds on a switch it does not mend (takeover.h).
 *
 * Deliberate difference from the module:
 *  1. A jiffy is a millisecond, as where HZ is 1000, and the cube root is exact.
 *
 * Linux 2.6.33 differs in more than parameters, and is not played by this file: it counted ACKs
 * and not the segments they cover (so that growth was multiplied by an average of these), let the
 * window double in a round trip, did not move the epoch after idle time, took back a reduction to
 * W_max, and its HyStart had thresholds of 1/16 of min_rtt from 2 to 16 ms by the first 8 samples
 * of a round trip, in jiffies.
 */
#define PARAMETERS(P) \
	P(hystart, 3, 0, 3, "what HyStart looks at, 1: trains of ACKs, 2: delay, 3: both; 0: off") \
	P(hystart_low_window, 16, 2, 1000, "HyStart begins at this window, segments")
#include "algorithms/common/cube_root.h"
#include "algorithms/common/parameters.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/per_round_trip.h"

struct stock_cubic {
	u32 w_max;	    /* W_max, segments; 0: none */
	u32 origin;	    /* window of the curve's plateau, segments */
	u32 k_10;	    /* K, seconds << 10 */
	u32 epoch_start_ms; /* where there is one */
	u32 per;	    /* so many segments ACKed for one of growth */
	u32 looked_cwnd;    /* window when the curve was last looked at */
	u32 looked_ms;	    /* time likewise */
	u32 w_est;	    /* W_est, segments */
	u32 w_est_acked;    /* segments ACKed and not yet turned into growth of it */
	u32 rtt_min_us;	    /* lowest RTT since the beginning or a timeout; 0: none */
	u32 round_start_us; /* HyStart's round trip: its beginning, */
	u32 round_end;	    /* the sequence number that ends it, */
	u32 round_rtt_us;   /* its lowest RTT, */
	u32 train_end_us;   /* the latest ACK of the train that it began with, */
	u8 round_samples;   /* and its RTT samples, as far as they matter */
	bool in_epoch;
	bool start_ended; /* HyStart has ended slow start */
};
ASSERT_FITS_PRIVATE_AREA(struct stock_cubic);

#define MS_PER_SEC 1000
#define BETA_10 717
#define C_10 410
/* 1/C segment, seconds^3 << 30 */
#define SEGMENT_S3_30 ((1ULL << 40) / C_10)
/* No longer distance from K is told apart, seconds << 10: its cube times C fits 64 bits. */
#define DISTANCE_MAX_10 (1U << 18)
#define LOOK_AGAIN_MS (MS_PER_SEC / 32)
#define PER_LEAST 2
#define PER_UNTIL_W_MAX_IS_KNOWN 20
/* On the plateau, and beyond what the curve allows, the window grows next to nothing. */
#define PLATEAU_WINDOWS 100
/* W_est grows by a segment for so many windows: (1 + beta) / (3 (1 - beta)), in 1/8 rounded down.
 */
#define W_EST_WINDOWS_8 (8 * (1024 + BETA_10) / 3 / (1024 - BETA_10))

/* HyStart: ACKs further apart than this are no train. */
#define TRAIN_GAP_US 2000
/* A train of the largest packets that leave in one go is no news; microseconds at most. */
#define TRAIN_ALLOWANCE_MAX_US 1000
#define TRAIN_ALLOWANCE_BYTES (4ULL * 65215)
#define DELAY_SAMPLES 8
#define DELAY_MIN_US 4000
#define DELAY_MAX_US 16000
enum { HYSTART_TRAIN = 1, HYSTART_DELAY = 2 };
/* RTTs of the first second after a reduction are those of a queue that is going away. */
#define RTT_DISCARDED_MS MS_PER_SEC

static __always_inline u32 now_ms(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp / USEC_PER_MSEC;
}

/* "K = cubic_root(W_max*(1-beta_cubic)/C)", by the window that there is */
static __always_inline void epoch_begin(struct stock_cubic *c, u32 cwnd, u32 now, u32 acked)
{
	c->in_epoch = true;
	c->epoch_start_ms = now;
	c->w_est = cwnd;
	c->w_est_acked = acked;
	c->origin = max(c->w_max, cwnd);
	c->k_10 = cube_root(SEGMENT_S3_30 * (c->origin - cwnd));
}

/* "W_cubic(t) = C*(t-K)^3 + W_max", segments */
static __always_inline u32 w_cubic(const struct stock_cubic *c, u64 t_10)
{
	u64 distance = t_10 > c->k_10 ? t_10 - c->k_10 : c->k_10 - t_10;
	u32 offset;

	distance = min(distance, (u64)DISTANCE_MAX_10);
	offset = C_10 * distance * distance * distance >> 40;
	return t_10 > c->k_10 ? c->origin + offset : c->origin - offset;
}

/* "cwnd is incremented by (W_cubic(t+RTT) - cwnd)/cwnd for each received ACK" */
static __always_inline u32 curve_per(const struct stock_cubic *c, u32 cwnd, u32 now)
{
	u64 t_ms = now - c->epoch_start_ms + (c->rtt_min_us + USEC_PER_MSEC - 1) / USEC_PER_MSEC;
	u32 target = w_cubic(c, t_ms * 1024 / MS_PER_SEC);
	u32 per = target > cwnd ? cwnd / (target - cwnd) : PLATEAU_WINDOWS * cwnd;

	return c->w_max ? per : min(per, PER_UNTIL_W_MAX_IS_KNOWN);
}

/* "W_est(t) = W_max*beta_cubic + [3*(1-beta_cubic)/(1+beta_cubic)] * (t/RTT)", by what is ACKed */
static __always_inline u32 friendly_per(struct stock_cubic *c, u32 cwnd)
{
	u32 per = max(cwnd * W_EST_WINDOWS_8 / 8, 1);

	if (c->w_est_acked > per) {
		u32 grow = (c->w_est_acked - 1) / per;

		c->w_est += grow;
		c->w_est_acked -= grow * per;
	}
	return c->w_est > cwnd ? cwnd / (c->w_est - cwnd) : ~0U;
}

static __always_inline void per_update(struct stock_cubic *c, const struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = tp->snd_cwnd;
	u32 now = now_ms(tp);

	c->w_est_acked += acked;
	if (c->looked_cwnd == cwnd && now - c->looked_ms <= LOOK_AGAIN_MS)
		return;
	if (!c->in_epoch || now != c->looked_ms) {
		if (!c->in_epoch)
			epoch_begin(c, cwnd, now, acked);
		c->looked_cwnd = cwnd;
		c->looked_ms = now;
		c->per = curve_per(c, cwnd, now);
	}
	c->per = max(min(c->per, friendly_per(c, cwnd)), PER_LEAST);
}

static __always_inline void hystart_round_begin(struct stock_cubic *c, const struct tcp_sock *tp)
{
	round_trip_begin(&c->round_end, tp);
	c->round_start_us = c->train_end_us = tp->tcp_mstamp;
	c->round_rtt_us = ~0U;
	c->round_samples = 0;
}

/*
 * This is HyStart's ACK train: what was sent back to back comes back in one train, and when that
 * is as long as the way there, the path is full. What is paced is spread over up to half a round
 * trip already.
 */
static __always_inline bool train_is_long(struct stock_cubic *c, const struct sock *sk)
{
	u32 now = tcp_sk(sk)->tcp_mstamp;
	u64 rate = sk->sk_pacing_rate;
	u32 enough = c->rtt_min_us;

	if (now - c->train_end_us > TRAIN_GAP_US)
		return false;
	c->train_end_us = now;
	if (rate)
		enough += min(TRAIN_ALLOWANCE_BYTES * USEC_PER_SEC / rate, TRAIN_ALLOWANCE_MAX_US);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		enough /= 2;
	return now - c->round_start_us > enough;
}

/* This is HyStart's delay increase: the lowest of a round trip's RTTs is an eighth above that of
 * the connection. */
static __always_inline bool delay_is_up(struct stock_cubic *c, u32 rtt_us)
{
	u32 eighth = c->rtt_min_us / 8;

	c->round_rtt_us = min(c->round_rtt_us, rtt_us);
	if (c->round_samples < DELAY_SAMPLES) {
		c->round_samples++;
		return false;
	}
	return c->round_rtt_us > c->rtt_min_us + max(min(eighth, DELAY_MAX_US), DELAY_MIN_US);
}

static __always_inline void hystart_acked(struct stock_cubic *c, struct sock *sk, u32 rtt_us)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 looks_at = parameter(sk, hystart);

	if (round_trip_ended(&c->round_end, tp, tp->snd_una))
		hystart_round_begin(c, tp);
	if (tp->snd_cwnd < parameter(sk, hystart_low_window))
		return;
	if (looks_at & HYSTART_TRAIN && train_is_long(c, sk))
		c->start_ended = true;
	if (looks_at & HYSTART_DELAY && delay_is_up(c, rtt_us))
		c->start_ended = true;
	if (c->start_ended)
		tp->snd_ssthresh = tp->snd_cwnd;
}

CALLBACK(void, stock_cubic_init, struct sock *sk)
{
	hystart_round_begin(inet_csk_ca(sk), tcp_sk(sk));
}

CALLBACK(void, stock_cubic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct stock_cubic *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	acked = reno_before_avoidance(sk, acked);
	if (!acked)
		return;
	per_update(c, tp, acked);
	reno_additive_increase(tp, c->per, acked);
}

/* "ssthresh = cwnd * beta_cubic", and fast convergence */
CALLBACK(u32, stock_cubic_ssthresh, struct sock *sk)
{
	struct stock_cubic *c = inet_csk_ca(sk);
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	c->in_epoch = false;
	/* "W_max = W_max*(1.0+beta_cubic)/2.0" */
	c->w_max = cwnd < c->w_max ? (u64)cwnd * (1024 + BETA_10) / 2048 : cwnd;
	return max((u32)((u64)cwnd * BETA_10 / 1024), 2);
}

/* After a timeout the path is a new one. */
CALLBACK(void, stock_cubic_set_state, struct sock *sk, u8 new_state)
{
	struct stock_cubic *c = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	__builtin_memset(c, 0, sizeof(*c));
	hystart_round_begin(c, tcp_sk(sk));
}

CALLBACK(void, stock_cubic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct stock_cubic *c = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 now = now_ms(tp);

	if (event != CA_EVENT_TX_START || !c->in_epoch)
		return;
	c->epoch_start_ms += (tp->tcp_mstamp - tp->lsndtime_us) / USEC_PER_MSEC;
	/* An epoch may have begun since. */
	if ((s32)(c->epoch_start_ms - now) > 0)
		c->epoch_start_ms = now;
}

CALLBACK(void, stock_cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct stock_cubic *c = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = max(sample->rtt_us, 1);

	if (sample->rtt_us < 0)
		return;
	if (c->in_epoch && (s32)(now_ms(tp) - c->epoch_start_ms) < RTT_DISCARDED_MS)
		return;
	c->rtt_min_us = c->rtt_min_us ? min(c->rtt_min_us, rtt_us) : rtt_us;
	if (parameter(sk, hystart) && !c->start_ended && tcp_in_slow_start(tp))
		hystart_acked(c, sk, rtt_us);
}

CALLBACK(u32, stock_cubic_undo_cwnd, struct sock *sk)
{
	return reno_undone(tcp_sk(sk));
}

ALGORITHM(stock_cubic) = {
	.init = (void *)stock_cubic_init,
	.cong_avoid = (void *)stock_cubic_cong_avoid,
	.ssthresh = (void *)stock_cubic_ssthresh,
	.undo_cwnd = (void *)stock_cubic_undo_cwnd,
	.set_state = (void *)stock_cubic_set_state,
	.cwnd_event = (void *)stock_cubic_cwnd_event,
	.pkts_acked = (void *)stock_cubic_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "cubic",
};

ABOUT_WITH_PARAMETERS(stock_cubic, "RFC 8312", "what Linux takes where nothing is chosen",
		      "held against Linux's module");
