/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agent is told of each switch, and how long bursts take. */
#ifndef KIRIKAE_REPORTING_H
#define KIRIKAE_REPORTING_H

#include "interface/switch_event.h"
#include "switcher/core/burst_histogram.h"
#include "switcher/core/comparison.h"
#include "switcher/core/decision.h"
#include "switcher/core/host.h"
#include "switcher/core/policy_match.h"

/*
 * Switches the connection to `to`, and returns whether the kernel has done so. One that it refuses
 * keeps what it has, and is not tried again until the policy changes its place: a route that locks
 * the algorithm (ip-route(8)) does so for the life of the connection.
 */
static __always_inline bool try_to_switch(void *sock, struct tcp_sock *tp, struct connection *c,
					  const char *to)
{
	if (host_set_algorithm(sock, tp, to))
		return true;
	c->flags |= CONNECTION_REFUSED;
	host_count_refusal(sock, tp);
	return false;
}

/* Reports the latest decision, which is for `to`. */
static __always_inline void report(void *sock, struct tcp_sock *tp, struct connection *c,
				   u32 reason, const struct scope *scope, const char *to)
{
	const struct decision *decision = &c->decision;
	struct switch_event *event;

	c->latest_switch.at_ns = host_now_ns(sock, tp);
	c->latest_switch.reason = reason;
	event = host_event(sock, tp);
	if (!event)
		return;
	event->at_ns = c->latest_switch.at_ns;
	event->reason = reason;
	event->is_observed = !!(scope->flags & SCOPE_OBSERVED);
	event->generation = c->place.generation;
	event->scope = c->place.scope;
	__builtin_memcpy(event->from, c->chosen, sizeof(event->from));
	__builtin_memcpy(event->to, to, sizeof(event->to));
	event->measured = decision->measured;
	event->isolated_ppb = c->estimator.isolated_ppb;
	event->burst_ppb = c->estimator.burst_ppb;
	event->predicted_us = decision->prediction.latency_us;
	event->start = c->path.start;
	host_tell(sock, tp, event);
}

/* Counts the burst that is over since the latest call. Where there were several within a round trip
 * it is the last one. */
static __always_inline void count_burst(void *sock, struct tcp_sock *tp, struct connection *c,
					const struct scope *scope)
{
	const struct bursts *b = &c->bursts;
	struct burst_latencies *latencies;
	u32 key;

	if (b->begun == c->bursts_counted)
		return;
	c->bursts_counted = b->begun;
	if (!b->latest_us)
		return;
	span_burst(&c->comparison, b->latest_us);
	key = burst_latencies_key(c->place.scope, is_managed(c, scope),
				  burst_size(b->latest_bytes));
	latencies = host_burst_latencies(sock, tp, key);
	if (latencies)
		burst_latencies_add(latencies, b->latest_us);
}

/* A span is over. */
static __always_inline void count_span(void *sock, struct tcp_sock *tp, struct connection *c,
				       const struct scope *scope)
{
	struct comparison *span = &c->comparison;
	u32 place = span_sums_place(span_stratum(span), is_managed(c, scope));

	/* Where it does not count that is no place. The verifier follows both ways of a branch. */
	place |= ~span_counts(span);
	host_count_span(sock, tp, &c->place, place, span_end(span));
}

#endif
