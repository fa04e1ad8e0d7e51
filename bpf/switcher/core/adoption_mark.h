/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The mark of a connection that was put back, for the next agent.
 *
 * The kernel remembers that TCP_CONGESTION was set, and not by whom. So what was set by us alone
 * keeps callbacks that nobody else asks for together: after a timeout, and when an option comes
 * that the kernel does not know. Without a program that they call they cost nothing. Where another
 * sock_ops program has asked for callbacks, there is no mark, and the connection is left alone.
 */
#ifndef KIRIKAE_ADOPTION_MARK_H
#define KIRIKAE_ADOPTION_MARK_H

#include "connection/connection.h"
#include "kernel/sock_ops.h"

#define WAITING_MARK (BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG)
#define ADOPTION_MARK (BPF_SOCK_OPS_RTO_CB_FLAG | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG)

/* Whether the callbacks are these and no others, but for changes of state: whoever counts
 * connections asks for those. */
static __always_inline bool are_callbacks(u32 callbacks, u32 wanted)
{
	return (callbacks & ~BPF_SOCK_OPS_STATE_CB_FLAG) == wanted;
}

static __always_inline bool has_adoption_mark(const struct tcp_sock *tp)
{
	return are_callbacks(tp->bpf_sock_ops_cb_flags, ADOPTION_MARK);
}

/* Likewise that of one that is not remembered yet, because it is local (admission.h). */
static __always_inline bool has_waiting_mark(const struct tcp_sock *tp)
{
	return are_callbacks(tp->bpf_sock_ops_cb_flags, WAITING_MARK);
}

#endif
