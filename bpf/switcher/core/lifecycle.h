/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This is a connection's life with the switcher: what is done, and in which order, when it is
 * established or found, at each round trip, retransmission and timeout, and when the policy has
 * changed.
 *
 * Source: the thesis (Oguchi, 2016), chapter 4, and on from there. It is plain C for both worlds:
 * what only a kernel or only a simulator can do is behind host.h. Nothing here keeps anything but
 * in `struct connection`, so that a call depends on nothing but what call_record.h lists.
 */
#ifndef KIRIKAE_LIFECYCLE_H
#define KIRIKAE_LIFECYCLE_H

#include "interface/call_record.h"
#include "switcher/core/admission.h"
#include "switcher/core/app_choice.h"
#include "switcher/core/decision.h"
#include "switcher/core/host.h"
#include "switcher/core/new_path.h"
#include "switcher/core/outage_switch.h"
#include "switcher/core/reporting.h"
#include "switcher/core/warm_start.h"

/* Chooses, and switches where the choice is another algorithm. */
static __always_inline void choose_and_switch(void *sock, struct tcp_sock *tp, struct connection *c,
					      const struct scope *scope,
					      const struct latency_table *table,
					      const struct corners *corners)
{
	bool is_observed = scope->flags & SCOPE_OBSERVED;
	char in_use[TCP_CA_NAME_MAX] = {};
	const char *to;

	if (c->flags & CONNECTION_REFUSED)
		return;
	if (!host_get_algorithm(sock, tp, in_use) || is_taken_away(c, tp, scope, in_use))
		return;
	to = host_choice(sock, tp, c, scope, table, corners);
	if (!to)
		return;
	if (!is_observed) {
		c->bursts.yields = is_handed_over(c, scope, to);
		about_to_switch(c, tp, to);
		if (!try_to_switch(sock, tp, c, to))
			return;
	}
	report(sock, tp, c, REASON_PREDICTED_LATENCY, scope, to);
	if (is_observed)
		note_chosen(c, to);
	else
		note_switched(c, to);
}

/* Returns whether it is time for the lot of another span. It is not in the midst of recovery, where
 * no connection can be restored. */
static __always_inline bool is_next_span_due(const struct connection *c, const struct tcp_sock *tp,
					     const struct scope *scope)
{
	return (scope->holdback || is_held_back(c)) && !(scope->flags & SCOPE_OBSERVED) &&
	       span_is_over(&c->comparison) && ca_state(tcp_to_sock(tp)) <= TCP_CA_Disorder;
}

/*
 * An ACK brought an RTT sample, the first of a round trip. This is a function for the sake of the
 * stack. Returns 0: the verifier wants a number to be returned, and the compiler leaves out one
 * that it knows.
 */
static __attribute__((noinline)) int on_rtt_sample(void *sock, struct tcp_sock *tp,
						   struct connection *c, const struct scope *scope,
						   u32 sample_us)
{
	const struct latency_table *table;
	struct corners corners = {};
	struct period period = {};
	bool is_over, is_due;

	is_over = period_is_over(c, tp, sample_us, scope->period_us, &period);
	is_due = !is_path_in_doubt(c) && !is_resuming(c) && choice_is_due(c, tp);
	if (!is_over && !is_due)
		return read_now(0);
	table = host_table(sock, scope);
	if (table) {
		measure(c, tp, scope, table, &c->decision.measured, &corners);
		if (is_over)
			learn(c, table, &corners, &period);
	}
	if (is_due && !is_held_back(c) && lowest_rtt_us(c) >= scope->least_rtt_us)
		choose_and_switch(sock, tp, c, scope, table, &corners);
	return read_now(0);
}

/* The path of a new connection is known: the first choice is made at once. This is a function for
 * the sake of the stack. Returns 0, as on_rtt_sample(). */
static __attribute__((noinline)) int
choose_at_first(void *sock, struct tcp_sock *tp, struct connection *c, const struct scope *scope)
{
	const struct latency_table *table = host_table(sock, scope);
	struct corners corners = {};

	if (!table || lowest_rtt_us(c) < scope->least_rtt_us)
		return read_now(0);
	measure(c, tp, scope, table, &c->decision.measured, &corners);
	choose_and_switch(sock, tp, c, scope, table, &corners);
	return read_now(0);
}

