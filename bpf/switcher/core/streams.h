/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A stream is what is written again before what was written last has all arrived, such as a screen
 * at 30 frames a second. No idle time is between its writes, so that for bursts.h all of it is one
 * burst without end. It is no bulk all the same. Bulk always has more to send: its send buffer is
 * full whatever the path gives. A stream has a demand of its own, what it writes in a time, also
 * while it falls behind because the path or the algorithm does not carry it, when it looks just as
 * bulk does. So what was a stream is taken for bulk only after many round trips in which it waits,
 * and is probed now and then for being one: it is given a stream's algorithm for as many
 * round trips, and if there is room in the buffer then, it is one. What was never seen to be one is
 * probed only where others would hardly notice: where there is no queue, segments are lost all the
 * same, and that algorithm promises to carry far more; and where a queue then builds, the probe is
 * soon over. What is behind with what it used to write in a time waits for that, and
 * stays a stream for longer, and while it catches up.
 *
 * A connection is looked at once in a round trip.
 */
#ifndef KIRIKAE_STREAMS_H
#define KIRIKAE_STREAMS_H

#include "connection/bursts.h"

/* A stream is known from so many round trips on in which something new was written, with no idle
 * time in between. */
#define STREAM_KNOWN 2
/* From then on each counts as so many, and as many are remembered: idle time makes it half of them,
 * a round trip in which it waits one less. */
#define STREAM_COUNTS 4
#define STREAM_MEMORY 64
/* While it owes and there is no queue, that it waits says nothing new, nor where nobody is kept
 * waiting by a probe: of so many round trips only one counts. */
#define STREAM_OWES 16
/* One with a queue, where it is not known what a probe is for, counts as so many. */
#define PROBE_QUEUES 16
/* What it is known to ask for may be too little: it was seen in round trips in which the path, too,
 * may have been the limit. It owes as if it asked for more by this share. */
#define STREAM_UNDERRATED 4
/* What its writes take is measured from so many round trips after a switch on: what its predecessor
 * left waiting has to be sent first. */
#define STREAM_SETTLES 8
/* What falls behind is taken to wait as long as it would after so much longer of the same. */
#define FALLS_BEHIND_US (10ULL * USEC_PER_SEC)
/* It is proven by so many, in which it was not taken for bulk in between. */
#define STREAM_PROVEN 4
/* What was one is probed after so many round trips in which it waits, ... */
#define STREAM_FIRST_REST 16
/* ... and then after so many more; what never was after so many in which something was lost, with
 * no queue in any round trip between them. Each time that there was no room then either it is twice
 * as many as the time before, up to 2^STREAM_PROBES times as many. */
#define STREAM_REST 64
#define STREAM_LOSSES 3
#define STREAM_PROBES 7
/* There is a queue where a round trip takes longer than the shortest by this share of it, and so it
 * does in the mean: the ACK of a single segment may have been delayed. */
#define QUEUE_FROM 16
/* What begins when the queue is full takes that for the shortest round trip, and sees no queue.
 * Where the shortest is now shorter by this share of it, losses count anew, and twice as many. */
#define SHORTER_FROM 64
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

/* So many bytes were written in that time. */
static __always_inline void demand_update(struct stream *s, u64 bytes, u64 us)
{
	u64 sample = at_most_32_bits(bytes * USEC_PER_SEC / max(us, 1ULL));
	u64 share = min(us, DEMAND_MEMORY_US);

	share = share * 256 / (share + DEMAND_MEMORY_US);
	s->demand = s->demand ? ((256 - share) * s->demand + share * sample) >> 8 : sample;
}

/* What a round trip showed of a connection. */
struct round_trip_seen {
	u64 at_us;   /* when it was over */
	u64 written; /* until then: see bytes_before() */
	u32 waiting; /* bytes written and not ACKed */
	u32 burst;   /* bursts->begun */
	u32 rtt_us;
	u32 srtt_us;
	u32 min_rtt_us;
	u32 waits;    /* the program does, for room in the send buffer */
	u32 has_lost; /* something was lost in it */
};

