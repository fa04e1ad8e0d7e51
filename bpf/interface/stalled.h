/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is what the agent is told of a connection whose retransmission timer has backed off. */
#ifndef KIRIKAE_STALLED_H
#define KIRIKAE_STALLED_H

#include "interface/policy.h"

struct stalled {
	struct ends ends;
	u32 namespace; /* low bits of its network namespace's cookie */
	u32 interface; /* over which it sends, by its index; 0: not known */
	u32 snd_una;   /* sequence number of what is to be ACKed next */
	u32 rto_us;    /* the timeout before back-off */
	u32 most_us;   /* the longest that there is */
	u32 back_off;  /* how often it has been doubled */
	u32 waited_us; /* since something was sent last */
};

/* A network namespace with an open connection. */
struct open_namespace {
	u32 cookie; /* low bits */
	u32 inode;  /* by which it is found in /proc */
};

#endif
