/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BIC TCP: a binary search for the window at which the path loses.
 *
 * Source: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast
 * Long-Distance Networks", INFOCOM 2004.
 *
 * Deliberate differences:
 *  1. Growth is multiplied by the average number of segments per ACK, as in Linux. As it is rounded
 *     that is about 2 also where every segment is ACKed; a search of 1/4 of the way to W_max in
 *     a round trip and S_max = 16 are therefore the paper's midpoint and 32.
 *  2. S_min is 0.2 (so 0.4) as in Linux, not 0.01, and holds where a step would be below 2.
 *  3. Max probing is the mirror image of the search, as in Linux: away from W_max as slowly as
 *     it was approached. The paper starts with 1 and doubles.
 *  4. Until a W_max is known, growth is at least 1/20 of the window a round trip, as in Linux.
 *  5. When a reduction proves to have been wrong, W_max is restored, too. In Linux it is not.
 *  6. Idle keep (idle_keep.h).
 *
 * There is no clock in it, so idle time does not count. Switched in mid-flight in congestion
 * avoidance: the window found is W_max, and max probing begins. In slow start: as a new connection.
 */
#define PARAMETERS(P) \
	P(beta_1000, 800, 500, 900, "what is left of the window after a loss, in 1/1000") \
	P(smax, 16, 1, 1000, "S_max, segments a round trip; times segments per ACK") \
	P(smin_100, 20, 1, 100, "S_min, 1/100 segment a round trip; times segments per ACK") \
	P(search, 4, 2, 16, "1/search of the way to W_max a round trip; times segments per ACK") \
	P(low_window, 14, 2, 1000, "up to this window it is Reno, segments") \
	P(fast_convergence, 1, 0, 1, "1: W_max goes down where the window did not get back to it") \
	IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/ssthresh.h"
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/after_outage.h"
#include "algorithms/common/parameters.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"

struct bic {
	struct idle_keep idle;
	u32 w_max;	  /* W_max, segments; 0: not known */
	u32 w_max_before; /* before the latest reduction */
	u32 ack_ratio_16; /* segments per ACK << 4, averaged over 16 ACKs */
};
ASSERT_FITS_PRIVATE_AREA(struct bic);

#define ACK_RATIO_PRESET_16 (2 << 4)
/* One ACK counts for no more segments than this: the average stays within 32 bits. */
#define ACK_RATIO_MAX (1 << 16)
#define PER_UNTIL_W_MAX_IS_KNOWN 20

static __always_inline void search_forget(struct bic *bic)
{
	bic->w_max = 0;
	bic->ack_ratio_16 = ACK_RATIO_PRESET_16;
}

/* Returns how many segments are ACKed for one segment of growth below W_max. */
static __always_inline u64 search_per(const struct sock *sk, u64 cwnd, u64 w_max)
{
	/* "bic_inc = target_win - cwnd", the target being on the way to W_max */
	u64 step = (w_max - cwnd) / parameter(sk, search);

	/* "if (bic_inc > S_max) bic_inc = S_max", "if (bic_inc < S_min) bic_inc = S_min" */
	if (step > parameter(sk, smax))
		return cwnd / parameter(sk, smax);
	if (step <= 1)
		return cwnd * 100 / parameter(sk, smin_100);
	return cwnd / step;
}

/*
 * Returns the same at W_max and above. The search goes from distance d to (n-1)/n d in a round
 * trip; its mirror image goes from d to n/(n-1) d, and so grows by d/(n-1).
 */
static __always_inline u64 probing_per(const struct sock *sk, u64 cwnd, u64 w_max)
{
	u64 beyond = cwnd - w_max;
	u64 part = parameter(sk, search) - 1;

	if (beyond <= part)
		return cwnd * 100 / parameter(sk, smin_100);
	if (beyond < parameter(sk, smax) * part)
		return cwnd * part / beyond;
	return cwnd / parameter(sk, smax);
}

static __always_inline u32 growth_per(const struct bic *bic, const struct sock *sk)
{
	u64 cwnd = tcp_sk(sk)->snd_cwnd;
	u64 per;

	/* "cwnd < low_window: normal TCP" */
	if (cwnd <= parameter(sk, low_window))
		return cwnd;
	per = cwnd < bic->w_max ? search_per(sk, cwnd, bic->w_max)
				: probing_per(sk, cwnd, bic->w_max);
	if (!bic->w_max)
		per = min(per, (u64)PER_UNTIL_W_MAX_IS_KNOWN);
	per = (per << 4) / max(bic->ack_ratio_16, 1);
	return min(per, (u64)~0U);
}

CALLBACK(void, bic_init, struct sock *sk)
{
	struct bic *bic = inet_csk_ca(sk);

	idle_keep_init(sk);
	search_forget(bic);
	if (!tcp_in_slow_start(tcp_sk(sk)))
		bic->w_max = tcp_sk(sk)->snd_cwnd;
}

CALLBACK(void, bic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	acked = reno_before_avoidance(sk, acked);
	/* "cwnd = cwnd + bic_inc/cwnd" */
	if (acked)
		reno_additive_increase(tcp_sk(sk), growth_per(inet_csk_ca(sk), sk), acked);
}

CALLBACK(u32, bic_ssthresh, struct sock *sk)
{
	struct bic *bic = inet_csk_ca(sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 beta = parameter(sk, beta_1000);
	u32 ssthresh = max((u32)(cwnd * beta / 1000), 2);

	bic->w_max_before = bic->w_max;
	/* Fast convergence: "max_win = (max_win + min_win)/2", min_win = beta max_win */
	if (cwnd < bic->w_max && parameter(sk, fast_convergence))
		bic->w_max = cwnd * (1000 + beta) / 2000;
	else
		bic->w_max = cwnd;
	if (cwnd <= parameter(sk, low_window))
		ssthresh = reno_half(tcp_sk(sk));
	return bounded_ssthresh(sk, ssthresh);
}

CALLBACK(u32, bic_undo_cwnd, struct sock *sk)
{
	struct bic *bic = inet_csk_ca(sk);

	bic->w_max = bic->w_max_before;
	return undone(sk);
}

/* After a timeout the path is a new one. */
CALLBACK(void, bic_set_state, struct sock *sk, u8 new_state)
{
	outage_set_state(sk, new_state);
	if (new_state == TCP_CA_Loss)
		search_forget(inet_csk_ca(sk));
}

CWND_EVENT(bic_cwnd_event, sk, event)
{
	idle_keep_event(sk, event);
}

CALLBACK(void, bic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct bic *bic = inet_csk_ca(sk);

	idle_keep_acked(sk, sample);
	if (ca_state(sk) == TCP_CA_Open)
		bic->ack_ratio_16 +=
			min(sample->pkts_acked, ACK_RATIO_MAX) - (bic->ack_ratio_16 >> 4);
}

ALGORITHM(bic) = {
	.init = (void *)bic_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)bic_cong_avoid,
	.ssthresh = (void *)bic_ssthresh,
	.undo_cwnd = (void *)bic_undo_cwnd,
	.set_state = (void *)bic_set_state,
	HEARS(bic_cwnd_event),
	.pkts_acked = (void *)bic_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_bic",
};

ABOUT_WITH_PARAMETERS(bic, "Xu, Harfoush, Rhee: BIC. INFOCOM 2004",
		      "fast, long paths: quickly back to the window before a loss",
		      "held against Linux's module");
