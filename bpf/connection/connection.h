/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `struct connection` is what is remembered of a connection across switches, beside the socket
 * itself. In the kernel it lives in socket storage, which all objects share; natively the socket
 * points to it. It goes away with the socket.
 */
#ifndef KIRIKAE_CONNECTION_H
#define KIRIKAE_CONNECTION_H

#include "interface/connection_flags.h"
#include "interface/latency_table.h"
#include "interface/measured.h"
#include "interface/path_memory.h"
#include "interface/warm_start.h"

/* Losses sorted into runs; see bpf/switcher/core/loss_runs.h. */
struct loss_runs {
	u32 end_seq;	/* first sequence number after the latest run */
	u32 segments;	/* its length */
	u32 spurious;	/* how many of these were not lost after all */
	s32 isolated;	/* segments lost in runs of at most 2, in this period ... */
	s32 bursts;	/* ... and runs of at least 3; below 0 where earlier ones were not lost */
	u32 dsack_dups; /* the socket's counters when last looked at */
	u32 bytes_retrans;
};

/* What a measuring period brought. Counts are below 0 where losses of earlier periods turned out to
 * be none. */
struct period {
	u32 sent;     /* segments */
	s32 isolated; /* segments lost in runs of at most 2 */
	s32 bursts;   /* runs of at least 3 */
};

/* Losses are counted since the connection was established, and smoothed; see
 * bpf/switcher/core/estimator.h. */
struct estimator {
	u64 period_start_us; /* 0: no period yet */
	u32 period_start_segs;
	u32 isolated_ppb;  /* isolated losses per 10^9 segments sent */
	u32 burst_ppb;	   /* burst losses per 10^9 segments sent */
	u64 averaged_sent; /* moving averages behind the rates, << AVERAGE_POINT_SHIFT */
	u64 averaged_isolated;
	u64 averaged_bursts;
	u64 all_sent; /* since it was established */
	s64 all_isolated;
	s64 all_bursts;
};

/* The belief says how likely each of the table's conditions is; see bpf/switcher/core/belief.h. */
struct belief {
	s32 weight_log[TABLE_CONDITIONS]; /* log2 of weights over the largest, 1/256 */
};

/* What the application writes at once, and what the path carries; see bursts.h. */
struct bursts {
	u64 start_us;	/* when the present one began; 0: none yet */
	u64 start;	/* where it began: see bytes_before() */
	u32 bytes;	/* the mean size of the latest ones; 0: none is over yet */
	u32 rate;	/* bytes per millisecond that the path was seen to carry; 0: not known */
	u32 latency_us; /* mean since the latest switch */
	u32 counted;	/* bursts behind it, up to LATENCY_MEMORY */
	u32 begun;	/* bursts after the first */
	u32 latest_us;	/* what the latest one took; 0: it began with another algorithm */
	u32 latest_bytes;
	u8 is_mixed;	 /* the present one began with another algorithm */
	u8 is_stream;	 /* it was taken for a stream, and its size says nothing of the next */
	u8 had_outage;	 /* neither does it, nor the latency, where the path was gone meanwhile */
	u8 is_file;	 /* the present one is */
	u8 files;	 /* answers that became files, less those since that did not */
	u8 as_files;	 /* how many from the present one on are files from their beginning */
	u8 is_contended; /* others' segments were in the queue when the present one began */
	u8 yields;	 /* it is a file, and is about to get what it came with */
	u64 gone_at;	 /* bytes that were written when the path went, or seen since */
	u64 waited;	 /* bytes of the present one written while the path was gone or in doubt */
	u64 looked_us;	 /* when the present one was looked at last */
	u32 limited_us;	 /* how long the network has, less how long the program has since then */
};

/* Writes without idle time between them; see streams.h. */
struct stream {
	u64 seen_us;	/* when something new was seen last */
	u64 seen;	/* how much had been written then: see bytes_before() */
	u32 demand;	/* bytes per second; 0: not known */
	u32 again;	/* how often there was something new without idle time in between, up to
			   STREAM_MEMORY */
	u32 burst;	/* bursts->begun then */
	u16 rest;	/* what is left until it is probed (streams.h); 0: it is being probed */
	u16 probes;	/* probes since there was room, up to STREAM_PROBES */
	u32 rounds;	/* round trips in which a stream had room */
	u32 latency_us; /* mean since the latest switch */
	u32 counted;	/* round trips behind it, up to LATENCY_MEMORY */
	u32 settling;	/* round trips until what is measured is of the algorithm in use */
	u32 looks;	/* round trips in which it was a stream of known demand */
	u32 waiting;	/* bytes written and not ACKed when something new was seen last */
	u32 owed;	/* bytes that it is behind with, for as long as its buffer has been full */
	u32 least_us; /* the shortest round trip that was known when it was looked at; see streams.h
		       */
};

