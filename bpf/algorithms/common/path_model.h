/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * BBR's model of a path, as far as its versions share it: units, rounds, the windowed maximum, the
 * pacing rate, what is to be in flight, the aggregation of ACKs, and coming and going.
 *
 * Source: draft-cardwell-iccrg-bbr-congestion-control-00 and draft-ietf-ccwg-bbr. What each of
 * these says otherwise is in its own algorithm file.
 *
 * Idle keep is not for these: the kernel cuts no window of an algorithm with cong_control, and
 * the model itself lasts over idle time.
 */
#ifndef KIRIKAE_PATH_MODEL_H
#define KIRIKAE_PATH_MODEL_H

#include "connection/bursts.h"
#include "connection/lowest_rtt.h"
#include "algorithms/common/takeover.h"

/* Bandwidths are segments per microsecond << BW_SHIFT, from 60 segments in 1000 s on. */
#define BW_SHIFT 24
#define BW_ONE (1ULL << BW_SHIFT)
/* Gains are in 1/256. */
#define GAIN_ONE 256
/* This RTT says that no minimum is known. */
#define RTT_UNKNOWN (~0U)
/* "BBRMinPipeCwnd = 4 * SMSS" */
#define MIN_PIPE_CWND 4
/* Linux hands down no larger train than this: 64 KB less the headers, and so many segments. */
#define TRAIN_MAX_BYTES (65535U - 320)
#define TRAIN_MAX_SEGMENTS 127

static __always_inline u32 time_ms(const struct tcp_sock *tp)
{
	return tp->tcp_mstamp / USEC_PER_MSEC;
}

/* Returns whether a counter that wraps, or a time, has come to `b`. */
static __always_inline bool reached(u32 a, u32 b)
{
	return (s32)(a - b) >= 0;
}

static __always_inline bool has_rate(const struct rate_sample *rs)
{
	return rs->delivered >= 0 && rs->interval_us > 0;
}

/* "rs.delivery_rate = rs.delivered / rs.interval" */
static __always_inline u32 delivery_rate(const struct rate_sample *rs)
{
	return (u64)rs->delivered * BW_ONE / (u64)rs->interval_us;
}

/* Returns whether the delivery rate is more than `bw`; it takes no division. */
static __always_inline bool is_faster(const struct rate_sample *rs, u32 bw)
{
	return (u64)rs->delivered * BW_ONE >= (bw + 1ULL) * (u64)rs->interval_us;
}

/* Returns whether it is less, where the sample's time is above 0; what is no sample is not. */
static __always_inline bool is_slower(const struct rate_sample *rs, u32 bw)
{
	return (u64)rs->delivered * BW_ONE < (u64)bw * (u64)rs->interval_us;
}

/* This is the fastest of some samples, not divided yet. */
struct fastest {
	u32 delivered;
	u32 interval_us;
};

/* No sample has come yet. */
static __always_inline void fastest_begin(struct fastest *fastest)
{
	fastest->delivered = 0;
	fastest->interval_us = 1;
}

/* Notes a sample that has a rate, unless all ones are in `but`. */
static __always_inline void fastest_note(struct fastest *fastest, const struct rate_sample *rs,
					 u32 but)
{
	u32 kept = but | ones_if_less((u64)rs->delivered * fastest->interval_us,
				      (u64)fastest->delivered * rs->interval_us);

	fastest->delivered = either(kept, fastest->delivered, rs->delivered);
	fastest->interval_us = either(kept, fastest->interval_us, rs->interval_us);
}

/* Returns the rate of the fastest sample; 0: there was none. */
static __always_inline u32 fastest_rate(const struct fastest *fastest)
{
	return fastest->delivered * BW_ONE / max(fastest->interval_us, 1U);
}

/* Round trips are timed by packets. */
struct rounds {
	u32 count;
	u32 next_delivered; /* BBR.next_round_delivered */
};

static __always_inline void round_begin(struct rounds *rounds, const struct tcp_sock *tp)
{
	rounds->next_delivered = tp->delivered;
}

/* "if (packet.delivered >= BBR.next_round_delivered)": returns whether a round has begun. */
static __always_inline bool round_update(struct rounds *rounds, const struct tcp_sock *tp,
					 const struct rate_sample *rs)
{
	if (!reached(rs->prior_delivered, rounds->next_delivered))
		return false;
	round_begin(rounds, tp);
	rounds->count++;
	return true;
}

/*
 * The maximum over a window of rounds, after Kathleen Nichols: the largest value of the window and
 * the largest ones after it, renewed at the quarters of the window, so that the next is at hand
 * when the largest gets too old. Of the rounds only the lower 16 bits are kept.
 */
