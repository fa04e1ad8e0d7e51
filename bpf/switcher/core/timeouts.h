/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This is how long a connection waits before it sends again what nobody has ACKed.
 *
 * Source: RFC 6298 (the timeout), RFC 8985, section 7 (the tail loss probe, which the kernel times
 * by the same values). What is set is the kernel's own: rto_min and, from when a timeout has come,
 * the longest timeout. Differences from Linux, which has 200 ms and 120 s:
 *
 * 1. The timeout allows 50 ms at least for the variation of the RTT: Linux delays an ACK by 40 ms,
 *    and its timers go off a tick or two late. What varies more is in the kernel's rttvar. In the
 *    Open state the first to go off is the probe, so that an ACK that comes later still costs one
 *    segment sent twice, and no window.
 * 2. A receiver that reports segments twice (DSACK) may be one that delays ACKs for longer, as some
 *    do for 200 ms: each round trip with a report doubles the allowance, up to what the kernel had;
 *    QUIET_ROUNDS without one halve it again. The kernel does not raise rttvar for that: it falls
 *    no further from where the late ACK has brought it. After timeouts in a row a report says
 *    nothing: the ACKs of what is sent again were lost in an outage.
 * 3. The first 30 timeouts in a row wait 1 s at most for the next, where the one before back-off
 *    is no longer than half of that, or the path is in doubt (6.). RFC 6298 (2.5) wants 60 s at
 *    least, since a sender must slow down for a path that has collapsed: a segment a second is
 *    slow, and from then on it doubles as ever.
 * 4. The bound must not make the kernel give a connection up, which reckons with it: it gives up
 *    after the time that tcp_retries2 timeouts within the bound would take, counted from the first
 *    of the retransmissions under way. Where a program has not set TCP_USER_TIMEOUT, which the
 *    kernel takes instead, it is set to the time that the kernel would have reckoned. A kernel that
 *    does not let it be set has the bound only as long as two seconds are left of that time.
 * 5. Where the program has closed the connection, the kernel gives it up as soon as a timeout has
 *    come to the bound. So the bound is taken away with the first state that is not open.
 * 6. After an outage the path is in doubt (connection/outage.h), and so is the timeout. The first
 *    RTT sample may be as long as the outage: a receiver whose ACKs were lost echoes an old
 *    timestamp for a segment that it has already. And what was in flight on a wide path fills the
 *    queue of a narrow one. So no timeout is longer meanwhile than the second that a connection
 *    begins with that knows nothing (RFC 6298, 2.1), unless round trips are longer than half of
 *    that.
 */
#ifndef KIRIKAE_TIMEOUTS_H
#define KIRIKAE_TIMEOUTS_H

#include "arithmetic/fixed_log.h"
#include "connection/outage.h"

/* The kernel's default, and the most that TCP_BPF_RTO_MIN takes. */
#define KERNEL_RTO_MIN_US (200 * USEC_PER_MSEC)
#define LEAST_RTO_MIN_US (50 * USEC_PER_MSEC)
#define MOST_DOUBLINGS 2
/* So many round trips with an RTT sample are needed. */
#define QUIET_ROUNDS 64
/* The least that TCP_RTO_MAX_MS takes. */
#define BOUNDED_RTO_MS 1000
#define BOUNDED_TIMEOUTS 30
/* One RTT sample may be too long; as many as this are believed. */
#define BELIEVED_SAMPLES 2
/* The kernel's TCP_RTO_MIN, from which it reckons. */
#define GIVEN_UP_FROM_MS 200

/* Returns the allowance to be set, where the kernel's is longer; 0: none. */
static __always_inline u32 rto_min_wanted(const struct timeouts *t)
{
	u32 wanted = min(LEAST_RTO_MIN_US << t->doublings, t->kernel_min_us);

	return wanted == t->wanted_us ? 0 : wanted;
}

/*
 * The connection is established, and allows `found_us`. Where it has less than we would set, or
 * more than could be restored, somebody has set it, and it stays.
 */
