/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Puts connections back on the algorithm and the timeouts they had when the switcher met them.
 *
 * Iterators: reading one runs it over all TCP sockets of the reader's network namespace, or over
 * all connections that the switcher remembers, wherever they are. What they print is for the
 * agent: one line a connection.
 */
#include "../include/connection.h"
#include "kernel_bpf.h"
#include "names.h"
#include "timeout_options.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* What a struct sock begins with. */
struct sock_common {
	volatile unsigned char skc_state;
} KERNEL_STRUCT;

enum { TCP_CLOSE = 7 };

/* Even in Recovery or Loss, where a switch loses a pending undo: at the end of the waiting. */
const volatile bool in_recovery_too = false;

SEC("iter/tcp")
int restore(struct bpf_iter__tcp *ctx)
{
	char by_way_of[TCP_CA_NAME_MAX] = "kk_cubic";
	char in_use[TCP_CA_NAME_MAX] = {};
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp;
	struct connection *c;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	c = bpf_sk_storage_get(&connections, tp, 0, 0);
	if (!c)
		return 0;
	if (bpf_getsockopt(tp, SOL_TCP, TCP_CONGESTION, in_use, sizeof(in_use)))
		return 0;
	/* Where another is in use, the program has taken it since, and keeps it. */
	if (same_name(in_use, c->current) && !same_name(c->current, c->original)) {
		if (ca_state(tcp_to_sock(tp)) >= TCP_CA_Recovery && !in_recovery_too)
			return 0;
		/* The init and release of ours undo what bbr leaves behind. */
		if (is_bbr(c->current))
			bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, by_way_of, TCP_CA_NAME_MAX);
		if (bpf_setsockopt(tp, SOL_TCP, TCP_CONGESTION, c->original, TCP_CA_NAME_MAX))
			return 0;
		BPF_SEQ_PRINTF(ctx->meta->seq, "%s to %s\n", c->current, c->original);
	}
	timeouts_restore(tp, &c->timeouts);
	bpf_sk_storage_delete(&connections, tp);
	return 0;
}

/*
 * A closed socket that its program still holds is in no table that iter/tcp walks, and sends
 * nothing. (Should the program connect it again, it begins with the algorithm it was left.)
 */
static __always_inline bool is_closed(const struct sock *sk)
{
	return ((const struct sock_common *)sk)->skc_state == TCP_CLOSE;
}

SEC("iter/bpf_sk_storage_map")
int remaining(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	const struct sock *sk = ctx->sk;

	if (sk && !is_closed(sk))
		BPF_SEQ_PRINTF(ctx->meta->seq, "1\n");
	return 0;
}

/* Closed sockets that had been switched. */
SEC("iter/bpf_sk_storage_map")
int closed(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	const struct connection *c = ctx->value;
	const struct sock *sk = ctx->sk;

	if (!c || !sk)
		return 0;
	if (is_closed(sk) && !same_name(c->current, c->original))
		BPF_SEQ_PRINTF(ctx->meta->seq, "1\n");
	return 0;
}
