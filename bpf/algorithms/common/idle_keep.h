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
 * kernel takes the pacing rate from the window again. But it is never more than the old window or
 * twice what was delivered in a round trip, beyond which nothing has been validated (RFC 7661,
 * section 4). Where no rate is known, there is nothing to pace by, and the cut stays. So it does
 * where the rate does not even fill the initial window in a round trip: that may have been the
 * speed of the application, a keystroke at a time, and there is nothing to be gained.
 *
 * Where bursts overflow the path all the same (overflow.h), the next ones are careful: at the rate
 * itself, so that nothing of theirs queues, and with no larger window than congestion control left.
 *
 * The delivery rate is taken from the spacing of ACKs, not from the kernel's rate sample: that one
 * divides by a whole round trip and so underrates a path by the share of the round trip that a
 * short burst leaves empty.
 *
 * After an outage all that is in doubt. Where the round trips are those of before, it is the same
 * path; where they are others, or nothing was learned before the next burst, it is forgotten. As
 * soon as ACKs tell a rate, ssthresh becomes what the path carries in a round trip at that rate
 * (Tsukamoto, Fukuda, Hori, Oie (2003), eqs. 1 and 2; the spacing is that of a run of segments and
 * not of a pair, since a receiver may ACK a pair at once; and of one that was sent faster than it
 * was ACKed).
 *
 * RFC 7661 lets a window that is not in use be kept for 5 minutes; so does this.
 *
 * The algorithm's file lists IDLE_KEEP_PARAMETER among its parameters. With 0 nothing of this is
 * done, nor what ssthresh.h says of losses while the application is the limit, only the time of the
 * latest ACK is kept, and what a predecessor knew of the path is left to a successor as it was.
 */
#ifndef KIRIKAE_IDLE_KEEP_H
#define KIRIKAE_IDLE_KEEP_H

/* parameters.h reads the algorithm's list, this one included. */
#define IDLE_KEEP_PARAMETER(P) \
	P(idle_keep, 1, 0, 1, "0: the window falls after idle time and with any loss (RFC 5681)")
#include "connection/bursts.h"
#include "connection/outage.h"
#include "algorithms/common/overflow.h"
#include "algorithms/common/parameters.h"
#include "algorithms/common/takeover.h"

#define KEEP_AT_MOST_US (300ULL * USEC_PER_SEC)
/* A delivery rate is taken over at least so many segments: fewer are blurred by delayed ACKs. What
 * an initial window delivers behind its first ACK has to be enough, since a burst that is hardly
 * larger never has more. */
#define RUN_MIN_SEGMENTS 8
/* A delivery rate is taken over at most so many segments: over more it would be no news any more.
 */
#define RUN_MAX_SEGMENTS 64
/*
 * A run counts as no shorter than this fraction of a round trip. ACKs that a radio link or a
 * network card brings in one go would give any rate; and a burst that is spread over a sixteenth
 * of a round trip loses next to nothing by it.
 */
#define RUN_MIN_FRACTION 16
/* Segments below this share of the MSS are no measure: a path carries more short ones. */
#define SEGMENT_MIN_NUMERATOR 3
#define SEGMENT_MIN_DENOMINATOR 4
/* There is no room for larger counts of segments. */
#define PIPE_MAX 0xffffU
#define RUN_MAX 0xffffU
#define CWND_MAX 0x7ffffU
/* There is no room for a faster rate than this: 134 Gbit/s. */
#define RATE_MAX 0xffffffU
/* A rate is remembered for this many to twice this many transmissions after idle. */
#define RATE_MEMORY 4
/* The path was gone, and what is known of it may be of another (outage.h). */
#define PATH_IN_DOUBT 7