/* The lowest RTT of the latest two spans of time, microseconds; see rtt_update(). */
struct lowest_rtt {
	u64 start_us;	 /* of the present span */
	u32 start_burst; /* bursts->begun then */
	u32 present;	 /* ~0: no sample in it */
	u32 before;	 /* in the span before */
};

/* What is predicted of each algorithm; see bpf/switcher/core/choice.h. */
struct prediction {
	struct columns latency_us; /* expected latency; 0: this algorithm may not be given */
	struct columns regret;	   /* expected latency over the best algorithm's, 1/65536 */
	struct columns elsewhere;  /* the same where the path has become another */
	struct columns handicap;   /* how much slower it counts than it is, 1/256 octave */
};

/* A decision says which algorithm is to be used, and why. */
struct decision {
	struct measured measured;
	u32 to; /* column of the algorithm chosen */
	struct prediction prediction;
};

/* Patience keeps the choice from going to and fro; see bpf/switcher/core/choice.h. */
struct patience {
	u32 agreeing;	/* choices in a row that would have switched */
	u32 choices;	/* since the latest switch */
	u32 recovering; /* round trips in a row in which the window was being reduced */
};

/* What a connection sends; see bursts.h and streams.h. */
enum load { LOAD_ANSWER, LOAD_STREAM, LOAD_FILE };

/* An outcome says what came of an algorithm; see bpf/switcher/core/outcomes.h. */
struct outcome {
	s32 excess;   /* log2 of latency measured over predicted when it was left, 1/256 octave */
	u32 until;    /* occasions() until which that is known */
	u16 failures; /* how often in a row it was left because it took longer */
	u16 load;     /* enum load: of what that was measured */
};

struct outcomes {
	struct outcome by_column[TABLE_ALGORITHMS]; /* the index is the table's column */
	u32 is_trial; /* the latency of the one before was known when it was taken */
};

/* What was set of the retransmission timer; see bpf/switcher/core/timeouts.h. */
struct timeouts {
	u32 kernel_min_us; /* what it allowed for the variation of the RTT; 0: left alone */
	u32 wanted_us;	   /* what was set in its place; 0: nothing yet */
	u32 min_us;	   /* what the kernel made of it */
	u32 kernel_max_ms; /* its longest timeout, while that is bounded; 0: it is not */
	u32 given_up_ms;   /* when it is given up meanwhile; 0: as without us */
	u32 long_samples;  /* of RTT, in a row, as long as the lowest of late is too long */
	u32 dsack_dups;	   /* the socket's counter when last looked at */
	u32 doublings;	   /* of the allowance, because segments were sent twice */
	u32 quiet_rounds;  /* round trips since without a report of one */
};

/* Idle keep knows what the path delivers, the window before an idle gap (idle_keep.h), and whether
 * bursts overflow the path (overflow.h). It is packed because CUBIC leaves no more room. */
struct idle_keep {
	u64 latest_ack_us : 48;
	u64 lost : 16;	      /* low bits of tp->lost at the latest transmission after idle */
	u64 rate : 24;	      /* bytes per millisecond: the fastest remembered; 0: none yet */
	u64 latest_rate : 24; /* the fastest since `rate` was last renewed */
	u64 first_loss : 16;  /* the segment of this burst that was lost first, from 1; 0: none */
	u32 run_start_us;     /* when the present run of deliveries began; 0: not begun */
	u32 run_start;	      /* tp->delivered at its beginning */
	u16 run_segments;     /* delivered in it up to its latest ACK */
	u16 loss_before;      /* first_loss of the latest burst that had one */
	u16 pipe;	      /* the most segments delivered in a round trip that are remembered */
	u16 latest_pipe;      /* the most since `pipe` was last renewed */
	u32 start_kb;	      /* tp->bytes_sent >> 10 at the latest transmission after idle */
	u32 start_segs;	      /* tp->data_segs_out then */
	u32 rtt_us;	      /* the lowest of the latest burst with an RTT; 0: none yet */
	u32 is_rtt_new : 1;   /* that burst is the present one */
	u32 starts : 3;	      /* such transmissions since `rate` and `pipe` were renewed, or
				 PATH_IN_DOUBT */
	u32 careful : 4;      /* bursts to come that have to fit; 0: the next one may try */
	u32 overflows : 3;    /* the exponent by which `careful` grows */
	u32 same_place : 2; /* bursts in a row that lost the same segment first as the one before */
	u32 cwnd : 19;	    /* window before the kernel's cut, segments; 0: nothing to restore */
};