struct max_filter {
	u32 first; /* values descend, rounds ascend */
	u32 second;
	u32 third;
	u16 first_round;
	u16 second_round;
	u16 third_round;
};

/* Returns how many rounds ago the largest value came. */
static __always_inline u16 max_filter_age(const struct max_filter *f, u32 round)
{
	return round - f->first_round;
}

static __always_inline void max_filter_set_third(struct max_filter *f, u32 round, u32 value)
{
	f->third = value;
	f->third_round = round;
}

static __always_inline void max_filter_set_second(struct max_filter *f, u32 round, u32 value)
{
	f->second = value;
	f->second_round = round;
	max_filter_set_third(f, round, value);
}

static __always_inline void max_filter_set(struct max_filter *f, u32 round, u32 value)
{
	f->first = value;
	f->first_round = round;
	max_filter_set_second(f, round, value);
}

/* The second value becomes the first, the third becomes the second. */
static __always_inline void max_filter_shift(struct max_filter *f, u32 round, u32 value)
{
	f->first = f->second;
	f->first_round = f->second_round;
	f->second = f->third;
	f->second_round = f->third_round;
	max_filter_set_third(f, round, value);
}

/* Takes up a value. Within a round, only the first value and larger ones make a difference. */
SELDOM void max_filter_renew(struct max_filter *f, u32 window, u32 round, u32 value)
{
	bool is_first_of_round = f->third_round != (u16)round;

	if (value >= f->first || (u16)(round - f->third_round) > window) {
		max_filter_set(f, round, value);
		return;
	}
	if (value >= f->second)
		max_filter_set_second(f, round, value);
	else if (value >= f->third)
		max_filter_set_third(f, round, value);
	if (!is_first_of_round)
		return;

	if (max_filter_age(f, round) > window) {
		max_filter_shift(f, round, value);
		if (max_filter_age(f, round) > window)
			max_filter_shift(f, round, value);
	} else if (f->second_round == f->first_round && max_filter_age(f, round) > window / 4) {
		max_filter_set_second(f, round, value);
	} else if (f->third_round == f->second_round && max_filter_age(f, round) > window / 2) {
		max_filter_set_third(f, round, value);
	}
}

/*
 * Returns whether the next value, however small, renews one of the three: one was kept for long
 * and this round has brought none. Otherwise only larger values than the third matter, and the
 * largest of a round alone does as well.
 */
static __always_inline bool max_filter_is_due(const struct max_filter *f, u32 window, u32 round)
{
	u16 age = max_filter_age(f, round);

	if (age <= window / 4 || f->third_round == (u16)round)
		return false;
	return f->second_round == f->first_round || age > window ||
	       (age > window / 2 && f->third_round == f->second_round);
}

/* "pacing_gain * bw * (100 - BBRPacingMarginPercent) / 100", bytes per second; margin 1 % */
static __always_inline u64 pacing_rate(const struct sock *sk, u64 bw, u32 gain)
{
	/* The smallest bandwidth that there is a number for: a rate of 0 is none at all. */
	u64 rate = max(bw, 1ULL) * tcp_sk(sk)->mss_cache * gain / GAIN_ONE;
	u64 highest = sk->sk_max_pacing_rate;

	/* 8 TB/s and more would not fit. */
	rate = min(rate, ~0ULL / USEC_PER_SEC);
	rate = max(rate * (USEC_PER_SEC / 100 * 99) >> BW_SHIFT, 1ULL);
	return min(rate, highest);
}

/*
 * "nominal_bandwidth = InitialCwnd / (SRTT ? SRTT : 1ms)", with the window found in mid-flight.
 * Returns whether an RTT was known.
 */
SELDOM bool pace_at_first(struct sock *sk, u32 gain)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 srtt_us = tp->srtt_us ? max(tp->srtt_us >> 3, 1U) : USEC_PER_MSEC;

	sk->sk_pacing_rate = pacing_rate(sk, tp->snd_cwnd * BW_ONE / srtt_us, gain);
	return tp->srtt_us;
}

/* "BBR.send_quantum": the segments that leave as one train, at least `at_least`. */
static __always_inline u32 send_quantum(const struct sock *sk, u32 at_least)
{
	u64 bytes = min((u64)sk->sk_pacing_rate >> (sk->sk_pacing_shift & 63), TRAIN_MAX_BYTES);
	u32 segments = bytes / max(tcp_sk(sk)->mss_cache, 1);

	return min(max(segments, at_least), TRAIN_MAX_SEGMENTS);
}