/* Returns the first member of every private area. */
static __always_inline struct idle_keep *idle_keep(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* Returns whether more has been sent since the latest transmission after idle than an interactive
 * program writes at once. A transfer that goes on fills a queue that others wait in, too. */
static __always_inline bool transfer_goes_on(const struct idle_keep *keep,
					     const struct tcp_sock *tp)
{
	return (u32)(tp->bytes_sent >> 10) - keep->start_kb > GOES_ON_FROM_KB;
}

/* Returns whether mostly short segments were sent since the latest transmission after idle. */
static __always_inline bool idle_keep_short(const struct idle_keep *keep, const struct tcp_sock *tp)
{
	u64 kb = (u32)(tp->bytes_sent >> 10) - keep->start_kb;
	u64 full = (u64)(tp->data_segs_out - keep->start_segs) * tp->mss_cache;

	return kb << 10 < full * SEGMENT_MIN_NUMERATOR / SEGMENT_MIN_DENOMINATOR;
}

/* Returns the rate of the present run of deliveries, bytes per millisecond; 0: it is too short. */
static __always_inline u32 idle_keep_run_rate(const struct idle_keep *keep,
					      const struct tcp_sock *tp)
{
	u64 bytes = (u64)keep->run_segments * tp->mss_cache;
	u64 us = (u32)keep->latest_ack_us - keep->run_start_us;

	if (!keep->run_start_us || keep->run_segments < RUN_MIN_SEGMENTS ||
	    idle_keep_short(keep, tp))
		return 0;
	us = max(us, (u64)tcp_min_rtt(tp) / RUN_MIN_FRACTION);
	return min(bytes * USEC_PER_MSEC / max(us, 1ULL), (u64)RATE_MAX);
}

/* The path was seen to deliver at a rate; what is remembered of the path hears of it. */
static __always_inline void path_delivers(const struct sock *sk, u32 rate)
{
	struct connection *connection = connection_of((struct sock *)sk);

	if (connection)
		connection->path.rate = max(connection->path.rate, rate);
}

static __always_inline void idle_keep_run_begin(struct idle_keep *keep, const struct tcp_sock *tp)
{
	keep->run_start_us = tp->tcp_mstamp;
	keep->run_start = tp->delivered;
}

/* A run of deliveries is over: its rate counts if it was long enough. */
static __always_inline void idle_keep_run_end(struct idle_keep *keep, const struct tcp_sock *tp)
{
	u32 rate = idle_keep_run_rate(keep, tp);

	keep->run_start_us = 0;
	if (rate <= keep->latest_rate)
		return;
	keep->latest_rate = rate;
	path_delivers(tcp_to_sock(tp), rate);
}

/* Takes a fresh maximum every RATE_MEMORY transmissions, so that an old, faster path is forgotten.
 */
static __always_inline void idle_keep_age(struct idle_keep *keep)
{
	keep->rate = max((u32)keep->rate, (u32)keep->latest_rate);
	keep->pipe = max(keep->pipe, keep->latest_pipe);
	if (++keep->starts < RATE_MEMORY)
		return;
	if (keep->latest_rate) {
		keep->rate = keep->latest_rate;
		keep->pipe = keep->latest_pipe;
	}
	keep->latest_rate = 0;
	keep->latest_pipe = 0;
	keep->starts = 0;
}

/* Returns the rate to pace at, bytes per millisecond. */
static __always_inline u64 idle_keep_pacing_rate(const struct idle_keep *keep)
{
	u64 rate = keep->rate;

	return keep->careful ? rate : rate + rate / 4;
}

/* Returns the lowest RTT of the latest burst. The kernel's is that of five minutes, and may be of
 * another route. What a burst met first was no queue of its own. */
static __always_inline u32 idle_keep_rtt(const struct idle_keep *keep, const struct tcp_sock *tp)
{
	return max(keep->rtt_us, tcp_min_rtt(tp));
}

/* Returns what is paced out in a round trip, segments. */
static __always_inline u32 idle_keep_window(const struct idle_keep *keep, const struct tcp_sock *tp)
{
	u64 bytes = idle_keep_pacing_rate(keep) * idle_keep_rtt(keep, tp) / USEC_PER_MSEC;

	return min(bytes / max(tp->mss_cache, 1), (u64)tp->snd_cwnd_clamp);
}

/* Returns the largest window that what was carried before the gap stands for, segments. */
static __always_inline u32 idle_keep_validated(const struct idle_keep *keep)
{
	return keep->careful ? keep->cwnd : max((u32)keep->cwnd, 2U * keep->pipe);
}

/* Returns a window beyond which nothing was measured; a path that was faster may have left a larger
 * one. */
static __always_inline u32 idle_keep_most(const struct idle_keep *keep, u32 window)
{
	return TCP_INIT_CWND + 4 * max(window, (u32)keep->pipe);
}

/* Learns what the time since the latest transmission after idle has told of the path. */
static __always_inline void idle_keep_learn(struct idle_keep *keep, const struct tcp_sock *tp)
{
	idle_keep_run_end(keep, tp);
	overflow_learn(keep, tp);
	if (idle_keep_short(keep, tp))
		keep->latest_pipe = 0;
	idle_keep_age(keep);
	keep->is_rtt_new = false;
	keep->start_kb = tp->bytes_sent >> 10;
	keep->start_segs = tp->data_segs_out;
}

/* Timeouts have come in a row, and the path is in doubt. What comes from now on is of the one that
 * is there when it is back. */
static __always_inline void idle_keep_lost(struct sock *sk)
{
	struct idle_keep *keep = idle_keep(sk);

	if (!parameter(sk, idle_keep) || !is_after_outage(connection_of(sk)))
		return;
	keep->starts = PATH_IN_DOUBT;
	keep->latest_rate = 0;
	keep->latest_pipe = 0;
	keep->run_start_us = 0;
	keep->rtt_us = 0;
	keep->is_rtt_new = false;
	/* The spacing of ACKs is to tell the path's rate. Paced it would be that of a window in a
	 * smoothed round trip, which may seem as long as the outage. */
	if (pacing_is_ours(sk))
		sk->sk_pacing_status = SK_PACING_NONE;
}

/* Ends the doubt. */
static __always_inline void idle_keep_judge(struct sock *sk, struct idle_keep *keep)
{
	const struct connection *connection = connection_of(sk);
	u32 before_us = connection ? connection->outage.rtt_us : 0;

	if (before_us && keep->rtt_us && !are_two_paths(before_us, keep->rtt_us)) {
		/* What is learned from now on takes the place of what was known. */
		keep->starts = RATE_MEMORY - 1;
		return;
	}
	keep->rate = 0;
	keep->pipe = 0;
	keep->cwnd = 0;
	keep->starts = 0;
	overflow_forget(keep);
}

/* A run in which segments were sent about as slowly as they were ACKed tells how fast they were
 * sent, not how fast the path is. Returns whether the present one may go on; else it begins anew.
 */
static __always_inline bool run_tells_of_path(struct outage *outage, struct idle_keep *keep,
					      const struct tcp_sock *tp)
{
	u64 acked_us = (u32)tp->tcp_mstamp - keep->run_start_us;
	u64 sent_us = (u32)tp->first_tx_mstamp - outage->run_sent_us;

	/* In slow start it is half of the time. */
	if (acked_us && sent_us * 3 <= acked_us * 2)
		return true;
	idle_keep_run_begin(keep, tp);
	keep->run_segments = 0;
	outage->run_sent_us = tp->first_tx_mstamp;
	return false;
}

/* Where the path is in doubt, ACKs may tell its rate: "bandwidth-delay product = RTT x packet size
 * / time between the ACKs", "ssthresh = bandwidth-delay product / packet size", and no less than a
 * new connection begins with. */
static __always_inline void idle_keep_measure_anew(struct sock *sk, struct idle_keep *keep)
{
	struct connection *connection = connection_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 bytes, carried;

	/* Later losses are no longer the outage's. */
	if (!connection || !is_path_in_doubt(connection)) {
		idle_keep_judge(sk, keep);
		return;
	}
	if (!run_tells_of_path(&connection->outage, keep, tp))
		return;
	bytes = (u64)idle_keep_run_rate(keep, tp) * keep->rtt_us / USEC_PER_MSEC;
	carried = min(bytes / max(tp->mss_cache, 1), (u64)CWND_MAX);
	/* Where nothing was lost after all, the outage has held segments back, and their round
	 * trips say nothing of the path. */
	if (!bytes || (ca_state(sk) < TCP_CA_Recovery && is_after_outage(connection)))
		return;
	tp->snd_ssthresh = max((u32)carried, TCP_INIT_CWND);
	idle_keep_judge(sk, keep);
}

/* Nothing was in flight and something is about to be: this restores the window and paces it. */
static __always_inline void idle_keep_start(struct sock *sk, struct idle_keep *keep)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool is_small;
	u32 window;

	/* The retransmission of a timeout, with all that was in flight lost, begins nothing. */
	if (!tp->packets_out) {
		if (keep->starts == PATH_IN_DOUBT)
			idle_keep_judge(sk, keep);
		idle_keep_learn(keep, tp);
	} else if (keep->starts == PATH_IN_DOUBT) {
		return;
	}
	/* What fits into an initial window goes out at once, as on a new connection. */
	is_small = tp->write_seq - tp->snd_nxt <= TCP_INIT_CWND * tp->mss_cache;
	if (is_small)
		sk->sk_pacing_rate = sk->sk_max_pacing_rate;
	window = idle_keep_window(keep, tp);
	if (keep->rate)
		tp->snd_cwnd = min(tp->snd_cwnd, idle_keep_most(keep, window));
	if (window <= TCP_INIT_CWND)
		return;
	if (keep->cwnd && tp->tcp_mstamp - keep->latest_ack_us < KEEP_AT_MOST_US)
		tp->snd_cwnd = max(tp->snd_cwnd, min(window, idle_keep_validated(keep)));
	if (is_small)
		return;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	sk->sk_pacing_rate = min(idle_keep_pacing_rate(keep) * (USEC_PER_SEC / USEC_PER_MSEC),
				 (u64)sk->sk_max_pacing_rate);
}