/* The path was gone; see outage.h. */
struct outage {
	u32 rtt_us;	 /* the lowest RTT before that; 0: not known */
	u32 rounds;	 /* round trips to come until it is found out whether the path is another */
	u32 nudged_at;	 /* bytes ACKed when it was made to send new data, and 1; 0: it was not */
	u32 run_sent_us; /* when the first segment of the present run of deliveries was sent */
};

/* The place of a connection in the operator's policy; see bpf/interface/policy.h. */
struct place {
	u32 generation; /* of the policy by which it was placed */
	u32 scope;	/* number; NO_SCOPE: none any more */
	u64 group;	/* the id of the cgroup by which it is judged (interface/span_sums.h) */
	u32 lot;	/* it is held back ... */
	u32 share;	/* ... where its lot is below this */
	u32 epoch;	/* of its group, when the share was taken */
};

/* Bursts are compared with and without switching; see bpf/switcher/core/comparison.h. */
struct comparison {
	u8 bursts;   /* how many of the present span's are over */
	u8 thinning; /* one of 2^this spans counts */
	u16 spans;   /* how many are over since that changed, without the first of all */
	s32 sum;    /* how far above the usual those were that count, summed up, in 1/4096 octave */
	s32 usual;  /* log2 of what spans took in the mean, 1/4096 octave of microseconds; 0: not
		       known */
	s32 spread; /* how far from that spans are, in 1/4096 octave */
};

/* The latest switch, or, where choices are only observed, the latest choice. */
struct latest_switch {
	u64 at_ns; /* CLOCK_MONOTONIC; 0: none yet */
	u32 reason;
};

/* What a connection began with, and what it has shown of its path; see
 * bpf/switcher/core/warm_start.h. */
struct path_shown {
	struct path_key key;	 /* network 0: nothing is kept of its path */
	struct warm_start start; /* phase RESUME_NONE: it began as any does */
	struct path_known known; /* what was known of its path when it was established */
	u32 is_held;		 /* no other connection begins with the entry meanwhile */
	u64 told_us;		 /* tp->tcp_mstamp when the path memory was told last */
	u64 told_acked;		 /* tp->bytes_acked then */
	u64 told_sent;		 /* of the estimator then: segments, ... */
	s64 told_isolated;	 /* ... isolated losses ... */
	s64 told_bursts;	 /* ... and burst losses */
	u64 round_acked;	 /* tp->bytes_acked when the present round trip began */
	u32 round_bytes;	 /* the most bytes ACKed in a round trip */
	u32 rate; /* the fastest that ACKs have told, bytes per millisecond; 0: none yet */
};

struct connection {
	char original[TCP_CA_NAME_MAX]; /* the algorithm it had when first met */
	char current[TCP_CA_NAME_MAX];	/* the one it was given last */
	char chosen[TCP_CA_NAME_MAX];	/* the one chosen last: given, or, where that is only
					   observed, not given */
	u32 flags;
	u32 switches;
	u32 callbacks; /* BPF_SOCK_OPS_..._CB_FLAG of others, when ours were last not set */
	struct place place;
	struct latest_switch latest_switch;
	u32 ssthresh_before_bbr; /* 0: not in bbr */
	struct loss_runs runs;
	struct estimator estimator;
	struct belief belief;
	struct bursts bursts;
	struct stream stream;
	u32 bursts_counted; /* how many bursts had begun when the latest one was counted */
	struct comparison comparison;
	struct lowest_rtt rtt;
	struct decision decision; /* the latest */
	struct patience patience;
	struct outcomes outcomes;
	struct timeouts timeouts;
	struct outage outage; /* the latest */
	struct path_shown path;
	struct idle_keep idle; /* as the latest algorithm that has idle keep left it */
};

#ifdef __bpf__
struct {
	__uint(type, 24 /* BPF_MAP_TYPE_SK_STORAGE */);
	__uint(map_flags, 1 /* BPF_F_NO_PREALLOC */);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

/* NULL where the switcher has not met this connection. */
static __always_inline struct connection *connection_of(struct sock *sk)
{
	return bpf_sk_storage_get(&connections, sk, 0, 0);
}
#else
static __always_inline struct connection *connection_of(struct sock *sk)
{
	return tcp_sk(sk)->connection;
}
#endif

#endif
