/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where in a burst segments are lost tells whether bursts overflow the path.
 *
 * A channel loses segments anywhere, and a burst after one that met it has to be sent no slower. A
 * queue that is too short for a burst, a neighbour that keeps it full, or a limit on what is in
 * flight takes the burst up to some place and then loses much of the rest: there each burst that is
 * sent in the same way loses again, and its tail waits for a timeout. Both lose a few percent of
 * what is sent. But after its first loss a channel goes on losing a few percent, and what
 * overflows a quarter and more; and where it is a single segment of each burst, as with CoDel, it
 * is the same segment each time.
 *
 * After such a burst the next one is careful (idle_keep.h), and then one tries again. As long as
 * these trials overflow, too, it is 1, 3, 7 and then 15 bursts to the next. A tunnel or a handover
 * loses much at once as well, but not again.
 */
#ifndef KIRIKAE_OVERFLOW_H
#define KIRIKAE_OVERFLOW_H

#include "connection/connection.h"

/* A burst overflows where no more was sent behind its first loss than so many times what was lost
 * there. */
#define OVERFLOW_SHARE 4
/* A burst overflows where so often in a row one has lost the same segment first as the one before.
 */
#define OVERFLOW_SAME_PLACE 3
#define OVERFLOWS_MAX 4
#define PLACE_MAX 0xffffU

/* A loss is about to reduce the window. The first segment that is not ACKed is the one. */
static __always_inline void overflow_loss(struct idle_keep *keep, const struct tcp_sock *tp)
{
	u32 acked = tp->data_segs_out - keep->start_segs - tp->packets_out;

	if (!keep->first_loss)
		keep->first_loss = min(acked + 1, PLACE_MAX);
}

/* A reduction proves to have been wrong: nothing was lost, but segments came late. What was lost
 * earlier in the burst is forgotten with it. */
static __always_inline void overflow_undone(struct idle_keep *keep, const struct tcp_sock *tp)
{
	keep->first_loss = 0;
	keep->lost = tp->lost;
}

/* Nothing is known of the path any more. */
static __always_inline void overflow_forget(struct idle_keep *keep)
{
	keep->first_loss = 0;
	keep->loss_before = 0;
	keep->same_place = 0;
	keep->overflows = 0;
	keep->careful = 0;
}

/* Returns whether the burst that is over has overflowed the path; `lost` of its segments were lost.
 */
static __always_inline bool is_overflow(const struct idle_keep *keep, const struct tcp_sock *tp,
					u32 lost)
{
	u32 sent = tp->data_segs_out - keep->start_segs - lost;

	if (keep->same_place == OVERFLOW_SAME_PLACE)
		return true;
	return lost > 1 && keep->first_loss + (lost - 1) * OVERFLOW_SHARE >= sent;
}

/* A burst is over, and the next one about to begin. */
static __always_inline void overflow_learn(struct idle_keep *keep, const struct tcp_sock *tp)
{
	u32 lost = (u16)(tp->lost - keep->lost);
	bool has_lost = lost && keep->first_loss;

	if (has_lost) {
		bool is_same = keep->first_loss == keep->loss_before;

		keep->same_place = is_same ? min(keep->same_place + 1, OVERFLOW_SAME_PLACE) : 0;
		keep->loss_before = keep->first_loss;
	} else if (!keep->careful) {
		keep->same_place = 0;
	}
	if (has_lost && is_overflow(keep, tp, lost)) {
		keep->overflows = min(keep->overflows + 1, OVERFLOWS_MAX);
		keep->careful = (1 << keep->overflows) - 1;
	} else if (keep->careful) {
		keep->careful--;
	} else if (!has_lost && keep->overflows) {
		keep->overflows--;
	}
	keep->lost = tp->lost;
	keep->first_loss = 0;
}

#endif