/* Segments were sent again, or, where there is an error, could not be. */
static __always_inline void retransmitted(struct connection *c, const struct tcp_sock *tp, u32 seq,
					  u32 segments, u32 error)
{
	u32 bytes = (u32)tp->bytes_retrans - c->runs.bytes_retrans;

	c->runs.bytes_retrans = tp->bytes_retrans;
	if (!error)
		loss_runs_retransmit(&c->runs, seq, segments, bytes);
}

/* Keeps the retransmission timer. This is also done where the program has chosen an algorithm
 * itself since: a bound must end then, and there is no new one. It is a function for the sake of
 * the stack. Returns 0, as on_rtt_sample(). */
static __attribute__((noinline)) int keep_time(void *sock, struct tcp_sock *tp,
					       struct connection *c, const struct call *call)
{
	bool may_be_bounded = !(c->flags & (CONNECTION_CLOSING | CONNECTION_LEFT_ALONE));

	if (call->op == BPF_SOCK_OPS_RTO_CB && may_be_bounded)
		timed_out(sock, tp, c, call->args[0]);
	else if (call->op == BPF_SOCK_OPS_RTO_CB || call->op == BPF_SOCK_OPS_STATE_CB)
		unbound_back_off(sock, tp, &c->timeouts);
	else if (call->op == BPF_SOCK_OPS_RTT_CB)
		timeouts_renew(sock, tp, c, may_be_bounded, call->args[0]);
	return read_now(0);
}

/* A timeout has come after `earlier` others. Where they come in a row, what was in flight is lost,
 * or its ACKs are. Where the path is in doubt and nothing is ACKed, one alone means as much: it is
 * gone again. An algorithm of the kernel's does not find out what is lost once the path is back
 * (limited_transmit.h). */
static __always_inline void may_be_outage(void *sock, struct tcp_sock *tp, struct connection *c,
					  const struct scope *scope, u32 earlier)
{
	if (!earlier && !(is_path_in_doubt(c) && is_silent(tp))) {
		if (!is_path_in_doubt(c))
			path_may_be_gone(&c->bursts, tp);
		return;
	}
	doubt_path(c, tp);
	if (!is_ours(c->current))
		read_now(switch_for_outage(sock, tp, c, scope));
}

/* The path is another than before the outage, and so is what a BBR has learned of it; the kernel's
 * own is no longer in use. This is a function for the sake of the stack. Returns 0, as
 * on_rtt_sample(). */
static __attribute__((noinline)) int
new_path_begins(void *sock, struct tcp_sock *tp, struct connection *c, const struct scope *scope)
{
	forget_path(c, host_table(sock, scope));
	if (is_our_bbr(c->current))
		read_now(switch_for_outage(sock, tp, c, scope));
	return read_now(0);
}

/* Counts what the connection's bursts took; it may be time for another span. What the kernel
 * refuses to switch is neither switched nor held back. Returns the callbacks wanted; 0: as before.
 * This is a function for the sake of the stack. */
static __attribute__((noinline)) u32 compared(void *sock, struct tcp_sock *tp, struct connection *c,
					      const struct policy *policy,
					      const struct scope *scope)
{
	if (c->flags & CONNECTION_REFUSED)
		return 0;
	count_burst(sock, tp, c, scope);
	if (!is_next_span_due(c, tp, scope))
		return 0;
	count_span(sock, tp, c, scope);
	return next_span(sock, tp, c, policy, scope);
}

/* Looks at a round trip, where the connection has a scope. Returns the callbacks wanted; 0: as
 * before. */
static __always_inline u32 measured(void *sock, struct tcp_sock *tp, struct connection *c,
				    const struct policy *policy, u32 sample_us)
{
	const struct scope *scope = active_scope(policy, &c->place);
	bool had_segments;
	u32 callbacks;

	if (!scope)
		return 0;
	had_segments = wants_segments(c, scope);
	if (is_path_in_doubt(c))
		burst_waits(&c->bursts, tp);
	on_rtt_sample(sock, tp, c, scope, sample_us);
	if (is_path_another(c))
		new_path_begins(sock, tp, c, scope);
	callbacks = compared(sock, tp, c, policy, scope);
	if (!callbacks && wants_segments(c, scope) != had_segments)
		callbacks = callbacks_wanted(tp, c, policy);
	return callbacks;
}

