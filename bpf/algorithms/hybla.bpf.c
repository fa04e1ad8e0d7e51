/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP Hybla: a connection with a long round trip grows as fast as one with RTT0.
 *
 * Source: C. Caini, R. Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks",
 * International Journal of Satellite Communications and Networking 22, 2004.
 *
 * Deliberate differences:
 *  1. The round-trip time in rho is the lowest that the kernel has seen in its window (rtt_min),
 *     so that a queue of our own making does not speed us up further.
 *  2. 2^rho is cut off at rho = 16.
 *  3. Outside the Open state growth is Reno's, as in Linux.
 *  4. Idle keep (idle_keep.h).
 *
 * Deliberate differences from Linux's module (docs/conformance.md):
 *  5. The module begins with a window of rho segments; here it is the one found.
 *  6. The module cuts what an ACK adds to 1/128 segment, here it is 1/65536.
 *  7. With idle keep an ACK in slow start leaves no window of more than twice what was in flight:
 *     where the round trip is long 2^rho is thousands of segments, and a short burst would leave
 *     them to the next, and to the loss that halves them (RFC 7661). Before a rate is known it is
 *     Reno's slow start, and as soon as the first round trip has told one, up to the window that
 *     is paced out at 5/4 of that: a queue of ten packets would not hold what a new connection
 *     sends otherwise. And where a transfer goes on slow start is Reno's from there on: a window
 *     of thousands, all of it sent, drives others out of a queue for long.
 *  8. With idle keep it is paced, as the paper has it ("packet spacing"); the module leaves that to
 *     a queueing discipline.
 *
 * Switched in mid-flight: the window is kept. (The textbook initialisation sets it to 2.)
 */
#define PARAMETERS(P) \
	P(rtt0_us, 25000, 1000, 1000000, "RTT of the connection to be as fast as, microseconds") \
	IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/ssthresh.h"
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/after_outage.h"
#include "algorithms/common/parameters.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"

struct hybla {
	struct idle_keep idle;
	u32 fraction_16; /* growth not yet whole, segments << 16 */
};
ASSERT_FITS_PRIVATE_AREA(struct hybla);

#define RHO_MAX 16

/* 2^(n/8) in 1/128, n = 0..7 */
static __always_inline u32 power_of_eighths(u32 eighths)
{
	switch (eighths) {
	case 0:
		return 128;
	case 1:
		return 140;
	case 2:
		return 152;
	case 3:
		return 166;
	case 4:
		return 181;
	case 5:
		return 197;
	case 6:
		return 215;
	default:
		return 235;
	}
}

/* "rho = RTT / RTT0", at least 1; in eighths. */
static __always_inline u32 rho_8th(const struct sock *sk)
{
	u32 rtt_us = tcp_min_rtt(tcp_sk(sk));
	u64 rho = (u64)rtt_us * 8 / parameter(sk, rtt0_us);

	if (rtt_us == ~0U)
		return 8; /* not known yet */
	return max(min(rho, (u64)RHO_MAX * 8), 8ULL);
}

/* Adds `increment_16` (segments << 16) to the window. */
static __always_inline void hybla_grow(struct tcp_sock *tp, struct hybla *hybla, u64 increment_16)
{
	u64 grow_16 = increment_16 + hybla->fraction_16;

	hybla->fraction_16 = grow_16 & 0xffff;
	tp->snd_cwnd = min(tp->snd_cwnd + (u32)(grow_16 >> 16), tp->snd_cwnd_clamp);
}

/* Returns the largest window that slow start may come to with an ACK of so many segments. */
static __always_inline u32 most_in_slow_start(const struct sock *sk, const struct idle_keep *keep,
					      u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 reno = min(tp->snd_cwnd + acked, tp->snd_cwnd_clamp);
	u64 carried;

	if (keep->rate || keep->latest_rate)
		return max(reno, 2 * tp->max_packets_out);
	carried = (u64)idle_keep_run_rate(keep, tp) * tcp_min_rtt(tp) / USEC_PER_MSEC /
		  max(tp->mss_cache, 1);
	/* The kernel paces slow start at two windows in a round trip. */
	return max(reno, (u32)min(carried * 5 / 8, (u64)tp->snd_cwnd_clamp));
}

static __always_inline void hybla_slow_start(struct sock *sk, struct hybla *hybla, u32 rho,
					     u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 power_7 = (u64)power_of_eighths(rho % 8) << (rho / 8);
	u32 most = tp->snd_ssthresh;

	if (parameter(sk, idle_keep))
		most = min(most, most_in_slow_start(sk, &hybla->idle, acked));
	/* "cwnd <- cwnd + 2^rho - 1" */
	hybla_grow(tp, hybla, (power_7 - 128) << 9);
	tp->snd_cwnd = min(tp->snd_cwnd, most);
}

/* "Packet spacing" is part of Hybla; where there is no idle keep, this is Linux's module. */
CALLBACK(void, hybla_init, struct sock *sk)
{
	idle_keep_init(sk);
	if (parameter(sk, idle_keep) && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

CALLBACK(void, hybla_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct hybla *hybla = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 rho = rho_8th(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (ca_state(sk) != TCP_CA_Open) {
		if (tcp_in_slow_start(tp))
			acked = reno_slow_start(tp, acked);
		reno_additive_increase(tp, tp->snd_cwnd, acked);
		return;
	}
	if (tcp_in_slow_start(tp) && parameter(sk, idle_keep) &&
	    transfer_goes_on(idle_keep(sk), tp)) {
		reno_slow_start(tp, acked);
	} else if (tcp_in_slow_start(tp)) {
		hybla_slow_start(sk, hybla, rho, acked);
	} else {
		/* "cwnd <- cwnd + rho^2 / cwnd" */
		hybla_grow(tp, hybla, ((u64)rho * rho << 10) / tp->snd_cwnd);
	}
}

CALLBACK(u32, hybla_ssthresh, struct sock *sk)
{
	return bounded_ssthresh(sk, reno_half(tcp_sk(sk)));
}

CWND_EVENT(hybla_cwnd_event, sk, event)
{
	idle_keep_event(sk, event);
}

CALLBACK(void, hybla_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	idle_keep_acked(sk, sample);
}

CALLBACK(void, hybla_set_state, struct sock *sk, u8 new_state)
{
	outage_set_state(sk, new_state);
}

UNDO_CWND(hybla_undo_cwnd)

ALGORITHM(hybla) = {
	.init = (void *)hybla_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)hybla_cong_avoid,
	.ssthresh = (void *)hybla_ssthresh,
	.undo_cwnd = (void *)hybla_undo_cwnd,
	.set_state = (void *)hybla_set_state,
	HEARS(hybla_cwnd_event),
	.pkts_acked = (void *)hybla_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_hybla",
};

ABOUT_WITH_PARAMETERS(hybla, "Caini, Firrincieli: TCP Hybla. IJSCN 22, 2004",
		      "long round trips, satellites: as fast as a short one",
		      "held against Linux's module");
