/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compound TCP: Reno's window, and beside it one that grows fast while the queue is short.
 *
 * Source: K. Tan, J. Song, Q. Zhang, M. Sridharan, "A Compound TCP Approach for High-Speed and Long
 * Distance Networks", INFOCOM 2006; M. Sridharan, K. Tan, D. Bansal, D. Thaler,
 * draft-sridharan-tcpm-ctcp-02, 2008 (how gamma adapts).
 *
 * What the kernel calls the window is the paper's win; its loss window cwnd is win - dwnd.
 *
 * Deliberate differences:
 *  1. k is 3/4, the paper's, whose power is two square roots; and there is no window below which
 *     dwnd stays 0: alpha win^k is less than 1, and dwnd does not grow, under 16 segments anyway.
 *  2. baseRTT is the lowest RTT that the kernel has seen in its window (rtt_min) and RTT its
 *     smoothed one. So nothing has to begin anew after a timeout but dwnd and gamma.
 *  3. What is left of dwnd by kernel cuts of win, as after idle time, is at most win - 1.
 *  4. When a reduction proves to have been wrong, dwnd and gamma are restored with win.
 *  5. A window that is not used does not grow (RFC 7661).
 *  6. Idle keep (idle_keep.h).
 *
 * Switched in mid-flight: the window found is the loss window; dwnd is 0 and gamma its preset.
 */
#define PARAMETERS(P) \
	P(alpha_1000, 125, 1, 1000, "alpha, how fast dwnd grows: alpha win^(3/4), in 1/1000") \
	P(beta_1000, 500, 100, 900, "beta, what is given up of the window for a loss, in 1/1000") \
	P(gamma, 30, 5, 1000, "gamma to begin with and at most, segments in the queue") \
	IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/ssthresh.h"
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/after_outage.h"
#include "algorithms/common/parameters.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"
#include "algorithms/common/per_round_trip.h"

struct delay_window {
	u32 dwnd;	    /* segments */
	u32 dwnd_part_8;    /* growth of dwnd not yet whole, segments << 8 */
	u32 gamma_given_up; /* by how much gamma is below its preset, segments */
	u32 diff_reno;	    /* Diff_reno of the latest round trip plus 1, segments; 0: none */
};

struct compound {
	struct idle_keep idle;
	struct delay_window delay;
	struct delay_window delay_before; /* before the latest reduction */
	u32 end_seq;			  /* of the present round trip */
};
ASSERT_FITS_PRIVATE_AREA(struct compound);

#define GAMMA_LOWEST 5
/* The cube of a larger window would not fit 64 bits. */
#define POWER_MAX ((1U << 21) - 1)

/* Returns the largest x with x^2 <= a. It finds one bit at a time. */
VERIFIED_APART u64 square_root(u64 a)
{
	u64 x = 0;

	for (int bit = 31; bit >= 0; bit--) {
		u64 y = x | (1ULL << bit);

		if (y * y <= a)
			x = y;
	}
	return x;
}

/* win^k, k = 3/4, segments << 8 */
static __always_inline u64 power_8(u32 win)
{
	u64 w = min(win, POWER_MAX);

	return square_root(square_root(w * w * w) << 16);
}

/* "Diff = (win / baseRTT - win / RTT) baseRTT", segments */
static __always_inline u32 queued(const struct tcp_sock *tp, u32 win)
{
	u64 base_us = tcp_min_rtt(tp);
	u64 rtt_us = max(tp->srtt_us >> 3, 1);

	return rtt_us > base_us ? win * (rtt_us - base_us) / rtt_us : 0;
}

static __always_inline u32 dwnd_of(const struct compound *c, const struct tcp_sock *tp)
{
	return min(c->delay.dwnd, max(tp->snd_cwnd, 1) - 1);
}

static __always_inline void dwnd_grow(struct compound *c, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	/* "dwnd + (alpha win^k - 1)+" */
	u64 grow_8 = parameter(sk, alpha_1000) * power_8(tp->snd_cwnd) / 1000;
	u32 grow;

	if (grow_8 <= 1 << 8)
		return;
	grow_8 = grow_8 - (1 << 8) + c->delay.dwnd_part_8;
	grow = min(grow_8 >> 8, (u64)(tp->snd_cwnd_clamp - tp->snd_cwnd));
	c->delay.dwnd_part_8 = grow_8 & 0xff;
	c->delay.dwnd += grow;
	tp->snd_cwnd += grow;
}

