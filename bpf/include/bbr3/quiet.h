/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR version 3: quiet ACKs, for which nothing has to be decided, as for most. They do without the
 * state in socket storage, and with a fraction of the code.
 */
#ifndef KIRIKAE_BBR3_QUIET_H
#define KIRIKAE_BBR3_QUIET_H

#include "control.h"

/* "BBR.ExtraAckedFilterLen ... = 10" round trips; "in Startup, just remember 1 round" */
static __always_inline u32 extra_acked_rounds(const struct bbr3 *b)
{
	return b->full_bw_reached ? 10 : 1;
}

/* Time of 1024 microseconds, which takes no division. */
static __always_inline u32 time_ticks(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp >> 10;
}

/* No ACK is quiet until everything has been looked at. */
static __always_inline void stay_alert(struct sock *sk)
{
	bbr3_of(sk)->quiet_until_ticks = time_ticks(tcp_sk(sk));
}

/* Between two probes */
static __always_inline bool is_cruising(const struct bbr3 *b)
{
	return b->state == PROBE_BW_DOWN || b->state == PROBE_BW_CRUISE;
}

/* Milliseconds from now for which all stays as it is, as far as times and flags tell. */
static __always_inline s32 quiet_ms(struct sock *sk, const struct bbr3_rest *r)
{
	u32 now_ms = time_ms(tcp_sk(sk));
	s32 ms = min((s32)(probe_rtt_due_ms(r) - now_ms), (s32)(min_rtt_due_ms(r) - now_ms));
	const struct bbr3 *b = bbr3_of(sk);

	if (b->state == PROBE_RTT || r->inflight_longterm != INFINITE || r->idle_restart ||
	    !r->has_seen_rtt)
		return 0;
	if (!is_cruising(b))
		return ms;
	if (is_time_to_probe_bw(sk, r))
		return 0;
	return min(ms, (s32)(bw_probe_due_ms(r) - now_ms));
}

/* What in flight is just too much to end DRAIN, or DOWN without a bound; 0 in other states. */
static __always_inline u32 undrained(struct sock *sk, const struct bbr3_rest *r)
{
	const struct bbr3 *b = bbr3_of(sk);

	if (b->state == DRAIN)
		return inflight(sk, r, b->bw) + 1;
	return b->state == PROBE_BW_DOWN ? inflight(sk, r, max_bw(sk, r)) + 1 : 0;
}

/* Round trips whose beginning changes no more than quiet_round() does. */
static __always_inline u8 quiet_rounds(struct sock *sk, const struct bbr3_rest *r)
{
	s32 rounds = rounds_to_probe_bw(sk, r) - 1;

	if (!is_cruising(bbr3_of(sk)) || r->ack_phase != ACKS_INIT || !r->full_bw_now)
		return 0;
	return max(rounds, 0);
}

/* After everything has been looked at: which ACKs are quiet. */
static __always_inline void settle(struct sock *sk, const struct bbr3_rest *r)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);
	s32 ms = quiet_ms(sk, r);

	stay_alert(sk);
	if (ms > 0)
		b->quiet_until_ticks =
			((u64)(tp->tcp_mstamp / USEC_PER_MSEC) + ms) * USEC_PER_MSEC >> 10;
	b->quiet_rounds = quiet_rounds(sk, r);
	b->quiet_in_flight = undrained(sk, r);
	b->had_losses = r->losses_in_round;
	/* Only a probe asks what was in flight when a segment was sent: the ones sent for it. */
	b->flights.only_latest = !r->is_bw_probe_sample && is_cruising(b);
}

/*
 * Whether a round trip may begin with a quiet ACK. Once a round trip is often enough to see whether
 * what else the pacing rate depends on has changed: the MSS and SO_MAX_PACING_RATE.
 */
SELDOM bool is_quiet_round(struct sock *sk)
{
	const struct bbr3 *b = bbr3_of(sk);

	return b->quiet_rounds && sk->sk_pacing_rate == pacing_rate(sk, b->bw, pacing_gain(b));
}

static __always_inline bool is_quiet(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct bbr3 *b = bbr3_of(sk);

	return !reached(time_ticks(tp), b->quiet_until_ticks) && tp->lost == b->lost &&
	       tcp_packets_in_flight(tp) >= b->quiet_in_flight &&
	       ca_state(sk) == b->prior_ca_state && has_rate(rs) && rs->acked_sacked &&
	       rs->rtt_us >= b->probe_rtt_min_us &&
	       (!reached(rs->prior_delivered, b->loss_round_delivered) || !b->had_losses) &&
	       (!reached(rs->prior_delivered, b->rounds.next_delivered) || is_quiet_round(sk)) &&
	       (!is_faster(rs, b->latest_max) ||
		(!rs->is_app_limited && !is_faster(rs, b->bw))); /* which is at most BBR.max_bw */
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
SELDOM void quiet_round(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);

	if (round_update(&b->rounds, tp, rs))
		b->quiet_rounds--;
	if (!reached(rs->prior_delivered, b->loss_round_delivered))
		return;
	b->loss_round_delivered = tp->delivered;
	/* "AdvanceLatestDeliverySignals()" */
	b->bw_latest = delivery_rate(rs);
	b->inflight_latest = rs->delivered;
}

/* "UpdateOnACK()" for a quiet ACK */
static __always_inline void update_quietly(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);
	u32 acked = rs->acked_sacked, delivered = rs->delivered;
	u32 most_extra = b->extra_acked.first.value, rate, extra;

	if (unlikely(flight_note_is_due(&b->flights, tp, rs))) {
		if (b->flights.only_latest)
			flight_note_latest(&b->flights, tp, rs);
		else
			quiet_flight_note(sk, rs);
	}
	flight_acked(&b->flights, rs);
	if (unlikely(reached(rs->prior_delivered, b->rounds.next_delivered) ||
		     reached(rs->prior_delivered, b->loss_round_delivered)))
		quiet_round(sk, rs);
	/* "UpdateLatestDeliverySignals()" and "UpdateMaxBw()" */
	if (unlikely(is_faster(rs, min(b->bw_latest, b->latest_max)))) {
		rate = delivery_rate(rs);
		b->bw_latest = max(b->bw_latest, rate);
		b->latest_max = max(b->latest_max, rate);
	}
	if (delivered > b->inflight_latest)
		b->inflight_latest = delivered;
	extra = excess_acked(&b->ack_interval, tp, b->bw, acked);
	max_filter_update(&b->extra_acked, extra_acked_rounds(b), b->rounds.count, extra);
	if (unlikely(b->extra_acked.first.value != most_extra))
		quiet_max_inflight(sk);
	set_cwnd(sk, acked);
}

#endif
