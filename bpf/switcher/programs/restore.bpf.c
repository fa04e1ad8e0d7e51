/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * These programs restore connections to the algorithm and the timeouts they had when the switcher
 * met them.
 *
 * They are iterators: reading one runs it over all TCP sockets of the reader's network namespace,
 * or over all connections that the switcher remembers, wherever they are. What they print is for
 * the agent: one line a connection.
 *
 * They are pinned while there is something to restore, and an agent of another version runs these,
 * not its own: so neither their names nor what they print may change.
 */
#include "switcher/bind/match_key.h"
#include "switcher/core/hearing.h"
#include "switcher/core/restore.h"

char _license[] SEC("license") = "Dual BSD/GPL";

static __always_inline int restore_socket(struct bpf_iter__tcp *ctx, bool in_recovery_too)
{
	struct sock_common *skc = ctx->sk_common;
	enum restored restored;
	struct tcp_sock *tp;
	struct connection *c;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	c = bpf_sk_storage_get(&connections, tp, 0, 0);
	if (!c) {
		if (has_waiting_mark(tp))
			host_set_option(tp, tp, TCP_BPF_SOCK_OPS_CB_FLAGS,
					tp->bpf_sock_ops_cb_flags & ~WAITING_MARK);
		return 0;
	}
	restored = restore_connection(tp, tp, c, in_recovery_too);
	if (restored == NOT_RESTORED)
		return 0;
	if (restored == RESTORED)
		BPF_SEQ_PRINTF(ctx->meta->seq, "%s to %s\n", c->current, c->original);
	leave_callbacks(tp, tp, c);
	bpf_sk_storage_delete(&connections, tp);
	return 0;
}

SEC("iter/tcp")
int restore(struct bpf_iter__tcp *ctx)
{
	return restore_socket(ctx, false);
}

/* At the end of the waiting, connections are restored even in Recovery or Loss, where a switch
 * loses a pending undo_cwnd. */
SEC("iter/tcp")
int restore_in_recovery(struct bpf_iter__tcp *ctx)
{
	return restore_socket(ctx, true);
}

/*
 * A closed socket that its program still holds is in no table that iter/tcp walks, and sends
 * nothing. (Should the program connect it again, it begins with the algorithm it was left.)
 */
static __always_inline bool is_closed(const struct sock *sk)
{
	return ((const struct sock_common *)sk)->skc_state == TCP_CLOSE;
}

/* Its program has closed it: it sends what is left and ends. What has not been accepted yet has no
 * program either. */
static __always_inline bool is_orphan(const struct sock *sk)
{
	return !is_open(((const struct sock_common *)sk)->skc_state) && !sk->sk_socket;
}

/* Prints the inode of the network namespace of each that is still remembered, and that a program
 * may still use. */
SEC("iter/bpf_sk_storage_map")
int remaining(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct tcp_sock *tp;

	if (!sk || is_closed(sk) || is_orphan(sk))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (tp)
		BPF_SEQ_PRINTF(ctx->meta->seq, "%u\n", namespace_inode_of(tp));
	return 0;
}

/* Prints a line for each closed socket that had been switched. */
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
