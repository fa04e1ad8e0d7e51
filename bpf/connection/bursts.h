/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A burst is what the application writes at once, seen from below. It begins with a transmission
 * when nothing is in flight and nothing was waiting to be sent, and goes on until the next such
 * one.
 *
 * A burst is an answer, which somebody waits for, until the network has limited it for the time
 * that an answer may have; from then on it is a file. That time is shorter where others' segments
 * are in the queue, since what makes answers sooner takes from them. While the program is the
 * limit, the time runs backwards. Nothing is known of what is written first: it is a file while the
 * network limits it. A stream (streams.h) is neither.
 *
 * An algorithm tells of CA_EVENT_TX_START and of the rate that it knows the path to have.
 */
#ifndef KIRIKAE_BURSTS_H
#define KIRIKAE_BURSTS_H

#include "connection/connection.h"

/* A new burst counts 1/2^2 in the mean size. What was fast is forgotten by 1/2^6 with each burst:
 * few are sent as fast as the path carries. */
#define SIZE_SHIFT 2
#define RATE_SHIFT 6
/* A burst of more KiB than this is a transfer that goes on: an interactive program writes less at
 * once. */
#define GOES_ON_FROM_KB 64
/* The time that an answer may have, or the round trips, whichever is longer. Beside others it has
 * an eighth of that, and so many bytes at least. */
#define ANSWER_US (3 * USEC_PER_SEC)
#define ANSWER_ROUNDS 8
#define CONTENDED_SHARE 8
#define LARGE_ANSWER (128 << 10)
/* A file counts as so many answers, and so many are counted. */
#define FILE_WEIGHS 2
#define FILES_COUNTED 7
/* Others' segments are in the queue where the first round trip of a burst takes longer than the
 * shortest by this share of it: none of its own waits there yet. */
#define CONTENDED_FROM 10
/* The mean latency is that of about so many bursts at most, and is known from so many on. */
#define LATENCY_MEMORY 16
#define LATENCY_KNOWN 14

/*
 * Returns how many bytes were written before a sequence number that is not ACKed yet. Sequence
 * numbers wrap, and bulk of more than 4 GiB would look like a short burst; bytes_acked has 64
 * bits.
 */
static __always_inline u64 bytes_before(const struct tcp_sock *tp, u32 seq)
{
	return tp->bytes_acked + (u32)(seq - tp->snd_una);
}

/* Returns the same number, or the largest that 32 bits hold: bulk may go on for long. */
static __always_inline u32 at_most_32_bits(u64 number)
{
	return min(number, (u64)~0U);
}

/* A burst of so many bytes took so long until all of it was ACKed. */
static __always_inline void burst_over(struct bursts *b, u32 bytes, u32 us, u32 rtt_us)
{
	u32 latency_us = us - min(us, rtt_us / 2); /* the last ACK's way back is not in it */

	b->latest_us = b->is_mixed ? 0 : latency_us;
	b->latest_bytes = bytes;
	if (!b->is_stream && !b->had_outage) {
		b->bytes = b->bytes ? b->bytes - (b->bytes >> SIZE_SHIFT) + (bytes >> SIZE_SHIFT)
				    : bytes;
	}
	if (!b->is_mixed && !b->had_outage) {
		b->counted = min(b->counted + 1, LATENCY_MEMORY);
		b->latency_us -= b->latency_us / b->counted;
		b->latency_us += latency_us / b->counted;
	}
	b->is_mixed = false;
	b->is_stream = false;
	b->had_outage = false;
	b->waited = 0;
}

/*
 * Returns the rate to reckon with after a burst that took `us` beside the round trip that any
 * burst takes: the path carries so much at least. bbr never spreads a burst over less than a round
 * trip, and when it took no longer, that is no news of the path.
 */
static __always_inline u32 rate_of_burst(const struct bursts *b, u64 bytes, u64 us, u32 rtt_us)
{
	u32 seen = at_most_32_bits(bytes * USEC_PER_MSEC / max(us, 1ULL));
	u32 kept = us > rtt_us + rtt_us / 4 ? b->rate - (b->rate >> RATE_SHIFT) : b->rate;

	return us ? max(seen, kept) : b->rate;
}

/*
 * A burst is over. Where what begins as an answer becomes a file again and again, more and more
 * bursts after it are files from their beginning, which shows nothing of the load.
 */
static __always_inline void note_load(struct bursts *b)
{
	if (b->as_files) {
		b->as_files--;
	} else if (b->is_file && b->is_contended) {
		b->files = min(b->files + FILE_WEIGHS, FILES_COUNTED);
		b->as_files = (1 << b->files) / 2 - 1;
	} else if (b->files) {
		b->files--;
	}
}

/* Something is sent with nothing in flight. `rate` is in bytes per millisecond; 0: the algorithm
 * knows of none. */
