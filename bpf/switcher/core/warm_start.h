/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A new connection begins with what the path memory knows (path_memory.h), and tells the memory
 * what it has shown.
 *
 * Where something is known of the path and the RTT of the handshake confirms that it is the same
 * path, the beliefs are those that earlier losses give, and the first choice is made at once. Where
 * the policy says so and no other connection does the same right now, the connection begins by
 * Careful Resume (RFC 9959; algorithms/resume.bpf.c), and what was chosen comes after it.
 *
 * What is saved is what this host has measured: the rate at which the path delivered, by the
 * spacing of ACKs, times the lowest RTT. RFC 9959 has the bytes ACKed within a round trip
 * (section 3.1), which are few where answers are short, however much the path carries; they count
 * where no rate is known. It is never more than what was delivered in all, so that no window beyond
 * half of that comes of it.
 */
#ifndef KIRIKAE_CORE_WARM_START_H
#define KIRIKAE_CORE_WARM_START_H

#include "switcher/core/decision.h"
#include "switcher/core/host.h"
#include "switcher/core/policy_match.h"
#include "switcher/core/reporting.h"

/* What has delivered less tells nothing of the path: it fits an initial window. */
#define PATH_TOLD_FROM_BYTES (TCP_INIT_CWND * 1000U)
/* The memory hears of a connection that goes on once in so long. */
#define PATH_TOLD_EVERY_US USEC_PER_SEC
/* The algorithm that Careful Resume is. */
#define RESUME_ALGORITHM "kk_resume"
/* After this the entry may be another connection's: the memory counts whole seconds. */
#define PATH_OURS_US ((PATH_USED_AT_MOST_S - 1ULL) * USEC_PER_SEC)
/* The memory counts segments in so many. */
#define SEGMENTS_TOLD 10U
/* Losses of no more segments than this count for a belief. */
#define PATH_BELIEVED_SEGMENTS 4096U
/* A queue of so many bytes is next to none. */
#define IDLE_PATH_BYTES (4 * 1500ULL)
/* "a saved_cwnd less than four times the IW would not justify" Careful Resume (section 3.1). */
#define RESUME_FROM_WINDOWS 4

static __always_inline bool is_resuming(const struct connection *c)
{
	u32 phase = c->path.start.phase;

	return phase != RESUME_NONE && phase < RESUME_NORMAL;
}

/* In these states of the kernel all that was written has been ACKed, or nobody waits for it. */
static __always_inline bool has_nothing_to_send(u32 state)
{
	return state != TCP_ESTABLISHED && state != TCP_CLOSE_WAIT && state != TCP_FIN_WAIT1 &&
	       state != TCP_LAST_ACK;
}

/* Returns the RTT of the handshake, microseconds; 0: there is none, as after a SYN cookie. */
static __always_inline u32 handshake_rtt_us(const struct tcp_sock *tp)
{
	return tp->srtt_us >> 3;
}

/* Returns the rate at which the path delivers, bytes per millisecond: as measured, or else as far
 * as it was used. */
static __always_inline u32 known_rate(const struct path_entry *known)
{
	u64 used = (u64)known->round_bytes * USEC_PER_MSEC / max(known->usual_rtt_us, 1);

	return known->rate ? known->rate : at_most_32_bits(used);
}

/* Returns whether the handshake took as long as the path's shortest round trips do: then it has met
 * no queue to speak of, and what is sent at once takes nobody's room. */
static __always_inline bool is_path_idle(u32 rtt_us, const struct path_entry *known)
{
	u32 few_us = at_most_32_bits(IDLE_PATH_BYTES * USEC_PER_MSEC / max(known_rate(known), 1U));

	return rtt_us >= known->rtt_us - known->rtt_us / 4 &&
	       rtt_us - known->rtt_us / 32 <= (u64)known->rtt_us + few_us;
}

/* Returns the bytes that the path carries in a round trip, and at most what was delivered. */
static __always_inline u32 saved_cwnd(const struct path_entry *known)
{
	u64 carried = (u64)known_rate(known) * known->rtt_us / USEC_PER_MSEC;

	return at_most_32_bits(min(carried, (u64)known->delivered_kb << 10));
}

