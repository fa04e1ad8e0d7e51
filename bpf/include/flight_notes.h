/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What was in flight, and lost, when a segment was sent.
 *
 * BBR version 3 wants it of the newest segment that an ACK covers (P.tx_in_flight and P.lost in
 * draft-ietf-ccwg-bbr), and the kernel does not keep it with the segment. So it is noted several
 * times a round trip, and found again by what had been delivered at that time.
 */
#ifndef KIRIKAE_FLIGHT_NOTES_H
#define KIRIKAE_FLIGHT_NOTES_H

#include "kernel.h"

/* What was in flight and had been lost while `delivered` stood, segments. */
struct flight {
	u32 delivered;
	u32 in_flight;
	u32 lost;
};

#define FLIGHTS 16
#define FLIGHTS_PER_WINDOW 8

struct flight_notes {
	struct flight sent; /* of the newest segment ACKed */
	struct flight noted[FLIGHTS];
	u32 latest; /* the place of the latest note */
	u32 found;  /* the one that `sent` was taken from */
};

/* Every note says how things are now. */
static __always_inline void flight_notes_begin(struct flight_notes *notes,
					       const struct tcp_sock *tp)
{
	for (u32 i = 0; i < FLIGHTS; i++) {
		notes->noted[i].delivered = tp->delivered;
		notes->noted[i].in_flight = tcp_packets_in_flight(tp);
		notes->noted[i].lost = tp->lost;
	}
	notes->sent = notes->noted[0];
}

/*
 * Notes what was in flight and lost before this ACK: segments sent since the ACK before it had that
 * around them.
 */
static __always_inline void flight_note(struct flight_notes *notes, const struct tcp_sock *tp,
					const struct rate_sample *rs)
{
	u32 delivered = tp->delivered - rs->acked_sacked;
	struct flight *latest = &notes->noted[notes->latest % FLIGHTS];

	if (delivered - latest->delivered < tp->snd_cwnd / FLIGHTS_PER_WINDOW)
		return;
	notes->latest = (notes->latest + 1) % FLIGHTS;
	latest = &notes->noted[notes->latest % FLIGHTS];
	latest->delivered = delivered;
	latest->in_flight = rs->prior_in_flight;
	latest->lost = tp->lost - rs->losses;
}

/* The verifier has to see the bounds of the place right where it is used. */
static __always_inline const struct flight *flight_at(const struct flight_notes *notes, u32 at)
{
	return &notes->noted[read_now(at) % FLIGHTS];
}

/* Whether a note is from before the newest segment ACKed was sent. */
static __always_inline bool flight_is_before(const struct flight_notes *notes, u32 at,
					     const struct rate_sample *rs)
{
	return (s32)(rs->prior_delivered - flight_at(notes, at)->delivered) >= 0;
}

/* Finds what was noted last when the newest segment that the ACK covers was sent. */
static __always_inline void flight_find(struct flight_notes *notes, const struct rate_sample *rs)
{
	u32 at = notes->found % FLIGHTS;

	/* Mostly that of the ACK before or the next one; where it is too new, from the oldest on */
	if (!flight_is_before(notes, at, rs))
		at = (notes->latest + 1) % FLIGHTS;
	for (u32 i = 1; i < FLIGHTS && at != notes->latest; i++) {
		u32 next = (at + 1) % FLIGHTS;

		if (!flight_is_before(notes, next, rs))
			break;
		at = next;
	}
	notes->found = at;
	notes->sent = *flight_at(notes, at);
}

#endif
