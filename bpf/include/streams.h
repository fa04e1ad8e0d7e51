/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Streams: what is written again before what was written last has all arrived, such as a screen at
 * 30 frames a second. No idle time is between its writes, so that for bursts.h all of it is one
 * burst without end. It is no bulk all the same. Bulk always has more to send: its send buffer is
 * full whatever the path gives. A stream has a demand of its own, what it writes in a time, also
 * while it falls behind because the path or the algorithm does not carry it.
 *
 * Looked at once in a round trip.
 */
#ifndef KIRIKAE_STREAMS_H
#define KIRIKAE_STREAMS_H

#include "bursts.h"

/* A stream is known from so many round trips on in which something new was written, with no idle
 * time in between. */
#define STREAM_KNOWN 4
/* As many are remembered: idle time makes it half of them, a round trip with a full buffer one
 * less. */
#define STREAM_MEMORY 16
/* The mean demand reaches over this time, about. */
#define DEMAND_MEMORY_US USEC_PER_SEC
/* What is written at once, so many times and bytes more than was to be expected of the demand, is
 * another burst, and no stream. */
#define DEMAND_EXCEEDED 4
#define DEMAND_EXCEEDED_BYTES (512U << 10)

static __always_inline bool is_stream(const struct stream *s)
{
	return s->again >= STREAM_KNOWN;
}

/* A program that waits for room is woken when a third of the buffer is free. */
static __always_inline bool is_buffer_full(const struct tcp_sock *tp)
{
	const struct sock *sk = tcp_to_sock(tp);

	return (s64)sk->sk_wmem_queued * 3 > (s64)sk->sk_sndbuf * 2;
}

/* So many bytes were written in that time. */
static __always_inline void demand_update(struct stream *s, u64 bytes, u64 us)
{
	u64 sample = at_most_32_bits(bytes * USEC_PER_SEC / max(us, 1ULL));
	u64 share = min(us, DEMAND_MEMORY_US);

	share = share * 256 / (share + DEMAND_MEMORY_US);
	s->demand = s->demand ? ((256 - share) * s->demand + share * sample) >> 8 : sample;
}

/* A round trip is over. */
static __always_inline void stream_update(struct stream *s, const struct bursts *b,
					  const struct tcp_sock *tp)
{
	u64 written = bytes_before(tp, tp->write_seq);
	u64 us = tp->tcp_mstamp - s->seen_us;
	u64 bytes = written - s->seen;
	bool is_idle_since = s->burst != b->begun;

	if (!is_idle_since && !bytes)
		return;
	s->seen_us = tp->tcp_mstamp;
	s->seen = written;
	s->burst = b->begun;
	if (is_idle_since) {
		s->again /= 2;
		return;
	}
	if (is_buffer_full(tp)) {
		s->again -= min(s->again, 1U);
		return;
	}
	if (bytes > DEMAND_EXCEEDED_BYTES + DEMAND_EXCEEDED * us * s->demand / USEC_PER_SEC)
		s->again = 0;
	else
		s->again = min(s->again + 1, STREAM_MEMORY);
	demand_update(s, bytes, us);
}

#endif
