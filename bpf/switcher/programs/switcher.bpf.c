/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The switcher in the kernel measures each connection that the operator's policy names, and
 * switches it to the algorithm that is expected to answer soonest.
 *
 * Only what binds lifecycle.h to sockets is here. The kernel decides alone: without the agent the
 * switching goes on as long as the link is pinned.
 */
#include "switcher/core/lifecycle.h"
#include "switcher/bind/waiting.h"

char _license[] SEC("license") = "Dual BSD/GPL";

static __always_inline u32 call(void *sock, struct tcp_sock *tp, const struct policy *policy,
				const struct call *call)
{
	record_begin(tp, policy->generation, call);
	return record_end(tp, happened(sock, tp, policy, call));
}

/* Something is done about these operations. The kernel asks many more questions of each new
 * connection. */
#define OPERATIONS \
	(1 << BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB | 1 << BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB | \
	 1 << BPF_SOCK_OPS_RTO_CB | 1 << BPF_SOCK_OPS_RETRANS_CB | 1 << BPF_SOCK_OPS_STATE_CB | \
	 1 << BPF_SOCK_OPS_RTT_CB | 1 << BPF_SOCK_OPS_HDR_OPT_LEN_CB)

/* Returns whether a connection that is not remembered has stayed local, so that nothing is to be
 * done. There may be many of these, with nothing to be gained: they are told apart before the
 * socket is looked at. */
static __always_inline bool has_stayed_local(const struct bpf_sock_ops *ctx,
					     const struct policy *policy)
{
	return ctx->op == BPF_SOCK_OPS_RTT_CB &&
	       are_callbacks(ctx->bpf_sock_ops_cb_flags, WAITING_MARK) &&
	       is_local_rtt(ctx->srtt_us, policy);
}

SEC("sockops")
int switcher(struct bpf_sock_ops *ctx)
{
	struct call what = {.op = ctx->op};
	const struct policy *policy;
	struct bpf_sock *sk;
	struct tcp_sock *tp;
	u32 callbacks;

	if (what.op >= 32 || !(OPERATIONS >> what.op & 1))
		return 1;
	policy = active_policy();
	if (!policy || has_stayed_local(ctx, policy))
		return 1;
	sk = ctx->sk;
	if (!sk)
		return 1;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 1;
	/* A segment about to be sent has a length; what is only measured for one has none. */
	if (what.op == BPF_SOCK_OPS_HDR_OPT_LEN_CB && !ctx->skb_len)
		return 1;
	what.args[0] = ctx->args[0];
	what.args[1] = ctx->args[1];
	what.args[2] = ctx->args[2];
	if (what.op == BPF_SOCK_OPS_RTO_CB)
		tell_waiting(tp, what.args[0]);
	callbacks = call(ctx, tp, policy, &what);
	if (callbacks)
		bpf_sock_ops_cb_flags_set(ctx, callbacks);
	return 1;
}

/*
 * This iterator adopts connections that are open when the agent starts, and all of them when the
 * policy has changed. It runs over all TCP sockets of the reader's network namespace and prints a
 * line for each connection that is remembered.
 */
SEC("iter/tcp")
int adopt(struct bpf_iter__tcp *ctx)
{
	const struct policy *policy = active_policy();
	const struct call found = {.op = CALL_FOUND};
	struct sock_common *skc = ctx->sk_common;
	struct tcp_sock *tp;
	u32 callbacks;

	if (!skc || !policy || !is_open(skc->skc_state))
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	/* Nothing is begun where the kernel cannot be told to call back, as before Linux 6.12. */
	callbacks = tp->bpf_sock_ops_cb_flags;
	if (bpf_setsockopt(tp, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &callbacks, sizeof(callbacks)))
		return 0;
	callbacks = call(tp, tp, policy, &found);
	if (callbacks)
		bpf_setsockopt(tp, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &callbacks,
			       sizeof(callbacks));
	if (bpf_sk_storage_get(&connections, tp, 0, 0))
		BPF_SEQ_PRINTF(ctx->meta->seq, "1\n");
	return 0;
}
