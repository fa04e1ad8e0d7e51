/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUBIC's window, for the algorithms that differ in how long it takes to come back.
 *
 * Source: RFC 9438, sections 4.1 to 4.10.
 *
 * The algorithm's file lists CUBIC_PARAMETERS among its own, includes this, and defines
 * cubic_k_ms().
 */
#ifndef KIRIKAE_CUBIC_H
#define KIRIKAE_CUBIC_H

#define CUBIC_PARAMETERS(P) \
	P(c_1000, 400, 10, 10000, "C, how fast it returns: segments/s^3, in 1/1000") \
	P(beta_1000, 700, 500, 900, "beta, what is left of the window after a loss, in 1/1000") \
	HYSTART_PARAMETER(P) \
	IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/cube_root.h"
#include "algorithms/common/hystart.h"
#include "algorithms/common/ssthresh.h"
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/after_outage.h"
#include "algorithms/common/parameters.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"

struct cubic {
	struct idle_keep idle;
	u64 epoch_start_us; /* 0: the epoch begins with the next ACK */
	u64 w_est_20;	    /* W_est, segments << 20 */
	u32 w_max : 30;	    /* segments; 0: none */
	u32 reduction : 2;  /* enum reduction */
	u32 k_ms;	    /* K */
	u32 w_prior;	    /* cwnd_prior: the window before the latest reduction, segments */
	struct hystart hystart;
};
ASSERT_FITS_PRIVATE_AREA(struct cubic);

/* A reduction ends the epoch only when the next one begins, with the first ACK in congestion
 * avoidance: until then it may prove to have been wrong, and the epoch goes on. */
enum reduction {
	REDUCTION_NONE,
	REDUCTION_OF_LOSS,
	REDUCTION_OF_TIMEOUT,
};

/* The algorithm returns its own K where section 4.2 gives `k_ms`. */
static __always_inline u32 cubic_k_ms(const struct sock *sk, u32 k_ms);

/* 1/1024 segment is C times this many ms^3 (C in 1/1000). */
#define C_MS3_PER_1024TH 976562500ULL
/* No longer distance from K is told apart: its cube fits 64 bits. */
#define DISTANCE_MAX_MS (1ULL << 20)
/* K is told by no more segments below W_max than this: times the above they fit 64 bits at the
 * lowest C. */
#define LOST_MAX (1U << 26)

static __always_inline u64 ms3_per_1024th(const struct sock *sk)
{
	return C_MS3_PER_1024TH / parameter(sk, c_1000);
}

/* The latest reduction was right. Section 4.7: "W_max = cwnd * (1 + beta_cubic) / 2" where the
 * window did not get back to W_max. Section 4.8: after a timeout "K is set to 0, and W_max is set
 * to" the window that slow start ends with. */
static __always_inline void epoch_end(struct cubic *c, const struct sock *sk)
{
	u64 cwnd = c->w_prior;

	if (c->reduction == REDUCTION_OF_TIMEOUT)
		c->w_max = 0;
	else if (c->reduction == REDUCTION_OF_LOSS)
		c->w_max = cwnd < c->w_max ? cwnd * (1000 + parameter(sk, beta_1000)) / 2000 : cwnd;
	c->reduction = REDUCTION_NONE;
}

/* "K = cbrt((W_max - cwnd_epoch) / C)" */
static __always_inline void epoch_begin(struct cubic *c, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	epoch_end(c, sk);
	c->epoch_start_us = tp->tcp_mstamp;
	c->w_est_20 = (u64)tp->snd_cwnd << 20;
	c->k_ms = 0;
	if (c->w_max > tp->snd_cwnd) {
		u64 lost = min(c->w_max - tp->snd_cwnd, LOST_MAX);

		c->k_ms = cubic_k_ms(sk, cube_root((lost << 10) * ms3_per_1024th(sk)));
	} else {
		c->w_max = tp->snd_cwnd;
	}
}

/* "W_cubic(t) = C * (t - K)^3 + W_max", in 1/1024 segment, never below 0 */
static __always_inline u64 w_cubic_1024(const struct cubic *c, const struct sock *sk, u64 t_ms)
{
	u64 distance = t_ms > c->k_ms ? t_ms - c->k_ms : c->k_ms - t_ms;
	u64 origin = (u64)c->w_max << 10;
	u64 offset;

	distance = min(distance, DISTANCE_MAX_MS);
	offset = distance * distance * distance / ms3_per_1024th(sk);
	if (t_ms > c->k_ms)
		return origin + offset;
	return origin > offset ? origin - offset : 0;
}

