/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a rule may ask of a connection is taken from the kernel's socket. */
#ifndef KIRIKAE_MATCH_KEY_H
#define KIRIKAE_MATCH_KEY_H

#include "interface/policy.h"
#include "switcher/bind/kernel_structs.h"

#define MAPPED_IPV4 __builtin_bswap32(0xffff)

static __always_inline void address_of(struct address *address, u16 family, __be32 ipv4,
				       const struct in6_addr *ipv6)
{
	if (family == AF_INET) {
		address->word[2] = MAPPED_IPV4;
		address->word[3] = ipv4;
		return;
	}
	for (u32 i = 0; i < 4; i++)
		address->word[i] = ipv6->in6_u.u6_addr32[i];
}

static __always_inline void ends_of(const struct tcp_sock *tp, struct ends *ends)
{
	const struct sock_common *skc = (const struct sock_common *)tp;

	address_of(&ends->local, skc->skc_family, skc->skc_rcv_saddr, &skc->skc_v6_rcv_saddr);
	address_of(&ends->remote, skc->skc_family, skc->skc_daddr, &skc->skc_v6_daddr);
	ends->local_port = skc->skc_num;
	ends->remote_port = __builtin_bswap16(skc->skc_dport);
}

/* Returns the low bits of the cookie of its network namespace: no other namespace has the same
 * until four billion have been made. Its inode is given to another as soon as it is gone. */
static __always_inline u32 namespace_of(const struct tcp_sock *tp)
{
	const struct sock_common___net *sk = (const void *)tp;

	return BPF_CORE_READ(sk, skc_net.net, net_cookie);
}

/* Returns the inode of its network namespace, by which people and /proc name it. */
static __always_inline u32 namespace_inode_of(const struct tcp_sock *tp)
{
	const struct sock_common___net *sk = (const void *)tp;

	return BPF_CORE_READ(sk, skc_net.net, ns.inum);
}

/* Returns the index of the interface over which it sends; 0: it has no route. */
static __always_inline u32 interface_of(const struct tcp_sock *tp)
{
	const struct sock___route *sk = (const void *)tp;

	return BPF_CORE_READ(sk, sk_dst_cache, dev, ifindex);
}

/* Writes down the cgroup that the socket, or its listener, was made in, and those above it. */
static __always_inline void cgroups_of(const struct tcp_sock *tp, struct match_key *key)
{
	const struct sock___cgroup *sk = (const void *)tp;
	const struct cgroup *cgroup = sk->sk_cgrp_data.cgroup;
	const struct cgroup *ancestor;
	u32 level = BPF_CORE_READ(cgroup, level);

	for (u32 i = 0; i < CGROUP_LEVELS && i <= level; i++) {
		bpf_core_read(&ancestor, sizeof(ancestor), &cgroup->ancestors[i]);
		key->cgroup[i] = BPF_CORE_READ(ancestor, kn, id);
	}
}

#endif
