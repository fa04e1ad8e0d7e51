/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reno that keeps its window after losses that Bias takes for wireless ones: rules.h. */
#include "thesis/loss_differentiation/rules.h"

CALLBACK(u32, thesis_bias_ssthresh, struct sock *sk)
{
	const struct loss_differentiation *s = inet_csk_ca(sk);

	return differentiated_ssthresh(sk, bias_is_wireless(s, tcp_sk(sk)->lost_out));
}

DIFFERENTIATING(thesis_bias, "bias");

ABOUT(thesis_bias, "Biaz, Vaidya, 1999", "a wireless last hop that is the bottleneck",
      "its formulas");
