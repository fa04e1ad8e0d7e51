/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * TCP Vegas: the window at which a few segments wait in the queue, found by the round-trip time.
 *
 * Source: L. S. Brakmo, L. L. Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
 * Internet", IEEE JSAC 13(8), 1995.
 *
 * Deliberate differences:
 *  1. Retransmission is the kernel's; after a loss half the window is kept, and until the state is
 *     Open again growth is Reno's, as in Linux.
 *  2. Slow start doubles every round trip, not every other one, and looks at Diff once in each, as
 *     in Linux.
 *  3. RTT is the lowest of the round trip and Diff is in segments per BaseRTT, as in Linux; after
 *     fewer than 3 samples the round trip's last ACK is answered as Reno would.
 *  4. A window that is not used does not grow (RFC 7661). In Linux it does.
 *  5. Idle keep (idle_keep.h).
 *
 * After idle time BaseRTT is taken anew, as in Linux: the path may be another one and the queue is
 * empty. Switched in mid-flight: BaseRTT is the lowest RTT that the kernel knows, since a
 * predecessor's queue would be in any new sample; the first decision is due a round trip later.
 */
#define PARAMETERS(P) \
	P(alpha, 2, 1, 1000, "alpha, fewer segments in the queue let the window grow") \
	P(beta, 4, 1, 1000, "beta, at least alpha: more segments in it let the window shrink") \
	P(gamma, 1, 1, 1000, "gamma, more segments in the queue end slow start") \
	IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/ssthresh.h"
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/after_outage.h"
#include "algorithms/common/parameters.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"
#include "algorithms/common/per_round_trip.h"

struct vegas {
	struct idle_keep idle;
	u32 end_seq;	 /* of the present round trip */
	u32 samples;	 /* of the RTT, in it */
	u32 rtt_us;	 /* the lowest of them */
	u32 base_rtt_us; /* BaseRTT; 0: none yet */
};
ASSERT_FITS_PRIVATE_AREA(struct vegas);

/* Fewer samples decide nothing: one of them may be that of a delayed ACK. */
#define SAMPLES_MIN 3

static __always_inline void samples_clear(struct vegas *v)
{
	v->samples = 0;
	v->rtt_us = ~0U;
}

static __always_inline void measuring_begin(struct vegas *v, const struct tcp_sock *tp)
{
	round_trip_begin(&v->end_seq, tp);
	samples_clear(v);
}

static __always_inline void window_shrink(struct tcp_sock *tp, u32 cwnd)
{
	cwnd = max(cwnd, 2);
	tp->snd_cwnd = min(cwnd, tp->snd_cwnd_clamp);
	/* Otherwise slow start would raise the window again. */
	tp->snd_ssthresh = min(tp->snd_ssthresh, cwnd);
}

/* This is done once per round trip, when there are samples, and BaseRTT is the lowest of them or
 * lower. */
static __always_inline void window_adjust(const struct vegas *v, struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 cwnd = tp->snd_cwnd;
	u64 base_rtt = v->base_rtt_us;
	u64 rtt = v->rtt_us;
	/* "Diff = Expected - Actual", "Expected = WindowSize/BaseRTT", what was sent in RTT */
	u64 diff = cwnd * (rtt - base_rtt) / base_rtt;

	if (tcp_in_slow_start(tp)) {
		/* The window becomes what would have been sent at the actual rate in BaseRTT. */
		if (diff > parameter(sk, gamma))
			window_shrink(tp, min(cwnd, cwnd * base_rtt / rtt + 1));
		else if (tcp_is_cwnd_limited(sk))
			reno_slow_start(tp, acked);
	} else if (diff > max(parameter(sk, alpha), parameter(sk, beta))) {
		/* "Diff > beta: decreases the congestion window linearly" */
		window_shrink(tp, cwnd - 1);
	} else if (diff < parameter(sk, alpha) && tcp_is_cwnd_limited(sk)) {
		/* "Diff < alpha: increases the congestion window linearly" */
		tp->snd_cwnd = min(tp->snd_cwnd + 1, tp->snd_cwnd_clamp);
	}
}

CALLBACK(void, vegas_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *v = inet_csk_ca(sk);

	idle_keep_init(sk);
	measuring_begin(v, tp);
	/* The handshake alone tells little: its packets are shorter. */
	if (tp->data_segs_out && tcp_min_rtt(tp) != ~0U)
		v->base_rtt_us = tcp_min_rtt(tp);
}

CALLBACK(void, vegas_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct vegas *v = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca_state(sk) != TCP_CA_Open) {
		reno_grow(sk, tp->snd_cwnd, acked);
		return;
	}
	if (!round_trip_ended(&v->end_seq, tp, ack)) {
		if (tcp_in_slow_start(tp) && tcp_is_cwnd_limited(sk))
			reno_slow_start(tp, acked);
		return;
	}
	if (v->samples < SAMPLES_MIN)
		reno_grow(sk, tp->snd_cwnd, acked);
	else
		window_adjust(v, sk, acked);
	samples_clear(v);
}

CALLBACK(u32, vegas_ssthresh, struct sock *sk)
{
	return bounded_ssthresh(sk, reno_half(tcp_sk(sk)));
}

CALLBACK(void, vegas_set_state, struct sock *sk, u8 new_state)
{
	outage_set_state(sk, new_state);
	if (new_state == TCP_CA_Open)
		measuring_begin(inet_csk_ca(sk), tcp_sk(sk));
}

CWND_EVENT(vegas_cwnd_event, sk, event)
{
	struct vegas *v = inet_csk_ca(sk);

	idle_keep_event(sk, event);
	if (event == CA_EVENT_TX_START) {
		measuring_begin(v, tcp_sk(sk));
		v->base_rtt_us = 0;
	}
}

CALLBACK(void, vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas *v = inet_csk_ca(sk);
	u32 rtt_us;

	idle_keep_acked(sk, sample);
	if (sample->rtt_us < 0)
		return;
	rtt_us = max(sample->rtt_us, 1);
	v->samples++;
	v->rtt_us = min(v->rtt_us, rtt_us);
	/* "BaseRTT is the minimum of all measured round trip times" */
	if (!v->base_rtt_us || rtt_us < v->base_rtt_us)
		v->base_rtt_us = rtt_us;
}

UNDO_CWND(vegas_undo_cwnd)

ALGORITHM(vegas) = {
	.init = (void *)vegas_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)vegas_cong_avoid,
	.ssthresh = (void *)vegas_ssthresh,
	.undo_cwnd = (void *)vegas_undo_cwnd,
	.set_state = (void *)vegas_set_state,
	HEARS(vegas_cwnd_event),
	.pkts_acked = (void *)vegas_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_vegas",
};

ABOUT_WITH_PARAMETERS(vegas, "Brakmo, Peterson: TCP Vegas. IEEE JSAC 13(8), 1995",
		      "deep queues without rivals: keeps them short",
		      "held against Linux's module");
