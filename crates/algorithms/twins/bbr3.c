/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 3: what quiet ACKs may leave otherwise, by the numbers of bbr3/quiet.h. */
#include "state.h"
#include "algorithms/bbr3/quiet.h"

struct whole_state {
	struct bbr3 b;
	struct bbr3_rest rest;
};

/* What was in flight when the newest segment ACKed was sent, where anything asks for that. */
static void find_flight_sent(struct bbr3 *b, struct bbr3_rest *r)
{
	bool is_asked_for = r->is_bw_probe_sample || b->state == STARTUP ||
			    (r->begun && r->inflight_longterm != INFINITE);
	struct flight sent = {0};

	flight_keep(&r->notes, &b->flights, b->lost);
	if (is_asked_for)
		sent = *flight_sent(&r->notes, &b->flights);
	__builtin_memset(&r->notes, 0, sizeof(r->notes));
	r->notes.sent = sent;
	b->flights.only_latest = false;
	b->flights.is_found = false;
}

static void as_if_looked_at(struct whole_state *state)
{
	struct bbr3_rest *r = &state->rest;
	struct bbr3 *b = &state->b;

	keep_noted(b); /* 1 */
	/* 2 */
	b->quiet_until_1024us = 0;
	b->quiet_in_flight = 0;
	b->quiet_rounds = 0;
	b->renewal_due = false;
	b->had_losses = false;
	/* 3 */
	r->round_start = false;
	r->loss_round_start = false;
	r->rate = 0;
	r->delivered = 0;
	r->probe_rtt_expired = false;
	find_flight_sent(b, r); /* 4 */
}

static void copy_state(struct whole_state *state, const struct tcp_sock *tp)
{
	__builtin_memset(state, 0, sizeof(*state));
	__builtin_memcpy(&state->b, bbr3_of(tcp_to_sock(tp)), sizeof(state->b));
	if (tp->large_state)
		__builtin_memcpy(&state->rest, tp->large_state, sizeof(state->rest));
}

bool kk_bbr3_has_notes(const struct tcp_sock *tp)
{
	return bbr3_of(tcp_to_sock(tp))->fastest.delivered;
}

s32 kk_bbr3_difference(const struct tcp_sock *quiet, const struct tcp_sock *full)
{
	struct whole_state one, other;

	copy_state(&one, quiet);
	copy_state(&other, full);
	as_if_looked_at(&one);
	as_if_looked_at(&other);
	return first_difference(&one, &other, sizeof(one));
}
