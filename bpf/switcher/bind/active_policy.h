/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The active policy and its latency tables are here.
 *
 * There is room for two of each: a new policy is written beside the active one, and one number
 * makes it count, so that no connection ever sees half of one.
 */
#ifndef KIRIKAE_ACTIVE_POLICY_H
#define KIRIKAE_ACTIVE_POLICY_H

#include "interface/latency_table.h"
#include "interface/policy.h"
#include "switcher/bind/kernel_structs.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} active_generation SEC(".maps");

/* Each generation takes the place of the one before the last. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct policy);
} policies SEC(".maps");

/* The map is described by its sizes: Linux 6.1 takes no map without types, as the agent's are, for
 * one that has them. */
struct one_latency_table {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct latency_table));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2 * POLICY_SCOPES);
	__type(key, u32);
	__array(values, struct one_latency_table);
} latency_tables SEC(".maps");

static __always_inline const struct policy *active_policy(void)
{
	u32 zero = 0;
	const u32 *generation = bpf_map_lookup_elem(&active_generation, &zero);
	u32 place;

	if (!generation)
		return NULL;
	place = *generation % 2;
	return bpf_map_lookup_elem(&policies, &place);
}

static __always_inline const struct latency_table *latency_table(const struct scope *scope)
{
	u32 place = scope->table;
	u32 zero = 0;
	void *table = bpf_map_lookup_elem(&latency_tables, &place);

	return table ? bpf_map_lookup_elem(table, &zero) : NULL;
}

#endif
