/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A connection comes under the operator's policy when it is established, when the agent finds it
 * open, and when a new policy is active.
 */
#ifndef KIRIKAE_ADMISSION_H
#define KIRIKAE_ADMISSION_H

#include "switcher/core/comparison.h"
#include "switcher/core/decision.h"
#include "switcher/core/hearing.h"
#include "switcher/core/host.h"
#include "switcher/core/policy_match.h"
#include "switcher/core/restore.h"
#include "switcher/core/timeout_options.h"

/* Writes down in which scope it is, or NO_SCOPE, and in which group. This is a function for the
 * sake of the stack. Returns 0: the verifier wants a number to be returned. */
static __attribute__((noinline)) int find_place(void *sock, struct tcp_sock *tp,
						const struct policy *policy, struct place *place)
{
	struct match_key key = {};

	host_match_key(sock, tp, &key);
	place->generation = policy->generation;
	place->scope = scope_of(policy, &key);
	place->group = group_of(&key);
	return read_now(0);
}

/* Stock algorithms do not tell of bursts; where one of them stays in use, the segments about to be
 * sent do. */
static __always_inline bool wants_segments(const struct connection *c, const struct scope *scope)
{
	return !is_managed(c, scope) || (c->flags & CONNECTION_DECIDED && !is_ours(c->current));
}

/* Returns what the kernel has to call back for from now on, with what others have asked for; `set`
 * is what it calls back for now. */
VERIFIED_APART u32 callbacks_with(u32 set, struct connection *c, const struct policy *policy)
{
	u32 segments = BPF_SOCK_OPS_WRITE_HDR_OPT_CB_FLAG;
	const struct scope *scope;
	u32 callbacks;

	if (!c || !policy)
		return set;
	scope = active_scope(policy, &c->place);
	callbacks = callbacks_of_others(set, c) | ALWAYS_HEARD;
	if (scope && wants_segments(c, scope)) {
		if (!(callbacks & segments))
			c->flags |= CONNECTION_TELLS_SEGMENTS;
		return callbacks | segments;
	}
	c->flags &= ~CONNECTION_TELLS_SEGMENTS;
	return callbacks;
}

static __always_inline u32 callbacks_wanted(const struct tcp_sock *tp, struct connection *c,
					    const struct policy *policy)
{
	return callbacks_with(tp->bpf_sock_ops_cb_flags, c, policy);
}

/* Restores the connection, and forgets what was chosen for it. Returns false where that cannot be
 * done now. */
static __always_inline bool try_restore(void *sock, struct tcp_sock *tp, struct connection *c)
{
	if (restore_connection(sock, tp, c, false) == NOT_RESTORED)
		return false;
	__builtin_memcpy(c->current, c->original, sizeof(c->current));
	__builtin_memcpy(c->chosen, c->original, sizeof(c->chosen));
	__builtin_memset(&c->timeouts, 0, sizeof(c->timeouts));
	bursts_switched(&c->bursts);
	stream_switched(&c->stream);
	c->ssthresh_before_bbr = 0;
	c->switches = 0;
	c->flags &= ~CONNECTION_DECIDED;
	return true;
}

/* Makes the timeouts as the scope wants them. */
static __always_inline void follow_timeouts(void *sock, struct tcp_sock *tp, struct connection *c,
					    const struct scope *scope)
{
	if (!has_timeouts(c, scope)) {
		timeouts_restore(sock, tp, &c->timeouts);
		__builtin_memset(&c->timeouts, 0, sizeof(c->timeouts));
	} else if (!c->timeouts.kernel_min_us) {
		timeouts_begin(sock, tp, &c->timeouts);
	}
}

/* Notes whether the connection's program is overruled from now on, or no more. */
static __always_inline void follow_program(struct connection *c, const struct scope *scope)
{
	u32 from = CONNECTION_LEFT_ALONE, to = CONNECTION_OVERRULED;

	if (!(scope->flags & SCOPE_OVERRULES)) {
		from = CONNECTION_OVERRULED;
		to = CONNECTION_LEFT_ALONE;
	}
	if (c->flags & from)
		c->flags = (c->flags & ~from) | to;
}

/* Returns whether the connection is to be restored. */
static __always_inline bool is_to_be_restored(const struct connection *c, const struct scope *scope,
					      const struct place *place)
{
	if (!scope || scope->flags & SCOPE_OBSERVED || place->lot < place->share)
		return true;
	return c->flags & CONNECTION_OVERRULED && !(scope->flags & SCOPE_OVERRULES);
}

static __always_inline bool is_all_held_back(const struct place *place)
{
	return place->share == SPAN_SHARE_ALL;
}

/* Returns whether the connection is already where it belongs, and only rules have changed since, or
 * the share of other groups. */
static __always_inline bool stays(const struct connection *c, const struct place *place,
				  const struct policy *policy)
{
	return (s32)(c->place.generation - policy->scopes_since) >= 0 &&
	       c->place.scope == place->scope &&
	       is_all_held_back(&c->place) == is_all_held_back(place);
}

/*
 * The connection takes its place in the active policy. It does not in the midst of recovery: then
 * this is tried again with one of the next ACKs. Returns the callbacks wanted. This is a function
 * for the sake of the stack.
 */
