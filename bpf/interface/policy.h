/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The operator's policy: which connections are switched, and how.
 *
 * Rules are asked in order, and the first that a connection matches puts it in its scope; one that
 * matches none is left to the kernel.
 */
#ifndef KIRIKAE_POLICY_H
#define KIRIKAE_POLICY_H

#include "connection/connection.h"
#include "interface/scope.h"

#define POLICY_RULES 256
#define POLICY_SCOPES 16
/* Levels of the cgroup hierarchy that are looked at, from a connection's own upwards. */
#define CGROUP_LEVELS 16
/* Of a connection that matches no rule. */
#define NO_SCOPE POLICY_SCOPES

/* An IPv4 address is written ::ffff:a.b.c.d. */
struct address {
	u32 word[4]; /* network byte order */
};

struct rule {
	u64 cgroup; /* its id; 0: any */
	struct address remote;
	struct address mask; /* of the bits of `remote` that count */
	u16 first_port;	     /* local ports, host byte order */
	u16 last_port;
	u32 scope;
};

struct policy {
	u32 generation;	  /* counts up with each policy */
	u32 scopes_since; /* the one from which on its scopes have meant the same */
	u32 rules;	  /* in use */
	u32 least_rtt_us; /* the least of its scopes */
	struct scope scope[POLICY_SCOPES];
	struct rule rule[POLICY_RULES];
};

/* The two ends of a connection. */
struct ends {
	struct address local;
	struct address remote;
	u16 local_port; /* host byte order */
	u16 remote_port;
};

/* What a rule may ask of a connection. */
struct whereabouts {
	u64 cgroup[CGROUP_LEVELS]; /* ids, its own first; 0: there are no more */
	struct ends ends;
};

static __always_inline bool is_in_cgroup(const struct whereabouts *w, u64 cgroup)
{
	bool is_in = !cgroup;

	for (u32 i = 0; i < CGROUP_LEVELS; i++)
		is_in |= w->cgroup[i] == cgroup;
	return is_in;
}

static __always_inline bool rule_matches(const struct rule *rule, const struct whereabouts *w)
{
	u32 differs = 0;

	for (u32 i = 0; i < 4; i++)
		differs |= (w->ends.remote.word[i] ^ rule->remote.word[i]) & rule->mask.word[i];
	return !differs && w->ends.local_port >= rule->first_port &&
	       w->ends.local_port <= rule->last_port && is_in_cgroup(w, rule->cgroup);
}

/* Number of the scope, or NO_SCOPE. */
VERIFIED_APART int scope_of(const struct policy *policy, const struct whereabouts *w)
{
	if (!policy || !w)
		return NO_SCOPE;
	for (u32 i = 0; i < POLICY_RULES && i < policy->rules; i++)
		if (rule_matches(&policy->rule[i], w))
			return min(policy->rule[i].scope, (u32)NO_SCOPE);
	return NO_SCOPE;
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

/* Whether the connection is only measured, for comparison. */
static __always_inline bool is_held_back(const struct connection *c)
{
	return c->place.lot < c->place.share;
}

/* Whether anything of the connection is to be changed. */
static __always_inline bool is_managed(const struct connection *c, const struct scope *scope)
{
	return scope && !(scope->flags & SCOPE_OBSERVED) && !is_held_back(c);
}

static __always_inline bool has_timeouts(const struct connection *c, const struct scope *scope)
{
	return is_managed(c, scope) && !(scope->flags & SCOPE_KERNEL_TIMEOUTS);
}

#endif
