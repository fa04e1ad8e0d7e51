/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent reads from these maps. Nothing here ever waits: what nobody reads in time is counted
 * and dropped.
 */
#ifndef KIRIKAE_REPORTS_H
#define KIRIKAE_REPORTS_H

#include "interface/burst_latencies.h"
#include "interface/switch_event.h"
#include "switcher/bind/match_key.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} switch_events SEC(".maps");

/* This counts switches that were made but not reported, because nobody read the events in time. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} events_lost SEC(".maps");

/* This counts connections that the kernel refused to switch, by enum refusal. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, REFUSALS);
	__type(key, u32);
	__type(value, u64);
} refusals SEC(".maps");

/* There is a histogram for each scope, treatment and size of a burst, by burst_latencies_key(). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, POLICY_SCOPES *TREATMENTS *BURST_SIZES);
	__type(key, u32);
	__type(value, struct burst_latencies);
} burst_latencies SEC(".maps");

static __always_inline void refusal_counted(const struct tcp_sock *tp)
{
	bool is_locked = BPF_CORE_READ_BITFIELD(inet_csk(tcp_to_sock(tp)), icsk_ca_dst_locked);
	u32 why = is_locked ? REFUSAL_LOCKED_ROUTE : REFUSAL_OTHER;
	u64 *count = bpf_map_lookup_elem(&refusals, &why);

	if (count)
		__sync_fetch_and_add(count, 1);
}

static __always_inline struct switch_event *switch_event_begin(const struct tcp_sock *tp)
{
	struct switch_event *event = bpf_ringbuf_reserve(&switch_events, sizeof(*event), 0);

	if (!event) {
		u32 zero = 0;
		u64 *lost = bpf_map_lookup_elem(&events_lost, &zero);

		if (lost)
			__sync_fetch_and_add(lost, 1);
		return NULL;
	}
	__builtin_memset(&event->ends, 0, sizeof(event->ends));
	ends_of(tp, &event->ends);
	event->namespace = namespace_inode_of(tp);
	return event;
}

#endif
