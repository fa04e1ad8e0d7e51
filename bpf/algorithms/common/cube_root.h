/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What CUBIC's K takes. */
#ifndef KIRIKAE_CUBE_ROOT_H
#define KIRIKAE_CUBE_ROOT_H

#include "kernel/kernel.h"

/* Largest x with x^3 <= a: one bit of the 21 at a time. */
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
