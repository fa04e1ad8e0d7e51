/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A connection whose program has chosen an algorithm itself is left alone. */
#ifndef KIRIKAE_APP_CHOICE_H
#define KIRIKAE_APP_CHOICE_H

#include "connection/connection.h"
#include "switcher/core/names.h"

/* Returns whether its program has set an algorithm itself since it was admitted. If so, it is left
 * alone from now on. */
static __always_inline bool has_app_chosen(struct connection *c, const struct tcp_sock *tp,
					   const char *in_use)
{
	/* A switch of ours sets the kernel's flag, too. */
	bool is_set = !(c->flags & CONNECTION_SWITCHED) && set_by_program(tcp_to_sock(tp));

	if (!same_name(in_use, c->current) || is_set)
		c->flags |= CONNECTION_LEFT_ALONE;
	return c->flags & CONNECTION_LEFT_ALONE;
}

#endif