static __always_inline void next_burst(struct bursts *b, const struct tcp_sock *tp, u32 rate)
{
	/* Where everything in flight is lost, the timeout's retransmission has this event, too; and
	 * so has what was waiting for the window, where one ACK was of all that was in flight. */
	if (tp->packets_out || !tp->app_limited)
		return;
	/* The algorithm has told of this burst already, and now the segment does, too. */
	if (b->begun && bytes_before(tp, tp->snd_nxt) == b->start)
		return;
	if (b->start_us) {
		u64 bytes = bytes_before(tp, tp->snd_nxt) - b->start;
		u64 us = tp->delivered_mstamp - b->start_us;
		u32 rtt_us = tcp_min_rtt(tp);

		burst_over(b, at_most_32_bits(bytes), at_most_32_bits(us), rtt_us);
		b->rate = rate ? rate : rate_of_burst(b, bytes, us - min(us, (u64)rtt_us), rtt_us);
	}
	b->start_us = tp->tcp_mstamp;
	b->start = bytes_before(tp, tp->snd_nxt);
	b->looked_us = b->start_us;
	b->limited_us = 0;
	note_load(b);
	b->begun++;
}

/* Returns how many bytes of the present burst were written. */
static __always_inline u32 written_at_once(const struct bursts *b, const struct tcp_sock *tp)
{
	return at_most_32_bits(bytes_before(tp, tp->write_seq) - b->start - b->waited);
}

/* Returns for how long the network may limit the present burst until it is a file, microseconds. */
static __always_inline u32 answer_may_take_us(const struct bursts *b, const struct tcp_sock *tp)
{
	u32 us = max((u32)ANSWER_US, ANSWER_ROUNDS * tcp_min_rtt(tp));

	return b->is_contended ? us / CONTENDED_SHARE : us;
}

/* A round trip of `rtt_us` is over. The network was the limit where something still waits to be
 * sent or written, else the program was. Returns whether that makes a file of the answer, or an
 * answer of the file. */
static __always_inline bool note_round_trip(struct bursts *b, const struct tcp_sock *tp, u32 rtt_us)
{
	bool is_limited =
		is_writer_waiting(tcp_to_sock(tp)) || tp->write_seq - tp->snd_nxt >= tp->mss_cache;
	u32 least_us = tcp_min_rtt(tp);
	u64 us = tp->tcp_mstamp - b->looked_us;
	u64 sent = bytes_before(tp, tp->snd_nxt) - b->start;
	bool was_file = b->is_file;

	if (b->looked_us == b->start_us)
		b->is_contended = rtt_us > least_us + least_us / CONTENDED_FROM;
	b->looked_us = tp->tcp_mstamp;
	b->limited_us = is_limited ? at_most_32_bits(b->limited_us + us)
				   : b->limited_us - min((u64)b->limited_us, us);
	if (b->begun)
		b->is_file = b->as_files || (b->limited_us >= answer_may_take_us(b, tp) &&
					     (!b->is_contended || sent >= LARGE_ANSWER));
	else
		b->is_file = is_limited;
	return was_file != b->is_file;
}

/* An algorithm that knows of no rate tells of a burst. */
static __always_inline void burst_begins(struct sock *sk)
{
	struct connection *c = connection_of(sk);

	if (c)
		next_burst(&c->bursts, tcp_sk(sk), 0);
}

/* A timeout has come, which may be the first of an outage. */
static __always_inline void path_may_be_gone(struct bursts *b, const struct tcp_sock *tp)
{
	b->gone_at = bytes_before(tp, tp->write_seq);
}

/* The path has been gone, or is in doubt. What a program writes now and then meanwhile waits, and
 * looks like a transfer that goes on, but the program does not write that much at once. */
static __always_inline void burst_waits(struct bursts *b, const struct tcp_sock *tp)
{
	u64 written = bytes_before(tp, tp->write_seq);

	b->waited += written - max(b->gone_at, b->start);
	b->gone_at = written;
}

/* Returns the bytes of the burst to reckon with: the present one may be larger than those before.
 */
static __always_inline u32 burst_bytes(const struct bursts *b, const struct tcp_sock *tp)
{
	return b->start_us ? max(b->bytes, written_at_once(b, tp)) : 0;
}

/* Another algorithm is in use from now on. */
static __always_inline void bursts_switched(struct bursts *b)
{
	b->counted = 0;
	b->latency_us = 0;
	b->is_mixed = true;
}

/* Returns the mean latency of bursts with the algorithm in use, microseconds; 0: there were too
 * few. */
static __always_inline u32 burst_latency_us(const struct bursts *b)
{
	return b->counted < LATENCY_KNOWN ? 0 : b->latency_us;
}

#endif