static __always_inline u32 rto_min_begin(struct timeouts *t, const struct tcp_sock *tp,
					 u32 found_us)
{
	/* A socket that is connected anew may still have what it was given. */
	u32 kernel_us = t->kernel_min_us && found_us == t->min_us ? t->kernel_min_us : found_us;

	__builtin_memset(t, 0, sizeof(*t));
	t->dsack_dups = tp->dsack_dups;
	if (kernel_us <= LEAST_RTO_MIN_US || kernel_us > KERNEL_RTO_MIN_US)
		return 0;
	t->kernel_min_us = kernel_us;
	return rto_min_wanted(t);
}

/* A round trip is over, or, `after_outage`, one just after timeouts in a row. Returns the allowance
 * that is to be set now; 0: the same. */
static __always_inline u32 rto_min_renew(struct timeouts *t, const struct tcp_sock *tp,
					 bool after_outage)
{
	if (!t->kernel_min_us)
		return 0;
	if (after_outage) {
		t->dsack_dups = tp->dsack_dups;
	} else if (tp->dsack_dups != t->dsack_dups) {
		t->dsack_dups = tp->dsack_dups;
		t->doublings = min(t->doublings + 1, MOST_DOUBLINGS);
		t->quiet_rounds = 0;
	} else if (t->doublings && ++t->quiet_rounds >= QUIET_ROUNDS) {
		t->doublings--;
		t->quiet_rounds = 0;
	}
	return rto_min_wanted(t);
}

/* `wanted_us` was set, and became `min_us`: the kernel rounds up to ticks. */
static __always_inline void rto_min_set(struct timeouts *t, u32 wanted_us, u32 min_us)
{
	t->wanted_us = wanted_us;
	t->min_us = min_us;
}

/* Returns when the kernel gives a connection up whose longest timeout is `longest_ms`, after the
 * first retransmission: after so many timeouts that double until then. At most nine hours. */
static __always_inline u32 given_up_after_ms(u32 retries, u32 longest_ms)
{
	u32 doublings = log2_fixed(max(longest_ms / GIVEN_UP_FROM_MS, 1U)) / OCTAVE;

	/* The kernel's longest, of 120 s, takes nine. */
	doublings = min(min(doublings, retries), 9U);
	return ((2 << doublings) - 1) * GIVEN_UP_FROM_MS +
	       (min(retries, 255U) - doublings) * min(longest_ms, 120000U);
}

/* Returns the timeout before back-off. */
static __always_inline u32 timeout_us(const struct tcp_sock *tp)
{
	return (tp->srtt_us >> 3) + tp->rttvar_us;
}

/* There is an RTT sample: counts those in a row that the bound is short for. */
static __always_inline void count_long_samples(struct connection *c, u32 sample_us)
{
	bool is_long = min(c->rtt.present, sample_us) > BOUNDED_RTO_MS * USEC_PER_MSEC / 2;

	c->timeouts.long_samples =
		is_long ? min(c->timeouts.long_samples + 1, BELIEVED_SAMPLES) : 0;
}

/* Returns whether a timeout is to be within the bound as long as the path is in doubt. */
static __always_inline bool is_bounded_in_doubt(const struct connection *c)
{
	return c->timeouts.long_samples < BELIEVED_SAMPLES;
}

/* Returns whether the next timeout, after `earlier` others in a row and the present one, is to come
 * within the bound. */
static __always_inline bool back_off_is_bounded(const struct connection *c,
						const struct tcp_sock *tp, u32 earlier)
{
	bool is_in_doubt = earlier || is_path_in_doubt(c);

	return earlier < BOUNDED_TIMEOUTS &&
	       (timeout_us(tp) <= BOUNDED_RTO_MS * USEC_PER_MSEC / 2 ||
		(is_in_doubt && is_bounded_in_doubt(c)));
}

/*
 * Returns whether the time is long enough until a kernel gives up, after `retries`, what is bounded
 * and has no time of its own for that. The timeout may be late by a second. Where timestamps are in
 * microseconds (a feature of routes, since Linux 6.7), the time since is beyond all bounds.
 */
static __always_inline bool is_given_up_late(const struct tcp_sock *tp, u32 retries)
{
	u32 now_ms = (u32)(tp->tcp_mstamp / USEC_PER_MSEC);
	u32 since_ms = tp->retrans_stamp ? now_ms - tp->retrans_stamp : 0;

	return (u64)since_ms + 2 * BOUNDED_RTO_MS <= given_up_after_ms(retries, BOUNDED_RTO_MS);
}

#endif
