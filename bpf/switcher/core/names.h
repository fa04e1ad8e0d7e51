/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of algorithms are padded with zeros to TCP_CA_NAME_MAX. */
#ifndef KIRIKAE_NAMES_H
#define KIRIKAE_NAMES_H

#include "kernel/kernel.h"

static __always_inline bool same_name(const char *a, const char *b)
{
	const u64 *x = (const u64 *)a, *y = (const u64 *)b;

	return x[0] == y[0] && x[1] == y[1];
}

static __always_inline bool is_bbr(const char *name)
{
	return name[0] == 'b' && name[1] == 'b' && name[2] == 'r' && !name[3];
}

/* Returns whether the algorithm is one of bpf/algorithms/. */
static __always_inline bool is_ours(const char *name)
{
	return name[0] == 'k' && name[1] == 'k' && name[2] == '_';
}

/* Returns whether it is a BBR of bpf/algorithms/, of either version. */
static __always_inline bool is_our_bbr(const char *name)
{
	return is_ours(name) && name[3] == 'b' && name[4] == 'b' && name[5] == 'r';
}

#endif
