/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The path memory's sets are a map, and a connection's place in it follows from its socket. */
#ifndef KIRIKAE_PATH_SETS_H
#define KIRIKAE_PATH_SETS_H

#include "switcher/bind/match_key.h"
#include "switcher/core/path_memory.h"

/* The agent says how many sets there are, and makes up a secret. */
const volatile u32 path_sets_count = 1;
const volatile u64 path_secret = 0;

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
	u32 place = path_place(key, path_secret, path_sets_count);

	return bpf_map_lookup_elem(&path_sets, &place);
}

static __always_inline u64 network_of(const struct address *address)
{
	u32 from =
		address->word[2] == MAPPED_IPV4 && !address->word[0] && !address->word[1] ? 2 : 0;

	return from ? (u64)__builtin_bswap32(address->word[2]) << 32 |
			       __builtin_bswap32(address->word[3])
		    : (u64)__builtin_bswap32(address->word[0]) << 32 |
			       __builtin_bswap32(address->word[1]);
}

static __always_inline void path_key_of(const struct tcp_sock *tp, struct path_key *key)
{
	struct ends ends = {};

	ends_of(tp, &ends);
	key->network = network_of(&ends.remote);
	key->namespace = namespace_of(tp);
	key->interface = interface_of(tp);
}

#endif
