/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR version 3: quiet ACKs, for which nothing has to be decided, as for most. They do without the
 * state in socket storage, and with a fraction of the code.
 *
 * A quiet ACK leaves the window, the pacing rate and the state that looking at everything leaves,
 * but for this (crates/algorithms/twins/ holds it to that):
 *  1. What it tells of the rate and of what came in excess is only noted. The next ACK for which
 *     more is looked at takes up the most noted, which makes the same of bw_latest, latest_max and
 *     extra_acked: no round trip begins in between.
 *  2. What tells a quiet ACK is not reckoned anew.
 *  3. round_start, loss_round_start, rate, delivered and probe_rtt_expired are those of the latest
 *     ACK for which everything was looked at.
 *  4. Between probes the flight_notes have gaps; nothing asks for what is missing.
 *  5. Another MSS, SO_MAX_PACING_RATE or pacing shift counts from the next round trip on at the
 *     latest; where SO_MAX_PACING_RATE is the pacing rate, with the next ACK for which everything
 *     is looked at.
 */
#ifndef KIRIKAE_BBR3_QUIET_H
#define KIRIKAE_BBR3_QUIET_H

#include "algorithms/bbr3/control.h"

/* Returns the time in units of 1024 microseconds, which takes no division. */
static __always_inline u32 time_1024us(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp >> 10;
}

/* No ACK is quiet until everything has been looked at. */
static __always_inline void stay_alert(struct sock *sk)
{
	bbr3_of(sk)->quiet_until_1024us = time_1024us(tcp_sk(sk));
}

/* Returns whether it is between two probes. */
static __always_inline bool is_cruising(const struct bbr3 *b)
{
	return b->state == PROBE_BW_DOWN || b->state == PROBE_BW_CRUISE;
}

/* Returns for how many milliseconds from now all stays as it is, as far as times and flags tell. */
static __always_inline s32 quiet_ms(struct sock *sk, const struct bbr3_rest *r)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 now_ms = time_ms(tp);
	s32 ms = min((s32)(probe_rtt_due_ms(r) - now_ms), (s32)(min_rtt_due_ms(r) - now_ms));
	const struct bbr3 *b = bbr3_of(sk);

	if (b->state == PROBE_RTT || r->inflight_longterm != INFINITE || r->idle_restart ||
	    !r->has_seen_rtt || tp->delivered < TCP_INIT_CWND || tp->snd_cwnd < MIN_PIPE_CWND ||
	    (!b->full_bw_reached && r->inflight_shortterm != INFINITE))
		return 0;
	if (!is_cruising(b))
		return ms;
	if (is_time_to_probe_bw(sk, r))
		return 0;
	return min(ms, (s32)(bw_probe_due_ms(r) - now_ms));
}

/* Returns how many segments in flight are just too many to end DRAIN, or DOWN without a bound; 0 in
 * other states. */
static __always_inline u32 undrained(struct sock *sk, const struct bbr3_rest *r)
{
	const struct bbr3 *b = bbr3_of(sk);

	if (b->state == DRAIN)
		return inflight(sk, r, b->bw) + 1;
	return b->state == PROBE_BW_DOWN ? inflight(sk, r, max_bw(sk, r)) + 1 : 0;
}

/* Returns how many round trips may begin and change no more than quiet_round() does. */
static __always_inline u8 quiet_rounds(struct sock *sk, const struct bbr3_rest *r)
{
	s32 rounds = rounds_to_probe_bw(sk, r) - 1;

	if (!is_cruising(bbr3_of(sk)) || r->ack_phase != ACKS_INIT || !r->full_bw_now)
		return 0;
	return max(rounds, 0);
}

static __always_inline void note_renewal(struct bbr3 *b)
{
	b->renewal_due = max_filter_is_due(&b->extra_acked, extra_acked_rounds(b), b->rounds.count);
}

/* Settles which ACKs are quiet, after everything has been looked at. */
static __always_inline void settle(struct sock *sk, struct bbr3_rest *r)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);
	u32 in_flight = undrained(sk, r);
	s32 ms = quiet_ms(sk, r);

	stay_alert(sk);
	/* What does not fit cannot be told from a quiet ACK. */
	if (ms > 0 && in_flight <= QUIET_IN_FLIGHT_MAX)
		b->quiet_until_1024us =
			((u64)(tp->tcp_mstamp / USEC_PER_MSEC) + ms) * USEC_PER_MSEC >> 10;
	b->quiet_rounds = quiet_rounds(sk, r);
	b->quiet_in_flight = in_flight;
	b->had_losses = r->losses_in_round;
	/* Only a probe asks what was in flight when a segment was sent: the ones sent for it. */
	flight_only_latest(&r->notes, &b->flights, !r->is_bw_probe_sample && is_cruising(b));
	note_renewal(b);
}

