/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where the states differ that two sockets are in, of which one had quiet ACKs and the other looked
 * at everything with each ACK (src/twin.rs has both).
 */
#ifndef KIRIKAE_TWINS_TWINS_H
#define KIRIKAE_TWINS_TWINS_H

#include "kernel/kernel.h"

#define TWINS_ALIKE (-1)

/* The first byte that differs of the private area and of what follows it in a large state. */
s32 kk_bbr_difference(const struct tcp_sock *quiet, const struct tcp_sock *full);
s32 kk_bbr3_difference(const struct tcp_sock *quiet, const struct tcp_sock *full);

/* Whether a sample is only noted. */
bool kk_bbr_has_notes(const struct tcp_sock *tp);
bool kk_bbr3_has_notes(const struct tcp_sock *tp);

#endif
