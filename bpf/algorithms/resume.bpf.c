/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Careful Resume: a new connection goes on from what earlier ones have shown of the path.
 *
 * Source: RFC 9959, section 3, on Reno's growth (RFC 5681); RFC 6675 for what is in flight in
 * recovery. The switcher gives it to a connection whose path it remembers
 * (switcher/core/warm_start.h), and the algorithm that is chosen for the path takes over once the
 * phase is Normal.
 *
 * Deliberate differences:
 *  1. The window and PipeSize are counted in segments, as in Linux.
 *  2. The kernel sends the first ten segments of a connection without pacing. The initial window is
 *     no more.
 *  3. In recovery one retransmission is always under way, whatever the window is. RFC 6675 sends
 *     the first; pacing may hold that back until after the ACK that asked for it.
 *  4. After the jump ssthresh is saved_cwnd: beyond what was measured the window grows by
 *     congestion avoidance.
 *  5. In Reconnaissance, and once the phase is Normal, a loss leaves 7/10 of the window (RFC 9438,
 *     section 4.6), as with Linux's preset: with half of it a loss in the initial window would cost
 *     more than without Careful Resume.
 *  6. With `first flight` there is no reconnaissance: the first window is the jump, paced by the
 *     rate at which the path was measured to deliver. RFC 9959, section 4.2, limits it to the
 *     initial window; this goes beyond it. PipeSize begins with the initial window, which any
 *     connection may send: a loss costs no more of it than it would cost others.
 *  7. What was saved is used within PATH_USED_AT_MOST_S, while no other connection may.
 *  8. There is no jump to less than twice the window that slow start has come to by then.
 *
 * Switched in mid-flight: without anything remembered it grows as Reno does.
 */
#define PARAMETERS(P) IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/limited_transmit.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"

/* A jump is at least to so many times the window: slow start is there a round trip later, and is
 * not held up by pacing meanwhile. */
#define JUMP_TIMES 2

struct resume {
	struct idle_keep idle;
	u64 until_us;	 /* when the Unvalidated Phase has lasted a round trip; until something is
			    sent in it, and in reconnaissance, when it is too late for it */
	u32 phase;	 /* enum resume_phase */
	u32 pipe_size;	 /* PipeSize, segments */
	u32 initial_end; /* the sequence number after the initial data */
	u32 first_unvalidated; /* of the first segment sent in the Unvalidated Phase */
	u32 last_unvalidated;  /* after the last one */
	u32 jump;	       /* jump_cwnd, segments */
	u32 saved;	       /* saved_cwnd, segments */
	u32 retreat_to;	       /* the window in recovery, segments */
};
ASSERT_FITS_PRIVATE_AREA(struct resume);

static __always_inline struct resume *resume_of(const struct sock *sk)
{
	return inet_csk_ca(sk);
}

/* The switcher reads the phase. */
static __always_inline void enter(struct sock *sk, struct resume *r, u32 phase)
{
	struct connection *c = connection_of(sk);

	r->phase = phase;
	if (c)
		c->path.start.phase = phase;
}

static __always_inline bool is_acked(const struct tcp_sock *tp, u32 seq)
{
	return (s32)(tp->snd_una - seq) >= 0;
}

/* The kernel paces by its own rule only for algorithms without cong_control: 2 or 1.2 windows in a
 * round trip, or what is in flight, where that is more. */
static __always_inline void pace_by_window(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 percent = tp->snd_cwnd < tp->snd_ssthresh / 2 ? 200 : 120;
	u64 window = (u64)max(tp->snd_cwnd, tp->packets_out) * tp->mss_cache * percent / 100;
	u64 rate = window * USEC_PER_SEC / max(tp->srtt_us >> 3, 1);

	sk->sk_pacing_rate = min(rate, (u64)sk->sk_max_pacing_rate);
}

/* "All packets sent in the Unvalidated Phase MUST use pacing based on the current RTT" (section
 * 3.3). A first flight is paced by the rate that was measured, of which the kernel sends the first
 * ten segments unpaced: the others leave such that all have left when the path has delivered them.
 */
static __always_inline void pace_jump(struct sock *sk, const struct resume *r, u32 rate)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 jump = (u64)r->jump * tp->mss_cache;
	u32 jump_segments = max(r->jump, 2U * TCP_INIT_CWND);
	u64 per_second = jump * USEC_PER_SEC / max(tp->srtt_us >> 3, 1);

	if (rate)
		per_second = (u64)rate * 1000 * (jump_segments - TCP_INIT_CWND) / jump_segments;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
	sk->sk_pacing_rate = min(per_second, (u64)sk->sk_max_pacing_rate);
}

