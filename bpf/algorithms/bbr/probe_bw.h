/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 1: the gains of ProbeBW, in turn. */
#ifndef KIRIKAE_BBR_PROBE_BW_H
#define KIRIKAE_BBR_PROBE_BW_H

#include "algorithms/bbr/model.h"

/* "BBRGainCycleLen", a power of 2 */
#define CYCLE_PHASES 8

/* "BBRAdvanceCyclePhase()" */
static __always_inline void advance_phase(struct bbr *b, const struct tcp_sock *tp)
{
	b->phase = (b->phase + 1) % CYCLE_PHASES;
	b->cycle_stamp_us = tp->delivered_mstamp;
}

/* "BBR.cycle_index = BBRGainCycleLen - 1 - random_int_in_range(0..6)" */
SELDOM void enter_probe_bw(struct sock *sk, struct bbr *b)
{
	b->mode = PROBE_BW;
	b->phase = CYCLE_PHASES - 1 - random_u32(sk) % (CYCLE_PHASES - 1);
	advance_phase(b, tcp_sk(sk));
}

/* Returns how long this phase has lasted, microseconds. */
static __always_inline u32 phase_us(const struct bbr *b, const struct tcp_sock *tp)
{
	return (u32)tp->delivered_mstamp - b->cycle_stamp_us;
}

/* "prior_inflight >= BBRInflight(BBR.pacing_gain)" */
SELDOM bool is_probed(struct sock *sk, struct bbr *b, u32 in_flight)
{
	return in_flight_at_departure(sk, b, in_flight) >= inflight(sk, b, pacing_gain(b));
}

/* "BBRIsNextCyclePhase()" */
static __always_inline bool is_next_phase(struct sock *sk, struct bbr *b,
					  const struct rate_sample *rs)
{
	/* "is_full_length or prior_inflight <= BBRInflight(1)" */
	if (phase_us(b, tcp_sk(sk)) <= b->rtprop_us)
		return pacing_gain(b) < GAIN_ONE && is_drained(sk, b, rs->prior_in_flight);
	/* "is_full_length and (packets_lost > 0 or prior_inflight >= ...)" */
	return pacing_gain(b) <= GAIN_ONE || rs->losses > 0 ||
	       is_probed(sk, b, rs->prior_in_flight);
}

#endif
