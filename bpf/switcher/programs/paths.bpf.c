/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent runs these programs to change the path memory: their packet is what is to be remembered
 * or forgotten. So where an entry is, and what becomes of one that is there already, is written
 * only once (switcher/core/path_memory.h).
 *
 * They are of the type for packets, since programs that may sleep may hold no lock on older
 * kernels.
 */
#include "switcher/bind/path_sets.h"

char _license[] SEC("license") = "Dual BSD/GPL";

struct __sk_buff;

/* The packet is a struct path_entry. Returns 1 if it is remembered now, 0 if not. */
SEC("tc")
int remember_path(struct __sk_buff *skb)
{
	struct path_entry entry;
	struct path_set *set;
	bool is_new;

	if (bpf_skb_load_bytes(skb, 0, &entry, sizeof(entry)))
		return 0;
	set = path_set_of(&entry.key);
	if (!set)
		return 0;
	bpf_spin_lock(&set->lock);
	is_new = path_remember(set, &entry);
	bpf_spin_unlock(&set->lock);
	return is_new;
}

/* The packet is a struct path_key. Returns 1 if there was such an entry, 0 if not. */
SEC("tc")
int forget_path(struct __sk_buff *skb)
{
	struct path_key key;
	struct path_set *set;
	bool was_there;

	if (bpf_skb_load_bytes(skb, 0, &key, sizeof(key)))
		return 0;
	set = path_set_of(&key);
	if (!set)
		return 0;
	bpf_spin_lock(&set->lock);
	was_there = path_forget(set, &key);
	bpf_spin_unlock(&set->lock);
	return was_there;
}