/* "CWND = jump_cwnd", and "PipeSize" begins with the flight size (section 3.3). */
static __always_inline void jump(struct sock *sk, struct resume *r, u32 rate)
{
	struct tcp_sock *tp = tcp_sk(sk);

	enter(sk, r, RESUME_UNVALIDATED);
	r->pipe_size = tcp_packets_in_flight(tp);
	r->first_unvalidated = tp->snd_nxt;
	tp->snd_cwnd = min(max(tp->snd_cwnd, r->jump), tp->snd_cwnd_clamp);
	tp->snd_ssthresh = max(r->saved, tp->snd_cwnd);
	pace_jump(sk, r, rate);
}

CALLBACK(void, resume_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct resume *r = resume_of(sk);
	const struct connection *c;
	u32 mss = max(tp->mss_cache, 1);

	idle_keep_init(sk);
	r->phase = RESUME_NORMAL;
	r->retreat_to = tp->snd_cwnd;
	c = connection_of(sk);
	if (!c || c->path.start.phase != RESUME_RECONNAISSANCE)
		return;
	r->phase = RESUME_RECONNAISSANCE;
	r->jump = c->path.start.jump_cwnd / mss;
	r->saved = c->path.start.saved_cwnd / mss;
	r->initial_end = tp->snd_nxt + tp->snd_cwnd * mss;
	r->until_us = tp->tcp_mstamp + (u64)PATH_USED_AT_MOST_S * USEC_PER_SEC;
	if (c->path.start.is_first_flight) {
		jump(sk, r, c->path.start.rate);
		r->pipe_size = TCP_INIT_CWND;
	}
}

/* Returns whether what was saved may still be used: the RTT is still that of the path. The window
 * is larger than the handshake, and may meet what that has not met. */
static __always_inline bool is_path_confirmed(struct sock *sk, const struct resume *r)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct connection *c = connection_of(sk);

	return c && tp->tcp_mstamp <= r->until_us &&
	       is_rtt_within_bounds(tp->srtt_us >> 3, c->path.start.saved_rtt_us);
}

/* "When the sender has received an ACK that acknowledges all the initial data (usually the IW)
 * without reported congestion, it MAY then enter the Unvalidated Phase", which "MAY be deferred to
 * the time at which more data is sent than would have been normally permitted" (section 3.2). */
static __always_inline void reconnoitre(struct sock *sk, struct resume *r)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 unsent = (tp->write_seq - tp->snd_nxt) / max(tp->mss_cache, 1);
	u32 wanted = tcp_packets_in_flight(tp) + unsent;

	if (tp->tcp_mstamp <= r->until_us && !is_acked(tp, r->initial_end))
		return;
	if (r->jump < JUMP_TIMES * tp->snd_cwnd || !is_path_confirmed(sk, r)) {
		enter(sk, r, RESUME_NORMAL);
	} else if (wanted > tp->snd_cwnd) {
		jump(sk, r, 0);
		r->until_us = tp->tcp_mstamp + (tp->srtt_us >> 3);
	}
}

/* The Unvalidated Phase ends when the flight size reaches the window, when the first segment sent
 * in it is ACKed, or after a round trip. Where no more than PipeSize is in flight then, the jump
 * was not needed, and the window is PipeSize; otherwise it is the flight size (section 3.3). */
static __always_inline void leave_unvalidated(struct sock *sk, struct resume *r)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = tcp_packets_in_flight(tp);

	r->last_unvalidated = tp->snd_nxt;
	if (flight < TCP_INIT_CWND || flight <= r->pipe_size) {
		tp->snd_cwnd = min(max(r->pipe_size, TCP_INIT_CWND), tp->snd_cwnd_clamp);
		enter(sk, r, RESUME_NORMAL);
		return;
	}
	tp->snd_cwnd = flight;
	enter(sk, r, RESUME_VALIDATING);
}

/* Nothing was lost after all, and the kernel has put window and ssthresh back. What was sent goes
 * on being validated, and the window is what was delivered or is in flight. */
static __always_inline void take_retreat_back(struct sock *sk, struct resume *r)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_cwnd = min(tp->snd_cwnd, max(r->pipe_size, tcp_packets_in_flight(tp)));
	enter(sk, r, RESUME_VALIDATING);
}

/* "ssthresh MUST be set to no larger than the most recently measured PipeSize * Beta" (section
 * 3.5). */
static __always_inline void end_retreat(struct sock *sk, struct resume *r)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_ssthresh = max(r->pipe_size / 2, 2);
	enter(sk, r, RESUME_RETREATED);
}

/* Does what the phase wants; returns whether the window may grow. */
static __always_inline bool advance_phase(struct sock *sk, struct resume *r, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	r->pipe_size += acked;
	if (r->phase == RESUME_SAFE_RETREAT && tp->snd_ssthresh > r->retreat_to)
		take_retreat_back(sk, r);
	switch (r->phase) {
	case RESUME_RECONNAISSANCE:
		reconnoitre(sk, r);
		return r->phase == RESUME_RECONNAISSANCE;
	case RESUME_UNVALIDATED:
		if (tcp_packets_in_flight(tp) >= tp->snd_cwnd || tp->tcp_mstamp > r->until_us ||
		    is_acked(tp, r->first_unvalidated + 1))
			leave_unvalidated(sk, r);
		return false;
	case RESUME_VALIDATING:
		if (is_acked(tp, r->last_unvalidated))
			enter(sk, r, RESUME_NORMAL);
		return true;
	case RESUME_SAFE_RETREAT:
		if (is_acked(tp, r->last_unvalidated))
			end_retreat(sk, r);
		return false;
	default:
		return true;
	}
}

