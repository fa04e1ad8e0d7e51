/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What bpf/switcher/core/host.h promises, natively: of a simulated socket, whose algorithm Rust
 * changes; or of a call that was recorded in the kernel, whose answers are given again.
 */
#ifndef KIRIKAE_NATIVE_HOST_H
#define KIRIKAE_NATIVE_HOST_H

#include "interface/burst_latencies.h"
#include "interface/call_record.h"
#include "interface/switch_event.h"
#include "kernel/sock_ops.h"
#include "switcher/core/comparison.h"
#include "switcher/core/decision.h"
#include "switcher/core/path_memory.h"
#include "thesis/decision.h"

#define SOL_TCP 6

/* A recorded call that is played again. */
struct replay {
	const struct call_record *record;
	u32 answers;  /* given */
	bool differs; /* something else was asked for than in the kernel */
};

/* `sock` of the switcher. */
struct host {
	void *socket;				   /* Rust's; not used in a replay */
	const struct latency_table *const *tables; /* by scope.table; NULL: none is known */
	const struct thesis_table *thesis; /* chosen by instead; NULL: the thesis' are not asked */
	const struct match_key *match_key; /* of the connection */
	struct connection *room;	   /* zeros, for a connection that is to be remembered */
	struct burst_latencies *burst_latencies; /* by burst_latencies_key(); NULL: not counted */
	struct path_set *path_sets;		 /* the host's path memory; NULL: it has none */
	u32 path_sets_count;
	u64 path_network;      /* of the connection's path_key */
	struct replay *replay; /* NULL: the socket lives */
	u64 now_ns;
	u32 lot;
	char in_use[TCP_CA_NAME_MAX] __attribute__((aligned(8)));
	bool has_switched; /* `event` tells of a switch, by this call */
	struct switch_event event;
	struct thesis_columns thesis_predicted_us; /* with `thesis`, in place of the event's */
};

/* Rust's: release, private area zeroed, init. */
bool kk_socket_set_algorithm(void *socket, const char *name);

/* What the kernel answered to the same question. */
static inline u32 replayed(struct replay *replay, u32 asked, u32 value)
{
	const struct call_record *record = replay->record;
	const struct answer *answer = &record->answer[replay->answers % ANSWERS_MAX];

	replay->differs |= replay->answers >= min(record->answers, ANSWERS_MAX) ||
			   answer->asked != asked || answer->value != value;
	replay->answers++;
	return answer->given;
}

/* Whether it was set. What the algorithm that was left has handed down is then read. */
static inline bool replayed_set_algorithm(struct replay *replay, struct connection *c)
{
	bool was_set = replayed(replay, ASKED_TO_SET_ALGORITHM, 0);

	if (was_set && c)
		c->idle = replay->record->after.idle;
	return was_set;
}

static inline bool host_get_algorithm(void *sock, struct tcp_sock *tp, char *name)
{
	const struct host *host = sock;

	__builtin_memcpy(name, host->in_use, TCP_CA_NAME_MAX);
	return host->replay ? replayed(host->replay, ASKED_ALGORITHM, 0) : true;
}

static inline bool host_set_algorithm(void *sock, struct tcp_sock *tp, const char *name)
{
	struct host *host = sock;

	if (host->replay ? !replayed_set_algorithm(host->replay, tp->connection)
			 : !kk_socket_set_algorithm(host->socket, name))
		return false;
	__builtin_memcpy(host->in_use, name, TCP_CA_NAME_MAX);
	return true;
}

/* The field that stands for an option; NULL: none does. */
static inline u32 *option_of(struct tcp_sock *tp, u32 option)
{
	switch (option) {
	case TCP_BPF_RTO_MIN:
		return &tp->rto_min_us;
	case TCP_RTO_MAX_MS:
		return &tp->rto_max_ms;
	case TCP_USER_TIMEOUT:
		return &tp->user_timeout_ms;
	default:
		return NULL;
	}
}

static inline u32 host_get_option(void *sock, struct tcp_sock *tp, u32 option)
{
	const struct host *host = sock;
	const u32 *field = option_of(tp, option);

	if (host->replay)
		return replayed(host->replay, ASKED_OPTION | option, 0);
	return field ? *field : 0;
}

static inline bool host_set_option(void *sock, struct tcp_sock *tp, u32 option, u32 value)
{
	const struct host *host = sock;
	u32 *field = option_of(tp, option);

	if (host->replay)
		return replayed(host->replay, ASKED_TO_SET_OPTION | option, value);
	if (!field)
		return false;
	*field = value;
	return true;
}

/* Natively the kernel's preset. */
static inline u32 host_retries(void *sock, struct tcp_sock *tp)
{
	const struct host *host = sock;

	return host->replay ? replayed(host->replay, ASKED_RETRIES, 0) : 15;
}

