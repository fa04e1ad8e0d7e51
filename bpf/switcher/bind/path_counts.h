/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The path memory's use is counted, for the agent to tell. */
#ifndef KIRIKAE_PATH_COUNTS_H
#define KIRIKAE_PATH_COUNTS_H

#include "connection/connection.h"
#include "interface/path_memory.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PATH_COUNTS);
	__type(key, u32);
	__type(value, u64);
} path_counts SEC(".maps");

static __always_inline void path_counted(u32 what)
{
	u64 *count = bpf_map_lookup_elem(&path_counts, &what);

	if (count)
		(*count)++;
}

/* A connection begins with what is known. */
static __always_inline void path_begin_counted(const struct connection *c)
{
	if (c)
		path_counted(c->path.start.is_first_flight ? PATH_COUNT_FIRST_FLIGHTS
							   : PATH_COUNT_JUMPS);
}

/* What a connection began with is not in use any more, perhaps because it was too much. */
static __always_inline void path_end_counted(const struct connection *c)
{
	if (c &&
	    (c->path.start.phase == RESUME_SAFE_RETREAT || c->path.start.phase == RESUME_RETREATED))
		path_counted(PATH_COUNT_RETREATS);
}

#endif