/* Does what a callback asks for. Without a scope a connection keeps what it has until it has its
 * place in the active policy: no choice is made, and a timer that was changed is still kept.
 * Returns the callbacks wanted; 0: as before. */
static __always_inline u32 called_back(void *sock, struct tcp_sock *tp, struct connection *c,
				       const struct policy *policy, const struct call *call)
{
	const struct scope *scope = active_scope(policy, &c->place);
	u32 callbacks = 0;

	if (call->op == BPF_SOCK_OPS_STATE_CB && !is_open(call->args[1]))
		c->flags |= CONNECTION_CLOSING;
	if (scope ? has_timeouts(c, scope) : timeouts_are_changed(&c->timeouts))
		read_now(keep_time(sock, tp, c, call));
	if (c->flags & CONNECTION_LEFT_ALONE)
		return 0;
	read_now(path_shows(sock, tp, c, policy, call));
	if (call->op == BPF_SOCK_OPS_RTT_CB) {
		callbacks = measured(sock, tp, c, policy, call->args[0]);
	} else if (call->op == BPF_SOCK_OPS_RTO_CB && scope && has_timeouts(c, scope)) {
		may_be_outage(sock, tp, c, scope, call->args[0]);
	} else if (call->op == BPF_SOCK_OPS_RETRANS_CB) {
		retransmitted(c, tp, call->args[0], call->args[1], call->args[2]);
	} else if (call->op == BPF_SOCK_OPS_HDR_OPT_LEN_CB && wants_segments(c, scope)) {
		/* Others may have asked for this callback; where one of our algorithms is in use,
		 * that tells of bursts. */
		next_burst(&c->bursts, tp, 0);
	}
	return callbacks;
}

static __always_inline bool is_admission(const struct call *call, const struct connection *c)
{
	return call->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
	       call->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB ||
	       ((call->op == CALL_FOUND || call->op == BPF_SOCK_OPS_RTT_CB) && !c);
}

/* The connection is under the policy from now on. Returns the callbacks wanted. This is a function
 * so that the verifier forgets which of its ways it came. */
static __attribute__((noinline)) u32 met(void *sock, struct tcp_sock *tp,
					 const struct policy *policy, const struct call *call,
					 u32 callbacks)
{
	struct connection *c = host_recall(sock, tp);
	bool is_new = call->op == BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB ||
		      call->op == BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB;
	const struct scope *scope;

	if (!c)
		return callbacks;
	read_now(path_met(sock, tp, c));
	scope = active_scope(policy, &c->place);
	if (!is_new || !scope || !scope->path_lifetime_s || c->flags & CONNECTION_LEFT_ALONE)
		return callbacks;
	if (start_warm(sock, tp, c, policy, scope))
		read_now(choose_at_first(sock, tp, c, scope));
	return callbacks_wanted(tp, c, policy);
}

/* Something has happened to a connection. Returns what the kernel has to call back for from now on
 * (BPF_SOCK_OPS_..._CB_FLAG); 0: as before. */
static __always_inline u32 happened(void *sock, struct tcp_sock *tp, const struct policy *policy,
				    const struct call *call)
{
	struct connection *c = host_recall(sock, tp);
	/* The verifier is not told the number, or it would go on from here twice. */
	u32 callbacks = read_now(0), then;

	if (is_admission(call, c)) {
		if (!c && is_local(tp, policy))
			return wait_for(tp);
		callbacks = admit(sock, tp, policy);
		return callbacks ? met(sock, tp, policy, call, callbacks) : 0;
	}
	if (!c)
		return 0;
	if (!is_heard(tp, c))
		callbacks = hear_again(tp, c);
	if (c->place.generation != policy->generation)
		callbacks = follow(sock, tp, c, policy);
	then = called_back(sock, tp, c, policy, call);
	return then ? then : callbacks;
}

#endif
