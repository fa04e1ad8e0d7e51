/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two states, byte by byte. */
#ifndef KIRIKAE_TWINS_STATE_H
#define KIRIKAE_TWINS_STATE_H

#include "twins.h"

/* Of what an algorithm's header shares each of these files needs a part. */
#pragma GCC diagnostic ignored "-Wunused-function"

/* Where the first byte that differs is, or TWINS_ALIKE. */
static inline s32 first_difference(const void *one, const void *other, u32 bytes)
{
	const u8 *a = one, *b = other;
	u32 at = 0;

	if (!__builtin_memcmp(a, b, bytes))
		return TWINS_ALIKE;
	while (a[at] == b[at])
		at++;
	return at;
}

#endif
