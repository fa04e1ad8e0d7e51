/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Most algorithms take this over from Reno: slow start, additive increase, what an undo restores.
 *
 * Source: RFC 5681, sections 3.1 and 3.2; RFC 3465 (counting what is ACKed, not ACKs).
 */
#ifndef KIRIKAE_RENO_H
#define KIRIKAE_RENO_H

#include "kernel/kernel.h"

/* "cwnd += min (N, SMSS)" for each ACK, up to ssthresh. Returns the ACKed segments left over. */
static __always_inline u32 reno_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = min(tp->snd_cwnd + acked, tp->snd_ssthresh);

	acked -= cwnd - tp->snd_cwnd;
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	return acked;
}

/* Adds one segment for every `per` segments ACKed: per = cwnd is Reno's one per round trip. */
static __always_inline void reno_additive_increase(struct tcp_sock *tp, u32 per, u32 acked)
{
	u32 count, grow;

	per = max(per, 1);
	/* What was counted while growth was slower is worth one segment, not several at once. */
	count = min(tp->snd_cwnd_cnt, per) + acked;
	grow = count / per;
	tp->snd_cwnd_cnt = count - grow * per;
	tp->snd_cwnd = min(tp->snd_cwnd + grow, tp->snd_cwnd_clamp);
}

/*
 * Before congestion avoidance comes slow start, and nothing grows while the window is not used.
 * Returns the ACKed segments that are left for congestion avoidance.
 */
static __always_inline u32 reno_before_avoidance(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return 0;
	return tcp_in_slow_start(tp) ? reno_slow_start(tp, acked) : acked;
}

/* Grows the window by slow start, then by additive increase. */
static __always_inline void reno_grow(struct sock *sk, u32 per, u32 acked)
{
	acked = reno_before_avoidance(sk, acked);
	if (acked)
		reno_additive_increase(tcp_sk(sk), per, acked);
}

/* "ssthresh = max (FlightSize / 2, 2*SMSS)", of the window as in Linux. */
static __always_inline u32 reno_half(const struct tcp_sock *tp)
{
	return max(tp->snd_cwnd >> 1, 2);
}

/* Returns the window where a reduction proves to have been wrong: it is taken back in full. */
static __always_inline u32 reno_undone(const struct tcp_sock *tp)
{
	return max(tp->snd_cwnd, tp->prior_cwnd);
}

#endif
