/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reno.
 *
 * Source: RFC 5681, section 3.1; RFC 3465 (see reno.h). Fast retransmit and fast recovery are the
 * kernel's.
 *
 * Deliberate differences:
 *  1. An ACK counts as many segments as it covers, in slow start and after (RFC 3465 with no limit
 *     L), as in Linux.
 *  2. Half the window is kept after a loss, not half of what was in flight, as in Linux.
 *  3. Idle keep (idle_keep.h).
 *
 * Switched in mid-flight: has no state of its own; goes on from the window it finds.
 */
#define PARAMETERS(P) IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/ssthresh.h"
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/after_outage.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"

struct reno {
	struct idle_keep idle;
};
ASSERT_FITS_PRIVATE_AREA(struct reno);

CALLBACK(void, reno_init, struct sock *sk)
{
	idle_keep_init(sk);
}

/* "cwnd += SMSS*SMSS/cwnd": one segment per round trip. */
CALLBACK(void, reno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	reno_grow(sk, tcp_sk(sk)->snd_cwnd, acked);
}

CALLBACK(u32, reno_ssthresh, struct sock *sk)
{
	return bounded_ssthresh(sk, reno_half(tcp_sk(sk)));
}

CWND_EVENT(reno_cwnd_event, sk, event)
{
	idle_keep_event(sk, event);
}

CALLBACK(void, reno_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	idle_keep_acked(sk, sample);
}

CALLBACK(void, reno_set_state, struct sock *sk, u8 new_state)
{
	outage_set_state(sk, new_state);
}

UNDO_CWND(reno_undo_cwnd)

ALGORITHM(reno) = {
	.init = (void *)reno_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)reno_cong_avoid,
	.ssthresh = (void *)reno_ssthresh,
	.undo_cwnd = (void *)reno_undo_cwnd,
	.set_state = (void *)reno_set_state,
	HEARS(reno_cwnd_event),
	.pkts_acked = (void *)reno_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_reno",
};

ABOUT_WITH_PARAMETERS(reno, "RFC 5681, RFC 3465",
		      "short round trips, small windows; what the others are held against",
		      "held against Linux's module");
