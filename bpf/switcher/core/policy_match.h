/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The policy's rules put a connection into a scope, and that says what may be done to it. */
#ifndef KIRIKAE_POLICY_MATCH_H
#define KIRIKAE_POLICY_MATCH_H

#include "connection/connection.h"
#include "interface/policy.h"
#include "interface/span_sums.h"

static __always_inline bool is_in_cgroup(const struct match_key *key, u64 cgroup)
{
	bool is_in = !cgroup;

	for (u32 i = 0; i < CGROUP_LEVELS; i++)
		is_in |= key->cgroup[i] == cgroup;
	return is_in;
}

static __always_inline bool rule_matches(const struct rule *rule, const struct match_key *key)
{
	u32 differs = 0;

	for (u32 i = 0; i < 4; i++)
		differs |= (key->ends.remote.word[i] ^ rule->remote.word[i]) & rule->mask.word[i];
	return !differs && key->ends.local_port >= rule->first_port &&
	       key->ends.local_port <= rule->last_port && is_in_cgroup(key, rule->cgroup);
}

/* Returns the number of the scope that the first matching rule names, or NO_SCOPE. */
VERIFIED_APART int scope_of(const struct policy *policy, const struct match_key *key)
{
	if (!policy || !key)
		return NO_SCOPE;
	for (u32 i = 0; i < POLICY_RULES && i < policy->rules; i++)
		if (rule_matches(&policy->rule[i], key))
			return min(policy->rule[i].scope, (u32)NO_SCOPE);
	return NO_SCOPE;
}

/* Returns the cgroup by which a connection is judged. */
static __always_inline u64 group_of(const struct match_key *key)
{
	u64 group = key->cgroup[0];

	for (u32 i = 1; i <= SPAN_GROUP_LEVEL; i++)
		if (key->cgroup[i])
			group = key->cgroup[i];
	return group;
}

/* Returns the scope of a connection in the active policy. It is NULL for a connection of no scope
 * (any more), or with a place in an earlier policy: its number there means nothing here. */
static __always_inline const struct scope *active_scope(const struct policy *policy,
							const struct place *place)
{
	/* The verifier does not follow the comparison to where the number is used. */
	u32 bounded = read_now(place->scope % POLICY_SCOPES);

	if (place->generation != policy->generation || place->scope >= POLICY_SCOPES)
		return NULL;
	return &policy->scope[bounded];
}

/* Returns whether the connection is only measured, for comparison. */
static __always_inline bool is_held_back(const struct connection *c)
{
	return c->place.lot < c->place.share;
}

/* Returns whether anything of the connection is to be changed. */
static __always_inline bool is_managed(const struct connection *c, const struct scope *scope)
{
	return scope && !(scope->flags & SCOPE_OBSERVED) && !is_held_back(c);
}

static __always_inline bool has_timeouts(const struct connection *c, const struct scope *scope)
{
	return is_managed(c, scope) && !(scope->flags & SCOPE_KERNEL_TIMEOUTS);
}

#endif
