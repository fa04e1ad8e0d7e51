/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One switch, as told to the agent: what was done, to which connection, and why. */
#ifndef KIRIKAE_SWITCH_EVENT_H
#define KIRIKAE_SWITCH_EVENT_H

#include "latency_table.h"

enum switch_reason {
	REASON_PREDICTED_LATENCY = 1, /* the table predicts a smaller latency for it */
};

struct switch_event {
	u64 at_ns;  /* CLOCK_MONOTONIC */
	u32 family; /* AF_INET: the first word of each address counts */
	u32 reason;
	u32 local_address[4]; /* network byte order */
	u32 remote_address[4];
	u32 local_port; /* host byte order */
	u32 remote_port;
	char from[TCP_CA_NAME_MAX];
	char to[TCP_CA_NAME_MAX];
	struct measured measured;
	u32 isolated_ppb; /* smoothed: of 10^9 segments sent */
	u32 burst_ppb;
	u32 algorithms; /* columns in use, in the table's order */
	struct columns predicted_us;
};

#endif
