/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reno that keeps its window after losses that ZigZag takes for wireless ones: rules.h. */
#include "thesis/loss_differentiation/rules.h"

CALLBACK(u32, thesis_zigzag_ssthresh, struct sock *sk)
{
	const struct loss_differentiation *s = inet_csk_ca(sk);

	return differentiated_ssthresh(sk, zigzag_is_wireless(s, tcp_sk(sk)->lost_out));
}

DIFFERENTIATING(thesis_zigzag, "zigzag");

ABOUT(thesis_zigzag, "Cen, Cosman, Voelker, 2003", "single losses at less than the usual RTT",
      "its formulas");