static inline struct connection *host_recall(void *sock, struct tcp_sock *tp)
{
	return tp->connection;
}

static inline struct connection *host_remember(void *sock, struct tcp_sock *tp)
{
	const struct host *host = sock;

	tp->connection = host->room;
	return tp->connection;
}

static inline void host_forget(void *sock, struct tcp_sock *tp)
{
	tp->connection = NULL;
}

static inline u32 host_draw_lot(void *sock, struct tcp_sock *tp)
{
	const struct host *host = sock;

	return host->lot;
}

static inline u64 host_now_ns(void *sock, struct tcp_sock *tp)
{
	const struct host *host = sock;

	return host->now_ns;
}

static inline void host_match_key(void *sock, struct tcp_sock *tp, struct match_key *match_key)
{
	const struct host *host = sock;

	*match_key = *host->match_key;
}

static inline const struct latency_table *host_table(void *sock, const struct scope *scope)
{
	const struct host *host = sock;

	return host->tables ? host->tables[scope->table] : NULL;
}

static inline const char *host_choice(void *sock, const struct tcp_sock *tp, struct connection *c,
				      const struct scope *scope, const struct latency_table *table,
				      const struct corners *corners)
{
	struct host *host = sock;

	if (host->thesis) {
		thesis_decide(host->thesis, tp->srtt_us >> 3, c, &host->thesis_predicted_us);
		return thesis_chosen(host->thesis, c);
	}
	return choice_by_table(sock, tp, c, scope, table, corners);
}

/* The simulated host has one namespace and one interface. */
static inline void host_path_key(void *sock, struct tcp_sock *tp, struct path_key *key)
{
	const struct host *host = sock;

	if (host->replay)
		*key = host->replay->record->path_key;
	else if (host->path_sets)
		key->network = host->path_network;
}

static inline struct path_set *path_set_of(const struct host *host, const struct path_key *key)
{
	struct path_spread spread = {.sets = host->path_sets_count};
	u32 place = path_place(key, &spread);

	return host->path_sets ? &host->path_sets[place] : NULL;
}

static inline u32 boot_time_s(const struct host *host)
{
	return host->now_ns / 1000000000ULL;
}

static inline bool host_path_recall(void *sock, struct tcp_sock *tp, const struct path_key *key,
				    u32 lifetime_s, struct path_known *known)
{
	const struct host *host = sock;
	struct path_set *set = path_set_of(host, key);

	if (host->replay) {
		*known = host->replay->record->path_known;
		return replayed(host->replay, ASKED_PATH, 0);
	}
	return set && path_recall(set, key, boot_time_s(host), lifetime_s, known);
}

static inline bool host_path_begin(void *sock, struct tcp_sock *tp, const struct path_key *key)
{
	const struct host *host = sock;
	struct path_set *set = path_set_of(host, key);

	if (host->replay)
		return replayed(host->replay, ASKED_TO_BEGIN, 0);
	return set && path_begin(set, key, boot_time_s(host));
}

static inline void host_path_release(void *sock, struct tcp_sock *tp, const struct path_key *key)
{
	struct path_set *set = path_set_of(sock, key);

	if (set)
		path_release(set, key);
}

static inline void host_path_forget(void *sock, struct tcp_sock *tp, const struct path_key *key)
{
	struct path_set *set = path_set_of(sock, key);

	if (set)
		path_forget(set, key);
}

static inline void host_path_note(void *sock, struct tcp_sock *tp, struct path_entry *news)
{
	struct path_set *set = path_set_of(sock, &news->key);

	news->written_s = boot_time_s(sock);
	if (set)
		path_note(set, news);
}

static inline struct switch_event *host_event(void *sock, struct tcp_sock *tp)
{
	struct host *host = sock;

	host->event.ends = host->match_key->ends;
	host->event.namespace = 0;
	return &host->event;
}

static inline void host_tell(void *sock, struct tcp_sock *tp, struct switch_event *event)
{
	struct host *host = sock;

	host->has_switched = true;
}

static inline void host_count_refusal(void *sock, struct tcp_sock *tp)
{
}

static inline struct burst_latencies *host_burst_latencies(void *sock, struct tcp_sock *tp, u32 key)
{
	const struct host *host = sock;

	return host->burst_latencies ? &host->burst_latencies[key] : NULL;
}

/* Natively there is no guard. */
static inline void host_take_share(void *sock, struct tcp_sock *tp, struct place *place,
				   u32 holdback)
{
	place->share = holdback;
	place->epoch = 0;
}

static inline void host_count_span(void *sock, struct tcp_sock *tp, const struct place *place,
				   u32 sums, s32 octaves)
{
}

#endif
