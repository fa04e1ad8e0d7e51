/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * R-TCP in the kernel: measures each connection of a cgroup and switches it to the algorithm with
 * the smallest predicted latency.
 *
 * Source: rtcp, chapter 4. Measuring and choosing are plain C in decision.h and what it includes;
 * here is what binds them to sockets. The kernel decides alone: without the agent the switching
 * goes on as long as the link is pinned, and events that nobody reads are counted and dropped.
 */
#include "decision.h"
#include "kernel_bpf.h"
#include "switch_event.h"
#include "timeout_options.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Measuring and switching period (microseconds); 0: one smoothed round trip, at least 50 ms. */
const volatile u32 fixed_period_us = 0;
/* Whether the retransmission timer stays as the kernel has it. */
const volatile u32 kernel_timeouts = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct latency_table);
} latency_tables SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} switch_events SEC(".maps");

/* Switches that were made but not reported, because nobody read the events in time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} events_lost SEC(".maps");

static __always_inline const struct latency_table *latency_table(void)
{
	u32 zero = 0;

	return bpf_map_lookup_elem(&latency_tables, &zero);
}

/* A connection begins. One whose program chose its algorithm itself is left alone. */
static __always_inline void meet(struct bpf_sock_ops *ctx, struct bpf_sock *sk, struct tcp_sock *tp)
{
	const struct latency_table *table = latency_table();
	struct connection *c;

	if (!table)
		return;
	c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!c) {
		if (set_by_program(tcp_to_sock(tp)))
			return;
		c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!c)
			return;
		if (bpf_getsockopt(ctx, SOL_TCP, TCP_CONGESTION, c->original, TCP_CA_NAME_MAX) ||
		    !connection_met(c)) {
			bpf_sk_storage_delete(&connections, sk);
			return;
		}
	}
	measuring_begin(c, tp);
	belief_begin(&c->belief, table);
	if (!kernel_timeouts)
		timeouts_begin(ctx, &c->timeouts, tp);
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RTO_CB_FLAG |
					       BPF_SOCK_OPS_RETRANS_CB_FLAG |
					       BPF_SOCK_OPS_RTT_CB_FLAG);
}

static __always_inline void report(struct bpf_sock_ops *ctx, const struct connection *c,
				   const struct latency_table *table,
				   const struct decision *decision)
{
	struct switch_event *event;

	event = bpf_ringbuf_reserve(&switch_events, sizeof(*event), 0);
	if (!event) {
		u32 zero = 0;
		u64 *lost = bpf_map_lookup_elem(&events_lost, &zero);

		if (lost)
			__sync_fetch_and_add(lost, 1);
		return;
	}
	event->at_ns = bpf_ktime_get_ns();
	event->family = ctx->family;
	event->reason = REASON_PREDICTED_LATENCY;
	if (ctx->family == AF_INET) {
		event->local_address[0] = ctx->local_ip4;
		event->remote_address[0] = ctx->remote_ip4;
	} else {
		event->local_address[0] = ctx->local_ip6[0];
		event->local_address[1] = ctx->local_ip6[1];
		event->local_address[2] = ctx->local_ip6[2];
		event->local_address[3] = ctx->local_ip6[3];
		event->remote_address[0] = ctx->remote_ip6[0];
		event->remote_address[1] = ctx->remote_ip6[1];
		event->remote_address[2] = ctx->remote_ip6[2];
		event->remote_address[3] = ctx->remote_ip6[3];
	}
	event->local_port = ctx->local_port;
	event->remote_port = __builtin_bswap32(ctx->remote_port);
	__builtin_memcpy(event->from, c->current, sizeof(event->from));
	__builtin_memcpy(event->to, table->name[decision->to % TABLE_ALGORITHMS],
			 sizeof(event->to));
	event->measured = decision->measured;
	event->isolated_ppb = c->estimator.isolated_ppb;
	event->burst_ppb = c->estimator.burst_ppb;
	event->algorithms = table->algorithms;
	event->predicted_us = decision->prediction.latency_us;
	bpf_ringbuf_submit(event, 0);
}

/* Choose, and switch where the choice is another algorithm. */
static __always_inline void choose_and_switch(struct bpf_sock_ops *ctx, struct tcp_sock *tp,
					      struct connection *c,
					      const struct latency_table *table,
					      const struct corners *corners,
					      struct decision *decision)
{
	char in_use[TCP_CA_NAME_MAX] = {};
	const char *to;

	if (bpf_getsockopt(ctx, SOL_TCP, TCP_CONGESTION, in_use, sizeof(in_use)))
		return;
	if (is_left_alone(c, tp, in_use) || !decide(c, table, corners, decision))
		return;
	to = table->name[decision->to % TABLE_ALGORITHMS];
	switching(c, tp, to);
	if (bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, (void *)to, TCP_CA_NAME_MAX))
		return;
	report(ctx, c, table, decision);
	switched(c, to);
}

/* An RTT sample. */
static __always_inline void round_trip(struct bpf_sock_ops *ctx, struct tcp_sock *tp,
				       struct connection *c)
{
	const struct latency_table *table = latency_table();
	struct decision decision = {};
	struct period period = {};
	struct corners corners;
	bool is_over, is_due;

	if (!table)
		return;
	is_over = period_is_over(c, tp, ctx->args[0], fixed_period_us, &period);
	is_due = choice_is_due(c, tp);
	if (!is_over && !is_due)
		return;
	measure(c, tp, table, &decision.measured, &corners);
	if (is_over)
		learn(c, table, &corners, &period);
	if (is_due)
		choose_and_switch(ctx, tp, c, table, &corners, &decision);
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

SEC("sockops")
int switcher(struct bpf_sock_ops *ctx)
{
	struct bpf_sock *sk = ctx->sk;
	struct tcp_sock *tp;
	struct connection *c;

	if (!sk)
		return 1;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 1;
	if (ctx->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
	    ctx->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB) {
		meet(ctx, sk, tp);
		return 1;
	}
	c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!c)
		return 1;
	/* Also where the program has chosen an algorithm itself since: what is bounded must end. */
	if (!kernel_timeouts && ctx->op == BPF_SOCK_OPS_RTO_CB)
		timed_out(ctx, &c->timeouts, tp, ctx->args[0]);
	else if (!kernel_timeouts && ctx->op == BPF_SOCK_OPS_RTT_CB)
		timeouts_renew(ctx, &c->timeouts, tp);
	if (c->flags & CONNECTION_LEFT_ALONE)
		return 1;
	if (ctx->op == BPF_SOCK_OPS_RETRANS_CB)
		retransmitted(ctx, tp, c);
	else if (ctx->op == BPF_SOCK_OPS_RTT_CB)
		round_trip(ctx, tp, c);
	return 1;
}
