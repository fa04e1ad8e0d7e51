/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel may have ceased to call back for what the switcher has asked for.
 *
 * A socket has one set of callbacks for all sock_ops programs. A program that sets its own without
 * regard for ours takes ours away; then ours are asked for again beside what it has set, and
 * nothing that it has set is ever taken away.
 */
#ifndef KIRIKAE_HEARING_H
#define KIRIKAE_HEARING_H

#include "switcher/core/adoption_mark.h"
#include "switcher/core/host_socket.h"

#define ALWAYS_HEARD \
	(BPF_SOCK_OPS_RTO_CB_FLAG | BPF_SOCK_OPS_RETRANS_CB_FLAG | BPF_SOCK_OPS_STATE_CB_FLAG | \
	 BPF_SOCK_OPS_RTT_CB_FLAG)

/* Returns what the switcher has asked for. */
static __always_inline u32 callbacks_of_ours(const struct connection *c)
{
	u32 segments = BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;

	return c->flags & CONNECTION_TELLS_SEGMENTS ? ALWAYS_HEARD | segments : ALWAYS_HEARD;
}

static __always_inline bool is_heard(const struct tcp_sock *tp, const struct connection *c)
{
	u32 ours = callbacks_of_ours(c);

	return (tp->bpf_sock_ops_cb_flags & ours) == ours;
}

/* Another program has set what is set now. Returns the callbacks wanted. */
static __always_inline u32 hear_again(const struct tcp_sock *tp, struct connection *c)
{
	c->callbacks = tp->bpf_sock_ops_cb_flags;
	return c->callbacks | callbacks_of_ours(c);
}

/* Returns what others have asked for, as far as that can be known: what was set when ours were not,
 * and what has been set beyond ours since. */
static __always_inline u32 callbacks_of_others(u32 set, const struct connection *c)
{
	u32 beyond = set & ~callbacks_of_ours(c);

	if (are_callbacks(set, WAITING_MARK) || are_callbacks(set, ADOPTION_MARK))
		beyond &= ~(WAITING_MARK | ADOPTION_MARK);
	return c->callbacks | beyond;
}

/* The connection was restored, and is about to be forgotten: its callbacks become those of others,
 * and the mark. */
static __always_inline void leave_callbacks(void *sock, struct tcp_sock *tp,
					    const struct connection *c)
{
	u32 flags = CONNECTION_SWITCHED | CONNECTION_LEFT_ALONE | CONNECTION_OVERRULED;
	u32 callbacks = callbacks_of_others(tp->bpf_sock_ops_cb_flags, c);

	if ((c->flags & flags) == CONNECTION_SWITCHED)
		callbacks |= ADOPTION_MARK;
	host_set_option(sock, tp, TCP_BPF_SOCK_OPS_CB_FLAGS, callbacks);
}

#endif