/* cwnd_event calls this. */
static __always_inline void idle_keep_event(struct sock *sk, enum tcp_ca_event event)
{
	struct idle_keep *keep = idle_keep(sk);
	bool is_wanted = parameter(sk, idle_keep);
	struct connection *connection;
	u32 rate = 0;

	if (event != CA_EVENT_CWND_RESTART && event != CA_EVENT_TX_START)
		return;
	connection = connection_of(sk);
	if (connection && connection->flags & CONNECTION_NO_IDLE_KEEP)
		is_wanted = false;
	if (is_wanted && event == CA_EVENT_CWND_RESTART) {
		/* This event comes once per buffer written until something is sent; the first
		 * counts. */
		if (!keep->cwnd)
			keep->cwnd = min(tcp_sk(sk)->snd_cwnd, CWND_MAX);
	} else if (is_wanted && event == CA_EVENT_TX_START) {
		idle_keep_start(sk, keep);
		keep->cwnd = 0;
		rate = keep->rate;
	}
	if (connection && event == CA_EVENT_TX_START)
		next_burst(&connection->bursts, tcp_sk(sk), rate);
}

/*
 * Returns whether the ACKs have paused, as between two round trips of a window that is too small:
 * for half a round trip, and for longer than a slow path makes them.
 */
static __always_inline bool idle_keep_stalled(const struct idle_keep *keep,
					      const struct tcp_sock *tp)
{
	u64 gap = tp->tcp_mstamp - keep->latest_ack_us;
	u64 run = (u32)keep->latest_ack_us - keep->run_start_us;
	u32 segments = keep->run_segments;

	/* After an outage a few segments are all that a round trip has, sent here and there in it,
	 * and the smoothed RTT may be as long as the outage. */
	if (keep->starts == PATH_IN_DOUBT)
		return gap > keep->rtt_us / 2 || gap * segments > run * 8;
	return gap > tp->srtt_us >> 4 && gap * segments > run * 8;
}

