/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Because of an outage a connection gets kk_cubic, until the path is known again (new_path.h): an
 * algorithm of the kernel's does not find out what is lost (algorithms/common/limited_transmit.h),
 * and what a BBR knows of the path may be of another.
 */
#ifndef KIRIKAE_OUTAGE_SWITCH_H
#define KIRIKAE_OUTAGE_SWITCH_H

#include "switcher/core/app_choice.h"
#include "switcher/core/host.h"
#include "switcher/core/reporting.h"

/* An undo of the window that is pending is given up for that. This is a function for the sake of
 * the stack. Returns 0, as on_rtt_sample(). */
static __attribute__((noinline)) int
switch_for_outage(void *sock, struct tcp_sock *tp, struct connection *c, const struct scope *scope)
{
	const struct latency_table *table = host_table(sock, scope);
	char in_use[TCP_CA_NAME_MAX] = {};
	char to[TCP_CA_NAME_MAX] = "kk_cubic";

	if (!table || scope->flags & SCOPE_OBSERVED || is_held_back(c) ||
	    c->flags & CONNECTION_REFUSED || column_of(table, to) == TABLE_ALGORITHMS)
		return read_now(0);
	if (!host_get_algorithm(sock, tp, in_use) || is_taken_away(c, tp, scope, in_use))
		return read_now(0);
	about_to_switch(c, tp, to);
	if (!try_to_switch(sock, tp, c, to))
		return read_now(0);
	report(sock, tp, c, REASON_OUTAGE, scope, to);
	note_switched(c, to);
	return read_now(0);
}

#endif
