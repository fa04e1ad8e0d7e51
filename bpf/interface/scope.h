/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A scope says what holds for the connections that one section of the operator's policy names. */
#ifndef KIRIKAE_SCOPE_H
#define KIRIKAE_SCOPE_H

#include "arithmetic/fixed_log.h"

enum scope_flags {
	SCOPE_OBSERVED = 1,	   /* choices are made and reported, and nothing is changed */
	SCOPE_OVERRULES = 2,	   /* what programs have set themselves does not count */
	SCOPE_KERNEL_TIMEOUTS = 4, /* the retransmission timer stays as the kernel has it */
	SCOPE_NO_IDLE_KEEP = 8,	   /* the kernel cuts the window after idle time */
	SCOPE_THROUGHPUT = 16,	   /* the choice is that of bulk, whatever the bursts are */
	SCOPE_CAREFUL = 32,	   /* new connections begin by Careful Resume (RFC 9959) */
	SCOPE_FIRST_FLIGHT = 64,   /* ... or, where the path is confirmed, with all that is known */
	SCOPE_DESTROYS = 128,	   /* connections whose local address is gone are destroyed */
};

/* How much better another algorithm has to be, and for how long; see choice.h. */
struct hysteresis {
	u32 margin;   /* 1/256 of the regret */
	u32 agreeing; /* choices in a row */
	u32 dwell;    /* choices that an algorithm is given */
};

struct scope {
	u32 flags;
	u32 period_us;	  /* measuring and switching; 0: one smoothed round trip */
	u32 holdback;	  /* the share of spans (comparison.h) that are only measured, in 1/2^32 */
	u32 table;	  /* which of the latency tables */
	u32 least_rtt_us; /* connections below it keep what they have */
	u32 path_lifetime_s; /* so long is known what connections have shown; 0: nothing is kept */
	struct hysteresis hysteresis;
};

/* These hold where an operator says nothing. */
#define USUAL_MARGIN (OCTAVE / 32)
#define USUAL_AGREEING 2
#define USUAL_DWELL 4
/* The latency table begins at ten times this. */
#define USUAL_LEAST_RTT_US 1000
#define USUAL_PATH_LIFETIME_S 600

#endif
