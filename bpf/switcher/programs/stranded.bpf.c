/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This program looks for connections whose local address is gone: they can never send again. It
 * counts them, and destroys those whose scope says so, so that their programs hear of it at once
 * (docs/agent.md).
 *
 * It is an iterator: reading it runs it over all TCP sockets of the reader's network namespace. It
 * prints nothing.
 */
#include "connection/connection.h"
#include "interface/stranded.h"
#include "switcher/bind/active_policy.h"
#include "switcher/bind/match_key.h"
#include "switcher/core/policy_match.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* The addresses that are gone, for some namespaces at once. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct local_address);
	__type(value, struct stranded);
} gone_addresses SEC(".maps");

/* Since Linux 6.5. The program of a socket that is destroyed is told ECONNABORTED. */
extern int bpf_sock_destroy(struct sock_common *sk) __ksym __weak;

struct sock_common___interface {
	int skc_bound_dev_if;
} KERNEL_STRUCT;

/* fe80::/10 is of each link anew, and a connection with such an address is bound to its
 * interface. */
static __always_inline bool is_link_local(const struct address *address)
{
	return (address->word[0] & __builtin_bswap32(0xffc00000)) == __builtin_bswap32(0xfe800000);
}

static __always_inline void local_address_of(const struct tcp_sock *tp, const struct ends *ends,
					     struct local_address *local)
{
	const struct sock_common___interface *skc = (const void *)tp;

	local->address = ends->local;
	local->interface = is_link_local(&local->address) ? skc->skc_bound_dev_if : 0;
	local->namespace = namespace_of(tp);
}

/* The place of an idle connection may be one in an earlier policy, so the rules are asked. */
static __always_inline bool is_to_be_destroyed(const struct connection *c,
					       const struct match_key *key)
{
	const struct policy *policy = active_policy();
	const struct scope *scope;
	struct place place = {};

	if (!policy || c->flags & CONNECTION_LEFT_ALONE)
		return false;
	place.generation = policy->generation;
	place.scope = scope_of(policy, key);
	scope = active_scope(policy, &place);
	return scope && scope->flags & SCOPE_DESTROYS && !(scope->flags & SCOPE_OBSERVED);
}

SEC("iter/tcp")
int stranded(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct local_address local = {};
	struct match_key key = {};
	const struct connection *c;
	struct stranded *found;
	struct tcp_sock *tp;

	if (!skc || !is_open(skc->skc_state))
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	c = bpf_sk_storage_get(&connections, tp, 0, 0);
	if (!c)
		return 0;
	ends_of(tp, &key.ends);
	local_address_of(tp, &key.ends, &local);
	found = bpf_map_lookup_elem(&gone_addresses, &local);
	if (!found)
		return 0;
	found->connections++;
	cgroups_of(tp, &key);
	if (is_to_be_destroyed(c, &key) && bpf_ksym_exists(bpf_sock_destroy) &&
	    !bpf_sock_destroy(skc))
		found->destroyed++;
	return 0;
}
