/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A trial: an algorithm is left of which it is known what bursts take with it, for one that is
 * expected to do better here, or as well and better on other paths. The table does not know what
 * an algorithm still remembers of a path that has changed. If bursts then take longer than before,
 * the algorithm that was left is taken again, and the next trial waits twice as long.
 */
#ifndef KIRIKAE_TRIAL_H
#define KIRIKAE_TRIAL_H

#include "fixed_log.h"
#include "../include/connection.h"

/* What counts as more: by 1/32. 1/256 */
#define MARGIN (OCTAVE + OCTAVE / 32)
/* Occasions until the next trial, after one that failed, and after one that began because the table
 * is wrong; twice as many with each other in a row. */
#define TRIAL_REST 64
#define TRIALS_COUNTED 8

static __always_inline bool exceeds(u32 value, u32 other)
{
	return (u64)value * OCTAVE > (u64)other * MARGIN;
}

/* How often what was chosen mattered: bursts begun, and round trips of a stream. */
static __always_inline u32 occasions(const struct connection *c)
{
	return c->bursts.begun + c->stream.looks;
}

static __always_inline bool may_try(const struct connection *c)
{
	return (s32)(occasions(c) - c->trial.rest_until) >= 0;
}

/* The same where the table is wrong. What falls behind can hardly fare worse, and rests for a
 * quarter of the time. */
static __always_inline bool may_try_another(const struct connection *c)
{
	u32 spared = c->stream.owed ? c->trial.rest - c->trial.rest / 4 : 0;

	return (s32)(occasions(c) + spared - c->trial.rest_until) >= 0;
}

/* The next trial waits. */
static __always_inline void trial_rest(struct connection *c)
{
	struct trial *trial = &c->trial;

	trial->rest = TRIAL_REST << (trial->failures % TRIALS_COUNTED);
	trial->rest_until = occasions(c) + trial->rest;
	trial->failures = min(trial->failures + 1, TRIALS_COUNTED - 1);
}

/* `left`, of which `latency_us` was measured, is about to be left for a trial. */
static __always_inline void trial_begin(struct trial *trial, u32 left, u32 latency_us)
{
	trial->left = left;
	trial->left_us = latency_us;
}

/* With what takes `latency_us` (0: not known yet), and `is_wrong`, far longer than expected:
 * whether a trial has failed. */
static __always_inline bool trial_failed(struct connection *c, u32 latency_us, bool is_wrong)
{
	struct trial *trial = &c->trial;
	u32 left_us = trial->left_us;

	if (!left_us || !latency_us)
		return false;
	trial->left_us = 0;
	if (exceeds(latency_us, left_us)) {
		trial_rest(c);
		return true;
	}
	if (!is_wrong)
		trial->failures = 0;
	return false;
}

#endif