/* "W_est = W_est + alpha_cubic * (segments_acked / cwnd)" */
static __always_inline void w_est_grow(struct cubic *c, const struct sock *sk, u32 acked)
{
	u32 beta = parameter(sk, beta_1000);
	/* "alpha_cubic = 3 * (1 - beta_cubic) / (1 + beta_cubic)", and 1 beyond cwnd_prior */
	u64 alpha_20 = ((u64)3 * (1000 - beta) << 20) / (1000 + beta);

	if (c->w_est_20 >> 20 >= c->w_prior)
		alpha_20 = 1 << 20;
	c->w_est_20 += alpha_20 * acked / max(tcp_sk(sk)->snd_cwnd, 1);
}

/* The window to be reached one round trip from now, in 1/1024 segment (sections 4.3 to 4.5). */
static __always_inline u64 target_1024(const struct cubic *c, const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 t_us = tp->tcp_mstamp - c->epoch_start_us;
	u64 cwnd = (u64)tp->snd_cwnd << 10;
	u64 target = w_cubic_1024(c, sk, (t_us + (tp->srtt_us >> 3)) / USEC_PER_MSEC);

	/* "cwnd SHOULD be set to W_est" where Reno would be ahead (section 4.3) */
	target = max(target, c->w_est_20 >> 10);
	/* "1.5 * cwnd if W_cubic(t + RTT) > 1.5 * cwnd" */
	return min(target, cwnd + cwnd / 2);
}

CALLBACK(void, cubic_init, struct sock *sk)
{
	struct cubic *c = inet_csk_ca(sk);

	idle_keep_init(sk);
	hystart_begin(&c->hystart, tcp_sk(sk));
}

CALLBACK(void, cubic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct cubic *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 cwnd, target;

	acked = hystart_before_avoidance(&c->hystart, sk, hystart_is_on(parameter(sk, hystart), sk),
					 ack, acked);
	if (!acked)
		return;
	if (!c->epoch_start_us || c->reduction)
		epoch_begin(c, sk);
	w_est_grow(c, sk, acked);
	cwnd = (u64)tp->snd_cwnd << 10;
	target = target_1024(c, sk);
	/* "cwnd incremented by (target - cwnd) / cwnd for each new ACK" */
	if (target > cwnd)
		reno_additive_increase(tp, cwnd / (target - cwnd), acked);
}

/* Section 4.6: multiplicative decrease */
CALLBACK(u32, cubic_ssthresh, struct sock *sk)
{
	struct cubic *c = inet_csk_ca(sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;

	epoch_end(c, sk);
	c->reduction = REDUCTION_OF_LOSS;
	c->w_prior = cwnd;
	return bounded_ssthresh(sk, max((u32)(cwnd * parameter(sk, beta_1000) / 1000), 2));
}

/* Section 4.9: what was before the reduction is restored. The window before the reduction before
 * it has to be taken from W_max. */
CALLBACK(u32, cubic_undo_cwnd, struct sock *sk)
{
	struct cubic *c = inet_csk_ca(sk);

	if (c->reduction && c->w_max)
		c->w_prior = c->w_max;
	c->reduction = REDUCTION_NONE;
	return undone(sk);
}

CALLBACK(void, cubic_set_state, struct sock *sk, u8 new_state)
{
	struct cubic *c = inet_csk_ca(sk);

	outage_set_state(sk, new_state);
	if (new_state == TCP_CA_Loss)
		c->reduction = REDUCTION_OF_TIMEOUT;
}

CWND_EVENT(cubic_cwnd_event, sk, event)
{
	struct cubic *c = inet_csk_ca(sk);

	idle_keep_event(sk, event);
	if (event != CA_EVENT_TX_START)
		return;
	hystart_begin(&c->hystart, tcp_sk(sk));
	if (c->epoch_start_us)
		c->epoch_start_us += tcp_sk(sk)->tcp_mstamp - c->idle.latest_ack_us;
}

CALLBACK(void, cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cubic *c = inet_csk_ca(sk);
	u64 since_latest_us = tcp_sk(sk)->tcp_mstamp - c->idle.latest_ack_us;

	/* Section 5.8: time in which the application was the limit is no part of the epoch. */
	if (c->epoch_start_us && !tcp_is_cwnd_limited(sk))
		c->epoch_start_us += since_latest_us;

	idle_keep_acked(sk, sample);
	hystart_acked(&c->hystart, sample);
}

#endif
