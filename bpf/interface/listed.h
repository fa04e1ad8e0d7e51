/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is what the agent is told of a connection, for people to see. */
#ifndef KIRIKAE_LISTED_H
#define KIRIKAE_LISTED_H

#include "interface/connection_flags.h"
#include "interface/measured.h"
#include "interface/policy.h"

struct listed {
	u64 latest_switch_ns; /* CLOCK_MONOTONIC; 0: none yet */
	u64 pacing_rate;      /* bytes per second; ~0: not paced */
	u64 bytes_sent;	      /* payload, retransmissions included */
	u64 bytes_retrans;
	struct ends ends;
	u32 namespace; /* inode of its network namespace */
	u32 state;     /* of the kernel: TCP_ESTABLISHED and so on */
	u32 flags;     /* enum connection_flags */
	u32 generation;
	u32 scope;
	u32 is_held_back;
	u32 switches;
	u32 reason; /* of the latest switch */
	u32 srtt_us;
	u32 cwnd; /* segments */
	u32 ssthresh;
	u32 mss; /* bytes */
	u32 isolated_ppb;
	u32 burst_ppb;
	u32 burst_latency_us; /* the latest burst's; 0: none, or not of one algorithm alone */
	u32 burst_bytes;
	u32 stream_demand;     /* bytes per second; 0: it is no stream */
	u32 stream_latency_us; /* mean of its writes; 0: not known */
	u32 backlog;	       /* bytes written and not ACKed */
	char original[TCP_CA_NAME_MAX];
	char in_use[TCP_CA_NAME_MAX];
	char chosen[TCP_CA_NAME_MAX];
	struct measured measured; /* by the latest decision */
	struct columns predicted_us;
};

#endif
