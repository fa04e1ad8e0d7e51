/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP Westwood+: after a loss the window is what the path was seen to carry, not half.
 *
 * Source: L. A. Grieco, S. Mascolo, "Performance evaluation and comparison of Westwood+, New Reno,
 * and Vegas TCP congestion control", ACM CCR 34(2), 2004.
 *
 * Deliberate differences:
 *  1. The bandwidth sample counts segments delivered (SACKed ones included) times the MSS, which
 *     the kernel keeps, in place of the duplicate-ACK bookkeeping of the paper.
 *  2. Idle time is no part of a sample: the paper's sender always has something to send. A sample
 *     begins with the first ACK after it and ends at the latest with the last ACK before the
 *     next; one shorter than a round trip counts as one, since that is what the burst took.
 *  3. The threshold is never above the window: the kernel would raise the window to it at the end
 *     of the recovery, and the paper only lowers it.
 *  4. Idle keep (idle_keep.h).
 *
 * Deliberate difference from Linux's module (docs/conformance.md):
 *  5. The module takes its estimate at the end of the recovery; here it is taken when the loss is
 *     found, as the paper has it.
 *
 * Switched in mid-flight: the filter starts with its first sample; a loss before that is answered
 * as Reno would.
 */
#define PARAMETERS(P) IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/ssthresh.h"
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/after_outage.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"

struct westwood {
	struct idle_keep idle;
	u64 sample_start_us;  /* 0: begins with the next ACK */
	u32 sample_delivered; /* tp->delivered at its start */
	u32 filtered;	      /* bandwidth behind the first filter, bytes per millisecond */
	u32 bandwidth;	      /* bandwidth estimate, bytes per millisecond; 0: none yet */
};
ASSERT_FITS_PRIVATE_AREA(struct westwood);

/* No bandwidth sample is taken over a shorter time. */
#define SAMPLE_MIN_US (50 * USEC_PER_MSEC)

/* "b(k) = alpha b(k-1) + (1 - alpha) sample", alpha = 7/8, applied twice as in Linux */
static __always_inline u32 low_pass(u32 average, u32 sample)
{
	return ((u64)average * 7 + sample) >> 3;
}

/* Takes a sample of what was delivered over the given time. */
static __always_inline void sample_take(struct westwood *w, const struct tcp_sock *tp, u64 us)
{
	u64 bytes = (u64)(tp->delivered - w->sample_delivered) * tp->mss_cache;
	u32 sample = bytes * USEC_PER_MSEC / max(us, 1ULL);

	if (!w->bandwidth)
		w->filtered = w->bandwidth = sample;
	w->filtered = low_pass(w->filtered, sample);
	w->bandwidth = low_pass(w->bandwidth, w->filtered);
}

static __always_inline u64 sample_min_us(const struct tcp_sock *tp)
{
	return max(tp->srtt_us >> 3, SAMPLE_MIN_US);
}

/* Each ACK calls this; there is one sample per round trip. */
static __always_inline void sample_acked(struct westwood *w, const struct tcp_sock *tp)
{
	u64 us = tp->tcp_mstamp - w->sample_start_us;

	if (w->sample_start_us) {
		if (us < sample_min_us(tp))
			return;
		sample_take(w, tp, us);
	}
	w->sample_start_us = tp->tcp_mstamp;
	w->sample_delivered = tp->delivered;
}

/* Something is about to be sent with nothing in flight. The sample ended with the last ACK. */
static __always_inline void sample_end(struct westwood *w, const struct tcp_sock *tp)
{
	if (w->sample_start_us && tp->delivered != w->sample_delivered)
		sample_take(w, tp,
			    max(w->idle.latest_ack_us - w->sample_start_us, sample_min_us(tp)));
	w->sample_start_us = 0;
}

/* "ssthresh = (BWE * RTTmin) / seg_size" */
static __always_inline u32 pipe_segments(const struct westwood *w, const struct tcp_sock *tp)
{
	u64 bytes = (u64)w->bandwidth * tcp_min_rtt(tp) / USEC_PER_MSEC;

	return max((u32)min(bytes / max(tp->mss_cache, 1), (u64)tp->snd_cwnd), 2);
}

CALLBACK(void, westwood_init, struct sock *sk)
{
	idle_keep_init(sk);
}

CALLBACK(void, westwood_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	reno_grow(sk, tcp_sk(sk)->snd_cwnd, acked);
}

CALLBACK(u32, westwood_ssthresh, struct sock *sk)
{
	const struct westwood *w = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	return bounded_ssthresh(sk, w->bandwidth ? pipe_segments(w, tp) : reno_half(tp));
}

CWND_EVENT(westwood_cwnd_event, sk, event)
{
	struct westwood *w = inet_csk_ca(sk);

	idle_keep_event(sk, event);
	if (event == CA_EVENT_TX_START)
		sample_end(w, tcp_sk(sk));
}

CALLBACK(void, westwood_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	idle_keep_acked(sk, sample);
	sample_acked(inet_csk_ca(sk), tcp_sk(sk));
}

CALLBACK(void, westwood_set_state, struct sock *sk, u8 new_state)
{
	outage_set_state(sk, new_state);
}

UNDO_CWND(westwood_undo_cwnd)

ALGORITHM(westwood) = {
	.init = (void *)westwood_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)westwood_cong_avoid,
	.ssthresh = (void *)westwood_ssthresh,
	.undo_cwnd = (void *)westwood_undo_cwnd,
	.set_state = (void *)westwood_set_state,
	HEARS(westwood_cwnd_event),
	.pkts_acked = (void *)westwood_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_westwood",
};

ABOUT_WITH_PARAMETERS(westwood, "Grieco, Mascolo: Westwood+. ACM CCR 34(2), 2004",
		      "lossy links: falls back to what the path carried",
		      "held against Linux's module");
