/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agent is told over which interface a connection waits, and asks for its carrier. */
#ifndef KIRIKAE_BIND_WAITING_H
#define KIRIKAE_BIND_WAITING_H

#include "interface/waiting.h"
#include "switcher/bind/match_key.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} waiting SEC(".maps");

/* After so many timeouts in a row the kernel has told of a carrier that went before the first. */
#define TOLD_TIMEOUTS 4

/* The timer has gone off after `earlier` others in a row. Where there is no room, others wait, too.
 */
static __always_inline void tell_waiting(const struct tcp_sock *tp, u32 earlier)
{
	struct waiting w = {};

	if (earlier >= TOLD_TIMEOUTS)
		return;
	w.namespace = namespace_of(tp);
	w.interface = interface_of(tp);
	if (w.interface)
		bpf_ringbuf_output(&waiting, &w, sizeof(w), 0);
}

#endif
