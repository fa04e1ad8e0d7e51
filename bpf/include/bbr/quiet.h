/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR version 1: quiet ACKs, for which nothing has to be decided, as for most. What they are
 * compared with is reckoned whenever everything is looked at.
 */
#ifndef KIRIKAE_BBR_QUIET_H
#define KIRIKAE_BBR_QUIET_H

#include "control.h"
#include "probe_rtt.h"
#include "samples.h"

/* Time of 64 microseconds, which takes no division. */
#define TICK_SHIFT 6

static __always_inline u32 time_ticks(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp >> TICK_SHIFT;
}

/* The ticks of which the last one ends so many microseconds from now or earlier. */
static __always_inline u32 ticks_after(const struct tcp_sock *tp, u64 us)
{
	return (tp->tcp_mstamp + us) >> TICK_SHIFT;
}

/* No ACK is quiet until everything has been looked at. */
static __always_inline void stay_alert(struct sock *sk)
{
	bbr_of(sk)->quiet_until_ticks = time_ticks(tcp_sk(sk));
	bbr_of(sk)->settled = false;
}

/* Whether this is over as soon as little is in flight */
static __always_inline bool is_draining(const struct bbr *b)
{
	return b->mode == DRAIN || (b->mode == PROBE_BW && b->phase == 1);
}

/* Microseconds from now for which time alone tells that all stays as it is. */
static __always_inline u32 quiet_us(const struct bbr *b, const struct tcp_sock *tp)
{
	u32 rtprop_us = (rtprop_due_ms(b) - time_ms(tp) - 1) * USEC_PER_MSEC;
	u32 lasted_us = phase_us(b, tp);

	if (is_draining(b))
		return 0;
	if (b->mode == STARTUP)
		return rtprop_us;
	return lasted_us > b->rtprop_us ? 0 : min(rtprop_us, b->rtprop_us - lasted_us);
}

static __always_inline void note_filter(struct bbr *b)
{
	b->quiet_below_bw = max_filter_kept_below(&b->btl_bw, BTL_BW_ROUNDS, b->rounds.count);
}

/* After everything has been looked at: which ACKs are quiet. */
static __always_inline void settle(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *b = bbr_of(sk);

	stay_alert(sk);
	/* An ACK of nothing leaves target_cwnd and prior_ca_state as they were. */
	if (!rs->acked_sacked || b->mode == PROBE_RTT || !b->has_seen_rtt || b->idle_restart ||
	    b->policer.in_use || is_rtprop_expired(b, tp) ||
	    b->rounds.count - b->btl_bw.first.round > BTL_BW_ROUNDS ||
	    tp->delivered < TCP_INIT_CWND)
		return;
	b->settled = true;
	note_filter(b);
	if (b->packet_conservation)
		b->target_cwnd = 0; /* which no window is */
	if (is_draining(b))
		b->drained_at = inflight(sk, b, GAIN_ONE);
	b->quiet_until_ticks = ticks_after(tp, quiet_us(b, tp));
}

/* What goes for every quiet ACK, but for the time and the rate */
static __always_inline bool is_uneventful(struct sock *sk, const struct rate_sample *rs)
{
	const struct bbr *b = bbr_of(sk);

	return rs->acked_sacked && rs->losses <= 0 && rs->rtt_us >= b->rtprop_us &&
	       rs->interval_us > 0 && !reached(rs->prior_delivered, b->rounds.next_delivered) &&
	       (!rs->is_app_limited || !b->policer.sampling);
}

/* Counts the ACK, unless more than ever came in excess with it. */
static __always_inline bool count_quietly(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *b = bbr_of(sk);
	struct ack_interval interval = b->ack_interval;

	if (excess_in(&interval, tcp_sk(sk), b->btl_bw.first.value, rs->acked_sacked) >
	    b->extra_acked)
		return false;
	b->ack_interval = interval;
	return true;
}

/* Where time alone does not tell: whether this phase, or Drain, goes on. */
SELDOM bool is_going_on(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *b = bbr_of(sk);
	u32 in_flight = rs->prior_in_flight;

	if (!b->settled || is_rtprop_expired(b, tp))
		return false;
	if (b->mode == DRAIN)
		in_flight = tcp_packets_in_flight(tp);
	else if (b->mode == PROBE_BW && phase_us(b, tp) > b->rtprop_us)
		return !b->phase && !is_probed(sk, b, in_flight);
	return !is_draining(b) || left_at_departure(sk, b, in_flight) > b->drained_at;
}

/* A window that moves, and a sample that is less than the bandwidth but one of the largest after it
 */
SELDOM bool update_nearly_quietly(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *b = bbr_of(sk);

	if (!is_slower(rs, b->btl_bw.first.value) || !count_quietly(sk, rs))
		return false;
	if (!is_slower(rs, b->quiet_below_bw) && !rs->is_app_limited) {
		max_filter_renew(&b->btl_bw, BTL_BW_ROUNDS, b->rounds.count, delivery_rate(rs));
		note_filter(b);
	}
	if (b->packet_conservation)
		conserve_packets(tcp_sk(sk), rs->acked_sacked);
	else
		grow_cwnd(sk, b, rs->acked_sacked);
	clamp_cwnd(tcp_sk(sk));
	return true;
}

/*
 * "BBRUpdateOnACK()" for a quiet ACK. Returns false, with nothing done, where it is none. What else
 * the pacing rate depends on, the MSS and SO_MAX_PACING_RATE, is looked at when a round begins.
 */
static __always_inline bool update_quietly(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct bbr *b = bbr_of(sk);

	if (reached(time_ticks(tp), b->quiet_until_ticks) && !is_going_on(sk, rs))
		return false;
	if (!is_uneventful(sk, rs))
		return false;
	if (unlikely(!is_slower(rs, b->quiet_below_bw) || tp->snd_cwnd != b->target_cwnd))
		return update_nearly_quietly(sk, rs);
	return count_quietly(sk, rs);
}

#endif
