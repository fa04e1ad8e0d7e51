/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a loss leaves of the window has lower bounds.
 *
 * While the path is in doubt (connection/outage.h), no less than an initial window is left: what
 * was lost with the old path tells nothing of the new one.
 *
 * Losses while the application was the limit are answered otherwise. A loss tells of congestion
 * where the window was what limited the flight. Where the application was, as with a screen whose
 * frames are sent as they are drawn, a window that is halved would make the next frames wait,
 * although the path carried what they need. So the window is reduced to no less than what was in
 * flight, as far as as much was delivered in a round trip before: what has been validated, in the
 * sense of RFC 7661 (section 4.4), which takes it for the window to reduce. As soon as something
 * waits to be sent it is the window again that is the limit. Where all of the send buffer is in
 * flight and the application waits for room, it has more. And a burst after idle time, all of it
 * in flight at once, may well have been more than the path holds.
 */
#ifndef KIRIKAE_SSTHRESH_H
#define KIRIKAE_SSTHRESH_H

#include "algorithms/common/idle_keep.h"

/* What was sent since the latest idle time is a burst as long as it is less than so many times what
 * is in flight: in slow start it is less than twice as much. */
#define FLIGHTS_OF_BURST 4

/* Returns whether the application limited what was in flight. */
static __always_inline bool was_app_limited(struct sock *sk, u32 flight)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->write_seq == tp->snd_nxt &&
	       tp->data_segs_out - idle_keep(sk)->start_segs >= FLIGHTS_OF_BURST * flight &&
	       !is_writer_waiting(sk);
}

/* Every ssthresh of ours calls this. Returns what a loss leaves of the window, where the algorithm
 * would leave `ssthresh`; segments. */
static __always_inline u32 bounded_ssthresh(struct sock *sk, u32 ssthresh)
{
	struct idle_keep *keep = idle_keep(sk);
	const struct connection *connection = connection_of(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 flight = max(tp->max_packets_out, tp->packets_out);

	overflow_loss(keep, tp);
	if (connection && is_path_in_doubt(connection))
		ssthresh = max(ssthresh, TCP_INIT_CWND);
	if (!parameter(sk, idle_keep) || !was_app_limited(sk, flight))
		return ssthresh;
	return max(ssthresh, min(min(tp->snd_cwnd, flight), max(keep->pipe, keep->latest_pipe)));
}

#endif
