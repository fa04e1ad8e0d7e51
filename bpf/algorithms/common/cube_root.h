/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUBIC's K takes a cube root. */
#ifndef KIRIKAE_CUBE_ROOT_H
#define KIRIKAE_CUBE_ROOT_H

#include "kernel/kernel.h"

/* Returns the largest x with x^3 <= a. It finds one of the 21 bits at a time. */
static __always_inline u32 cube_root(u64 a)
{
	u64 x = 0;

	for (int bit = 20; bit >= 0; bit--) {
		u64 y = x | (1ULL << bit);

		if (y * y * y <= a)
			x = y;
	}
	return x;
}

#endif
