/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* sock_ops programs that have no regard for others, as there are in network plugins. */
#include "switcher/bind/kernel_structs.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* How often the kernel called for what a program has asked for. */
u64 calls;

static __always_inline bool is_established(u32 op)
{
	return op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
	       op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB;
}

/* The one callback that it wants is set in place of all others. */
SEC("sockops")
int takes_callbacks_once(struct bpf_sock_ops *ctx)
{
	if (is_established(ctx->op))
		bpf_sock_ops_cb_flags_set(ctx, BPF_SOCK_OPS_STATE_CB_FLAG);
	if (ctx->op == BPF_SOCK_OPS_STATE_CB)
		__sync_fetch_and_add(&calls, 1);
	return 1;
}

/* Likewise, and again whenever it is called. */
SEC("sockops")
int takes_callbacks(struct bpf_sock_ops *ctx)
{
	if (is_established(ctx->op) || ctx->op == BPF_SOCK_OPS_RTT_CB)
		bpf_sock_ops_cb_flags_set(ctx, BPF_SOCK_OPS_RTT_CB_FLAG);
	if (ctx->op == BPF_SOCK_OPS_RTT_CB)
		__sync_fetch_and_add(&calls, 1);
	return 1;
}

/* Chooses an algorithm for every connection, as soon as it is established. */
SEC("sockops")
int chooses_once(struct bpf_sock_ops *ctx)
{
	char name[TCP_CA_NAME_MAX] = "reno";

	if (is_established(ctx->op))
		bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	return 1;
}

/* Likewise with each round trip. */
SEC("sockops")
int chooses(struct bpf_sock_ops *ctx)
{
	char name[TCP_CA_NAME_MAX] = "reno";

	if (is_established(ctx->op))
		bpf_sock_ops_cb_flags_set(ctx,
					  ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RTT_CB_FLAG);
	if (ctx->op == BPF_SOCK_OPS_RTT_CB)
		bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, name, sizeof(name));
	return 1;
}

/* Does nothing: what is left of the costs is the kernel's. */
SEC("sockops")
int idles(struct bpf_sock_ops *ctx)
{
	return 1;
}
