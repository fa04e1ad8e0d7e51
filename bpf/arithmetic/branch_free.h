/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Choices without branches, for what is done in loops: the verifier follows both ways of every
 * branch in every turn. For differences below 2^31.
 */
#ifndef KIRIKAE_BRANCH_FREE_H
#define KIRIKAE_BRANCH_FREE_H

#include "kernel/kernel.h"

/* All bits set where a < b, none otherwise. */
static __always_inline u32 if_below(s32 a, s32 b)
{
	/* Else the compiler sees what is meant, and makes a branch of either. */
	s32 difference = read_now(a - b);

	return read_now(difference >> 31);
}

static __always_inline s32 least(s32 a, s32 b)
{
	return b + ((a - b) & if_below(a, b));
}

static __always_inline s32 most(s32 a, s32 b)
{
	return a - ((a - b) & if_below(a, b));
}

#endif
