/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This program makes connections send two segments of new data whose path is back and whose
 * retransmission timer has not gone off, or not long ago: no message makes these send
 * (docs/outages.md). The SACKs for them tell what was lost meanwhile (RFC 8985).
 *
 * Source: RFC 3042 (limited transmit). A BPF program outside of congestion control may change no
 * window, and so the connection's algorithm begins anew by way of another: its init, which is told
 * of it, leaves room for the two (algorithms/common/takeover.h). A BBR and an algorithm of the
 * kernel's give way to kk_cubic (core/outage_switch.h). Setting TCP_NODELAY has the kernel
 * send what waits.
 *
 * It is an iterator: reading it runs it over all TCP sockets of the reader's network namespace. It
 * prints a byte for each connection that was made to send.
 */
#include "switcher/bind/match_key.h"
#include "switcher/bind/revival.h"
#include "switcher/core/host_socket.h"
#include "switcher/core/new_path.h"
#include "switcher/core/outage_switch.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/* An interface by its index, of the namespace with these low bits of its cookie. */
struct back_interface {
	u32 namespace;
	u32 interface;
};

/* Interfaces whose path is back, of some namespaces at once. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1024);
	__type(key, struct back_interface);
	__type(value, u8);
} back_interfaces SEC(".maps");

/* A receiver may hold an ACK back for so long. */
#define DELAYED_ACK_US (40 * USEC_PER_MSEC)

static __always_inline bool is_over_back_interface(const struct tcp_sock *tp)
{
	struct back_interface it = {
		.namespace = namespace_of(tp),
		.interface = interface_of(tp),
	};

	return bpf_map_lookup_elem(&back_interfaces, &it);
}

/* Returns whether it has waited for an ACK for longer than the first one takes, and has something
 * new that its window does not let it send. However long the queue is, ACKs come one after the
 * other: hence the lowest RTT. */
static __always_inline bool has_been_silent(const struct tcp_sock *tp, const struct connection *c)
{
	u64 now_us = bpf_ktime_get_ns() / 1000;
	u32 rtt_us = min(lowest_rtt_us(c), tp->srtt_us >> 3);

	return tp->packets_out && tp->write_seq != tp->snd_nxt && tp->srtt_us &&
	       now_us > tp->delivered_mstamp + rtt_us + rtt_us / 4 + DELAYED_ACK_US;
}

/* Returns whether it has an algorithm whose init leaves the room: BBR's window is its model's. */
static __always_inline bool has_our_window_algorithm(const struct connection *c)
{
	return is_ours(c->current) && !is_our_bbr(c->current);
}

/* The connection's algorithm begins anew, by way of one that every kernel has. Returns whether it
 * does. */
static __always_inline bool begin_anew(struct tcp_sock *tp, struct connection *c,
				       const struct scope *scope)
{
	char by_way_of[TCP_CA_NAME_MAX] = "reno";
	char in_use[TCP_CA_NAME_MAX] = {};

	if (!host_get_algorithm(tp, tp, in_use) || is_taken_away(c, tp, scope, in_use))
		return false;
	if (!host_set_algorithm(tp, tp, by_way_of))
		return false;
	/* The kernel notes that one was set, and that was not the program. */
	c->flags |= CONNECTION_SWITCHED;
	if (host_set_algorithm(tp, tp, c->current))
		return true;
	note_switched(c, by_way_of);
	return false;
}

/* Its path was gone. Returns whether there is room for new data. */
static __always_inline bool make_room(struct tcp_sock *tp, struct connection *c,
				      const struct scope *scope)
{
	bool has_room;

	doubt_path(c, tp);
	c->flags |= CONNECTION_NUDGED;
	if (has_our_window_algorithm(c)) {
		has_room = begin_anew(tp, c, scope);
	} else {
		read_now(switch_for_outage(tp, tp, c, scope));
		has_room = has_our_window_algorithm(c);
	}
	c->flags &= ~CONNECTION_NUDGED;
	return has_room;
}

SEC("iter/tcp")
int nudge_silent(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	const struct scope *scope;
	struct connection *c;
	struct tcp_sock *tp;
	bool is_set;
	u32 acked;
	u8 one = 1;

	if (!skc || !is_open(skc->skc_state))
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	c = bpf_sk_storage_get(&connections, tp, 0, 0);
	if (!c || !is_over_back_interface(tp) || !has_been_silent(tp, c))
		return 0;
	scope = revival_scope(c);
	if (!scope)
		return 0;
	/* Once, until something is ACKed. */
	acked = (u32)tp->bytes_acked + 1;
	if (c->outage.nudged_at == acked || !make_room(tp, c, scope))
		return 0;
	c->outage.nudged_at = acked;
	/* This also sends where it is set already. */
	is_set = host_get_option(tp, tp, TCP_NODELAY);
	host_set_option(tp, tp, TCP_NODELAY, 1);
	if (!is_set)
		host_set_option(tp, tp, TCP_NODELAY, 0);
	bpf_seq_write(ctx->meta->seq, &one, sizeof(one));
	return 0;
}
