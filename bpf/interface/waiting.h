/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* This is what the agent is told of a connection whose retransmission timer has gone off. */
#ifndef KIRIKAE_WAITING_H
#define KIRIKAE_WAITING_H

#include "kernel/kernel.h"

struct waiting {
	u32 namespace; /* low bits of its network namespace's cookie */
	u32 interface; /* over which it sends, by its index */
};

#endif
