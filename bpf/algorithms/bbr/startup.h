/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 1: whether the pipe is full, Startup and Drain. */
#ifndef KIRIKAE_BBR_STARTUP_H
#define KIRIKAE_BBR_STARTUP_H

#include "algorithms/bbr/probe_bw.h"

#define FULL_BW_ROUNDS 3

/* "BBRCheckFullPipe()" */
static __always_inline void check_full_pipe(struct bbr *b, const struct rate_sample *rs)
{
	u32 btl_bw = b->btl_bw.first;

	if (b->filled_pipe || !b->round_start || rs->is_app_limited)
		return;
	/* "if (BBR.BtlBw >= BBR.full_bw * 1.25)" */
	if (btl_bw >= (u64)b->full_bw * 5 / 4) {
		b->full_bw = btl_bw;
		b->full_bw_count = 0;
		return;
	}
	b->full_bw_count++;
	b->filled_pipe = b->full_bw_count >= FULL_BW_ROUNDS;
}

/* "BBRCheckDrain()" */
static __always_inline void check_drain(struct sock *sk, struct bbr *b)
{
	if (b->mode == STARTUP && b->filled_pipe)
		b->mode = DRAIN;
	if (b->mode == DRAIN && is_drained(sk, b, tcp_packets_in_flight(tcp_sk(sk))))
		enter_probe_bw(sk, b);
}

/* Checks both until the pipe has been filled and drained. */
SELDOM void check_startup(struct sock *sk, struct bbr *b, const struct rate_sample *rs)
{
	check_full_pipe(b, rs);
	check_drain(sk, b);
}

#endif
