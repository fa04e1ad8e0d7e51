/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which connections are made to send when their path is back (docs/outages.md). */
#ifndef KIRIKAE_REVIVAL_H
#define KIRIKAE_REVIVAL_H

#include "switcher/bind/active_policy.h"
#include "switcher/core/policy_match.h"

/* Returns the scope by which the connection is made to send; NULL: it is not, since its timer is
 * left to the kernel, or it is left alone, or its program has closed it. */
static __always_inline const struct scope *revival_scope(const struct connection *c)
{
	const struct policy *policy = active_policy();
	const struct scope *scope = policy ? active_scope(policy, &c->place) : NULL;

	if (!scope || !has_timeouts(c, scope) ||
	    c->flags & (CONNECTION_LEFT_ALONE | CONNECTION_CLOSING))
		return NULL;
	return scope;
}

#endif
