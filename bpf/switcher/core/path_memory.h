/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The path memory: where an entry is, how what a connection has shown is merged into it, and when
 * it is in use.
 *
 * Source: RFC 9959, sections 2.2 and 3.1; RFC 9040, section 6 (temporal sharing).
 *
 * Each function works on the set that a key belongs to, and whoever calls it holds the set's lock.
 * Entries are looked for by comparison, as in a processor's cache: there is no list that could be
 * torn, nothing is allocated, and a full set gives up the entry that was written longest ago. A
 * prefix (IPv4 /24, IPv6 /48) has PATH_SETS_OF_PREFIX sets, so that strangers with many addresses
 * push out no more than what is in these. Whoever has a network namespace makes up what prefixes he
 * likes, so that it has a share of the sets; and whoever makes up namespaces has what these share.
 */
#ifndef KIRIKAE_CORE_PATH_MEMORY_H
#define KIRIKAE_CORE_PATH_MEMORY_H

#include "interface/path_memory.h"
#include "interface/policy.h"

/* A new measurement counts 1/2^2 in a mean. A slower rate counts 1/2^4: it may have been the
 * sender's, and where the path has become slower, retreat forgets the entry. */
#define PATH_NEWS_SHIFT 2
#define PATH_SLOWER_SHIFT 4

static __always_inline u64 path_mix(u64 value)
{
	value ^= value >> 32;
	value *= 0x9e3779b97f4a7c15ULL;
	value ^= value >> 29;
	value *= 0xbf58476d1ce4e5b9ULL;
	return value ^ value >> 32;
}

static __always_inline u64 two_words(const u32 *word)
{
	return (u64)__builtin_bswap32(word[0]) << 32 | __builtin_bswap32(word[1]);
}

/* Returns the network that a remote address is in, as a key has it. 0: the address does not tell
 * which way packets go, and nothing is kept: behind a tunnel (2001::/32, Teredo; 2002::/16, 6to4)
 * or a translator (64:ff9b:1::/48, RFC 8215) there is the whole Internet. Where IPv4 addresses
 * behind a translator are told apart (64:ff9b::/96, RFC 6052), each is a network. */
static __always_inline u64 path_network(const struct address *address)
{
	u64 upper = two_words(&address->word[0]);
	u64 lower = two_words(&address->word[2]);

	if (!upper && lower >> 32 == PATH_IPV4)
		return lower;
	if (upper == (u64)PATH_NAT64 << 32 && !(lower >> 32))
		return upper | lower;
	if (upper >> 32 == 0x20010000 || upper >> 48 == 0x2002 || upper >> 16 == 0x64ff9b0001)
		return 0;
	return upper;
}

static __always_inline bool has_ipv4(u64 network)
{
	return network >> 32 == PATH_IPV4 || network >> 32 == PATH_NAT64;
}

/* How keys are spread over the sets. */
struct path_spread {
	u64 secret; /* keeps strangers from choosing addresses that share a set */
	u32 sets;
	u32 own_namespace; /* the agent's */
};

/* Returns the place of the set that a key belongs to. */
static __always_inline u32 path_place(const struct path_key *key, const struct path_spread *spread)
{
	u32 own_bits = has_ipv4(key->network) ? 8 : 16;
	u64 host = (u64)key->namespace << 32 | key->interface;
	u64 prefix = path_mix(key->network >> own_bits ^ spread->secret) ^ host;
	u64 within = path_mix(key->network ^ spread->secret ^ host) % PATH_SETS_OF_PREFIX;
	u32 place = (u32)path_mix(prefix) + within;
	u32 shared = max(spread->sets / PATH_SETS_SHARED, 1U);
	u32 share = max(spread->sets / PATH_SHARES, 1U);
	u32 first = (u32)path_mix(key->namespace ^ spread->secret) % shared;

	if (key->namespace == spread->own_namespace)
		return place % max(spread->sets, 1U);
	return (first + place % share) % shared;
}

static __always_inline bool same_path(const struct path_key *a, const struct path_key *b)
{
	return a->network == b->network && a->namespace == b->namespace &&
	       a->interface == b->interface;
}

/* Returns the entry of a key; NULL: there is none. */
static __always_inline struct path_entry *path_find(struct path_set *set,
						    const struct path_key *key)
{
	for (u32 i = 0; i < PATH_WAYS; i++)
		if (same_path(&set->way[i].key, key))
			return &set->way[i];
	return NULL;
}

/* Returns whether `a` is free, or was written before `b`. The clock begins with 0 when the host
 * starts, and what is older than that was written before 0. */
static __always_inline bool is_older(const struct path_entry *a, const struct path_entry *b)
{
	if (!b->key.network)
		return false;
	if (!a->key.network)
		return true;
	return (s32)(a->written_s - b->written_s) < 0;
}

/* Returns the entry that a new one takes the place of: a free one, or the one that was written
 * longest ago. */
