/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A connection is restored to the algorithm and the timeouts that it had when it was met. */
#ifndef KIRIKAE_RESTORE_H
#define KIRIKAE_RESTORE_H

#include "switcher/core/app_choice.h"
#include "switcher/core/host_socket.h"
#include "switcher/core/timeout_options.h"

enum restored {
	NOTHING_TO_RESTORE, /* it has its own algorithm; timeouts are restored all the same */
	RESTORED,
	NOT_RESTORED, /* it is in recovery, or the kernel refused */
};

/* Restores a connection. In Recovery and Loss that is done only where `in_recovery_too` asks for
 * it, since a switch loses a pending undo_cwnd there. */
static __always_inline enum restored restore_connection(void *sock, struct tcp_sock *tp,
							struct connection *c, bool in_recovery_too)
{
	char by_way_of[TCP_CA_NAME_MAX] = "kk_cubic";
	enum restored restored = NOTHING_TO_RESTORE;
	char in_use[TCP_CA_NAME_MAX] = {};

	if (!host_get_algorithm(sock, tp, in_use))
		return NOT_RESTORED;
	/* Where another is in use, the program has taken it since, and keeps it. */
	if (!has_app_chosen(c, tp, in_use) && !same_name(c->current, c->original)) {
		if (ca_state(tcp_to_sock(tp)) >= TCP_CA_Recovery && !in_recovery_too)
			return NOT_RESTORED;
		/* The init and release of our algorithms mend what bbr leaves behind. */
		if (is_bbr(c->current))
			host_set_algorithm(sock, tp, by_way_of);
		if (!host_set_algorithm(sock, tp, c->original))
			return NOT_RESTORED;
		restored = RESTORED;
	}
	timeouts_restore(sock, tp, &c->timeouts);
	return restored;
}

#endif
