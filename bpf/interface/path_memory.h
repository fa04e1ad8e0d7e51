/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The path memory holds what the connections to each remote network have shown of the path to it,
 * so that the next one knows (switcher/core/path_memory.h).
 *
 * It is a table of sets with a few entries each. A key has one set in which it may be, and its
 * network only a bounded number of these, so that no network fills the table.
 */
#ifndef KIRIKAE_PATH_MEMORY_H
#define KIRIKAE_PATH_MEMORY_H

#include "kernel/kernel.h"

/* A set has so many entries. */
#define PATH_WAYS 4
/* The entries of an IPv4 /24 or an IPv6 /48 are in so many sets at most. */
#define PATH_SETS_OF_PREFIX 64
/* Network namespaces other than the agent's share one in so many of all sets ... */
#define PATH_SETS_SHARED 2
/* ... and each of them has one in so many. */
#define PATH_SHARES 16
/* The upper half of a key's network of an IPv4 address, and of one behind 64:ff9b::/96. */
#define PATH_IPV4 0xffff
#define PATH_NAT64 0x64ff9b
/* An entry that is in use is so for no longer than this: its connection may have ended unseen. */
#define PATH_USED_AT_MOST_S 60
/* An outcome's column where nothing is known, and its excess where only the column is. */
#define PATH_NO_COLUMN 0xff
#define PATH_NO_EXCESS (-0x8000)

/* An entry is of one remote endpoint (RFC 9959, section 2.2: a sending interface and a
 * destination), in one network namespace. */
struct path_key {
	/* A number in host byte order: the first 64 bits of an IPv6 address, or PATH_IPV4 or
	 * PATH_NAT64 and an IPv4 address. No IPv6 network in use begins with these. 0: no entry */
	u64 network;
	u32 namespace; /* low bits of its cookie */
	u32 interface; /* index; 0: not known */
};

/* How much longer than predicted bursts took with an algorithm (switcher/core/outcomes.h). */
struct path_outcome {
	s16 excess; /* 1/256 octave; PATH_NO_EXCESS: not known */
	u8 column;  /* of the table; PATH_NO_COLUMN: nothing is known */
	u8 scopes;  /* low bits of the policy's scopes_since: by which the column is to be read */
};

struct path_entry {
	struct path_key key;
	u32 written_s;	  /* CLOCK_BOOTTIME, seconds */
	u32 used_until_s; /* a connection begins with it, until then at most; 0: none does */
	u32 rtt_us;	  /* the lowest */
	u32 usual_rtt_us; /* the smoothed one, queues included */
	u32 rate;	  /* delivered, bytes per millisecond; 0: not known */
	u32 round_bytes;  /* the most bytes ACKed within a round trip */
	u32 burst;	  /* bytes that the application usually writes at once */
	u32 delivered_kb; /* since there was congestion when the entry was used, or since it was
			     made */
	u16 sent_tens;	  /* segments sent, in tens: a short connection sends few, ... */
	u16 isolated;	  /* ... of which so many were lost in runs of at most 2, ... */
	u16 bursts;	  /* ... and so many runs of at least 3 */
	u16 uses;	  /* connections that began with it */
	struct path_outcome outcome[2]; /* of the algorithm that was in use last, and of another */
};
_Static_assert(sizeof(struct path_entry) == 64, "an entry fills a cache line");

/* What is told of an entry to a connection. */
struct path_known {
	struct path_entry entry;
	u32 age_s;
	u32 is_used; /* another connection begins with it right now */
};

/* What is counted of the memory's use: connections, ... */
enum path_count {
	PATH_COUNT_HITS,	  /* ... new ones whose path was known, ... */
	PATH_COUNT_JUMPS,	  /* ... those that began by Careful Resume, ... */
	PATH_COUNT_FIRST_FLIGHTS, /* ... those that began with a first flight, ... */
	PATH_COUNT_RETREATS,	  /* ... and those of both that retreated after a loss */
	PATH_COUNTS
};

/* The kernel knows a lock by this name. */
struct bpf_spin_lock {
	u32 val;
};

struct path_set {
	struct bpf_spin_lock lock;
	u32 unused;
	struct path_entry way[PATH_WAYS];
};

#endif