/* This is done once per round trip. */
static __always_inline void dwnd_adjust(struct compound *c, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 diff = queued(tp, tp->snd_cwnd);

	c->delay.dwnd = dwnd_of(c, tp);
	c->delay.diff_reno = queued(tp, tp->snd_cwnd - c->delay.dwnd) + 1;
	if (diff >= parameter(sk, gamma) - c->delay.gamma_given_up) {
		/* "(dwnd - eta Diff)+", eta = 1 */
		u32 shrink = min(c->delay.dwnd, diff);

		c->delay.dwnd -= shrink;
		tp->snd_cwnd -= shrink;
	} else if (tcp_is_cwnd_limited(sk) && tp->snd_cwnd < tp->snd_cwnd_clamp) {
		dwnd_grow(c, sk);
	}
}

/* "gamma = (1 - lambda) gamma + lambda 3/4 Diff_reno", lambda = 0.8 as in ns-3's Compound TCP */
static __always_inline void gamma_adapt(struct compound *c, const struct sock *sk)
{
	u32 highest = parameter(sk, gamma);
	u64 gamma = highest - c->delay.gamma_given_up;

	if (!c->delay.diff_reno)
		return;
	gamma = (gamma * 2 + (u64)(c->delay.diff_reno - 1) * 6) / 10;
	gamma = max(min(gamma, (u64)highest), (u64)GAMMA_LOWEST);
	c->delay.gamma_given_up = highest - gamma;
	c->delay.diff_reno = 0;
}

CALLBACK(void, compound_init, struct sock *sk)
{
	struct compound *c = inet_csk_ca(sk);

	idle_keep_init(sk);
	round_trip_begin(&c->end_seq, tcp_sk(sk));
}

CALLBACK(void, compound_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct compound *c = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (round_trip_ended(&c->end_seq, tp, ack) && !tcp_in_slow_start(tp))
		dwnd_adjust(c, sk);
	/* "cwnd = cwnd + 1 / (cwnd + dwnd)" */
	reno_grow(sk, tp->snd_cwnd, acked);
}

/* "dwnd = (win (1 - beta) - cwnd / 2)+", "cwnd = cwnd / 2" */
CALLBACK(u32, compound_ssthresh, struct sock *sk)
{
	struct compound *c = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 half = (tp->snd_cwnd - dwnd_of(c, tp)) / 2;
	u32 win = (u64)tp->snd_cwnd * (1000 - parameter(sk, beta_1000)) / 1000;

	c->delay_before = c->delay;
	win = max(win, max(half, 2));
	c->delay.dwnd = win - half;
	gamma_adapt(c, sk);
	return bounded_ssthresh(sk, win);
}

CALLBACK(u32, compound_undo_cwnd, struct sock *sk)
{
	struct compound *c = inet_csk_ca(sk);

	c->delay = c->delay_before;
	return undone(sk);
}

CALLBACK(void, compound_set_state, struct sock *sk, u8 new_state)
{
	struct compound *c = inet_csk_ca(sk);

	outage_set_state(sk, new_state);
	if (new_state != TCP_CA_Loss)
		return;
	c->delay.dwnd = 0;
	c->delay.gamma_given_up = 0;
	c->delay.diff_reno = 0;
}

CWND_EVENT(compound_cwnd_event, sk, event)
{
	struct compound *c = inet_csk_ca(sk);

	idle_keep_event(sk, event);
	if (event == CA_EVENT_TX_START)
		round_trip_begin(&c->end_seq, tcp_sk(sk));
}

CALLBACK(void, compound_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	idle_keep_acked(sk, sample);
}

ALGORITHM(compound) = {
	.init = (void *)compound_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)compound_cong_avoid,
	.ssthresh = (void *)compound_ssthresh,
	.undo_cwnd = (void *)compound_undo_cwnd,
	.set_state = (void *)compound_set_state,
	HEARS(compound_cwnd_event),
	.pkts_acked = (void *)compound_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_compound",
};

ABOUT_WITH_PARAMETERS(compound,
		      "Tan, Song, Zhang, Sridharan: A Compound TCP Approach. INFOCOM 2006",
		      "fast paths shared with Reno: fills them, yields when the queue grows",
		      "from its paper alone");
