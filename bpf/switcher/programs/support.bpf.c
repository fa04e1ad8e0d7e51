/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This program tries what the switcher does to connections on the sockets of the reader's network
 * namespace, and prints what the kernel says: one line an option, its name and 0 or the negative
 * error.
 */
#include "switcher/bind/kernel_structs.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Any value that is allowed will do. */
#define RTO_MIN_US 100000
#define RTO_MAX_MS 60000

static __always_inline long set(struct tcp_sock *tp, int option, u32 value)
{
	return bpf_setsockopt(tp, SOL_TCP, option, &value, sizeof(value));
}

static __always_inline long get(struct tcp_sock *tp, int option)
{
	u32 value;

	return bpf_getsockopt(tp, SOL_TCP, option, &value, sizeof(value));
}

SEC("iter/tcp")
int options(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	BPF_SEQ_PRINTF(ctx->meta->seq, "set-rto-min %d\n", set(tp, TCP_BPF_RTO_MIN, RTO_MIN_US));
	BPF_SEQ_PRINTF(ctx->meta->seq, "get-rto-min %d\n", get(tp, TCP_BPF_RTO_MIN));
	BPF_SEQ_PRINTF(ctx->meta->seq, "set-rto-max %d\n", set(tp, TCP_RTO_MAX_MS, RTO_MAX_MS));
	BPF_SEQ_PRINTF(ctx->meta->seq, "set-callbacks %d\n", set(tp, TCP_BPF_SOCK_OPS_CB_FLAGS, 0));
	return 0;
}
