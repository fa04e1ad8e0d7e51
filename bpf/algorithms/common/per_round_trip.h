/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Some things are done once per round trip, which is told by sequence numbers, not by time. */
#ifndef KIRIKAE_PER_ROUND_TRIP_H
#define KIRIKAE_PER_ROUND_TRIP_H

#include "kernel/kernel.h"

/* A round trip begins. `end_seq` is where it ends: with the ACK of what is sent next. */
static __always_inline void round_trip_begin(u32 *end_seq, const struct tcp_sock *tp)
{
	*end_seq = tp->snd_nxt;
}

/* Returns whether an ACK up to `ack` ends the round trip; if so, the next one begins. */
static __always_inline bool round_trip_ended(u32 *end_seq, const struct tcp_sock *tp, u32 ack)
{
	if ((s32)(ack - *end_seq) <= 0)
		return false;
	round_trip_begin(end_seq, tp);
	return true;
}

#endif
