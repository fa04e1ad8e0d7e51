/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The switcher asks this of the world that it runs in: the kernel's helpers for BPF
 *(kernel_host.h), the simulated socket natively (crates/algorithms/native_host.h). Either gives
 *these functions, and no order of its own: what is done when is lifecycle.h and what it includes.
 *
 * `sock` is whatever the helpers take for a socket, such as the context of a sock_ops program.
 *
 * bool host_get_algorithm(sock, tp, name)
 *	The algorithm in use. False: the host does not tell.
 * bool host_set_algorithm(sock, tp, name)
 *	Sets another one. False: it was refused.
 * u32 host_get_option(sock, tp, option)
 *	A number that is an option of the level SOL_TCP. 0: the host does not tell.
 * bool host_set_option(sock, tp, option, value)
 *	False: refused.
 * u32 host_retries(sock, tp)
 *	After how many timeouts it gives a connection up (sysctl tcp_retries2).
 * struct connection *host_recall(sock, tp)
 *	What is remembered of the connection. NULL: nothing.
 * struct connection *host_remember(sock, tp)
 *	Zeros, to be remembered from now on. NULL: there is no memory.
 * void host_forget(sock, tp)
 * u32 host_draw_lot(sock, tp)
 *	A random number.
 * u64 host_now_ns(sock, tp)
 *	CLOCK_MONOTONIC.
 * void host_match_key(sock, tp, match_key)
 *	Writes what a rule may ask of the connection over zeros.
 * const struct latency_table *host_table(sock, scope)
 *	The table that is chosen by. NULL: nothing is learned, nor chosen.
 * const char *host_choice(sock, tp, c, scope, table, corners)
 *	choice_by_table() of decision.h; the laboratory has another choice beside it.
 * void host_path_key(sock, tp, key)
 *	Writes down where the path memory has what is known of the connection's path, over zeros.
 * bool host_path_recall(sock, tp, key, lifetime_s, known)
 * bool host_path_begin(sock, tp, key)
 * void host_path_release(sock, tp, key)
 * void host_path_forget(sock, tp, key)
 * void host_path_note(sock, tp, news)
 *	path_recall() and so on of path_memory.h, of the set that the key belongs to and at the
 *	present time. False: nothing is known.
 * struct switch_event *host_event(sock, tp)
 *	Room for the report of a switch, with the connection's ends and namespace in it. NULL: there
 *	is none, because nobody reads.
 * void host_tell(sock, tp, event)
 *	The report is complete.
 * void host_count_refusal(sock, tp)
 *	It has refused to switch the connection.
 * struct burst_latencies *host_burst_latencies(sock, tp, key)
 *	The histogram in which bursts are counted. NULL: they are not.
 * void host_take_share(sock, tp, place, holdback)
 *	Writes down the share of its spans that the connection's group holds back, and its epoch;
 *	`holdback` is that of the scope.
 * void host_count_span(sock, tp, place, sums, octaves)
 *	Adds a span to the sums of its group, at this place among them, where the group's epoch is
 *	still the one in which its lot was drawn. A place from SPAN_SUMS on counts for nothing.
 */
#ifndef KIRIKAE_HOST_H
#define KIRIKAE_HOST_H

#include "switcher/core/host_socket.h"

#ifdef __bpf__
#include "switcher/bind/kernel_host.h"
#endif

#endif
