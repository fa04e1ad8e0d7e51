/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a connection begins with that knows its path from earlier ones (RFC 9959). */
#ifndef KIRIKAE_WARM_START_H
#define KIRIKAE_WARM_START_H

#include "kernel/kernel.h"

/* "A current RTT that is more than ten times the saved_rtt is indicative of a path change" (section
 * 4.2.1). */
#define RESUME_RTT_TIMES 10

/* The phases of RFC 9959, section 3. */
enum resume_phase {
	RESUME_NONE, /* the connection has not begun with what was known */
	RESUME_RECONNAISSANCE,
	RESUME_UNVALIDATED,
	RESUME_VALIDATING,
	RESUME_SAFE_RETREAT,
	RESUME_NORMAL,	  /* the start is over */
	RESUME_RETREATED, /* the same, after a safe retreat */
};

struct warm_start {
	u32 phase;	     /* enum resume_phase, as the algorithm tells it */
	u32 is_first_flight; /* the first window is what is known, without reconnaissance */
	u32 age_s;	     /* of what was known */
	u32 saved_rtt_us;
	u32 saved_cwnd; /* bytes */
	u32 jump_cwnd;	/* bytes */
	u32 rate;	/* bytes per millisecond; 0: not known */
};

/* Returns whether it may be the same path for Careful Resume: not where the RTT is at most half, or
 * more than ten times, the saved one (sections 3.2 and 4.2.1). */
static __always_inline bool is_rtt_within_bounds(u32 rtt_us, u32 saved_us)
{
	return rtt_us > saved_us / 2 && rtt_us / RESUME_RTT_TIMES <= saved_us;
}

#endif
