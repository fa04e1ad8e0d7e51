/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The path was gone: retransmission timeouts came in a row. When it is back it may be another one:
 * a host has moved from one network to the next under a tunnel, a router has failed over. What is
 * remembered of the path is in doubt until the round trips of the one that is there now are known.
 *
 * Source: Tsukamoto, Fukuda, Hori, Oie (2003), who are told by the host that it has moved. Nobody
 * tells here, so the round trips have to.
 */
#ifndef KIRIKAE_OUTAGE_H
#define KIRIKAE_OUTAGE_H

#include "connection/lowest_rtt.h"

/* Round trips of one path differ by no more than a quarter, and by so much where they are short:
 * what the host and a link layer add. */
#define SAME_PATH_US (4 * USEC_PER_MSEC)

/* So many round trips with an RTT sample take slow start to where ACKs tell a rate, and what was
 * held back during the outage is out of the lowest RTT. */
#define ROUNDS_IN_DOUBT 8
/* In so many, the first, what is ACKed was sent before or during the outage. */
#define ROUNDS_AFTER_OUTAGE 2

static __always_inline bool is_path_in_doubt(const struct connection *c)
{
	return c->outage.rounds;
}

/* Returns whether timeouts have come in a row just now; a connection that the switcher has not met
 * has nobody who counts them. */
static __always_inline bool is_after_outage(const struct connection *c)
{
	return c && c->outage.rounds > ROUNDS_IN_DOUBT - ROUNDS_AFTER_OUTAGE;
}

/* Returns whether nothing has been ACKed for half of a round trip; a timer that was set too short
 * goes off while ACKs come. */
static __always_inline bool is_silent(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp > tp->delivered_mstamp + (tp->srtt_us >> 4);
}

static __always_inline bool is_longer(u32 rtt_us, u32 than_us)
{
	return rtt_us > (u64)than_us + than_us / 4 + SAME_PATH_US;
}

/* Returns whether these are the lowest RTTs of two paths. Both are known. */
static __always_inline bool are_two_paths(u32 before_us, u32 now_us)
{
	return is_longer(now_us, before_us) || is_longer(before_us, now_us);
}

#endif
