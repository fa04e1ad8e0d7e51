/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Logarithms to the base 2 are kept in steps of 1/256 octave: products become sums, and what lies
 * between two points of a table, which are a factor apart, is on a straight line.
 *
 * Within an octave the curve is taken for a parabola; that is at most 0.6 % off.
 */
#ifndef KIRIKAE_FIXED_LOG_H
#define KIRIKAE_FIXED_LOG_H

#include "arithmetic/branch_free.h"

#define OCTAVE 256U
/* log2(1 + x) is above x, and 2^x below 1 + x, by about 0.34 x (1 - x). */
#define BULGE(fraction) ((fraction) * (OCTAVE - (fraction)) * 87 >> 16)

/* Returns log2 of a value in 1/256 octave; 0 has the logarithm of 1. */
static __always_inline u32 log2_fixed(u32 value)
{
	u32 octaves = 0;
	u32 fraction;

	/* The sign bit takes the place of a mask: the verifier takes a constant under a mask for
	 * two ways. */
	for (u32 bits = 16; bits; bits >>= 1)
		octaves += bits * (read_now(-(value >> (octaves + bits))) >> 31);
	fraction = ((u64)value * OCTAVE >> octaves) % OCTAVE;
	return octaves * OCTAVE + fraction + BULGE(fraction);
}

/* Returns 2^(log/256), for results below 2^32. */
static __always_inline u64 exp2_fixed(u32 log)
{
	u32 fraction = log % OCTAVE;
	u64 mantissa = OCTAVE + fraction - BULGE(fraction);

	return mantissa << (log / OCTAVE & 31) >> 8;
}

#endif
