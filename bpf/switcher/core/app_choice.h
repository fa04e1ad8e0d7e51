/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A connection whose program has chosen an algorithm itself is left alone, unless the policy
 * overrules programs. */
#ifndef KIRIKAE_APP_CHOICE_H
#define KIRIKAE_APP_CHOICE_H

#include "switcher/core/decision.h"

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

/* Where a program has set another algorithm than was given, the connection is left alone, unless
 * the policy overrules programs. Then the program's algorithm is the one in use, and is restored in
 * the end. */
static __always_inline bool is_taken_away(struct connection *c, const struct tcp_sock *tp,
					  const struct scope *scope, const char *in_use)
{
	if (!(scope->flags & SCOPE_OVERRULES))
		return has_app_chosen(c, tp, in_use);
	if (!same_name(in_use, c->current)) {
		__builtin_memcpy(c->original, in_use, sizeof(c->original));
		c->flags |= CONNECTION_OVERRULED;
		connection_met(c);
	}
	return false;
}

#endif