/*
 * How long what is written takes, less the way back of the ACK. What has been written and not been
 * ACKed is, in the mean, what is written in that time (Little, Operations Research 9, 1961). Behind
 * a full buffer the program waits with more, of which nothing tells: it grows by what is asked for
 * in a round trip and not ACKed, both in bytes. Where it is not known what is asked for, it is not
 * all carried.
 */
static __always_inline void latency_update(struct stream *s, const struct round_trip_seen *seen,
					   u64 asked, u64 carried)
{
	u64 waiting = seen->waiting;
	u64 us = waiting * USEC_PER_SEC / max(s->demand, 1U);

	us -= min(us, (u64)seen->min_rtt_us / 2);
	if (!s->demand)
		us = FALLS_BEHIND_US;
	else if (seen->waits && carried < asked)
		us += FALLS_BEHIND_US * (asked - carried) / asked;
	s->looks++;
	if (s->settling) {
		s->settling--;
		return;
	}
	s->counted = min(s->counted + 1, LATENCY_MEMORY);
	s->latency_us -= s->latency_us / s->counted;
	s->latency_us += at_most_32_bits(us) / s->counted;
}

/* Returns whether a probe is due and has not begun. */
static __always_inline bool is_probe_due(const struct stream *s)
{
	return is_stream(s) && !s->rest;
}

/* Probes with a stream's algorithm, or decides not to. */
static __always_inline void probe(struct stream *s, bool is_given)
{
	s->rest = s->demand ? STREAM_REST : STREAM_LOSSES;
	if (is_given) {
		s->rest <<= s->probes;
		s->probes = min(s->probes + 1, STREAM_PROBES);
	} else {
		s->again = 0;
	}
}

/* Forgets a stream that is not proven. Room may also be there by chance, where bulk has not yet
 * filled what has become free. */
static __always_inline void forget_unproven(struct stream *s)
{
	if (s->rounds >= STREAM_PROVEN || !s->demand)
		return;
	s->rounds = 0;
	s->demand = 0;
	s->rest = STREAM_LOSSES;
}

/* Takes a round trip, or so many, as evidence against a stream. */
static __always_inline void doubt(struct stream *s, u32 rounds)
{
	s->again -= min(s->again, rounds);
	if (!s->again)
		forget_unproven(s);
}

/* One that brings the next probe nearer. */
static __always_inline void probe_sooner(struct stream *s)
{
	if (s->rest > 1) {
		s->rest--;
		return;
	}
	s->rest = 0;
	s->again = STREAM_MEMORY;
}

/* A round trip is over in which it waits: it is the path that says how much is written. */
static __always_inline void known_behind(struct stream *s, bool is_catching_up, bool has_queue)
{
	if (is_stream(s) && !s->probes && s->owed && !has_queue &&
	    (is_catching_up || s->looks % STREAM_OWES))
		return;
	if (s->again)
		doubt(s, 1);
	else
		probe_sooner(s);
}

/* A round trip in which it waits, where it is not known what is asked for. */
static __always_inline void unknown_behind(struct stream *s, const struct round_trip_seen *seen,
					   bool has_queue)
{
	if (!s->least_us)
		s->least_us = seen->min_rtt_us;
	if (seen->min_rtt_us + seen->min_rtt_us / SHORTER_FROM < s->least_us) {
		s->least_us = seen->min_rtt_us;
		s->rest = 2 * STREAM_LOSSES;
	}
	if (s->again) {
		doubt(s, has_queue ? PROBE_QUEUES : s->looks % STREAM_OWES == 0);
		return;
	}
	if (has_queue)
		s->rest = max(s->rest, STREAM_LOSSES);
	else if (seen->has_lost)
		probe_sooner(s);
}