static __attribute__((noinline)) u32 follow(void *sock, struct tcp_sock *tp, struct connection *c,
					    const struct policy *policy)
{
	const struct latency_table *table;
	const struct scope *scope;
	struct place place = c->place;

	find_place(sock, tp, policy, &place);
	scope = active_scope(policy, &place);
	if (scope)
		host_take_share(sock, tp, &place, scope->holdback);
	if (stays(c, &place, policy)) {
		c->place.generation = place.generation;
		return callbacks_wanted(tp, c, policy);
	}
	if (is_to_be_restored(c, scope, &place)) {
		if (!try_restore(sock, tp, c))
			return callbacks_wanted(tp, c, policy);
	} else if (!same_name(c->chosen, c->current)) {
		/* The connection was only observed so far. */
		__builtin_memcpy(c->chosen, c->current, sizeof(c->chosen));
		c->switches = 0;
		c->flags &= ~CONNECTION_DECIDED;
	}
	c->place = place;
	span_begin(&c->comparison);
	if (!scope)
		return callbacks_wanted(tp, c, policy);
	c->flags &= ~(CONNECTION_NO_IDLE_KEEP | CONNECTION_REFUSED);
	if (scope->flags & SCOPE_NO_IDLE_KEEP)
		c->flags |= CONNECTION_NO_IDLE_KEEP;
	follow_program(c, scope);
	if (!(c->flags & CONNECTION_LEFT_ALONE))
		follow_timeouts(sock, tp, c, scope);
	table = host_table(sock, scope);
	if (table)
		belief_begin(&c->belief, table);
	return callbacks_wanted(tp, c, policy);
}

/* Returns whether there is a scope for a connection that is not remembered yet. This is a function
 * for the sake of the stack. */
static __attribute__((noinline)) bool is_wanted(void *sock, struct tcp_sock *tp,
						const struct policy *policy)
{
	const struct scope *scope;
	struct place place = {};

	find_place(sock, tp, policy, &place);
	scope = active_scope(policy, &place);
	/* A program that has chosen its algorithm itself is left alone. */
	return scope && (scope->flags & SCOPE_OVERRULES || !set_by_program(tcp_to_sock(tp)) ||
			 has_adoption_mark(tp));
}

/* The lot is drawn for the next span. Returns the callbacks wanted. This is a function for the sake
 * of the stack. */
static __attribute__((noinline)) u32 next_span(void *sock, struct tcp_sock *tp,
					       struct connection *c, const struct policy *policy,
					       const struct scope *scope)
{
	bool was_held_back = is_held_back(c);
	struct place before = c->place;

	c->place.lot = host_draw_lot(sock, tp);
	host_take_share(sock, tp, &c->place, scope->holdback);
	if (is_held_back(c) && !was_held_back && !try_restore(sock, tp, c))
		c->place = before;
	else if (was_held_back && !is_held_back(c))
		follow_timeouts(sock, tp, c, scope);
	span_begin(&c->comparison);
	return callbacks_wanted(tp, c, policy);
}

/* The connection is remembered from now on. Returns the callbacks wanted; 0: it is not to be
 * remembered, or there is no memory for it. */
static __always_inline u32 admit(void *sock, struct tcp_sock *tp, const struct policy *policy)
{
	struct connection *c = host_recall(sock, tp);

	if (!c) {
		if (!is_wanted(sock, tp, policy))
			return 0;
		c = host_remember(sock, tp);
		if (!c)
			return 0;
		if (!host_get_algorithm(sock, tp, c->original) || !connection_met(c)) {
			host_forget(sock, tp);
			return 0;
		}
		c->place.lot = host_draw_lot(sock, tp);
		c->callbacks = tp->bpf_sock_ops_cb_flags;
		if (has_waiting_mark(tp))
			c->callbacks &= ~WAITING_MARK;
		if (has_adoption_mark(tp)) {
			c->callbacks &= ~ADOPTION_MARK;
			c->flags |= CONNECTION_SWITCHED;
		} else if (set_by_program(tcp_to_sock(tp))) {
			c->flags |= CONNECTION_OVERRULED;
		}
	}
	c->flags &= ~CONNECTION_CLOSING;
	/* It has no place yet. */
	c->place.generation = policy->scopes_since - 1;
	measuring_begin(c, tp);
	return follow(sock, tp, c, policy);
}

static __always_inline bool is_local_rtt(u32 srtt_us, const struct policy *policy)
{
	return srtt_us >> 3 < policy->least_rtt_us;
}

/* Returns whether the connection is local for every scope, so that there is nothing to be measured
 * of it. */
static __always_inline bool is_local(const struct tcp_sock *tp, const struct policy *policy)
{
	return tp->srtt_us && is_local_rtt(tp->srtt_us, policy);
}

/* Returns what the kernel is to call back for where a connection is local and is not remembered:
 * its round trips, in case it does not stay local. A connection that was restored keeps its mark.
 * 0: as before. */
static __always_inline u32 wait_for(const struct tcp_sock *tp)
{
	return has_waiting_mark(tp) || has_adoption_mark(tp)
		       ? 0
		       : tp->bpf_sock_ops_cb_flags | WAITING_MARK;
}

#endif
