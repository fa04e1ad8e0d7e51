/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An algorithm may keep state for a connection beyond the 104 bytes of its private area.
 *
 * In the kernel that lives in socket storage and goes away with the socket; natively the socket
 * points to a buffer. LARGE_STATE(type) says what is kept, once in an algorithm's file.
 */
#ifndef KIRIKAE_LARGE_STATE_H
#define KIRIKAE_LARGE_STATE_H

#include "kernel/kernel.h"

#define LARGE_STATE_BYTES 1024 /* natively */

#ifdef __bpf__
/*
 * large_state() finds the state, zero when it was not there yet; NULL where memory is short: the
 * caller has to do without for this time. large_state_drop() is for release.
 */
#define LARGE_STATE(kept) \
	struct { \
		__uint(type, 24 /* BPF_MAP_TYPE_SK_STORAGE */); \
		__uint(map_flags, 1 /* BPF_F_NO_PREALLOC */); \
		__type(key, int); \
		__type(value, kept); \
	} large_states SEC(".maps"); \
	static __always_inline kept *large_state(struct sock *sk) \
	{ \
		return bpf_sk_storage_get(&large_states, sk, 0, 1 /* ..._GET_F_CREATE */); \
	} \
	static __always_inline void large_state_drop(struct sock *sk) \
	{ \
		bpf_sk_storage_delete(&large_states, sk); \
	}
#else
#define LARGE_STATE(kept) \
	_Static_assert(sizeof(kept) <= LARGE_STATE_BYTES, "the buffer of a native socket"); \
	static __always_inline kept *large_state(struct sock *sk) \
	{ \
		return tcp_sk(sk)->large_state; \
	} \
	static __always_inline void large_state_drop(struct sock *sk) \
	{ \
		if (tcp_sk(sk)->large_state) \
			__builtin_memset(tcp_sk(sk)->large_state, 0, sizeof(kept)); \
	}
#endif

#endif
