/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * These notes tell what was in flight, and lost, when a segment was sent.
 *
 * BBR version 3 wants it of the newest segment that an ACK covers (P.tx_in_flight and P.lost in
 * draft-ietf-ccwg-bbr), and the kernel does not keep it with the segment. So it is noted several
 * times a round trip, and found again by what had been delivered at that time.
 */
#ifndef KIRIKAE_FLIGHT_NOTES_H
#define KIRIKAE_FLIGHT_NOTES_H

#include "algorithms/common/path_model.h"

/* A note has the segments in flight and lost while `delivered` stood. */
struct flight {
	u32 delivered;
	u32 in_flight;
	u32 lost;
};

#define FLIGHTS 16
#define FLIGHTS_PER_WINDOW 8

/* Each ACK needs these. */
struct flight_marks {
	u32 latest_delivered;	   /* of the latest note */
	u32 latest_in_flight : 29; /* likewise */
	u32 is_kept : 1;	   /* the latest note is among the flight_notes, too */
	u32 only_latest : 1;	   /* no note before the latest will be asked for */
	u32 is_found : 1;	   /* `sent` is what was noted last at `acked_delivered` */
	u32 acked_delivered;	   /* `delivered` when the newest segment ACKed was sent */
};

struct flight_notes {
	struct flight sent;
	u32 latest;	   /* the place of the latest note */
	u32 found;	   /* the one that `sent` was taken from */
	u32 complete_from; /* `delivered` from which on every note was kept */
	struct flight noted[FLIGHTS];
};

/* Every note says how things are now. */
static __always_inline void flight_notes_begin(struct flight_notes *notes,
					       struct flight_marks *marks,
					       const struct tcp_sock *tp)
{
	for (u32 i = 0; i < FLIGHTS; i++) {
		notes->noted[i].delivered = tp->delivered;
		notes->noted[i].in_flight = tcp_packets_in_flight(tp);
		notes->noted[i].lost = tp->lost;
	}
	notes->sent = notes->noted[0];
	notes->complete_from = tp->delivered;
	marks->latest_delivered = tp->delivered;
	marks->is_kept = true;
	marks->is_found = true;
}

/* Returns a note. The verifier has to see the bounds of the place right where it is used. */
static __always_inline const struct flight *flight_at(const struct flight_notes *notes, u32 at)
{
	return &notes->noted[read_now(at) % FLIGHTS];
}

/* Returns whether a note is from before `delivered` stood. */
static __always_inline bool flight_is_before(const struct flight_notes *notes, u32 delivered,
					     u32 at)
{
	return reached(delivered, flight_at(notes, at)->delivered);
}

/*
 * Returns what was noted last when the newest segment ACKed was sent. Where that segment was held
 * up in the network for so long that notes are missing from then, it is the first note without a
 * gap after it. Few ACKs need it.
 */
SELDOM const struct flight *flight_sent(struct flight_notes *notes, struct flight_marks *marks)
{
	u32 delivered = marks->acked_delivered, from = notes->complete_from;
	u32 at = notes->found % FLIGHTS;

	if (marks->is_found)
		return &notes->sent;
	if (!reached(delivered, from))
		delivered = from;
	/* Mostly it is what was wanted last or little later; where that is too new, the search
	 * begins with the oldest. */
	if (!flight_is_before(notes, delivered, at))
		at = (notes->latest + 1) % FLIGHTS;
	for (u32 i = 1; i < FLIGHTS && at != notes->latest; i++) {
		u32 next = (at + 1) % FLIGHTS;

		if (!flight_is_before(notes, delivered, next))
			break;
		at = next;
	}
	notes->found = at;
	notes->sent = *flight_at(notes, at);
	marks->is_found = true;
	return &notes->sent;
}

/* Returns `delivered` before this ACK. */
static __always_inline u32 delivered_before(const struct tcp_sock *tp, const struct rate_sample *rs)
{
	return tp->delivered - rs->acked_sacked;
}

/* Returns all ones where it is time for a note; each ACK asks. */
static __always_inline u32 flight_note_is_due(const struct flight_marks *marks,
					      const struct tcp_sock *tp,
					      const struct rate_sample *rs)
{
	return ~ones_if_less(delivered_before(tp, rs) - marks->latest_delivered,
			     tp->snd_cwnd / FLIGHTS_PER_WINDOW);
}

/*
 * Notes what was in flight before this ACK: segments sent since the ACK before it had that around
 * them. Where only the latest note will be asked for, keeping it can wait: the next one takes its
 * place. `ones` is all ones; where it is 0 nothing changes.
 */
static __always_inline void flight_note_latest(struct flight_marks *marks,
					       const struct tcp_sock *tp,
					       const struct rate_sample *rs, u32 ones)
{
	marks->latest_delivered = either(ones, delivered_before(tp, rs), marks->latest_delivered);
	marks->latest_in_flight = either(ones, rs->prior_in_flight, marks->latest_in_flight);
	marks->is_kept &= ~ones;
}

/* Says whether only the latest note will be asked for from now on. */
static __always_inline void flight_only_latest(struct flight_notes *notes,
					       struct flight_marks *marks, bool only_latest)
{
	if (marks->only_latest && !only_latest)
		notes->complete_from = marks->latest_delivered;
	marks->only_latest = only_latest;
}

/* Keeps the latest note, with what had been lost at its time, if that is yet to be done. */
static __always_inline void flight_keep(struct flight_notes *notes, struct flight_marks *marks,
					u32 lost)
{
	struct flight *latest;

	if (marks->is_kept)
		return;
	notes->latest = (notes->latest + 1) % FLIGHTS;
	latest = &notes->noted[notes->latest % FLIGHTS];
	latest->delivered = marks->latest_delivered;
	latest->in_flight = marks->latest_in_flight;
	latest->lost = lost;
	marks->is_kept = true;
}

static __always_inline void flight_note(struct flight_notes *notes, struct flight_marks *marks,
					const struct tcp_sock *tp, const struct rate_sample *rs)
{
	if (!has_rate(rs))
		flight_sent(notes, marks); /* while its note is there */
	flight_note_latest(marks, tp, rs, ~0U);
	flight_keep(notes, marks, tp->lost - rs->losses);
}

/* Notes which segment an ACK covers. It is called for each ACK that has a rate, after the above. */
static __always_inline void flight_acked(struct flight_marks *marks, const struct rate_sample *rs)
{
	marks->acked_delivered = rs->prior_delivered;
	marks->is_found = false;
}

#endif
