/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * These programs look for connections that the kernel does not tell of any more, because another
 * sock_ops program has taken our callbacks, and ask for the callbacks again.
 *
 * The first iterator runs over what is remembered, without a lock, and is the cheaper one; the
 * other runs over all TCP sockets of the reader's network namespace.
 */
#include "switcher/core/hearing.h"

char _license[] SEC("license") = "Dual BSD/GPL";

SEC("iter/bpf_sk_storage_map")
int unheard(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	const struct connection *c = ctx->value;
	struct sock *sk = ctx->sk;
	struct tcp_sock *tp;

	if (!c || !sk || ((const struct sock_common *)sk)->skc_state == TCP_CLOSE)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (tp && !is_heard(tp, c))
		BPF_SEQ_PRINTF(ctx->meta->seq, "1\n");
	return 0;
}

/* It prints a line for each: 1 where the kernel tells of it again, 0 where it cannot, as before
 * Linux 6.12. */
SEC("iter/tcp")
int heard_again(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp;
	struct connection *c;
	bool is_set;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	c = bpf_sk_storage_get(&connections, tp, 0, 0);
	if (!c || is_heard(tp, c))
		return 0;
	is_set = host_set_option(tp, tp, TCP_BPF_SOCK_OPS_CB_FLAGS, hear_again(tp, c));
	BPF_SEQ_PRINTF(ctx->meta->seq, "%d\n", is_set);
	return 0;
}