/* "gain * estimated_bdp", segments, rounded up */
static __always_inline u32 bdp_multiple(u32 bw, u32 rtt_us, u32 gain)
{
	if (rtt_us == RTT_UNKNOWN)
		return TCP_INIT_CWND; /* "no valid RTT samples yet" */
	return ((u64)bw * rtt_us * gain / GAIN_ONE + BW_ONE - 1) >> BW_SHIFT;
}

/* Returns the segments that a bandwidth delivers in some time. */
static __always_inline u32 delivers(u32 bw, u64 us)
{
	return (u64)bw * us >> BW_SHIFT;
}

/* In such an interval ACKs arrive no slower than the bandwidth. */
struct ack_interval {
	u32 start_us;
	u32 acked; /* segments */
};

static __always_inline void ack_interval_begin(struct ack_interval *interval, u64 now_us)
{
	interval->start_us = now_us;
	interval->acked = 0;
}

/* "extra = (extra_acked_delivered - expected_delivered)" */
static __always_inline u32 excess_in(struct ack_interval *interval, const struct tcp_sock *tp,
				     u32 bw, u32 acked)
{
	u32 now_us = tp->tcp_mstamp; /* which is delivered_mstamp where something is ACKed */
	u32 expected = delivers(bw, now_us - interval->start_us);
	/* "Reset interval if ACK rate is below expected rate" */
	u32 goes_on = ones_if_less(expected, interval->acked);

	interval->start_us = either(goes_on, interval->start_us, now_us);
	interval->acked = (interval->acked & goes_on) + acked;
	return interval->acked - (expected & goes_on);
}

/* Returns the same, but at most the window. */
static __always_inline u32 excess_acked(struct ack_interval *interval, const struct tcp_sock *tp,
					u32 bw, u32 acked)
{
	u32 excess = excess_in(interval, tp, bw, acked);

	return min(excess, tp->snd_cwnd);
}

/*
 * The window grows by what was ACKed, up to a target. In Startup, for which `is_startup` is all
 * ones, it grows as long as it is below the target.
 */
static __always_inline void grow_quietly(struct tcp_sock *tp, u32 acked, u32 target, u32 is_startup)
{
	u32 cwnd = tp->snd_cwnd, grown = cwnd + acked;
	u32 grows = ones_if_less(either(is_startup, cwnd, grown), target);

	cwnd = either(grows, grown, either(is_startup, cwnd, target));
	tp->snd_cwnd = either(ones_if_less(cwnd, tp->snd_cwnd_clamp), cwnd, tp->snd_cwnd_clamp);
}

/* "C.app_limited = (BW.delivered + packets_in_flight) ? : 1" */
static __always_inline void mark_app_limited(struct tcp_sock *tp)
{
	set_app_limited(tp, max(tp->delivered + tcp_packets_in_flight(tp), 1U));
}

/* Returns the minimum to begin with: that of late where the switcher knows one. The kernel's may be
 * of a path that was left minutes ago, and what is in flight would fit that one until it is too
 * old. */
static __always_inline u32 min_rtt_at_first(struct sock *sk)
{
	const struct connection *connection = connection_of(sk);
	u32 of_late_us = connection ? lowest_rtt_us(connection) : RTT_UNKNOWN;
	u32 lowest_us = tcp_min_rtt(tcp_sk(sk));

	return of_late_us == RTT_UNKNOWN ? lowest_us : max(lowest_us, of_late_us);
}

/*
 * init calls this: it mends what the predecessor left, turns pacing on and puts ssthresh out of
 * the way. Returns the ssthresh found.
 */
static __always_inline u32 model_take_over(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 ssthresh;

	take_over(sk);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	ssthresh = tp->snd_ssthresh;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	return ssthresh;
}

/*
 * release calls this: the successor finds pacing off and the ssthresh of before. Where there was
 * none, `window` takes its place, the one that fills the pipe; it is 0 where none was seen to, and
 * slow start goes on after recovery.
 */
static __always_inline void model_release(struct sock *sk, u32 ssthresh_found, u32 window)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (pacing_is_ours(sk))
		sk->sk_pacing_status = SK_PACING_NONE;
	tp->snd_ssthresh = ssthresh_found;
	/* In recovery the window is reduced to it from the next ACK on. */
	if (!window && ca_state(sk) >= TCP_CA_CWR)
		window = tp->snd_cwnd;
	if (ssthresh_found >= TCP_INFINITE_SSTHRESH && window)
		tp->snd_ssthresh = max(window, 2U);
	yield_to_others(sk);
}

#endif