static __always_inline struct path_entry *path_oldest(struct path_set *set)
{
	struct path_entry *oldest = &set->way[0];

	for (u32 i = 1; i < PATH_WAYS; i++)
		if (is_older(&set->way[i], oldest))
			oldest = &set->way[i];
	return oldest;
}

/* Copies what is known, if it is no older than `lifetime_s`. Returns whether there is anything. */
static __always_inline bool path_recall(struct path_set *set, const struct path_key *key, u32 now_s,
					u32 lifetime_s, struct path_known *known)
{
	struct path_entry *entry = path_find(set, key);

	if (!entry || now_s - entry->written_s > lifetime_s)
		return false;
	known->entry = *entry;
	known->age_s = now_s - entry->written_s;
	known->is_used = entry->used_until_s > now_s;
	return true;
}

/* A connection begins with the entry. Returns false where there is none any more, or "another
 * connection has already started to use the saved_cwnd" (RFC 9959, section 3.2). */
static __always_inline bool path_begin(struct path_set *set, const struct path_key *key, u32 now_s)
{
	struct path_entry *entry = path_find(set, key);

	if (!entry || entry->used_until_s > now_s)
		return false;
	entry->used_until_s = now_s + PATH_USED_AT_MOST_S;
	entry->uses = min(entry->uses + 1, 0xffff);
	return true;
}

/* The connection that began with the entry needs it no more. */
static __always_inline void path_release(struct path_set *set, const struct path_key *key)
{
	struct path_entry *entry = path_find(set, key);

	if (entry)
		entry->used_until_s = 0;
}

/* Removes the entry. Returns whether there was one. */
static __always_inline bool path_forget(struct path_set *set, const struct path_key *key)
{
	struct path_entry *entry = path_find(set, key);

	if (entry)
		*entry = (struct path_entry){};
	return entry;
}

/* Remembers what is known from elsewhere, as from an agent before. Returns false where something
 * that is as new is known of the path, or of all others that could be given up for it. */
static __always_inline bool path_remember(struct path_set *set, const struct path_entry *entry)
{
	struct path_entry *place = path_find(set, &entry->key);

	if (!place)
		place = path_oldest(set);
	if (!is_older(place, entry))
		return false;
	*place = *entry;
	return true;
}

/* These return what is known after a measurement; 0: nothing was measured. */
static __always_inline u32 path_merge_rate(u32 known, u32 news)
{
	if (!news || !known)
		return news | known;
	return news >= known ? news : known - ((known - news) >> PATH_SLOWER_SHIFT);
}

static __always_inline u32 path_merge_smaller(u32 known, u32 news)
{
	if (!news || !known)
		return news | known;
	return news <= known ? news : known + ((news - known) >> PATH_NEWS_SHIFT);
}

static __always_inline u32 path_merge_mean(u32 known, u32 news)
{
	if (!news || !known)
		return news | known;
	return known - (known >> PATH_NEWS_SHIFT) + (news >> PATH_NEWS_SHIFT);
}

/* Where one of the counts has no room, all are halved: the shares lost stay what they were. */
static __always_inline void path_merge_losses(struct path_entry *entry,
					      const struct path_entry *news)
{
	u32 sent_tens = entry->sent_tens + news->sent_tens;
	u32 isolated = entry->isolated + news->isolated;
	u32 bursts = entry->bursts + news->bursts;
	u32 shift = max(max(sent_tens, isolated), bursts) > 0xffff;

	entry->sent_tens = sent_tens >> shift;
	entry->isolated = isolated >> shift;
	entry->bursts = bursts >> shift;
}

/* What is known of the algorithm in use comes first; what was known of another one stays. */
static __always_inline void path_merge_outcome(struct path_entry *entry,
					       const struct path_outcome *news)
{
	if (news->column == PATH_NO_COLUMN)
		return;
	if (entry->outcome[0].column != news->column)
		entry->outcome[1] = entry->outcome[0];
	entry->outcome[0] = *news;
}

/* A connection has shown something: `news` has its key, the time, and what it has measured since it
 * told of itself last. */
static __always_inline void path_note(struct path_set *set, const struct path_entry *news)
{
	struct path_entry *entry = path_find(set, &news->key);

	if (!entry) {
		*path_oldest(set) = *news;
		return;
	}
	entry->written_s = news->written_s;
	entry->rtt_us = path_merge_smaller(entry->rtt_us, news->rtt_us);
	entry->usual_rtt_us = path_merge_mean(entry->usual_rtt_us, news->usual_rtt_us);
	entry->rate = path_merge_rate(entry->rate, news->rate);
	entry->round_bytes = max(entry->round_bytes, news->round_bytes);
	entry->burst = path_merge_mean(entry->burst, news->burst);
	entry->delivered_kb += min(news->delivered_kb, ~0U - entry->delivered_kb);
	path_merge_losses(entry, news);
	path_merge_outcome(entry, &news->outcome[0]);
}

#endif
