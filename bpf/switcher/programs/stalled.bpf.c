/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This program lists the connections that wait for a retransmission timer that has backed off, in
 * whatever network namespace: those that the agent makes send at once when their path may be back
 * (docs/outages.md).
 */
#include "interface/stalled.h"
#include "switcher/bind/match_key.h"
#include "switcher/bind/revival.h"
#include "switcher/core/timeout_options.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* The bits of inet_flags by which a program asks to be told of ICMP messages as of errors
 * (IP_RECVERR, IPV6_RECVERR), which the agent looks up. */
const volatile u64 recverr = 0;
const volatile u64 recverr6 = 0;

/* Linux 6.6 and later. */
struct inet_sock___flags {
	unsigned long inet_flags;
} KERNEL_STRUCT;

/* Earlier ones. */
struct inet_sock___members {
	__u8 recverr : 1;
} KERNEL_STRUCT;

struct inet_connection_sock___timer {
	__u8 icsk_retransmits;
	__u8 icsk_backoff;
} KERNEL_STRUCT;

/* Its program would take the message that makes it send for a failure of the connection. Where the
 * kernel does not tell, as of IPv6 before Linux 6.7, it may. */
static __always_inline bool wants_errors(const struct tcp_sock *tp)
{
	const struct sock_common *skc = (const struct sock_common *)tp;
	const struct inet_sock___members *members = (const void *)tp;
	const struct inet_sock___flags *flags = (const void *)tp;

	if (skc->skc_family != AF_INET && !recverr6)
		return true;
	if (bpf_core_field_exists(flags->inet_flags))
		return !recverr || BPF_CORE_READ(flags, inet_flags) & (recverr | recverr6);
	return !bpf_core_field_exists(members->recverr) ||
	       BPF_CORE_READ_BITFIELD_PROBED(members, recverr);
}

SEC("iter/bpf_sk_storage_map")
int stalled(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	const struct inet_connection_sock___timer *icsk;
	const struct connection *c = ctx->value;
	struct sock *sk = ctx->sk;
	struct stalled s = {};
	struct tcp_sock *tp;
	u64 now_ns;

	if (!c || !sk || !revival_scope(c))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	icsk = (const void *)tp;
	s.back_off = BPF_CORE_READ(icsk, icsk_backoff);
	if (!s.back_off || !BPF_CORE_READ(icsk, icsk_retransmits) || wants_errors(tp))
		return 0;
	ends_of(tp, &s.ends);
	s.namespace = namespace_of(tp);
	s.interface = interface_of(tp);
	s.snd_una = tp->snd_una;
	s.rto_us = timeout_us(tp);
	s.most_us = c->timeouts.kernel_max_ms ? BOUNDED_RTO_MS * USEC_PER_MSEC : ~0U;
	now_ns = bpf_ktime_get_ns();
	if (now_ns > tp->tcp_wstamp_ns)
		s.waited_us = min((now_ns - tp->tcp_wstamp_ns) / 1000, (u64)~0U);
	bpf_seq_write(ctx->meta->seq, &s, sizeof(s));
	return 0;
}

/* Prints the network namespace of each connection that is open. */
SEC("iter/bpf_sk_storage_map")
int namespaces(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	struct sock *sk = ctx->sk;
	struct tcp_sock *tp;
	struct open_namespace namespace;

	if (!ctx->value || !sk || !is_open(((const struct sock_common *)sk)->skc_state))
		return 0;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return 0;
	namespace.cookie = namespace_of(tp);
	namespace.inode = namespace_inode_of(tp);
	bpf_seq_write(ctx->meta->seq, &namespace, sizeof(namespace));
	return 0;
}
