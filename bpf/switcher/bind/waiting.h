/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agent is told over which interface a connection waits, and asks for its carrier. */
#ifndef KIRIKAE_BIND_WAITING_H
#define KIRIKAE_BIND_WAITING_H

#include "interface/waiting.h"
#include "switcher/bind/path_sets.h"
#include "switcher/core/told.h"

/* By namespace; those of which more than so many are told at once may share a place. */
#define TOLD_NAMESPACES 256

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TOLD_NAMESPACES);
	__type(key, u32);
	__type(value, struct told);
} told SEC(".maps");

/* With room for all that may be told at a time, each with a head of as many bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TOLD_NAMESPACES *TOLD_INTERFACES * 2 * sizeof(struct waiting));
} waiting SEC(".maps");

/* After so many timeouts in a row the kernel has told of a carrier that went before the first. */
#define TOLD_TIMEOUTS 4

/* The timer has gone off after `earlier` others in a row. */
static __always_inline void tell_waiting(const struct tcp_sock *tp, u32 earlier)
{
	struct waiting w = {};
	struct told *of_namespace;
	u32 place;

	if (earlier >= TOLD_TIMEOUTS)
		return;
	w.namespace = namespace_of(tp);
	w.interface = interface_of(tp);
	place = path_mix(w.namespace ^ path_secret) % TOLD_NAMESPACES;
	of_namespace = bpf_map_lookup_elem(&told, &place);
	if (w.interface && of_namespace &&
	    is_to_be_told(of_namespace, w.interface, bpf_ktime_get_ns()))
		bpf_ringbuf_output(&waiting, &w, sizeof(w), 0);
}

#endif
