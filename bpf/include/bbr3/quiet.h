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

static __always_inline void update_extra_acked(struct bbr3 *b, struct bbr3_rest *r, u32 extra)
{
	max_filter_update(&r->extra_acked, extra_acked_rounds(b), r->rounds.count, extra);
}

static __always_inline void settle_extra_acked(struct bbr3 *b, const struct bbr3_rest *r)
{
	b->extra_acked_kept =
		max_filter_kept_below(&r->extra_acked, extra_acked_rounds(b), r->rounds.count);
}

/* Milliseconds from now for which all stays as it is, as far as times and flags tell. */
static __always_inline s32 quiet_ms(struct sock *sk, const struct bbr3_rest *r)
{
	u32 now_ms = time_ms(tcp_sk(sk));
	s32 ms = min((s32)(probe_rtt_due_ms(r) - now_ms), (s32)(min_rtt_due_ms(r) - now_ms));
	const struct bbr3 *b = bbr3_of(sk);

	if (b->state == PROBE_RTT || b->inflight_longterm != INFINITE || r->idle_restart ||
	    !r->has_seen_rtt)
		return 0;
	if (b->state != PROBE_BW_DOWN && b->state != PROBE_BW_CRUISE)
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
		return inflight(sk, b->bw) + 1;
	return b->state == PROBE_BW_DOWN ? inflight(sk, max_bw(sk, r)) + 1 : 0;
}

/* After everything has been looked at: which ACKs are quiet. */
static __always_inline void settle(struct sock *sk, const struct bbr3_rest *r)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);
	s32 ms = quiet_ms(sk, r);

	b->quiet_until_us =
		ms > 0 ? ((u64)(tp->tcp_mstamp / USEC_PER_MSEC) + ms) * USEC_PER_MSEC : 0;
	b->quiet_until_delivered = reached(r->rounds.next_delivered, r->loss_round_delivered)
					   ? r->loss_round_delivered
					   : r->rounds.next_delivered;
	b->quiet_in_flight = undrained(sk, r);
	b->quiet_mss = tp->mss_cache;
	b->quiet_max_pacing_rate = sk->sk_max_pacing_rate;
	settle_extra_acked(b, r);
}

static __always_inline bool is_quiet(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct bbr3 *b = bbr3_of(sk);

	return tp->tcp_mstamp < b->quiet_until_us && tp->lost == b->lost &&
	       tcp_packets_in_flight(tp) >= b->quiet_in_flight && tp->mss_cache == b->quiet_mss &&
	       sk->sk_max_pacing_rate == b->quiet_max_pacing_rate &&
	       ca_state(sk) == b->prior_ca_state && has_rate(rs) && rs->acked_sacked &&
	       rs->rtt_us >= b->probe_rtt_min_us &&
	       !reached(rs->prior_delivered, b->quiet_until_delivered) &&
	       (!is_faster(rs, b->latest_max) ||
		(!rs->is_app_limited && !is_faster(rs, b->bw))); /* which is at most BBR.max_bw */
}

SELDOM void quiet_flight_note(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr3_rest *r = large_state(sk);

	if (r)
		flight_note(&r->notes, &bbr3_of(sk)->flights, tcp_sk(sk), rs);
}

SELDOM void quiet_extra_acked(struct sock *sk, u32 extra)
{
	struct bbr3_rest *r = large_state(sk);
	struct bbr3 *b = bbr3_of(sk);

	if (!r)
		return;
	update_extra_acked(b, r, extra);
	settle_extra_acked(b, r);
	update_max_inflight(sk, r);
}

/* "UpdateOnACK()" for a quiet ACK */
static __always_inline void update_quietly(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *b = bbr3_of(sk);
	u32 acked = rs->acked_sacked, delivered = rs->delivered, rate, extra;

	if (unlikely(flight_note_is_due(&b->flights, tp, rs)))
		quiet_flight_note(sk, rs);
	flight_acked(&b->flights, rs);
	/* "UpdateLatestDeliverySignals()" and "UpdateMaxBw()" */
	if (unlikely(is_faster(rs, b->bw_latest) || is_faster(rs, b->latest_max))) {
		rate = delivery_rate(rs);
		b->bw_latest = max(b->bw_latest, rate);
		b->latest_max = max(b->latest_max, rate);
	}
	if (delivered > b->inflight_latest)
		b->inflight_latest = delivered;
	extra = excess_acked(&b->ack_interval, tp, b->bw, acked);
	if (unlikely(extra >= b->extra_acked_kept))
		quiet_extra_acked(sk, extra);
	set_cwnd(sk, acked);
}

#endif
