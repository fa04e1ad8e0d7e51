/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The least that an algorithm can be: Reno, and one callback that does nothing. What cost.rs
 * compares the others with.
 */
#include "algorithms/common/reno.h"

CALLBACK(void, wrapper_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	reno_grow(sk, tcp_sk(sk)->snd_cwnd, acked);
}

CALLBACK(u32, wrapper_ssthresh, struct sock *sk)
{
	return max(tcp_sk(sk)->snd_cwnd >> 1, 2);
}

CALLBACK(u32, wrapper_undo_cwnd, struct sock *sk)
{
	return reno_undone(tcp_sk(sk));
}

CALLBACK(void, wrapper_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
}

ALGORITHM(wrapper) = {
	.cong_avoid = (void *)wrapper_cong_avoid,
	.ssthresh = (void *)wrapper_ssthresh,
	.undo_cwnd = (void *)wrapper_undo_cwnd,
	.pkts_acked = (void *)wrapper_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_wrapper",
};
