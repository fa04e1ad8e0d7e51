/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The rest of what host.h promises is done by the kernel's helpers and maps. */
#ifndef KIRIKAE_KERNEL_HOST_H
#define KIRIKAE_KERNEL_HOST_H

#include "switcher/bind/active_policy.h"
#include "switcher/bind/kernel_host_socket.h"
#include "switcher/bind/match_key.h"
#include "switcher/bind/path_counts.h"
#include "switcher/bind/path_sets.h"
#include "switcher/bind/reports.h"
#include "switcher/bind/span_groups.h"

static __always_inline struct connection *host_recall(void *sock, struct tcp_sock *tp)
{
	return bpf_sk_storage_get(&connections, tp, 0, 0);
}

static __always_inline struct connection *host_remember(void *sock, struct tcp_sock *tp)
{
	return bpf_sk_storage_get(&connections, tp, 0, BPF_SK_STORAGE_GET_F_CREATE);
}

static __always_inline void host_forget(void *sock, struct tcp_sock *tp)
{
	bpf_sk_storage_delete(&connections, tp);
}

static __always_inline u32 host_draw_lot(void *sock, struct tcp_sock *tp)
{
	return record_lot(tp, bpf_get_prandom_u32());
}

static __always_inline u64 host_now_ns(void *sock, struct tcp_sock *tp)
{
	return record_now(tp, bpf_ktime_get_ns());
}

static __always_inline void host_match_key(void *sock, struct tcp_sock *tp,
					   struct match_key *match_key)
{
	ends_of(tp, &match_key->ends);
	cgroups_of(tp, match_key);
	record_match_key(tp, match_key);
}

static __always_inline const struct latency_table *host_table(void *sock, const struct scope *scope)
{
	return latency_table(scope);
}

#define host_choice choice_by_table

static __always_inline void host_path_key(void *sock, struct tcp_sock *tp, struct path_key *key)
{
	path_key_of(tp, key);
	record_path_key(tp, key);
}

/* These are verified apart: each lookup goes several ways, and what follows need not be walked for
 * every one of them. The verifier wants them to return a number. */
VERIFIED_APART int set_recall(const struct path_key *key, u32 lifetime_s, struct path_known *known)
{
	struct path_set *set;
	u32 now_s = boot_time_s();
	int is_known;

	if (!key || !known)
		return 0;
	set = path_set_of(key);
	if (!set)
		return 0;
	bpf_spin_lock(&set->lock);
	is_known = path_recall(set, key, now_s, lifetime_s, known);
	bpf_spin_unlock(&set->lock);
	return is_known;
}

VERIFIED_APART int set_begin(const struct path_key *key)
{
	struct path_set *set;
	u32 now_s = boot_time_s();
	int begins;

	if (!key)
		return 0;
	set = path_set_of(key);
	if (!set)
		return 0;
	bpf_spin_lock(&set->lock);
	begins = path_begin(set, key, now_s);
	bpf_spin_unlock(&set->lock);
	return begins;
}

/* Nobody begins with the entry any more; with `forgets` it is gone as well. */
VERIFIED_APART int set_release(const struct path_key *key, u32 forgets)
{
	struct path_set *set;

	if (!key)
		return 0;
	set = path_set_of(key);
	if (!set)
		return 0;
	bpf_spin_lock(&set->lock);
	if (forgets)
		path_forget(set, key);
	else
		path_release(set, key);
	bpf_spin_unlock(&set->lock);
	return 0;
}

VERIFIED_APART int set_note(const struct path_entry *news)
{
	struct path_set *set;

	if (!news)
		return 0;
	set = path_set_of(&news->key);
	if (!set)
		return 0;
	bpf_spin_lock(&set->lock);
	path_note(set, news);
	bpf_spin_unlock(&set->lock);
	return 0;
}

static __always_inline bool host_path_recall(void *sock, struct tcp_sock *tp,
					     const struct path_key *key, u32 lifetime_s,
					     struct path_known *known)
{
	bool is_known = set_recall(key, lifetime_s, known);

	if (is_known)
		path_counted(PATH_COUNT_HITS);
	record_path_known(tp, known);
	record_answer(tp, ASKED_PATH, 0, is_known);
	return is_known;
}

static __always_inline bool host_path_begin(void *sock, struct tcp_sock *tp,
					    const struct path_key *key)
{
	bool begins = set_begin(key);

	if (begins)
		path_begin_counted(host_recall(sock, tp));
	record_answer(tp, ASKED_TO_BEGIN, 0, begins);
	return begins;
}

static __always_inline void host_path_release(void *sock, struct tcp_sock *tp,
					      const struct path_key *key)
{
	path_end_counted(host_recall(sock, tp));
	set_release(key, false);
}

static __always_inline void host_path_forget(void *sock, struct tcp_sock *tp,
					     const struct path_key *key)
{
	path_end_counted(host_recall(sock, tp));
	set_release(key, true);
}

static __always_inline void host_path_note(void *sock, struct tcp_sock *tp, struct path_entry *news)
{
	news->written_s = boot_time_s();
	set_note(news);
}

static __always_inline struct switch_event *host_event(void *sock, struct tcp_sock *tp)
{
	return switch_event_begin(tp);
}

static __always_inline void host_tell(void *sock, struct tcp_sock *tp, struct switch_event *event)
{
	bpf_ringbuf_submit(event, 0);
}

static __always_inline void host_count_refusal(void *sock, struct tcp_sock *tp)
{
	refusal_counted(tp);
}

static __always_inline struct burst_latencies *host_burst_latencies(void *sock, struct tcp_sock *tp,
								    u32 key)
{
	return bpf_map_lookup_elem(&burst_latencies, &key);
}

static __always_inline void host_take_share(void *sock, struct tcp_sock *tp, struct place *place,
					    u32 holdback)
{
	take_share(place, holdback);
}

static __always_inline void host_count_span(void *sock, struct tcp_sock *tp,
					    const struct place *place, u32 sums, s32 octaves)
{
	count_in_group(place, sums, octaves);
}

#endif
