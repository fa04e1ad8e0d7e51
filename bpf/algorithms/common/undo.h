/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A reduction proves to have been wrong: a duplicate report (DSACK, RFC 3708) or a timestamp (RFC
 * 4015) shows that segments were late, or overtaken, where they seemed lost. Then nothing is left
 * of it: neither of the window, which is up to undo_cwnd, nor of what idle keep has noted of
 * overflow. An algorithm that remembers more of a loss than the window restores that, too.
 */
#ifndef KIRIKAE_UNDO_H
#define KIRIKAE_UNDO_H

#include "algorithms/common/idle_keep.h"
#include "algorithms/common/reno.h"

/* Returns the window. */
static __always_inline u32 undone(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	overflow_undone(idle_keep(sk), tp);
	return reno_undone(tp);
}

/* Defines undo_cwnd of an algorithm that remembers no more. */
#define UNDO_CWND(name) \
	CALLBACK(u32, name, struct sock *sk) \
	{ \
		return undone(sk); \
	}

#endif