/* Fills in how the connection is to begin. Returns false where it begins as any does. */
static __always_inline bool plan_start(struct warm_start *start, const struct tcp_sock *tp,
				       const struct scope *scope, const struct path_known *known)
{
	const struct path_entry *entry = &known->entry;
	u32 rtt_us = handshake_rtt_us(tp);
	u32 initial = TCP_INIT_CWND * tp->mss_cache;
	u64 delivered = (u64)entry->delivered_kb << 10;

	start->age_s = known->age_s;
	start->saved_rtt_us = entry->rtt_us;
	start->rate = known_rate(entry);
	start->saved_cwnd = saved_cwnd(entry);
	/* "jump_cwnd MUST be no more than half of the saved_cwnd" (section 3.3). */
	start->jump_cwnd = start->saved_cwnd / 2;
	start->is_first_flight = scope->flags & SCOPE_FIRST_FLIGHT && is_path_idle(rtt_us, entry);
	if (start->is_first_flight)
		start->jump_cwnd = at_most_32_bits(min((u64)start->saved_cwnd, delivered / 2));
	/* A SYN-ACK that was sent again has left a window of one segment, which stays. */
	if (tp->snd_cwnd < TCP_INIT_CWND || known->is_used)
		return false;
	if (start->is_first_flight)
		return start->jump_cwnd > initial;
	return scope->flags & (SCOPE_CAREFUL | SCOPE_FIRST_FLIGHT) &&
	       start->saved_cwnd >= RESUME_FROM_WINDOWS * initial;
}

/* Takes over how much longer than predicted bursts took with an algorithm. */
static __always_inline void take_outcome(struct connection *c, const struct path_outcome *outcome)
{
	if (outcome->column < TABLE_ALGORITHMS && outcome->excess != PATH_NO_EXCESS)
		outcome_remember(c, outcome->column, false, outcome->excess);
}

/* Takes over what earlier connections have come to believe of the path. This is a function for the
 * sake of the stack. Returns 0, as on_rtt_sample(). */
static __attribute__((noinline)) int believe(void *sock, struct tcp_sock *tp, struct connection *c,
					     const struct scope *scope,
					     const struct path_entry *known)
{
	const struct latency_table *table = host_table(sock, scope);
	u32 sent = known->sent_tens * SEGMENTS_TOLD;
	u32 of = max(sent, PATH_BELIEVED_SEGMENTS);
	u32 column = known->outcome[0].column;
	struct corners corners = {};
	struct period period = {
		.sent = min(sent, PATH_BELIEVED_SEGMENTS),
		.isolated = known->isolated * PATH_BELIEVED_SEGMENTS / of,
		.bursts = known->bursts * PATH_BELIEVED_SEGMENTS / of,
	};

	if (!table)
		return read_now(0);
	measure(c, tp, scope, table, &c->decision.measured, &corners);
	if (column < TABLE_ALGORITHMS && sent)
		belief_update(&c->belief, table, &corners, column, &period);
	take_outcome(c, &known->outcome[0]);
	take_outcome(c, &known->outcome[1]);
	return read_now(0);
}

/* Columns of another table mean nothing. */
static __always_inline void drop_other_columns(struct path_entry *known,
					       const struct policy *policy)
{
	for (u32 i = 0; i < 2; i++)
		if (known->outcome[i].scopes != (u8)policy->scopes_since)
			known->outcome[i].column = PATH_NO_COLUMN;
}

/* Begins by Careful Resume. Returns whether it does. This is a function for the sake of the stack.
 */
static __attribute__((noinline)) int resume(void *sock, struct tcp_sock *tp, struct connection *c,
					    const struct scope *scope,
					    const struct path_known *known)
{
	char name[TCP_CA_NAME_MAX] __attribute__((aligned(8))) = RESUME_ALGORITHM;

	if (!plan_start(&c->path.start, tp, scope, known) ||
	    !host_path_begin(sock, tp, &c->path.key))
		return read_now(0);
	c->path.start.phase = RESUME_RECONNAISSANCE;
	if (!try_to_switch(sock, tp, c, name)) {
		c->path.start.phase = RESUME_NONE;
		host_path_release(sock, tp, &c->path.key);
		return read_now(0);
	}
	c->path.is_held = true;
	report(sock, tp, c, REASON_WARM_START, scope, name);
	note_switched(c, name);
	return read_now(1);
}