static __always_inline void idle_keep_rtt_update(struct idle_keep *keep, const struct tcp_sock *tp,
						 s32 sample_us)
{
	/* The ACK of a single segment may have been delayed. */
	if (sample_us <= 0 || tp->data_segs_out - keep->start_segs < 2)
		return;
	if (!keep->is_rtt_new || (u32)sample_us < keep->rtt_us)
		keep->rtt_us = sample_us;
	keep->is_rtt_new = true;
}

/* Measures what the path delivers. */
static __always_inline void idle_keep_measure(struct idle_keep *keep, const struct tcp_sock *tp,
					      const struct ack_sample *sample)
{
	u32 mss = max(tp->mss_cache, 1);

	if (keep->run_segments >= RUN_MAX_SEGMENTS || idle_keep_stalled(keep, tp))
		idle_keep_run_end(keep, tp);
	if (!keep->run_start_us)
		idle_keep_run_begin(keep, tp);
	keep->run_segments = min(tp->delivered - keep->run_start, RUN_MAX);
	idle_keep_rtt_update(keep, tp, sample->rtt_us);
	/* An ACK of nothing new has no sample, and the kernel's count covers all that there ever
	 * was. */
	if ((sample->pkts_acked || sample->rtt_us >= 0) &&
	    sample->in_flight >= (keep->latest_pipe + 1ULL) * mss)
		keep->latest_pipe = min(sample->in_flight / mss, PIPE_MAX);
}

