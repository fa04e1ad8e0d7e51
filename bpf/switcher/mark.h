/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mark of a connection that was put back, for the next agent.
 *
 * The kernel remembers that TCP_CONGESTION was set, and not by whom. So what was set by us alone
 * keeps callbacks that nobody else asks for together: after a timeout, and when an option comes
 * that the kernel does not know. Without a program that they call they cost nothing. Where another
 * sock_ops program has asked for callbacks, there is no mark, and the connection is left alone.
 */
#ifndef KIRIKAE_MARK_H
#define KIRIKAE_MARK_H

#include "../include/connection.h"
#include "sock_ops.h"

#define WAITING (BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG)
#define MARK (BPF_SOCK_OPS_RTO_CB_FLAG | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG)

/* Whoever counts connections asks for changes of state. */
static __always_inline u32 callbacks_but_of_state(const struct tcp_sock *tp)
{
	return tp->bpf_sock_ops_cb_flags & ~BPF_SOCK_OPS_STATE_CB_FLAG;
}

static __always_inline bool is_marked(const struct tcp_sock *tp)
{
	return callbacks_but_of_state(tp) == MARK;
}

/* Likewise that of one that is not remembered yet, because it is local (meeting.h). */
static __always_inline bool is_waiting(const struct tcp_sock *tp)
{
	return callbacks_but_of_state(tp) == WAITING;
}

#endif
