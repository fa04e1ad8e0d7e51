/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What algorithms with idle keep do where timeouts have come in a row (connection/outage.h). */
#ifndef KIRIKAE_AFTER_OUTAGE_H
#define KIRIKAE_AFTER_OUTAGE_H

#include "algorithms/common/idle_keep.h"
#include "algorithms/common/limited_transmit.h"

/* set_state calls this. */
static __always_inline void outage_set_state(struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		idle_keep_lost(sk);
	limited_transmit(sk, new_state);
}

#endif
