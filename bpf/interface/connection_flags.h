/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is noted of a connection, a bit each. */
#ifndef KIRIKAE_CONNECTION_FLAGS_H
#define KIRIKAE_CONNECTION_FLAGS_H

enum connection_flags {
	CONNECTION_CHOICE_DUE = 1,   /* there are new rates, and no choice by them yet */
	CONNECTION_LEFT_ALONE = 2,   /* its program has chosen an algorithm itself */
	CONNECTION_NO_IDLE_KEEP = 4, /* the kernel's cut after idle time stays */
	CONNECTION_SWITCHED = 8,     /* it was once; the kernel remembers it as set by a program */
	CONNECTION_OVERRULED = 16, /* its program has chosen an algorithm, and that did not count */
	CONNECTION_CLOSING = 32,   /* its program has nothing more to send */
	CONNECTION_TELLS_SEGMENTS = 64, /* the kernel calls back for each segment because of us */
	CONNECTION_DECIDED = 128,	/* there was a choice, if only to keep what it came with */
};

#endif
