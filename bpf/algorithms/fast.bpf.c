/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FAST TCP: keeps the same few segments in the queue, and goes the further towards that window in
 * one step the further away it is.
 *
 * Source: D. X. Wei, C. Jin, S. H. Low, S. Hegde, "FAST TCP: Motivation, Architecture, Algorithms,
 * Performance", IEEE/ACM Transactions on Networking 14(6), 2006.
 *
 * Deliberate differences:
 *  1. The window is set once per round trip, not every 20 ms.
 *  2. baseRTT is the lowest RTT that the kernel has seen in its window (rtt_min): a path that
 *     became longer is noticed, and a successor knows it at once.
 *  3. alpha is 20 segments, not 200: the paper's links carry a hundred times what ours do.
 *  4. Slow start is Reno's, until the formula would take the window down.
 *  5. After a loss half the window is kept, as Reno does.
 *  6. A window that is not used does not grow (RFC 7661).
 *  7. Idle keep (idle_keep.h). After idle time the average RTT begins anew: the queue is empty.
 *
 * Switched in mid-flight: the window is set for the first time with the end of the first whole
 * round trip, by the RTTs seen in it.
 */
#define PARAMETERS(P) \
	P(alpha, 20, 1, 10000, "alpha, segments to be kept in the queue") \
	P(gamma_1000, 500, 10, 1000, "gamma, part of the way gone in a round trip, in 1/1000") \
	IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/ssthresh.h"
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/after_outage.h"
#include "algorithms/common/parameters.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"
#include "algorithms/common/per_round_trip.h"

struct fast {
	struct idle_keep idle;
	u64 rtt_us_8; /* average RTT, microseconds << 8; 0: none yet */
	u32 end_seq;  /* of the present round trip */
};
ASSERT_FITS_PRIVATE_AREA(struct fast);

/* No larger window makes the average slower: times an RTT of 100 s it fits 64 bits. */
#define AVERAGED_MAX (1U << 20)

/* "(1 - eta) RTT average + eta RTT", "eta = min {3/w, 1/4}" */
static __always_inline void rtt_average(struct fast *f, const struct tcp_sock *tp, u64 rtt_us)
{
	u64 w = max(min(tp->snd_cwnd, AVERAGED_MAX), 12);
	u64 rtt_us_8 = rtt_us << 8;

	if (!f->rtt_us_8)
		f->rtt_us_8 = rtt_us_8;
	f->rtt_us_8 = (f->rtt_us_8 * (w - 3) + rtt_us_8 * 3 + w / 2) / w;
}

/* "w <- min {2w, (1 - gamma) w + gamma (baseRTT / RTT w + alpha)}" */
static __always_inline u32 window(const struct fast *f, const struct sock *sk)
{
	u64 gamma = parameter(sk, gamma_1000);
	u64 w = tcp_sk(sk)->snd_cwnd;
	u64 base_us_8 = (u64)tcp_min_rtt(tcp_sk(sk)) << 8;
	u64 rtt_us_8 = max(f->rtt_us_8, base_us_8);
	u64 ratio_20 = rtt_us_8 ? (base_us_8 << 20) / rtt_us_8 : 1 << 20;
	u64 aim_20 = w * ratio_20 + ((u64)parameter(sk, alpha) << 20);
	u64 next_20 = ((1000 - gamma) * (w << 20) + gamma * aim_20) / 1000;

	return max(min(2 * w, (next_20 + (1 << 19)) >> 20), 2ULL);
}

CALLBACK(void, fast_init, struct sock *sk)
{
	struct fast *f = inet_csk_ca(sk);

	idle_keep_init(sk);
	round_trip_begin(&f->end_seq, tcp_sk(sk));
}

CALLBACK(void, fast_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct fast *f = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool ended = round_trip_ended(&f->end_seq, tp, ack);
	u32 cwnd = tp->snd_cwnd;

	if (ended && f->rtt_us_8)
		cwnd = window(f, sk);
	if (cwnd < tp->snd_cwnd) {
		tp->snd_cwnd = cwnd;
		/* Otherwise slow start would raise the window again. */
		tp->snd_ssthresh = min(tp->snd_ssthresh, cwnd);
	} else if (tcp_is_cwnd_limited(sk)) {
		if (tcp_in_slow_start(tp))
			reno_slow_start(tp, acked);
		else
			tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	}
}

CALLBACK(u32, fast_ssthresh, struct sock *sk)
{
	return bounded_ssthresh(sk, reno_half(tcp_sk(sk)));
}

CWND_EVENT(fast_cwnd_event, sk, event)
{
	struct fast *f = inet_csk_ca(sk);

	idle_keep_event(sk, event);
	if (event == CA_EVENT_TX_START) {
		f->rtt_us_8 = 0;
		round_trip_begin(&f->end_seq, tcp_sk(sk));
	}
}

CALLBACK(void, fast_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	idle_keep_acked(sk, sample);
	if (sample->rtt_us >= 0)
		rtt_average(inet_csk_ca(sk), tcp_sk(sk), max(sample->rtt_us, 1));
}

CALLBACK(void, fast_set_state, struct sock *sk, u8 new_state)
{
	outage_set_state(sk, new_state);
}

UNDO_CWND(fast_undo_cwnd)

ALGORITHM(fast) = {
	.init = (void *)fast_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)fast_cong_avoid,
	.ssthresh = (void *)fast_ssthresh,
	.undo_cwnd = (void *)fast_undo_cwnd,
	.set_state = (void *)fast_set_state,
	HEARS(fast_cwnd_event),
	.pkts_acked = (void *)fast_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_fast",
};

ABOUT_WITH_PARAMETERS(fast, "Wei, Jin, Low, Hegde: FAST TCP. IEEE/ACM ToN 14(6), 2006",
		      "large windows without rivals: fills the path, keeps the queue short",
		      "from its paper alone");
