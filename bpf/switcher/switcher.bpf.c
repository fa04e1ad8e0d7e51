/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * R-TCP in the kernel: measures each connection that the operator's policy names and switches it to
 * the algorithm with the smallest predicted latency.
 *
 * Source: rtcp, chapter 4. Measuring and choosing are plain C in decision.h and what it includes;
 * here is what binds them to sockets. The kernel decides alone: without the agent the switching
 * goes on as long as the link is pinned.
 */
#include "meeting.h"
#include "reporting.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* A program has set another algorithm than was given: the connection is left alone, unless the
 * policy overrules programs. Then that one is the one in use, and given back in the end. */
static __always_inline bool is_taken_away(struct connection *c, const struct tcp_sock *tp,
					  const struct scope *scope, const char *in_use)
{
	if (!(scope->flags & SCOPE_OVERRULES))
		return is_left_alone(c, tp, in_use);
	if (!same_name(in_use, c->current)) {
		__builtin_memcpy(c->original, in_use, sizeof(c->original));
		c->flags |= CONNECTION_OVERRULED;
		connection_met(c);
	}
	return false;
}

/* Choose, and switch where the choice is another algorithm. */
static __always_inline void choose_and_switch(struct bpf_sock_ops *ctx, struct tcp_sock *tp,
					      struct connection *c, const struct scope *scope,
					      const struct latency_table *table)
{
	bool is_observed = scope->flags & SCOPE_OBSERVED;
	char in_use[TCP_CA_NAME_MAX] = {};
	const char *to;

	if (bpf_getsockopt(ctx, SOL_TCP, TCP_CONGESTION, in_use, sizeof(in_use)))
		return;
	if (is_taken_away(c, tp, scope, in_use) || !decide(c, scope, table, &c->decision))
		return;
	to = table->name[c->decision.to % TABLE_ALGORITHMS];
	if (!is_observed) {
		switching(c, tp, to);
		if (bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, (void *)to, TCP_CA_NAME_MAX))
			return;
	}
	report(tp, c, REASON_PREDICTED_LATENCY, scope, table);
	if (is_observed)
		chosen(c, to);
	else
		switched(c, to);
}

/*
 * An RTT sample. A function for the sake of the stack. Returns 1, as the program does: the verifier
 * wants a number to be returned, and the compiler leaves out one that it knows.
 */
static __attribute__((noinline)) int round_trip(struct bpf_sock_ops *ctx, struct tcp_sock *tp,
						struct connection *c, const struct scope *scope)
{
	const struct latency_table *table = latency_table(scope);
	struct corners corners;
	struct period period = {};
	bool is_over, is_due;

	if (!table)
		return 1;
	is_over = period_is_over(c, tp, ctx->args[0], scope->period_us, &period);
	is_due = choice_is_due(c, tp);
	count_burst(c, scope);
	if (!is_over && !is_due)
		return 1;
	measure(c, tp, scope, table, &c->decision.measured, &corners);
	if (is_over)
		learn(c, table, &corners, &period);
	if (is_due && !is_held_back(c, scope) &&
	    c->decision.measured.rtt_us >= scope->least_rtt_us) {
		predict(table, &corners, &c->belief, &c->decision.prediction);
		choose_and_switch(ctx, tp, c, scope, table);
	}
	return read_now(1);
}

/* Segments were sent again, or, where args[2] is an error, could not be. */
static __always_inline void retransmitted(struct bpf_sock_ops *ctx, struct tcp_sock *tp,
					  struct connection *c)
{
	u32 bytes = (u32)tp->bytes_retrans - c->runs.bytes_retrans;

	c->runs.bytes_retrans = tp->bytes_retrans;
	if (!ctx->args[2])
		loss_runs_retransmit(&c->runs, ctx->args[0], ctx->args[1], bytes);
}

/* Also where the program has chosen an algorithm itself since: what is bounded must end. */
static __always_inline void keep_time(struct bpf_sock_ops *ctx, struct tcp_sock *tp,
				      struct connection *c)
{
	if (ctx->op == BPF_SOCK_OPS_RTO_CB)
		timed_out(ctx, &c->timeouts, tp, ctx->args[0]);
	else if (ctx->op == BPF_SOCK_OPS_RTT_CB)
		timeouts_renew(ctx, &c->timeouts, tp);
}

/* Without a scope a connection keeps what it has until it has followed: no choice is made, and a
 * timer that was changed is still kept. */
static __always_inline int happened(struct bpf_sock_ops *ctx, struct tcp_sock *tp,
				    struct connection *c, const struct scope *scope)
{
	if (scope ? has_timeouts(c, scope) : timeouts_are_changed(&c->timeouts))
		keep_time(ctx, tp, c);
	if (c->flags & CONNECTION_LEFT_ALONE)
		return 1;
	if (ctx->op == BPF_SOCK_OPS_RTT_CB)
		return scope ? round_trip(ctx, tp, c, scope) : 1;
	if (ctx->op == BPF_SOCK_OPS_RETRANS_CB)
		retransmitted(ctx, tp, c);
	else if (ctx->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB && ctx->skb_len)
		next_burst(&c->bursts, tp, 0);
	return 1;
}

static __always_inline void call_back(struct bpf_sock_ops *ctx, u32 callbacks)
{
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | callbacks);
}

SEC("sockops")
int switcher(struct bpf_sock_ops *ctx)
{
	const struct policy *policy = policy_in_force();
	struct bpf_sock *sk = ctx->sk;
	struct connection *c;
	struct tcp_sock *tp;

	if (!sk || !policy)
		return 1;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 1;
	if (ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
	    ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) {
		call_back(ctx, meet(ctx, tp, policy));
		return 1;
	}
	c = bpf_sk_storage_get(&connections, tp, 0, 0);
	if (!c)
		return 1;
	if (c->place.generation != policy->generation)
		call_back(ctx, follow(ctx, tp, c, policy));
	return happened(ctx, tp, c, scope_in_force(policy, &c->place));
}

/*
 * Connections that are open when the agent starts, and all of them when the policy has changed: an
 * iterator over all TCP sockets of the reader's network namespace. It prints a line for each that
 * is remembered.
 */
SEC("iter/tcp")
int adopt(struct bpf_iter__tcp *ctx)
{
	const struct policy *policy = policy_in_force();
	struct sock_common *skc = ctx->sk_common;
	struct connection *c;
	struct tcp_sock *tp;
	u32 callbacks;

	if (!skc || !policy ||
	    (skc->skc_state != TCP_ESTABLISHED && skc->skc_state != TCP_CLOSE_WAIT))
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	/* Where the kernel cannot be told to call back, before Linux 6.12, nothing is begun. */
	callbacks = tcp_option(tp, TCP_BPF_SOCK_OPS_CB_FLAGS);
	if (!set_tcp_option(tp, TCP_BPF_SOCK_OPS_CB_FLAGS, callbacks))
		return 0;
	c = bpf_sk_storage_get(&connections, tp, 0, 0);
	if (!c)
		callbacks |= meet(tp, tp, policy);
	else if (c->place.generation != policy->generation)
		callbacks |= follow(tp, tp, c, policy);
	if (!bpf_sk_storage_get(&connections, tp, 0, 0))
		return 0;
	set_tcp_option(tp, TCP_BPF_SOCK_OPS_CB_FLAGS, callbacks);
	BPF_SEQ_PRINTF(ctx->meta->seq, "1\n");
	return 0;
}
