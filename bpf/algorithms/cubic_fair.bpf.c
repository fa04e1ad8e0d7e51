/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * RTT-fair CUBIC: the longer the round trip, the sooner the window is back.
 *
 * Source: T. Kozu, Y. Akiyama, S. Yamaguchi, "Improving RTT Fairness on CUBIC TCP", International
 * Journal of Networking and Computing 4(2), 2014; measured on a real network in their "RTT Fairness
 * on CUBIC TCP in Practical Networks", 2014. What it has in common with CUBIC: RFC 9438 (cubic.h).
 *
 * Deliberate differences from the papers:
 *  1. They give no unit for the RTT that K is divided by; here it is a fraction of rtt_ref_us, at
 *     which K is CUBIC's. The preset is Hybla's RTT0.
 *  2. That RTT is the lowest that the kernel has seen in its window (rtt_min), so that a queue of
 *     our own making does not speed us up further.
 *  3. CUBIC is that of RFC 9438 (C 0.4, beta 0.7), with the differences that cubic.bpf.c lists.
 *
 * Only K is scaled, as in the papers, not C. So with an RTT above rtt_ref_us the curve begins above
 * the window, which follows it by at most half of itself in a round trip; below rtt_ref_us the
 * curve begins below it, and until it comes up growth is that of W_est.
 *
 * Switched in mid-flight: as cubic.bpf.c.
 */
#define PARAMETERS(P) \
	CUBIC_PARAMETERS(P) \
	P(rtt_ref_us, 25000, 1000, 1000000, "RTT at which K is CUBIC's, microseconds")
#include "algorithms/common/cubic.h"

/* "K = cbrt(W_max beta / C) * 1 / cbrt(RTT)", the RTT in units of rtt_ref_us */
static __always_inline u32 cubic_k_ms(const struct sock *sk, u32 k_ms)
{
	u64 rtt = max(tcp_min_rtt(tcp_sk(sk)), 1);
	/* cbrt(rtt_ref / RTT), in 1/1024 */
	u64 ratio_10 = cube_root(((u64)parameter(sk, rtt_ref_us) << 30) / rtt);

	if (rtt == ~0U)
		return k_ms;
	return k_ms * ratio_10 >> 10;
}

ALGORITHM(cubic_fair) = {
	.init = (void *)cubic_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)cubic_cong_avoid,
	.ssthresh = (void *)cubic_ssthresh,
	.undo_cwnd = (void *)cubic_undo_cwnd,
	.set_state = (void *)cubic_set_state,
	HEARS(cubic_cwnd_event),
	.pkts_acked = (void *)cubic_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_cubic_fair",
};

ABOUT_WITH_PARAMETERS(cubic_fair, "Kozu, Akiyama, Yamaguchi: RTT-fair CUBIC. IJNC 4(2), 2014",
		      "sharing with shorter round trips: as fast as they are after a loss",
		      "from its paper alone");
