/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The path memory's sets are a map, and a connection's place in it follows from its socket. */
#ifndef KIRIKAE_PATH_SETS_H
#define KIRIKAE_PATH_SETS_H

#include "switcher/bind/match_key.h"
#include "switcher/core/path_memory.h"

/* The agent says how many sets there are, makes up a secret, and says in which namespace it is. */
const volatile u32 path_sets_count = 1;
const volatile u64 path_secret = 0;
const volatile u32 path_own_namespace = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct path_set);
} path_sets SEC(".maps");

/* The age of an entry goes on while the host is asleep. */
static __always_inline u32 boot_time_s(void)
{
	return bpf_ktime_get_boot_ns() / 1000000000ULL;
}

/* Returns NULL where the memory has no room at all. */
static __always_inline struct path_set *path_set_of(const struct path_key *key)
{
	struct path_spread spread = {
		.secret = path_secret,
		.sets = path_sets_count,
		.own_namespace = path_own_namespace,
	};
	u32 place = path_place(key, &spread);

	return bpf_map_lookup_elem(&path_sets, &place);
}

static __always_inline void path_key_of(const struct tcp_sock *tp, struct path_key *key)
{
	struct ends ends = {};

	ends_of(tp, &ends);
	key->network = path_network(&ends.remote);
	key->namespace = namespace_of(tp);
	key->interface = interface_of(tp);
}

#endif
