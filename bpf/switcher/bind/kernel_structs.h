/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The switcher uses this of the kernel beyond kernel.h: sock_ops, iterators, socket options. */
#ifndef KIRIKAE_KERNEL_STRUCTS_H
#define KIRIKAE_KERNEL_STRUCTS_H

#include "kernel/kernel.h"
#include "kernel/sock_ops.h"

/* linux/bpf.h has more; only what is used is here. libbpf moves the accesses to the right offsets.
 */
struct bpf_sock_ops {
	u32 op;
	u32 args[4];
	u32 family;
	u32 remote_ip4;
	u32 local_ip4;
	u32 remote_ip6[4];
	u32 local_ip6[4];
	u32 remote_port; /* network byte order, in the upper half where that is little-endian */
	u32 local_port;	 /* host byte order */
	u32 bpf_sock_ops_cb_flags;
	u32 srtt_us; /* smoothed RTT, microseconds << 3 */
	u32 skb_len;
	struct bpf_sock *sk;
} KERNEL_STRUCT;

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1 };
enum { BPF_SK_STORAGE_GET_F_CREATE = 1 };

#define AF_INET 2
#define SOL_TCP 6
#define TCP_CONGESTION 13

struct in6_addr {
	union {
		__be32 u6_addr32[4];
	} in6_u;
} KERNEL_STRUCT;

/* A struct sock begins with this. */
struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	__be16 skc_dport;
	u16 skc_num; /* local port, host byte order */
	u16 skc_family;
	volatile unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
} KERNEL_STRUCT;

struct ns_common {
	u32 inum;
} KERNEL_STRUCT;

struct netns_ipv4 {
	u8 sysctl_tcp_retries2;
} KERNEL_STRUCT;

struct net {
	u64 net_cookie;
	struct ns_common ns;
	struct netns_ipv4 ipv4;
} KERNEL_STRUCT;

struct sock_common___net {
	struct {
		struct net *net;
	} skc_net;
} KERNEL_STRUCT;

struct kernfs_node {
	u64 id;
} KERNEL_STRUCT;

struct cgroup {
	int level; /* the root's is 0 */
	struct kernfs_node *kn;
	struct cgroup *ancestors[]; /* by level, itself as well */
} KERNEL_STRUCT;

struct sock_cgroup_data {
	struct cgroup *cgroup;
} KERNEL_STRUCT;

/* No algorithm needs this of a struct sock. The name ends where libbpf sees three underlines. */
struct sock___cgroup {
	struct sock_cgroup_data sk_cgrp_data;
} KERNEL_STRUCT;

struct net_device {
	int ifindex;
} KERNEL_STRUCT;

struct dst_entry {
	struct net_device *dev;
} KERNEL_STRUCT;

struct sock___route {
	struct dst_entry *sk_dst_cache;
} KERNEL_STRUCT;

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
} KERNEL_STRUCT;

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
} KERNEL_STRUCT;

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
} KERNEL_STRUCT;

#endif
