/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR version 1: quiet ACKs, for which nothing has to be decided, as for most. What they are
 * compared with is reckoned whenever everything is looked at.
 *
 * A quiet ACK leaves the window, the pacing rate and the state that looking at everything leaves,
 * but for this (crates/algorithms/twins/ holds it to that):
 *  1. Its sample is only noted. The next ACK for which everything is looked at takes the fastest
 *     noted, which makes the same of btl_bw: no round begins in between.
 *  2. What tells a quiet ACK is not reckoned anew.
 *  3. round_start is that of the latest ACK for which everything was looked at.
 *  4. Another MSS, SO_MAX_PACING_RATE or pacing shift counts from the next round trip on at the
 *     latest.
 */
#ifndef KIRIKAE_BBR_QUIET_H
#define KIRIKAE_BBR_QUIET_H

#include "algorithms/bbr/control.h"
#include "algorithms/bbr/probe_rtt.h"
#include "algorithms/bbr/samples.h"

/* Returns the time in units of 64 microseconds, which takes no division. */
static __always_inline u32 time_64us(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp >> 6;
}

/* Returns the time so many microseconds from now in the same unit, or up to 63 microseconds
 * earlier. */
static __always_inline u32 time_64us_after(const struct tcp_sock *tp, u64 us)
{
	return (tp->tcp_mstamp + us) >> 6;
}

/* No ACK is quiet until everything has been looked at. */
static __always_inline void stay_alert(struct sock *sk)
{
	bbr_of(sk)->quiet_until_64us = time_64us(tcp_sk(sk));
	bbr_of(sk)->settled = false;
}

/* Returns whether this phase is over as soon as little is in flight. */
static __always_inline bool is_draining(const struct bbr *b)
{
	return b->mode == DRAIN || (b->mode == PROBE_BW && b->phase == 1);
}

/* Returns for how many microseconds from now time alone tells that all stays as it is. */
static __always_inline u32 quiet_us(const struct bbr *b, const struct tcp_sock *tp)
{
	u32 rtprop_us = (rtprop_due_ms(b) - time_ms(tp) - 1) * USEC_PER_MSEC;
	u32 lasted_us = phase_us(b, tp);

	if (b->mode == DRAIN)
		return 0;
	if (b->mode == STARTUP)
		return rtprop_us;
	return lasted_us > b->rtprop_us ? 0 : min(rtprop_us, b->rtprop_us - lasted_us);
}

/* Notes how long ACKs may be quiet by time; they may not while the window is conserved. */
static __always_inline void note_time(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *b = bbr_of(sk);

	if (!b->packet_conservation && tp->snd_cwnd >= MIN_PIPE_CWND)
		b->quiet_until_64us = time_64us_after(tp, quiet_us(b, tp));
}

/* Settles which ACKs are quiet, after everything has been looked at. */
static __always_inline void settle(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *b = bbr_of(sk);

	stay_alert(sk);
	/* An ACK of nothing leaves target_cwnd and prior_ca_state as they were. */
	if (!rs->acked_sacked || b->mode == PROBE_RTT || !b->has_seen_rtt || b->idle_restart ||
	    b->policer.in_use || is_rtprop_expired(b, tp) || tp->delivered < TCP_INIT_CWND)
		return;
	b->settled = true;
	b->renewal_due = max_filter_is_due(&b->btl_bw, BTL_BW_ROUNDS, b->rounds.count);
	if (b->filled_pipe)
		b->drained_at = is_draining(b) ? inflight(sk, b, GAIN_ONE) : 0;
	note_time(sk);
}

/* Returns whether only time and the rate can make more of the ACK than of the one before. */
static __always_inline bool is_uneventful(const struct bbr *b, const struct rate_sample *rs)
{
	u32 app_limited = rs->is_app_limited;

	return rs->acked_sacked && rs->losses <= 0 && rs->rtt_us >= b->rtprop_us &&
	       rs->interval_us > 0 && !reached(rs->prior_delivered, b->rounds.next_delivered) &&
	       !((app_limited & b->policer.sampling) | (~app_limited & b->renewal_due));
}

