/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* BBR version 1: what quiet ACKs may leave otherwise, by the numbers of bbr/quiet.h. */
#include "state.h"
#include "algorithms/bbr/quiet.h"

static void as_if_looked_at(struct bbr *b)
{
	keep_fastest(b); /* 1 */
	/* 2 */
	b->quiet_until_64us = 0;
	b->settled = false;
	b->renewal_due = false;
	if (b->filled_pipe)
		b->drained_at = 0;
	/* 3 */
	b->round_start = false;
}

bool kk_bbr_has_notes(const struct tcp_sock *tp)
{
	return bbr_of(tcp_to_sock(tp))->fastest.delivered;
}

s32 kk_bbr_difference(const struct tcp_sock *quiet, const struct tcp_sock *full)
{
	struct bbr one, other;

	__builtin_memcpy(&one, bbr_of(tcp_to_sock(quiet)), sizeof(one));
	__builtin_memcpy(&other, bbr_of(tcp_to_sock(full)), sizeof(other));
	as_if_looked_at(&one);
	as_if_looked_at(&other);
	return first_difference(&one, &other, sizeof(one));
}
