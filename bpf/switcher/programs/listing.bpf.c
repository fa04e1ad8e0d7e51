/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This program lists all connections that the switcher remembers, in whatever network namespace,
 * for people to see. */
#include "interface/listed.h"
#include "switcher/bind/kernel_structs.h"
#include "switcher/bind/match_key.h"
#include "switcher/core/policy_match.h"
#include "switcher/core/streams.h"

char _license[] SEC("license") = "Dual BSD/GPL";

struct tcp_congestion_ops___name {
	char name[TCP_CA_NAME_MAX];
} KERNEL_STRUCT;

struct inet_connection_sock___algorithm {
	const struct tcp_congestion_ops___name *icsk_ca_ops;
} KERNEL_STRUCT;

static __always_inline void list_socket(struct listed *l, const struct tcp_sock *tp)
{
	const struct inet_connection_sock___algorithm *icsk = (const void *)tp;
	const struct sock_common *skc = (const void *)tp;

	ends_of(tp, &l->ends);
	l->namespace = namespace_inode_of(tp);
	l->state = skc->skc_state;
	l->srtt_us = tp->srtt_us >> 3;
	l->cwnd = tp->snd_cwnd;
	l->ssthresh = tp->snd_ssthresh;
	l->mss = tp->mss_cache;
	l->bytes_sent = tp->bytes_sent;
	l->bytes_retrans = tp->bytes_retrans;
	l->backlog = tp->write_seq - tp->snd_una;
	l->pacing_rate = tcp_to_sock(tp)->sk_pacing_status == SK_PACING_NONE
				 ? ~0ULL
				 : tcp_to_sock(tp)->sk_pacing_rate;
	BPF_CORE_READ_INTO(&l->in_use, icsk, icsk_ca_ops, name);
}

static __always_inline void list_connection(struct listed *l, const struct connection *c)
{
	l->latest_switch_ns = c->latest_switch.at_ns;
	l->reason = c->latest_switch.reason;
	l->flags = c->flags;
	l->generation = c->place.generation;
	l->scope = c->place.scope;
	l->is_held_back = is_held_back(c);
	l->switches = c->switches;
	l->isolated_ppb = c->estimator.isolated_ppb;
	l->burst_ppb = c->estimator.burst_ppb;
	l->burst_latency_us = c->bursts.latest_us;
	l->burst_bytes = c->bursts.bytes;
	if (is_stream(&c->stream)) {
		l->stream_demand = c->stream.demand;
		l->stream_latency_us = stream_latency_us(&c->stream);
	}
	__builtin_memcpy(l->original, c->original, sizeof(l->original));
	__builtin_memcpy(l->chosen, c->chosen, sizeof(l->chosen));
	l->measured = c->decision.measured;
	l->predicted_us = c->decision.prediction.latency_us;
}

SEC("iter/bpf_sk_storage_map")
int listing(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	const struct connection *c = ctx->value;
	struct sock *sk = ctx->sk;
	struct listed l = {};
	struct tcp_sock *tp;

	if (!c || !sk)
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	list_socket(&l, tp);
	list_connection(&l, c);
	bpf_seq_write(ctx->meta->seq, &l, sizeof(l));
	return 0;
}
