/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What algorithms with idle keep do where timeouts have come in a row (connection/outage.h). */
#ifndef KIRIKAE_AFTER_OUTAGE_H
#define KIRIKAE_AFTER_OUTAGE_H

#include "algorithms/common/idle_keep.h"
#include "algorithms/common/limited_transmit.h"

/* What was lost is there, and nothing has told the path's rate yet. As on a new connection it is
 * for slow start to find: "The initial value of ssthresh SHOULD be set arbitrarily high" (RFC 5681,
 * section 3.1). What losses have left meanwhile may be of a path that was there between two
 * outages. */
static __always_inline void slow_start_in_doubt(struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (new_state == TCP_CA_Open && ca_state(sk) >= TCP_CA_Recovery && !is_undone(tp) &&
	    idle_keep(sk)->starts == PATH_IN_DOUBT)
		tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
}

/* set_state calls this. */
static __always_inline void outage_set_state(struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		idle_keep_lost(sk);
	limited_transmit(sk, new_state);
	slow_start_in_doubt(sk, new_state);
}

#endif