/* pkts_acked calls this. */
static __always_inline void idle_keep_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct idle_keep *keep = idle_keep(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (parameter(sk, idle_keep))
		idle_keep_measure(keep, tp, sample);
	keep->latest_ack_us = tp->tcp_mstamp;
	if (unlikely(keep->starts == PATH_IN_DOUBT))
		idle_keep_measure_anew(sk, keep);
}

/*
 * init calls this: what a predecessor knew of the path goes on being known, and what it may be
 * sending right now goes on being paced.
 */
static __always_inline void idle_keep_init(struct sock *sk)
{
	const struct connection *connection = connection_of(sk);

	take_over(sk);
	if (!connection || !parameter(sk, idle_keep))
		return;
	*idle_keep(sk) = connection->idle;
	idle_keep_lost(sk);
	if (connection->idle.rate && sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/*
 * Where a transfer that goes on is left in its first slow start, its successor gets the window
 * that Reno's slow start would have come to by now. What was sent beyond it was for a burst that
 * soon ends, and its loss is to leave no more than Reno's would have.
 */
static __always_inline void leave_slow_start(struct tcp_sock *tp, const struct idle_keep *keep)
{
	u32 sent = tp->data_segs_out - keep->start_segs;
	/* Where the path MTU has shrunk, what is in flight is more segments than were sent. */
	u32 acked = max(sent, tp->packets_out) - tp->packets_out;

	if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH || !transfer_goes_on(keep, tp))
		return;
	tp->snd_cwnd = min(tp->snd_cwnd, TCP_INIT_CWND + acked);
}

/* The successor finds that knowledge, and pacing as it was before this algorithm turned it on. */
CALLBACK(void, idle_keep_release, struct sock *sk)
{
	struct connection *connection = connection_of(sk);

	if (!parameter(sk, idle_keep))
		return;
	if (connection)
		connection->idle = *idle_keep(sk);
	leave_slow_start(tcp_sk(sk), idle_keep(sk));
	yield_to_others(sk);
	if (pacing_is_ours(sk))
		sk->sk_pacing_status = SK_PACING_NONE;
}

#endif