/*
 * Takes the samples of a quiet ACK. Returns false, with nothing done, where it is none: the
 * bandwidth rises, or more than ever came in excess of it.
 */
static __always_inline bool update_samples_quietly(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *b = bbr_of(sk);
	struct ack_interval interval = b->ack_interval;

	if (!is_uneventful(b, rs) || !is_slower(rs, b->btl_bw.first) ||
	    excess_in(&interval, tcp_sk(sk), b->btl_bw.first, rs->acked_sacked) > b->extra_acked)
		return false;
	b->ack_interval = interval;
	fastest_note(&b->fastest, rs, -(u32)rs->is_app_limited);
	return true;
}

/* A time in nanoseconds of 2 s and more may overflow where a bandwidth multiplies it. */
#define AHEAD_NS (1ULL << 31)

/* Returns all ones where left_at_departure() is surely above drained_at; it takes no division. */
static __always_inline u64 is_surely_filled(const struct tcp_sock *tp, const struct bbr *b,
					    u32 in_flight)
{
	u64 now_ns = tp->tcp_clock_cache, departure_ns = tp->tcp_wstamp_ns;
	u64 ahead_ns = (departure_ns - now_ns) & ~ones_if_less(departure_ns, now_ns);
	u64 spare = (u64)(in_flight - b->drained_at) * (1000 * BW_ONE);

	return ones_if_less(b->drained_at, in_flight) & ones_if_less(ahead_ns, AHEAD_NS) &
	       ones_if_less(ahead_ns * b->btl_bw.first, spare);
}

/*
 * "BBRUpdateOnACK()" for a quiet ACK. Returns false, with nothing done, where it is none. What else
 * the pacing rate depends on, the MSS and SO_MAX_PACING_RATE, is looked at when a round begins.
 */
static __always_inline bool update_quietly(struct sock *sk, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct bbr *b = bbr_of(sk);
	u32 is_startup = b->filled_pipe - 1U;

	if (reached(time_64us(tp), b->quiet_until_64us) ||
	    !(is_startup | is_surely_filled(tp, b, rs->prior_in_flight)) ||
	    !update_samples_quietly(sk, rs))
		return false;
	grow_quietly(tp, rs->acked_sacked, b->target_cwnd, is_startup);
	return true;
}

/* Returns whether it is time for the next phase, and that has the same gains. */
static __always_inline bool is_next_alike(const struct bbr *b, const struct tcp_sock *tp)
{
	return b->mode == PROBE_BW && b->phase > 1 && b->phase < CYCLE_PHASES - 1 &&
	       phase_us(b, tp) > b->rtprop_us;
}

/* Returns whether the gains of this phase or of Drain stay, where time alone does not tell. */
static __always_inline bool is_going_on(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *b = bbr_of(sk);
	u32 in_flight = rs->prior_in_flight;

	if (!b->settled || is_rtprop_expired(b, tp))
		return false;
	if (b->mode == DRAIN)
		in_flight = tcp_packets_in_flight(tp);
	else if (b->mode == PROBE_BW && phase_us(b, tp) > b->rtprop_us)
		return b->phase ? is_next_alike(b, tp) : !is_probed(sk, b, in_flight);
	return !is_draining(b) || left_at_departure(sk, b, in_flight) > b->drained_at;
}

/* Takes an ACK for which the gains stay, where update_quietly() could not tell, and while packets
 * are conserved. */
SELDOM bool update_going_on(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *b = bbr_of(sk);

	if (!is_going_on(sk, rs) || !update_samples_quietly(sk, rs))
		return false;
	if (is_next_alike(b, tcp_sk(sk))) {
		advance_phase(b, tcp_sk(sk));
		note_time(sk);
	}
	if (b->packet_conservation)
		conserve_packets(tcp_sk(sk), rs->acked_sacked);
	else
		grow_cwnd(sk, b, rs->acked_sacked);
	clamp_cwnd(tcp_sk(sk));
	return true;
}

#endif
