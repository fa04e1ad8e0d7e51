/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The operator's policy says which connections are switched, and how.
 *
 * Rules are asked in order, and the first that a connection matches puts it in its scope; a
 * connection that matches none is left to the kernel.
 */
#ifndef KIRIKAE_POLICY_H
#define KIRIKAE_POLICY_H

#include "interface/scope.h"

#define POLICY_RULES 256
#define POLICY_SCOPES 16
/* So many levels of the cgroup hierarchy are looked at, from the root downwards: whoever makes
 * cgroups below his own stays in it. */
#define CGROUP_LEVELS 16
/* The scope of a connection that matches no rule. */
#define NO_SCOPE POLICY_SCOPES

/* An IPv4 address is written ::ffff:a.b.c.d. */
struct address {
	u32 word[4]; /* network byte order */
};

struct rule {
	u64 cgroup; /* its id; 0: any */
	struct address remote;
	struct address mask; /* the bits of `remote` that count are set */
	u16 first_port;	     /* local ports, host byte order */
	u16 last_port;
	u32 scope;
};

struct policy {
	u32 generation;	  /* counts up with each policy */
	u32 scopes_since; /* the generation since which its scopes have meant the same */
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

/* This is all that a rule may ask of a connection. */
struct match_key {
	u64 cgroup[CGROUP_LEVELS]; /* ids, the root's first; 0: there are no more */
	struct ends ends;
};

#endif
