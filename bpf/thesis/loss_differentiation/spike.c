/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reno that keeps its window after losses that Spike takes for wireless ones: rules.h. */
#include "thesis/loss_differentiation/rules.h"

CALLBACK(u32, thesis_spike_ssthresh, struct sock *sk)
{
	const struct loss_differentiation *s = inet_csk_ca(sk);

	return differentiated_ssthresh(sk, spike_is_wireless(s));
}

DIFFERENTIATING(thesis_spike, "spike");

ABOUT(thesis_spike, "Tobe et al., 2000", "losses without a queue", "its formulas");
