/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An algorithm takes over a connection in mid-flight.
 *
 * A switch keeps cwnd and ssthresh, zeroes the private area and calls init. The kernel leaves three
 * things as the predecessor had them, and this mends them: ssthresh, which bbr sets to infinite, so
 * that its successor would go on in slow start without end; pacing, which bbr turns on and nothing
 * turns off; and the count of ACKed segments not yet turned into growth, which cubic lets grow to
 * many times the window and a successor would spend at one ACK.
 */
#ifndef KIRIKAE_TAKEOVER_H
#define KIRIKAE_TAKEOVER_H

#include "connection/connection.h"

/*
 * Pacing by the socket itself belongs to whichever algorithm turned it on, unless the application
 * asked for it with SO_MAX_PACING_RATE. (SK_PACING_FQ is the fq queue's and is left alone.)
 */
static __always_inline bool pacing_is_ours(const struct sock *sk)
{
	return sk->sk_pacing_status == SK_PACING_NEEDED && sk->sk_max_pacing_rate == ~0UL;
}

/* The percentage of its window that a file keeps. */
#define FILE_KEEPS 30

/* Limited transmit: "two segments beyond the congestion window" (RFC 3042). */
#define LIMITED_TRANSMIT 2

static __always_inline void allow_limited_transmit(struct tcp_sock *tp)
{
	tp->snd_cwnd = max(tp->snd_cwnd, tcp_packets_in_flight(tp) + LIMITED_TRANSMIT);
}

/* Every init calls this. */
static __always_inline void take_over(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct connection *connection = connection_of(sk);

	/* The ACK of our SYN comes before init, and what it left there belongs to no connection
	 * yet. */
	__builtin_memset(inet_csk_ca(sk), 0, PRIVATE_AREA_BYTES);
	tp->snd_cwnd_cnt = 0;
	/* The path is back, and new data is to find out what is lost (programs/nudge.bpf.c). */
	if (connection && connection->flags & CONNECTION_NUDGED)
		allow_limited_transmit(tp);
	if (pacing_is_ours(sk))
		sk->sk_pacing_status = SK_PACING_NONE;
	if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		return;
	if (connection && connection->ssthresh_before_bbr)
		tp->snd_ssthresh = connection->ssthresh_before_bbr;
}

/*
 * An answer's algorithm took room from others that a file has no right to, and a file's grows back
 * into what is there. So it begins with a part of the window.
 *
 * Every release calls this.
 */
static __always_inline void yield_to_others(struct sock *sk)
{
	struct connection *connection = connection_of(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!connection || !connection->bursts.yields)
		return;
	connection->bursts.yields = false;
	tp->snd_cwnd = max(tp->snd_cwnd * FILE_KEEPS / 100, 2U);
	tp->snd_ssthresh = min(tp->snd_ssthresh, tp->snd_cwnd);
}

#endif
