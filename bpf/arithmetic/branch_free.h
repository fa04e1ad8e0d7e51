/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Loops make choices without branches, since the verifier follows both ways of every branch in
 * every turn. All of these are for differences below 2^31.
 */
#ifndef KIRIKAE_BRANCH_FREE_H
#define KIRIKAE_BRANCH_FREE_H

#include "kernel/kernel.h"

/* Returns all bits set where a < b, and none otherwise. */
static __always_inline u32 if_below(s32 a, s32 b)
{
	/* Otherwise the compiler sees what is meant, and makes a branch of it. */
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
