/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rule of timeouts.h is bound here to a socket's options.
 *
 * A kernel that lacks an option refuses it, and then that part of the timer stays as it is.
 */
#ifndef KIRIKAE_TIMEOUT_OPTIONS_H
#define KIRIKAE_TIMEOUT_OPTIONS_H

#include "kernel/sock_ops.h"
#include "switcher/core/host_socket.h"
#include "switcher/core/timeouts.h"

static __always_inline void set_rto_min(void *sock, struct tcp_sock *tp, struct timeouts *t,
					u32 wanted_us)
{
	u32 became_us;

	if (!wanted_us)
		return;
	if (!host_set_option(sock, tp, TCP_BPF_RTO_MIN, wanted_us)) {
		t->kernel_min_us = 0;
		return;
	}
	became_us = host_get_option(sock, tp, TCP_BPF_RTO_MIN);
	rto_min_set(t, wanted_us, became_us ? became_us : wanted_us);
}

/* Returns whether the allowance is still what it was set to; a kernel that does not tell lets no
 * program set it. */
static __always_inline bool rto_min_is_ours(void *sock, struct tcp_sock *tp,
					    const struct timeouts *t)
{
	u32 found_us = host_get_option(sock, tp, TCP_BPF_RTO_MIN);

	return !found_us || found_us == t->min_us;
}

static __always_inline void unbound_back_off(void *sock, struct tcp_sock *tp, struct timeouts *t)
{
	if (t->kernel_max_ms && host_get_option(sock, tp, TCP_RTO_MAX_MS) == BOUNDED_RTO_MS)
		host_set_option(sock, tp, TCP_RTO_MAX_MS, t->kernel_max_ms);
	t->kernel_max_ms = 0;
	/* 0 is what it was: the kernel reckons. */
	if (t->given_up_ms && host_get_option(sock, tp, TCP_USER_TIMEOUT) == t->given_up_ms)
		host_set_option(sock, tp, TCP_USER_TIMEOUT, 0);
	t->given_up_ms = 0;
}

/* Sees to it that the kernel gives the connection up no sooner because it is bounded. Returns
 * whether that is so. */
static __always_inline bool is_kept(void *sock, struct tcp_sock *tp, struct timeouts *t,
				    u32 kernel_max_ms)
{
	u32 retries = host_retries(sock, tp);
	u32 given_up_ms = given_up_after_ms(retries, kernel_max_ms);

	/* Ours, or the program's own. */
	if (host_get_option(sock, tp, TCP_USER_TIMEOUT))
		return true;
	if (host_set_option(sock, tp, TCP_USER_TIMEOUT, given_up_ms)) {
		t->given_up_ms = given_up_ms;
		return true;
	}
	return is_given_up_late(tp, retries);
}

static __always_inline void timeouts_begin(void *sock, struct tcp_sock *tp, struct timeouts *t)
{
	u32 found_us;

	/* Only what is remembered can be restored. */
	unbound_back_off(sock, tp, t);
	found_us = host_get_option(sock, tp, TCP_BPF_RTO_MIN);
	set_rto_min(sock, tp, t, rto_min_begin(t, tp, found_us ? found_us : KERNEL_RTO_MIN_US));
}

/* An RTT sample: the timeouts, if any, are over. The bound stays as long as the path is in doubt,
 * where it `may_stay`. */
static __always_inline void timeouts_renew(void *sock, struct tcp_sock *tp, struct connection *c,
					   bool may_stay, u32 sample_us)
{
	struct timeouts *t = &c->timeouts;
	u32 wanted_us = rto_min_renew(t, tp, is_after_outage(c));

	count_long_samples(c, sample_us);
	if (!may_stay || !is_path_in_doubt(c) || !is_bounded_in_doubt(c))
		unbound_back_off(sock, tp, t);
	if (!wanted_us)
		return;
	if (rto_min_is_ours(sock, tp, t))
		set_rto_min(sock, tp, t, wanted_us);
	else
		t->kernel_min_us = 0;
}

/* A timeout has come after `earlier` others in a row. */
static __always_inline void timed_out(void *sock, struct tcp_sock *tp, struct connection *c,
				      u32 earlier)
{
	struct timeouts *t = &c->timeouts;
	u32 found_ms = host_get_option(sock, tp, TCP_RTO_MAX_MS);
	u32 kernel_max_ms = t->kernel_max_ms ? t->kernel_max_ms : found_ms;

	/* The kernel cannot bound it, as before Linux 6.15, or somebody else has. */
	if (kernel_max_ms <= BOUNDED_RTO_MS)
		return;
	if (!back_off_is_bounded(c, tp, earlier) || !is_kept(sock, tp, t, kernel_max_ms)) {
		unbound_back_off(sock, tp, t);
		return;
	}
	if (found_ms > BOUNDED_RTO_MS && host_set_option(sock, tp, TCP_RTO_MAX_MS, BOUNDED_RTO_MS))
		t->kernel_max_ms = found_ms;
}

static __always_inline bool timeouts_are_changed(const struct timeouts *t)
{
	return t->kernel_min_us || t->kernel_max_ms || t->given_up_ms;
}

/* Makes everything as it was before; what a program has set itself since stays. */
static __always_inline void timeouts_restore(void *sock, struct tcp_sock *tp, struct timeouts *t)
{
	unbound_back_off(sock, tp, t);
	if (t->kernel_min_us && rto_min_is_ours(sock, tp, t))
		host_set_option(sock, tp, TCP_BPF_RTO_MIN, t->kernel_min_us);
}

#endif
