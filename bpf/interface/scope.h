/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What holds for the connections of one scope of the operator's policy. */
#ifndef KIRIKAE_SCOPE_H
#define KIRIKAE_SCOPE_H

#include "arithmetic/fixed_log.h"

enum scope_flags {
	SCOPE_OBSERVED = 1,	   /* choices are made and reported, and nothing is changed */
	SCOPE_OVERRULES = 2,	   /* so are algorithms that programs have set themselves */
	SCOPE_KERNEL_TIMEOUTS = 4, /* the retransmission timer stays as the kernel has it */
	SCOPE_NO_IDLE_KEEP = 8,	   /* so does the cut of the window after idle time */
	SCOPE_THROUGHPUT = 16,	   /* the choice is that of bulk, whatever the bursts are */
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
	u32 holdback;	  /* share of spans (comparison.h) that are only measured, 1/2^32 */
	u32 held_since;	  /* generation of the policy since which it is so much */
	u32 table;	  /* which of the latency tables */
	u32 least_rtt_us; /* connections below it keep what they have */
	struct hysteresis hysteresis;
};

/* Where an operator says nothing. */
#define USUAL_MARGIN (OCTAVE / 32)
#define USUAL_AGREEING 2
#define USUAL_DWELL 4
/* A tenth of where the latency table begins. */
#define USUAL_LEAST_RTT_US 1000

#endif
