/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Scalable TCP.
 *
 * Source: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area Networks", ACM
 * CCR 33(2), 2003.
 *
 * Deliberate differences:
 *  1. Below a window of 100 segments growth is Reno's: a = 0.01 per ACK would be slower than one
 *     segment per round trip there. (The paper starts Scalable TCP at a "legacy window" for the
 *     same reason.)
 *  2. Idle keep (idle_keep.h).
 *
 * Switched in mid-flight: has no state of its own; goes on from the window it finds.
 */
#define PARAMETERS(P) IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/ssthresh.h"
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/after_outage.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"

struct scalable {
	struct idle_keep idle;
};
ASSERT_FITS_PRIVATE_AREA(struct scalable);

/* "cwnd <- cwnd + 0.01" for each ACK: one segment for every 100. */
#define ACKS_PER_SEGMENT 100

CALLBACK(void, scalable_init, struct sock *sk)
{
	idle_keep_init(sk);
}

CALLBACK(void, scalable_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	reno_grow(sk, min(tcp_sk(sk)->snd_cwnd, ACKS_PER_SEGMENT), acked);
}

/* "cwnd <- cwnd - [0.125 * cwnd]" */
CALLBACK(u32, scalable_ssthresh, struct sock *sk)
{
	u32 cwnd = tcp_sk(sk)->snd_cwnd;

	return bounded_ssthresh(sk, max(cwnd - (cwnd >> 3), 2));
}

CWND_EVENT(scalable_cwnd_event, sk, event)
{
	idle_keep_event(sk, event);
}

CALLBACK(void, scalable_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	idle_keep_acked(sk, sample);
}

CALLBACK(void, scalable_set_state, struct sock *sk, u8 new_state)
{
	outage_set_state(sk, new_state);
}

UNDO_CWND(scalable_undo_cwnd)

ALGORITHM(scalable) = {
	.init = (void *)scalable_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)scalable_cong_avoid,
	.ssthresh = (void *)scalable_ssthresh,
	.undo_cwnd = (void *)scalable_undo_cwnd,
	.set_state = (void *)scalable_set_state,
	HEARS(scalable_cwnd_event),
	.pkts_acked = (void *)scalable_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_scalable",
};

ABOUT_WITH_PARAMETERS(scalable, "Kelly: Scalable TCP. ACM CCR 33(2), 2003",
		      "large windows; gives up little for a loss", "held against Linux's module");
