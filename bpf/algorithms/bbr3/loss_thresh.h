/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 3: whether more was in flight than the path bears, by what of it was lost. */
#ifndef KIRIKAE_BBR3_LOSS_THRESH_H
#define KIRIKAE_BBR3_LOSS_THRESH_H

#include "algorithms/bbr3/model.h"

/* "BBR.LossThresh ... (the default is 2%)" */
#define LOSS_PERCENT 2

/* "RS.lost": segments lost since the one ACKed was sent */
static __always_inline u32 lost_since_sent(const struct flight *sent, const struct tcp_sock *tp)
{
	return tp->lost - sent->lost;
}

/* "RS.lost > RS.tx_in_flight * BBR.LossThresh" */
static __always_inline bool is_inflight_too_high(const struct flight *sent,
						 const struct tcp_sock *tp)
{
	return (u64)lost_since_sent(sent, tp) * 100 > (u64)sent->in_flight * LOSS_PERCENT;
}

/* "InflightAtLoss(P)", for `size` segments newly lost */
static __always_inline u32 inflight_at_loss(const struct flight *sent, const struct tcp_sock *tp,
					    u32 size)
{
	u32 inflight_prev = sent->in_flight - min(size, sent->in_flight);
	u32 lost = lost_since_sent(sent, tp);
	u64 allowed = (u64)inflight_prev * LOSS_PERCENT;
	u64 lost_prev = (u64)(lost - min(size, lost)) * 100;

	/* "(BBR.LossThresh * inflight_prev - lost_prev) / (1 - BBR.LossThresh)" */
	if (allowed <= lost_prev)
		return inflight_prev;
	return inflight_prev + (allowed - lost_prev) / (100 - LOSS_PERCENT);
}

#endif
