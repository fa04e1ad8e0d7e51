/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection that was restored has a mark, by which the next agent knows it.
 *
 * The kernel remembers that TCP_CONGESTION was set, and not by whom. So a connection that we
 * alone have switched keeps callbacks that nobody else asks for together: after a timeout, and when
 * an option comes that the kernel does not know. Without a program that they call they cost
 * nothing. Where another sock_ops program has asked for callbacks, there is no mark, and the
 * connection is left alone.
 */
#ifndef KIRIKAE_ADOPTION_MARK_H
#define KIRIKAE_ADOPTION_MARK_H

#include "connection/connection.h"
#include "kernel/sock_ops.h"

#define WAITING_MARK (BPF_SOCK_OPS_RTT_CB_FLAG | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG)
#define ADOPTION_MARK (BPF_SOCK_OPS_RTO_CB_FLAG | BPF_SOCK_OPS_PARSE_UNKNOWN_HDR_OPT_CB_FLAG)

/* Returns whether the callbacks are those wanted and no others. Changes of state do not matter:
 * whoever counts connections asks for them. */
static __always_inline bool are_callbacks(u32 callbacks, u32 wanted)
{
	return (callbacks & ~BPF_SOCK_OPS_STATE_CB_FLAG) == wanted;
}

static __always_inline bool has_adoption_mark(const struct tcp_sock *tp)
{
	return are_callbacks(tp->bpf_sock_ops_cb_flags, ADOPTION_MARK);
}

/* Returns whether the connection is known to be local, and is therefore not remembered yet
 * (admission.h). */
static __always_inline bool has_waiting_mark(const struct tcp_sock *tp)
{
	return are_callbacks(tp->bpf_sock_ops_cb_flags, WAITING_MARK);
}

#endif
