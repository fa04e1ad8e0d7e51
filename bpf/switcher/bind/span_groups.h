/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Here are the groups whose spans are compared, each apart: what one of them shows decides over
 * itself.
 *
 * A group has its entry from its first span on that counts. The agent says which share it holds
 * back, and takes away groups whose cgroup is gone; nobody who makes cgroups pushes out the others.
 */
#ifndef KIRIKAE_SPAN_GROUPS_H
#define KIRIKAE_SPAN_GROUPS_H

#include "connection/connection.h"
#include "interface/policy.h"
#include "interface/span_sums.h"
#include "switcher/bind/kernel_structs.h"

/* The agent has put one in for all others of each scope. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SPAN_GROUPS + POLICY_SCOPES);
	__type(key, struct span_group_key);
	__type(value, struct span_group);
} span_groups SEC(".maps");

const volatile struct span_group new_group = {};

/* Returns the group's entry, or that of all others. NULL: there is neither. */
static __always_inline struct span_group *span_group_of(const struct place *place)
{
	struct span_group_key key = {.cgroup = place->group, .scope = place->scope};
	struct span_group *group = bpf_map_lookup_elem(&span_groups, &key);

	if (group)
		return group;
	key.cgroup = 0;
	return bpf_map_lookup_elem(&span_groups, &key);
}

/* This and the next are verified apart, as those of kernel_host.h are. */
VERIFIED_APART int take_share(struct place *place, u32 holdback)
{
	const struct span_group *group;

	if (!place)
		return 0;
	group = span_group_of(place);
	place->share = group && group->share ? group->share : holdback;
	place->epoch = group ? group->epoch : 0;
	return 0;
}

VERIFIED_APART int count_in_group(const struct place *place, u32 at, s32 octaves)
{
	struct span_group_key key = {};
	struct span_group *group;
	struct span_sums *sums;

	if (!place || at >= SPAN_SUMS)
		return 0;
	key.cgroup = place->group;
	key.scope = place->scope;
	/* It is refused where the group is there already, or no room. */
	bpf_map_update_elem(&span_groups, &key, (const void *)&new_group, BPF_NOEXIST);
	group = span_group_of(place);
	if (!group || group->epoch != place->epoch)
		return 0;
	sums = &group->sums[at];
	__sync_fetch_and_add(&sums->spans, 1);
	__sync_fetch_and_add(&sums->bursts, SPAN_COUNTED);
	__sync_fetch_and_add(&sums->sum, octaves);
	__sync_fetch_and_add(&sums->squares, (s64)octaves * octaves);
	return 0;
}

#endif
