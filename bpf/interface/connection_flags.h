/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each bit notes something about a connection. */
#ifndef KIRIKAE_CONNECTION_FLAGS_H
#define KIRIKAE_CONNECTION_FLAGS_H

enum connection_flags {
	CONNECTION_CHOICE_DUE = 1,   /* no choice has been made by the newest rates yet */
	CONNECTION_LEFT_ALONE = 2,   /* its program has chosen an algorithm itself */
	CONNECTION_NO_IDLE_KEEP = 4, /* the kernel cuts its window after idle time */
	CONNECTION_SWITCHED = 8,     /* we have switched it; the kernel lays that to its program */
	CONNECTION_OVERRULED = 16,   /* the policy has overruled its program's choice */
	CONNECTION_CLOSING = 32,     /* its program has nothing more to send */
	CONNECTION_TELLS_SEGMENTS = 64, /* the kernel calls back for each segment because of us */
	CONNECTION_DECIDED = 128, /* a choice has been made, if only to keep what it came with */
	CONNECTION_NUDGED = 256,  /* two segments beyond its window go out now */
	CONNECTION_REFUSED = 512, /* the kernel has refused to switch it */
};

#endif