/* What is sent in recovery is limited by what is in flight (RFC 6675). */
static __always_inline void limit_in_recovery(struct tcp_sock *tp, const struct resume *r)
{
	u32 window = r->retreat_to;

	if (tp->lost_out && !tp->retrans_out)
		window = max(window, tcp_packets_in_flight(tp) + 1);
	tp->snd_cwnd = min(window, tp->snd_cwnd_clamp);
}

CONG_CONTROL(resume_cong_control, sk, rs)
{
	struct resume *r = resume_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	bool may_grow = advance_phase(sk, r, rs->acked_sacked);
	u32 state = ca_state(sk);

	if (state == TCP_CA_Recovery || state == TCP_CA_CWR)
		limit_in_recovery(tp, r);
	else if (may_grow && rs->acked_sacked)
		reno_grow(sk, tp->snd_cwnd, rs->acked_sacked);
	if (r->phase != RESUME_UNVALIDATED)
		pace_by_window(sk);
}

/* Congestion. In reconnaissance it ends Careful Resume (difference 5); afterwards "The CWND MUST be
 * reduced to no more than (PipeSize/2)" (section 3.5). After a retransmission timeout there is
 * nothing to retreat from: the kernel has cut the window. */
CALLBACK(u32, resume_ssthresh, struct sock *sk)
{
	struct resume *r = resume_of(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	overflow_loss(&r->idle, tp);
	if (r->phase == RESUME_RECONNAISSANCE)
		enter(sk, r, RESUME_NORMAL);
	if (r->phase == RESUME_UNVALIDATED)
		r->last_unvalidated = tp->snd_nxt;
	if (r->phase == RESUME_UNVALIDATED || r->phase == RESUME_VALIDATING)
		enter(sk, r, RESUME_SAFE_RETREAT);
	if (r->phase == RESUME_SAFE_RETREAT)
		return max(min(r->pipe_size, tp->snd_cwnd) / 2, 2);
	return max(tp->snd_cwnd * 7 / 10, 2);
}

/* The window is reduced at once: where a tail loss probe has repaired the loss, the state is Open
 * again before the ACK is over. In reconnaissance it is a smaller path MTU that leads to Loss
 * without a question for ssthresh. */
CALLBACK(void, resume_set_state, struct sock *sk, u8 state)
{
	struct resume *r = resume_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	limited_transmit(sk, state);
	if (state == TCP_CA_Loss && r->phase == RESUME_SAFE_RETREAT)
		enter(sk, r, RESUME_RETREATED);
	if (state == TCP_CA_Loss && r->phase == RESUME_RECONNAISSANCE)
		enter(sk, r, RESUME_NORMAL);
	if (state == TCP_CA_Recovery || state == TCP_CA_CWR) {
		r->retreat_to = tp->snd_ssthresh;
		tp->snd_cwnd = min(tp->snd_cwnd, r->retreat_to);
	}
}

/* What is sent first after the handshake begins the round trip that the jump may last, unless it
 * comes too late. */
CWND_EVENT(resume_cwnd_event, sk, event)
{
	struct resume *r = resume_of(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (event == CA_EVENT_TX_START && r->phase == RESUME_UNVALIDATED &&
	    tp->tcp_mstamp > r->until_us)
		leave_unvalidated(sk, r);
	if (event == CA_EVENT_TX_START && r->phase == RESUME_UNVALIDATED) {
		r->until_us = tp->tcp_mstamp + (tp->srtt_us >> 3);
		burst_begins(sk);
		return;
	}
	idle_keep_event(sk, event);
}

/* A short connection is over before a run of deliveries is. */
CALLBACK(void, resume_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	idle_keep_acked(sk, sample);
	path_delivers(sk, idle_keep_run_rate(idle_keep(sk), tcp_sk(sk)));
}

UNDO_CWND(resume_undo_cwnd)

ALGORITHM(resume) = {
	.init = (void *)resume_init,
	.release = (void *)idle_keep_release,
	.cong_control = (void *)resume_cong_control,
	.ssthresh = (void *)resume_ssthresh,
	.undo_cwnd = (void *)resume_undo_cwnd,
	.set_state = (void *)resume_set_state,
	HEARS(resume_cwnd_event),
	.pkts_acked = (void *)resume_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_resume",
};

ABOUT_WITH_PARAMETERS(resume, "RFC 9959, RFC 5681, RFC 6675, RFC 9438",
		      "the first round trips of a connection whose path is known",
		      "held against the phases of RFC 9959 by tests");
