/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where timeouts in a row prove to have been wrong, two segments of new data may go out at once.
 *
 * Source: RFC 3042 (limited transmit). A timeout takes all for lost that is in flight; an ACK that
 * echoes an older timestamp than that of the retransmission says that nothing was (RFC 3522), and
 * the kernel waits for all of it again. That may be mistaken after an outage: a receiver whose last
 * ACKs were lost has the segment that is sent again, and where it is Linux echoes what it had
 * before. Then nothing would be sent until a probe, timed by a round trip that seems to have taken
 * as long as the outage. With the SACKs for new data the kernel finds what is lost.
 *
 * That timeouts came in a row the switcher has noted; after a single one nothing is suspected.
 */
#ifndef KIRIKAE_LIMITED_TRANSMIT_H
#define KIRIKAE_LIMITED_TRANSMIT_H

#include "algorithms/common/takeover.h"
#include "connection/outage.h"

/* Returns whether recovery ends before all is ACKed that was in flight when it began: it was a
 * mistake. */
static __always_inline bool is_undone(const struct tcp_sock *tp)
{
	return (s32)(tp->high_seq - tp->snd_una) > 0;
}

/* outage_set_state() calls this. What follows is not paced where that is our doing: the rate would
 * be by the same round trip. */
static __always_inline void limited_transmit(struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (new_state != TCP_CA_Open || ca_state(sk) != TCP_CA_Loss || !is_undone(tp) ||
	    !is_after_outage(connection_of(sk)))
		return;
	allow_limited_transmit(tp);
	if (pacing_is_ours(sk))
		sk->sk_pacing_status = SK_PACING_NONE;
}

#endif
