/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the agent is told: each switch, and how long bursts take.
 *
 * Nothing here ever waits: what nobody reads in time is counted and dropped.
 */
#ifndef KIRIKAE_REPORTING_H
#define KIRIKAE_REPORTING_H

#include "decision.h"
#include "in_force.h"
#include "switch_event.h"
#include "whereabouts.h"

/* Burst sizes told apart: below 8 KiB, 32 KiB, 128 KiB, 512 KiB, and from there on. */
#define BURST_SIZES 5
/* Latencies told apart: below 2^10 microseconds, 2^10.5 and so on, up to 2^25.5. */
#define LATENCY_BUCKETS 32

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} switch_events SEC(".maps");

/* Switches that were made but not reported, because nobody read the events in time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} events_lost SEC(".maps");

struct burst_latencies {
	u64 sum_us;
	u64 bursts[LATENCY_BUCKETS];
};

/* Of the connections of a scope: of those that are switched, then of those held back or observed.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2 * POLICY_SCOPES * BURST_SIZES);
	__type(key, u32);
	__type(value, struct burst_latencies);
} burst_latencies SEC(".maps");

/* By the latest decision. */
static __always_inline void report(const struct tcp_sock *tp, struct connection *c, u32 reason,
				   const struct scope *scope, const struct latency_table *table)
{
	const struct decision *decision = &c->decision;
	struct switch_event *event;

	c->latest_switch.at_ns = bpf_ktime_get_ns();
	c->latest_switch.reason = reason;
	event = bpf_ringbuf_reserve(&switch_events, sizeof(*event), 0);
	if (!event) {
		u32 zero = 0;
		u64 *lost = bpf_map_lookup_elem(&events_lost, &zero);

		if (lost)
			__sync_fetch_and_add(lost, 1);
		return;
	}
	__builtin_memset(&event->ends, 0, sizeof(event->ends));
	ends_of(tp, &event->ends);
	event->namespace = namespace_of(tp);
	event->at_ns = c->latest_switch.at_ns;
	event->reason = reason;
	event->is_observed = !!(scope->flags & SCOPE_OBSERVED);
	event->table = scope->table;
	event->algorithms = table->algorithms;
	__builtin_memcpy(event->from, c->chosen, sizeof(event->from));
	__builtin_memcpy(event->to, table->name[decision->to % TABLE_ALGORITHMS],
			 sizeof(event->to));
	event->measured = decision->measured;
	event->isolated_ppb = c->estimator.isolated_ppb;
	event->burst_ppb = c->estimator.burst_ppb;
	event->predicted_us = decision->prediction.latency_us;
	bpf_ringbuf_submit(event, 0);
}

static __always_inline u32 burst_size(u32 bytes)
{
	u32 octaves = log2_fixed(bytes) / OCTAVE;

	return least((u32)most(octaves - 11, 0) / 2, BURST_SIZES - 1);
}

static __always_inline u32 latency_bucket(u32 us)
{
	s32 halves = log2_fixed(us) / (OCTAVE / 2);

	return least(most(halves - 19, 0), LATENCY_BUCKETS - 1);
}

/* The bursts that are over since the latest call: of several within a round trip, the last. */
static __always_inline void count_burst(struct connection *c, const struct scope *scope)
{
	const struct bursts *b = &c->bursts;
	struct burst_latencies *latencies;
	u32 arm = !is_managed(c, scope);
	u32 key;

	if (b->begun == c->bursts_counted)
		return;
	c->bursts_counted = b->begun;
	if (!b->latest_us)
		return;
	key = (c->place.scope * 2 + arm) * BURST_SIZES + burst_size(b->latest_bytes);
	latencies = bpf_map_lookup_elem(&burst_latencies, &key);
	if (!latencies)
		return;
	latencies->sum_us += b->latest_us;
	latencies->bursts[latency_bucket(b->latest_us) % LATENCY_BUCKETS]++;
}

#endif