/* The connection is established. Returns whether its first choice is to be made at once, by what is
 * known of its path. This is a function for the sake of the stack. */
static __attribute__((noinline)) int start_warm(void *sock, struct tcp_sock *tp,
						struct connection *c, const struct policy *policy,
						const struct scope *scope)
{
	u32 rtt_us = handshake_rtt_us(tp);
	struct path_known *known = &c->path.known;

	if (!is_managed(c, scope) || !rtt_us ||
	    !host_path_recall(sock, tp, &c->path.key, scope->path_lifetime_s, known))
		return read_now(0);
	if (!is_rtt_within_bounds(rtt_us, known->entry.rtt_us)) {
		/* Whoever begins with it finds out, too. */
		if (!known->is_used)
			host_path_forget(sock, tp, &c->path.key);
		return read_now(0);
	}
	c->rtt.present = rtt_us;
	c->bursts.rate = known->entry.rate;
	c->bursts.bytes = known->entry.burst;
	drop_other_columns(&known->entry, policy);
	read_now(believe(sock, tp, c, scope, &known->entry));
	return read_now(!resume(sock, tp, c, scope, known));
}

/* The path is remembered from now on. This is a function for the sake of the stack. Returns 0, as
 * on_rtt_sample(). */
static __attribute__((noinline)) int path_met(void *sock, struct tcp_sock *tp, struct connection *c)
{
	__builtin_memset(&c->path, 0, sizeof(c->path));
	host_path_key(sock, tp, &c->path.key);
	c->path.told_us = tp->tcp_mstamp;
	c->path.told_acked = tp->bytes_acked;
	c->path.round_acked = tp->bytes_acked;
	return read_now(0);
}

/* Losses since the memory was told last; those that turned out to be none may be more. */
static __always_inline u32 news_of(s64 count, s64 *told)
{
	s64 news = count - *told;

	*told = count;
	return news > 0 ? min(news, 0xffff) : 0;
}

/* Writes down how long bursts took with the algorithm in use. */
static __always_inline void outcome_shown(const struct connection *c, const struct policy *policy,
					  const struct latency_table *table,
					  struct path_outcome *outcome)
{
	u32 column = described_by(table, c->current);
	u32 latency_us = burst_latency_us(&c->bursts);
	u32 predicted_us;

	if (column >= TABLE_ALGORITHMS)
		return;
	predicted_us = c->decision.prediction.latency_us.by_column[column % TABLE_ALGORITHMS];
	outcome->column = column;
	outcome->scopes = policy->scopes_since;
	outcome->excess =
		latency_us && predicted_us ? excess_of(latency_us, predicted_us) : PATH_NO_EXCESS;
}

/* Tells the memory what the connection has shown since it was told last. This is a function for the
 * sake of the stack. Returns 0, as on_rtt_sample(). */
static __attribute__((noinline)) int tell_path(void *sock, struct tcp_sock *tp,
					       struct connection *c, const struct policy *policy,
					       const struct scope *scope)
{
	const struct latency_table *table = host_table(sock, scope);
	struct path_entry news = {
		.key = c->path.key,
		.rtt_us = tcp_min_rtt(tp),
		.usual_rtt_us = tp->srtt_us >> 3,
		.rate = c->path.rate,
		.round_bytes = c->path.round_bytes,
		.burst = burst_bytes(&c->bursts, tp),
		.delivered_kb = at_most_32_bits((tp->bytes_acked - c->path.told_acked) >> 10),
		.outcome = {{PATH_NO_EXCESS, PATH_NO_COLUMN, 0},
			    {PATH_NO_EXCESS, PATH_NO_COLUMN, 0}},
	};

	if (table)
		outcome_shown(c, policy, table, &news.outcome[0]);
	if (news.outcome[0].column != PATH_NO_COLUMN) {
		u64 sent = c->estimator.all_sent - c->path.told_sent;

		news.sent_tens = min(sent / SEGMENTS_TOLD, 0xffff);
		c->path.told_sent += news.sent_tens * SEGMENTS_TOLD;
		news.isolated = news_of(c->estimator.all_isolated, &c->path.told_isolated);
		news.bursts = news_of(c->estimator.all_bursts, &c->path.told_bursts);
	}
	c->path.told_us = tp->tcp_mstamp;
	c->path.told_acked += (u64)news.delivered_kb << 10;
	host_path_note(sock, tp, &news);
	return read_now(0);
}

