/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * HighSpeed TCP: the larger the window, the more is added per round trip and the less given up.
 *
 * Source: RFC 3649, section 5 and appendix B.
 *
 * Deliberate differences:
 *  1. What is given up after a loss, b(w), is of the window at the latest ACK in congestion
 *     avoidance, as in Linux: a loss in the first slow start halves, whatever the window is.
 *  2. Idle keep (idle_keep.h).
 *
 * As in the RFC and in Linux, and unlike in the other algorithms here, growth in congestion
 * avoidance counts ACKs and not the segments they cover: where every second segment is ACKed, it is
 * half as fast as Reno's below 38 segments.
 *
 * There is no clock in it, so idle time does not count. Switched in mid-flight in congestion
 * avoidance: a(w) and b(w) are those of the window found. In slow start: as a new connection.
 */
#define PARAMETERS(P) IDLE_KEEP_PARAMETER(P)
#include "algorithms/common/ssthresh.h"
#include "algorithms/common/idle_keep.h"
#include "algorithms/common/after_outage.h"
#include "algorithms/common/reno.h"
#include "algorithms/common/undo.h"

struct highspeed {
	struct idle_keep idle;
	u32 a;	    /* a(w), segments per round trip; 0: not known */
	u32 b_1000; /* b(w) */
};
ASSERT_FITS_PRIVATE_AREA(struct highspeed);

struct row {
	u32 w;	    /* largest window, segments */
	u32 b_1000; /* b(w) at it */
};

/*
 * Appendix B, all 73 rows; a(w) is the row's number, from 1. The table is what follows from
 *	"b(w) = (High_Decrease - 0.5) (log(w)-log(W)) / (log(W_1)-log(W)) + 0.5"
 *	"a(w) = w^2 * p(w) * 2 * b(w)/(2-b(w))", p(w) = 0.078/w^1.2
 * with W = 38, W_1 = 83000, High_Decrease = 0.1: b(w) with a digit more than in the RFC.
 */
static const struct row rows[] = {
	{38, 500},    {118, 441},   {221, 408},	  {347, 385},	{495, 366},   {663, 351},
	{851, 338},   {1058, 327},  {1284, 317},  {1529, 308},	{1793, 300},  {2076, 292},
	{2378, 285},  {2699, 278},  {3039, 272},  {3399, 266},	{3778, 261},  {4177, 256},
	{4596, 251},  {5036, 246},  {5497, 241},  {5979, 237},	{6483, 233},  {7009, 229},
	{7558, 225},  {8130, 221},  {8726, 217},  {9346, 214},	{9991, 210},  {10661, 207},
	{11358, 203}, {12082, 200}, {12834, 197}, {13614, 194}, {14424, 191}, {15265, 188},
	{16137, 185}, {17042, 182}, {17981, 180}, {18955, 177}, {19965, 174}, {21013, 171},
	{22101, 169}, {23230, 166}, {24402, 164}, {25618, 161}, {26881, 159}, {28193, 156},
	{29557, 154}, {30975, 151}, {32450, 149}, {33986, 146}, {35586, 144}, {37253, 142},
	{38992, 139}, {40808, 137}, {42707, 135}, {44694, 132}, {46776, 130}, {48961, 127},
	{51258, 125}, {53677, 123}, {56230, 120}, {58932, 118}, {61799, 115}, {64851, 113},
	{68113, 110}, {71617, 108}, {75401, 105}, {79517, 102}, {84035, 99},  {89053, 96},
	{94717, 93},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))
/* This is the largest power of two in the number of rows. */
#define HALF_ROWS 64
_Static_assert(HALF_ROWS <= ROWS && ROWS < 2 * HALF_ROWS, "the search covers the table");

/* Puts the first row whose window is not exceeded, or the last one, in use. */
static __always_inline void row_find(struct highspeed *hs, u32 w)
{
	u32 row = 0; /* all rows before it are exceeded */

	for (u32 step = HALF_ROWS; step; step /= 2)
		if (row + step < ROWS && w > rows[row + step - 1].w)
			row += step;
	hs->a = row + 1;
	hs->b_1000 = rows[row].b_1000;
}

CALLBACK(void, highspeed_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	idle_keep_init(sk);
	if (!tcp_in_slow_start(tp))
		row_find(inet_csk_ca(sk), tp->snd_cwnd);
}

CALLBACK(void, highspeed_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct highspeed *hs = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		reno_slow_start(tp, acked);
		return;
	}
	row_find(hs, tp->snd_cwnd);
	/* "w <- w + a(w)/w" in response to an ACK */
	reno_additive_increase(tp, tp->snd_cwnd, hs->a);
}

/* "w <- (1 - b(w))w" */
CALLBACK(u32, highspeed_ssthresh, struct sock *sk)
{
	const struct highspeed *hs = inet_csk_ca(sk);
	u64 cwnd = tcp_sk(sk)->snd_cwnd;
	u32 ssthresh = max((u32)(cwnd - cwnd * hs->b_1000 / 1000), 2);

	if (!hs->a)
		ssthresh = reno_half(tcp_sk(sk));
	return bounded_ssthresh(sk, ssthresh);
}

CWND_EVENT(highspeed_cwnd_event, sk, event)
{
	idle_keep_event(sk, event);
}

CALLBACK(void, highspeed_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	idle_keep_acked(sk, sample);
}

CALLBACK(void, highspeed_set_state, struct sock *sk, u8 new_state)
{
	outage_set_state(sk, new_state);
}

UNDO_CWND(highspeed_undo_cwnd)

ALGORITHM(highspeed) = {
	.init = (void *)highspeed_init,
	.release = (void *)idle_keep_release,
	.cong_avoid = (void *)highspeed_cong_avoid,
	.ssthresh = (void *)highspeed_ssthresh,
	.undo_cwnd = (void *)highspeed_undo_cwnd,
	.set_state = (void *)highspeed_set_state,
	HEARS(highspeed_cwnd_event),
	.pkts_acked = (void *)highspeed_pkts_acked,
	.flags = TCP_CONG_NON_RESTRICTED,
	.name = "kk_highspeed",
};

ABOUT_WITH_PARAMETERS(highspeed, "RFC 3649",
		      "very large windows; no faster than Reno below 38 segments",
		      "held against Linux's module");
