/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * R-TCP in the kernel: measures each connection of a cgroup and switches it to the algorithm with
 * the smallest predicted latency.
 *
 * Source: rtcp, chapter 4. Measuring and choosing are plain C in the headers beside this file;
 * here is what binds them to sockets. The kernel decides alone: without the agent the switching
 * goes on as long as the link is pinned, and events that nobody reads are counted and dropped.
 */
#include "choice.h"
#include "estimator.h"
#include "kernel_bpf.h"
#include "switch_event.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* Measuring and switching period (microseconds); 0: one smoothed round trip, at least 50 ms. */
const volatile u32 fixed_period_us = 0;

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

/* The column that describes an algorithm; the first one, cubic's, for those the table lacks. */
static __always_inline u32 column_of(const struct latency_table *table, const char *name)
{
	for (u32 i = 0; i < TABLE_ALGORITHMS && i < table->algorithms; i++)
		if (same_name(table->name[i], name) || same_name(table->also[i], name))
			return i;
	return 0;
}

/* Whether TCP_CONGESTION was set on a socket. A switch of ours sets the kernel's flag, too. */
static __always_inline bool program_chose(struct tcp_sock *tp)
{
	return BPF_CORE_READ_BITFIELD(inet_csk(tcp_to_sock(tp)), icsk_ca_setsockopt);
}

/*
 * A connection begins. One whose program chose its algorithm itself is left alone, and so is one
 * that dctcp carries: that lives from the marks of a data centre's switches, not from losses.
 */
static __always_inline void meet(struct bpf_sock_ops *ctx, struct bpf_sock *sk, struct tcp_sock *tp)
{
	const struct latency_table *table = latency_table();
	char dctcp[TCP_CA_NAME_MAX] = "dctcp";
	struct connection *c;

	if (!table)
		return;
	c = bpf_sk_storage_get(&connections, sk, 0, 0);
	if (!c) {
		if (program_chose(tp))
			return;
		c = bpf_sk_storage_get(&connections, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
		if (!c)
			return;
		if (bpf_getsockopt(ctx, SOL_TCP, TCP_CONGESTION, c->original, TCP_CA_NAME_MAX) ||
		    same_name(c->original, dctcp)) {
			bpf_sk_storage_delete(&connections, sk);
			return;
		}
		__builtin_memcpy(c->current, c->original, sizeof(c->current));
		c->algorithm = column_of(table, c->original);
	}
	/* A socket that is connected anew still has what it was given, but its counts begin at 0.
	 */
	__builtin_memset(&c->estimator, 0, sizeof(c->estimator));
	__builtin_memset(&c->runs, 0, sizeof(c->runs));
	c->runs.dsack_dups = tp->dsack_dups;
	bpf_sock_ops_cb_flags_set(ctx, ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RETRANS_CB_FLAG |
					       BPF_SOCK_OPS_RTT_CB_FLAG);
}

static __always_inline void report(struct bpf_sock_ops *ctx, const struct connection *c,
				   const struct measured *m, const struct latency_table *table,
				   const struct columns *predicted_us)
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
	__builtin_memcpy(event->to, table->name[m->algorithm % TABLE_ALGORITHMS],
			 sizeof(event->to));
	event->rtt_us = m->rtt_us;
	event->isolated_ppb = m->isolated_ppb;
	event->burst_ppb = m->burst_ppb;
	event->algorithms = table->algorithms;
	event->predicted_us = *predicted_us;
	bpf_ringbuf_submit(event, 0);
}

/*
 * Step 7: sequence state, cwnd and ssthresh are kept; the new algorithm's init mends the rest. A
 * connection that was in bbr when met never had a ssthresh: its window takes the place where it
 * has lost something, and where it has not, slow start goes on.
 */
static __always_inline bool switch_to(struct bpf_sock_ops *ctx, struct tcp_sock *tp,
				      struct connection *c, const char *name)
{
	bool from_bbr = is_bbr(c->current), to_bbr = is_bbr(name);

	if (to_bbr)
		c->ssthresh_before_bbr = tp->snd_ssthresh;
	else if (from_bbr && !c->ssthresh_before_bbr && c->runs.segments)
		c->ssthresh_before_bbr = tp->snd_cwnd;
	if (bpf_setsockopt(ctx, SOL_TCP, TCP_CONGESTION, (void *)name, TCP_CA_NAME_MAX))
		return false;
	if (!to_bbr)
		c->ssthresh_before_bbr = 0;
	return true;
}

/* New rates: choose, and switch where the choice is another algorithm. */
static __always_inline void decide(struct bpf_sock_ops *ctx, struct tcp_sock *tp,
				   struct connection *c)
{
	const struct latency_table *table = latency_table();
	struct columns predicted_us = {};
	char in_use[TCP_CA_NAME_MAX] = {};
	struct measured measured = {
		.rtt_us = tp->srtt_us >> 3,
		.isolated_ppb = c->estimator.isolated_ppb,
		.burst_ppb = c->estimator.burst_ppb,
		.algorithm = c->algorithm,
	};
	u32 best;

	if (!table)
		return;
	if (bpf_getsockopt(ctx, SOL_TCP, TCP_CONGESTION, in_use, sizeof(in_use)))
		return;
	if (!same_name(in_use, c->current) || (!c->switches && program_chose(tp))) {
		c->flags |= CONNECTION_LEFT_ALONE; /* the program has chosen since */
		return;
	}
	best = choose(table, &measured, &predicted_us) % TABLE_ALGORITHMS;
	if (same_name(table->name[best], c->current))
		return;
	if (!switch_to(ctx, tp, c, table->name[best]))
		return;
	measured.algorithm = best;
	report(ctx, c, &measured, table, &predicted_us);
	c->algorithm = best;
	__builtin_memcpy(c->current, table->name[best], sizeof(c->current));
	c->switches++;
}

/* An ACK brought an RTT sample. */
static __always_inline void acked(struct bpf_sock_ops *ctx, struct tcp_sock *tp,
				  struct connection *c)
{
	u32 period_us = estimator_period_us(fixed_period_us, tp->srtt_us >> 3);

	loss_runs_dsack(&c->runs, tp->dsack_dups);
	if (estimator_update(&c->estimator, &c->runs, tp->tcp_mstamp, period_us, tp->data_segs_out))
		c->flags |= CONNECTION_CHOICE_DUE;
	/* Never in Recovery or Loss, where a pending undo would be lost, nor on the way there. */
	if (!(c->flags & CONNECTION_CHOICE_DUE) || ca_state(tcp_to_sock(tp)) != TCP_CA_Open)
		return;
	/* Nor while bbr measures the RTT: its successor would go on with that window. */
	if (is_bbr(c->current) && tp->snd_cwnd <= BBR_PROBE_RTT_CWND)
		return;
	c->flags &= ~CONNECTION_CHOICE_DUE;
	decide(ctx, tp, c);
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
	if (!c || c->flags & CONNECTION_LEFT_ALONE)
		return 1;
	if (ctx->op == BPF_SOCK_OPS_RTT_CB)
		acked(ctx, tp, c);
	else if (ctx->op == BPF_SOCK_OPS_RETRANS_CB)
		retransmitted(ctx, tp, c);
	return 1;
}
