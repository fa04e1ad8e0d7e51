/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agent is told of each switch: what was done, to which connection, and why. */
#ifndef KIRIKAE_SWITCH_EVENT_H
#define KIRIKAE_SWITCH_EVENT_H

#include "interface/measured.h"
#include "interface/policy.h"
#include "interface/warm_start.h"

enum switch_reason {
	REASON_PREDICTED_LATENCY = 1, /* the table predicts a smaller latency for it */
	REASON_WARM_START = 2,	      /* the path is known from earlier connections */
	REASON_OUTAGE = 3,	      /* timeouts in a row, with an algorithm of the kernel's */
};

/* Why the kernel has refused a switch. */
enum refusal {
	REFUSAL_LOCKED_ROUTE, /* the connection's route has an algorithm, and locks it */
	REFUSAL_OTHER,
	REFUSALS,
};

struct switch_event {
	u64 at_ns; /* CLOCK_MONOTONIC */
	u32 reason;
	u32 is_observed; /* it was not made, only chosen */
	u32 generation;	 /* of the policy, and ... */
	u32 scope;	 /* ... which of its scopes: whose table's columns are predicted_us */
	struct ends ends;
	u32 namespace; /* inode of its network namespace */
	char from[TCP_CA_NAME_MAX];
	char to[TCP_CA_NAME_MAX];
	struct measured measured;
	u32 isolated_ppb; /* smoothed; losses per 10^9 segments sent */
	u32 burst_ppb;
	struct columns predicted_us;
	struct warm_start start; /* with REASON_WARM_START: what was known */
};

#endif
