/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bursts: what the application writes at once, seen from below. One begins with a transmission
 * when nothing is in flight, and goes on until the next such one. Bulk is a burst that does not
 * end.
 *
 * An algorithm tells of CA_EVENT_TX_START and of the rate that it knows the path to have.
 */
#ifndef KIRIKAE_BURSTS_H
#define KIRIKAE_BURSTS_H

#include "connection.h"

/* What was large a while ago is forgotten by 1/8 with each burst; what was fast, more slowly: few
 * bursts are sent as fast as the path carries. */
#define LARGE_FADING 3
#define FAST_FADING 6

/* `rate` in bytes per millisecond; 0: the algorithm knows of none. */
static __always_inline void burst_begins(struct sock *sk, u32 rate)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct connection *c;
	struct bursts *b;

	/* Where everything in flight is lost, the timeout's retransmission has this event, too. */
	if (tp->packets_out)
		return;
	c = connection_of(sk);
	if (!c)
		return;
	b = &c->bursts;
	if (b->start_us) {
		u32 bytes = tp->snd_nxt - b->start_seq;
		u64 us = tp->delivered_mstamp - b->start_us;
		u64 rtt_us = tcp_min_rtt(tp);

		b->bytes = max(bytes, b->bytes - (b->bytes >> LARGE_FADING));
		/* So much at least: beside the round trip that any burst takes there was this. */
		if (!rate && us > rtt_us && us < 60ULL * USEC_PER_SEC) {
			u64 seen = (u64)bytes * USEC_PER_MSEC / (us - rtt_us);

			rate = max((u32)min(seen, (u64)~0U), b->rate - (b->rate >> FAST_FADING));
		}
		b->rate = rate ? rate : b->rate;
	}
	b->start_us = tp->tcp_mstamp;
	b->start_seq = tp->snd_nxt;
}

/* Bytes of the burst to reckon with: the present one may be larger than those before. */
static __always_inline u32 burst_bytes(const struct bursts *b, const struct tcp_sock *tp)
{
	return b->start_us ? max(b->bytes, tp->write_seq - b->start_seq) : 0;
}

#endif