/* Returns whether the path still carries what was known of it, although something was lost: no more
 * than two segments in a row, and ACKs came at the rate that was known, or nearly. */
static __always_inline bool is_path_the_same(const struct connection *c)
{
	return c->estimator.all_bursts + c->runs.bursts <= 0 &&
	       c->path.rate >= c->path.start.rate - c->path.start.rate / 4;
}

/* The start is over, and others may begin with the entry. Where it was retreated from, "the set of
 * saved CC parameters" is deleted (section 3.5), and what is delivered from here on makes another.
 * A first flight deletes nothing where the path is the same: a channel that loses single segments
 * would take the memory away from every third connection. */
static __always_inline void start_is_over(void *sock, struct tcp_sock *tp, struct connection *c)
{
	bool has_retreated = c->path.start.phase == RESUME_SAFE_RETREAT ||
			     c->path.start.phase == RESUME_RETREATED;
	/* Nothing has been told since the connection was established. */
	bool is_still_held = tp->tcp_mstamp - c->path.told_us < PATH_OURS_US;

	c->path.is_held = false;
	if (!has_retreated || (c->path.start.is_first_flight && is_path_the_same(c))) {
		if (is_still_held)
			host_path_release(sock, tp, &c->path.key);
		return;
	}
	if (is_still_held)
		host_path_forget(sock, tp, &c->path.key);
	c->path.told_acked = tp->bytes_acked;
	c->path.rate = 0;
	c->path.round_bytes = 0;
}

/* Where another algorithm has been set meanwhile, by the program or because the policy has changed,
 * the start is over. This is a function for the sake of the stack. Returns 0, as on_rtt_sample().
 */
static __attribute__((noinline)) int notice_other_algorithm(void *sock, struct tcp_sock *tp,
							    struct connection *c)
{
	char name[TCP_CA_NAME_MAX] __attribute__((aligned(8))) = RESUME_ALGORITHM;
	char in_use[TCP_CA_NAME_MAX] __attribute__((aligned(8))) = {};

	if (host_get_algorithm(sock, tp, in_use) && !same_name(in_use, name))
		c->path.start.phase = RESUME_NORMAL;
	return read_now(0);
}

/* What a callback shows of the path. This is a function so that the verifier forgets which of its
 * ways it came. Returns 0, as on_rtt_sample(). */
static __attribute__((noinline)) int path_shows(void *sock, struct tcp_sock *tp,
						struct connection *c, const struct policy *policy,
						const struct call *call)
{
	const struct scope *scope = active_scope(policy, &c->place);
	struct path_shown *path = &c->path;
	bool ends = call->op == BPF_SOCK_OPS_STATE_CB && has_nothing_to_send(call->args[1]);
	bool is_round = call->op == BPF_SOCK_OPS_RTT_CB;

	if (!scope || !path->key.network || !scope->path_lifetime_s)
		return read_now(0);
	if (is_round || ends) {
		path->round_bytes = max(path->round_bytes,
					at_most_32_bits(tp->bytes_acked - path->round_acked));
		path->round_acked = tp->bytes_acked;
	}
	if (is_round && is_resuming(c))
		read_now(notice_other_algorithm(sock, tp, c));
	if (path->is_held && (ends || path->start.phase >= RESUME_NORMAL))
		start_is_over(sock, tp, c);
	if ((ends || (is_round && tp->tcp_mstamp - path->told_us >= PATH_TOLD_EVERY_US)) &&
	    !path->is_held && tp->bytes_acked - path->told_acked >= PATH_TOLD_FROM_BYTES)
		read_now(tell_path(sock, tp, c, policy, scope));
	return read_now(0);
}

#endif
