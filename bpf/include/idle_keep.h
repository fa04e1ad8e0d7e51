/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Idle keep: the congestion window survives an idle gap, and the first window after the gap is
 * paced at the rate at which the path was last seen to deliver.
 *
 * After an idle time of one RTO Linux cuts the window back towards the initial one (RFC 2861,
 * sysctl tcp_slow_start_after_idle), so that an answer of 64 KB takes several round trips again.
 * An algorithm hears of the cut just before it (CA_EVENT_CWND_RESTART) and of the transmission
 * after it (CA_EVENT_TX_START), and puts the window back in between, for its own connection only.
 *
 * A whole window sent at line rate overflows a shallow queue. So it is spread at 5/4 of the
 * delivery rate: fast enough that the bottleneck never waits, and only a fifth of the window
 * queues there. The window to go on with is what goes out in a round trip at that rate: after the
 * gap the delivery rate is news of the path. The old window is not. One lost segment may have
 * halved it; and where it was larger, it would fill the queue from the first ACK on, when the
 * kernel takes the pacing rate from the window again.
 *
 * The delivery rate is taken from the spacing of ACKs, not from the kernel's rate sample: that one
 * divides by a whole round trip and so underrates a path by the share of the round trip that a
 * short burst leaves empty.
 *
 * RFC 7661 (section 4.3) lets a window that is not in use be kept for 5 minutes; so does this.
 */
#ifndef KIRIKAE_IDLE_KEEP_H
#define KIRIKAE_IDLE_KEEP_H

#include "switching.h"

#define KEEP_AT_MOST_MS (300 * 1000U)
/* Fewest segments over which a delivery rate is taken: fewer are blurred by delayed ACKs. */
#define RUN_MIN_SEGMENTS 10
/* Most: a rate over more of them would be no news any more. */
#define RUN_MAX_SEGMENTS 64
/* A rate is remembered for this many to twice this many transmissions after idle. */
#define RATE_MEMORY 4

/* First member of every algorithm's private area. */
struct idle_keep {
	u64 rate;	      /* bytes per second: the fastest remembered; 0: none yet */
	u64 latest_rate;      /* the fastest since `rate` was last renewed */
	u64 run_start_us;     /* when the present run of deliveries began; 0: not begun */
	u64 latest_ack_us;    /* its latest ACK */
	u32 run_start;	      /* tp->delivered at its beginning */
	u32 latest_delivered; /* and at its latest ACK */
	u32 cut_ms;	      /* when the window was about to be cut */
	u32 cwnd;	      /* window before the cut, segments; 0: nothing to restore */
	u32 starts;	      /* transmissions after idle since `rate` was renewed */
};

static __always_inline struct idle_keep *idle_keep(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* A run of deliveries is over: its rate counts if it was long enough. */
static __always_inline void idle_keep_run_end(struct idle_keep *keep, const struct tcp_sock *tp)
{
	u32 segments = keep->latest_delivered - keep->run_start;
	u64 us = keep->latest_ack_us - keep->run_start_us;

	if (keep->run_start_us && segments >= RUN_MIN_SEGMENTS) {
		u64 rate = (u64)segments * tp->mss_cache * USEC_PER_SEC / max(us, 1ULL);

		keep->latest_rate = max(keep->latest_rate, rate);
	}
	keep->run_start_us = 0;
}

/* A fresh maximum every RATE_MEMORY transmissions, so that an old, faster path is forgotten. */
static __always_inline void idle_keep_age_rate(struct idle_keep *keep)
{
	keep->rate = max(keep->rate, keep->latest_rate);
	if (++keep->starts < RATE_MEMORY)
		return;
	if (keep->latest_rate)
		keep->rate = keep->latest_rate;
	keep->latest_rate = 0;
	keep->starts = 0;
}

static __always_inline u64 idle_keep_pacing_rate(const struct idle_keep *keep)
{
	return keep->rate + keep->rate / 4;
}

/* The window to go on with: what is paced out in a round trip; without a rate, the old one. */
static __always_inline u32 idle_keep_window(const struct idle_keep *keep, const struct tcp_sock *tp)
{
	u64 bytes = idle_keep_pacing_rate(keep) * tcp_min_rtt(tp) / USEC_PER_SEC;
	u64 window = keep->rate ? bytes / max(tp->mss_cache, 1) : keep->cwnd;

	return min(window, (u64)tp->snd_cwnd_clamp);
}

static __always_inline u32 now_ms(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp / USEC_PER_MSEC;
}

/* Nothing was in flight and something is about to be: restore the window, pace it. */
static __always_inline void idle_keep_start(struct sock *sk, struct idle_keep *keep)
{
	struct tcp_sock *tp = tcp_sk(sk);

	idle_keep_run_end(keep, tp);
	idle_keep_age_rate(keep);
	if (keep->cwnd && now_ms(tp) - keep->cut_ms < KEEP_AT_MOST_MS)
		tp->snd_cwnd = max(tp->snd_cwnd, idle_keep_window(keep, tp));
	keep->cwnd = 0;
	if (!keep->rate)
		return;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	sk->sk_pacing_rate = min(idle_keep_pacing_rate(keep), (u64)sk->sk_max_pacing_rate);
}

/* For cwnd_event. */
static __always_inline void idle_keep_event(struct sock *sk, enum tcp_ca_event event)
{
	struct idle_keep *keep = idle_keep(sk);

	if (event == CA_EVENT_CWND_RESTART) {
		/* Comes once per buffer written until something is sent: the first counts. */
		if (!keep->cwnd) {
			keep->cwnd = tcp_sk(sk)->snd_cwnd;
			keep->cut_ms = now_ms(tcp_sk(sk));
		}
	} else if (event == CA_EVENT_TX_START) {
		idle_keep_start(sk, keep);
	}
}

/*
 * Whether the ACKs have paused, as between two round trips of a window that is too small: for
 * half a round trip, and for longer than a slow path makes them.
 */
static __always_inline bool idle_keep_stalled(const struct idle_keep *keep,
					      const struct tcp_sock *tp)
{
	u64 gap = tp->tcp_mstamp - keep->latest_ack_us;
	u64 run = keep->latest_ack_us - keep->run_start_us;
	u32 segments = keep->latest_delivered - keep->run_start;

	return gap > tp->srtt_us >> 4 && gap * segments > run * 8;
}

/* For pkts_acked: measures the delivery rate. */
static __always_inline void idle_keep_acked(struct sock *sk)
{
	struct idle_keep *keep = idle_keep(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (keep->latest_delivered - keep->run_start >= RUN_MAX_SEGMENTS ||
	    idle_keep_stalled(keep, tp))
		idle_keep_run_end(keep, tp);
	if (!keep->run_start_us) {
		keep->run_start_us = tp->tcp_mstamp;
		keep->run_start = tp->delivered;
	}
	keep->latest_ack_us = tp->tcp_mstamp;
	keep->latest_delivered = tp->delivered;
}

/* The successor finds pacing as it was before this algorithm turned it on. */
CALLBACK(void, idle_keep_release, struct sock *sk)
{
	if (idle_keep(sk)->rate && pacing_is_ours(sk))
		sk->sk_pacing_status = SK_PACING_NONE;
}

#endif