/* Returns whether only the samples and the window, or a round trip, can make more of the ACK than
 * of the one before. */
static __always_inline bool is_uneventful(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct bbr3 *b = bbr3_of(sk);
	u32 app_limited = -(u32)rs->is_app_limited;

	return !reached(time_1024us(tp), b->quiet_until_1024us) && tp->lost == b->lost &&
	       tcp_packets_in_flight(tp) >= b->quiet_in_flight && has_rate(rs) &&
	       rs->acked_sacked && rs->rtt_us >= b->probe_rtt_min_us &&
	       /* A sample that counts may raise the bandwidth of this cycle up to the one in use.
		*/
	       !is_faster(rs, either(app_limited, b->latest_max, b->bw));
}

static __always_inline bool begins_round(const struct bbr3 *b, const struct rate_sample *rs)
{
	return reached(rs->prior_delivered, b->rounds.next_delivered);
}

/* Notes the samples of such an ACK. */
static __always_inline void note_samples(struct bbr3 *b, const struct rate_sample *rs)
{
	u32 delivered = rs->delivered;

	flight_acked(&b->flights, rs);
	fastest_note(&b->fastest, rs, 0);
	b->inflight_latest =
		either(ones_if_less(b->inflight_latest, delivered), delivered, b->inflight_latest);
}

/* "UpdateOnACK()" for a quiet ACK. Returns false, with nothing done, where it is none. */
static __always_inline bool update_quietly(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);
	struct ack_interval interval = b->ack_interval;
	u32 note, extra;

	if (!is_uneventful(sk, rs) || begins_round(b, rs) || begins_loss_round(b, rs) ||
	    b->renewal_due)
		return false;
	note = flight_note_is_due(&b->flights, tp, rs);
	if (note & !b->flights.only_latest)
		return false;
	extra = excess_in(&interval, tp, b->bw, rs->acked_sacked);
	if (extra > b->extra_acked.first || extra > tp->snd_cwnd)
		return false;
	flight_note_latest(&b->flights, tp, rs, note);
	b->ack_interval = interval;
	b->most_extra = either(ones_if_less(b->most_extra, extra), extra, b->most_extra);
	note_samples(b, rs);
	grow_quietly(tp, rs->acked_sacked, b->target_cwnd, b->full_bw_reached - 1U);
	return true;
}

/*
 * Returns whether a round trip may begin with an ACK that decides nothing. Once a round trip is
 * often enough to see whether what else the pacing rate depends on has changed: the MSS and
 * SO_MAX_PACING_RATE.
 */
static __always_inline bool is_quiet_round(const struct sock *sk)
{
	const struct bbr3 *b = bbr3_of(sk);

	return b->quiet_rounds && sk->sk_pacing_rate == pacing_rate(sk, b->bw, pacing_gain(b));
}

SELDOM void quiet_flight_note(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr3_rest *r = large_state(sk);

	if (r)
		flight_note(&r->notes, &bbr3_of(sk)->flights, tcp_sk(sk), rs);
}

SELDOM void quiet_max_inflight(struct sock *sk)
{
	const struct bbr3_rest *r = large_state(sk);

	if (r)
		update_max_inflight(sk, r);
}

/* "UpdateRound()", and the round trip in which losses count */
static __always_inline void quiet_round(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);

	keep_noted(b);
	if (round_update(&b->rounds, tp, rs))
		b->quiet_rounds--;
	if (!begins_loss_round(b, rs))
		return;
	b->loss_round_delivered = tp->delivered;
	/* "AdvanceLatestDeliverySignals()" */
	b->bw_latest = delivery_rate(rs);
	b->inflight_latest = rs->delivered;
}

/* Takes an ACK with which something begins that decides nothing, as update_quietly() takes the
 * others. */
SELDOM bool update_nearly_quietly(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);
	u32 most_extra = b->extra_acked.first;

	if (!is_uneventful(sk, rs) || (begins_loss_round(b, rs) && b->had_losses) ||
	    (begins_round(b, rs) && !is_quiet_round(sk)))
		return false;
	if (flight_note_is_due(&b->flights, tp, rs)) {
		if (b->flights.only_latest)
			flight_note_latest(&b->flights, tp, rs, ~0U);
		else
			quiet_flight_note(sk, rs);
	}
	if (begins_round(b, rs) || begins_loss_round(b, rs))
		quiet_round(sk, rs);
	note_samples(b, rs);
	update_extra_acked(sk, rs);
	note_renewal(b);
	if (b->extra_acked.first != most_extra)
		quiet_max_inflight(sk);
	grow_cwnd(sk, rs->acked_sacked);
	return true;
}

#endif
