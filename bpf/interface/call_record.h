/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This records a call of the switcher as it was in the kernel: everything that it was given, and
 * what came of it. The native build is given the same and must come to the same
 * (docs/lockstep.md).
 */
#ifndef KIRIKAE_CALL_RECORD_H
#define KIRIKAE_CALL_RECORD_H

#include "connection/connection.h"
#include "interface/policy.h"

/* Whoever changes a field of what follows, or of what it holds, counts this up. */
#define CALL_RECORD_VERSION 11

/* The event that the switcher is called for. */
struct call {
	u32 op; /* BPF_SOCK_OPS_..._CB, or ... */
	u32 args[3];
};
/* ... an iterator is at the socket. */
#define CALL_FOUND 0x100

/* These are all fields of a socket that the switcher reads. */
struct socket_seen {
	u64 bytes_acked;
	u64 bytes_retrans;
	u64 tcp_mstamp;
	u64 delivered_mstamp;
	u32 snd_una;
	u32 snd_nxt;
	u32 write_seq;
	u32 mss_cache;
	u32 snd_cwnd;
	u32 snd_ssthresh;
	u32 srtt_us;
	u32 rttvar_us;
	u32 data_segs_out;
	u32 dsack_dups;
	u32 retrans_stamp;
	u32 packets_out;
	u32 min_rtt_us;
	u32 ca_state;
	u32 is_set_by_program;
	u32 callbacks;
	u32 is_writer_waiting;
	u32 app_limited;
};

/* The questions that a host can be asked; a record has them in the order in which they came. */
enum host_question {
	ASKED_ALGORITHM = 1,
	ASKED_TO_SET_ALGORITHM,
	ASKED_RETRIES,
	ASKED_PATH,		       /* what the path memory knows: path_known; whether it does */
	ASKED_TO_BEGIN,		       /* with what it knows; whether that is so */
	ASKED_OPTION = 1 << 16,	       /* the option's number is added */
	ASKED_TO_SET_OPTION = 2 << 16, /* as above */
};

struct answer {
	u32 asked; /* enum host_question */
	u32 value; /* the value to be set; 0 where none is */
	u32 given; /* the option's value, or whether it was done */
};

#define ANSWERS_MAX 16

struct call_record {
	u64 connection; /* a number that no other connection has; it is drawn at random */
	u64 now_ns;	/* 0: not asked for */
	u32 version;	/* CALL_RECORD_VERSION */
	u32 serial;	/* among the calls for this connection, from 1 */
	u32 generation; /* of the policy in force */
	u32 lot;	/* 0: not asked for */
	struct call call;
	u32 was_remembered;
	u32 is_remembered;
	u32 callbacks; /* what the kernel was asked to call back for, by this call */
	u32 answers;   /* how many there are; more than ANSWERS_MAX: some are missing */
	struct answer answer[ANSWERS_MAX];
	char in_use[TCP_CA_NAME_MAX]; /* the algorithm in use; empty: not asked for */
	struct socket_seen socket;
	struct path_key path_key;     /* where it asked for one */
	struct path_known path_known; /* what the path memory told */
	struct match_key match_key;   /* zeros: not asked for */
	struct bursts bursts;	      /* as the algorithm left them before the call */
	struct idle_keep idle;	      /* as the algorithm that was left last handed it down */
	struct path_shown path;	      /* as the algorithm left it before the call */
	struct connection after;
};

#endif