/* A round trip had room in the buffer, and so many bytes were written in that time. */
static __always_inline void stream_carried(struct stream *s, u64 bytes, u64 us)
{
	u64 expected = s->owed + DEMAND_EXCEEDED * us * s->demand / USEC_PER_SEC;

	s->owed = 0;
	if (bytes > expected + DEMAND_EXCEEDED_BYTES) {
		s->again = 0;
		forget_unproven(s);
		/* What has not been proven may just as well begin with it. */
		if (s->demand)
			return;
	}
	s->again = min(s->again + (is_stream(s) ? STREAM_COUNTS : 1), STREAM_MEMORY);
	s->rounds++;
	s->probes = 0;
	s->rest = STREAM_FIRST_REST;
	demand_update(s, bytes, us);
}

/* Notes what is owed after a round trip in which so many bytes were asked for and so many ACKed. */
static __always_inline void owe(struct stream *s, u64 asked, u64 carried)
{
	u64 owed = s->owed + asked;

	s->owed = at_most_32_bits(owed - min(owed, carried));
}

/* A round trip is over. Returns 0: the verifier wants such functions to return a number. */
VERIFIED_APART int stream_update(struct stream *s, const struct round_trip_seen *seen)
{
	bool has_queue;
	u64 us, bytes, asked, carried;
	u32 owed;

	if (!s || !seen)
		return 0;
	us = seen->at_us - s->seen_us;
	bytes = seen->written - s->seen;
	if (s->burst == seen->burst && !bytes && !seen->waits) {
		s->owed = 0;
		return 0;
	}
	carried = bytes + s->waiting - seen->waiting;
	s->seen_us = seen->at_us;
	s->seen = seen->written;
	s->waiting = seen->waiting;
	if (s->burst != seen->burst) {
		s->burst = seen->burst;
		s->again /= 2;
		s->owed = 0;
		/* What filled the buffer now and then in between was no stream. */
		if (s->rounds < STREAM_PROVEN)
			s->demand = 0;
		s->rounds = 0;
		if (!s->demand)
			s->rest = STREAM_LOSSES;
		return 0;
	}
	has_queue =
		min(seen->rtt_us, seen->srtt_us) > seen->min_rtt_us + seen->min_rtt_us / QUEUE_FROM;
	asked = s->demand * us / USEC_PER_SEC;
	owed = s->owed;
	if (!seen->waits) {
		stream_carried(s, bytes, us);
	} else if (s->demand) {
		owe(s, asked + asked / STREAM_UNDERRATED, carried);
		known_behind(s, s->owed < owed, has_queue);
	} else {
		unknown_behind(s, seen, has_queue);
	}
	if (is_stream(s))
		latency_update(s, seen, asked, carried);
	return 0;
}

/* Looks at the socket after a round trip of `rtt_us`. */
static __always_inline void stream_look(struct stream *s, const struct bursts *b,
					const struct tcp_sock *tp, u32 rtt_us, bool has_lost)
{
	struct round_trip_seen seen = {
		.at_us = tp->tcp_mstamp,
		.written = bytes_before(tp, tp->write_seq),
		.waiting = tp->write_seq - tp->snd_una,
		.burst = b->begun,
		.rtt_us = rtt_us,
		.srtt_us = tp->srtt_us >> 3,
		.min_rtt_us = tcp_min_rtt(tp),
		.waits = read_now(is_writer_waiting(tcp_to_sock(tp))),
		.has_lost = read_now(has_lost),
	};

	stream_update(s, &seen);
}

/* Returns the mean latency with the algorithm in use, microseconds; 0: there were too few round
 * trips. */
static __always_inline u32 stream_latency_us(const struct stream *s)
{
	return s->counted < LATENCY_KNOWN ? 0 : s->latency_us;
}

/* Returns whether its latency is worth waiting for, since all that is asked for is carried
 * meanwhile. */
static __always_inline bool is_to_be_measured(const struct stream *s)
{
	return s->demand && !s->owed && !stream_latency_us(s);
}

/* Another algorithm is in use from now on. */
static __always_inline void stream_switched(struct stream *s)
{
	s->counted = 0;
	s->latency_us = 0;
	s->settling = STREAM_SETTLES;
}

#endif
