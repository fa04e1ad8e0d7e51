/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The policy in force and its latency tables.
 *
 * There is room for two of each: a new policy is written beside the one in force, and one number
 * makes it count, so that no connection ever sees half of one.
 */
#ifndef KIRIKAE_IN_FORCE_H
#define KIRIKAE_IN_FORCE_H

#include "kernel_bpf.h"
#include "latency_table.h"
#include "policy.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u32);
} generation_in_force SEC(".maps");

/* Each generation in the place of the one before the last. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct policy);
} policies SEC(".maps");

struct one_latency_table {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct latency_table);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2 * POLICY_SCOPES);
	__type(key, u32);
	__array(values, struct one_latency_table);
} latency_tables SEC(".maps");

static __always_inline const struct policy *policy_in_force(void)
{
	u32 zero = 0;
	const u32 *generation = bpf_map_lookup_elem(&generation_in_force, &zero);
	u32 place;

	if (!generation)
		return NULL;
	place = *generation % 2;
	return bpf_map_lookup_elem(&policies, &place);
}

/* NULL for a connection of no scope (any more), or with a place in a policy before: its number
 * there means nothing here. */
static __always_inline const struct scope *scope_in_force(const struct policy *policy,
							  const struct place *place)
{
	/* For the verifier, which does not follow the comparison to where it is used. */
	u32 bounded = read_now(place->scope % POLICY_SCOPES);

	if (place->generation != policy->generation || place->scope >= POLICY_SCOPES)
		return NULL;
	return &policy->scope[bounded];
}

static __always_inline const struct latency_table *latency_table(const struct scope *scope)
{
	u32 place = scope->table;
	u32 zero = 0;
	void *table = bpf_map_lookup_elem(&latency_tables, &place);

	return table ? bpf_map_lookup_elem(table, &zero) : NULL;
}

/* Whether the connection is only measured, for comparison. */
static __always_inline bool is_held_back(const struct connection *c, const struct scope *scope)
{
	return c->place.lot < scope->holdback;
}

/* Whether anything of the connection is to be changed. */
static __always_inline bool is_managed(const struct connection *c, const struct scope *scope)
{
	return scope && !(scope->flags & SCOPE_OBSERVED) && !is_held_back(c, scope);
}

static __always_inline bool has_timeouts(const struct connection *c, const struct scope *scope)
{
	return is_managed(c, scope) && !(scope->flags & SCOPE_KERNEL_TIMEOUTS);
}

#endif
