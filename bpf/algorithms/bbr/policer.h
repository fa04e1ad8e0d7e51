/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A policer may take segments off a path: a token bucket that lets bursts through and then
 * holds to a rate. While one does, its rate is the bandwidth that BBR version 1 goes by.
 *
 * Two intervals in a row that began and ended with losses, when the bucket was empty, had much loss
 * in them and the same throughput. This and its numbers are Linux's, not the draft's (bbr.bpf.c
 * lists it among its differences).
 */
#ifndef KIRIKAE_POLICER_H
#define KIRIKAE_POLICER_H

#include "algorithms/common/path_model.h"

/* An interval has so many round trips at least and at most. */
#define POLICER_ROUNDS_MIN 4
#define POLICER_ROUNDS_MAX 16
/* An interval has at least so much loss, in 1/256. */
#define POLICER_LOSS_256 50
/* The two throughputs differ by no more than 1/8 or so many bytes per second. */
#define POLICER_DIFFERENCE_BYTES 500
/* A policer is believed in for so many round trips. */
#define POLICER_USED_ROUNDS 48

struct policer {
	u32 bw;	      /* 0: nothing suggests one */
	u32 start_ms; /* of the interval in which throughput is measured */
	u32 start_delivered;
	u32 start_lost;
	u8 rounds; /* of the interval, or in use */
	u8 sampling : 1;
	u8 in_use : 1;
};

static __always_inline void policer_interval_begin(struct policer *p, const struct tcp_sock *tp)
{
	p->start_ms = tp->delivered_mstamp / USEC_PER_MSEC;
	p->start_delivered = tp->delivered;
	p->start_lost = tp->lost;
	p->rounds = 0;
}

static __always_inline void policer_forget(struct policer *p, const struct tcp_sock *tp)
{
	p->bw = 0;
	p->in_use = false;
	p->sampling = false;
	policer_interval_begin(p, tp);
}

/* An interval with heavy loss is over: its throughput is the policer's if it is as before. */
static __always_inline void policer_interval_end(struct policer *p, const struct tcp_sock *tp,
						 u32 bw)
{
	u32 difference = bw > p->bw ? bw - p->bw : p->bw - bw;
	u64 bytes = ((u64)difference * tp->mss_cache * (USEC_PER_SEC / 100 * 99)) >> BW_SHIFT;

	if (p->bw && (difference <= p->bw / 8 || bytes <= POLICER_DIFFERENCE_BYTES)) {
		p->bw = ((u64)bw + p->bw) / 2;
		p->in_use = true;
		p->rounds = 0;
		return;
	}
	p->bw = bw;
	policer_interval_begin(p, tp);
}

static __always_inline void policer_measure(struct policer *p, const struct tcp_sock *tp)
{
	u32 delivered = tp->delivered - p->start_delivered;
	u32 lost = tp->lost - p->start_lost;
	u32 ms = (u32)(tp->delivered_mstamp / USEC_PER_MSEC) - p->start_ms;

	if (!delivered || (u64)lost * 256 < (u64)delivered * POLICER_LOSS_256 || !ms)
		return;
	policer_interval_end(p, tp, delivered * BW_ONE / ((u64)ms * USEC_PER_MSEC));
}

/* Looks for a policer with each ACK and each timeout, while none is in use. */
static __always_inline void policer_look_for(struct policer *p, const struct tcp_sock *tp,
					     bool losses, bool is_app_limited, bool round_start)
{
	if (!p->sampling) {
		if (!losses)
			return;
		policer_interval_begin(p, tp);
		p->sampling = true;
	}
	if (round_start)
		p->rounds++;
	if (is_app_limited || p->rounds > POLICER_ROUNDS_MAX)
		policer_forget(p, tp);
	else if (losses && p->rounds >= POLICER_ROUNDS_MIN)
		policer_measure(p, tp);
}

/* A round trip with the policer in use is over. Returns whether it was the last one; then the
 * policer is forgotten. */
static __always_inline bool policer_used_up(struct policer *p, const struct tcp_sock *tp)
{
	if (++p->rounds < POLICER_USED_ROUNDS)
		return false;
	policer_forget(p, tp);
	return true;
}

#endif
