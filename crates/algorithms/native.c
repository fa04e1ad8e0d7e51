/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The switcher's plain C as functions that Rust can call. */
#include "native.h"

void kk_loss_runs_retransmit(struct loss_runs *runs, u32 seq, u32 segments, u32 bytes)
{
	loss_runs_retransmit(runs, seq, segments, bytes);
}

void kk_loss_runs_dsack(struct loss_runs *runs, u32 dsack_dups)
{
	loss_runs_dsack(runs, dsack_dups);
}

u32 kk_estimator_period_us(u32 fixed_us, u32 srtt_us)
{
	return estimator_period_us(fixed_us, srtt_us);
}

bool kk_estimator_update(struct estimator *e, struct loss_runs *runs, u64 now_us, u32 period_us,
			 u32 segs_out)
{
	return estimator_update(e, runs, now_us, period_us, segs_out);
}

u32 kk_choose(const struct latency_table *table, const struct measured *measured,
	      struct columns *predicted_us)
{
	return choose(table, measured, predicted_us);
}
