/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is measured of a connection, and how predictions are kept. */
#ifndef KIRIKAE_MEASURED_H
#define KIRIKAE_MEASURED_H

#include "interface/latency_table.h"

/* Shares are kept as multiples of 1/SHARE_ONE. */
#define SHARE_ONE 65536

/* What is measured of a connection. */
struct measured {
	u32 rtt_us; /* without waiting in queues */
	u32 rate;   /* of the bottleneck, bytes per millisecond; 0: not known */
	u32 burst;  /* bytes; 0: not known */
	u32 share; /* of the rate, that a stream asks for, multiples of 1/SHARE_ONE; 0: no stream */
	u32 latency_us; /* of bursts, with the algorithm in use; 0: not known */
};

/* One value for each algorithm, by the columns of the table. */
struct columns {
	u32 by_column[TABLE_ALGORITHMS];
};

#endif
