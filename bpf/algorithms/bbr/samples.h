/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 1: what an ACK tells of the path's bandwidth, and of how ACKs come. */
#ifndef KIRIKAE_BBR_SAMPLES_H
#define KIRIKAE_BBR_SAMPLES_H

#include "algorithms/bbr/probe_bw.h"

/* "BtlBwFilterLen = 10 round trips" */
#define BTL_BW_ROUNDS 10
#define EXTRA_ACKED_ROUNDS 5

/* While a policer is in use only round trips of ProbeBW count. */
SELDOM void update_policer(struct sock *sk, struct bbr *b, bool losses, bool is_app_limited)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!b->policer.in_use)
		policer_look_for(&b->policer, tp, losses, is_app_limited, b->round_start);
	else if (b->mode == PROBE_BW && b->round_start && policer_used_up(&b->policer, tp))
		enter_probe_bw(sk, b);
}

/* Whether update_policer() has anything to do. */
static __always_inline bool concerns_policer(const struct bbr *b, const struct rate_sample *rs)
{
	return rs->losses > 0 || ((b->policer.sampling || b->policer.in_use) &&
				  (b->round_start || rs->is_app_limited));
}

static __always_inline void put_in_btl_bw(struct bbr *b, u32 bw)
{
	max_filter_renew(&b->btl_bw, BTL_BW_ROUNDS, b->rounds.count, bw);
}

/* Puts the fastest of the samples that were only noted into btl_bw. */
static __always_inline void keep_fastest(struct bbr *b)
{
	if (b->fastest.delivered)
		put_in_btl_bw(b, fastest_rate(&b->fastest));
	fastest_begin(&b->fastest);
}

/* "BBRUpdateBtlBw()" */
static __always_inline void update_btl_bw(struct sock *sk, struct bbr *b,
					  const struct rate_sample *rs)
{
	u32 bw;

	keep_fastest(b);
	b->round_start = false;
	if (!has_rate(rs))
		return;
	b->round_start = round_update(&b->rounds, tcp_sk(sk), rs);
	/* "After one round-trip in Fast Recovery: BBR.packet_conservation = false" */
	if (b->round_start)
		b->packet_conservation = false;
	if (concerns_policer(b, rs))
		update_policer(sk, b, rs->losses > 0, rs->is_app_limited);
	bw = delivery_rate(rs);
	/* "if (rs.delivery_rate >= BBR.BtlBw || ! rs.is_app_limited)" */
	if (bw >= b->btl_bw.first || !rs->is_app_limited)
		put_in_btl_bw(b, bw);
}

/* Keeps the most that was ACKed in excess in the latest 5 to 10 rounds. */
static __always_inline void update_extra_acked(struct bbr *b, const struct tcp_sock *tp,
					       const struct rate_sample *rs)
{
	u32 extra;

	if (!rs->acked_sacked || !has_rate(rs))
		return;
	if (b->round_start && ++b->extra_acked_rounds >= EXTRA_ACKED_ROUNDS) {
		b->extra_acked_rounds = 0;
		b->extra_acked_before = b->extra_acked;
		b->extra_acked = 0;
	}
	extra = excess_acked(&b->ack_interval, tp, bandwidth(b), rs->acked_sacked);
	b->extra_acked = max(b->extra_acked, min(extra, 0xffffU));
}

#endif
